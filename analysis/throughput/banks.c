/* Fitting the shape of shared memory's banks. */
#include "analysis/throughput/banks.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analysis/constants.h"
#include "analysis/statistics/sample.h"

/*
 * Shapes that are tried: powers of two up to one beyond which no stride conflicts. The last one
 * has none that do.
 */
enum { COUNTS = 11, WIDTHS = 5, SHAPES = COUNTS * WIDTHS };
_Static_assert((int)SHAPES == (int)PB_BANK_SHAPES_MAX, "room for all shapes");
static const uint32_t bank_widths[WIDTHS] = {4, 8, 16, 32, 64};

/* In log likelihood: the most that a stride costs, as 3 standard deviations do, and what each
   number of ways does. */
static const double worst_cost = 4.5, ways_cost = 1.0;

/* Strides that a shape must explain: less is another shape's. */
static const double explained_share = 0.9;

uint32_t pb_banks_ways(uint32_t banks, uint32_t bank_bytes, uint32_t lanes, uint64_t stride_words)
{
    uint64_t before = UINT64_MAX;
    uint32_t bank[PB_LANES_MAX], rows[PB_LANES_MAX], used = 0, most = 0; /* rows of a bank */

    for (uint32_t i = 0; i < lanes; i++) {
        uint64_t row = i * stride_words * 4 / bank_bytes;
        uint32_t own = (uint32_t)(row % banks), at = 0;

        if (row == before) /* they rise with the lane */
            continue;
        before = row;
        while (at < used && bank[at] != own)
            at++;
        bank[at] = own;
        rows[at] = at < used ? rows[at] + 1 : 1;
        used += at == used;
        most = rows[at] > most ? rows[at] : most;
    }
    return most;
}

/* Two standard deviations: of the median, and of what strides of the same ways differ by. */
static double tolerance(const struct pb_bank_stride *stride)
{
    return hypot(1.0 + 0.02 * stride->cycles, stride->error_cycles);
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
    double cost; /* minus the log likelihood */
};

/* Strides with `wanted` ways, if these take so many cycles and fewer ways at least `before`. */
static struct fit fit_ways(const struct pb_bank_stride *strides, const uint32_t *ways, size_t count,
                           uint32_t wanted, double cycles, double before)
{
    struct fit fit = {0, 0.0};

    for (size_t i = 0; i < count; i++) {
        double within = tolerance(&strides[i]), off = strides[i].cycles - cycles;
        bool is_explained = fabs(off) <= within && cycles > before - within;

        if (ways[i] != wanted)
            continue;
        fit.explained += is_explained;
        fit.cost += is_explained ? 2.0 * pow(off / within, 2.0) : worst_cost;
    }
    return fit;
}

/*
 * Strides take the time of their ways, where more ways take no less than fewer: a bank may serve
 * several rows at once, or all of them after so many. Every number of ways costs something, since a
 * shape that distinguishes more of them fits noise better, but for conflicts that take what those
 * of fewer ways do.
 */
static struct fit fit_shape(const struct pb_bank_stride *strides, const uint32_t *ways,
                            size_t count, uint32_t lanes, double *scratch)
{
    double before = -INFINITY, last = NAN; /* of fewer ways: the most cycles, and the last ones' */
    bool is_conflict = false;              /* that took longer than those before */
    struct fit fit = {0, 0.0};

    for (uint32_t n = 1; n <= lanes; n++) {
        double median = median_of_ways(strides, ways, count, n, scratch);
        struct fit own, same;

        if (isnan(median))
            continue;
        own = fit_ways(strides, ways, count, n, median, before);
        own.cost += ways_cost;
        same = fit_ways(strides, ways, count, n, last, before);
        if (!(same.cost <= own.cost)) {
            is_conflict = !isnan(last);
            last = median;
        } else if (is_conflict) {
            own = same;
        }
        fit.explained += own.explained;
        fit.cost += own.cost;
        before = fmax(before, last);
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

/* Shape number k, of COUNTS × WIDTHS; SHAPES: one without conflicts. */
static struct pb_bank_shape shape_of(size_t k)
{
    if (k == SHAPES)
        return (struct pb_bank_shape){UINT32_MAX, bank_widths[0]};
    return (struct pb_bank_shape){1u << k / WIDTHS, bank_widths[k % WIDTHS]};
}

/* Of two that fit alike, the one with a bank for every lane. */
static bool is_better(size_t k, double cost, size_t best, double least, uint32_t lanes)
{
    if (fabs(cost - least) > PB_SAME_PREDICTION)
        return cost < least;
    return shape_of(k).banks == lanes && shape_of(best).banks != lanes;
}

/* costs[SHAPES + 1] */
static size_t fit_all(const struct pb_bank_stride *strides, size_t count, uint32_t lanes,
                      uint32_t *ways, double *scratch, double *costs, size_t *explained_out)
{
    size_t found = SHAPES;

    for (size_t k = 0; k <= SHAPES; k++) {
        struct pb_bank_shape shape = shape_of(k);
        struct fit fit;

        for (size_t i = 0; i < count; i++)
            ways[i] = pb_banks_ways(shape.banks, shape.bank_bytes, lanes, strides[i].words);
        fit = fit_shape(strides, ways, count, lanes, scratch);
        costs[k] = fit.cost;
        if (k == 0 || is_better(k, fit.cost, found, costs[found], lanes)) {
            *explained_out = fit.explained;
            found = k;
        }
    }
    return found;
}

/* The best shape and those that fit as well. */
static void list_alike(const double *costs, size_t found, struct pb_banks *banks)
{
    banks->alike[banks->alike_count++] = shape_of(found);
    for (size_t k = 0; k < SHAPES; k++)
        if (k != found && costs[k] - costs[found] <= PB_SAME_PREDICTION)
            banks->alike[banks->alike_count++] = shape_of(k);
}

enum pb_status pb_banks_fit(const struct pb_bank_stride *strides, size_t count, uint32_t lanes,
                            struct pb_banks *banks_out, struct pb_error *err)
{
    struct pb_banks banks = {.alike_count = 0};
    double costs[SHAPES + 1];
    size_t found = 0;
    uint32_t *ways;
    double *scratch;
    bool is_out;

    if (count < 2 || !has_conflicts(strides, count))
        return pb_fail(err, PB_NOT_FOUND,
                       "not observable: none of %zu strides takes longer than another", count);
    if (lanes == 0 || lanes > PB_LANES_MAX)
        lanes = 32;
    ways = malloc(count * sizeof(*ways));
    scratch = malloc(count * sizeof(*scratch));
    is_out = ways == NULL || scratch == NULL;
    if (!is_out)
        found = fit_all(strides, count, lanes, ways, scratch, costs, &banks.explained);
    free(scratch);
    free(ways);
    if (is_out)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu strides", count);
    if (costs[SHAPES] - costs[found] <= PB_SAME_PREDICTION)
        return pb_fail(err, PB_NOT_FOUND,
                       "not observable: no number of banks predicts the %zu strides better than "
                       "none that conflict",
                       count);
    list_alike(costs, found, &banks);
    if ((double)banks.explained < explained_share * (double)count)
        return pb_fail(
            err, PB_NOT_FOUND,
            "unexplained: the best shape, %u banks of %u bytes, explains %zu of %zu strides",
            banks.alike[0].banks, banks.alike[0].bank_bytes, banks.explained, count);
    *banks_out = banks;
    return PB_OK;
}
