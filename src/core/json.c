/* Reading JSON with errors that name the place; see json.h. */
#include "core/json.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/suggest.h"
#include "core/text.h"

/* Any value, so that one that is no object is refused by its path like everything else. */
enum { PARSING = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY };

static void root_at(struct pb_json *root, json_t *value, const char *file)
{
    root->value = value;
    root->file = file;
    memcpy(root->path, "$", 2);
}

static enum pb_status syntax_error(const char *file, const json_error_t *error,
                                   struct pb_error *err)
{
    if (error->line < 0) /* it cannot be opened, and the text says which it is */
        return pb_fail(err, PB_INVALID, "%s", error->text);
    return pb_fail(err, PB_INVALID, "%s:%d:%d: not valid JSON: %s", file, error->line,
                   error->column, error->text);
}

enum pb_status pb_json_load(const char *file, struct pb_json *root_out, struct pb_error *err)
{
    json_error_t error;
    json_t *value = json_load_file(file, PARSING, &error);

    if (value == NULL)
        return syntax_error(file, &error, err);
    root_at(root_out, value, file);
    return PB_OK;
}

enum pb_status pb_json_parse(const char *text, const char *name, struct pb_json *root_out,
                             struct pb_error *err)
{
    json_error_t error;
    json_t *value = json_loads(text, PARSING, &error);

    if (value == NULL)
        return syntax_error(name, &error, err);
    root_at(root_out, value, name);
    return PB_OK;
}

/* What stands at a place, in a few words. */
static void describe(const json_t *value, char *text, size_t size)
{
    switch (value == NULL ? JSON_NULL : json_typeof(value)) {
    case JSON_STRING:
        snprintf(text, size, "\"%.60s\"", json_string_value(value));
        break;
    case JSON_INTEGER:
        snprintf(text, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        break;
    case JSON_REAL:
        snprintf(text, size, "%g", json_real_value(value));
        break;
    case JSON_ARRAY:
        snprintf(text, size, "an array of %zu", json_array_size(value));
        break;
    case JSON_OBJECT:
        snprintf(text, size, "an object");
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        snprintf(text, size, "%s", json_is_true(value) ? "true" : "false");
        break;
    default:
        snprintf(text, size, "%s", value == NULL ? "nothing" : "null");
    }
}

enum pb_status pb_json_refuse(const struct pb_json *at, struct pb_error *err, const char *expected,
                              ...)
{
    char want[128], found[96];
    va_list args;

    va_start(args, expected);
    vsnprintf(want, sizeof(want), expected, args);
    va_end(args);
    describe(at->value, found, sizeof(found));
    return pb_fail(err, PB_INVALID, "%s: %s: expected %s, found %s", at->file, at->path, want,
                   found);
}

enum pb_status pb_json_member(const struct pb_json *object, const char *key, bool required,
                              struct pb_json *child_out, struct pb_error *err)
{
    struct pb_json child = {NULL, object->file, ""};

    if (!json_is_object(object->value))
        return pb_json_refuse(object, err, "an object");
    snprintf(child.path, sizeof(child.path), "%s.%s", object->path, key);
    child.value = json_object_get(object->value, key);
    if (child.value == NULL && required)
        return pb_json_refuse(&child, err, "this key");
    *child_out = child;
    return PB_OK;
}

enum pb_status pb_json_element(const struct pb_json *array, size_t i, struct pb_json *child_out,
                               struct pb_error *err)
{
    struct pb_json child = {NULL, array->file, ""};

    snprintf(child.path, sizeof(child.path), "%s[%zu]", array->path, i);
    child.value = json_array_get(array->value, i);
    if (child.value == NULL)
        return pb_json_refuse(&child, err, "an element");
    *child_out = child;
    return PB_OK;
}

static enum pb_status refuse_key(const struct pb_json *object, const char *key,
                                 const char *const *known, struct pb_error *err)
{
    struct pb_suggestion suggestion = {.word = key};

    for (; *known != NULL; known++)
        pb_suggest(&suggestion, *known);
    if (suggestion.best == NULL)
        return pb_fail(err, PB_INVALID, "%s: %s.%s: expected no such key", object->file,
                       object->path, key);
    return pb_fail(err, PB_INVALID, "%s: %s.%s: expected no such key; did you mean %s?",
                   object->file, object->path, key, suggestion.best);
}

static bool is_known(const char *key, const char *const *known)
{
    for (; *known != NULL; known++)
        if (strcmp(key, *known) == 0)
            return true;
    return false;
}

enum pb_status pb_json_only(const struct pb_json *object, const char *const *known,
                            struct pb_error *err)
{
    const char *key;
    json_t *value;

    if (!json_is_object(object->value))
        return pb_json_refuse(object, err, "an object");
    json_object_foreach(object->value, key, value)
    {
        if (!is_known(key, known))
            return refuse_key(object, key, known, err);
    }
    return PB_OK;
}

enum pb_status pb_json_integer(const struct pb_json *at, int64_t low, int64_t high,
                               int64_t *value_out, struct pb_error *err)
{
    json_int_t value;

    if (!json_is_integer(at->value))
        return pb_json_refuse(at, err, "an integer");
    value = json_integer_value(at->value);
    if (value < low || value > high)
        return pb_json_refuse(at, err, "an integer from %lld to %lld", (long long)low,
                              (long long)high);
    *value_out = value;
    return PB_OK;
}

enum pb_status pb_json_number(const struct pb_json *at, double low, double high, double *value_out,
                              struct pb_error *err)
{
    double value;

    if (!json_is_number(at->value))
        return pb_json_refuse(at, err, "a number");
    value = json_number_value(at->value);
    if (!isfinite(value) || value < low || value > high)
        return pb_json_refuse(at, err, "a number from %g to %g", low, high);
    *value_out = value;
    return PB_OK;
}

enum pb_status pb_json_text(const struct pb_json *at, const char **text_out, struct pb_error *err)
{
    if (!json_is_string(at->value))
        return pb_json_refuse(at, err, "a string");
    *text_out = json_string_value(at->value);
    return PB_OK;
}

enum pb_status pb_json_array(const struct pb_json *at, size_t low, size_t high, size_t *size_out,
                             struct pb_error *err)
{
    size_t size;

    if (!json_is_array(at->value))
        return pb_json_refuse(at, err, "an array");
    size = json_array_size(at->value);
    if (size < low || size > high)
        return pb_json_refuse(at, err, "an array of %zu to %zu elements", low, high);
    *size_out = size;
    return PB_OK;
}

json_t *pb_json_of_text(const char *text)
{
    size_t size = 4 * strlen(text) + 1; /* \xNN for every byte */
    json_t *value = json_string(text);
    char *escaped = value == NULL ? malloc(size) : NULL;

    if (escaped == NULL)
        return value;
    pb_text_escape(escaped, size, text);
    value = json_string(escaped);
    free(escaped);
    return value;
}
