/* Recordings of one device of a fleet file; see source.h. */
#include "cli/source.h"

enum pb_status pb_device_source_load(void *source, const char *test,
                                     struct pb_recording *recording_out, struct pb_error *err)
{
    const struct pb_device_source *device = source;

    return pb_reader_recording(device->reader, device->key, test, recording_out, err);
}
