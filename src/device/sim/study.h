/*
 * What F13's kernels cost (3.4.2 to 3.4.4), in cycles of one SM; the figures of a profile's
 * "study".
 *
 * SYNC      1024 writes that leave one after the other, and the barriers between them. A further
 *           warp adds warp_share to every write.
 * COALESCE, STRIDE, MISALIGN
 *           1024 reads, each of which all threads wait for. The lanes of a warp go to memory in
 *           groups of group_lanes. A group requests each distinct line once, one line after the
 *           other: it is back after the slowest of them, and line_cycles for each further line, or
 *           miss_line_cycles when its SM's cache does not hold it. Groups wait at the same time, so
 *           the slowest counts; hence the plateau at 16 threads for groups of 16 and at 32 for
 *           groups of 32 (F13 figures 11 to 14), until the lines of all threads overflow a cache.
 *           Read i of thread t is at
 *             COALESCE  t * parameter + 4 * i
 *             STRIDE    4 * t + parameter * i
 *             MISALIGN  4 * t + parameter + 4 * threads * i
 *           in an array that L2 has seen. Reads after the first 256 are taken to go on as the
 *           second 128 did.
 * SPILL     4096 times a read and a write, each to a variable picked at random. Of V variables
 *           the thread keeps `variables` in registers: those cost move_cycles, and the share of
 *           the others spilled_cycles on top. A further warp adds warp_share.
 */
#ifndef PB_DEVICE_SIM_STUDY_H
#define PB_DEVICE_SIM_STUDY_H

#include "device/device.h"
#include "device/sim/profile.h"

enum { PB_SIM_STUDY_ACCESSES = 1024, PB_SIM_STUDY_MOVES = 4096 };

/* Cycles of a SYNC or a SPILL study; memory has no part in them. */
double pb_sim_study_cycles(const struct pb_sim_study_spec *spec, const struct pb_study *study);

#endif
