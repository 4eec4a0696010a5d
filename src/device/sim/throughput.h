/*
 * How fast a copy kernel runs (M16 5.1): Little's law up to the bandwidth of DRAM.
 */
#ifndef PB_DEVICE_SIM_THROUGHPUT_H
#define PB_DEVICE_SIM_THROUGHPUT_H

#include "device/device.h"
#include "device/sim/profile.h"

/*
 * Seconds that all repeats take.
 *
 * bandwidth_bytes_per_s  the most that DRAM moves, read and written bytes together
 * latency_s              of one load from DRAM
 *
 * CTAs fill the SMs in waves, limited by threads and CTAs per SM; a wave of w warps has
 * w * 32 * ilp * word_bytes bytes in flight. Throughput rises with them, at first in proportion,
 * and reaches the bandwidth exactly at twice what Little's law asks for.
 */
double pb_sim_stream_seconds(const struct pb_sim_profile *profile, const struct pb_stream *stream,
                             double bandwidth_bytes_per_s, double latency_s);

#endif
