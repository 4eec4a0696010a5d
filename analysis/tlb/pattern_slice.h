/* Private to the inference of patterns: the slices of its chase, as they were measured. */
#ifndef PB_ANALYSIS_TLB_PATTERN_SLICE_H
#define PB_ANALYSIS_TLB_PATTERN_SLICE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "analysis/parameter.h"
#include "core/record.h"

struct pb_pattern_slice {
    struct pb_estimate common, slower; /* the prevailing kind, or the mean; switches' */
    double low, high;                  /* nearly all accesses lie between */
    double scatter;                    /* one standard deviation of most; 0: one kind prevails */
    bool prevails;                     /* one kind does */
    size_t accesses, of_common;
    double stride_bytes; /* of its pages; NaN: there is no slice */
};

#define PB_PATTERN_SLICE_NONE                                                                      \
    ((struct pb_pattern_slice){PB_ESTIMATE_NONE, PB_ESTIMATE_NONE, NAN, NAN, NAN, false, 0, 0, NAN})

/* Reads the slice that a point holds. PB_NO_MEMORY. */
enum pb_status pb_pattern_read(const struct pb_series *series, const struct pb_point *point,
                               struct pb_pattern_slice *slice_out, struct pb_error *err);

#endif
