/*
 * The CUDA backend: hardware behind the interface of device.h.
 *
 * One open device uses the primary context of its GPU and the default stream; memory is plain
 * device memory, never managed.
 */
#include <cuda_runtime_api.h>

#include <stdlib.h>
#include <string.h>

#include "core/time.h"
#include "device/cuda/device.h"
#include "device/cuda/linked_chase.h"

static void cuda_close(struct pb_device *device)
{
    struct pb_cuda_device *cuda = (struct pb_cuda_device *)device;

    if (cuda == NULL)
        return;
    pb_cuda_launch_close(cuda);
    pb_cuda_host_release(cuda);
    pb_cuda_texture_destroy(&cuda->textures[0]);
    pb_cuda_texture_destroy(&cuda->textures[1]);
    pb_cuda_mapping_close(cuda->alias);
    pb_cuda_peer_drop(cuda);
    pb_cuda_release(&cuda->links);
    pb_cuda_release(&cuda->arena);
    pb_cuda_release(&cuda->offsets);
    pb_cuda_release(&cuda->recording);
    pb_cuda_release(&cuda->scratch);
    pb_cuda_release(&cuda->control);
    pb_nvml_close(cuda->nvml);
    free(cuda);
}

/* Creates the context, so that later calls measure nothing of it. */
static enum pb_status start(struct pb_cuda_device *cuda, struct pb_error *err)
{
    struct pb_device_entry entry;
    enum pb_status status = pb_cuda_identify(cuda->ordinal, &entry, err);

    if (status != PB_OK)
        return status;
    memcpy(cuda->info.uuid, entry.uuid, sizeof(cuda->info.uuid));
    memcpy(cuda->info.pci_bus_id, entry.pci_bus_id, sizeof(cuda->info.pci_bus_id));
    memcpy(cuda->info.model, entry.model, sizeof(cuda->info.model));
    status = pb_cuda_enter(cuda, err);
    if (status == PB_OK)
        status = pb_cuda_status(cuda, cudaFree(NULL), "cudaFree", "creating the context", err);
    if (status != PB_OK)
        return status;
    cuda->nvml = pb_nvml_open(cuda->info.uuid, cuda->info.pci_bus_id);
    return pb_cuda_describe(cuda, err);
}

static enum pb_status cuda_open(const struct pb_device_request *request,
                                struct pb_device **device_out, struct pb_error *err)
{
    struct pb_cuda_device *cuda;
    int ordinal = 0;
    enum pb_status status = pb_cuda_select(request->selector, &ordinal, err);

    if (status != PB_OK)
        return status;
    cuda = calloc(1, sizeof(*cuda));
    if (cuda == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating a device");
    cuda->base.ops = &pb_device_cuda;
    cuda->ordinal = ordinal;
    status = start(cuda, err);
    if (status != PB_OK) {
        cuda_close(&cuda->base);
        return status;
    }
    *device_out = &cuda->base;
    return PB_OK;
}

static enum pb_status cuda_describe(struct pb_device *device, struct pb_device_info *info_out,
                                    struct pb_error *err)
{
    (void)err;
    *info_out = ((struct pb_cuda_device *)device)->info;
    return PB_OK;
}

static enum pb_status cuda_read_state(struct pb_device *device, struct pb_state *state_out,
                                      struct pb_error *err)
{
    struct pb_cuda_device *cuda = (struct pb_cuda_device *)device;
    struct pb_state state;

    pb_state_clear(&state);
    state.unix_seconds = pb_time_unix_seconds();
    if (!pb_nvml_read_state(cuda->nvml, &state))
        cuda->lost = true;
    if (cuda->lost)
        return pb_fail(err, PB_LOST, "GPU %d (%s) is lost", cuda->ordinal, cuda->info.uuid);
    *state_out = state;
    return PB_OK;
}

/* No fault is injected into hardware; a device that was lost stays lost. What one test needed of
 * memory is not kept from the next, unless that needs as much. */
static enum pb_status cuda_begin_test(struct pb_device *device, const char *test, bool is_large,
                                      struct pb_error *err)
{
    struct pb_cuda_device *cuda = (struct pb_cuda_device *)device;
    enum pb_status status = pb_cuda_enter(cuda, err);

    (void)test;
    if (status != PB_OK)
        return status;
    if (!is_large)
        pb_cuda_release_large(cuda);
    pb_cuda_host_release(cuda);
    pb_cuda_mapping_close(cuda->alias);
    cuda->alias = NULL;
    pb_cuda_peer_drop(cuda);
    return PB_OK;
}

const struct pb_device_ops pb_device_cuda = {
    .name = "cuda",
    .enumerate = pb_cuda_enumerate,
    .open = cuda_open,
    .close = cuda_close,
    .describe = cuda_describe,
    .read_state = cuda_read_state,
    .begin_test = cuda_begin_test,
    .stamp = pb_cuda_stamp,
    .clock = pb_cuda_clock,
    .chase = pb_cuda_chase,
    .chases = pb_cuda_chases,
    .conflicts = pb_cuda_conflicts,
    .stream = pb_cuda_stream,
    .burst = pb_cuda_burst,
    .map = pb_cuda_map,
    .study = pb_cuda_study,
    .shared_stream = pb_cuda_shared_stream,
    .link = pb_cuda_link,
    .pattern = pb_cuda_pattern,
    .cluster = pb_cuda_cluster,
    .pair = pb_cuda_pair,
    .loaded_chase = pb_cuda_loaded_chase,
    .work = pb_cuda_work,
    .compute = pb_cuda_compute,
    .cluster_shared = pb_cuda_cluster_shared,
};
