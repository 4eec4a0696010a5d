/*
 * Which GPUs there are and which one is meant, without touching any: no context is created.
 *
 * Limit: what CUDA_VISIBLE_DEVICES hides is not there.
 */
#include <cuda_runtime_api.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "device/cuda_device.h"

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

static void format_uuid(const cudaUUID_t *uuid, char *text, size_t size)
{
    const unsigned char *b = (const unsigned char *)uuid->bytes;

    snprintf(text, size, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
             b[14], b[15]);
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
    format_uuid(&properties.uuid, entry_out->uuid, sizeof(entry_out->uuid));
    /* As NVML and nvidia-smi write it: eight digits of domain, upper case. */
    snprintf(entry_out->pci_bus_id, sizeof(entry_out->pci_bus_id), "%08X:%02X:%02X.0",
             (unsigned)properties.pciDomainID, (unsigned)properties.pciBusID,
             (unsigned)properties.pciDeviceID);
    return PB_OK;
}

enum pb_status pb_cuda_enumerate(struct pb_device_entry **entries_out, size_t *count_out,
                                 struct pb_error *err)
{
    struct pb_device_entry *entries = NULL;
    cudaError_t code;
    int count = 0;
    enum pb_status status = count_devices(&count, &code, err);

    if (status == PB_OK && count > 0) {
        entries = calloc((size_t)count, sizeof(*entries));
        if (entries == NULL)
            return pb_fail(err, PB_NO_MEMORY, "no memory for a list of %d GPUs", count);
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

static bool is_index(const char *selector, size_t *index_out)
{
    char *end;
    unsigned long value;

    if (!isdigit((unsigned char)selector[0]) || strlen(selector) > 4)
        return false;
    value = strtoul(selector, &end, 10);
    *index_out = value;
    return *end == '\0';
}

/* "3b:00.0", "0000:3b:00.0" and "00000000:3B:00.0" all name one bus id. */
static bool is_pci_match(const char *selector, const char *bus_id)
{
    unsigned domain = 0, bus, slot, function, have_domain, have_bus, have_slot, have_function;
    char rest;

    if (sscanf(selector, "%x:%x:%x.%x%c", &domain, &bus, &slot, &function, &rest) != 4) {
        domain = 0;
        if (sscanf(selector, "%x:%x.%x%c", &bus, &slot, &function, &rest) != 3)
            return false;
    }
    if (sscanf(bus_id, "%x:%x:%x.%x", &have_domain, &have_bus, &have_slot, &have_function) != 4)
        return false;
    return domain == have_domain && bus == have_bus && slot == have_slot &&
           function == have_function;
}

/* With or without "GPU-" in front. */
static bool is_uuid_match(const char *selector, const char *uuid)
{
    const char *digits = strncasecmp(uuid, "GPU-", 4) == 0 ? uuid + 4 : uuid;
    size_t length = strlen(selector);

    return length > 0 &&
           (strncasecmp(uuid, selector, length) == 0 || strncasecmp(digits, selector, length) == 0);
}

/* The number of entries that the selector fits; *found_out is the last of them. */
static size_t find_matches(const char *selector, const struct pb_device_entry *entries,
                           size_t count, size_t *found_out)
{
    size_t index, matches = 0;

    if (is_index(selector, &index)) {
        *found_out = index;
        return index < count ? 1 : 0;
    }
    for (size_t i = 0; i < count; i++) {
        if (is_pci_match(selector, entries[i].pci_bus_id) ||
            is_uuid_match(selector, entries[i].uuid)) {
            *found_out = i;
            matches++;
        }
    }
    return matches;
}

static enum pb_status refuse(const char *selector, size_t matches,
                             const struct pb_device_entry *entries, size_t count,
                             struct pb_error *err)
{
    char list[PB_ERROR_LENGTH - 96] = "";
    size_t used = 0;

    for (size_t i = 0; i < count && used + 1 < sizeof(list); i++) {
        int length = snprintf(list + used, sizeof(list) - used, "%s%zu (%s, %s)",
                              i == 0 ? "" : ", ", i, entries[i].uuid, entries[i].pci_bus_id);
        used += length > 0 ? (size_t)length : 0;
    }
    return pb_fail(err, PB_INVALID, "device \"%.40s\": %s; there are: %s", selector,
                   matches == 0 ? "no such GPU" : "several GPUs fit", list);
}

enum pb_status pb_cuda_select(const char *selector, int *ordinal_out, struct pb_error *err)
{
    struct pb_device_entry *entries = NULL;
    const char *wanted = selector == NULL ? "0" : selector;
    size_t count = 0, found = 0, matches;
    cudaError_t code = cudaSuccess;
    int visible = 0;
    enum pb_status status = count_devices(&visible, &code, err);

    if (status == PB_OK && visible == 0)
        return pb_fail(err, PB_NOT_FOUND, "no CUDA device: %s",
                       cudaGetErrorString(code == cudaSuccess ? cudaErrorNoDevice : code));
    if (status == PB_OK)
        status = pb_cuda_enumerate(&entries, &count, err);
    if (status != PB_OK)
        return status;
    matches = find_matches(wanted, entries, count, &found);
    if (matches == 1)
        *ordinal_out = (int)found;
    else
        status = refuse(wanted, matches, entries, count, err);
    free(entries);
    return status;
}
