/* What the chases of all SMs tell of one latency; see sm_latencies.h. */
#include "analysis/cache/sm_latencies.h"

#include <gsl/gsl_statistics.h>
#include <math.h>

#include "analysis/confidence.h"
#include "analysis/constants.h"

void pb_sm_latencies_add(struct pb_sm_latencies *latencies, size_t block, double cycles)
{
    if (!isfinite(cycles))
        return;
    latencies->sums[block] += cycles;
    latencies->counts[block]++;
}

double pb_sm_latencies_confidence(const struct pb_sm_latencies *latencies, double less,
                                  double cycles)
{
    double most = fmax(PB_SMS_ALIKE_CYCLES, PB_ALIKE_SHARE * cycles);
    struct pb_votes votes = {0, 0};

    for (size_t block = 0; block < PB_SM_LATENCIES_BLOCKS; block++)
        if (latencies->counts[block] > 0.0)
            pb_votes_add(&votes, fabs(latencies->sums[block] / latencies->counts[block] - less -
                                      cycles) <= most);
    return pb_votes_confidence(&votes);
}

/* How many of the sorted loads come from the near side. */
static size_t count_near(const struct pb_sample *sorted)
{
    double most = PB_SMS_NEAR * pb_quantile(sorted->values, sorted->count, 0.25);
    size_t first, end;

    pb_sorted_range(sorted->values, sorted->count, -INFINITY, most, &first, &end);
    return end;
}

/* The mean of the middle half of every `step`-th access from `first` on; NaN of too few. */
static enum pb_status middle_mean(const struct pb_accesses *accesses, size_t first, size_t step,
                                  bool near, double *mean_out, struct pb_error *err)
{
    struct pb_sample cycles = {NULL, 0, 0}, sorted = {NULL, 0, 0};
    enum pb_status status = pb_sample_reserve(&cycles, accesses->count + 1, err);
    size_t count = 0;

    for (size_t i = first; status == PB_OK && i < accesses->count; i += step)
        cycles.values[cycles.count++] = pb_access_cycles(accesses, i);
    if (status == PB_OK)
        status = pb_sample_sorted(&cycles, &sorted, err);
    if (status == PB_OK)
        count = near ? count_near(&sorted) : sorted.count;
    *mean_out = count < PB_FEW
                    ? NAN
                    : gsl_stats_mean(sorted.values + count / 4, 1, count - 2 * (count / 4));
    pb_sample_clear(&sorted);
    pb_sample_clear(&cycles);
    return status;
}

bool pb_sm_latencies_differs(const struct pb_sm_latencies *latencies)
{
    double low, high;

    if (latencies->sms.count < PB_SM_LATENCIES_SMS_MIN)
        return false;
    gsl_stats_minmax(&low, &high, latencies->sms.values, 1, latencies->sms.count);
    return high - low > PB_ALIKE_SHARE * low;
}

/*
 * What one access, or load pair, in `step` from the block-th on tells: its latency, or what the
 * first of a load pair takes more.
 */
static enum pb_status read_accesses(const struct pb_accesses *chase, enum pb_measure measure,
                                    size_t block, size_t step, double *cycles_out,
                                    struct pb_error *err)
{
    size_t width = measure == PB_LOAD_PAIRS ? 2 : 1;
    double second = 0.0;
    enum pb_status status =
        middle_mean(chase, block * width, step * width, measure == PB_NEAR_LOADS, cycles_out, err);

    if (status == PB_OK && measure == PB_LOAD_PAIRS)
        status = middle_mean(chase, block * width + 1, step * width, false, &second, err);
    *cycles_out -= second;
    return status;
}

/* One chase: what it tells as a whole, and each block of its accesses alone. */
static enum pb_status read_chase(const struct pb_accesses *chase, enum pb_measure measure,
                                 struct pb_sm_latencies *latencies, struct pb_error *err)
{
    double cycles;
    enum pb_status status = read_accesses(chase, measure, 0, 1, &cycles, err);

    if (status == PB_OK && isfinite(cycles))
        status = pb_sample_add(&latencies->sms, cycles, err);
    for (size_t block = 0; status == PB_OK && block < PB_SM_LATENCIES_BLOCKS; block++) {
        status = read_accesses(chase, measure, block, PB_SM_LATENCIES_BLOCKS, &cycles, err);
        if (status == PB_OK)
            pb_sm_latencies_add(latencies, block, cycles);
    }
    return status;
}

enum pb_status pb_sm_latencies_read(const struct pb_series *series, const char *phase,
                                    enum pb_measure measure, struct pb_sm_latencies *latencies,
                                    struct pb_error *err)
{
    struct pb_pick pick = {NULL, "traced", phase};
    const struct pb_point *point;
    enum pb_status status = PB_OK;

    for (size_t at = 0; status == PB_OK && (point = pb_point_next(series, &pick, &at)) != NULL;) {
        struct pb_accesses chase = pb_point_accesses(series, point);

        status = read_chase(&chase, measure, latencies, err);
    }
    return status;
}
