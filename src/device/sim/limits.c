/* The table of limits; see limits.h. */
#include "device/sim/limits.h"

#include <stddef.h>

static const struct {
    uint32_t from_capability;
    struct pb_sim_limits limits;
} table[] = {
    {10, {1024, 8}},  {20, {1536, 8}},  {30, {2048, 16}}, {50, {2048, 32}}, {75, {1024, 16}},
    {80, {2048, 32}}, {86, {1536, 16}}, {89, {1536, 24}}, {90, {2048, 32}}, {120, {1536, 24}},
};

struct pb_sim_limits pb_sim_limits_of(uint32_t compute_capability)
{
    struct pb_sim_limits limits = table[0].limits;

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (compute_capability >= table[i].from_capability)
            limits = table[i].limits;
    return limits;
}

uint64_t pb_sim_limits_shared_per_cta(const struct pb_sim_profile *profile)
{
    const uint64_t static_limit = 48 << 10, reserved = PB_SIM_CTA_RESERVED_BYTES;
    uint64_t bytes = profile->shared.bytes_per_sm;

    if (profile->compute_capability < 70)
        return bytes < static_limit ? bytes : static_limit;
    if (profile->compute_capability < 80)
        return bytes;
    return bytes > reserved ? bytes - reserved : bytes;
}

uint64_t pb_sim_limits_free_bytes(const struct pb_sim_profile *profile)
{
    return profile->memory_bytes - profile->memory_bytes / 16;
}
