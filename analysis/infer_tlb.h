/* Private to the inference of translation: the two ways of looking at a level. */
#ifndef PB_ANALYSIS_INFER_TLB_H
#define PB_ANALYSIS_INFER_TLB_H

#include <stddef.h>

#include "analysis/inference.h"

/*
 * infer_tlb_rise.c: where L2's hits come in several kinds, by lines compared with themselves.
 * most_cycles: a line slower by more does not wait for a translation.
 */
enum pb_status pb_infer_tlb_rise(const struct pb_case *at, size_t level, double most_cycles,
                                 struct pb_error *err);

#endif
