/* Private to the gather: its state, and what its files share. */
#ifndef PB_RUN_GATHER_STATE_H
#define PB_RUN_GATHER_STATE_H

#include "core/claim.h"
#include "run/collect.h"
#include "run/gather.h"
#include "run/gather_comm.h"
#include "run/gather_node.h"
#include "run/gather_outbox.h"
#include "run/ledger.h"
#include "run/spool.h"

/* Tags of messages to rank 0: a frame that is news has its type; and to the others: */
enum { PB_TAG_CARRIED = 100 /* a frame of an earlier run */, PB_TAG_STOP };

struct pb_gather {
    const struct pb_gather_request *request;
    struct pb_supervisor *supervisor;
    int rank, rank_count;
    struct pb_plan plan; /* its tests are the supervisor's; its member grows to the final row */
    struct pb_spool *spool;
    struct pb_error spool_trouble; /* why it could not be written at first; the row says it */
    struct pb_error trouble;       /* the first thing that keeps the file from being made */

    struct pb_outbox outbox; /* to rank 0 */

    bool measures;   /* this rank has a device */
    bool is_stopped; /* by a signal, here or at rank 0 */
    bool has_ended;  /* its MEMBER frame is out */
    double begun;
    struct pb_node node; /* the ranks whose devices share links with this one's */

    struct pb_ledger ledger; /* of this rank's device: what was known, and what became of it */
    uint32_t epoch;          /* of this run among those of its spool */

    /* Resuming. */
    int *is_done; /* [plan.tests.count]: need not be measured again; NULL: nothing is done */
    struct pb_spool_files old_spools; /* this rank's, and at rank 0 those beyond the last rank */

    /* Rank 0. */
    struct pb_run_listener observer;
    struct pb_collect *collect;
    struct pb_claim *claim; /* on the output */
    double claim_checked;   /* when it was last seen to be held */
    void *buffer;
    size_t capacity;
    int ended_count;
};

static inline bool pb_gather_is_root(const struct pb_gather *gather)
{
    return gather->rank == 0;
}

/* Stops the supervisor once a signal, or rank 0, has requested that; rank 0 requests it of all. */
void pb_gather_heed_stop(struct pb_gather *gather);

/* gather_plan.c: from what all probes see to the plan of what this rank measures. */
enum pb_status pb_gather_make_plan(struct pb_gather *gather, struct pb_error *err);

/* gather_loop.c: measures what is planned; rank 0 also receives until every rank has ended. */
void pb_gather_loop(struct pb_gather *gather);

/* Takes what rank 0 may have sent too late. */
void pb_gather_drain_stop(struct pb_gather *gather);

#endif
