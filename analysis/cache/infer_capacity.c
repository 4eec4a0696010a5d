/*
 * size_bytes, full_miss_bytes, latency_cycles, latency_ns and miss_latency_cycles of a cache.
 *
 * The size is the largest footprint without misses in its steady state; all miss where no larger
 * footprint misses more often. Where the device's sets fill unevenly, as by a hashed index, misses
 * begin below the capacity: the interval then reaches up to the first footprint where nothing more
 * can miss. Of a cache that is sampled the size is then where half of the loads miss, which repeats
 * within 3% where the first few misses move by a quarter (an H200's L2).
 *
 * L2's sweep is read again once the TLB is known: what begins to take longer may be hits that lack
 * their translation. And where short chases have misses of one kind and long ones of several, it is
 * that of the short ones which the next cache answers.
 *
 * Source: M16 section 4.2, "Determine cache size".
 */
#include "analysis/infer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/cache/level.h"
#include "analysis/cache/onset.h"
#include "analysis/constants.h"
#include "analysis/statistics/latency.h"

/* All sweep points of one carve-out: a unified L1 is smaller while shared memory records. */
struct sweep {
    struct pb_sweep_point *points;
    size_t count;
    uint64_t carveout_bytes;
};

static bool is_sweep_point(const struct pb_point *point, const char *path)
{
    static const char *const phases[] = {"coarse", "bisect", "confirm", "fine"};
    struct pb_pick pick = {path, NULL, NULL};

    if (!pb_point_matches(point, &pick) || point->footprint_bytes == 0 || point->stride_bytes == 0)
        return false;
    for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++)
        if (strncmp(point->phase, phases[i], PB_NAME_LENGTH) == 0)
            return true;
    return false;
}

/* Turns a recorded point into one of the sweep; false when it says nothing. */
static bool read_point(const struct pb_cache_level *level, const struct pb_point *point,
                       struct pb_sweep_point *sweep_out)
{
    struct pb_accesses accesses = pb_point_accesses(level->series, point);
    double slots = ceil((double)point->footprint_bytes / (double)point->stride_bytes);

    *sweep_out = (struct pb_sweep_point){.footprint_bytes = point->footprint_bytes,
                                         .stride_bytes = point->stride_bytes,
                                         .pass_cycles = pb_point_average(point)};
    if (!isnan(sweep_out->pass_cycles))
        return true;
    sweep_out->tally = pb_classes_count(&level->classes, &accesses);
    sweep_out->in_pieces = point->window < accesses.count;
    sweep_out->coverage = fmin(1.0, (double)accesses.count / slots);
    return accesses.count > 0;
}

/* The sweep of one carve-out, sorted. PB_NO_MEMORY is the only error. */
static enum pb_status read_sweep(const struct pb_cache_level *level, uint64_t carveout_bytes,
                                 struct sweep *sweep_out, struct pb_error *err)
{
    const struct pb_series *series = level->series;
    struct pb_sweep_point *points = calloc(series->point_count + 1, sizeof(*points));
    struct sweep sweep = {points, 0, carveout_bytes};

    if (points == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating a sweep of %zu",
                       series->point_count);
    for (size_t i = 0; i < series->point_count; i++)
        if (is_sweep_point(&series->points[i], level->way->path) &&
            series->points[i].carveout_bytes == carveout_bytes &&
            read_point(level, &series->points[i], &sweep.points[sweep.count]))
            sweep.count++;
    pb_sweep_sort(sweep.points, sweep.count);
    *sweep_out = sweep;
    return PB_OK;
}

/*
 * Passes that fit, and how they scatter: those of the smallest quarter of the sweep's footprints,
 * and the reference where it is no slower. One that is was no reference: its array, of a part of
 * what the driver states, did not fit.
 */
static void find_passes_that_fit(const struct sweep *sweep, double reference,
                                 struct pb_sweep_model *model)
{
    double low = INFINITY, high = -INFINITY;

    for (size_t i = 0; i < sweep->count / 4; i++) {
        double pass = sweep->points[i].pass_cycles;

        low = fmin(low, pass); /* both skip what is no pass */
        high = fmax(high, pass);
    }
    model->pass_cycles = low <= high ? fmin(reference, high) : reference;
    model->pass_noise_cycles = fmax(PB_CACHE_PASS_CYCLES, high - low);
}

/*
 * How often a hit is an outlier where misses lie: as often as outliers lie between hits and misses,
 * by the width of the places. NaN where misses have no upper edge: the place has no width.
 */
static double expect_outliers(const struct pb_cache_level *level)
{
    struct pb_pick pick = {level->way->path, "traced", NULL};
    struct pb_band miss = level->classes.miss, gap = {level->classes.hit.high, miss.low};
    double outliers = 0.5, accesses = 1.0;
    const struct pb_point *point;

    if (isinf(miss.high) || !(gap.high > gap.low))
        return NAN;
    for (size_t at = 0; (point = pb_point_next(level->series, &pick, &at)) != NULL;) {
        struct pb_accesses chase = pb_point_accesses(level->series, point);

        accesses += (double)chase.count;
        for (size_t i = 0; i < chase.count; i++) {
            double cycles = pb_access_cycles(&chase, i);

            outliers += cycles > gap.low && cycles < gap.high;
        }
    }
    return fmin(1.0, outliers / accesses * (miss.high - miss.low) / (gap.high - gap.low));
}

/* What the onset search may expect. Passes count only where a reference pass was taken. */
static struct pb_sweep_model make_model(const struct pb_cache_level *level,
                                        const struct sweep *sweep,
                                        const struct pb_latency_estimate *hit, double miss_cycles)
{
    struct pb_sweep_model model = {.background = pb_level_background(level),
                                   .outlier_rate = expect_outliers(level)};

    model.miss_penalty_cycles = fmax(1.0, miss_cycles - hit->cycles.value);
    find_passes_that_fit(sweep, isnan(hit->pass_cycles) ? hit->cycles.value : hit->pass_cycles,
                         &model);
    return model;
}

/* A finer edge is a better one; of two, that with less taken away from L1. */
static bool is_finer(const struct pb_onset *onset, const struct pb_onset *best)
{
    return onset->overflow_bytes - onset->fits_bytes < best->overflow_bytes - best->fits_bytes;
}

/* Carve-outs of the sweep's points: the next one that no earlier point has; false at the end. */
static bool next_carveout(const struct pb_cache_level *level, size_t *at, uint64_t *carveout_out)
{
    const struct pb_point *points = level->series->points;

    for (; *at < level->series->point_count; ++*at) {
        bool seen = !is_sweep_point(&points[*at], level->way->path);

        for (size_t i = 0; i < *at && !seen; i++)
            seen = points[i].carveout_bytes == points[*at].carveout_bytes &&
                   is_sweep_point(&points[i], level->way->path);
        if (seen)
            continue;
        *carveout_out = points[(*at)++].carveout_bytes;
        return true;
    }
    return false;
}

/* The edge beside one carve-out; as pb_onset_find(). */
static enum pb_status find_edge_beside(const struct pb_cache_level *level,
                                       const struct pb_latency_estimate *hit, double miss_cycles,
                                       uint64_t carveout_bytes, struct pb_onset *onset_out,
                                       struct pb_error *err)
{
    struct sweep sweep = {NULL, 0, 0};
    struct pb_sweep_model model;
    enum pb_status status = read_sweep(level, carveout_bytes, &sweep, err);

    if (status != PB_OK)
        return status;
    model = make_model(level, &sweep, hit, miss_cycles);
    status = pb_onset_find(sweep.points, sweep.count, &model, onset_out, err);
    free(sweep.points);
    return status;
}

/* The edge by the carve-out that shows it best. PB_NOT_FOUND: none does; err says why. */
static enum pb_status find_edge(const struct pb_cache_level *level,
                                const struct pb_latency_estimate *hit, double miss_cycles,
                                struct pb_onset *onset_out, uint64_t *carveout_out,
                                struct pb_error *err)
{
    struct pb_onset best = {0}, onset;
    uint64_t carveout;
    bool found = false;

    pb_fail(err, PB_NOT_FOUND, "not recorded: no footprint sweep");
    for (size_t at = 0; next_carveout(level, &at, &carveout);) {
        enum pb_status status = find_edge_beside(level, hit, miss_cycles, carveout, &onset, err);

        if (status != PB_OK && status != PB_NOT_FOUND && status != PB_INVALID)
            return status;
        if (status == PB_OK && (!found || is_finer(&onset, &best))) {
            best = onset;
            *carveout_out = carveout;
            found = true;
        }
    }
    *onset_out = best;
    return found ? PB_OK : PB_NOT_FOUND;
}

/* The size of a sampled cache whose misses set in softly. False: half of the loads are not seen. */
static bool state_half(struct pb_parameter *answer, const struct pb_onset *onset,
                       const struct pb_estimate *bytes, const struct pb_votes *votes)
{
    double half = (double)onset->half_bytes;

    if (!onset->soft || !(half > bytes->low && half < bytes->high))
        return false;
    pb_parameter_set_number(answer, (struct pb_estimate){half, bytes->low, bytes->high},
                            pb_votes_confidence(votes),
                            "gradual onset: half of the loads miss there; the first miss beyond "
                            "%.0f bytes, all from %.0f bytes on",
                            bytes->low, bytes->high);
    return true;
}

static void state_size(const struct pb_case *at, const struct pb_onset *onset,
                       uint64_t carveout_bytes)
{
    struct pb_parameter *answer = pb_case_answer(at, "size_bytes");
    struct pb_parameter *all_miss = pb_case_answer(at, "full_miss_bytes");
    double fits = (double)onset->fits_bytes, overflow = (double)onset->overflow_bytes;
    struct pb_estimate bytes = {fits, (double)onset->least_bytes, (double)onset->most_bytes};
    struct pb_votes votes = {0, 0};
    char full[64] = "not reached", carveout[64] = "";

    if (onset->full_bytes > 0)
        pb_parameter_set_number(
            all_miss,
            (struct pb_estimate){(double)onset->full_bytes, fits + (double)onset->stride_bytes,
                                 (double)onset->full_bytes},
            onset->posterior * 0.5,
            "the smallest footprint from which on the share of misses no longer grows");
    else
        pb_parameter_set_none(all_miss,
                              "sweep too small: misses still grow at the largest footprint");
    if (overflow - fits > (double)onset->stride_bytes && fits <= PB_MOST * overflow) {
        pb_parameter_set_none(
            answer,
            "sweep resolution too coarse: misses begin somewhere between %.0f and %.0f bytes", fits,
            overflow);
        return;
    }
    if (onset->full_bytes > 0)
        snprintf(full, sizeof(full), "from %llu", (unsigned long long)onset->full_bytes);
    if (carveout_bytes > 0)
        snprintf(carveout, sizeof(carveout), "; %llu bytes are set aside",
                 (unsigned long long)carveout_bytes);
    if (onset->soft && (double)onset->full_bytes > bytes.high)
        bytes.high = (double)onset->full_bytes;
    pb_votes_add_many(&votes, onset->agreeing, onset->seen);
    if (state_half(answer, onset, &bytes, &votes))
        return;
    pb_parameter_set_number(answer, bytes, onset->posterior * pb_votes_confidence(&votes),
                            "%s: largest footprint without misses, %llu misses; all miss %s%s",
                            onset->soft ? "soft onset" : "M16 4.2 stage 1",
                            (unsigned long long)onset->overflow_bytes, full, carveout);
}

static enum pb_status infer_size(const struct pb_case *at, const struct pb_cache_level *level,
                                 const struct pb_latency_estimate *hit, double miss_cycles,
                                 struct pb_error *err)
{
    struct pb_onset onset;
    uint64_t carveout_bytes = 0;
    enum pb_status status = find_edge(level, hit, miss_cycles, &onset, &carveout_bytes, err);

    if (status == PB_OK)
        state_size(at, &onset, carveout_bytes);
    if (status != PB_NOT_FOUND)
        return status;
    pb_parameter_set_none(pb_case_answer(at, "size_bytes"), "%s", err->message);
    pb_parameter_set_none(pb_case_answer(at, "full_miss_bytes"), "%s", err->message);
    return PB_OK;
}

/* What loads take that were to miss, and look like it. */
static enum pb_status estimate_misses(const struct pb_cache_level *level,
                                      struct pb_latency_estimate *miss_out, struct pb_error *err)
{
    struct pb_sample slow = {NULL, 0, 0}, no_passes = {NULL, 0, 0};
    enum pb_status status = pb_sample_reserve(&slow, level->misses.count, err);

    for (size_t i = 0; status == PB_OK && i < level->misses.count; i++)
        if (pb_band_holds(level->classes.miss, level->misses.values[i]))
            slow.values[slow.count++] = level->misses.values[i];
    if (status == PB_OK)
        status = pb_latency_estimate(&slow, &no_passes, miss_out, err);
    pb_sample_clear(&slow);
    return status;
}

/* The latency of a miss, then the size. */
static enum pb_status infer_misses(const struct pb_case *at, const struct pb_cache_level *level,
                                   const struct pb_latency_estimate *hit, struct pb_error *err)
{
    struct pb_parameter *answer = pb_case_answer(at, "miss_latency_cycles");
    struct pb_latency_estimate miss;
    enum pb_status status = pb_level_check_classified(level, err);

    if (status == PB_OK)
        status = estimate_misses(level, &miss, err);
    if (status != PB_OK)
        return status;
    pb_latency_state(&miss, NAN,
                     level->next_answers ? "loads past it, which the next cache answers" : "misses",
                     answer, NULL);
    return infer_size(at, level, hit, miss.cycles.value, err);
}

enum pb_status pb_infer_capacity(const struct pb_case *at, struct pb_error *err)
{
    double sm_mhz = pb_parameters_number(at->parameters, "clock", "sm_mhz");
    struct pb_pick reference = {NULL, "timed", "reference"};
    struct pb_sample passes = {NULL, 0, 0};
    struct pb_latency_estimate hit;
    struct pb_cache_level level;
    enum pb_status status = pb_level_open(at, &level, err);

    if (status != PB_OK)
        return status;
    reference.path = level.way->path;
    status = pb_pass_collect(level.series, &reference, &passes, err);
    if (status == PB_OK)
        status = pb_latency_estimate(&level.hits, &passes, &hit, err);
    if (status == PB_OK && !level.classified && level.way->past == NULL)
        status = pb_fail(err, PB_NOT_FOUND,
                         "not observable: hits and misses cannot be distinguished: %zu loads "
                         "expected to hit and %zu expected to miss take equally long",
                         level.hits.count, level.misses.count);
    if (status == PB_OK) {
        pb_latency_state(&hit, sm_mhz, "hits", pb_case_answer(at, "latency_cycles"),
                         pb_case_answer(at, "latency_ns"));
        status = infer_misses(at, &level, &hit, err);
    }
    pb_sample_clear(&passes);
    pb_level_clear(&level);
    return status;
}

/* Sizes by carve-out, ascending. */
struct beside {
    struct pb_estimate carveouts[PB_LIST_MAX], sizes[PB_LIST_MAX];
    size_t count;
    struct pb_votes votes;
};

static void insert(struct beside *beside, uint64_t carveout_bytes, const struct pb_onset *onset)
{
    double carveout = (double)carveout_bytes, fits = (double)onset->fits_bytes;
    double most = fmax(fits, (double)onset->overflow_bytes - (double)onset->stride_bytes);
    size_t at = beside->count++;

    for (; at > 0 && beside->carveouts[at - 1].value > carveout; at--) {
        beside->carveouts[at] = beside->carveouts[at - 1];
        beside->sizes[at] = beside->sizes[at - 1];
    }
    beside->carveouts[at] = (struct pb_estimate){carveout, carveout, carveout};
    beside->sizes[at] = (struct pb_estimate){
        fits, fits, onset->soft ? fmax(most, (double)onset->full_bytes) : most};
    pb_votes_add_many(&beside->votes, onset->agreeing, onset->seen);
}

static enum pb_status find_all(const struct pb_cache_level *level,
                               const struct pb_latency_estimate *hit, double miss_cycles,
                               struct beside *beside, struct pb_error *err)
{
    uint64_t carveout;

    for (size_t at = 0; beside->count < PB_LIST_MAX && next_carveout(level, &at, &carveout);) {
        struct pb_onset onset;
        enum pb_status status = find_edge_beside(level, hit, miss_cycles, carveout, &onset, err);

        if (status == PB_NO_MEMORY)
            return status;
        if (status == PB_OK)
            insert(beside, carveout, &onset);
    }
    return beside->count > 0
               ? PB_OK
               : pb_fail(err, PB_NOT_FOUND,
                         "sweep too small: no sweep shows a capacity edge, whatever the carve-out");
}

enum pb_status pb_infer_carveout(const struct pb_case *at, struct pb_error *err)
{
    struct pb_sample no_passes = {NULL, 0, 0};
    struct beside beside = {.count = 0};
    struct pb_latency_estimate hit, miss;
    struct pb_cache_level level;
    enum pb_status status = pb_level_open_classified(at, &level, err);

    if (status != PB_OK)
        return status;
    status = pb_latency_estimate(&level.hits, &no_passes, &hit, err);
    if (status == PB_OK)
        status = estimate_misses(&level, &miss, err);
    if (status == PB_OK)
        status = find_all(&level, &hit, miss.cycles.value, &beside, err);
    if (status == PB_OK) {
        double confidence = pb_votes_confidence(&beside.votes);

        pb_parameter_set_list(pb_case_answer(at, "carveout_bytes"), beside.carveouts, beside.count,
                              confidence, "shared memory set aside, ascending");
        pb_parameter_set_list(pb_case_answer(at, "carveout_size_bytes"), beside.sizes, beside.count,
                              confidence, "M16 4.2 stage 1 beside each of carveout_bytes");
    }
    pb_level_clear(&level);
    return status;
}

/* ---- L2's sweep, once the TLB is known ---- */

/* What the TLB's levels cost that reach less far than the chase, up to the first that does. */
static double cost_of_short_levels(const struct pb_case *at, double footprint_bytes)
{
    static const char *const levels[] = {"tlb_l1", "tlb_l2", "tlb_l3"};
    double cost = 0.0;

    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        const struct pb_parameter *penalty =
            pb_parameters_find(at->parameters, levels[i], "penalty_cycles");

        if (pb_parameters_number(at->parameters, levels[i], "reach_bytes") >= footprint_bytes)
            break;
        if (penalty != NULL && penalty->kind == PB_VALUE_NUMBER)
            cost += penalty->numbers[0].high;
    }
    return cost;
}

/*
 * Where nobody could look at DRAM: loads over more memory than the TLB reaches lack their
 * translations, some or all of them. A miss that does not takes less by what the TLB costs, and no
 * less than a hit.
 */
static void widen_by_translation(const struct pb_case *at)
{
    static const struct pb_pick misses = {"global_cg", "traced", "miss"};
    struct pb_parameter *answer = pb_case_answer(at, "miss_latency_cycles");
    double hit = pb_parameters_number(at->parameters, "l2", "latency_cycles"), cost, low;
    size_t next = 0;
    const struct pb_point *point = pb_point_next(&at->recordings[0].series, &misses, &next);
    char why[PB_TEXT_LENGTH];

    if (point == NULL || answer->kind != PB_VALUE_NUMBER)
        return;
    cost = cost_of_short_levels(at, (double)point->footprint_bytes);
    low = fmax(answer->numbers[0].low - cost, hit);
    if (!(low < answer->numbers[0].low))
        return;
    snprintf(why, sizeof(why), "less by up to %.0f cycles where its loads missed the TLB", cost);
    pb_parameter_widen(answer, low, answer->numbers[0].high, why);
}

/* L2 as its sweep shows it without regard to the TLB. */
struct first_look {
    const struct pb_case *at;
    struct pb_cache_level level;
    struct pb_latency_estimate hit;
    struct pb_onset edge;
    uint64_t carveout_bytes;
};

static enum pb_status look(const struct pb_case *at, struct first_look *first, struct pb_error *err)
{
    struct pb_sample no_passes = {NULL, 0, 0};
    struct pb_latency_estimate miss;
    enum pb_status status = pb_latency_estimate(&first->level.hits, &no_passes, &first->hit, err);

    first->at = at;
    if (status == PB_OK)
        status = estimate_misses(&first->level, &miss, err);
    if (status == PB_OK)
        status = find_edge(&first->level, &first->hit, miss.cycles.value, &first->edge,
                           &first->carveout_bytes, err);
    return status;
}

/* The edge of what surely misses: by traces, and by passes that the TLB reaches over. */
static enum pb_status find_sure_edge(const struct first_look *first, struct pb_onset *onset_out,
                                     struct pb_error *err)
{
    struct sweep sweep = {NULL, 0, 0};
    struct pb_latency_estimate miss;
    struct pb_sweep_model model;
    size_t kept = 0;
    enum pb_status status = estimate_misses(&first->level, &miss, err);

    if (status == PB_OK)
        status = read_sweep(&first->level, first->carveout_bytes, &sweep, err);
    if (status != PB_OK)
        return status;
    for (size_t i = 0; i < sweep.count; i++)
        if (!pb_sweep_is_pass(&sweep.points[i]) ||
            cost_of_short_levels(first->at, (double)sweep.points[i].footprint_bytes) == 0.0)
            sweep.points[kept++] = sweep.points[i];
    sweep.count = kept;
    model = make_model(&first->level, &sweep, &first->hit, miss.cycles.value);
    status = pb_onset_find(sweep.points, sweep.count, &model, onset_out, err);
    onset_out->full_bytes = first->edge.full_bytes; /* longer passes than these may show it */
    free(sweep.points);
    return status;
}

/*
 * Loads slower than hits, by no more than the TLB costs that does not reach over them, and faster
 * than DRAM, may be hits that lack their translation, or what another cache answers: the size lies
 * between where these begin and where slower ones do. A size that sets explain is the cache's.
 */
static enum pb_status bound_by_sure_misses(struct first_look *first, double hit_most,
                                           struct pb_error *err)
{
    const struct pb_parameters *parameters = first->at->parameters;
    const struct pb_parameter *dram = pb_parameters_find(parameters, "dram", "latency_cycles");
    struct pb_parameter *size = pb_case_answer(first->at, "size_bytes");
    struct pb_parameter *miss = pb_case_answer(first->at, "miss_latency_cycles");
    struct pb_onset onset = {0};
    double low = size->numbers[0].low;
    enum pb_status status;

    if (miss->kind == PB_VALUE_NUMBER && miss->numbers[0].low <= hit_most &&
        miss->numbers[0].high < dram->numbers[0].high)
        pb_parameter_widen(miss, miss->numbers[0].low, dram->numbers[0].high,
                           "up to DRAM's where loads that missed the TLB take as long");
    if (size->kind != PB_VALUE_NUMBER ||
        !isnan(pb_parameters_number(parameters, "l2", "set_count")))
        return PB_OK;
    first->level.classes.miss.low = hit_most;
    status = find_sure_edge(first, &onset, err);
    if (status != PB_OK || onset.fits_bytes == first->edge.fits_bytes)
        return status;
    state_size(first->at, &onset, first->carveout_bytes);
    pb_parameter_widen(size, fmin(low, size->numbers[0].low), size->numbers[0].high,
                       "less where faster loads, which may have missed the TLB, missed L2");
    return PB_OK;
}

/* The misses of the sweep's traces over memory that the TLB reaches over, or of some of them. */
struct translated {
    const struct pb_cache_level *level;
    double reach_bytes;
};

static const struct pb_point *next_translated(const struct translated *from, size_t *at)
{
    const struct pb_series *series = from->level->series;

    for (; *at < series->point_count; ++*at) {
        const struct pb_point *point = &series->points[*at];

        if (is_sweep_point(point, from->level->way->path) && point->count > 0 &&
            (double)point->footprint_bytes <= from->reach_bytes)
            return &series->points[(*at)++];
    }
    return NULL;
}

static enum pb_status add_misses(const struct translated *from, const struct pb_point *point,
                                 struct pb_sample *misses, struct pb_error *err)
{
    struct pb_accesses accesses = pb_point_accesses(from->level->series, point);
    enum pb_status status = pb_sample_reserve(misses, accesses.count, err);

    for (size_t i = 0; status == PB_OK && i < accesses.count; i++)
        if (pb_band_holds(from->level->classes.miss, pb_access_cycles(&accesses, i)))
            misses->values[misses->count++] = pb_access_cycles(&accesses, i);
    return status;
}

static struct pb_tally tally_kind(const struct pb_sample *misses, size_t first, struct pb_band kind)
{
    struct pb_tally tally = {misses->count - first, 0, 0};

    for (size_t i = first; i < misses->count; i++)
        tally.misses += pb_band_holds(kind, misses->values[i]);
    tally.hits = tally.accesses - tally.misses;
    return tally;
}

/* Misses of the traces in which all are of one kind that not all traces' are. */
static enum pb_status collect_kind(const struct translated *from, struct pb_band kind,
                                   const struct pb_tally *all, struct pb_sample *misses,
                                   struct pb_error *err)
{
    const struct pb_point *point;
    enum pb_status status = PB_OK;

    for (size_t at = 0; status == PB_OK && (point = next_translated(from, &at)) != NULL;) {
        size_t before = misses->count;
        struct pb_tally own;

        status = add_misses(from, point, misses, err);
        own = tally_kind(misses, before, kind);
        if ((double)own.hits > PB_EXCEPTION * (double)own.accesses ||
            pb_tally_surprise(&own, all) > PB_MISSES_BY_CHANCE)
            misses->count = before;
    }
    return status;
}

/*
 * Of misses of several kinds, as those of near and far DRAM are, each chase has all. A faster kind
 * that some have alone is what the next cache answers, which does not hold all of longer ones.
 */
static enum pb_status find_next_level(const struct translated *from,
                                      struct pb_latency_estimate *next_out, struct pb_error *err)
{
    enum { KINDS_MAX = 16 };
    struct pb_sample all = {NULL, 0, 0}, sorted = all, alone = all, no_passes = all;
    struct pb_mode kinds[KINDS_MAX];
    const struct pb_point *point;
    enum pb_status status = PB_OK;

    for (size_t at = 0; status == PB_OK && (point = next_translated(from, &at)) != NULL;)
        status = add_misses(from, point, &all, err);
    if (status == PB_OK)
        status = pb_sample_sorted(&all, &sorted, err);
    if (status == PB_OK && pb_modes_find(sorted.values, sorted.count, KINDS_MAX, kinds) > 1) {
        struct pb_tally tally = tally_kind(&all, 0, kinds[0].band);

        status = collect_kind(from, kinds[0].band, &tally, &alone, err);
    }
    if (status == PB_OK)
        status = pb_latency_estimate(&alone, &no_passes, next_out, err);
    pb_sample_clear(&alone);
    pb_sample_clear(&sorted);
    pb_sample_clear(&all);
    return status;
}

static enum pb_status state_next_level(const struct first_look *first, struct pb_error *err)
{
    struct translated from = {&first->level,
                              pb_parameters_number(first->at->parameters, "tlb_l1", "reach_bytes")};
    struct pb_parameter *answer = pb_case_answer(first->at, "miss_latency_cycles");
    struct pb_latency_estimate next;
    enum pb_status status = find_next_level(&from, &next, err);

    if (status == PB_OK && answer->kind == PB_VALUE_NUMBER &&
        next.cycles.value < (1.0 - PB_NEXT_LEVEL_ALIKE) * answer->numbers[0].value)
        pb_latency_state(&next, NAN, "misses of short chases, which the next cache answers", answer,
                         NULL);
    return status;
}

enum pb_status pb_infer_l2_translated(const struct pb_case *at, struct pb_error *err)
{
    const struct pb_parameter *dram = pb_parameters_find(at->parameters, "dram", "latency_cycles");
    struct first_look first;
    enum pb_status status;

    if (dram == NULL || dram->kind != PB_VALUE_NUMBER) {
        widen_by_translation(at);
        return PB_OK;
    }
    status = pb_level_open_classified(at, &first.level, err);
    if (status != PB_OK)
        return status == PB_NOT_FOUND ? PB_OK : status;
    status = look(at, &first, err);
    if (status == PB_OK) {
        double cost = cost_of_short_levels(at, (double)first.edge.overflow_bytes);
        double hit_most =
            fmin(first.level.classes.hit.high + cost, dram->numbers[0].low - PB_ALIKE_CYCLES);

        status = first.level.classes.miss.low <= hit_most
                     ? bound_by_sure_misses(&first, hit_most, err)
                     : state_next_level(&first, err);
    }
    pb_level_clear(&first.level);
    return status == PB_NOT_FOUND ? PB_OK : status;
}
