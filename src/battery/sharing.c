/*
 * Family cache: which paths share one cache (facts 2.6; M16 4.3).
 *
 * An array of half the smallest cache is loaded by one path and then once by another: hits mean
 * that both go through the same cache. The column path is the one that is recorded; the phase names
 * the path that warmed (both alike: the reference for hits), or is
 *
 *   none          warmed by no path: the reference for misses
 *   evict_<path>  loaded once by the recorded path, then many more lines by that one: what still
 *                 hits was not evicted, so the two paths' lines do not take each other's room. A
 *                 cache may be one store and yet keep the paths' lines apart by their tags.
 *
 * Paths that the device does not cache before L2 are left out, and the message names them.
 */
#include <stdio.h>
#include <string.h>

#include "battery/search.h"
#include "battery/tests.h"

enum { PATHS = 3, WARM_PASSES = 2, EVICTING_TIMES = 4 };

/* A path with its cache. */
struct candidate {
    enum pb_cache cache;
    uint32_t capability;
};

static const struct candidate candidates[PATHS] = {
    {PB_CACHE_L1, PB_CAP_GLOBAL_CA},
    {PB_CACHE_READONLY, PB_CAP_READONLY},
    {PB_CACHE_TEXTURE, PB_CAP_TEXTURE},
};

/* What all pairs have in common. */
struct plan {
    enum pb_path paths[PATHS];
    size_t count;
    uint64_t footprint_bytes, stride_bytes;
    uint64_t largest_bytes; /* of their caches */
};

static void leave_out(struct pb_recording *recording, enum pb_path path)
{
    size_t used = strlen(recording->message);

    snprintf(recording->message + used, sizeof(recording->message) - used, "%s%s",
             used > 0 ? ", " : "not cached before L2: ", pb_path_name(path));
}

/* The paths that have a cache, and an array that fits each of them twice, by its longest line. */
static enum pb_status make_plan(struct pb_session *session, struct pb_recording *recording,
                                struct plan *plan, struct pb_error *err)
{
    *plan = (struct plan){.footprint_bytes = UINT64_MAX};
    for (size_t i = 0; i < PATHS; i++) {
        enum pb_path path = pb_targets[candidates[i].cache].path;
        struct pb_search search;
        enum pb_status status;

        if ((session->info.capabilities & candidates[i].capability) == 0)
            continue;
        status = pb_search_from_hints(session, candidates[i].cache, &search, recording, err);
        if (status == PB_UNSUPPORTED) {
            leave_out(recording, path);
            continue;
        }
        if (status != PB_OK)
            return status;
        plan->paths[plan->count++] = path;
        if (search.fits_bytes / 2 < plan->footprint_bytes)
            plan->footprint_bytes = search.fits_bytes / 2;
        if (search.fits_bytes > plan->largest_bytes)
            plan->largest_bytes = search.fits_bytes;
        if (search.stride_bytes > plan->stride_bytes)
            plan->stride_bytes = search.stride_bytes;
    }
    if (plan->count == 0 || plan->stride_bytes == 0)
        return pb_fail(err, PB_UNSUPPORTED, "no path is cached before L2");
    return PB_OK;
}

static enum pb_status take_pair(struct pb_session *session, const struct plan *plan,
                                enum pb_path warm, enum pb_path path,
                                struct pb_recording *recording, struct pb_error *err)
{
    struct pb_chase_spec spec = {.path = path,
                                 .order = PB_ORDER_SEQUENTIAL,
                                 .phase = pb_path_name(warm),
                                 .footprint_bytes = plan->footprint_bytes,
                                 .stride_bytes = plan->stride_bytes,
                                 .record = PB_WHOLE_PASS,
                                 .prefill = true,
                                 .cross = warm != path,
                                 .warm_path = warm};

    spec.warm = WARM_PASSES * pb_chase_slots(&spec);
    return pb_chase_take(session, &spec, recording, NULL, err);
}

static enum pb_status take_unwarmed(struct pb_session *session, const struct plan *plan,
                                    enum pb_path path, struct pb_recording *recording,
                                    struct pb_error *err)
{
    struct pb_chase_spec spec = {.path = path,
                                 .order = PB_ORDER_SEQUENTIAL,
                                 .phase = "none",
                                 .footprint_bytes = plan->footprint_bytes,
                                 .stride_bytes = plan->stride_bytes,
                                 .record = PB_WHOLE_PASS,
                                 .prefill = true};

    return pb_chase_take(session, &spec, recording, NULL, err);
}

/* Each line is loaded once: some caches keep what has hit before all else. */
static enum pb_status take_evicted(struct pb_session *session, const struct plan *plan,
                                   enum pb_path evicting, enum pb_path path,
                                   struct pb_recording *recording, struct pb_error *err)
{
    uint64_t own = plan->footprint_bytes / plan->stride_bytes;
    uint64_t other = EVICTING_TIMES * plan->largest_bytes / plan->stride_bytes;
    uint64_t window = session->info.trace_window;
    char phase[PB_NAME_LENGTH];
    struct pb_chase_spec spec = {.path = path,
                                 .order = PB_ORDER_SEQUENTIAL,
                                 .phase = phase,
                                 .footprint_bytes = (own + other) * plan->stride_bytes,
                                 .stride_bytes = plan->stride_bytes,
                                 .warm = own + other,
                                 .record = window > 0 && window < own ? window : own,
                                 .prefill = true,
                                 .cross = evicting != path,
                                 .warm_path = evicting,
                                 .own_warm = own};
    enum pb_status status;

    snprintf(phase, sizeof(phase), "evict_%s", pb_path_name(evicting));
    status = pb_chase_take(session, &spec, recording, NULL, err);
    return status == PB_UNSUPPORTED ? PB_OK : status; /* a texture may not span as much */
}

enum pb_status pb_test_cache_sharing(struct pb_session *session, struct pb_recording *recording,
                                     struct pb_error *err)
{
    struct plan plan;
    enum pb_status status = make_plan(session, recording, &plan, err);

    for (size_t i = 0; status == PB_OK && i < plan.count; i++) {
        status = take_unwarmed(session, &plan, plan.paths[i], recording, err);
        for (size_t k = 0; status == PB_OK && k < plan.count; k++)
            status = take_pair(session, &plan, plan.paths[k], plan.paths[i], recording, err);
        for (size_t k = 0; status == PB_OK && k < plan.count; k++)
            status = take_evicted(session, &plan, plan.paths[k], plan.paths[i], recording, err);
    }
    return status;
}
