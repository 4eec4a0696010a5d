/* Words of the /fleet table. */
#include "h5schema/rows.h"

const char *pb_member_status_name(enum pb_member_status status)
{
    static const char *const names[] = {
        [PB_MEMBER_OK] = "ok",           [PB_MEMBER_PARTIAL] = "partial",
        [PB_MEMBER_FAILED] = "failed",   [PB_MEMBER_HUNG] = "hung",
        [PB_MEMBER_CRASHED] = "crashed", [PB_MEMBER_LOST] = "lost",
        [PB_MEMBER_ABSENT] = "absent",   [PB_MEMBER_DUPLICATE] = "duplicate",
    };

    return names[status];
}
