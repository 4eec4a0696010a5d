/*
 * The launches of a chase: setting up the caches, one launch per window of recorded accesses, and
 * the check of everything that comes back (M16 4.2, R16 2.2).
 */
#include <inttypes.h>

#include "device/cuda/walk.h"

/* The offset of the slot that load number n reads, counted from the start of the chase. */
static uint64_t offset_of_load(const struct pb_cuda_walk *walk, uint64_t n)
{
    return walk->chase->offset_bytes[n % walk->chase->offset_count];
}

/* Constant memory is filled anew before each launch: then its caches know nothing of the chain. */
static enum pb_status fill_constant(struct pb_cuda_walk *walk, struct pb_kernel_chain *chain_out)
{
    int code = pb_kernel_constant_fill(walk->chain.base, PB_KERNEL_CONSTANT_BYTES);
    enum pb_status status = pb_cuda_status(walk->cuda, code, "pb_kernel_constant_fill",
                                           "filling constant memory", walk->err);

    *chain_out = walk->chain;
    if (status != PB_OK)
        return status;
    return pb_cuda_status(walk->cuda, pb_kernel_constant_address(&chain_out->base),
                          "pb_kernel_constant_address", "looking for constant memory", walk->err);
}

static enum pb_status set_up_caches(struct pb_cuda_walk *walk)
{
    struct pb_kernel_chain chain = walk->chain;
    enum pb_status status = PB_OK;

    if (walk->path == PB_KERNEL_SHARED)
        return PB_OK;
    if (walk->path == PB_KERNEL_CONSTANT)
        status = fill_constant(walk, &chain);
    if (status == PB_OK && walk->chase->flush)
        status = pb_cuda_flush_l2(walk->cuda, walk->err);
    if (status == PB_OK && walk->chase->prefill)
        status = pb_cuda_status(walk->cuda, pb_kernel_prefill(&chain, walk->cuda->info.sm_count),
                                "pb_kernel_prefill", "warming L2", walk->err);
    return status;
}

static int launch(const struct pb_cuda_walk *walk)
{
    bool is_traced = walk->launch.record > 0;

    if (walk->chase->cross)
        return is_traced ? pb_kernel_cross_trace(walk->path, &walk->launch)
                         : pb_kernel_cross_time(walk->path, &walk->launch);
    return is_traced ? pb_kernel_trace(walk->path, &walk->launch)
                     : pb_kernel_time(walk->path, &walk->launch);
}

/* One launch: the chase from its start, `warm` loads, then those of walk->launch. */
static enum pb_status go(struct pb_cuda_walk *walk, uint64_t warm,
                         struct pb_kernel_result *result_out)
{
    enum pb_status status = set_up_caches(walk);

    walk->launch.warm = warm;
    if (status == PB_OK)
        status = pb_cuda_prepare(walk->cuda, walk->err);
    if (status == PB_OK)
        status = pb_cuda_status(walk->cuda, launch(walk),
                                walk->launch.record > 0 ? "pb_kernel_trace" : "pb_kernel_time",
                                "launching a chase", walk->err);
    if (status == PB_OK)
        status = pb_cuda_finish(walk->cuda, &walk->launch.place, "a chase", result_out, walk->err);
    if (status == PB_OK && walk->path == PB_KERNEL_SHARED)
        walk->base_address = result_out->base_address;
    return status;
}

/* Load number n read `found`, of which only the bits of `mask` are known. */
static enum pb_status check_loaded(struct pb_cuda_walk *walk, uint64_t n, uint64_t found,
                                   uint64_t mask)
{
    uint64_t expected =
        pb_kernel_position(walk->form, walk->base_address, offset_of_load(walk, n + 1));

    if ((found & mask) == (expected & mask))
        return PB_OK;
    return pb_fail(walk->err, PB_DEVICE,
                   "GPU %d: %s load %" PRIu64 " of a chase, at 0x%" PRIx64 ": expected 0x%" PRIx64
                   ", found 0x%" PRIx64 ", bits 0x%" PRIx64 " differ",
                   walk->cuda->ordinal, pb_path_name(walk->chase->path), n,
                   walk->base_address + offset_of_load(walk, n), expected & mask, found & mask,
                   (found ^ expected) & mask);
}

static enum pb_status read_window(struct pb_cuda_walk *walk, uint64_t first, uint32_t count,
                                  struct pb_trace *trace)
{
    const uint64_t low_word = 0xffffffffu;
    struct pb_cuda_recording recording;
    uint64_t n = walk->chase->warm + first;
    enum pb_status status;

    status = pb_cuda_recording_read(walk->cuda, count, "reading a trace", &recording, walk->err);
    if (status != PB_OK)
        return status;
    for (uint32_t i = 0; status == PB_OK && i < count; i++)
        status = check_loaded(walk, n + i, recording.loaded[i], low_word);
    if (status == PB_OK) {
        pb_cuda_subtract(recording.pairs, count, trace->latency_cycles + first);
        for (uint32_t i = 0; i < count; i++)
            trace->index_bytes[first + i] = offset_of_load(walk, n + i);
    }
    pb_cuda_recording_free(&recording);
    return status;
}

enum pb_status pb_cuda_walk_place(struct pb_cuda_walk *walk, int64_t sm)
{
    return pb_cuda_place(walk->cuda, sm, walk->chase->carveout_bytes,
                         walk->launch.place.shared_bytes, &walk->launch.place,
                         &walk->carveout_bytes, walk->err);
}

/* The sliding window: each launch repeats the chase up to where the last one stopped recording. */
enum pb_status pb_cuda_walk_trace(struct pb_cuda_walk *walk, struct pb_trace *trace,
                                  struct pb_kernel_result *result_out)
{
    uint64_t record = walk->chase->record;
    enum pb_status status = PB_OK;

    for (uint64_t first = 0; status == PB_OK && first < record; first += walk->window) {
        uint64_t rest = record - first;
        uint64_t warm = walk->chase->warm + first;

        walk->launch.record = (uint32_t)(rest < walk->window ? rest : walk->window);
        status = go(walk, warm, result_out);
        if (status == PB_OK)
            status = read_window(walk, first, walk->launch.record, trace);
        if (status == PB_OK)
            status = check_loaded(walk, warm + walk->launch.record - 1, result_out->last_address,
                                  UINT64_MAX);
    }
    return status;
}

enum pb_status pb_cuda_walk_time(struct pb_cuda_walk *walk, struct pb_kernel_result *result_out)
{
    uint64_t loads = walk->chase->warm + walk->chase->timed;
    enum pb_status status;

    walk->launch.record = 0;
    walk->launch.timed = walk->chase->timed;
    status = go(walk, walk->chase->warm, result_out);
    if (status == PB_OK)
        status = check_loaded(walk, loads - 1, result_out->last_address, UINT64_MAX);
    return status;
}
