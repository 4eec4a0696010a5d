/*
 * Who a device is and what state it was in: plain structures that backends fill, h5schema/ stores
 * and the analysis compares.
 */
#ifndef PB_CORE_IDENTITY_H
#define PB_CORE_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/record.h"
#include "core/state.h"

/* Is this the UUID, or the name, of a part of a GPU that is divided (MIG)? */
bool pb_uuid_is_instance(const char *uuid);

/* Is this backend's name, as files have it, that of simulated devices? */
bool pb_backend_is_simulated(const char *backend);

/* Identity and properties as the driver reports them. Never a source of inferred parameters. */
struct pb_device_info {
    char backend[PB_NAME_LENGTH]; /* cuda or sim */
    char model[PB_TEXT_LENGTH];
    char uuid[PB_TEXT_LENGTH]; /* GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx, or MIG-… */
    char pci_bus_id[PB_NAME_LENGTH];
    char vbios[PB_NAME_LENGTH];          /* empty: not known */
    char driver_version[PB_NAME_LENGTH]; /* empty: not known */
    char serial[PB_NAME_LENGTH];         /* of the board; empty: not known */
    char board_part[PB_NAME_LENGTH];     /* part number of the board; empty: not known */
    char runtime_version[PB_NAME_LENGTH];
    char source[PB_TEXT_LENGTH]; /* of a simulated profile's values */
    int64_t slot;                /* the node's own number of this GPU or instance; -1: not known */
    uint32_t compute_capability; /* 10 * major + minor */
    uint32_t capabilities;       /* enum pb_capability */
    uint32_t sm_count;
    uint32_t warp_size;
    uint32_t max_threads_per_cta;
    uint32_t max_threads_per_sm;
    uint64_t memory_bytes;
    uint64_t memory_free_bytes; /* when the device was opened */
    uint64_t l2_bytes;          /* by the driver: only steers how far sweeps go */
    uint64_t shared_per_sm_bytes;
    uint64_t shared_per_cta_bytes;
    uint64_t constant_bytes;
    uint64_t trace_window;       /* accesses recorded in one launch without shrinking L1 */
    uint64_t trace_window_large; /* the same where a smaller L1 does not matter */
    double sm_clock_max_mhz;
    double memory_clock_max_mhz;
    double theoretical_bytes_per_s; /* DRAM; 0: not known */
    int32_t ecc_enabled;            /* 1, 0; -1: not known */
    int32_t mig_enabled;            /* 1, 0; -1: not known */
    double power_limit_w;           /* NaN: not known */
    double power_limit_default_w;   /* NaN: not known */
};

#endif
