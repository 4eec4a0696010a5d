/*
 * pattern_cycles: the latencies of M16's six access patterns, as a list P1 … P6.
 *
 *   P1 hit   P2 hit, first TLB misses   P3 hit, both miss
 *   P4 miss, TLB hit   P5 miss, nothing translated   P6 the same, and active pages change
 *
 * Of l2 by loads past L1, of l1 by loads through it. Each is the lower edge of the commonest kind
 * of access of its slice; P6 is the rarer, slower kind among P5's, and null where there is none.
 *
 * Source: M16 section 5.2, figure 14 and its table.
 */
#include "analysis/infer.h"

#include <math.h>
#include <string.h>

#include "analysis/confidence.h"
#include "analysis/modes.h"
#include "analysis/trace.h"

enum { PATTERNS = 6, MODES_MAX = 16 };

/* A kind with less than this share of its slice does not prevail. */
static const double least_share = 0.5;

/* Rare slow accesses are of one kind where they lie within so many cycles, or part of them. */
static const double kind_cycles = 3.0, kind_share = 0.02;

/* Accesses behind a latency weigh no more than this. */
enum { PIECES_MAX = 20 };

struct slice {
    struct pb_estimate common, slower;
    size_t accesses, of_common;
};

/* The slow tail as one kind: two or more accesses, close together. */
static struct pb_estimate rare_kind(const double *sorted, size_t count, double above)
{
    size_t first = count;

    while (first > 0 && sorted[first - 1] > above)
        first--;
    if (count - first < 2 ||
        sorted[count - 1] - sorted[first] > fmax(kind_cycles, kind_share * sorted[first]))
        return PB_ESTIMATE_NONE;
    return (struct pb_estimate){sorted[first], sorted[first], sorted[count - 1]};
}

static void measure(const struct pb_sample *sorted, struct slice *slice)
{
    struct pb_mode modes[MODES_MAX];
    size_t count = pb_modes_find(sorted->values, sorted->count, MODES_MAX, modes);
    const struct pb_mode *common = pb_modes_largest(modes, count);
    double edge = pb_quantile(sorted->values + common->first, common->count, 0.01);

    slice->accesses = sorted->count;
    slice->of_common = common->count;
    /* few slow accesses may have been too few for a mode of their own */
    if (edge > 0.0 && (double)common->count >= least_share * (double)sorted->count)
        slice->common = (struct pb_estimate){edge, edge, fmax(edge, common->median)};
    slice->slower =
        rare_kind(sorted->values, sorted->count, common->median * (1.0 + kind_share) + kind_cycles);
}

/* PB_NO_MEMORY; a slice that is not there stays empty. */
static enum pb_status read_slice(const struct pb_series *series, const char *path,
                                 const char *phase, struct slice *slice_out, struct pb_error *err)
{
    struct pb_pick pick = {path, "trace", phase};
    struct pb_sample cycles, sorted = {NULL, 0, 0};
    struct slice slice = {PB_ESTIMATE_NONE, PB_ESTIMATE_NONE, 0, 0};
    enum pb_status status = pb_trace_collect(series, &pick, &cycles, err);

    if (status != PB_OK)
        return status;
    status = pb_sample_sorted(&cycles, &sorted, err);
    if (status == PB_OK && sorted.count > 0)
        measure(&sorted, &slice);
    pb_sample_clear(&sorted);
    pb_sample_clear(&cycles);
    *slice_out = slice;
    return status;
}

enum pb_status pb_infer_pattern(const struct pb_case *at, struct pb_error *err)
{
    static const char *const phases[PATTERNS - 1] = {"p1", "p2", "p3", "p4", "p6_p5"};
    const char *path = strcmp(at->inference->memory, "l2") == 0 ? "global_cg" : "global_ca";
    struct pb_estimate patterns[PATTERNS];
    struct pb_votes votes = {0, 0};
    size_t accesses = 0;

    for (size_t i = 0; i + 1 < PATTERNS; i++) {
        struct slice slice;
        enum pb_status status = read_slice(&at->recordings[0].series, path, phases[i], &slice, err);

        if (status != PB_OK)
            return status;
        patterns[i] = slice.common;
        patterns[i + 1] = slice.slower; /* stays only behind the last slice */
        accesses += slice.accesses;
        pb_votes_add_share(&votes, slice.of_common, slice.accesses, PIECES_MAX);
    }
    if (accesses == 0)
        return pb_fail(err, PB_NOT_FOUND, "no access by %s was recorded", path);
    pb_parameter_set_list(pb_case_answer(at, "pattern_cycles"), patterns, PATTERNS,
                          pb_votes_confidence(&votes),
                          "M16 5.2: P1 to P6 by %s, one chase of %zu loads; lower edge of the "
                          "commonest kind; P6 null: active pages never changed",
                          path, accesses);
    return PB_OK;
}
