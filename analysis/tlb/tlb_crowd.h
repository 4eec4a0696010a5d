/*
 * Lines of walks over pages that L2 cannot keep: more of one set than it has ways.
 *
 * They lie far apart, so that few sets of a small L2 get all of them. What they miss then may cost
 * as much as a translation, but says nothing of one.
 */
#ifndef PB_ANALYSIS_TLB_TLB_CROWD_H
#define PB_ANALYSIS_TLB_TLB_CROWD_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/parameter.h"
#include "analysis/tlb/tlb.h"

/* How L2 places lines. */
struct pb_tlb_l2 {
    uint64_t line_bytes, ways;
    uint64_t sets; /* 0: not known */
    uint64_t masks[PB_LIST_MAX];
    size_t mask_count; /* 0: line number modulo sets */
};

struct pb_tlb_l2 pb_tlb_l2_read(const struct pb_parameters *parameters);

/*
 * Takes these lines out of all walks, and walks that are left with less than half of their loads or
 * of whose lines too many are not known. Where L2's sets are not known, nothing changes.
 * PB_NO_MEMORY.
 */
enum pb_status pb_tlb_leave_out_crowded(struct pb_tlb *tlb, const struct pb_tlb_l2 *l2,
                                        struct pb_error *err);

#endif
