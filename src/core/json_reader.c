/* Sticky reading of JSON objects; see reader.h. */
#include "core/json_reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct pb_json nothing = {NULL, "", ""};

void pb_json_read_only(struct pb_json_reader *reader, const struct pb_json *object,
                       const char *const *known)
{
    if (reader->status == PB_OK)
        reader->status = pb_json_only(object, known, reader->err);
}

static struct pb_json read_member(struct pb_json_reader *reader, const struct pb_json *object,
                                  const char *key, bool required)
{
    struct pb_json child = nothing;

    if (reader->status == PB_OK)
        reader->status = pb_json_member(object, key, required, &child, reader->err);
    return child;
}

struct pb_json pb_json_read_member(struct pb_json_reader *reader, const struct pb_json *object,
                                   const char *key)
{
    return read_member(reader, object, key, true);
}

struct pb_json pb_json_read_optional(struct pb_json_reader *reader, const struct pb_json *object,
                                     const char *key)
{
    return read_member(reader, object, key, false);
}

size_t pb_json_read_array(struct pb_json_reader *reader, const struct pb_json *object,
                          const char *key, size_t low, size_t high, struct pb_json *array_out)
{
    struct pb_json array = pb_json_read_member(reader, object, key);
    size_t size = 0;

    if (reader->status == PB_OK)
        reader->status = pb_json_array(&array, low, high, &size, reader->err);
    *array_out = array;
    return size;
}

struct pb_json pb_json_read_element(struct pb_json_reader *reader, const struct pb_json *array,
                                    size_t i)
{
    struct pb_json child = nothing;

    if (reader->status == PB_OK)
        reader->status = pb_json_element(array, i, &child, reader->err);
    return child;
}

int64_t pb_json_read_integer(struct pb_json_reader *reader, const struct pb_json *object,
                             const char *key, int64_t low, int64_t high)
{
    struct pb_json at = pb_json_read_member(reader, object, key);
    int64_t value = 0;

    if (reader->status == PB_OK)
        reader->status = pb_json_integer(&at, low, high, &value, reader->err);
    return value;
}

double pb_json_read_number(struct pb_json_reader *reader, const struct pb_json *object,
                           const char *key, double low, double high)
{
    struct pb_json at = pb_json_read_member(reader, object, key);
    double value = 0.0;

    if (reader->status == PB_OK)
        reader->status = pb_json_number(&at, low, high, &value, reader->err);
    return value;
}

uint64_t pb_json_read_power_of_two(struct pb_json_reader *reader, const struct pb_json *object,
                                   const char *key, int64_t low, int64_t high)
{
    struct pb_json at = pb_json_read_member(reader, object, key);
    int64_t value = 0;

    if (reader->status == PB_OK)
        reader->status = pb_json_integer(&at, low, high, &value, reader->err);
    if (reader->status == PB_OK && (value & (value - 1)) != 0)
        pb_json_read_refuse(reader, &at, "a power of two");
    return (uint64_t)value;
}

void pb_json_read_integer_or(struct pb_json_reader *reader, const struct pb_json *object,
                             const char *key, int64_t low, int64_t high, uint32_t *value_inout)
{
    if (pb_json_read_optional(reader, object, key).value != NULL)
        *value_inout = (uint32_t)pb_json_read_integer(reader, object, key, low, high);
}

void pb_json_read_number_or(struct pb_json_reader *reader, const struct pb_json *object,
                            const char *key, double low, double high, double *value_inout)
{
    if (pb_json_read_optional(reader, object, key).value != NULL)
        *value_inout = pb_json_read_number(reader, object, key, low, high);
}

uint64_t pb_json_read_mask(struct pb_json_reader *reader, const struct pb_json *at)
{
    const char *text = "";
    char *end = NULL;
    uint64_t mask;

    if (reader->status == PB_OK)
        reader->status = pb_json_text(at, &text, reader->err);
    if (reader->status != PB_OK)
        return 0;
    mask = strtoull(text, &end, 16);
    if (strncmp(text, "0x", 2) != 0 || strlen(text) > 18 || end == text + 2 || *end != '\0' ||
        mask == 0)
        pb_json_read_refuse(reader, at, "a hex mask such as \"0x80\"");
    return mask;
}

void pb_json_read_text(struct pb_json_reader *reader, const struct pb_json *object, const char *key,
                       char *field, size_t field_size)
{
    struct pb_json at = pb_json_read_member(reader, object, key);
    const char *text = "";

    if (reader->status == PB_OK)
        reader->status = pb_json_text(&at, &text, reader->err);
    if (reader->status == PB_OK && (text[0] == '\0' || strlen(text) >= field_size))
        pb_json_read_refuse(reader, &at, "a text of 1 to %zu bytes", field_size - 1);
    if (reader->status == PB_OK)
        memcpy(field, text, strlen(text) + 1);
}

/* "a, b or c" */
static void list_words(const char *const *words, char *list, size_t size)
{
    size_t length = 0;

    list[0] = '\0';
    for (size_t i = 0; words[i] != NULL && length < size; i++) {
        const char *separator = i == 0 ? "" : (words[i + 1] == NULL ? " or " : ", ");

        length += (size_t)snprintf(list + length, size - length, "%s%s", separator, words[i]);
    }
}

int pb_json_read_word(struct pb_json_reader *reader, const struct pb_json *object, const char *key,
                      const char *const *words)
{
    struct pb_json at = pb_json_read_member(reader, object, key);
    const char *text = "";
    char list[96];

    if (reader->status == PB_OK)
        reader->status = pb_json_text(&at, &text, reader->err);
    if (reader->status != PB_OK)
        return 0;
    for (int i = 0; words[i] != NULL; i++)
        if (strcmp(text, words[i]) == 0)
            return i;
    list_words(words, list, sizeof(list));
    pb_json_read_refuse(reader, &at, "%s", list);
    return 0;
}

void pb_json_read_refuse(struct pb_json_reader *reader, const struct pb_json *at,
                         const char *expected, ...)
{
    char text[128];
    va_list args;

    if (reader->status != PB_OK)
        return;
    va_start(args, expected);
    vsnprintf(text, sizeof(text), expected, args);
    va_end(args);
    reader->status = pb_json_refuse(at, reader->err, "%s", text);
}
