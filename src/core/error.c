/* Formatting of error messages; see error.h for the rule. */
#include "core/error.h"

#include <stdio.h>
#include <string.h>

#include "core/text.h"

#undef pb_fail /* what the analyser takes it for */

enum pb_status pb_fail(struct pb_error *err, enum pb_status status, const char *format, ...)
{
    char words[PB_ERROR_LENGTH];
    va_list args;

    if (err == NULL)
        return status;
    err->status = status;
    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    PB_TEXT_ESCAPE(err->message, words);
    return status;
}

enum pb_status pb_error_prefix(struct pb_error *err, const char *format, ...)
{
    char old[PB_ERROR_LENGTH], prefix[PB_ERROR_LENGTH];
    va_list args;
    size_t length;

    if (err == NULL)
        return PB_IO;
    memcpy(old, err->message, sizeof(old));
    va_start(args, format);
    vsnprintf(prefix, sizeof(prefix), format, args);
    va_end(args);
    PB_TEXT_ESCAPE(err->message, prefix);
    length = strlen(err->message);
    snprintf(err->message + length, sizeof(err->message) - length, ": %s", old);
    return err->status;
}

const char *pb_status_name(enum pb_status status)
{
    static const char *const names[] = {
        [PB_OK] = "ok",
        [PB_INVALID] = "invalid",
        [PB_NOT_FOUND] = "not found",
        [PB_NO_MEMORY] = "out of memory",
        [PB_IO] = "input/output",
        [PB_EXISTS] = "exists",
        [PB_UNSUPPORTED] = "unsupported",
        [PB_DEVICE] = "device",
        [PB_LOST] = "lost",
        [PB_CORRUPT] = "corrupt",
    };

    if ((size_t)status >= sizeof(names) / sizeof(names[0]))
        return "unknown";
    return names[status];
}
