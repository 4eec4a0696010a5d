/* Family cache: how much stays in each cache (M16 4.2 stage 1, R16 2.2). */
#include <stdio.h>

#include "battery/search.h"
#include "battery/tests.h"

enum { FINE_POINTS = 24 };

/* From just below the edge to twice its size: where misses begin, and where nothing hits. */
static enum pb_status take_fine(struct pb_session *session, const struct pb_search *search,
                                struct pb_recording *recording, struct pb_error *err)
{
    uint64_t low = search->fits_bytes / 8 * 7, high = 2 * search->fits_bytes;

    if (high > search->limit_bytes)
        high = search->limit_bytes;
    for (uint64_t i = 0; i <= FINE_POINTS; i++) {
        uint64_t footprint = low + (high - low) * i / FINE_POINTS;
        struct pb_chase_spec spec;
        enum pb_status status;

        footprint -= footprint % search->stride_bytes;
        spec = pb_search_steady(search, "fine", footprint, search->stride_bytes);
        if (search->exact) {
            spec.record = 0;
            spec.timed = PB_WHOLE_PASS;
        }
        status = pb_chase_take(session, &spec, recording, NULL, err);
        if (status != PB_OK)
            return status;
    }
    return PB_OK;
}

static enum pb_status capacity(struct pb_session *session, enum pb_cache cache,
                               struct pb_recording *recording, struct pb_error *err)
{
    struct pb_search search;
    enum pb_status status;

    pb_search_begin(session, cache, &search);
    status = pb_search_references(session, &search, recording, err);
    if (status == PB_OK)
        status = pb_search_edge(session, &search, recording, err);
    if (status != PB_OK)
        return status;
    if (search.overflows_bytes == 0) {
        pb_fail(err, PB_OK, "no misses up to %llu bytes", (unsigned long long)search.limit_bytes);
        PB_TEXT_SET(recording->message, err->message);
        return PB_OK;
    }
    session->hints[cache].edge_bytes = search.fits_bytes;
    return take_fine(session, &search, recording, err);
}

enum pb_status pb_test_l1_capacity(struct pb_session *session, struct pb_recording *recording,
                                   struct pb_error *err)
{
    return capacity(session, PB_CACHE_L1, recording, err);
}

enum pb_status pb_test_readonly_capacity(struct pb_session *session, struct pb_recording *recording,
                                         struct pb_error *err)
{
    return capacity(session, PB_CACHE_READONLY, recording, err);
}

enum pb_status pb_test_texture_capacity(struct pb_session *session, struct pb_recording *recording,
                                        struct pb_error *err)
{
    return capacity(session, PB_CACHE_TEXTURE, recording, err);
}

enum pb_status pb_test_constant_capacity(struct pb_session *session, struct pb_recording *recording,
                                         struct pb_error *err)
{
    return capacity(session, PB_CACHE_CONSTANT, recording, err);
}

enum pb_status pb_test_constant_l15_capacity(struct pb_session *session,
                                             struct pb_recording *recording, struct pb_error *err)
{
    return capacity(session, PB_CACHE_CONSTANT_L15, recording, err);
}

enum pb_status pb_test_l2_capacity(struct pb_session *session, struct pb_recording *recording,
                                   struct pb_error *err)
{
    return capacity(session, PB_CACHE_L2, recording, err);
}
