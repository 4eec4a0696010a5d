/* References of models as JSON, found where they are installed, then in this tree; see outliers.h.
 */
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/outliers.h"
#include "core/json_reader.h"
#include "core/program.h"

enum { NUMBERS_MAX = 4096, PATH_LENGTH = 1024 };

static size_t read_count(struct pb_json_reader *reader, const struct pb_json *object,
                         const char *key)
{
    return (size_t)pb_json_read_integer(reader, object, key, 1, INT32_MAX);
}

/* null: not known. */
static double read_number(struct pb_json_reader *reader, const struct pb_json *object,
                          const char *key, double low)
{
    struct pb_json at = pb_json_read_member(reader, object, key);

    return json_is_null(at.value) ? NAN : pb_json_read_number(reader, object, key, low, 1e30);
}

/* "": a number without a unit. */
static void read_unit(struct pb_json_reader *reader, const struct pb_json *object,
                      struct pb_reference_number *number)
{
    struct pb_json at = pb_json_read_member(reader, object, "unit");

    if (!json_is_string(at.value) || json_string_length(at.value) > 0)
        pb_json_read_text(reader, object, "unit", number->unit, sizeof(number->unit));
}

static void read_entry(struct pb_json_reader *reader, const struct pb_json *list, size_t i,
                       struct pb_reference_number *number)
{
    static const char *const known[] = {"metric",         "test",   "unit",      "devices",
                                        "readings",       "center", "device_sd", "run_sd",
                                        "method_version", NULL};
    struct pb_json at = pb_json_read_element(reader, list, i);
    uint32_t version = 1; /* left out: the test's first */

    pb_json_read_only(reader, &at, known);
    pb_json_read_text(reader, &at, "metric", number->name, sizeof(number->name));
    pb_json_read_text(reader, &at, "test", number->test, sizeof(number->test));
    read_unit(reader, &at, number);
    number->devices = read_count(reader, &at, "devices");
    number->readings = read_count(reader, &at, "readings");
    number->center = read_number(reader, &at, "center", -1e30);
    number->device_sd = read_number(reader, &at, "device_sd", 0.0);
    number->run_sd = read_number(reader, &at, "run_sd", 0.0);
    pb_json_read_integer_or(reader, &at, "method_version", 1, INT32_MAX, &version);
    number->method_version = version > 1 ? version : 0;
}

static void read_reference(struct pb_json_reader *reader, const struct pb_json *root,
                           struct pb_reference *reference)
{
    static const char *const known[] = {"schema",  "model",   "driver", "measured",
                                        "devices", "numbers", NULL};
    struct pb_json list;
    size_t count;

    pb_json_read_only(reader, root, known);
    read_count(reader, root, "schema");
    pb_json_read_text(reader, root, "model", reference->model, sizeof(reference->model));
    pb_json_read_text(reader, root, "driver", reference->driver, sizeof(reference->driver));
    pb_json_read_text(reader, root, "measured", reference->measured, sizeof(reference->measured));
    reference->devices = read_count(reader, root, "devices");
    count = pb_json_read_array(reader, root, "numbers", 1, NUMBERS_MAX, &list);
    reference->numbers = calloc(count + 1, sizeof(*reference->numbers));
    if (reference->numbers == NULL)
        reader->status = pb_fail(reader->err, PB_NO_MEMORY, "out of memory for %zu numbers", count);
    for (; reference->count < count && reader->status == PB_OK; reference->count++)
        read_entry(reader, &list, reference->count, &reference->numbers[reference->count]);
}

static enum pb_status add_file(const char *path, struct pb_references *references,
                               struct pb_error *err)
{
    struct pb_reference *items =
        realloc(references->items, (references->count + 1) * sizeof(*items));
    struct pb_json_reader reader = {PB_OK, err};
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
    read_reference(&reader, &root, &items[references->count++]);
    json_decref(root.value);
    return reader.status;
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
        return PB_OK; /* no reference, as for a model that was not recorded */
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
