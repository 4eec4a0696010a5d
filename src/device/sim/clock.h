/*
 * The SM clock of a simulated device over its own time, which only its measurements let pass: so a
 * device that throttles after 10 s does so at the same load in every run.
 */
#ifndef PB_DEVICE_SIM_CLOCK_H
#define PB_DEVICE_SIM_CLOCK_H

#include "device/sim/fault.h"

struct pb_sim_clock {
    double nominal_mhz;
    const struct pb_sim_faults *faults; /* clock=F, throttle=F@SECONDS */
};

/* MHz at this moment. */
double pb_sim_clock_mhz(const struct pb_sim_clock *clock, double seconds);

/* Cycles that pass between two moments. */
double pb_sim_clock_cycles(const struct pb_sim_clock *clock, double from_seconds,
                           double to_seconds);

/* For how long throttle faults have been in force; 0: none has set in. */
double pb_sim_clock_throttled_seconds(const struct pb_sim_clock *clock, double seconds);

/* True when a throttle fault has set in. */
bool pb_sim_clock_is_throttled(const struct pb_sim_clock *clock, double seconds);

#endif
