/*
 * The arbiter of a node: which of its GPUs has the links that they share for itself, and when all
 * of them pass a barrier.
 *
 * One process of the node has the arbiter; the others send it messages and get grants back. The
 * links are granted to one member at a time. A barrier opens when all who will ever come are there
 * and nobody has the links. Whoever is late loses: the links are free again after links_seconds, a
 * barrier waits barrier_seconds at most, or so long after the links were last granted or released,
 * since those who wait for them cannot come. Who was late is not waited for until its next message,
 * and may not begin what the others have begun without it. So a device that hangs costs the others
 * that much and no more, and wherever fewer measured than should have, one of the node has failed.
 *
 * Who has passed a barrier measures until its next message, and meanwhile nobody gets the links. So
 * those who all request them after a barrier get them one after the other, each while the others do
 * nothing but wait, or have finished.
 *
 * Limit: it knows nothing of MPI, probes or clocks: messages and the time come from the caller.
 */
#ifndef PB_RUN_ARBITER_H
#define PB_RUN_ARBITER_H

#include <stdbool.h>

#include "run/notes.h"

enum pb_node_message_kind {
    PB_NODE_TRY_LINKS,   /* the links for itself, now or not at all */
    PB_NODE_AWAIT_LINKS, /* the same, when they are free */
    PB_NODE_BARRIER,     /* waits at a barrier */
    PB_NODE_RELEASE,     /* what was requested, or granted, is over */
    PB_NODE_PASS,        /* comes to no more barriers of a test */
    PB_NODE_LEAVE,       /* comes to nothing more at all */
    PB_NODE_GRANT,       /* the arbiter: begin, or not now */
};

/* A plain block of bytes. */
struct pb_node_message {
    int64_t kind;   /* enum pb_node_message_kind; says which payload it has */
    int64_t serial; /* of the request; its grant has the same */
    union {
        struct pb_node_barrier {
            char test[PB_NAME_LENGTH];
            int64_t number; /* 0, 1, … */
        } barrier;
        char passed_test[PB_NAME_LENGTH]; /* of a PASS */
        int64_t granted; /* devices that begin now; 0: not now, at a barrier: too late */
    } payload;
};

struct pb_arbiter_rules {
    size_t member_count;
    const struct pb_test_list *tests; /* must outlive the arbiter */
    double links_seconds, barrier_seconds;
};

struct pb_arbiter;

enum pb_status pb_arbiter_create(const struct pb_arbiter_rules *rules,
                                 struct pb_arbiter **arbiter_out, struct pb_error *err);
void pb_arbiter_free(struct pb_arbiter *arbiter); /* NULL is allowed */

/* Takes a member's message. seconds: of any clock that never goes back. */
void pb_arbiter_handle(struct pb_arbiter *arbiter, size_t member,
                       const struct pb_node_message *message, double seconds);

/* The next grant that is due now; false: none is. To be called until then. */
bool pb_arbiter_next_grant(struct pb_arbiter *arbiter, double seconds, size_t *member_out,
                           struct pb_node_message *message_out);

/* Has every member left? */
bool pb_arbiter_is_over(const struct pb_arbiter *arbiter);

#endif
