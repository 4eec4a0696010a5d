/*
 * Family sustain: what stays of the throughput when the load lasts.
 *
 * The fastest copy known runs in slices of at most 50 ms; after each the state is read. Axes time
 * (seconds of load at the slice's end) and quantity: throughput in byte/s, sm_clock and
 * memory_clock in MHz, power in W, temperature in degC, throttle_reasons as the driver's bit mask.
 *
 * Behind each copy all SMs compute the same products of random matrices, in turn without a rest and
 * with load and rest alternating. Quantities of a slice: computed, wrong_runs: runs of all SMs, and
 * those that differ from the runs of most SMs; wrong_sm: the SM with most of them; copied_words,
 * wrong_words: words of 4 bytes that were copied last, each compared with what belongs at its
 * place, and those that differ.
 *
 * 10 s of load in the full battery, 1 s in the others, or as --sustain requests.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "battery/compute.h"
#include "battery/grid.h"
#include "battery/stream.h"
#include "battery/tests.h"
#include "core/time.h"

enum { STATE_QUANTITIES = 6, QUANTITIES = 11 };
enum { COMPUTED = STATE_QUANTITIES, WRONG_RUNS, WRONG_SM, COPIED_WORDS, WRONG_WORDS };
enum { RUNS = 32, RESTED_RUNS = 16 };

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

static enum pb_status add_row(struct pb_session *session, double seconds, double bytes_per_s,
                              struct rows *rows, struct pb_error *err)
{
    struct pb_state state;
    double *values;

    if (rows->count == rows->capacity && !grow(rows))
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu moments", rows->count + 1);
    pb_state_clear(&state);
    if (session->device->ops->read_state(session->device, &state, NULL) != PB_OK)
        pb_state_clear(&state); /* unknown: the throughput still counts */
    values = rows->values[rows->count];
    rows->times[rows->count++] = seconds;
    values[0] = bytes_per_s;
    values[1] = state.sm_clock_mhz;
    values[2] = state.memory_clock_mhz;
    values[3] = state.power_w;
    values[4] = state.temperature_c;
    values[5] = state.throttle_reasons >= 0 ? (double)state.throttle_reasons : NAN;
    for (size_t i = STATE_QUANTITIES; i < QUANTITIES; i++)
        values[i] = NAN;
    return PB_OK;
}

/* Of the copy of a slice: its last pass was compared word by word. */
static void note_copy(const struct pb_stream *stream, const struct pb_stream_result *result,
                      double *values)
{
    values[COPIED_WORDS] = (double)(stream->bytes / sizeof(uint32_t));
    values[WRONG_WORDS] = (double)result->mismatch_count;
}

/* By the clock; what the kernels take to start is not load. */
static double seconds_of(const struct pb_session *session, const struct pb_compute *compute)
{
    const double cycles_per_step = 100.0;
    double cycles = (double)compute->runs * compute->steps * cycles_per_step;

    return (session->info.sm_clock_max_mhz > 0 ? cycles * 1e-6 / session->info.sm_clock_max_mhz
                                               : 0.0) +
           1e-6 * compute->runs * compute->rest_us;
}

static void note_runs(const struct pb_session *session, const struct pb_compute *compute,
                      const struct pb_compute_sm *sms, uint64_t wrong,
                      struct pb_recording *recording, double *values)
{
    size_t worst = 0;

    for (size_t sm = 1; sm < session->info.sm_count; sm++)
        if (sms[sm].wrong > sms[worst].wrong)
            worst = sm;
    values[COMPUTED] = (double)compute->runs * session->info.sm_count;
    values[WRONG_RUNS] = (double)wrong;
    if (wrong == 0)
        return;
    values[WRONG_SM] = (double)worst;
    snprintf(recording->message, sizeof(recording->message),
             "%llu of %.0f runs of a computation differ from those of most SMs, most of them on SM "
             "%zu",
             (unsigned long long)wrong, values[COMPUTED], worst);
}

/* The computation of slice `number`; a device that has not all its SMs at once does without. */
static enum pb_status compute_slice(struct pb_session *session, size_t number,
                                    struct pb_recording *recording, double *values, double *passed,
                                    struct pb_error *err)
{
    bool is_rested = number % 2 == 1;
    struct pb_compute compute = pb_compute_runs(is_rested ? RESTED_RUNS : RUNS, is_rested);
    struct pb_compute_sm *sms;
    uint64_t wrong = 0;
    enum pb_status status;

    if ((session->info.capabilities & PB_CAP_PARALLEL) == 0)
        return PB_OK;
    sms = malloc(session->info.sm_count * sizeof(*sms));
    if (sms == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %u SMs",
                       session->info.sm_count);
    status = pb_compute_compare(session, &compute, sms, &wrong, err);
    if (status == PB_OK) {
        note_runs(session, &compute, sms, wrong, recording, values);
        *passed += seconds_of(session, &compute);
    }
    free(sms);
    return pb_grid_forgive(status);
}

/* A few likely shapes, where no test has looked for the best one yet. */
static enum pb_status choose_copy(struct pb_session *session, struct pb_recording *recording,
                                  struct pb_stream *stream_out, struct pb_error *err)
{
    static const struct {
        uint32_t ctas_per_sm, cta_size, ilp;
    } shapes[] = {{2, 512, 8}, {4, 256, 8}, {8, 256, 4}, {16, 128, 4}, {32, 1024, 1}};
    double best = 0;

    if (session->best_copy_bytes_per_s > 0) {
        *stream_out = session->best_copy;
        return PB_OK;
    }
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        struct pb_stream stream = {.kind = PB_STREAM_COPY,
                                   .cta_count = shapes[i].ctas_per_sm * session->info.sm_count,
                                   .cta_size = shapes[i].cta_size,
                                   .ilp = shapes[i].ilp,
                                   .word_bytes = 16,
                                   .bytes = pb_stream_bytes(session),
                                   .repeats = 1};
        double bytes_per_s = 0;
        enum pb_status status = pb_stream_take(session, &stream, recording, &bytes_per_s, err);

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
static enum pb_status fit_slice(struct pb_session *session, struct pb_stream *stream,
                                struct pb_error *err)
{
    struct pb_stream_result result;
    enum pb_status status;

    stream->repeats = 1;
    status = session->device->ops->stream(session->device, stream, &result, err);
    if (status == PB_OK && result.seconds < slice_seconds)
        stream->repeats = (uint32_t)fmin(slice_seconds / result.seconds, 1e6);
    return status;
}

static enum pb_status load(struct pb_session *session, const struct pb_stream *stream,
                           double seconds, struct pb_recording *recording, struct rows *rows,
                           struct pb_error *err)
{
    double start = pb_time_monotonic_seconds(), passed = 0;
    enum pb_status status = PB_OK;

    while (status == PB_OK && passed < seconds &&
           pb_time_monotonic_seconds() - start < PB_SUSTAIN_TIMEOUT_FACTOR * seconds) {
        struct pb_stream_result result;

        status = session->device->ops->stream(session->device, stream, &result, err);
        if (status != PB_OK)
            return status;
        passed += result.seconds;
        if (result.mismatch_count > 0)
            snprintf(recording->message, sizeof(recording->message),
                     "%llu words were copied wrong after %.2f s",
                     (unsigned long long)result.mismatch_count, passed);
        status = add_row(session, passed, (double)result.bytes_moved / result.seconds, rows, err);
        if (status != PB_OK)
            return status;
        note_copy(stream, &result, rows->values[rows->count - 1]);
        status = compute_slice(session, rows->count - 1, recording, rows->values[rows->count - 1],
                               &passed, err);
    }
    return status;
}

static enum pb_status file_rows(const struct rows *rows, struct pb_matrix *matrix,
                                struct pb_error *err)
{
    static const char *const quantities[QUANTITIES] = {
        "throughput",  "sm_clock",         "memory_clock", "power",
        "temperature", "throttle_reasons", "computed",     "wrong_runs",
        "wrong_sm",    "copied_words",     "wrong_words"};
    const struct pb_grid_axis axes[] = {
        {"time", "s", "seconds of load so far", rows->times, NULL, rows->count},
        PB_GRID_LABELS("quantity", "byte/s, MHz, MHz, W, degC, bit mask, runs, SM, words",
                       quantities),
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

enum pb_status pb_test_sustained_load(struct pb_session *session, struct pb_recording *recording,
                                      struct pb_error *err)
{
    double seconds = session->battery == PB_FULL ? full_seconds : standard_seconds;
    struct pb_stream stream = {.repeats = 1};
    struct rows rows = {.count = 0};
    enum pb_status status = choose_copy(session, recording, &stream, err);

    if (session->sustain_seconds > 0)
        seconds = session->sustain_seconds;
    if (status == PB_OK)
        status = fit_slice(session, &stream, err);
    if (status == PB_OK)
        status = load(session, &stream, seconds, recording, &rows, err);
    if (status == PB_OK)
        status = file_rows(&rows, &recording->matrix, err);
    free_rows(&rows);
    return status;
}
