/*
 * Private to h5schema/: results written beside the raw data of a finished fleet file.
 *
 * The file is copied, the copy is extended and renamed into place: whoever reads sees the old file
 * or the new one, and raw data is never at risk.
 */
#ifndef PB_H5SCHEMA_EXTEND_H
#define PB_H5SCHEMA_EXTEND_H

#include <hdf5.h>

#include "core/error.h"

/*
 * Calls extend() with the copy's /analysis group, made when it is not there; then, with the copy
 * written and opened again, finish() with the copy's name. NULL: nothing is left to do.
 * PB_INVALID: not a fleet file. PB_IO: it cannot be read, copied or replaced.
 */
enum pb_status pb_file_extend(
    const char *path, enum pb_status (*extend)(hid_t analysis, void *context, struct pb_error *err),
    enum pb_status (*finish)(hid_t analysis, const char *copy, void *context, struct pb_error *err),
    void *context, struct pb_error *err);

struct pb_partial;

/*
 * Whether what was written may get its final name. is_checked: the data of its tests was, before.
 * PB_IO: no; err names the first violation.
 */
enum pb_status pb_partial_validate(const struct pb_partial *partial, bool is_checked,
                                   struct pb_error *err);

#endif
