/*
 * The order of a device's tests: the list's, but for tests that need the node's host link for
 * themselves. These run as soon as the device has the link and the list has come to them; until
 * then the tests that follow run. Before a concurrent test, and at the end, none is put off any
 * more: then the device waits for the link.
 *
 * Limit: it waits for nothing and runs nothing; both are its caller's.
 */
#ifndef PB_RUN_SCHEDULE_H
#define PB_RUN_SCHEDULE_H

#include <stdbool.h>

#include "battery/battery.h"

enum pb_schedule_kind {
    PB_SCHEDULE_RUN,         /* run this test */
    PB_SCHEDULE_AWAIT_LINKS, /* wait for the host link, for this test */
    PB_SCHEDULE_END,         /* every test has been run */
};

struct pb_schedule_step {
    enum pb_schedule_kind kind;
    const struct pb_test *test;
};

struct pb_schedule;

/* Of tests[], which ends with NULL and must outlive the schedule. */
enum pb_status pb_schedule_create(const struct pb_test *const *tests,
                                  struct pb_schedule **schedule_out, struct pb_error *err);
void pb_schedule_free(struct pb_schedule *schedule); /* NULL is allowed */

/* What comes next. A test that is to be run counts as run. has_links: the host link is its own. */
struct pb_schedule_step pb_schedule_next(struct pb_schedule *schedule, bool has_links);

#endif
