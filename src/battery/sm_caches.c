/*
 * Family map: what every SM has of its own, on many SMs at the same time.
 *
 * The same passes on each SM, by phase; the column sm_id distinguishes the SMs:
 *
 *   - l1_fits: nearly all that L1 holds, by its edge on the SM that was measured for it: one
 *     with a smaller L1 misses
 *   - shared: shared memory
 *   - conflict: the same by a warp whose lanes all want one bank, traced
 *   - constant: constants that the first cache holds
 *   - constant_fits: nearly all that it holds, like l1_fits
 *
 * Each pass is taken three times (repeat): its least time counts. Neighbours, which share the way
 * to constants, take turns. Limit: an SM that the device does not let us choose (MIG, another
 * process) is left out, and the message counts them.
 */
#include <stdlib.h>

#include "battery/conflict.h"
#include "battery/search.h"
#include "battery/sms.h"
#include "battery/tests.h"

enum {
    LINE_BYTES = 128,
    FITS_SHARE = 32, /* one line in so many is left out */
    CONSTANT_BYTES = 1024,
    CONSTANT_STRIDE_BYTES = 64,
    SHARED_BYTES = 1024,
    SHARED_STRIDE_BYTES = 8,
    CONFLICT_WARM = 16,
    CONFLICT_LOADS = 32,
    REPEATS = 3, /* of all passes: a spike does not come every time */
    LEAST_LOADS = 4096
};

/* A pass of some slots, as often as they are few, after a warm one. */
static struct pb_chase_spec pass_spec(enum pb_path path, const char *phase,
                                      uint64_t footprint_bytes, uint64_t stride_bytes)
{
    struct pb_chase_spec spec = {.path = path,
                                 .order = PB_ORDER_SEQUENTIAL,
                                 .phase = phase,
                                 .footprint_bytes = footprint_bytes / stride_bytes * stride_bytes,
                                 .stride_bytes = stride_bytes,
                                 .on_sm = true};
    uint64_t slots = pb_chase_slots(&spec);

    spec.warm = 2 * slots;
    spec.timed = slots < LEAST_LOADS ? LEAST_LOADS / slots * slots : slots;
    return spec;
}

static enum pb_status take_alone(struct pb_session *session, uint32_t sm, const void *context,
                                 struct pb_recording *recording, struct pb_error *err)
{
    struct pb_chase_spec spec = *(const struct pb_chase_spec *)context;

    spec.sm = sm;
    return pb_chase_take(session, &spec, recording, NULL, err);
}

/* On all SMs, the even ones first; one by one where some of them cannot be chosen. */
static enum pb_status take_once(struct pb_session *session, const struct pb_chase_spec *spec,
                                struct pb_recording *recording, struct pb_error *err)
{
    size_t count = session->info.sm_count, evens = (count + 1) / 2;
    struct pb_chase_spec *specs = malloc(count * sizeof(*specs));
    enum pb_status status;

    if (specs == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating the chases of %zu SMs", count);
    for (size_t i = 0; i < count; i++) {
        specs[i] = *spec;
        specs[i].sm = (uint32_t)(i < evens ? 2 * i : 2 * (i - evens) + 1);
    }
    status = pb_chases_take(session, specs, count, recording, NULL, err);
    free(specs);
    recording->sm_id = -1; /* all of them */
    return status != PB_UNSUPPORTED ? status
                                    : pb_sms_each(session, take_alone, spec, recording, err);
}

static enum pb_status take_phase(struct pb_session *session, struct pb_chase_spec *spec,
                                 struct pb_recording *recording, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    for (spec->repeat = 0; status == PB_OK && spec->repeat < REPEATS; spec->repeat++)
        status = take_once(session, spec, recording, err);
    return status;
}

static struct pb_conflict conflict_on(const struct pb_session *session, uint32_t sm)
{
    return (struct pb_conflict){.word_bytes = 4,
                                .stride_words = session->info.warp_size,
                                .warm = CONFLICT_WARM,
                                .record = CONFLICT_LOADS,
                                .sm = sm};
}

static enum pb_status take_conflict_alone(struct pb_session *session, uint32_t sm,
                                          const void *context, struct pb_recording *recording,
                                          struct pb_error *err)
{
    struct pb_conflict conflict = conflict_on(session, sm);

    return pb_conflicts_take(session, &conflict, 1, "conflict", *(const uint64_t *)context,
                             recording, err);
}

/* As take_phase() does with passes. */
static enum pb_status take_conflicts(struct pb_session *session, struct pb_recording *recording,
                                     struct pb_error *err)
{
    size_t count = session->info.sm_count;
    struct pb_conflict *conflicts = malloc(count * sizeof(*conflicts));
    enum pb_status status = PB_OK;

    if (conflicts == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating the conflicts of %zu SMs",
                       count);
    for (size_t i = 0; i < count; i++)
        conflicts[i] = conflict_on(session, (uint32_t)i);
    for (uint64_t repeat = 0; status == PB_OK && repeat < REPEATS; repeat++) {
        status = pb_conflicts_take(session, conflicts, count, "conflict", repeat, recording, err);
        if (status == PB_UNSUPPORTED)
            status = pb_sms_each(session, take_conflict_alone, &repeat, recording, err);
    }
    recording->sm_id = -1; /* all of them */
    free(conflicts);
    return status;
}

/* What the cache that was measured holds, but for one line in FITS_SHARE; 0: there is none. */
static enum pb_status find_fitting(struct pb_session *session, enum pb_cache cache,
                                   struct pb_recording *recording, uint64_t *bytes_out,
                                   struct pb_error *err)
{
    struct pb_search search;
    enum pb_status status = pb_search_from_hints(session, cache, &search, recording, err);

    *bytes_out = status == PB_OK ? search.fits_bytes - search.fits_bytes / FITS_SHARE : 0;
    return status == PB_UNSUPPORTED || status == PB_NOT_FOUND ? PB_OK : status;
}

/* A pass over nearly all that a cache holds, on every SM. */
static enum pb_status take_fitting(struct pb_session *session, enum pb_cache cache,
                                   const char *phase, uint64_t stride_bytes,
                                   struct pb_recording *recording, struct pb_error *err)
{
    uint64_t bytes = 0;
    enum pb_status status = find_fitting(session, cache, recording, &bytes, err);
    struct pb_chase_spec spec;

    if (status != PB_OK || bytes < stride_bytes)
        return status;
    spec = pass_spec(pb_targets[cache].path, phase, bytes, stride_bytes);
    return take_phase(session, &spec, recording, err);
}

enum pb_status pb_test_sm_caches(struct pb_session *session, struct pb_recording *recording,
                                 struct pb_error *err)
{
    bool has_shared = (session->info.capabilities & PB_CAP_SHARED) != 0;
    bool has_constant = (session->info.capabilities & PB_CAP_CONSTANT) != 0;
    enum pb_status status =
        take_fitting(session, PB_CACHE_L1, "l1_fits", LINE_BYTES, recording, err);
    struct pb_chase_spec spec =
        pass_spec(PB_PATH_SHARED, "shared", SHARED_BYTES, SHARED_STRIDE_BYTES);

    if (status == PB_OK && has_shared)
        status = take_phase(session, &spec, recording, err);
    if (status == PB_OK && has_shared)
        status = take_conflicts(session, recording, err);
    spec = pass_spec(PB_PATH_CONSTANT, "constant", CONSTANT_BYTES, CONSTANT_STRIDE_BYTES);
    if (status == PB_OK && has_constant)
        status = take_phase(session, &spec, recording, err);
    if (status == PB_OK && has_constant)
        status = take_fitting(session, PB_CACHE_CONSTANT, "constant_fits", CONSTANT_STRIDE_BYTES,
                              recording, err);
    return status;
}
