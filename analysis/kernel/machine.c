/* Devices as kernels meet them; see machine.h. */
#include "analysis/kernel/machine.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The median of |N(0, 1)|. */
#define HALF_NORMAL_MEDIAN 0.67449

/*
 * CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; the newest first.
 * Fermi and Kepler: N14 3.2 and 4.2, stores are handled by L2; from Maxwell on lines are allocated
 * when they are missed (a load that meets its line in flight is a hit: seen on an H200). From
 * Ampere on the requests of a GPC are merged before L2 (the "L2 Request Coalescer" of Nsight
 * Compute; seen on an H200). The number of GPCs is that of the largest chip of each. From Hopper on
 * L1 keeps lines that hit (PB_MODEL_KEEP_HITS, as an H200's does, load for load:
 * tests/gpu/l1_sequences.cu). A Hopper's L1 keeps what is stored: an H200's hits all
 * words that tridiagonal of tests/gpu/trace_kernels.cu stores and loads again. Its driver sets 32
 * KiB aside at least (launch__shared_mem_config_size of ncu, for blocks of 32 to 384 threads).
 * The halves of its L2 are distinguished by the parity published for an H100 (docs/facts.md); on an
 * H200 half of 32 KiB was at home in each. Of other chips nothing is published.
 */
static const struct pb_execution capabilities[] = {
    {120, 0, 1536, 24, 65536, 102400, 1024, false, PB_STORE_UPDATE, true, 12, NAN, false, NAN, 0.0,
     0.0, true, 0, 0},
    {100, 0, 2048, 32, 65536, 233472, 1024, false, PB_STORE_UPDATE, true, 8, NAN, false, NAN, 0.0,
     0.0, true, 0, 0},
    {90, 0, 2048, 32, 65536, 233472, 1024, false, PB_STORE_ALLOCATE, true, 8, NAN, false, NAN, 0.0,
     0.0, true, 32768, 0xb3000},
    {89, 0, 1536, 24, 65536, 102400, 1024, false, PB_STORE_UPDATE, true, 12, NAN, false, NAN, 0.0,
     0.0, false, 0, 0},
    {86, 0, 1536, 16, 65536, 102400, 1024, false, PB_STORE_UPDATE, true, 7, NAN, false, NAN, 0.0,
     0.0, false, 0, 0},
    {80, 0, 2048, 32, 65536, 167936, 1024, false, PB_STORE_UPDATE, true, 8, NAN, false, NAN, 0.0,
     0.0, false, 0, 0},
    {75, 0, 1024, 16, 65536, 65536, 0, false, PB_STORE_UPDATE, false, 1, NAN, false, NAN, 0.0, 0.0,
     false, 0, 0},
    {70, 0, 2048, 32, 65536, 98304, 0, false, PB_STORE_UPDATE, false, 1, NAN, false, NAN, 0.0, 0.0,
     false, 0, 0},
    {50, 0, 2048, 32, 65536, 65536, 0, false, PB_STORE_INVALIDATE, false, 1, NAN, false, NAN, 0.0,
     0.0, false, 0, 0},
    {30, 0, 2048, 16, 65536, 49152, 0, true, PB_STORE_INVALIDATE, false, 1, NAN, false, NAN, 0.0,
     0.0, false, 0, 0},
    {20, 0, 1536, 8, 32768, 49152, 0, true, PB_STORE_INVALIDATE, false, 1, NAN, false, NAN, 0.0,
     0.0, false, 0, 0},
};

enum { CAPABILITY_COUNT = sizeof(capabilities) / sizeof(capabilities[0]), DEFAULT_CAPABILITY = 90 };

void pb_execution_of(uint32_t compute_capability, struct pb_execution *execution_out)
{
    uint32_t wanted = compute_capability == 0 ? DEFAULT_CAPABILITY : compute_capability;
    size_t i = 0;

    while (i + 1 < CAPABILITY_COUNT && capabilities[i].compute_capability > wanted)
        i++;
    *execution_out = capabilities[i];
    execution_out->compute_capability = compute_capability;
}

/* ---- documents ---- */

/* A member that may be missing; *value_inout stays as it is then. */
static enum pb_status read_whole(const struct pb_json *object, const char *key, int64_t high,
                                 int64_t *value_inout, struct pb_error *err)
{
    struct pb_json member;
    enum pb_status status = pb_json_member(object, key, false, &member, err);

    if (status != PB_OK || member.value == NULL)
        return status;
    return pb_json_integer(&member, 0, high, value_inout, err);
}

static enum pb_status read_count(const struct pb_json *object, const char *key, int64_t high,
                                 uint32_t *value_inout, struct pb_error *err)
{
    int64_t value = *value_inout;
    enum pb_status status = read_whole(object, key, high, &value, err);

    *value_inout = (uint32_t)value;
    return status;
}

static enum pb_status read_bytes(const struct pb_json *object, const char *key,
                                 uint64_t *value_inout, struct pb_error *err)
{
    int64_t value = (int64_t)*value_inout;
    enum pb_status status = read_whole(object, key, 1 << 30, &value, err);

    *value_inout = (uint64_t)value;
    return status;
}

static enum pb_status read_real(const struct pb_json *object, const char *key, double high,
                                double *value_inout, struct pb_error *err)
{
    struct pb_json member;
    enum pb_status status = pb_json_member(object, key, false, &member, err);

    if (status != PB_OK || member.value == NULL)
        return status;
    return pb_json_number(&member, 0.0, high, value_inout, err);
}

/* One of `words` (NULL-terminated). */
static enum pb_status read_word(const struct pb_json *object, const char *key,
                                const char *const *words, int *word_inout, struct pb_error *err)
{
    struct pb_json member;
    const char *text;
    enum pb_status status = pb_json_member(object, key, false, &member, err);

    if (status != PB_OK || member.value == NULL)
        return status;
    status = pb_json_text(&member, &text, err);
    if (status != PB_OK)
        return status;
    for (int i = 0; words[i] != NULL; i++)
        if (strcmp(words[i], text) == 0) {
            *word_inout = i;
            return PB_OK;
        }
    return pb_json_refuse(&member, err, "\"%s\" or \"%s\"%s", words[0], words[1],
                          words[2] == NULL ? "" : " or another of docs/kernel-model.md");
}

static enum pb_status read_execution(const struct pb_json *object, struct pb_execution *execution,
                                     struct pb_error *err)
{
    static const char *const known[] = {"sm_count",
                                        "threads_per_sm",
                                        "blocks_per_sm",
                                        "registers_per_sm",
                                        "l1_fill",
                                        "l1_stores",
                                        "shared_reserved_per_block",
                                        "shared_least",
                                        "home_mask",
                                        "latency_sigma",
                                        "line_cycles",
                                        "l2_merge",
                                        "gpc_count",
                                        NULL};
    static const char *const merges[] = {"no", "yes", NULL};
    static const char *const fills[] = {"on_miss", "on_arrival", NULL};
    static const char *const stores[] = {"update", "invalidate", "allocate", NULL};
    int fill = execution->l1_fills_on_arrival ? 1 : 0;
    int store = (int)execution->l1_stores;
    int merge = execution->l2_merges_requests ? 1 : 0;
    enum pb_status status = pb_json_only(object, known, err);

    if (status == PB_OK)
        status = read_count(object, "sm_count", 4096, &execution->sm_count, err);
    if (status == PB_OK)
        status = read_count(object, "threads_per_sm", 65536, &execution->threads_per_sm, err);
    if (status == PB_OK)
        status = read_count(object, "blocks_per_sm", 1024, &execution->blocks_per_sm, err);
    if (status == PB_OK)
        status = read_count(object, "registers_per_sm", 1 << 24, &execution->registers_per_sm, err);
    if (status == PB_OK)
        status = read_bytes(object, "shared_reserved_per_block",
                            &execution->shared_reserved_per_block, err);
    if (status == PB_OK)
        status = read_bytes(object, "shared_least", &execution->shared_least, err);
    if (status == PB_OK)
        status = read_bytes(object, "home_mask", &execution->home_mask, err);
    if (status == PB_OK)
        status = read_real(object, "latency_sigma", 10.0, &execution->latency_sigma, err);
    if (status == PB_OK)
        status = read_real(object, "line_cycles", 1e6, &execution->line_cycles, err);
    if (status == PB_OK)
        status = read_word(object, "l1_fill", fills, &fill, err);
    if (status == PB_OK)
        status = read_word(object, "l1_stores", stores, &store, err);
    if (status == PB_OK)
        status = read_word(object, "l2_merge", merges, &merge, err);
    if (status == PB_OK)
        status = read_count(object, "gpc_count", PB_GPCS_MAX, &execution->gpc_count, err);
    execution->l2_merges_requests = merge == 1;
    execution->l1_fills_on_arrival = fill == 1;
    execution->l1_stores = (enum pb_store_policy)store;
    return status;
}

/* "9.0", as profiles have it. */
static enum pb_status read_capability(const struct pb_json *root, uint32_t *capability_out,
                                      struct pb_error *err)
{
    struct pb_json member;
    const char *text;
    unsigned major, minor;
    enum pb_status status = pb_json_member(root, "compute_capability", false, &member, err);

    *capability_out = 0;
    if (status != PB_OK || member.value == NULL)
        return status;
    status = pb_json_text(&member, &text, err);
    if (status != PB_OK)
        return status;
    if (sscanf(text, "%2u.%1u", &major, &minor) != 2)
        return pb_json_refuse(&member, err, "a compute capability like \"9.0\"");
    *capability_out = 10 * major + minor;
    return PB_OK;
}

enum pb_status pb_execution_from_json(const struct pb_json *root,
                                      struct pb_execution *execution_out, struct pb_error *err)
{
    struct pb_execution execution;
    struct pb_json member;
    uint32_t capability = 0;
    enum pb_status status = read_capability(root, &capability, err);

    pb_execution_of(capability, &execution);
    if (status == PB_OK)
        status = read_count(root, "sm_count", 4096, &execution.sm_count, err);
    if (status == PB_OK)
        status = read_real(root, "clock_mhz", 1e5, &execution.clock_mhz, err);
    if (status == PB_OK)
        status = pb_json_member(root, "shared", false, &member, err);
    if (status == PB_OK && member.value != NULL)
        status = read_bytes(&member, "bytes_per_sm", &execution.shared_per_sm, err);
    if (status == PB_OK)
        status = pb_json_member(root, "l2_sides", false, &member, err);
    if (status == PB_OK && member.value != NULL)
        status = read_real(&member, "far_latency_cycles", 1e6, &execution.l2_far_cycles, err);
    if (status == PB_OK)
        status = pb_json_member(root, "execution", false, &member, err);
    if (status == PB_OK && member.value != NULL)
        status = read_execution(&member, &execution, err);
    if (status == PB_OK && (execution.threads_per_sm < 32 || execution.blocks_per_sm == 0))
        return pb_json_refuse(&member, err, "threads_per_sm of 32 and blocks_per_sm of 1 at least");
    if (status == PB_OK)
        *execution_out = execution;
    return status;
}

/* ---- machines ---- */

/* The least latency, and the spread that makes the typical one the median. */
static struct pb_latency spread(const struct pb_model_latency *measured, double share)
{
    struct pb_latency latency = {measured->cycles, 0.0};

    if (!isnan(share)) {
        latency.sigma = share * measured->cycles;
    } else if (measured->low < measured->cycles) {
        latency.minimum = measured->low;
        latency.sigma = (measured->cycles - measured->low) / HALF_NORMAL_MEDIAN;
    }
    return latency;
}

/* Does its index by masks choose among more lines than there are? */
static bool is_uneven(const struct pb_model_level *level)
{
    return level != NULL && level->has_sets && level->shape.index_mask_count > 0 &&
           level->way_counts == NULL && level->fits_bytes > 0 &&
           level->fits_bytes <
               level->shape.set_count * level->shape.way_count * level->shape.line_bytes;
}

enum pb_status pb_machine_make(const struct pb_model_hierarchy *hierarchy,
                               const struct pb_execution *execution, const char *name,
                               struct pb_machine *machine_out, struct pb_error *err)
{
    const struct pb_model_route *route = &hierarchy->routes[PB_MODEL_GLOBAL_CA];
    struct pb_machine machine = {
        .hierarchy = hierarchy,
        .sm_count = execution->sm_count,
        .threads_per_sm = execution->threads_per_sm,
        .blocks_per_sm = execution->blocks_per_sm,
        .registers_per_sm = execution->registers_per_sm,
        .shared_per_sm = execution->shared_per_sm,
        .shared_reserved_per_block = execution->shared_reserved_per_block,
        .shared_least = execution->shared_least,
        .home_mask = execution->home_mask,
        .l1_stores = execution->l1_stores,
        .l1_keeps_hits = execution->l1_keeps_hits,
        .l1.fills_on_arrival = execution->l1_fills_on_arrival,
        .mshr_per_sm = (uint32_t)hierarchy->mshr_per_sm,
        .line_cycles = execution->line_cycles,
        .cycles_per_ns = execution->clock_mhz / 1000.0,
        .l2_sides = isnan(execution->l2_far_cycles) ? 1 : 2,
        .l2_far = {execution->l2_far_cycles, 0.0},
        .l2_merges_requests = execution->l2_merges_requests,
        .gpc_count = execution->gpc_count,
    };

    PB_TEXT_SET(machine.name, name);
    for (size_t i = 0; i < route->count; i++) {
        const struct pb_model_level *level = &hierarchy->caches[route->caches[i]];

        if (level->is_chip_wide)
            machine.l2.level = level;
        else if (machine.l1.level == NULL)
            machine.l1.level = level;
    }
    if (machine.l1.level == NULL && machine.l2.level == NULL)
        return pb_fail(err, PB_INVALID, "%s: no cache of global loads is known", name);
    if (isnan(hierarchy->dram.cycles))
        return pb_fail(err, PB_INVALID, "%s: dram.latency_cycles is not determined", name);
    machine.l1.draws_high_bits = execution->draws_high_bits && is_uneven(machine.l1.level);
    if (machine.l1.level != NULL)
        machine.l1_hit = spread(&machine.l1.level->latency, 0.0);
    if (machine.l2.level != NULL)
        machine.l2_hit = spread(&machine.l2.level->latency, execution->latency_sigma);
    machine.dram = spread(&hierarchy->dram, execution->latency_sigma);
    *machine_out = machine;
    return PB_OK;
}

void pb_machine_set_topology(struct pb_machine *machine, const char *uuid,
                             const struct pb_topology *topology)
{
    PB_TEXT_SET(machine->device, uuid);
    machine->topology = topology;
}
