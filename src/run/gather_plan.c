/* Who measures what: the way from a probe's HELLO to a rank's plan. */
#include <stdlib.h>

#include "run/assign.h"
#include "run/gather_state.h"
#include "run/origin.h"

static const double step_seconds = 0.2;

/* Steps until one of the kinds of event that end a phase. */
static enum pb_status await(struct pb_gather *gather, enum pb_supervisor_event_kind kind,
                            enum pb_supervisor_event_kind *kind_out, struct pb_error *err)
{
    struct pb_event event = {.kind = PB_EVENT_NONE};
    enum pb_status status = PB_OK;

    while (status == PB_OK && event.kind != kind && event.kind != PB_EVENT_REFUSED &&
           event.kind != PB_EVENT_OVER) {
        pb_gather_heed_stop(gather);
        status = pb_supervisor_step(gather->supervisor, step_seconds, &event, err);
    }
    *kind_out = event.kind;
    return status;
}

static void find_visible(struct pb_gather *gather, struct pb_visible_devices *visible)
{
    const struct pb_failure *failure;
    const struct pb_hello *hello;
    struct pb_error err = gather->request->trouble;
    enum pb_supervisor_event_kind kind = PB_EVENT_NONE;
    enum pb_status status = err.status;

    pb_host_name(visible->host);
    visible->local_rank = pb_comm_local_rank();
    if (status == PB_OK)
        status = await(gather, PB_EVENT_HELLO, &kind, &err);
    if (status != PB_OK || kind != PB_EVENT_HELLO) {
        failure = status == PB_OK ? pb_supervisor_failure(gather->supervisor) : NULL;
        visible->status = failure == NULL ? status : failure->status;
        visible->member_status = failure == NULL ? PB_MEMBER_FAILED : failure->member_status;
        PB_TEXT_SET(visible->message, failure == NULL ? err.message : failure->message);
        return;
    }
    hello = pb_supervisor_hello(gather->supervisor);
    PB_TEXT_SET(visible->backend, hello->backend);
    visible->device_count =
        hello->device_count < PB_VISIBLE_MAX ? hello->device_count : PB_VISIBLE_MAX;
    for (size_t i = 0; i < visible->device_count; i++)
        PB_TEXT_SET(visible->uuids[i], hello->devices[i].uuid);
}

/* Opens the device of the assignment, if there is one. */
static void arrive(struct pb_gather *gather, const struct pb_visible_devices *visible,
                   const struct pb_assignment *assignment, struct pb_arrival *arrival)
{
    const struct pb_failure *failure;
    struct pb_error err = PB_ERROR_INIT;
    enum pb_supervisor_event_kind kind = PB_EVENT_NONE;
    enum pb_status status;

    PB_TEXT_SET(arrival->host, visible->host);
    arrival->local_rank = visible->local_rank;
    if (assignment->member_status != PB_MEMBER_OK) {
        arrival->status = PB_NOT_FOUND;
        arrival->member_status = assignment->member_status;
        PB_TEXT_SET(arrival->message, assignment->message);
        return;
    }
    pb_supervisor_open(gather->supervisor, assignment->selector, gather->rank);
    status = await(gather, PB_EVENT_OPENED, &kind, &err);
    if (status == PB_OK && kind == PB_EVENT_OPENED) {
        arrival->opened = *pb_supervisor_opened(gather->supervisor);
        return;
    }
    failure = pb_supervisor_failure(gather->supervisor);
    arrival->status = status == PB_OK ? failure->status : status;
    arrival->member_status = status == PB_OK ? failure->member_status : PB_MEMBER_FAILED;
    PB_TEXT_SET(arrival->message, status == PB_OK ? failure->message : err.message);
    PB_TEXT_SET(arrival->opened.host, failure->host);
    arrival->opened.slot = failure->slot;
}

static enum pb_status get_assignment(struct pb_gather *gather,
                                     const struct pb_visible_devices *visible,
                                     struct pb_assignment *assignment_out, struct pb_error *err)
{
    struct pb_assignment *assignments = NULL;
    void *rank_devices = NULL;
    enum pb_status status = pb_comm_collect(visible, sizeof(*visible), &rank_devices, err);

    if (status != PB_OK)
        return status;
    if (pb_gather_is_root(gather)) {
        assignments = calloc((size_t)gather->rank_count, sizeof(*assignments));
        status = assignments == NULL
                     ? pb_fail(err, PB_NO_MEMORY, "out of memory allocating the ranks' devices")
                     : pb_assign_devices(rank_devices, (size_t)gather->rank_count,
                                         gather->request->selection, assignments, err);
    }
    status = pb_comm_agree(status, err);
    if (status == PB_OK)
        pb_comm_deal(assignments, assignment_out, sizeof(*assignment_out));
    free(assignments);
    free(rank_devices);
    return status;
}

static enum pb_status get_name(struct pb_gather *gather, const struct pb_arrival *arrival,
                               struct pb_named_device *named_out, struct pb_error *err)
{
    struct pb_named_device *named = NULL;
    void *arrivals = NULL;
    enum pb_status status = pb_comm_collect(arrival, sizeof(*arrival), &arrivals, err);

    if (status != PB_OK)
        return status;
    if (pb_gather_is_root(gather)) {
        named = calloc((size_t)gather->rank_count, sizeof(*named));
        status = named == NULL
                     ? pb_fail(err, PB_NO_MEMORY, "out of memory allocating the ranks' devices")
                     : pb_assign_keys(arrivals, (size_t)gather->rank_count,
                                      gather->request->selection, named, err);
    }
    status = pb_comm_agree(status, err);
    if (status == PB_OK)
        pb_comm_deal(named, named_out, sizeof(*named_out));
    free(named);
    free(arrivals);
    return status;
}

enum pb_status pb_gather_make_plan(struct pb_gather *gather, struct pb_error *err)
{
    struct pb_member *member = &gather->plan.member;
    struct pb_visible_devices visible = {.status = PB_OK};
    struct pb_arrival arrival = {.status = PB_OK};
    struct pb_assignment assignment;
    struct pb_named_device named;
    enum pb_status status;

    find_visible(gather, &visible);
    status = get_assignment(gather, &visible, &assignment, err);
    if (status != PB_OK)
        return status;
    arrive(gather, &visible, &assignment, &arrival);
    status = get_name(gather, &arrival, &named, err);
    if (status != PB_OK)
        return status;

    member->rank = gather->rank;
    member->slot = named.slot;
    PB_TEXT_SET(member->host, named.host);
    PB_TEXT_SET(member->key, named.key);
    PB_TEXT_SET(member->uuid, arrival.opened.uuid);
    PB_TEXT_SET(member->pci_bus_id, arrival.opened.pci_bus_id);
    PB_TEXT_SET(member->model, arrival.opened.model);
    pb_member_set(member, named.member_status, named.message);
    gather->measures = named.member_status == PB_MEMBER_OK;
    if (gather->measures)
        gather->plan.tests = pb_supervisor_hello(gather->supervisor)->tests;
    else if (gather->supervisor != NULL)
        pb_supervisor_stop(gather->supervisor, named.message); /* let go of the device */
    return PB_OK;
}
