/* Recordings made small, and made odd. */
#ifndef PB_TESTS_FUZZ_DAMAGE_H
#define PB_TESTS_FUZZ_DAMAGE_H

#include "core/record.h"
#include "fuzz/bytes.h"

/* A part of a recording. */
struct fuzz_part {
    size_t points, accesses, length; /* at most: points, accesses of each, places of an axis */
    size_t step;                     /* every step-th point */
    size_t first;                    /* beginning here */
};

/* A deep copy of that part. Ends the program when memory is short. */
void fuzz_copy_part(const struct pb_recording *from, const struct fuzz_part *part,
                    struct pb_recording *to_out);

/* One change of anything in the recording; it stays one that a caller may pass. */
void fuzz_damage(struct pb_recording *recording, struct fuzz_bytes *bytes);

#endif
