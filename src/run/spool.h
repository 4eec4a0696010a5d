/*
 * The spool: what one rank has measured, on its own disk, as it happens.
 *
 * A spool folder holds one file per rank, rank-00000.spool and so on: frames one after the other,
 * first a PLAN, then DEVICE and TEST frames, at last a MEMBER. Every finished test is on the disk
 * before the next one begins, so a killed job loses at most the tests it was in.
 *
 * A file that ends inside a frame is normal after a kill: everything before it counts. A resumed
 * run appends a PLAN of its own to what is there.
 */
#ifndef PB_RUN_SPOOL_H
#define PB_RUN_SPOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "run/frame.h"

struct pb_spool;

/* How a spool file ended. */
struct pb_spool_end {
    uint64_t frame_count;   /* whole frames */
    uint64_t damaged_count; /* frames whose content was damaged, skipped */
    uint64_t end_bytes;     /* the last whole frame's end */
    uint64_t file_bytes;
    char reason[PB_ERROR_LENGTH]; /* why nothing after end_bytes counts; empty: nothing is there */
};

/* "DIR/rank-00007.spool"; PB_INVALID: longer than a path may be. */
enum pb_status pb_spool_path(const char *dir, int64_t rank, char *path_out, size_t size,
                             struct pb_error *err);

/*
 * Opens the rank's file for appending; folder and file are made where they are missing. append:
 * keep what is there, less a torn end; else PB_EXISTS when there is a file.
 * PB_INVALID: it cannot be made there, or what is there is no spool.
 */
enum pb_status pb_spool_open(const char *dir, int64_t rank, bool append,
                             struct pb_spool **spool_out, struct pb_error *err);

/* Appends a packed frame; after `sync`, it is on the disk. On failure the file is as before. */
enum pb_status pb_spool_append(struct pb_spool *spool, const void *bytes, size_t size, bool sync,
                               struct pb_error *err);

void pb_spool_close(struct pb_spool *spool); /* NULL is allowed */

/* Who gets the frames of a spool; bytes[size] is the frame packed. All valid during the call. */
struct pb_spool_visitor {
    enum pb_status (*visit)(void *context, const struct pb_frame *frame, const void *bytes,
                            size_t size, struct pb_error *err);
    void *context;
};

/*
 * Shows every whole frame, in order, until the visitor fails or the file ends.
 * PB_IO: cannot be read. PB_INVALID: there is not one whole frame in it.
 */
enum pb_status pb_spool_read(const char *path, const struct pb_spool_visitor *visitor,
                             struct pb_spool_end *end_out, struct pb_error *err);

/* The spool files of a folder, by name. *paths_out: *count_out strings, pb_spool_free_list(). */
enum pb_status pb_spool_list(const char *dir, char ***paths_out, size_t *count_out,
                             struct pb_error *err);
void pb_spool_free_list(char **paths, size_t count);

/* Deletes the rank's file, and the folder when it is empty. */
void pb_spool_remove(const char *dir, int64_t rank);

#endif
