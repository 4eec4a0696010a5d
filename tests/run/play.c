/* A node on a clock of its own; see play.h. */
#include "run/play.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/arbiter.h"
#include "run/schedule.h"

/*
 * Of peer_link, what is done before the exclusive step: one transfer of a word of three transfers
 * in all; the most of any of them is what it needs beside.
 */
static const double peer_opening_share = 0.3;

/* A part of a test: a step to wait for, or some seconds of measuring. */
struct part {
    enum { PART_MEASURE, PART_STEP } kind;
    int64_t step;
    double seconds;
};

enum { PARTS_MAX = 64 };

struct member {
    struct pb_schedule *schedule;
    struct pb_schedule_step next; /* the last one */
    struct part parts[PARTS_MAX];
    size_t part, part_count; /* of the test at hand */
    bool is_left[PLAY_TESTS_MAX];

    bool is_gone, waits;
    struct pb_ready ready;             /* what it waits for */
    struct pb_node_place place;        /* that the arbiter knows of */
    double until;                      /* it measures, or a step begins; INFINITY: it waits */
    double since;                      /* it waits */
    bool has_links, in_exclusive_step; /* for its exclusive tests; until the test ends */
    int64_t with;                      /* others that passed the barrier with it */
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

static void add_span(struct node *node, const struct play_span *span)
{
    struct play *play = &node->play;

    if (play->count == node->capacity) {
        size_t capacity = node->capacity == 0 ? 256 : 2 * node->capacity;
        struct play_span *larger = realloc(play->spans, capacity * sizeof(*larger));

        if (larger == NULL) {
            node->status =
                pb_fail(node->err, PB_NO_MEMORY, "out of memory allocating %zu spans", capacity);
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

/* ---- steps of the node ---- */

/* As a rank reports where its probe stands. */
static void report(struct node *node, struct member *member)
{
    struct pb_node_place place = {PB_NODE_END, 0};

    if (!member->is_gone)
        place =
            pb_node_place_of(&node->names, member->is_left, member->waits ? &member->ready : NULL);
    if (place.position == member->place.position && place.waits == member->place.waits)
        return;
    member->place = place;
    pb_arbiter_place(node->arbiter, index_of(node, member), &place, node->now);
}

static void await_step(struct node *node, struct member *member, int64_t step)
{
    member->waits = true;
    member->ready = (struct pb_ready){.step = step};
    PB_TEXT_SET(member->ready.test, member->next.test->name);
    member->since = node->now;
    member->until = INFINITY;
    member->in_exclusive_step = false;
    member->with = 0;
    report(node, member);
}

static void take_begin(struct node *node, struct member *member, const struct pb_node_begin *begin)
{
    const struct play_span span = {.member = index_of(node, member),
                                   .test = member->next.test,
                                   .begin_seconds = member->since,
                                   .end_seconds = node->now + node->request->begin_seconds,
                                   .waits = true};

    member->place.waits = 0; /* as the arbiter knows */
    member->has_links |= begin->position == 0;
    if (!member->waits)
        return;
    add_span(node, &span);
    member->waits = false;
    member->until = span.end_seconds;
    member->in_exclusive_step = begin->position != 0 && member->ready.step == PB_STEP_EXCLUSIVE;
    member->with = member->ready.step == PB_STEP_EXCLUSIVE ? 0 : begin->count - 1;
}

static void begin_all(struct node *node)
{
    struct pb_node_begin begin;
    size_t at;

    while (pb_arbiter_next_begin(node->arbiter, node->now, &at, &begin))
        take_begin(node, &node->members[at], &begin);
}

/* ---- tests ---- */

static void add_part(struct member *member, int kind, int64_t step, double seconds)
{
    if (member->part_count < PARTS_MAX)
        member->parts[member->part_count++] = (struct part){kind, step, seconds};
}

/* As src/battery/link.c and together.c do it. */
static void begin_test(const struct node *node, struct member *member, double seconds)
{
    const struct pb_test *test = member->next.test;
    bool is_peers = (test->needs & PB_CAP_PEER) != 0;
    int64_t cells = is_peers ? (int64_t)node->request->member_count - 1 : 4;
    double opening_seconds = seconds * peer_opening_share;

    member->part = member->part_count = 0;
    if (pb_test_link_use(test) != PB_LINKS_CONCURRENT) {
        add_part(member, PART_MEASURE, 0, seconds);
    } else if (strcmp(test->name, "peer_link") == 0) {
        add_part(member, PART_STEP, 0, 0);
        add_part(member, PART_MEASURE, 0, opening_seconds * node->request->opening_factor);
        add_part(member, PART_STEP, PB_STEP_EXCLUSIVE, 0);
        add_part(member, PART_MEASURE, 0, seconds - opening_seconds);
    } else {
        for (int64_t i = 0; i < cells; i++) {
            add_part(member, PART_STEP, i, 0);
            add_part(member, PART_MEASURE, 0, seconds / (double)cells);
        }
    }
}

static void end_test(struct node *node, struct member *member)
{
    for (size_t i = 0; i < node->names.count; i++)
        if (node->request->tests[i] == member->next.test)
            member->is_left[i] = false;
    member->with = 0;
    member->in_exclusive_step = false;
    member->part = member->part_count = 0;
    report(node, member);
}

static void be_gone(struct node *node, struct member *member)
{
    member->is_gone = true;
    member->until = INFINITY;
    node->play.wall_seconds = node->now;
    report(node, member);
}

static void go_on_in_test(struct node *node, struct member *member)
{
    const struct part *part = &member->parts[member->part++];
    bool is_exclusive = pb_test_link_use(member->next.test) == PB_LINKS_EXCLUSIVE;
    struct play_span span = {.member = index_of(node, member),
                             .test = member->next.test,
                             .begin_seconds = node->now,
                             .end_seconds = node->now + part->seconds,
                             .in_exclusive_step =
                                 is_exclusive ? member->has_links : member->in_exclusive_step,
                             .others = member->with};

    if (part->kind == PART_STEP) {
        await_step(node, member, part->step);
        return;
    }
    member->until = span.end_seconds;
    add_span(node, &span);
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
    member->next = pb_schedule_next(member->schedule, member->has_links);
    if (member->next.kind == PB_SCHEDULE_AWAIT_LINKS) {
        await_step(node, member, PB_STEP_EXCLUSIVE);
        return;
    }
    if (member->next.kind == PB_SCHEDULE_END) {
        be_gone(node, member);
        return;
    }
    seconds =
        node->request->seconds(node->request->context, index_of(node, member), member->next.test);
    if (seconds < 0)
        be_gone(node, member);
    else
        begin_test(node, member, seconds); /* and goes on at the same moment */
}

/* ---- the clock ---- */

/* Until all are gone. Who waits may do so until another is late: time goes on in short steps. */
static void play(struct node *node)
{
    static const double lull_seconds = 1;

    while (node->status == PB_OK && !pb_arbiter_is_over(node->arbiter)) {
        double next = INFINITY;

        for (size_t i = 0; i < node->request->member_count; i++)
            while (node->status == PB_OK && node->members[i].until <= node->now)
                go_on(node, &node->members[i]);
        begin_all(node);
        for (size_t i = 0; i < node->request->member_count; i++)
            next = fmin(next,
                        node->members[i].waits ? node->now + lull_seconds : node->members[i].until);
        node->now = isinf(next) ? node->now : next;
    }
}

static enum pb_status open_node(struct node *node)
{
    const struct play_request *request = node->request;
    enum pb_status status;

    node->members = calloc(request->member_count, sizeof(*node->members));
    node->names.specs = calloc(PLAY_TESTS_MAX, sizeof(*node->names.specs));
    if (node->members == NULL || node->names.specs == NULL)
        return pb_fail(node->err, PB_NO_MEMORY, "out of memory allocating %zu GPUs",
                       request->member_count);
    while (request->tests[node->names.count] != NULL && node->names.count < PLAY_TESTS_MAX) {
        struct pb_test_spec *spec = &node->names.specs[node->names.count];
        const struct pb_test *test = request->tests[node->names.count];

        PB_TEXT_SET(spec->name, test->name);
        spec->link_use = pb_test_link_use(test);
        for (size_t i = 0; i < request->member_count; i++)
            node->members[i].is_left[node->names.count] = true;
        node->names.count++;
    }
    status = pb_arbiter_create(request->member_count, request->timeout_seconds, &node->arbiter,
                               node->err);
    for (size_t i = 0; status == PB_OK && i < request->member_count; i++)
        status = pb_schedule_create(request->tests, &node->members[i].schedule, node->err);
    for (size_t i = 0; status == PB_OK && i < request->member_count; i++)
        report(node, &node->members[i]);
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
        if (play->spans[i].in_exclusive_step)
            seconds += play->spans[i].end_seconds - play->spans[i].begin_seconds;
    return seconds;
}
