/*
 * Latencies of memories that no cache hides: DRAM and shared memory.
 *
 * Source: M16 sections 5.2 (P4: TLB hit, cache miss) and 6.2.
 */
#include "analysis/infer.h"

#include <math.h>
#include <stdio.h>

#include "analysis/constants.h"
#include "analysis/statistics/latency.h"
#include "analysis/statistics/modes.h"
#include "analysis/trace.h"

enum { KINDS_MAX = 16 };

/* The latency of the picked traces and passes. PB_NOT_FOUND: there are none. */
static enum pb_status measure(const struct pb_series *series, const char *path, const char *phase,
                              struct pb_latency_estimate *latency_out, struct pb_error *err)
{
    struct pb_pick traces = {path, "traced", phase}, timed = {path, "timed", phase};
    struct pb_sample cycles = {NULL, 0, 0}, passes = {NULL, 0, 0};
    enum pb_status status = pb_trace_collect(series, &traces, &cycles, err);

    if (status == PB_OK)
        status = pb_pass_collect(series, &timed, &passes, err);
    if (status == PB_OK)
        status = pb_latency_estimate(&cycles, &passes, latency_out, err);
    pb_sample_clear(&passes);
    pb_sample_clear(&cycles);
    return status;
}

/* Half of what its quartiles add up to: what a quarter of the loads do does not move it. */
static double midhinge(const struct pb_sample *sorted)
{
    return (pb_quantile(sorted->values, sorted->count, 0.25) +
            pb_quantile(sorted->values, sorted->count, 0.75)) /
           2.0;
}

/* Of loads two by two: the first of each, or what it takes more than the second; sorted. */
static enum pb_status sort_pairs(const struct pb_sample *cycles, bool is_difference,
                                 struct pb_sample *sorted_out, struct pb_error *err)
{
    struct pb_sample pairs = {NULL, 0, 0};
    enum pb_status status = pb_sample_reserve(&pairs, cycles->count + 1, err);

    for (size_t i = 0; status == PB_OK && i + 1 < cycles->count; i += 2)
        pairs.values[pairs.count++] =
            cycles->values[i] - (is_difference ? cycles->values[i + 1] : 0.0);
    if (status == PB_OK)
        status = pb_sample_sorted(&pairs, sorted_out, err);
    pb_sample_clear(&pairs);
    return status;
}

/*
 * The share of pairs whose first load takes no longer than the second; 1 where that may be so of
 * all. Pair by pair: whatever else differs between places, such as lines that a small L2 has lost,
 * both loads of a place share.
 */
static double share_warm(const struct pb_sample *differences)
{
    double error = pb_interquartile_range(differences->values, differences->count) /
                   sqrt((double)differences->count);
    double usual = midhinge(differences);
    size_t from, warm;

    if (usual <= fmax(PB_ALIKE_CYCLES, PB_SIGMAS * error))
        return 1.0;
    pb_sorted_range(differences->values, differences->count, -INFINITY, usual / 2.0, &from, &warm);
    return (double)warm / (double)differences->count;
}

/* What the near loads' translations are known to be. */
struct translation {
    double warm;              /* share of near loads that find it */
    double untranslated_most; /* what L2 hits without it take at most; NaN: nobody looked */
    double cost_most;         /* what a translation costs at most */
};

/*
 * How many of the near loads find their translation: of two loads in a place the second one surely
 * does, and where the first one takes longer, it does not. 1 where nobody looked. They are hits of
 * L2: the rows of DRAM are not in it.
 */
static enum pb_status find_translation(const struct pb_series *series,
                                       struct translation *translation_out, struct pb_error *err)
{
    static const struct pb_pick pages = {NULL, "traced", "pages"};
    struct pb_sample cycles = {NULL, 0, 0}, first = cycles, differences = cycles;
    enum pb_status status = pb_trace_collect(series, &pages, &cycles, err);

    if (status == PB_OK)
        status = sort_pairs(&cycles, false, &first, err);
    if (status == PB_OK)
        status = sort_pairs(&cycles, true, &differences, err);
    *translation_out = (struct translation){1.0, NAN, 0.0};
    if (status == PB_OK && differences.count > 0) {
        translation_out->warm = share_warm(&differences);
        translation_out->untranslated_most =
            pb_quantile(first.values, first.count, 1.0 - PB_EXCEPTION);
        translation_out->cost_most =
            pb_quantile(differences.values, differences.count, 1.0 - PB_EXCEPTION);
    }
    pb_sample_clear(&differences);
    pb_sample_clear(&first);
    pb_sample_clear(&cycles);
    return status;
}

/* Keeps the kind of accesses that takes the least, in their order. */
static enum pb_status keep_lowest(struct pb_sample *cycles, struct pb_error *err)
{
    struct pb_sample sorted = {NULL, 0, 0};
    struct pb_mode modes[KINDS_MAX];
    enum pb_status status = pb_sample_sorted(cycles, &sorted, err);
    size_t kept = 0;

    if (status == PB_OK && pb_modes_find(sorted.values, sorted.count, KINDS_MAX, modes) > 0)
        for (size_t i = 0; i < cycles->count; i++)
            if (pb_band_holds(modes[0].band, cycles->values[i]))
                cycles->values[kept++] = cycles->values[i];
    cycles->count = kept;
    pb_sample_clear(&sorted);
    return status;
}

/*
 * Are some near loads translated and some not? A kind of them that takes more than the fastest one,
 * and no more than a translation costs, is the same load without its translation. Pages smaller
 * than 2 MiB are new to the loads that tell the share, and are not to many of the near ones.
 */
static enum pb_status are_mixed(const struct pb_series *series,
                                const struct translation *translation, bool *mixed_out,
                                struct pb_error *err)
{
    struct pb_latency_estimate near;
    enum pb_status status = PB_OK;

    *mixed_out = translation->warm < 1.0 && translation->warm >= 1.0 - PB_MOST;
    if (translation->warm == 1.0 || *mixed_out)
        return PB_OK;
    status = measure(series, NULL, "near", &near, err);
    if (status == PB_OK)
        *mixed_out = near.modes > 1 && near.mode_cycles[1] - near.mode_cycles[0] <=
                                           translation->cost_most + PB_ALIKE_CYCLES;
    return status;
}

/* The latency of the near loads; of those whose translation was there, where some lack it. */
static enum pb_status measure_near(const struct pb_series *series, bool is_mixed,
                                   struct pb_latency_estimate *near_out, struct pb_error *err)
{
    static const struct pb_pick near = {NULL, "traced", "near"};
    struct pb_sample cycles = {NULL, 0, 0};
    enum pb_status status;

    if (!is_mixed)
        return measure(series, NULL, "near", near_out, err);
    status = pb_trace_collect(series, &near, &cycles, err);
    if (status == PB_OK)
        status = keep_lowest(&cycles, err);
    if (status == PB_OK)
        status = pb_latency_estimate(&cycles, NULL, near_out, err);
    pb_sample_clear(&cycles);
    return status;
}

/*
 * Where most loads lack their translation, and the misses of L2's sweep take no more than such hits
 * do, its edge may be the TLB's. A size that sets explain is the cache's.
 */
static void withdraw_ambiguous_size(const struct pb_case *at, const struct translation *translation)
{
    static const char *const names[] = {"size_bytes", "full_miss_bytes", "miss_latency_cycles"};
    double misses = pb_parameters_number(at->parameters, "l2", "miss_latency_cycles");

    if (translation->warm >= 1.0 - PB_MOST ||
        !isnan(pb_parameters_number(at->parameters, "l2", "set_count")) ||
        !(misses <= translation->untranslated_most + PB_ALIKE_CYCLES))
        return;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct pb_parameter *answer = pb_parameters_find(at->parameters, "l2", names[i]);

        if (answer != NULL && answer->kind != PB_VALUE_NONE)
            pb_parameter_set_none(answer,
                                  "ambiguous: L2's edge or the TLB's: %.0f%% of L2 hits over as "
                                  "much memory miss the TLB, and take no less than its misses",
                                  100.0 * (1.0 - translation->warm));
    }
}

/*
 * No more than a bound, of no confidence: inferences of translation need one, and
 * infer_over_sms.c, behind them, withdraws it. L2's misses are the same loads.
 */
static void state_bound(const struct pb_case *at, const struct pb_latency_estimate *near,
                        const struct translation *translation)
{
    struct pb_parameter *misses = pb_parameters_find(at->parameters, "l2", "miss_latency_cycles");
    double least = pb_parameters_number(at->parameters, "l2", "latency_cycles");
    double mhz = pb_parameters_number(at->parameters, "clock", "sm_mhz"), most = near->cycles.high;
    struct pb_estimate bound = {most, isnan(least) ? 0.0 : least, most};
    char why[PB_MESSAGE_LENGTH];

    snprintf(why, sizeof(why),
             "%.0f%% of L2 hits over as much memory miss the TLB: pages are smaller than 2 MiB, or "
             "the TLB is small",
             100.0 * (1.0 - translation->warm));
    pb_parameter_set_number(pb_case_answer(at, "latency_cycles"), bound, 0.0, "%s", why);
    pb_parameter_set_number(
        pb_case_answer(at, "latency_ns"),
        (struct pb_estimate){1e3 * most / mhz, 1e3 * bound.low / mhz, 1e3 * most / mhz}, 0.0, "%s",
        why);
    if (misses != NULL)
        pb_parameter_set_none(misses, "%s", why);
}

enum pb_status pb_infer_dram_latency(const struct pb_case *at, struct pb_error *err)
{
    double sm_mhz = pb_parameters_number(at->parameters, "clock", "sm_mhz");
    const struct pb_parameter *l2 = pb_parameters_find(at->parameters, "l2", "latency_cycles");
    const struct pb_series *series = &at->recordings[0].series;
    struct pb_latency_estimate near;
    struct translation translation;
    const char *what;
    bool is_mixed = false;
    enum pb_status status = find_translation(series, &translation, err);

    if (status == PB_OK) {
        withdraw_ambiguous_size(at, &translation);
        status = are_mixed(series, &translation, &is_mixed, err);
    }
    if (status == PB_OK)
        status = measure_near(series, is_mixed, &near, err);
    if (status != PB_OK)
        return status;
    if (l2 != NULL && l2->kind == PB_VALUE_NUMBER && near.cycles.value <= l2->numbers[0].high)
        return pb_fail(
            err, PB_NOT_FOUND,
            "inconsistent: loads took %.0f cycles, no more than L2 hits: the lines were cached",
            near.cycles.value);
    if (translation.warm < 1.0 && !is_mixed) {
        state_bound(at, &near, &translation);
        pb_parameter_set_none(pb_case_answer(at, "latency_mode_cycles"),
                              "depends on latency_cycles, which is undetermined");
        return PB_OK;
    }
    what =
        translation.warm == 1.0 ? "cold loads with the TLB warm" : "cold loads, those translated";
    pb_latency_state(&near, sm_mhz, what, pb_case_answer(at, "latency_cycles"),
                     pb_case_answer(at, "latency_ns"));
    pb_latency_state_modes(&near, what, pb_case_answer(at, "latency_mode_cycles"));
    return PB_OK;
}

enum pb_status pb_infer_shared_latency(const struct pb_case *at, struct pb_error *err)
{
    double sm_mhz = pb_parameters_number(at->parameters, "clock", "sm_mhz");
    struct pb_latency_estimate latency;
    enum pb_status status = measure(&at->recordings[0].series, "shared", NULL, &latency, err);

    if (status != PB_OK)
        return status;
    pb_latency_state(&latency, sm_mhz, "loads without conflict",
                     pb_case_answer(at, "latency_cycles"), pb_case_answer(at, "latency_ns"));
    return PB_OK;
}
