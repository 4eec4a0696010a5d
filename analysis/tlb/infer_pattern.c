/*
 * pattern_cycles: the latencies of M16's six access patterns, as a list P1 … P6.
 *
 *   P1 hit   P2 hit, first TLB misses   P3 hit, both miss
 *   P4 miss, TLB hit   P5 miss, nothing translated   P6 the same, and active pages change
 *
 * Of l2 by loads past L1, of l1 by loads through it. Each is the lower edge of the kind of access
 * that prevails in its slice; where none does (near and far slices of L2, rows of DRAM), it is the
 * mean, and the interval holds nearly all: the commonest kind would be another one from run to run.
 * P6 is the slower kind among P5's, of the loads that change the active pages, and null where there
 * is none.
 *
 * What a slice is to show depends on the TLBs: P2's pages must take more entries than the first
 * level has and no more than the second, P3's and P5's more than the second, and no two of them may
 * share an entry. Victims may be random, and then some of so many pages hit all the same: P2 and P3
 * must also lie as much later than P1 as their misses cost. Where they do not, or nobody knows, the
 * pattern is null and the method says why.
 * Of several slices of a pattern that one tells it in which a kind prevails; lines that L1 has let
 * go before are no hits.
 *
 * Limit: one chase on one SM, so that P1 to P6 differ by what they name and by nothing else; how
 * far that SM lies from the rest of its chip is in all of them (infer_over_sms.c has the others).
 *
 * Source: M16 section 5.2, figure 14 and its table.
 */
#include "analysis/infer.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "analysis/confidence.h"
#include "analysis/constants.h"
#include "analysis/tlb/pattern_fault.h"
#include "analysis/tlb/pattern_slice.h"
#include "analysis/trace.h"

enum { PATTERNS = 6 };

/*
 * The slice of a pattern that shows it, by the distance and the number of its pages: the first one
 * in which a kind prevails, of hits where hits are asked for, or else the first one. Where none
 * shows it, *fault_out says why the first one does not.
 */
static enum pb_status choose_slice(const struct pb_case *at, const char *path, const char *phase,
                                   size_t pattern, const struct pb_pattern_slice *hits,
                                   struct pb_pattern_slice *slice_out, const char **fault_out,
                                   struct pb_error *err)
{
    const struct pb_series *series = &at->recordings[0].series;
    struct pb_pick pick = {path, "traced", phase};
    const struct pb_point *point;
    double most = pb_pattern_most_of_hits(at, pattern);
    bool shown = false;

    *slice_out = PB_PATTERN_SLICE_NONE;
    *fault_out = NULL;
    for (size_t next = 0; (point = pb_point_next(series, &pick, &next)) != NULL;) {
        struct pb_pattern_slice slice;
        enum pb_status status = pb_pattern_read(series, point, &slice, err);
        const char *fault = status == PB_OK ? pb_pattern_fault(at, hits, &slice, pattern) : NULL;

        if (status != PB_OK)
            return status;
        if (fault == NULL && slice.prevails && !(slice.common.value > most)) {
            *slice_out = slice;
            *fault_out = NULL;
            return PB_OK;
        }
        if (!shown && (fault == NULL || *fault_out == NULL)) {
            *slice_out = slice;
            *fault_out = fault == NULL ? pb_pattern_mixture(at, &slice, pattern, most) : fault;
        }
        shown = shown || fault == NULL;
    }
    if (!shown && *fault_out == NULL)
        *fault_out = "not recorded";
    return PB_OK;
}

/* Adds "; P2 null: because" to the text. */
static void add_reason(char *text, size_t size, size_t pattern, const char *reason)
{
    size_t length = strlen(text);

    snprintf(text + length, size - length, "; P%zu null: %s", pattern + 1, reason);
}

enum pb_status pb_infer_pattern(const struct pb_case *at, struct pb_error *err)
{
    static const char *const phases[PATTERNS - 1] = {"p1", "p2", "p3", "p4", "p6_p5"};
    const char *path = strcmp(at->inference->memory, "l2") == 0 ? "global_cg" : "global_ca";
    struct pb_estimate patterns[PATTERNS];
    struct pb_votes votes = {0, 0};
    char reasons[PB_MESSAGE_LENGTH] = "";
    struct pb_pattern_slice slice, first = PB_PATTERN_SLICE_NONE;
    size_t accesses = 0;

    for (size_t i = 0; i + 1 < PATTERNS; i++) {
        const char *fault;
        enum pb_status status = choose_slice(at, path, phases[i], i, &first, &slice, &fault, err);

        if (status != PB_OK)
            return status;
        if (i == 0 && fault == NULL)
            first = slice;
        patterns[i] = fault == NULL ? slice.common : PB_ESTIMATE_NONE;
        /* stays only behind the last slice */
        patterns[i + 1] = fault == NULL ? slice.slower : PB_ESTIMATE_NONE;
        if (fault != NULL)
            add_reason(reasons, sizeof(reasons), i, fault);
        accesses += slice.accesses;
        pb_votes_add_share(&votes, slice.of_common, slice.accesses, PB_PIECES_MAX);
    }
    if (accesses == 0)
        return pb_fail(err, PB_NOT_FOUND, "not recorded: no access by %s", path);
    if (isnan(patterns[PATTERNS - 1].value))
        add_reason(reasons, sizeof(reasons), PATTERNS - 1, "active pages never changed");
    pb_parameter_set_list(pb_case_answer(at, "pattern_cycles"), patterns, PATTERNS,
                          pb_votes_confidence(&votes),
                          "M16 5.2: P1 to P6 by %s on SM %lld, %zu loads; lower edge of the kind "
                          "that prevails, else the mean%s",
                          path, (long long)at->recordings[0].sm_id, accesses, reasons);
    return PB_OK;
}
