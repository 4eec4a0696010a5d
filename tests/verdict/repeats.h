/*
 * Feature tables of real GPUs that were measured again and again, as small text files: what
 * plumb-outliers reads out of a fleet file, without the accesses it was read from.
 *
 * One line for each device of each run, then one for each number, with a word for each of those
 * devices: its value and noise, or "-". A test of a later method is "TEST@VERSION". `write_repeats
 * OUT FILE.h5...` writes such a file.
 */
#ifndef PB_TESTS_VERDICT_REPEATS_H
#define PB_TESTS_VERDICT_REPEATS_H

#include <stdio.h>

#include "analysis/verdict/features.h"

enum { REPEATS_RUNS_MAX = 16 };

struct repeats_run {
    char name[PB_NAME_LENGTH];
    struct pb_features features;
};

struct repeats {
    struct repeats_run runs[REPEATS_RUNS_MAX];
    size_t count;
};

/* Whatever goes wrong is said on stderr and ends the program. */
void repeats_read(const char *path, struct repeats *repeats_out);
void repeats_write(const struct repeats *repeats, FILE *file);
void repeats_clear(struct repeats *repeats);

/* Adds all devices of a run to a feature table, as if they were measured there; `alias`: with UUIDs
 * that begin so, as if they were others; NULL: as they are. */
void repeats_add(const struct pb_features *run, const char *alias, struct pb_features *features);

#endif
