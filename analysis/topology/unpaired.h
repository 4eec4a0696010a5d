/*
 * SMs that met no others in clusters of CTAs, and whom they resemble.
 *
 * Two tests show it, of which the first that can be trusted is taken:
 *
 *   sm_pairs, kind constant  SMs that share the second constant cache read constants a little
 *                            faster, or slower, together than alone; on an H200 by 1%, and it is a
 *                            GPC that shares. Who shares with the same SMs is of the same GPC.
 *   l2_map                   SMs of a GPC have nearly the same way to every slice of L2.
 *
 * How far one can be trusted, the other SMs show: most of them must resemble one of their own GPC.
 * An SM must resemble one GPC clearly more than all others.
 *
 * Source: recordings of H200s; facts 2.10.
 */
#ifndef PB_ANALYSIS_TOPOLOGY_UNPAIRED_H
#define PB_ANALYSIS_TOPOLOGY_UNPAIRED_H

#include <stdbool.h>

#include "analysis/confidence.h"
#include "analysis/statistics/union_find.h"
#include "core/record.h"

enum { PB_UNPAIRED_SMS_MAX = 4096 };

/*
 * Joins every unpaired SM, with those that it shared clusters with, to the component that they
 * resemble most together: by slowdowns its mean, which is faint in each SM; by the way its likest
 * SM, as parts of a GPC lie apart.
 *
 * pairs, map  matrices of sm_pairs and l2_map; of rank 0 where there is none
 * unpaired[]  for each of the components' members
 * votes       get those of the SMs that are not unpaired, and whether each other by itself agrees
 * basis_out   what they resemble each other by; a text that stays
 *
 * PB_NOT_FOUND  no basis can be trusted, or an SM resembles two GPCs by the one that can.
 *               Components are undefined then.
 * PB_NO_MEMORY
 */
enum pb_status pb_unpaired_join(const struct pb_matrix *pairs, const struct pb_matrix *map,
                                const bool *unpaired, struct pb_union_find *components,
                                struct pb_votes *votes, const char **basis_out,
                                struct pb_error *err);

#endif
