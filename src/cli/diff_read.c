/* The sides of a comparison, read from fleet files; see diff.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/analyze_rows.h"
#include "cli/analyze_workers.h"
#include "cli/diff.h"
#include "cli/worker.h"
#include "core/compare.h"
#include "core/reserve.h"
#include "h5schema/file.h"

static enum pb_status out_of_memory(const struct pb_diff_side *side, struct pb_error *err)
{
    return pb_fail(err, PB_NO_MEMORY, "%s: out of memory allocating parameters", side->path);
}

/* ---- parameters of a device ---- */

static enum pb_status add_value(struct pb_diff_device *device, const struct pb_parameter_row *row,
                                struct pb_error *err)
{
    const char *slash = strrchr(row->evidence, '/');
    struct pb_diff_value *value;
    enum pb_status status =
        PB_RESERVE(device->values, device->count, device->capacity, "parameters", err);

    if (status != PB_OK)
        return status;
    value = &device->values[device->count];
    *value = (struct pb_diff_value){
        .number = row->number, .low = row->low, .high = row->high, .confidence = row->confidence};
    PB_TEXT_SET(value->memory, row->memory);
    PB_TEXT_SET(value->parameter, row->parameter);
    PB_TEXT_SET(value->unit, row->unit);
    PB_TEXT_SET(value->test, slash != NULL ? slash + 1 : row->evidence);
    if (row->value[0] != '\0') {
        value->text = strdup(row->value);
        if (value->text == NULL)
            return pb_fail(err, PB_NO_MEMORY, "%s: out of memory allocating a parameter",
                           device->key);
    }
    device->count++;
    return PB_OK;
}

static void clear_device(struct pb_diff_device *device)
{
    for (size_t i = 0; i < device->count; i++)
        free(device->values[i].text);
    free(device->values);
    *device = (struct pb_diff_device){.values = NULL};
}

struct row_sink {
    struct pb_diff_side *side;
    struct pb_diff_device *last; /* rows of a device follow each other */
};

static enum pb_status take_row(void *context, const struct pb_parameter_row *row,
                               struct pb_error *err)
{
    struct row_sink *row_sink = context;
    struct pb_diff_side *side = row_sink->side;

    for (size_t i = 0; i < side->count &&
                       (row_sink->last == NULL || strcmp(row_sink->last->key, row->device) != 0);
         i++)
        if (strcmp(side->devices[i].key, row->device) == 0)
            row_sink->last = &side->devices[i];
    if (row_sink->last == NULL || strcmp(row_sink->last->key, row->device) != 0)
        return PB_OK; /* not of the chosen ones */
    return add_value(row_sink->last, row, err);
}

/* Parameters of the devices for which the file has none stored. */
static enum pb_status infer(struct pb_diff_side *side, struct pb_error *err)
{
    struct pb_key *keys = calloc(side->count + 1, sizeof(*keys));
    struct pb_workers *workers = NULL;
    size_t count = 0;
    enum pb_status status = keys == NULL ? out_of_memory(side, err) : PB_OK;

    for (size_t i = 0; i < side->count && status == PB_OK; i++)
        if (side->devices[i].count == 0) {
            PB_TEXT_SET(keys[count].text, side->devices[i].key);
            count++;
        }
    if (status == PB_OK && count > 0)
        status = pb_workers_start(side->path, keys, count, pb_worker_processors(),
                                  PB_WANT_PARAMETERS, &workers, err);
    side->is_stored = count == 0;
    for (size_t i = 0, k = 0; i < side->count && status == PB_OK; i++) {
        struct pb_device_result result = {.analysed = 0};

        if (k == count || strcmp(side->devices[i].key, keys[k].text) != 0)
            continue;
        k++;
        status = pb_workers_next(workers, &result, err);
        if (status != PB_OK)
            pb_error_prefix(err, "%s: device %s", side->path, side->devices[i].key);
        for (size_t p = 0; p < result.parameters.count && status == PB_OK; p++) {
            struct pb_parameter_row row;

            pb_parameter_row_of(side->devices[i].key, &result.parameters.items[p], &row);
            status = add_value(&side->devices[i], &row, err);
        }
        pb_device_result_clear(&result);
    }
    pb_workers_stop(workers);
    free(keys);
    return status;
}

/* ---- devices ---- */

static enum pb_status list_devices(struct pb_reader *reader, struct pb_diff_side *side,
                                   struct pb_error *err)
{
    struct pb_key *keys = NULL;
    size_t count = 0;
    enum pb_status status = pb_reader_devices(reader, &keys, &count, err);

    if (status != PB_OK)
        return status;
    side->devices = calloc(count + 1, sizeof(*side->devices));
    if (side->devices == NULL)
        status = out_of_memory(side, err);
    for (size_t i = 0; i < count && status == PB_OK; i++) {
        struct pb_diff_device *device = &side->devices[i];
        struct pb_device_info info;

        status = pb_reader_device(reader, keys[i].text, &info, err);
        if (status != PB_OK)
            break;
        PB_TEXT_SET(device->key, keys[i].text);
        PB_TEXT_SET(device->uuid, info.uuid);
        PB_TEXT_SET(device->model, info.model);
        device->is_simulated = pb_backend_is_simulated(info.backend);
        side->count++;
    }
    free(keys);
    if (status == PB_OK && side->count == 0)
        status = pb_fail(err, PB_INVALID, "%s: expected devices, found none", side->path);
    return status;
}

/* Keeps the device, or the devices of the model, that the command line names. */
static enum pb_status choose(struct pb_diff_side *side, const char *name, bool *is_model_out,
                             struct pb_error *err)
{
    size_t found = 0;
    bool is_model = false;

    for (size_t i = 0; i < side->count; i++) {
        struct pb_diff_device *device = &side->devices[i];
        bool is_of_model = strcmp(device->model, name) == 0;

        if (strcmp(device->key, name) != 0 && strcmp(device->uuid, name) != 0 && !is_of_model)
            continue;
        is_model = is_model || is_of_model;
        side->devices[found++] = *device;
    }
    if (found == 0)
        return pb_fail(err, PB_INVALID,
                       "%s: expected a device's key or UUID or a model, found \"%s\" (the first of "
                       "%zu is %s, %s)",
                       side->path, name, side->count, side->devices[0].key, side->devices[0].model);
    side->count = found;
    side->is_chosen = true;
    *is_model_out = is_model && found > 1;
    return PB_OK;
}

/* ---- a model as one device ---- */

static const struct pb_diff_value *find(const struct pb_diff_device *device, const char *memory,
                                        const char *parameter)
{
    for (size_t i = 0; i < device->count; i++)
        if (strcmp(device->values[i].parameter, parameter) == 0 &&
            strcmp(device->values[i].memory, memory) == 0)
            return &device->values[i];
    return NULL;
}

/* How many of the model's devices state that text. */
static size_t count_text(const struct pb_diff_side *side, const struct pb_diff_value *value,
                         const char *text)
{
    size_t count = 0;

    for (size_t i = 0; i < side->count; i++) {
        const struct pb_diff_value *other =
            find(&side->devices[i], value->memory, value->parameter);

        count += other != NULL && other->text != NULL && strcmp(other->text, text) == 0;
    }
    return count;
}

/* The value that most devices state, or the lower median of their numbers; their span. */
static enum pb_status fold_value(const struct pb_diff_side *side, struct pb_diff_value *folded,
                                 double *numbers, struct pb_error *err)
{
    const char *text = NULL;
    size_t most = 0, number_count = 0;
    double low = INFINITY, high = -INFINITY, confidence = INFINITY, median = NAN;

    for (size_t i = 0; i < side->count; i++) {
        const struct pb_diff_value *value =
            find(&side->devices[i], folded->memory, folded->parameter);
        size_t same;

        if (value == NULL || value->text == NULL)
            continue;
        confidence = fmin(confidence, value->confidence);
        low = fmin(low, value->low);
        high = fmax(high, value->high);
        if (isfinite(value->number))
            numbers[number_count++] = value->number;
        same = count_text(side, folded, value->text);
        if (same > most) {
            most = same;
            text = value->text;
        }
    }
    if (number_count > 0) {
        qsort(numbers, number_count, sizeof(*numbers), pb_compare_double);
        median = numbers[(number_count - 1) / 2];
    }
    for (size_t i = 0; i < side->count && isfinite(median); i++) {
        const struct pb_diff_value *value =
            find(&side->devices[i], folded->memory, folded->parameter);

        if (value != NULL && value->number == median)
            text = value->text;
    }
    folded->text = text == NULL ? NULL : strdup(text);
    if (text != NULL && folded->text == NULL)
        return out_of_memory(side, err);
    folded->number = median;
    folded->low = isfinite(low) ? low : NAN;
    folded->high = isfinite(high) ? high : NAN;
    folded->confidence = isfinite(confidence) ? confidence : 0.0;
    return PB_OK;
}

static enum pb_status fold_model(struct pb_diff_side *side, struct pb_error *err)
{
    struct pb_diff_device folded = {.is_simulated = side->devices[0].is_simulated};
    double *numbers = calloc(side->count, sizeof(*numbers));
    enum pb_status status = numbers == NULL ? out_of_memory(side, err) : PB_OK;

    snprintf(folded.key, sizeof(folded.key), "%zu devices", side->count);
    PB_TEXT_SET(folded.model, side->devices[0].model);
    folded.values = calloc(side->devices[0].count + 1, sizeof(*folded.values));
    if (folded.values == NULL && status == PB_OK)
        status = out_of_memory(side, err);
    for (size_t i = 0; i < side->devices[0].count && status == PB_OK; i++) {
        folded.values[i] = side->devices[0].values[i];
        folded.values[i].text = NULL;
        status = fold_value(side, &folded.values[i], numbers, err);
        folded.count++;
    }
    free(numbers);
    for (size_t i = 0; i < side->count; i++)
        clear_device(&side->devices[i]);
    side->devices[0] = folded;
    side->count = 1;
    return status;
}

/* ---- the whole ---- */

/* By which version of its test's method each value was measured; of a test that comes again, as of
 * the value before. */
static void read_versions(struct pb_reader *reader, struct pb_diff_device *device)
{
    for (size_t i = 0; i < device->count; i++) {
        struct pb_diff_value *value = &device->values[i];
        size_t same = 0;

        while (strcmp(device->values[same].test, value->test) != 0)
            same++;
        value->method_version = same < i
                                    ? device->values[same].method_version
                                    : pb_reader_method_version(reader, device->key, value->test);
    }
}

/* Splits PATH:DEVICE where PATH is a file; NULL: the whole name is the path. */
static const char *split(struct pb_diff_side *side)
{
    char *colon;

    if (access(side->path, F_OK) == 0)
        return NULL;
    for (colon = strchr(side->path, ':'); colon != NULL; colon = strchr(colon + 1, ':')) {
        *colon = '\0';
        if (access(side->path, F_OK) == 0)
            return colon + 1;
        *colon = ':';
    }
    return NULL;
}

/* What the file does not have, or no more, is inferred. */
static enum pb_status read_stored(struct pb_reader *reader, struct row_sink *row_sink,
                                  struct pb_error *err)
{
    struct pb_error reason = PB_ERROR_INIT;
    enum pb_status status = pb_stored_parameters(reader, take_row, row_sink, &reason);

    return status == PB_OK || status == PB_NOT_FOUND ? PB_OK
                                                     : pb_fail(err, status, "%s", reason.message);
}

enum pb_status pb_diff_read(const char *name, struct pb_diff_side *side_out, struct pb_error *err)
{
    struct pb_diff_side *side = side_out;
    struct pb_reader *reader = NULL;
    struct row_sink row_sink = {side, NULL};
    const char *device;
    bool is_model = false;
    enum pb_status status;

    *side = (struct pb_diff_side){.path = strdup(name)};
    if (side->path == NULL)
        return pb_fail(err, PB_NO_MEMORY, "%s: out of memory", name);
    device = split(side);
    status = pb_reader_open(side->path, &reader, err);
    if (status == PB_OK)
        status = list_devices(reader, side, err);
    if (status == PB_OK && device != NULL)
        status = choose(side, device, &is_model, err);
    if (status == PB_OK)
        status = read_stored(reader, &row_sink, err);
    pb_reader_close(reader);
    if (status == PB_OK)
        status = infer(side, err);
    reader = NULL;
    if (status == PB_OK)
        status = pb_reader_open(side->path, &reader, err);
    for (size_t i = 0; i < side->count && status == PB_OK; i++)
        read_versions(reader, &side->devices[i]);
    pb_reader_close(reader);
    if (status == PB_OK && is_model)
        status = fold_model(side, err);
    return status;
}

void pb_diff_side_clear(struct pb_diff_side *side)
{
    for (size_t i = 0; i < side->count; i++)
        clear_device(&side->devices[i]);
    free(side->devices);
    free(side->path);
    *side = (struct pb_diff_side){.path = NULL};
}
