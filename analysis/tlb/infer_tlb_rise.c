/*
 * The parameters of a level of translation where L2's hits come in several kinds, from rises of
 * lines that are compared with themselves (rise.h).
 *
 *   penalty_cycles     the rise where every page takes an entry of its own
 *   entry_coverage_bytes   with which the onsets of all strides, in pages beyond it and in bytes
 * below, lead to one number of entries; below it only the first page of an entry misses, so that
 * the rises are as much smaller as the strides entry_count        what the level's sets hold
 * (infer_tlb_sets.c); where they do not show, what these onsets leave, or the most that fit, where
 * they differ by a few reach_bytes        the same by the span, or the largest footprint without
 * misses, at the strides up to the span way_counts         of the sets; or one set, where one page
 * too many makes all miss (LRU)
 *
 * Limit: what is less than a few cycles, or seen at one stride only, leaves span and entries open.
 */
#include "analysis/tlb/infer_tlb.h"

#include <math.h>
#include <stdbool.h>

#include "analysis/confidence.h"
#include "analysis/tlb/rise.h"
#include "analysis/tlb/rise_view.h"

/* Counts that differ by no more than this part are one: other pages take some entries. */
static const double taken_share = 1.0 / 32.0;

/*
 * So many pages miss on average, and at any stride, when one is too many: they share one set. Of
 * two equal sets little more than half would.
 */
static const double all_share = 0.75, most_share = 0.6;

/* The most that fits at one of the strides, and what they leave together, or all they span. */
static void state_reach(const struct pb_case *at, const struct pb_rise_view *view)
{
    struct pb_estimate reach = {0.0, INFINITY, INFINITY};
    size_t near = pb_rise_count_near(view);
    struct pb_votes votes = {0, 0};
    bool agree;

    for (size_t i = 0; i < near; i++) {
        const struct pb_rise_step *step = view->level->steps[i];
        double stride = (double)view->level->sweeps[i]->stride_bytes;
        double fits = (double)step->fits_pages * stride;

        if (pb_rise_is_blurred(view, i, near))
            continue;
        reach.value = fmax(reach.value, fits);
        reach.high = fmin(reach.high, fmax(fits, ((double)step->overflow_pages - 1.0) * stride));
    }
    agree = reach.value <= reach.high;
    reach.low = fmin(reach.value, reach.high);
    if (!agree) /* other pages take entries: as many may be hidden where most fits */
        reach.high = reach.value + (reach.value - reach.low);
    if (view->level->count == 1) { /* nothing else tells a page that only just fits */
        reach.low -= (double)view->level->sweeps[0]->stride_bytes;
        reach.high += (double)view->level->sweeps[0]->stride_bytes;
    }
    pb_votes_add_many(&votes, agree ? near : near / 2, near);
    pb_parameter_set_number(pb_case_answer(at, "reach_bytes"), reach, pb_votes_confidence(&votes),
                            "each line compared with itself: largest footprint without misses, %s "
                            "%zu strides from %llu bytes on",
                            agree ? "by" : "at one of", near,
                            (unsigned long long)view->level->sweeps[0]->stride_bytes);
}

static void state_span(const struct pb_case *at, const struct pb_rise_view *view)
{
    struct pb_parameter *answer = pb_case_answer(at, "entry_coverage_bytes");
    double span = (double)view->span_bytes;
    struct pb_votes votes = {0, 0};

    pb_parameter_set_none(pb_case_answer(at, "page_bytes"),
                          "not observable: all pages covered by one entry hit together, so that "
                          "the page size does not appear in latencies");
    if (view->span_bytes == 0) {
        pb_parameter_set_none(answer,
                              view->level->count > 1 ? "contradictory: the capacity edges of %zu "
                                                       "strides agree with no coverage per entry"
                                                     : "too few strides reach this level: %zu",
                              view->level->count);
        return;
    }
    pb_votes_add_many(&votes, view->level->count, view->level->count);
    pb_votes_add_many(&votes, view->span_shares, view->span_shares + view->span_others);
    pb_parameter_set_number(answer, (struct pb_estimate){span, view->at_most ? 0.0 : span, span},
                            pb_votes_confidence(&votes),
                            "the capacity edges of %zu strides agree with it, and %zu of %zu "
                            "partial latency steps are in proportion to their stride",
                            view->level->count, view->span_shares,
                            view->span_shares + view->span_others);
}

/* One page too many makes all pages miss: one set, replaced in order. */
static void state_ways(const struct pb_case *at, const struct pb_rise_view *view)
{
    struct pb_parameter *answer = pb_case_answer(at, "way_counts");
    double entries = view->entries_low, sum = 0.0, least = INFINITY;
    struct pb_votes votes = {0, 0};

    for (size_t i = 0; i < view->level->count; i++) {
        const struct pb_rise_step *step = view->level->steps[i];

        if (view->level->sweeps[i]->stride_bytes < view->span_bytes ||
            !pb_rise_is_whole(step, view->penalty.value) ||
            step->overflow_pages != step->fits_pages + 1)
            continue;
        sum += step->first_share;
        least = fmin(least, step->first_share);
        pb_votes_add(&votes, true);
    }
    if (votes.seen == 0.0)
        pb_parameter_set_none(
            answer,
            "sweep resolution too coarse: no stride was measured page by page where misses begin");
    else if (sum < all_share * votes.seen || least < most_share)
        pb_parameter_set_none(answer,
                              "several sets (one page too many makes only %.0f%% miss), which this "
                              "level's noise does not resolve one by one",
                              100.0 * sum / votes.seen);
    else {
        struct pb_tlb_sets one = {.set_count = 1};

        pb_parameter_set_number(pb_case_answer(at, "set_count"), (struct pb_estimate){1, 1, 1},
                                pb_votes_confidence(&votes),
                                "M16 4.4: one page too many makes all miss");
        pb_tlb_state_index(at, &one, view->span_bytes, 0.0);
        pb_parameter_set_number(answer, (struct pb_estimate){entries, entries, entries},
                                pb_votes_confidence(&votes),
                                "M16 4.4: one page more than %.0f makes %.0f%% miss, by %.0f "
                                "strides",
                                entries, 100.0 * fmin(1.0, sum / votes.seen), votes.seen);
    }
}

/*
 * Some strides miss a few pages earlier than others fit: what else the device translates takes
 * entries. The most that fit anywhere is the best guess, and as many again may be hidden there.
 */
static void state_taken(struct pb_parameter *answer, const struct pb_rise_view *view)
{
    double most = view->entries_low, taken = view->entries_low - view->entries_high;
    struct pb_votes votes = {0, 0};

    pb_votes_add_many(&votes, view->level->count / 2, view->level->count);
    pb_parameter_set_number(answer, (struct pb_estimate){most, most - taken, most + taken},
                            pb_votes_confidence(&votes),
                            "the most that fit at one of %zu strides; up to %.0f serve other pages",
                            view->level->count, taken);
}

static void state_entries(const struct pb_case *at, const struct pb_rise_view *view)
{
    struct pb_parameter *answer = pb_case_answer(at, "entry_count");
    double entries = view->entries_low;
    struct pb_votes votes = {0, 0};

    pb_parameter_set_none(pb_case_answer(at, "way_counts"), "entry_count is not exact");
    if (view->span_bytes == 0)
        pb_parameter_set_none(answer, "entry_coverage_bytes is undetermined");
    else if (view->entries_low > view->entries_high &&
             view->entries_low * (1.0 - taken_share) <= view->entries_high)
        state_taken(answer, view);
    else if (view->entries_low > view->entries_high)
        pb_parameter_set_none(answer,
                              "contradictory: some strides fit %.0f entries, others miss with %.0f",
                              view->entries_low, view->entries_high + 1.0);
    else if (view->entries_low < view->entries_high)
        pb_parameter_set_none(answer, "sweep resolution too coarse: %.0f to %.0f entries",
                              view->entries_low, view->entries_high);
    else {
        pb_votes_add_many(&votes, view->level->count, view->level->count);
        pb_parameter_set_number(
            answer, (struct pb_estimate){entries, entries, entries}, pb_votes_confidence(&votes),
            "the capacity edges of %zu strides leave only this number", view->level->count);
        state_ways(at, view);
    }
}

static void state_penalty(const struct pb_case *at, const struct pb_rise_view *view)
{
    struct pb_votes votes = {0, 0};

    pb_votes_add_many(&votes, view->whole, view->whole);
    if (view->whole < 2)
        pb_votes_doubt(&votes);
    pb_parameter_set_number(pb_case_answer(at, "penalty_cycles"), view->penalty,
                            pb_votes_confidence(&votes),
                            "M16 4.4, each line compared with itself: the latency step where every "
                            "page misses, by %zu strides",
                            view->whole);
}

/* The smallest footprint of which single lines miss; 0: none does. */
static uint64_t first_miss_bytes(const struct pb_rise_view *view)
{
    uint64_t least = 0;

    for (size_t i = 0; i < pb_rise_count_near(view); i++) {
        uint64_t bytes =
            view->level->steps[i]->overflow_pages * view->level->sweeps[i]->stride_bytes;

        if (view->level->steps[i]->sharp && (least == 0 || bytes < least))
            least = bytes;
    }
    return least;
}

/* By its sets, where single lines show them; else by what the strides leave. PB_NO_MEMORY. */
static enum pb_status state_size(const struct pb_case *at, const struct pb_rise_view *view,
                                 struct pb_error *err)
{
    uint64_t miss_bytes = first_miss_bytes(view);
    enum pb_status status = PB_NOT_FOUND;
    struct pb_tlb_sets sets;

    if (view->span_bytes > 0 && miss_bytes > 0)
        status = pb_tlb_find_sets(at->recordings, 2, view->span_bytes,
                                  (double)(miss_bytes / view->span_bytes), view->penalty.value,
                                  &sets, err);
    if (status == PB_OK) {
        pb_tlb_state_sets(at, &sets, view->span_bytes, miss_bytes);
        return PB_OK;
    }
    if (status == PB_NO_MEMORY)
        return status;
    state_entries(at, view);
    state_reach(at, view);
    return PB_OK;
}

enum pb_status pb_infer_tlb_rise(const struct pb_case *at, size_t level, double most_cycles,
                                 struct pb_error *err)
{
    struct pb_rise_level found;
    struct pb_rise rise;
    struct pb_rise_view view;
    enum pb_status status = pb_rise_find(at->recordings, 2, most_cycles, &rise, err);

    if (status == PB_OK)
        status = pb_rise_level(&rise, level, &found, err);
    if (status != PB_OK)
        return status;
    if (!pb_rise_look(&found, &view))
        return pb_fail(err, PB_NOT_FOUND,
                       "%zu strides show a latency step, but none was measured beyond it",
                       found.count);
    state_penalty(at, &view);
    state_span(at, &view);
    status = state_size(at, &view, err);
    pb_tlb_doubt_span(at, found.sweeps[0]->stride_bytes);
    return status;
}
