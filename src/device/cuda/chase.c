/*
 * The pointer chase on hardware: what is requested, its memory and its links (M16 4.2).
 *
 * Everything that comes back is checked: the links before the chase, every recorded pointer, and
 * where the chase ended. A word that is not what was written there is an error of the device.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/linked_chase.h"

/* What the slots for practice keep from the chain, so that no line holds both. */
static const uint64_t practice_distance = 4096;

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
static enum pb_status check_paths(const struct pb_linked_chase *linked, struct pb_error *err)
{
    uint64_t available = PB_KERNEL_CONSTANT_BYTES - PB_KERNEL_SLOT_BYTES;

    if (linked->chase->cross &&
        (linked->path == PB_KERNEL_SHARED || linked->path == PB_KERNEL_CONSTANT ||
         linked->warm_path == PB_KERNEL_SHARED || linked->warm_path == PB_KERNEL_CONSTANT))
        return pb_fail(err, PB_INVALID,
                       "chase: shared and constant memory are arrays of their own: no other path "
                       "can warm them, nor be warmed by them");
    if (linked->chase->alias_bytes > 0 && (linked->chase->cross || !is_pointer(linked->path)))
        return pb_fail(err, PB_UNSUPPORTED,
                       "chase: aliased memory is there for plain global loads only");
    if (linked->chase->peer != NULL &&
        (linked->chase->cross || linked->chase->alias_bytes > 0 ||
         (linked->path != PB_KERNEL_GLOBAL_CA && linked->path != PB_KERNEL_GLOBAL_CG)))
        return pb_fail(err, PB_INVALID,
                       "chase: a peer's memory is there for plain global loads only");
    if (linked->path == PB_KERNEL_CONSTANT &&
        linked->footprint_bytes + linked->chain.shift > available)
        return pb_fail(err, PB_UNSUPPORTED,
                       "chase: %" PRIu64 " bytes of constant memory: there are %" PRIu64
                       " beside the slot for practice",
                       linked->footprint_bytes, available);
    return PB_OK;
}

static enum pb_status check_sm(const struct pb_cuda_device *cuda, int64_t sm, struct pb_error *err)
{
    if (sm < -1 || sm >= (int64_t)cuda->info.sm_count || sm >= PB_KERNEL_SMS)
        return pb_fail(err, PB_INVALID, "GPU %d: SM %lld: expected -1 to %lld", cuda->ordinal,
                       (long long)sm, (long long)cuda->info.sm_count - 1);
    return PB_OK;
}

static uint64_t order_bytes(const struct pb_chase *chase)
{
    return chase->offset_count * sizeof(*chase->offset_bytes);
}

/* Behind what other chases have there already. */
static enum pb_status send_offsets(struct pb_linked_chase *linked, uint64_t behind_bytes,
                                   struct pb_error *err)
{
    struct pb_cuda_device *cuda = linked->cuda;
    uint64_t bytes = order_bytes(linked->chase);
    enum pb_status status =
        pb_cuda_reserve(cuda, &cuda->offsets, behind_bytes + bytes, "the order of a chase", err);

    if (status != PB_OK)
        return status;
    linked->chain.offsets = cuda->offsets.address + behind_bytes;
    linked->chain.count = linked->chase->offset_count;
    return pb_cuda_send(cuda, linked->chain.offsets, linked->chase->offset_bytes, bytes,
                        "sending the order of a chase", err);
}

/* What is found bad shows when the first launch comes back: until then no chase runs. */
static enum pb_status link_slots(struct pb_linked_chase *linked, struct pb_error *err)
{
    struct pb_cuda_device *cuda = linked->cuda;
    enum pb_status status = pb_cuda_status(cuda, pb_kernel_link(&linked->chain), "pb_kernel_link",
                                           "linking a chase", err);

    if (status == PB_OK)
        status = pb_cuda_status(cuda, pb_kernel_link_check(&linked->chain), "pb_kernel_link_check",
                                "checking the links of a chase", err);
    return status;
}

/* How many accesses one launch records, and where: see trace_window in identity.h. */
static enum pb_status choose_window(struct pb_linked_chase *linked, struct pb_error *err)
{
    const struct pb_device_info *info = &linked->cuda->info;
    bool is_shared = linked->path == PB_KERNEL_SHARED;
    bool skips_l1 = linked->path == PB_KERNEL_GLOBAL_CG || linked->path == PB_KERNEL_ATOMIC ||
                    linked->path == PB_KERNEL_CONSTANT;
    uint64_t available_bytes = linked->cuda->shared_optin_bytes;
    uint64_t window = is_shared || skips_l1 ? info->trace_window_large : info->trace_window;
    uint64_t chain_bytes = is_shared ? pb_cuda_round_up(linked->footprint_bytes, 16) : 0;
    uint64_t least = linked->chase->record == 0 ? 0 : PB_KERNEL_PRACTICE * PB_KERNEL_RECORD_BYTES;
    uint64_t most;

    if (chain_bytes + least > available_bytes)
        return pb_fail(err, PB_UNSUPPORTED,
                       "chase: %" PRIu64
                       " bytes of shared memory and a recording: a CTA has %" PRIu64,
                       linked->footprint_bytes, available_bytes);
    most = (available_bytes - chain_bytes) / PB_KERNEL_RECORD_BYTES / 4 * 4;
    window = window > most ? most : window;
    linked->window = window > linked->chase->record ? linked->chase->record : window;
    linked->chain_bytes = chain_bytes;
    return PB_OK;
}

/*
 * Shared memory that a launch takes for its recording. A timed chase records nothing but takes as
 * much as a traced one: to a kernel without shared memory the driver leaves a smaller L1 than to
 * one with a little (seen on an H200: 216 KiB instead of 240, whatever the hint below 32 KiB).
 */
static uint64_t recording_bytes(const struct pb_linked_chase *linked)
{
    uint64_t window = linked->window;

    if (linked->chase->record == 0 && linked->path != PB_KERNEL_SHARED)
        window = linked->cuda->info.trace_window;
    return window == 0 ? 0 : PB_KERNEL_CAPACITY(window) * PB_KERNEL_RECORD_BYTES;
}

static enum pb_status set_up_launch(struct pb_linked_chase *linked, struct pb_error *err)
{
    struct pb_cuda_device *cuda = linked->cuda;
    enum pb_status status = choose_window(linked, err);

    if (status == PB_OK)
        status = check_sm(cuda, linked->chase->sm, err);
    if (status == PB_OK)
        status = pb_cuda_place(cuda, linked->chase->carveout_bytes,
                               linked->chain_bytes + recording_bytes(linked), &linked->place,
                               &linked->carveout_bytes, err);
    if (status == PB_OK && linked->chase->flush && linked->chase->peer == NULL)
        status = pb_cuda_reserve(cuda, &cuda->scratch, 2 * cuda->info.l2_bytes, "flushing L2", err);
    return status;
}

/* The array and what flushes the peer's L2, which is taken to be as large as this device's. */
static enum pb_status set_up_peer(struct pb_linked_chase *linked, uint64_t bytes,
                                  struct pb_error *err)
{
    const uint64_t page_bytes = 2u << 20;
    uint64_t array_bytes = pb_cuda_round_up(bytes, page_bytes);
    enum pb_status status =
        pb_cuda_peer_keep(linked->cuda, linked->chase->peer,
                          array_bytes + 2 * linked->cuda->info.l2_bytes, &linked->chain.base, err);

    linked->peer_flush_address = linked->chain.base + array_bytes;
    return status;
}

/* The arena, with a slot for practice behind the chain where the control block's will not do. */
static enum pb_status set_up_arena(struct pb_linked_chase *linked, struct pb_error *err)
{
    struct pb_cuda_device *cuda = linked->cuda;
    const uint64_t page_bytes = 2u << 20; /* reserved by whole pages, an array is aligned to one */
    bool is_plain = linked->form == PB_KERNEL_FORM_POINTER && !linked->chase->cross;
    uint64_t bytes = linked->footprint_bytes;
    enum pb_status status;

    if (linked->path == PB_KERNEL_CONSTANT) {
        /* the same for all chains: the last word that a program may declare */
        linked->chain.practice =
            PB_KERNEL_CONSTANT_BYTES - PB_KERNEL_SLOT_BYTES - linked->chain.shift;
        bytes = PB_KERNEL_CONSTANT_BYTES;
    } else if (!is_plain) {
        linked->chain.practice = pb_cuda_round_up(bytes, practice_distance) + practice_distance;
        bytes = linked->chain.practice + practice_distance;
    }
    if (linked->chase->alias_bytes > 0) {
        status = pb_cuda_alias_open(cuda, linked->chase->alias_bytes, bytes, err);
        linked->chain.base = pb_cuda_mapping_address(cuda->alias);
        return status;
    }
    if (linked->chase->peer != NULL)
        return set_up_peer(linked, bytes, err);
    /* Smaller ones begin anywhere in a page, and a hashed cache's sets fill by where that is: from
     * one run to the next the same chase found 1628 to 1928 lines of an H200's L1. */
    if (bytes < page_bytes)
        bytes = page_bytes;
    status = pb_cuda_reserve(cuda, &cuda->arena, bytes, "the memory of a chase", err);
    linked->chain.base = cuda->arena.address;
    return status;
}

static enum pb_status set_up_textures(struct pb_linked_chase *linked, struct pb_error *err)
{
    uint64_t bytes = linked->chain.practice + practice_distance;
    uint64_t object;
    enum pb_status status = PB_OK;

    if (linked->path == PB_KERNEL_TEXTURE || linked->warm_path == PB_KERNEL_TEXTURE)
        status = pb_cuda_texture_get(linked->cuda, linked->chain.base, bytes, false, &object, err);
    if (status == PB_OK &&
        (linked->path == PB_KERNEL_TEXTURE_2D || linked->warm_path == PB_KERNEL_TEXTURE_2D))
        status = pb_cuda_texture_get(linked->cuda, linked->chain.base, bytes, true, &object, err);
    return status;
}

/*
 * What this process has yet to learn of the links of the chases to come is cleared: after it, bad
 * ones are added by the checks.
 */
static enum pb_status clear_links(struct pb_cuda_device *cuda, struct pb_error *err)
{
    struct pb_kernel_fault none = {0, 0, 0, 0};
    enum pb_status status = pb_cuda_reserve(cuda, &cuda->links, sizeof(none), "a check", err);

    if (status == PB_OK)
        status =
            pb_cuda_send(cuda, cuda->links.address, &none, sizeof(none), "preparing a check", err);
    return status;
}

enum pb_status pb_linked_chase_open(struct pb_linked_chase *linked, struct pb_cuda_device *cuda,
                                    const struct pb_chase *chase, enum pb_kernel_path path,
                                    enum pb_kernel_path warm_path,
                                    const struct pb_cuda_beside *beside, struct pb_error *err)
{
    enum pb_status status;

    *linked = (struct pb_linked_chase){
        .cuda = cuda,
        .chase = chase,
        .path = path,
        .warm_path = warm_path,
        .form = form_of(path),
        .chain = {.practice = PB_KERNEL_NO_SLOT,
                  .shift = beside->shift_bytes,
                  .form = form_of(path)},
    };
    status = footprint(chase, &linked->footprint_bytes, err);
    if (status == PB_OK)
        status = check_paths(linked, err);
    if (status == PB_OK)
        status = set_up_launch(linked, err);
    if (status == PB_OK)
        status = send_offsets(linked, beside->order_bytes, err);
    if (status == PB_OK && beside->shift_bytes == 0)
        status = clear_links(cuda, err);
    if (status != PB_OK || path == PB_KERNEL_SHARED)
        return status;
    status = set_up_arena(linked, err);
    linked->chain.fault = cuda->links.address;
    linked->base_address = linked->path == PB_KERNEL_CONSTANT ? 0 : linked->chain.base;
    if (status == PB_OK)
        status = set_up_textures(linked, err);
    if (status == PB_OK)
        status = link_slots(linked, err);
    return status;
}

/* The device's paths of a chase. */
static enum pb_status find_paths(const struct pb_chase *chase, enum pb_kernel_path *path_out,
                                 enum pb_kernel_path *warm_path_out, struct pb_error *err)
{
    enum pb_status status = kernel_path(chase->path, path_out, err);

    *warm_path_out = *path_out;
    if (status == PB_OK && chase->cross)
        status = kernel_path(chase->warm_path, warm_path_out, err);
    return status;
}

/* May both be outstanding at the same time, in one launch? */
static bool go_together(const struct pb_chase *a, const struct pb_chase *b)
{
    return a->is_confined && b->is_confined && !a->cross && !b->cross && a->path == b->path &&
           (a->record > 0) == (b->record > 0) && a->timed == b->timed &&
           a->carveout_bytes == b->carveout_bytes && a->prefill == b->prefill &&
           a->slack_bytes == b->slack_bytes && (a->sm < 0) == (b->sm < 0);
}

static bool have_one_chain(const struct pb_chase *a, const struct pb_chase *b)
{
    return a->offset_bytes == b->offset_bytes && a->offset_count == b->offset_count;
}

/*
 * How many of the chases share a launch or several, from the first on. Each has a chain of its own,
 * in words of its own, but those that follow the one before in the same slots share its chain.
 */
static size_t group_size(const struct pb_chase *chases, size_t count)
{
    uint64_t words = chases->slack_bytes / PB_KERNEL_SLOT_BYTES, chains = 1;
    size_t size = 1;

    for (; size < count && go_together(&chases[0], &chases[size]); size++) {
        chains += !have_one_chain(&chases[size - 1], &chases[size]);
        if (chains > words && chains > 1)
            break;
    }
    return size;
}

/* Legs that wait for their launch. */
struct legs {
    struct pb_cuda_device *cuda;
    struct pb_cuda_leg legs[PB_KERNEL_JOBS];
    size_t count, most;
    bool set_up; /* the caches, before each launch */
};

static enum pb_status launch_legs(struct legs *legs, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    if (legs->count > 0)
        status = pb_cuda_launch(legs->cuda, legs->legs, legs->count, legs->set_up, err);
    legs->count = 0;
    return status;
}

/* On given SMs one of two neighbours at a time: they share the way to constant memory. */
static bool has_capacity(const struct legs *legs, int64_t sm)
{
    if (legs->count >= legs->most)
        return false;
    for (size_t i = 0; sm >= 0 && i < legs->count; i++)
        if (legs->legs[i].sm == sm || legs->legs[i].sm % 2 != sm % 2)
            return false;
    return true;
}

/* Number `number` of a chase's legs, if it has so many. */
static enum pb_status add_leg(struct legs *legs, struct pb_linked_chase *linked,
                              struct pb_chase_trace *trace, uint64_t number, bool *is_there_out,
                              struct pb_error *err)
{
    const struct pb_chase *chase = linked->chase;
    uint64_t first = number * linked->window, rest = chase->record - first;
    enum pb_status status = PB_OK;

    *is_there_out = number == 0 || first < chase->record;
    if (!*is_there_out)
        return PB_OK;
    if (!has_capacity(legs, chase->sm))
        status = launch_legs(legs, err);
    legs->legs[legs->count++] = (struct pb_cuda_leg){
        linked, trace, first, chase->record == 0 || rest < linked->window ? rest : linked->window,
        chase->sm};
    return status;
}

/* The first legs of all chases, then the second ones…: those of one SM come one after the other. */
static enum pb_status add_legs(struct legs *legs, struct pb_linked_chase *group, size_t count,
                               struct pb_chase_trace *traces, struct pb_error *err)
{
    enum pb_status status = PB_OK;
    bool is_more = true;

    for (uint64_t number = 0; status == PB_OK && is_more; number++) {
        is_more = false;
        for (size_t i = 0; status == PB_OK && i < count; i++) {
            bool is_there = false;

            status = add_leg(legs, &group[i], &traces[i], number, &is_there, err);
            is_more = is_more || is_there;
        }
    }
    return status == PB_OK ? launch_legs(legs, err) : status;
}

/* Room for all of a group: memory that grew later would move the first ones' slots. */
static enum pb_status reserve_group(struct pb_cuda_device *cuda, const struct pb_chase *chases,
                                    size_t count, struct pb_error *err)
{
    uint64_t most = 0, orders = 0;
    enum pb_status status = PB_OK;

    for (size_t i = 0; status == PB_OK && i < count; i++) {
        uint64_t bytes = 0;

        status = footprint(&chases[i], &bytes, err);
        most = bytes > most ? bytes : most;
        orders += order_bytes(&chases[i]);
    }
    if (status == PB_OK)
        status = pb_cuda_reserve(cuda, &cuda->arena, most + 4 * practice_distance,
                                 "the memory of a chase", err);
    if (status == PB_OK)
        status = pb_cuda_reserve(cuda, &cuda->offsets, orders, "the order of a chase", err);
    return status;
}

/* Opens the chases of a group: one chain each, or that of the chase before. */
static enum pb_status open_group(struct pb_cuda_device *cuda, const struct pb_chase *chases,
                                 size_t count, struct pb_linked_chase *group, struct pb_error *err)
{
    enum pb_kernel_path path = PB_KERNEL_GLOBAL_CA, warm_path = path;
    struct pb_cuda_beside beside = {0, 0};
    enum pb_status status = find_paths(chases, &path, &warm_path, err);

    if (status == PB_OK && count > 1)
        status = reserve_group(cuda, chases, count, err);
    for (size_t i = 0; status == PB_OK && i < count; i++) {
        if (i > 0 && have_one_chain(&chases[i - 1], &chases[i])) {
            group[i] = group[i - 1];
            group[i].chase = &chases[i];
            continue;
        }
        status = pb_linked_chase_open(&group[i], cuda, &chases[i], path, warm_path, &beside, err);
        beside.shift_bytes += PB_KERNEL_SLOT_BYTES;
        beside.order_bytes += order_bytes(&chases[i]);
    }
    return status;
}

/* Launches all legs of a group. The caches of confined ones are set up once for all, but those of
 * constants before each launch: it does not empty them. */
static enum pb_status launch_group(struct pb_cuda_device *cuda, const struct pb_chase *chases,
                                   size_t count, struct pb_linked_chase *group,
                                   struct pb_chase_trace *traces, struct pb_error *err)
{
    bool once = chases->is_confined && chases->path != PB_PATH_CONSTANT;
    struct legs legs = {.cuda = cuda, .most = 1, .set_up = !once};
    enum pb_status status = open_group(cuda, chases, count, group, err);

    if (status == PB_OK && chases->is_confined &&
        pb_cuda_launch_may_spread(cuda, group[0].place.shared_bytes))
        legs.most = pb_cuda_launch_most(cuda, group[0].path);
    for (size_t i = 0; status == PB_OK && once && i < count; i++)
        if (i == 0 || !have_one_chain(&chases[i - 1], &chases[i]))
            status = pb_linked_chase_set_up(&group[i], err);
    return status == PB_OK ? add_legs(&legs, group, count, traces, err) : status;
}

enum pb_status pb_cuda_chases(struct pb_device *device, const struct pb_chase *chases, size_t count,
                              struct pb_chase_trace *traces, struct pb_error *err)
{
    struct pb_cuda_device *cuda = (struct pb_cuda_device *)device;
    struct pb_linked_chase *group = malloc(count * sizeof(*group));
    enum pb_status status = pb_cuda_enter(cuda, err);

    if (status == PB_OK && group == NULL)
        status = pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu chases", count);
    for (size_t first = 0, size; status == PB_OK && first < count; first += size) {
        size = group_size(chases + first, count - first);
        status = launch_group(cuda, chases + first, size, group + first, traces + first, err);
    }
    if (status == PB_OK)
        status = pb_cuda_launch_finish(cuda, err);
    else
        pb_cuda_launch_drop(cuda);
    free(group);
    return status;
}

enum pb_status pb_cuda_chase(struct pb_device *device, const struct pb_chase *chase,
                             struct pb_chase_trace *trace, struct pb_error *err)
{
    return pb_cuda_chases(device, chase, 1, trace, err);
}
