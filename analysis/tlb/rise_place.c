/* Single places of a sweep tell where its step begins; see rise_place.h. */
#include "analysis/tlb/rise_place.h"

#include <math.h>
#include <stdlib.h>

enum {
    MISS_ROUNDS = 3, /* until what misses is told from what does not */
};

/* Single places tell a miss where it costs so many times the noise. */
static const double noise_misses = 8.0;

/* So many times as many as stray elsewhere: misses. */
static const double stray_factor = 3.0;

/* Walks below the step by this part of it are not of its level. */
static const double near_share = 1.0 / 8.0;

static int ascending(const void *a, const void *b)
{
    const double *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

/* What every place takes in walks [first, at): NaN where it was not seen. */
static enum pb_status find_bases(const struct pb_rise_walks *sweep, size_t first, size_t at,
                                 double **bases_out, struct pb_error *err)
{
    double *bases = malloc((sweep->places + 1) * sizeof(*bases));
    double *column = malloc((at - first + 1) * sizeof(*column));

    if (bases == NULL || column == NULL) {
        free(bases);
        free(column);
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu places", sweep->places);
    }
    for (size_t place = 0; place < sweep->places; place++) {
        size_t seen = 0;

        for (size_t w = first; w < at; w++)
            if (!isnan(sweep->cells[w * sweep->places + place]))
                column[seen++] = sweep->cells[w * sweep->places + place];
        bases[place] = NAN;
        if (seen > 0) {
            qsort(column, seen, sizeof(*column), ascending);
            bases[place] = column[seen / 2];
        }
    }
    free(column);
    *bases_out = bases;
    return PB_OK;
}

/* Places of a walk that take more than so many cycles above their base, and their mean excess. */
static size_t count_above(const struct pb_rise_walks *sweep, const double *bases, size_t walk,
                          double least, double *sum)
{
    size_t count = 0;

    for (size_t place = 0; place < sweep->places; place++) {
        double excess = sweep->cells[walk * sweep->places + place] - bases[place];

        if (!(excess > least)) /* NaN: not seen */
            continue;
        *sum += excess;
        count++;
    }
    return count;
}

/* What one miss costs: the mean of what clearly rises behind the step. */
static double miss_of(const struct pb_rise_walks *sweep, const double *bases, size_t flat,
                      size_t end, double cycles)
{
    for (int round = 0; round < MISS_ROUNDS; round++) {
        double sum = 0.0;
        size_t count = 0;

        for (size_t w = flat; w < end; w++)
            count += count_above(sweep, bases, w, cycles / 2.0, &sum);
        if (count > 0)
            cycles = sum / (double)count;
    }
    return cycles;
}

/* Places of a walk that look like misses where nothing misses yet: clearly before the step. */
static double count_strays(const struct pb_rise_walks *sweep, const double *bases, size_t first,
                           size_t at, double least)
{
    double end = (double)sweep->walks[at].pages * (1.0 - near_share), sum = 0.0;
    size_t strays = 0, walks = 0;

    for (size_t w = first; w < at && (double)sweep->walks[w].pages < end; w++, walks++)
        strays += count_above(sweep, bases, w, least, &sum);
    return walks > 0 ? (double)strays / (double)walks : 0.0;
}

enum pb_status pb_rise_sharpen(const struct pb_rise_walks *sweep, size_t first, size_t at,
                               size_t flat, struct pb_rise_step *step, struct pb_error *err)
{
    size_t behind = flat + step->walks < sweep->count ? flat + step->walks : sweep->count;
    double *bases = NULL, miss, strays, sum = 0.0;
    enum pb_status status = find_bases(sweep, first, at, &bases, err);

    if (status != PB_OK)
        return status;
    miss = miss_of(sweep, bases, flat, behind, step->cycles);
    strays = count_strays(sweep, bases, first, at, miss / 2.0);
    while (miss > noise_misses * sweep->noise_cycles && at > first + 1 &&
           (sweep->walks[at - 1].pages == sweep->walks[at].pages ||
            (double)count_above(sweep, bases, at - 1, miss / 2.0, &sum) > stray_factor * strays))
        at--;
    /* Misses far below are not of this level: its places are too uneven to tell. */
    if ((double)sweep->walks[at].pages >= (1.0 - near_share) * (double)step->overflow_pages &&
        sweep->walks[at - 1].pages < sweep->walks[at].pages) {
        step->overflow_pages = sweep->walks[at].pages;
        step->fits_pages = sweep->walks[at - 1].pages;
        step->sharp = miss > noise_misses * sweep->noise_cycles && strays < 1.0;
    }
    free(bases);
    return PB_OK;
}
