/* The ranks of a job: from the request to the file in place; see gather.h. */
#include "run/gather.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/gather_state.h"
#include "run/synthesize.h"

/* ---- before ---- */

/* Rank 0: refuses what would end badly, and becomes the output's owner, before all else. */
static enum pb_status check_places(struct pb_gather *gather, struct pb_error *err)
{
    const struct pb_gather_request *request = gather->request;
    enum pb_status status = pb_fleet_may_create(request->output, err);

    if (status == PB_OK)
        status = pb_claim_take(request->output, "plumb-run", &gather->claim, err);
    if (status == PB_OK && !request->resume)
        status = pb_spool_refuse_left(
            request->spool,
            "--resume goes on with it, plumb-merge saves it, removing it forgets it", err);
    return status;
}

/* ---- resuming ---- */

/* Keeps of the files those that this rank looks after: its own, at rank 0 those of no rank, too. */
static void keep_own_spools(const struct pb_gather *gather, struct pb_spool_files *files)
{
    size_t kept = 0;

    for (size_t i = 0; i < files->count; i++) {
        struct pb_spool_file *file = &files->items[i];
        bool is_left = file->rank < 0 || file->rank >= gather->rank_count;

        if (file->rank == gather->rank || (pb_gather_is_root(gather) && is_left))
            files->items[kept++] = *file;
        else
            pb_spool_file_clear(file);
    }
    files->count = kept;
}

/* The spools that earlier runs have left, as they are now, and the epoch that follows theirs. */
static enum pb_status find_spools(struct pb_gather *gather, struct pb_error *err)
{
    struct pb_spool_files *files = &gather->old_spools;
    uint32_t latest = 0;
    enum pb_status status = PB_OK;

    if (gather->request->resume && access(gather->request->spool, F_OK) == 0)
        status = pb_spool_list(gather->request->spool, files, err);
    for (size_t i = 0; i < files->count; i++)
        latest = files->items[i].epoch > latest ? files->items[i].epoch : latest;
    pb_spool_find_seals(files, gather->rank);
    keep_own_spools(gather, files);
    pb_spool_limit(files);
    gather->epoch = (uint32_t)pb_comm_largest(latest) + 1;
    return pb_comm_agree(status, err);
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

    for (size_t i = 0; i < gather->ledger.count; i++) {
        const struct pb_ledger_entry *entry = &gather->ledger.items[i];

        if (entry->end.outcome != PB_TEST_OK)
            continue;
        if (strcmp(entry->uuid, member->uuid) != 0)
            return refuse(member, entry->uuid, member->uuid, err);
        if (entry->model[0] != '\0' && strcmp(entry->model, member->model) != 0)
            return refuse(member, entry->model, member->model, err);
    }
    return PB_OK;
}

/*
 * Which tests need not be measured again. One that devices run at the same time is repeated by the
 * whole node when it is not done on all of its devices: alone, a device would run another test.
 */
static void find_done(struct pb_gather *gather)
{
    const struct pb_plan *plan = &gather->plan;

    for (size_t i = 0; i < plan->tests.count; i++)
        gather->is_done[i] = pb_ledger_is_done(&gather->ledger, plan->member.key, plan->member.uuid,
                                               plan->tests.specs[i].name, gather->node.count);
    for (size_t i = 0; i < plan->tests.count; i++)
        if (plan->tests.specs[i].concurrent_devices != 0)
            pb_node_all(&gather->node, &gather->is_done[i], 1);
}

/* Every rank learns which tests of its device are done. */
static enum pb_status learn_done(struct pb_gather *gather, struct pb_error *err)
{
    struct pb_ledger found = {NULL, 0, 0};
    enum pb_status status = PB_OK;

    if (pb_gather_is_root(gather))
        status = pb_ledger_add_fleet(&found, gather->request->output, err);
    for (size_t i = 0; i < gather->old_spools.count && status == PB_OK; i++)
        status = pb_ledger_add_spool(&found, &gather->old_spools.items[i], err);
    status = pb_comm_agree(status, err);
    if (status == PB_OK)
        status = pb_comm_collect_ledger(&found, err);
    if (status == PB_OK)
        status = pb_comm_share_ledger(&found, gather->plan.member.key, &gather->ledger, err);
    pb_ledger_clear(&found);
    if (status != PB_OK)
        return status;
    status = check_identity(gather, err);
    gather->is_done = calloc(gather->plan.tests.count + 1, sizeof(*gather->is_done));
    if (status == PB_OK && gather->is_done == NULL)
        status =
            pb_fail(err, PB_NO_MEMORY, "out of memory for %zu tests", gather->plan.tests.count);
    status = pb_comm_agree(status, err);
    if (status == PB_OK && gather->is_done != NULL)
        find_done(gather);
    return status;
}

/* ---- beginning and ending ---- */

static enum pb_status open_fleet(struct pb_gather *gather, struct pb_error *err)
{
    const struct pb_gather_request *request = gather->request;
    enum pb_status status =
        pb_collect_open(request->output, &gather->plan.run, gather->claim,
                        (size_t)gather->rank_count, &gather->observer, &gather->collect, err);

    if (status == PB_OK && request->resume && access(request->output, F_OK) == 0)
        status = pb_collect_carry_file(gather->collect, request->output, err);
    return status;
}

/* Appends a packed frame, which is freed. */
static enum pb_status append(struct pb_gather *gather, void *bytes, size_t size,
                             struct pb_error *err)
{
    enum pb_status status = pb_spool_append(gather->spool, bytes, size, true, err);

    free(bytes);
    return status;
}

static enum pb_status open_spool(struct pb_gather *gather, struct pb_error *err)
{
    void *bytes = NULL;
    size_t size;
    enum pb_status status =
        pb_spool_open(gather->request->spool, gather->rank, gather->epoch, &gather->spool, err);

    if (status == PB_OK)
        status = pb_synthesize_plan(&gather->plan, &bytes, &size, err);
    if (status == PB_OK)
        status = append(gather, bytes, size, err);
    if (status == PB_OK && gather->old_spools.count > 0) {
        status = pb_spool_seal(&gather->old_spools, &bytes, &size, err);
        if (status == PB_OK)
            status = append(gather, bytes, size, err);
    }
    return status;
}

/* Rank 0's file and everybody's spool, or none of them. */
static enum pb_status begin(struct pb_gather *gather, struct pb_error *err)
{
    const struct pb_gather_request *request = gather->request;
    enum pb_status status = find_spools(gather, err);

    if (status == PB_OK && request->resume)
        status = learn_done(gather, err);
    if (status != PB_OK)
        return status;
    if (pb_gather_is_root(gather))
        status = open_fleet(gather, err);
    if (status == PB_OK)
        status = open_spool(gather, err);
    status = pb_comm_agree(status, err);
    if (status != PB_OK && gather->spool != NULL) /* nothing was measured */
        pb_spool_remove(request->spool, gather->rank, gather->epoch);
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

/* Without the file, the spools are all there is: what still waits in memory belongs into them. */
static void save_rest(struct pb_gather *gather, struct pb_error *err)
{
    struct pb_error cause = PB_ERROR_INIT, before = *err;
    enum pb_status status = gather->spool == NULL ? PB_OK : pb_spool_retry(gather->spool, &cause);

    if (pb_comm_agree(status, &cause) != PB_OK)
        pb_fail(err, before.status, "%s, less what is not in it: %s", before.message,
                cause.message);
}

/* The last acts: the file, then the spools that it makes superfluous. */
static enum pb_status finish(struct pb_gather *gather, struct pb_summary *summary_out,
                             struct pb_error *err)
{
    const struct pb_gather_request *request = gather->request;
    struct pb_summary summary = {.member_count = 0};
    enum pb_status status = commit(gather, &summary, err);

    if (status != PB_OK) {
        save_rest(gather, err);
        return status;
    }
    pb_comm_share(&summary, sizeof(summary));
    *summary_out = summary;
    /* An owner that took over meanwhile may be reading the spools. */
    status = pb_comm_agree(pb_claim_check(gather->claim, NULL), NULL);
    if (request->keep_spool || status != PB_OK)
        return PB_OK;
    pb_spool_remove(request->spool, gather->rank, gather->epoch);
    for (size_t i = 0; i < gather->old_spools.count; i++)
        unlink(gather->old_spools.items[i].path);
    pb_comm_meet();
    if (pb_gather_is_root(gather))
        rmdir(request->spool);
    return PB_OK;
}

/* The ranks that share a node with this one, which run its concurrent tests. */
static enum pb_status find_node(struct pb_gather *gather, struct pb_error *err)
{
    const struct pb_test_list *tests = &gather->plan.tests;
    const struct pb_node_request request = {
        .measures = gather->measures,
        .host = gather->plan.member.host,
        .tests = tests,
        .supervisor = gather->supervisor,
        .deadline_seconds = gather->request->deadline_seconds,
    };

    enum pb_status status = pb_comm_agree(pb_node_open(&request, &gather->node, err), err);

    for (size_t i = 0; i < tests->count; i++)
        if (tests->specs[i].concurrent_devices != 0)
            tests->specs[i].concurrent_devices = gather->node.count;
    return status;
}

static void clear(struct pb_gather *gather)
{
    pb_node_close(&gather->node);
    pb_spool_close(gather->spool);
    pb_collect_abandon(gather->collect);
    pb_spool_files_clear(&gather->old_spools);
    pb_ledger_clear(&gather->ledger);
    pb_claim_release(gather->claim);
    free(gather->is_done);
    free(gather->buffer);
}

enum pb_status pb_gather_run(const struct pb_gather_request *request,
                             struct pb_supervisor *supervisor,
                             const struct pb_run_listener *observer, struct pb_summary *summary_out,
                             struct pb_error *err)
{
    struct pb_gather gather = {.request = request, .supervisor = supervisor, .observer = *observer};
    enum pb_status status;

    MPI_Comm_rank(MPI_COMM_WORLD, &gather.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &gather.rank_count);
    gather.plan.run = request->run;
    gather.plan.rank_count = gather.rank_count;
    pb_comm_share(&gather.plan.run, sizeof(gather.plan.run));

    status = pb_gather_is_root(&gather) ? check_places(&gather, err) : PB_OK;
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
