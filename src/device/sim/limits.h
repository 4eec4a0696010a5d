/*
 * What a compute capability fixes about every device that has it (CUDA C Programming Guide,
 * "Technical Specifications per Compute Capability"). No profile needs to say these.
 */
#ifndef PB_DEVICE_SIM_LIMITS_H
#define PB_DEVICE_SIM_LIMITS_H

#include <stdint.h>

#include "device/sim/profile.h"

enum {
    PB_SIM_WARP_SIZE = 32,
    PB_SIM_CTA_THREADS_MAX = 1024,
    PB_SIM_CONSTANT_BYTES = 65536,
    PB_SIM_CTA_RESERVED_BYTES = 1024, /* of shared memory, from compute capability 8.0 on */
};

struct pb_sim_limits {
    uint32_t threads_per_sm;
    uint32_t ctas_per_sm;
};

struct pb_sim_limits pb_sim_limits_of(uint32_t compute_capability);

/* Shared memory that one CTA may have. */
uint64_t pb_sim_limits_shared_per_cta(const struct pb_sim_profile *profile);

/* Device memory that an allocation may have: the driver keeps a sixteenth for itself. */
uint64_t pb_sim_limits_free_bytes(const struct pb_sim_profile *profile);

#endif
