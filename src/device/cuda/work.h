/*
 * Work on all SMs, as the files of the CUDA backend share it.
 *
 * Only src/device/cuda/ may include this.
 */
#ifndef PB_DEVICE_CUDA_WORK_H
#define PB_DEVICE_CUDA_WORK_H

#include "device/cuda/device.h"
#include "kernels/parallel.h"

/* Dynamic shared memory that leaves no room for another CTA of these kernels on an SM. */
uint32_t pb_cuda_whole_sm_bytes(const struct pb_cuda_device *cuda);

/* Of a struct pb_kernel_meet for all SMs. */
uint64_t pb_cuda_meet_bytes(const struct pb_cuda_device *cuda);

/* Waits for the launch. PB_UNSUPPORTED: not every SM came. */
enum pb_status pb_cuda_meet_check(struct pb_cuda_device *cuda, uint64_t state, const char *what,
                                  uint32_t *mismatches_out, struct pb_error *err);

/* Zeroes state and stamps, fills in what all launches have in common, and launches. */
enum pb_status pb_cuda_work_launch(struct pb_cuda_device *cuda, struct pb_kernel_work *launch,
                                   uint32_t *mismatches_out, struct pb_error *err);

#endif
