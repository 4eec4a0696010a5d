/*
 * Reading what a profile may leave out, and the defaults: two sides of L2, F13's studies, the link
 * to the host and to other devices. The keys are listed in profile.h.
 */
#include "core/json_reader.h"
#include "device/sim/profile.h"

#include "device/device.h"

/* The last cache that global loads reach, or NULL. */
static const struct pb_sim_cache_spec *global_last(const struct pb_sim_profile *profile)
{
    const struct pb_sim_cache_spec *last = NULL;

    for (size_t i = 0; i < profile->cache_count; i++)
        if ((profile->caches[i].paths >> PB_PATH_GLOBAL_CG & 1) != 0)
            last = &profile->caches[i];
    return last;
}

/* A hit in the first cache of global loads, or DRAM where there is none. */
static double nearest_cycles(const struct pb_sim_profile *profile)
{
    for (size_t i = 0; i < profile->cache_count; i++)
        if ((profile->caches[i].paths >> PB_PATH_GLOBAL_CA & 1) != 0)
            return profile->caches[i].latency_cycles;
    return profile->dram.latency_cycles;
}

/* An object within an object, neither of which need be there. */
static struct pb_json part_of(struct pb_json_reader *reader, const struct pb_json *object,
                              const char *key)
{
    return object->value != NULL ? pb_json_read_optional(reader, object, key) : *object;
}

static void read_gpcs(struct pb_json_reader *reader, const struct pb_json *at, uint32_t sm_count,
                      struct pb_sim_sides_spec *sides)
{
    struct pb_json list, element;
    size_t count = pb_json_read_array(reader, at, "gpc_sms", 2, PB_SIM_GPCS_MAX, &list);
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        int64_t sms = 0;

        element = pb_json_read_element(reader, &list, i);
        if (reader->status == PB_OK)
            reader->status = pb_json_integer(&element, 1, sm_count, &sms, reader->err);
        sides->gpc_sms[i] = (uint32_t)sms;
        sum += (uint64_t)sms;
    }
    sides->gpc_count = (uint32_t)count;
    if (sum != sm_count)
        pb_json_read_refuse(reader, &list, "%u SMs in all", sm_count);
}

/* One number for each GPC; none takes a hit in the last cache below one cycle. */
static void read_gpc_cycles(struct pb_json_reader *reader, const struct pb_json *at, double near,
                            struct pb_sim_sides_spec *sides)
{
    struct pb_json list, element;
    size_t count =
        pb_json_read_array(reader, at, "gpc_cycles", sides->gpc_count, sides->gpc_count, &list);

    for (size_t i = 0; i < count; i++) {
        element = pb_json_read_element(reader, &list, i);
        if (reader->status == PB_OK)
            reader->status =
                pb_json_number(&element, 1.0 - near, near, &sides->gpc_cycles[i], reader->err);
    }
}

static void read_sides(struct pb_json_reader *reader, const struct pb_json *root,
                       struct pb_sim_profile *profile)
{
    static const char *const keys[] = {"far_latency_cycles",  "mask",       "gpc_sms",   "slices",
                                       "slice_spread_cycles", "gpc_cycles", "far_bytes", NULL};
    struct pb_json at = pb_json_read_optional(reader, root, "l2_sides"), mask;
    const struct pb_sim_cache_spec *near = global_last(profile);
    struct pb_sim_sides_spec *sides = &profile->sides;
    double low = near != NULL ? near->latency_cycles : 1.0;

    if (reader->status != PB_OK || at.value == NULL)
        return;
    pb_json_read_only(reader, &at, keys);
    if (near == NULL || profile->sm_count < 2)
        pb_json_read_refuse(reader, &at, "a cache of global_cg and two SMs to have sides");
    sides->far_latency_cycles = pb_json_read_number(reader, &at, "far_latency_cycles", low, 1e6);
    mask = pb_json_read_member(reader, &at, "mask");
    sides->mask = pb_json_read_mask(reader, &mask);
    if (near != NULL && (sides->mask & (near->shape.line_bytes - 1)) != 0)
        pb_json_read_refuse(reader, &mask, "no bits within a line of %llu bytes",
                            (unsigned long long)near->shape.line_bytes);
    sides->gpc_count = 2;
    sides->gpc_sms[0] = profile->sm_count - profile->sm_count / 2;
    sides->gpc_sms[1] = profile->sm_count / 2;
    if (pb_json_read_optional(reader, &at, "gpc_sms").value != NULL)
        read_gpcs(reader, &at, profile->sm_count, sides);
    if (pb_json_read_optional(reader, &at, "gpc_cycles").value != NULL)
        read_gpc_cycles(reader, &at, low, sides);
    sides->slice_count = 1;
    pb_json_read_integer_or(reader, &at, "slices", 1, 1 << 16, &sides->slice_count);
    pb_json_read_number_or(reader, &at, "slice_spread_cycles", 0, low, &sides->slice_spread_cycles);
    if (pb_json_read_optional(reader, &at, "far_bytes").value != NULL)
        sides->far_bytes = (uint64_t)pb_json_read_number(reader, &at, "far_bytes", 0, 1e12);
}

static void read_layout(struct pb_json_reader *reader, const struct pb_json *root,
                        struct pb_sim_profile *profile)
{
    static const char *const keys[] = {"tpc_sms",           "tpc_slowdown", "gpc_slowdown",
                                       "constant_slowdown", "cluster_max",  NULL};
    struct pb_json at = pb_json_read_optional(reader, root, "layout");
    struct pb_sim_layout_spec *layout = &profile->layout;

    *layout = (struct pb_sim_layout_spec){
        .tpc_sms = 2, .tpc_slowdown = 1.6, .gpc_slowdown = 1.0, .constant_slowdown = 1.0};
    layout->cluster_max = profile->compute_capability >= 90 ? 16 : 0;
    if (reader->status != PB_OK || at.value == NULL)
        return;
    pb_json_read_only(reader, &at, keys);
    pb_json_read_integer_or(reader, &at, "tpc_sms", 1, profile->sm_count, &layout->tpc_sms);
    pb_json_read_number_or(reader, &at, "tpc_slowdown", 1, 100, &layout->tpc_slowdown);
    pb_json_read_number_or(reader, &at, "gpc_slowdown", 1, 100, &layout->gpc_slowdown);
    pb_json_read_number_or(reader, &at, "constant_slowdown", 0.01, 100, &layout->constant_slowdown);
    pb_json_read_integer_or(reader, &at, "cluster_max", 0, 16, &layout->cluster_max);
}

static void read_sync(struct pb_json_reader *reader, const struct pb_json *study,
                      struct pb_sim_profile *profile)
{
    static const char *const keys[] = {"write_cycles", "barrier_cycles", "warp_share", NULL};
    struct pb_json at = part_of(reader, study, "sync");
    struct pb_sim_study_spec *spec = &profile->study;

    spec->write_cycles = 16.0;
    spec->barrier_cycles = profile->shared.latency_cycles;
    spec->sync_warp_share = 0.02;
    if (reader->status != PB_OK || at.value == NULL)
        return;
    pb_json_read_only(reader, &at, keys);
    pb_json_read_number_or(reader, &at, "write_cycles", 1, 1e6, &spec->write_cycles);
    pb_json_read_number_or(reader, &at, "barrier_cycles", 0, 1e6, &spec->barrier_cycles);
    pb_json_read_number_or(reader, &at, "warp_share", 0, 100, &spec->sync_warp_share);
}

static void read_coalesce(struct pb_json_reader *reader, const struct pb_json *study,
                          struct pb_sim_study_spec *spec)
{
    static const char *const keys[] = {"group_lanes", "line_cycles", "miss_line_cycles", NULL};
    struct pb_json at = part_of(reader, study, "coalesce");

    spec->group_lanes = 32;
    spec->line_cycles = 2.0;
    spec->miss_line_cycles = 8.0;
    if (reader->status != PB_OK || at.value == NULL)
        return;
    pb_json_read_only(reader, &at, keys);
    if (pb_json_read_optional(reader, &at, "group_lanes").value != NULL)
        spec->group_lanes = (uint32_t)pb_json_read_power_of_two(reader, &at, "group_lanes", 1, 32);
    pb_json_read_number_or(reader, &at, "line_cycles", 0, 1e6, &spec->line_cycles);
    if (spec->miss_line_cycles < spec->line_cycles)
        spec->miss_line_cycles = spec->line_cycles;
    pb_json_read_number_or(reader, &at, "miss_line_cycles", 0, 1e6, &spec->miss_line_cycles);
}

/*
 * A thread may have 63 registers of 4 bytes before compute capability 3.5 and 255 from then on; by
 * default it keeps the largest power of two of 8-byte variables that fits.
 */
static void read_spill(struct pb_json_reader *reader, const struct pb_json *study,
                       struct pb_sim_profile *profile)
{
    static const char *const keys[] = {"variables", "move_cycles", "spilled_cycles", "warp_share",
                                       NULL};
    struct pb_json at = part_of(reader, study, "spill");
    struct pb_sim_study_spec *spec = &profile->study;

    spec->spill_variables = profile->compute_capability < 35 ? 16 : 64;
    spec->move_cycles = 8.0;
    spec->spilled_cycles = nearest_cycles(profile);
    spec->spill_warp_share = 0.05;
    if (reader->status != PB_OK || at.value == NULL)
        return;
    pb_json_read_only(reader, &at, keys);
    pb_json_read_integer_or(reader, &at, "variables", 1, 1 << 16, &spec->spill_variables);
    pb_json_read_number_or(reader, &at, "move_cycles", 1, 1e6, &spec->move_cycles);
    pb_json_read_number_or(reader, &at, "spilled_cycles", 0, 1e6, &spec->spilled_cycles);
    pb_json_read_number_or(reader, &at, "warp_share", 0, 100, &spec->spill_warp_share);
}

static void read_study(struct pb_json_reader *reader, const struct pb_json *root,
                       struct pb_sim_profile *profile)
{
    static const char *const keys[] = {"sync", "coalesce", "spill", NULL};
    struct pb_json at = pb_json_read_optional(reader, root, "study");

    if (reader->status == PB_OK && at.value != NULL)
        pb_json_read_only(reader, &at, keys);
    read_sync(reader, &at, profile);
    read_coalesce(reader, &at, &profile->study);
    read_spill(reader, &at, profile);
}

/* The PCI Express generation that cards of a compute capability have had. */
static uint32_t generation_of(uint32_t compute_capability)
{
    if (compute_capability < 30)
        return 2;
    if (compute_capability < 80)
        return 3;
    return compute_capability < 90 ? 4 : 5;
}

static void read_link(struct pb_json_reader *reader, const struct pb_json *root,
                      struct pb_sim_profile *profile)
{
    static const char *const keys[] = {"pcie_generation", "pcie_width",       "latency_us",
                                       "pageable_share",  "peer_bytes_per_s", "peer_latency_us",
                                       "peer_both_share", "peer_load_ns",     NULL};
    struct pb_json at = pb_json_read_optional(reader, root, "link");
    struct pb_sim_link_spec *link = &profile->link;

    link->pcie_generation = generation_of(profile->compute_capability);
    link->pcie_width = 16;
    link->latency_us = 8.0;
    link->pageable_share = 0.5;
    link->peer_bytes_per_s = 2e11;
    link->peer_latency_us = 4.0;
    link->peer_both_share = 1.0;
    link->peer_load_ns = 500.0;
    if (reader->status != PB_OK || at.value == NULL)
        return;
    pb_json_read_only(reader, &at, keys);
    pb_json_read_integer_or(reader, &at, "pcie_generation", 1, 6, &link->pcie_generation);
    if (pb_json_read_optional(reader, &at, "pcie_width").value != NULL)
        link->pcie_width = (uint32_t)pb_json_read_power_of_two(reader, &at, "pcie_width", 1, 32);
    pb_json_read_number_or(reader, &at, "latency_us", 0, 1e6, &link->latency_us);
    pb_json_read_number_or(reader, &at, "pageable_share", 0.01, 1, &link->pageable_share);
    pb_json_read_number_or(reader, &at, "peer_bytes_per_s", 1e6, 1e15, &link->peer_bytes_per_s);
    pb_json_read_number_or(reader, &at, "peer_latency_us", 0, 1e6, &link->peer_latency_us);
    pb_json_read_number_or(reader, &at, "peer_both_share", 0.01, 1, &link->peer_both_share);
    pb_json_read_number_or(reader, &at, "peer_load_ns", 0, 1e9, &link->peer_load_ns);
}

static void read_parallel(struct pb_json_reader *reader, const struct pb_json *root,
                          struct pb_sim_profile *profile)
{
    struct pb_sim_parallel_spec *spec = &profile->parallel;
    bool has_clusters = profile->compute_capability >= 90;
    struct pb_sim_parallel_spec read = {
        .knee_share = 0.8,
        .slope = 0.1,
        .saturated_factor = 2.0,
        .l2_bytes_per_cycle = 32.0,
        .sm_bytes_per_cycle = 64.0,
        .atomic_address_per_cycle = 1.0,
        .atomic_line_per_cycle = 16.0,
        .atomic_spread_per_cycle = 8.0 * profile->sm_count,
        .atomic_far_cost = 0.0,
        .persisting_share = profile->compute_capability >= 80 ? 1.0 : 0.0,
        .bulk_overhead_cycles = has_clusters ? 300.0 : 0.0,
        .own_shared_cycles = profile->shared.latency_cycles,
        .cluster_shared_cycles = 7.0 * profile->shared.latency_cycles,
        .cluster_shared_spread_cycles = profile->shared.latency_cycles,
        .own_shared_bytes_per_cycle = profile->shared.peak_bytes_per_cycle,
        .cluster_shared_bytes_per_cycle = profile->shared.peak_bytes_per_cycle / 4.0,
    };
    const struct {
        const char *key;
        double low, high, *value;
    } rows[] = {
        {"knee_share", 0.01, 1, &read.knee_share},
        {"slope", 0, 100, &read.slope},
        {"saturated_factor", 1, 1000, &read.saturated_factor},
        {"l2_bytes_per_cycle", 0.01, 1e5, &read.l2_bytes_per_cycle},
        {"sm_bytes_per_cycle", 0.01, 1e5, &read.sm_bytes_per_cycle},
        {"atomic_address_per_cycle", 1e-3, 1e6, &read.atomic_address_per_cycle},
        {"atomic_line_per_cycle", 1e-3, 1e6, &read.atomic_line_per_cycle},
        {"atomic_spread_per_cycle", 1e-3, 1e6, &read.atomic_spread_per_cycle},
        {"atomic_far_cost", 0, 1, &read.atomic_far_cost},
        {"persisting_share", 0, 1, &read.persisting_share},
        {"bulk_overhead_cycles", 0, 1e6, &read.bulk_overhead_cycles},
        {"own_shared_cycles", 1, 1e6, &read.own_shared_cycles},
        {"cluster_shared_cycles", 1, 1e6, &read.cluster_shared_cycles},
        {"cluster_shared_spread_cycles", 0, 1e6, &read.cluster_shared_spread_cycles},
        {"own_shared_bytes_per_cycle", 0.01, 1e5, &read.own_shared_bytes_per_cycle},
        {"cluster_shared_bytes_per_cycle", 0.01, 1e5, &read.cluster_shared_bytes_per_cycle},
    };
    enum { ROWS = sizeof(rows) / sizeof(rows[0]) };
    const char *keys[ROWS + 1] = {NULL};
    struct pb_json at = pb_json_read_optional(reader, root, "parallel");

    if (reader->status == PB_OK && at.value != NULL) {
        for (size_t i = 0; i < ROWS; i++)
            keys[i] = rows[i].key;
        pb_json_read_only(reader, &at, keys);
        for (size_t i = 0; i < ROWS; i++)
            pb_json_read_number_or(reader, &at, rows[i].key, rows[i].low, rows[i].high,
                                   rows[i].value);
    }
    *spec = read;
}

void pb_sim_profile_read_extras(struct pb_json_reader *reader, const struct pb_json *root,
                                struct pb_sim_profile *profile)
{
    read_sides(reader, root, profile);
    read_layout(reader, root, profile);
    read_study(reader, root, profile);
    read_link(reader, root, profile);
    read_parallel(reader, root, profile);
}
