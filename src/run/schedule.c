/* The order of a device's tests among those of its node; see schedule.h. */
#include "run/schedule.h"

#include <stdlib.h>

struct pb_schedule {
    const struct pb_test *const *tests;
    size_t reached;    /* tests before this one were run or put off */
    int64_t turn_left; /* tests that the turn still covers */
    bool has_tried;    /* since a test was last run */
    bool was_run[];    /* [tests] */
};

enum pb_status pb_schedule_create(const struct pb_test *const *tests,
                                  struct pb_schedule **agenda_out, struct pb_error *err)
{
    struct pb_schedule *schedule;
    size_t count = 0;

    while (tests[count] != NULL)
        count++;
    schedule = calloc(1, sizeof(*schedule) + count * sizeof(schedule->was_run[0]));
    if (schedule == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu tests", count);
    schedule->tests = tests;
    *agenda_out = schedule;
    return PB_OK;
}

void pb_schedule_free(struct pb_schedule *schedule)
{
    free(schedule);
}

static bool wishes(const struct pb_test *test, enum pb_link_use wish)
{
    return test != NULL && pb_test_link_use(test) == wish;
}

/* The first test that was put off; `reached`: there is none. *count_out: of all of them. */
static size_t find_put_off(const struct pb_schedule *schedule, int64_t *count_out)
{
    size_t first = schedule->reached;
    int64_t count = 0;

    for (size_t i = schedule->reached; i-- > 0;) {
        if (schedule->was_run[i])
            continue;
        first = i;
        count++;
    }
    *count_out = count;
    return first;
}

static struct pb_schedule_step run(struct pb_schedule *schedule, size_t at)
{
    schedule->was_run[at] = true;
    schedule->has_tried = false;
    return (struct pb_schedule_step){PB_SCHEDULE_RUN, schedule->tests[at], 0};
}

struct pb_schedule_step pb_schedule_next(struct pb_schedule *schedule)
{
    const struct pb_test *next;
    size_t put_off;
    int64_t count;
    bool is_last;

    while (wishes(schedule->tests[schedule->reached], PB_LINKS_EXCLUSIVE))
        schedule->reached++; /* not without a turn */
    put_off = find_put_off(schedule, &count);
    next = schedule->tests[schedule->reached];
    is_last = next == NULL || wishes(next, PB_LINKS_CONCURRENT);
    if (schedule->turn_left > 0) {
        schedule->turn_left--;
        return run(schedule, put_off);
    }
    if (count > 0 && (is_last || !schedule->has_tried))
        return (struct pb_schedule_step){is_last ? PB_SCHEDULE_AWAIT_LINKS : PB_SCHEDULE_TRY_LINKS,
                                         schedule->tests[put_off], count};
    if (next == NULL)
        return (struct pb_schedule_step){PB_SCHEDULE_END, NULL, 0};
    return run(schedule, schedule->reached++);
}

void pb_schedule_answer(struct pb_schedule *schedule, bool granted)
{
    int64_t count;

    schedule->has_tried = true;
    find_put_off(schedule, &count);
    schedule->turn_left = granted ? count : 0;
}
