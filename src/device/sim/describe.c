/* What a simulated device reports of itself, and the state a driver would report. */
#include <math.h>
#include <string.h>

#include "core/time.h"
#include "device/sim/limits.h"
#include "device/sim/simulator.h"
#include "device/sim/slot.h"

/* Bits of NVML's clocks event reasons. */
enum {
    REASON_APPLICATION_CLOCKS = 0x2,
    REASON_HARDWARE_SLOWDOWN = 0x8,
    REASON_HARDWARE_THERMAL = 0x40
};

static uint32_t capabilities_of(const struct pb_sim_device *device)
{
    static const struct {
        enum pb_path path;
        enum pb_capability capability;
    } optional[] = {{PB_PATH_READONLY, PB_CAP_READONLY},
                    {PB_PATH_TEXTURE, PB_CAP_TEXTURE},
                    {PB_PATH_TEXTURE_2D, PB_CAP_TEXTURE_2D},
                    {PB_PATH_CONSTANT, PB_CAP_CONSTANT}};
    uint32_t capabilities = PB_CAP_CLOCK | PB_CAP_GLOBAL_CA | PB_CAP_GLOBAL_CG | PB_CAP_SHARED |
                            PB_CAP_STREAM | PB_CAP_BURST | PB_CAP_ATOMIC | PB_CAP_STUDY |
                            PB_CAP_LINK | PB_CAP_PEER | PB_CAP_PATTERN | PB_CAP_ALIAS;

    capabilities |= PB_CAP_PAIR | PB_CAP_PARALLEL;
    if (device->profile->layout.cluster_max > 0)
        capabilities |= PB_CAP_CLUSTER | PB_CAP_CLUSTER_SHARED;
    if (device->profile->parallel.bulk_overhead_cycles > 0.0)
        capabilities |= PB_CAP_BULK;
    for (size_t k = 0; k < sizeof(optional) / sizeof(optional[0]); k++)
        if (pb_sim_device_has_path(device, optional[k].path))
            capabilities |= optional[k].capability;
    return capabilities;
}

static uint64_t last_level_bytes(const struct pb_sim_profile *profile)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < profile->cache_count; i++)
        if ((profile->caches[i].paths >> PB_PATH_GLOBAL_CG & 1) != 0)
            bytes = pb_sim_shape_bytes(&profile->caches[i].shape);
    return bytes + profile->sides.far_bytes; /* drivers state both halves */
}

static uint64_t smallest_window(const struct pb_sim_profile *profile)
{
    uint64_t smallest = pb_sim_memory_window(profile, PB_PATH_GLOBAL_CG);

    for (int path = 0; path < PB_PATH_COUNT; path++) {
        uint64_t window = pb_sim_memory_window(profile, (enum pb_path)path);

        smallest = window < smallest ? window : smallest;
    }
    return smallest;
}

static void describe_sizes(const struct pb_sim_profile *profile, struct pb_device_info *info)
{
    info->memory_bytes = profile->memory_bytes;
    info->memory_free_bytes = pb_sim_limits_free_bytes(profile);
    info->l2_bytes = last_level_bytes(profile);
    info->shared_per_sm_bytes = profile->shared.bytes_per_sm;
    info->shared_per_cta_bytes = pb_sim_limits_shared_per_cta(profile);
    info->constant_bytes = PB_SIM_CONSTANT_BYTES;
    info->trace_window = smallest_window(profile);
    info->trace_window_large = pb_sim_memory_window(profile, PB_PATH_SHARED);
}

enum pb_status pb_sim_describe(struct pb_device *base, struct pb_device_info *info_out,
                               struct pb_error *err)
{
    struct pb_sim_device *device = pb_sim_device_of(base);
    const struct pb_sim_profile *profile = device->profile;
    enum pb_status status = pb_sim_device_check(device, err);
    struct pb_device_info info;

    if (status != PB_OK)
        return status;
    memset(&info, 0, sizeof(info));
    PB_TEXT_SET(info.backend, "sim");
    PB_TEXT_SET(info.model, profile->name);
    PB_TEXT_SET(info.source, profile->source);
    pb_sim_slot_uuid(device->host, device->slot, info.uuid);
    pb_sim_slot_pci(device->slot, info.pci_bus_id);
    info.slot = device->slot;
    info.compute_capability = profile->compute_capability;
    info.capabilities = capabilities_of(device);
    info.sm_count = profile->sm_count;
    info.warp_size = PB_SIM_WARP_SIZE;
    info.max_threads_per_cta = PB_SIM_CTA_THREADS_MAX;
    info.max_threads_per_sm = pb_sim_limits_of(profile->compute_capability).threads_per_sm;
    describe_sizes(profile, &info);
    info.sm_clock_max_mhz = profile->clock_mhz;
    info.memory_clock_max_mhz = NAN;
    info.theoretical_bytes_per_s = profile->dram.theoretical_bytes_per_s;
    info.ecc_enabled = info.mig_enabled = -1;
    info.power_limit_w = info.power_limit_default_w = NAN;
    *info_out = info;
    return PB_OK;
}

/*
 * The fields of the state that a simulated device models; the others are constants of their rows
 * in core/state_fields.h, or unknown.
 */
static double sm_clock_mhz(const struct pb_sim_device *device)
{
    return pb_sim_clock_mhz(&device->clock, device->seconds);
}

static double power_w(const struct pb_sim_device *device)
{
    const double base_w = 25.0, sm_w = 1.5;

    return base_w +
           sm_w * device->profile->sm_count * sm_clock_mhz(device) / device->profile->clock_mhz;
}

/* Warms up over half a minute of load; a throttling device is hot, since that is why it does. */
static double temperature_c(const struct pb_sim_device *device)
{
    const double idle_c = 38.0, load_c = 30.0, throttle_c = 90.0, time_constant_s = 10.0;

    if (pb_sim_clock_is_throttled(&device->clock, device->seconds))
        return throttle_c;
    return round(idle_c + load_c * (1.0 - exp(-device->seconds / time_constant_s)));
}

static double throttle_reasons(const struct pb_sim_device *device)
{
    unsigned reasons = 0;

    if (pb_sim_faults_factor(&device->faults, PB_SIM_FAULT_CLOCK) < 1.0)
        reasons |= REASON_APPLICATION_CLOCKS;
    if (pb_sim_clock_is_throttled(&device->clock, device->seconds))
        reasons |= REASON_HARDWARE_SLOWDOWN | REASON_HARDWARE_THERMAL;
    return reasons;
}

static double pcie_generation(const struct pb_sim_device *device)
{
    return (double)device->profile->link.pcie_generation;
}

static double pcie_width(const struct pb_sim_device *device)
{
    return (double)pb_sim_device_pcie_width(device);
}

static double pcie_width_max(const struct pb_sim_device *device)
{
    return (double)device->profile->link.pcie_width;
}

static double memory_used_bytes(const struct pb_sim_device *device)
{
    return (double)(device->profile->memory_bytes - pb_sim_limits_free_bytes(device->profile));
}

static double violation_thermal_ns(const struct pb_sim_device *device)
{
    return 1e9 * pb_sim_clock_throttled_seconds(&device->clock, device->seconds);
}

static const struct {
    double value;
    double (*model)(const struct pb_sim_device *device); /* NULL: always the value */
} state_fields[PB_STATE_FIELD_COUNT] = {
#define SIM_VALUE(number)                                                                          \
    {                                                                                              \
        number, NULL                                                                               \
    }
#define SIM_UNKNOWN SIM_VALUE(NAN)
#define SIM_CALL(function)                                                                         \
    {                                                                                              \
        NAN, function                                                                              \
    }
#define PB_STATE_FIELD(type, member, column, unit, since, description, nvml, simulated, ...)       \
    simulated,
#include "core/state_fields.h"
};

enum pb_status pb_sim_read_state(struct pb_device *base, struct pb_state *state_out,
                                 struct pb_error *err)
{
    struct pb_sim_device *device = pb_sim_device_of(base);
    enum pb_status status = pb_sim_device_check(device, err);

    if (status != PB_OK)
        return status;
    pb_state_clear(state_out);
    state_out->unix_seconds = pb_time_unix_seconds();
    for (int i = 0; i < PB_STATE_FIELD_COUNT; i++)
        pb_state_set(state_out, (enum pb_state_field)i,
                     state_fields[i].model == NULL ? state_fields[i].value
                                                   : state_fields[i].model(device));
    return PB_OK;
}
