/* The ranks of a job: from the request to the file in place; see gather.h. */
#include "run/gather.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/compose.h"
#include "run/gather_state.h"

/* ---- before ---- */

/* Rank 0: refuses what would end badly, before anything is measured or made. */
static enum pb_status check_places(const struct pb_gather_request *request, struct pb_error *err)
{
    char **spools = NULL;
    size_t count = 0;
    enum pb_status status = pb_fleet_may_create(request->output, err);

    if (status != PB_OK || request->resume || access(request->spool, F_OK) != 0)
        return status;
    status = pb_spool_list(request->spool, &spools, &count, err);
    pb_spool_free_list(spools, count);
    if (status == PB_OK && count > 0)
        status = pb_fail(err, PB_EXISTS,
                         "%s: holds the results of a run that did not end; --resume goes on with "
                         "it, plumb-merge saves it, removing it forgets it",
                         request->spool);
    return status;
}

/* ---- resuming ---- */

/* The spools this rank looks after: its own, and at rank 0 those beyond the last rank. */
static enum pb_status find_spools(struct pb_gather *gather, struct pb_error *err)
{
    const char *dir = gather->request->spool;
    char **paths = NULL, first_path[4096], last_path[4096];
    size_t count = 0, kept = 0;
    enum pb_status status;

    if (access(dir, F_OK) != 0)
        return PB_OK;
    status = pb_spool_path(dir, gather->rank, first_path, sizeof(first_path), err);
    if (status == PB_OK)
        status = pb_spool_path(dir, gather->rank_count, last_path, sizeof(last_path), err);
    if (status == PB_OK)
        status = pb_spool_list(dir, &paths, &count, err);
    if (status != PB_OK)
        return status;
    for (size_t i = 0; i < count; i++) { /* names sort as numbers do */
        bool beyond = pb_gather_is_root(gather) && strcmp(paths[i], last_path) >= 0;

        if (beyond || strcmp(paths[i], first_path) == 0)
            paths[kept++] = paths[i];
        else
            free(paths[i]);
    }
    gather->old_spools = paths;
    gather->old_spool_count = kept;
    return PB_OK;
}

static enum pb_status refuse(const struct pb_member *member, const char *was, const char *is,
                             struct pb_error *err)
{
    return pb_fail(err, PB_INVALID,
                   "%s was %s in the earlier run and is %s now: these cannot be joined",
                   member->key, was, is);
}

/*
 * A device that was replaced must not lend its name to the new one's results. Another profile makes
 * a simulated device another one, whose UUID is that of its slot.
 */
static enum pb_status check_identity(const struct pb_gather *gather, struct pb_error *err)
{
    const struct pb_member *member = &gather->plan.member;

    for (size_t i = 0; i < gather->done.count; i++) {
        const struct pb_done *done = &gather->done.items[i];

        if (done->outcome != PB_TEST_OK || strcmp(done->key, member->key) != 0)
            continue;
        if (strcmp(done->uuid, member->uuid) != 0)
            return refuse(member, done->uuid, member->uuid, err);
        if (done->model[0] != '\0' && strcmp(done->model, member->model) != 0)
            return refuse(member, done->model, member->model, err);
    }
    return PB_OK;
}

/* Every rank learns which tests of its device are done. */
static enum pb_status learn_done(struct pb_gather *gather, struct pb_error *err)
{
    enum pb_status status = find_spools(gather, err);

    if (status == PB_OK && pb_gather_is_root(gather))
        status = pb_done_add_fleet(&gather->done, gather->request->output, err);
    for (size_t i = 0; i < gather->old_spool_count && status == PB_OK; i++)
        status = pb_done_add_spool(&gather->done, gather->old_spools[i], err);
    status = pb_comm_agree(status, err);
    if (status == PB_OK)
        status = pb_comm_collect_done(&gather->done, err);
    if (status == PB_OK)
        status = pb_comm_share_done(&gather->done, err);
    if (status == PB_OK)
        status = pb_comm_agree(check_identity(gather, err), err);
    return status;
}

/* ---- beginning and ending ---- */

static enum pb_status open_fleet(struct pb_gather *gather, struct pb_error *err)
{
    const struct pb_gather_request *request = gather->request;
    enum pb_status status =
        pb_collect_open(request->output, &gather->plan.run, (size_t)gather->rank_count,
                        &gather->observer, &gather->collect, err);

    if (status == PB_OK && request->resume && access(request->output, F_OK) == 0)
        status = pb_collect_carry_file(gather->collect, request->output, err);
    return status;
}

static enum pb_status open_spool(struct pb_gather *gather, struct pb_error *err)
{
    const struct pb_gather_request *request = gather->request;
    void *bytes = NULL;
    size_t size;
    enum pb_status status =
        pb_spool_open(request->spool, gather->rank, request->resume, &gather->spool, err);

    if (status == PB_OK)
        status = pb_compose_plan(&gather->plan, &bytes, &size, err);
    if (status == PB_OK)
        status = pb_spool_append(gather->spool, bytes, size, true, err);
    free(bytes);
    return status;
}

/* Rank 0's file and everybody's spool, or none of them. */
static enum pb_status begin(struct pb_gather *gather, struct pb_error *err)
{
    const struct pb_gather_request *request = gather->request;
    enum pb_status status = PB_OK;

    if (request->resume)
        status = learn_done(gather, err);
    if (status != PB_OK)
        return status;
    if (pb_gather_is_root(gather))
        status = open_fleet(gather, err);
    if (status == PB_OK)
        status = open_spool(gather, err);
    status = pb_comm_agree(status, err);
    if (status != PB_OK && gather->spool != NULL && !request->resume)
        pb_spool_remove(request->spool, gather->rank);
    return status;
}

/* Rank 0 puts the file in place, unless any rank is in trouble. */
static enum pb_status commit(struct pb_gather *gather, struct pb_summary *summary,
                             struct pb_error *err)
{
    const struct pb_gather_request *request = gather->request;
    enum pb_status status = pb_comm_agree(gather->trouble.status, &gather->trouble);

    if (status == PB_OK && pb_gather_is_root(gather)) {
        status = pb_collect_commit(gather->collect, summary, &gather->trouble);
        gather->collect = NULL;
    }
    if (status != PB_OK)
        pb_fail(err, status, "%s: %s; plumb-merge makes the file from %s", request->output,
                gather->trouble.message, request->spool);
    return pb_comm_agree(status, err);
}

/* The last acts: the file, then the spools that it makes superfluous. */
static enum pb_status finish(struct pb_gather *gather, struct pb_summary *summary_out,
                             struct pb_error *err)
{
    const struct pb_gather_request *request = gather->request;
    struct pb_summary summary = {.member_count = 0};
    enum pb_status status = commit(gather, &summary, err);

    if (status != PB_OK)
        return status;
    pb_comm_share(&summary, sizeof(summary));
    *summary_out = summary;
    if (request->keep_spool)
        return PB_OK;
    pb_spool_remove(request->spool, gather->rank);
    for (size_t i = 0; i < gather->old_spool_count; i++)
        unlink(gather->old_spools[i]);
    pb_comm_meet();
    if (pb_gather_is_root(gather))
        rmdir(request->spool);
    return PB_OK;
}

/* The ranks that share a node with this one. */
static enum pb_status find_node(struct pb_gather *gather, struct pb_error *err)
{
    const struct pb_node_request request = {
        .measures = gather->measures,
        .host = gather->plan.member.host,
        .tests = &gather->plan.tests,
        .supervisor = gather->supervisor,
        .deadline_seconds = gather->request->deadline_seconds,
    };

    return pb_comm_agree(pb_node_open(&request, &gather->node, err), err);
}

static void clear(struct pb_gather *gather)
{
    pb_node_close(&gather->node);
    pb_spool_close(gather->spool);
    pb_collect_abandon(gather->collect);
    pb_spool_free_list(gather->old_spools, gather->old_spool_count);
    free(gather->done.items);
    free(gather->buffer);
}

enum pb_status pb_gather_run(const struct pb_gather_request *request,
                             struct pb_supervisor *supervisor, const struct pb_observer *observer,
                             struct pb_summary *summary_out, struct pb_error *err)
{
    struct pb_gather gather = {.request = request, .supervisor = supervisor, .observer = *observer};
    enum pb_status status;

    MPI_Comm_rank(MPI_COMM_WORLD, &gather.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &gather.rank_count);
    gather.plan.run = request->run;
    gather.plan.rank_count = gather.rank_count;
    pb_comm_share(&gather.plan.run, sizeof(gather.plan.run));

    status = pb_gather_is_root(&gather) ? check_places(request, err) : PB_OK;
    status = pb_comm_agree(status, err);
    if (status == PB_OK)
        status = pb_gather_make_plan(&gather, err);
    if (status == PB_OK)
        status = find_node(&gather, err);
    if (status == PB_OK)
        status = begin(&gather, err);
    if (status == PB_OK) {
        pb_gather_loop(&gather);
        status = finish(&gather, summary_out, err);
    }
    pb_gather_drain_stop(&gather);
    clear(&gather);
    pb_comm_meet();
    return status;
}
