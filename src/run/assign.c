/* Dealing devices out to ranks; see assign.h. */
#include "run/assign.h"

#include <stdio.h>
#include <string.h>

#include "core/text.h"

/* The words of the lowest rank whose command line asks something impossible. */
static enum pb_status usage_error(enum pb_status status, const char *message, size_t rank,
                                  const char *host, struct pb_error *err)
{
    if (rank == 0)
        return pb_fail(err, status, "%s", message);
    return pb_fail(err, status, "rank %zu on %s: %s", rank, host, message);
}

/* ---- assignments ---- */

static void deny(struct pb_assignment *assignment, enum pb_member_status status,
                 const char *message)
{
    assignment->member_status = status;
    PB_TEXT_SET(assignment->message, message);
}

static bool is_taken(const struct pb_assignment *assignments, size_t rank_count, const char *uuid)
{
    for (size_t i = 0; i < rank_count; i++)
        if (assignments[i].member_status == PB_MEMBER_OK &&
            strcmp(assignments[i].selector, uuid) == 0)
            return true;
    return false;
}

/* A free device of those this rank sees; assignments[before] are dealt. */
static void assign_real_gpu(const struct pb_visible_devices *visible,
                            const struct pb_assignment *assignments, size_t before,
                            struct pb_assignment *assignment)
{
    size_t count = visible->device_count < PB_VISIBLE_MAX ? visible->device_count : PB_VISIBLE_MAX;

    for (size_t i = 0; i <= count && count > 0; i++) {
        size_t choice = i == 0 ? (size_t)visible->local_rank % count : i - 1;

        if (!is_taken(assignments, before, visible->uuids[choice])) {
            assignment->member_status = PB_MEMBER_OK;
            PB_TEXT_SET(assignment->selector, visible->uuids[choice]);
            return;
        }
    }
    if (count == 0)
        deny(assignment, PB_MEMBER_ABSENT, "this rank sees no GPU");
    else if (pb_uuid_is_instance(visible->uuids[0]))
        deny(assignment, PB_MEMBER_DUPLICATE,
             "every MIG instance that this rank sees is another rank's: "
             "name all of the node's in CUDA_VISIBLE_DEVICES");
    else
        deny(assignment, PB_MEMBER_DUPLICATE, "every GPU that this rank sees is another rank's");
}

/* Ranks of a simulated run all answer with simulated devices: "auto" never simulates. */
static bool is_simulated(const struct pb_visible_devices *visible)
{
    return pb_backend_is_simulated(visible->backend);
}

enum pb_status pb_assign_devices(const struct pb_visible_devices *rank_devices, size_t rank_count,
                                 const struct pb_test_selection *selection,
                                 struct pb_assignment *assignments_out, struct pb_error *err)
{
    for (size_t i = 0; i < rank_count; i++)
        if (rank_devices[i].status == PB_INVALID)
            return usage_error(PB_INVALID, rank_devices[i].message, i, rank_devices[i].host, err);
    for (size_t i = 0; i < rank_count; i++) {
        const struct pb_visible_devices *visible = &rank_devices[i];
        struct pb_assignment *assignment = &assignments_out[i];

        memset(assignment, 0, sizeof(*assignment));
        if (visible->status != PB_OK) {
            deny(assignment, visible->member_status, visible->message);
        } else if (selection->selector != NULL) {
            PB_TEXT_SET(assignment->selector, selection->selector);
        } else if (!is_simulated(visible)) {
            assign_real_gpu(visible, assignments_out, i, assignment);
        } else if (selection->fleet == NULL) {
            snprintf(assignment->selector, sizeof(assignment->selector), "%lld",
                     (long long)visible->local_rank);
        }
    }
    return PB_OK;
}

/* ---- keys ---- */

/* The rank before `rank` that opened the same device; `rank` itself: there is none. */
static size_t find_twin(const struct pb_arrival *arrivals, size_t rank)
{
    for (size_t i = 0; i < rank; i++)
        if (arrivals[i].status == PB_OK &&
            strcmp(arrivals[i].opened.uuid, arrivals[rank].opened.uuid) == 0)
            return i;
    return rank;
}

static bool is_key_taken(const struct pb_named_device *devices, size_t before, const char *key)
{
    for (size_t i = 0; i < before; i++)
        if (strcmp(devices[i].key, key) == 0)
            return true;
    return false;
}

/* A key must be the name of an HDF5 group. */
static void make_key(const struct pb_named_device *devices, size_t rank,
                     struct pb_named_device *device)
{
    char host[PB_KEY_LENGTH - 32];

    PB_TEXT_SET(host, device->host[0] == '\0' ? "host" : device->host);
    for (char *at = host; *at != '\0'; at++)
        if (*at == '/' || (at == host && *at == '.'))
            *at = '_';
    snprintf(device->key, sizeof(device->key), "%s.gpu%lld", host, (long long)device->slot);
    if (is_key_taken(devices, rank, device->key))
        snprintf(device->key, sizeof(device->key), "%s.gpu%lld.%zu", host, (long long)device->slot,
                 rank);
}

/* The node of a simulated fleet, or the rank's own. */
static const char *host_of(const struct pb_arrival *arrival)
{
    return arrival->opened.host[0] != '\0' ? arrival->opened.host : arrival->host;
}

static void name_device(const struct pb_arrival *arrivals, size_t rank,
                        struct pb_named_device *devices)
{
    const struct pb_arrival *arrival = &arrivals[rank];
    struct pb_named_device *device = &devices[rank];
    size_t twin;

    memset(device, 0, sizeof(*device));
    PB_TEXT_SET(device->host, host_of(arrival));
    device->slot = -1;
    if (arrival->status != PB_OK) {
        if (arrival->opened.host[0] != '\0')
            device->slot = arrival->opened.slot;
        device->member_status = arrival->member_status;
        PB_TEXT_SET(device->message, arrival->message);
        return;
    }
    device->slot = arrival->opened.slot >= 0 ? arrival->opened.slot : arrival->local_rank;
    twin = find_twin(arrivals, rank);
    if (twin != rank) {
        device->member_status = PB_MEMBER_DUPLICATE;
        snprintf(device->message, sizeof(device->message), "%s is measured by rank %zu",
                 arrival->opened.uuid, twin);
        return;
    }
    make_key(devices, rank, device);
}

static enum pb_status check_arrivals(const struct pb_arrival *arrivals, size_t rank_count,
                                     const struct pb_test_selection *selection,
                                     struct pb_error *err)
{
    const struct pb_arrival *best = NULL;

    for (size_t i = 0; i < rank_count; i++) {
        const struct pb_arrival *arrival = &arrivals[i];

        if (arrival->status == PB_INVALID)
            return usage_error(PB_INVALID, arrival->message, i, arrival->host, err);
        if (!pb_text_is_host(host_of(arrival))) /* no file could be made of what it measures */
            return pb_fail(err, PB_INVALID, "rank %zu: expected a host's name, found \"%s\"", i,
                           host_of(arrival));
        if (arrival->status == PB_OK && arrival->opened.fleet_size > (int64_t)rank_count)
            return pb_fail(err, PB_INVALID, "%s: lists %lld devices, but there are %zu ranks",
                           selection->fleet == NULL ? "the fleet" : selection->fleet,
                           (long long)arrival->opened.fleet_size, rank_count);
        if (best == NULL || arrival->status == PB_OK)
            best = arrival;
    }
    if (best == NULL || best->status != PB_OK)
        return pb_fail(err, PB_NOT_FOUND, "nothing to measure: %s",
                       best == NULL ? "there are no ranks" : best->message);
    return PB_OK;
}

enum pb_status pb_assign_keys(const struct pb_arrival *arrivals, size_t rank_count,
                              const struct pb_test_selection *selection,
                              struct pb_named_device *devices_out, struct pb_error *err)
{
    enum pb_status status = check_arrivals(arrivals, rank_count, selection, err);

    for (size_t i = 0; i < rank_count && status == PB_OK; i++)
        name_device(arrivals, i, devices_out);
    return status;
}
