/*
 * Private to the battery: lines of one set, found by which lines evict which, so that no index has
 * to be known or presumed.
 */
#ifndef PB_BATTERY_EVICTION_H
#define PB_BATTERY_EVICTION_H

#include "battery/search.h"

enum { PB_EVICTION_MAX = 64 }; /* lines that are found at most */

struct pb_eviction_group {
    uint64_t offset_bytes[PB_EVICTION_MAX];
    size_t count;        /* all of one set, one more than it has ways */
    uint64_t area_bytes; /* all lie below */
};

/*
 * search: with fits_bytes and stride_bytes as pb_search_from_hints() leaves them. PB_NOT_FOUND: no
 * line is evicted by others that fit all the same, or it is left to chance.
 */
enum pb_status pb_eviction_group_find(struct pb_session *session, const struct pb_search *search,
                                      struct pb_recording *recording,
                                      struct pb_eviction_group *group_out, struct pb_error *err);

#endif
