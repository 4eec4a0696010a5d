/*
 * A libnvidia-ml.so.1 of known answers, to test the reading of a GPU's state where there is none.
 *
 * It knows one device and three MIG instances on it; fake_nvml_mode chooses what the device
 * answers. Entry points that are missing here are missing on purpose: PCIe replays, and the new
 * name of the clocks' reasons.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "fake_nvml.h"

enum {
    SUCCESS = 0,
    INVALID_ARGUMENT = 2,
    NOT_SUPPORTED = 3,
    NO_PERMISSION = 4,
    NOT_FOUND = 6,
    INSUFFICIENT_SIZE = 7,
    GPU_IS_LOST = 15,
};

enum fake_nvml_mode fake_nvml_mode = FAKE_NVML_HEALTHY;
int fake_nvml_open = 0;
int fake_nvml_searches = 0;

static int device;
/* Of MIG, on that device. */
static const struct instance {
    const char *uuid;
    unsigned gpu_instance, compute_instance;
} instances[] = {
    {FAKE_NVML_MIG_UUID, 3, 0}, {FAKE_NVML_MIG_UUID_TOO, 5, 0}, {FAKE_NVML_MIG_UUID_SHARE, 3, 1}};

enum { INSTANCES = sizeof(instances) / sizeof(instances[0]) };

/* INSTANCES: it is none. */
static size_t instance_of(const void *at)
{
    size_t i = 0;

    while (i < INSTANCES && at != &instances[i])
        i++;
    return i;
}

static bool is_instance(const void *at)
{
    return instance_of(at) < INSTANCES;
}

/* An instance answers for nothing but what is asked of it by name below. */
static int answer(const void *at)
{
    static const int answers[] = {SUCCESS, NOT_SUPPORTED, GPU_IS_LOST, SUCCESS, SUCCESS};

    return is_instance(at) ? NOT_SUPPORTED : answers[fake_nvml_mode];
}

/* Writes a value unless the mode says otherwise. */
#define ANSWER(out, value)                                                                         \
    do {                                                                                           \
        if (answer(at) == SUCCESS)                                                                 \
            *(out) = (value);                                                                      \
        return answer(at);                                                                         \
    } while (0)

int nvmlInit_v2(void)
{
    fake_nvml_open++;
    return SUCCESS;
}

int nvmlShutdown(void)
{
    fake_nvml_open--;
    return SUCCESS;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **out)
{
    fake_nvml_searches++;
    for (size_t i = 0; i < INSTANCES; i++)
        if (strcmp(uuid, instances[i].uuid) == 0) {
            *out = (void *)&instances[i];
            return SUCCESS;
        }
    if (strcmp(uuid, FAKE_NVML_UUID) != 0)
        return NOT_FOUND;
    *out = &device;
    return SUCCESS;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, void **out)
{
    if (strcmp(bus_id, FAKE_NVML_BUS_ID) != 0)
        return NOT_FOUND;
    *out = &device;
    return SUCCESS;
}

int nvmlDeviceGetUUID(void *at, char *text, unsigned size)
{
    snprintf(text, size, "%s", FAKE_NVML_UUID);
    return at == &device ? SUCCESS : INVALID_ARGUMENT;
}

int nvmlDeviceIsMigDeviceHandle(void *at, unsigned *out)
{
    *out = is_instance(at);
    return SUCCESS;
}

int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void *at, void **out)
{
    if (!is_instance(at))
        return INVALID_ARGUMENT;
    if (fake_nvml_mode == FAKE_NVML_MIG_ALONE)
        return NO_PERMISSION;
    *out = &device;
    return SUCCESS;
}

int nvmlDeviceGetGpuInstanceId(void *at, unsigned *out)
{
    if (!is_instance(at))
        return INVALID_ARGUMENT;
    *out = instances[instance_of(at)].gpu_instance;
    return SUCCESS;
}

int nvmlDeviceGetComputeInstanceId(void *at, unsigned *out)
{
    if (!is_instance(at))
        return INVALID_ARGUMENT;
    *out = instances[instance_of(at)].compute_instance;
    return SUCCESS;
}

/* That of an instance counts those of its GPU. */
int nvmlDeviceGetIndex(void *at, unsigned *out)
{
    if (is_instance(at)) {
        *out = (unsigned)instance_of(at);
        return SUCCESS;
    }
    ANSWER(out, 5);
}

int nvmlSystemGetDriverVersion(char *text, unsigned size)
{
    snprintf(text, size, "580.1");
    return SUCCESS;
}

int nvmlDeviceGetVbiosVersion(void *at, char *text, unsigned size)
{
    if (answer(at) == SUCCESS)
        snprintf(text, size, "96.00.01");
    return answer(at);
}

int nvmlDeviceGetSerial(void *at, char *text, unsigned size)
{
    if (answer(at) == SUCCESS)
        snprintf(text, size, "1652923000123");
    return answer(at);
}

int nvmlDeviceGetBoardPartNumber(void *at, char *text, unsigned size)
{
    if (answer(at) == SUCCESS)
        snprintf(text, size, "699-2G520-0200-000");
    return answer(at);
}

int nvmlDeviceGetEccMode(void *at, int *now, int *pending)
{
    *pending = 0;
    ANSWER(now, 1);
}

int nvmlDeviceGetMigMode(void *at, unsigned *now, unsigned *pending)
{
    *pending = 1;
    ANSWER(now, fake_nvml_mode == FAKE_NVML_MIG);
}

int nvmlDeviceGetEnforcedPowerLimit(void *at, unsigned *out)
{
    ANSWER(out, 650000);
}

int nvmlDeviceGetPowerManagementDefaultLimit(void *at, unsigned *out)
{
    ANSWER(out, 700000);
}

int nvmlDeviceGetClockInfo(void *at, int domain, unsigned *out)
{
    ANSWER(out, domain == 1 ? 1980 : domain == 2 ? 3201 : 0);
}

int nvmlDeviceGetPowerUsage(void *at, unsigned *out)
{
    ANSWER(out, 123456);
}

int nvmlDeviceGetTemperature(void *at, int sensor, unsigned *out)
{
    ANSWER(out, sensor == 0 ? 41 : 0);
}

/* nvmlFieldValue_t as NVML lays it out. */
struct field_value {
    unsigned field, scope;
    long long timestamp_us, latency_us;
    int type, status;
    unsigned long long value;
};

/* CRC errors of data are not counted here, as on GPUs that have no such counter. */
static void answer_field(struct field_value *value)
{
    static const struct {
        unsigned field;
        int type;
        unsigned long long value;
    } known[] = {
        {82, 1, 0xdead00000000ull | 57}, /* an unsigned int: the upper half is noise */
        {38, 3, 1000},
        {52, 3, 200},
        {59, 3, 30},
    };

    value->status = NOT_SUPPORTED;
    value->value = 4000000; /* what is not known is no number */
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (known[i].field != value->field)
            continue;
        value->status = SUCCESS;
        value->type = known[i].type;
        value->value = known[i].value;
    }
}

int nvmlDeviceGetFieldValues(void *at, int count, struct field_value *values)
{
    for (int i = 0; i < count; i++)
        answer_field(&values[i]);
    return answer(at);
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *at, unsigned long long *out)
{
    ANSWER(out, 0x24);
}

int nvmlDeviceGetTotalEccErrors(void *at, int type, int counter, unsigned long long *out)
{
    ANSWER(out, (unsigned long long)(type == 0 ? 7 : 2) + (counter == 1 ? 100 : 0));
}

int nvmlDeviceGetRemappedRows(void *at, unsigned *corrected, unsigned *uncorrected,
                              unsigned *pending, unsigned *failed)
{
    *uncorrected = 2;
    *pending = 1;
    *failed = 0;
    ANSWER(corrected, 3);
}

/* Two pages after single-bit errors, none after a double-bit one. */
int nvmlDeviceGetRetiredPages(void *at, int cause, unsigned *count, unsigned long long *addresses)
{
    if (answer(at) != SUCCESS)
        return answer(at);
    if (cause != 0 && cause != 1)
        return INVALID_ARGUMENT;
    *count = cause == 0 ? 2 : 0;
    return *count > 0 && addresses == NULL ? INSUFFICIENT_SIZE : SUCCESS;
}

int nvmlDeviceGetRetiredPagesPendingStatus(void *at, int *out)
{
    ANSWER(out, 1);
}

int nvmlDeviceGetCurrPcieLinkGeneration(void *at, unsigned *out)
{
    ANSWER(out, 4);
}

int nvmlDeviceGetCurrPcieLinkWidth(void *at, unsigned *out)
{
    ANSWER(out, 8);
}

int nvmlDeviceGetMaxPcieLinkGeneration(void *at, unsigned *out)
{
    ANSWER(out, 5);
}

int nvmlDeviceGetMaxPcieLinkWidth(void *at, unsigned *out)
{
    ANSWER(out, 16);
}

/* nvmlMemory_t */
struct memory {
    unsigned long long total, free, used;
};

int nvmlDeviceGetMemoryInfo(void *at, struct memory *out)
{
    if (is_instance(at)) {
        *out = (struct memory){100, 90, 10};
        return SUCCESS;
    }
    ANSWER(out, ((struct memory){1000, 600, 400}));
}

/* Six links, of which number 4 is down. */
int nvmlDeviceGetNvLinkState(void *at, unsigned link, int *out)
{
    if (link >= 6)
        return INVALID_ARGUMENT;
    ANSWER(out, link != 4);
}

/* nvmlViolationTime_t */
struct violation {
    unsigned long long reference_us, violation_ns;
};

int nvmlDeviceGetViolationStatus(void *at, int policy, struct violation *out)
{
    if (policy > 1)
        return INVALID_ARGUMENT;
    ANSWER(out, ((struct violation){99, policy == 0 ? 5000000000 : 7}));
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *at, unsigned *count, void *list)
{
    if (!is_instance(at) && answer(at) != SUCCESS)
        return answer(at);
    *count = is_instance(at) ? 1 : 2;
    return list == NULL ? INSUFFICIENT_SIZE : NOT_SUPPORTED;
}
