/* Sector and prefetch by the likelihood of two cold passes; see fetch.h. */
#include "analysis/cache/fetch.h"

#include <gsl/gsl_sf_gamma.h>
#include <math.h>

#include "analysis/cache/geometry.h"
#include "analysis/constants.h"
#include "analysis/trace.h"

enum { FETCH_MAX = 4096 };

/* How the accesses of cold passes compare with what a hypothesis predicts. */
struct comparison {
    size_t misses, misses_wrong, hits, hits_wrong;
};

static void compare(const struct pb_cache_level *level, const char *phase, uint64_t sector,
                    uint64_t prefetch, struct comparison *comparison)
{
    struct pb_pick pick = {level->way->path, "traced", phase};
    const struct pb_point *point;

    for (size_t at = 0; (point = pb_point_next(level->series, &pick, &at)) != NULL;) {
        struct pb_accesses chase = pb_point_accesses(level->series, point);
        uint64_t first = UINT64_MAX, end = 0; /* what was brought in: [first, end) */

        for (size_t i = 0; i < chase.count; i++) {
            uint64_t address = point->base_address + chase.index_bytes[i];
            double cycles = pb_access_cycles(&chase, i);
            bool missed = pb_band_holds(level->classes.miss, cycles);
            bool misses = address < first || address >= end;

            if (misses) {
                end = address < first && i > 0 ? first : (address / sector + 1) * sector + prefetch;
                first = address / sector * sector;
            }
            if (i == 0 || (!missed && !pb_band_holds(level->classes.hit, cycles)))
                continue; /* the first access misses wherever it is */
            if (misses) {
                comparison->misses++;
                comparison->misses_wrong += !missed;
            } else {
                comparison->hits++;
                comparison->hits_wrong += missed;
            }
        }
    }
}

/* The commonest distance of misses of the cold pass; 0: there are no two. */
static uint64_t common_distance(const struct pb_cache_level *level, struct pb_fetch *fetch)
{
    enum { DISTANCES = 512 };
    struct pb_pick pick = {level->way->path, "traced", "cold"};
    size_t seen[DISTANCES + 1] = {0}, best = 0;
    const struct pb_point *point;

    for (size_t at = 0; (point = pb_point_next(level->series, &pick, &at)) != NULL;) {
        struct pb_accesses chase = pb_point_accesses(level->series, point);
        uint64_t before = chase.count > 0 ? chase.index_bytes[0] : 0;

        if (fetch->step_bytes == 0 || point->stride_bytes < fetch->step_bytes)
            fetch->step_bytes = point->stride_bytes;
        fetch->loads += chase.count;
        for (size_t i = 1; i < chase.count && point->stride_bytes > 0; i++) {
            uint64_t steps;

            if (!pb_band_holds(level->classes.miss, pb_access_cycles(&chase, i)))
                continue;
            fetch->misses++;
            steps = chase.index_bytes[i] < before
                        ? 0
                        : (chase.index_bytes[i] - before) / point->stride_bytes;
            seen[steps > DISTANCES ? 0 : steps]++;
            before = chase.index_bytes[i];
        }
    }
    for (size_t i = 1; i <= DISTANCES; i++)
        if (seen[i] > seen[best] || best == 0)
            best = i;
    /* no miss but the first: what is prefetched ends behind the pass, or nothing misses */
    fetch->has_end = seen[best] > 0;
    return seen[best] > 0 ? best * fetch->step_bytes : FETCH_MAX;
}

/*
 * Log likelihood of so many of some at a share that may be any: of sectors that should be absent
 * others may have been left by earlier loads (a constant cache cannot be emptied).
 */
static double log_of_any_share(size_t some, size_t all)
{
    return gsl_sf_lnbeta((double)some + 1.0, (double)(all - some) + 1.0);
}

/*
 * The hypothesis to beat is that nothing was absent, and what misses is noise; another one of which
 * no predicted miss came says no more than that.
 */
struct pb_fetch pb_fetch_find(const struct pb_cache_level *level)
{
    struct pb_fetch fetch = {.sector_bytes = 0};
    uint64_t distance = common_distance(level, &fetch);
    double best = -INFINITY, sum = 0.0;

    for (uint64_t sector = fetch.step_bytes; sector > 0 && sector <= FETCH_MAX; sector *= 2) {
        for (int prefetches = 0; prefetches < 2; prefetches++) {
            uint64_t prefetch = prefetches && distance > sector ? distance - sector : 0;
            struct comparison all = {0, 0, 0, 0};
            double likelihood;

            if (prefetches && prefetch == 0)
                continue;
            compare(level, "cold", sector, prefetch, &all);
            compare(level, "backward", sector, prefetch, &all);
            if (all.misses - all.misses_wrong + all.hits_wrong < 2) /* as many missed in all */
                return fetch;
            if (best == -INFINITY) {
                best = pb_geometry_log_noise(all.misses - all.misses_wrong + all.hits_wrong,
                                             all.misses + all.hits);
                sum = 1.0;
            }
            likelihood = log_of_any_share(all.misses_wrong, all.misses) +
                         pb_geometry_log_noise(all.hits_wrong, all.hits) +
                         (prefetches ? log(PB_EXCEPTION) : 0.0);
            sum = likelihood > best ? sum * exp(best - likelihood) + 1.0
                                    : sum + exp(likelihood - best);
            if (likelihood <= best)
                continue;
            best = likelihood;
            fetch.sector_bytes = sector;
            fetch.prefetch_bytes = prefetch;
            fetch.agreeing = all.misses - all.misses_wrong;
            fetch.predicted = all.misses + all.hits_wrong;
        }
    }
    fetch.posterior = 1.0 / sum;
    return fetch;
}
