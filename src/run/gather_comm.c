/* MPI calls that wait asleep; see gather_comm.h. */
#include "run/gather_comm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/record.h"
#include "core/time.h"
#include "run/gather.h"

static int my_rank(void)
{
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

static int rank_count(void)
{
    int count;

    MPI_Comm_size(MPI_COMM_WORLD, &count);
    return count;
}

void pb_gather_prepare(void)
{
    /* Never over what the user has set. Other MPIs, and releases with other names, ignore these. */
    setenv("OMPI_MCA_btl_vader_eager_limit", "256", 0);
    setenv("OMPI_MCA_btl_vader_fbox_threshold", "1000000", 0);
    setenv("OMPI_MCA_btl_sm_eager_limit", "256", 0);
    setenv("OMPI_MCA_btl_sm_fbox_threshold", "1000000", 0);
    setenv("HWLOC_COMPONENTS", "-opencl,-cuda,-nvml,-gl", 0);
}

/*
 * A collective takes several messages there and back, which progress only while all of its ranks
 * look: a pause is a small part of the wait so far, so that pauses add little to it.
 */
void pb_comm_wait(MPI_Request *request)
{
    static const double least_seconds = 0.0001, longest_seconds = 0.02, share = 0.05;
    double begun = pb_time_monotonic_seconds();
    int done = 0;

    while (MPI_Test(request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done) {
        double waited = pb_time_monotonic_seconds() - begun;

        pb_time_sleep_seconds(fmin(fmax(share * waited, least_seconds), longest_seconds));
    }
}

int pb_comm_local_rank(void)
{
    MPI_Comm node;
    int rank;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &rank);
    MPI_Comm_free(&node);
    return rank;
}

enum pb_status pb_comm_collect(const void *mine, size_t size, void **all_out, struct pb_error *err)
{
    MPI_Request request;
    void *all = NULL;
    enum pb_status status = PB_OK;

    if (my_rank() == 0) {
        all = calloc((size_t)rank_count(), size);
        if (all == NULL)
            status = pb_fail(err, PB_NO_MEMORY, "out of memory allocating the reports of %d ranks",
                             rank_count());
    }
    status = pb_comm_agree(status, err);
    if (status != PB_OK) {
        free(all);
        return status;
    }
    MPI_Igather(mine, (int)size, MPI_BYTE, all, (int)size, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
    pb_comm_wait(&request);
    *all_out = all;
    return PB_OK;
}

void pb_comm_deal(const void *all, void *mine_out, size_t size)
{
    MPI_Request request;

    MPI_Iscatter(all, (int)size, MPI_BYTE, mine_out, (int)size, MPI_BYTE, 0, MPI_COMM_WORLD,
                 &request);
    pb_comm_wait(&request);
}

void pb_comm_share(void *bytes, size_t size)
{
    MPI_Request request;

    MPI_Ibcast(bytes, (int)size, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
    pb_comm_wait(&request);
}

enum pb_status pb_comm_agree(enum pb_status status, struct pb_error *err)
{
    int mine = status == PB_OK ? rank_count() : my_rank(), first;
    struct pb_error verdict = PB_ERROR_INIT;
    MPI_Request request;

    MPI_Iallreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD, &request);
    pb_comm_wait(&request);
    if (first == rank_count())
        return PB_OK;
    if (first == my_rank() && err != NULL)
        verdict = *err;
    verdict.status = status;
    MPI_Ibcast(&verdict, sizeof(verdict), MPI_BYTE, first, MPI_COMM_WORLD, &request);
    pb_comm_wait(&request);
    return pb_fail(err, verdict.status, "%s", verdict.message);
}

/* Appends count entries that came as bytes. */
static enum pb_status append_entries(struct pb_ledger *ledger, const struct pb_ledger_entry *items,
                                     size_t count, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < count && status == PB_OK; i++)
        status = pb_ledger_append(ledger, &items[i], err);
    return status;
}

enum { BLOCK_ENTRIES = 256 }; /* sent at once: what a rank holds beside its own */

/* The entries of one rank, block by block. */
static enum pb_status take_entries(struct pb_ledger *found, int rank, size_t count,
                                   struct pb_ledger_entry *block, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    for (size_t at = 0; at < count; at += BLOCK_ENTRIES) {
        size_t length = count - at < BLOCK_ENTRIES ? count - at : BLOCK_ENTRIES;
        MPI_Request request;

        MPI_Irecv(block, (int)(length * sizeof(*block)), MPI_BYTE, rank, 0, MPI_COMM_WORLD,
                  &request);
        pb_comm_wait(&request);
        if (status == PB_OK) /* else the sender must be heard out */
            status = append_entries(found, block, length, err);
    }
    return status;
}

static void send_entries(const struct pb_ledger *found)
{
    for (size_t at = 0; at < found->count; at += BLOCK_ENTRIES) {
        size_t left = found->count - at, length = left < BLOCK_ENTRIES ? left : BLOCK_ENTRIES;
        MPI_Request request;

        MPI_Isend(found->items + at, (int)(length * sizeof(*found->items)), MPI_BYTE, 0, 0,
                  MPI_COMM_WORLD, &request);
        pb_comm_wait(&request);
    }
}

enum pb_status pb_comm_collect_ledger(struct pb_ledger *found, struct pb_error *err)
{
    struct pb_ledger_entry *block = calloc(BLOCK_ENTRIES, sizeof(*block));
    void *all = NULL;
    const size_t *counts;
    enum pb_status status = PB_OK;

    if (block == NULL)
        status = pb_fail(err, PB_NO_MEMORY, "out of memory for %d outcomes", BLOCK_ENTRIES);
    status = pb_comm_agree(status, err);
    if (status == PB_OK)
        status = pb_comm_collect(&found->count, sizeof(found->count), &all, err);
    if (status != PB_OK) {
        free(block);
        return status;
    }
    counts = all; /* at rank 0 */
    if (counts == NULL)
        send_entries(found);
    for (int rank = 1; counts != NULL && rank < rank_count(); rank++) {
        struct pb_error cause = PB_ERROR_INIT;
        enum pb_status taken = take_entries(found, rank, counts[rank], block, &cause);

        if (status == PB_OK && taken != PB_OK)
            status = pb_fail(err, taken, "%s", cause.message);
    }
    free(all);
    free(block);
    return pb_comm_agree(status, err);
}

enum pb_status pb_comm_share_ledger(const struct pb_ledger *found, const char *key,
                                    struct pb_ledger *ledger, struct pb_error *err)
{
    struct pb_ledger_entry *block = calloc(BLOCK_ENTRIES, sizeof(*block));
    size_t count = found->count;
    enum pb_status status = PB_OK;

    if (block == NULL)
        status = pb_fail(err, PB_NO_MEMORY, "out of memory for %d outcomes", BLOCK_ENTRIES);
    status = pb_comm_agree(status, err);
    if (status == PB_OK)
        pb_comm_share(&count, sizeof(count));
    for (size_t at = 0; status == PB_OK && block != NULL && at < count; at += BLOCK_ENTRIES) {
        size_t length = count - at < BLOCK_ENTRIES ? count - at : BLOCK_ENTRIES;

        if (my_rank() == 0)
            memcpy(block, found->items + at, length * sizeof(*block));
        pb_comm_share(block, length * sizeof(*block));
        for (size_t i = 0; i < length; i++)
            if (key[0] != '\0' && strcmp(block[i].key, key) == 0 && status == PB_OK)
                status = pb_ledger_record(ledger, &block[i], err);
        status = pb_comm_agree(status, err);
    }
    free(block);
    return status;
}

int64_t pb_comm_largest(int64_t mine)
{
    int64_t largest = mine;
    MPI_Request request;

    MPI_Iallreduce(&mine, &largest, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD, &request);
    pb_comm_wait(&request);
    return largest;
}

void pb_comm_meet(void)
{
    MPI_Request request;

    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    pb_comm_wait(&request);
}
