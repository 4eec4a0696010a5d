/* Private to rise.c: which steps of several sweeps belong together. */
#ifndef PB_ANALYSIS_TLB_RISE_LEVEL_H
#define PB_ANALYSIS_TLB_RISE_LEVEL_H

#include "analysis/tlb/rise.h"

/*
 * What disturbs a GPU for a while lifts or lowers a few sweeps, each at pages of its own; a level
 * shows at the same pages, or bytes, in most. Steps that two other sweeps or more do not show are
 * no level, where enough sweeps go as far. Where little memory is free, only one does: that over a
 * block mapped many times.
 */
void pb_rise_leave_out_lonely(struct pb_rise *rise);

#endif
