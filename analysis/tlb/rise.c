/* Finding the steps in sweeps; see rise.h. Which of them are one level is in rise_level.c. */
#include "analysis/tlb/rise.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/statistics/polish.h"
#include "analysis/tlb/rise_level.h"
#include "analysis/tlb/rise_place.h"

enum {
    WALKS_MIN = 8,     /* fewer are no sweep */
    PAGES_MIN = 8,     /* walks over fewer have a mean of little worth */
    PLACES_MAX = 4096, /* by walk */
    CONFIRM = 2,       /* walks in a row that must be higher, */
    LASTING = 8,       /* and of so many all but one */
};

/* A step is at least so many cycles, and so many standard errors. */
static const double least_cycles = 2.0, least_errors = 5.0;

/* A walk this near to the next one's mean, in parts of the step, stands on its flat part. */
static const double flat_share = 0.05;

/*
 * Rises of one sweep this near to each other are one level, whose sets overflow one after the
 * other: a hashed index fills half of them with 58 GiB and the others with 72 (seen on an H200, by
 * where the array begins; no level is known to reach so little further than the one before).
 */
static const double uneven_share = 1.0 / 2.0;

/* Cells of the sweep: every walk's last access to each of its pages. */
static double *make_cells(const struct pb_rise_walks *sweep)
{
    size_t places = sweep->places;
    double *cells = malloc((sweep->count * places + 1) * sizeof(*cells));

    for (size_t i = 0; cells != NULL && i < sweep->count * places; i++)
        cells[i] = NAN;
    for (size_t w = 0; cells != NULL && w < sweep->count; w++) {
        const struct pb_tlb_walk *walk = &sweep->walks[w];

        for (size_t i = 0; i < walk->accesses.count; i++) {
            uint64_t place = walk->accesses.index_bytes[i] / walk->stride_bytes;

            if (place < places)
                cells[w * places + place] = pb_access_cycles(&walk->accesses, i);
        }
    }
    return cells;
}

static size_t places_of(const struct pb_rise_walks *sweep)
{
    size_t most = 0;

    for (size_t w = 0; w < sweep->count; w++)
        if (sweep->walks[w].accesses.count > most)
            most = sweep->walks[w].accesses.count;
    return most < PLACES_MAX ? most : PLACES_MAX;
}

/* Means of all walks. PB_NO_MEMORY, or PB_INVALID: no walk holds an access. */
static enum pb_status measure(struct pb_rise_walks *sweep, double most_cycles, struct pb_error *err)
{
    struct pb_polish polish = {NULL};
    enum pb_status status;

    sweep->places = places_of(sweep);
    sweep->cells = make_cells(sweep);
    sweep->means = calloc(sweep->count + 1, sizeof(*sweep->means));
    sweep->seen = calloc(sweep->count + 1, sizeof(*sweep->seen));
    if (sweep->cells == NULL || sweep->means == NULL || sweep->seen == NULL)
        status = pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu chases", sweep->count);
    else
        status = pb_polish_fit(sweep->cells, sweep->count, sweep->places, &polish, err);
    for (size_t w = 0; status == PB_OK && w < sweep->count; w++)
        sweep->means[w] = pb_polish_mean(&polish, w, most_cycles, &sweep->seen[w]);
    if (status == PB_OK)
        sweep->noise_cycles = fmax(polish.noise_cycles, 0.5);
    pb_polish_clear(&polish);
    return status;
}

/* Mean over walks [first, end), each by its places, and how many places that were. */
static double mean_over(const struct pb_rise_walks *sweep, size_t first, size_t end,
                        double *places_out)
{
    double sum = 0.0, places = 0.0;

    for (size_t w = first; w < end; w++) {
        if (sweep->seen[w] == 0)
            continue;
        sum += sweep->means[w] * (double)sweep->seen[w];
        places += (double)sweep->seen[w];
    }
    *places_out = places;
    return places > 0.0 ? sum / places : NAN;
}

/* Is this walk higher than the walks over `places` whose mean is `base`, by at least so much? */
static bool is_higher(const struct pb_rise_walks *sweep, size_t walk, double base, double places,
                      double least)
{
    double here = fmax(1.0, (double)sweep->seen[walk]);
    double error = sweep->noise_cycles * sqrt(1.0 / here + 1.0 / places);

    return sweep->means[walk] - base > fmax(least, least_errors * error);
}

/* Are this walk and those behind it higher than [first, at)? Spikes lift a walk or two, not more.
 */
static bool rises_at(const struct pb_rise_walks *sweep, size_t first, size_t at, double least)
{
    double places, base = mean_over(sweep, first, at, &places);
    size_t end = at + LASTING < sweep->count ? at + LASTING : sweep->count, lower = 0;

    if (at + CONFIRM > sweep->count || !(places > 0.0))
        return false;
    for (size_t w = at; w < at + CONFIRM; w++)
        if (!is_higher(sweep, w, base, places, least))
            return false;
    for (size_t w = at + CONFIRM; w < end; w++)
        lower += !is_higher(sweep, w, base, places, least);
    return lower <= 1;
}

/* The walk from which on the means stay, once they have risen at `at` from `base`. */
static size_t settle(const struct pb_rise_walks *sweep, size_t at, double base)
{
    for (; at + 1 < sweep->count; at++) {
        double here = sweep->means[at], next = sweep->means[at + 1];
        double error = sweep->noise_cycles * sqrt(1.0 / fmax(1.0, (double)sweep->seen[at]) +
                                                  1.0 / fmax(1.0, (double)sweep->seen[at + 1]));

        if (!(fabs(next - here) > fmax(least_errors * error, flat_share * (next - base))))
            break;
    }
    return at;
}

static void take_step(const struct pb_rise_walks *sweep, size_t first, size_t at, size_t flat,
                      size_t end, struct pb_rise_sweep *out)
{
    double before, behind;
    double low = mean_over(sweep, first, at, &before), high = mean_over(sweep, flat, end, &behind);
    struct pb_rise_step *step = &out->steps[out->step_count++];
    size_t most = at, below = at - 1;

    while (below > first && sweep->walks[below].pages == sweep->walks[at].pages)
        below--;
    while (most < flat && sweep->means[most] - low < (high - low) / 2.0)
        most++;
    *step = (struct pb_rise_step){
        .fits_pages = sweep->walks[below].pages,
        .overflow_pages = sweep->walks[at].pages,
        .most_pages = sweep->walks[most - 1].pages,
        .beyond_pages = sweep->walks[most].pages,
        .cycles = high - low,
        .error_cycles =
            sweep->noise_cycles * sqrt(1.0 / fmax(1.0, before) + 1.0 / fmax(1.0, behind)),
        .first_share = (sweep->means[at] - low) / (high - low),
        .walks = end - flat,
    };
}

/* The next walk behind `flat` at which the sweep rises again; count: none. */
static size_t next_rise(const struct pb_rise_walks *sweep, size_t flat, double least)
{
    size_t next = flat + 1;

    while (next < sweep->count && !rises_at(sweep, flat, next, least))
        next++;
    return next < sweep->count ? next : sweep->count;
}

static bool rises_on(const struct pb_rise_walks *sweep, size_t flat, size_t next)
{
    return next < sweep->count && (double)sweep->walks[next].pages <=
                                      (double)sweep->walks[flat].pages * (1.0 + uneven_share);
}

/* What is small beside the step before is the end of that. */
static enum pb_status find_steps(const struct pb_rise_walks *sweep, struct pb_rise_sweep *out,
                                 struct pb_error *err)
{
    enum pb_status status = PB_OK;
    double least = least_cycles;
    size_t first = 0, at;

    while (first < sweep->count && sweep->walks[first].pages < PAGES_MIN)
        first++;
    at = next_rise(sweep, first, least);
    while (at < sweep->count && status == PB_OK && out->step_count < PB_RISE_STEPS_MAX) {
        double places, base = mean_over(sweep, first, at, &places);
        size_t flat = settle(sweep, at, base), next;

        least = fmax(least_cycles, flat_share * (sweep->means[flat] - sweep->means[at - 1]));
        for (next = next_rise(sweep, flat, least); rises_on(sweep, flat, next);
             next = next_rise(sweep, flat, least))
            flat = settle(sweep, next, base);
        take_step(sweep, first, at, flat, next, out);
        status = pb_rise_sharpen(sweep, first, at, flat, &out->steps[out->step_count - 1], err);
        first = flat;
        at = next;
    }
    return status;
}

/* Adds the steps of one sweep, if it is one. */
static enum pb_status add_sweep(const struct pb_tlb_walk *walks, size_t count, double most_cycles,
                                struct pb_rise *rise, struct pb_error *err)
{
    struct pb_rise_walks sweep = {.walks = walks, .count = count};
    struct pb_rise_sweep *out = &rise->sweeps[rise->sweep_count];
    enum pb_status status;

    if (count < WALKS_MIN || rise->sweep_count == PB_RISE_SWEEPS_MAX)
        return PB_OK;
    status = measure(&sweep, most_cycles, err);
    if (status == PB_OK) {
        *out = (struct pb_rise_sweep){.stride_bytes = walks[0].stride_bytes,
                                      .most_pages = walks[count - 1].pages};
        status = find_steps(&sweep, out, err);
        rise->sweep_count++;
    }
    free(sweep.cells);
    free(sweep.means);
    free(sweep.seen);
    return status == PB_INVALID ? PB_OK : status;
}

/*
 * The walks of one stride that can be compared with the largest one that was not taken yet; they
 * are taken out, and in the order of their pages. Returns how many there are.
 */
static size_t take_comparable(struct pb_tlb_walk *walks, size_t *count, struct pb_tlb_walk *taken)
{
    const struct pb_tlb_walk largest = walks[*count - 1];
    size_t kept = 0, found = 0;

    for (size_t i = 0; i < *count; i++) {
        if (pb_tlb_comparable(&walks[i], &largest))
            taken[found++] = walks[i];
        else
            walks[kept++] = walks[i];
    }
    *count = kept;
    return found;
}

/* All sweeps of one stride: walks over other lines, or from elsewhere, are sweeps of their own. */
static enum pb_status add_stride(const struct pb_tlb *tlb, uint64_t stride_bytes,
                                 double most_cycles, struct pb_rise *rise, struct pb_error *err)
{
    struct pb_tlb_walk *taken = calloc(tlb->walk_count + 1, sizeof(*taken));
    enum pb_status status = PB_OK;
    size_t first, count;

    if (taken == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu chases", tlb->walk_count);
    pb_tlb_range(tlb, stride_bytes, &first, &count);
    while (status == PB_OK && count > 0) {
        size_t found = take_comparable(tlb->walks + first, &count, taken);

        status = add_sweep(taken, found, most_cycles, rise, err);
    }
    free(taken);
    return status;
}

static int by_stride(const void *a, const void *b)
{
    const struct pb_rise_sweep *left = a, *right = b;

    return (left->stride_bytes > right->stride_bytes) - (left->stride_bytes < right->stride_bytes);
}

enum pb_status pb_rise_find(const struct pb_recording *recordings, size_t count, double most_cycles,
                            struct pb_rise *rise_out, struct pb_error *err)
{
    struct pb_rise rise = {.sweep_count = 0};

    for (size_t i = 0; i < count; i++) {
        struct pb_tlb tlb = {NULL};
        enum pb_status status = pb_tlb_read_walks(&recordings[i], 1, &tlb, err);

        for (size_t k = 0; status == PB_OK && k < tlb.stride_count; k++)
            status = add_stride(&tlb, tlb.strides[k], most_cycles, &rise, err);
        pb_tlb_clear(&tlb);
        if (status != PB_OK && status != PB_NOT_FOUND)
            return status;
    }
    if (rise.sweep_count == 0)
        return pb_fail(err, PB_NOT_FOUND, "no stride was measured with %d numbers of pages",
                       WALKS_MIN);
    qsort(rise.sweeps, rise.sweep_count, sizeof(rise.sweeps[0]), by_stride);
    pb_rise_leave_out_lonely(&rise);
    *rise_out = rise;
    return PB_OK;
}
