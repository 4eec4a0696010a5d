/*
 * Transfers over the host link and between devices.
 *
 * A transfer takes its latency and then as long as its bytes over the bandwidth. PCI Express: the
 * generation's rate per lane, of which transfers get the usual share, and pageable host memory the
 * profile's share of that. Where the link is one of several at once, nothing here knows.
 */
#include <math.h>
#include <strings.h>

#include "device/sim/limits.h"
#include "device/sim/simulator.h"
#include "device/sim/slot.h"

enum { WORD_BYTES = 8 };

uint32_t pb_sim_device_pcie_width(const struct pb_sim_device *device)
{
    const struct pb_sim_fault *narrow =
        pb_sim_faults_find(&device->faults, PB_SIM_FAULT_PCIE_WIDTH);
    uint32_t width = device->profile->link.pcie_width;

    return narrow != NULL && narrow->value < width ? (uint32_t)narrow->value : width;
}

static double pcie_bytes_per_s(const struct pb_sim_device *device)
{
    /* per lane and direction, line code taken off (PCI Express base specifications) */
    static const double lane[] = {0.0, 0.25e9, 0.5e9, 0.9846e9, 1.969e9, 3.938e9, 7.563e9};
    const double payload_share = 0.85; /* headers and flow control, as copies usually see it */

    return payload_share * lane[device->profile->link.pcie_generation] *
           pb_sim_device_pcie_width(device);
}

/* A peer stands in this device's own node, in another slot. */
static enum pb_status find_peer(const struct pb_sim_device *device, const char *peer,
                                struct pb_error *err)
{
    char own[PB_TEXT_LENGTH];

    pb_sim_slot_uuid(device->host, device->slot, own);
    if (peer != NULL && strcasecmp(peer, own) == 0)
        return pb_fail(err, PB_UNSUPPORTED, "link: %s is this device itself", peer);
    for (size_t i = 0; i < device->base.node_count && peer != NULL; i++)
        if (strcasecmp(peer, device->node[i].uuid) == 0)
            return PB_OK;
    return pb_fail(err, PB_NOT_FOUND, "link: no device \"%s\" in this node",
                   peer != NULL ? peer : "");
}

static enum pb_status check_link(const struct pb_sim_device *device, const struct pb_link *link,
                                 struct pb_error *err)
{
    uint64_t room = pb_sim_limits_free_bytes(device->profile);
    enum pb_status status = pb_sim_device_check(device, err);

    if (status != PB_OK)
        return status;
    if (link->kind != PB_LINK_TO_DEVICE && link->kind != PB_LINK_FROM_DEVICE &&
        link->kind != PB_LINK_FROM_PEER)
        return pb_fail(err, PB_INVALID, "link: unknown kind %d", (int)link->kind);
    if (link->bytes == 0 || link->repeats == 0)
        return pb_fail(err, PB_INVALID, "link: nothing to move");
    if (link->bytes > room)
        return pb_fail(err, PB_NO_MEMORY, "link: %llu bytes asked for, %llu there",
                       (unsigned long long)link->bytes, (unsigned long long)room);
    return link->kind == PB_LINK_FROM_PEER ? find_peer(device, link->peer, err) : PB_OK;
}

static double transfer_seconds(const struct pb_sim_device *device, const struct pb_link *link)
{
    const struct pb_sim_link_spec *spec = &device->profile->link;
    double bytes_per_s = spec->peer_bytes_per_s, latency_us = spec->peer_latency_us;

    if (link->kind != PB_LINK_FROM_PEER) {
        bytes_per_s = pcie_bytes_per_s(device) * (link->pinned ? 1.0 : spec->pageable_share);
        latency_us = spec->latency_us;
    }
    return latency_us * device->latency_factor * 1e-6 +
           (double)link->bytes / (bytes_per_s * device->bandwidth_factor);
}

enum pb_status pb_sim_link(struct pb_device *base, const struct pb_link *link,
                           struct pb_link_result *result_out, struct pb_error *err)
{
    struct pb_sim_device *device = pb_sim_device_of(base);
    enum pb_status status = check_link(device, link, err);

    if (status != PB_OK)
        return status;
    result_out->seconds = result_out->least_seconds = transfer_seconds(device, link);
    result_out->mismatch_count =
        pb_sim_device_mismatches(device, (link->bytes + WORD_BYTES - 1) / WORD_BYTES);
    device->seconds += result_out->seconds * link->repeats;
    return PB_OK;
}
