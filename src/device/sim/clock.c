/* The clock under its faults; see clock.h. */
#include "device/sim/clock.h"

#include <math.h>

static bool has_set_in(const struct pb_sim_fault *fault, double seconds)
{
    return fault->kind == PB_SIM_FAULT_THROTTLE && seconds >= fault->seconds;
}

double pb_sim_clock_mhz(const struct pb_sim_clock *clock, double seconds)
{
    double mhz = clock->nominal_mhz * pb_sim_faults_factor(clock->faults, PB_SIM_FAULT_CLOCK);

    for (size_t i = 0; i < clock->faults->count; i++)
        if (has_set_in(&clock->faults->list[i], seconds))
            mhz *= clock->faults->list[i].value;
    return mhz;
}

double pb_sim_clock_cycles(const struct pb_sim_clock *clock, double from_seconds, double to_seconds)
{
    double cycles = 0.0, now = from_seconds;

    while (now < to_seconds) {
        double next = to_seconds;

        for (size_t i = 0; i < clock->faults->count; i++) {
            const struct pb_sim_fault *fault = &clock->faults->list[i];

            if (fault->kind == PB_SIM_FAULT_THROTTLE && fault->seconds > now &&
                fault->seconds < next)
                next = fault->seconds;
        }
        cycles += (next - now) * 1e6 * pb_sim_clock_mhz(clock, now);
        now = next;
    }
    return cycles;
}

double pb_sim_clock_throttled_seconds(const struct pb_sim_clock *clock, double seconds)
{
    double longest = 0.0;

    for (size_t i = 0; i < clock->faults->count; i++) {
        const struct pb_sim_fault *fault = &clock->faults->list[i];

        if (has_set_in(fault, seconds))
            longest = fmax(longest, seconds - fault->seconds);
    }
    return longest;
}

bool pb_sim_clock_is_throttled(const struct pb_sim_clock *clock, double seconds)
{
    for (size_t i = 0; i < clock->faults->count; i++)
        if (has_set_in(&clock->faults->list[i], seconds))
            return true;
    return false;
}
