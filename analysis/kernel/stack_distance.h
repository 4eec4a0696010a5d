/* A cache's hit rate by reuse distances and chance alone, to compare the model with. */
#ifndef PB_ANALYSIS_KERNEL_STACK_DISTANCE_H
#define PB_ANALYSIS_KERNEL_STACK_DISTANCE_H

#include <stddef.h>

#include "analysis/model/reuse.h"

/*
 * Lines fall into sets by chance: a use at distance D hits where fewer than `ways` of the D lines
 * between fell into its set, of `sets` (Brehob and Enbody's model, as PPT-GPU has it). NaN: no
 * uses.
 */
double pb_stack_distance_hit_rate(const struct pb_model_histogram *histogram, size_t sets,
                                  size_t ways);

#endif
