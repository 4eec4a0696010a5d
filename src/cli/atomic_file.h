/*
 * A file that a program leaves for others: written beside its place and renamed into it, so that
 * readers see the old text or the new one, never half of it.
 *
 * Until it is committed nothing of the old file is touched. "-" (standard output) and what is no
 * regular file get the whole text at the end.
 */
#ifndef PB_CLI_ATOMIC_FILE_H
#define PB_CLI_ATOMIC_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "core/error.h"

struct pb_atomic_file;

/* What such a file holds, so that it is known again before it is replaced. */
struct pb_atomic_file_kind {
    const char *name;    /* "a Slurm hostlist", for messages */
    const char *opening; /* what each begins with; NULL: is_one() decides */
    bool (*is_one)(const char *head, size_t length); /* of the old text's first bytes */
};

enum { PB_ATOMIC_FILE_HEAD = 4096 }; /* bytes of an old file that is_one() gets */

/* Is it the first bytes of a text of that kind? */
bool pb_atomic_file_is_of_kind(const struct pb_atomic_file_kind *kind, const char *head,
                               size_t length);

/* PB_EXISTS: path holds something of another kind. PB_IO: its folder cannot be written. */
enum pb_status pb_atomic_file_open(const char *path, const struct pb_atomic_file_kind *kind,
                                   struct pb_atomic_file **file_out, struct pb_error *err);

/* Where to write; a failed write is noticed when the file is closed or committed. */
FILE *pb_atomic_file_stream(struct pb_atomic_file *output);

/* Writes out what is buffered: after this only the renaming can go wrong. PB_IO: a full disk. */
enum pb_status pb_atomic_file_flush(struct pb_atomic_file *output, struct pb_error *err);

/* Gives the text its name. The file is gone either way; NULL is allowed. */
enum pb_status pb_atomic_file_commit(struct pb_atomic_file *output, struct pb_error *err);

/* Throws it away; NULL is allowed. */
void pb_atomic_file_abandon(struct pb_atomic_file *output);

#endif
