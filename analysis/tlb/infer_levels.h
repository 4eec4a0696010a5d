/*
 * TLB levels by one comparison of hypotheses, for all three memories at once.
 *
 * Limit: it stands beside pb_infer_tlb(), and no row of the table of inferences asks for it yet. On
 * drawn devices it states more, and less that is wrong.
 */
#ifndef PB_ANALYSIS_TLB_INFER_LEVELS_H
#define PB_ANALYSIS_TLB_INFER_LEVELS_H

#include "analysis/inference.h"

/*
 * States page_bytes, entry_count, entry_coverage_bytes, reach_bytes, sets, index and penalty of
 * tlb_l1 to tlb_l3, which must be declared, from recordings of tlb_reach and tlb_remap.
 * PB_NO_MEMORY is the only error.
 */
enum pb_status pb_infer_tlb_levels(const struct pb_case *at, struct pb_error *err);

#endif
