/*
 * The pointer chase on silicon: what is asked for, its memory and its links (M16 4.2).
 *
 * Everything that comes back is checked: the links before the chase, every recorded pointer, and
 * where the chase ended. A word that is not what was written there is an error of the device.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/walk.h"

/* What the slots for practice keep from the chain, so that no line holds both. */
static const uint64_t practice_distance = 4096;

static uint64_t round_up(uint64_t value, uint64_t step)
{
    return (value + step - 1) / step * step;
}

static enum pb_status kernel_path(enum pb_path path, enum pb_kernel_path *path_out,
                                  struct pb_error *err)
{
    static const enum pb_kernel_path paths[PB_PATH_COUNT] = {
        [PB_PATH_GLOBAL_CA] = PB_KERNEL_GLOBAL_CA,   [PB_PATH_GLOBAL_CG] = PB_KERNEL_GLOBAL_CG,
        [PB_PATH_READONLY] = PB_KERNEL_READONLY,     [PB_PATH_TEXTURE] = PB_KERNEL_TEXTURE,
        [PB_PATH_TEXTURE_2D] = PB_KERNEL_TEXTURE_2D, [PB_PATH_CONSTANT] = PB_KERNEL_CONSTANT,
        [PB_PATH_SHARED] = PB_KERNEL_SHARED,
    };

    if ((unsigned)path >= PB_PATH_COUNT)
        return pb_fail(err, PB_INVALID, "chase: unknown path %d", (int)path);
    *path_out = paths[path];
    return PB_OK;
}

static enum pb_kernel_form form_of(enum pb_kernel_path path)
{
    switch (path) {
    case PB_KERNEL_TEXTURE:
        return PB_KERNEL_FORM_TEXEL;
    case PB_KERNEL_TEXTURE_2D:
        return PB_KERNEL_FORM_TEXEL_2D;
    case PB_KERNEL_CONSTANT:
        return PB_KERNEL_FORM_OFFSET;
    default:
        return PB_KERNEL_FORM_POINTER;
    }
}

/* Bytes from offset 0 to the end of the last slot. */
static enum pb_status footprint(const struct pb_chase *chase, uint64_t *bytes_out,
                                struct pb_error *err)
{
    uint64_t last = 0;

    if (chase->offset_count == 0)
        return pb_fail(err, PB_INVALID, "chase: no slots");
    if ((chase->record == 0) == (chase->timed == 0))
        return pb_fail(err, PB_INVALID, "chase: expected loads to record or to time, found %s",
                       chase->record == 0 ? "neither" : "both");
    for (size_t i = 0; i < chase->offset_count; i++) {
        if (chase->offset_bytes[i] % PB_KERNEL_SLOT_BYTES != 0)
            return pb_fail(err, PB_INVALID,
                           "chase: offset %zu: expected a multiple of 8, found %" PRIu64, i,
                           chase->offset_bytes[i]);
        if (chase->offset_bytes[i] > last)
            last = chase->offset_bytes[i];
    }
    *bytes_out = last + PB_KERNEL_SLOT_BYTES;
    return PB_OK;
}

static bool is_pointer(enum pb_kernel_path path)
{
    return form_of(path) == PB_KERNEL_FORM_POINTER && path != PB_KERNEL_SHARED;
}

/* What cannot be had together. */
static enum pb_status check_paths(const struct pb_cuda_walk *walk)
{
    uint64_t room = PB_KERNEL_CONSTANT_BYTES - PB_KERNEL_SLOT_BYTES;

    if (walk->chase->cross &&
        (walk->path == PB_KERNEL_SHARED || walk->path == PB_KERNEL_CONSTANT ||
         walk->warm_path == PB_KERNEL_SHARED || walk->warm_path == PB_KERNEL_CONSTANT))
        return pb_fail(walk->err, PB_INVALID,
                       "chase: shared and constant memory are arrays of their own: no other path "
                       "can warm them, nor be warmed by them");
    if (walk->chase->alias_bytes > 0 && (walk->chase->cross || !is_pointer(walk->path)))
        return pb_fail(walk->err, PB_UNSUPPORTED,
                       "chase: aliased memory is there for plain global loads only");
    if (walk->path == PB_KERNEL_CONSTANT && walk->footprint_bytes > room)
        return pb_fail(walk->err, PB_UNSUPPORTED,
                       "chase: %" PRIu64 " bytes of constant memory: there are %" PRIu64
                       " beside the slot for practice",
                       walk->footprint_bytes, room);
    return PB_OK;
}

static enum pb_status send_offsets(struct pb_cuda_walk *walk)
{
    struct pb_cuda_device *cuda = walk->cuda;
    size_t bytes = walk->chase->offset_count * sizeof(*walk->chase->offset_bytes);
    enum pb_status status =
        pb_cuda_reserve(cuda, &cuda->offsets, bytes, "the order of a chase", walk->err);

    if (status != PB_OK)
        return status;
    walk->launch.offsets = walk->chain.offsets = cuda->offsets.address;
    walk->chain.count = walk->chase->offset_count;
    walk->launch.offset_count = (uint32_t)walk->chase->offset_count;
    return pb_cuda_upload(cuda, cuda->offsets.address, walk->chase->offset_bytes, bytes,
                          "sending the order of a chase", walk->err);
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
static enum pb_status blame_link(struct pb_cuda_walk *walk, const struct pb_kernel_fault *fault)
{
    uint64_t offset = fault->address - walk->chain.base;
    size_t seen = count_alike(walk->chase, offset);

    if (seen > 1)
        return pb_fail(walk->err, PB_INVALID, "chase: offset %" PRIu64 "%s comes %zu times", offset,
                       walk->chase->alias_bytes == 0 ? "" : " of the aliased block", seen);
    return pb_fail(walk->err, PB_DEVICE,
                   "GPU %d: memory at 0x%" PRIx64 ": wrote 0x%016" PRIx64 ", read 0x%016" PRIx64
                   ", bits 0x%" PRIx64 " differ (one of %" PRIu64 " such words)",
                   walk->cuda->ordinal, fault->address, fault->expected, fault->found,
                   fault->expected ^ fault->found, fault->count);
}

static enum pb_status link_slots(struct pb_cuda_walk *walk)
{
    struct pb_cuda_device *cuda = walk->cuda;
    struct pb_kernel_fault fault;
    enum pb_status status = pb_cuda_fault_clear(cuda, &walk->chain.fault, walk->err);

    if (status == PB_OK)
        status = pb_cuda_status(cuda, pb_kernel_link(&walk->chain), "pb_kernel_link",
                                "linking a chase", walk->err);
    if (status == PB_OK)
        status = pb_cuda_status(cuda, pb_kernel_link_check(&walk->chain), "pb_kernel_link_check",
                                "checking the links of a chase", walk->err);
    if (status == PB_OK)
        status = pb_cuda_fault_read(cuda, "checking the links of a chase", &fault, walk->err);
    if (status == PB_OK && fault.count > 0)
        status = blame_link(walk, &fault);
    return status;
}

/* How many accesses one launch records, and where: see trace_window in identity.h. */
static enum pb_status choose_window(struct pb_cuda_walk *walk)
{
    const struct pb_device_info *info = &walk->cuda->info;
    bool is_shared = walk->path == PB_KERNEL_SHARED;
    bool skips_l1 = walk->path == PB_KERNEL_GLOBAL_CG || walk->path == PB_KERNEL_ATOMIC ||
                    walk->path == PB_KERNEL_CONSTANT;
    uint64_t room_bytes = walk->cuda->shared_optin_bytes;
    uint64_t window = is_shared || skips_l1 ? info->trace_window_large : info->trace_window;
    uint64_t chain_bytes = is_shared ? round_up(walk->footprint_bytes, 16) : 0;
    uint64_t least = walk->chase->record == 0 ? 0 : PB_KERNEL_PRACTICE * PB_KERNEL_RECORD_BYTES;
    uint64_t most;

    if (chain_bytes + least > room_bytes)
        return pb_fail(walk->err, PB_UNSUPPORTED,
                       "chase: %" PRIu64
                       " bytes of shared memory and a recording: a CTA has %" PRIu64,
                       walk->footprint_bytes, room_bytes);
    most = (room_bytes - chain_bytes) / PB_KERNEL_RECORD_BYTES / 4 * 4;
    window = window > most ? most : window;
    walk->window = window > walk->chase->record ? walk->chase->record : window;
    walk->launch.chain_bytes = (uint32_t)chain_bytes;
    return PB_OK;
}

/*
 * Shared memory that a launch takes for its recording. A timed chase records nothing but takes as
 * much as a traced one: to a kernel without shared memory the driver leaves a smaller L1 than to
 * one with a little (seen on an H200: 216 KiB instead of 240, whatever the hint below 32 KiB).
 */
static uint64_t recording_bytes(const struct pb_cuda_walk *walk)
{
    uint64_t window = walk->window;

    if (walk->chase->record == 0 && walk->path != PB_KERNEL_SHARED)
        window = walk->cuda->info.trace_window;
    return window == 0 ? 0 : PB_KERNEL_CAPACITY(window) * PB_KERNEL_RECORD_BYTES;
}

static enum pb_status set_up_launch(struct pb_cuda_walk *walk)
{
    struct pb_cuda_device *cuda = walk->cuda;
    uint64_t recorded_bytes;
    enum pb_status status = choose_window(walk);

    if (status != PB_OK)
        return status;
    recorded_bytes = recording_bytes(walk);
    status = pb_cuda_place(cuda, walk->chase->sm, walk->chase->carveout_bytes,
                           walk->launch.chain_bytes + recorded_bytes, &walk->launch.place,
                           &walk->carveout_bytes, walk->err);
    if (status == PB_OK)
        status = pb_cuda_reserve(cuda, &cuda->recording, recorded_bytes, "a recording", walk->err);
    if (status == PB_OK)
        status = send_offsets(walk);
    if (status == PB_OK && walk->chase->flush)
        status = pb_cuda_reserve(cuda, &cuda->scratch, 2 * cuda->info.l2_bytes, "flushing L2",
                                 walk->err);
    walk->launch.recording = cuda->recording.address;
    return status;
}

/* The arena, with a slot for practice behind the chain where the control block's will not do. */
static enum pb_status set_up_arena(struct pb_cuda_walk *walk)
{
    struct pb_cuda_device *cuda = walk->cuda;
    const uint64_t page_bytes = 2u << 20; /* reserved by whole pages, an array is aligned to one */
    bool is_plain = walk->form == PB_KERNEL_FORM_POINTER && !walk->chase->cross;
    uint64_t bytes = walk->footprint_bytes;
    enum pb_status status;

    if (walk->path == PB_KERNEL_CONSTANT) {
        walk->chain.practice = PB_KERNEL_CONSTANT_BYTES - PB_KERNEL_SLOT_BYTES;
        bytes = PB_KERNEL_CONSTANT_BYTES;
    } else if (!is_plain) {
        walk->chain.practice = round_up(bytes, practice_distance) + practice_distance;
        bytes = walk->chain.practice + practice_distance;
    }
    if (walk->chase->alias_bytes > 0) {
        status = pb_cuda_alias_open(cuda, walk->chase->alias_bytes, bytes, walk->err);
        walk->chain.base = pb_cuda_mapping_address(cuda->alias);
        return status;
    }
    /* Smaller ones begin anywhere in a page, and a hashed cache's sets fill by where that is: from
     * one run to the next the same walk found 1628 to 1928 lines of an H200's L1. */
    if (bytes < page_bytes)
        bytes = page_bytes;
    status = pb_cuda_reserve(cuda, &cuda->arena, bytes, "the memory of a chase", walk->err);
    walk->chain.base = cuda->arena.address;
    return status;
}

static enum pb_status set_up_textures(struct pb_cuda_walk *walk)
{
    uint64_t bytes = walk->chain.practice + practice_distance;
    enum pb_status status = PB_OK;

    if (walk->path == PB_KERNEL_TEXTURE || walk->warm_path == PB_KERNEL_TEXTURE)
        status = pb_cuda_texture_create(walk->cuda, walk->chain.base, bytes, false,
                                        &walk->launch.texture, walk->err);
    if (status == PB_OK &&
        (walk->path == PB_KERNEL_TEXTURE_2D || walk->warm_path == PB_KERNEL_TEXTURE_2D))
        status = pb_cuda_texture_create(walk->cuda, walk->chain.base, bytes, true,
                                        &walk->launch.texture_2d, walk->err);
    return status;
}

/* Where the launch starts and practises, in the form of its path. */
static void set_up_positions(struct pb_cuda_walk *walk)
{
    walk->base_address = walk->path == PB_KERNEL_CONSTANT ? 0 : walk->chain.base;
    walk->launch.base = walk->chain.base;
    walk->launch.warm_path = walk->warm_path;
    walk->launch.own_warm = walk->chase->own_warm;
    walk->launch.start =
        pb_kernel_position(walk->form, walk->base_address, walk->chase->offset_bytes[0]);
    walk->launch.practice =
        walk->chain.practice == PB_KERNEL_NO_SLOT
            ? walk->launch.place.control
            : pb_kernel_position(walk->form, walk->base_address, walk->chain.practice);
}

enum pb_status pb_cuda_walk_open(struct pb_cuda_walk *walk, struct pb_cuda_device *cuda,
                                 const struct pb_chase *chase, enum pb_kernel_path path,
                                 enum pb_kernel_path warm_path, struct pb_error *err)
{
    enum pb_status status;

    *walk = (struct pb_cuda_walk){
        .cuda = cuda,
        .chase = chase,
        .err = err,
        .path = path,
        .warm_path = warm_path,
        .form = form_of(path),
        .chain = {.practice = PB_KERNEL_NO_SLOT, .form = form_of(path)},
    };
    status = footprint(chase, &walk->footprint_bytes, err);
    if (status == PB_OK)
        status = check_paths(walk);
    if (status == PB_OK)
        status = set_up_launch(walk);
    if (status != PB_OK || path == PB_KERNEL_SHARED)
        return status;
    status = set_up_arena(walk);
    if (status == PB_OK)
        status = set_up_textures(walk);
    if (status == PB_OK)
        status = link_slots(walk);
    set_up_positions(walk);
    return status;
}

void pb_cuda_walk_close(struct pb_cuda_walk *walk)
{
    pb_cuda_texture_destroy(walk->launch.texture);
    pb_cuda_texture_destroy(walk->launch.texture_2d);
    walk->launch.texture = walk->launch.texture_2d = 0;
}

enum pb_status pb_cuda_chase(struct pb_device *device, const struct pb_chase *chase,
                             struct pb_trace *trace, struct pb_error *err)
{
    struct pb_cuda_device *cuda = (struct pb_cuda_device *)device;
    struct pb_cuda_walk walk = {.cuda = cuda};
    enum pb_kernel_path path = PB_KERNEL_GLOBAL_CA, warm_path;
    struct pb_kernel_result result;
    enum pb_status status = pb_cuda_enter(cuda, err);

    if (status == PB_OK)
        status = kernel_path(chase->path, &path, err);
    warm_path = path;
    if (status == PB_OK && chase->cross)
        status = kernel_path(chase->warm_path, &warm_path, err);
    if (status == PB_OK)
        status = pb_cuda_walk_open(&walk, cuda, chase, path, warm_path, err);
    if (status == PB_OK)
        status = chase->record > 0 ? pb_cuda_walk_trace(&walk, trace, &result)
                                   : pb_cuda_walk_time(&walk, &result);
    pb_cuda_walk_close(&walk);
    if (status != PB_OK)
        return status;
    trace->count = chase->record;
    trace->window = walk.window;
    trace->total_cycles = chase->record > 0 ? 0 : result.end_cycles - result.start_cycles;
    trace->total_ns = chase->record > 0 ? 0.0 : (double)(result.end_ns - result.start_ns);
    trace->base_address = walk.base_address;
    trace->carveout_bytes = walk.carveout_bytes;
    trace->sm_id = result.sm_id;
    return PB_OK;
}
