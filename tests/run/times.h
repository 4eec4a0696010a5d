/* How long the tests of a recorded device took: for nodes of its like that are played, see play.h.
 */
#ifndef PB_TESTS_RUN_TIMES_H
#define PB_TESTS_RUN_TIMES_H

#include "run/play.h"

struct times {
    char model[PB_TEXT_LENGTH];
    const struct pb_test *tests[PLAY_TESTS_MAX + 1]; /* that were measured; ends with NULL */
    double seconds[PLAY_TESTS_MAX];                  /* of those for each peer: per peer */
    size_t member_count;                             /* of the node to be played: 1, to be set */
};

/*
 * The first device of a fleet file, its tests in the battery's order. What it could not measure
 * without other GPUs takes as long as on H200s that had some.
 */
enum pb_status times_read(const char *path, struct times *times_out, struct pb_error *err);

/* Leaves out the tests for which all GPUs use their links at once. */
void times_drop_concurrent(struct times *times);

/* Of a test on each of the node's GPUs. context: a struct times. */
double times_of(void *context, size_t member, const struct pb_test *test);

#endif
