/* Recordings of one device of a fleet file, as the analysis asks for them. */
#ifndef PB_CLI_SOURCE_H
#define PB_CLI_SOURCE_H

#include "h5schema/file.h"

enum { PB_UNREADABLE_MAX = 8 };

struct pb_device_source {
    struct pb_reader *reader;
    const char *key;
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

#endif
