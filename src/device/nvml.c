/*
 * Loading NVML and reading a GPU's state through it.
 *
 * Declarations are NVML's public ones, restated. Of every function the oldest form with an
 * unchanged signature is used, so that any driver of the last ten years will do.
 */
#include "device/nvml.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/record.h"

/* NVML's constants that are used here. */
enum {
    NVML_SUCCESS = 0,
    NVML_ERROR_INSUFFICIENT_SIZE = 7,
    NVML_ERROR_GPU_IS_LOST = 15,
    NVML_TEMPERATURE_GPU = 0,
    NVML_CLOCK_SM = 1,
    NVML_CLOCK_MEM = 2,
    NVML_ECC_CORRECTED = 0,
    NVML_ECC_UNCORRECTED = 1,
    NVML_ECC_AGGREGATE = 1, /* over the card's life; the volatile counts end with the driver */
    NVML_FIELD_MEMORY_TEMPERATURE = 82,
};

/* nvmlMemory_t */
struct memory_info {
    unsigned long long total_bytes, free_bytes, used_bytes;
};

/* nvmlFieldValue_t */
struct field_value {
    unsigned field, scope;
    long long timestamp_us, latency_us;
    int value_type;
    int status;
    union {
        double real;
        unsigned int uint;
        unsigned long ulong;
        unsigned long long ulonglong;
        long long slonglong;
        int sint;
    } value;
};

/* The entry points, all optional but the first three. A device is an opaque pointer. */
struct calls {
    int (*init)(void);
    int (*shutdown)(void);
    int (*by_uuid)(const char *uuid, void **device_out);
    int (*by_bus_id)(const char *bus_id, void **device_out);
    int (*index)(void *device, unsigned *index_out);
    int (*driver_version)(char *text, unsigned size);
    int (*vbios)(void *device, char *text, unsigned size);
    int (*ecc_mode)(void *device, int *now_out, int *pending_out);
    int (*mig_mode)(void *device, unsigned *now_out, unsigned *pending_out);
    int (*power_limit)(void *device, unsigned *milliwatt_out);
    int (*power_limit_default)(void *device, unsigned *milliwatt_out);
    int (*clock)(void *device, int domain, unsigned *mhz_out);
    int (*power)(void *device, unsigned *milliwatt_out);
    int (*temperature)(void *device, int sensor, unsigned *celsius_out);
    int (*field_values)(void *device, int count, struct field_value *values);
    int (*reasons)(void *device, unsigned long long *mask_out);
    int (*ecc_errors)(void *device, int type, int counter, unsigned long long *count_out);
    int (*remapped_rows)(void *device, unsigned *corrected_out, unsigned *uncorrected_out,
                         unsigned *pending_out, unsigned *failed_out);
    int (*pcie_generation)(void *device, unsigned *generation_out);
    int (*pcie_width)(void *device, unsigned *width_out);
    int (*pcie_generation_max)(void *device, unsigned *generation_out);
    int (*pcie_width_max)(void *device, unsigned *width_out);
    int (*pcie_replays)(void *device, unsigned *count_out);
    int (*memory)(void *device, struct memory_info *memory_out);
    int (*processes)(void *device, unsigned *count_inout, void *list_out);
};

struct pb_nvml {
    void *library;
    void *device;
    struct calls call;
};

/* Where each symbol's address goes; `older` is its name in drivers before a renaming. */
static const struct {
    size_t offset;
    const char *name, *older;
} symbols[] = {
    {offsetof(struct calls, init), "nvmlInit_v2", NULL},
    {offsetof(struct calls, shutdown), "nvmlShutdown", NULL},
    {offsetof(struct calls, by_uuid), "nvmlDeviceGetHandleByUUID", NULL},
    {offsetof(struct calls, by_bus_id), "nvmlDeviceGetHandleByPciBusId_v2", NULL},
    {offsetof(struct calls, index), "nvmlDeviceGetIndex", NULL},
    {offsetof(struct calls, driver_version), "nvmlSystemGetDriverVersion", NULL},
    {offsetof(struct calls, vbios), "nvmlDeviceGetVbiosVersion", NULL},
    {offsetof(struct calls, ecc_mode), "nvmlDeviceGetEccMode", NULL},
    {offsetof(struct calls, mig_mode), "nvmlDeviceGetMigMode", NULL},
    {offsetof(struct calls, power_limit), "nvmlDeviceGetEnforcedPowerLimit", NULL},
    {offsetof(struct calls, power_limit_default), "nvmlDeviceGetPowerManagementDefaultLimit", NULL},
    {offsetof(struct calls, clock), "nvmlDeviceGetClockInfo", NULL},
    {offsetof(struct calls, power), "nvmlDeviceGetPowerUsage", NULL},
    {offsetof(struct calls, temperature), "nvmlDeviceGetTemperature", NULL},
    {offsetof(struct calls, field_values), "nvmlDeviceGetFieldValues", NULL},
    {offsetof(struct calls, reasons), "nvmlDeviceGetCurrentClocksEventReasons",
     "nvmlDeviceGetCurrentClocksThrottleReasons"},
    {offsetof(struct calls, ecc_errors), "nvmlDeviceGetTotalEccErrors", NULL},
    {offsetof(struct calls, remapped_rows), "nvmlDeviceGetRemappedRows", NULL},
    {offsetof(struct calls, pcie_generation), "nvmlDeviceGetCurrPcieLinkGeneration", NULL},
    {offsetof(struct calls, pcie_width), "nvmlDeviceGetCurrPcieLinkWidth", NULL},
    {offsetof(struct calls, pcie_generation_max), "nvmlDeviceGetMaxPcieLinkGeneration", NULL},
    {offsetof(struct calls, pcie_width_max), "nvmlDeviceGetMaxPcieLinkWidth", NULL},
    {offsetof(struct calls, pcie_replays), "nvmlDeviceGetPcieReplayCounter", NULL},
    {offsetof(struct calls, memory), "nvmlDeviceGetMemoryInfo", NULL},
    {offsetof(struct calls, processes), "nvmlDeviceGetComputeRunningProcesses_v3",
     "nvmlDeviceGetComputeRunningProcesses"},
};

static void load_symbols(void *library, struct calls *calls)
{
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void *address = dlsym(library, symbols[i].name);

        if (address == NULL && symbols[i].older != NULL)
            address = dlsym(library, symbols[i].older);
        memcpy((char *)calls + symbols[i].offset, &address, sizeof(address));
    }
}

static bool find_device(struct pb_nvml *nvml, const char *uuid, const char *pci_bus_id)
{
    struct calls *call = &nvml->call;

    if (call->by_uuid != NULL && call->by_uuid(uuid, &nvml->device) == NVML_SUCCESS)
        return true;
    return call->by_bus_id != NULL && call->by_bus_id(pci_bus_id, &nvml->device) == NVML_SUCCESS;
}

struct pb_nvml *pb_nvml_open(const char *uuid, const char *pci_bus_id)
{
    struct pb_nvml *nvml = calloc(1, sizeof(*nvml));

    if (nvml == NULL)
        return NULL;
    nvml->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (nvml->library != NULL)
        load_symbols(nvml->library, &nvml->call);
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

/* Calls of the form f(device, unsigned *): writes value * scale on success. */
static void read_real(struct pb_nvml *nvml, int (*call)(void *, unsigned *), double scale,
                      double *value)
{
    unsigned read = 0;

    if (call != NULL && call(nvml->device, &read) == NVML_SUCCESS)
        *value = scale * read;
}

static void read_integer(struct pb_nvml *nvml, int (*call)(void *, unsigned *), int64_t *value)
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
}

void pb_nvml_describe(struct pb_nvml *nvml, struct pb_device_info *info)
{
    char text[PB_NAME_LENGTH];

    if (nvml == NULL)
        return;
    if (nvml->call.vbios != NULL &&
        nvml->call.vbios(nvml->device, text, sizeof(text)) == NVML_SUCCESS)
        PB_TEXT_SET(info->vbios, text);
    if (nvml->call.driver_version != NULL &&
        nvml->call.driver_version(text, sizeof(text)) == NVML_SUCCESS)
        PB_TEXT_SET(info->driver_version, text);
    read_modes(nvml, info);
    read_integer(nvml, nvml->call.index, &info->slot);
    read_real(nvml, nvml->call.power_limit, 1e-3, &info->power_limit_w);
    read_real(nvml, nvml->call.power_limit_default, 1e-3, &info->power_limit_default_w);
}

static double field_as_real(const struct field_value *field)
{
    switch (field->value_type) {
    case 0:
        return field->value.real;
    case 1:
        return field->value.uint;
    case 2:
        return (double)field->value.ulong;
    case 3:
        return (double)field->value.ulonglong;
    case 4:
        return (double)field->value.slonglong;
    default:
        return field->value.sint;
    }
}

static void read_sensors(struct pb_nvml *nvml, struct pb_state *state)
{
    struct field_value memory = {.field = NVML_FIELD_MEMORY_TEMPERATURE};
    unsigned value;

    if (nvml->call.clock != NULL) {
        if (nvml->call.clock(nvml->device, NVML_CLOCK_SM, &value) == NVML_SUCCESS)
            state->sm_clock_mhz = value;
        if (nvml->call.clock(nvml->device, NVML_CLOCK_MEM, &value) == NVML_SUCCESS)
            state->memory_clock_mhz = value;
    }
    if (nvml->call.temperature != NULL &&
        nvml->call.temperature(nvml->device, NVML_TEMPERATURE_GPU, &value) == NVML_SUCCESS)
        state->temperature_c = value;
    if (nvml->call.field_values != NULL &&
        nvml->call.field_values(nvml->device, 1, &memory) == NVML_SUCCESS &&
        memory.status == NVML_SUCCESS)
        state->memory_temperature_c = field_as_real(&memory);
    read_real(nvml, nvml->call.power, 1e-3, &state->power_w);
}

static void read_errors(struct pb_nvml *nvml, struct pb_state *state)
{
    unsigned corrected, uncorrected, pending, failed;
    unsigned long long count;

    if (nvml->call.ecc_errors != NULL) {
        if (nvml->call.ecc_errors(nvml->device, NVML_ECC_CORRECTED, NVML_ECC_AGGREGATE, &count) ==
            NVML_SUCCESS)
            state->ecc_corrected = (int64_t)count;
        if (nvml->call.ecc_errors(nvml->device, NVML_ECC_UNCORRECTED, NVML_ECC_AGGREGATE, &count) ==
            NVML_SUCCESS)
            state->ecc_uncorrected = (int64_t)count;
    }
    if (nvml->call.remapped_rows != NULL &&
        nvml->call.remapped_rows(nvml->device, &corrected, &uncorrected, &pending, &failed) ==
            NVML_SUCCESS) {
        state->remapped_corrected = corrected;
        state->remapped_uncorrected = uncorrected;
        state->remap_pending = pending;
        state->remap_failed = failed;
    }
}

static void read_use(struct pb_nvml *nvml, struct pb_state *state)
{
    struct memory_info memory;
    unsigned count = 0; /* room for none: NVML answers with how many there are */
    int status;

    if (nvml->call.memory != NULL && nvml->call.memory(nvml->device, &memory) == NVML_SUCCESS)
        state->memory_used_bytes = (int64_t)memory.used_bytes;
    if (nvml->call.processes == NULL)
        return;
    status = nvml->call.processes(nvml->device, &count, NULL);
    if (status == NVML_SUCCESS || status == NVML_ERROR_INSUFFICIENT_SIZE)
        state->processes = count;
}

static void read_link(struct pb_nvml *nvml, struct pb_state *state)
{
    read_integer(nvml, nvml->call.pcie_generation, &state->pcie_generation);
    read_integer(nvml, nvml->call.pcie_width, &state->pcie_width);
    read_integer(nvml, nvml->call.pcie_generation_max, &state->pcie_generation_max);
    read_integer(nvml, nvml->call.pcie_width_max, &state->pcie_width_max);
    read_integer(nvml, nvml->call.pcie_replays, &state->pcie_replays);
}

bool pb_nvml_read_state(struct pb_nvml *nvml, struct pb_state *state)
{
    unsigned long long reasons;
    unsigned milliwatt;

    if (nvml == NULL)
        return true;
    if (nvml->call.power != NULL &&
        nvml->call.power(nvml->device, &milliwatt) == NVML_ERROR_GPU_IS_LOST)
        return false;
    if (nvml->call.reasons != NULL && nvml->call.reasons(nvml->device, &reasons) == NVML_SUCCESS)
        state->throttle_reasons = (int64_t)reasons;
    read_sensors(nvml, state);
    read_errors(nvml, state);
    read_link(nvml, state);
    read_use(nvml, state);
    return true;
}
