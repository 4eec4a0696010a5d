/* References of models as JSON, found where they are installed, then in this tree; see outliers.h.
 */
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/outliers.h"
#include "core/json.h"
#include "core/program.h"

enum { NUMBERS_MAX = 4096, PATH_LENGTH = 1024 };

static enum pb_status read_text(const struct pb_json *object, const char *key, char *text_out,
                                size_t size, struct pb_error *err)
{
    struct pb_json at;
    const char *text;
    enum pb_status status = pb_json_member(object, key, true, &at, err);

    if (status == PB_OK)
        status = pb_json_text(&at, &text, err);
    if (status == PB_OK && strlen(text) >= size)
        return pb_json_refuse(&at, err, "a text of fewer than %zu bytes", size);
    if (status == PB_OK)
        snprintf(text_out, size, "%s", text);
    return status;
}

static enum pb_status read_count(const struct pb_json *object, const char *key, size_t *count_out,
                                 struct pb_error *err)
{
    struct pb_json at;
    int64_t value;
    enum pb_status status = pb_json_member(object, key, true, &at, err);

    if (status == PB_OK)
        status = pb_json_integer(&at, 1, INT32_MAX, &value, err);
    if (status == PB_OK)
        *count_out = (size_t)value;
    return status;
}

/* null: not known. */
static enum pb_status read_number(const struct pb_json *object, const char *key, double low,
                                  double *value_out, struct pb_error *err)
{
    struct pb_json at;
    enum pb_status status = pb_json_member(object, key, true, &at, err);

    if (status == PB_OK && json_is_null(at.value)) {
        *value_out = NAN;
        return PB_OK;
    }
    return status == PB_OK ? pb_json_number(&at, low, 1e30, value_out, err) : status;
}

/* Left out: the test's first. */
static enum pb_status read_version(const struct pb_json *object, uint64_t *version_out,
                                   struct pb_error *err)
{
    struct pb_json at;
    int64_t value = 0;
    enum pb_status status = pb_json_member(object, "method_version", false, &at, err);

    if (status == PB_OK && at.value != NULL)
        status = pb_json_integer(&at, 1, INT32_MAX, &value, err);
    *version_out = value > 1 ? (uint64_t)value : 0;
    return status;
}

static enum pb_status read_entry(const struct pb_json *list, size_t i,
                                 struct pb_reference_number *number, struct pb_error *err)
{
    static const char *const known[] = {"metric",         "test",   "unit",      "devices",
                                        "readings",       "center", "device_sd", "run_sd",
                                        "method_version", NULL};
    struct pb_json at;
    enum pb_status status = pb_json_element(list, i, &at, err);

    if (status == PB_OK)
        status = pb_json_only(&at, known, err);
    if (status == PB_OK)
        status = read_text(&at, "metric", number->name, sizeof(number->name), err);
    if (status == PB_OK)
        status = read_text(&at, "test", number->test, sizeof(number->test), err);
    if (status == PB_OK)
        status = read_text(&at, "unit", number->unit, sizeof(number->unit), err);
    if (status == PB_OK)
        status = read_count(&at, "devices", &number->devices, err);
    if (status == PB_OK)
        status = read_count(&at, "readings", &number->readings, err);
    if (status == PB_OK)
        status = read_number(&at, "center", -1e30, &number->center, err);
    if (status == PB_OK)
        status = read_number(&at, "device_sd", 0.0, &number->device_sd, err);
    if (status == PB_OK)
        status = read_number(&at, "run_sd", 0.0, &number->run_sd, err);
    return status == PB_OK ? read_version(&at, &number->method_version, err) : status;
}

static enum pb_status read_numbers(const struct pb_json *root, struct pb_reference *reference,
                                   struct pb_error *err)
{
    struct pb_json list;
    size_t count = 0;
    enum pb_status status = pb_json_member(root, "numbers", true, &list, err);

    if (status == PB_OK)
        status = pb_json_array(&list, 1, NUMBERS_MAX, &count, err);
    if (status != PB_OK)
        return status;
    reference->numbers = calloc(count, sizeof(*reference->numbers));
    if (reference->numbers == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory for %zu numbers", count);
    for (; reference->count < count && status == PB_OK; reference->count++)
        status = read_entry(&list, reference->count, &reference->numbers[reference->count], err);
    return status;
}

static enum pb_status read_reference(const struct pb_json *root, struct pb_reference *reference,
                                     struct pb_error *err)
{
    static const char *const known[] = {"schema",  "model",   "driver", "measured",
                                        "devices", "numbers", NULL};
    size_t schema;
    enum pb_status status = pb_json_only(root, known, err);

    if (status == PB_OK)
        status = read_count(root, "schema", &schema, err);
    if (status == PB_OK)
        status = read_text(root, "model", reference->model, sizeof(reference->model), err);
    if (status == PB_OK)
        status = read_text(root, "driver", reference->driver, sizeof(reference->driver), err);
    if (status == PB_OK)
        status = read_text(root, "measured", reference->measured, sizeof(reference->measured), err);
    if (status == PB_OK)
        status = read_count(root, "devices", &reference->devices, err);
    return status == PB_OK ? read_numbers(root, reference, err) : status;
}

static enum pb_status add_file(const char *path, struct pb_references *references,
                               struct pb_error *err)
{
    struct pb_reference *items =
        realloc(references->items, (references->count + 1) * sizeof(*items));
    struct pb_json root;
    enum pb_status status;

    if (items == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory for %zu references",
                       references->count + 1);
    references->items = items;
    items[references->count] = (struct pb_reference){.count = 0};
    status = pb_json_load(path, &root, err);
    if (status != PB_OK)
        return status;
    status = read_reference(&root, &items[references->count++], err);
    json_decref(root.value);
    return status;
}

static int is_json(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);

    return entry->d_name[0] != '.' && length > 5 &&
           strcmp(entry->d_name + length - 5, ".json") == 0;
}

enum pb_status pb_references_load(struct pb_references *references_out, struct pb_error *err)
{
    char folders[PB_DATA_FOLDERS][PATH_MAX];
    size_t folder_count = pb_program_data_folders("PLUMB_REFERENCE_DIR", "references",
                                                  PLUMB_REFERENCE_SOURCE_DIR, folders);
    struct dirent **entries = NULL;
    enum pb_status status = PB_OK;
    char path[PATH_LENGTH];
    const char *folder = NULL;
    int count;

    for (size_t i = 0; i < folder_count && folder == NULL; i++)
        if (access(folders[i], R_OK) == 0)
            folder = folders[i];
    if (folder == NULL)
        return PB_OK; /* no reference, as for a model that nobody recorded */
    count = scandir(folder, &entries, is_json, alphasort);
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
        if (status == PB_OK)
            status = add_file(path, references_out, err);
        free(entries[i]);
    }
    free(entries);
    return status;
}
