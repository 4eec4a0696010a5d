/*
 * A chase under way on silicon: its memory, its links and its launches.
 *
 * Only src/device/cuda/ may include this. A walk is set up once and may then go several times,
 * from several SMs.
 */
#ifndef PB_DEVICE_CUDA_WALK_H
#define PB_DEVICE_CUDA_WALK_H

#include "device/cuda/device.h"

struct pb_cuda_walk {
    struct pb_cuda_device *cuda;
    const struct pb_chase *chase;
    struct pb_error *err;
    enum pb_kernel_path path;
    enum pb_kernel_path warm_path; /* the same, unless the chase is crossed */
    enum pb_kernel_form form;
    struct pb_kernel_chain chain; /* in the arena, or in an aliased block */
    struct pb_kernel_chase launch;
    uint64_t footprint_bytes; /* from offset 0 to the end of the last slot */
    uint64_t base_address;    /* of offset 0, as the path sees it */
    uint64_t window;          /* accesses recorded per launch */
    uint64_t carveout_bytes;
};

/* ---- chase.c ---- */

/*
 * Gets memory, links the slots and checks the links. chase->path and its warm_path are not looked
 * at: `path` and `warm_path` count. To be closed in any case, also after an error.
 */
enum pb_status pb_cuda_walk_open(struct pb_cuda_walk *walk, struct pb_cuda_device *cuda,
                                 const struct pb_chase *chase, enum pb_kernel_path path,
                                 enum pb_kernel_path warm_path, struct pb_error *err);
void pb_cuda_walk_close(struct pb_cuda_walk *walk);

/* ---- walk.c ---- */

/* From now on the walk goes on this SM; -1: on any. */
enum pb_status pb_cuda_walk_place(struct pb_cuda_walk *walk, int64_t sm);

/* Goes as often as the window asks for: fills the arrays of the trace. */
enum pb_status pb_cuda_walk_trace(struct pb_cuda_walk *walk, struct pb_trace *trace,
                                  struct pb_kernel_result *result_out);
enum pb_status pb_cuda_walk_time(struct pb_cuda_walk *walk, struct pb_kernel_result *result_out);

/* ---- texture.c ---- */

/*
 * Memory as texels of one slot each: a line of them, or rows of PB_TEXTURE_ROW_BYTES.
 * PB_UNSUPPORTED: more than the device takes. To be freed with pb_cuda_texture_destroy(); 0 may be.
 */
enum pb_status pb_cuda_texture_create(struct pb_cuda_device *cuda, uint64_t address, uint64_t bytes,
                                      bool is_2d, uint64_t *texture_out, struct pb_error *err);
void pb_cuda_texture_destroy(uint64_t texture);

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
