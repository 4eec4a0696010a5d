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

void pb_comm_wait(MPI_Request *request)
{
    static const double longest_seconds = 0.02;
    double pause_seconds = 0.0002;
    int done = 0;

    while (MPI_Test(request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done) {
        pb_time_sleep_seconds(pause_seconds);
        pause_seconds = fmin(2 * pause_seconds, longest_seconds);
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
            status =
                pb_fail(err, PB_NO_MEMORY, "no memory for the reports of %d ranks", rank_count());
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

/* Appends count items that came as bytes. */
static enum pb_status append_items(struct pb_done_list *list, const struct pb_done *items,
                                   size_t count, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < count && status == PB_OK; i++)
        status = pb_done_add(list, &items[i], err);
    return status;
}

/* One rank after the other, so that rank 0 holds one list at a time beside its own. */
static enum pb_status take_lists(struct pb_done_list *list, const size_t *counts,
                                 struct pb_error *err)
{
    enum pb_status status = PB_OK;

    for (int rank = 1; rank < rank_count(); rank++) {
        size_t size = counts[rank] * sizeof(struct pb_done);
        struct pb_done *items = malloc(size + 1);
        MPI_Request request;

        if (items == NULL) /* the sender must be heard out */
            status = pb_fail(err, PB_NO_MEMORY, "no memory for %zu finished tests", counts[rank]);
        MPI_Irecv(items, items == NULL ? 0 : (int)size, MPI_BYTE, rank, 0, MPI_COMM_WORLD,
                  &request);
        pb_comm_wait(&request);
        if (status == PB_OK)
            status = append_items(list, items, counts[rank], err);
        free(items);
    }
    return status;
}

enum pb_status pb_comm_collect_done(struct pb_done_list *list, struct pb_error *err)
{
    MPI_Request request;
    void *counts = NULL;
    enum pb_status status = pb_comm_collect(&list->count, sizeof(list->count), &counts, err);

    if (status != PB_OK)
        return status;
    if (counts != NULL) { /* at rank 0 */
        status = take_lists(list, counts, err);
    } else {
        MPI_Isend(list->items, (int)(list->count * sizeof(*list->items)), MPI_BYTE, 0, 0,
                  MPI_COMM_WORLD, &request);
        pb_comm_wait(&request);
    }
    free(counts);
    return pb_comm_agree(status, err);
}

enum pb_status pb_comm_share_done(struct pb_done_list *list, struct pb_error *err)
{
    size_t count = list->count;
    enum pb_status status = PB_OK;

    pb_comm_share(&count, sizeof(count));
    if (my_rank() != 0) {
        free(list->items);
        *list = (struct pb_done_list){calloc(count + 1, sizeof(*list->items)), count, count + 1};
        if (list->items == NULL)
            status = pb_fail(err, PB_NO_MEMORY, "no memory for %zu finished tests", count);
    }
    status = pb_comm_agree(status, err);
    if (status == PB_OK)
        pb_comm_share(list->items, count * sizeof(*list->items));
    return status;
}

void pb_comm_meet(void)
{
    MPI_Request request;

    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    pb_comm_wait(&request);
}
