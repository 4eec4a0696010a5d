/*
 * Files that appear whole: their names while they are written, their way into place, and what is
 * left of those whose writer was killed.
 *
 * NAME is written as .NAME.partial-BOOT-SPACE-PID in its folder: the kernel's boot and the writer's
 * PID namespace say where that PID means anything.
 *
 * Limit: a folder may be shared by hosts. What another host, another container, or this one before
 * it was booted has left looks like a file that is being written there, and stays.
 */
#ifndef PB_CORE_PARTIAL_H
#define PB_CORE_PARTIAL_H

#include <stddef.h>

#include "core/error.h"

/* The name by which this process writes path. PB_INVALID: path names no file, or is too long. */
enum pb_status pb_partial_name(const char *path, char *name_out, size_t size, struct pb_error *err);

/*
 * Removes what processes that have ended here left of path, and this one under its own PID: call it
 * before the first byte is written. What cannot be removed stays.
 */
void pb_partial_sweep(const char *path);

/*
 * Gives the file `name`, which is written and closed or flushed, its own name: path. What is on the
 * disk then is all of it, whatever happens to the machine. PB_IO: the old file, if any, is still
 * there, and `name` is left to the caller.
 */
enum pb_status pb_partial_place(const char *name, const char *path, struct pb_error *err);

#endif
