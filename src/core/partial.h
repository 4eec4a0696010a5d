/*
 * Files that appear whole: where they are written, their way into place, and what is left of those
 * whose writer was killed. Every file that a program leaves for others goes this way.
 *
 * NAME is written as .NAME.partial-BOOT-SPACE-PID in its folder: the kernel's boot and the writer's
 * PID namespace say where that PID means anything. It is created exclusively and no link is
 * followed, so that no user who may write in the folder can have another file truncated. A path
 * that is a symbolic link stays one: the file that it names is replaced.
 *
 * Limit: a folder may be shared by hosts. What another host, another container, or this one before
 * it was booted has left looks like a file that is being written there, and stays.
 */
#ifndef PB_CORE_PARTIAL_H
#define PB_CORE_PARTIAL_H

#include <limits.h>
#include <stddef.h>

#include "core/error.h"

struct pb_partial {
    char target[PATH_MAX]; /* the final place: symbolic links are resolved */
    char name[PATH_MAX];   /* until then; "": there is nothing to place or discard */
};

/*
 * Finds the places for writing `path`, and removes what processes that have ended here left of it,
 * and this one under its own PID. Creates nothing: that is for open() with O_EXCL, or
 * pb_partial_create(). PB_INVALID: path names no file, is too long, or is a link to nothing.
 */
enum pb_status pb_partial_prepare(const char *path, struct pb_partial *partial_out,
                                  struct pb_error *err);

/* Creates the file, exclusively, for writing: a descriptor, or -1 and errno. */
int pb_partial_create(const struct pb_partial *partial, unsigned mode);

/* Creates the file and removes it again. PB_INVALID: its folder cannot be written. */
enum pb_status pb_partial_try(struct pb_partial *partial, struct pb_error *err);

/*
 * Gives the file, which is written and closed or flushed, its own name. What is on the disk then is
 * all of it, whatever happens to the machine. PB_IO: the old file, if any, is still there.
 */
enum pb_status pb_partial_place(struct pb_partial *partial, struct pb_error *err);

/* Removes what is not in place; nothing where it is. */
void pb_partial_discard(struct pb_partial *partial);

/* "BOOT-SPACE-" of this process: the processes among which a PID names one. Empty: not known. */
enum { PB_WHERE_LENGTH = 64 };
void pb_partial_where(char where_out[PB_WHERE_LENGTH]);

/* How much of path is its folder, with the slash. */
int pb_folder_length(const char *path);

/* Puts a folder's names on the disk: that of path. What cannot be synced is left as it is. */
void pb_folder_sync(const char *path);

#endif
