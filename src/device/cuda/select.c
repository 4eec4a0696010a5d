/*
 * Which GPUs there are and which one is meant, without touching any: no context is created.
 *
 * Limit: what CUDA_VISIBLE_DEVICES hides is not there. Where that names MIG instances, a process
 * that has opened one of them sees nothing else from then on, one that has opened a whole GPU no
 * instance.
 */
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/device.h"

static const char visible_devices[] = "CUDA_VISIBLE_DEVICES";

bool pb_cuda_look_up(const char *name, unsigned version, void *function_out)
{
    void *function = NULL;
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
    cudaError_t code =
        cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &found);
#else
    cudaError_t code = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);

    (void)version;
#endif
    if (code != cudaSuccess)
        cudaGetLastError();
    if (code != cudaSuccess || found != cudaDriverEntryPointSuccess || function == NULL)
        return false;
    memcpy(function_out, &function, sizeof(function));
    return true;
}

/* No driver and no device are no errors here: there is just nothing to open. */
static enum pb_status count_devices(int *count_out, cudaError_t *code_out, struct pb_error *err)
{
    int count = 0;
    cudaError_t code = cudaGetDeviceCount(&count);

    cudaGetLastError();
    *code_out = code;
    *count_out = code == cudaSuccess ? count : 0;
    if (code == cudaSuccess || code == cudaErrorNoDevice || code == cudaErrorInsufficientDriver)
        return PB_OK;
    return pb_fail(err, PB_DEVICE, "counting GPUs: cudaGetDeviceCount failed: %s (%s)",
                   cudaGetErrorName(code), cudaGetErrorString(code));
}

/*
 * A MIG instance has a UUID of its own, which the driver reports since CUDA 11.4. What came before
 * reports that of the GPU, which all instances on it have in common, as they have its PCI bus id.
 */
static CUuuid read_uuid(const struct cudaDeviceProp *properties, int ordinal)
{
    PFN_cuDeviceGetUuid_v11040 get_uuid;
    CUuuid own;

    if (pb_cuda_look_up("cuDeviceGetUuid", 11040, &get_uuid) &&
        get_uuid(&own, ordinal) == CUDA_SUCCESS)
        return own;
    return properties->uuid;
}

/* As nvidia-smi -L writes it; a MIG instance is recognized by its name ("… MIG 1g.18gb"). */
static void format_uuid(const struct cudaDeviceProp *properties, int ordinal, char *text,
                        size_t size)
{
    CUuuid uuid = read_uuid(properties, ordinal);
    const unsigned char *b = (const unsigned char *)uuid.bytes;
    const char *kind = strstr(properties->name, " MIG ") != NULL ? "MIG" : "GPU";

    snprintf(text, size, "%s-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             kind, b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12],
             b[13], b[14], b[15]);
}

enum pb_status pb_cuda_identify(int ordinal, struct pb_device_entry *entry_out,
                                struct pb_error *err)
{
    struct cudaDeviceProp properties;
    cudaError_t code = cudaGetDeviceProperties(&properties, ordinal);

    if (code != cudaSuccess)
        return pb_fail(err, PB_DEVICE, "GPU %d: cudaGetDeviceProperties failed: %s (%s)", ordinal,
                       cudaGetErrorName(code), cudaGetErrorString(code));
    memset(entry_out, 0, sizeof(*entry_out));
    PB_TEXT_SET(entry_out->model, properties.name);
    format_uuid(&properties, ordinal, entry_out->uuid, sizeof(entry_out->uuid));
    /* As NVML and nvidia-smi write it: eight digits of domain, upper case. */
    snprintf(entry_out->pci_bus_id, sizeof(entry_out->pci_bus_id), "%08X:%02X:%02X.0",
             (unsigned)properties.pciDomainID, (unsigned)properties.pciBusID,
             (unsigned)properties.pciDeviceID);
    return PB_OK;
}

static enum pb_status list_devices(struct pb_device_entry **entries_out, size_t *count_out,
                                   struct pb_error *err)
{
    struct pb_device_entry *entries = NULL;
    cudaError_t code;
    int count = 0;
    enum pb_status status = count_devices(&count, &code, err);

    if (status == PB_OK && count > 0) {
        entries = calloc((size_t)count, sizeof(*entries));
        if (entries == NULL)
            return pb_fail(err, PB_NO_MEMORY, "out of memory allocating a list of %d GPUs", count);
    }
    for (int i = 0; status == PB_OK && i < count; i++)
        status = pb_cuda_identify(i, &entries[i], err);
    if (status != PB_OK) {
        free(entries);
        return status;
    }
    *entries_out = entries;
    *count_out = (size_t)count;
    return PB_OK;
}

enum pb_status pb_cuda_enumerate(struct pb_device_entry **entries_out, size_t *count_out,
                                 struct pb_error *err)
{
    struct pb_device_entry *named = NULL;
    size_t count = 0;
    enum pb_status status = pb_cuda_named(getenv(visible_devices), &named, &count, err);

    if (status != PB_OK)
        return status;
    if (count == 0)
        return list_devices(entries_out, count_out, err);
    *entries_out = named;
    *count_out = count;
    return PB_OK;
}

/* Before CUDA looks: of what an environment with MIG instances names leaves *selector first, where
 * it means that from now on. */
static enum pb_status narrow(const char **selector, struct pb_error *err)
{
    struct pb_device_entry *entries = NULL;
    char *visible = NULL;
    size_t count = 0, found = 0;
    enum pb_status status = pb_cuda_named(getenv(visible_devices), &entries, &count, err);

    if (status == PB_OK && count > 0) {
        status = pb_cuda_match(*selector, entries, count, &found, err);
        if (status == PB_OK)
            status = pb_cuda_narrow(entries, count, found, &visible, err);
        if (status == PB_OK && setenv(visible_devices, visible, 1) != 0)
            status = pb_fail(err, PB_NO_MEMORY, "out of memory allocating the names of %zu devices",
                             count);
        *selector = "0";
    }
    free(visible);
    free(entries);
    return status;
}

enum pb_status pb_cuda_select(const char *selector, int *ordinal_out, struct pb_error *err)
{
    const char *wanted = selector == NULL ? "0" : selector, *visible;
    struct pb_device_entry *entries = NULL;
    size_t count = 0, found = 0;
    cudaError_t code = cudaSuccess;
    int device_count = 0;
    enum pb_status status = narrow(&wanted, err);

    if (status == PB_OK)
        status = count_devices(&device_count, &code, err);
    visible = getenv(visible_devices);
    if (status == PB_OK && device_count == 0)
        return pb_fail(
            err, PB_NOT_FOUND, "no CUDA device%s%.64s: %s",
            visible == NULL ? "" : " of CUDA_VISIBLE_DEVICES=", visible == NULL ? "" : visible,
            cudaGetErrorString(code == cudaSuccess ? cudaErrorNoDevice : code));
    if (status == PB_OK)
        status = list_devices(&entries, &count, err);
    if (status == PB_OK)
        status = pb_cuda_match(wanted, entries, count, &found, err);
    free(entries);
    if (status == PB_OK)
        *ordinal_out = (int)found;
    return status;
}
