/* The moving block bootstrap of the median. */
#include "analysis/statistics/resample.h"

#include <gsl/gsl_rng.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/sample.h"
#include "analysis/statistics/sort.h"

enum { DRAWS = 200, THINNED_MAX = 4096 };

/* Values to draw from. A draw is counted by value, which costs less than putting it in order. */
struct urn {
    double values[THINNED_MAX];  /* [different] ascending */
    uint16_t rank[THINNED_MAX];  /* [count] the place in values of each, in order of measurement */
    uint16_t drawn[THINNED_MAX]; /* [different] how often in this draw */
    size_t different, count;
};

static uint16_t rank_of(const struct urn *urn, double value)
{
    size_t low = 0, high = urn->different - 1;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (urn->values[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return (uint16_t)low;
}

static void fill_urn(struct urn *urn, const double *values, size_t count)
{
    size_t step = (count + THINNED_MAX - 1) / THINNED_MAX;

    urn->count = urn->different = 0;
    for (size_t i = 0; i < count; i += step)
        urn->values[urn->count++] = values[i];
    pb_sort(urn->values, urn->count);
    for (size_t i = 0; i < urn->count; i++)
        if (i == 0 || urn->values[i] != urn->values[urn->different - 1])
            urn->values[urn->different++] = urn->values[i];
    for (size_t i = 0; i < urn->count; i++)
        urn->rank[i] = rank_of(urn, values[i * step]);
}

/* As many as there are, by blocks that begin anywhere. */
static void draw_blocks(gsl_rng *rng, size_t block, struct urn *urn)
{
    memset(urn->drawn, 0, urn->different * sizeof(urn->drawn[0]));
    for (size_t filled = 0; filled < urn->count;) {
        size_t from = gsl_rng_uniform_int(rng, urn->count - block + 1);

        for (size_t i = 0; i < block && filled < urn->count; i++, filled++)
            urn->drawn[urn->rank[from + i]]++;
    }
}

/* The member that would be at that place of the draw, sorted. */
static double member_at(const struct urn *urn, size_t place)
{
    size_t rank = 0, below = 0;

    while (below + urn->drawn[rank] <= place)
        below += urn->drawn[rank++];
    return urn->values[rank];
}

enum pb_status pb_bootstrap_median(const double *values, size_t count, double probability,
                                   double *low_out, double *high_out, struct pb_error *err)
{
    struct urn *urn;
    double medians[DRAWS];
    enum pb_status status = PB_OK;
    gsl_rng *rng;

    if (count == 0)
        return pb_fail(err, PB_INVALID, "no values to resample");
    urn = malloc(sizeof(*urn));
    rng = gsl_rng_alloc(gsl_rng_taus2);
    if (urn == NULL || rng == NULL) {
        status = pb_fail(err, PB_NO_MEMORY, "out of memory resampling %zu values", count);
        goto out;
    }
    fill_urn(urn, values, count);
    for (int i = 0; i < DRAWS; i++) {
        draw_blocks(rng, (size_t)ceil(sqrt((double)urn->count)), urn);
        medians[i] = (member_at(urn, (urn->count - 1) / 2) + member_at(urn, urn->count / 2)) / 2.0;
    }
    pb_sort(medians, DRAWS);
    *low_out = pb_quantile(medians, DRAWS, (1.0 - probability) / 2.0);
    *high_out = pb_quantile(medians, DRAWS, (1.0 + probability) / 2.0);
out:
    if (rng != NULL)
        gsl_rng_free(rng);
    free(urn);
    return status;
}
