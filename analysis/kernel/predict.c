/* One kernel through one device; see predict.h. */
#include "analysis/kernel/predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REGISTER_UNIT = 256 /* registers are given to warps by so many */ };

uint64_t pb_counts_misses(const struct pb_level_counts *counts)
{
    uint64_t misses = 0;

    for (size_t i = 0; i < PB_MISS_KIND_COUNT; i++)
        misses += counts->misses[i];
    return misses;
}

double pb_counts_hit_rate(const struct pb_level_counts *counts)
{
    uint64_t hits = counts->hits + counts->in_flight;
    uint64_t lookups = hits + pb_counts_misses(counts);

    return lookups == 0 ? NAN : (double)hits / (double)lookups;
}

/* ---- what fits on an SM ---- */

static uint64_t shared_of_block(const struct pb_machine *machine, const struct pb_kernel *kernel)
{
    return machine->shared_reserved_per_block +
           (kernel->shared_bytes > 0 ? (uint64_t)kernel->shared_bytes : 0);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint32_t pb_machine_block_limit(const struct pb_machine *machine, const struct pb_kernel *kernel)
{
    uint64_t limit = machine->blocks_per_sm;
    uint64_t shared = shared_of_block(machine, kernel);
    uint64_t registers = (uint64_t)kernel->registers * PB_LANES_MAX;

    limit = least(limit, machine->threads_per_sm / PB_LANES_MAX / kernel->warp_count);
    if (registers > 0 && machine->registers_per_sm > 0) {
        registers = (registers + REGISTER_UNIT - 1) / REGISTER_UNIT * REGISTER_UNIT;
        limit = least(limit, machine->registers_per_sm / registers / kernel->warp_count);
    }
    if (shared > 0 && machine->shared_per_sm > 0)
        limit = least(limit, machine->shared_per_sm / shared);
    return limit > 0 ? (uint32_t)limit : 1;
}

static uint64_t carveout_of(const struct pb_machine *machine, const struct pb_kernel *kernel,
                            const struct pb_predict_options *options, uint32_t block_limit)
{
    if (options->carveout_bytes >= 0)
        return (uint64_t)options->carveout_bytes;
    if (kernel->carveout_bytes >= 0) /* a preference; a block has to fit in any case */
        return most(most((uint64_t)kernel->carveout_bytes, shared_of_block(machine, kernel)),
                    machine->shared_least);
    return most(block_limit * shared_of_block(machine, kernel), machine->shared_least);
}

/* ---- the account ---- */

static void add_counts(struct pb_access_counts *to, const struct pb_access_counts *from)
{
    to->accesses += from->accesses;
    to->sectors += from->sectors;
    to->lines += from->lines;
    to->bytes += from->bytes;
    to->l1.hits += from->l1.hits;
    to->l1.in_flight += from->l1.in_flight;
    to->l2_merged += from->l2_merged;
    to->l2.hits += from->l2.hits;
    to->l2.in_flight += from->l2.in_flight;
    for (size_t i = 0; i < PB_MISS_KIND_COUNT; i++) {
        to->l1.misses[i] += from->l1.misses[i];
        to->l2.misses[i] += from->l2.misses[i];
    }
}

static void sum_up(struct pb_prediction *prediction, const struct pb_instruction *instructions)
{
    for (size_t i = 0; i < prediction->instruction_count; i++) {
        const struct pb_access_counts *counts = &prediction->instructions[i].counts;

        if (instructions[i].kind == PB_KIND_STORE)
            prediction->stores += counts->accesses;
        else if (instructions[i].kind == PB_KIND_ATOMIC)
            prediction->atomics += counts->accesses;
        else if (instructions[i].kind == PB_KIND_LOAD)
            add_counts(&prediction->all_reads, counts);
        if (instructions[i].kind == PB_KIND_LOAD && instructions[i].space == PB_SPACE_GLOBAL &&
            instructions[i].way == PB_WAY_REGISTERS)
            add_counts(&prediction->loads, counts);
        if (instructions[i].kind == PB_KIND_LOAD && instructions[i].way == PB_WAY_ASYNC)
            add_counts(&prediction->copies, counts);
    }
}

/* Copies what the memory counted. */
static enum pb_status collect(const struct pb_kernel *kernel, const struct pb_memory *memory,
                              struct pb_prediction *prediction, struct pb_error *err)
{
    size_t count;
    const struct pb_instruction_counts *instructions = pb_memory_instructions(memory, &count);
    size_t allocations = kernel->allocation_count + 1;

    prediction->instructions = calloc(count + 1, sizeof(*prediction->instructions));
    prediction->allocations = calloc(allocations, sizeof(*prediction->allocations));
    if (prediction->instructions == NULL || prediction->allocations == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory for %zu instructions", count);
    if (count > 0)
        memcpy(prediction->instructions, instructions, count * sizeof(*instructions));
    prediction->instruction_count = count;
    memcpy(prediction->allocations, pb_memory_allocations(memory),
           allocations * sizeof(*prediction->allocations));
    prediction->allocation_count = kernel->allocation_count;
    sum_up(prediction, *kernel->instructions);
    return PB_OK;
}

/* ---- a run ---- */

struct run {
    const struct pb_predict_options *options;
    struct pb_memory *memory;
};

static enum pb_status access_memory(void *context, uint32_t sm, uint32_t warp_slot,
                                    const struct pb_access *access, double time,
                                    struct pb_access_outcome *outcome, struct pb_error *err)
{
    return pb_memory_access(((struct run *)context)->memory, sm, warp_slot, access, time, outcome,
                            err);
}

static void empty_l1(void *context, uint32_t sm)
{
    pb_memory_empty_l1(((struct run *)context)->memory, sm);
}

static void show_progress(void *context, uint64_t accesses)
{
    const struct pb_predict_options *options = ((struct run *)context)->options;

    if (options->progress != NULL)
        options->progress(options->progress_context, accesses);
}

static void set_machine(const struct pb_machine *machine, const struct pb_kernel *kernel,
                        const struct pb_predict_options *options, struct pb_machine *used,
                        struct pb_prediction *prediction)
{
    *used = *machine;
    prediction->block_limit =
        options->block_limit > 0 ? options->block_limit : pb_machine_block_limit(machine, kernel);
    prediction->carveout_bytes = carveout_of(machine, kernel, options, prediction->block_limit);
    if (machine->l1.level != NULL) {
        used->l1.fits_bytes =
            pb_model_level_fits(machine->hierarchy, machine->l1.level, prediction->carveout_bytes);
        used->l1.shape = options->l1;
    }
    if (machine->l2.level != NULL)
        used->l2.fits_bytes = pb_model_level_fits(machine->hierarchy, machine->l2.level, 0);
    prediction->l1_bytes = used->l1.fits_bytes;
}

enum pb_status pb_predict(const struct pb_trace *trace, const struct pb_machine *machine,
                          const struct pb_predict_options *options,
                          struct pb_prediction *prediction_out, struct pb_error *err)
{
    const struct pb_kernel *kernel = trace->ops->kernel(trace->state);
    struct pb_prediction prediction = {0};
    struct run run = {options, NULL};
    const struct pb_access_sink sink = {&run, access_memory, empty_l1, show_progress};
    struct pb_schedule_options schedule = {
        .cycles_per_ns = machine->cycles_per_ns,
        .no_hierarchy = options->memory.without[PB_EXTENSION_HIERARCHY],
        .no_divergence = options->memory.without[PB_EXTENSION_DIVERGENCE],
    };
    struct pb_machine used;
    enum pb_status status = trace->ops->restart(trace->state, err);

    if (status != PB_OK)
        return status;
    set_machine(machine, kernel, options, &used, &prediction);
    schedule.block_limit = prediction.block_limit;
    schedule.sm_count = kernel->has_schedule ? kernel->stream_count : machine->sm_count;
    status = pb_memory_create(&used, &options->memory, kernel, schedule.sm_count,
                              schedule.block_limit * kernel->warp_count, &run.memory, err);
    if (status == PB_OK)
        status = pb_schedule_run(trace, &schedule, &sink, &prediction.schedule, err);
    if (status == PB_OK)
        status = collect(kernel, run.memory, &prediction, err);
    if (status == PB_OK && options->memory.wants_reuse)
        status = pb_memory_take_reuse(run.memory, &prediction.reuse, err);
    pb_memory_destroy(run.memory);
    if (status != PB_OK)
        pb_prediction_clear(&prediction);
    else
        *prediction_out = prediction;
    return status;
}

void pb_prediction_clear(struct pb_prediction *prediction)
{
    if (prediction == NULL)
        return;
    free(prediction->instructions);
    free(prediction->allocations);
    free(prediction->reuse);
    *prediction = (struct pb_prediction){0};
}
