/*
 * The agenda of a device: which of its tests comes next, and when the node's others are asked
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
#ifndef PB_RUN_AGENDA_H
#define PB_RUN_AGENDA_H

#include <stdbool.h>

#include "battery/battery.h"

enum pb_agenda_kind {
    PB_AGENDA_RUN,  /* run this test */
    PB_AGENDA_TRY,  /* ask for a turn, now or not at all: pb_agenda_answer() */
    PB_AGENDA_TURN, /* ask for a turn and wait for it: pb_agenda_answer() */
    PB_AGENDA_END,  /* every test has been run */
};

struct pb_agenda_step {
    enum pb_agenda_kind kind;
    const struct pb_test *test; /* to be run, or the first of the turn's */
    int64_t count;              /* tests that the turn is asked for */
};

struct pb_agenda;

/* Of tests[], which ends with NULL and must outlive the agenda. */
enum pb_status pb_agenda_create(const struct pb_test *const *tests, struct pb_agenda **agenda_out,
                                struct pb_error *err);
void pb_agenda_free(struct pb_agenda *agenda); /* NULL is allowed */

/* What comes next. A test that is to be run counts as run. */
struct pb_agenda_step pb_agenda_next(struct pb_agenda *agenda);

/* The answer to what was asked last. */
void pb_agenda_answer(struct pb_agenda *agenda, bool granted);

#endif
