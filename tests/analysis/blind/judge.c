/* Judging every stated parameter of a random device by its true value. */
#include "analysis/blind/parallel.h"
#include "analysis/blind/recover.h"
#include "device/sim/sides.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The answers so far. */
struct answers {
    const struct pb_parameters *parameters;
    struct blind_result *results;
    size_t count;
    double jitter_cycles; /* latencies are medians, which lie that much higher at most */
    double spread_cycles; /* and from those of L2's hits on so much, by line, */
    double l2_cycles;     /* which is this */
};

static struct blind_result *next_result(struct answers *answers, const char *memory,
                                        const char *name, const struct pb_parameter *parameter)
{
    struct blind_result *result = &answers->results[answers->count++];

    snprintf(result->name, sizeof(result->name), "%s.%s", memory, name);
    result->verdict = BLIND_NULL;
    result->confidence = 0.0;
    result->votes = parameter == NULL ? 0.0 : parameter->votes;
    snprintf(result->detail, sizeof(result->detail), "%s",
             parameter == NULL ? "not in the table" : parameter->reason);
    return result;
}

/* A list may be one number where all are equal. */
static bool is_list(const struct pb_parameter *parameter, const double *truth, size_t count,
                    double tolerance, double relative)
{
    if (parameter->number_count != count && parameter->number_count != 1)
        return false;
    for (size_t i = 0; i < count; i++) {
        double value = parameter->numbers[parameter->number_count == 1 ? 0 : i].value;

        if (isnan(value)) /* null: not every number of ways can be had */
            continue;
        if (!(fabs(value - truth[i]) <= fmax(tolerance, relative * truth[i])))
            return false;
    }
    return true;
}

/*
 * Numbers whose intervals leave open what they are, and hold the truth: one for all, or of several
 * some may be known.
 */
static bool is_bounded(const struct pb_parameter *parameter, const double *truth, size_t count,
                       double tolerance, double relative)
{
    bool any_open = false;

    if (parameter->number_count != count && parameter->number_count != 1)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct pb_estimate *e = &parameter->numbers[parameter->number_count == 1 ? 0 : i];
        double near = fmax(tolerance, relative * truth[i]);

        if (isnan(e->value))
            continue;
        if (!(e->low - near <= truth[i] && truth[i] <= e->high + near))
            return false;
        any_open |= e->low < e->high;
    }
    return any_open;
}

/* As far as there is room. */
static void add_text(struct blind_result *result, const char *text)
{
    size_t length = strlen(result->detail);

    snprintf(result->detail + length, sizeof(result->detail) - length, "%s", text);
}

static void add_number(struct blind_result *result, double number)
{
    char text[32];

    snprintf(text, sizeof(text), " %g", number);
    add_text(result, text);
}

static void add_mask(struct blind_result *result, uint64_t mask)
{
    char text[32];

    snprintf(text, sizeof(text), " 0x%llx", (unsigned long long)mask);
    add_text(result, text);
}

static void check_numbers(struct answers *answers, const char *memory, const char *name,
                          const double *truth, size_t count, double tolerance, double relative)
{
    const struct pb_parameter *parameter = pb_parameters_find(answers->parameters, memory, name);
    struct blind_result *result = next_result(answers, memory, name, parameter);

    if (parameter == NULL || parameter->kind == PB_VALUE_NONE)
        return;
    result->confidence = parameter->confidence;
    result->verdict =
        is_list(parameter, truth, count, tolerance, relative) ? BLIND_EXACT : BLIND_WRONG;
    if (result->verdict == BLIND_WRONG && is_bounded(parameter, truth, count, tolerance, relative))
        result->verdict = BLIND_BOUNDED;
    add_text(result, "expected");
    for (size_t i = 0; i < count; i++)
        add_number(result, truth[i]);
    add_text(result, ", found");
    for (size_t i = 0; i < parameter->number_count; i++)
        add_number(result, parameter->numbers[i].value);
    if (result->verdict == BLIND_WRONG) {
        add_text(result, "; ");
        add_text(result, parameter->method);
    }
}

static void check_exact(struct answers *answers, const char *memory, const char *name, double truth)
{
    check_numbers(answers, memory, name, &truth, 1, 0.0, 0.0);
}

/* Half of what lines differ by in such a latency. */
static double half_spread(const struct answers *answers, double cycles)
{
    return cycles >= answers->l2_cycles ? answers->spread_cycles / 2.0 : 0.0;
}

static void check_latency(struct answers *answers, const char *memory, const char *name,
                          double truth)
{
    double half = half_spread(answers, truth);

    check_numbers(answers, memory, name, (const double[]){truth + half}, 1,
                  answers->jitter_cycles + 1.0 + half, 0.02);
}

static void check_word(struct answers *answers, const char *memory, const char *name,
                       const char *truth, const char *also)
{
    const struct pb_parameter *parameter = pb_parameters_find(answers->parameters, memory, name);
    struct blind_result *result = next_result(answers, memory, name, parameter);

    if (parameter == NULL || parameter->kind == PB_VALUE_NONE)
        return;
    result->confidence = parameter->confidence;
    result->verdict = strcmp(parameter->word, truth) == 0 || strcmp(parameter->word, also) == 0
                          ? BLIND_EXACT
                          : BLIND_WRONG;
    snprintf(result->detail, sizeof(result->detail), "expected %s, found %s; %s", truth,
             parameter->word, parameter->method);
}

/* What the device does not have. */
static void check_absent(struct answers *answers, const char *memory, const char *name)
{
    const struct pb_parameter *parameter = pb_parameters_find(answers->parameters, memory, name);
    struct blind_result *result = next_result(answers, memory, name, parameter);
    bool is_stated = parameter != NULL && parameter->kind != PB_VALUE_NONE;

    result->verdict = is_stated ? BLIND_SPURIOUS : BLIND_EXACT;
    if (!is_stated)
        return;
    result->confidence = parameter->confidence;
    if (parameter->kind == PB_VALUE_WORD)
        snprintf(result->detail, sizeof(result->detail), "there is none, found %s; %s",
                 parameter->word, parameter->method);
    else
        snprintf(result->detail, sizeof(result->detail), "there is none, found %g; %s",
                 parameter->numbers[0].value, parameter->method);
}

/* The same space of masks? By elimination, lowest bits first. */
static size_t reduce(uint64_t *masks, size_t count)
{
    size_t rank = 0;

    for (unsigned bit = 0; bit < 64; bit++) {
        size_t pivot = rank;

        while (pivot < count && (masks[pivot] >> bit & 1) == 0)
            pivot++;
        if (pivot == count)
            continue;
        uint64_t kept = masks[pivot];
        masks[pivot] = masks[rank];
        masks[rank] = kept;
        for (size_t i = 0; i < count; i++)
            if (i != rank && (masks[i] >> bit & 1) != 0)
                masks[i] ^= kept;
        rank++;
    }
    return rank;
}

/* Masks of a cache, of which one with a modulo has one for each bit of its sets. */
enum { TRUE_MASKS_MAX = 64 };

static size_t true_masks(const struct blind_cache *cache, uint64_t masks[TRUE_MASKS_MAX])
{
    static const uint64_t constant_bits = 0xffff; /* there are no more constants */
    size_t count = cache->mask_count;

    memcpy(masks, cache->masks, sizeof(cache->masks));
    for (size_t i = 0; i < count && cache->paths != NULL; i++)
        if (strstr(cache->paths, "[\"constant\"") != NULL)
            masks[i] &= constant_bits;
    for (uint64_t bit = 1; !cache->is_xor && bit < cache->sets; bit *= 2)
        masks[count++] = bit * cache->line_bytes;
    return reduce(masks, count);
}

/* The address bits that an index is stated over; all where the method does not say. */
static uint64_t varied_bits(const struct pb_parameter *parameter)
{
    static const char *const bases[] = {"address bits of the chases, ",
                                        "address bits of the passes, "};

    for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++) {
        const char *found = strstr(parameter->method, bases[i]);

        if (found != NULL)
            return strtoull(found + strlen(bases[i]), NULL, 16);
    }
    return UINT64_MAX;
}

static void check_masks(struct answers *answers, const char *memory,
                        const struct blind_cache *cache)
{
    const struct pb_parameter *parameter =
        pb_parameters_find(answers->parameters, memory, "index_masks");
    struct blind_result *result = next_result(answers, memory, "index_masks", parameter);
    uint64_t truth[TRUE_MASKS_MAX], found[PB_LIST_MAX];
    size_t rank = true_masks(cache, truth);

    if (parameter == NULL || parameter->kind == PB_VALUE_NONE) {
        if ((cache->sets & (cache->sets - 1)) != 0) /* there are none to find */
            result->verdict = BLIND_EXACT;
        return;
    }
    for (size_t i = 0; i < rank; i++)
        truth[i] &= varied_bits(parameter);
    rank = reduce(truth, rank);
    for (size_t i = 0; i < parameter->number_count; i++)
        found[i] = (uint64_t)parameter->numbers[i].value;
    result->confidence = parameter->confidence;
    result->verdict = reduce(found, parameter->number_count) == rank &&
                              memcmp(found, truth, rank * sizeof(truth[0])) == 0
                          ? BLIND_EXACT
                          : BLIND_WRONG;
    snprintf(result->detail, sizeof(result->detail), "expected");
    for (size_t i = 0; i < rank; i++)
        add_mask(result, truth[i]);
    add_text(result, ", found");
    for (size_t i = 0; i < parameter->number_count; i++)
        add_mask(result, found[i]);
}

/* Every weight's share must lie in its interval; with 95% intervals some do not, so twice as far.
 */
static void check_weights(struct answers *answers, const char *memory,
                          const struct blind_cache *cache)
{
    const struct pb_parameter *parameter =
        pb_parameters_find(answers->parameters, memory, "way_eviction_probabilities");
    struct blind_result *result;
    double sum = 0.0;

    if (strcmp(cache->policy, "weighted") != 0)
        return;
    result = next_result(answers, memory, "way_eviction_probabilities", parameter);
    if (parameter == NULL || parameter->kind == PB_VALUE_NONE)
        return;
    for (uint32_t way = 0; way < cache->ways; way++)
        sum += cache->weights[way];
    result->confidence = parameter->confidence;
    result->verdict = parameter->number_count == cache->ways ? BLIND_EXACT : BLIND_WRONG;
    for (uint32_t way = 0; way < cache->ways && way < parameter->number_count; way++) {
        const struct pb_estimate *e = &parameter->numbers[way];
        double truth = cache->weights[way] / sum;

        if (truth < e->value - 2.0 * (e->value - e->low) - 0.01 ||
            truth > e->value + 2.0 * (e->high - e->value) + 0.01)
            result->verdict = BLIND_WRONG;
    }
}

/* A hash may happen to be a modulo. */
static void check_index(struct answers *answers, const char *memory,
                        const struct blind_cache *cache)
{
    const struct pb_parameter *kind = pb_parameters_find(answers->parameters, memory, "index_kind");
    uint64_t varied = kind == NULL ? UINT64_MAX : varied_bits(kind);
    uint64_t masks[TRUE_MASKS_MAX], own[TRUE_MASKS_MAX];
    struct blind_cache modulo = *cache;
    bool plain = !cache->is_xor;

    modulo.is_xor = false;
    modulo.mask_count = 0;
    if (cache->is_xor && true_masks(cache, masks) == true_masks(&modulo, own)) {
        for (size_t i = 0; i < cache->mask_count; i++)
            masks[i] &= varied;
        reduce(masks, cache->mask_count);
        plain = memcmp(masks, own, cache->mask_count * sizeof(masks[0])) == 0;
    }
    check_word(answers, memory, "index_kind", cache->is_xor ? "xor" : "modulo",
               plain ? "modulo" : "xor");
    check_masks(answers, memory, cache);
}

/* The cache that a memory's name stands for, the first one on its path; NULL: there is none. */
static const struct blind_cache *cache_of(const struct blind_profile *profile, const char *memory)
{
    static const struct {
        const char *memory, *path;
        size_t caches[2];
    } firsts[] = {{"l1", "global_ca", {BLIND_L1, BLIND_L1}},
                  {"readonly", "readonly", {BLIND_L1, BLIND_TEXTURE}},
                  {"texture", "texture", {BLIND_L1, BLIND_TEXTURE}},
                  {"constant_l1", "constant", {BLIND_CONSTANT, BLIND_CONSTANT}},
                  {"constant_l15", "constant", {BLIND_SECOND_CONSTANT, BLIND_SECOND_CONSTANT}},
                  {"l2", "global_cg", {BLIND_L2, BLIND_L2}}};

    for (size_t i = 0; i < sizeof(firsts) / sizeof(firsts[0]); i++) {
        for (size_t k = 0; k < 2 && strcmp(firsts[i].memory, memory) == 0; k++) {
            const struct blind_cache *cache = &profile->caches[firsts[i].caches[k]];

            if (cache->line_bytes > 0 && strstr(cache->paths, firsts[i].path) != NULL)
                return cache;
        }
    }
    return NULL;
}

/* Is L2 behind this cache? Some devices' constants have no other cache. */
static bool is_before_l2(const struct blind_profile *profile, const struct blind_cache *cache)
{
    const struct blind_cache *l2 = &profile->caches[BLIND_L2];

    return cache == &profile->caches[BLIND_CONSTANT] ||
                   cache == &profile->caches[BLIND_SECOND_CONSTANT]
               ? strstr(l2->paths, "constant") != NULL
               : cache != l2 && cache != &profile->caches[BLIND_FOURTH];
}

/* What a hit takes behind the caches before, which were looked up in vain. */
static double hit_cycles_of(const struct blind_profile *profile, const struct blind_cache *cache)
{
    return cache->latency_cycles + (cache == &profile->caches[BLIND_SECOND_CONSTANT]
                                        ? profile->caches[BLIND_CONSTANT].miss_cycles
                                        : 0);
}

/* What DRAM takes behind L2 and all that follows. */
static double dram_cycles_of(const struct blind_profile *profile)
{
    return profile->dram_cycles + profile->caches[BLIND_L2].miss_cycles +
           profile->caches[BLIND_FOURTH].miss_cycles;
}

/* What a miss in this cache costs: the next one's latency, or DRAM's. */
static double miss_cycles_of(const struct blind_profile *profile, const struct blind_cache *cache)
{
    double before = hit_cycles_of(profile, cache) - cache->latency_cycles + cache->miss_cycles;

    if (cache == &profile->caches[BLIND_CONSTANT] &&
        profile->caches[BLIND_SECOND_CONSTANT].line_bytes > 0)
        return hit_cycles_of(profile, &profile->caches[BLIND_SECOND_CONSTANT]);
    if (is_before_l2(profile, cache))
        return before + profile->caches[BLIND_L2].latency_cycles;
    if (cache == &profile->caches[BLIND_L2] && profile->caches[BLIND_FOURTH].line_bytes > 0)
        return before + profile->caches[BLIND_FOURTH].latency_cycles;
    return cache == &profile->caches[BLIND_L2] ? dram_cycles_of(profile)
                                               : before + profile->dram_cycles;
}

/* Blocks of one line of each set fill LRU's and FIFO's sets evenly: one more, and all lines miss.
 */
static void check_full_miss(struct answers *answers, const char *memory,
                            const struct blind_cache *cache)
{
    if (cache->more_ways == 0 &&
        (strcmp(cache->policy, "lru") == 0 || strcmp(cache->policy, "fifo") == 0))
        check_exact(answers, memory, "full_miss_bytes",
                    (double)(blind_cache_bytes(cache) + cache->sets * cache->line_bytes));
}

static bool runs_ahead(const struct blind_profile *profile)
{
    for (size_t i = 0; i < BLIND_CACHES; i++)
        if (profile->caches[i].prefetch_bytes > 0)
            return true;
    return false;
}

/* Sectors of a path's caches, as far as each is larger than the ones before it. */
static void check_knees(struct answers *answers, const char *memory,
                        const struct blind_profile *profile, const struct blind_cache *cache)
{
    const struct blind_cache *path[] = {cache, &profile->caches[BLIND_SECOND_CONSTANT],
                                        &profile->caches[BLIND_L2]};
    double knees[3];
    size_t count = 0;

    if (pb_parameters_find(answers->parameters, memory, "stride_knee_bytes") == NULL)
        return; /* L2 has none */
    for (size_t i = 0; i < sizeof(path) / sizeof(path[0]); i++) {
        bool is_passed = i == 0 || (i == 1 && cache == &profile->caches[BLIND_CONSTANT]) ||
                         (i == 2 && is_before_l2(profile, cache));

        if (is_passed && (count == 0 || (double)path[i]->sector_bytes > knees[count - 1]))
            knees[count++] = (double)path[i]->sector_bytes;
    }
    if (!runs_ahead(profile) && profile->caches[BLIND_FOURTH].line_bytes == 0)
        check_numbers(answers, memory, "stride_knee_bytes", knees, count, 0, 0);
}

/* Where the end of what runs ahead shows, to a line and a part in a hundred. */
static void check_prefetch(struct answers *answers, const char *memory,
                           const struct blind_cache *cache)
{
    double truth = (double)cache->prefetch_bytes;

    if (truth > 0.0)
        check_numbers(answers, memory, "prefetch_bytes", &truth, 1, 2.0 * (double)cache->line_bytes,
                      0.01);
    else
        check_exact(answers, memory, "prefetch_bytes", 0.0);
}

static void check_sharing(struct answers *answers, const char *memory,
                          const struct blind_profile *profile)
{
    static const char *const names[] = {"l1", "readonly", "texture"};
    char others[64] = "";

    for (size_t i = 0; i < 3; i++)
        if (strcmp(names[i], memory) != 0 &&
            cache_of(profile, names[i]) == cache_of(profile, memory))
            snprintf(others + strlen(others), sizeof(others) - strlen(others), "%s%s",
                     others[0] != '\0' ? " " : "", names[i]);
    check_word(answers, memory, "same_cache_as", others[0] != '\0' ? others : "none", "");
    check_word(answers, memory, "shares_capacity_with", others[0] != '\0' ? others : "none", "");
}

/* No cache here shares its store with shared memory: the same size beside all carve-outs. */
static void check_carveouts(struct answers *answers, const struct blind_cache *cache)
{
    const struct pb_parameter *list =
        pb_parameters_find(answers->parameters, "l1", "carveout_size_bytes");
    struct pb_parameter first;
    struct pb_parameters alone = {.items = &first, .count = 1, .capacity = 1};
    struct answers one = *answers;

    if (list == NULL || list->number_count < 2) {
        check_exact(answers, "l1", "carveout_size_bytes", (double)blind_cache_bytes(cache));
        return;
    }
    first = *list;
    first.kind = PB_VALUE_NUMBER;
    first.number_count = 1;
    for (size_t i = 1; i < list->number_count; i++)
        if (list->numbers[i].value != first.numbers[0].value)
            first.numbers[0] = list->numbers[i]; /* one that differs is judged */
    one.parameters = &alone;
    check_exact(&one, "l1", "carveout_size_bytes", (double)blind_cache_bytes(cache));
    answers->count = one.count;
}

/*
 * Of an L2 whose far half holds lines of its own: both halves where that was seen, else what the
 * side of one SM keeps; nothing is said of where all miss.
 */
static void check_size(struct answers *answers, const char *memory,
                       const struct blind_profile *profile, const struct blind_cache *cache)
{
    const struct pb_parameter *far =
        pb_parameters_find(answers->parameters, "l2_far", "latency_cycles");
    bool is_halved = strcmp(memory, "l2") == 0 && profile->parallel.far_bytes > 0;
    bool is_whole = is_halved && far != NULL && strstr(far->evidence, "l2_whole") != NULL;
    double far_bytes = is_whole ? (double)profile->parallel.far_bytes : 0.0;

    check_exact(answers, memory, "size_bytes", (double)blind_cache_bytes(cache) + far_bytes);
    if (!is_halved)
        check_full_miss(answers, memory, cache);
}

static void check_ways(struct answers *answers, const char *memory, const struct blind_cache *cache)
{
    double ways[PB_LIST_MAX];

    if (cache->more_ways == 0) {
        check_exact(answers, memory, "way_counts", cache->ways);
        return;
    }
    for (uint32_t set = 0; set < cache->sets && set < PB_LIST_MAX; set++)
        ways[set] = blind_ways(cache, set);
    check_numbers(answers, memory, "way_counts", ways,
                  cache->sets < PB_LIST_MAX ? cache->sets : PB_LIST_MAX, 0.0, 0.0);
}

static void check_cache(struct answers *answers, const char *memory,
                        const struct blind_profile *profile)
{
    const struct blind_cache *cache = cache_of(profile, memory);
    double hit = hit_cycles_of(profile, cache), half = half_spread(answers, hit);

    check_size(answers, memory, profile, cache);
    check_exact(answers, memory, "line_bytes", (double)cache->line_bytes);
    check_exact(answers, memory, "sector_bytes", (double)cache->sector_bytes);
    check_exact(answers, memory, "fetch_bytes", (double)cache->sector_bytes);
    check_latency(answers, memory, "latency_cycles", hit_cycles_of(profile, cache));
    check_latency(answers, memory, "miss_latency_cycles", miss_cycles_of(profile, cache));
    check_numbers(answers, memory, "latency_ns",
                  (const double[]){1e3 * (hit + half) / profile->clock_mhz}, 1,
                  1.0 + 1e3 * (answers->jitter_cycles + half) / profile->clock_mhz, 0.02);
    check_exact(answers, memory, "set_count", cache->sets);
    check_ways(answers, memory, cache);
    check_index(answers, memory, cache);
    check_knees(answers, memory, profile, cache);
    if (strcmp(memory, "l1") == 0 && !cache->is_xor && cache->more_ways == 0)
        check_exact(answers, memory, "first_miss_bytes", (double)blind_cache_bytes(cache));
    if (strcmp(memory, "l1") == 0 && !cache->is_unified)
        check_carveouts(answers, cache);
    if (strcmp(memory, "l1") == 0 || strcmp(memory, "l2") == 0)
        check_prefetch(answers, memory, cache);
    if (strcmp(memory, "l2") == 0)
        return;
    check_word(answers, memory, "policy", cache->policy,
               cache->ways <= 2 && strcmp(cache->policy, "plru") == 0 ? "lru" : cache->policy);
    check_weights(answers, memory, cache);
    if (strncmp(memory, "constant", strlen("constant")) != 0)
        check_sharing(answers, memory, profile);
}

/* Every parameter of a memory that the device lacks. */
static void check_missing(struct answers *answers, const char *memory)
{
    for (size_t i = 0; i < answers->parameters->count; i++)
        if (strcmp(answers->parameters->items[i].memory, memory) == 0)
            check_absent(answers, memory, answers->parameters->items[i].name);
}

/* Equal sets are described by the entry's number modulo them; unequal ones by no index that has
 * masks.
 */
static void check_tlb_index(struct answers *answers, const char *memory,
                            const struct blind_tlb *tlb)
{
    struct blind_cache index = {.line_bytes = tlb->span_bytes,
                                .sets = (uint32_t)tlb->sets,
                                .is_xor = tlb->mask_count > 0,
                                .mask_count = tlb->mask_count};
    bool equal = true;

    memcpy(index.masks, tlb->masks, sizeof(index.masks));
    for (size_t i = 1; i < tlb->sets && tlb->mask_count == 0; i++)
        equal &= tlb->ways[i] == tlb->ways[0];
    if (!equal)
        check_absent(answers, memory, "index_masks");
    else if (tlb->sets > 1)
        check_index(answers, memory, &index);
}

static void check_tlb(struct answers *answers, const char *memory, const struct blind_tlb *tlb)
{
    double ways[BLIND_SETS_MAX], entries = blind_tlb_entries(tlb);
    size_t lists = tlb->mask_count > 0 ? 1 : tlb->sets;

    for (size_t i = 0; i < lists; i++)
        ways[i] = tlb->ways[i];
    check_exact(answers, memory, "page_bytes", (double)blind_tlb_page_bytes(tlb));
    check_exact(answers, memory, "entry_count", entries);
    check_exact(answers, memory, "entry_coverage_bytes", (double)tlb->span_bytes);
    check_exact(answers, memory, "reach_bytes", entries * (double)tlb->span_bytes);
    check_numbers(answers, memory, "way_counts", ways, lists, 0.0, 0.0);
    check_exact(answers, memory, "set_count", (double)tlb->sets);
    check_tlb_index(answers, memory, tlb);
    check_numbers(answers, memory, "penalty_cycles", &tlb->penalty_cycles, 1,
                  answers->jitter_cycles + 1.0, 0.02);
}

/* The set of an entry that is so many entries from a boundary. */
static size_t tlb_set(const struct blind_tlb *tlb, uint64_t entry)
{
    size_t set = 0;

    if (tlb->mask_count == 0)
        return (size_t)(entry % tlb->sets);
    for (size_t i = 0; i < tlb->mask_count; i++)
        set |= (size_t)__builtin_parityll(entry * tlb->span_bytes & tlb->masks[i]) << i;
    return set;
}

static uint32_t tlb_ways(const struct blind_tlb *tlb, size_t set)
{
    return tlb->ways[tlb->mask_count > 0 ? 0 : set];
}

/* With random victims or tree-PLRU some pages of a set that is too full miss, and not all. */
static bool keeps_some(const struct blind_tlb *tlb)
{
    return tlb->policy != NULL &&
           (strcmp(tlb->policy, "random") == 0 || strcmp(tlb->policy, "plru") == 0);
}

/*
 * Does this level answer any load of a chase that misses the one before it? Chases over a page of
 * each entry, or of every second, fourth and so on: of an LRU's sets, those with more entries than
 * ways miss all of them. Larger entries than those before answer in any case; and so does a level
 * that keeps some of too many pages, or one behind such a level.
 */
static bool ever_answers(const struct blind_tlb *before, const struct blind_tlb *tlb)
{
    enum { STRIDES = 4, SETS = 4096 };
    uint64_t most = (uint64_t)blind_tlb_entries(before) + before->sets;

    if (keeps_some(before) || (keeps_some(tlb) && tlb->ways[0] > 1))
        return true;
    if (tlb->span_bytes != before->span_bytes || tlb->sets > SETS || before->sets > SETS)
        return true;
    for (uint64_t stride = 1; stride < 1 << STRIDES; stride *= 2) {
        for (uint64_t pages = 1; pages <= most; pages++) {
            uint32_t used[SETS] = {0}, lookups[SETS] = {0};

            for (uint64_t i = 0; i < pages; i++)
                used[tlb_set(before, i * stride)]++;
            for (uint64_t i = 0; i < pages; i++) {
                size_t set = tlb_set(before, i * stride);

                lookups[tlb_set(tlb, i * stride)] += used[set] > tlb_ways(before, set);
            }
            for (size_t set = 0; set < tlb->sets; set++)
                if (lookups[set] > 0 && lookups[set] <= tlb_ways(tlb, set))
                    return true;
        }
    }
    return false;
}

/*
 * Levels as loads can distinguish them: one that never answers what the one before it misses makes
 * that one cost both penalties.
 */
static size_t visible_tlbs(const struct blind_profile *profile, struct blind_tlb out[BLIND_TLBS])
{
    size_t count = 0;

    for (size_t i = 0; i < BLIND_TLBS && profile->tlbs[i].span_bytes > 0; i++) {
        if (count > 0 && !ever_answers(&out[count - 1], &profile->tlbs[i]))
            out[count - 1].penalty_cycles += profile->tlbs[i].penalty_cycles;
        else
            out[count++] = profile->tlbs[i];
    }
    return count;
}

static void check_tlbs(struct answers *answers, const struct blind_profile *profile)
{
    static const char *const memories[BLIND_TLBS] = {"tlb_l1", "tlb_l2", "tlb_l3"};
    struct blind_tlb visible[BLIND_TLBS];
    size_t count = visible_tlbs(profile, visible);

    for (size_t i = 0; i < BLIND_TLBS; i++) {
        if (i < count)
            check_tlb(answers, memories[i], &visible[i]);
        else if (profile->seed < BLIND_BROAD_FIRST)
            check_absent(answers, memories[i], "reach_bytes");
        else
            check_missing(answers, memories[i]);
    }
}

/* M16's P1 to P5 past L1; there are no pages for a P6. */
static void check_patterns(struct answers *answers, const struct blind_profile *profile)
{
    double hit = profile->caches[BLIND_L2].latency_cycles, miss = dram_cycles_of(profile);
    struct blind_tlb visible[BLIND_TLBS] = {{0}};
    size_t count = visible_tlbs(profile, visible);
    double first = visible[0].penalty_cycles, both = first + visible[1].penalty_cycles;
    const double patterns[] = {hit, hit + first, hit + both, miss, miss + both, NAN};

    if (count == 2 && profile->caches[BLIND_FOURTH].line_bytes == 0)
        check_numbers(answers, "l2", "pattern_cycles", patterns, 6,
                      answers->jitter_cycles + 1.0 + answers->spread_cycles, 0.02);
}

/* As fine as groups are clear: sides alone, or the slices of both. */
static void check_groups(struct answers *answers, double slices)
{
    double found = pb_parameters_number(answers->parameters, "l2", "address_group_count");

    check_exact(answers, "l2", "address_group_count", found == 2.0 ? found : slices);
}

/* How far two GPCs' ways to the slices lie apart, but for what is common to all slices. */
static double apart_cycles(const struct blind_sides *sides, uint32_t a, uint32_t b)
{
    enum { LINES = 1024 };
    struct pb_sim_sides_spec spec = {.far_latency_cycles = sides->far_cycles,
                                     .slice_count = sides->slices,
                                     .slice_spread_cycles = sides->spread_cycles};
    double more[LINES], mean = 0.0, sum = 0.0;

    for (uint64_t line = 0; line < LINES; line++) {
        more[line] = pb_sim_sides_distance(&spec, a, line) - pb_sim_sides_distance(&spec, b, line);
        mean += more[line] / LINES;
    }
    for (size_t line = 0; line < LINES; line++)
        sum += fabs(more[line] - mean);
    return sum / LINES;
}

/* SMs of GPCs; those of a side that jitter hides from each other are alike, and one group. */
static size_t group_gpcs(const struct blind_sides *sides, double jitter_cycles,
                         double sms_out[BLIND_GPCS_MAX])
{
    uint32_t first[BLIND_GPCS_MAX], half = (sides->gpc_count + 1) / 2;
    double sms[BLIND_GPCS_MAX] = {0};
    size_t count = 0;

    for (uint32_t i = 0; i < sides->gpc_count; i++) {
        first[i] = i;
        for (uint32_t k = i < half ? 0 : half; k < i && first[i] == i; k++)
            if (apart_cycles(sides, i, k) <= jitter_cycles)
                first[i] = first[k];
        sms[first[i]] += sides->gpc_sms[i];
    }
    for (uint32_t i = 0; i < sides->gpc_count; i++)
        if (first[i] == i)
            sms_out[count++] = sms[i];
    return count;
}

/*
 * The same of SMs: those of a side, or where slices lie apart those of a GPC, or of several that
 * are alike.
 */
static void check_sm_groups(struct answers *answers, const struct blind_profile *profile,
                            const double *gpc_sms, const double halves[2])
{
    const struct blind_sides *sides = &profile->sides;
    const struct pb_parameter *found =
        pb_parameters_find(answers->parameters, "sm", "sm_group_sizes");
    bool is_stated = found != NULL && found->kind != PB_VALUE_NONE;
    double groups[BLIND_GPCS_MAX];
    size_t count = group_gpcs(sides, profile->jitter_cycles, groups);

    if (sides->spread_cycles == 0 ||
        (is_stated && found->numbers[0].value == halves[0] && sides->gpc_count > 2))
        check_numbers(answers, "sm", "sm_group_sizes", halves, 2, 0, 0);
    else if (is_stated && found->number_count == count)
        check_numbers(answers, "sm", "sm_group_sizes", groups, count, 0, 0);
    else
        check_numbers(answers, "sm", "sm_group_sizes", gpc_sms, sides->gpc_count, 0, 0);
}

/* Without sides all SMs are of one GPC, which clusters of several CTAs may show. */
static void check_one_gpc(struct answers *answers, const struct blind_profile *profile)
{
    if (blind_cluster_max(profile) < 2 || profile->sm_count < 2) {
        check_absent(answers, "sm", "gpc_count");
        check_absent(answers, "sm", "gpc_sm_counts");
        return;
    }
    check_exact(answers, "sm", "gpc_count", 1.0);
    check_exact(answers, "sm", "gpc_sm_counts", profile->sm_count);
}

static void check_sides(struct answers *answers, const struct blind_profile *profile)
{
    const struct blind_sides *sides = &profile->sides;
    double sms[BLIND_GPCS_MAX], halves[2] = {0, 0};

    if (sides->far_cycles == 0) {
        check_missing(answers, "l2_near");
        check_missing(answers, "l2_far");
        check_absent(answers, "l2", "partition_sm_counts");
        check_absent(answers, "l2", "address_group_count");
        check_absent(answers, "l2", "slice_count");
        check_absent(answers, "sm", "sm_group_sizes");
        check_one_gpc(answers, profile);
        return;
    }
    for (uint32_t i = 0; i < sides->gpc_count; i++) {
        sms[i] = sides->gpc_sms[i];
        halves[i >= (sides->gpc_count + 1) / 2] += sides->gpc_sms[i];
    }
    answers->jitter_cycles += sides->spread_cycles / 4.0; /* few GPCs by few slices, by chance */
    check_latency(answers, "l2_near", "latency_cycles", profile->caches[BLIND_L2].latency_cycles);
    check_latency(answers, "l2_far", "latency_cycles", sides->far_cycles);
    answers->jitter_cycles -= sides->spread_cycles / 4.0;
    check_numbers(answers, "l2", "partition_sm_counts", halves, 2, 0, 0);
    check_groups(answers, 2.0 * sides->slices);
    check_exact(answers, "l2", "slice_count", 2.0 * sides->slices); /* each side has its own */
    check_sm_groups(answers, profile, sms, halves);
    if (blind_cluster_max(profile) > 1) {
        check_exact(answers, "sm", "gpc_count", sides->gpc_count);
        check_numbers(answers, "sm", "gpc_sm_counts", sms, sides->gpc_count, 0, 0);
    }
}

static void check_rates(struct answers *answers, const struct blind_profile *profile)
{
    static const char *const prefixes[] = {"", "read_", "write_"};
    double share = profile->bandwidth_bytes_per_s / profile->theoretical_bytes_per_s;

    for (size_t i = 0; i < 3; i++) {
        char name[PB_NAME_LENGTH];

        snprintf(name, sizeof(name), "%speak_bytes_per_s", prefixes[i]);
        check_numbers(answers, "dram", name, &profile->bandwidth_bytes_per_s, 1, 0, 0.03);
        snprintf(name, sizeof(name), "%speak_efficiency", prefixes[i]);
        check_numbers(answers, "dram", name, &share, 1, 0, 0.03);
    }
    check_numbers(answers, "shared", "peak_bytes_per_cycle_per_sm",
                  (const double[]){blind_shared_peak(profile)}, 1, 0, 0.03);
}

/* SMs of a TPC slow each other down; with a rest, some TPCs have fewer. */
static void check_tpcs(struct answers *answers, const struct blind_profile *profile)
{
    uint32_t sms = profile->tpc_sms > 0 ? profile->tpc_sms : 2;
    bool is_even = profile->sm_count % sms == 0;

    for (uint32_t i = 0; i < profile->sides.gpc_count; i++)
        is_even &= profile->sides.gpc_sms[i] % sms == 0;
    if (profile->sm_count == 1 || sms == 1)
        check_absent(answers, "sm", "tpc_sm_counts");
    else if (is_even)
        check_exact(answers, "sm", "tpc_sm_counts", sms);
}

/* What is stated and was not looked at yet: no rule here says what it should be. */
static void name_unjudged(struct answers *answers)
{
    for (size_t i = 0; i < answers->parameters->count; i++) {
        const struct pb_parameter *parameter = &answers->parameters->items[i];
        char name[2 * PB_NAME_LENGTH];
        size_t k = 0;

        if (parameter->kind == PB_VALUE_NONE)
            continue;
        snprintf(name, sizeof(name), "%s.%s", parameter->memory, parameter->name);
        while (k < answers->count && strcmp(answers->results[k].name, name) != 0)
            k++;
        if (k == answers->count)
            next_result(answers, parameter->memory, parameter->name, parameter)->verdict =
                BLIND_UNJUDGED;
    }
}

size_t blind_judge(const struct pb_parameters *parameters, const struct blind_profile *profile,
                   struct blind_result results_out[BLIND_RESULTS_MAX])
{
    static const char *const memories[] = {"l1",          "readonly",     "texture",
                                           "constant_l1", "constant_l15", "l2"};
    struct answers answers = {.parameters = parameters,
                              .results = results_out,
                              .jitter_cycles = profile->jitter_cycles,
                              .spread_cycles = profile->caches[BLIND_L2].spread_cycles,
                              .l2_cycles = profile->caches[BLIND_L2].latency_cycles};
    double conflicts[BLIND_CONFLICTS];

    check_exact(&answers, "clock", "overhead_cycles", profile->overhead_cycles);
    check_numbers(&answers, "clock", "sm_mhz", (const double[]){profile->clock_mhz}, 1, 0, 1e-3);
    for (size_t i = 0; i < sizeof(memories) / sizeof(memories[0]); i++) {
        if (cache_of(profile, memories[i]) != NULL)
            check_cache(&answers, memories[i], profile);
        else
            check_missing(&answers, memories[i]);
    }
    check_tlbs(&answers, profile);
    check_patterns(&answers, profile);
    check_latency(&answers, "dram", "latency_cycles", dram_cycles_of(profile));
    check_sides(&answers, profile);
    check_tpcs(&answers, profile);
    check_rates(&answers, profile);
    check_exact(&answers, "shared", "banks", blind_banks(profile));
    check_exact(&answers, "shared", "bank_bytes", profile->bank_bytes);
    check_latency(&answers, "shared", "latency_cycles", profile->shared_cycles);
    for (size_t i = 0; i < BLIND_CONFLICTS; i++)
        conflicts[i] = profile->conflict_cycles[i];
    check_numbers(&answers, "shared", "conflict_cycles", conflicts, BLIND_CONFLICTS,
                  answers.jitter_cycles + 1.0, 0.02);
    check_exact(&answers, "mshr", "outstanding_per_warp", profile->per_warp);
    check_exact(&answers, "mshr", "outstanding_per_sm", profile->per_sm);
    if (profile->parallel.is_set)
        blind_parallel_judge(&answers, profile);
    name_unjudged(&answers);
    return answers.count;
}

void blind_check_numbers(struct answers *answers, const char *memory, const char *name,
                         const double *truth, size_t count, double tolerance, double relative)
{
    check_numbers(answers, memory, name, truth, count, tolerance, relative);
}

void blind_check_latency(struct answers *answers, const char *memory, const char *name,
                         double truth)
{
    check_latency(answers, memory, name, truth);
}

void blind_check_absent(struct answers *answers, const char *memory, const char *name)
{
    check_absent(answers, memory, name);
}

void blind_check_missing(struct answers *answers, const char *memory)
{
    check_missing(answers, memory);
}

void blind_check_either(struct answers *answers, const char *memory, const char *name, double truth,
                        double tolerance)
{
    const struct pb_parameter *parameter = pb_parameters_find(answers->parameters, memory, name);

    if (parameter != NULL && parameter->kind != PB_VALUE_NONE)
        check_numbers(answers, memory, name, &truth, 1, tolerance, 0.0);
}
