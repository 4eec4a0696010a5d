/* The moving block bootstrap of the median. */
#include "analysis/resample.h"

#include <gsl/gsl_rng.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/sample.h"

enum { DRAWS = 200, THINNED_MAX = 4096 };

/* Fills drawn[count] with blocks of values[count] that begin anywhere. */
static void draw_blocks(gsl_rng *rng, const double *values, size_t count, size_t block,
                        double *drawn)
{
    for (size_t filled = 0; filled < count;) {
        size_t from = gsl_rng_uniform_int(rng, count - block + 1);

        for (size_t i = 0; i < block && filled < count; i++)
            drawn[filled++] = values[from + i];
    }
}

enum pb_status pb_bootstrap_median(const double *values, size_t count, double probability,
                                   double *low_out, double *high_out, struct pb_error *err)
{
    size_t step = (count + THINNED_MAX - 1) / THINNED_MAX, kept = 0, block;
    double medians[DRAWS], *thinned, *drawn;
    enum pb_status status = PB_OK;
    gsl_rng *rng;

    if (count == 0)
        return pb_fail(err, PB_INVALID, "no values to draw from");
    thinned = malloc(THINNED_MAX * sizeof(*thinned));
    drawn = malloc(THINNED_MAX * sizeof(*drawn));
    rng = gsl_rng_alloc(gsl_rng_taus2);
    if (thinned == NULL || drawn == NULL || rng == NULL) {
        status = pb_fail(err, PB_NO_MEMORY, "no memory to draw from %zu values", count);
        goto out;
    }
    for (size_t i = 0; i < count; i += step)
        thinned[kept++] = values[i];
    block = (size_t)ceil(sqrt((double)kept));
    for (int i = 0; i < DRAWS; i++) {
        draw_blocks(rng, thinned, kept, block, drawn);
        medians[i] = gsl_stats_median(drawn, 1, kept);
    }
    gsl_sort(medians, 1, DRAWS);
    *low_out = pb_quantile(medians, DRAWS, (1.0 - probability) / 2.0);
    *high_out = pb_quantile(medians, DRAWS, (1.0 + probability) / 2.0);
out:
    if (rng != NULL)
        gsl_rng_free(rng);
    free(drawn);
    free(thinned);
    return status;
}
