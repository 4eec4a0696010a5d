/*
 * line_bytes, sector_bytes and fetch_bytes of a cache.
 *
 * Fetch: how far apart the misses of a cold walk lie that reads word by word; where something runs
 * ahead of it, those of the walk back from the end. A sector is what an
 * SM's cache fetches. DRAM may bring L2 several sectors at once (an H200: 64 bytes, sectors of 32);
 * of L2, the interval reaches down to the smallest sector known.
 *
 * Line, seen from two sides because each fails somewhere:
 *   transitions  A line comes and goes as a whole. In a walk over a little more than fits, the
 *                addresses where hits turn into misses or back are multiples of the line. Where
 *                neighbouring lines share a set (texture caches put 128 bytes of 32-byte lines
 *                into one), they are multiples of more.
 *   stride       Over a quarter more than fits, in steps of at most a line, all lines are touched
 *                and some miss; in steps of two lines, half as many are, and they fit. Where the
 *                index is a plain modulo they still crowd half of the sets and miss: the largest
 *                stride that misses is then more than the line.
 * Both err upwards only, so the smaller one is the line.
 *
 * Source: M16 section 4.2, "Determine cache line size", and 4.3 for the texture mapping.
 */
#include "analysis/infer.h"

#include <math.h>
#include <string.h>

#include "analysis/cache/level.h"
#include "analysis/cache/line_events.h"
#include "analysis/confidence.h"
#include "analysis/statistics/alignment.h"

/* Accesses of a few walks are no more independent pieces of evidence than this. */
enum { PIECES_MAX = 30 };

/* Fewer different places where hits and misses meet show no unit, unless a stride bounds it. */
enum { PLACES_MIN = 5 };

/* No sector is smaller: what L2 fetches in this unit, it keeps in it. */
static const uint64_t least_sector_bytes = 32;

/* Strides beyond this are steps over pages, not over lines. */
static const uint64_t line_max_bytes = 4096;

/* The smallest stride of a phase's walks; 0: there are none. */
static uint64_t smallest_stride(const struct pb_level *level, const char *phase)
{
    struct pb_pick pick = {level->way->path, "trace", phase};
    const struct pb_point *point;
    uint64_t smallest = 0;

    for (size_t at = 0; (point = pb_point_next(level->series, &pick, &at)) != NULL;)
        if (smallest == 0 || (point->stride_bytes > 0 && point->stride_bytes < smallest))
            smallest = point->stride_bytes;
    return smallest;
}

/* Misses of the cold walk, or of the one back where those lie closer or the others tell nothing. */
static enum pb_status gather_fills(const struct pb_level *level, struct pb_alignment *fill_out,
                                   size_t *tried_out, const char **walk_out, struct pb_error *err)
{
    struct pb_alignment back;
    size_t tried;
    enum pb_status status =
        pb_line_unit(level, "cold", PB_LINE_MISSES, INFINITY, fill_out, tried_out, err);

    *walk_out = "cold pass";
    if (status == PB_OK)
        status = pb_line_unit(level, "backward", PB_LINE_MISSES_BACK, INFINITY, &back, &tried, err);
    if (status != PB_OK)
        return status;
    if (back.bytes > smallest_stride(level, "backward") &&
        (fill_out->bytes == 0 || back.bytes < fill_out->bytes)) {
        *fill_out = back;
        *tried_out = tried;
        *walk_out = "cold pass in reverse order";
    }
    return PB_OK;
}

static enum pb_status infer_sector(const struct pb_case *at, const struct pb_level *level,
                                   struct pb_error *err)
{
    struct pb_parameter *answer = pb_case_answer(at, "sector_bytes");
    struct pb_parameter *fetch = pb_case_answer(at, "fetch_bytes");
    uint64_t step = smallest_stride(level, "cold");
    struct pb_alignment fill;
    struct pb_votes votes = {0, 0};
    double bytes;
    size_t tried;
    const char *walk;
    enum pb_status status = gather_fills(level, &fill, &tried, &walk, err);

    if (status != PB_OK)
        return status;
    if (fill.bytes == 0 || fill.bytes > line_max_bytes) {
        for (size_t i = 0; i < 2; i++)
            pb_parameter_set_none(i == 0 ? fetch : answer,
                                  "%zu misses in %zu loads of a cold pass have no common distance",
                                  fill.seen, tried);
        return PB_OK;
    }
    if (fill.bytes <= step) {
        for (size_t i = 0; i < 2; i++)
            pb_parameter_set_none(i == 0 ? fetch : answer,
                                  "sweep resolution too coarse: misses lie no further apart than "
                                  "the stride of the cold pass, %llu bytes",
                                  (unsigned long long)step);
        return PB_OK;
    }
    bytes = (double)fill.bytes;
    pb_votes_add_share(&votes, fill.agreeing, fill.seen, PIECES_MAX);
    for (size_t i = 0; i < 2; i++)
        pb_parameter_set_number(i == 0 ? fetch : answer, (struct pb_estimate){bytes, bytes, bytes},
                                pb_votes_confidence(&votes),
                                "%s by %llu bytes: %zu of %zu misses at its multiples, "
                                "%zu at its double's",
                                walk, (unsigned long long)step, fill.agreeing, fill.seen,
                                fill.at_double);
    if (strcmp(level->way->memory, "l2") == 0 && fill.bytes > least_sector_bytes)
        pb_parameter_set_number(
            answer, (struct pb_estimate){bytes, (double)least_sector_bytes, bytes},
            pb_votes_confidence(&votes) / 2.0,
            "a cold miss brings in %.0f bytes; smaller sectors, several of which come at once, "
            "would look the same",
            bytes);
    return PB_OK;
}

/* Accesses and misses of all walks of phase "stride" at one stride. */
static struct pb_tally tally_stride(const struct pb_level *level, uint64_t stride_bytes,
                                    double most_bytes)
{
    struct pb_pick pick = {level->way->path, "trace", "stride"};
    struct pb_tally sum = {0, 0, 0};
    const struct pb_point *point;

    for (size_t at = 0; (point = pb_point_next(level->series, &pick, &at)) != NULL;) {
        struct pb_accesses walk = pb_point_accesses(level->series, point);
        struct pb_tally tally = pb_classes_count(&level->classes, &walk);

        if (point->stride_bytes != stride_bytes || (double)point->footprint_bytes > most_bytes)
            continue;
        sum.accesses += tally.accesses;
        sum.hits += tally.hits;
        sum.misses += tally.misses;
    }
    return sum;
}

/* The view from strides; bytes is 0 where already the smallest one does not miss. */
struct stride_view {
    uint64_t bytes;
    bool bounded;    /* the next stride fits */
    size_t measured; /* strides up to there */
};

static struct stride_view view_strides(const struct pb_level *level, double most_bytes)
{
    struct pb_tally background = pb_level_background(level);
    struct stride_view view = {0, false, 0};
    uint64_t stride = smallest_stride(level, "stride");

    for (; stride > 0 && stride <= line_max_bytes; stride *= 2) {
        struct pb_tally tally = tally_stride(level, stride, most_bytes);

        if (tally.accesses == 0)
            break;
        view.measured++;
        if (pb_tally_surprise(&tally, &background) > PB_LINE_SIGNIFICANCE) {
            view.bounded = true;
            break;
        }
        view.bytes = stride;
    }
    return view;
}

static void state_line(struct pb_parameter *answer, const struct pb_alignment *turns,
                       const struct stride_view *view)
{
    bool by_stride = view->bytes > 0 && (turns->bytes == 0 || view->bytes < turns->bytes);
    double bytes = (double)(by_stride ? view->bytes : turns->bytes);
    struct pb_votes votes = {0, 0};

    if (turns->bytes == 0 && view->measured == 0) {
        pb_parameter_set_none(answer, "no pass over more than fits was recorded");
        return;
    }
    if (turns->bytes == 0 && !view->bounded) {
        pb_parameter_set_none(answer,
                              "%zu boundaries between hits and misses have no common multiple, and "
                              "all of %zu strides miss",
                              turns->seen, view->measured);
        return;
    }
    if (bytes == 0.0) {
        pb_parameter_set_none(answer,
                              "%zu boundaries between hits and misses have no common multiple, and "
                              "already the smallest stride fits",
                              turns->seen);
        return;
    }
    if (turns->places < PLACES_MIN && !view->bounded) {
        pb_parameter_set_none(answer,
                              "only %zu boundaries between hits and misses, all multiples of %llu "
                              "perhaps by chance, and all of %zu strides miss",
                              turns->places, (unsigned long long)turns->bytes, view->measured);
        return;
    }
    pb_votes_add_share(&votes, turns->agreeing, turns->seen, PIECES_MAX);
    pb_votes_add_many(&votes, view->measured, view->measured);
    if (turns->bytes == 0) /* one view alone may err upwards */
        pb_votes_doubt(&votes);
    if (view->bytes == 0 || (by_stride && !view->bounded))
        pb_votes_doubt(&votes);
    pb_parameter_set_number(
        answer, (struct pb_estimate){bytes, bytes, bytes}, pb_votes_confidence(&votes),
        "smaller of: %llu, which divides %zu of %zu boundaries between hits and misses; %llu, "
        "largest stride that overflows%s",
        (unsigned long long)turns->bytes, turns->agreeing, turns->seen,
        (unsigned long long)view->bytes, view->bounded ? "" : " (of all recorded)");
}

/*
 * Misses that stand alone may be spikes as slow as a miss: then the line may be as long as the
 * others have it. In a cache of short lines they stand alone as well, so both are possible.
 */
static enum pb_status doubt_turns(struct pb_parameter *answer, const struct pb_level *level,
                                  double most_bytes, struct pb_error *err)
{
    struct pb_estimate line = answer->numbers[0];
    struct pb_alignment runs;
    enum pb_status status;
    size_t tried;

    if (answer->kind != PB_VALUE_NUMBER || !pb_line_alone_are_spikes(level, "overflow", most_bytes))
        return PB_OK;
    status = pb_line_unit(level, "overflow", PB_LINE_TURNS_OF_RUNS, most_bytes, &runs, &tried, err);
    if (status != PB_OK || runs.places < PLACES_MIN || (double)runs.bytes <= line.high)
        return status;
    pb_parameter_doubt(answer, line.low, (double)runs.bytes,
                       "more without the misses that stand alone, which may be spikes");
    return PB_OK;
}

static enum pb_status infer_both(const struct pb_case *at, const struct pb_level *level,
                                 struct pb_error *err)
{
    double size = pb_parameters_number(at->parameters, at->inference->memory, "size_bytes");
    double most_bytes = isnan(size) ? INFINITY : 2.0 * size;
    struct pb_alignment turns;
    struct stride_view view;
    enum pb_status status;
    size_t tried;

    status = infer_sector(at, level, err);
    if (status == PB_OK)
        status = pb_line_unit(level, "overflow", PB_LINE_TURNS, most_bytes, &turns, &tried, err);
    if (status != PB_OK)
        return status;
    view = view_strides(level, most_bytes);
    state_line(pb_case_answer(at, "line_bytes"), &turns, &view);
    return doubt_turns(pb_case_answer(at, "line_bytes"), level, most_bytes, err);
}

enum pb_status pb_infer_line(const struct pb_case *at, struct pb_error *err)
{
    struct pb_level level;
    enum pb_status status = pb_level_open_classified(at, &level, err);

    if (status != PB_OK)
        return status;
    status = infer_both(at, &level, err);
    pb_level_clear(&level);
    return status;
}
