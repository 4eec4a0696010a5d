/* The pointer chase of a simulated device: device.h says what, memory.h at what cost. */
#include <math.h>

#include "device/sim/limits.h"
#include "device/sim/simulator.h"

enum { SLOT_BYTES = 8, RECORD_BYTES = 12 };

/*
 * Allocations start at a 1 GiB boundary, as the profile format promises. This one is also a
 * multiple of 65 x 2 MB, so that a footprint's first page is the first of a deal (see cache.h).
 */
static const uint64_t allocation_address = UINT64_C(65) << 30;

/* One thread on its way through the slots. */
struct walk {
    struct pb_sim_device *device;
    const struct pb_chase *chase;
    struct pb_sim_route route, warm_route; /* the same, unless the chase crosses paths */
    uint64_t base_address;
    double tail_probability, tail_cycles;
    size_t slot;   /* the next to load */
    double cycles; /* of all loads so far */
};

static const char *path_of(const struct pb_chase *chase)
{
    return pb_path_name(chase->path);
}

static uint64_t footprint_of(const struct pb_chase *chase)
{
    uint64_t last = 0;

    for (size_t i = 0; i < chase->offset_count; i++)
        last = chase->offset_bytes[i] > last ? chase->offset_bytes[i] : last;
    return last + SLOT_BYTES;
}

static bool has_path(const struct pb_sim_device *device, enum pb_path path)
{
    if (path == PB_PATH_GLOBAL_CA || path == PB_PATH_GLOBAL_CG || path == PB_PATH_SHARED)
        return true;
    for (size_t i = 0; i < device->profile->cache_count; i++)
        if ((device->profile->caches[i].paths >> path & 1) != 0)
            return true;
    return false;
}

static enum pb_status check_shape(const struct pb_chase *chase, struct pb_error *err)
{
    if (chase->offset_count == 0)
        return pb_fail(err, PB_INVALID, "chase over %s: no slots", path_of(chase));
    if (chase->record == 0 && chase->timed == 0)
        return pb_fail(err, PB_INVALID, "chase over %s: nothing to record or time", path_of(chase));
    for (size_t i = 0; i < chase->offset_count; i++)
        if (chase->offset_bytes[i] % SLOT_BYTES != 0)
            return pb_fail(err, PB_INVALID,
                           "chase over %s: slot %zu: expected a multiple of %d bytes, found %llu",
                           path_of(chase), i, SLOT_BYTES,
                           (unsigned long long)chase->offset_bytes[i]);
    return PB_OK;
}

static enum pb_status check_room(const struct pb_sim_device *device, const struct pb_chase *chase,
                                 struct pb_error *err)
{
    uint64_t footprint = footprint_of(chase), room;
    enum pb_status status = PB_UNSUPPORTED;

    if (chase->path == PB_PATH_SHARED) {
        room = pb_sim_limits_shared_per_cta(device->profile);
        room -= chase->record > 0 && room > RECORD_BYTES ? RECORD_BYTES : 0;
    } else if (chase->path == PB_PATH_CONSTANT) {
        room = PB_SIM_CONSTANT_BYTES;
    } else {
        room = pb_sim_limits_free_bytes(device->profile);
        status = PB_NO_MEMORY;
    }
    if (footprint <= room)
        return PB_OK;
    return pb_fail(err, status, "chase over %s: %llu bytes asked for, %llu there", path_of(chase),
                   (unsigned long long)footprint, (unsigned long long)room);
}

static enum pb_status check_path(const struct pb_sim_device *device, enum pb_path path,
                                 struct pb_error *err)
{
    if (path < PB_PATH_COUNT && has_path(device, path))
        return PB_OK;
    return pb_fail(err, PB_UNSUPPORTED, "chase over %s: %s has no such path",
                   path < PB_PATH_COUNT ? pb_path_name(path) : "no path", device->profile->name);
}

/* Only paths that see the same addresses can be crossed. */
static enum pb_status check_cross(const struct pb_sim_device *device, const struct pb_chase *chase,
                                  struct pb_error *err)
{
    const uint32_t apart = 1u << PB_PATH_SHARED | 1u << PB_PATH_CONSTANT;
    enum pb_status status = check_path(device, chase->warm_path, err);

    if (status == PB_OK && ((apart >> chase->path | apart >> chase->warm_path) & 1) != 0)
        return pb_fail(err, PB_INVALID, "chase over %s: cannot be warmed over %s", path_of(chase),
                       pb_path_name(chase->warm_path));
    return status;
}

static enum pb_status check_chase(const struct pb_sim_device *device, const struct pb_chase *chase,
                                  struct pb_error *err)
{
    enum pb_status status = pb_sim_device_check(device, err);

    if (status == PB_OK)
        status = check_path(device, chase->path, err);
    if (status == PB_OK)
        status = check_shape(chase, err);
    if (status == PB_OK && chase->cross)
        status = check_cross(device, chase, err);
    if (status != PB_OK)
        return status;
    if (chase->sm >= (int64_t)device->profile->sm_count)
        return pb_fail(err, PB_INVALID, "chase over %s: expected an SM below %u, found %lld",
                       path_of(chase), device->profile->sm_count, (long long)chase->sm);
    if (chase->carveout_bytes > (int64_t)device->profile->shared.bytes_per_sm)
        return pb_fail(err, PB_UNSUPPORTED,
                       "chase over %s: a carve-out of %lld bytes, but %llu of shared memory",
                       path_of(chase), (long long)chase->carveout_bytes,
                       (unsigned long long)device->profile->shared.bytes_per_sm);
    return check_room(device, chase, err);
}

static uint64_t carveout_of(const struct pb_chase *chase)
{
    return chase->carveout_bytes > 0 ? (uint64_t)chase->carveout_bytes : 0;
}

/* Loads recorded per launch; shared memory under test leaves less room for the record. */
static uint64_t window_of(const struct pb_sim_device *device, const struct pb_chase *chase)
{
    uint64_t window = pb_sim_memory_window(device->profile, chase->path), room;

    if (chase->path != PB_PATH_SHARED)
        return window;
    room = pb_sim_limits_shared_per_cta(device->profile) - footprint_of(chase);
    return room / RECORD_BYTES;
}

/* One load of the slot that is next; *slot_out: which it was. */
static double step(struct walk *walk, const struct pb_sim_route *route, size_t *slot_out)
{
    uint64_t address = walk->base_address + walk->chase->offset_bytes[walk->slot];
    size_t depth;
    double cycles = pb_sim_route_load(route, address, &walk->device->random, &depth);

    if (walk->tail_probability > 0.0 && depth >= route->first_chip_wide &&
        pb_sim_random_unit(&walk->device->random) < walk->tail_probability)
        cycles += walk->tail_cycles;
    *slot_out = walk->slot;
    walk->slot = walk->slot + 1 < walk->chase->offset_count ? walk->slot + 1 : 0;
    walk->cycles += cycles;
    return cycles;
}

static void run(struct walk *walk, const struct pb_sim_route *route, uint64_t loads)
{
    size_t slot;

    for (uint64_t i = 0; i < loads; i++)
        step(walk, route, &slot);
}

/* A launch: everything cold, then the prefill, the warm loads, and those recorded before. */
static void launch(struct walk *walk, uint64_t recorded)
{
    const struct pb_chase *chase = walk->chase;
    struct pb_sim_memory *memory = walk->device->memory;
    struct pb_sim_timing timing = pb_sim_device_timing(walk->device, chase->sm > 0 ? chase->sm : 0);

    pb_sim_memory_launch(memory, carveout_of(chase));
    pb_sim_memory_route(memory, chase->path, &timing, &walk->route);
    pb_sim_memory_route(memory, chase->cross ? chase->warm_path : chase->path, &timing,
                        &walk->warm_route);
    for (size_t i = 0; chase->prefill && i < chase->offset_count; i++)
        pb_sim_route_prefill(&walk->route, walk->base_address + chase->offset_bytes[i],
                             &walk->device->random);
    walk->slot = 0;
    run(walk, &walk->warm_route, chase->warm);
    run(walk, &walk->route, recorded);
}

/* A planted bit flip is noticed as on silicon: the pointer read is not the one that was written. */
static enum pb_status read_back(struct walk *walk, uint64_t loads, struct pb_error *err)
{
    struct pb_sim_device *device = walk->device;
    const struct pb_chase *chase = walk->chase;
    double probability = pb_sim_faults_bitflip(&device->faults);
    uint64_t address, expected, bit;
    size_t slot;

    if (pb_sim_random_binomial(&device->random, loads, probability) == 0)
        return PB_OK;
    slot = (size_t)(pb_sim_random_next(&device->random) %
                    (loads < chase->offset_count ? loads : chase->offset_count));
    address = walk->base_address + chase->offset_bytes[slot];
    expected = walk->base_address + chase->offset_bytes[(slot + 1) % chase->offset_count];
    bit = UINT64_C(1) << pb_sim_random_below(&device->random, 64);
    return pb_fail(err, PB_DEVICE,
                   "chase over %s: address %#llx: expected %#llx, found %#llx (bits %#llx)",
                   path_of(chase), (unsigned long long)address, (unsigned long long)expected,
                   (unsigned long long)(expected ^ bit), (unsigned long long)bit);
}

static bool is_deterministic(const struct walk *walk)
{
    return walk->route.is_deterministic && walk->warm_route.is_deterministic;
}

/*
 * Window by window. Without a policy that draws lots a repeated launch reaches the same state, so
 * the walk simply goes on.
 */
static void record(struct walk *walk, uint64_t window, struct pb_trace *trace)
{
    const struct pb_chase *chase = walk->chase;
    size_t slot;

    for (uint64_t i = 0; i < chase->record; i++) {
        if (i == 0 || (i % window == 0 && !is_deterministic(walk)))
            launch(walk, i);
        trace->latency_cycles[i] =
            pb_sim_device_stamped(walk->device, step(walk, &walk->route, &slot));
        trace->index_bytes[i] = chase->offset_bytes[slot];
    }
}

/* Loads that one thread, uninterrupted, does between two clock reads. */
static double time_loads(struct walk *walk)
{
    double before;

    launch(walk, 0);
    before = walk->cycles;
    run(walk, &walk->route, walk->chase->timed);
    return walk->cycles - before;
}

static struct walk start_walk(struct pb_sim_device *device, const struct pb_chase *chase)
{
    const struct pb_sim_fault *tail = pb_sim_faults_find(&device->faults, PB_SIM_FAULT_TAIL);
    struct walk walk = {.device = device, .chase = chase};

    walk.base_address = chase->path == PB_PATH_SHARED ? 0 : allocation_address;
    if (tail != NULL && chase->path != PB_PATH_SHARED) {
        walk.tail_probability = tail->value;
        walk.tail_cycles = tail->cycles;
    }
    return walk;
}

enum pb_status pb_sim_chase(struct pb_device *base, const struct pb_chase *chase,
                            struct pb_trace *trace, struct pb_error *err)
{
    struct pb_sim_device *device = pb_sim_device_of(base);
    enum pb_status status = check_chase(device, chase, err);
    double timed_cycles = 0.0, mhz;
    struct walk walk;

    if (status != PB_OK)
        return status;
    walk = start_walk(device, chase);
    status =
        read_back(&walk, chase->warm + (chase->record > 0 ? chase->record : chase->timed), err);
    if (status != PB_OK)
        return status;

    mhz = pb_sim_clock_mhz(&device->clock, device->seconds);
    trace->window = window_of(device, chase);
    if (chase->record > 0)
        record(&walk, trace->window, trace);
    else
        timed_cycles = time_loads(&walk);
    trace->count = (size_t)chase->record;
    trace->total_cycles = (uint64_t)llround(timed_cycles);
    trace->total_ns = timed_cycles * 1e3 / mhz;
    trace->base_address = walk.base_address;
    trace->carveout_bytes = carveout_of(chase);
    trace->sm_id = chase->sm > 0 ? chase->sm : 0;
    pb_sim_device_pass(device, walk.cycles);
    return PB_OK;
}
