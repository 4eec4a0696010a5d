/*
 * Sets of unequal ways: a hypothesis beside the one that all sets are alike. Of an overfull set
 * some line misses in every pass, whatever its policy, of any other one none does.
 */
#ifndef PB_ANALYSIS_CACHE_UNEQUAL_H
#define PB_ANALYSIS_CACHE_UNEQUAL_H

#include "analysis/cache/hypotheses.h"
#include "analysis/room.h"

/* Ways of each set, and between which the passes do not tell: [sets]. */
struct pb_unequal {
    uint32_t *ways, *least, *most; /* UINT32_MAX: no pass overfills the set */
    size_t others;                 /* sets that are not like most */
    double log_prior;              /* of so many among all */
    double log_gain;               /* by how much likelier the passes over these sets are so */
    struct pb_room room;           /* of all arrays */
};

/*
 * The likeliest ways of each set, from those of a geometry of equal ones on: others where the
 * passes over a set make that likelier, by how many of all sets have others. `others` is 0 where
 * all are alike.
 *
 * PB_NO_MEMORY; clear it in any case.
 */
enum pb_status pb_unequal_propose(const struct pb_cache_chases *chases,
                                  const struct pb_geometry *equal, struct pb_unequal *unequal_out,
                                  struct pb_error *err);
void pb_unequal_clear(struct pb_unequal *unequal);

/* States the ways of all sets in turn, and their bytes, as sure as that; either may be NULL. */
void pb_unequal_state(const struct pb_unequal *unequal, const struct pb_geometry *geometry,
                      double confidence, struct pb_parameter *ways_out,
                      struct pb_parameter *size_out, const char *method);

#endif
