/* Loading NVML, finding a GPU in it, and what it says of the GPU's identity; see nvml.h. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/record.h"
#include "device/nvml/nvml_calls.h"

/* Where each symbol's address goes. */
static const struct {
    size_t offset;
    const char *name;
} symbols[] = {
    {offsetof(struct pb_nvml_calls, init), "nvmlInit_v2"},
    {offsetof(struct pb_nvml_calls, shutdown), "nvmlShutdown"},
    {offsetof(struct pb_nvml_calls, by_uuid), "nvmlDeviceGetHandleByUUID"},
    {offsetof(struct pb_nvml_calls, by_bus_id), "nvmlDeviceGetHandleByPciBusId_v2"},
    {offsetof(struct pb_nvml_calls, uuid), "nvmlDeviceGetUUID"},
    {offsetof(struct pb_nvml_calls, is_instance), "nvmlDeviceIsMigDeviceHandle"},
    {offsetof(struct pb_nvml_calls, parent), "nvmlDeviceGetDeviceHandleFromMigDeviceHandle"},
    {offsetof(struct pb_nvml_calls, gpu_instance_id), "nvmlDeviceGetGpuInstanceId"},
    {offsetof(struct pb_nvml_calls, compute_instance_id), "nvmlDeviceGetComputeInstanceId"},
    {offsetof(struct pb_nvml_calls, index), "nvmlDeviceGetIndex"},
    {offsetof(struct pb_nvml_calls, driver_version), "nvmlSystemGetDriverVersion"},
    {offsetof(struct pb_nvml_calls, vbios), "nvmlDeviceGetVbiosVersion"},
    {offsetof(struct pb_nvml_calls, serial), "nvmlDeviceGetSerial"},
    {offsetof(struct pb_nvml_calls, board_part), "nvmlDeviceGetBoardPartNumber"},
    {offsetof(struct pb_nvml_calls, ecc_mode), "nvmlDeviceGetEccMode"},
    {offsetof(struct pb_nvml_calls, mig_mode), "nvmlDeviceGetMigMode"},
    {offsetof(struct pb_nvml_calls, power_limit), "nvmlDeviceGetEnforcedPowerLimit"},
    {offsetof(struct pb_nvml_calls, power_limit_default),
     "nvmlDeviceGetPowerManagementDefaultLimit"},
};

static void load_symbols(void *library, struct pb_nvml_calls *calls)
{
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void *address = pb_nvml_symbol(library, symbols[i].name, NULL);

        memcpy((char *)calls + symbols[i].offset, &address, sizeof(address));
    }
}

/*
 * A MIG instance answers for little more than its memory and processes: clocks, power, errors and
 * links are those of the GPU it lies on. Where that cannot be had, they stay unknown.
 */
static void split_instance(struct pb_nvml *nvml, const char *pci_bus_id)
{
    struct pb_nvml_calls *call = &nvml->call;
    unsigned is_instance = 0;
    void *parent = NULL;

    if (call->is_instance == NULL ||
        call->is_instance(nvml->device, &is_instance) != NVML_SUCCESS || is_instance == 0)
        return;
    nvml->is_part = true;
    nvml->instance = nvml->device;
    if ((call->parent != NULL && call->parent(nvml->instance, &parent) == NVML_SUCCESS) ||
        (call->by_bus_id != NULL && call->by_bus_id(pci_bus_id, &parent) == NVML_SUCCESS))
        nvml->device = parent;
}

/* The GPU at this place, if it is the one that is meant; an instance of it has another UUID. */
static bool find_by_place(struct pb_nvml *nvml, const char *uuid, const char *pci_bus_id)
{
    const struct pb_nvml_calls *call = &nvml->call;
    char found[96]; /* NVML's own limit */

    return call->uuid != NULL && call->by_bus_id != NULL &&
           call->by_bus_id(pci_bus_id, &nvml->device) == NVML_SUCCESS &&
           call->uuid(nvml->device, found, sizeof(found)) == NVML_SUCCESS &&
           strcmp(found, uuid) == 0;
}

/* By its UUID NVML may start all GPUs of a node, looking for it: only what else is not found. */
static bool find_device(struct pb_nvml *nvml, const char *uuid, const char *pci_bus_id)
{
    struct pb_nvml_calls *call = &nvml->call;

    if (find_by_place(nvml, uuid, pci_bus_id))
        return true;
    if (call->by_uuid != NULL && call->by_uuid(uuid, &nvml->device) == NVML_SUCCESS) {
        split_instance(nvml, pci_bus_id);
        return true;
    }
    nvml->is_part = pb_uuid_is_instance(uuid);
    return call->by_bus_id != NULL && call->by_bus_id(pci_bus_id, &nvml->device) == NVML_SUCCESS;
}

struct pb_nvml *pb_nvml_open(const char *uuid, const char *pci_bus_id)
{
    struct pb_nvml *nvml = calloc(1, sizeof(*nvml));

    if (nvml == NULL)
        return NULL;
    nvml->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (nvml->library != NULL) {
        load_symbols(nvml->library, &nvml->call);
        pb_nvml_load_state_calls(nvml);
    }
    if (nvml->call.init == NULL || nvml->call.shutdown == NULL ||
        nvml->call.init() != NVML_SUCCESS) {
        nvml->call.shutdown = NULL;
        pb_nvml_close(nvml);
        return NULL;
    }
    if (!find_device(nvml, uuid, pci_bus_id)) {
        pb_nvml_close(nvml);
        return NULL;
    }
    return nvml;
}

void pb_nvml_close(struct pb_nvml *nvml)
{
    if (nvml == NULL)
        return;
    if (nvml->call.shutdown != NULL)
        nvml->call.shutdown();
    if (nvml->library != NULL)
        dlclose(nvml->library);
    free(nvml);
}

void pb_nvml_read_real(struct pb_nvml *nvml, int (*call)(void *, unsigned *), double scale,
                       double *value)
{
    unsigned read = 0;

    if (call != NULL && call(nvml->device, &read) == NVML_SUCCESS)
        *value = scale * read;
}

void pb_nvml_read_integer(struct pb_nvml *nvml, int (*call)(void *, unsigned *), int64_t *value)
{
    unsigned read = 0;

    if (call != NULL && call(nvml->device, &read) == NVML_SUCCESS)
        *value = read;
}

static void read_modes(struct pb_nvml *nvml, struct pb_device_info *info)
{
    unsigned mig_now, mig_pending;
    int ecc_now, ecc_pending;

    if (nvml->call.ecc_mode != NULL &&
        nvml->call.ecc_mode(nvml->device, &ecc_now, &ecc_pending) == NVML_SUCCESS)
        info->ecc_enabled = ecc_now != 0;
    if (nvml->call.mig_mode != NULL &&
        nvml->call.mig_mode(nvml->device, &mig_now, &mig_pending) == NVML_SUCCESS)
        info->mig_enabled = mig_now != 0;
    if (nvml->is_part)
        info->mig_enabled = 1;
}

/* Instances of one GPU have its index in common: each gets a number of its own; see nvml.h. */
static void read_slot(struct pb_nvml *nvml, struct pb_device_info *info)
{
    const struct pb_nvml_calls *call = &nvml->call;
    unsigned gpu_instance, compute_instance;
    int64_t index = -1;

    pb_nvml_read_integer(nvml, call->index, &index);
    if (index < 0)
        return;
    if (!nvml->is_part)
        info->slot = index;
    else if (nvml->instance != NULL && nvml->instance != nvml->device &&
             call->gpu_instance_id != NULL && call->compute_instance_id != NULL &&
             call->gpu_instance_id(nvml->instance, &gpu_instance) == NVML_SUCCESS &&
             call->compute_instance_id(nvml->instance, &compute_instance) == NVML_SUCCESS)
        info->slot = 1000 * (index + 1) + 10 * gpu_instance + compute_instance;
}

static bool has_text(struct pb_nvml *nvml, int (*call)(void *, char *, unsigned),
                     char text_out[PB_NAME_LENGTH])
{
    return call != NULL && call(nvml->device, text_out, PB_NAME_LENGTH) == NVML_SUCCESS;
}

void pb_nvml_describe(struct pb_nvml *nvml, struct pb_device_info *info)
{
    char text[PB_NAME_LENGTH];

    if (nvml == NULL)
        return;
    if (has_text(nvml, nvml->call.vbios, text))
        PB_TEXT_SET(info->vbios, text);
    if (has_text(nvml, nvml->call.serial, text))
        PB_TEXT_SET(info->serial, text);
    if (has_text(nvml, nvml->call.board_part, text))
        PB_TEXT_SET(info->board_part, text);
    if (nvml->call.driver_version != NULL &&
        nvml->call.driver_version(text, sizeof(text)) == NVML_SUCCESS)
        PB_TEXT_SET(info->driver_version, text);
    read_modes(nvml, info);
    read_slot(nvml, info);
    pb_nvml_read_real(nvml, nvml->call.power_limit, 1e-3, &info->power_limit_w);
    pb_nvml_read_real(nvml, nvml->call.power_limit_default, 1e-3, &info->power_limit_default_w);
}
