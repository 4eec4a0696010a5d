/*
 * Walking the table of inferences for one device. What was read for one row stays in memory while
 * one of the next two rows asks for it again: a few recordings, never a device's all.
 */
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

/* How many rows behind its own a recording is kept for. */
enum { ROWS_AHEAD = 2, SHELF_MAX = PB_INFERENCE_TESTS_MAX * (ROWS_AHEAD + 1) };

/* Recordings that were read, for the rows to come. */
struct shelf {
    struct pb_recording recordings[SHELF_MAX];
    const char *tests[SHELF_MAX]; /* NULL: this place is free */
};

/* Moves a recording off the shelf; false when it is not there. */
static bool take(struct shelf *shelf, const char *test, struct pb_recording *recording_out)
{
    for (size_t i = 0; i < SHELF_MAX; i++) {
        if (shelf->tests[i] == NULL || strcmp(shelf->tests[i], test) != 0)
            continue;
        *recording_out = shelf->recordings[i];
        shelf->tests[i] = NULL;
        return true;
    }
    return false;
}

/* Moves a recording onto the shelf; without a free place it is forgotten. */
static void put_back(struct shelf *shelf, const char *test, struct pb_recording *recording)
{
    for (size_t i = 0; i < SHELF_MAX; i++) {
        if (shelf->tests[i] != NULL)
            continue;
        shelf->tests[i] = test;
        shelf->recordings[i] = *recording;
        return;
    }
    pb_recording_clear(recording);
}

static bool is_asked_soon(const struct pb_inference *row, const char *test)
{
    for (size_t ahead = 1; ahead <= ROWS_AHEAD && row[ahead].memory != NULL; ahead++)
        for (size_t i = 0; i < PB_INFERENCE_TESTS_MAX && row[ahead].tests[i] != NULL; i++)
            if (strcmp(test_of(&row[ahead], i), test) == 0)
                return true;
    return false;
}

/* Forgets what none of the rows soon after this one asks for; NULL: everything. */
static void clear_shelf(struct shelf *shelf, const struct pb_inference *row)
{
    for (size_t i = 0; i < SHELF_MAX; i++) {
        if (shelf->tests[i] == NULL || (row != NULL && is_asked_soon(row, shelf->tests[i])))
            continue;
        pb_recording_clear(&shelf->recordings[i]);
        shelf->tests[i] = NULL;
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

/* Loads what the row needs, lets it speak, and keeps what is asked for again soon. */
static enum pb_status run_row(struct pb_case *at, const struct pb_recordings *source,
                              struct shelf *shelf, size_t *analysed, struct pb_error *err)
{
    struct pb_recording recordings[PB_INFERENCE_TESTS_MAX] = {0};
    bool is_read[PB_INFERENCE_TESTS_MAX] = {false};
    const struct pb_inference *row = at->inference;
    enum pb_status status = PB_OK;
    size_t loaded = 0, read = 0;

    while (status == PB_OK && loaded < PB_INFERENCE_TESTS_MAX && row->tests[loaded] != NULL) {
        if (!take(shelf, test_of(row, loaded), &recordings[loaded]))
            status = load_one(source, test_of(row, loaded), &recordings[loaded], err);
        is_read[loaded] = status == PB_OK;
        read += status == PB_OK;
        if (status != PB_OK && status != PB_NO_MEMORY && row->tests[loaded][0] == '?') {
            pb_recording_clear(&recordings[loaded]);
            recordings[loaded].outcome = PB_TEST_MISSING;
            PB_TEXT_SET(recordings[loaded].message, err->message);
            status = PB_OK;
        }
        loaded++;
    }
    if (status == PB_OK && row->infer != NULL) {
        *analysed += read;
        at->recordings = recordings;
        status = row->infer(at, err);
    }
    for (size_t i = 0; i < loaded; i++) {
        if (is_read[i])
            put_back(shelf, test_of(row, i), &recordings[i]);
        else
            pb_recording_clear(&recordings[i]);
    }
    clear_shelf(shelf, row);
    if (status == PB_NO_MEMORY)
        return status;
    if (status == PB_OK && row->infer == NULL)
        return PB_OK;
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
    struct shelf shelf = {.tests = {NULL}};
    struct pb_error reason = PB_ERROR_INIT;
    /* GSL would abort the process on a domain error; its results are checked instead. */
    gsl_error_handler_t *handler = gsl_set_error_handler_off();
    enum pb_status status = PB_OK;
    size_t analysed = 0;

    for (const struct pb_inference *row = rows; row->memory != NULL; row++) {
        struct pb_case at = {row, info, NULL, &parameters};

        status = declare_answers(row, place, &parameters, &reason);
        if (status == PB_OK)
            status = run_row(&at, source, &shelf, &analysed, &reason);
        if (status != PB_OK)
            break;
    }
    clear_shelf(&shelf, NULL);
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
