/* What a UUID tells, and the state of which nothing is known yet. */
#include "core/identity.h"

#include <math.h>
#include <string.h>

bool pb_uuid_is_instance(const char *uuid)
{
    return strncmp(uuid, "MIG-", strlen("MIG-")) == 0;
}

void pb_state_clear(struct pb_state *state_out)
{
    memset(state_out, 0, sizeof(*state_out));
    state_out->sm_clock_mhz = state_out->memory_clock_mhz = NAN;
    state_out->power_w = state_out->temperature_c = state_out->memory_temperature_c = NAN;
    state_out->throttle_reasons = -1;
    state_out->ecc_corrected = state_out->ecc_uncorrected = -1;
    state_out->remapped_corrected = state_out->remapped_uncorrected = -1;
    state_out->remap_pending = state_out->remap_failed = -1;
    state_out->retired_corrected = state_out->retired_uncorrected = -1;
    state_out->retirement_pending = -1;
    state_out->pcie_generation = state_out->pcie_width = -1;
    state_out->pcie_generation_max = state_out->pcie_width_max = -1;
    state_out->pcie_replays = -1;
    state_out->nvlinks_up = state_out->nvlink_errors = -1;
    state_out->violation_power_ns = state_out->violation_thermal_ns = -1;
    state_out->memory_used_bytes = -1;
    state_out->processes = -1;
}
