/* Where misses of a level of translation begin; see tlb.h. */
#include "analysis/tlb/tlb.h"

#include <gsl/gsl_sf_gamma.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/trace.h"

/* An access looks like a miss without being one this often, unless walks that fit show more. */
static const double stray_rate_least = 1e-4;

/* One walk of a stride, counted. */
struct count {
    uint64_t pages;
    double accesses, misses;
    double coverage; /* share of a lap that was recorded, at most 1 */
};

/* Log likelihood of a walk that fits, whose misses are strays. */
static double log_fits(const struct count *count, double stray_rate)
{
    return count->misses * log(stray_rate) +
           (count->accesses - count->misses) * log1p(-stray_rate) +
           gsl_sf_lnchoose((unsigned)count->accesses, (unsigned)count->misses);
}

/*
 * And of one that overflows: any number of misses, seldom none. The record begins with the lap,
 * where the pages lie that the last ones of the lap displace.
 */
static double log_overflows(const struct count *count, double stray_rate)
{
    double silent = count->coverage < 1.0 ? 0.02 : stray_rate;

    return count->misses == 0.0 ? log(silent) : log((1.0 - silent) / count->accesses);
}

static double log_cut(const struct count *counts, size_t count, size_t cut, double stray_rate)
{
    double sum = 0.0;

    for (size_t i = 0; i < count; i++)
        sum += i < cut ? log_fits(&counts[i], stray_rate) : log_overflows(&counts[i], stray_rate);
    return sum;
}

static enum pb_status find_cut(const struct count *counts, size_t count, double stray_rate,
                               struct pb_tlb_onset *onset, struct pb_error *err)
{
    double best = -INFINITY, sum = 0.0;
    size_t at = 0;

    for (size_t cut = 0; cut <= count; cut++) {
        double here = log_cut(counts, count, cut, stray_rate);

        if (cut > 0 && cut < count && counts[cut - 1].pages == counts[cut].pages)
            continue;
        sum = here > best ? sum * exp(best - here) + 1.0 : sum + exp(here - best);
        if (here <= best)
            continue;
        best = here;
        at = cut;
    }
    if (at == 0)
        return pb_fail(err, PB_NOT_FOUND,
                       "sweep too small: already the smallest footprint of this stride misses");
    if (at == count)
        return pb_fail(err, PB_NOT_FOUND, "no misses up to %llu pages",
                       (unsigned long long)counts[count - 1].pages);
    *onset = (struct pb_tlb_onset){.fits_pages = counts[at - 1].pages,
                                   .overflow_pages = counts[at].pages,
                                   .posterior = 1.0 / sum};
    for (size_t i = 0; i < count; i++) {
        double margin = log_fits(&counts[i], stray_rate) - log_overflows(&counts[i], stray_rate);

        onset->seen++;
        onset->agreeing += (margin > 0.0) == (i < at);
    }
    return PB_OK;
}

/* How often accesses of walks over at most half of what fits look like misses. */
static double rate_of_strays(const struct count *counts, size_t count, uint64_t fits_pages)
{
    double accesses = 1.0, misses = 0.0;

    for (size_t i = 0; i < count && 2 * counts[i].pages <= fits_pages; i++) {
        accesses += counts[i].accesses;
        misses += counts[i].misses;
    }
    return fmax(stray_rate_least, misses / accesses);
}

enum pb_status pb_tlb_find_onset(const struct pb_tlb *tlb, size_t level, uint64_t stride_bytes,
                                 struct pb_tlb_onset *onset_out, struct pb_error *err)
{
    struct count *counts;
    size_t first, count;
    enum pb_status status;

    pb_tlb_range(tlb, stride_bytes, &first, &count);
    if (count == 0)
        return pb_fail(err, PB_NOT_FOUND, "no pass with this stride");
    counts = calloc(count, sizeof(*counts));
    if (counts == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu chases", count);
    for (size_t i = 0; i < count; i++) {
        const struct pb_tlb_walk *walk = &tlb->walks[first + i];

        counts[i] = (struct count){.pages = walk->pages, .accesses = (double)walk->accesses.count};
        counts[i].coverage = fmin(1.0, counts[i].accesses / (double)walk->pages);
        for (size_t k = 0; k < walk->accesses.count; k++)
            counts[i].misses += pb_tlb_misses(tlb, walk, k, level);
    }
    status = find_cut(counts, count, stray_rate_least, onset_out, err);
    if (status == PB_OK)
        status = find_cut(counts, count, rate_of_strays(counts, count, onset_out->fits_pages),
                          onset_out, err);
    free(counts);
    return status;
}
