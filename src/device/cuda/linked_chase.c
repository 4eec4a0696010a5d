/*
 * A chase before and after its launches: setting up the caches, and the check of everything that
 * comes back (M16 4.2, R16 2.2).
 */
#include <inttypes.h>

#include "device/cuda/linked_chase.h"

/* The offset of the slot that load number n reads, counted from the start of the chase. */
static uint64_t offset_of_load(const struct pb_linked_chase *linked, uint64_t n)
{
    return linked->chase->offset_bytes[n % linked->chase->offset_count];
}

/* Constant memory is filled anew before each launch: then its caches know nothing of the chain. */
static enum pb_status fill_constant(struct pb_linked_chase *linked,
                                    struct pb_kernel_chain *chain_out, struct pb_error *err)
{
    int code = pb_kernel_constant_fill(linked->chain.base, PB_KERNEL_CONSTANT_BYTES);
    enum pb_status status = pb_cuda_status(linked->cuda, code, "pb_kernel_constant_fill",
                                           "filling constant memory", err);

    *chain_out = linked->chain;
    if (status != PB_OK)
        return status;
    return pb_cuda_status(linked->cuda, pb_kernel_constant_address(&chain_out->base),
                          "pb_kernel_constant_address", "looking for constant memory", err);
}

enum pb_status pb_linked_chase_set_up(struct pb_linked_chase *linked, struct pb_error *err)
{
    struct pb_kernel_chain chain = linked->chain;
    enum pb_status status = PB_OK;

    if (linked->path == PB_KERNEL_SHARED)
        return PB_OK;
    if (linked->path == PB_KERNEL_CONSTANT)
        status = fill_constant(linked, &chain, err);
    if (status == PB_OK && linked->chase->flush)
        status = linked->chase->peer == NULL
                     ? pb_cuda_flush_l2(linked->cuda, err)
                     : pb_cuda_flush_by(linked->cuda, linked->peer_flush_address,
                                        2 * linked->cuda->info.l2_bytes, err);
    if (status == PB_OK && linked->chase->prefill)
        status =
            pb_cuda_status(linked->cuda, pb_kernel_prefill(&chain, linked->cuda->info.sm_count),
                           "pb_kernel_prefill", "warming L2", err);
    return status;
}

/* How many slots take the same word of memory as this one, itself included. */
static size_t count_alike(const struct pb_chase *chase, uint64_t offset)
{
    size_t seen = 0;

    for (size_t i = 0; i < chase->offset_count; i++) {
        uint64_t apart = chase->offset_bytes[i] - offset;
        seen += chase->alias_bytes == 0 ? apart == 0 : apart % chase->alias_bytes == 0;
    }
    return seen;
}

/* The caller's fault where a slot comes twice, else the device's. */
enum pb_status pb_linked_chase_report_error(const struct pb_cuda_leg *legs, size_t count,
                                            const struct pb_kernel_fault *fault,
                                            struct pb_error *err)
{
    const struct pb_linked_chase *linked = legs[0].linked;
    uint64_t offset = 0;
    size_t seen = 0;

    for (size_t i = 0; seen == 0 && i < count; i++) {
        linked = legs[i].linked;
        offset = fault->address - linked->chain.base - linked->chain.shift;
        seen = count_alike(linked->chase, offset);
    }
    if (seen > 1)
        return pb_fail(err, PB_INVALID, "chase: offset %" PRIu64 "%s comes %zu times", offset,
                       linked->chase->alias_bytes == 0 ? "" : " of the aliased block", seen);
    return pb_fail(err, PB_DEVICE,
                   "GPU %d: memory at 0x%" PRIx64 ": wrote 0x%016" PRIx64 ", read 0x%016" PRIx64
                   ", bits 0x%" PRIx64 " differ (one of %" PRIu64 " such words)",
                   linked->cuda->ordinal, fault->address, fault->expected, fault->found,
                   fault->expected ^ fault->found, fault->count);
}

/* Load number n read `found`, of which only the bits of `mask` are known. */
static enum pb_status check_loaded(const struct pb_linked_chase *linked, uint64_t n, uint64_t found,
                                   uint64_t mask, struct pb_error *err)
{
    uint64_t expected = pb_kernel_position(linked->form, linked->base_address,
                                           linked->chain.shift + offset_of_load(linked, n + 1));

    if ((found & mask) == (expected & mask))
        return PB_OK;
    return pb_fail(err, PB_DEVICE,
                   "GPU %d: %s load %" PRIu64 " of a chase, at 0x%" PRIx64 ": expected 0x%" PRIx64
                   ", found 0x%" PRIx64 ", bits 0x%" PRIx64 " differ",
                   linked->cuda->ordinal, pb_path_name(linked->chase->path), n,
                   linked->base_address + linked->chain.shift + offset_of_load(linked, n),
                   expected & mask, found & mask, (found ^ expected) & mask);
}

static enum pb_status read_window(const struct pb_cuda_leg *leg, const uint32_t *words,
                                  uint32_t record, struct pb_error *err)
{
    const uint64_t low_word = 0xffffffffu;
    const struct pb_linked_chase *linked = leg->linked;
    uint64_t n = linked->chase->warm + leg->first;
    enum pb_status status = PB_OK;

    for (uint64_t i = 0; status == PB_OK && i < leg->count; i++)
        status = check_loaded(linked, n + i, words[i], low_word, err);
    if (status != PB_OK)
        return status;
    pb_cuda_subtract(words + PB_KERNEL_CAPACITY(record), leg->count,
                     leg->trace->latency_cycles + leg->first);
    for (uint64_t i = 0; i < leg->count; i++)
        leg->trace->index_bytes[leg->first + i] = offset_of_load(linked, n + i);
    return PB_OK;
}

static void describe(const struct pb_cuda_leg *leg, const struct pb_kernel_result *result)
{
    const struct pb_linked_chase *linked = leg->linked;
    struct pb_chase_trace *trace = leg->trace;
    bool is_timed = leg->count == 0;

    trace->count = linked->chase->record;
    trace->window = linked->window;
    trace->total_cycles = is_timed ? result->end_cycles - result->start_cycles : 0;
    trace->total_ns = is_timed ? (double)(result->end_ns - result->start_ns) : 0.0;
    trace->base_address = linked->base_address;
    trace->carveout_bytes = linked->carveout_bytes;
    trace->sm_id = result->sm_id;
}

enum pb_status pb_linked_chase_read(const struct pb_cuda_leg *leg,
                                    const struct pb_kernel_result *result, const uint32_t *words,
                                    uint32_t record, struct pb_error *err)
{
    struct pb_linked_chase *linked = leg->linked;
    uint64_t loads =
        linked->chase->warm + (leg->count > 0 ? leg->first + record : linked->chase->timed);
    enum pb_status status = PB_OK;

    if (result->runs != 1)
        return pb_fail(err, PB_DEVICE,
                       "GPU %d: a chase: the kernel left no result: a load was out of bounds",
                       linked->cuda->ordinal);
    if (linked->path == PB_KERNEL_SHARED)
        linked->base_address = result->base_address;
    if (leg->count > 0)
        status = read_window(leg, words, record, err);
    if (status == PB_OK)
        status = check_loaded(linked, loads - 1, result->last_address, UINT64_MAX, err);
    if (status == PB_OK)
        describe(leg, result);
    return status;
}
