/* Recordings of simulated devices for tests of the inference. */
#include "analysis/recordings.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/inference.h"
#include "battery/battery.h"

static void *copy_of(const void *from, size_t size)
{
    void *to = from != NULL && size > 0 ? malloc(size) : NULL;

    if (to != NULL)
        memcpy(to, from, size);
    return to;
}

static bool copy_series(const struct pb_series *from, struct pb_series *to)
{
    to->points = copy_of(from->points, from->point_count * sizeof(*from->points));
    to->latency_cycles =
        copy_of(from->latency_cycles, from->access_count * sizeof(*from->latency_cycles));
    to->index_bytes = copy_of(from->index_bytes, from->access_count * sizeof(*from->index_bytes));
    to->point_capacity = from->point_count;
    to->access_capacity = from->access_count;
    return (to->points != NULL || from->point_count == 0) &&
           ((to->latency_cycles != NULL && to->index_bytes != NULL) || from->access_count == 0);
}

static bool copy_matrix(const struct pb_matrix *from, struct pb_matrix *to)
{
    bool copied = true;

    for (size_t i = 0; i < from->rank; i++) {
        const struct pb_axis *axis = &from->axes[i];

        to->axes[i].values = copy_of(axis->values, axis->length * sizeof(*axis->values));
        to->axes[i].labels = copy_of(axis->labels, axis->length * sizeof(*axis->labels));
        copied &= to->axes[i].values != NULL || axis->values == NULL || axis->length == 0;
        copied &= to->axes[i].labels != NULL || axis->labels == NULL || axis->length == 0;
    }
    to->values = copy_of(from->values, pb_matrix_size(from) * sizeof(*from->values));
    return copied && (to->values != NULL || from->values == NULL || pb_matrix_size(from) == 0);
}

enum pb_status recording_copy(const struct pb_recording *from, struct pb_recording *to_out,
                              struct pb_error *err)
{
    bool series, matrix;

    *to_out = *from;
    series = copy_series(&from->series, &to_out->series);
    matrix = copy_matrix(&from->matrix, &to_out->matrix);
    if (series && matrix)
        return PB_OK;
    pb_recording_clear(to_out);
    return pb_fail(err, PB_NO_MEMORY, "no memory for a copy of %s", from->name);
}

/* Does any inference read this test? */
static bool is_read(const char *test)
{
    for (const struct pb_inference *row = pb_inferences; row->memory != NULL; row++)
        for (size_t i = 0; i < PB_INFERENCE_TESTS_MAX && row->tests[i] != NULL; i++)
            if (strcmp(row->tests[i] + (row->tests[i][0] == '?'), test) == 0)
                return true;
    return false;
}

enum pb_status recordings_measure(const char *profile, uint64_t seed,
                                  struct recordings *recordings_out, struct pb_error *err)
{
    struct pb_device_request request = {.profile = profile, .seed = seed};
    struct pb_bench bench;
    enum pb_status status = pb_bench_open(&pb_device_sim, &request, PB_STANDARD, &bench, err);

    memset(recordings_out, 0, sizeof(*recordings_out));
    if (status != PB_OK)
        return status;
    recordings_out->info = bench.info;
    for (const struct pb_test *test = pb_tests; test->name != NULL && status == PB_OK; test++) {
        struct pb_state states[2];

        if (!is_read(test->name) || test->battery > PB_STANDARD ||
            recordings_out->count == RECORDINGS_MAX)
            continue;
        status =
            pb_bench_run(&bench, test, &recordings_out->items[recordings_out->count], states, err);
        recordings_out->count += status == PB_OK;
    }
    pb_bench_close(&bench);
    if (status != PB_OK)
        recordings_clear(recordings_out);
    return status;
}

static enum pb_status load(void *context, const char *test, struct pb_recording *recording_out,
                           struct pb_error *err)
{
    const struct recordings *recordings = context;

    for (size_t i = 0; i < recordings->count; i++)
        if (strcmp(recordings->items[i].name, test) == 0)
            return recording_copy(&recordings->items[i], recording_out, err);
    return pb_fail(err, PB_NOT_FOUND, "no test %s", test);
}

enum pb_status recordings_infer(const struct recordings *recordings,
                                struct pb_parameters *parameters_out, struct pb_error *err)
{
    struct recordings *context = (struct recordings *)recordings;
    struct pb_recordings source = {context, load};
    size_t analysed;

    return pb_infer_device(&recordings->info, "/devices/n1.gpu0", &source, parameters_out,
                           &analysed, err);
}

void recordings_clear(struct recordings *recordings)
{
    for (size_t i = 0; i < recordings->count; i++)
        pb_recording_clear(&recordings->items[i]);
    recordings->count = 0;
}
