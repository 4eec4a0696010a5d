/*
 * shared.banks, shared.bank_bytes and shared.conflict_cycles: what n-way conflicts cost.
 *
 * conflict_cycles is a list: the latency of a warp's load, stamp overhead subtracted, with 2, 4, 8,
 * 16 and 32 ways; null where no measured stride has that many.
 *
 * Source: M16 section 6.2, table VIII.
 */
#include "analysis/infer.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/statistics/latency.h"
#include "analysis/throughput/banks.h"
#include "analysis/trace.h"

enum { WORD_BYTES = 4 };

static const uint32_t listed_ways[] = {2, 4, 8, 16, 32};
enum { LISTED = sizeof(listed_ways) / sizeof(listed_ways[0]) };

static enum pb_status measure_stride(const struct pb_series *series, const struct pb_point *point,
                                     struct pb_bank_stride *stride_out, struct pb_error *err)
{
    struct pb_series one = *series;
    struct pb_pick any = {NULL, NULL, NULL};
    struct pb_sample cycles, sorted = {NULL, 0, 0};
    struct pb_latency_estimate latency;
    double low, high;
    enum pb_status status;

    one.points = &series->points[point - series->points];
    one.point_count = 1;
    status = pb_trace_collect(&one, &any, &cycles, err);
    if (status != PB_OK)
        return status;
    status = pb_latency_estimate(&cycles, NULL, &latency, err);
    if (status == PB_OK)
        status = pb_sample_sorted(&cycles, &sorted, err);
    if (status == PB_OK) {
        pb_median_interval(sorted.values, sorted.count, 0.95, &low, &high);
        stride_out->words = point->stride_bytes / WORD_BYTES;
        stride_out->cycles = latency.cycles.value;
        stride_out->error_cycles = (high - low) / 2.0;
        stride_out->least_cycles = sorted.values[0];
    }
    pb_sample_clear(&sorted);
    pb_sample_clear(&cycles);
    return status;
}

/* Every stride of 4-byte words. strides_out[point_count]; empty points are left out. */
static enum pb_status read_strides(const struct pb_series *series,
                                   struct pb_bank_stride *strides_out, size_t *count_out,
                                   struct pb_error *err)
{
    struct pb_pick pick = {"shared", "traced", "word4"};
    const struct pb_point *point;
    size_t at = 0, count = 0;

    while ((point = pb_point_next(series, &pick, &at)) != NULL) {
        enum pb_status status = measure_stride(series, point, &strides_out[count], err);

        if (status == PB_OK)
            count++;
        else if (status != PB_NOT_FOUND)
            return status;
    }
    *count_out = count;
    return PB_OK;
}

/*
 * Latency with exactly n ways: median over the strides that have as many, and their range, down to
 * the fastest load. NaN: no stride has as many.
 */
static enum pb_status cost_of_ways(const struct pb_bank_stride *strides, size_t count,
                                   struct pb_bank_shape shape, uint32_t lanes, uint32_t ways,
                                   struct pb_estimate *cost_out, struct pb_error *err)
{
    struct pb_sample cycles = {NULL, 0, 0}, sorted = {NULL, 0, 0};
    double least = NAN;
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < count && status == PB_OK; i++)
        if (pb_banks_ways(shape.banks, shape.bank_bytes, lanes, strides[i].words) == ways) {
            status = pb_sample_add(&cycles, strides[i].cycles, err);
            least = fmin(least, strides[i].least_cycles);
        }
    if (status == PB_OK)
        status = pb_sample_sorted(&cycles, &sorted, err);
    if (status == PB_OK)
        *cost_out = (struct pb_estimate){pb_quantile(sorted.values, sorted.count, 0.5), least,
                                         pb_quantile(sorted.values, sorted.count, 1.0)};
    pb_sample_clear(&sorted);
    pb_sample_clear(&cycles);
    return status;
}

/* The same by the best shape, and the range by all that cannot be told from it. */
static enum pb_status cost_by_shapes(const struct pb_bank_stride *strides, size_t count,
                                     const struct pb_banks *banks, uint32_t lanes, uint32_t ways,
                                     struct pb_estimate *cost_out, struct pb_error *err)
{
    enum pb_status status =
        cost_of_ways(strides, count, banks->alike[0], lanes, ways, cost_out, err);

    for (size_t i = 1; i < banks->alike_count && status == PB_OK && !isnan(cost_out->value); i++) {
        struct pb_estimate cost;

        status = cost_of_ways(strides, count, banks->alike[i], lanes, ways, &cost, err);
        if (status != PB_OK)
            break;
        if (isnan(cost.value)) { /* by that shape no stride has so many */
            *cost_out = cost;
            break;
        }
        cost_out->low = fmin(cost_out->low, cost.low);
        cost_out->high = fmax(cost_out->high, cost.high);
    }
    return status;
}

static enum pb_status state_banks(const struct pb_case *at, const struct pb_bank_stride *strides,
                                  size_t count, const struct pb_banks *banks, uint32_t lanes,
                                  struct pb_error *err)
{
    struct pb_estimate number = {banks->alike[0].banks, INFINITY, 0.0},
                       width = {banks->alike[0].bank_bytes, INFINITY, 0.0}, costs[LISTED];
    struct pb_votes votes = {0, 0};
    double confidence;

    pb_votes_add_many(&votes, banks->explained, count);
    confidence = pb_votes_confidence(&votes);
    for (size_t i = 0; i < banks->alike_count; i++) {
        number.low = fmin(number.low, banks->alike[i].banks);
        number.high = fmax(number.high, banks->alike[i].banks);
        width.low = fmin(width.low, banks->alike[i].bank_bytes);
        width.high = fmax(width.high, banks->alike[i].bank_bytes);
    }
    for (size_t i = 0; i < LISTED; i++) {
        enum pb_status status =
            cost_by_shapes(strides, count, banks, lanes, listed_ways[i], &costs[i], err);

        if (status != PB_OK)
            return status;
    }
    pb_parameter_set_number(pb_case_answer(at, "banks"), number, confidence,
                            "conflicts of %zu of %zu strides as this shape predicts; %zu other "
                            "shapes do as well",
                            banks->explained, count, banks->alike_count - 1);
    pb_parameter_set_number(pb_case_answer(at, "bank_bytes"), width, confidence,
                            "conflicts of %zu of %zu strides as this shape predicts; %zu other "
                            "shapes do as well",
                            banks->explained, count, banks->alike_count - 1);
    pb_parameter_set_list(pb_case_answer(at, "conflict_cycles"), costs, LISTED, confidence,
                          "M16 6.2: latency with 2, 4, 8, 16, 32 ways, median over their strides");
    return PB_OK;
}

enum pb_status pb_infer_banks(const struct pb_case *at, struct pb_error *err)
{
    const struct pb_series *series = &at->recordings[0].series;
    uint32_t lanes = at->info->warp_size;
    struct pb_bank_stride *strides = malloc((series->point_count + 1) * sizeof(*strides));
    struct pb_banks banks;
    enum pb_status status;
    size_t count = 0;

    if (strides == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu strides",
                       series->point_count);
    if (lanes == 0 || lanes > PB_LANES_MAX)
        lanes = 32;
    status = read_strides(series, strides, &count, err);
    if (status == PB_OK)
        status = pb_banks_fit(strides, count, lanes, &banks, err);
    if (status == PB_OK)
        status = state_banks(at, strides, count, &banks, lanes, err);
    free(strides);
    return status;
}
