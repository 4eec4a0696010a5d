/*
 * How fast copy kernels run (M16 5.1 and 6.1): Little's law up to the bandwidth of DRAM, or of an
 * SM's shared memory.
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
 * w * 32 * ilp * word_bytes bytes outstanding. Throughput rises with them, at first in proportion,
 * and reaches the bandwidth exactly at twice what Little's law requests.
 */
double pb_sim_stream_seconds(const struct pb_sim_profile *profile, const struct pb_stream *stream,
                             double bandwidth_bytes_per_s, double latency_s);

/*
 * Bytes per cycle, read and written together, that copies within the shared memory of one SM reach.
 * All warps of the SM have ilp words of 4 bytes each outstanding over the shared latency; the same
 * curve as above leads to the profile's achieved_bytes_per_cycle and stays exactly there.
 */
double pb_sim_shared_bytes_per_cycle(const struct pb_sim_profile *profile,
                                     const struct pb_shared_stream *stream);

#endif
