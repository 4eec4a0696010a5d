/* Looking for a cache's edge; see search.h. Source: M16 4.2, stage 1, with R16's windows. */
#include "battery/search.h"

#include <math.h>

enum {
    EXACT_L2_BYTES = 2 << 20, /* larger ones are sampled: a lap would take too long */
    SAMPLE_LOADS = 8192,      /* of a footprint that is too large for whole laps */
    LAP_LOADS = 16384,        /* most loads of a timed lap */
    COARSE_MAX = 64
};

#define KIB(n) ((uint64_t)(n) << 10)

/* The reference of L2 is large enough to lie in all of its slices. */
const struct pb_target pb_targets[PB_CACHE_COUNT] = {
    [PB_CACHE_L1] = {.name = "l1",
                     .path = PB_PATH_GLOBAL_CA,
                     .past_path = PB_PATH_GLOBAL_CG,
                     .small_bytes = KIB(1),
                     .first_bytes = KIB(4),
                     .limit_bytes = KIB(512)},
    [PB_CACHE_READONLY] = {.name = "readonly",
                           .path = PB_PATH_READONLY,
                           .past_path = PB_PATH_GLOBAL_CG,
                           .small_bytes = KIB(1),
                           .first_bytes = KIB(4),
                           .limit_bytes = KIB(512)},
    [PB_CACHE_TEXTURE] = {.name = "texture",
                          .path = PB_PATH_TEXTURE,
                          .past_path = PB_PATH_GLOBAL_CG,
                          .small_bytes = KIB(1),
                          .first_bytes = KIB(4),
                          .limit_bytes = KIB(512)},
    [PB_CACHE_CONSTANT] = {.name = "constant_l1",
                           .path = PB_PATH_CONSTANT,
                           .past_path = PB_PATH_CONSTANT,
                           .small_bytes = 512,
                           .first_bytes = KIB(1),
                           .limit_bytes = KIB(32)},
    [PB_CACHE_L2] = {.name = "l2",
                     .path = PB_PATH_GLOBAL_CG,
                     .past_path = PB_PATH_GLOBAL_CG,
                     .chip_wide = true,
                     .small_bytes = KIB(128),
                     .first_bytes = KIB(4)},
};

void pb_search_begin(const struct pb_bench *bench, enum pb_cache cache, struct pb_search *search)
{
    const struct pb_target *target = &pb_targets[cache];
    uint64_t hint = bench->info.l2_bytes;

    *search = (struct pb_search){.cache = cache,
                                 .target = target,
                                 .exact = true,
                                 .stride_bytes = 32,
                                 .limit_bytes = target->limit_bytes};
    if (target->limit_bytes > 0)
        return;
    search->limit_bytes = hint > 0 ? 3 * hint : KIB(256 << 10);
    if (search->limit_bytes > bench->info.memory_free_bytes / 2)
        search->limit_bytes = bench->info.memory_free_bytes / 2;
    if (hint == 0 || hint > EXACT_L2_BYTES) {
        search->exact = false;
        search->stride_bytes = 128;
    }
}

struct pb_walk pb_search_steady(const struct pb_search *search, const char *phase,
                                uint64_t footprint_bytes, uint64_t stride_bytes)
{
    struct pb_walk walk = {
        .path = search->target->path,
        .order = search->exact ? PB_ORDER_SEQUENTIAL : PB_ORDER_RANDOM,
        .phase = phase,
        .footprint_bytes = footprint_bytes,
        .stride_bytes = stride_bytes,
        .record = PB_WALK_LAP,
        .seed = 1,
        .prefill = search->target->chip_wide,
        .carveout_bytes = search->carveout_bytes,
    };
    uint64_t slots = pb_walk_slots(&walk);

    /* One lap settles the replacement where all SMs have filled the cache before, else two. */
    walk.warm = search->exact ? (search->target->chip_wide ? 1 : 2) * slots : 0;
    if (!search->exact && slots > SAMPLE_LOADS)
        walk.record = SAMPLE_LOADS;
    return walk;
}

/* A small array once as a lap and once as a trace. */
static enum pb_status take_reference(struct pb_bench *bench, const struct pb_search *search,
                                     enum pb_path path, struct pb_recording *recording,
                                     struct pb_walk_result *trace_out, struct pb_error *err)
{
    struct pb_walk walk = {.path = path,
                           .order = PB_ORDER_SEQUENTIAL,
                           .phase = "reference",
                           .footprint_bytes = search->target->small_bytes,
                           .stride_bytes = search->stride_bytes,
                           .warm = 4096,
                           .timed = 4096,
                           .prefill = search->target->chip_wide,
                           .carveout_bytes = search->carveout_bytes};
    enum pb_status status = pb_walk_take(bench, &walk, recording, NULL, err);

    walk.timed = 0;
    walk.record = search->target->chip_wide ? 1024 : 512;
    return status != PB_OK ? status : pb_walk_take(bench, &walk, recording, trace_out, err);
}

/* Loads that surely miss: the cache starts empty, or its lines are flushed from it. */
static enum pb_status take_misses(struct pb_bench *bench, const struct pb_search *search,
                                  struct pb_recording *recording, struct pb_walk_result *result_out,
                                  struct pb_error *err)
{
    struct pb_walk walk = {.path = search->target->path,
                           .phase = "miss",
                           .seed = 2,
                           .carveout_bytes = search->carveout_bytes};

    if (!search->target->chip_wide) {
        walk.order = PB_ORDER_SEQUENTIAL;
        walk.stride_bytes = 256;
        walk.footprint_bytes = search->limit_bytes / 4;
        walk.prefill = true;
        walk.record = PB_WALK_LAP;
    } else {
        walk.order = PB_ORDER_PAGES;
        walk.stride_bytes = 4096;
        walk.footprint_bytes = (uint64_t)16 << 20;
        walk.flush = true;
        walk.warm = 8;
        walk.record = 2048;
    }
    return pb_walk_take(bench, &walk, recording, result_out, err);
}

enum pb_status pb_search_references(struct pb_bench *bench, struct pb_search *search,
                                    struct pb_recording *recording, struct pb_error *err)
{
    const struct pb_target *target = search->target;
    struct pb_walk_result hit, past, miss;
    double spread, middle;
    enum pb_status status;

    status = take_reference(bench, search, target->path, recording, &hit, err);
    if (status == PB_OK && target->past_path != target->path) {
        status = take_reference(bench, search, target->past_path, recording, &past, err);
        if (status == PB_OK &&
            fabs(past.median_cycles - hit.median_cycles) < 2 + 0.02 * hit.median_cycles)
            return pb_fail(err, PB_UNSUPPORTED,
                           "path %s is not cached before L2: %.0f cycles by it, %.0f past L1",
                           pb_path_name(target->path), hit.median_cycles, past.median_cycles);
    }
    if (status == PB_OK)
        status = take_misses(bench, search, recording, &miss, err);
    if (status != PB_OK)
        return status;

    spread = 4 + 3 * (miss.high_cycles - miss.low_cycles);
    middle = (hit.high_cycles + miss.low_cycles) / 2;
    search->hit_cycles = hit.median_cycles;
    search->miss_low_cycles = fmax(middle, miss.low_cycles - spread);
    search->miss_high_cycles = search->exact ? miss.high_cycles + spread : INFINITY;
    return PB_OK;
}

/* Does the walk still miss in its steady state? Asked twice where one access could be a spike. */
static enum pb_status overflows(struct pb_bench *bench, const struct pb_search *search,
                                const char *phase, uint64_t footprint_bytes,
                                struct pb_recording *recording, bool *overflows_out,
                                struct pb_error *err)
{
    struct pb_walk walk = pb_search_steady(search, phase, footprint_bytes, search->stride_bytes);
    struct pb_walk_result result;
    size_t misses = 0, enough = 1;

    for (walk.repeat = 0; walk.repeat < 2; walk.repeat++) {
        enum pb_status status = pb_walk_take(bench, &walk, recording, &result, err);

        if (status != PB_OK)
            return status;
        misses = pb_walk_count_between(bench, recording, &result, search->miss_low_cycles,
                                       search->miss_high_cycles);
        enough = search->exact ? 1 : 1 + result.count / 100;
        if (misses < enough || !search->exact)
            break;
    }
    *overflows_out = misses >= enough;
    return PB_OK;
}

/* Laps over footprints that grow by half octaves; the last one not slower than a hit is the knee.
 */
static enum pb_status sweep(struct pb_bench *bench, const struct pb_search *search,
                            struct pb_recording *recording, uint64_t footprints[COARSE_MAX],
                            size_t *count_out, size_t *knee_out, struct pb_error *err)
{
    uint64_t footprint = search->exact ? search->target->first_bytes : search->limit_bytes / 64;
    double tolerance = 0;
    bool rising = false;
    size_t count = 0;

    footprint -= footprint % (2 * search->stride_bytes);
    for (; footprint <= search->limit_bytes && count < COARSE_MAX; count++) {
        struct pb_walk walk = pb_search_steady(search, "coarse", footprint, search->stride_bytes);
        struct pb_walk_result lap;
        enum pb_status status;

        walk.record = 0;
        walk.timed = search->exact || pb_walk_slots(&walk) < LAP_LOADS ? PB_WALK_LAP : LAP_LOADS;
        status = pb_walk_take(bench, &walk, recording, &lap, err);
        if (status != PB_OK)
            return status;
        if (count == 0)
            tolerance = lap.mean_cycles + 1 + 0.02 * lap.mean_cycles;
        rising = rising || (lap.mean_cycles > tolerance && search->exact) ||
                 lap.mean_cycles > search->miss_low_cycles;
        if (!rising)
            *knee_out = count;
        footprints[count] = footprint;
        footprint = count % 2 == 0 ? footprint / 2 * 3 : footprint / 3 * 4;
    }
    *count_out = count;
    return PB_OK;
}

/* Halves (fits, overflows) until they are one stride apart, or 1/64 where laps are sampled. */
static enum pb_status bisect(struct pb_bench *bench, struct pb_search *search,
                             struct pb_recording *recording, struct pb_error *err)
{
    for (;;) {
        uint64_t gap = search->overflows_bytes - search->fits_bytes;
        uint64_t middle = search->fits_bytes + gap / 2;
        bool over;
        enum pb_status status;

        middle -= middle % search->stride_bytes;
        if (gap <= search->stride_bytes || (!search->exact && gap < search->fits_bytes / 64))
            return PB_OK;
        status = overflows(bench, search, "bisect", middle, recording, &over, err);
        if (status != PB_OK)
            return status;
        if (over)
            search->overflows_bytes = middle;
        else
            search->fits_bytes = middle;
    }
}

/*
 * The record of a lap is pieced together from several launches, and a policy that draws its victims
 * may put its few misses outside every piece. So the size that seems to fit is asked again, and
 * steps down until it does.
 */
static enum pb_status confirm(struct pb_bench *bench, struct pb_search *search,
                              struct pb_recording *recording, struct pb_error *err)
{
    enum { TIMES = 4 };
    uint64_t step = search->stride_bytes;

    for (int times = 0; times < TIMES && search->fits_bytes > step; times++) {
        bool over;
        enum pb_status status =
            overflows(bench, search, "confirm", search->fits_bytes, recording, &over, err);

        if (status != PB_OK)
            return status;
        if (!over)
            continue;
        search->overflows_bytes = search->fits_bytes;
        search->fits_bytes -= step;
        times = -1;
    }
    return PB_OK;
}

enum pb_status pb_search_edge(struct pb_bench *bench, struct pb_search *search,
                              struct pb_recording *recording, struct pb_error *err)
{
    uint64_t footprints[COARSE_MAX];
    size_t count, knee = 0;
    bool over = true;
    enum pb_status status = sweep(bench, search, recording, footprints, &count, &knee, err);

    /* Few misses do not show in a lap: walk back until a trace has none, then on until one has. */
    while (status == PB_OK && over) {
        status = overflows(bench, search, "bisect", footprints[knee], recording, &over, err);
        if (over && knee == 0)
            break;
        knee -= over;
    }
    if (status == PB_OK && over)
        return pb_fail(err, PB_NOT_FOUND, "misses at the smallest footprint, %llu bytes",
                       (unsigned long long)footprints[0]);
    while (status == PB_OK && !over) {
        search->fits_bytes = footprints[knee];
        if (++knee == count)
            return PB_OK; /* all fits: overflows_bytes stays 0 */
        status = overflows(bench, search, "bisect", footprints[knee], recording, &over, err);
    }
    search->overflows_bytes = footprints[knee];
    if (status == PB_OK)
        status = bisect(bench, search, recording, err);
    if (status == PB_OK && search->exact)
        status = confirm(bench, search, recording, err);
    return status;
}
