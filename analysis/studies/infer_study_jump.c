/*
 * stride_knee_bytes of the row's memory: its lines, level by level, as F13's jumps show them.
 *
 * After a large jump, which misses everywhere, a small jump of s bytes hits the first level that
 * has brought the line in which it ends; where small jumps of s bytes become slower, the lines of
 * that level are s bytes long. A list, the level closest to the SM first. What one miss fetches
 * counts here: a sector where lines are filled by sectors.
 *
 * Limit: s is a power of two, so that a line of any other size shows as the next larger one.
 *
 * Source: F13 3.4.1, equations (1) and (2).
 */
#include "analysis/infer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/confidence.h"
#include "analysis/statistics/sample.h"
#include "analysis/trace.h"

enum { STRIDES_MAX = 32, LEVELS_MAX = 8, PAIRS_MIN = 4, PIECES_MAX = 20 };

/*
 * Two sizes of jump end in different levels when the medians are this far apart, and such shares of
 * the slower one's latencies lie above the middle between them, and of the faster one's below:
 * noise delays some of these, and hurries none.
 */
static const double clear_share = 0.9, most_share = 0.75;
static const double least_gap_share = 0.05, least_gap_cycles = 3.0;

/* All small jumps of one size. */
struct jumps {
    uint64_t bytes;
    struct pb_sample sorted;
};

static int by_bytes(const void *a, const void *b)
{
    const struct jumps *left = a, *right = b;

    return (left->bytes > right->bytes) - (left->bytes < right->bytes);
}

/*
 * The second of every pair; the offsets distinguish a small jump from a large one. A damaged
 * recording may have small ones only.
 */
static enum pb_status read_jumps(const struct pb_series *series, const struct pb_point *point,
                                 struct jumps *jumps_out, struct pb_error *err)
{
    struct pb_accesses accesses = pb_point_accesses(series, point);
    struct pb_sample small = {NULL, 0, 0};
    enum pb_status status = pb_sample_reserve(&small, accesses.count, err);

    for (size_t i = 1; status == PB_OK && i < accesses.count; i++)
        if (accesses.index_bytes[i] - accesses.index_bytes[i - 1] == point->stride_bytes)
            small.values[small.count++] = pb_access_cycles(&accesses, i);
    if (status == PB_OK) {
        jumps_out->bytes = point->stride_bytes;
        status = pb_sample_sorted(&small, &jumps_out->sorted, err);
    }
    pb_sample_clear(&small);
    return status;
}

/* Sizes of jumps that were taken often enough, rising. */
static enum pb_status read_all(const struct pb_series *series, struct jumps *jumps_out,
                               size_t *count_out, struct pb_error *err)
{
    static const struct pb_pick pick = {NULL, "traced", "jump"};
    const struct pb_point *point;
    enum pb_status status = PB_OK;
    size_t at = 0, count = 0;

    while (status == PB_OK && count < STRIDES_MAX &&
           (point = pb_point_next(series, &pick, &at)) != NULL) {
        jumps_out[count].sorted = (struct pb_sample){NULL, 0, 0};
        status = read_jumps(series, point, &jumps_out[count], err);
        if (status == PB_OK && jumps_out[count].sorted.count >= PAIRS_MIN)
            count++;
        else
            pb_sample_clear(&jumps_out[count].sorted);
    }
    if (count > 0)
        qsort(jumps_out, count, sizeof(*jumps_out), by_bytes);
    *count_out = count;
    return status;
}

static double median_of(const struct jumps *jumps)
{
    return pb_quantile(jumps->sorted.values, jumps->sorted.count, 0.5);
}

static double share_below(const struct jumps *jumps, double cycles)
{
    size_t from, end;

    pb_sorted_range(jumps->sorted.values, jumps->sorted.count, -INFINITY, cycles, &from, &end);
    return (double)(end - from) / (double)jumps->sorted.count;
}

/* Jumps of these sizes end in different levels: `later` in the slower one. */
static bool is_slower(const struct jumps *jumps, const struct jumps *later)
{
    double before = median_of(jumps), gap = median_of(later) - before;

    return gap >= fmax(least_gap_cycles, least_gap_share * before) &&
           share_below(jumps, before + gap / 2.0) >= most_share &&
           share_below(later, before + gap / 2.0) <= 1.0 - clear_share;
}

/* The chase over all sizes: where it steps up, and how surely. */
struct steps {
    struct pb_estimate lines[LEVELS_MAX];
    size_t count;
    struct pb_votes votes;
    char levels[PB_TEXT_LENGTH]; /* "27, 97, 317" cycles */
};

static void note_level(struct steps *steps, size_t *used, double cycles)
{
    int length = snprintf(steps->levels + *used, sizeof(steps->levels) - *used, "%s%.0f",
                          *used == 0 ? "" : ", ", cycles);

    if (length > 0 && *used + (size_t)length < sizeof(steps->levels))
        *used += (size_t)length;
}

static void find_steps(const struct jumps *jumps, size_t count, struct steps *steps)
{
    const struct jumps *level = &jumps[0];
    size_t used = 0;

    note_level(steps, &used, median_of(level));
    for (size_t i = 1; i < count && steps->count < LEVELS_MAX; i++) {
        double line = (double)jumps[i].bytes, less;
        bool slower = is_slower(level, &jumps[i]);

        less = pb_probability_less(level->sorted.values, level->sorted.count,
                                   jumps[i].sorted.values, jumps[i].sorted.count);
        pb_votes_add_share(&steps->votes,
                           (size_t)((slower ? less : 1.0 - fabs(2.0 * less - 1.0)) * PIECES_MAX),
                           PIECES_MAX, PIECES_MAX);
        if (!slower)
            continue;
        steps->lines[steps->count++] = (struct pb_estimate){line, line, line};
        level = &jumps[i];
        note_level(steps, &used, median_of(level));
    }
}

static enum pb_status state_lines(const struct pb_case *at, const struct jumps *jumps, size_t count,
                                  struct pb_error *err)
{
    struct steps steps = {.count = 0};

    if (count < 2)
        return pb_fail(err, PB_NOT_FOUND, "not observable: jumps of %zu sizes only", count);
    find_steps(jumps, count, &steps);
    if (steps.count == 0)
        return pb_fail(err, PB_NOT_FOUND,
                       "not observable: jumps of %llu to %llu bytes all take %s cycles, as where "
                       "nothing is cached or everything is prefetched",
                       (unsigned long long)jumps[0].bytes,
                       (unsigned long long)jumps[count - 1].bytes, steps.levels);
    pb_parameter_set_list(pb_case_answer(at, "stride_knee_bytes"), steps.lines, steps.count,
                          pb_votes_confidence(&steps.votes),
                          "F13 3.4.1: small jumps of %llu to %llu bytes after cold large ones take "
                          "%s cycles",
                          (unsigned long long)jumps[0].bytes,
                          (unsigned long long)jumps[count - 1].bytes, steps.levels);
    return PB_OK;
}

enum pb_status pb_infer_jump(const struct pb_case *at, struct pb_error *err)
{
    struct jumps jumps[STRIDES_MAX];
    size_t count = 0;
    enum pb_status status = read_all(&at->recordings[0].series, jumps, &count, err);

    if (status == PB_OK)
        status = state_lines(at, jumps, count, err);
    for (size_t i = 0; i < count; i++)
        pb_sample_clear(&jumps[i].sorted);
    return status;
}
