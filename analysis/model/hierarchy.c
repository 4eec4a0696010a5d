/* A hierarchy from parameters, and caches from its levels. See hierarchy.h. */
#include "analysis/model/hierarchy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum model_memory { L1, READONLY, TEXTURE, CONSTANT_L1, CONSTANT_L15, L2, MEMORY_COUNT };

static const char *const memories[MEMORY_COUNT] = {"l1",          "readonly",     "texture",
                                                   "constant_l1", "constant_l15", "l2"};
static const char *const tlb_memories[] = {"tlb_l1", "tlb_l2", "tlb_l3"};

static const char *const path_names[PB_MODEL_PATH_COUNT] = {"global_ca", "global_cg", "readonly",
                                                            "texture", "constant"};

enum pb_model_path pb_model_path_parse(const char *name)
{
    int path = 0;

    while (path < PB_MODEL_PATH_COUNT && strcmp(path_names[path], name) != 0)
        path++;
    return (enum pb_model_path)path;
}

/* Reading parameters */

struct source {
    const struct pb_parameters *parameters;
    const char *memory;
};

static const struct pb_parameter *stated(const struct source *from, const char *name)
{
    const struct pb_parameter *found = pb_parameters_find(from->parameters, from->memory, name);

    return found != NULL && found->kind != PB_VALUE_NONE && found->number_count <= PB_LIST_MAX
               ? found
               : NULL;
}

/* 0 where it is not stated as one number of that range. */
static uint64_t count_of(const struct source *from, const char *name)
{
    double value = pb_parameters_number(from->parameters, from->memory, name);

    return value >= 1.0 && value < 0x1p53 ? (uint64_t)value : 0;
}

static uint64_t bound_of(const struct source *from, const char *name, bool high)
{
    const struct pb_parameter *found = stated(from, name);
    double value = found == NULL || found->kind != PB_VALUE_NUMBER ? 0.0
                   : high                                          ? found->numbers[0].high
                                                                   : found->numbers[0].low;

    return value >= 1.0 && value < 0x1p53 ? (uint64_t)value : 0;
}

static struct pb_model_latency latency_of(const struct source *from, const char *name)
{
    const struct pb_parameter *found = stated(from, name);

    if (found == NULL || found->kind != PB_VALUE_NUMBER)
        return (struct pb_model_latency){NAN, NAN, NAN};
    return (struct pb_model_latency){found->numbers[0].low, found->numbers[0].value,
                                     found->numbers[0].high};
}

static void note_missing(const struct source *from, struct pb_model_level *level, const char *name)
{
    if (level->missing[0] == '\0')
        snprintf(level->missing, sizeof(level->missing), "%s.%s", from->memory, name);
}

/* Is it one value, or can the evidence not distinguish several? */
static bool is_one_value(const struct source *from, const char *name)
{
    const struct pb_parameter *found = stated(from, name);

    for (size_t i = 0; found != NULL && i < found->number_count; i++)
        if (found->numbers[i].low < found->numbers[i].high)
            return false;
    return found != NULL;
}

static bool is_power_of_two(uint64_t value)
{
    return value > 0 && (value & (value - 1)) == 0;
}

/* One number for all sets, or a list with one for each. */
static enum pb_status read_ways(const struct source *from, struct pb_model_level *level,
                                struct pb_error *err)
{
    const struct pb_parameter *ways = stated(from, "way_counts");

    if (ways == NULL)
        return PB_OK;
    level->shape.way_count = (size_t)ways->numbers[0].value;
    if (ways->kind != PB_VALUE_LIST || ways->number_count != level->shape.set_count)
        return PB_OK;
    level->way_counts = calloc(ways->number_count, sizeof(*level->way_counts));
    if (level->way_counts == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating the ways of %zu sets",
                       ways->number_count);
    for (size_t i = 0; i < ways->number_count; i++)
        level->way_counts[i] = (uint32_t)ways->numbers[i].value;
    level->shape.way_counts = level->way_counts;
    return PB_OK;
}

/* Without masks, the index must be a modulo. */
static bool read_index(const struct source *from, struct pb_model_level *level)
{
    const struct pb_parameter *masks = stated(from, "index_masks"), *kind;

    if (level->shape.set_count == 1)
        return true;
    if (masks != NULL && masks->kind == PB_VALUE_MASKS &&
        masks->number_count < PB_MODEL_MASKS_MAX &&
        (size_t)1 << masks->number_count == level->shape.set_count) {
        level->shape.index_mask_count = masks->number_count;
        for (size_t i = 0; i < masks->number_count; i++)
            level->shape.index_masks[i] = (uint64_t)masks->numbers[i].value;
        return true;
    }
    kind = stated(from, "index_kind");
    return kind != NULL && strcmp(kind->word, "modulo") == 0;
}

static enum pb_status read_sets(const struct source *from, struct pb_model_level *level,
                                struct pb_error *err)
{
    enum pb_status status;

    level->shape.set_count = (size_t)count_of(from, "set_count");
    if (level->shape.set_count == 0 || !is_one_value(from, "set_count")) {
        note_missing(from, level, "set_count");
        return PB_OK;
    }
    status = read_ways(from, level, err);
    if (status != PB_OK)
        return status;
    if (level->shape.way_count == 0 && level->way_counts == NULL)
        note_missing(from, level, "way_counts");
    else if (!read_index(from, level))
        note_missing(from, level, "index_masks");
    else
        level->has_sets = true;
    return PB_OK;
}

static enum pb_status read_policy(const struct source *from, struct pb_model_level *level,
                                  struct pb_error *err)
{
    const struct pb_parameter *policy = stated(from, "policy"),
                              *weights = stated(from, "way_eviction_probabilities");

    level->shape.policy = PB_MODEL_RANDOM;
    if (policy == NULL || pb_model_policy_parse(policy->word) == PB_MODEL_POLICY_COUNT) {
        note_missing(from, level, "policy");
        return PB_OK;
    }
    level->shape.policy = pb_model_policy_parse(policy->word);
    level->has_policy = true;
    if (level->shape.policy != PB_MODEL_WEIGHTED)
        return PB_OK;
    if (weights == NULL || weights->number_count != level->shape.way_count) {
        level->shape.policy = PB_MODEL_RANDOM;
        note_missing(from, level, "way_eviction_probabilities");
        return PB_OK;
    }
    level->way_weights = calloc(weights->number_count, sizeof(*level->way_weights));
    if (level->way_weights == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu weights",
                       weights->number_count);
    for (size_t i = 0; i < weights->number_count; i++)
        level->way_weights[i] = fmax(weights->numbers[i].value, 0.0);
    level->shape.way_weights = level->way_weights;
    return PB_OK;
}

double pb_model_prefetch_bytes(const struct pb_parameters *parameters, const char *memory)
{
    const struct pb_parameter *same = pb_parameters_find(parameters, memory, "same_cache_as");
    bool is_l1 = same != NULL && (same->kind == PB_VALUE_NONE || strstr(same->word, "l1") != NULL);

    return fmax(fmax(pb_parameters_number(parameters, memory, "prefetch_bytes"), 0.0),
                is_l1 ? pb_parameters_number(parameters, "l1", "prefetch_bytes") : 0.0);
}

static enum pb_status read_cache(const struct source *from, struct pb_model_level *level,
                                 struct pb_error *err)
{
    const struct source near = {from->parameters, "l2_near"}, *size_from = from;
    enum pb_status status;
    uint64_t misses;

    /* Of two halves, each has a copy of what SMs of both sides read: such lines find one half. */
    if (strcmp(from->memory, "l2") == 0 && stated(&near, "size_bytes") != NULL)
        size_from = &near;
    PB_TEXT_SET(level->memory, from->memory);
    level->shape.line_bytes = count_of(from, "line_bytes");
    level->shape.sector_bytes = count_of(from, "sector_bytes");
    if (!is_power_of_two(level->shape.sector_bytes))
        level->shape.sector_bytes = 0;
    if (!is_power_of_two(level->shape.line_bytes)) {
        note_missing(from, level, "line_bytes");
        level->shape.line_bytes = level->shape.sector_bytes;
    }
    if (level->shape.sector_bytes > level->shape.line_bytes)
        level->shape.sector_bytes = level->shape.line_bytes;
    level->fits_bytes = bound_of(size_from, "size_bytes", false);
    level->most_bytes = bound_of(size_from, "size_bytes", true);
    level->prefetch_bytes = (uint64_t)pb_model_prefetch_bytes(from->parameters, from->memory);
    level->latency = latency_of(from, "latency_cycles");
    level->miss_latency = latency_of(from, "miss_latency_cycles");
    level->far_latency = (struct pb_model_latency){NAN, NAN, NAN};
    level->crossing_cycles =
        pb_parameters_number(from->parameters, from->memory, "crossing_cycles");
    if (level->fits_bytes == 0)
        note_missing(from, level, "size_bytes");
    status = read_sets(from, level, err);
    /* Sets that differ hold more in all than of one array: no more than before the first misses. */
    misses = level->has_sets ? 0 : bound_of(size_from, "full_miss_bytes", false);
    if (misses > 0 && misses <= level->fits_bytes && level->shape.line_bytes > 0)
        level->fits_bytes = (misses - 1) / level->shape.line_bytes * level->shape.line_bytes;
    return status == PB_OK ? read_policy(from, level, err) : status;
}

static enum pb_status read_tlb(const struct source *from, struct pb_model_level *level,
                               struct pb_error *err)
{
    enum pb_status status;

    PB_TEXT_SET(level->memory, from->memory);
    level->is_tlb = true;
    level->shape.line_bytes = count_of(from, "entry_coverage_bytes");
    if (!is_power_of_two(level->shape.line_bytes) || !is_one_value(from, "entry_coverage_bytes")) {
        note_missing(from, level, "entry_coverage_bytes");
        level->shape.line_bytes = 0;
    }
    level->fits_bytes = bound_of(from, "reach_bytes", false);
    level->most_bytes = bound_of(from, "reach_bytes", true);
    level->latency = latency_of(from, "penalty_cycles");
    if (level->fits_bytes == 0)
        note_missing(from, level, "reach_bytes");
    status = read_sets(from, level, err);
    level->shape.policy = PB_MODEL_RANDOM;
    if (level
            ->has_sets) { /* sets are found by chases that only LRU explains (docs/parameters.md) */
        level->shape.policy = PB_MODEL_LRU;
        level->has_policy = true;
    }
    return status;
}

/* Whether one memory states that its loads go through another one's cache. */
static bool names(const struct pb_parameters *parameters, const char *memory, const char *other)
{
    const struct source from = {parameters, memory};
    const struct pb_parameter *word = stated(&from, "same_cache_as");
    size_t length = strlen(other);

    for (const char *at = word == NULL ? NULL : strstr(word->word, other); at != NULL;
         at = strstr(at + length, other))
        if ((at == word->word || at[-1] == ' ') && (at[length] == '\0' || at[length] == ' '))
            return true;
    return false;
}

static void route(struct pb_model_hierarchy *hierarchy, enum pb_model_path path, size_t cache)
{
    struct pb_model_route *to = &hierarchy->routes[path];

    if (cache < PB_MODEL_CACHES_MAX && to->count < PB_MODEL_DEPTH_MAX)
        to->caches[to->count++] = cache;
}

/* place[m]: where memory m's cache is; shared ones have one place. */
static void make_routes(struct pb_model_hierarchy *hierarchy, const size_t *place)
{
    route(hierarchy, PB_MODEL_GLOBAL_CA, place[L1]);
    route(hierarchy, PB_MODEL_READONLY, place[READONLY]);
    route(hierarchy, PB_MODEL_TEXTURE, place[TEXTURE]);
    route(hierarchy, PB_MODEL_CONSTANT, place[CONSTANT_L1]);
    route(hierarchy, PB_MODEL_CONSTANT, place[CONSTANT_L15]);
    for (int path = 0; path < PB_MODEL_PATH_COUNT; path++)
        if (path == PB_MODEL_GLOBAL_CA || path == PB_MODEL_GLOBAL_CG ||
            hierarchy->routes[path].count > 0)
            route(hierarchy, (enum pb_model_path)path, place[L2]);
}

static enum pb_status read_caches(const struct pb_parameters *parameters,
                                  struct pb_model_hierarchy *hierarchy, struct pb_error *err)
{
    size_t place[MEMORY_COUNT];

    for (size_t m = 0; m < MEMORY_COUNT; m++) {
        const struct source from = {parameters, memories[m]};
        struct pb_model_level *level = &hierarchy->caches[hierarchy->cache_count];
        enum pb_status status;

        place[m] = PB_MODEL_CACHES_MAX;
        if (stated(&from, "latency_cycles") == NULL)
            continue;
        for (size_t other = 0; other < m && place[m] == PB_MODEL_CACHES_MAX; other++)
            if (names(parameters, memories[m], memories[other]) &&
                names(parameters, memories[other], memories[m]))
                place[m] = place[other];
        if (place[m] != PB_MODEL_CACHES_MAX)
            continue;
        place[m] = hierarchy->cache_count++;
        level->is_chip_wide = m == L2;
        status = read_cache(&from, level, err);
        if (status != PB_OK)
            return status;
    }
    make_routes(hierarchy, place);
    return PB_OK;
}

/* TLB levels up to the first whose penalty is not known. */
static enum pb_status read_tlbs(const struct pb_parameters *parameters,
                                struct pb_model_hierarchy *hierarchy, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < sizeof(tlb_memories) / sizeof(tlb_memories[0]) && status == PB_OK; i++) {
        const struct source from = {parameters, tlb_memories[i]};

        if (stated(&from, "penalty_cycles") == NULL)
            break;
        status = read_tlb(&from, &hierarchy->tlbs[hierarchy->tlb_count++], err);
    }
    return status;
}

/*
 * Beside the least carve-out L1's size was found, too, from more starts. Where the interval that
 * was seen there reaches that size, it is one store, of which a kernel has a line or two itself.
 */
static void settle_least_carveout(struct pb_model_hierarchy *hierarchy,
                                  const struct pb_estimate *least)
{
    for (size_t i = 0; i < hierarchy->cache_count; i++) {
        struct pb_model_level *level = &hierarchy->caches[i];

        if (strcmp(level->memory, memories[L1]) != 0 || hierarchy->carveout_count == 0 ||
            hierarchy->carveout_size_bytes[0] >= level->fits_bytes ||
            least->high < (double)level->fits_bytes)
            continue;
        level->sure_bytes = hierarchy->carveout_size_bytes[0];
        hierarchy->carveout_size_bytes[0] = level->fits_bytes;
    }
}

static void read_carveouts(const struct pb_parameters *parameters,
                           struct pb_model_hierarchy *hierarchy)
{
    const struct source from = {parameters, "l1"};
    const struct pb_parameter *beside = stated(&from, "carveout_bytes"),
                              *size = stated(&from, "carveout_size_bytes");

    if (beside == NULL || size == NULL || beside->number_count != size->number_count)
        return;
    for (size_t i = 0; i < beside->number_count; i++) {
        if (!(beside->numbers[i].value >= 0.0) || !(size->numbers[i].value >= 0.0))
            continue;
        hierarchy->carveout_bytes[hierarchy->carveout_count] = (uint64_t)beside->numbers[i].value;
        hierarchy->carveout_size_bytes[hierarchy->carveout_count++] =
            (uint64_t)size->numbers[i].value;
    }
    settle_least_carveout(hierarchy, &size->numbers[0]);
    for (size_t i = 0; i < hierarchy->cache_count; i++)
        if (hierarchy->carveout_count > 1 && (strcmp(hierarchy->caches[i].memory, "l1") == 0 ||
                                              names(parameters, "l1", hierarchy->caches[i].memory)))
            hierarchy->caches[i].is_unified = true;
}

static void read_latencies(const struct pb_parameters *parameters,
                           struct pb_model_hierarchy *hierarchy)
{
    const struct source far = {parameters, "l2_far"}, dram = {parameters, "dram"},
                        mshr = {parameters, "mshr"};

    for (size_t i = 0; i < hierarchy->cache_count; i++)
        if (hierarchy->caches[i].is_chip_wide)
            hierarchy->caches[i].far_latency = latency_of(&far, "latency_cycles");
    hierarchy->dram = latency_of(&dram, "latency_cycles");
    hierarchy->mshr_per_sm = (size_t)count_of(&mshr, "outstanding_per_sm");
    hierarchy->mshr_per_warp = (size_t)count_of(&mshr, "outstanding_per_warp");
}

enum pb_status pb_model_hierarchy_from_parameters(const struct pb_parameters *parameters,
                                                  struct pb_model_hierarchy *hierarchy_out,
                                                  struct pb_error *err)
{
    struct pb_model_hierarchy *hierarchy = hierarchy_out;
    enum pb_status status;

    memset(hierarchy, 0, sizeof(*hierarchy));
    status = read_caches(parameters, hierarchy, err);
    if (status == PB_OK)
        status = read_tlbs(parameters, hierarchy, err);
    if (status == PB_OK && hierarchy->cache_count == 0)
        status = pb_fail(err, PB_NOT_FOUND, "the latency of no cache was determined");
    if (status != PB_OK) {
        pb_model_hierarchy_clear(hierarchy);
        return status;
    }
    read_carveouts(parameters, hierarchy);
    read_latencies(parameters, hierarchy);
    return PB_OK;
}

void pb_model_hierarchy_clear(struct pb_model_hierarchy *hierarchy)
{
    if (hierarchy == NULL)
        return;
    for (size_t i = 0; i < PB_MODEL_CACHES_MAX; i++) {
        free(hierarchy->caches[i].way_counts);
        free(hierarchy->caches[i].way_weights);
    }
    for (size_t i = 0; i < PB_MODEL_TLBS_MAX; i++) {
        free(hierarchy->tlbs[i].way_counts);
        free(hierarchy->tlbs[i].way_weights);
    }
    memset(hierarchy, 0, sizeof(*hierarchy));
}

const struct pb_model_level *pb_model_hierarchy_find(const struct pb_model_hierarchy *hierarchy,
                                                     const char *memory)
{
    for (size_t i = 0; i < hierarchy->cache_count; i++)
        if (strcmp(hierarchy->caches[i].memory, memory) == 0)
            return &hierarchy->caches[i];
    return NULL;
}

/* Caches of levels */

uint64_t pb_model_level_fits(const struct pb_model_hierarchy *hierarchy,
                             const struct pb_model_level *level, uint64_t carveout_bytes)
{
    if (!level->is_unified)
        return level->fits_bytes;
    if (hierarchy->carveout_count == 0) /* a profile's: what is set aside is missing */
        return level->fits_bytes > carveout_bytes ? level->fits_bytes - carveout_bytes : 0;
    if (carveout_bytes < hierarchy->carveout_bytes[0]) /* the least, where the size was found */
        return level->fits_bytes;
    for (size_t i = 0; i < hierarchy->carveout_count; i++)
        if (hierarchy->carveout_bytes[i] >= carveout_bytes)
            return hierarchy->carveout_size_bytes[i] < level->fits_bytes
                       ? hierarchy->carveout_size_bytes[i]
                       : level->fits_bytes;
    return 0;
}

static size_t count_lines(const struct pb_model_shape *shape)
{
    size_t lines = 0;

    if (shape->way_counts == NULL)
        return shape->set_count * shape->way_count;
    for (size_t i = 0; i < shape->set_count; i++)
        lines += shape->way_counts[i];
    return lines;
}

enum pb_status pb_model_level_open(const struct pb_model_level *level, uint64_t fits_bytes,
                                   enum pb_model_gap gap, uint64_t seed,
                                   struct pb_model_cache **cache_out, struct pb_error *err)
{
    struct pb_model_shape shape = level->shape;
    bool has_slack = !level->is_tlb && fits_bytes >= level->fits_bytes && gap == PB_MODEL_UNCERTAIN;
    size_t fits_lines, most_lines;

    if (shape.line_bytes == 0 || (fits_bytes == 0 && !level->has_sets))
        return pb_fail(err, PB_NOT_FOUND, "%s is not determined", level->missing);
    fits_lines = (size_t)(fits_bytes / shape.line_bytes);
    most_lines = fits_lines + (has_slack ? fits_lines / PB_MODEL_SLACK : 0);
    if (gap == PB_MODEL_ASSUME && !level->has_policy)
        shape.policy = PB_MODEL_LRU;
    if (!level->has_sets) {
        shape.set_count = 1;
        shape.way_count = most_lines > 0 ? most_lines : 1;
        shape.way_counts = NULL;
        shape.index_mask_count = 0;
        if (gap == PB_MODEL_UNCERTAIN)
            shape.policy = PB_MODEL_RANDOM;
        if (shape.policy == PB_MODEL_WEIGHTED) {
            shape.policy = PB_MODEL_RANDOM;
            shape.way_weights = NULL;
        }
    } else if (fits_lines > 0 && most_lines < count_lines(&shape)) {
        shape.capacity_lines = most_lines;
    }
    return pb_model_cache_create(&shape, seed, cache_out, err);
}
