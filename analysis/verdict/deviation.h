/*
 * Deviations: the numbers of one device that lie significantly away from its peers' majority, or
 * from what the device was itself before.
 */
#ifndef PB_ANALYSIS_VERDICT_DEVIATION_H
#define PB_ANALYSIS_VERDICT_DEVIATION_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/verdict/score.h"

enum pb_against {
    PB_AGAINST_PEERS,
    PB_AGAINST_HISTORY, /* the device's own, by its UUID in the baseline */
};

struct pb_deviation {
    size_t metric;
    enum pb_against against;
    double value, expected;
    double shift, sigmas, p;
    double times; /* against the history: in sizes up to which a healthy device repeats */
    enum pb_severity severity;
    int64_t place; /* of the cell; -1: the whole device */
    size_t peers;
    bool is_beside_event; /* from peers that have an event as the device has */
    bool is_event;        /* a count of what most peers have none of: wrong whoever they are */
    unsigned taken_by;    /* which diagnosis of the device explains it, from 1; 0: none so far */
};

/* All deviations of one device. */
struct pb_deviations {
    size_t group, device;
    struct pb_deviation *items;
    size_t count, capacity;
};

/*
 * Reads the WARNING and CRITICAL scores of a device; against its history only where the peers do
 * not show the deviation already. *deviations_out is for pb_deviations_clear(). PB_NO_MEMORY.
 */
enum pb_status pb_deviations_read(const struct pb_features *features,
                                  const struct pb_scores *scores, size_t group, size_t device,
                                  struct pb_deviations *deviations_out, struct pb_error *err);

void pb_deviations_clear(struct pb_deviations *deviations); /* NULL is allowed */

#endif
