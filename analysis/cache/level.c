/* What hits and misses of a cache level look like. */
#include "analysis/cache/level.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/constants.h"
#include "analysis/trace.h"

static const struct pb_level_path ways[] = {
    {"l1", "global_ca", "global_cg"},      {"l2", "global_cg", NULL},
    {"readonly", "readonly", "global_cg"}, {"texture", "texture", "global_cg"},
    {"constant_l1", "constant", NULL},     {"constant_l15", "constant", NULL},
};

static const struct pb_level_path *find_way(const char *memory)
{
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        if (strcmp(ways[i].memory, memory) == 0)
            return &ways[i];
    return NULL;
}

/* Does the path really go through the cache? PB_NOT_FOUND: it is no faster than the way past it. */
static enum pb_status check_cached(struct pb_cache_level *level, struct pb_error *err)
{
    struct pb_pick pick = {level->way->past, "traced", "reference"};
    struct pb_sample past_sorted = {NULL, 0, 0}, hits_sorted = {NULL, 0, 0};
    enum pb_status status = pb_trace_collect(level->series, &pick, &level->past, err);

    if (status == PB_OK)
        status = pb_sample_sorted(&level->past, &past_sorted, err);
    if (status == PB_OK)
        status = pb_sample_sorted(&level->hits, &hits_sorted, err);
    if (status == PB_OK && pb_probability_less(hits_sorted.values, hits_sorted.count,
                                               past_sorted.values, past_sorted.count) < PB_MOST)
        status = pb_fail(err, PB_NOT_FOUND,
                         "not applicable: not cached before L2: loads by path %s take %.0f cycles, "
                         "loads that bypass L1 %.0f",
                         level->way->path, pb_quantile(hits_sorted.values, hits_sorted.count, 0.5),
                         pb_quantile(past_sorted.values, past_sorted.count, 0.5));
    pb_sample_clear(&hits_sorted);
    pb_sample_clear(&past_sorted);
    return status;
}

/* Share of a point's accesses above `cycles`, less so many standard deviations; counts them. */
static double slow_share(const struct pb_series *series, const struct pb_point *point,
                         double cycles, double sigmas, struct pb_tally *all)
{
    struct pb_accesses accesses = pb_point_accesses(series, point);
    size_t slow = 0;

    for (size_t i = 0; i < accesses.count; i++)
        slow += pb_access_cycles(&accesses, i) > cycles;
    all->accesses += accesses.count;
    all->misses += slow;
    return accesses.count == 0
               ? 0.0
               : fmax(0.0, (double)slow - sigmas * sqrt((double)slow)) / (double)accesses.count;
}

/*
 * A chase that went on after the cache had filled. In a drawn order hits pay for translations that
 * they find in order.
 */
static bool is_steady(const struct pb_point *point)
{
    static const char *const others[] = {"reference", "miss", "cold", "backward",
                                         "conflict_shuffled"};

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (strncmp(point->phase, others[i], PB_NAME_LENGTH) == 0)
            return false;
    return true;
}

/* The largest share of slow accesses of a steady chase. */
static double slowest_share(const struct pb_cache_level *level, double cycles, double sigmas,
                            struct pb_tally *all)
{
    struct pb_pick pick = {level->way->path, "traced", NULL};
    const struct pb_point *point;
    double most = 0.0;

    for (size_t at = 0; (point = pb_point_next(level->series, &pick, &at)) != NULL;)
        if (is_steady(point))
            most = fmax(most, slow_share(level->series, point, cycles, sigmas, all));
    return most;
}

/*
 * The accesses of the chases that are slow most often, or nearly so. The slowest of short ones may
 * be so by chance: they count where all chases together are slow more often than hits.
 */
static enum pb_status collect_slowest(const struct pb_cache_level *level,
                                      struct pb_sample *slow_out, struct pb_error *err)
{
    struct pb_pick pick = {level->way->path, "traced", NULL};
    struct pb_sample slow = {NULL, 0, 0};
    struct pb_tally all = {0, 0, 0}, outliers;
    const struct pb_point *point;
    double sigmas = PB_SIGMAS, most;
    struct pb_band hit;
    enum pb_status status = pb_classes_hit_band(&level->hits, &hit, err);

    if (status != PB_OK)
        return status;
    most = slowest_share(level, hit.high, sigmas, &all);
    outliers = pb_classes_slower(&level->hits, hit.high);
    if (most == 0.0 && pb_tally_surprise(&all, &outliers) <= PB_MISSES_BY_CHANCE) {
        sigmas = 0.0;
        most = slowest_share(level, hit.high, sigmas, &all);
    }
    for (size_t at = 0; most > 0.0 && (point = pb_point_next(level->series, &pick, &at)) != NULL;) {
        struct pb_accesses accesses = pb_point_accesses(level->series, point);

        if (!is_steady(point) ||
            slow_share(level->series, point, hit.high, sigmas, &all) < (1.0 - PB_EXCEPTION) * most)
            continue;
        status = pb_sample_reserve(&slow, accesses.count, err);
        if (status != PB_OK) {
            pb_sample_clear(&slow);
            return status;
        }
        for (size_t i = 0; i < accesses.count; i++)
            slow.values[slow.count++] = pb_access_cycles(&accesses, i);
    }
    *slow_out = slow;
    return PB_OK;
}

/*
 * The accesses of all steady chases; *kind_out: are those between hits and known misses a kind of
 * their own, which the reference lacks?
 */
static enum pb_status collect_steady(const struct pb_cache_level *level, struct pb_sample *sample,
                                     bool *kind_out, struct pb_error *err)
{
    struct pb_pick pick = {level->way->path, "traced", NULL};
    const struct pb_band hit = level->classes.hit, miss = level->classes.miss;
    struct pb_tally outliers = {level->hits.count, 0, 0}, seen = {0, 0, 0};
    const struct pb_point *point;
    enum pb_status status = PB_OK;

    for (size_t at = 0;
         status == PB_OK && (point = pb_point_next(level->series, &pick, &at)) != NULL;) {
        struct pb_accesses accesses = pb_point_accesses(level->series, point);

        if (!is_steady(point))
            continue;
        status = pb_sample_reserve(sample, accesses.count, err);
        for (size_t i = 0; status == PB_OK && i < accesses.count; i++)
            sample->values[sample->count++] = pb_access_cycles(&accesses, i);
    }
    seen.accesses = sample->count;
    for (size_t i = 0; i < sample->count; i++)
        seen.misses += sample->values[i] > hit.high && sample->values[i] < miss.low;
    for (size_t i = 0; i < level->hits.count; i++)
        outliers.misses += level->hits.values[i] > hit.high && level->hits.values[i] < miss.low;
    *kind_out = pb_tally_surprise(&seen, &outliers) <= PB_MISSES_BY_CHANCE &&
                !pb_level_joins_hits(sample, hit.high, miss.low);
    return status;
}

/* Chases in random order leave the pages that a TLB holds: their misses have no upper edge. */
static bool has_random_chases(const struct pb_cache_level *level)
{
    struct pb_pick pick = {level->way->path, "traced", "bisect"};
    const struct pb_point *point;
    size_t at = 0;

    while ((point = pb_point_next(level->series, &pick, &at)) != NULL)
        if (strncmp(point->order, "random", strlen("random")) == 0)
            return true;
    return false;
}

/* Are there more accesses slower than all known misses than accesses that miss and no others show?
 * Of chases with few misses the slowest are those with a spike, which makes spikes common there. */
static bool are_misses_slower(const struct pb_cache_level *level, const struct pb_sample *sample)
{
    struct pb_tally slower = pb_classes_slower(sample, level->classes.miss.high);
    struct pb_tally outliers = pb_classes_slower(&level->misses, level->classes.miss.high);

    return pb_tally_surprise(&slower, &outliers) <= PB_MISSES_BY_CHANCE;
}

bool pb_level_joins_hits(const struct pb_sample *sample, double hit_most, double miss_least)
{
    struct pb_sample between = {NULL, 0, 0}, sorted = between;
    bool joins = true;
    size_t hits = 0;

    for (size_t i = 0; i < sample->count; i++) {
        hits += sample->values[i] <= hit_most;
        if (sample->values[i] > hit_most && sample->values[i] < miss_least &&
            pb_sample_add(&between, sample->values[i], NULL) != PB_OK)
            break;
    }
    if (between.count < PB_FEW) {
        joins = between.count > 0;
    } else if (pb_sample_sorted(&between, &sorted, NULL) == PB_OK) {
        double least = pb_quantile(sorted.values, sorted.count, PB_EXCEPTION);
        double most = pb_quantile(sorted.values, sorted.count, 1.0 - PB_EXCEPTION);

        joins = (double)between.count < fmax(PB_MOST * (double)(hits + between.count),
                                             PB_EXCEPTION * (double)sample->count) &&
                least - hit_most < (1.0 - PB_MOST) * (most - least) + PB_ALIKE_CYCLES;
    }
    pb_sample_clear(&sorted);
    pb_sample_clear(&between);
    return joins;
}

/* Adds what a sample shows of misses; false when it shows none, or noise beside known ones. */
static bool add_class(struct pb_cache_level *level, const struct pb_sample *sample, bool is_kind)
{
    struct pb_classes classes;
    double most = INFINITY;

    if (pb_classes_find(&level->hits, sample, &classes, NULL) != PB_OK)
        return false;
    if (level->classified && !is_kind &&
        pb_level_joins_hits(sample, classes.hit.high, level->classes.miss.low))
        return false;
    if (level->classified) {
        if (!are_misses_slower(level, sample))
            most = level->classes.miss.high;
        classes.miss.low = fmin(classes.miss.low, level->classes.miss.low);
        classes.miss.high = fmax(fmin(classes.miss.high, most), level->classes.miss.high);
    }
    level->classes = classes;
    level->classified = true;
    return true;
}

/*
 * Are loads past this cache answered sooner than any miss that was seen? By more than a hit takes,
 * since other loads may have a shorter way than these (textures).
 */
static bool is_answered_sooner(const struct pb_cache_level *level)
{
    struct pb_classes past;

    return level->classified && level->past.count > 0 &&
           pb_classes_find(&level->hits, &level->past, &past, NULL) == PB_OK &&
           past.miss.high + past.hit.high < level->classes.miss.low &&
           past.miss.high < (1.0 - PB_NEXT_LEVEL_ALIKE) * level->classes.miss.low;
}

/* The middle one of the loads within a band. */
static double middle_of(const struct pb_sample *sample, struct pb_band band)
{
    struct pb_sample sorted;
    size_t first, end;
    double middle = band.low;

    if (pb_sample_sorted(sample, &sorted, NULL) != PB_OK)
        return middle;
    pb_sorted_range(sorted.values, sorted.count, band.low, band.high, &first, &end);
    if (end > first)
        middle = pb_quantile(sorted.values + first, end - first, 0.5);
    pb_sample_clear(&sorted);
    return middle;
}

/*
 * Misses as the phase "miss", the sweep and loads past the level show them. They differ where a
 * further cache answers the ones but not the others; its latency, the lower one, is what missing
 * this level costs.
 */
static enum pb_status classify(struct pb_cache_level *level, struct pb_error *err)
{
    struct pb_pick pick = {level->way->path, "traced", "miss"};
    struct pb_sample slowest = {NULL, 0, 0};
    enum pb_status status = pb_trace_collect(level->series, &pick, &level->misses, err);
    double miss_low = INFINITY;
    bool is_kind = false;

    if (status == PB_OK)
        status = collect_slowest(level, &slowest, err);
    if (status != PB_OK)
        return status;
    if (add_class(level, &level->misses, false))
        miss_low = level->classes.miss.low;
    if (add_class(level, &slowest, false) && level->classes.miss.low < miss_low - 1.0) {
        struct pb_sample kept = level->misses;

        level->misses = slowest;
        slowest = kept;
    }
    slowest.count = 0;
    if (level->classified)
        status = collect_steady(level, &slowest, &is_kind, err);
    if (status == PB_OK && is_kind)
        add_class(level, &slowest, true);
    pb_sample_clear(&slowest);
    if (status != PB_OK)
        return status;
    if (is_answered_sooner(level)) {
        double seen = middle_of(&level->misses, level->classes.miss);

        if (add_class(level, &level->past, false)) {
            struct pb_sample kept = level->misses;

            level->misses = level->past;
            level->past = kept;
            level->miss_most = seen;
        }
    }
    if (level->classified && has_random_chases(level)) {
        level->classes.miss.high = INFINITY;
        if (isfinite(miss_low) && level->classes.miss.low < miss_low - 1.0)
            level->between_cycles = miss_low;
    }
    return PB_OK;
}

enum pb_status pb_level_open(const struct pb_case *at, struct pb_cache_level *level_out,
                             struct pb_error *err)
{
    struct pb_cache_level level = {.way = find_way(at->inference->memory),
                                   .series = &at->recordings[0].series,
                                   .miss_most = INFINITY};
    struct pb_pick pick = {NULL, "traced", "reference"};
    enum pb_status status;

    if (level.way == NULL)
        return pb_fail(err, PB_INVALID, "not applicable: this device has no path to %s",
                       at->inference->memory);
    pick.path = level.way->path;
    status = pb_trace_collect(level.series, &pick, &level.hits, err);
    if (status == PB_OK && level.hits.count == 0)
        status = pb_fail(err, PB_NOT_FOUND, "not recorded: no reference chase by path %s",
                         level.way->path);
    if (status == PB_OK && level.way->past != NULL)
        status = check_cached(&level, err);
    if (status == PB_OK)
        status = classify(&level, err);
    if (status != PB_OK) {
        pb_level_clear(&level);
        return status;
    }
    *level_out = level;
    return PB_OK;
}

enum pb_status pb_level_check_classified(const struct pb_cache_level *level, struct pb_error *err)
{
    if (level->classified)
        return PB_OK;
    return pb_fail(err, PB_NOT_FOUND,
                   "not observable: none of %zu accesses that should miss is slower than a hit",
                   level->misses.count);
}

enum pb_status pb_level_open_classified(const struct pb_case *at, struct pb_cache_level *level_out,
                                        struct pb_error *err)
{
    struct pb_cache_level level = {.way = NULL};
    enum pb_status status = pb_level_open(at, &level, err);

    if (status == PB_OK)
        status = pb_level_check_classified(&level, err);
    if (status == PB_OK)
        *level_out = level;
    else
        pb_level_clear(&level);
    return status;
}

void pb_level_clear(struct pb_cache_level *level)
{
    if (level == NULL)
        return;
    pb_sample_clear(&level->hits);
    pb_sample_clear(&level->misses);
    pb_sample_clear(&level->past);
    level->classified = false;
}

/*
 * Misses of the reference at places that miss whenever they are loaded, or nearly: noise does not
 * come back to a place. Of a single pass nothing is known.
 */
static size_t count_steady_misses(const struct pb_cache_level *level)
{
    struct pb_pick pick = {level->way->path, "traced", "reference"};
    const struct pb_point *point;
    size_t steady = 0;

    for (size_t at = 0; (point = pb_point_next(level->series, &pick, &at)) != NULL;) {
        struct pb_accesses accesses = pb_point_accesses(level->series, point);
        size_t slots =
            point->stride_bytes > 0 ? (size_t)(point->footprint_bytes / point->stride_bytes) : 0;
        uint32_t *loads, *misses;

        if (slots == 0 || slots > accesses.count / 2)
            continue;
        loads = calloc(2 * slots, sizeof(*loads));
        if (loads == NULL)
            return 0;
        misses = loads + slots;
        for (size_t i = 0; i < accesses.count; i++) {
            uint64_t slot = accesses.index_bytes[i] / point->stride_bytes;

            if (slot >= slots)
                continue;
            loads[slot]++;
            misses[slot] += pb_band_holds(level->classes.miss, pb_access_cycles(&accesses, i));
        }
        for (size_t slot = 0; slot < slots; slot++)
            steady += 2 * misses[slot] > loads[slot] ? misses[slot] : 0;
        free(loads);
    }
    return steady;
}

bool pb_level_reference_fits(const struct pb_cache_level *level)
{
    return count_steady_misses(level) < PB_FEW;
}

struct pb_tally pb_level_background(const struct pb_cache_level *level)
{
    struct pb_tally tally = pb_classes_tally(&level->classes, &level->hits);
    size_t steady = count_steady_misses(level);

    if (steady >= PB_FEW)
        tally.misses -= steady < tally.misses ? steady : tally.misses;
    return tally;
}
