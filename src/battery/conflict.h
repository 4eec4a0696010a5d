/* Private to the battery: bank conflicts taken together and filed as points. */
#ifndef PB_BATTERY_CONFLICT_H
#define PB_BATTERY_CONFLICT_H

#include "battery/battery.h"

/*
 * Takes conflicts[count], each of as many loads, at the same time where the device does that, and
 * appends their points in order. On an error nothing is appended.
 */
enum pb_status pb_conflicts_take(struct pb_session *session, const struct pb_conflict *conflicts,
                                 size_t count, const char *phase, uint64_t repeat,
                                 struct pb_recording *recording, struct pb_error *err);

#endif
