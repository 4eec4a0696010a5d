/*
 * Status codes and the one error message that travels with them.
 *
 * Rule: the function that first knows what went wrong writes the message with pb_fail(); every
 * caller above passes the status on untouched, or adds a place with pb_error_prefix(). Both escape
 * what they format (text.h): a message is one line that steers no terminal, whatever it quotes.
 */
#ifndef PB_CORE_ERROR_H
#define PB_CORE_ERROR_H

#include <stdarg.h>

enum pb_status {
    PB_OK = 0,
    PB_INVALID,     /* bad input from outside: exit code 2 */
    PB_NOT_FOUND,   /* what was requested is not there, or not determinable */
    PB_NO_MEMORY,   /* host or device memory */
    PB_IO,          /* file, pipe or HDF5 */
    PB_EXISTS,      /* refuses to overwrite what is not ours */
    PB_UNSUPPORTED, /* this device or build cannot do it */
    PB_DEVICE,      /* a device call failed; others may work */
    PB_LOST,        /* the device is gone; nothing will work any more */
    PB_CORRUPT,     /* a checksum or a format is wrong */
};

enum { PB_ERROR_LENGTH = 512 };

struct pb_error {
    enum pb_status status;
    char message[PB_ERROR_LENGTH];
};

#define PB_ERROR_INIT                                                                              \
    {                                                                                              \
        PB_OK, ""                                                                                  \
    }

/* Writes the message into err (NULL is allowed) and returns status. */
enum pb_status pb_fail(struct pb_error *err, enum pb_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "PREFIX: " before the message err holds, and returns its status. */
enum pb_status pb_error_prefix(struct pb_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * clang-tidy looks at one file at a time, so it would follow paths on which pb_fail() returns
 * PB_OK. This declares what comes back; no call that it might skip stands in between.
 */
#ifdef __clang_analyzer__
void pb_error_words(struct pb_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
#define pb_fail(err, status, ...) (pb_error_words((err), __VA_ARGS__), (status))
#endif

/* A short lower-case word for logs and files: "ok", "invalid", "device", … */
const char *pb_status_name(enum pb_status status);

#endif
