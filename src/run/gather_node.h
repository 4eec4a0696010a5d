/*
 * The measuring ranks of one node as a company: their probes' READY frames become letters, the
 * answers become GO orders. The lowest of them keeps the company (company.h).
 *
 * Limit: letters are sent and never waited for; pb_node_step() is to be called again and again, by
 * every rank, until pb_node_is_over().
 */
#ifndef PB_RUN_GATHER_NODE_H
#define PB_RUN_GATHER_NODE_H

#include <mpi.h>
#include <stdbool.h>

#include "run/company.h"
#include "run/supervisor.h"

/* A letter on its way. */
struct pb_envelope {
    struct pb_letter letter;
    MPI_Request request;
    struct pb_envelope *next;
};

/* Start from all zero: that is a rank in no company, which is over. */
struct pb_node {
    MPI_Comm comm; /* of the company */
    int rank, count;
    bool is_open, is_over;
    struct pb_company *company; /* at rank 0 of the company */
    struct pb_supervisor *supervisor;
    struct pb_envelope *sent;

    int64_t serial;        /* of the last question */
    bool asks, is_granted; /* it is open; it was granted and lasts */
};

struct pb_node_request {
    bool measures;                    /* else this rank is in no company */
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
 * Collective over the company, for each of flags[count]: 1 where every rank has 1, else 0. Left as
 * they are in no company.
 */
void pb_node_all(const struct pb_node *node, int *flags, size_t count);

/* Passes on what the probe of a PB_EVENT_READY asks for. */
void pb_node_ask(struct pb_node *node, const struct pb_test_note *note);

/* This rank comes to no more meetings of that test; to none at all, its last letter. */
void pb_node_pass(struct pb_node *node, const char *test);
void pb_node_leave(struct pb_node *node);

/* Moves letters, and answers this rank's probe. */
void pb_node_step(struct pb_node *node);

/* Has every rank of the company left? */
bool pb_node_is_over(const struct pb_node *node);

/* How long this rank may sleep between two steps, when it has nothing else to do. */
double pb_node_patience_seconds(const struct pb_node *node);

#endif
