/*
 * Transfers over the host link and between devices, and chases in a peer's memory.
 *
 * A transfer takes its latency and then as long as its bytes over the bandwidth. PCI Express: the
 * generation's rate per lane, of which transfers get the usual share, and pageable host memory the
 * profile's share of that. Where the link is one of several at once, nothing here knows.
 *
 * A load of a peer's line takes what the peer's L2 or DRAM takes, the peer being healthy, and the
 * way there and back. Lines that were loaded through L1 before are in L1, as far as it holds them.
 */
#include <math.h>
#include <string.h>
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
    uint64_t available = pb_sim_limits_free_bytes(device->profile);
    enum pb_status status = pb_sim_device_check(device, err);

    if (status != PB_OK)
        return status;
    if ((unsigned)link->kind >= PB_LINK_KIND_COUNT)
        return pb_fail(err, PB_INVALID, "link: unknown kind %d", (int)link->kind);
    if (link->bytes == 0 || link->repeats == 0)
        return pb_fail(err, PB_INVALID, "link: nothing to move");
    if (link->bytes > available)
        return pb_fail(err, PB_NO_MEMORY, "link: %llu bytes asked for, %llu there",
                       (unsigned long long)link->bytes, (unsigned long long)available);
    return pb_link_has_peer(link) ? find_peer(device, link->peer, err) : PB_OK;
}

/* What a fault makes of the way to peers. */
static double way_factor(const struct pb_sim_device *device)
{
    return pb_sim_faults_factor(&device->faults, PB_SIM_FAULT_PEER_LATENCY);
}

static double transfer_seconds(const struct pb_sim_device *device, const struct pb_link *link)
{
    const struct pb_sim_link_spec *spec = &device->profile->link;
    double bytes_per_s = spec->peer_bytes_per_s;
    double latency_us = spec->peer_latency_us * way_factor(device);

    if (link->kind == PB_LINK_BOTH_PEER && !link->by_sms)
        bytes_per_s *= spec->peer_both_share;
    if (!pb_link_has_peer(link)) {
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

/* The cache of its SM that loads of a peer's lines may hit; cache_count: none. */
static size_t own_cache(const struct pb_sim_profile *profile, enum pb_path path)
{
    size_t i = 0;

    while (i < profile->cache_count &&
           ((profile->caches[i].paths >> path & 1) == 0 || pb_sim_cache_is_chip_wide(profile, i)))
        i++;
    return i;
}

/* Of a hit in the owner's L2, or of DRAM behind it: what the profile says, less the place in it. */
static double owner_cycles(const struct pb_sim_profile *profile, bool is_cold)
{
    double cycles = profile->dram.latency_cycles;

    for (size_t i = 0; i < profile->cache_count && !is_cold; i++)
        if ((profile->caches[i].paths >> PB_PATH_GLOBAL_CG & 1) != 0)
            cycles = profile->caches[i].latency_cycles;
    return cycles;
}

static double peer_load_cycles(const struct pb_sim_device *device, const struct pb_chase *chase)
{
    const struct pb_sim_profile *profile = device->profile;
    double slow = pb_sim_device_slowness(device, chase->sm);
    double way =
        profile->link.peer_load_ns * 1e-3 * pb_sim_clock_mhz(&device->clock, device->seconds);
    size_t own = own_cache(profile, chase->path);

    if (own < profile->cache_count && chase->warm >= chase->offset_count &&
        chase->offset_count * profile->caches[own].shape.line_bytes <=
            pb_sim_shape_bytes(&profile->caches[own].shape))
        return profile->caches[own].latency_cycles * slow;
    return (owner_cycles(profile, chase->flush && !chase->prefill) + way * way_factor(device)) *
           slow * device->latency_factor;
}

enum pb_status pb_sim_peer_chase(struct pb_sim_device *device, const struct pb_chase *chase,
                                 struct pb_chase_trace *trace, struct pb_error *err)
{
    enum pb_status status = find_peer(device, chase->peer, err);
    double cycles, total = 0.0;

    if (status != PB_OK)
        return status;
    if (chase->cross || chase->alias_bytes > 0 ||
        (chase->path != PB_PATH_GLOBAL_CA && chase->path != PB_PATH_GLOBAL_CG) ||
        chase->record == 0)
        return pb_fail(err, PB_INVALID,
                       "chase: a peer's memory is there for plain traced loads only");
    cycles = peer_load_cycles(device, chase);
    for (uint64_t i = 0; i < chase->record; i++) {
        double load = cycles + pb_sim_device_tail(device);

        trace->latency_cycles[i] = pb_sim_device_stamped(device, load);
        trace->index_bytes[i] = chase->offset_bytes[(chase->warm + i) % chase->offset_count];
        total += load;
    }
    trace->count = trace->window = chase->record;
    trace->base_address = PB_SIM_ALLOCATION_ADDRESS;
    trace->carveout_bytes = 0;
    trace->sm_id = chase->sm > 0 ? chase->sm : 0;
    pb_sim_device_pass(device, total);
    return PB_OK;
}
