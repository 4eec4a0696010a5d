/*
 * One access to every line from every SM: device.h says what, sides.h where SMs and lines stand.
 * Each SM's thread starts with its own L1 out of the way: the loads skip it.
 */
#include <stdlib.h>

#include "device/sim/limits.h"
#include "device/sim/sides.h"
#include "device/sim/simulator.h"

enum { SLOT_BYTES = 8, SIDES = 2 };

/* What the accesses of one map share. */
struct survey {
    struct pb_sim_device *device;
    const struct pb_map *map;
    uint32_t *gpc;     /* [profile's sm_count] */
    uint8_t *has_copy; /* [offset_count] bit s: side s holds this line */
    uint64_t line_bytes;
    double near_cycles; /* of the profile */
};

static bool is_every_sm(const struct pb_map *map)
{
    return map->sms == NULL || map->sm_count == 0;
}

static size_t sm_count_of(const struct pb_sim_device *device, const struct pb_map *map)
{
    return is_every_sm(map) ? device->profile->sm_count : map->sm_count;
}

static uint32_t sm_of(const struct pb_map *map, size_t i)
{
    return is_every_sm(map) ? (uint32_t)i : map->sms[i];
}

static enum pb_status check_map(const struct pb_sim_device *device, const struct pb_map *map,
                                struct pb_error *err)
{
    uint64_t available = pb_sim_limits_free_bytes(device->profile);
    enum pb_status status = pb_sim_device_check(device, err);

    if (status != PB_OK)
        return status;
    if (map->touch != PB_TOUCH_LOAD && map->touch != PB_TOUCH_ATOMIC)
        return pb_fail(err, PB_INVALID, "map: unknown kind of access %d", (int)map->touch);
    if (map->offset_count == 0)
        return pb_fail(err, PB_INVALID, "map: no lines");
    for (size_t i = 0; i < sm_count_of(device, map); i++)
        if (sm_of(map, i) >= device->profile->sm_count)
            return pb_fail(err, PB_INVALID, "map: expected an SM below %u, found %u",
                           device->profile->sm_count, sm_of(map, i));
    for (size_t i = 0; i < map->offset_count; i++) {
        if (map->offset_bytes[i] % SLOT_BYTES != 0)
            return pb_fail(err, PB_INVALID, "map: line %zu: expected a multiple of %d, found %llu",
                           i, SLOT_BYTES, (unsigned long long)map->offset_bytes[i]);
        if (map->offset_bytes[i] + SLOT_BYTES > available)
            return pb_fail(err, PB_NO_MEMORY, "map: line %zu: byte %llu asked for, %llu there", i,
                           (unsigned long long)map->offset_bytes[i], (unsigned long long)available);
    }
    return PB_OK;
}

/* Cycles that the distance adds: to the copy that answers a load, to the home of an atomic. */
static double distance(struct survey *survey, size_t line, uint64_t address, uint32_t gpc)
{
    const struct pb_sim_sides_spec *sides = &survey->device->profile->sides;
    uint32_t home = pb_sim_sides_of_line(sides, address), side = pb_sim_sides_of_gpc(sides, gpc);
    double cycles = pb_sim_sides_distance(sides, gpc, address / survey->line_bytes);
    bool is_here =
        survey->map->touch == PB_TOUCH_ATOMIC ? home == side : (survey->has_copy[line] >> side & 1);

    if (sides->far_latency_cycles <= 0.0)
        return 0.0;
    survey->has_copy[line] |= (uint8_t)(1u << home);
    if (survey->map->touch == PB_TOUCH_LOAD)
        survey->has_copy[line] |= (uint8_t)(1u << side);
    return is_here || home == side ? cycles
                                   : cycles + sides->far_latency_cycles - survey->near_cycles;
}

/* One SM's accesses, a row of the result; latency_cycles_out NULL: a round that warms. */
static double visit(struct survey *survey, uint32_t sm, uint32_t *latency_cycles_out)
{
    struct pb_sim_device *device = survey->device;
    struct pb_sim_timing timing = pb_sim_device_timing(device, sm);
    struct pb_sim_route route;
    double total = 0.0, scale = 1.0;

    pb_sim_memory_route(device->memory, PB_PATH_GLOBAL_CG, &timing, &route);
    if (route.cache_count > 0)
        scale = route.cycles[route.cache_count - 1] /
                (survey->near_cycles + pb_sim_place_cycles(device->profile, sm));
    for (size_t i = 0; i < survey->map->offset_count; i++) {
        struct pb_sim_address at =
            pb_sim_address_of(PB_SIM_ALLOCATION_ADDRESS + survey->map->offset_bytes[i]);
        size_t depth;
        double cycles = pb_sim_route_load(&route, at, &device->random, &depth);

        cycles += scale * distance(survey, i, at.line, survey->gpc[sm]);
        cycles += pb_sim_device_tail(device);
        total += cycles;
        if (latency_cycles_out != NULL)
            latency_cycles_out[i] = pb_sim_device_stamped(device, cycles);
    }
    return total;
}

static void find_last_cache(struct survey *survey)
{
    const struct pb_sim_profile *profile = survey->device->profile;

    survey->line_bytes = 1;
    survey->near_cycles = profile->dram.latency_cycles;
    for (size_t i = 0; i < profile->cache_count; i++)
        if ((profile->caches[i].paths >> PB_PATH_GLOBAL_CG & 1) != 0) {
            survey->line_bytes = profile->caches[i].shape.line_bytes;
            survey->near_cycles = profile->caches[i].latency_cycles;
        }
}

enum pb_status pb_sim_map(struct pb_device *base, const struct pb_map *map,
                          uint32_t *latency_cycles_out, struct pb_error *err)
{
    struct pb_sim_device *device = pb_sim_device_of(base);
    struct survey survey = {.device = device, .map = map};
    enum pb_status status = check_map(device, map, err);
    double cycles = 0.0;

    if (status != PB_OK)
        return status;
    survey.gpc = calloc(device->profile->sm_count, sizeof(*survey.gpc));
    survey.has_copy = calloc(map->offset_count, sizeof(*survey.has_copy));
    if (survey.gpc == NULL || survey.has_copy == NULL) {
        status = pb_fail(err, PB_NO_MEMORY, "map: out of memory allocating %zu lines",
                         map->offset_count);
        goto out;
    }
    pb_sim_sides_deal(device->profile, survey.gpc);
    find_last_cache(&survey);
    pb_sim_memory_launch(device->memory, 0);
    for (uint32_t round = 0; round <= map->warm; round++)
        for (size_t i = 0; i < sm_count_of(device, map); i++)
            cycles += visit(&survey, sm_of(map, i),
                            round < map->warm ? NULL : latency_cycles_out + i * map->offset_count);
    pb_sim_device_pass(device, cycles);
out:
    free(survey.has_copy);
    free(survey.gpc);
    return status;
}
