/* Private to the battery: one stream over DRAM, as global.c and sustain.c take it. */
#ifndef PB_BATTERY_STREAM_H
#define PB_BATTERY_STREAM_H

#include "battery/battery.h"

/* Bytes of an array far larger than L2: a multiple of 1 MiB, at most a quarter of what is free. */
uint64_t pb_stream_bytes(const struct pb_session *session);

/*
 * Takes the stream, with more passes where it is too short to be timed well. Wrong words are
 * counted in the recording's message.
 */
enum pb_status pb_stream_take(struct pb_session *session, const struct pb_stream *stream,
                              struct pb_recording *recording, double *bytes_per_s_out,
                              struct pb_error *err);

#endif
