/*
 * SMs that belong together: device.h says what, sides.h where they stand.
 *
 * Clusters take the SMs of one GPC, whole TPCs first and the same in every launch, as those of an
 * H200 do: what a GPC has beyond a multiple of a cluster's size runs none of that size. Two SMs of
 * a TPC that move data at once slow each other down, and so do two of a GPC, as the profile says.
 * Two of a GPC that read constants may help each other.
 */
#include <stdlib.h>

#include "device/sim/sides.h"
#include "device/sim/simulator.h"

/* Of one SM past its L1; what comes on top is one latency of the last cache. */
static const double bytes_per_cycle = 64.0;

/* Where each SM stands. */
struct layout {
    uint32_t sm_count;
    uint32_t *gpc, *tpc; /* [sm_count]; one piece of memory, gpc first */
};

static enum pb_status open_layout(const struct pb_sim_device *device, struct layout *layout_out,
                                  struct pb_error *err)
{
    uint32_t sm_count = device->profile->sm_count;
    struct layout layout = {.sm_count = sm_count};

    layout.gpc = calloc(2 * (size_t)sm_count, sizeof(*layout.gpc));
    if (layout.gpc == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %u SMs", sm_count);
    layout.tpc = layout.gpc + sm_count;
    pb_sim_sides_deal(device->profile, layout.gpc);
    pb_sim_sides_deal_tpcs(device->profile, layout.gpc, layout.tpc);
    *layout_out = layout;
    return PB_OK;
}

/* Is the SM's TPC one of as many SMs as a TPC can have? */
static bool has_whole_tpc(const struct layout *layout, uint32_t sm, uint32_t tpc_sms)
{
    uint32_t members = 0;

    for (uint32_t other = 0; other < layout->sm_count; other++)
        members += layout->tpc[other] == layout->tpc[sm];
    return members == tpc_sms;
}

/* The SMs of a GPC, those of whole TPCs first; returns how many there are. */
static uint32_t list_gpc(const struct layout *layout, uint32_t gpc, uint32_t tpc_sms,
                         uint32_t *sms_out)
{
    uint32_t count = 0;

    for (uint32_t whole = 2; whole-- > 0;)
        for (uint32_t sm = 0; sm < layout->sm_count; sm++)
            if (layout->gpc[sm] == gpc && has_whole_tpc(layout, sm, tpc_sms) == whole)
                sms_out[count++] = sm;
    return count;
}

/* GPC after GPC, as many clusters of it as it holds, and again until all have run. */
static enum pb_status place_clusters(const struct pb_sim_device *device,
                                     const struct layout *layout, const struct pb_cluster *cluster,
                                     uint32_t *sms_out, struct pb_error *err)
{
    uint32_t *sms = calloc(layout->sm_count, sizeof(*sms));
    size_t placed = 0, before = SIZE_MAX;

    if (sms == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %u SMs", layout->sm_count);
    while (placed < cluster->count && placed != before) {
        before = placed;
        for (uint32_t gpc = 0; gpc < PB_SIM_GPCS_MAX; gpc++) {
            uint32_t count = list_gpc(layout, gpc, device->profile->layout.tpc_sms, sms);

            for (uint32_t at = 0; at + cluster->size <= count && placed < cluster->count;
                 at += cluster->size, placed++)
                for (uint32_t i = 0; i < cluster->size; i++)
                    sms_out[placed * cluster->size + i] = sms[at + i];
        }
    }
    free(sms);
    if (placed < cluster->count)
        return pb_fail(err, PB_UNSUPPORTED, "cluster: no GPC has %u SMs", cluster->size);
    return PB_OK;
}

enum pb_status pb_sim_cluster(struct pb_device *base, const struct pb_cluster *cluster,
                              uint32_t *sms_out, struct pb_error *err)
{
    struct pb_sim_device *device = pb_sim_device_of(base);
    enum pb_status status = pb_sim_device_check(device, err);
    struct layout layout = {.gpc = NULL};

    if (status != PB_OK)
        return status;
    if (cluster->size == 0 || cluster->size > device->profile->layout.cluster_max)
        return pb_fail(err, PB_UNSUPPORTED, "cluster: %u CTAs: %s has clusters of up to %u",
                       cluster->size, device->profile->name, device->profile->layout.cluster_max);
    status = open_layout(device, &layout, err);
    if (status != PB_OK)
        return status;
    status = place_clusters(device, &layout, cluster, sms_out, err);
    free(layout.gpc);
    return status;
}

/* What the other SM's traffic makes of this one's time. */
static double slowdown(const struct pb_sim_layout_spec *spec, const struct layout *layout,
                       enum pb_pair_kind kind, uint32_t sm, uint32_t other)
{
    if (sm == other)
        return 1.0;
    if (kind == PB_PAIR_CONSTANT)
        return layout->gpc[sm] == layout->gpc[other] ? spec->constant_slowdown : 1.0;
    if (layout->tpc[sm] == layout->tpc[other])
        return spec->tpc_slowdown;
    return layout->gpc[sm] == layout->gpc[other] ? spec->gpc_slowdown : 1.0;
}

static double move(const struct pb_sim_device *device, uint32_t sm)
{
    struct pb_sim_timing timing = pb_sim_device_timing(device, sm);
    size_t caches = device->profile->cache_count;
    double cycles = caches > 0 ? timing.cache_cycles[caches - 1] : timing.dram_cycles;

    return cycles + PB_PAIR_BYTES / bytes_per_cycle * pb_sim_device_slowness(device, sm);
}

enum pb_status pb_sim_pair(struct pb_device *base, const struct pb_pair *pair, uint32_t *cycles_out,
                           struct pb_error *err)
{
    struct pb_sim_device *device = pb_sim_device_of(base);
    enum pb_status status = pb_sim_device_check(device, err);
    struct layout layout = {.gpc = NULL};

    if (status == PB_OK && (unsigned)pair->kind >= PB_PAIR_KIND_COUNT)
        status = pb_fail(err, PB_INVALID, "pair: expected a kind from 0 to %d, found %d",
                         PB_PAIR_KIND_COUNT - 1, (int)pair->kind);
    for (size_t i = 0; status == PB_OK && i < 2 * pair->count; i++)
        if (pair->sms[i / 2][i % 2] >= device->profile->sm_count)
            status = pb_fail(err, PB_INVALID, "pair: expected an SM below %u, found %u",
                             device->profile->sm_count, pair->sms[i / 2][i % 2]);
    if (status == PB_OK)
        status = open_layout(device, &layout, err);
    if (status != PB_OK)
        return status;
    for (size_t i = 0; i < 2 * pair->count; i++) {
        uint32_t sm = pair->sms[i / 2][i % 2], other = pair->sms[i / 2][1 - i % 2];
        double cycles =
            move(device, sm) * slowdown(&device->profile->layout, &layout, pair->kind, sm, other);

        cycles_out[i] = pb_sim_device_stamped(device, cycles);
        pb_sim_device_pass(device, cycles);
    }
    free(layout.gpc);
    return PB_OK;
}
