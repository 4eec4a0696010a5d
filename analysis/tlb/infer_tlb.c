/*
 * page_bytes, entry_count, entry_coverage_bytes, reach_bytes, penalty_cycles, sets and index of a
 * level of translation, by kinds of access: infer_tlb_span.c looks at reach and span,
 * infer_tlb_ways.c at sets. Where L2's own hits come in several kinds, infer_tlb_rise.c does it
 * all.
 *
 * Source: M16 section 4.4.
 */
#include "analysis/infer.h"

#include <math.h>
#include <string.h>

#include "analysis/confidence.h"
#include "analysis/tlb/infer_tlb.h"
#include "analysis/tlb/tlb.h"
#include "analysis/tlb/tlb_crowd.h"
#include "analysis/trace.h"

/* A walk of fewer loads says little. */
enum { LOADS_MIN = 16 };

/* Accesses of the longest laps that all hit the level by which it was asked. */
static uint64_t count_asked(const struct pb_tlb_view *view)
{
    const struct pb_tlb *tlb = view->tlb;
    uint64_t most = 0;

    for (size_t i = 0; i < tlb->walk_count && view->level > 1; i++) {
        const struct pb_tlb_walk *walk = &tlb->walks[i];
        uint64_t asked = 0;

        if (walk->stride_bytes != view->step_bytes || !pb_tlb_is_whole(walk) ||
            walk->left_out > 0 || walk->pages * walk->stride_bytes != view->fits_bytes)
            continue;
        for (size_t k = 0; k < walk->accesses.count; k++)
            asked += pb_tlb_misses(tlb, walk, k, view->level - 1);
        most = asked > most ? asked : most;
    }
    return most;
}

/*
 * Where laps are recorded in part, or a hash fills sets unevenly, few are seen to overflow one
 * after the other; pages that begin to miss together may tell the index all the same, and that the
 * rest. PB_NOT_FOUND: not here; PB_NO_MEMORY.
 */
static enum pb_status state_by_index(const struct pb_case *at, const struct pb_tlb_view *view,
                                     struct pb_error *err)
{
    struct pb_tlb_sets sets;
    enum pb_status status =
        pb_tlb_find_sets_of(view->tlb, view->level, view->span_bytes, &sets, err);

    if (status == PB_OK)
        pb_tlb_state_sets(at, &sets, view->span_bytes, view->next_bytes);
    return status;
}

/* Entries and ways, where reach and span are known finely enough. */
static enum pb_status state_entries(const struct pb_case *at, const struct pb_tlb_view *view,
                                    double confidence, struct pb_error *err)
{
    struct pb_parameter *answer = pb_case_answer(at, "entry_count");
    double span = (double)view->span_bytes;
    double fits = floor((double)view->fits_bytes / span);
    double most = ceil((double)view->next_bytes / span) - 1.0;
    enum pb_status status;

    if (fits < 1.0 || most > fits) {
        pb_parameter_set_none(answer, "sweep resolution too coarse: %.0f to %.0f entries", fits,
                              most);
        pb_parameter_set_none(pb_case_answer(at, "way_counts"), "entry_count is not determined");
        status = state_by_index(at, view, err);
        return status == PB_NOT_FOUND ? PB_OK : status;
    }
    pb_parameter_set_number(
        answer, (struct pb_estimate){fits, floor(fits * (1.0 - view->slack)), fits}, confidence,
        "reach of %llu bytes by span of %.0f", (unsigned long long)view->fits_bytes, span);
    status = pb_tlb_state_ways(at, view, (uint64_t)fits, confidence, err);
    if (status == PB_OK && pb_case_answer(at, "way_counts")->kind == PB_VALUE_NONE) {
        status = state_by_index(at, view, err);
        if (status != PB_NOT_FOUND)
            return status;
        status = PB_OK;
        pb_tlb_doubt_onset(at, view, (uint64_t)fits);
    }
    pb_tlb_doubt_count(at, (uint64_t)fits, count_asked(view));
    return status;
}

static void leave_open(const struct pb_case *at, const struct pb_tlb_view *view)
{
    static const char *const others[] = {"entry_count", "way_counts", "page_bytes"};

    pb_parameter_set_none(
        pb_case_answer(at, "entry_coverage_bytes"),
        view->disputed
            ? "contradictory: single misses and the strides of equal reach give different spans"
            : "no stride with misses resolves the pages of one entry");
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        pb_parameter_set_none(pb_case_answer(at, others[i]),
                              "entry_coverage_bytes is undetermined");
}

static void state_reach(const struct pb_case *at, const struct pb_tlb_view *view, double confidence)
{
    double fits = (double)view->fits_bytes, next = (double)view->next_bytes;

    pb_parameter_set_number(
        pb_case_answer(at, "reach_bytes"),
        (struct pb_estimate){fits, fits * (1.0 - view->slack),
                             fmax(fits, next - (double)view->step_bytes)},
        confidence,
        "M16 4.4: largest footprint without misses, pages %llu bytes apart; %.0f misses",
        (unsigned long long)view->step_bytes, next);
}

/*
 * Where smaller strides do not show the level, its pages must tell an entry: larger strides that
 * keep the reach may leave out half of the sets each.
 */
static bool is_far_only(const struct pb_tlb_view *view)
{
    return view->stride_bytes > view->tlb->strides[0] && !view->sure;
}

static enum pb_status state_level(const struct pb_case *at, const struct pb_tlb_view *view,
                                  struct pb_error *err)
{
    double span = (double)view->span_bytes, page = (double)view->tlb->strides[0], confidence;
    struct pb_votes votes = {0, 0};

    pb_votes_add_many(&votes, view->onset.agreeing, view->onset.seen);
    confidence = view->onset.posterior * pb_votes_confidence(&votes);
    if (is_far_only(view))
        pb_parameter_set_none(pb_case_answer(at, "reach_bytes"),
                              "sweep resolution too coarse: misses were only observed %llu bytes "
                              "apart, perhaps more than one entry covers",
                              (unsigned long long)view->stride_bytes);
    else
        state_reach(at, view, confidence);
    if (view->strides == 0 || is_far_only(view) || view->disputed) {
        leave_open(at, view);
        return PB_OK;
    }
    pb_parameter_set_number(
        pb_case_answer(at, "entry_coverage_bytes"), (struct pb_estimate){span, span, span},
        confidence,
        "pages that hit and miss together, and strides of equal reach: %zu of %zu larger ones",
        view->strides_agreeing, view->strides);
    pb_parameter_set_number(
        pb_case_answer(at, "page_bytes"), (struct pb_estimate){page, 0.0, page}, confidence / 2.0,
        "every step of the smallest stride needs a translation; smaller pages are not excluded");
    return state_entries(at, view, confidence, err);
}

/* Slower than hits of the level, and not because it misses L2? */
static bool is_slow(const struct pb_tlb *tlb, const struct pb_tlb_walk *walk, size_t i,
                    size_t level)
{
    double cycles = pb_access_cycles(&walk->accesses, i), most = tlb->bands[level - 1].high;

    return cycles > most &&
           (cycles - tlb->dram_cycles > most || cycles - tlb->dram_cycles < tlb->bands[0].low);
}

/*
 * Are more loads slow than pages of the smallest stride could be missed? Each of those is asked
 * for once in a lap, and never within half of the reach.
 */
static bool misses_too_often(const struct pb_tlb_view *view, const struct pb_tlb_walk *walk)
{
    uint64_t page = view->tlb->strides[0];
    double loads = (double)walk->accesses.count, slow = 0.0;
    double pages = loads * (double)walk->stride_bytes / (double)page;

    for (size_t i = 0; i < walk->accesses.count; i++)
        slow += is_slow(view->tlb, walk, i, view->level);
    if (walk->accesses.count < LOADS_MIN)
        return false;
    if (2 * walk->pages * walk->stride_bytes <= view->fits_bytes && slow > loads / 4.0)
        return true;
    return slow > 1.5 * pages + loads / 16.0;
}

static enum pb_status check_level(const struct pb_tlb *fine, const struct pb_tlb_view *view,
                                  struct pb_error *err)
{
    for (size_t i = 0; i < fine->walk_count; i++)
        if (misses_too_often(view, &fine->walks[i]))
            return pb_fail(
                err, PB_UNSUPPORTED,
                "sweep resolution too coarse: loads %llu bytes apart miss within %llu bytes, so "
                "that pages are smaller than the strides",
                (unsigned long long)fine->walks[i].stride_bytes,
                (unsigned long long)(fine->walks[i].pages * fine->walks[i].stride_bytes));
    return PB_OK;
}

/* Would smaller pages of this level show? Else those of the level before speak for it. */
static bool is_seen(const struct pb_tlb *fine, const struct pb_tlb_view *view)
{
    bool seen = view->span_bytes > view->tlb->strides[0];

    for (size_t i = 0; i < fine->walk_count; i++)
        seen |= fine->walks[i].pages * fine->walks[i].stride_bytes > view->fits_bytes;
    return seen;
}

/*
 * Loads nearer to each other than any stride of the walks that miss too often: pages are smaller,
 * each load of the walks takes entries that are far apart, and neither their number nor what they
 * cost is what it seems. Without such walks nothing is known of it.
 */
static enum pb_status check_pages(const struct pb_case *at, const struct pb_tlb_l2 *l2,
                                  const struct pb_tlb_view *view, struct pb_error *err)
{
    struct pb_tlb fine = {NULL};
    struct pb_tlb_view before = *view;
    enum pb_status status = pb_tlb_read_fine(&at->recordings[0], &fine, err);

    if (status == PB_OK)
        status = pb_tlb_leave_out_crowded(&fine, l2, err);
    if (status == PB_OK)
        status = check_level(&fine, view, err);
    while (status == PB_OK && before.level > 1 && !is_seen(&fine, &before)) {
        status = pb_tlb_look(view->tlb, before.level - 1, &before, err);
        if (status == PB_OK)
            status = check_level(&fine, &before, err);
    }
    pb_tlb_clear(&fine);
    return status == PB_NOT_FOUND ? PB_OK : status;
}

static void state_penalty(const struct pb_case *at, const struct pb_tlb *tlb, size_t level)
{
    struct pb_estimate miss = tlb->cycles[level], hit = tlb->cycles[level - 1];
    struct pb_votes votes = {0, 0};
    size_t seen = 0;

    for (size_t i = 0; i < tlb->walk_count; i++) {
        const struct pb_accesses *walk = &tlb->walks[i].accesses;
        bool found = false;

        for (size_t k = 0; k < walk->count && !found; k++)
            found = pb_band_holds(tlb->bands[level], pb_access_cycles(walk, k));
        seen += found;
    }
    pb_votes_add_share(&votes, seen, seen, 30);
    pb_parameter_set_number(
        pb_case_answer(at, "penalty_cycles"),
        (struct pb_estimate){miss.value - hit.value,
                             fmin(miss.value - hit.value, miss.low - hit.high),
                             fmax(miss.value - hit.value, miss.high - hit.low)},
        pb_votes_confidence(&votes),
        "M16 4.4: accesses of %zu passes take %.0f cycles, those that hit this level %.0f", seen,
        miss.value, hit.value);
}

/* The level by its memory's name. */
static size_t level_of(const struct pb_case *at)
{
    return (size_t)(at->inference->memory[strlen("tlb_l")] - '0');
}

/* Plain memory, and where the device can do it, one block mapped over and over. */
static enum pb_status infer_level(const struct pb_case *at, struct pb_error *err)
{
    double dram = pb_parameters_number(at->parameters, "dram", "latency_cycles");
    double l2 = pb_parameters_number(at->parameters, "l2", "latency_cycles");
    size_t level = level_of(at);
    struct pb_tlb tlb = {NULL};
    struct pb_tlb_l2 lines;
    struct pb_tlb_view view;
    enum pb_status status;

    if (isnan(dram - l2))
        return pb_fail(
            err, PB_NOT_FOUND,
            "needs the latencies of l2 and dram, to distinguish L2 misses from TLB misses");
    lines = pb_tlb_l2_read(at->parameters);
    status = pb_tlb_open(at->recordings, 2, dram - l2, &lines, &tlb, err);
    if (status == PB_UNSUPPORTED) /* a line is delayed by less than a miss of L2, or disturbed */
        return pb_infer_tlb_rise(at, level, (dram - l2) / 2.0, err);
    if (status == PB_OK)
        status = pb_tlb_look(&tlb, level, &view, err);
    if (status == PB_OK)
        status = check_pages(at, &lines, &view, err);
    if (status == PB_OK) {
        state_penalty(at, &tlb, level);
        status = state_level(at, &view, err);
        pb_tlb_doubt_span(at, tlb.strides[0]);
    }
    pb_tlb_clear(&tlb);
    return status;
}

enum pb_status pb_infer_tlb(const struct pb_case *at, struct pb_error *err)
{
    enum pb_status status = infer_level(at, err);

    if (status == PB_OK)
        pb_tlb_leave_sets_open(at);
    return status;
}
