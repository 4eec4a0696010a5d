/* Reading the caches and TLBs of a profile, and refusing those that cannot exist. */
#include <stdlib.h>
#include <string.h>

#include "core/json_reader.h"
#include "device/device.h"
#include "device/sim/profile.h"

/* The paths that may name a cache: "shared" has none, and the others are views of these. */
static const uint32_t cached_paths = 1u << PB_PATH_GLOBAL_CA | 1u << PB_PATH_GLOBAL_CG |
                                     1u << PB_PATH_READONLY | 1u << PB_PATH_TEXTURE |
                                     1u << PB_PATH_CONSTANT;

enum { CACHED_PATHS = 5 };
enum { SETS_MAX = 1 << PB_SIM_MASKS_MAX, WAYS_MAX = 1 << 16, LINES_MAX = 1 << 26 };

static const char *const policy_words[] = {[PB_SIM_POLICY_LRU] = "lru",
                                           [PB_SIM_POLICY_FIFO] = "fifo",
                                           [PB_SIM_POLICY_PLRU] = "plru",
                                           [PB_SIM_POLICY_RANDOM] = "random",
                                           [PB_SIM_POLICY_WEIGHTED] = "weighted",
                                           [PB_SIM_POLICY_KEEP_HITS] = "keep_hits",
                                           NULL};

static const char *const index_words[] = {
    [PB_SIM_INDEX_MODULO] = "modulo", [PB_SIM_INDEX_XOR] = "xor", NULL};

static void *allocate(struct pb_json_reader *reader, size_t count, size_t size)
{
    void *array = reader->status == PB_OK ? calloc(count, size) : NULL;

    if (array == NULL && reader->status == PB_OK)
        reader->status =
            pb_fail(reader->err, PB_NO_MEMORY, "out of memory allocating a set list of %zu", count);
    return array;
}

/* `ways` as a list: one entry per set; `sets` may be left out, but must not contradict it. */
static void read_way_list(struct pb_json_reader *reader, const struct pb_json *object,
                          struct pb_sim_shape *shape)
{
    struct pb_json list, sets, element;
    size_t count = pb_json_read_array(reader, object, "ways", 1, SETS_MAX, &list);
    int64_t ways = 0;

    sets = pb_json_read_optional(reader, object, "sets");
    if (sets.value != NULL &&
        pb_json_read_integer(reader, object, "sets", 1, SETS_MAX) != (int64_t)count)
        pb_json_read_refuse(reader, &list, "one entry for each of %lld sets",
                            (long long)json_integer_value(sets.value));
    shape->ways = allocate(reader, count, sizeof(*shape->ways));
    for (size_t i = 0; i < count && reader->status == PB_OK; i++) {
        element = pb_json_read_element(reader, &list, i);
        if (reader->status == PB_OK)
            reader->status = pb_json_integer(&element, 1, WAYS_MAX, &ways, reader->err);
        shape->ways[i] = (uint32_t)ways;
    }
    shape->set_count = (uint32_t)count;
}

/* A TLB without `sets` is fully associative. */
static void read_equal_ways(struct pb_json_reader *reader, const struct pb_json *object,
                            bool sets_required, struct pb_sim_shape *shape)
{
    int64_t ways = pb_json_read_integer(reader, object, "ways", 1, WAYS_MAX), sets = 1;

    if (sets_required || pb_json_read_optional(reader, object, "sets").value != NULL)
        sets = pb_json_read_integer(reader, object, "sets", 1, SETS_MAX);
    shape->ways = allocate(reader, (size_t)sets, sizeof(*shape->ways));
    for (int64_t i = 0; i < sets && reader->status == PB_OK; i++)
        shape->ways[i] = (uint32_t)ways;
    shape->set_count = (uint32_t)sets;
}

static void read_ways(struct pb_json_reader *reader, const struct pb_json *object,
                      bool sets_required, struct pb_sim_shape *shape)
{
    struct pb_json at = pb_json_read_member(reader, object, "ways");

    if (reader->status != PB_OK)
        return;
    if (json_is_array(at.value))
        read_way_list(reader, object, shape);
    else
        read_equal_ways(reader, object, sets_required, shape);
    if (reader->status == PB_OK && pb_sim_shape_bytes(shape) / shape->line_bytes > LINES_MAX)
        pb_json_read_refuse(reader, &at, "at most %d lines in all sets", LINES_MAX);
}

/* The weights of a weighted policy: one per way, hence the same number of ways in all sets. */
static void read_weights(struct pb_json_reader *reader, const struct pb_json *policy,
                         struct pb_sim_shape *shape)
{
    struct pb_json list, element;
    size_t count = pb_json_read_array(reader, policy, "weights", 1, WAYS_MAX, &list);
    double sum = 0.0;

    for (uint32_t set = 0; set < shape->set_count && reader->status == PB_OK; set++)
        if (shape->ways[set] != count)
            pb_json_read_refuse(reader, &list, "a weight for each of %u ways", shape->ways[set]);
    shape->weights = allocate(reader, count, sizeof(*shape->weights));
    for (size_t i = 0; i < count && reader->status == PB_OK; i++) {
        element = pb_json_read_element(reader, &list, i);
        if (reader->status == PB_OK)
            reader->status = pb_json_number(&element, 0, 1e9, &shape->weights[i], reader->err);
        sum += shape->weights[i];
    }
    if (sum <= 0.0)
        pb_json_read_refuse(reader, &list, "at least one weight above 0");
}

static void read_policy(struct pb_json_reader *reader, const struct pb_json *object,
                        struct pb_sim_shape *shape)
{
    static const char *const plain[] = {"kind", NULL}, *const weighted[] = {"kind", "weights",
                                                                            NULL};
    struct pb_json at = pb_json_read_member(reader, object, "policy");

    shape->policy = (enum pb_sim_policy)pb_json_read_word(reader, &at, "kind", policy_words);
    if (reader->status != PB_OK)
        return;
    pb_json_read_only(reader, &at, shape->policy == PB_SIM_POLICY_WEIGHTED ? weighted : plain);
    if (shape->policy == PB_SIM_POLICY_WEIGHTED)
        read_weights(reader, &at, shape);
}

/* Masks that depend on each other over GF(2) leave sets that no address reaches. */
static bool is_independent(const uint64_t *masks, uint32_t count, uint64_t candidate)
{
    uint64_t basis[PB_SIM_MASKS_MAX] = {0};
    uint32_t rank = 0;

    for (uint32_t i = 0; i <= count; i++) {
        uint64_t rest = i < count ? masks[i] : candidate;

        for (uint32_t k = 0; k < rank; k++)
            if ((rest ^ basis[k]) < rest)
                rest ^= basis[k];
        if (rest == 0)
            return false;
        basis[rank++] = rest;
    }
    return true;
}

static void read_mask(struct pb_json_reader *reader, const struct pb_json *at,
                      struct pb_sim_shape *shape)
{
    uint64_t mask = pb_json_read_mask(reader, at);

    if ((mask & (shape->line_bytes - 1)) != 0)
        pb_json_read_refuse(reader, at, "no bits within a line of %llu bytes",
                            (unsigned long long)shape->line_bytes);
    else if (!is_independent(shape->masks, shape->mask_count, mask))
        pb_json_read_refuse(reader, at, "a mask that is no XOR of the ones before it");
    if (reader->status == PB_OK)
        shape->masks[shape->mask_count++] = mask;
}

static void read_index(struct pb_json_reader *reader, const struct pb_json *object,
                       struct pb_sim_shape *shape)
{
    static const char *const plain[] = {"kind", NULL}, *const hashed[] = {"kind", "masks", NULL};
    struct pb_json at = pb_json_read_member(reader, object, "index"), list, mask;
    size_t count;

    shape->index = (enum pb_sim_index)pb_json_read_word(reader, &at, "kind", index_words);
    if (reader->status != PB_OK)
        return;
    pb_json_read_only(reader, &at, shape->index == PB_SIM_INDEX_XOR ? hashed : plain);
    if (shape->index != PB_SIM_INDEX_XOR)
        return;
    count = pb_json_read_array(reader, &at, "masks", 0, PB_SIM_MASKS_MAX, &list);
    if (reader->status == PB_OK && (UINT64_C(1) << count) != shape->set_count)
        pb_json_read_refuse(reader, &list, "as many masks as index bits of %u sets",
                            shape->set_count);
    for (size_t i = 0; i < count; i++) {
        mask = pb_json_read_element(reader, &list, i);
        read_mask(reader, &mask, shape);
    }
}

static void read_paths(struct pb_json_reader *reader, const struct pb_json *object,
                       struct pb_sim_cache_spec *spec)
{
    struct pb_json list, element;
    size_t count = pb_json_read_array(reader, object, "paths", 1, CACHED_PATHS, &list);
    const char *text = "";
    enum pb_path path;

    for (size_t i = 0; i < count; i++) {
        element = pb_json_read_element(reader, &list, i);
        if (reader->status == PB_OK)
            reader->status = pb_json_text(&element, &text, reader->err);
        if (reader->status != PB_OK)
            return;
        path = pb_path_parse(text);
        if ((cached_paths >> path & 1) == 0)
            pb_json_read_refuse(reader, &element,
                                "global_ca, global_cg, readonly, texture or constant");
        else if ((spec->paths & (1u << path)) != 0)
            pb_json_read_refuse(reader, &element, "each path once");
        spec->paths |= 1u << path;
    }
}

/* An id that no entry before has. */
static void read_id(struct pb_json_reader *reader, const struct pb_json *object,
                    const struct pb_sim_profile *profile, char id[PB_NAME_LENGTH])
{
    struct pb_json at = pb_json_read_member(reader, object, "id");
    char text[PB_NAME_LENGTH] = "";
    bool taken = false;

    pb_json_read_text(reader, object, "id", text, sizeof(text));
    for (size_t i = 0; i < profile->cache_count; i++)
        taken |= strcmp(profile->caches[i].id, text) == 0;
    for (size_t i = 0; i < profile->tlb_count; i++)
        taken |= strcmp(profile->tlbs[i].id, text) == 0;
    if (taken)
        pb_json_read_refuse(reader, &at, "an id that is used once");
    memcpy(id, text, sizeof(text));
}

/* A truth value that is false when it is not there. */
static bool read_flag(struct pb_json_reader *reader, const struct pb_json *object, const char *key)
{
    struct pb_json flag = pb_json_read_optional(reader, object, key);

    if (flag.value == NULL)
        return false;
    if (!json_is_boolean(flag.value))
        pb_json_read_refuse(reader, &flag, "true or false");
    return json_is_true(flag.value);
}

static void read_prefetch(struct pb_json_reader *reader, const struct pb_json *object,
                          struct pb_sim_prefetch *prefetch)
{
    struct pb_json bytes = pb_json_read_optional(reader, object, "prefetch_bytes");
    struct pb_json only = pb_json_read_optional(reader, object, "prefetch_first_walk_only");

    if (reader->status == PB_OK && bytes.value != NULL)
        prefetch->bytes =
            (uint64_t)pb_json_read_integer(reader, object, "prefetch_bytes", 0, INT64_C(1) << 40);
    prefetch->first_walk_only = read_flag(reader, object, "prefetch_first_walk_only");
    if (prefetch->first_walk_only && prefetch->bytes == 0)
        pb_json_read_refuse(reader, &only, "prefetch_bytes beside it");
}

static void read_optional_traits(struct pb_json_reader *reader, const struct pb_json *object,
                                 struct pb_sim_cache_spec *spec)
{
    read_prefetch(reader, object, &spec->prefetch);
    pb_json_read_number_or(reader, object, "line_spread_cycles", 0, 1e6, &spec->line_spread_cycles);
    pb_json_read_number_or(reader, object, "miss_cycles", 0, 1e6, &spec->miss_cycles);
    pb_json_read_number_or(reader, object, "tlb_detour_cycles", 0, 1e6, &spec->tlb_detour_cycles);
    spec->unified_with_shared = read_flag(reader, object, "unified_with_shared");
    spec->skips_tlb = read_flag(reader, object, "skips_tlb");
}

/* The further down a path, the slower: otherwise a hit could not be distinguished from a miss. */
static void check_latencies(struct pb_json_reader *reader, const struct pb_json *object,
                            const struct pb_sim_profile *profile,
                            const struct pb_sim_cache_spec *spec)
{
    struct pb_json at = pb_json_read_member(reader, object, "latency_cycles");

    for (size_t i = 0; i < profile->cache_count; i++)
        if ((profile->caches[i].paths & spec->paths) != 0 &&
            profile->caches[i].latency_cycles >= spec->latency_cycles)
            pb_json_read_refuse(reader, &at, "more than the %g of \"%s\", which comes before it",
                                profile->caches[i].latency_cycles, profile->caches[i].id);
}

static void read_cache(struct pb_json_reader *reader, const struct pb_json *object,
                       struct pb_sim_profile *profile)
{
    static const char *const keys[] = {"id",
                                       "paths",
                                       "line_bytes",
                                       "sector_bytes",
                                       "sets",
                                       "ways",
                                       "index",
                                       "policy",
                                       "latency_cycles",
                                       "prefetch_bytes",
                                       "prefetch_first_walk_only",
                                       "unified_with_shared",
                                       "line_spread_cycles",
                                       "miss_cycles",
                                       "tlb_detour_cycles",
                                       "skips_tlb",
                                       NULL};
    struct pb_sim_cache_spec *spec = &profile->caches[profile->cache_count];
    struct pb_json sector;

    pb_json_read_only(reader, object, keys);
    read_id(reader, object, profile, spec->id);
    read_paths(reader, object, spec);
    spec->shape.line_bytes = pb_json_read_power_of_two(reader, object, "line_bytes", 8, 1 << 20);
    spec->shape.sector_bytes = pb_json_read_power_of_two(reader, object, "sector_bytes", 8,
                                                         (int64_t)spec->shape.line_bytes);
    sector = pb_json_read_member(reader, object, "sector_bytes");
    if (spec->shape.line_bytes > PB_SIM_SECTORS_MAX * spec->shape.sector_bytes)
        pb_json_read_refuse(reader, &sector, "at most %d sectors in a line", PB_SIM_SECTORS_MAX);
    read_ways(reader, object, true, &spec->shape);
    read_index(reader, object, &spec->shape);
    read_policy(reader, object, &spec->shape);
    spec->latency_cycles = pb_json_read_number(reader, object, "latency_cycles", 1, 1e6);
    check_latencies(reader, object, profile, spec);
    read_optional_traits(reader, object, spec);
}

static void read_tlb(struct pb_json_reader *reader, const struct pb_json *object,
                     struct pb_sim_profile *profile)
{
    static const char *const keys[] = {"id",    "page_bytes", "entry_span_bytes", "sets", "ways",
                                       "index", "policy",     "penalty_cycles",   NULL};
    struct pb_sim_tlb_spec *spec = &profile->tlbs[profile->tlb_count];
    uint64_t span;

    pb_json_read_only(reader, object, keys);
    read_id(reader, object, profile, spec->id);
    spec->page_bytes =
        pb_json_read_power_of_two(reader, object, "page_bytes", 4096, INT64_C(1) << 40);
    span = pb_json_read_power_of_two(reader, object, "entry_span_bytes", (int64_t)spec->page_bytes,
                                     INT64_C(1) << 46);
    spec->shape.line_bytes = spec->shape.sector_bytes = span;
    spec->shape.index = PB_SIM_INDEX_DEALT;
    read_ways(reader, object, false, &spec->shape);
    if (pb_json_read_optional(reader, object, "index").value != NULL)
        read_index(reader, object, &spec->shape);
    read_policy(reader, object, &spec->shape);
    spec->penalty_cycles = pb_json_read_number(reader, object, "penalty_cycles", 0, 1e6);
}

void pb_sim_profile_read_caches(struct pb_json_reader *reader, const struct pb_json *root,
                                struct pb_sim_profile *profile)
{
    struct pb_json list, element;
    size_t count = pb_json_read_array(reader, root, "caches", 0, PB_SIM_CACHES_MAX, &list);

    for (size_t i = 0; i < count; i++) {
        element = pb_json_read_element(reader, &list, i);
        read_cache(reader, &element, profile);
        profile->cache_count++; /* also when it failed: its arrays are there to be freed */
    }
}

void pb_sim_profile_read_tlbs(struct pb_json_reader *reader, const struct pb_json *root,
                              struct pb_sim_profile *profile)
{
    struct pb_json list, element;
    size_t count = pb_json_read_array(reader, root, "tlbs", 0, PB_SIM_TLBS_MAX, &list);

    for (size_t i = 0; i < count; i++) {
        element = pb_json_read_element(reader, &list, i);
        read_tlb(reader, &element, profile);
        profile->tlb_count++;
    }
}
