/* A node on a clock of its own; see play.h. */
#include "run/play.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/arbiter.h"
#include "run/schedule.h"

/*
 * Of peer_link, what is done before the turn: one transfer of a word of three transfers in all; the
 * most of any of them is what it needs beside.
 */
static const double peer_opening_share = 0.3;

/* A part of a test: a question to the arbiter, or some seconds of measuring. */
struct part {
    enum { PART_MEASURE, PART_MEET, PART_TURN } kind;
    int64_t number;
    double seconds;
};

enum { PARTS_MAX = 64 };

struct member {
    struct pb_schedule *schedule;
    struct pb_schedule_step step; /* the last one */
    struct part parts[PARTS_MAX];
    size_t part, part_count; /* of the test at hand */

    bool is_gone, asks;
    double until;     /* it measures, or takes in an answer; INFINITY: it waits */
    double since;     /* it asked */
    bool has_turn;    /* granted, by the last answer */
    int64_t granted;  /* tests that what was granted still covers */
    int64_t with;     /* others at the meeting that it comes from */
    int64_t asked_as; /* PB_LETTER_… */
};

struct node {
    const struct play_request *request;
    struct pb_test_list names;
    struct pb_arbiter *arbiter;
    struct member *members; /* [member_count] */
    struct play play;
    size_t capacity;
    double now;
    struct pb_error *err;
    enum pb_status status;
};

/* ---- what is told ---- */

static void tell(struct node *node, const struct play_span *span)
{
    struct play *play = &node->play;

    if (play->count == node->capacity) {
        size_t capacity = node->capacity == 0 ? 256 : 2 * node->capacity;
        struct play_span *larger = realloc(play->spans, capacity * sizeof(*larger));

        if (larger == NULL) {
            node->status = pb_fail(node->err, PB_NO_MEMORY, "no memory for %zu spans", capacity);
            return;
        }
        play->spans = larger;
        node->capacity = capacity;
    }
    play->spans[play->count++] = *span;
}

static size_t index_of(const struct node *node, const struct member *member)
{
    return (size_t)(member - node->members);
}

/* ---- messages ---- */

static void send_message(struct node *node, const struct member *member,
                         enum pb_node_message_kind kind, const char *test, int64_t number)
{
    struct pb_node_message message = {.kind = kind};

    if (kind == PB_NODE_PASS)
        PB_TEXT_SET(message.payload.passed_test, test);
    if (kind == PB_NODE_BARRIER) {
        PB_TEXT_SET(message.payload.barrier.test, test);
        message.payload.barrier.number = number;
    }
    pb_arbiter_handle(node->arbiter, index_of(node, member), &message, node->now);
}

static void ask(struct node *node, struct member *member, enum pb_node_message_kind kind,
                int64_t number)
{
    member->asks = true;
    member->asked_as = kind;
    member->since = node->now;
    member->until = INFINITY;
    member->has_turn = false;
    member->with = 0;
    send_message(node, member, kind, member->step.test->name, number);
}

static void take_answer(struct node *node, struct member *member, int64_t count)
{
    const struct play_span span = {.member = index_of(node, member),
                                   .test = member->step.test,
                                   .begin_seconds = member->since,
                                   .end_seconds = node->now + node->request->answer_seconds,
                                   .waits = true};
    bool is_between = member->step.kind != PB_SCHEDULE_RUN;

    tell(node, &span);
    member->asks = false;
    member->until = span.end_seconds;
    member->has_turn = count > 0 && member->asked_as != PB_NODE_BARRIER;
    member->with = member->asked_as == PB_NODE_BARRIER && count > 0 ? count - 1 : 0;
    member->granted = count == 0 ? 0 : is_between ? member->step.count : 1;
    if (is_between)
        pb_schedule_answer(member->schedule, count > 0);
}

static void answer_all(struct node *node)
{
    struct pb_node_message message;
    size_t at;

    while (pb_arbiter_next_grant(node->arbiter, node->now, &at, &message))
        take_answer(node, &node->members[at], message.payload.granted);
}

/* ---- tests ---- */

static void add_part(struct member *member, int kind, int64_t number, double seconds)
{
    if (member->part_count < PARTS_MAX)
        member->parts[member->part_count++] = (struct part){kind, number, seconds};
}

/* As src/battery/link.c and together.c ask. */
static void begin_test(const struct node *node, struct member *member, double seconds)
{
    const struct pb_test *test = member->step.test;
    bool is_peers = (test->needs & PB_CAP_PEER) != 0;
    int64_t cells = is_peers ? (int64_t)node->request->member_count - 1 : 4;
    double opening_seconds = seconds * peer_opening_share;

    member->part = member->part_count = 0;
    if (pb_test_link_use(test) != PB_LINKS_CONCURRENT) {
        add_part(member, PART_MEASURE, 0, seconds);
    } else if (strcmp(test->name, "peer_link") == 0) {
        add_part(member, PART_MEET, 0, 0);
        add_part(member, PART_MEASURE, 0, opening_seconds * node->request->opening_factor);
        add_part(member, PART_TURN, 0, 0);
        add_part(member, PART_MEASURE, 0, seconds - opening_seconds);
    } else {
        for (int64_t i = 0; i < cells; i++) {
            add_part(member, PART_MEET, i, 0);
            add_part(member, PART_MEASURE, 0, seconds / (double)cells);
        }
    }
}

/* As a supervisor and its rank see to it. */
static void end_test(struct node *node, struct member *member)
{
    send_message(node, member, PB_NODE_PASS, member->step.test->name, 0);
    member->with = 0;
    if (member->granted > 1) {
        member->granted--;
    } else if (member->granted == 1) {
        member->granted = 0;
        member->has_turn = false;
        send_message(node, member, PB_NODE_RELEASE, "", 0);
    }
}

static void be_gone(struct node *node, struct member *member)
{
    send_message(node, member, PB_NODE_LEAVE, "", 0);
    member->is_gone = true;
    member->until = INFINITY;
    node->play.wall_seconds = node->now;
}

static void go_on_in_test(struct node *node, struct member *member)
{
    const struct part *part = &member->parts[member->part++];
    struct play_span span = {.member = index_of(node, member),
                             .test = member->step.test,
                             .begin_seconds = node->now,
                             .end_seconds = node->now + part->seconds,
                             .has_turn = member->has_turn,
                             .others = member->with};

    if (part->kind != PART_MEASURE) {
        ask(node, member, part->kind == PART_MEET ? PB_NODE_BARRIER : PB_NODE_AWAIT_LINKS,
            part->number);
        return;
    }
    member->until = span.end_seconds;
    tell(node, &span);
}

/* What a probe does next. */
static void go_on(struct node *node, struct member *member)
{
    double seconds;

    if (member->part < member->part_count) {
        go_on_in_test(node, member);
        return;
    }
    if (member->part_count > 0)
        end_test(node, member);
    member->part = member->part_count = 0;
    member->step = pb_schedule_next(member->schedule);
    if (member->step.kind == PB_SCHEDULE_TRY_LINKS ||
        member->step.kind == PB_SCHEDULE_AWAIT_LINKS) {
        ask(node, member,
            member->step.kind == PB_SCHEDULE_TRY_LINKS ? PB_NODE_TRY_LINKS : PB_NODE_AWAIT_LINKS,
            0);
        return;
    }
    if (member->step.kind == PB_SCHEDULE_END) {
        be_gone(node, member);
        return;
    }
    seconds =
        node->request->seconds(node->request->context, index_of(node, member), member->step.test);
    if (seconds < 0)
        be_gone(node, member);
    else
        begin_test(node, member, seconds); /* and goes on at the same moment */
}

/* ---- the clock ---- */

/* Until all are gone. Who waits may do so until somebody is late: time goes on in short steps. */
static void play(struct node *node)
{
    static const double lull_seconds = 1;

    while (node->status == PB_OK && !pb_arbiter_is_over(node->arbiter)) {
        double next = INFINITY;

        for (size_t i = 0; i < node->request->member_count; i++)
            while (node->status == PB_OK && node->members[i].until <= node->now)
                go_on(node, &node->members[i]);
        answer_all(node);
        for (size_t i = 0; i < node->request->member_count; i++)
            next = fmin(next,
                        node->members[i].asks ? node->now + lull_seconds : node->members[i].until);
        node->now = isinf(next) ? node->now : next;
    }
}

static enum pb_status open_node(struct node *node)
{
    const struct play_request *request = node->request;
    struct pb_arbiter_rules rules = {request->member_count, &node->names, request->links_seconds,
                                     request->barrier_seconds};
    enum pb_status status;

    node->members = calloc(request->member_count, sizeof(*node->members));
    node->names.specs = calloc(PLAY_TESTS_MAX, sizeof(*node->names.specs));
    if (node->members == NULL || node->names.specs == NULL)
        return pb_fail(node->err, PB_NO_MEMORY, "no memory for %zu GPUs", request->member_count);
    while (request->tests[node->names.count] != NULL && node->names.count < PLAY_TESTS_MAX) {
        PB_TEXT_SET(node->names.specs[node->names.count].name,
                    request->tests[node->names.count]->name);
        node->names.count++;
    }
    status = pb_arbiter_create(&rules, &node->arbiter, node->err);
    for (size_t i = 0; status == PB_OK && i < request->member_count; i++)
        status = pb_schedule_create(request->tests, &node->members[i].schedule, node->err);
    return status;
}

enum pb_status play_node(const struct play_request *request, struct play *play_out,
                         struct pb_error *err)
{
    struct node node = {.request = request, .err = err};

    node.status = open_node(&node);
    if (node.status == PB_OK)
        play(&node);
    for (size_t i = 0; node.members != NULL && i < request->member_count; i++)
        pb_schedule_free(node.members[i].schedule);
    pb_arbiter_free(node.arbiter);
    free(node.members);
    free(node.names.specs);
    if (node.status != PB_OK) {
        free(node.play.spans);
        return node.status;
    }
    *play_out = node.play;
    return PB_OK;
}

/* ---- sums ---- */

static double sum(const struct play *play, size_t member, bool waits)
{
    double seconds = 0;

    for (size_t i = 0; i < play->count; i++)
        if (play->spans[i].member == member && play->spans[i].waits == waits)
            seconds += play->spans[i].end_seconds - play->spans[i].begin_seconds;
    return seconds;
}

double play_busy_seconds(const struct play *play, size_t member)
{
    return sum(play, member, false);
}

double play_waiting_seconds(const struct play *play, size_t member)
{
    return sum(play, member, true);
}

double play_links_seconds(const struct play *play)
{
    double seconds = 0;

    for (size_t i = 0; i < play->count; i++)
        if (play->spans[i].has_turn)
            seconds += play->spans[i].end_seconds - play->spans[i].begin_seconds;
    return seconds;
}
