/*
 * The ledger of a run: what is known of each test of each device, whoever said so: the fleet file
 * and the spools of earlier runs, the probe, or the end of the run. Resuming, merging and counting
 * all use it, so that one rule (pb_test_end_replaces()) decides between two outcomes of a test, and
 * one place says which row of /fleet follows from the tests of a device.
 */
#ifndef PB_RUN_LEDGER_H
#define PB_RUN_LEDGER_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "run/messages.h"
#include "run/spool.h"

/* One test. A plain block of bytes: ranks send each other arrays of these. */
struct pb_ledger_entry {
    char key[PB_KEY_LENGTH];
    char uuid[PB_TEXT_LENGTH];
    char model[PB_TEXT_LENGTH]; /* empty: not known */
    char test[PB_NAME_LENGTH];
    char message[PB_MESSAGE_LENGTH];
    struct pb_test_end end;
};

/* Start from all zero. */
struct pb_ledger {
    struct pb_ledger_entry *items;
    size_t count, capacity;
};

void pb_ledger_clear(struct pb_ledger *ledger);

/* An entry for a test of the device of this row. */
struct pb_ledger_entry pb_ledger_entry_of(const struct pb_member *row, const char *test,
                                          struct pb_test_end end, const char *message);

/* Adds an entry as it is, beside those there are: to be sent to whom it concerns. */
enum pb_status pb_ledger_append(struct pb_ledger *ledger, const struct pb_ledger_entry *entry,
                                struct pb_error *err);

/* Records an outcome: adds it, or replaces that of the same test where the rule says so. */
enum pb_status pb_ledger_record(struct pb_ledger *ledger, const struct pb_ledger_entry *entry,
                                struct pb_error *err);

/*
 * Appends what a fleet file, or the sound frames of a spool file, hold; PB_OK when there is none.
 * A test whose recording cannot be read is none: it is to be measured again.
 */
enum pb_status pb_ledger_add_fleet(struct pb_ledger *ledger, const char *path,
                                   struct pb_error *err);
enum pb_status pb_ledger_add_spool(struct pb_ledger *ledger, const struct pb_spool_file *file,
                                   struct pb_error *err);

/* NULL: nothing is known of it. */
const struct pb_ledger_entry *pb_ledger_find(const struct pb_ledger *ledger, const char *key,
                                             const char *uuid, const char *test);

/*
 * Is the test ok, so that it need not be measured again? devices: so many of the node run it at the
 * same time now, if they do; with fewer it was another test.
 */
bool pb_ledger_is_done(const struct pb_ledger *ledger, const char *key, const char *uuid,
                       const char *test, int64_t devices);

/*
 * Fills status, tests_ok, tests_failed and message of a measured device's row from its tests, of
 * which the ledger has recorded (not appended) each once.
 *
 * A test that the device cannot do counts on neither side. The status is the worst thing that
 * happened: lost, hung, crashed, else failed (no test is ok), partial, or ok.
 */
void pb_ledger_fill_row(const struct pb_ledger *ledger, struct pb_member *row);

/* Fills the row of a rank that has nothing to measure. */
void pb_member_set(struct pb_member *member, enum pb_member_status status, const char *message);

/* What a device that cannot be opened with this status is called. */
enum pb_member_status pb_member_status_of(enum pb_status status);

#endif
