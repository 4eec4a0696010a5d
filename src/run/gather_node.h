/*
 * The measuring ranks of one node: where their probes stand becomes messages to the arbiter, which
 * the lowest of them has (arbiter.h), and its BEGINs become orders to the probes.
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
    const struct pb_test_list *tests;
    bool *is_left; /* [tests] */
    struct pb_node_outgoing *sent;
    struct pb_node_place place; /* the last one that the arbiter knows of */
};

struct pb_node_request {
    bool measures;                    /* else this rank is in no node */
    const char *host;                 /* as in the fleet file: simulated nodes are nodes */
    const struct pb_test_list *tests; /* must outlive the node */
    struct pb_supervisor *supervisor;
    double deadline_seconds; /* of a test; no rank waits much longer for another */
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

/* This rank measures nothing more: its last message. */
void pb_node_leave(struct pb_node *node);

/* Reports where this rank's probe stands, moves messages, and gives the probe its orders. */
void pb_node_step(struct pb_node *node);

/* Has every rank of the node left? */
bool pb_node_is_over(const struct pb_node *node);

/* How long this rank may sleep between two steps, when it has nothing else to do. */
double pb_node_poll_seconds(const struct pb_node *node);

#endif
