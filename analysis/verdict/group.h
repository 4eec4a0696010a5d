/*
 * Groups: which devices ought to be alike.
 *
 * Peers are devices of one model, with the same memory (in whole GiB) and MIG mode, or MIG
 * instances of one profile on one model. Splitting finer leaves no device with peers, so any other
 * attribute sets a group apart only where at least PB_GROUP_MIN_PEERS devices share each of two
 * values; the few that have a third value, or an unknown one, stay with the largest part. That they
 * differ is a finding of its own, for which pb_group_usual() shows what is usual.
 *
 * Devices without a model, and those whose UUID an earlier row of the feature table has, are in no
 * group.
 */
#ifndef PB_ANALYSIS_VERDICT_GROUP_H
#define PB_ANALYSIS_VERDICT_GROUP_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/verdict/score.h"

enum pb_attribute {
    PB_ATTRIBUTE_SM_COUNT,
    PB_ATTRIBUTE_ECC,
    PB_ATTRIBUTE_POWER_LIMIT,
    PB_ATTRIBUTE_DRIVER,
    PB_ATTRIBUTE_VBIOS,
    PB_ATTRIBUTE_BOARD_PART,
    PB_ATTRIBUTE_SERIAL_RANGE, /* boards of one lot: no configuration, so it sets no group apart */
    PB_ATTRIBUTE_COUNT,
};

/* Can an owner change it? Floor-sweeping, the board and its lot are no fault of a device. */
bool pb_attribute_is_setting(enum pb_attribute attribute);

const char *pb_attribute_name(enum pb_attribute attribute); /* "ECC", "driver", … */

/* The value as people read it ("on", "700 W", "580.159"); empty: not known. */
void pb_attribute_text(const struct pb_device_info *info, enum pb_attribute attribute,
                       char text_out[PB_TEXT_LENGTH]);

/* What most members of a group have. */
struct pb_usual {
    char text[PB_ATTRIBUTE_COUNT][PB_TEXT_LENGTH]; /* empty: no value is shared by more than half */
    size_t count[PB_ATTRIBUTE_COUNT];              /* members that have it */
    size_t known[PB_ATTRIBUTE_COUNT];              /* members whose value is known */
};

/* Compare a member with usual_out by pb_attribute_text(); linear in the members. */
void pb_group_usual(const struct pb_features *features, const struct pb_group *group,
                    struct pb_usual *usual_out);

/*
 * Sorts the devices of a feature table into groups, and those of a baseline (NULL: none) beside
 * them.
 *
 * A device of the baseline counts once, by its last row, and not at all when it is in the feature
 * table: it would be its own peer. Groups without a device of the feature table are left out.
 *
 * groups_out, count_out  for pb_groups_clear(); in order of their names
 * group_of_out           per device of the feature table; *count_out: none
 *
 * PB_NO_MEMORY is the only error.
 */
enum pb_status pb_groups_make(const struct pb_features *features,
                              const struct pb_features *baseline, struct pb_group **groups_out,
                              size_t *count_out, size_t *group_of_out, struct pb_error *err);

void pb_groups_clear(struct pb_group *groups, size_t count); /* NULL is allowed */

#endif
