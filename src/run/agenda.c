/* The order of a device's tests among those of its node; see agenda.h. */
#include "run/agenda.h"

#include <stdlib.h>

struct pb_agenda {
    const struct pb_test *const *tests;
    size_t reached;    /* tests before this one were run or put off */
    int64_t turn_left; /* tests that the turn still covers */
    bool has_tried;    /* since a test was last run */
    bool was_run[];    /* [tests] */
};

enum pb_status pb_agenda_create(const struct pb_test *const *tests, struct pb_agenda **agenda_out,
                                struct pb_error *err)
{
    struct pb_agenda *agenda;
    size_t count = 0;

    while (tests[count] != NULL)
        count++;
    agenda = calloc(1, sizeof(*agenda) + count * sizeof(agenda->was_run[0]));
    if (agenda == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for %zu tests", count);
    agenda->tests = tests;
    *agenda_out = agenda;
    return PB_OK;
}

void pb_agenda_free(struct pb_agenda *agenda)
{
    free(agenda);
}

static bool wishes(const struct pb_test *test, enum pb_company_wish wish)
{
    return test != NULL && pb_test_company(test) == wish;
}

/* The first test that was put off; `reached`: there is none. *count_out: of all of them. */
static size_t find_put_off(const struct pb_agenda *agenda, int64_t *count_out)
{
    size_t first = agenda->reached;
    int64_t count = 0;

    for (size_t i = agenda->reached; i-- > 0;) {
        if (agenda->was_run[i])
            continue;
        first = i;
        count++;
    }
    *count_out = count;
    return first;
}

static struct pb_agenda_step run(struct pb_agenda *agenda, size_t at)
{
    agenda->was_run[at] = true;
    agenda->has_tried = false;
    return (struct pb_agenda_step){PB_AGENDA_RUN, agenda->tests[at], 0};
}

struct pb_agenda_step pb_agenda_next(struct pb_agenda *agenda)
{
    const struct pb_test *next;
    size_t put_off;
    int64_t count;
    bool is_last;

    while (wishes(agenda->tests[agenda->reached], PB_COMPANY_ALONE))
        agenda->reached++; /* not without a turn */
    put_off = find_put_off(agenda, &count);
    next = agenda->tests[agenda->reached];
    is_last = next == NULL || wishes(next, PB_COMPANY_TOGETHER);
    if (agenda->turn_left > 0) {
        agenda->turn_left--;
        return run(agenda, put_off);
    }
    if (count > 0 && (is_last || !agenda->has_tried))
        return (struct pb_agenda_step){is_last ? PB_AGENDA_TURN : PB_AGENDA_TRY,
                                       agenda->tests[put_off], count};
    if (next == NULL)
        return (struct pb_agenda_step){PB_AGENDA_END, NULL, 0};
    return run(agenda, agenda->reached++);
}

void pb_agenda_answer(struct pb_agenda *agenda, bool granted)
{
    int64_t count;

    agenda->has_tried = true;
    find_put_off(agenda, &count);
    agenda->turn_left = granted ? count : 0;
}
