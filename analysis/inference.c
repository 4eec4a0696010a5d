/* Walking the table of inferences for one device. */
#include "analysis/inference.h"

#include <gsl/gsl_errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "analysis/confidence.h"
#include "analysis/consistency.h"

struct pb_parameter *pb_case_answer(const struct pb_case *at, const char *name)
{
    return pb_parameters_find(at->parameters, at->inference->memory, name);
}

static const char *test_of(const struct pb_inference *row, size_t i)
{
    return row->tests[i] + (row->tests[i][0] == '?');
}

static enum pb_status declare_answers(const struct pb_inference *row, const char *place,
                                      struct pb_parameters *parameters, struct pb_error *err)
{
    char evidence[PB_MESSAGE_LENGTH];

    snprintf(evidence, sizeof(evidence), "%s/tests/%s", place, test_of(row, 0));
    for (size_t i = 0; i < PB_INFERENCE_ANSWERS_MAX && row->answers[i].name != NULL; i++) {
        enum pb_status status = pb_parameters_declare(parameters, row->memory, row->answers[i].name,
                                                      row->answers[i].unit, evidence, err);

        if (status != PB_OK)
            return status;
    }
    return PB_OK;
}

/* Gives the reason to all of the row's parameters that have neither value nor reason. */
static void give_reason(const struct pb_case *at, const char *reason)
{
    const struct pb_inference *row = at->inference;

    for (size_t i = 0; i < PB_INFERENCE_ANSWERS_MAX && row->answers[i].name != NULL; i++) {
        struct pb_parameter *answer = pb_case_answer(at, row->answers[i].name);

        if (answer->kind == PB_VALUE_NONE && answer->reason[0] == '\0')
            pb_parameter_set_none(answer, "%s", reason);
    }
}

static enum pb_status load_one(const struct pb_recordings *source, const char *test,
                               struct pb_recording *recording_out, struct pb_error *err)
{
    enum pb_status status = source->load(source->context, test, recording_out, err);

    if (status == PB_NOT_FOUND)
        return pb_fail(err, status, "test %s: not recorded", test);
    if (status == PB_OK && recording_out->outcome != PB_TEST_OK)
        return pb_fail(err, PB_UNSUPPORTED, "test %s: %s%s%s", test,
                       pb_outcome_name(recording_out->outcome),
                       recording_out->message[0] == '\0' ? "" : ": ", recording_out->message);
    return status;
}

/* Loads what the row needs, and lets it speak. */
static enum pb_status run_row(struct pb_case *at, const struct pb_recordings *source,
                              size_t *analysed, struct pb_error *err)
{
    struct pb_recording recordings[PB_INFERENCE_TESTS_MAX] = {0};
    const struct pb_inference *row = at->inference;
    enum pb_status status = PB_OK;
    size_t read = 0;

    for (size_t i = 0; i < PB_INFERENCE_TESTS_MAX && row->tests[i] != NULL && status == PB_OK;
         i++) {
        status = load_one(source, test_of(row, i), &recordings[i], err);
        read += status == PB_OK;
        if (status != PB_OK && status != PB_NO_MEMORY && row->tests[i][0] == '?') {
            recordings[i] = (struct pb_recording){.outcome = PB_TEST_MISSING};
            PB_TEXT_SET(recordings[i].message, err->message);
            status = PB_OK;
        }
    }
    if (status == PB_OK && row->infer != NULL) {
        *analysed += read;
        at->recordings = recordings;
        status = row->infer(at, err);
    }
    if (status == PB_NO_MEMORY || (status == PB_OK && row->infer == NULL))
        return status;
    give_reason(at, status == PB_OK ? "its inference gave no reason" : err->message);
    return PB_OK;
}

/* From shares of votes to probabilities, when nothing changes them any more. */
static void calibrate(struct pb_parameters *parameters)
{
    for (size_t i = 0; i < parameters->count; i++) {
        struct pb_parameter *parameter = &parameters->items[i];

        parameter->confidence = pb_confidence_calibrated(
            pb_confidence_family(parameter->memory, parameter->name), parameter->votes);
    }
}

enum pb_status pb_infer_rows(const struct pb_inference *rows, const struct pb_device_info *info,
                             const char *place, const struct pb_recordings *source,
                             struct pb_parameters *parameters_out, size_t *analysed_out,
                             struct pb_error *err)
{
    struct pb_parameters parameters = {0};
    struct pb_error reason = PB_ERROR_INIT;
    /* GSL would abort the process on a domain error; its results are checked instead. */
    gsl_error_handler_t *handler = gsl_set_error_handler_off();
    enum pb_status status = PB_OK;
    size_t analysed = 0;

    for (const struct pb_inference *row = rows; row->memory != NULL; row++) {
        struct pb_case at = {row, info, NULL, &parameters};

        status = declare_answers(row, place, &parameters, &reason);
        if (status == PB_OK)
            status = run_row(&at, source, &analysed, &reason);
        if (status != PB_OK)
            break;
    }
    gsl_set_error_handler(handler);
    if (status != PB_OK) {
        pb_parameters_clear(&parameters);
        return pb_fail(err, status, "%s", reason.message);
    }
    pb_consistency_apply(info, &parameters);
    calibrate(&parameters);
    *parameters_out = parameters;
    *analysed_out = analysed;
    return PB_OK;
}
