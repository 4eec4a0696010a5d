/*
 * What a known index says of a chase: which of its lines lie in sets that hold fewer of them than
 * it has there. These lines miss, and no others, if the sets are all that limits the cache.
 *
 * Source: N14 5.1 for the index; M16 4.2 for the chases.
 */
#ifndef PB_ANALYSIS_CACHE_SET_OVERFLOW_H
#define PB_ANALYSIS_CACHE_SET_OVERFLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/cache/geometry.h"
#include "analysis/parameter.h"
#include "analysis/statistics/classes.h"
#include "analysis/trace.h"

/* A cache's sets, as they were inferred of a memory. False: its line, ways or index is open. */
bool pb_sets_read(const struct pb_parameters *parameters, const char *memory,
                  struct pb_geometry *sets_out);

/* One chase against them. */
struct pb_set_prediction {
    size_t overflowing; /* lines in sets with more of the chase's lines than ways */
    size_t both;        /* of these, lines that missed */
    bool is_one_set;    /* all that missed are all lines of one set, which is just full */
};

/*
 * base  address of offset 0
 *
 * PB_NOT_FOUND  the chase reaches over address bits that the masks were not inferred for
 */
enum pb_status pb_sets_predict(const struct pb_geometry *sets, const struct pb_accesses *chase,
                               uint64_t base, const struct pb_classes *classes,
                               struct pb_set_prediction *prediction_out, struct pb_error *err);

#endif
