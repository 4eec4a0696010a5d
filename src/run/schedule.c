/* The order of a device's tests among those of its node; see schedule.h. */
#include "run/schedule.h"

#include <stdlib.h>

struct pb_schedule {
    const struct pb_test *const *tests;
    size_t reached; /* tests before this one were run, or are exclusive */
    bool was_run[]; /* [tests] */
};

enum pb_status pb_schedule_create(const struct pb_test *const *tests,
                                  struct pb_schedule **schedule_out, struct pb_error *err)
{
    struct pb_schedule *schedule;
    size_t count = 0;

    while (tests[count] != NULL)
        count++;
    schedule = calloc(1, sizeof(*schedule) + count * sizeof(schedule->was_run[0]));
    if (schedule == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu tests", count);
    schedule->tests = tests;
    *schedule_out = schedule;
    return PB_OK;
}

void pb_schedule_free(struct pb_schedule *schedule)
{
    free(schedule);
}

static bool has_use(const struct pb_test *test, enum pb_link_use use)
{
    return test != NULL && pb_test_link_use(test) == use;
}

static struct pb_schedule_step run(struct pb_schedule *schedule, size_t at)
{
    schedule->was_run[at] = true;
    return (struct pb_schedule_step){PB_SCHEDULE_RUN, schedule->tests[at]};
}

/* The first exclusive test that was not run; the end of the list: there is none. */
static size_t find_exclusive(const struct pb_schedule *schedule)
{
    size_t at = 0;

    while (schedule->tests[at] != NULL &&
           (schedule->was_run[at] || !has_use(schedule->tests[at], PB_LINKS_EXCLUSIVE)))
        at++;
    return at;
}

struct pb_schedule_step pb_schedule_next(struct pb_schedule *schedule, bool has_links)
{
    size_t exclusive = find_exclusive(schedule);
    const struct pb_test *next;
    bool waits;

    while (has_use(schedule->tests[schedule->reached], PB_LINKS_EXCLUSIVE))
        schedule->reached++;
    next = schedule->tests[schedule->reached];
    waits =
        schedule->tests[exclusive] != NULL && (next == NULL || has_use(next, PB_LINKS_CONCURRENT));
    if (has_links && (waits || exclusive < schedule->reached))
        return run(schedule, exclusive);
    if (waits)
        return (struct pb_schedule_step){PB_SCHEDULE_AWAIT_LINKS, schedule->tests[exclusive]};
    if (next == NULL)
        return (struct pb_schedule_step){PB_SCHEDULE_END, NULL};
    return run(schedule, schedule->reached++);
}
