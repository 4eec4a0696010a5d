/*
 * How long machine code runs on without the answer of a load: 16-byte instructions, sm_75 and
 * later.
 *
 * Instructions issue in order. A load names a scoreboard, a later instruction waits until all loads
 * of that scoreboard have been answered; in between the warp goes on. The fields were found in code
 * compiled for sm_75 to sm_120: bits 110 to 112 the scoreboard (7: none), 116 to 121 the mask of
 * those waited for. Asynchronous copies are collected by LDGDEPBAR and waited for by DEPBAR.
 */
#ifndef PB_TRACE_SCOREBOARD_H
#define PB_TRACE_SCOREBOARD_H

#include <stdint.h>

#define PB_SCOREBOARD_NEVER UINT64_MAX

/*
 * The offset of the first instruction behind the one at `offset`, in the order of the code, that
 * waits for its answer. PB_SCOREBOARD_NEVER: none does. 0: it has no scoreboard.
 *
 * code[bytes] is one function, offset < bytes and a multiple of 16
 */
uint64_t pb_scoreboard_wait(const unsigned char *code, uint64_t bytes, uint64_t offset);

#endif
