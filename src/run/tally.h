/* What became of a device's tests, and the row of /fleet that follows from it. */
#ifndef PB_RUN_TALLY_H
#define PB_RUN_TALLY_H

#include "core/record.h"
#include "h5schema/rows.h"

/* Start from all zero. */
struct pb_tally {
    uint64_t counts[PB_TEST_MISSING + 1]; /* by enum pb_outcome */
    enum pb_outcome worst;
    char worst_test[PB_NAME_LENGTH];
    char worst_message[PB_MESSAGE_LENGTH];
};

/* Counts a test; each test once. */
void pb_tally_add(struct pb_tally *tally, const char *test, enum pb_outcome outcome,
                  const char *message);

/*
 * Fills status, tests_ok, tests_failed and message of a measured device's row.
 *
 * A test that the device cannot do counts on neither side. The status is the worst thing that
 * happened: lost, hung, crashed, else failed (no test is ok), partial, or ok.
 */
void pb_tally_fill(const struct pb_tally *tally, struct pb_member *member);

/* Fills the row of a rank that has nothing to measure. */
void pb_member_set(struct pb_member *member, enum pb_member_status status, const char *message);

/* What a device that cannot be opened with this status is called. */
enum pb_member_status pb_member_status_of(enum pb_status status);

#endif
