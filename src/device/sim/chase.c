/* The pointer chase of a simulated device: device.h says what, memory.h at what cost. */
#include <math.h>
#include <stdlib.h>

#include "device/sim/chase.h"
#include "device/sim/checkpoint.h"
#include "device/sim/limits.h"
#include "device/sim/tile.h"

enum {
    RECORD_BYTES = 12,
    DETERMINISTIC_STEP = 256, /* so exactly is it known when chance first chose a victim */
    COPIED_PER_LOAD = 256     /* bytes, in the time of one simulated load */
};

/* Where launches that are repeated may go on instead. */
struct checkpoint {
    struct pb_sim_checkpoint caches;
    size_t slot;   /* the next to load then */
    double cycles; /* of the launch until then */
};

/* One thread on its way through the slots. */
struct chase_state {
    struct pb_sim_device *device;
    const struct pb_chase *chase;
    struct pb_sim_route route, warm_route; /* the same, unless the chase crosses paths */
    uint64_t base_address;
    double tail_probability, tail_cycles;
    size_t slot;            /* the next to load */
    double cycles;          /* of all loads so far */
    uint64_t deterministic; /* loads of a launch, its prefill's included, before any victim was
                      chosen at random */
    struct checkpoint checkpoint;
    bool *kept;       /* of each slot, in launches that are repeated; NULL: nothing is known */
    bool is_all_seen; /* this launch has loaded every slot, so that what is kept is there */
};

static uint64_t carveout_of(const struct pb_chase *chase)
{
    return chase->carveout_bytes > 0 ? (uint64_t)chase->carveout_bytes : 0;
}

/* Loads recorded per launch; shared memory under test leaves less room for the record. */
static uint64_t window_of(const struct pb_sim_device *device, const struct pb_chase *chase)
{
    uint64_t window = pb_sim_memory_window(device->profile, chase->path), available;

    if (chase->path != PB_PATH_SHARED)
        return window;
    available = pb_sim_limits_shared_per_cta(device->profile) - pb_sim_chase_footprint(chase);
    return available / RECORD_BYTES;
}

/* Where a slot is on this way: elsewhere for the caches when it is mapped twice, or in a tile. */
static struct pb_sim_address address_of(const struct chase_state *state,
                                        const struct pb_sim_route *route, size_t slot)
{
    uint64_t offset = state->chase->offset_bytes[slot];
    struct pb_sim_address address = pb_sim_address_of(state->base_address + offset);

    if (state->chase->alias_bytes > 0)
        address.line = state->base_address + offset % state->chase->alias_bytes;
    else if (route->is_tiled)
        address.line = state->base_address + pb_sim_tile_offset(offset);
    return address;
}

/* What a load of the slot that is next costs. */
static double load(struct chase_state *state, const struct pb_sim_route *route)
{
    size_t depth;
    double cycles;

    if (state->is_all_seen && state->kept[state->slot])
        return route->cycles[0];
    cycles = pb_sim_route_load(route, address_of(state, route, state->slot), &state->device->random,
                               &depth);
    if (state->tail_probability > 0.0 && depth >= route->first_chip_wide &&
        pb_sim_random_unit(&state->device->random) < state->tail_probability)
        cycles += state->tail_cycles;
    return cycles;
}

/* One load of the slot that is next; *slot_out: which it was. */
static double step(struct chase_state *state, const struct pb_sim_route *route, size_t *slot_out)
{
    double cycles = load(state, route);

    *slot_out = state->slot;
    state->slot = state->slot + 1 < state->chase->offset_count ? state->slot + 1 : 0;
    state->cycles += cycles;
    return cycles;
}

/* Loads of kept slots up to the first other one; returns how many. */
static uint64_t pass_kept(struct chase_state *state, const struct pb_sim_route *route,
                          uint64_t loads)
{
    size_t slot = state->slot, count = state->chase->offset_count;
    double cycles = state->cycles;
    uint64_t passed = 0;

    for (; passed < loads && state->kept[slot]; passed++) {
        cycles += route->cycles[0];
        slot = slot + 1 < count ? slot + 1 : 0;
    }
    state->slot = slot;
    state->cycles = cycles;
    return passed;
}

static void run(struct chase_state *state, const struct pb_sim_route *route, uint64_t loads)
{
    size_t slot;

    for (uint64_t i = 0; i < loads; i++) {
        if (state->is_all_seen)
            i += pass_kept(state, route, loads - i);
        if (i < loads)
            step(state, route, &slot);
    }
}

static bool has_random_victim(const struct chase_state *state)
{
    return pb_sim_route_has_random_victim(&state->route) ||
           pb_sim_route_has_random_victim(&state->warm_route);
}

static uint64_t prefill_of(const struct pb_chase *chase)
{
    return chase->prefill ? chase->offset_count : 0;
}

/* How many of the loads [from, to) lie below `end`. */
static uint64_t below(uint64_t from, uint64_t to, uint64_t end)
{
    return (to < end ? to : end) - (from < end ? from : end);
}

/* The loads [from, to) of a launch: the prefill's, the warm ones, and those recorded before. */
static void advance(struct chase_state *state, uint64_t from, uint64_t to)
{
    const struct pb_chase *chase = state->chase;
    uint64_t filled = prefill_of(chase);
    uint64_t own = filled + (chase->own_warm < chase->warm ? chase->own_warm : chase->warm);
    uint64_t first = below(from, to, own), warm = below(from, to, filled + chase->warm);

    for (uint64_t i = from; i < to && i < filled; i++)
        pb_sim_route_prefill(&state->route, address_of(state, &state->route, (size_t)i),
                             &state->device->random);
    run(state, &state->route, first - below(from, to, filled));
    run(state, &state->warm_route, warm - first);
    run(state, &state->route, to - from - warm);
}

/* Everything cold. */
static void begin(struct chase_state *state)
{
    const struct pb_chase *chase = state->chase;
    struct pb_sim_memory *memory = state->device->memory;
    struct pb_sim_timing timing =
        pb_sim_device_timing(state->device, chase->sm > 0 ? chase->sm : 0);

    pb_sim_memory_turn(memory, pb_sim_device_l1_share(state->device, chase->sm));
    pb_sim_memory_launch(memory, carveout_of(chase));
    pb_sim_memory_route(memory, chase->path, &timing, &state->route);
    pb_sim_memory_route(memory, chase->cross ? chase->warm_path : chase->path, &timing,
                        &state->warm_route);
    state->slot = 0;
}

/* A launch up to its first recorded load but `recorded`; notes how far chance had no part in it. */
static void launch(struct chase_state *state, uint64_t recorded)
{
    uint64_t end = prefill_of(state->chase) + state->chase->warm + recorded;

    begin(state);
    state->deterministic = 0;
    for (uint64_t at = 0; at < end; at += DETERMINISTIC_STEP) {
        advance(state, at, at + below(at, at + DETERMINISTIC_STEP, end));
        if (!has_random_victim(state))
            state->deterministic = at + below(at, at + DETERMINISTIC_STEP, end);
    }
}

/*
 * Whether copying the caches for each of `launches` costs less than the loads it saves. Loads that
 * may meet an injected tail draw lots themselves.
 */
static bool pays(const struct chase_state *state, const struct pb_sim_checkpoint *checkpoint,
                 uint64_t launches)
{
    return launches > 2 && state->tail_probability <= 0.0 &&
           state->deterministic > pb_sim_checkpoint_bytes(checkpoint) / COPIED_PER_LOAD;
}

/* Loads of a launch after which every slot was loaded over its whole way. */
static uint64_t all_seen(const struct chase_state *state)
{
    uint64_t filled = prefill_of(state->chase);

    return state->route.first_chip_wide == 0 && filled > 0 ? filled
                                                           : filled + state->chase->offset_count;
}

/*
 * Finds the slots that no launch of this chase can miss any more, after `loads` of the first: all
 * lines have come, and their sets had room. Without memory for it, nothing is known.
 */
static void note_kept(struct chase_state *state, uint64_t loads)
{
    const struct pb_chase *chase = state->chase;

    if (chase->cross || loads < all_seen(state))
        return;
    state->kept = calloc(chase->offset_count, sizeof(*state->kept));
    for (size_t slot = 0; state->kept != NULL && slot < chase->offset_count; slot++)
        state->kept[slot] =
            pb_sim_route_keeps(&state->route, address_of(state, &state->route, slot));
}

/* Runs the part of a launch that is always the same, if keeping what it leaves is worth it. */
static void take_checkpoint(struct chase_state *state, uint64_t recorded, uint64_t launches)
{
    struct checkpoint *checkpoint = &state->checkpoint;
    double before = state->cycles;

    pb_sim_checkpoint_add(&checkpoint->caches, &state->route);
    pb_sim_checkpoint_add(&checkpoint->caches, &state->warm_route);
    if (!pays(state, &checkpoint->caches, launches))
        return;
    note_kept(state, prefill_of(state->chase) + state->chase->warm + recorded);
    begin(state);
    advance(state, 0, state->deterministic);
    checkpoint->slot = state->slot;
    checkpoint->cycles = state->cycles - before;
    state->cycles = before;
    pb_sim_checkpoint_take(&checkpoint->caches); /* without memory there is none */
}

/* The part of a launch that chance may have come into; from all_seen() on, what is kept is known.
 */
static void advance_again(struct chase_state *state, uint64_t from, uint64_t to)
{
    uint64_t known = state->kept != NULL ? all_seen(state) : UINT64_MAX;
    uint64_t unknown = below(from, to, known);

    state->is_all_seen = false;
    advance(state, from, from + unknown);
    state->is_all_seen = from + unknown >= known;
    advance(state, from + unknown, to);
}

/* A launch after the first, from where chance may come into it. `launches`: with those to come. */
static void launch_again(struct chase_state *state, uint64_t recorded, uint64_t launches)
{
    struct checkpoint *checkpoint = &state->checkpoint;

    if (checkpoint->caches.cache_count == 0)
        take_checkpoint(state, recorded, launches);
    if (checkpoint->caches.state == NULL) {
        launch(state, recorded);
        return;
    }
    pb_sim_checkpoint_restore(&checkpoint->caches);
    state->slot = checkpoint->slot;
    state->cycles += checkpoint->cycles;
    advance_again(state, state->deterministic,
                  prefill_of(state->chase) + state->chase->warm + recorded);
}

/* An injected bit flip is noticed as on hardware: the pointer read is not the one that was written.
 */
static enum pb_status read_back(struct chase_state *state, uint64_t loads, struct pb_error *err)
{
    struct pb_sim_device *device = state->device;
    const struct pb_chase *chase = state->chase;
    double probability = pb_sim_faults_bitflip(&device->faults);
    uint64_t address, expected, bit;
    size_t slot;

    if (pb_sim_random_binomial(&device->random, loads, probability) == 0)
        return PB_OK;
    slot = (size_t)(pb_sim_random_next(&device->random) %
                    (loads < chase->offset_count ? loads : chase->offset_count));
    address = state->base_address + chase->offset_bytes[slot];
    expected = state->base_address + chase->offset_bytes[(slot + 1) % chase->offset_count];
    bit = UINT64_C(1) << pb_sim_random_below(&device->random, 64);
    return pb_fail(
        err, PB_DEVICE, "chase over %s: address %#llx: expected %#llx, found %#llx (bits %#llx)",
        pb_path_name(chase->path), (unsigned long long)address, (unsigned long long)expected,
        (unsigned long long)(expected ^ bit), (unsigned long long)bit);
}

/*
 * Window by window. As long as no policy has chosen at random, a repeated launch reaches the same
 * state, so the chase simply goes on.
 */
static void record(struct chase_state *state, uint64_t window, struct pb_chase_trace *trace)
{
    const struct pb_chase *chase = state->chase;
    size_t slot;

    for (uint64_t i = 0; i < chase->record; i++) {
        if (i == 0)
            launch(state, 0);
        else if (i % window == 0 && has_random_victim(state))
            launch_again(state, i, (chase->record - i + window - 1) / window);
        trace->latency_cycles[i] =
            pb_sim_device_stamped(state->device, step(state, &state->route, &slot));
        trace->index_bytes[i] = chase->offset_bytes[slot];
    }
    pb_sim_checkpoint_free(&state->checkpoint.caches);
    free(state->kept);
}

/* Loads that one thread, uninterrupted, does between two clock reads. */
static double time_loads(struct chase_state *state)
{
    double before;

    launch(state, 0);
    before = state->cycles;
    run(state, &state->route, state->chase->timed);
    return state->cycles - before;
}

static struct chase_state start_walk(struct pb_sim_device *device, const struct pb_chase *chase)
{
    const struct pb_sim_fault *tail = pb_sim_faults_find(&device->faults, PB_SIM_FAULT_TAIL);
    struct chase_state state = {.device = device, .chase = chase};

    state.base_address = chase->path == PB_PATH_SHARED ? 0 : PB_SIM_ALLOCATION_ADDRESS;
    if (tail != NULL && chase->path != PB_PATH_SHARED) {
        state.tail_probability = tail->value;
        state.tail_cycles = tail->cycles;
    }
    return state;
}

enum pb_status pb_sim_chase(struct pb_device *base, const struct pb_chase *chase,
                            struct pb_chase_trace *trace, struct pb_error *err)
{
    struct pb_sim_device *device = pb_sim_device_of(base);
    enum pb_status status = pb_sim_chase_check(device, chase, err);
    double timed_cycles = 0.0, mhz;
    struct chase_state state;

    if (status == PB_OK && chase->peer != NULL)
        return pb_sim_peer_chase(device, chase, trace, err);
    if (status != PB_OK)
        return status;
    state = start_walk(device, chase);
    status =
        read_back(&state, chase->warm + (chase->record > 0 ? chase->record : chase->timed), err);
    if (status != PB_OK)
        return status;

    mhz = pb_sim_clock_mhz(&device->clock, device->seconds);
    trace->window = window_of(device, chase);
    if (chase->record > 0)
        record(&state, trace->window, trace);
    else
        timed_cycles = time_loads(&state);
    trace->count = (size_t)chase->record;
    trace->total_cycles = (uint64_t)llround(timed_cycles);
    trace->total_ns = timed_cycles * 1e3 / mhz;
    trace->base_address = state.base_address;
    trace->carveout_bytes = carveout_of(chase);
    trace->sm_id = chase->sm > 0 ? chase->sm : 0;
    trace->is_cold = true;
    pb_sim_memory_turn(device->memory, 1.0);
    pb_sim_device_pass(device, state.cycles);
    return PB_OK;
}

/* One after the other: no simulated chase knows of another. */
enum pb_status pb_sim_chases(struct pb_device *base, const struct pb_chase *chases, size_t count,
                             struct pb_chase_trace *traces, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    for (size_t i = 0; status == PB_OK && i < count; i++)
        status = pb_sim_chase(base, &chases[i], &traces[i], err);
    return status;
}
