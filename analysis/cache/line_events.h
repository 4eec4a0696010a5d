/* Where walks over a cache miss, and where hits and misses meet: the unit that these places keep
 * to. */
#ifndef PB_ANALYSIS_LINE_EVENTS_H
#define PB_ANALYSIS_LINE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/cache/level.h"
#include "analysis/statistics/alignment.h"

/* Below this chance, a walk's misses are more than strays. */
#define PB_LINE_SIGNIFICANCE 1e-3

enum pb_line_events {
    PB_LINE_MISSES,       /* of cold walks, but the first access, which misses wherever it is */
    PB_LINE_MISSES_BACK,  /* of walks back from the end: the end of what each miss fetched */
    PB_LINE_TURNS,        /* of steady walks: where hits and misses meet */
    PB_LINE_TURNS_OF_RUNS /* the same without misses that stand alone */
};

/*
 * The unit of all events of a phase, but of walks so large that the next cache overflows too. A
 * walk alone may keep to a smaller unit than all together, where most of them happen to overflow
 * whole groups of sets: the smaller one counts. So does one at which the same places turn again and
 * again.
 *
 * most_bytes     the largest walk that counts
 * tried_out      how many accesses were looked at
 *
 * PB_NO_MEMORY is the only error.
 */
enum pb_status pb_line_unit(const struct pb_level *level, const char *phase,
                            enum pb_line_events kind, double most_bytes,
                            struct pb_alignment *alignment_out, size_t *tried_out,
                            struct pb_error *err);

/* Are misses between two hits no more than there are where everything fits, which are spikes? */
bool pb_line_alone_are_spikes(const struct pb_level *level, const char *phase, double most_bytes);

#endif
