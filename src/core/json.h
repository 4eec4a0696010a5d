/*
 * Reading JSON with errors that name the file and the path of the offending value:
 *   gtx.json: $.caches[0].ways: expected an integer from 1 to 65536, found "four"
 *
 * A pb_json is a place in a document. Getters write their output only on success. After reading an
 * object, pb_json_only() refuses unknown keys.
 */
#ifndef PB_CORE_JSON_H
#define PB_CORE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"

enum { PB_JSON_PATH_LENGTH = 160 };

struct pb_json {
    json_t *value;                  /* borrowed from the document; NULL: absent */
    const char *file;               /* for messages; must outlive this */
    char path[PB_JSON_PATH_LENGTH]; /* "$.caches[0].ways" */
};

/* Loads a file; the caller json_decref()s root_out->value. Errors carry line and column. */
enum pb_status pb_json_load(const char *file, struct pb_json *root_out, struct pb_error *err);

/* The same from text; `name` stands for the file in messages. */
enum pb_status pb_json_parse(const char *text, const char *name, struct pb_json *root_out,
                             struct pb_error *err);

/* Member `key` of an object; required: PB_INVALID when absent, else child_out->value is NULL. */
enum pb_status pb_json_member(const struct pb_json *object, const char *key, bool required,
                              struct pb_json *child_out, struct pb_error *err);

/* Element i of an array. */
enum pb_status pb_json_element(const struct pb_json *array, size_t i, struct pb_json *child_out,
                               struct pb_error *err);

/* Refuses anything but an object whose keys are all in `known` (NULL-terminated). */
enum pb_status pb_json_only(const struct pb_json *object, const char *const *known,
                            struct pb_error *err);

/* Typed values of a place; out of range is refused with the range. */
enum pb_status pb_json_integer(const struct pb_json *at, int64_t low, int64_t high,
                               int64_t *value_out, struct pb_error *err);
enum pb_status pb_json_number(const struct pb_json *at, double low, double high, double *value_out,
                              struct pb_error *err);
enum pb_status pb_json_text(const struct pb_json *at, const char **text_out, struct pb_error *err);
enum pb_status pb_json_array(const struct pb_json *at, size_t low, size_t high, size_t *size_out,
                             struct pb_error *err);

/* Says "FILE: PATH: expected EXPECTED, found WHAT-IS-THERE" and returns PB_INVALID. */
enum pb_status pb_json_refuse(const struct pb_json *at, struct pb_error *err, const char *expected,
                              ...) __attribute__((format(printf, 3, 4)));

/*
 * A string value of text that came from outside: as it is where it is UTF-8, else escaped (text.h).
 * NULL: no memory.
 */
json_t *pb_json_of_text(const char *text);

#endif
