/*
 * Private to nvml*.c: the entry points and constants of NVML that are used, restated from its
 * public declarations. Of every function the oldest form with an unchanged signature is used, so
 * that any driver of the last ten years will do.
 */
#ifndef PB_DEVICE_NVML_CALLS_H
#define PB_DEVICE_NVML_CALLS_H

#include "device/nvml/nvml.h"

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
    NVML_ECC_AGGREGATE = 1,     /* over the card's life; the volatile counts end with the driver */
    NVML_RETIRED_CORRECTED = 0, /* after several single-bit errors of a page */
    NVML_RETIRED_UNCORRECTED = 1,
    NVML_FIELD_MEMORY_TEMPERATURE = 82,
    /* Totals over all links of the GPU. */
    NVML_FIELD_NVLINK_CRC_FLIT = 38,
    NVML_FIELD_NVLINK_CRC_DATA = 45,
    NVML_FIELD_NVLINK_REPLAY = 52,
    NVML_FIELD_NVLINK_RECOVERY = 59,
    NVML_NVLINKS_MAX = 36, /* NVLink 5: 18 links of two sublinks */
    NVML_PERF_POLICY_POWER = 0,
    NVML_PERF_POLICY_THERMAL = 1,
};

/* nvmlMemory_t */
struct pb_nvml_memory {
    unsigned long long total_bytes, free_bytes, used_bytes;
};

/* nvmlFieldValue_t */
struct pb_nvml_field {
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

/* nvmlViolationTime_t */
struct pb_nvml_violation {
    unsigned long long reference_us, violation_ns;
};

/* The entry points, all optional but the first three. A device is an opaque pointer. */
struct pb_nvml_calls {
    int (*init)(void);
    int (*shutdown)(void);
    int (*by_uuid)(const char *uuid, void **device_out);
    int (*by_bus_id)(const char *bus_id, void **device_out);
    int (*uuid)(void *device, char *text, unsigned size);
    int (*is_instance)(void *device, unsigned *is_instance_out); /* of MIG */
    int (*parent)(void *instance, void **device_out);
    int (*gpu_instance_id)(void *instance, unsigned *id_out);
    int (*compute_instance_id)(void *instance, unsigned *id_out);
    int (*index)(void *device, unsigned *index_out); /* of an instance: among those of its GPU */
    int (*driver_version)(char *text, unsigned size);
    int (*vbios)(void *device, char *text, unsigned size);
    int (*serial)(void *device, char *text, unsigned size);
    int (*board_part)(void *device, char *text, unsigned size);
    int (*ecc_mode)(void *device, int *now_out, int *pending_out);
    int (*mig_mode)(void *device, unsigned *now_out, unsigned *pending_out);
    int (*power_limit)(void *device, unsigned *milliwatt_out);
    int (*power_limit_default)(void *device, unsigned *milliwatt_out);
    int (*clock)(void *device, int domain, unsigned *mhz_out);
    int (*power)(void *device, unsigned *milliwatt_out);
    int (*temperature)(void *device, int sensor, unsigned *celsius_out);
    int (*field_values)(void *device, int count, struct pb_nvml_field *values);
    int (*reasons)(void *device, unsigned long long *mask_out);
    int (*ecc_errors)(void *device, int type, int counter, unsigned long long *count_out);
    int (*remapped_rows)(void *device, unsigned *corrected_out, unsigned *uncorrected_out,
                         unsigned *pending_out, unsigned *failed_out);
    int (*retired_pages)(void *device, int cause, unsigned *count_inout,
                         unsigned long long *addresses_out);
    int (*retirement_pending)(void *device, int *is_pending_out);
    int (*pcie_generation)(void *device, unsigned *generation_out);
    int (*pcie_width)(void *device, unsigned *width_out);
    int (*pcie_generation_max)(void *device, unsigned *generation_out);
    int (*pcie_width_max)(void *device, unsigned *width_out);
    int (*pcie_replays)(void *device, unsigned *count_out);
    int (*memory)(void *device, struct pb_nvml_memory *memory_out);
    int (*processes)(void *device, unsigned *count_inout, void *list_out);
    int (*nvlink_state)(void *device, unsigned link, int *is_up_out);
    int (*violation)(void *device, int policy, struct pb_nvml_violation *violation_out);
};

struct pb_nvml {
    void *library;
    void *device;   /* the whole GPU, or the instance where its GPU is not told */
    void *instance; /* the MIG instance that is meant; NULL: the whole, or it is not found */
    bool is_part;   /* a MIG instance is meant */
    struct pb_nvml_calls call;
};

/* Calls of the form f(device, unsigned *): write the value, times scale, where it is known. */
void pb_nvml_read_real(struct pb_nvml *nvml, int (*call)(void *, unsigned *), double scale,
                       double *value);
void pb_nvml_read_integer(struct pb_nvml *nvml, int (*call)(void *, unsigned *), int64_t *value);

#endif
