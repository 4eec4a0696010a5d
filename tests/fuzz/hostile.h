/*
 * Fleet files that somebody made to do harm: each is a whole small fleet file in which one thing is
 * as no plumb program writes it. What names another file names "victim.h5", a fleet file, or
 * "fifo", both in the folder in which a program is started.
 */
#ifndef PB_TESTS_FUZZ_HOSTILE_H
#define PB_TESTS_FUZZ_HOSTILE_H

#include <hdf5.h>
#include <stddef.h>

struct hostile_file {
    const char *name;
    void (*change)(hid_t file); /* the small fleet file, open for writing */
    const char *refusal;        /* part of what plumb-check says of it */
};

extern const struct hostile_file hostile_files[];
extern const size_t hostile_file_count;

/* Writes one of them; ends the program where that fails. */
void hostile_write(const struct hostile_file *hostile, const char *path);

#endif
