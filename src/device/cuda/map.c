/*
 * The map of SMs and lines: the same chain of lines loaded from one SM after the other, so that
 * none disturbs another. Loads go past L1; an atomic returns the pointer that it adds nothing to,
 * and so makes a chain as well.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "device/cuda/linked_chase.h"

static enum pb_status check_request(const struct pb_cuda_device *cuda, const struct pb_map *map,
                                    struct pb_error *err)
{
    if (map->touch != PB_TOUCH_LOAD && map->touch != PB_TOUCH_ATOMIC)
        return pb_fail(err, PB_INVALID, "map: unknown touch %d", (int)map->touch);
    for (size_t i = 0; map->sms != NULL && i < map->sm_count; i++)
        if (map->sms[i] >= cuda->info.sm_count)
            return pb_fail(err, PB_INVALID, "map: SM %" PRIu32 ": expected 0 to %" PRIu32,
                           map->sms[i], cuda->info.sm_count - 1);
    return PB_OK;
}

static enum pb_status chase_all(struct pb_linked_chase *linked, const struct pb_map *map,
                                struct pb_chase_trace *traces, uint32_t *latency_cycles_out,
                                uint64_t *indices, struct pb_error *err)
{
    bool is_all = map->sms == NULL || map->sm_count == 0;
    size_t sm_count = is_all ? linked->cuda->info.sm_count : map->sm_count;
    enum pb_status status = PB_OK;

    for (size_t i = 0; status == PB_OK && i < sm_count; i++) {
        int64_t sm = is_all ? (int64_t)i : (int64_t)map->sms[i];

        traces[i] = (struct pb_chase_trace){
            .latency_cycles = latency_cycles_out + i * map->offset_count, .index_bytes = indices};
        for (uint64_t first = 0; status == PB_OK && first < map->offset_count;
             first += linked->window) {
            uint64_t rest = map->offset_count - first;
            const struct pb_cuda_leg leg = {linked, &traces[i], first,
                                            rest < linked->window ? rest : linked->window, sm};

            status = pb_cuda_launch(linked->cuda, &leg, 1, true, err);
        }
    }
    return status == PB_OK ? pb_cuda_launch_finish(linked->cuda, err) : status;
}

enum pb_status pb_cuda_map(struct pb_device *device, const struct pb_map *map,
                           uint32_t *latency_cycles_out, struct pb_error *err)
{
    struct pb_cuda_device *cuda = (struct pb_cuda_device *)device;
    enum pb_kernel_path path =
        map->touch == PB_TOUCH_ATOMIC ? PB_KERNEL_ATOMIC : PB_KERNEL_GLOBAL_CG;
    struct pb_chase chase = {.path = PB_PATH_GLOBAL_CG,
                             .offset_bytes = map->offset_bytes,
                             .offset_count = map->offset_count,
                             .warm = (uint64_t)map->warm * map->offset_count,
                             .record = map->offset_count,
                             .carveout_bytes = -1,
                             .sm = -1};
    uint64_t *indices = malloc((map->offset_count + 1) * sizeof(*indices));
    struct pb_chase_trace *traces = malloc((map->sm_count + cuda->info.sm_count) * sizeof(*traces));
    const struct pb_cuda_beside beside = {0, 0};
    struct pb_linked_chase linked = {.cuda = cuda};
    enum pb_status status = pb_cuda_enter(cuda, err);

    if (status == PB_OK && (indices == NULL || traces == NULL))
        status = pb_fail(err, PB_NO_MEMORY, "out of memory allocating a map of %zu lines",
                         map->offset_count);
    if (status == PB_OK)
        status = check_request(cuda, map, err);
    if (status == PB_OK)
        status = pb_linked_chase_open(&linked, cuda, &chase, path, path, &beside, err);
    if (status == PB_OK)
        status = chase_all(&linked, map, traces, latency_cycles_out, indices, err);
    if (status != PB_OK)
        pb_cuda_launch_drop(cuda);
    free(traces);
    free(indices);
    return status;
}
