/* Clocks of the host. */
#include "core/time.h"

#include <time.h>

static double read_clock(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double pb_time_monotonic_seconds(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

double pb_time_unix_seconds(void)
{
    return read_clock(CLOCK_REALTIME);
}

void pb_time_utc(char utc_out[PB_UTC_LENGTH])
{
    time_t now = time(NULL);
    struct tm calendar;

    gmtime_r(&now, &calendar);
    strftime(utc_out, PB_UTC_LENGTH, "%Y-%m-%dT%H:%M:%SZ", &calendar);
}

void pb_time_sleep_seconds(double seconds)
{
    struct timespec pause = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};

    nanosleep(&pause, NULL);
}
