/*
 * MPI as the gather needs it: everything waits asleep, since ranks may share few cores with the
 * probes they watch, and a busy wait would disturb what is measured.
 *
 * All calls are collective over MPI_COMM_WORLD and must be made by every rank in the same order.
 */
#ifndef PB_RUN_GATHER_COMM_H
#define PB_RUN_GATHER_COMM_H

#include <mpi.h>
#include <stddef.h>

#include "core/error.h"
#include "run/ledger.h"

/* Waits for one request. Not collective. */
void pb_comm_wait(MPI_Request *request);

/* This process's rank among those of its node. */
int pb_comm_local_rank(void);

/* Every rank's mine[size] to rank 0, which gets them in order in *all_out (NULL elsewhere). */
enum pb_status pb_comm_collect(const void *mine, size_t size, void **all_out, struct pb_error *err);

/* The reverse: rank i gets all[i]; `all` is read at rank 0 only. */
void pb_comm_deal(const void *all, void *mine_out, size_t size);

/* Rank 0's bytes to all. */
void pb_comm_share(void *bytes, size_t size);

/* Every rank returns the status and message of the lowest rank that has one, or PB_OK. */
enum pb_status pb_comm_agree(enum pb_status status, struct pb_error *err);

/*
 * Brings what each rank's `found` holds to rank 0, and from there to every rank what concerns the
 * device `key` of that rank, recorded in its ledger. `found` of rank 0 grows, one rank at a time.
 */
enum pb_status pb_comm_collect_ledger(struct pb_ledger *found, struct pb_error *err);
enum pb_status pb_comm_share_ledger(const struct pb_ledger *found, const char *key,
                                    struct pb_ledger *ledger, struct pb_error *err);

/* The largest of all ranks' values. */
int64_t pb_comm_largest(int64_t mine);

/* Returns once every rank is here. */
void pb_comm_meet(void);

#endif
