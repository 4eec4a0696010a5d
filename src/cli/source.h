/* The devices of a fleet file, and the recordings of one as the analysis loads them. */
#ifndef PB_CLI_SOURCE_H
#define PB_CLI_SOURCE_H

#include <stdbool.h>

#include "h5schema/file.h"

/* Ranks and devices of a fleet file: rows of /fleet, then one for each device without a row. */
struct pb_fleet_list {
    struct pb_member *members;
    size_t member_count;
    struct pb_key *keys; /* devices that the file has, sorted */
    size_t key_count;
};

/* pb_fleet_list_clear() it, on failure too. PB_INVALID: there is neither rank nor device. */
enum pb_status pb_fleet_list_read(struct pb_reader *reader, const char *path,
                                  struct pb_fleet_list *list_out, struct pb_error *err);
void pb_fleet_list_clear(struct pb_fleet_list *list);

/* Has the file a device of that key? */
bool pb_fleet_list_has(const struct pb_fleet_list *list, const char *key);

enum { PB_UNREADABLE_MAX = 8 };

/* A test as it was read. */
struct pb_source_test {
    char name[PB_KEY_LENGTH];
    struct pb_recording recording;
};

/* Tests of one device, each of which is read once. */
struct pb_device_source {
    struct pb_reader *reader;
    const char *key;
    struct pb_source_test *tests;
    size_t test_count;
    char unreadable[PB_UNREADABLE_MAX][PB_NAME_LENGTH]; /* tests that were reported */
    size_t unreadable_count;
};

/*
 * pb_recordings.load over a struct pb_device_source; errors are those of pb_reader_recording(). A
 * test that is there but cannot be read is reported on standard error, once, and at most
 * PB_UNREADABLE_MAX of them: to the analysis it is as one that was not recorded.
 */
enum pb_status pb_device_source_load(void *source, const char *test,
                                     struct pb_recording *recording_out, struct pb_error *err);

/* Frees the recordings; the reader stays open. */
void pb_device_source_clear(struct pb_device_source *source);

#endif
