/* GPCs, sides and slices; see sides.h. */
#include "device/sim/sides.h"

#include "device/sim/random.h"

static bool has_sides(const struct pb_sim_sides_spec *sides)
{
    return sides->far_latency_cycles > 0.0;
}

uint32_t pb_sim_sides_gpc(const struct pb_sim_profile *profile, uint32_t sm)
{
    const struct pb_sim_sides_spec *sides = &profile->sides;
    uint32_t dealt[PB_SIM_GPCS_MAX] = {0}, next = 0;

    if (!has_sides(sides))
        return 0;
    for (;;)
        for (uint32_t gpc = 0; gpc < sides->gpc_count; gpc++)
            for (uint32_t i = 0; i < profile->layout.tpc_sms && dealt[gpc] < sides->gpc_sms[gpc];
                 i++) {
                if (next++ == sm)
                    return gpc;
                dealt[gpc]++;
            }
}

void pb_sim_sides_deal(const struct pb_sim_profile *profile, uint32_t *gpc_out)
{
    for (uint32_t sm = 0; sm < profile->sm_count; sm++)
        gpc_out[sm] = pb_sim_sides_gpc(profile, sm);
}

void pb_sim_sides_deal_tpcs(const struct pb_sim_profile *profile, const uint32_t *gpc,
                            uint32_t *tpc_out)
{
    uint32_t tpc = 0, sms = 0;

    for (uint32_t sm = 0; sm < profile->sm_count; sm++) {
        if (sms == profile->layout.tpc_sms || (sm > 0 && gpc[sm] != gpc[sm - 1])) {
            tpc++;
            sms = 0;
        }
        tpc_out[sm] = tpc;
        sms++;
    }
}

uint32_t pb_sim_sides_of_gpc(const struct pb_sim_sides_spec *sides, uint32_t gpc)
{
    return has_sides(sides) && gpc >= (sides->gpc_count + 1) / 2;
}

uint32_t pb_sim_sides_of_line(const struct pb_sim_sides_spec *sides, uint64_t address)
{
    return (uint32_t)__builtin_parityll(address & sides->mask);
}

double pb_sim_sides_distance(const struct pb_sim_sides_spec *sides, uint32_t gpc, uint64_t line)
{
    uint64_t slice, mixed;

    if (!has_sides(sides) || sides->slice_spread_cycles <= 0.0)
        return 0.0;
    slice = pb_sim_mix(line + 1) % sides->slice_count;
    mixed = pb_sim_mix(pb_sim_mix(gpc + 1) ^ (slice + 1));
    return sides->slice_spread_cycles * ((double)(mixed >> 11) * 0x1p-53 - 0.5);
}
