/*
 * A chase in progress on hardware: its memory, its links and its launches.
 *
 * Only src/device/cuda/ may include this. A chase is set up once and may then go several times,
 * from several SMs.
 */
#ifndef PB_DEVICE_CUDA_LINKED_CHASE_H
#define PB_DEVICE_CUDA_LINKED_CHASE_H

#include "device/cuda/device.h"

struct pb_linked_chase {
    struct pb_cuda_device *cuda;
    const struct pb_chase *chase;
    enum pb_kernel_path path;
    enum pb_kernel_path warm_path; /* the same, unless the chase is crossed */
    enum pb_kernel_form form;
    struct pb_kernel_chain chain; /* in the arena, or in an aliased block */
    uint64_t footprint_bytes;     /* from offset 0 to the end of the last slot */
    uint64_t base_address;        /* of offset 0, as the path sees it */
    uint64_t window;              /* accesses recorded per launch */
    uint64_t chain_bytes;         /* shared memory: of the chain */
    uint64_t carveout_bytes;
    struct pb_kernel_place place; /* how its CTAs are launched */
    uint64_t peer_flush_address;  /* of a chase in a peer's memory: what flushes the peer's L2 */
};

/* A part of a chase, for one CTA: from the start to the last access that is kept. */
struct pb_cuda_leg {
    struct pb_linked_chase *linked;
    struct pb_chase_trace *trace; /* gets the accesses from `first` on, or the time */
    uint64_t first;               /* recorded by the legs before */
    uint64_t count;               /* of accesses that are kept; 0: timed */
    int64_t sm;                   /* -1: any */
};

/* ---- chase.c ---- */

/* Where a chase lies beside others: its slots so much further on, its order behind theirs. */
struct pb_cuda_beside {
    uint64_t shift_bytes, order_bytes;
};

/*
 * Gets memory, links the slots and has the links checked. chase->path and its warm_path are not
 * looked at: `path` and `warm_path` count. The first of several has a shift of 0.
 */
enum pb_status pb_linked_chase_open(struct pb_linked_chase *linked, struct pb_cuda_device *cuda,
                                    const struct pb_chase *chase, enum pb_kernel_path path,
                                    enum pb_kernel_path warm_path,
                                    const struct pb_cuda_beside *beside, struct pb_error *err);

/* ---- linked_chase.c: what a chase is before and after its launches ---- */

/* Fills constant memory, flushes and warms L2, as the chase requests. */
enum pb_status pb_linked_chase_set_up(struct pb_linked_chase *linked, struct pb_error *err);

/* Says which word of memory is not as one of these chases linked it. */
enum pb_status pb_linked_chase_report_error(const struct pb_cuda_leg *legs, size_t count,
                                            const struct pb_kernel_fault *fault,
                                            struct pb_error *err);

/* Checks and files what a leg left; words: its recording, of so many accesses, or NULL. */
enum pb_status pb_linked_chase_read(const struct pb_cuda_leg *leg,
                                    const struct pb_kernel_result *result, const uint32_t *words,
                                    uint32_t record, struct pb_error *err);

/* ---- launch.c ---- */

/* Of so many SMs in a row one may work at a time: neighbours share the way to constant memory. */
uint32_t pb_cuda_sm_step(enum pb_kernel_path path);

/* How many CTAs may work at a time, so that others are left to make them spread. */
size_t pb_cuda_launch_most(const struct pb_cuda_device *cuda, enum pb_kernel_path path);

/*
 * Whether CTAs of so much shared memory may work on several SMs at once. Where one takes more than
 * half of an SM's, those that make the others spread wait for each other's SMs, and those at work
 * found less of L1 than one alone: 17 KiB instead of 21 on an H200 beside the largest carve-out.
 */
bool pb_cuda_launch_may_spread(const struct pb_cuda_device *cuda, uint64_t shared_bytes);

/*
 * Says which SMs take the jobs of a launch: anywhere, if one CTA is enough; else as many as there
 * are jobs, every step-th of them at most, or, where sms[0] is not negative, these.
 */
void pb_cuda_claim(const struct pb_cuda_device *cuda, const int64_t *sms, size_t count,
                   uint32_t step, struct pb_kernel_place *place, struct pb_kernel_control *control);

/*
 * Launches legs[count] at once; they have path, carve-out and kind in common. What they leave is
 * read behind, at the latest by pb_cuda_launch_finish(): until then all must stay. set_up: the
 * caches, first, as the one chase that goes requests.
 */
enum pb_status pb_cuda_launch(struct pb_cuda_device *cuda, const struct pb_cuda_leg *legs,
                              size_t count, bool set_up, struct pb_error *err);

/* Reads what is outstanding, in order. After an error, this one's or an earlier one, nothing is. */
enum pb_status pb_cuda_launch_finish(struct pb_cuda_device *cuda, struct pb_error *err);
void pb_cuda_launch_drop(struct pb_cuda_device *cuda);

/* Gives the memory of launches back. */
void pb_cuda_launch_close(struct pb_cuda_device *cuda);

/* ---- texture.c ---- */

/*
 * Memory as texels of one slot each: a line of them, or rows of PB_TEXTURE_ROW_BYTES. What was made
 * before is taken again where it will do. PB_UNSUPPORTED: more than the device takes.
 */
enum pb_status pb_cuda_texture_get(struct pb_cuda_device *cuda, uint64_t address, uint64_t bytes,
                                   bool is_2d, uint64_t *object_out, struct pb_error *err);
void pb_cuda_texture_destroy(struct pb_cuda_texture *texture);

/* ---- alias.c ---- */

/* True where the driver can map one block over and over. */
bool pb_cuda_alias_is_there(const struct pb_cuda_device *cuda);

/*
 * Makes cuda->alias one physical block, mapped side by side until span_bytes are covered at least
 * (facts 2.11). One that is large enough stays: a mapping takes 36 microseconds and its end 23, and
 * four times that where the node's other GPUs do the same (H200, driver 580).
 * PB_UNSUPPORTED: the driver or the device cannot; PB_INVALID: not whole pages.
 */
enum pb_status pb_cuda_alias_open(struct pb_cuda_device *cuda, uint64_t block_bytes,
                                  uint64_t span_bytes, struct pb_error *err);

#endif
