/* What the steps of a level leave; see rise_view.h. */
#include "analysis/tlb/rise_view.h"

#include <math.h>
#include <stdlib.h>

/* A rise of more than this part of the penalty is a whole one, and of less than the other none. */
static const double whole_share = 0.75, least_share = 0.04;

/* Entries by two strides are the same where they are so near to each other, in parts of them. */
static const double same_share = 1.0 / 8.0;

static int ascending(const void *a, const void *b)
{
    const double *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

/* What a stride's sweeps rise by in the middle, the lower one of two; 0: none was walked on. */
static double rise_at(const struct pb_rise_level *level, uint64_t stride_bytes)
{
    double cycles[PB_RISE_SWEEPS_MAX];
    size_t count = 0;

    for (size_t i = 0; i < level->count; i++)
        if (level->sweeps[i]->stride_bytes == stride_bytes && level->steps[i]->walks > 1)
            cycles[count++] = level->steps[i]->cycles;
    if (count == 0)
        return 0.0;
    qsort(cycles, count, sizeof(cycles[0]), ascending);
    return cycles[(count - 1) / 2];
}

bool pb_rise_is_whole(const struct pb_rise_step *step, double penalty_cycles)
{
    return step->cycles >= whole_share * penalty_cycles &&
           step->cycles <= penalty_cycles / whole_share;
}

/* The median over the strides that were walked on behind their step. */
static void find_penalty(struct pb_rise_view *view)
{
    const struct pb_rise_level *level = view->level;
    double most = 0.0, cycles[PB_RISE_SWEEPS_MAX];

    for (size_t i = 0; i < level->count; i++)
        most = fmax(most, rise_at(level, level->sweeps[i]->stride_bytes));
    view->penalty = (struct pb_estimate){NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < level->count; i++) {
        const struct pb_rise_step *step = level->steps[i];

        if (!pb_rise_is_whole(step, most) || step->walks < 2)
            continue;
        cycles[view->whole++] = step->cycles;
        view->penalty.low = fmin(view->penalty.low, step->cycles - 2.0 * step->error_cycles);
        view->penalty.high = fmax(view->penalty.high, step->cycles + 2.0 * step->error_cycles);
    }
    if (view->whole == 0)
        return;
    qsort(cycles, view->whole, sizeof(cycles[0]), ascending);
    view->penalty.value = (cycles[view->whole / 2] + cycles[(view->whole - 1) / 2]) / 2.0;
}

/* Entries that a step leaves, if an entry spans so much. */
static void bounds_of(const struct pb_rise_view *view, size_t i, uint64_t span_bytes,
                      double *low_out, double *high_out)
{
    const struct pb_rise_step *step = view->level->steps[i];
    double stride = (double)view->level->sweeps[i]->stride_bytes;
    double by_entry = fmax(1.0, (double)span_bytes / stride);

    *low_out = ceil((double)step->fits_pages / by_entry);
    *high_out = fmax(*low_out, ceil((double)step->overflow_pages / by_entry) - 1.0);
}

bool pb_rise_is_blurred(const struct pb_rise_view *view, size_t i, size_t strides)
{
    bool sharp = false;

    for (size_t k = 0; k < strides; k++)
        sharp |= view->level->steps[k]->sharp;
    return sharp && !view->level->steps[i]->sharp;
}

/* What all strides leave; low > high: nothing. */
static void find_entries(const struct pb_rise_view *view, uint64_t span_bytes, double *low_out,
                         double *high_out)
{
    *low_out = 1.0;
    *high_out = INFINITY;
    for (size_t i = 0; i < view->level->count; i++) {
        double low, high;

        if (pb_rise_is_blurred(view, i, view->level->count))
            continue;
        bounds_of(view, i, span_bytes, &low, &high);
        *low_out = fmax(*low_out, low);
        *high_out = fmin(*high_out, high);
    }
}

/* How many partial rises speak for a span by their share of the penalty, and how many do not. */
static void count_shares(const struct pb_rise_view *view, uint64_t span_bytes, size_t *for_out,
                         size_t *against_out)
{
    *for_out = *against_out = 0;
    for (size_t i = 0; i < view->level->count; i++) {
        const struct pb_rise_step *step = view->level->steps[i];
        double share = step->cycles / view->penalty.value;
        double power =
            log2((double)view->level->sweeps[i]->stride_bytes / share / (double)span_bytes);

        if (step->walks < 2 || !(share > least_share && share < whole_share))
            continue;
        if (fabs(power) < 0.5)
            ++*for_out;
        else
            ++*against_out;
    }
}

/*
 * The span with which all strides lead to the same number of entries. Spans beyond the largest
 * stride all do; there, the rises must speak for one. As do spans below the smallest stride, where
 * only so much is known.
 */
static void find_span(struct pb_rise_view *view)
{
    const struct pb_rise_level *level = view->level;
    uint64_t least = level->sweeps[0]->stride_bytes;
    uint64_t most = level->sweeps[level->count - 1]->stride_bytes;

    for (uint64_t span = least; span <= most; span *= 2) {
        size_t shares, others;
        double low, high;

        find_entries(view, span, &low, &high);
        count_shares(view, span, &shares, &others);
        if (low * (1.0 - same_share) > high || (span == most && shares == 0) ||
            (view->span_bytes > 0 && shares <= view->span_shares))
            continue;
        view->span_bytes = span;
        view->span_shares = shares;
        view->span_others = others;
        view->entries_low = low;
        view->entries_high = high;
    }
    view->at_most = view->span_bytes == least;
}

size_t pb_rise_count_near(const struct pb_rise_view *view)
{
    size_t near = 1;

    while (near < view->level->count && view->level->sweeps[near]->stride_bytes <= view->span_bytes)
        near++;
    return near;
}

bool pb_rise_look(const struct pb_rise_level *level, struct pb_rise_view *view_out)
{
    struct pb_rise_view view = {.level = level};

    find_penalty(&view);
    if (view.whole > 0)
        find_span(&view);
    *view_out = view;
    return view.whole > 0;
}
