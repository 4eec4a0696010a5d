/*
 * Private to infer_tlb_rise.c: what the steps of one level leave, put together: its penalty, what
 * an entry spans, and how many entries there are.
 */
#ifndef PB_ANALYSIS_TLB_RISE_VIEW_H
#define PB_ANALYSIS_TLB_RISE_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/parameter.h"
#include "analysis/tlb/rise.h"

/* What is made of one level. */
struct pb_rise_view {
    const struct pb_rise_level *level;
    struct pb_estimate penalty;
    size_t whole;        /* strides that show the penalty as a whole */
    uint64_t span_bytes; /* 0: open */
    size_t span_shares;  /* smaller rises that foretell it, */
    size_t span_others;  /* or another one */
    bool at_most;        /* no stride is smaller than the span */
    double entries_low, entries_high;
};

/* Looks at a level, which must outlive the view. False: no stride is walked on behind its step. */
bool pb_rise_look(const struct pb_rise_level *level, struct pb_rise_view *view_out);

/* Is a step the whole penalty? A sweep over other addresses may go a longer way: then it is more.
 */
bool pb_rise_is_whole(const struct pb_rise_step *step, double penalty_cycles);

/*
 * Is there a better view of where this step begins, among the first strides? Sets that overflow one
 * by one hide it.
 */
bool pb_rise_is_blurred(const struct pb_rise_view *view, size_t i, size_t strides);

/* Strides whose reach is the same in bytes: up to the span, or the first one alone. */
size_t pb_rise_count_near(const struct pb_rise_view *view);

#endif
