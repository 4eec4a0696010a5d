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

#include "analysis/cache/geometry.h"
#include "analysis/cache/level.h"
#include "analysis/cache/onset.h"
#include "analysis/constants.h"
#include "analysis/reason.h"
#include "analysis/statistics/latency.h"

/* A cache, and what its hits and misses take. */
struct cache {
    struct pb_cache_level level;
    struct pb_latency_estimate hit, miss;
    const struct pb_parameters *tlbs; /* loads may miss some of them; NULL: they miss none */
    struct pb_tally slow_hits;        /* of the reference, if slower ones than hits were misses */
};

/* All sweep points of one carve-out: a unified L1 is smaller while shared memory records. */
struct sweep {
    struct pb_sweep_point *points;
    size_t count;
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

/*
 * What the TLB's levels cost that reach less far than the chase, up to the first that does: a chase
 * that begins within an entry ends in one more. Of one that nothing explains, what it most likely
 * takes.
 */
static double cost_of_short_levels(const struct pb_parameters *parameters, double footprint_bytes)
{
    static const char *const levels[] = {"tlb_l1", "tlb_l2", "tlb_l3"};
    double cost = 0.0;

    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        const struct pb_parameter *penalty =
            pb_parameters_find(parameters, levels[i], "penalty_cycles");
        double entry = pb_parameters_number(parameters, levels[i], "entry_coverage_bytes");
        double reach = pb_parameters_number(parameters, levels[i], "reach_bytes");

        if (reach >= footprint_bytes + entry)
            break;
        if (penalty != NULL && penalty->kind == PB_VALUE_NUMBER)
            cost += isnan(reach) ? penalty->numbers[0].value : penalty->numbers[0].high;
    }
    return cost;
}

/*
 * Does a pass over the reference take what its hits do? Not where some loads of it miss, or the
 * cache before answers some, so that no kind of hit prevails or a faster one does: longer passes
 * have other shares of these.
 */
static bool are_passes_hits(const struct cache *cache)
{
    const struct pb_latency_estimate *hit = &cache->hit;
    bool has_faster = hit->modes > 1 && hit->mode_cycles[0] < hit->cycles.low;

    return pb_level_reference_fits(&cache->level) && hit->rule != PB_LATENCY_MEAN &&
           (hit->passes_agree || !has_faster);
}

/* Turns a recorded point into one of the sweep; false when it says nothing. */
static bool read_point(const struct cache *cache, const struct pb_point *point,
                       struct pb_sweep_point *sweep_out)
{
    struct pb_accesses accesses = pb_point_accesses(cache->level.series, point);
    struct pb_classes classes = cache->level.classes;
    double bytes = (double)point->footprint_bytes, cost = 0.0;

    if (cache->tlbs != NULL) {
        cost = cost_of_short_levels(cache->tlbs, bytes);
        classes.miss.low = fmax(classes.miss.low, classes.hit.high + cost);
    }
    *sweep_out = (struct pb_sweep_point){.footprint_bytes = point->footprint_bytes,
                                         .stride_bytes = point->stride_bytes,
                                         .pass_cycles = pb_point_average(point)};
    if (pb_sweep_is_pass(sweep_out))
        return cost == 0.0;
    sweep_out->tally = pb_classes_count(&classes, &accesses);
    if (cost > 0.0 && !pb_tally_exceeds(&sweep_out->tally, &cache->slow_hits))
        sweep_out->tally.misses = 0; /* slow hits, beside what the TLB costs */
    sweep_out->in_pieces = point->window < accesses.count;
    sweep_out->noise_rate =
        pb_classes_expect_noise(&classes, &accesses) / fmax(1.0, (double)accesses.count);
    sweep_out->coverage =
        fmin(1.0, (double)accesses.count / ceil(bytes / (double)point->stride_bytes));
    return accesses.count > 0;
}

/* The sweep of one carve-out, sorted. PB_NO_MEMORY is the only error. */
static enum pb_status read_sweep(const struct cache *cache, uint64_t carveout_bytes,
                                 struct sweep *sweep, struct pb_error *err)
{
    const struct pb_series *series = cache->level.series;
    bool with_passes = are_passes_hits(cache);

    sweep->points = calloc(series->point_count + 1, sizeof(*sweep->points));
    sweep->count = 0;
    if (sweep->points == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating a sweep of %zu",
                       series->point_count);
    for (size_t i = 0; i < series->point_count; i++)
        if (is_sweep_point(&series->points[i], cache->level.way->path) &&
            series->points[i].carveout_bytes == carveout_bytes &&
            read_point(cache, &series->points[i], &sweep->points[sweep->count]) &&
            (with_passes || !pb_sweep_is_pass(&sweep->points[sweep->count])))
            sweep->count++;
    pb_sweep_sort(sweep->points, sweep->count);
    return PB_OK;
}

/* How many points at the start of the sweep, `count` at most, are passes over arrays up to that. */
static size_t count_passes(const struct sweep *sweep, size_t count, uint64_t most_bytes)
{
    size_t passes = 0;

    for (size_t i = 0; i < count && sweep->points[i].footprint_bytes <= most_bytes; i++)
        passes += pb_sweep_is_pass(&sweep->points[i]);
    return passes;
}

/*
 * Passes that fit, and how they scatter: those of the smallest quarter of the sweep's footprints,
 * which lie closest where misses begin, up to a quarter of the largest, and where that leaves
 * enough of them up to the reference's; and the reference where it is no slower. One that is was no
 * reference: its array, of a part of what the driver states, did not fit.
 */
static void find_passes_that_fit(const struct sweep *sweep, double reference,
                                 uint64_t reference_bytes, struct pb_sweep_model *model)
{
    double low = INFINITY, high = -INFINITY;
    uint64_t most = sweep->count > 0 ? sweep->points[sweep->count - 1].footprint_bytes / 4 : 0;

    if (count_passes(sweep, sweep->count / 4, reference_bytes) >= PB_FEW && most > reference_bytes)
        most = reference_bytes;
    for (size_t i = 0; i < sweep->count / 4 && sweep->points[i].footprint_bytes <= most; i++) {
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
static struct pb_sweep_model make_model(const struct cache *cache, const struct sweep *sweep)
{
    const struct pb_latency_estimate *hit = &cache->hit;
    struct pb_pick timed = {cache->level.way->path, "timed", "reference"};
    size_t at = 0;
    const struct pb_point *reference = pb_point_next(cache->level.series, &timed, &at);
    struct pb_sweep_model model = {.background = pb_level_background(&cache->level),
                                   .outlier_rate = expect_outliers(&cache->level)};

    model.miss_penalty_cycles = fmax(1.0, cache->miss.cycles.value - hit->cycles.value);
    find_passes_that_fit(sweep, isnan(hit->pass_cycles) ? hit->cycles.value : hit->pass_cycles,
                         reference == NULL ? 0 : reference->footprint_bytes, &model);
    return model;
}

/* Where misses begin beside a carve-out. */
struct edge {
    uint64_t carveout_bytes;
    struct pb_onset onset;
};

/* As pb_onset_find(). */
static enum pb_status find_edge_beside(const struct cache *cache, uint64_t carveout_bytes,
                                       struct edge *edge_out, struct pb_error *err)
{
    struct pb_sweep_model model;
    struct sweep sweep;
    enum pb_status status = read_sweep(cache, carveout_bytes, &sweep, err);

    if (status != PB_OK)
        return status;
    model = make_model(cache, &sweep);
    edge_out->carveout_bytes = carveout_bytes;
    status = pb_onset_find(sweep.points, sweep.count, &model, &edge_out->onset, err);
    free(sweep.points);
    return status;
}

/*
 * The edges beside all carve-outs that show one, in the order of the recording. PB_NOT_FOUND: none
 * does; err says why the last one does not.
 */
static enum pb_status find_edges(const struct cache *cache, struct edge edges[PB_LIST_MAX],
                                 size_t *count_out, struct pb_error *err)
{
    const struct pb_series *series = cache->level.series;
    uint64_t known[PB_LIST_MAX];
    size_t known_count = 0, count = 0;

    pb_fail(err, PB_NOT_FOUND, "not recorded: no footprint sweep");
    for (size_t i = 0; i < series->point_count && known_count < PB_LIST_MAX; i++) {
        uint64_t carveout = series->points[i].carveout_bytes;
        bool is_known = !is_sweep_point(&series->points[i], cache->level.way->path);
        enum pb_status status;

        for (size_t k = 0; k < known_count; k++)
            is_known |= known[k] == carveout;
        if (is_known)
            continue;
        known[known_count++] = carveout;
        status = find_edge_beside(cache, carveout, &edges[count], err);
        if (status == PB_NO_MEMORY)
            return status;
        count += status == PB_OK;
    }
    *count_out = count;
    return count > 0 ? PB_OK : PB_NOT_FOUND;
}

static uint64_t width_of(const struct edge *edge)
{
    return edge->onset.overflow_bytes - edge->onset.fits_bytes;
}

/* The edge by the carve-out that shows it best: a finer edge is a better one. As find_edges(). */
static enum pb_status find_edge(const struct cache *cache, struct edge *edge_out,
                                struct pb_error *err)
{
    struct edge edges[PB_LIST_MAX];
    size_t count, best = 0;
    enum pb_status status = find_edges(cache, edges, &count, err);

    if (status != PB_OK)
        return status;
    for (size_t i = 1; i < count; i++)
        best = width_of(&edges[i]) < width_of(&edges[best]) ? i : best;
    *edge_out = edges[best];
    return PB_OK;
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

/* Does the sweep leave the edge open by more than a step and a part of it? */
static bool is_coarse(const struct pb_onset *onset)
{
    return onset->overflow_bytes - onset->fits_bytes > onset->stride_bytes &&
           (double)onset->fits_bytes <= PB_MOST * (double)onset->overflow_bytes;
}

static void state_full(const struct pb_case *at, const struct pb_onset *onset)
{
    struct pb_parameter *answer = pb_case_answer(at, "full_miss_bytes");

    if (onset->full_bytes > 0)
        pb_parameter_set_number(
            answer,
            (struct pb_estimate){(double)onset->full_bytes,
                                 (double)(onset->fits_bytes + onset->stride_bytes),
                                 (double)onset->full_most_bytes},
            onset->posterior * 0.5,
            "the smallest footprint from which on the share of misses no longer grows");
    else
        pb_parameter_set_none(answer,
                              "sweep too small: misses still grow at the largest footprint");
}

static void state_size(const struct pb_case *at, const struct edge *edge)
{
    const struct pb_onset *onset = &edge->onset;
    struct pb_parameter *answer = pb_case_answer(at, "size_bytes");
    double fits = (double)onset->fits_bytes, overflow = (double)onset->overflow_bytes;
    struct pb_estimate bytes = {fits, (double)onset->least_bytes, (double)onset->most_bytes};
    struct pb_votes votes = {0, 0};
    char full[64] = "not reached", carveout[64] = "";

    if (is_coarse(onset)) {
        pb_parameter_set_none(
            answer,
            "sweep resolution too coarse: misses begin somewhere between %.0f and %.0f bytes", fits,
            overflow);
        return;
    }
    if (onset->full_bytes > 0)
        snprintf(full, sizeof(full), "from %llu", (unsigned long long)onset->full_bytes);
    if (edge->carveout_bytes > 0)
        snprintf(carveout, sizeof(carveout), "; %llu bytes are set aside",
                 (unsigned long long)edge->carveout_bytes);
    if (onset->soft && (double)onset->full_bytes > bytes.high)
        bytes.high = (double)onset->full_bytes;
    pb_votes_add_many(&votes, onset->agreeing, onset->seen);
    if (state_half(answer, onset, &bytes, &votes))
        return;
    if (onset->soft && onset->full_bytes == 0) /* nor does the largest array say how much fits */
        bytes.high = fmax(bytes.high, (double)onset->full_most_bytes);
    pb_parameter_set_number(answer, bytes, onset->posterior * pb_votes_confidence(&votes),
                            "%s: largest footprint without misses, %llu misses; all miss %s%s",
                            onset->soft ? "soft onset" : "M16 4.2 stage 1",
                            (unsigned long long)onset->overflow_bytes, full, carveout);
}

/* No more than spikes of a sample are of a kind. */
static bool lacks(const struct pb_sample *sample, struct pb_band kind)
{
    struct pb_classes classes = {.miss = kind};

    return (double)pb_classes_tally(&classes, sample).misses <=
           PB_SPIKES_MOST * (double)sample->count;
}

/*
 * Lines that were never loaded are not in a cache behind this one, nor is all of a long chase: what
 * answers most misses need not be what answers first. Loads beyond the edge that are faster than
 * most misses, and that neither the reference nor chases that fit have, are misses as well.
 *
 * most_bytes  of longer chases than that, faster loads may be hits that lack their translation
 */
static enum pb_status widen_to_fastest(const struct pb_case *at, const struct cache *cache,
                                       uint64_t fits_bytes, double most_bytes, struct pb_error *err)
{
    const struct pb_cache_level *level = &cache->level;
    struct pb_parameter *answer = pb_case_answer(at, "miss_latency_cycles");
    struct pb_sample faster[2] = {{NULL, 0, 0}, {NULL, 0, 0}}; /* within the edge, and beyond */
    double least = cache->miss.band.low;
    double crossing =
        pb_parameters_number(at->parameters, at->inference->memory, "crossing_cycles");
    double hit_most = level->classes.hit.high + fmax(crossing, 0.0); /* in the other half */
    struct pb_classes classes;
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < level->series->point_count; i++) {
        const struct pb_point *point = &level->series->points[i];
        struct pb_accesses accesses = pb_point_accesses(level->series, point);

        if (!is_sweep_point(point, level->way->path) ||
            !((double)point->footprint_bytes <= most_bytes))
            continue;
        for (size_t k = 0; k < accesses.count; k++)
            if (status == PB_OK && pb_access_cycles(&accesses, k) < least)
                status = pb_sample_add(&faster[point->footprint_bytes > fits_bytes],
                                       pb_access_cycles(&accesses, k), err);
    }
    if (status == PB_OK && answer->kind == PB_VALUE_NUMBER &&
        (pb_classes_find(&level->hits, &faster[1], &classes, NULL) == PB_OK ||
         pb_classes_find(&faster[0], &faster[1], &classes, NULL) == PB_OK) &&
        classes.miss.low > hit_most && lacks(&faster[0], classes.miss) &&
        !pb_level_joins_hits(&faster[1], classes.hit.high, least))
        pb_parameter_widen(answer, fmin(classes.miss.low, answer->numbers[0].low),
                           answer->numbers[0].high, "less where a nearer cache answered first");
    pb_sample_clear(&faster[0]);
    pb_sample_clear(&faster[1]);
    return status;
}

static enum pb_status infer_size(const struct pb_case *at, const struct cache *cache,
                                 struct pb_error *err)
{
    struct edge edge = {.onset = {.fits_bytes = 0}};
    enum pb_status status = find_edge(cache, &edge, err);

    if (status == PB_OK) {
        state_size(at, &edge);
        state_full(at, &edge.onset);
    }
    if (status != PB_NO_MEMORY && cache->level.way->past != NULL &&
        widen_to_fastest(at, cache, edge.onset.fits_bytes, INFINITY, err) == PB_NO_MEMORY)
        return PB_NO_MEMORY;
    if (status != PB_NOT_FOUND)
        return status;
    pb_parameter_set_none(pb_case_answer(at, "size_bytes"), "%s", err->message);
    pb_parameter_set_none(pb_case_answer(at, "full_miss_bytes"), "%s", err->message);
    return PB_OK;
}

/* What loads take that were to miss, and look like it. */
static enum pb_status estimate_misses(struct cache *cache, struct pb_error *err)
{
    const struct pb_sample *misses = &cache->level.misses;
    struct pb_sample slow = {NULL, 0, 0};
    enum pb_status status = pb_sample_reserve(&slow, misses->count, err);

    for (size_t i = 0; status == PB_OK && i < misses->count; i++)
        if (pb_band_holds(cache->level.classes.miss, misses->values[i]))
            slow.values[slow.count++] = misses->values[i];
    if (status == PB_OK)
        status = pb_latency_estimate(&slow, NULL, &cache->miss, err);
    pb_sample_clear(&slow);
    return status;
}

/* The latency of a miss, then the size. */
static enum pb_status infer_misses(const struct pb_case *at, struct cache *cache,
                                   struct pb_error *err)
{
    enum pb_status status = pb_level_check_classified(&cache->level, err);

    if (status == PB_OK)
        status = estimate_misses(cache, err);
    if (status != PB_OK)
        return status;
    if (isfinite(cache->level.miss_most))
        cache->miss.cycles.high = fmax(cache->miss.cycles.high, cache->level.miss_most);
    if (cache->miss.accesses < PB_FEW)
        pb_parameter_set_none(pb_case_answer(at, "miss_latency_cycles"),
                              "too few observations: of loads that were to miss %zu seem to",
                              cache->miss.accesses);
    else
        pb_latency_state(&cache->miss, NAN,
                         isfinite(cache->level.miss_most)
                             ? "loads past it, which the next cache answers"
                             : "misses",
                         pb_case_answer(at, "miss_latency_cycles"), NULL);
    return infer_size(at, cache, err);
}

enum pb_status pb_infer_capacity(const struct pb_case *at, struct pb_error *err)
{
    double sm_mhz = pb_parameters_number(at->parameters, "clock", "sm_mhz");
    struct pb_pick reference = {NULL, "timed", "reference"};
    struct pb_sample passes = {NULL, 0, 0};
    struct cache cache = {.tlbs = NULL};
    struct pb_cache_level *level = &cache.level;
    enum pb_status status = pb_level_open(at, level, err);

    if (status != PB_OK)
        return status;
    reference.path = level->way->path;
    status = pb_pass_collect(level->series, &reference, &passes, err);
    if (status == PB_OK)
        status = pb_latency_estimate(&level->hits, &passes, &cache.hit, err);
    if (status == PB_OK && !level->classified && level->way->past == NULL)
        status = pb_fail(err, PB_NOT_FOUND,
                         "not observable: hits and misses cannot be distinguished: %zu loads "
                         "expected to hit and %zu expected to miss take equally long",
                         level->hits.count, level->misses.count);
    if (status == PB_OK) {
        pb_latency_state(&cache.hit, sm_mhz, "hits", pb_case_answer(at, "latency_cycles"),
                         pb_case_answer(at, "latency_ns"));
        status = infer_misses(at, &cache, err);
    }
    pb_sample_clear(&passes);
    pb_level_clear(level);
    return status;
}

/* By traces alone. pb_level_clear() its level in any case. */
static enum pb_status open_cache(const struct pb_case *at, struct cache *cache,
                                 struct pb_error *err)
{
    enum pb_status status = pb_level_open_classified(at, &cache->level, err);

    if (status == PB_OK)
        status = pb_latency_estimate(&cache->level.hits, NULL, &cache->hit, err);
    return status == PB_OK ? estimate_misses(cache, err) : status;
}

/* Sizes by carve-out, ascending. */
struct beside {
    struct pb_estimate carveouts[PB_LIST_MAX], sizes[PB_LIST_MAX];
    size_t count;
    struct pb_votes votes;
};

static void insert(struct beside *beside, const struct edge *edge)
{
    const struct pb_onset *onset = &edge->onset;
    double carveout = (double)edge->carveout_bytes, fits = (double)onset->fits_bytes;
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

enum pb_status pb_infer_carveout(const struct pb_case *at, struct pb_error *err)
{
    struct beside beside = {.count = 0};
    struct edge edges[PB_LIST_MAX];
    struct cache cache = {.tlbs = NULL};
    size_t count;
    enum pb_status status = open_cache(at, &cache, err);

    if (status == PB_OK) {
        status = find_edges(&cache, edges, &count, err);
        if (status == PB_NOT_FOUND)
            pb_fail(err, PB_NOT_FOUND,
                    "sweep too small: no sweep shows a capacity edge, whatever the carve-out");
    }
    if (status == PB_OK) {
        double confidence;

        for (size_t i = 0; i < count; i++)
            insert(&beside, &edges[i]);
        confidence = pb_votes_confidence(&beside.votes);
        pb_parameter_set_list(pb_case_answer(at, "carveout_bytes"), beside.carveouts, beside.count,
                              confidence, "shared memory set aside, ascending");
        pb_parameter_set_list(pb_case_answer(at, "carveout_size_bytes"), beside.sizes, beside.count,
                              confidence, "M16 4.2 stage 1 beside each of carveout_bytes");
    }
    pb_level_clear(&cache.level);
    return status;
}

/* ---- L2's sweep, once the TLB is known ---- */

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
    cost = cost_of_short_levels(at->parameters, (double)point->footprint_bytes);
    low = fmax(answer->numbers[0].low - cost, hit);
    if (!(low < answer->numbers[0].low))
        return;
    snprintf(why, sizeof(why), "less by up to %.0f cycles where its loads missed the TLB", cost);
    pb_parameter_widen(answer, low, answer->numbers[0].high, why);
}

static struct pb_tally tally_slow_hits(const struct pb_cache_level *level)
{
    struct pb_tally tally = {.accesses = level->hits.count};

    for (size_t i = 0; i < level->hits.count; i++)
        tally.misses += level->hits.values[i] > level->classes.hit.high;
    tally.hits = tally.accesses - tally.misses;
    return tally;
}

/*
 * Loads slower than hits, by no more than the TLB costs that does not reach over them, may be hits
 * that lack their translation, or what another cache answers: the size lies between where these
 * begin and where slower ones do. A size that sets explain is the cache's.
 */
static enum pb_status bound_by_sure_misses(const struct pb_case *at, double hit_most,
                                           struct cache *cache, const struct edge *edge,
                                           struct pb_error *err)
{
    const struct pb_parameter *dram = pb_parameters_find(at->parameters, "dram", "latency_cycles");
    struct pb_parameter *size = pb_case_answer(at, "size_bytes");
    struct pb_parameter *miss = pb_case_answer(at, "miss_latency_cycles");
    static const char why[] = "less where faster loads, which may have missed the TLB, missed L2";
    double stride = fmax((double)edge->onset.stride_bytes, PB_SECTOR_MIN);
    double low = (double)edge->onset.least_bytes * PB_SECTOR_MIN / stride; /* of short lines */
    double fastest = cache->level.classes.miss.low;
    struct edge sure;
    enum pb_status status;

    if (miss->kind == PB_VALUE_NUMBER && miss->numbers[0].low <= hit_most &&
        miss->numbers[0].high < dram->numbers[0].high)
        pb_parameter_widen(miss, miss->numbers[0].low, dram->numbers[0].high,
                           "up to DRAM's where loads that missed the TLB take as long");
    if ((size->kind != PB_VALUE_NUMBER && !is_coarse(&edge->onset)) ||
        !isnan(pb_parameters_number(at->parameters, "l2", "set_count")))
        return PB_OK;
    if (size->kind == PB_VALUE_NUMBER)
        low = size->numbers[0].low;
    /* by traces, each with the levels that it misses, and by passes that the TLB reaches over */
    cache->slow_hits = tally_slow_hits(&cache->level);
    cache->level.classes.miss.low = hit_most;
    cache->tlbs = at->parameters;
    status = estimate_misses(cache, err);
    if (status == PB_OK)
        status = find_edge_beside(cache, edge->carveout_bytes, &sure, err);
    if (status == PB_NOT_FOUND)
        pb_parameter_set_none(size,
                              "ambiguous: L2's edge or the TLB's: no loads are slower than "
                              "hits that miss the TLB, which take up to %.0f cycles",
                              hit_most);
    if (status != PB_OK || sure.onset.fits_bytes == edge->onset.fits_bytes)
        return status;
    sure.onset.full_bytes = edge->onset.full_bytes; /* longer passes than these may show it */
    state_size(at, &sure);
    if (size->kind == PB_VALUE_NUMBER)
        pb_parameter_widen(size, fmin(low, size->numbers[0].low), size->numbers[0].high, why);
    if (miss->kind == PB_VALUE_NUMBER && fastest < miss->numbers[0].low)
        pb_parameter_widen(miss, fastest, miss->numbers[0].high, why);
    return PB_OK;
}

/* Misses from `first` on, as misses where they are of a kind. */
static struct pb_tally tally_kind(const struct pb_sample *misses, size_t first, struct pb_band kind)
{
    struct pb_tally tally = {misses->count - first, 0, 0};

    for (size_t i = first; i < misses->count; i++)
        tally.misses += pb_band_holds(kind, misses->values[i]);
    tally.hits = tally.accesses - tally.misses;
    return tally;
}

/*
 * The misses of the sweep's traces over memory that the TLB reaches over; where a kind is given,
 * of those in which all are of it although not all of all traces are, and which noise alone does
 * not make.
 */
static enum pb_status collect_misses(const struct pb_cache_level *level, double reach_bytes,
                                     const struct pb_band *kind, const struct pb_tally *all,
                                     struct pb_sample *misses, struct pb_error *err)
{
    const struct pb_series *series = level->series;
    const struct pb_tally background = pb_level_background(level);
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < series->point_count && status == PB_OK; i++) {
        struct pb_accesses accesses = pb_point_accesses(series, &series->points[i]);
        size_t before = misses->count;
        struct pb_tally own, missed;

        if (!is_sweep_point(&series->points[i], level->way->path) ||
            !((double)series->points[i].footprint_bytes <= reach_bytes))
            continue;
        status = pb_sample_reserve(misses, accesses.count, err);
        for (size_t k = 0; status == PB_OK && k < accesses.count; k++)
            if (pb_band_holds(level->classes.miss, pb_access_cycles(&accesses, k)))
                misses->values[misses->count++] = pb_access_cycles(&accesses, k);
        if (kind == NULL)
            continue;
        own = tally_kind(misses, before, *kind);
        missed = (struct pb_tally){accesses.count, accesses.count - own.accesses, own.accesses};
        if (pb_tally_surprise(&missed, &background) > PB_MISSES_BY_CHANCE ||
            (double)own.hits > PB_EXCEPTION * (double)own.accesses ||
            pb_tally_surprise(&own, all) > PB_MISSES_BY_CHANCE)
            misses->count = before;
    }
    return status;
}

/*
 * Of misses of several kinds, as those of near and far DRAM are, each chase has all. A faster kind
 * that some have alone is what the next cache answers, which does not hold all of longer ones.
 */
static enum pb_status find_next_level(const struct pb_cache_level *level, double reach_bytes,
                                      struct pb_latency_estimate *next_out, struct pb_error *err)
{
    enum { KINDS_MAX = 16 };
    struct pb_sample all = {NULL, 0, 0}, sorted = all, alone = all;
    struct pb_mode kinds[KINDS_MAX];
    enum pb_status status = collect_misses(level, reach_bytes, NULL, NULL, &all, err);

    if (status == PB_OK)
        status = pb_sample_sorted(&all, &sorted, err);
    if (status == PB_OK && pb_modes_find(sorted.values, sorted.count, KINDS_MAX, kinds) > 1) {
        struct pb_tally tally = tally_kind(&all, 0, kinds[0].band);

        status = collect_misses(level, reach_bytes, &kinds[0].band, &tally, &alone, err);
    }
    if (status == PB_OK)
        status = pb_latency_estimate(&alone, NULL, next_out, err);
    pb_sample_clear(&alone);
    pb_sample_clear(&sorted);
    pb_sample_clear(&all);
    return status;
}

/* How much memory the first TLB level reaches over; all, where there is none. NaN: not known. */
static double reach_of_tlb(const struct pb_parameters *parameters)
{
    const struct pb_parameter *reach = pb_parameters_find(parameters, "tlb_l1", "reach_bytes");

    if (reach != NULL && reach->kind == PB_VALUE_NONE && pb_reason_is_absence(reach->reason))
        return INFINITY;
    return pb_parameters_number(parameters, "tlb_l1", "reach_bytes");
}

static enum pb_status state_next_level(const struct pb_case *at, const struct cache *cache,
                                       const struct edge *edge, struct pb_error *err)
{
    struct pb_parameter *answer = pb_case_answer(at, "miss_latency_cycles");
    double reach = reach_of_tlb(at->parameters);
    struct pb_latency_estimate next;
    enum pb_status status = find_next_level(&cache->level, reach, &next, err);

    if (status == PB_OK && answer->kind == PB_VALUE_NUMBER &&
        next.cycles.value < (1.0 - PB_NEXT_LEVEL_ALIKE) * answer->numbers[0].value)
        pb_latency_state(&next, NAN, "misses of short chases, which the next cache answers", answer,
                         NULL);
    else if (status != PB_NO_MEMORY)
        status = widen_to_fastest(at, cache, edge->onset.fits_bytes, reach, err);
    return status;
}

/* The slowest hit that is not taken for a miss: one that lacks its translation, too, may be. */
static double find_slowest_hit(const struct pb_cache_level *level)
{
    double slowest = level->classes.hit.high;

    for (size_t i = 0; i < level->hits.count; i++)
        if (level->hits.values[i] < level->classes.miss.low)
            slowest = fmax(slowest, level->hits.values[i]);
    return slowest;
}

enum pb_status pb_infer_l2_translated(const struct pb_case *at, struct pb_error *err)
{
    const struct pb_parameter *dram = pb_parameters_find(at->parameters, "dram", "latency_cycles");
    struct cache cache = {.tlbs = NULL};
    struct edge edge;
    enum pb_status status;

    if (dram == NULL || dram->kind != PB_VALUE_NUMBER) {
        widen_by_translation(at);
        return PB_OK;
    }
    status = open_cache(at, &cache, err);
    if (status == PB_OK)
        status = find_edge(&cache, &edge, err);
    if (status == PB_OK) {
        const struct pb_classes *classes = &cache.level.classes;
        double cost = cost_of_short_levels(at->parameters, (double)edge.onset.overflow_bytes);
        double hit_most = cost > 0.0 ? find_slowest_hit(&cache.level) + cost : classes->hit.high;

        status = classes->miss.low <= hit_most
                     ? bound_by_sure_misses(at, hit_most, &cache, &edge, err)
                     : state_next_level(at, &cache, &edge, err);
    }
    pb_level_clear(&cache.level);
    return status == PB_NOT_FOUND ? PB_OK : status;
}

/* ---- L2's passes, once what is fetched ahead is known ---- */

/*
 * A pass of which all misses is slower than the reference by as many misses as it fetches units: no
 * miss takes longer than that, and what answers them may be another cache than the one that answers
 * cold loads.
 */
enum pb_status pb_infer_l2_passes(const struct pb_case *at, struct pb_error *err)
{
    static const struct pb_pick passes = {"global_cg", "timed", NULL},
                                fitting = {"global_cg", "timed", "reference"};
    const struct pb_series *series = &at->recordings[0].series;
    struct pb_parameter *answer = pb_case_answer(at, "miss_latency_cycles");
    double full = pb_parameters_number(at->parameters, "l2", "full_miss_bytes");
    double fetch = pb_parameters_number(at->parameters, "l2", "fetch_bytes");
    double ahead = pb_parameters_number(at->parameters, "l2", "prefetch_bytes");
    double hit = pb_parameters_number(at->parameters, "l2", "latency_cycles"), miss = INFINITY;
    size_t first = 0;
    const struct pb_point *reference = pb_point_next(series, &fitting, &first), *point;

    (void)err;
    if (reference == NULL || answer == NULL || answer->kind != PB_VALUE_NUMBER || isnan(fetch) ||
        ahead != 0.0)
        return PB_OK;
    for (size_t i = 0; (point = pb_point_next(series, &passes, &i)) != NULL;) {
        double share = fmin(1.0, (double)point->stride_bytes / fetch);
        double slower = pb_point_average(point) - pb_point_average(reference);

        if (is_sweep_point(point, passes.path) && (double)point->footprint_bytes >= full)
            miss = fmin(miss, hit + slower / share);
    }
    if (miss > hit && miss < (1.0 - PB_NEXT_LEVEL_ALIKE) * answer->numbers[0].low)
        pb_parameter_widen(answer, miss, answer->numbers[0].high,
                           "less by passes of which all misses");
    return PB_OK;
}
