/*
 * The spool: what one rank has measured, on its own disk, as it happens.
 *
 * A spool folder holds files of frames, one for each rank and run: rank-00000.spool, and of a run
 * that resumes rank-00000.e2.spool, with the epoch of that run. A file begins with a PLAN and,
 * where earlier files are there, a SEAL; then come DEVICE and TEST frames, at last a MEMBER. Every
 * finished test is on the disk before the next one begins, so a killed job loses at most the tests
 * it was in.
 *
 * A file has one writer and is never changed by another run: a resumed run reads it and writes one
 * of its own. What the writer of an earlier epoch adds after that is refused: the SEAL says how
 * much of its file counts, and every frame carries the epoch of its writer.
 *
 * Damage costs what it hits: after a frame that is not sound, reading goes on at the next one that
 * is, wherever it begins. A file that ends inside a frame is normal after a kill.
 */
#ifndef PB_RUN_SPOOL_H
#define PB_RUN_SPOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "run/frame.h"

struct pb_spool;

/* A spool file that is there. */
struct pb_spool_file {
    char *path;
    int64_t rank;         /* -1: its name does not say */
    uint32_t epoch;       /* 0: its name does not say */
    uint64_t limit_bytes; /* as a later run has sealed it; UINT64_MAX: all of it counts */
    bool is_superseded;   /* the folder has files of a later epoch, which say what to expect */
};

/* Start from all zero. */
struct pb_spool_files {
    struct pb_spool_file *items;
    size_t count;
};

/* How a spool file ended. */
struct pb_spool_end {
    uint64_t frame_count;   /* sound frames */
    uint64_t damaged_count; /* places where bytes that are no sound frame were skipped */
    uint64_t late_count;    /* sound frames of another epoch, refused */
    uint64_t late_bytes;    /* behind the seal, refused */
    uint64_t end_bytes;     /* the last sound frame's end */
    uint64_t file_bytes;
    char reason[PB_ERROR_LENGTH]; /* why nothing after end_bytes counts; empty: nothing is there */
};

/* "DIR/rank-00007.spool", "DIR/rank-00007.e2.spool"; PB_INVALID: longer than a path may be. */
enum pb_status pb_spool_path(const char *dir, int64_t rank, uint32_t epoch, char *path_out,
                             size_t size, struct pb_error *err);

/*
 * Creates the rank's file of this epoch, exclusively, and the folder where it is missing.
 * PB_EXISTS: there is such a file. PB_INVALID: it cannot be created there.
 */
enum pb_status pb_spool_open(const char *dir, int64_t rank, uint32_t epoch,
                             struct pb_spool **spool_out, struct pb_error *err);

/*
 * Appends a packed frame; after `sync`, it is on the disk, and with it all before. What cannot be
 * written is kept in memory, up to PB_SPOOL_WAITING_MAX bytes, and tried again before the next
 * frame. PB_IO: something is not on the disk; err says why.
 */
enum pb_status pb_spool_append(struct pb_spool *spool, const void *bytes, size_t size, bool sync,
                               struct pb_error *err);
enum { PB_SPOOL_WAITING_MAX = 64 << 20 };

/* Tries again what waits in memory. PB_IO: it still does. */
enum pb_status pb_spool_retry(struct pb_spool *spool, struct pb_error *err);

void pb_spool_close(struct pb_spool *spool); /* NULL is allowed */

/* Who gets the frames of a spool; bytes[size] is the frame packed. All valid during the call. */
struct pb_spool_visitor {
    enum pb_status (*visit)(void *context, const struct pb_frame *frame, const void *bytes,
                            size_t size, struct pb_error *err);
    void *context;
};

/*
 * Shows every sound frame, in order, until the visitor fails or the file ends; none is no error.
 * PB_IO: cannot be read.
 */
enum pb_status pb_spool_read(const struct pb_spool_file *file,
                             const struct pb_spool_visitor *visitor, struct pb_spool_end *end_out,
                             struct pb_error *err);

/* Is that the name of a spool file? */
bool pb_spool_is_name(const char *path);

/* The spool files of a folder by rank and epoch. pb_spool_files_clear() them. */
enum pb_status pb_spool_list(const char *dir, struct pb_spool_files *files_out,
                             struct pb_error *err);

/* PB_EXISTS: the folder has spool files of an earlier run; remedies: what can be done with it. */
enum pb_status pb_spool_refuse_left(const char *dir, const char *remedies, struct pb_error *err);

/*
 * Limits files as the seals say that other files among them hold. rank: only those of this rank and
 * rank 0, who look after this rank's files, are read for that; -1: all.
 */
void pb_spool_find_seals(struct pb_spool_files *files, int64_t rank);

/* One file of a folder, with its seal. PB_IO: there is no such file, or it cannot be read. */
enum pb_status pb_spool_find(const char *path, struct pb_spool_file *file_out,
                             struct pb_error *err);

void pb_spool_file_clear(struct pb_spool_file *file);
void pb_spool_files_clear(struct pb_spool_files *files); /* NULL is allowed */

/* Limits files to what is in them now, whoever still writes them. */
void pb_spool_limit(struct pb_spool_files *files);

/* The SEAL frame that says how much of these files counts: their limits. Packed. */
enum pb_status pb_spool_seal(const struct pb_spool_files *files, void **bytes_out, size_t *size_out,
                             struct pb_error *err);

/* Deletes the rank's file of this epoch, and the folder when it is empty. */
void pb_spool_remove(const char *dir, int64_t rank, uint32_t epoch);

#endif
