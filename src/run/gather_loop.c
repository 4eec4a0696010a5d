/* Measuring: frames from the probe to the spool and to rank 0, and rank 0's receiving. */
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/time.h"
#include "run/gather_state.h"
#include "run/synthesize.h"

static const double step_seconds = 0.2;    /* of a rank that has only its probe to watch */
static const double glance_seconds = 0.01; /* of rank 0, which also listens to the others */
static const double haste_seconds = 0.002; /* of a rank whose frames are being sent */

enum { RECEIVES_PER_TURN = 64 }; /* before rank 0 looks after its own probe again */

/* The run goes on; the spools will have to do in the end. */
static void record_failure(struct pb_gather *gather, const struct pb_error *err)
{
    if (gather->trouble.status == PB_OK)
        gather->trouble = *err;
}

/* A frame at rank 0, its own or another rank's. */
static void take(struct pb_gather *gather, int rank, int tag, const void *bytes, size_t size)
{
    struct pb_error err = PB_ERROR_INIT;
    struct pb_frame frame;
    enum pb_status status = pb_frame_unpack(bytes, size, &frame, &err);

    if (status == PB_OK)
        status = tag == PB_TAG_CARRIED
                     ? pb_collect_carry_frame(gather->collect, &frame, &err)
                     : pb_collect_take(gather->collect, (size_t)rank, &frame, &err);
    if (status != PB_OK)
        record_failure(gather, &err);
    if (tag == PB_FRAME_MEMBER)
        gather->ended_count++;
}

/* Hands a frame to rank 0. */
static void deliver(struct pb_gather *gather, int tag, const void *bytes, size_t size)
{
    if (pb_gather_is_root(gather))
        take(gather, 0, tag, bytes, size);
    else
        pb_outbox_send(&gather->outbox, tag, bytes, size);
}

/*
 * Keeps a frame and hands it on. What the spool does not take waits in memory and is tried again;
 * the frame arrives all the same.
 */
static void keep(struct pb_gather *gather, enum pb_frame_type type, const void *bytes, size_t size)
{
    struct pb_error err = PB_ERROR_INIT;

    if (gather->spool != NULL && type != PB_FRAME_START &&
        pb_spool_append(gather->spool, bytes, size, true, &err) != PB_OK &&
        gather->spool_trouble.status == PB_OK)
        gather->spool_trouble = err;
    deliver(gather, (int)type, bytes, size);
}

/* Rank 0: takes one frame if one is there. */
static bool receive(struct pb_gather *gather)
{
    struct pb_error err = PB_ERROR_INIT;
    MPI_Status from;
    int there, size;

    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &from);
    if (!there)
        return false;
    MPI_Get_count(&from, MPI_BYTE, &size);
    if ((size_t)size > gather->capacity) {
        void *larger = realloc(gather->buffer, (size_t)size);

        if (larger == NULL) {
            pb_fail(&err, PB_NO_MEMORY, "out of memory allocating %d bytes of rank %d", size,
                    from.MPI_SOURCE);
            record_failure(gather, &err);
            return false; /* it waits; memory may come free */
        }
        gather->buffer = larger;
        gather->capacity = (size_t)size;
    }
    MPI_Recv(gather->buffer, size, MPI_BYTE, from.MPI_SOURCE, from.MPI_TAG, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    take(gather, from.MPI_SOURCE, from.MPI_TAG, gather->buffer, (size_t)size);
    return true;
}

/* What has come by now, but not for ever. */
static bool receive_some(struct pb_gather *gather)
{
    int count = 0;

    while (count < RECEIVES_PER_TURN && receive(gather))
        count++;
    return count > 0;
}

/* ---- what an earlier run has left ---- */

static enum pb_status carry_frame(void *context, const struct pb_frame *frame, const void *bytes,
                                  size_t size, struct pb_error *err)
{
    struct pb_gather *gather = context;

    (void)err;
    if (frame->type == PB_FRAME_DEVICE || frame->type == PB_FRAME_TEST)
        deliver(gather, PB_TAG_CARRIED, bytes, size);
    if (pb_gather_is_root(gather))
        receive_some(gather);
    return PB_OK;
}

/* The tests in this rank's spool, and at rank 0 those of ranks that are no more. */
static enum pb_status carry_spools(struct pb_gather *gather, struct pb_error *err)
{
    const struct pb_spool_visitor visitor = {carry_frame, gather};
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < gather->old_spools.count && status == PB_OK; i++) {
        struct pb_spool_end end;

        status = pb_spool_read(&gather->old_spools.items[i], &visitor, &end, err);
    }
    return status;
}

/* ---- stopping ---- */

static bool is_told_to_stop(struct pb_gather *gather)
{
    struct pollfd poll_fd = {.fd = gather->request->stop_fd, .events = POLLIN};
    int there = 0;

    if (poll(&poll_fd, 1, 0) > 0)
        return true;
    if (!pb_gather_is_root(gather))
        MPI_Iprobe(0, PB_TAG_STOP, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    return there != 0;
}

static void stop_all(struct pb_gather *gather, const char *reason)
{
    gather->is_stopped = true;
    if (gather->supervisor != NULL)
        pb_supervisor_stop(gather->supervisor, reason);
    for (int rank = 1; pb_gather_is_root(gather) && rank < gather->rank_count; rank++) {
        MPI_Request request;

        MPI_Isend(NULL, 0, MPI_BYTE, rank, PB_TAG_STOP, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request); /* it has no buffer; the ranks take it, soon or at the end */
    }
}

void pb_gather_heed_stop(struct pb_gather *gather)
{
    if (!gather->is_stopped && is_told_to_stop(gather))
        stop_all(gather, "the run was stopped by a signal");
}

/* Rank 0: a run whose output has another owner now has nothing more to do. */
static void heed_claim(struct pb_gather *gather)
{
    static const double pause_seconds = 1;
    double now = pb_time_monotonic_seconds();
    struct pb_error err = PB_ERROR_INIT;

    if (gather->is_stopped || now - gather->claim_checked < pause_seconds)
        return;
    gather->claim_checked = now;
    if (pb_claim_check(gather->claim, &err) == PB_OK)
        return;
    record_failure(gather, &err);
    stop_all(gather, err.message);
}

void pb_gather_drain_stop(struct pb_gather *gather)
{
    int was_sent = gather->is_stopped;

    pb_comm_share(&was_sent, sizeof(was_sent));
    if (was_sent && !pb_gather_is_root(gather))
        MPI_Recv(NULL, 0, MPI_BYTE, 0, PB_TAG_STOP, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* ---- the rank's own device ---- */

/* Sends the rank's row, its last frame. Whatever happens, rank 0 receives that it was the last. */
static void end_rank(struct pb_gather *gather)
{
    struct pb_member *member = &gather->plan.member;
    struct pb_error err = PB_ERROR_INIT;
    void *bytes = NULL;
    size_t size = 0;

    if (gather->measures) {
        pb_ledger_fill_row(&gather->ledger, member);
        member->seconds = pb_time_monotonic_seconds() - gather->begun;
    }
    if (member->message[0] == '\0' && gather->spool_trouble.status != PB_OK)
        snprintf(member->message, sizeof(member->message),
                 "measured, but not safe until the end: %.200s", gather->spool_trouble.message);
    if (pb_synthesize_member(member, &bytes, &size, &err) == PB_OK)
        keep(gather, PB_FRAME_MEMBER, bytes, size);
    else
        deliver(gather, PB_FRAME_MEMBER, "", 0);
    free(bytes);
    pb_node_leave(&gather->node);
    gather->has_ended = true;
}

/* This process is in trouble: what was measured is safe, the rest is not. */
static void give_up(struct pb_gather *gather, const struct pb_error *err)
{
    pb_supervisor_stop(gather->supervisor, err->message);
    pb_member_set(&gather->plan.member, PB_MEMBER_FAILED, err->message);
    gather->measures = false;
}

/* Records how a test ended; what cannot be recorded keeps the file from being made. */
static void record(struct pb_gather *gather, const struct pb_test_report *report)
{
    const struct pb_ledger_entry entry = pb_ledger_entry_of(
        &gather->plan.member, report->test, pb_message_end(report), report->message);
    struct pb_error err = PB_ERROR_INIT;

    if (pb_ledger_record(&gather->ledger, &entry, &err) != PB_OK)
        record_failure(gather, &err);
}

static void keep_event(struct pb_gather *gather, const struct pb_event *event)
{
    keep(gather, event->frame.type, event->frame_bytes, event->frame_size);
    if (event->frame.type == PB_FRAME_TEST)
        record(gather, &event->report);
}

/* One step of the rank's own work. */
static void work(struct pb_gather *gather, double timeout_seconds)
{
    double seconds = fmin(timeout_seconds, pb_node_poll_seconds(&gather->node));
    struct pb_event event = {.kind = PB_EVENT_OVER};
    struct pb_error err = PB_ERROR_INIT;

    pb_gather_heed_stop(gather);
    if (gather->measures && pb_supervisor_step(gather->supervisor, seconds, &event, &err) != PB_OK)
        give_up(gather, &err);
    else if (event.kind == PB_EVENT_FRAME)
        keep_event(gather, &event);
    else if (event.kind == PB_EVENT_OVER)
        end_rank(gather);
}

/* The tests that are still to be measured. */
static enum pb_status list_rest(struct pb_gather *gather, struct pb_test_list *rest_out,
                                struct pb_error *err)
{
    const struct pb_test_list *tests = &gather->plan.tests;
    struct pb_test_list rest = {calloc(tests->count + 1, sizeof(*rest.specs)), 0};

    if (rest.specs == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu tests", tests->count);
    for (size_t i = 0; i < tests->count; i++)
        if (gather->is_done == NULL || !gather->is_done[i])
            rest.specs[rest.count++] = tests->specs[i];
    *rest_out = rest;
    return PB_OK;
}

/* Orders the tests that are not done yet. */
static void start_work(struct pb_gather *gather)
{
    struct pb_test_list rest = {NULL, 0};
    struct pb_error err = PB_ERROR_INIT;
    enum pb_status status = list_rest(gather, &rest, &err);

    gather->begun = pb_time_monotonic_seconds();
    if (status == PB_OK)
        status = pb_supervisor_run(gather->supervisor, gather->plan.member.key, &rest, &err);
    if (status != PB_OK)
        give_up(gather, &err);
    free(rest.specs);
}

/* All that this rank has to look after has come to its end. */
static bool is_over(const struct pb_gather *gather)
{
    if (pb_gather_is_root(gather) && gather->ended_count < gather->rank_count)
        return false;
    return gather->has_ended && pb_node_is_over(&gather->node) &&
           pb_outbox_is_empty(&gather->outbox);
}

/* Any other rank's turn: its arbiter, its frames, its probe. */
static void step(struct pb_gather *gather)
{
    double seconds = step_seconds;

    pb_node_step(&gather->node);
    pb_outbox_step(&gather->outbox);
    if (!pb_outbox_is_empty(&gather->outbox))
        seconds = haste_seconds;
    if (!gather->has_ended)
        work(gather, seconds);
    else
        pb_time_sleep_seconds(fmin(seconds, glance_seconds));
}

void pb_gather_loop(struct pb_gather *gather)
{
    struct pb_error err = PB_ERROR_INIT;

    if (carry_spools(gather, &err) != PB_OK)
        record_failure(gather, &err);
    if (gather->measures)
        start_work(gather);
    while (!pb_gather_is_root(gather) && !is_over(gather))
        step(gather);
    while (pb_gather_is_root(gather) && !is_over(gather)) {
        bool busy = receive_some(gather);

        pb_node_step(&gather->node);
        if (!gather->has_ended)
            work(gather, busy ? 0 : glance_seconds);
        else if (!busy)
            pb_time_sleep_seconds(glance_seconds);
        pb_gather_heed_stop(gather);
        heed_claim(gather);
        gather->observer.tick(gather->observer.context);
    }
}
