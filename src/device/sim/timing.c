/* What things cost on this device now: its place in the spread, its faults, its noise. */
#include <math.h>

#include "device/sim/sides.h"
#include "device/sim/simulator.h"

double pb_sim_device_slowness(const struct pb_sim_device *device, int64_t sm)
{
    double factor = 1.0;

    for (size_t i = 0; i < device->faults.count; i++)
        if (device->faults.list[i].kind == PB_SIM_FAULT_SM_SLOW && device->faults.list[i].sm == sm)
            factor *= device->faults.list[i].value;
    return factor;
}

double pb_sim_device_l1_share(const struct pb_sim_device *device, int64_t sm)
{
    double share = 1.0;

    for (size_t i = 0; i < device->faults.count; i++)
        if (device->faults.list[i].kind == PB_SIM_FAULT_SM_L1_SIZE &&
            device->faults.list[i].sm == (sm > 0 ? sm : 0))
            share *= device->faults.list[i].value;
    return share;
}

double pb_sim_place_cycles(const struct pb_sim_profile *profile, int64_t sm)
{
    uint32_t here = sm > 0 && sm < profile->sm_count ? (uint32_t)sm : 0;

    return profile->sides.gpc_cycles[pb_sim_sides_gpc(profile, here)];
}

struct pb_sim_timing pb_sim_device_timing(const struct pb_sim_device *device, int64_t sm)
{
    const struct pb_sim_profile *profile = device->profile;
    double l2_factor = pb_sim_faults_factor(&device->faults, PB_SIM_FAULT_L2_LATENCY);
    double dram_factor = pb_sim_faults_factor(&device->faults, PB_SIM_FAULT_DRAM_LATENCY);
    double mhz = pb_sim_clock_mhz(&device->clock, device->seconds);
    double slow = pb_sim_device_slowness(device, sm), outside = slow * device->latency_factor;
    double slowest_cache = 0.0, place = pb_sim_place_cycles(profile, sm);
    struct pb_sim_timing timing;

    for (size_t i = 0; i < profile->cache_count; i++) {
        double cycles = profile->caches[i].latency_cycles;
        bool chip_wide = pb_sim_cache_is_chip_wide(profile, i);

        timing.cache_cycles[i] =
            chip_wide ? (cycles + place) * (outside * l2_factor) : cycles * slow;
        timing.spread_cycles[i] =
            profile->caches[i].line_spread_cycles * (chip_wide ? outside : slow);
        timing.miss_cycles[i] = profile->caches[i].miss_cycles * slow;
        timing.detour_cycles[i] = profile->caches[i].tlb_detour_cycles * outside;
        slowest_cache = fmax(slowest_cache, fmin(cycles, profile->dram.latency_cycles));
    }
    for (size_t i = 0; i < profile->tlb_count; i++) /* the first level is the SM's own */
        timing.tlb_cycles[i] =
            fmax(0.0, profile->tlbs[i].penalty_cycles + (i > 0 ? place : 0.0)) * outside;
    timing.dram_cycles =
        outside * dram_factor *
        (slowest_cache + place +
         (profile->dram.latency_cycles - slowest_cache) * mhz / profile->clock_mhz);
    timing.shared_cycles = profile->shared.latency_cycles * slow;
    return timing;
}

/* A fraction of a cycle shows as one more cycle in that fraction of the loads. */
static uint32_t whole_cycles(struct pb_sim_random *random, double cycles)
{
    double whole = floor(cycles);
    bool up = cycles > whole && pb_sim_random_unit(random) < cycles - whole;

    return (uint32_t)whole + (up ? 1 : 0);
}

/*
 * What a spike adds, or 0. In a burst, as another's traffic makes it, every second load has one on
 * average, of any length up to the whole; bursts begin as often as makes spikes as rare as asked.
 */
static uint32_t spike_of(struct pb_sim_device *device)
{
    const struct pb_sim_noise_spec *noise = &device->profile->noise;
    struct pb_sim_random *random = &device->random;

    if (noise->spike_probability <= 0.0)
        return 0;
    if (noise->burst_loads == 0)
        return pb_sim_random_unit(random) < noise->spike_probability ? noise->spike_cycles : 0;
    if (device->burst_left == 0 &&
        pb_sim_random_unit(random) < 2.0 * noise->spike_probability / noise->burst_loads)
        device->burst_left = noise->burst_loads;
    if (device->burst_left == 0)
        return 0;
    device->burst_left--;
    return pb_sim_random_below(random, 2) * pb_sim_random_below(random, noise->spike_cycles + 1);
}

uint32_t pb_sim_device_stamped(struct pb_sim_device *device, double cycles)
{
    const struct pb_sim_noise_spec *noise = &device->profile->noise;
    uint32_t stamped =
        whole_cycles(&device->random, cycles) + device->profile->clock_overhead_cycles;

    if (noise->jitter_cycles > 0)
        stamped += pb_sim_random_below(&device->random, noise->jitter_cycles + 1);
    return stamped + spike_of(device);
}

double pb_sim_device_tail(struct pb_sim_device *device)
{
    const struct pb_sim_fault *tail = pb_sim_faults_find(&device->faults, PB_SIM_FAULT_TAIL);

    if (tail == NULL || pb_sim_random_unit(&device->random) >= tail->value)
        return 0.0;
    return tail->cycles;
}

double pb_sim_device_bandwidth(const struct pb_sim_device *device)
{
    return device->profile->dram.bandwidth_bytes_per_s * device->bandwidth_factor *
           pb_sim_faults_factor(&device->faults, PB_SIM_FAULT_DRAM_BANDWIDTH);
}

uint64_t pb_sim_device_mismatches(struct pb_sim_device *device, uint64_t words)
{
    return pb_sim_random_binomial(&device->random, words, pb_sim_faults_bitflip(&device->faults));
}

double pb_sim_device_pass(struct pb_sim_device *device, double cycles)
{
    double seconds = cycles * 1e-6 / pb_sim_clock_mhz(&device->clock, device->seconds);

    device->seconds += seconds;
    return seconds * 1e9;
}
