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

/* Of loads in order by such steps one in 16 is the first of a page of 4 KiB; none is smaller. */
enum { IN_ORDER_BYTES = 256 };

static const char of_loads_in_order[] = "cold loads in order";

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
    double hit_least;         /* what L2 hits with it take at least */
    double cost;              /* of the translation that most of them lack */
    struct pb_latency_estimate in_order; /* cold loads that find it; no cycles: none were seen */
};

/* What most pairs tell that show a translation; others may be of lines that a small L2 has lost. */
static double cost_of(const struct pb_sample *differences)
{
    struct pb_mode modes[KINDS_MAX];
    size_t from, end, kinds;

    pb_sorted_range(differences->values, differences->count, midhinge(differences) / 2.0, INFINITY,
                    &from, &end);
    kinds = pb_modes_find(differences->values + from, end - from, KINDS_MAX, modes);
    return kinds > 0 ? pb_modes_largest(modes, kinds)->median : 0.0;
}

/*
 * How many of the near loads find their translation: of two loads in a place the second one surely
 * does, and where the first one takes longer, it does not. 1 where nobody looked. They are hits of
 * L2: the rows of DRAM are not in it.
 */
static enum pb_status find_translation(const struct pb_series *series,
                                       struct translation *translation_out, struct pb_error *err)
{
    static const struct pb_pick pages = {NULL, "traced", "pages"};
    struct pb_sample cycles = {NULL, 0, 0}, sorted = cycles, first = cycles, differences = cycles;
    enum pb_status status = pb_trace_collect(series, &pages, &cycles, err);

    if (status == PB_OK)
        status = pb_sample_sorted(&cycles, &sorted, err);
    if (status == PB_OK)
        status = sort_pairs(&cycles, false, &first, err);
    if (status == PB_OK)
        status = sort_pairs(&cycles, true, &differences, err);
    *translation_out = (struct translation){.warm = 1.0, .untranslated_most = NAN};
    if (status == PB_OK && differences.count > 0) {
        translation_out->warm = share_warm(&differences);
        translation_out->untranslated_most =
            pb_quantile(first.values, first.count, 1.0 - PB_EXCEPTION);
        translation_out->hit_least = pb_quantile(sorted.values, sorted.count, PB_EXCEPTION);
        translation_out->cost = cost_of(&differences);
    }
    pb_sample_clear(&differences);
    pb_sample_clear(&first);
    pb_sample_clear(&sorted);
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
 * Cold loads in order, few of which are the first of their page. Where something runs ahead, they
 * are hits, or some wait for less than DRAM. NaN: none take longer than hits.
 */
static enum pb_status measure_in_order(const struct pb_series *series,
                                       struct translation *translation, struct pb_error *err)
{
    static const struct pb_pick pick = {"global_cg", "traced", "strided"};
    double hit_most = (1.0 + PB_NEXT_LEVEL_ALIKE) * translation->hit_least;
    struct pb_sample cycles = {NULL, 0, 0};
    const struct pb_point *point;
    enum pb_status status = PB_OK;

    for (size_t at = 0; status == PB_OK && (point = pb_point_next(series, &pick, &at)) != NULL;) {
        struct pb_accesses chase = pb_point_accesses(series, point);

        for (size_t i = 0;
             point->stride_bytes == IN_ORDER_BYTES && i < chase.count && status == PB_OK; i++)
            status = pb_sample_add(&cycles, pb_access_cycles(&chase, i), err);
    }
    if (status == PB_OK && cycles.count > 0)
        status = pb_latency_estimate(&cycles, NULL, &translation->in_order, err);
    if (cycles.count == 0 || !(translation->in_order.cycles.low > hit_most))
        translation->in_order.cycles = PB_ESTIMATE_NONE;
    pb_sample_clear(&cycles);
    return status;
}

/*
 * Is there a kind of near loads that takes what these do and a translation? *band_out: what it
 * tells of these.
 */
static bool are_seen_untranslated(const struct pb_latency_estimate *loads,
                                  const struct pb_sample *near,
                                  const struct translation *translation, struct pb_band *band_out)
{
    struct pb_mode modes[KINDS_MAX];
    double cost = translation->cost;
    size_t kinds = pb_modes_find(near->values, near->count, KINDS_MAX, modes);

    for (size_t i = 0; i < kinds; i++)
        if (pb_band_holds(modes[i].band, loads->cycles.low + cost)) {
            *band_out = (struct pb_band){modes[i].band.low - cost, modes[i].band.high - cost};
            return true;
        }
    return false;
}

/*
 * Of loads that are surely translated: those of a kind that loads in order are of as well, or whose
 * loads without their translation are another kind of the near ones. The fastest kind of these may
 * lack what the first level has (rare translated ones hide in it), and where the TLB is too small
 * for any near load, all do. Loads in order are one SM's: the interval is that of all.
 */
static enum pb_status choose_translated(struct pb_sample *cycles, const struct pb_sample *near,
                                        const struct translation *translation,
                                        struct pb_latency_estimate *loads_out,
                                        const char **what_out, struct pb_error *err)
{
    enum pb_status status = PB_OK;
    struct pb_band band;
    size_t before = 0;

    *what_out = NULL;
    while (status == PB_OK && *what_out == NULL && cycles->count != before) {
        before = cycles->count;
        status = keep_lowest(cycles, err);
        if (status == PB_OK)
            status = pb_latency_estimate(cycles, NULL, loads_out, err);
        if (status == PB_OK && (pb_band_holds(loads_out->band, translation->in_order.cycles.low) ||
                                are_seen_untranslated(loads_out, near, translation, &band)))
            *what_out = "cold loads, those translated";
    }
    if (*what_out != NULL) /* what a level within the noise costs may be in all of them */
        loads_out->cycles.low = fmin(loads_out->cycles.low, translation->in_order.cycles.low);
    if (status == PB_OK && *what_out == NULL &&
        are_seen_untranslated(&translation->in_order, near, translation, &band)) {
        *loads_out = translation->in_order;
        loads_out->cycles.low = fmin(loads_out->cycles.low, band.low);
        loads_out->cycles.high = fmax(loads_out->cycles.high, band.high);
        *what_out = of_loads_in_order;
    }
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

/* *what_out: of what loads, all of them translated; NULL: loads_out is of all near loads. */
static enum pb_status measure_translated(const struct pb_case *at, struct translation *translation,
                                         struct pb_latency_estimate *loads_out,
                                         const char **what_out, struct pb_error *err)
{
    static const struct pb_pick pick = {NULL, "traced", "near"};
    const struct pb_series *series = &at->recordings[0].series;
    struct pb_sample cycles = {NULL, 0, 0}, near = {NULL, 0, 0};
    enum pb_status status = pb_trace_collect(series, &pick, &cycles, err);

    if (status == PB_OK)
        status = pb_sample_sorted(&cycles, &near, err);
    if (status == PB_OK)
        status = measure_in_order(&at->recordings[1].series, translation, err);
    if (status == PB_OK)
        status = choose_translated(&cycles, &near, translation, loads_out, what_out, err);
    if (status == PB_OK && *what_out == NULL)
        status = measure(series, NULL, "near", loads_out, err);
    pb_sample_clear(&near);
    pb_sample_clear(&cycles);
    return status;
}

enum pb_status pb_infer_dram_latency(const struct pb_case *at, struct pb_error *err)
{
    double sm_mhz = pb_parameters_number(at->parameters, "clock", "sm_mhz");
    const struct pb_parameter *l2 = pb_parameters_find(at->parameters, "l2", "latency_cycles");
    const struct pb_series *series = &at->recordings[0].series;
    const char *what = "cold loads with the TLB warm";
    struct pb_latency_estimate loads;
    struct translation translation;
    enum pb_status status = find_translation(series, &translation, err);

    /* a small L2 has not all that was loaded twice */
    if (l2 != NULL && l2->kind == PB_VALUE_NUMBER)
        translation.hit_least = fmin(translation.hit_least, l2->numbers[0].high);
    if (status == PB_OK)
        withdraw_ambiguous_size(at, &translation);
    if (status == PB_OK)
        status = translation.warm == 1.0 ? measure(series, NULL, "near", &loads, err)
                                         : measure_translated(at, &translation, &loads, &what, err);
    if (status != PB_OK)
        return status;
    if (l2 != NULL && l2->kind == PB_VALUE_NUMBER && loads.cycles.value <= l2->numbers[0].high)
        return pb_fail(
            err, PB_NOT_FOUND,
            "inconsistent: loads took %.0f cycles, no more than L2 hits: the lines were cached",
            loads.cycles.value);
    if (what == NULL) {
        state_bound(at, &loads, &translation);
        pb_parameter_set_none(pb_case_answer(at, "latency_mode_cycles"),
                              "depends on latency_cycles, which is undetermined");
        return PB_OK;
    }
    pb_latency_state(&loads, sm_mhz, what, pb_case_answer(at, "latency_cycles"),
                     pb_case_answer(at, "latency_ns"));
    pb_latency_state_modes(&loads, what, pb_case_answer(at, "latency_mode_cycles"));
    for (size_t i = 0; what == of_loads_in_order && i < PB_INFERENCE_ANSWERS_MAX &&
                       at->inference->answers[i].name != NULL;
         i++)
        pb_parameter_point_to(pb_case_answer(at, at->inference->answers[i].name), "prefetch");
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
