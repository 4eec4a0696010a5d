/*
 * The schedule of a device: which of its tests comes next, and when the node's others are asked
 * first.
 *
 * Tests come in the order given, but for those that want the node's links for themselves. Such a
 * test is put off while another GPU has the links, and asked for again before every test that
 * follows, so that links are free for as short as possible. A turn covers all that was put off and
 * all of them that come next. Before a test for which the GPUs meet, and at the end, nothing is put
 * off any more: then the device waits for its turn.
 *
 * Limit: it asks nobody and runs nothing; both are its caller's.
 */
#ifndef PB_RUN_SCHEDULE_H
#define PB_RUN_SCHEDULE_H

#include <stdbool.h>

#include "battery/battery.h"

enum pb_schedule_kind {
    PB_SCHEDULE_RUN,         /* run this test */
    PB_SCHEDULE_TRY_LINKS,   /* ask for a turn, now or not at all: pb_schedule_answer() */
    PB_SCHEDULE_AWAIT_LINKS, /* ask for a turn and wait for it: pb_schedule_answer() */
    PB_SCHEDULE_END,         /* every test has been run */
};

struct pb_schedule_step {
    enum pb_schedule_kind kind;
    const struct pb_test *test; /* to be run, or the first of the turn's */
    int64_t count;              /* tests that the turn is asked for */
};

struct pb_schedule;

/* Of tests[], which ends with NULL and must outlive the schedule. */
enum pb_status pb_schedule_create(const struct pb_test *const *tests,
                                  struct pb_schedule **agenda_out, struct pb_error *err);
void pb_schedule_free(struct pb_schedule *schedule); /* NULL is allowed */

/* What comes next. A test that is to be run counts as run. */
struct pb_schedule_step pb_schedule_next(struct pb_schedule *schedule);

/* The answer to what was asked last. */
void pb_schedule_answer(struct pb_schedule *schedule, bool granted);

#endif
