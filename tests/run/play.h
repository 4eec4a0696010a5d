/*
 * The GPUs of a node, played through their battery on a clock of its own: arbiter.c and schedule.c
 * as they are, and around them what probes, supervisors and ranks do, without processes or waiting.
 *
 * How long each test takes is the caller's to say. A test for which GPUs meet falls into parts: see
 * play.c, which has to follow the battery there.
 *
 * Limit: the drivers' own locks and the packers are not played; nor is a probe started again.
 */
#ifndef PB_TESTS_RUN_PLAY_H
#define PB_TESTS_RUN_PLAY_H

#include <stdbool.h>

#include "battery/battery.h"

enum { PLAY_TESTS_MAX = 128 };

/* What a member of the node has done, or waited for. */
struct play_span {
    size_t member;
    const struct pb_test *test;
    double begin_seconds, end_seconds;
    bool waits;             /* for a step to begin; else it measures */
    bool in_exclusive_step; /* the links are its own */
    int64_t others;         /* that passed the barrier with it; 0: it measures without them */
};

struct play_request {
    size_t member_count;
    const struct pb_test *const *tests; /* of each; ends with NULL */

    /* Of this test on this member. Less than 0: it is gone when it comes to that test. */
    double (*seconds)(void *context, size_t member, const struct pb_test *test);
    void *context;

    double begin_seconds;  /* from the last arrival at a step to its begin */
    double opening_factor; /* how many times as long ways to peers are opened as by one alone */
    double timeout_seconds;
};

struct play {
    struct play_span *spans; /* as they ended */
    size_t count;
    double wall_seconds; /* until the last member was through */
};

/* free() play_out->spans. */
enum pb_status play_node(const struct play_request *request, struct play *play_out,
                         struct pb_error *err);

/* Of one member: in tests, and waiting between and in them. */
double play_busy_seconds(const struct play *play, size_t member);
double play_waiting_seconds(const struct play *play, size_t member);

/* How long any member had the links. */
double play_links_seconds(const struct play *play);

#endif
