/* Independent loads of many warps: device.h says what, mshr.h how long. */
#include <math.h>
#include <stdlib.h>

#include "device/sim/limits.h"
#include "device/sim/mshr.h"
#include "device/sim/simulator.h"

/* Of more loads than MANY, each thread needs so many registers that only half the warps fit. */
enum { LOADS_MAX = 48, MANY = 32, SLOT_BYTES = 8 };

/* From one load to the next; N14's footnote 4: more instructions take a bit longer. */
static const double issue_cycles = 2.0;

/* Lines that each warp requests. */
static size_t count_of(const struct pb_burst *burst)
{
    return (size_t)burst->loads * burst->lanes;
}

static enum pb_status check_shape(const struct pb_burst *burst, struct pb_error *err)
{
    const uint32_t warps_max =
        PB_SIM_CTA_THREADS_MAX / PB_SIM_WARP_SIZE / (burst->loads > MANY ? 2 : 1);

    if (burst->warps == 0 || burst->warps > warps_max || burst->lanes == 0 ||
        burst->lanes > PB_SIM_WARP_SIZE || burst->loads == 0 || burst->loads > LOADS_MAX)
        return pb_fail(
            err, PB_INVALID, "burst: %u warps, %u lanes, %u loads: expected 1 to %u, %d and %d",
            burst->warps, burst->lanes, burst->loads, warps_max, PB_SIM_WARP_SIZE, LOADS_MAX);
    if (burst->stride_bytes == 0 || burst->stride_bytes % SLOT_BYTES != 0)
        return pb_fail(err, PB_INVALID, "burst: expected a stride in multiples of %d, found %llu",
                       SLOT_BYTES, (unsigned long long)burst->stride_bytes);
    return PB_OK;
}

static enum pb_status check_burst(const struct pb_sim_device *device, const struct pb_burst *burst,
                                  struct pb_error *err)
{
    const uint32_t apart = 1u << PB_PATH_SHARED | 1u << PB_PATH_CONSTANT;
    uint64_t available = pb_sim_limits_free_bytes(device->profile), lines;
    enum pb_status status = pb_sim_device_check(device, err);

    if (status == PB_OK)
        status = check_shape(burst, err);
    if (status != PB_OK)
        return status;
    if (burst->path >= PB_PATH_COUNT || (apart >> burst->path & 1) != 0 ||
        !pb_sim_device_has_path(device, burst->path))
        return pb_fail(err, PB_UNSUPPORTED, "burst over %s: %s has no such path",
                       burst->path < PB_PATH_COUNT ? pb_path_name(burst->path) : "no path",
                       device->profile->name);
    lines = (uint64_t)count_of(burst) * burst->warps;
    if (burst->stride_bytes > available / lines)
        return pb_fail(err, PB_NO_MEMORY, "burst: %llu lines %llu bytes apart: only %llu there",
                       (unsigned long long)lines, (unsigned long long)burst->stride_bytes,
                       (unsigned long long)available);
    return PB_OK;
}

/* The line of one lane's load: neighbours are lanes, then warps, then loads. */
static struct pb_sim_address address_of(const struct pb_burst *burst, size_t line)
{
    return pb_sim_address_of(PB_SIM_ALLOCATION_ADDRESS + line * burst->stride_bytes);
}

/* What the lines of one warp's load cost alone, from this one on. */
static void look_up_load(struct pb_sim_device *device, const struct pb_burst *burst,
                         const struct pb_sim_route *route, size_t line,
                         struct pb_sim_request *requests)
{
    for (uint32_t lane = 0; lane < burst->lanes; lane++) {
        struct pb_sim_request *request = &requests[lane];
        size_t depth;

        request->latency_cycles =
            pb_sim_route_load(route, address_of(burst, line + lane), &device->random, &depth);
        request->is_miss = depth >= route->first_chip_wide;
        if (request->is_miss)
            request->latency_cycles += pb_sim_device_tail(device);
    }
}

/* What every line costs alone, in the order of their addresses; requests: [warps][loads * lanes].
 */
static void look_up(struct pb_sim_device *device, const struct pb_burst *burst,
                    struct pb_sim_request *requests)
{
    struct pb_sim_timing timing = pb_sim_device_timing(device, 0);
    size_t lines = count_of(burst) * burst->warps, line = 0;
    struct pb_sim_route route;

    pb_sim_memory_launch(device->memory, 0);
    pb_sim_memory_route(device->memory, burst->path, &timing, &route);
    for (size_t i = 0; i < lines; i++)
        pb_sim_route_prefill(&route, address_of(burst, i), &device->random);
    if (burst->flush)
        pb_sim_memory_flush(device->memory, 0);
    pb_sim_memory_suspend_prefetch(device->memory);
    for (uint32_t load = 0; load < burst->loads; load++)
        for (uint32_t warp = 0; warp < burst->warps; warp++, line += burst->lanes)
            look_up_load(device, burst, &route, line,
                         &requests[warp * count_of(burst) + (size_t)load * burst->lanes]);
}

enum pb_status pb_sim_burst(struct pb_device *base, const struct pb_burst *burst,
                            uint32_t *cycles_out, struct pb_error *err)
{
    struct pb_sim_device *device = pb_sim_device_of(base);
    enum pb_status status = check_burst(device, burst, err);
    double finish[PB_SIM_CTA_THREADS_MAX / PB_SIM_WARP_SIZE], longest = 0.0;
    struct pb_sim_request *requests;

    if (status != PB_OK)
        return status;
    requests = calloc(count_of(burst) * burst->warps, sizeof(*requests));
    if (requests == NULL)
        return pb_fail(err, PB_NO_MEMORY, "burst: out of memory allocating %zu loads",
                       count_of(burst) * burst->warps);
    look_up(device, burst, requests);
    status = pb_sim_mshr_fly(&device->profile->mshr, burst->warps, count_of(burst), requests,
                             issue_cycles, finish, err);
    free(requests);
    if (status != PB_OK)
        return status;
    for (uint32_t warp = 0; warp < burst->warps; warp++) {
        cycles_out[warp] = pb_sim_device_stamped(device, finish[warp]);
        longest = fmax(longest, finish[warp]);
    }
    pb_sim_device_pass(device, longest);
    return PB_OK;
}
