/* What all backends share: the list of backends and the names of paths. */
#include "device/device.h"

#include <stdlib.h>
#include <string.h>

#include "device/search_report.h"

static const struct pb_device_ops *const backends[] = {
#ifdef PB_HAVE_CUDA
    &pb_device_cuda,
#endif
    &pb_device_sim,
};

static const char *const path_names[PB_PATH_COUNT] = {
    [PB_PATH_GLOBAL_CA] = "global_ca",   [PB_PATH_GLOBAL_CG] = "global_cg",
    [PB_PATH_READONLY] = "readonly",     [PB_PATH_TEXTURE] = "texture",
    [PB_PATH_CONSTANT] = "constant",     [PB_PATH_SHARED] = "shared",
    [PB_PATH_TEXTURE_2D] = "texture_2d",
};

const char *pb_path_name(enum pb_path path)
{
    return path_names[path];
}

enum pb_path pb_path_parse(const char *name)
{
    for (int i = 0; i < PB_PATH_COUNT; i++)
        if (strcmp(name, path_names[i]) == 0)
            return (enum pb_path)i;
    return PB_PATH_COUNT;
}

static bool is_for_real_gpus(const struct pb_device_ops *ops)
{
    return ops != &pb_device_sim;
}

static bool lists_a_device(const struct pb_device_ops *ops, struct pb_error *err)
{
    struct pb_device_entry *entries = NULL;
    size_t count = 0;
    enum pb_status status = ops->enumerate(&entries, &count, err);

    free(entries);
    return status == PB_OK && count > 0;
}

/* The first backend that has a GPU: simulation is only ever requested by name. */
static enum pb_status find_any_gpu(const struct pb_device_ops **ops_out, struct pb_error *err)
{
    struct pb_error cause = PB_ERROR_INIT;
    char searched[320];
    bool is_built = false;

    for (size_t i = 0; i < sizeof(backends) / sizeof(backends[0]); i++) {
        if (!is_for_real_gpus(backends[i]))
            continue;
        is_built = true;
        if (lists_a_device(backends[i], &cause)) {
            *ops_out = backends[i];
            return PB_OK;
        }
    }
    pb_gpu_search_report("", searched, sizeof(searched));
    return pb_fail(err, PB_NOT_FOUND, "no GPU found: %.120s; %s; --backend sim simulates one",
                   !is_built                  ? "this build has no CUDA"
                   : cause.message[0] == '\0' ? "CUDA lists no device"
                                              : cause.message,
                   searched);
}

enum pb_status pb_backend_find(const char *name, const struct pb_device_ops **ops_out,
                               struct pb_error *err)
{
    if (strcmp(name, "auto") == 0)
        return find_any_gpu(ops_out, err);
    for (size_t i = 0; i < sizeof(backends) / sizeof(backends[0]); i++) {
        if (strcmp(name, backends[i]->name) == 0) {
            *ops_out = backends[i];
            return PB_OK;
        }
    }
    if (strcmp(name, "cuda") == 0)
        return pb_fail(err, PB_UNSUPPORTED, "backend cuda: this build has no CUDA in it");
    return pb_fail(err, PB_INVALID, "backend \"%s\": expected auto, cuda or sim", name);
}
