/* A session on a simulated device, and what it has recorded; see rig.h. */
#include "battery/rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void rig_open(const char *profile, const char *fault, struct pb_session *session_out)
{
    const char *const faults[] = {fault};
    struct pb_device_request request = {.profile = profile,
                                        .faults = faults,
                                        .fault_count = fault != NULL,
                                        .host = "n1",
                                        .seed = 5};
    struct pb_error err = PB_ERROR_INIT;

    if (pb_session_open(&pb_device_sim, &request, PB_STANDARD, session_out, &err) != PB_OK)
        fail_msg("%s", err.message);
}

/* What no test measures. */
static const char *const custom_rest =
    " \"dram\": {\"latency_cycles\": 495, \"bandwidth_bytes_per_s\": 2e11,"
    " \"theoretical_bytes_per_s\": 2.5e11},"
    " \"shared\": {\"bytes_per_sm\": 49152, \"banks\": 32, \"bank_bytes\": 4,"
    " \"latency_cycles\": 21, \"peak_bytes_per_cycle\": 128, \"conflict_cycles\": {\"2\": 37}},"
    " \"mshr\": {\"per_sm\": 37, \"per_warp\": 10}";
static const char *const custom_noise = ", \"noise\": {\"jitter_cycles\": 1,"
                                        " \"spike_probability\": 0, \"spike_cycles\": 0}";

void rig_open_custom(const char *caches, const char *tlbs, const char *more,
                     struct pb_session *session_out)
{
    char path[] = "/tmp/rig-XXXXXX.json";
    int file = mkstemps(path, 5);

    assert_true(file >= 0);
    assert_true(dprintf(file,
                        "{\"name\": \"custom\", \"source\": \"a test\","
                        " \"compute_capability\": \"5.2\", \"sm_count\": 8, \"clock_mhz\": 1000,"
                        " \"memory_bytes\": 4294967296, \"clock_overhead_cycles\": 14,"
                        " \"caches\": [%s], \"tlbs\": [%s], %s%s%s}",
                        caches, tlbs, custom_rest,
                        strstr(more, "\"noise\"") == NULL ? custom_noise : "", more) > 0);
    close(file);
    rig_open(path, NULL, session_out);
    remove(path);
}

void rig_run(struct pb_session *session, const char *test, struct pb_recording *recording_out)
{
    struct pb_state states[2];

    assert_non_null(pb_test_find(test));
    assert_int_equal(pb_session_run(session, pb_test_find(test), recording_out, states, NULL),
                     PB_OK);
    if (recording_out->outcome != PB_TEST_OK)
        fail_msg("%s: %s: %s", test, pb_outcome_name(recording_out->outcome),
                 recording_out->message);
}

void rig_record(const char *profile, const char *test, struct pb_recording *recording_out)
{
    struct pb_session session;

    rig_open(profile, NULL, &session);
    rig_run(&session, test, recording_out);
    pb_session_close(&session);
}

const struct pb_point *rig_next(const struct pb_recording *recording, const char *phase,
                                const char *path, size_t *at)
{
    while (*at < recording->series.point_count) {
        const struct pb_point *point = &recording->series.points[(*at)++];

        if (strcmp(point->phase, phase) == 0 && (path == NULL || strcmp(point->path, path) == 0))
            return point;
    }
    return NULL;
}

const struct pb_point *rig_find(const struct pb_recording *recording, const char *phase,
                                const char *path)
{
    size_t at = 0;
    const struct pb_point *point = rig_next(recording, phase, path, &at);

    if (point == NULL)
        fail_msg("%s has no point of phase %s", recording->name, phase);
    return point;
}

double rig_cycles(const struct pb_recording *recording, const struct pb_point *point, size_t i)
{
    assert_true(i < point->count);
    return recording->series.latency_cycles[point->first + i] - point->overhead_cycles;
}

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

double rig_median(const struct pb_recording *recording, const struct pb_point *point)
{
    double *cycles = calloc(point->count + 1, sizeof(*cycles)), median;

    assert_non_null(cycles);
    assert_true(point->count > 0);
    for (size_t i = 0; i < point->count; i++)
        cycles[i] = rig_cycles(recording, point, i);
    qsort(cycles, point->count, sizeof(*cycles), by_value);
    median = cycles[point->count / 2];
    free(cycles);
    return median;
}

size_t rig_count(const struct pb_recording *recording, const struct pb_point *point, double low,
                 double high)
{
    size_t found = 0;

    for (size_t i = 0; i < point->count; i++) {
        double cycles = rig_cycles(recording, point, i);

        found += cycles >= low && cycles <= high;
    }
    return found;
}

uint64_t rig_index(const struct pb_recording *recording, const struct pb_point *point, size_t i)
{
    assert_true(i < point->count);
    return recording->series.index_bytes[point->first + i];
}

size_t rig_at(const struct pb_axis *axis, double value)
{
    for (size_t i = 0; axis->values != NULL && i < axis->length; i++)
        if (axis->values[i] == value)
            return i;
    fail_msg("axis %s has no value %g", axis->name, value);
    return 0;
}

size_t rig_label(const struct pb_axis *axis, const char *label)
{
    for (size_t i = 0; axis->labels != NULL && i < axis->length; i++)
        if (strcmp(axis->labels[i], label) == 0)
            return i;
    fail_msg("axis %s has no label %s", axis->name, label);
    return 0;
}

double rig_value(const struct pb_matrix *matrix, const size_t *places)
{
    size_t at = 0;

    for (size_t i = 0; i < matrix->rank; i++) {
        assert_true(places[i] < matrix->axes[i].length);
        at = at * matrix->axes[i].length + places[i];
    }
    return matrix->values[at];
}
