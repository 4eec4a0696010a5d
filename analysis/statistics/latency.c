/* One latency from many accesses, and its words for people. */
#include "analysis/statistics/latency.h"

#include <gsl/gsl_statistics.h>
#include <math.h>
#include <stdio.h>

#include "analysis/statistics/resample.h"

enum { BLOCKS = 8, BLOCK_MIN = 8, MODES_MAX = 64 };

/* Accesses within this many cycles, by their quartiles, are sharp. */
static const double sharp_cycles = 2.0;

/* A kind with this share of the accesses prevails. */
static const double prevailing_share = 0.75;

/* Relative tolerance where they are not. */
static const double spread_tolerance = 0.02;

static double tolerance_of(const struct pb_latency_estimate *latency)
{
    return latency->rule == PB_LATENCY_EDGE ? 1.0
                                            : fmax(1.0, spread_tolerance * latency->cycles.value);
}

/* The accesses of the kind, still in order. */
static enum pb_status select_kind(const struct pb_sample *cycles, struct pb_band band,
                                  struct pb_sample *kind_out, struct pb_error *err)
{
    enum pb_status status = pb_sample_reserve(kind_out, cycles->count, err);

    if (status != PB_OK)
        return status;
    for (size_t i = 0; i < cycles->count; i++)
        if (pb_band_holds(band, cycles->values[i]))
            kind_out->values[kind_out->count++] = cycles->values[i];
    return PB_OK;
}

/* The latency of sorted accesses by the rule. */
static double apply_rule(enum pb_latency_rule rule, const struct pb_sample *sorted)
{
    if (rule == PB_LATENCY_MEAN)
        return gsl_stats_mean(sorted->values, 1, sorted->count);
    return pb_quantile(sorted->values, sorted->count, rule == PB_LATENCY_EDGE ? 0.01 : 0.5);
}

/* Every block of the trace says whether it alone would give this latency. */
static enum pb_status ask_blocks(const struct pb_sample *kind, struct pb_latency_estimate *latency,
                                 struct pb_error *err)
{
    size_t length = kind->count / BLOCKS;

    for (size_t i = 0; length >= BLOCK_MIN && i < BLOCKS; i++) {
        struct pb_sample block = {kind->values + i * length, length, length}, sorted;
        enum pb_status status = pb_sample_sorted(&block, &sorted, err);
        double own;

        if (status != PB_OK)
            return status;
        own = apply_rule(latency->rule, &sorted);
        pb_votes_add(&latency->votes, fabs(own - latency->cycles.value) <= tolerance_of(latency));
        pb_sample_clear(&sorted);
    }
    return PB_OK;
}

/* One kind prevails: its edge where it is sharp, else its median. */
static enum pb_status measure_one(const struct pb_sample *kind, const struct pb_sample *sorted,
                                  struct pb_latency_estimate *latency, struct pb_error *err)
{
    struct pb_estimate *cycles = &latency->cycles;
    double median = pb_quantile(sorted->values, sorted->count, 0.5);
    double quartiles = pb_interquartile_range(sorted->values, sorted->count);
    enum pb_status status;

    latency->rule = quartiles <= sharp_cycles ? PB_LATENCY_EDGE : PB_LATENCY_MEDIAN;
    cycles->value = apply_rule(latency->rule, sorted);
    cycles->low = cycles->value;
    cycles->high = median;
    if (latency->rule == PB_LATENCY_EDGE)
        return PB_OK;
    status = pb_bootstrap_median(kind->values, kind->count, 0.95, &cycles->low, &cycles->high, err);
    cycles->low = fmin(cycles->low, median);
    cycles->high = fmax(cycles->high, median);
    return status;
}

/* None does: the mean, between the lowest kind and the highest. */
static void measure_several(const struct pb_mode *modes, const struct pb_sample *sorted,
                            struct pb_latency_estimate *latency)
{
    double mean;

    latency->rule = PB_LATENCY_MEAN;
    mean = apply_rule(latency->rule, sorted);
    latency->cycles = (struct pb_estimate){mean, mean, mean};
    for (size_t i = 0; i < latency->modes; i++) {
        if (!pb_band_holds(latency->band, modes[i].median))
            continue;
        latency->cycles.low = fmin(latency->cycles.low, modes[i].median);
        latency->cycles.high = fmax(latency->cycles.high, modes[i].median);
    }
}

static enum pb_status measure_kind(const struct pb_sample *kind, const struct pb_mode *modes,
                                   struct pb_latency_estimate *latency, struct pb_error *err)
{
    struct pb_sample sorted;
    enum pb_status status = pb_sample_sorted(kind, &sorted, err);

    if (status != PB_OK)
        return status;
    latency->accesses = sorted.count;
    if (latency->largest_share < prevailing_share)
        measure_several(modes, &sorted, latency);
    else
        status = measure_one(kind, &sorted, latency, err);
    pb_sample_clear(&sorted);
    return status == PB_OK ? ask_blocks(kind, latency, err) : status;
}

/* From the accesses themselves: find the kind, then measure it. */
static enum pb_status measure_trace(const struct pb_sample *cycles,
                                    struct pb_latency_estimate *latency, struct pb_error *err)
{
    struct pb_sample sorted = {NULL, 0, 0}, kind = {NULL, 0, 0};
    struct pb_mode modes[MODES_MAX];
    const struct pb_mode *largest;
    enum pb_status status = pb_sample_sorted(cycles, &sorted, err);

    if (status != PB_OK)
        return status;
    latency->modes = pb_modes_find(sorted.values, sorted.count, MODES_MAX, modes);
    for (size_t i = 0; i < latency->modes && i < PB_LATENCY_MODES_LISTED; i++)
        latency->mode_cycles[i] = modes[i].median;
    largest = pb_modes_largest(modes, latency->modes);
    latency->largest_share = (double)largest->count / (double)sorted.count;
    latency->band = latency->largest_share < prevailing_share
                        ? pb_modes_bulk(modes, latency->modes, 0.9)
                        : largest->band;
    status = select_kind(cycles, latency->band, &kind, err);
    if (status == PB_OK)
        status = measure_kind(&kind, modes, latency, err);
    pb_sample_clear(&kind);
    pb_sample_clear(&sorted);
    return status;
}

/* Passes have no stamps inside: an independent look at the same latency. */
static enum pb_status compare_passes(const struct pb_sample *passes,
                                     struct pb_latency_estimate *latency, struct pb_error *err)
{
    struct pb_sample sorted;
    enum pb_status status = pb_sample_sorted(passes, &sorted, err);
    double pass;

    if (status != PB_OK)
        return status;
    pass = latency->pass_cycles = pb_quantile(sorted.values, sorted.count, 0.5);
    if (latency->accesses == 0) {
        latency->rule = PB_LATENCY_PASSES;
        latency->cycles = (struct pb_estimate){pass, pb_quantile(sorted.values, sorted.count, 0.0),
                                               pb_quantile(sorted.values, sorted.count, 1.0)};
        latency->band = (struct pb_band){latency->cycles.low - 1.0, latency->cycles.high + 1.0};
        pb_votes_add(&latency->votes, true);
    } else {
        latency->passes_agree = fabs(pass - latency->cycles.value) <= tolerance_of(latency);
        latency->cycles.low = fmin(latency->cycles.low, pass);
        latency->cycles.high = fmax(latency->cycles.high, pass);
        if (latency->passes_agree)
            pb_votes_add(&latency->votes, true);
        else
            pb_votes_contradict(&latency->votes);
    }
    pb_sample_clear(&sorted);
    return PB_OK;
}

enum pb_status pb_latency_estimate(const struct pb_sample *cycles, const struct pb_sample *passes,
                                   struct pb_latency_estimate *latency_out, struct pb_error *err)
{
    struct pb_latency_estimate latency = {
        .cycles = PB_ESTIMATE_NONE, .pass_cycles = NAN, .passes_agree = true};
    size_t timed = passes != NULL ? passes->count : 0;
    enum pb_status status = PB_OK;

    if (cycles->count == 0 && timed == 0)
        return pb_fail(err, PB_NOT_FOUND, "not recorded: no access");
    if (cycles->count > 0)
        status = measure_trace(cycles, &latency, err);
    if (status == PB_OK && timed > 0)
        status = compare_passes(passes, &latency, err);
    if (status == PB_OK)
        *latency_out = latency;
    return status;
}

/* "1 mode", "3 modes (198, 204, 257)" */
static void describe_modes(const struct pb_latency_estimate *latency, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%zu mode%s", latency->modes,
                                   latency->modes == 1 ? "" : "s (");

    for (size_t i = 0; latency->modes > 1 && i < latency->modes && used < size; i++) {
        bool last = i + 1 == latency->modes;

        if (i == PB_LATENCY_MODES_LISTED) {
            snprintf(text + used, size - used, "...)");
            return;
        }
        used += (size_t)snprintf(text + used, size - used, "%g%s", latency->mode_cycles[i],
                                 last ? ")" : ", ");
    }
}

static void describe(const struct pb_latency_estimate *latency, const char *what, char *text,
                     size_t size)
{
    static const char *const rules[] = {[PB_LATENCY_EDGE] = "lower edge",
                                        [PB_LATENCY_MEDIAN] = "median",
                                        [PB_LATENCY_MEAN] = "mean",
                                        [PB_LATENCY_PASSES] = "average of timed passes"};
    char passes[48] = "", modes[64];

    if (latency->rule == PB_LATENCY_PASSES) {
        snprintf(text, size, "%s over %s (no trace)", rules[latency->rule], what);
        return;
    }
    if (!isnan(latency->pass_cycles))
        snprintf(passes, sizeof(passes), "; timed passes %s: %.2f",
                 latency->passes_agree ? "agree" : "DISAGREE", latency->pass_cycles);
    describe_modes(latency, modes, sizeof(modes));
    snprintf(text, size, "%s of %zu %s less stamp overhead, %s%s", rules[latency->rule],
             latency->accesses, what, modes, passes);
}

void pb_latency_state(const struct pb_latency_estimate *latency, double sm_mhz, const char *what,
                      struct pb_parameter *cycles, struct pb_parameter *ns)
{
    double confidence = pb_votes_confidence(&latency->votes), to_ns = 1e3 / sm_mhz;
    struct pb_estimate e = latency->cycles;
    char how[PB_MESSAGE_LENGTH];

    describe(latency, what, how, sizeof(how));
    if (cycles != NULL && e.value > 0.0)
        pb_parameter_set_number(cycles, e, confidence, "%s", how);
    else if (cycles != NULL)
        pb_parameter_set_none(cycles,
                              "inconsistent: invalid latency: %s took %.1f cycles less overhead",
                              what, e.value);
    if (ns == NULL)
        return;
    if (!(sm_mhz > 0.0) || !(e.value > 0.0)) {
        pb_parameter_set_none(ns, sm_mhz > 0.0 ? "depends on latency_cycles, which is undetermined"
                                               : "depends on clock.sm_mhz, which is undetermined");
        return;
    }
    e = (struct pb_estimate){e.value * to_ns, e.low * to_ns, e.high * to_ns};
    pb_parameter_set_number(ns, e, confidence, "%s, at %.1f MHz", how, sm_mhz);
}

void pb_latency_state_modes(const struct pb_latency_estimate *latency, const char *what,
                            struct pb_parameter *modes)
{
    struct pb_estimate list[PB_LATENCY_MODES_LISTED];

    if (latency->rule != PB_LATENCY_MEAN) {
        pb_parameter_set_none(modes, "not applicable: of %s one kind prevails, %.0f%%", what,
                              100.0 * latency->largest_share);
        return;
    }
    if (latency->modes > PB_LATENCY_MODES_LISTED) {
        pb_parameter_set_none(modes, "ambiguous: %s are of %zu kinds", what, latency->modes);
        return;
    }
    for (size_t i = 0; i < latency->modes; i++)
        list[i] = (struct pb_estimate){latency->mode_cycles[i], latency->mode_cycles[i],
                                       latency->mode_cycles[i]};
    pb_parameter_set_list(modes, list, latency->modes, pb_votes_confidence(&latency->votes),
                          "medians of the kinds of %zu %s; the largest kind has %.0f%%",
                          latency->accesses, what, 100.0 * latency->largest_share);
}
