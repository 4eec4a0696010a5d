/*
 * Matrices by a few robust numbers: their peak, what they reach where latency alone decides, the
 * best of each direction of a link, drift along a lasting load.
 *
 * Which cell holds the peak is not compared: on a plateau that is chance. Nor is the time of
 * memory_integrity, which the host takes, allocations included: it is no rate of memory.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/axes.h"
#include "analysis/verdict/observe_parts.h"

static double largest(const double *values, size_t count, size_t *at_out)
{
    double most = NAN;

    for (size_t i = 0; i < count; i++) {
        if (isfinite(values[i]) && !(values[i] <= most)) {
            most = values[i];
            *at_out = i;
        }
    }
    return most;
}

static double median_of(struct pb_extractor *extractor, const double *values, size_t count,
                        size_t step)
{
    struct pb_sample sample = {NULL, 0, 0};
    double median, noise;

    for (size_t i = 0; i < count && extractor->status == PB_OK; i++)
        extractor->status = pb_sample_add(&sample, values[i * step], extractor->err);
    median = pb_extractor_median(extractor, &sample, &noise);
    pb_sample_clear(&sample);
    return median;
}

/* A number of the whole device, under the test's own name. */
static void put(struct pb_extractor *extractor, const struct pb_recording *recording,
                const char *name, double value)
{
    pb_extractor_put(extractor, recording->name, recording->name, name, pb_reading_plain(value));
}

/* Throughput over CTAs × CTA size × ILP: one CTA of the smallest size a SM is latency alone. */
static void put_throughput(struct pb_extractor *extractor, const struct pb_recording *recording)
{
    const struct pb_matrix *matrix = &recording->matrix;
    size_t at = 0;

    if (matrix->rank != 3)
        return;
    put(extractor, recording, "peak", largest(matrix->values, pb_matrix_size(matrix), &at));
    put(extractor, recording, "latency_bound", matrix->values[0]);
}

/* Direction × memory × bytes: the largest of each direction and memory. */
static void put_host_link(struct pb_extractor *extractor, const struct pb_recording *recording)
{
    static const char *const names[4] = {"to_device_pageable", "to_device_pinned",
                                         "from_device_pageable", "from_device_pinned"};
    const struct pb_matrix *matrix = &recording->matrix;
    size_t at = 0, sizes = matrix->axes[2].length;

    if (matrix->rank != 3 || pb_matrix_size(matrix) != 4 * sizes)
        return;
    for (size_t i = 0; i < 4; i++)
        put(extractor, recording, names[i], largest(matrix->values + i * sizes, sizes, &at));
}

/* Direction × memory × quantity; the least of the repeats of pinned transfers. */
static void put_host_latency(struct pb_extractor *extractor, const struct pb_recording *recording)
{
    const struct pb_matrix *matrix = &recording->matrix;

    if (matrix->rank != 3 || pb_matrix_size(matrix) != 8)
        return;
    put(extractor, recording, "to_device_pinned", matrix->values[3]);
    put(extractor, recording, "from_device_pinned", matrix->values[7]);
}

/*
 * Peer × (bandwidth, latency): the median peer, and the worst one with its row as place. All
 * devices of a node measure at the same time, so that a peer may be at half its rate by chance.
 */
static void put_peers(struct pb_extractor *extractor, const struct pb_recording *recording)
{
    const struct pb_matrix *matrix = &recording->matrix;
    size_t peers = matrix->axes[0].length, worst = 0;

    if (matrix->rank != 2 || matrix->axes[1].length != 2 || peers == 0)
        return;
    for (size_t i = 1; i < peers; i++)
        if (!(matrix->values[2 * i] >= matrix->values[2 * worst]))
            worst = i;
    put(extractor, recording, "median_peer", median_of(extractor, matrix->values, peers, 2));
    pb_extractor_put(extractor, recording->name, recording->name, "worst_peer",
                     (struct pb_reading){matrix->values[2 * worst], 0.0, (int64_t)worst});
    put(extractor, recording, "median_latency", median_of(extractor, matrix->values + 1, peers, 2));
}

/* The median of one path and state over all peers and lines; both overheads are alike. */
static double chase_median(struct pb_extractor *extractor, const struct pb_matrix *matrix,
                           const char *path, const char *state)
{
    size_t row = pb_axis_label(&matrix->axes[1], path), lines = matrix->axes[3].length;
    size_t column = pb_axis_label(&matrix->axes[2], state);
    struct pb_sample sample = {NULL, 0, 0};
    double median, noise;

    if (row == matrix->axes[1].length || column == matrix->axes[2].length)
        return NAN;
    for (size_t peer = 0; peer < matrix->axes[0].length; peer++)
        for (size_t i = 0; i < lines && extractor->status == PB_OK; i++)
            extractor->status = pb_sample_add(
                &sample,
                matrix->values[((peer * matrix->axes[1].length + row) * matrix->axes[2].length +
                                column) *
                                   lines +
                               i],
                extractor->err);
    median = pb_extractor_median(extractor, &sample, &noise);
    pb_sample_clear(&sample);
    return median;
}

/* Peer × path × state × line, as stamped. */
static void put_peer_chase(struct pb_extractor *extractor, const struct pb_recording *recording)
{
    const struct pb_matrix *matrix = &recording->matrix;

    if (matrix->rank != 4)
        return;
    put(extractor, recording, "warm", chase_median(extractor, matrix, "global_cg", "warm"));
    put(extractor, recording, "cold", chase_median(extractor, matrix, "global_cg", "cold"));
}

/* Peer × way × engine: the most of each way, of the median peer. */
static void put_peer_copy(struct pb_extractor *extractor, const struct pb_recording *recording)
{
    static const char *const ways[] = {"from_peer", "to_peer", "both"};
    const struct pb_matrix *matrix = &recording->matrix;
    size_t engines = matrix->axes[2].length, at = 0;

    if (matrix->rank != 3)
        return;
    for (size_t way = 0; way < sizeof(ways) / sizeof(ways[0]); way++) {
        size_t place = pb_axis_label(&matrix->axes[1], ways[way]);
        struct pb_sample sample = {NULL, 0, 0};
        double noise;

        if (place == matrix->axes[1].length)
            continue;
        for (size_t i = 0; i < matrix->axes[0].length && extractor->status == PB_OK; i++)
            extractor->status = pb_sample_add(
                &sample,
                largest(matrix->values + (i * matrix->axes[1].length + place) * engines, engines,
                        &at),
                extractor->err);
        put(extractor, recording, ways[way], pb_extractor_median(extractor, &sample, &noise));
        pb_sample_clear(&sample);
    }
}

/* Time × quantity: the throughput of the whole load, and of its last quarter over its first. */
static void put_sustain(struct pb_extractor *extractor, const struct pb_recording *recording)
{
    const struct pb_matrix *matrix = &recording->matrix;
    size_t rows = matrix->axes[0].length, columns = matrix->axes[1].length, quarter = rows / 4;
    double first, last;

    if (matrix->rank != 2 || quarter == 0)
        return;
    put(extractor, recording, "throughput", median_of(extractor, matrix->values, rows, columns));
    first = median_of(extractor, matrix->values, quarter, columns);
    last = median_of(extractor, matrix->values + (rows - quarter) * columns, quarter, columns);
    put(extractor, recording, "last_over_first", last / first);
}

/* Sample × (cycles, ns): the clock of the second half over that of the first. */
static void put_calibration(struct pb_extractor *extractor, const struct pb_recording *recording)
{
    const struct pb_matrix *matrix = &recording->matrix;
    size_t rows = matrix->axes[0].length;
    const double *half, *end;

    if (matrix->rank != 2 || matrix->axes[1].length != 2 || rows < 4)
        return;
    half = matrix->values + 2 * (rows / 2);
    end = matrix->values + 2 * (rows - 1);
    put(extractor, recording, "second_over_first",
        (end[0] - half[0]) / (end[1] - half[1]) / (half[0] / half[1]));
}

/* Kernels' cycles over a grid: the median cell. */
static void put_cycles(struct pb_extractor *extractor, const struct pb_recording *recording)
{
    size_t count = pb_matrix_size(&recording->matrix);

    if (count > 0)
        pb_extractor_put(
            extractor, recording->name, recording->name, "median",
            (struct pb_reading){median_of(extractor, recording->matrix.values, count, 1), 0.0,
                                extractor->chase_sm});
}

void pb_observe_matrix(struct pb_extractor *extractor, const struct pb_recording *recording)
{
    static const struct {
        const char *test;
        void (*put)(struct pb_extractor *extractor, const struct pb_recording *recording);
    } readers[] = {
        {"global_copy", put_throughput},
        {"global_read", put_throughput},
        {"global_write", put_throughput},
        {"global_copy16", put_throughput},
        {"global_read16", put_throughput},
        {"global_write16", put_throughput},
        {"host_link", put_host_link},
        {"host_latency", put_host_latency},
        {"peer_link", put_peers},
        {"peer_chase", put_peer_chase},
        {"peer_copy", put_peer_copy},
        {"sustained_load", put_sustain},
        {"clock_calibration", put_calibration},
        {"sync", put_cycles},
        {"spill", put_cycles},
        {"coalesce", put_cycles},
    };

    if (recording->matrix.rank == 0 || recording->matrix.values == NULL)
        return;
    for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++)
        if (strcmp(readers[i].test, recording->name) == 0)
            readers[i].put(extractor, recording);
}
