/*
 * Attribution: which units explain a set of affected devices of one group.
 *
 * One generative model: a unit (a node, a slot of several nodes, a value of a configuration
 * attribute, the whole group) is at fault or not; of the devices of a faulty unit most are
 * affected, of all others each is so by itself, with one probability. The set of units with the
 * best penalised likelihood is searched greedily. Replacing m single devices by a unit of D devices
 * gains
 *
 *     m log(q / b) + (D - m) log((1 - q) / (1 - b)) - log(number of units) - 2
 *
 * where q and b are the shares of affected devices within the unit and outside: what happened to be
 * side by side among many affected ones gains nothing, what stands alone together gains much.
 * Besides that a unit must hold its documented share: a node three quarters of at least two of its
 * devices, in a group of three nodes or more; a slot half of those that have it, three at least; an
 * attribute three quarters of three devices or more on two nodes or more, not all of the group. An
 * affected device is one that deviates significantly by itself: no device is counted for its
 * neighbours.
 *
 * Source: Schwarz, Annals of Statistics 6 (1978) 461, for penalised likelihoods; Kulldorff,
 * Communications in Statistics 26 (1997) 1481, for the likelihood ratio of a cluster.
 */
#ifndef PB_ANALYSIS_VERDICT_ATTRIBUTE_H
#define PB_ANALYSIS_VERDICT_ATTRIBUTE_H

#include "analysis/verdict/finding.h"
#include "analysis/verdict/group.h"

/* A part of a group: its devices' numbers of node, slot and attributes. */
struct pb_layout {
    const struct pb_features *features;
    const struct pb_group *group;
    size_t *
        labels; /* [PB_DIMENSIONS][member]: equal where the unit is the same; SIZE_MAX: not known */
    size_t *sizes; /* number of units by dimension */
};

enum {
    PB_DIMENSION_ATTRIBUTE, /* and the other attributes behind it */
    PB_DIMENSION_SLOT = PB_ATTRIBUTE_COUNT,
    PB_DIMENSION_NODE,
    PB_DIMENSIONS,
};

/* PB_NO_MEMORY is the only error. */
enum pb_status pb_layout_make(const struct pb_features *features, const struct pb_group *group,
                              struct pb_layout *layout_out, struct pb_error *err);

void pb_layout_clear(struct pb_layout *layout); /* NULL is allowed */

/* What affected devices have in common, or one of them. */
struct pb_unit {
    enum pb_level level;         /* DEVICE, SLOT, NODE, POPULATION */
    enum pb_attribute attribute; /* PB_ATTRIBUTE_COUNT: none */
    size_t first;                /* one of its members, by which host, slot or value is known */
    size_t held;                 /* devices of the group that belong to it, affected or not */
    size_t *members;             /* those that are affected: places within the group, ascending */
    size_t count;
};

struct pb_units {
    struct pb_unit *items;
    size_t count, capacity;
};

/*
 * Explains the affected devices of a group; every one is a member of exactly one unit.
 *
 * affected[member_count]  of the group
 * whole                   may all of the group be at fault? Only by events or their own history
 * loose                   may many devices without anything in common make one unit? Then those are
 *                         a POPULATION if they are four and 15% of the group at least
 *
 * PB_NO_MEMORY is the only error.
 */
enum pb_status pb_attribute(const struct pb_layout *layout, const bool *affected, bool whole,
                            bool loose, struct pb_units *units_out, struct pb_error *err);

void pb_units_clear(struct pb_units *units); /* NULL is allowed */

/*
 * The attribute that distinguishes `inside` from the other devices: nine tenths of them share a
 * value that at most a tenth of the others has. PB_ATTRIBUTE_COUNT: none does. *first_out is a
 * device with that value.
 *
 * inside[member_count]  1, 0; -1: neither
 */
enum pb_attribute pb_attribute_separating(const struct pb_layout *layout, const signed char *inside,
                                          size_t *first_out);

#endif
