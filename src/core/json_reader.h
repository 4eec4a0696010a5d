/*
 * Reading an object key by key with one check at the end: the first failure sticks, and every
 * later call returns zero without touching the message. Thin over core/json.h.
 */
#ifndef PB_CORE_JSON_READER_H
#define PB_CORE_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/json.h"

struct pb_json_reader {
    enum pb_status status; /* PB_OK until something failed */
    struct pb_error *err;
};

/* Refuses keys of `object` that are not in `known` (NULL-terminated). */
void pb_json_read_only(struct pb_json_reader *reader, const struct pb_json *object,
                       const char *const *known);

/* A member that must be there, and one that may be: its value is NULL when it is not. */
struct pb_json pb_json_read_member(struct pb_json_reader *reader, const struct pb_json *object,
                                   const char *key);
struct pb_json pb_json_read_optional(struct pb_json_reader *reader, const struct pb_json *object,
                                     const char *key);

/* The number of elements of a required array member, and one of them. */
size_t pb_json_read_array(struct pb_json_reader *reader, const struct pb_json *object,
                          const char *key, size_t low, size_t high, struct pb_json *array_out);
struct pb_json pb_json_read_element(struct pb_json_reader *reader, const struct pb_json *array,
                                    size_t i);

/* Required members of a type and within a range. */
int64_t pb_json_read_integer(struct pb_json_reader *reader, const struct pb_json *object,
                             const char *key, int64_t low, int64_t high);
double pb_json_read_number(struct pb_json_reader *reader, const struct pb_json *object,
                           const char *key, double low, double high);
uint64_t pb_json_read_power_of_two(struct pb_json_reader *reader, const struct pb_json *object,
                                   const char *key, int64_t low, int64_t high);

/* The same, where *value_inout stays as it is when the member is not there. */
void pb_json_read_integer_or(struct pb_json_reader *reader, const struct pb_json *object,
                             const char *key, int64_t low, int64_t high, uint32_t *value_inout);
void pb_json_read_number_or(struct pb_json_reader *reader, const struct pb_json *object,
                            const char *key, double low, double high, double *value_inout);

/* A text such as "0x80": 1 to 64 bits, at least one of them set. */
uint64_t pb_json_read_mask(struct pb_json_reader *reader, const struct pb_json *at);

/* A required text that is not empty and fits its field. */
void pb_json_read_text(struct pb_json_reader *reader, const struct pb_json *object, const char *key,
                       char *field, size_t field_size);

/* A required word out of `words` (NULL-terminated); returns its place, 0 after a failure. */
int pb_json_read_word(struct pb_json_reader *reader, const struct pb_json *object, const char *key,
                      const char *const *words);

/* Refuses what stands at `at`; does nothing when something failed before. */
void pb_json_read_refuse(struct pb_json_reader *reader, const struct pb_json *at,
                         const char *expected, ...) __attribute__((format(printf, 3, 4)));

#endif
