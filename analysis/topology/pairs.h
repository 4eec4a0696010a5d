/*
 * TPCs: components of SMs that slow each other down when they work at the same time (test
 * sm_pairs).
 *
 * Whoever shares something with one member of a component shares it with all: pairs that are
 * clearly slower than all others but do not close components show nothing. A GPC's SMs may share as
 * well, more or less than a TPC's. Numbers tell them apart: those of a TPC follow each other, while
 * TPCs are dealt to the GPCs in turn. A GPC's last TPC may be a single SM, which slows none.
 *
 * Limit: GPCs of a TPC each, but for the last, are runs of numbers, too.
 *
 * Source: facts 4 on maps of SMs; recordings of H100s and H200s.
 */
#ifndef PB_ANALYSIS_TOPOLOGY_PAIRS_H
#define PB_ANALYSIS_TOPOLOGY_PAIRS_H

#include "analysis/statistics/union_find.h"
#include "core/record.h"

/* What parts pairs within components from all others. */
struct pb_pairs_gap {
    double slowdown; /* between the two: cycles of a pair by cycles alone */
    double share;    /* how much slower the least within is than the slowest other, less 1 */
};

/* Axes kind (labels), sm, other, of three SMs at least. PB_NOT_FOUND: err says what is not so. */
enum pb_status pb_pairs_check(const struct pb_matrix *matrix, struct pb_error *err);

/*
 * The components of one kind of work, of a matrix that was checked: of those whose SMs follow each
 * other by number, those behind the widest gap.
 *
 * components  open, of as many members as the matrix has SMs; undefined unless PB_OK
 *
 * PB_NOT_FOUND  there are none, or a pair was not measured. PB_NO_MEMORY.
 */
enum pb_status pb_pairs_components(const struct pb_matrix *matrix, size_t kind,
                                   struct pb_union_find *components, struct pb_pairs_gap *gap_out,
                                   struct pb_error *err);

#endif
