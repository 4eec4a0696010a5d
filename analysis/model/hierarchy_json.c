/*
 * Hierarchies from JSON: a report of plumb-analyze (design 3.3) becomes parameters again, and these
 * a hierarchy; a profile (design 3.4) states the hierarchy itself. Keys that say nothing of it are
 * passed over.
 */
#include "analysis/model/hierarchy.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/former.h"

enum { SETS_MAX = 1 << 24, WAYS_MAX = 1 << 20, LIST_MAX = 1 << 16 };

/* "0x80" */
static enum pb_status read_mask(const struct pb_json *at, uint64_t *mask_out, struct pb_error *err)
{
    const char *text;
    char *end;
    enum pb_status status = pb_json_text(at, &text, err);
    unsigned long long mask;

    if (status != PB_OK)
        return status;
    errno = 0;
    mask = strtoull(text, &end, 16);
    if (strncmp(text, "0x", 2) != 0 || end == text + 2 || *end != '\0' || errno != 0 || mask == 0)
        return pb_json_refuse(at, err, "a hexadecimal mask like \"0x80\"");
    *mask_out = mask;
    return PB_OK;
}

static enum pb_status read_masks(const struct pb_json *list, size_t max, uint64_t *masks_out,
                                 size_t *count_out, struct pb_error *err)
{
    enum pb_status status = pb_json_array(list, 1, max, count_out, err);

    for (size_t i = 0; status == PB_OK && i < *count_out; i++) {
        struct pb_json element;

        status = pb_json_element(list, i, &element, err);
        if (status == PB_OK)
            status = read_mask(&element, &masks_out[i], err);
    }
    return status;
}

/* A report of plumb-analyze */

/* A number, or null for what was not seen. */
static enum pb_status read_estimate(const struct pb_json *at, double *value_out,
                                    struct pb_error *err)
{
    *value_out = NAN;
    return at->value == NULL || json_is_null(at->value)
               ? PB_OK
               : pb_json_number(at, -1e300, 1e300, value_out, err);
}

/* Element i of the member, or the member itself where it is no list. */
static enum pb_status read_member(const struct pb_json *object, const char *key, size_t i,
                                  double *value_out, struct pb_error *err)
{
    struct pb_json member, element;
    enum pb_status status = pb_json_member(object, key, false, &member, err);

    *value_out = NAN;
    if (status != PB_OK || member.value == NULL)
        return status;
    if (!json_is_array(member.value))
        return read_estimate(&member, value_out, err);
    if (i >= json_array_size(member.value))
        return PB_OK;
    status = pb_json_element(&member, i, &element, err);
    return status == PB_OK ? read_estimate(&element, value_out, err) : status;
}

static enum pb_status read_numbers(const struct pb_json *object, size_t count, bool is_list,
                                   struct pb_parameter *parameter, struct pb_error *err)
{
    struct pb_estimate numbers[PB_LIST_MAX];

    for (size_t i = 0; i < count; i++) {
        enum pb_status status = read_member(object, "value", i, &numbers[i].value, err);

        if (status == PB_OK)
            status = read_member(object, "low", i, &numbers[i].low, err);
        if (status == PB_OK)
            status = read_member(object, "high", i, &numbers[i].high, err);
        if (status != PB_OK)
            return status;
        numbers[i].low = isnan(numbers[i].low) ? numbers[i].value : numbers[i].low;
        numbers[i].high = isnan(numbers[i].high) ? numbers[i].value : numbers[i].high;
    }
    if (is_list)
        pb_parameter_set_list(parameter, numbers, count, 1.0, "read from a report");
    else
        pb_parameter_set_number(parameter, numbers[0], 1.0, "read from a report");
    return PB_OK;
}

static enum pb_status read_list(const struct pb_json *object, const struct pb_json *value,
                                struct pb_parameter *parameter, struct pb_error *err)
{
    uint64_t masks[PB_LIST_MAX];
    size_t count;
    enum pb_status status = pb_json_array(value, 1, PB_LIST_MAX, &count, err);

    if (status != PB_OK)
        return status;
    if (!json_is_string(json_array_get(value->value, 0)))
        return read_numbers(object, count, true, parameter, err);
    status = read_masks(value, PB_LIST_MAX, masks, &count, err);
    if (status == PB_OK)
        pb_parameter_set_masks(parameter, masks, count, 1.0, "read from a report");
    return status;
}

/* {"value": …, "unit": …, "low": …, "high": …} or {"value": null, "reason": …} */
static enum pb_status read_parameter(const struct pb_json *object, struct pb_parameter *parameter,
                                     struct pb_error *err)
{
    struct pb_json value;
    enum pb_status status = pb_json_member(object, "value", true, &value, err);

    if (status != PB_OK)
        return status;
    if (json_is_null(value.value)) {
        pb_parameter_set_none(parameter, "not determined in the report");
        return PB_OK;
    }
    if (json_is_string(value.value)) {
        pb_parameter_set_word(parameter, json_string_value(value.value), 1.0, "read from a report");
        return PB_OK;
    }
    if (json_is_array(value.value))
        return read_list(object, &value, parameter, err);
    return read_numbers(object, 1, false, parameter, err);
}

static enum pb_status read_memory(const struct pb_json *memory, const char *name,
                                  struct pb_parameters *parameters, struct pb_error *err)
{
    const char *key;
    json_t *value;

    json_object_foreach(memory->value, key, value)
    {
        struct pb_json object;
        enum pb_status status = pb_json_member(memory, key, true, &object, err);

        if (status == PB_OK)
            status = pb_parameters_declare(parameters, name, pb_name_now(PB_NAME_OF_PARAMETER, key),
                                           "", "", err);
        if (status == PB_OK)
            status = read_parameter(&object, &parameters->items[parameters->count - 1], err);
        if (status != PB_OK)
            return status;
    }
    return PB_OK;
}

static enum pb_status read_memories(const struct pb_json *device, struct pb_parameters *parameters,
                                    struct pb_error *err)
{
    struct pb_json memories;
    enum pb_status status = pb_json_member(device, "memories", true, &memories, err);
    const char *key;
    json_t *value;

    if (status != PB_OK)
        return status;
    if (!json_is_object(memories.value))
        return pb_json_refuse(&memories, err, "an object");
    json_object_foreach(memories.value, key, value)
    {
        struct pb_json memory;

        status = pb_json_member(&memories, key, true, &memory, err);
        if (status == PB_OK && !json_is_object(memory.value))
            status = pb_json_refuse(&memory, err, "an object");
        if (status == PB_OK)
            status = read_memory(&memory, key, parameters, err);
        if (status != PB_OK)
            return status;
    }
    return PB_OK;
}

static enum pb_status find_device(const struct pb_json *devices, const char *key,
                                  struct pb_json *device_out, struct pb_error *err)
{
    size_t count;
    enum pb_status status = pb_json_array(devices, 1, LIST_MAX, &count, err);

    for (size_t i = 0; status == PB_OK && i < count; i++) {
        struct pb_json member;
        const char *text;

        status = pb_json_element(devices, i, device_out, err);
        if (status != PB_OK || key == NULL)
            return status;
        status = pb_json_member(device_out, "key", true, &member, err);
        if (status == PB_OK)
            status = pb_json_text(&member, &text, err);
        if (status == PB_OK && strcmp(text, key) == 0)
            return PB_OK;
    }
    return status != PB_OK ? status : pb_json_refuse(devices, err, "a device %s", key);
}

static enum pb_status read_report(const struct pb_json *devices, const char *key,
                                  struct pb_model_hierarchy *hierarchy_out, struct pb_error *err)
{
    struct pb_parameters parameters = {0};
    struct pb_json device = *devices;
    enum pb_status status = find_device(devices, key, &device, err);

    if (status == PB_OK)
        status = read_memories(&device, &parameters, err);
    if (status == PB_OK) {
        status = pb_model_hierarchy_from_parameters(&parameters, hierarchy_out, err);
        if (status != PB_OK)
            pb_error_prefix(err, "%s: %s", device.file, device.path);
    }
    pb_parameters_clear(&parameters);
    return status;
}

/* A profile */

static enum pb_status read_whole(const struct pb_json *object, const char *key, bool required,
                                 int64_t low, int64_t high, int64_t *value_out,
                                 struct pb_error *err)
{
    struct pb_json member;
    enum pb_status status = pb_json_member(object, key, required, &member, err);

    if (status != PB_OK || member.value == NULL)
        return status;
    return pb_json_integer(&member, low, high, value_out, err);
}

static enum pb_status read_latency(const struct pb_json *object, const char *key,
                                   struct pb_model_latency *latency_out, struct pb_error *err)
{
    struct pb_json member;
    double cycles;
    enum pb_status status = pb_json_member(object, key, true, &member, err);

    if (status == PB_OK)
        status = pb_json_number(&member, 0.0, 1e6, &cycles, err);
    if (status == PB_OK)
        *latency_out = (struct pb_model_latency){cycles, cycles, cycles};
    return status;
}

/* "ways": 4, or a list with one for each set. */
static enum pb_status read_profile_ways(const struct pb_json *object, struct pb_model_level *level,
                                        struct pb_error *err)
{
    struct pb_json ways, element;
    int64_t value = 0;
    size_t count;
    enum pb_status status = pb_json_member(object, "ways", true, &ways, err);

    if (status != PB_OK)
        return status;
    if (!json_is_array(ways.value)) {
        status = pb_json_integer(&ways, 1, WAYS_MAX, &value, err);
        level->shape.way_count = (size_t)value;
        return status;
    }
    status = pb_json_array(&ways, 1, LIST_MAX, &count, err);
    if (status != PB_OK)
        return status;
    level->way_counts = calloc(count, sizeof(*level->way_counts));
    if (level->way_counts == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating the ways of %zu sets", count);
    for (size_t i = 0; i < count && status == PB_OK; i++) {
        status = pb_json_element(&ways, i, &element, err);
        if (status == PB_OK)
            status = pb_json_integer(&element, 1, WAYS_MAX, &value, err);
        level->way_counts[i] = (uint32_t)value;
    }
    level->shape.set_count = count;
    level->shape.way_counts = level->way_counts;
    return status;
}

static enum pb_status read_profile_index(const struct pb_json *object, struct pb_model_level *level,
                                         struct pb_error *err)
{
    struct pb_json index, member;
    const char *kind;
    enum pb_status status = pb_json_member(object, "index", false, &index, err);

    level->has_sets = level->shape.set_count == 1;
    if (status != PB_OK || index.value == NULL)
        return status;
    status = pb_json_member(&index, "kind", true, &member, err);
    if (status == PB_OK)
        status = pb_json_text(&member, &kind, err);
    if (status != PB_OK)
        return status;
    level->has_sets = true;
    if (strcmp(kind, "modulo") == 0)
        return PB_OK;
    if (strcmp(kind, "xor") != 0)
        return pb_json_refuse(&member, err, "\"modulo\" or \"xor\"");
    status = pb_json_member(&index, "masks", true, &member, err);
    if (status == PB_OK)
        status = read_masks(&member, PB_MODEL_MASKS_MAX - 1, level->shape.index_masks,
                            &level->shape.index_mask_count, err);
    if (status == PB_OK && (size_t)1 << level->shape.index_mask_count != level->shape.set_count)
        return pb_json_refuse(&member, err, "masks that choose among %zu sets",
                              level->shape.set_count);
    return status;
}

static enum pb_status read_weights(const struct pb_json *policy, struct pb_model_level *level,
                                   struct pb_error *err)
{
    struct pb_json weights, element;
    size_t count;
    enum pb_status status = pb_json_member(policy, "weights", true, &weights, err);

    if (status == PB_OK)
        status =
            pb_json_array(&weights, level->shape.way_count, level->shape.way_count, &count, err);
    if (status != PB_OK)
        return status;
    level->way_weights = calloc(count, sizeof(*level->way_weights));
    if (level->way_weights == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu weights", count);
    for (size_t i = 0; i < count && status == PB_OK; i++) {
        status = pb_json_element(&weights, i, &element, err);
        if (status == PB_OK)
            status = pb_json_number(&element, 0.0, 1e9, &level->way_weights[i], err);
    }
    level->shape.way_weights = level->way_weights;
    return status;
}

static enum pb_status read_profile_policy(const struct pb_json *object,
                                          struct pb_model_level *level, struct pb_error *err)
{
    struct pb_json policy, kind;
    const char *word;
    enum pb_status status = pb_json_member(object, "policy", true, &policy, err);

    if (status == PB_OK)
        status = pb_json_member(&policy, "kind", true, &kind, err);
    if (status == PB_OK)
        status = pb_json_text(&kind, &word, err);
    if (status != PB_OK)
        return status;
    level->shape.policy = pb_model_policy_parse(word);
    if (level->shape.policy == PB_MODEL_POLICY_COUNT)
        return pb_json_refuse(&kind, err, "lru, fifo, plru, random, weighted or keep_hits");
    level->has_policy = true;
    return level->shape.policy == PB_MODEL_WEIGHTED ? read_weights(&policy, level, err) : PB_OK;
}

static bool is_power_of_two(int64_t value)
{
    return value > 0 && (value & (value - 1)) == 0;
}

/* What caches and TLBs have in common; `span` is the key of the line's size. */
static enum pb_status read_profile_level(const struct pb_json *object, const char *span,
                                         struct pb_model_level *level, struct pb_error *err)
{
    struct pb_json id;
    const char *name;
    int64_t line = 0, sector = 0, sets = 1;
    enum pb_status status = pb_json_member(object, "id", true, &id, err);

    if (status == PB_OK)
        status = pb_json_text(&id, &name, err);
    if (status == PB_OK)
        status = read_whole(object, span, true, 1, INT64_C(1) << 50, &line, err);
    sector = line;
    if (status == PB_OK)
        status = read_whole(object, "sector_bytes", false, 1, line, &sector, err);
    if (status == PB_OK)
        status = read_whole(object, "sets", false, 1, SETS_MAX, &sets, err);
    if (status != PB_OK)
        return status;
    if (!is_power_of_two(line) || !is_power_of_two(sector))
        return pb_json_refuse(object, err, "%s and sector_bytes as powers of two", span);
    PB_TEXT_SET(level->memory, name);
    level->shape.line_bytes = (uint64_t)line;
    level->shape.sector_bytes = (uint64_t)sector;
    level->shape.set_count = (size_t)sets;
    status = read_profile_ways(object, level, err);
    if (status == PB_OK)
        status = read_profile_index(object, level, err);
    if (status == PB_OK)
        status = read_profile_policy(object, level, err);
    for (size_t i = 0; status == PB_OK && i < level->shape.set_count; i++)
        level->fits_bytes +=
            level->shape.line_bytes *
            (level->way_counts != NULL ? level->way_counts[i] : level->shape.way_count);
    level->most_bytes = level->fits_bytes;
    return status;
}

static enum pb_status read_paths(const struct pb_json *object, size_t cache,
                                 struct pb_model_hierarchy *hierarchy, struct pb_error *err)
{
    struct pb_json paths, element;
    size_t count;
    enum pb_status status = pb_json_member(object, "paths", true, &paths, err);

    if (status == PB_OK)
        status = pb_json_array(&paths, 1, PB_MODEL_PATH_COUNT, &count, err);
    for (size_t i = 0; status == PB_OK && i < count; i++) {
        struct pb_model_route *route;
        enum pb_model_path path;
        const char *name;

        status = pb_json_element(&paths, i, &element, err);
        if (status == PB_OK)
            status = pb_json_text(&element, &name, err);
        if (status != PB_OK)
            return status;
        path = pb_model_path_parse(name);
        if (path == PB_MODEL_PATH_COUNT)
            return pb_json_refuse(&element, err, "a path of loads");
        route = &hierarchy->routes[path];
        if (route->count == PB_MODEL_DEPTH_MAX)
            return pb_json_refuse(&element, err, "at most %d caches on a path", PB_MODEL_DEPTH_MAX);
        route->caches[route->count++] = cache;
    }
    return status;
}

static enum pb_status read_profile_cache(const struct pb_json *object,
                                         struct pb_model_hierarchy *hierarchy, struct pb_error *err)
{
    struct pb_model_level *level = &hierarchy->caches[hierarchy->cache_count];
    struct pb_json unified;
    int64_t prefetch = 0;
    enum pb_status status = read_profile_level(object, "line_bytes", level, err);

    hierarchy->cache_count++;
    if (status == PB_OK)
        status = read_latency(object, "latency_cycles", &level->latency, err);
    if (status == PB_OK)
        status = read_whole(object, "prefetch_bytes", false, 0, INT64_C(1) << 40, &prefetch, err);
    if (status == PB_OK)
        status = pb_json_member(object, "unified_with_shared", false, &unified, err);
    if (status != PB_OK)
        return status;
    level->prefetch_bytes = (uint64_t)prefetch;
    level->miss_latency = level->far_latency = (struct pb_model_latency){NAN, NAN, NAN};
    level->crossing_cycles = NAN;
    level->is_unified = json_is_true(unified.value);
    return read_paths(object, hierarchy->cache_count - 1, hierarchy, err);
}

static enum pb_status read_profile_tlb(const struct pb_json *object,
                                       struct pb_model_hierarchy *hierarchy, struct pb_error *err)
{
    struct pb_model_level *level = &hierarchy->tlbs[hierarchy->tlb_count++];
    enum pb_status status = read_profile_level(object, "entry_span_bytes", level, err);

    level->is_tlb = true;
    return status == PB_OK ? read_latency(object, "penalty_cycles", &level->latency, err) : status;
}

typedef enum pb_status read_one(const struct pb_json *object, struct pb_model_hierarchy *hierarchy,
                                struct pb_error *err);

static enum pb_status read_each(const struct pb_json *root, const char *key, bool required,
                                size_t max, read_one *read, struct pb_model_hierarchy *hierarchy,
                                struct pb_error *err)
{
    struct pb_json list, element;
    size_t count = 0;
    enum pb_status status = pb_json_member(root, key, required, &list, err);

    if (status == PB_OK && list.value != NULL)
        status = pb_json_array(&list, required, max, &count, err);
    for (size_t i = 0; i < count && status == PB_OK; i++) {
        status = pb_json_element(&list, i, &element, err);
        if (status == PB_OK)
            status = read(&element, hierarchy, err);
    }
    return status;
}

/* The last cache of every path serves the whole chip. */
static void mark_chip_wide(struct pb_model_hierarchy *hierarchy)
{
    for (int path = 0; path < PB_MODEL_PATH_COUNT; path++)
        if (hierarchy->routes[path].count > 0)
            hierarchy->caches[hierarchy->routes[path].caches[hierarchy->routes[path].count - 1]]
                .is_chip_wide = true;
    for (int path = 0; path < PB_MODEL_PATH_COUNT; path++)
        for (size_t i = 0; i + 1 < hierarchy->routes[path].count; i++)
            hierarchy->caches[hierarchy->routes[path].caches[i]].is_chip_wide = false;
}

static enum pb_status read_mshr(const struct pb_json *root, struct pb_model_hierarchy *hierarchy,
                                struct pb_error *err)
{
    struct pb_json mshr;
    int64_t per_sm = 0, per_warp = 0;
    enum pb_status status = pb_json_member(root, "mshr", false, &mshr, err);

    if (status != PB_OK || mshr.value == NULL)
        return status;
    status = read_whole(&mshr, "per_sm", false, 0, 1 << 20, &per_sm, err);
    if (status == PB_OK)
        status = read_whole(&mshr, "per_warp", false, 0, 1 << 20, &per_warp, err);
    hierarchy->mshr_per_sm = (size_t)per_sm;
    hierarchy->mshr_per_warp = (size_t)per_warp;
    return status;
}

static enum pb_status read_profile(const struct pb_json *root, struct pb_model_hierarchy *hierarchy,
                                   struct pb_error *err)
{
    struct pb_json dram;
    enum pb_status status =
        read_each(root, "caches", true, PB_MODEL_CACHES_MAX, read_profile_cache, hierarchy, err);

    if (status == PB_OK)
        status =
            read_each(root, "tlbs", false, PB_MODEL_TLBS_MAX, read_profile_tlb, hierarchy, err);
    hierarchy->dram = (struct pb_model_latency){NAN, NAN, NAN};
    if (status == PB_OK)
        status = pb_json_member(root, "dram", false, &dram, err);
    if (status == PB_OK && dram.value != NULL)
        status = read_latency(&dram, "latency_cycles", &hierarchy->dram, err);
    if (status == PB_OK)
        status = read_mshr(root, hierarchy, err);
    mark_chip_wide(hierarchy);
    return status;
}

enum pb_status pb_model_hierarchy_from_json(const struct pb_json *root, const char *device,
                                            struct pb_model_hierarchy *hierarchy_out,
                                            struct pb_error *err)
{
    struct pb_json devices;
    enum pb_status status;

    if (!json_is_object(root->value))
        return pb_json_refuse(root, err, "an object with \"devices\" or \"caches\"");
    status = pb_json_member(root, "devices", false, &devices, err);
    if (status != PB_OK)
        return status;
    if (devices.value != NULL)
        return read_report(&devices, device, hierarchy_out, err);
    if (json_object_get(root->value, "caches") == NULL)
        return pb_json_refuse(root, err, "an object with \"devices\" or \"caches\"");
    memset(hierarchy_out, 0, sizeof(*hierarchy_out));
    status = read_profile(root, hierarchy_out, err);
    if (status != PB_OK)
        pb_model_hierarchy_clear(hierarchy_out);
    return status;
}
