/* Recordings of one device of a fleet file; see source.h. */
#include "cli/source.h"

#include <stdio.h>
#include <string.h>

static void report(struct pb_device_source *device, const char *test, const char *message)
{
    for (size_t i = 0; i < device->unreadable_count; i++)
        if (strncmp(device->unreadable[i], test, PB_NAME_LENGTH - 1) == 0)
            return;
    if (device->unreadable_count == PB_UNREADABLE_MAX)
        return;
    PB_TEXT_SET(device->unreadable[device->unreadable_count], test);
    device->unreadable_count++;
    fprintf(stderr, "unreadable test: %s\n", message);
}

enum pb_status pb_device_source_load(void *source, const char *test,
                                     struct pb_recording *recording_out, struct pb_error *err)
{
    struct pb_device_source *device = source;
    struct pb_error cause = PB_ERROR_INIT;
    enum pb_status status =
        pb_reader_recording(device->reader, device->key, test, recording_out, &cause);

    if (status != PB_OK && status != PB_NOT_FOUND && status != PB_NO_MEMORY)
        report(device, test, cause.message);
    return status == PB_OK ? PB_OK : pb_fail(err, status, "%s", cause.message);
}
