/* Which caches there are, and what distinguishes their hits from their misses; see search.h. */
#include "battery/search.h"

#include <math.h>
#include <stdlib.h>

enum {
    EXACT_L2_BYTES = 2 << 20, /* larger ones are sampled: a pass would take too long */
    SAMPLE_LOADS = 8192,      /* of a footprint that is too large for whole passes */
    MISS_PAGES = 8            /* of 2 MiB, that loads which miss L2 are spread over */
};

#define KIB(n) ((uint64_t)(n) << 10)

/* The reference of L2 is large enough to lie in all of its slices. */
const struct pb_target pb_targets[PB_CACHE_COUNT] = {
    [PB_CACHE_L1] = {.name = "l1",
                     .path = PB_PATH_GLOBAL_CA,
                     .bypass_path = PB_PATH_GLOBAL_CG,
                     .small_bytes = 256,
                     .first_bytes = 256,
                     .limit_bytes = KIB(512)},
    [PB_CACHE_READONLY] = {.name = "readonly",
                           .path = PB_PATH_READONLY,
                           .bypass_path = PB_PATH_GLOBAL_CG,
                           .small_bytes = 256,
                           .first_bytes = 256,
                           .limit_bytes = KIB(512)},
    [PB_CACHE_TEXTURE] = {.name = "texture",
                          .path = PB_PATH_TEXTURE,
                          .bypass_path = PB_PATH_GLOBAL_CG,
                          .small_bytes = 256,
                          .first_bytes = 256,
                          .limit_bytes = KIB(512)},
    [PB_CACHE_CONSTANT] = {.name = "constant_l1",
                           .path = PB_PATH_CONSTANT,
                           .bypass_path = PB_PATH_CONSTANT,
                           .is_inner = true,
                           .small_bytes = 256,
                           .first_bytes = 256,
                           .limit_bytes = KIB(32)},
    [PB_CACHE_CONSTANT_L15] = {.name = "constant_l15",
                               .path = PB_PATH_CONSTANT,
                               .bypass_path = PB_PATH_CONSTANT,
                               .stride_bytes = 64,
                               .small_bytes = PB_CONSTANT_L15_BYTES_MIN,
                               .first_bytes = PB_CONSTANT_L15_BYTES_MIN,
                               .limit_bytes = KIB(64)},
    [PB_CACHE_L2] = {.name = "l2",
                     .path = PB_PATH_GLOBAL_CG,
                     .bypass_path = PB_PATH_GLOBAL_CG,
                     .chip_wide = true,
                     .small_bytes = KIB(128),
                     .first_bytes = KIB(4)},
};

uint64_t pb_search_pages(const struct pb_session *session, uint64_t most)
{
    uint64_t pages = session->info.memory_free_bytes / 2 / PB_PAGE_BYTES;

    return pages > most ? most : pages > 0 ? pages : 1;
}

/* Whole passes of a cache that holds no more than so many bytes, samples of a larger one. */
static void set_stride(struct pb_search *search, uint64_t most_bytes)
{
    search->exact = most_bytes <= EXACT_L2_BYTES;
    if (search->target->stride_bytes == 0)
        search->stride_bytes = search->exact ? 32 : 128;
}

void pb_search_begin(const struct pb_session *session, enum pb_cache cache,
                     struct pb_search *search)
{
    const struct pb_target *target = &pb_targets[cache];
    uint64_t hint = session->info.l2_bytes;

    *search =
        (struct pb_search){.cache = cache,
                           .target = target,
                           .exact = true,
                           .stride_bytes = target->stride_bytes > 0 ? target->stride_bytes : 32,
                           .small_bytes = target->small_bytes,
                           .limit_bytes = target->limit_bytes};
    if (target->limit_bytes > 0)
        return;
    if (hint > 0 && search->small_bytes > hint / 4)
        search->small_bytes = hint / 4 / 1024 * 1024;
    search->limit_bytes = hint > 0 ? 3 * hint : KIB(256 << 10);
    if (search->limit_bytes > session->info.memory_free_bytes / 2)
        search->limit_bytes = session->info.memory_free_bytes / 2;
    set_stride(search, hint > 0 ? hint : UINT64_MAX);
}

struct pb_chase_spec pb_search_steady(const struct pb_search *search, const char *phase,
                                      uint64_t footprint_bytes, uint64_t stride_bytes)
{
    struct pb_chase_spec spec = {
        .path = search->target->path,
        .order = search->exact ? PB_ORDER_SEQUENTIAL : PB_ORDER_RANDOM,
        .phase = search->phase != NULL ? search->phase : phase,
        .footprint_bytes = footprint_bytes,
        .stride_bytes = stride_bytes,
        .base_bytes = search->base_bytes,
        .record = PB_WHOLE_PASS,
        .seed = 1,
        .prefill = search->target->chip_wide,
        .carveout_bytes = search->carveout_bytes,
    };
    uint64_t slots = pb_chase_slots(&spec);

    /* The first loads warm the TLB; a cache that the SMs' prefill does not reach takes a pass. */
    if (search->exact)
        spec.warm = search->target->chip_wide ? PB_SEARCH_TLB_LOADS : slots;
    if (!search->exact && slots > SAMPLE_LOADS)
        spec.record = SAMPLE_LOADS;
    return spec;
}

/*
 * Do more of a chase's loads answer later than in another chase, each compared with itself, than
 * noise explains? Jitter and spikes make as many earlier as later, up to so many deviations of the
 * difference. No more than one load in four needs to be later, where a line holds four of them.
 */
static bool is_later(const struct pb_recording *recording, const struct pb_chase_result *spec,
                     const struct pb_chase_result *other, double deviations)
{
    const uint32_t *latency = recording->series.latency_cycles;
    double margin = 4 + 0.1 * other->median_cycles, later = 0.0, earlier = 0.0;

    for (size_t i = 0; i < spec->count; i++) {
        double change = (double)latency[spec->first + i] - (double)latency[other->first + i];

        later += change > margin;
        earlier += change < -margin;
    }
    return later - earlier > (double)spec->count / 16.0 + deviations * sqrt(later + earlier);
}

/* The first slots, then all others, both from the last to the first: no prefetch runs ahead. */
static void order_backward(uint64_t *offsets, size_t count, size_t first_count,
                           uint64_t stride_bytes)
{
    for (size_t i = 0; i < count; i++)
        offsets[i] =
            (i < first_count ? first_count - 1 - i : count - 1 - (i - first_count)) * stride_bytes;
}

/* The first lines of an array that all SMs have read, on the SM of the chase before. */
static enum pb_status take_first_lines(struct pb_session *session, struct pb_chase_spec *spec,
                                       uint64_t *offsets, struct pb_recording *recording,
                                       struct pb_chase_result *result_out, struct pb_error *err)
{
    enum pb_status status;

    spec->offset_bytes = offsets;
    spec->offset_count = spec->footprint_bytes / spec->stride_bytes;
    order_backward(offsets, spec->offset_count, spec->record, spec->stride_bytes);
    status = pb_chase_take(session, spec, recording, result_out, err);
    if (status == PB_OK) {
        spec->on_sm = true;
        spec->sm = recording->series.points[recording->series.point_count - 1].sm_id;
    }
    return status;
}

/*
 * The driver states the size of the last cache before memory. Where that is not L2, it says nothing
 * of L2, which may be smaller than what "surely fits" and than where a sweep of samples begins. So
 * an array grows until its first lines answer later than alone. Each line is compared with itself
 * on one SM, since lines differ by slice and side, and every array is measured twice, since other
 * programs may take L2 for a moment. *next_cycles_out: what answers then; unchanged where no line
 * is lost. offsets: room for twice as many loads as `most` bytes have.
 */
static enum pb_status grow_array(struct pb_session *session, struct pb_search *search,
                                 uint64_t most, uint64_t *offsets, struct pb_recording *recording,
                                 double *next_cycles_out, struct pb_error *err)
{
    enum { TIMES = 2 };
    uint64_t first_bytes = search->target->first_bytes;
    struct pb_chase_spec spec = {.path = search->target->path,
                                 .order = PB_ORDER_GIVEN,
                                 .phase = "growing",
                                 .footprint_bytes = first_bytes,
                                 .stride_bytes = search->stride_bytes,
                                 .record = first_bytes / search->stride_bytes,
                                 .prefill = true};
    struct pb_chase_result alone, result;
    enum pb_status status = take_first_lines(session, &spec, offsets, recording, &alone, err);
    uint64_t fits = first_bytes; /* the largest array before any of whose lines some were late */
    size_t times = 0;            /* that lines of this array surely were */

    spec.footprint_bytes *= 2;
    while (status == PB_OK && times < TIMES && spec.footprint_bytes <= most) {
        spec.repeat = times;
        status = take_first_lines(session, &spec, offsets, recording, &result, err);
        if (status == PB_OK)
            times = is_later(recording, &result, &alone, 3.0) ? times + 1 : 0;
        if (status == PB_OK && 2 * fits == spec.footprint_bytes &&
            !is_later(recording, &result, &alone, 0.0))
            fits = spec.footprint_bytes;
        if (times == 0)
            spec.footprint_bytes *= 2;
    }
    if (status != PB_OK || times < TIMES)
        return status;
    search->small_bytes = spec.footprint_bytes / 4; /* half of it may lose a few lines, */
    if (search->small_bytes > fits) /* and so may less of it where victims are random */
        search->small_bytes = fits;
    if (search->limit_bytes > 2 * spec.footprint_bytes)
        search->limit_bytes = 2 * spec.footprint_bytes;
    spec.repeat = 0;
    spec.footprint_bytes *= 2; /* of which all lines are lost */
    status = take_first_lines(session, &spec, offsets, recording, &result, err);
    *next_cycles_out = result.median_cycles;
    set_stride(search, spec.footprint_bytes / 2);
    return status;
}

static enum pb_status find_small_l2(struct pb_session *session, struct pb_search *search,
                                    struct pb_recording *recording, double *next_cycles_out,
                                    struct pb_error *err)
{
    uint64_t most = search->limit_bytes / (search->exact ? 3 : 12); /* the driver's size; 1/4 */
    size_t capacity = 2 * most / search->stride_bytes;
    uint64_t *offsets = malloc(capacity * sizeof(*offsets));
    enum pb_status status;

    if (offsets == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory listing %zu loads", capacity);
    status = grow_array(session, search, most, offsets, recording, next_cycles_out, err);
    free(offsets);
    return status;
}

/* A small array once as a pass and once as a trace. */
static enum pb_status take_reference(struct pb_session *session, const struct pb_search *search,
                                     enum pb_path path, struct pb_recording *recording,
                                     struct pb_chase_result *trace_out, struct pb_error *err)
{
    struct pb_chase_spec spec = {.path = path,
                                 .order = PB_ORDER_SEQUENTIAL,
                                 .phase = "reference",
                                 .footprint_bytes = search->small_bytes,
                                 .stride_bytes = search->stride_bytes,
                                 .warm = 4096,
                                 .timed = 4096,
                                 .prefill = search->target->chip_wide,
                                 .carveout_bytes = search->carveout_bytes};
    enum pb_status status = pb_chase_take(session, &spec, recording, NULL, err);

    spec.timed = 0;
    spec.record = search->target->chip_wide ? 1024 : 512;
    return status != PB_OK ? status : pb_chase_take(session, &spec, recording, trace_out, err);
}

/* Loads that surely miss: the cache starts empty, or its lines are flushed from it. */
static enum pb_status take_misses(struct pb_session *session, const struct pb_search *search,
                                  struct pb_recording *recording,
                                  struct pb_chase_result *result_out, struct pb_error *err)
{
    struct pb_chase_spec spec = {.path = search->target->path,
                                 .phase = "miss",
                                 .seed = 2,
                                 .carveout_bytes = search->carveout_bytes};
    uint64_t hint = session->info.l2_bytes;

    if (!search->target->chip_wide) {
        spec.order = PB_ORDER_SEQUENTIAL;
        spec.stride_bytes = 256;
        spec.footprint_bytes = search->limit_bytes / 4;
        if (hint > 0 && spec.footprint_bytes > hint / 2) /* or the next cache would miss as well */
            spec.footprint_bytes = hint / 2 / spec.stride_bytes * spec.stride_bytes;
        spec.prefill = true;
        spec.record = PB_WHOLE_PASS;
    } else {
        spec.order = PB_ORDER_PAGES;
        spec.stride_bytes = 4096;
        spec.warm = pb_search_pages(session, MISS_PAGES);
        spec.footprint_bytes = spec.warm * PB_PAGE_BYTES;
        spec.flush = true;
        spec.record = pb_chase_slots(&spec) / 2;
    }
    return pb_chase_take(session, &spec, recording, result_out, err);
}

/* Is the path's cache L2, which a load past L1 hits as fast? Then there is none before it. */
static enum pb_status take_bypass(struct pb_session *session, const struct pb_search *search,
                                  const struct pb_chase_result *hit, struct pb_recording *recording,
                                  struct pb_chase_result *bypass_out, struct pb_error *err)
{
    const struct pb_target *target = search->target;
    enum pb_status status =
        take_reference(session, search, target->bypass_path, recording, bypass_out, err);

    if (status == PB_OK &&
        fabs(bypass_out->median_cycles - hit->median_cycles) < 2 + 0.02 * hit->median_cycles)
        return pb_fail(err, PB_UNSUPPORTED,
                       "path %s is not cached before L2: %.0f cycles by it, %.0f past L1",
                       pb_path_name(target->path), hit->median_cycles, bypass_out->median_cycles);
    return status;
}

static void set_limits(struct pb_search *search, const struct pb_chase_result *hit,
                       const struct pb_chase_result *miss)
{
    double spread = 4 + 3 * (miss->high_cycles - miss->low_cycles);
    double middle = (hit->high_cycles + miss->low_cycles) / 2;

    search->hit_cycles = hit->median_cycles;
    search->miss_low_cycles = fmax(middle, miss->low_cycles - spread);
    search->miss_high_cycles = search->exact ? miss->high_cycles + spread : INFINITY;
    if (search->target->is_inner) /* the next level lies between, and nothing shows it alone */
        search->miss_low_cycles = hit->high_cycles + 4 + 0.1 * hit->high_cycles;
}

enum pb_status pb_search_references(struct pb_session *session, struct pb_search *search,
                                    struct pb_recording *recording, struct pb_error *err)
{
    const struct pb_target *target = search->target;
    struct pb_chase_result hit, miss, bypass = {.low_cycles = INFINITY};
    double next_cycles = INFINITY; /* of a cache behind a small L2 */
    enum pb_status status = PB_OK;

    if (target->chip_wide)
        status = find_small_l2(session, search, recording, &next_cycles, err);
    if (status == PB_OK)
        status = take_reference(session, search, target->path, recording, &hit, err);
    if (status == PB_OK && target->bypass_path != target->path)
        status = take_bypass(session, search, &hit, recording, &bypass, err);
    if (status == PB_OK)
        status = take_misses(session, search, recording, &miss, err);
    if (status == PB_OK) { /* the large array may lie a level farther out than what answers first */
        miss.low_cycles = fmin(miss.low_cycles, fmin(bypass.low_cycles, next_cycles));
        set_limits(search, &hit, &miss);
    }
    return status;
}

bool pb_search_is_miss(const struct pb_session *session, const struct pb_search *search,
                       uint32_t latency_cycles)
{
    double net = latency_cycles - session->overhead_cycles;

    return net >= search->miss_low_cycles && net <= search->miss_high_cycles;
}
