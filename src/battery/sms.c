/* One SM after the other; see sms.h. */
#include "battery/sms.h"

#include <stdio.h>

enum pb_status pb_sms_each(struct pb_session *session, pb_sms_take *take, const void *context,
                           struct pb_recording *recording, struct pb_error *err)
{
    uint32_t skipped = 0;

    for (uint32_t sm = 0; sm < session->info.sm_count; sm++) {
        enum pb_status status = take(session, sm, context, recording, err);

        skipped += status == PB_UNSUPPORTED;
        if (status != PB_OK && status != PB_UNSUPPORTED)
            return status;
    }
    recording->sm_id = -1; /* all of them */
    if (skipped == session->info.sm_count)
        return PB_UNSUPPORTED;
    if (skipped > 0)
        snprintf(recording->message, sizeof(recording->message), "%u of %u SMs cannot be chosen",
                 skipped, session->info.sm_count);
    return PB_OK;
}
