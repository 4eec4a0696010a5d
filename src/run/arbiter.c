/* Links and barriers of a node's GPUs; see arbiter.h. */
#include "run/arbiter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct member {
    bool waits;      /* for a grant */
    bool is_due;     /* its grant can be fetched */
    bool has_left;   /* for good */
    bool is_late;    /* the others went on without it, and no message of it came since */
    bool in_section; /* from a barrier to its next message */
    struct pb_node_message request;
    int64_t granted;      /* the answer to it */
    size_t request_order; /* who requested first */
    double since;         /* of the request; in a section, when it began */
    int64_t *barriers;    /* [tests]: the first barrier that it may still come to */
};

struct pb_arbiter {
    struct pb_arbiter_rules rules;
    size_t request_count;
    struct member *holder;        /* of the links; NULL: they are free */
    double holder_since;          /* of the last one */
    double links_changed_seconds; /* when they were last granted or released */
    struct member members[];
};

/* The member comes to no barrier of a test any more. */
static const int64_t no_barrier = INT64_MAX;

enum pb_status pb_arbiter_create(const struct pb_arbiter_rules *rules,
                                 struct pb_arbiter **arbiter_out, struct pb_error *err)
{
    struct pb_arbiter *arbiter =
        calloc(1, sizeof(*arbiter) + rules->member_count * sizeof(arbiter->members[0]));
    bool is_whole = arbiter != NULL;

    for (size_t i = 0; i < rules->member_count && is_whole; i++) {
        arbiter->members[i].barriers =
            calloc(rules->tests->count + 1, sizeof(*arbiter->members[i].barriers));
        is_whole = arbiter->members[i].barriers != NULL;
    }
    if (!is_whole) {
        if (arbiter != NULL)
            arbiter->rules = *rules;
        pb_arbiter_free(arbiter);
        return pb_fail(err, PB_NO_MEMORY, "out of memory for the %zu ranks of a node",
                       rules->member_count);
    }
    arbiter->rules = *rules;
    *arbiter_out = arbiter;
    return PB_OK;
}

void pb_arbiter_free(struct pb_arbiter *arbiter)
{
    if (arbiter == NULL)
        return;
    for (size_t i = 0; i < arbiter->rules.member_count; i++)
        free(arbiter->members[i].barriers);
    free(arbiter);
}

/* The first barrier of a test that a member may come to; tests that nobody lists share one. */
static int64_t *barriers_of(const struct pb_arbiter *arbiter, struct member *member,
                            const char *test)
{
    const struct pb_test_list *tests = arbiter->rules.tests;
    size_t at = 0;

    while (at < tests->count && strcmp(tests->specs[at].name, test) != 0)
        at++;
    return &member->barriers[at];
}

/* ---- messages ---- */

/* What the member requested, or was granted, is over. */
static void release(struct pb_arbiter *arbiter, struct member *member, double seconds)
{
    member->waits = member->is_due = member->in_section = false;
    if (arbiter->holder != member)
        return;
    arbiter->holder = NULL;
    arbiter->links_changed_seconds = seconds;
}

void pb_arbiter_handle(struct pb_arbiter *arbiter, size_t at, const struct pb_node_message *message,
                       double seconds)
{
    struct member *member = &arbiter->members[at];

    member->is_late = false;
    switch (message->kind) {
    case PB_NODE_TRY_LINKS:
    case PB_NODE_AWAIT_LINKS:
    case PB_NODE_BARRIER:
        release(arbiter, member, seconds);
        member->waits = true;
        member->request = *message;
        member->request_order = arbiter->request_count++;
        member->since = seconds;
        break;
    case PB_NODE_PASS:
        *barriers_of(arbiter, member, message->payload.passed_test) = no_barrier;
        break;
    case PB_NODE_LEAVE:
        member->has_left = true;
        release(arbiter, member, seconds);
        break;
    default:
        release(arbiter, member, seconds);
    }
}

/* ---- links ---- */

/* Nobody has them, or has had them for too long. */
static bool links_are_free(const struct pb_arbiter *arbiter, double seconds)
{
    return arbiter->holder == NULL ||
           seconds - arbiter->holder_since > arbiter->rules.links_seconds;
}

/* The links are free, and nobody measures with the others. */
static bool may_grant_links(const struct pb_arbiter *arbiter, double seconds)
{
    for (size_t i = 0; i < arbiter->rules.member_count; i++)
        if (arbiter->members[i].in_section &&
            seconds - arbiter->members[i].since <= arbiter->rules.links_seconds)
            return false;
    return links_are_free(arbiter, seconds);
}

/* Of those who request the links, the first. */
static struct member *first_request(struct pb_arbiter *arbiter)
{
    struct member *first = NULL;

    for (size_t i = 0; i < arbiter->rules.member_count; i++) {
        struct member *member = &arbiter->members[i];

        if (member->waits && !member->is_due && member->request.kind != PB_NODE_BARRIER &&
            (first == NULL || member->request_order < first->request_order))
            first = member;
    }
    return first;
}

static void grant(struct member *member, int64_t count)
{
    member->is_due = true;
    member->granted = count;
}

static void grant_links(struct pb_arbiter *arbiter, double seconds)
{
    struct member *member = first_request(arbiter);

    if (member != NULL && may_grant_links(arbiter, seconds)) {
        if (arbiter->holder != NULL)
            arbiter->holder->is_late = true;
        arbiter->holder = member;
        arbiter->holder_since = arbiter->links_changed_seconds = seconds;
        grant(member, 1);
    }
    for (size_t i = 0; i < arbiter->rules.member_count; i++)
        if (arbiter->members[i].waits && arbiter->members[i].request.kind == PB_NODE_TRY_LINKS &&
            !arbiter->members[i].is_due)
            grant(&arbiter->members[i], 0);
}

/* ---- barriers ---- */

static bool is_at(const struct member *member, const struct pb_node_barrier *barrier)
{
    return member->waits && !member->is_due && member->request.kind == PB_NODE_BARRIER &&
           member->request.payload.barrier.number == barrier->number &&
           strcmp(member->request.payload.barrier.test, barrier->test) == 0;
}

/* May this member still come to the barrier? */
static bool is_to_come(const struct pb_arbiter *arbiter, struct member *member,
                       const struct pb_node_barrier *barrier)
{
    return !member->has_left && !is_at(member, barrier) &&
           *barriers_of(arbiter, member, barrier->test) <= barrier->number;
}

/* At this barrier, which the others have not passed without it. */
static bool is_in_time(const struct pb_arbiter *arbiter, struct member *member,
                       const struct pb_node_barrier *barrier)
{
    return is_at(member, barrier) &&
           *barriers_of(arbiter, member, barrier->test) <= barrier->number;
}

/* Lets all pass who are in time; those who are not there have had their time. */
static void open_barrier(struct pb_arbiter *arbiter, struct pb_node_barrier barrier, double seconds)
{
    int64_t count = 0;

    for (size_t i = 0; i < arbiter->rules.member_count; i++)
        count += is_in_time(arbiter, &arbiter->members[i], &barrier);
    for (size_t i = 0; i < arbiter->rules.member_count; i++) {
        struct member *member = &arbiter->members[i];
        int64_t *barriers = barriers_of(arbiter, member, barrier.test);

        if (!is_at(member, &barrier)) {
            if (is_to_come(arbiter, member, &barrier)) {
                *barriers = no_barrier; /* later ones do not wait again … */
                member->is_late = true; /* … nor those of other tests, until its next message */
            }
            continue;
        }
        if (!is_in_time(arbiter, member, &barrier)) {
            grant(member, 0);
            continue;
        }
        *barriers = barrier.number + 1;
        member->in_section = true;
        member->since = seconds;
        grant(member, count);
    }
}

static void open_barriers(struct pb_arbiter *arbiter, double seconds)
{
    for (size_t i = 0; i < arbiter->rules.member_count; i++) {
        struct member *first = &arbiter->members[i];
        const struct pb_node_barrier *barrier = &first->request.payload.barrier;
        bool is_complete = links_are_free(arbiter, seconds);

        if (!first->waits || first->is_due || first->request.kind != PB_NODE_BARRIER)
            continue;
        for (size_t k = 0; k < arbiter->rules.member_count; k++)
            is_complete &=
                arbiter->members[k].is_late || !is_to_come(arbiter, &arbiter->members[k], barrier);
        if (is_complete || seconds - fmax(first->since, arbiter->links_changed_seconds) >
                               arbiter->rules.barrier_seconds)
            open_barrier(arbiter, *barrier, seconds);
    }
}

/* ---- grants ---- */

bool pb_arbiter_next_grant(struct pb_arbiter *arbiter, double seconds, size_t *member_out,
                           struct pb_node_message *message_out)
{
    grant_links(arbiter, seconds);
    open_barriers(arbiter, seconds);
    for (size_t i = 0; i < arbiter->rules.member_count; i++) {
        struct member *member = &arbiter->members[i];

        if (!member->is_due)
            continue;
        member->is_due = member->waits = false;
        *message_out = (struct pb_node_message){.kind = PB_NODE_GRANT,
                                                .serial = member->request.serial,
                                                .payload.granted = member->granted};
        *member_out = i;
        return true;
    }
    return false;
}

bool pb_arbiter_is_over(const struct pb_arbiter *arbiter)
{
    for (size_t i = 0; i < arbiter->rules.member_count; i++)
        if (!arbiter->members[i].has_left)
            return false;
    return true;
}
