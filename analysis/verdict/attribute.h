/*
 * Attribution: whose deviation it is. Private to pb_judge().
 *
 * The scores of every metric of a group are fitted as node + slot + device by median polish. A node
 * is blamed when it has at least two devices of the group and (nearly) all of them deviate alike;
 * a slot when it deviates alike on at least three nodes and on half of those that have it.
 * Everything else is a device's own: a sick device never takes its node along.
 *
 * Against a baseline the same is asked of the devices' own past; there a whole group can have moved
 * too, which is then one finding and not one for each device.
 *
 * Limit: with fewer than three nodes in the group, nothing tells a node from its devices; with one
 * device a node neither.
 */
#ifndef PB_ANALYSIS_VERDICT_ATTRIBUTE_H
#define PB_ANALYSIS_VERDICT_ATTRIBUTE_H

#include <limits.h>

#include "analysis/verdict/finding.h"

#define PB_TAKEN_BY_WIDER UINT_MAX /* explained by what was found of its node or slot */

enum pb_against {
    PB_AGAINST_PEERS,
    PB_AGAINST_PAST, /* the device's own, by its UUID in the baseline */
};

/* One metric that moved, at the place it was attributed to. */
struct pb_move {
    size_t metric;
    enum pb_against against;
    double value, expected;
    double shift, sigmas, p; /* of a node or a slot: of its median device */
    double times;            /* against the past: in sizes up to which a healthy device repeats */
    enum pb_severity severity;
    int64_t place; /* of the cell; -1: the whole device */
    size_t peers;
    unsigned taken_by; /* which diagnosis of the place explains it, from 1; 0: none so far */
};

/* All that moved at one place. */
struct pb_bundle {
    enum pb_level level; /* DEVICE, SLOT, NODE; POPULATION: the whole group, against its past */
    size_t group;
    size_t subject; /* the device, or one of those of the node or slot */
    struct pb_move *moves;
    size_t count, capacity;
};

struct pb_bundles {
    struct pb_bundle *items; /* nodes and slots first, then devices by subject */
    size_t count, capacity;
};

/* PB_NO_MEMORY is the only error. */
enum pb_status pb_attribute(const struct pb_sheet *sheet, const struct pb_scores *scores,
                            struct pb_bundles *bundles_out, struct pb_error *err);

void pb_bundles_clear(struct pb_bundles *bundles); /* NULL is allowed */

/* Adds a move to the bundle of that place, made when there is none. PB_NO_MEMORY. */
enum pb_status pb_bundles_put(struct pb_bundles *bundles, enum pb_level level, size_t group,
                              size_t subject, const struct pb_move *move, struct pb_error *err);

/*
 * What the scores say of one number. Against the past: WARNING or CRITICAL where the drift is, and
 * the peers do not show it already.
 */
struct pb_move pb_move_read(const struct pb_sheet *sheet, const struct pb_scores *scores,
                            size_t group, size_t subject, size_t metric, enum pb_against against);

/* WARNING or CRITICAL. */
bool pb_move_is_one(const struct pb_move *move);

/*
 * Median polish of a table with holes: value = overall + row + column + rest.
 *
 * values_inout[rows][columns]  NaN: no such cell; holds the rest afterwards
 * row_out[rows], column_out[columns]  effects; 0 where a row or column is empty
 *
 * Source: Tukey 1977, Exploratory Data Analysis, chapter 11.
 */
enum pb_status pb_median_polish(size_t rows, size_t columns, double *values_inout, double *row_out,
                                double *column_out, struct pb_error *err);

#endif
