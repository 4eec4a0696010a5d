/* The device of plumb-model; see model_device.h. */
#include "cli/model_device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/agreement/policy.h"
#include "analysis/inference.h"
#include "cli/source.h"
#include "core/json.h"
#include "h5schema/file.h"

/* ---- documents ---- */

static void name_document(const struct pb_json *root, const char *path, char *name, size_t size)
{
    const char *text = json_string_value(json_object_get(root->value, "name"));
    const json_t *devices = json_object_get(root->value, "devices");

    if (text == NULL)
        text = json_string_value(json_object_get(json_array_get(devices, 0), "model"));
    pb_text_copy(name, size, text == NULL ? path : text);
}

static enum pb_status load_document(const char *path, const char *key,
                                    struct pb_model_device *device, struct pb_error *err)
{
    struct pb_execution execution;
    char name[PB_TEXT_LENGTH];
    struct pb_json root;
    enum pb_status status = pb_json_load(path, &root, err);

    if (status != PB_OK)
        return status;
    status = pb_model_hierarchy_from_json(&root, key, &device->hierarchy, err);
    if (status == PB_OK)
        status = pb_execution_from_json(&root, &execution, err);
    if (status == PB_OK) {
        execution.draws_high_bits = json_object_get(root.value, "devices") != NULL;
        name_document(&root, path, name, sizeof(name));
        status = pb_machine_make(&device->hierarchy, &execution, name, &device->machine, err);
    }
    json_decref(root.value);
    return status;
}

/* ---- fleet files ---- */

static enum pb_status choose_device(struct pb_reader *reader, const char *path, const char *key,
                                    struct pb_key *key_out, struct pb_error *err)
{
    struct pb_key *keys = NULL;
    size_t count = 0;
    size_t found = 0;
    enum pb_status status = pb_reader_devices(reader, &keys, &count, err);

    if (status != PB_OK)
        return status;
    while (key != NULL && found < count && strcmp(keys[found].text, key) != 0)
        found++;
    if (found >= count)
        status = pb_fail(err, PB_INVALID, "%s: no device %s among %zu (the first is %s)", path,
                         key == NULL ? "at all" : key, count, count > 0 ? keys[0].text : "none");
    else if (key == NULL && count > 1)
        status = pb_fail(err, PB_INVALID,
                         "%s: expected --device KEY to choose one of %zu devices (the first is %s)",
                         path, count, keys[0].text);
    else
        *key_out = keys[found];
    free(keys);
    return status;
}

/* What the battery measured of how SMs run threads. */
static void set_execution(const struct pb_device_info *info, const struct pb_parameters *parameters,
                          struct pb_execution *execution_out)
{
    double clock_mhz = pb_parameters_number(parameters, "clock", "sm_mhz");
    double line_cycles = pb_parameters_number(parameters, "sm", "coalesce_cycles");

    pb_execution_of(info->compute_capability, execution_out);
    execution_out->sm_count = info->sm_count;
    if (info->max_threads_per_sm >= PB_LANES_MAX)
        execution_out->threads_per_sm = info->max_threads_per_sm;
    if (info->shared_per_sm_bytes > 0)
        execution_out->shared_per_sm = info->shared_per_sm_bytes;
    execution_out->l2_far_cycles = pb_parameters_number(parameters, "l2_far", "latency_cycles");
    /* one SM's lines scatter by 50 cycles: near ones and the crossing are known better */
    if (isfinite(pb_parameters_number(parameters, "l2_near", "size_bytes")))
        execution_out->l2_far_cycles =
            pb_parameters_number(parameters, "l2_near", "latency_cycles") +
            pb_parameters_number(parameters, "l2", "crossing_cycles");
    execution_out->draws_high_bits = true;
    if (!isnan(clock_mhz))
        execution_out->clock_mhz = clock_mhz;
    if (!isnan(line_cycles))
        execution_out->line_cycles = line_cycles;
}

static enum pb_status infer(struct pb_reader *reader, const char *path, const char *key,
                            struct pb_model_device *device, struct pb_error *err)
{
    struct pb_device_source source = {.reader = reader, .key = key};
    struct pb_recordings recordings = {&source, pb_device_source_load};
    struct pb_parameters parameters = {0};
    struct pb_execution execution;
    struct pb_device_info info;
    char place[PB_MESSAGE_LENGTH];
    char name[PB_TEXT_LENGTH];
    size_t analysed = 0;
    enum pb_status status = pb_reader_device(reader, key, &info, err);

    if (status != PB_OK)
        return status;
    snprintf(place, sizeof(place), "/devices/%s", key);
    status = pb_infer_device(&info, place, &recordings, &parameters, &analysed, err);
    if (status == PB_OK)
        status = pb_policies_by_replay(&parameters, place, &recordings, err);
    pb_device_source_clear(&source);
    if (status == PB_OK)
        status = pb_model_hierarchy_from_parameters(&parameters, &device->hierarchy, err);
    if (status != PB_OK) {
        pb_error_prefix(err, "%s: device %s", path, key);
    } else {
        set_execution(&info, &parameters, &execution);
        snprintf(name, sizeof(name), "%.60s: %.60s", info.model, key);
        device->is_simulated = pb_backend_is_simulated(info.backend);
        status = pb_machine_make(&device->hierarchy, &execution, name, &device->machine, err);
    }
    if (status == PB_OK) {
        device->topology = parameters.topology;
        parameters.topology = (struct pb_topology){0};
        pb_machine_set_topology(&device->machine, info.uuid, &device->topology);
    }
    pb_parameters_clear(&parameters);
    return status;
}

static enum pb_status load_fleet(const char *path, const char *key, struct pb_model_device *device,
                                 struct pb_error *err)
{
    struct pb_reader *reader = NULL;
    struct pb_key chosen;
    enum pb_status status = pb_reader_open(path, &reader, err);

    if (status == PB_OK)
        status = choose_device(reader, path, key, &chosen, err);
    if (status == PB_OK)
        status = infer(reader, path, chosen.text, device, err);
    pb_reader_close(reader);
    return status;
}

enum pb_status pb_model_device_load(const char *cache, const char *from, const char *key,
                                    struct pb_model_device *device_out, struct pb_error *err)
{
    enum pb_status status;

    memset(device_out, 0, sizeof(*device_out));
    status = cache != NULL ? load_document(cache, key, device_out, err)
                           : load_fleet(from, key, device_out, err);
    if (status != PB_OK)
        pb_model_device_clear(device_out);
    return status == PB_NOT_FOUND ? PB_INVALID : status;
}

void pb_model_device_clear(struct pb_model_device *device)
{
    pb_model_hierarchy_clear(&device->hierarchy);
    pb_topology_clear(&device->topology);
}
