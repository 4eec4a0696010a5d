/* Workers of plumb-analyze, and how they answer; see analyze_workers.h. */
#include "cli/analyze_workers.h"

#include <limits.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/agreement/policy.h"
#include "analysis/inference.h"
#include "analysis/verdict/observe.h"
#include "cli/source.h"
#include "cli/worker.h"

struct pb_workers {
    const char *path;
    const struct pb_key *keys;
    size_t count, next;
    enum pb_wanted wanted;
    struct pb_worker workers[PB_WORKERS_MAX];
    size_t jobs;
};

/* Goes before the parameters of a device. */
struct answer {
    enum pb_status status;
    char message[PB_ERROR_LENGTH], model[PB_TEXT_LENGTH];
    struct pb_device_info info;
    size_t analysed, parameters, agreement, metrics;
    bool has_metrics;
};

/* What the device is compared by. */
static enum pb_status observe(struct pb_device_source *source, const struct pb_device_info *info,
                              const struct pb_parameters *parameters,
                              struct pb_features *features_out, struct pb_error *err)
{
    struct pb_recordings recordings = {source, pb_device_source_load};
    struct pb_feature_row device = {.info = *info};
    struct pb_metric_source metric_source = {
        .device = &device, .recordings = &recordings, .parameters = parameters};
    struct pb_features features = {0};
    struct pb_state *states = NULL;
    struct pb_key *tests = NULL;
    enum pb_status status;

    PB_TEXT_SET(device.key, source->key);
    status =
        pb_reader_states(source->reader, source->key, &states, &metric_source.state_count, err);
    if (status == PB_OK)
        status =
            pb_reader_tests(source->reader, source->key, &tests, &metric_source.test_count, err);
    metric_source.states = states;
    metric_source.tests = (const char(*)[PB_KEY_LENGTH])tests;
    if (status == PB_OK)
        status = pb_observe(&features, &metric_source, err);
    free(tests);
    free(states);
    if (status == PB_OK)
        *features_out = features;
    else
        pb_features_clear(&features);
    return status;
}

static enum pb_status infer(struct pb_device_source *source, const struct pb_device_info *info,
                            struct pb_device_result *result, struct pb_error *err)
{
    struct pb_recordings recordings = {source, pb_device_source_load};
    char place[PB_MESSAGE_LENGTH];
    enum pb_status status;

    snprintf(place, sizeof(place), "/devices/%s", source->key);
    status = pb_infer_device(info, place, &recordings, &result->parameters, &result->analysed, err);
    if (status == PB_OK)
        status = pb_policies_by_replay(&result->parameters, place, &recordings, err);
    if (status == PB_OK)
        status = pb_agreement_measure(&result->parameters, &recordings, &result->agreement, err);
    return status;
}

static enum pb_status analyse(struct pb_reader *reader, const char *key, enum pb_wanted wanted,
                              struct pb_device_result *result_out, struct pb_error *err)
{
    struct pb_device_source source = {.reader = reader, .key = key};
    struct pb_device_result result = {.analysed = 0};
    struct pb_device_info info;
    enum pb_status status = pb_reader_device(reader, key, &info, err);

    if (status != PB_OK)
        return status;
    if ((wanted & PB_WANT_PARAMETERS) != 0)
        status = infer(&source, &info, &result, err);
    if (status == PB_OK && (wanted & PB_WANT_METRICS) != 0) {
        bool is_inferred = (wanted & PB_WANT_PARAMETERS) != 0;

        status =
            observe(&source, &info, is_inferred ? &result.parameters : NULL, &result.features, err);
        if (is_inferred && status != PB_NO_MEMORY)
            status = PB_OK; /* whoever compares reports that it cannot */
    }
    pb_device_source_clear(&source);
    if (status != PB_OK) {
        pb_parameters_clear(&result.parameters);
        pb_agreement_clear(&result.agreement);
        return status;
    }
    result.info = info;
    snprintf(result.model, sizeof(result.model), "%.112s%s", info.model,
             pb_backend_is_simulated(info.backend) ? ", simulated" : "");
    *result_out = result;
    return PB_OK;
}

/* The device's row of the feature table, then each metric and its cell. */
static bool send_features(int pipe, const struct pb_features *features)
{
    bool is_sent = pb_worker_send(pipe, features->devices, sizeof(*features->devices));

    for (size_t i = 0; i < features->metric_count && is_sent; i++) {
        struct pb_reading cell = pb_features_reading(features, 0, i);

        is_sent = pb_worker_send(pipe, &features->metrics[i], sizeof(features->metrics[i])) &&
                  pb_worker_send(pipe, &cell, sizeof(cell));
    }
    return is_sent;
}

static bool send_answer(int pipe, enum pb_status status, const struct pb_device_result *result,
                        const struct pb_error *err)
{
    struct answer answer = {.status = status};

    PB_TEXT_SET(answer.message, err->message);
    if (status == PB_OK) {
        PB_TEXT_SET(answer.model, result->model);
        answer.info = result->info;
        answer.analysed = result->analysed;
        answer.parameters = result->parameters.count;
        answer.agreement = result->agreement.count;
        answer.metrics = result->features.metric_count;
        answer.has_metrics = result->features.device_count > 0;
    }
    return pb_worker_send(pipe, &answer, sizeof(answer)) &&
           pb_worker_send(pipe, result->parameters.items,
                          answer.parameters * sizeof(*result->parameters.items)) &&
           pb_worker_send(pipe, result->agreement.tests,
                          answer.agreement * sizeof(*result->agreement.tests)) &&
           (!answer.has_metrics || send_features(pipe, &result->features));
}

/* One device by a reader of its own: what HDF5 keeps of a file's objects grows while it is open. */
static enum pb_status open_and_analyse(const char *path, const char *key, enum pb_wanted wanted,
                                       struct pb_device_result *result_out, struct pb_error *err)
{
    struct pb_reader *reader = NULL;
    enum pb_status status = pb_reader_open(path, &reader, err);

    if (status == PB_OK)
        status = analyse(reader, key, wanted, result_out, err);
    pb_reader_close(reader);
    return status;
}

/*
 * What was freed is kept for the next test and device: the system clears every page that it gives,
 * which took a sixth of the time.
 */
static void keep_freed_memory(void)
{
    enum { LARGEST_BYTES = 32 << 20 }; /* as glibc allows; larger blocks go back one by one */

    mallopt(M_MMAP_THRESHOLD, LARGEST_BYTES);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
}

/* The whole life of worker number `first`: its share of the devices, up to the first error. */
static void work(void *context, size_t first, int pipe)
{
    const struct pb_workers *workers = context;
    struct pb_error err = PB_ERROR_INIT;
    bool is_sent = true;

    keep_freed_memory();
    for (size_t i = first; i < workers->count && is_sent; i += workers->jobs) {
        struct pb_device_result result = {.analysed = 0};
        enum pb_status status =
            open_and_analyse(workers->path, workers->keys[i].text, workers->wanted, &result, &err);

        is_sent = send_answer(pipe, status, &result, &err) && status == PB_OK;
        pb_parameters_clear(&result.parameters);
        pb_agreement_clear(&result.agreement);
        pb_features_clear(&result.features);
    }
}

enum pb_status pb_workers_start(const char *path, const struct pb_key *keys, size_t count,
                                size_t jobs, enum pb_wanted wanted, struct pb_workers **workers_out,
                                struct pb_error *err)
{
    struct pb_workers *workers = calloc(1, sizeof(*workers));
    enum pb_status status = PB_OK;

    if (workers == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu workers", jobs);
    jobs = jobs > PB_WORKERS_MAX ? PB_WORKERS_MAX : jobs;
    jobs = jobs > count ? count : jobs;
    *workers = (struct pb_workers){
        .path = path, .keys = keys, .count = count, .jobs = jobs, .wanted = wanted};
    for (size_t i = 0; i < jobs && status == PB_OK; i++)
        status = pb_worker_start(workers->workers, i, work, workers, err);
    if (status != PB_OK) {
        pb_workers_stop(workers);
        return status;
    }
    *workers_out = workers;
    return PB_OK;
}

static enum pb_status take_parameters(struct pb_worker *worker, const struct answer *answer,
                                      struct pb_parameters *parameters_out, struct pb_error *err)
{
    struct pb_parameters parameters = {.count = answer->parameters, .capacity = answer->parameters};
    enum pb_status status;

    parameters.items = calloc(answer->parameters + 1, sizeof(*parameters.items));
    if (parameters.items == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu parameters",
                       answer->parameters);
    status = pb_worker_receive(worker, parameters.items,
                               answer->parameters * sizeof(*parameters.items), err);
    if (status != PB_OK) {
        pb_parameters_clear(&parameters);
        return status;
    }
    *parameters_out = parameters;
    return PB_OK;
}

static enum pb_status take_agreement(struct pb_worker *worker, const struct answer *answer,
                                     struct pb_agreement *agreement_out, struct pb_error *err)
{
    struct pb_agreement agreement = {NULL, answer->agreement};
    enum pb_status status;

    agreement.tests = calloc(answer->agreement + 1, sizeof(*agreement.tests));
    if (agreement.tests == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu tests", answer->agreement);
    status = pb_worker_receive(worker, agreement.tests,
                               answer->agreement * sizeof(*agreement.tests), err);
    if (status != PB_OK) {
        pb_agreement_clear(&agreement);
        return status;
    }
    *agreement_out = agreement;
    return PB_OK;
}

static enum pb_status receive_features(struct pb_worker *worker, const struct answer *answer,
                                       struct pb_features *features_out, struct pb_error *err)
{
    struct pb_features features = {0};
    struct pb_feature_row device;
    size_t row = 0;
    enum pb_status status = pb_worker_receive(worker, &device, sizeof(device), err);

    if (status == PB_OK)
        status = pb_features_add_device(&features, &device, &row, err);
    for (size_t i = 0; i < answer->metrics && status == PB_OK; i++) {
        struct pb_metric metric;
        struct pb_reading cell;

        status = pb_worker_receive(worker, &metric, sizeof(metric), err);
        if (status == PB_OK)
            status = pb_worker_receive(worker, &cell, sizeof(cell), err);
        if (status == PB_OK)
            status = pb_features_set(&features, row, &metric, cell, err);
    }
    if (status == PB_OK)
        *features_out = features;
    else
        pb_features_clear(&features);
    return status;
}

void pb_device_result_clear(struct pb_device_result *result)
{
    pb_parameters_clear(&result->parameters);
    pb_agreement_clear(&result->agreement);
    pb_features_clear(&result->features);
}

enum pb_status pb_workers_next(struct pb_workers *workers, struct pb_device_result *result_out,
                               struct pb_error *err)
{
    struct pb_worker *worker = &workers->workers[workers->next++ % workers->jobs];
    struct pb_device_result result = {.analysed = 0};
    struct answer answer;
    enum pb_status status = pb_worker_receive(worker, &answer, sizeof(answer), err);

    if (status != PB_OK)
        return status;
    if (answer.status != PB_OK)
        return pb_fail(err, answer.status, "%s", answer.message);
    status = take_parameters(worker, &answer, &result.parameters, err);
    if (status != PB_OK)
        return status;
    status = take_agreement(worker, &answer, &result.agreement, err);
    if (status == PB_OK && answer.has_metrics)
        status = receive_features(worker, &answer, &result.features, err);
    if (status != PB_OK) {
        pb_device_result_clear(&result);
        return status;
    }
    PB_TEXT_SET(result.model, answer.model);
    result.info = answer.info;
    result.analysed = answer.analysed;
    *result_out = result;
    return PB_OK;
}

void pb_workers_stop(struct pb_workers *workers)
{
    if (workers == NULL)
        return;
    for (size_t i = 0; i < workers->jobs; i++)
        pb_worker_stop(&workers->workers[i]);
    free(workers);
}
