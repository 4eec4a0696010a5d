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
#include "analysis/statistics/modes.h"
#include "analysis/tlb/scans.h"
#include "analysis/trace.h"

enum { PATTERNS = 6, MODES_MAX = 16 };

/* A slice of the chase, as it was measured. */
struct slice {
    struct pb_estimate common, slower; /* the prevailing kind, or the mean; switches' */
    double low, high;                  /* nearly all accesses lie between */
    double scatter;                    /* one standard deviation of most; 0: one kind prevails */
    bool prevails;                     /* one kind does */
    size_t accesses, of_common;
    double stride_bytes; /* of its pages */
};

static const struct slice no_slice = {.common = {NAN, NAN, NAN}, .slower = {NAN, NAN, NAN}};

/* Quartiles of a normal distribution are so many standard deviations apart. */
static const double quartile_deviations = 1.349;

/* Pages that are active together (M16 5.2). */
static const uint64_t active_bytes = (uint64_t)512 << 20;

/*
 * The slow loads as one kind: those that change the active pages, and few others; spikes and misses
 * of a TLB level come elsewhere, too.
 */
static struct pb_estimate kind_of_switches(const struct pb_accesses *accesses, double above)
{
    double low = INFINITY, high = 0.0;
    size_t slow = 0, switches = 0, both = 0;

    for (size_t i = 0; i < accesses->count; i++) {
        const uint64_t *at = &accesses->index_bytes[i];
        bool is_switch = i == 0 || at[0] / active_bytes != at[-1] / active_bytes;
        double cycles = pb_access_cycles(accesses, i);

        slow += cycles > above;
        switches += is_switch;
        if (!is_switch || cycles <= above)
            continue;
        both++;
        low = fmin(low, cycles);
        high = fmax(high, cycles);
    }
    if (both < PB_FEW || (double)both < PB_MOST * (double)(slow > switches ? slow : switches) ||
        high - low > fmax(2.0 * PB_ALIKE_CYCLES, PB_ALIKE_SHARE * low))
        return PB_ESTIMATE_NONE;
    return (struct pb_estimate){low, low, high};
}

/* The trimmed mean, and where nearly all lie. */
static struct pb_estimate mean_of(const double *sorted, size_t count)
{
    size_t trimmed = (size_t)(2.0 * PB_EXCEPTION * (double)count);
    size_t outliers = (size_t)(PB_POSSIBLE_SHARE * (double)count);
    double sum = 0.0;

    for (size_t i = trimmed; i < count - trimmed; i++)
        sum += sorted[i];
    return (struct pb_estimate){sum / (double)(count - 2 * trimmed), sorted[outliers],
                                sorted[count - 1 - outliers]};
}

/* Of a kind, or where a few others are too few for a kind of their own, its lower quartile. */
static double lower_edge(const double *members, const struct pb_mode *kind)
{
    double edge = pb_quantile(members, kind->count, PB_POSSIBLE_SHARE);

    return edge >= kind->median - 2.0 * PB_ALIKE_CYCLES ? edge
                                                        : pb_quantile(members, kind->count, 0.25);
}

static void measure(const struct pb_accesses *accesses, const struct pb_sample *sorted,
                    struct slice *slice)
{
    struct pb_mode modes[MODES_MAX];
    size_t count = pb_modes_find(sorted->values, sorted->count, MODES_MAX, modes);
    const struct pb_mode *common = pb_modes_largest(modes, count);
    double edge = lower_edge(sorted->values + common->first, common);

    slice->accesses = sorted->count;
    slice->of_common = common->count;
    slice->low = pb_quantile(sorted->values, sorted->count, PB_EXCEPTION);
    slice->high = pb_quantile(sorted->values, sorted->count, 1.0 - PB_EXCEPTION);
    slice->prevails = (double)common->count >= PB_MOST * (double)sorted->count &&
                      pb_interquartile_range(sorted->values + common->first, common->count) <=
                          2.0 * PB_ALIKE_CYCLES;
    slice->scatter = slice->prevails ? 0.0
                                     : pb_interquartile_range(sorted->values, sorted->count) /
                                           quartile_deviations;
    if (!slice->prevails)
        slice->common = mean_of(sorted->values, sorted->count);
    else if (edge > 0.0)
        slice->common = (struct pb_estimate){edge, edge, fmax(edge, common->median)};
    slice->slower =
        kind_of_switches(accesses, common->median * (1.0 + PB_ALIKE_SHARE) + 2.0 * PB_ALIKE_CYCLES);
}

/* Reads the slice that a point holds. PB_NO_MEMORY. */
static enum pb_status read_slice(const struct pb_series *series, const struct pb_point *point,
                                 struct slice *slice_out, struct pb_error *err)
{
    struct pb_accesses accesses = pb_point_accesses(series, point);
    struct pb_sample cycles = {NULL, 0, 0}, sorted = {NULL, 0, 0};
    struct slice slice = no_slice;
    enum pb_status status = pb_sample_reserve(&cycles, accesses.count + 1, err);

    for (size_t i = 0; status == PB_OK && i < accesses.count; i++)
        cycles.values[cycles.count++] = pb_access_cycles(&accesses, i);
    if (status == PB_OK)
        status = pb_sample_sorted(&cycles, &sorted, err);
    if (status == PB_OK && sorted.count > 0)
        measure(&accesses, &sorted, &slice);
    slice.stride_bytes = (double)point->stride_bytes;
    pb_sample_clear(&sorted);
    pb_sample_clear(&cycles);
    *slice_out = slice;
    return status;
}

/* ---- whether a slice shows its pattern; pattern: 0 for P1, 1 for P2, … ---- */

/* Slots of the chase lie in lines so far apart. */
static const double line_bytes = 128.0;

static const char lacking[] = "its loads miss the TLB";
static const char untranslated_first[] = "its pages do not all miss the first TLB";
static const char untranslated_second[] = "its pages do not all miss the second TLB";
static const char reaching_beyond[] = "its pages do not fit in the second TLB";
static const char longer_than_misses[] = "its loads take longer than misses of both TLBs cost";

/* Does every page of the slice miss the level? */
static bool all_miss(const struct pb_case *at, const struct slice *slice, const char *memory)
{
    return pb_tlb_all_miss(at->parameters, memory, slice->stride_bytes, slice->accesses);
}

/* Do the lines of the slice fit in the cache, as far as its size is known? */
static bool lines_fit(const struct pb_case *at, const struct slice *slice)
{
    double size = pb_parameters_number(at->parameters, at->inference->memory, "size_bytes");

    return isnan(size) || (double)slice->accesses * line_bytes <= size;
}

/* Does a slice take longer than so many cycles by what misses of one TLB cost, or of both? */
static bool pays(const struct pb_case *at, const struct slice *slice, double cycles)
{
    double first = pb_parameters_number(at->parameters, "tlb_l1", "penalty_cycles");
    double second = pb_parameters_number(at->parameters, "tlb_l2", "penalty_cycles");
    const double penalties[] = {first, second, first + second};

    for (size_t i = 0; i < sizeof(penalties) / sizeof(penalties[0]); i++)
        if (penalties[i] > 2.0 * PB_ALIKE_CYCLES &&
            fabs(slice->common.value - cycles - penalties[i]) <= PB_ALIKE_CYCLES)
            return true;
    return false;
}

/* What loads take elsewhere that ask for nothing new; NULL: not known. */
static const struct pb_parameter *translated_latency(const struct pb_case *at, size_t pattern)
{
    const struct pb_parameter *found =
        pattern == 0 ? pb_parameters_find(at->parameters, at->inference->memory, "latency_cycles")
                     : pb_parameters_find(at->parameters, "l2", "miss_latency_cycles");

    return found == NULL || found->kind != PB_VALUE_NUMBER ? NULL : found;
}

/*
 * Do loads that should ask for nothing new pay for translation, or may they? They do where they
 * take as much more than hits, or misses, elsewhere; and where hits of L2 are known and misses are
 * not, since those lack their translations; see infer_latency.c.
 */
static bool lacks_translations(const struct pb_case *at, const struct slice *slice, size_t pattern)
{
    double l2 = pb_parameters_number(at->parameters, "l2", "latency_cycles");
    double miss = pb_parameters_number(at->parameters, "l2", "miss_latency_cycles");
    const struct pb_parameter *own = translated_latency(at, pattern);

    return (isfinite(l2) && isnan(miss)) ||
           (slice->prevails && own != NULL && pays(at, slice, own->numbers[0].value));
}

/* Hits without TLB misses: P1, or else what other tests find hits to take. NaN: not known. */
struct base {
    double low, high; /* their latency lies between */
    double scatter, accesses;
};

static struct base base_of(const struct pb_case *at, const struct slice *hits)
{
    const struct pb_parameter *own = translated_latency(at, 0);

    if (isfinite(hits->common.value))
        return (struct base){hits->common.value, hits->common.value, hits->scatter,
                             (double)hits->accesses};
    if (own == NULL)
        return (struct base){NAN, NAN, NAN, NAN};
    return (struct base){own->numbers[0].low, own->numbers[0].high,
                         own->numbers[0].high - own->numbers[0].low, INFINITY};
}

/* What misses of the first TLB cost, or of both. */
static struct pb_estimate cost_of_misses(const struct pb_case *at, size_t pattern)
{
    static const char *const levels[] = {"tlb_l1", "tlb_l2", "tlb_l3"};
    struct pb_estimate sum = {0.0, 0.0, 0.0};

    for (size_t i = 0; i < pattern; i++) {
        const struct pb_parameter *penalty =
            pb_parameters_find(at->parameters, levels[i], "penalty_cycles");
        double behind = pb_parameters_number(at->parameters, levels[i + 1], "penalty_cycles");

        if (penalty == NULL || penalty->kind != PB_VALUE_NUMBER ||
            penalty->numbers[0].high >= penalty->numbers[0].value + behind)
            return PB_ESTIMATE_NONE; /* the level behind may be a part of it */
        sum.value += penalty->numbers[0].value;
        sum.low += penalty->numbers[0].low;
        sum.high += penalty->numbers[0].high;
    }
    return sum;
}

/* Does the slice lie as much later than hits as the misses of P2 or P3 cost? */
static const char *misplaced(const struct pb_case *at, const struct slice *hits,
                             const struct slice *slice, size_t pattern)
{
    struct base base = base_of(at, hits);
    struct pb_estimate cost = cost_of_misses(at, pattern);
    double value = slice->common.value;
    double by_chance =
        2.0 * PB_ALIKE_CYCLES +
        PB_SIGMAS * base.scatter * sqrt(1.0 / (double)slice->accesses + 1.0 / base.accesses);

    if (isnan(base.low) || isnan(cost.value))
        return "what hits or misses of the TLBs take is not known";
    if (strcmp(at->inference->memory, "l1") == 0 && value >= base.low - by_chance &&
        value <= base.high + by_chance)
        return NULL; /* it needs no TLB */
    if (value < base.low + cost.low - by_chance)
        return pattern == 1 ? untranslated_first : untranslated_second;
    if (value > base.high + cost.high + by_chance)
        return pattern == 1 ? reaching_beyond : longer_than_misses;
    return NULL;
}

/* By what is known of the levels: may so many pages, so far apart, show P2, P3 or P5? */
static const char *unsuitable(const struct pb_case *at, const struct slice *slice, size_t pattern)
{
    static const char *const levels[] = {"tlb_l1", "tlb_l2"};
    double entries[2], spans[2];

    for (size_t i = 0; i < 2; i++) {
        entries[i] = pb_parameters_number(at->parameters, levels[i], "entry_count");
        spans[i] = pb_parameters_number(at->parameters, levels[i], "entry_coverage_bytes");
    }
    if (isnan(entries[0]) || isnan(spans[0]))
        return "the first TLB is not known";
    if (!all_miss(at, slice, levels[0]))
        return untranslated_first;
    if (pattern == 1) /* sets may be left out */
        return (double)slice->accesses > entries[1] || slice->stride_bytes > spans[1]
                   ? reaching_beyond
                   : NULL;
    if (isnan(entries[1]) || isnan(spans[1]))
        return "the second TLB is not known";
    return all_miss(at, slice, levels[1]) ? NULL : untranslated_second;
}

/*
 * Why a slice shows no such pattern; NULL: it does. hits: the slice of P1, if there is one.
 *
 * Loads that hit the cache and miss TLBs are P1's loads, each longer by the same: a slice of them
 * lies later than P1 by what the misses cost. One that lies elsewhere mixes translated loads and
 * others, however many pages it has: victims may be random. Loads of L1's data may need no TLB.
 */
static const char *find_fault(const struct pb_case *at, const struct slice *hits,
                              const struct slice *slice, size_t pattern)
{
    const char *fault;

    if (slice->accesses == 0)
        return "not recorded";
    if (pattern < 3 && !lines_fit(at, slice))
        return "its lines do not fit in the cache";
    if (pattern == 0 || pattern == 3)
        return lacks_translations(at, slice, pattern) ? lacking : NULL;
    fault = unsuitable(at, slice, pattern);
    return fault != NULL || pattern > 2 ? fault : misplaced(at, hits, slice, pattern);
}

/* What a load of this pattern takes at most when the cache has its line; NaN: nobody knows. */
static double most_of_hits(const struct pb_case *at, size_t pattern)
{
    const char *memory = at->inference->memory;
    double hit = pb_parameters_number(at->parameters, memory, "latency_cycles");
    double miss = pb_parameters_number(at->parameters, memory, "miss_latency_cycles");
    double first = pb_parameters_number(at->parameters, "tlb_l1", "penalty_cycles");
    double second = pb_parameters_number(at->parameters, "tlb_l2", "penalty_cycles");
    double most = (hit + miss) / 2.0;

    if (pattern >= 1 && isfinite(first))
        most += first;
    if (pattern >= 2 && isfinite(second))
        most += second;
    return pattern <= 2 ? most : NAN;
}

/*
 * Why a slice that shows its pattern tells no latency of it, as the mean of several kinds: hits and
 * misses of the cache, or of translation, where it is longer than any that asks for nothing new.
 * NULL: it does.
 */
static const char *find_mixture(const struct pb_case *at, const struct slice *slice, size_t pattern,
                                double most)
{
    const struct pb_parameter *own = translated_latency(at, pattern);

    if (slice->low > most || (slice->prevails && slice->common.value > most))
        return "its lines miss the cache";
    if (slice->prevails)
        return NULL;
    if (slice->low < most && slice->high > most)
        return "it mixes hits and misses of the cache";
    if ((pattern == 0 || pattern == 3) && own != NULL &&
        slice->common.value > own->numbers[0].high + 2.0 * PB_ALIKE_CYCLES)
        return lacking;
    return NULL;
}

/*
 * The slice of a pattern that shows it, by the distance and the number of its pages: the first one
 * in which a kind prevails, of hits where hits are asked for, or else the first one. Where none
 * shows it, *fault_out says why the first one does not.
 */
static enum pb_status choose_slice(const struct pb_case *at, const char *path, const char *phase,
                                   size_t pattern, const struct slice *hits,
                                   struct slice *slice_out, const char **fault_out,
                                   struct pb_error *err)
{
    const struct pb_series *series = &at->recordings[0].series;
    struct pb_pick pick = {path, "traced", phase};
    const struct pb_point *point;
    double most = most_of_hits(at, pattern);
    bool shown = false;

    *slice_out = no_slice;
    *fault_out = NULL;
    for (size_t next = 0; (point = pb_point_next(series, &pick, &next)) != NULL;) {
        struct slice slice;
        enum pb_status status = read_slice(series, point, &slice, err);
        const char *fault = status == PB_OK ? find_fault(at, hits, &slice, pattern) : NULL;

        if (status != PB_OK)
            return status;
        if (fault == NULL && slice.prevails && !(slice.common.value > most)) {
            *slice_out = slice;
            *fault_out = NULL;
            return PB_OK;
        }
        if (!shown && (fault == NULL || *fault_out == NULL)) {
            *slice_out = slice;
            *fault_out = fault == NULL ? find_mixture(at, &slice, pattern, most) : fault;
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
    struct slice slice, first = no_slice;
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
