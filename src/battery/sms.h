/* Private to the battery: the same done on one SM after the other. */
#ifndef PB_BATTERY_SMS_H
#define PB_BATTERY_SMS_H

#include "battery/battery.h"

/* What is done on an SM; PB_UNSUPPORTED: it cannot be chosen, or the device cannot do it at all. */
typedef enum pb_status pb_sms_take(struct pb_session *session, uint32_t sm, const void *context,
                                   struct pb_recording *recording, struct pb_error *err);

/*
 * On every SM that the device lets us choose (not all under MIG, or beside another process); the
 * recording's message counts the others. PB_UNSUPPORTED: on none, err says why of the last one.
 */
enum pb_status pb_sms_each(struct pb_session *session, pb_sms_take *take, const void *context,
                           struct pb_recording *recording, struct pb_error *err);

#endif
