/* Fitting the shape of shared memory's banks. */
#include "analysis/throughput/banks.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analysis/statistics/sample.h"

/* Shapes that are tried. Devices so far have 16 or 32 banks of 4 or 8 bytes. */
static const uint32_t bank_counts[] = {8, 16, 32, 64, 128};
static const uint32_t bank_widths[] = {4, 8, 16, 32, 64};

/* Strides that a shape must explain: less is another shape's. */
static const double explained_share = 0.9;

uint32_t pb_banks_ways(uint32_t banks, uint32_t bank_bytes, uint32_t lanes, uint64_t stride_words)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < lanes; i++) {
        uint64_t row = i * stride_words * 4 / bank_bytes;
        uint32_t ways = 1;

        /* Rows rise with the lane: a row is new unless the lane before had it. */
        for (uint32_t j = i; j-- > 0;) {
            uint64_t other = j * stride_words * 4 / bank_bytes;
            uint64_t next = (j + 1) * stride_words * 4 / bank_bytes;

            ways += other != next && other % banks == row % banks;
        }
        most = ways > most ? ways : most;
    }
    return most;
}

static double tolerance(const struct pb_bank_stride *stride)
{
    return 1.0 + stride->spread_cycles + 0.02 * stride->cycles;
}

/* Median latency of the strides with that many ways into scratch[count]; NaN: there are none. */
static double median_of_ways(const struct pb_bank_stride *strides, const uint32_t *ways,
                             size_t count, uint32_t wanted, double *scratch)
{
    size_t found = 0;

    for (size_t i = 0; i < count; i++)
        if (ways[i] == wanted)
            scratch[found++] = strides[i].cycles;
    if (found > 1)
        gsl_sort(scratch, 1, found);
    return pb_quantile(scratch, found, 0.5);
}

/* How many strides take the time of their ways, where more ways take longer than all fewer. */
static size_t count_explained(const struct pb_bank_stride *strides, const uint32_t *ways,
                              size_t count, uint32_t lanes, double *scratch)
{
    double before = -INFINITY;
    size_t explained = 0;

    for (uint32_t n = 1; n <= lanes; n++) {
        double median = median_of_ways(strides, ways, count, n, scratch);

        if (isnan(median) || median <= before)
            continue;
        for (size_t i = 0; i < count; i++)
            explained += ways[i] == n &&
                         fabs(strides[i].cycles - median) <= tolerance(&strides[i]) &&
                         strides[i].cycles > before;
        before = median;
    }
    return explained;
}

/* Conflicts must show: the slowest stride is beyond the tolerance of the fastest. */
static bool has_conflicts(const struct pb_bank_stride *strides, size_t count)
{
    const struct pb_bank_stride *fast = &strides[0], *slow = &strides[0];

    for (size_t i = 1; i < count; i++) {
        fast = strides[i].cycles < fast->cycles ? &strides[i] : fast;
        slow = strides[i].cycles > slow->cycles ? &strides[i] : slow;
    }
    return slow->cycles - fast->cycles > tolerance(fast);
}

static bool is_better(const struct pb_banks *shape, const struct pb_banks *best, uint32_t lanes)
{
    if (shape->explained != best->explained)
        return shape->explained > best->explained;
    return shape->banks == lanes && best->banks != lanes;
}

static void fit_all(const struct pb_bank_stride *strides, size_t count, uint32_t lanes,
                    uint32_t *ways, double *scratch, struct pb_banks *best)
{
    size_t ties = 0;

    for (size_t b = 0; b < sizeof(bank_counts) / sizeof(bank_counts[0]); b++) {
        for (size_t w = 0; w < sizeof(bank_widths) / sizeof(bank_widths[0]); w++) {
            struct pb_banks shape = {bank_counts[b], bank_widths[w], 0, 0};

            for (size_t i = 0; i < count; i++)
                ways[i] = pb_banks_ways(shape.banks, shape.bank_bytes, lanes, strides[i].words);
            shape.explained = count_explained(strides, ways, count, lanes, scratch);
            if (shape.explained > best->explained)
                ties = 0;
            else
                ties += shape.explained == best->explained;
            if (is_better(&shape, best, lanes))
                *best = shape;
        }
    }
    best->rivals = ties;
}

enum pb_status pb_banks_fit(const struct pb_bank_stride *strides, size_t count, uint32_t lanes,
                            struct pb_banks *banks_out, struct pb_error *err)
{
    struct pb_banks best = {0, 0, 0, 0};
    uint32_t *ways;
    double *scratch;

    if (count < 2 || !has_conflicts(strides, count))
        return pb_fail(err, PB_NOT_FOUND,
                       "not observable: none of %zu strides takes longer than another", count);
    if (lanes == 0 || lanes > PB_LANES_MAX)
        lanes = 32;
    ways = malloc(count * sizeof(*ways));
    scratch = malloc(count * sizeof(*scratch));
    if (ways != NULL && scratch != NULL)
        fit_all(strides, count, lanes, ways, scratch, &best);
    free(scratch);
    free(ways);
    if (best.banks == 0)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu strides", count);
    if ((double)best.explained < explained_share * (double)count)
        return pb_fail(
            err, PB_NOT_FOUND,
            "unexplained: the best shape, %u banks of %u bytes, explains %zu of %zu strides",
            best.banks, best.bank_bytes, best.explained, count);
    *banks_out = best;
    return PB_OK;
}
