/* What the accesses of one slice take; see pattern_slice.h. */
#include "analysis/tlb/pattern_slice.h"

#include "analysis/constants.h"
#include "analysis/statistics/modes.h"
#include "analysis/trace.h"

enum { MODES_MAX = 16 };

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
                    struct pb_pattern_slice *slice)
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

enum pb_status pb_pattern_read(const struct pb_series *series, const struct pb_point *point,
                               struct pb_pattern_slice *slice_out, struct pb_error *err)
{
    struct pb_accesses accesses = pb_point_accesses(series, point);
    struct pb_sample cycles = {NULL, 0, 0}, sorted = {NULL, 0, 0};
    struct pb_pattern_slice slice = PB_PATTERN_SLICE_NONE;
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
