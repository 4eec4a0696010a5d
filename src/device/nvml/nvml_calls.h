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

/*
 * The entry points of finding and describing a GPU, all optional but the first three. A device is
 * an opaque pointer. Those of its state are named by the rows of core/state_fields.h.
 */
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
};

struct pb_nvml {
    void *library;
    void *device;   /* the whole GPU, or the instance where its GPU is not reported */
    void *instance; /* the MIG instance that is meant; NULL: the whole, or it is not found */
    bool is_part;   /* a MIG instance is meant */
    struct pb_nvml_calls call;
    void *state_calls[PB_STATE_FIELD_COUNT]; /* NULL: this driver has no such call */
};

/* The forms of the calls that read a field of the state; nvml_state.c has one reader for each. */
enum pb_nvml_form {
    PB_NVML_UNSIGNED,    /* f(device, unsigned *) */
    PB_NVML_UNSIGNED_OF, /* f(device, which, unsigned *) */
    PB_NVML_UNSIGNED64,  /* f(device, unsigned long long *) */
    PB_NVML_FIELDS,      /* the sum of up to PB_NVML_ARGUMENTS_MAX field values */
    PB_NVML_ECC,         /* f(device, corrected or uncorrected, lifetime, unsigned long long *) */
    PB_NVML_REMAPPED,    /* f(device, unsigned * [4]); the argument says which of the four */
    PB_NVML_LIST_LENGTH_OF, /* f(device, which, unsigned *length, list) */
    PB_NVML_MEMORY_USED,
    PB_NVML_PROCESSES,
    PB_NVML_NVLINKS_UP,
    PB_NVML_VIOLATION, /* f(device, policy, struct pb_nvml_violation *) */
};

enum { PB_NVML_ARGUMENTS_MAX = 4 };

/* Looks up the entry points of all fields of the state in nvml->library. */
void pb_nvml_load_state_calls(struct pb_nvml *nvml);

/* An entry point by its name, else by the one it had in older drivers (may be NULL); or NULL. */
void *pb_nvml_symbol(void *library, const char *name, const char *older);

/* Calls of the form f(device, unsigned *): write the value, times scale, where it is known. */
void pb_nvml_read_real(struct pb_nvml *nvml, int (*call)(void *, unsigned *), double scale,
                       double *value);
void pb_nvml_read_integer(struct pb_nvml *nvml, int (*call)(void *, unsigned *), int64_t *value);

#endif
