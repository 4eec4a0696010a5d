/* What all backends share: the list of backends and the names of paths. */
#include "device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/search_report.h"

/* The address of a backend that this build has, NULL in place of one that it lacks. */
#define BUILT_0(name)         NULL
#define BUILT_1(name)         &pb_device_##name
#define PASTE(prefix, built)  prefix##built
#define IF_BUILT(built, name) PASTE(BUILT_, built)(name)

static const struct backend {
    const char *name;
    const struct pb_device_ops *ops; /* NULL: this build lacks its toolkit */
    const char *toolkit;
} backends[] = {
#define PB_BACKEND(name, built, toolkit) {#name, IF_BUILT(built, name), toolkit},
#include "device/backends.h"
};

enum { BACKEND_COUNT = sizeof(backends) / sizeof(backends[0]) };

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

const struct pb_device_ops *pb_backend_at(size_t number)
{
    for (size_t i = 0; i < BACKEND_COUNT; i++)
        if (backends[i].ops != NULL && number-- == 0)
            return backends[i].ops;
    return NULL;
}

static bool lists_a_device(const struct pb_device_ops *ops, struct pb_error *err)
{
    struct pb_device_entry *entries = NULL;
    size_t count = 0;
    enum pb_status status = ops->enumerate(&entries, &count, err);

    free(entries);
    return status == PB_OK && count > 0;
}

/* Why no backend for real GPUs has one: what this build lacks, or what the last one says. */
static enum pb_status no_gpu(const struct pb_error *cause, struct pb_error *err)
{
    char reason[160] = "this build measures simulated GPUs only", searched[320];

    for (size_t i = 0; i < BACKEND_COUNT; i++) {
        const struct backend *backend = &backends[i];

        if (backend->ops == NULL)
            snprintf(reason, sizeof(reason), "plumb was built without %s", backend->toolkit);
        else if (!backend->ops->is_simulated && cause->message[0] != '\0')
            snprintf(reason, sizeof(reason), "%.120s", cause->message);
        else if (!backend->ops->is_simulated)
            snprintf(reason, sizeof(reason), "%s lists no device", backend->toolkit);
    }
    pb_gpu_search_report("", searched, sizeof(searched));
    return pb_fail(err, PB_NOT_FOUND,
                   "no GPU found: %s. Found here: %s. --backend sim simulates one", reason,
                   searched);
}

/* The first backend that has a GPU: simulation is only ever requested by name. */
static enum pb_status find_any_gpu(const struct pb_device_ops **ops_out, struct pb_error *err)
{
    struct pb_error cause = PB_ERROR_INIT;
    const struct pb_device_ops *ops;

    for (size_t i = 0; (ops = pb_backend_at(i)) != NULL; i++) {
        if (!ops->is_simulated && lists_a_device(ops, &cause)) {
            *ops_out = ops;
            return PB_OK;
        }
    }
    return no_gpu(&cause, err);
}

static enum pb_status unknown_backend(const char *name, struct pb_error *err)
{
    char names[128] = "auto";
    size_t used = strlen(names);

    for (size_t i = 0; i < BACKEND_COUNT && used < sizeof(names); i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
                                 i + 1 < BACKEND_COUNT ? ", " : " or ", backends[i].name);
    return pb_fail(err, PB_INVALID, "backend \"%s\": expected %s", name, names);
}

enum pb_status pb_backend_find(const char *name, const struct pb_device_ops **ops_out,
                               struct pb_error *err)
{
    if (strcmp(name, "auto") == 0)
        return find_any_gpu(ops_out, err);
    for (size_t i = 0; i < BACKEND_COUNT; i++) {
        if (strcmp(name, backends[i].name) != 0)
            continue;
        if (backends[i].ops == NULL)
            return pb_fail(err, PB_UNSUPPORTED, "backend %s: plumb was built without %s", name,
                           backends[i].toolkit);
        *ops_out = backends[i].ops;
        return PB_OK;
    }
    return unknown_backend(name, err);
}
