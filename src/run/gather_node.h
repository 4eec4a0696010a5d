/*
 * The measuring ranks of one node: their probes' READY frames become messages to the arbiter, which
 * the lowest of them has (arbiter.h), and its grants become GO orders.
 *
 * Limit: messages are sent and never waited for; pb_node_step() is to be called again and again, by
 * every rank, until pb_node_is_over().
 */
#ifndef PB_RUN_GATHER_NODE_H
#define PB_RUN_GATHER_NODE_H

#include <mpi.h>
#include <stdbool.h>

#include "run/arbiter.h"
#include "run/supervisor.h"

/* A message on its way. */
struct pb_node_outgoing {
    struct pb_node_message message;
    MPI_Request request;
    struct pb_node_outgoing *next;
};

/* Start from all zero: that is a rank in no node, which is over. */
struct pb_node {
    MPI_Comm comm; /* of its measuring ranks */
    int rank, count;
    bool is_open, is_over;
    struct pb_arbiter *arbiter; /* at rank 0 of the node */
    struct pb_supervisor *supervisor;
    struct pb_node_outgoing *sent;

    int64_t serial;         /* of the last request */
    bool waits, is_granted; /* for its grant; it was granted and lasts */
};

struct pb_node_request {
    bool measures;                    /* else this rank is in no node */
    const char *host;                 /* as in the fleet file: simulated nodes are nodes */
    const struct pb_test_list *tests; /* must outlive the node */
    struct pb_supervisor *supervisor;
    double deadline_seconds; /* of a test: nobody is waited for any longer */
};

/* Collective over all ranks; a failure is this rank's alone, and pb_node_close() due all the same.
 */
enum pb_status pb_node_open(const struct pb_node_request *request, struct pb_node *node,
                            struct pb_error *err);
void pb_node_close(struct pb_node *node);

/*
 * Collective over the node, for each of flags[count]: 1 where every rank has 1, else 0. Left as
 * they are in no node.
 */
void pb_node_all(const struct pb_node *node, int *flags, size_t count);

/* Passes on what the probe of a PB_EVENT_READY waits for. */
void pb_node_request(struct pb_node *node, const struct pb_ready *ready);

/* This rank comes to no more barriers of that test; to nothing at all, its last message. */
void pb_node_pass(struct pb_node *node, const char *test);
void pb_node_leave(struct pb_node *node);

/* Moves messages, and answers this rank's probe. */
void pb_node_step(struct pb_node *node);

/* Has every rank of the node left? */
bool pb_node_is_over(const struct pb_node *node);

/* How long this rank may sleep between two steps, when it has nothing else to do. */
double pb_node_poll_seconds(const struct pb_node *node);

#endif
