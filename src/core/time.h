/* Clocks of the host. */
#ifndef PB_CORE_TIME_H
#define PB_CORE_TIME_H

enum { PB_UTC_LENGTH = 24 };

/* Seconds of a clock that never jumps; only differences mean anything. */
double pb_time_monotonic_seconds(void);

/* Seconds since 1970-01-01T00:00:00Z. */
double pb_time_unix_seconds(void);

/* Now, as "2026-11-20T10:09:00Z". */
void pb_time_utc(char utc_out[PB_UTC_LENGTH]);

/* Sleeps; returns early when a signal arrives. */
void pb_time_sleep_seconds(double seconds);

#endif
