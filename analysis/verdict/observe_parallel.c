/*
 * All SMs at once, by a few numbers: runs of the same computation that came out wrong, in a test of
 * their own and under a lasting load, and the SMs that read least from their own shared memory and
 * L1.
 *
 * Slow readers are reported like the slowest SMs of sm_latency: by rank, against the device's own
 * median, with the SM as place.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/axes.h"
#include "analysis/verdict/observe_parts.h"

enum { RANKS = 3, WRONG = 1 };

/* Phase × SM × quantity: all phases together; the SM with the most is the place. */
static void put_compute(struct pb_extractor *extractor, const struct pb_recording *recording)
{
    const struct pb_matrix *matrix = &recording->matrix;
    double wrong = 0.0, most = 0.0;
    int64_t place = -1;
    size_t step, sms;

    if (matrix->rank != 3 || matrix->axes[2].length <= WRONG)
        return;
    sms = matrix->axes[1].length;
    step = matrix->axes[2].length;
    for (size_t i = 0; i < matrix->axes[0].length * sms; i++) {
        double value = matrix->values[i * step + WRONG];

        if (!(value > 0.0))
            continue;
        wrong += value;
        if (value > most) {
            most = value;
            place = (int64_t)(i % sms);
        }
    }
    pb_extractor_put(extractor, recording->name, "compute", "wrong_runs",
                     (struct pb_reading){wrong, 0.0, place});
}

/* Time × quantity: all slices together; the SM of the slice with most wrong runs is the place. */
static void put_sustained(struct pb_extractor *extractor, const struct pb_recording *recording)
{
    const struct pb_matrix *matrix = &recording->matrix;
    double wrong = NAN, most = 0.0;
    int64_t place = -1;
    size_t columns, runs, sm;

    if (matrix->rank != 2)
        return;
    columns = matrix->axes[1].length;
    runs = pb_axis_label(&matrix->axes[1], "wrong_runs");
    sm = pb_axis_label(&matrix->axes[1], "wrong_sm");
    for (size_t i = 0; i < matrix->axes[0].length && runs < columns && sm < columns; i++) {
        double value = matrix->values[i * columns + runs];

        if (!isfinite(value))
            continue;
        wrong = isnan(wrong) ? value : wrong + value;
        if (value > most) {
            most = value;
            place = (int64_t)matrix->values[i * columns + sm];
        }
    }
    if (isfinite(wrong))
        pb_extractor_put(extractor, recording->name, "compute", "sustained_wrong_runs",
                         (struct pb_reading){wrong, 0.0, place});
}

/* What one SM reads. */
struct reader {
    double value;
    int64_t sm;
};

static int slower_first(const void *a, const void *b)
{
    const struct reader *left = a, *right = b;

    return (left->value > right->value) - (left->value < right->value);
}

static size_t read_row(const double *values, size_t sms, struct reader *readers_out)
{
    size_t count = 0;

    for (size_t sm = 0; sm < sms; sm++)
        if (isfinite(values[sm]) && values[sm] > 0.0)
            readers_out[count++] = (struct reader){values[sm], (int64_t)sm};
    qsort(readers_out, count, sizeof(*readers_out), slower_first);
    return count;
}

/* The word whose median SM reads most. */
static void put_readers(struct pb_extractor *extractor, const struct pb_recording *recording,
                        const char *memory, struct reader *readers)
{
    static const char *const ranks[RANKS] = {"slowest", "second_slowest", "third_slowest"};
    const struct pb_matrix *matrix = &recording->matrix;
    size_t place = pb_axis_label(&matrix->axes[0], memory), words = matrix->axes[1].length;
    size_t sms = matrix->axes[2].length, best = words, count;
    double most = 0.0;
    char name[PB_NAME_LENGTH];

    for (size_t word = 0; place < matrix->axes[0].length && word < words; word++) {
        count = read_row(matrix->values + (place * words + word) * sms, sms, readers);
        if (count > 0 && readers[count / 2].value > most) {
            most = readers[count / 2].value;
            best = word;
        }
    }
    if (best == words)
        return;
    count = read_row(matrix->values + (place * words + best) * sms, sms, readers);
    for (size_t i = 0; i < RANKS && 2 * i + 2 < count; i++) {
        snprintf(name, sizeof(name), "%s_read_%s", memory, ranks[i]);
        pb_extractor_put(extractor, recording->name, "sm", name,
                         (struct pb_reading){most / readers[i].value - 1.0, 0.0, readers[i].sm});
    }
}

static void put_read_peak(struct pb_extractor *extractor, const struct pb_recording *recording)
{
    struct reader *readers;

    if (recording->matrix.rank != 3)
        return;
    readers = malloc((recording->matrix.axes[2].length + 1) * sizeof(*readers));
    if (readers == NULL) {
        extractor->status =
            pb_fail(extractor->err, PB_NO_MEMORY, "out of memory allocating %zu SMs",
                    recording->matrix.axes[2].length);
        return;
    }
    put_readers(extractor, recording, "shared", readers);
    put_readers(extractor, recording, "l1", readers);
    free(readers);
}

void pb_observe_parallel(struct pb_extractor *extractor, const struct pb_recording *recording)
{
    if (recording->matrix.values == NULL || extractor->status != PB_OK)
        return;
    if (strcmp(recording->name, "compute_integrity") == 0)
        put_compute(extractor, recording);
    if (strcmp(recording->name, "sustained_load") == 0)
        put_sustained(extractor, recording);
    if (strcmp(recording->name, "read_peak") == 0)
        put_read_peak(extractor, recording);
}
