/*
 * Family sustain: what stays of the throughput when the load lasts.
 *
 * The fastest copy known runs in slices of at most 50 ms; after each the state is read. Axes time
 * (seconds of load at the slice's end) and quantity: throughput in byte/s, sm_clock and
 * memory_clock in MHz, power in W, temperature in degC, throttle_reasons as the driver's bit mask.
 *
 * 10 s of load in the full battery, 1 s in the others, or as the bench was told.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "battery/grid.h"
#include "battery/stream.h"
#include "battery/tests.h"
#include "core/time.h"

enum { QUANTITIES = 6 };

static const double slice_seconds = 0.04, full_seconds = 10, standard_seconds = 1;

/* Rows that grow: the load's end is known only when it has come. */
struct rows {
    double *times;
    double (*values)[QUANTITIES];
    size_t count, capacity;
};

static void free_rows(struct rows *rows)
{
    free(rows->times);
    free(rows->values);
}

/* False: no memory for more. */
static bool grow(struct rows *rows)
{
    size_t capacity = rows->capacity == 0 ? 64 : 2 * rows->capacity;
    double *times = realloc(rows->times, capacity * sizeof(*times));
    double(*values)[QUANTITIES];

    if (times == NULL)
        return false;
    rows->times = times;
    values = realloc(rows->values, capacity * sizeof(*values));
    if (values == NULL)
        return false;
    rows->values = values;
    rows->capacity = capacity;
    return true;
}

static enum pb_status add_row(struct pb_bench *bench, double seconds, double bytes_per_s,
                              struct rows *rows, struct pb_error *err)
{
    struct pb_state state;
    double *values;

    if (rows->count == rows->capacity && !grow(rows))
        return pb_fail(err, PB_NO_MEMORY, "no memory for %zu moments", rows->count + 1);
    pb_state_clear(&state);
    if (bench->device->ops->read_state(bench->device, &state, NULL) != PB_OK)
        pb_state_clear(&state); /* unknown: the throughput still counts */
    values = rows->values[rows->count];
    rows->times[rows->count++] = seconds;
    values[0] = bytes_per_s;
    values[1] = state.sm_clock_mhz;
    values[2] = state.memory_clock_mhz;
    values[3] = state.power_w;
    values[4] = state.temperature_c;
    values[5] = state.throttle_reasons >= 0 ? (double)state.throttle_reasons : NAN;
    return PB_OK;
}

/* A few likely shapes, where no test has looked for the best one yet. */
static enum pb_status choose_copy(struct pb_bench *bench, struct pb_recording *recording,
                                  struct pb_stream *stream_out, struct pb_error *err)
{
    static const struct {
        uint32_t ctas_per_sm, cta_size, ilp;
    } shapes[] = {{2, 512, 8}, {4, 256, 8}, {8, 256, 4}, {16, 128, 4}, {32, 1024, 1}};
    double best = 0;

    if (bench->best_copy_bytes_per_s > 0) {
        *stream_out = bench->best_copy;
        return PB_OK;
    }
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        struct pb_stream stream = {.kind = PB_STREAM_COPY,
                                   .cta_count = shapes[i].ctas_per_sm * bench->info.sm_count,
                                   .cta_size = shapes[i].cta_size,
                                   .ilp = shapes[i].ilp,
                                   .word_bytes = 16,
                                   .bytes = pb_stream_bytes(bench),
                                   .repeats = 1};
        double bytes_per_s = 0;
        enum pb_status status = pb_stream_take(bench, &stream, recording, &bytes_per_s, err);

        if (status != PB_OK)
            return status;
        if (bytes_per_s > best) {
            best = bytes_per_s;
            *stream_out = stream;
        }
    }
    return PB_OK;
}

/* As many passes as one slice holds, by the time of one. */
static enum pb_status fit_slice(struct pb_bench *bench, struct pb_stream *stream,
                                struct pb_error *err)
{
    struct pb_stream_result result;
    enum pb_status status;

    stream->repeats = 1;
    status = bench->device->ops->stream(bench->device, stream, &result, err);
    if (status == PB_OK && result.seconds < slice_seconds)
        stream->repeats = (uint32_t)fmin(slice_seconds / result.seconds, 1e6);
    return status;
}

static enum pb_status load(struct pb_bench *bench, const struct pb_stream *stream, double seconds,
                           struct pb_recording *recording, struct rows *rows, struct pb_error *err)
{
    double start = pb_time_monotonic_seconds(), passed = 0;
    enum pb_status status = PB_OK;

    while (status == PB_OK && passed < seconds &&
           pb_time_monotonic_seconds() - start < PB_SUSTAIN_PATIENCE * seconds) {
        struct pb_stream_result result;

        status = bench->device->ops->stream(bench->device, stream, &result, err);
        if (status != PB_OK)
            return status;
        passed += result.seconds;
        if (result.mismatch_count > 0)
            snprintf(recording->message, sizeof(recording->message),
                     "%llu words were copied wrong after %.2f s",
                     (unsigned long long)result.mismatch_count, passed);
        status = add_row(bench, passed, (double)result.bytes_moved / result.seconds, rows, err);
    }
    return status;
}

static enum pb_status file_rows(const struct rows *rows, struct pb_matrix *matrix,
                                struct pb_error *err)
{
    static const char *const quantities[QUANTITIES] = {
        "throughput", "sm_clock", "memory_clock", "power", "temperature", "throttle_reasons"};
    const struct pb_grid_axis axes[] = {
        {"time", "s", "seconds of load so far", rows->times, NULL, rows->count},
        PB_GRID_LABELS("quantity", "byte/s, MHz, MHz, W, degC, bit mask", quantities),
    };
    enum pb_status status;

    if (rows->count == 0 || rows->values == NULL)
        return pb_fail(err, PB_NOT_FOUND, "no load was put on the device");
    status = pb_grid_open(matrix, axes, 2, "by quantity",
                          "throughput and state under a lasting load", err);

    if (status == PB_OK)
        memcpy(matrix->values, rows->values, rows->count * sizeof(*rows->values));
    return status;
}

enum pb_status pb_test_sustain(struct pb_bench *bench, struct pb_recording *recording,
                               struct pb_error *err)
{
    double seconds = bench->battery == PB_FULL ? full_seconds : standard_seconds;
    struct pb_stream stream = {.repeats = 1};
    struct rows rows = {.count = 0};
    enum pb_status status = choose_copy(bench, recording, &stream, err);

    if (bench->sustain_seconds > 0)
        seconds = bench->sustain_seconds;
    if (status == PB_OK)
        status = fit_slice(bench, &stream, err);
    if (status == PB_OK)
        status = load(bench, &stream, seconds, recording, &rows, err);
    if (status == PB_OK)
        status = file_rows(&rows, &recording->matrix, err);
    free_rows(&rows);
    return status;
}
