/* The shared steps of a node's GPUs; see arbiter.h. */
#include "run/arbiter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "battery/battery.h"

struct member {
    struct pb_node_place place;
    bool is_begun; /* a BEGIN was sent, and no place since */
    bool is_late;  /* it is left out until its next message */
    double since;  /* of its last message, or of its last BEGIN */
    int64_t due;   /* members that begin with it, by a BEGIN not yet fetched; NOT_DUE */
};

struct pb_arbiter {
    size_t member_count;
    double timeout_seconds;
    int64_t passed; /* the last barrier that was passed */
    struct member members[];
};

static const int64_t NOT_DUE = -1;

/* ---- positions ---- */

static bool is_exclusive(int64_t position)
{
    return position == 0 || position % PB_NODE_STEPS == PB_STEP_EXCLUSIVE;
}

struct pb_node_place pb_node_place_of(const struct pb_test_list *tests, const bool *is_left,
                                      const struct pb_ready *ready)
{
    struct pb_node_place place = {PB_NODE_IDLE, ready != NULL};

    for (size_t i = tests->count; i-- > 0;) {
        const struct pb_test_spec *spec = &tests->specs[i];

        if (is_left[i] && spec->link_use == PB_LINKS_EXCLUSIVE)
            return (struct pb_node_place){0, ready != NULL};
        if (!is_left[i] || spec->link_use != PB_LINKS_CONCURRENT)
            continue;
        place.position = (int64_t)(i + 1) * PB_NODE_STEPS;
        if (ready != NULL && strcmp(ready->test, spec->name) == 0)
            place.position += ready->step;
    }
    return place;
}

/* ---- members ---- */

enum pb_status pb_arbiter_create(size_t member_count, double timeout_seconds,
                                 struct pb_arbiter **arbiter_out, struct pb_error *err)
{
    struct pb_arbiter *arbiter =
        calloc(1, sizeof(*arbiter) + member_count * sizeof(arbiter->members[0]));

    if (arbiter == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory for the %zu ranks of a node",
                       member_count);
    arbiter->member_count = member_count;
    arbiter->timeout_seconds = timeout_seconds;
    for (size_t i = 0; i < member_count; i++)
        arbiter->members[i].due = NOT_DUE;
    *arbiter_out = arbiter;
    return PB_OK;
}

void pb_arbiter_free(struct pb_arbiter *arbiter)
{
    free(arbiter);
}

void pb_arbiter_place(struct pb_arbiter *arbiter, size_t at, const struct pb_node_place *place,
                      double seconds)
{
    arbiter->members[at] = (struct member){.place = *place, .since = seconds, .due = NOT_DUE};
}

bool pb_arbiter_is_over(const struct pb_arbiter *arbiter)
{
    for (size_t i = 0; i < arbiter->member_count; i++)
        if (arbiter->members[i].place.position != PB_NODE_END)
            return false;
    return true;
}

/* ---- steps ---- */

/* It waits at its position, and nothing was answered yet. */
static bool is_waiting(const struct member *member)
{
    return member->place.waits != 0 && !member->is_begun && !member->is_late;
}

/* The first position at which a member waits; since when; PB_NODE_END: none waits. */
static int64_t first_waiting(const struct pb_arbiter *arbiter, double *since_out)
{
    int64_t first = PB_NODE_END;

    *since_out = INFINITY;
    for (size_t i = 0; i < arbiter->member_count; i++) {
        const struct member *member = &arbiter->members[i];

        if (!is_waiting(member))
            continue;
        *since_out = fmin(*since_out, member->since);
        first = member->place.position < first ? member->place.position : first;
    }
    return first;
}

/* Those at `position` cannot take their step before this member has done something. */
static bool is_awaited(const struct member *member, int64_t position)
{
    return !member->is_late && !is_waiting(member) &&
           (member->is_begun || member->place.position <= position);
}

/* Leaves out those that are waited for too long. */
static void find_late(struct pb_arbiter *arbiter, double seconds)
{
    double waiting_since;
    int64_t position = first_waiting(arbiter, &waiting_since);

    for (size_t i = 0; i < arbiter->member_count && position != PB_NODE_END; i++) {
        struct member *member = &arbiter->members[i];

        member->is_late |= is_awaited(member, position) &&
                           seconds - fmax(waiting_since, member->since) > arbiter->timeout_seconds;
    }
}

static void begin(struct member *member, int64_t count, double seconds)
{
    member->due = count;
    member->is_begun = count > 0;
    member->since = seconds;
}

/* The first member with exclusive tests left has the host link, wherever the others stand. */
static bool begin_exclusive(struct pb_arbiter *arbiter, double seconds)
{
    for (size_t i = 0; i < arbiter->member_count; i++) {
        struct member *member = &arbiter->members[i];

        if (member->is_late || member->place.position != 0)
            continue;
        begin(member, 1, seconds);
        return true;
    }
    return false;
}

/* All who wait at `position` begin; at an exclusive step the first of them alone. */
static void begin_at(struct pb_arbiter *arbiter, int64_t position, double seconds)
{
    int64_t count = 0;

    for (size_t i = 0; i < arbiter->member_count; i++)
        count += is_waiting(&arbiter->members[i]) && arbiter->members[i].place.position == position;
    for (size_t i = 0; i < arbiter->member_count; i++) {
        struct member *member = &arbiter->members[i];

        if (!is_waiting(member) || member->place.position != position)
            continue;
        begin(member, is_exclusive(position) ? 1 : count, seconds);
        if (is_exclusive(position))
            return;
    }
    arbiter->passed = position;
}

/* Barriers that the others have passed: who comes now has missed them. */
static void answer_missed(struct pb_arbiter *arbiter, double seconds)
{
    for (size_t i = 0; i < arbiter->member_count; i++) {
        struct member *member = &arbiter->members[i];

        if (!is_waiting(member) || is_exclusive(member->place.position) ||
            member->place.position > arbiter->passed)
            continue;
        begin(member, 0, seconds);
        member->place.waits = 0;
    }
}

static void begin_steps(struct pb_arbiter *arbiter, double seconds)
{
    double waiting_since;
    int64_t position;

    answer_missed(arbiter, seconds);
    find_late(arbiter, seconds);
    for (size_t i = 0; i < arbiter->member_count; i++)
        if (arbiter->members[i].is_begun && !arbiter->members[i].is_late)
            return; /* one step at a time */
    if (begin_exclusive(arbiter, seconds))
        return;
    position = first_waiting(arbiter, &waiting_since);
    for (size_t i = 0; i < arbiter->member_count; i++)
        if (is_awaited(&arbiter->members[i], position))
            return;
    if (position != PB_NODE_END)
        begin_at(arbiter, position, seconds);
}

bool pb_arbiter_next_begin(struct pb_arbiter *arbiter, double seconds, size_t *member_out,
                           struct pb_node_begin *begin_out)
{
    begin_steps(arbiter, seconds);
    for (size_t i = 0; i < arbiter->member_count; i++) {
        struct member *member = &arbiter->members[i];

        if (member->due == NOT_DUE)
            continue;
        *begin_out = (struct pb_node_begin){member->place.position, member->due};
        *member_out = i;
        member->due = NOT_DUE;
        return true;
    }
    return false;
}
