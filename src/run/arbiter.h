/*
 * The arbiter of a node: when its GPUs take the steps that they share.
 *
 * The order of these steps is fixed by the list of tests before anything is measured:
 *
 *   1. Each member in turn has the host link for itself, for its exclusive tests.
 *   2. Concurrent tests follow in the order of the list. In each, the barriers 0, 1, … are passed
 *      by all members at once; a last step may be exclusive: each member has it in turn while the
 *      others do nothing but wait.
 *
 * So where a member stands is one number, its position, and what it waits for follows from it. A
 * member whose tests are done, were not selected or have failed stands behind them and is not
 * waited for. One process of the node has the arbiter; the others send it their position when it
 * changes, and get a BEGIN for each step.
 *
 * A probe that hangs is killed by its own supervisor, whose rank then reports that it stands behind
 * that test. Who does not report at all while others wait is waited for timeout_seconds and then
 * left out until its next message; a barrier that was passed without it counts as missed.
 *
 * Limit: it knows nothing of MPI, probes or clocks: messages and the time come from the caller.
 */
#ifndef PB_RUN_ARBITER_H
#define PB_RUN_ARBITER_H

#include <stdbool.h>

#include "run/messages.h"

/* Positions: 0 with exclusive tests left, (index of a concurrent test + 1) * STEPS + step, END. */
enum { PB_NODE_STEPS = PB_STEP_EXCLUSIVE + 1 };
#define PB_NODE_IDLE (INT64_MAX - 1) /* no step is left; other tests may be */
#define PB_NODE_END  INT64_MAX       /* the member sends no more messages */

enum pb_node_message_kind {
    PB_NODE_PLACE, /* to the arbiter: where the member stands */
    PB_NODE_BEGIN, /* from the arbiter: the step at that position begins */
    PB_NODE_OVER,  /* from the arbiter: all members are at the end */
};

/* A plain block of bytes. */
struct pb_node_message {
    int64_t kind; /* enum pb_node_message_kind; says which payload it has */
    union {
        struct pb_node_place {
            int64_t position;
            int64_t waits; /* 1: its probe waits there, 0: it is busy */
        } place;
        struct pb_node_begin {
            int64_t position;
            int64_t count; /* members that begin now; 0: the others were there before */
        } begin;
    } payload;
};

/* Where a member stands: tests in their order, is_left[] says which are to be measured. ready: what
 * its probe waits for; NULL: for nothing. */
struct pb_node_place pb_node_place_of(const struct pb_test_list *tests, const bool *is_left,
                                      const struct pb_ready *ready);

struct pb_arbiter;

/* All members stand at 0. timeout_seconds: see above. */
enum pb_status pb_arbiter_create(size_t member_count, double timeout_seconds,
                                 struct pb_arbiter **arbiter_out, struct pb_error *err);
void pb_arbiter_free(struct pb_arbiter *arbiter); /* NULL is allowed */

/* Takes a member's place. seconds: of any clock that never goes back. */
void pb_arbiter_place(struct pb_arbiter *arbiter, size_t member, const struct pb_node_place *place,
                      double seconds);

/* The next BEGIN that is due now; false: none is. To be called until then. */
bool pb_arbiter_next_begin(struct pb_arbiter *arbiter, double seconds, size_t *member_out,
                           struct pb_node_begin *begin_out);

/* Are all members at the end? */
bool pb_arbiter_is_over(const struct pb_arbiter *arbiter);

#endif
