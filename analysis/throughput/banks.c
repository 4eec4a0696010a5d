/* Fitting the shape of shared memory's banks. */
#include "analysis/throughput/banks.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analysis/statistics/sample.h"

/* Shapes that are tried. Devices so far have 16 or 32 banks of 4 or 8 bytes. */
enum { COUNTS = 5, WIDTHS = 5, SHAPES = COUNTS * WIDTHS };
static const uint32_t bank_counts[COUNTS] = {8, 16, 32, 64, 128};
static const uint32_t bank_widths[WIDTHS] = {4, 8, 16, 32, 64};

/* Over all strides: as alike as noise makes two shapes that predict the same. */
static const double alike_cycles = 1.0;

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

/* How well a shape predicts. */
struct fit {
    size_t explained;
    double misfit_cycles;
};

/*
 * Strides take the time of their ways, where more ways take longer than all fewer. One that does
 * not counts as much as it is off, at most its tolerance, and every number of ways as a cycle: a
 * shape that tells more of them apart fits noise better.
 */
static struct fit fit_shape(const struct pb_bank_stride *strides, const uint32_t *ways,
                            size_t count, uint32_t lanes, double *scratch)
{
    double before = -INFINITY;
    struct fit fit = {0, 0.0};

    for (uint32_t n = 1; n <= lanes; n++) {
        double median = median_of_ways(strides, ways, count, n, scratch);
        bool rises = median > before;

        if (isnan(median))
            continue;
        fit.misfit_cycles += 1.0;
        for (size_t i = 0; i < count; i++) {
            double most = tolerance(&strides[i]), off = fabs(strides[i].cycles - median);
            bool is_explained = rises && off <= most && strides[i].cycles > before;

            if (ways[i] != n)
                continue;
            fit.explained += is_explained;
            fit.misfit_cycles += is_explained ? off : most;
        }
        before = fmax(before, median);
    }
    return fit;
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

/* Of two that fit alike, the one with a bank for every lane. */
static bool is_better(const struct pb_banks *shape, double misfit, const struct pb_banks *best,
                      double least, uint32_t lanes)
{
    if (fabs(misfit - least) > alike_cycles)
        return misfit < least;
    return shape->banks == lanes && best->banks != lanes;
}

static void fit_all(const struct pb_bank_stride *strides, size_t count, uint32_t lanes,
                    uint32_t *ways, double *scratch, struct pb_banks *best)
{
    double misfits[SHAPES], least = INFINITY;
    size_t alike = 0;

    for (size_t k = 0; k < SHAPES; k++) {
        struct pb_banks shape = {bank_counts[k / WIDTHS], bank_widths[k % WIDTHS], 0, 0};
        struct fit fit;

        for (size_t i = 0; i < count; i++)
            ways[i] = pb_banks_ways(shape.banks, shape.bank_bytes, lanes, strides[i].words);
        fit = fit_shape(strides, ways, count, lanes, scratch);
        shape.explained = fit.explained;
        misfits[k] = fit.misfit_cycles;
        if (isinf(least) || is_better(&shape, fit.misfit_cycles, best, least, lanes)) {
            *best = shape;
            least = fit.misfit_cycles;
        }
    }
    for (size_t k = 0; k < SHAPES; k++)
        alike += fabs(misfits[k] - least) <= alike_cycles;
    best->rivals = alike - 1;
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
