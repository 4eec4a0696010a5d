/* Recordings of one device of a fleet file, as the analysis asks for them. */
#ifndef PB_CLI_SOURCE_H
#define PB_CLI_SOURCE_H

#include "h5schema/file.h"

struct pb_device_source {
    struct pb_reader *reader;
    const char *key;
};

/* pb_recordings.load over a struct pb_device_source; errors are those of pb_reader_recording(). */
enum pb_status pb_device_source_load(void *source, const char *test,
                                     struct pb_recording *recording_out, struct pb_error *err);

#endif
