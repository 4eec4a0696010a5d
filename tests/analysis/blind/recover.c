/* Measuring a drawn device and looking at every answer. */
#include "analysis/blind/recover.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/inference.h"
#include "analysis/recordings.h"
#include "battery/battery.h"

/* The answers so far. */
struct answers {
    const struct pb_parameters *parameters;
    struct blind_result *results;
    size_t count;
};

static struct blind_result *next_result(struct answers *answers, const char *memory,
                                        const char *name, const struct pb_parameter *parameter)
{
    struct blind_result *result = &answers->results[answers->count++];

    snprintf(result->name, sizeof(result->name), "%s.%s", memory, name);
    result->verdict = BLIND_NULL;
    result->confidence = 0.0;
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

/* One number with an interval that leaves open what it is, and holds the truth. */
static bool is_bounded(const struct pb_parameter *parameter, double truth)
{
    const struct pb_estimate *e = &parameter->numbers[0];

    return parameter->kind == PB_VALUE_NUMBER && e->low < e->high && e->low <= truth &&
           truth <= e->high;
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
    if (result->verdict == BLIND_WRONG && is_bounded(parameter, truth[0]))
        result->verdict = BLIND_NULL; /* an interval, and said so */
    add_text(result, "expected");
    for (size_t i = 0; i < count; i++)
        add_number(result, truth[i]);
    add_text(result, ", found");
    for (size_t i = 0; i < parameter->number_count; i++)
        add_number(result, parameter->numbers[i].value);
}

static void check_exact(struct answers *answers, const char *memory, const char *name, double truth)
{
    check_numbers(answers, memory, name, &truth, 1, 0.0, 0.0);
}

static void check_latency(struct answers *answers, const char *memory, const char *name,
                          double truth)
{
    check_numbers(answers, memory, name, &truth, 1, 1.0, 0.02);
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

static size_t true_masks(const struct blind_cache *cache, uint64_t masks[BLIND_MASKS_MAX])
{
    size_t count = cache->mask_count;

    memcpy(masks, cache->masks, sizeof(cache->masks));
    for (uint64_t bit = 1; !cache->is_xor && bit < cache->sets; bit *= 2)
        masks[count++] = bit * cache->line_bytes;
    return reduce(masks, count);
}

/* The address bits that an index is stated over; all where the method does not say. */
static uint64_t walked_bits(const struct pb_parameter *parameter)
{
    static const char walked[] = "bits that were walked, ";
    const char *found = strstr(parameter->method, walked);

    return found == NULL ? UINT64_MAX : strtoull(found + sizeof(walked) - 1, NULL, 16);
}

static void check_masks(struct answers *answers, const char *memory,
                        const struct blind_cache *cache)
{
    const struct pb_parameter *parameter =
        pb_parameters_find(answers->parameters, memory, "index_masks");
    struct blind_result *result = next_result(answers, memory, "index_masks", parameter);
    uint64_t truth[BLIND_MASKS_MAX], found[PB_LIST_MAX];
    size_t rank = true_masks(cache, truth);

    if (parameter == NULL || parameter->kind == PB_VALUE_NONE) {
        if ((cache->sets & (cache->sets - 1)) != 0) /* there are none to find */
            result->verdict = BLIND_EXACT;
        return;
    }
    for (size_t i = 0; i < rank; i++)
        truth[i] &= walked_bits(parameter);
    rank = reduce(truth, rank);
    for (size_t i = 0; i < parameter->number_count; i++)
        found[i] = (uint64_t)parameter->numbers[i].value;
    result->confidence = parameter->confidence;
    result->verdict = reduce(found, parameter->number_count) == rank &&
                              memcmp(found, truth, rank * sizeof(truth[0])) == 0
                          ? BLIND_EXACT
                          : BLIND_WRONG;
    snprintf(result->detail, sizeof(result->detail), "expected %zu masks from 0x%llx, found %zu",
             rank, (unsigned long long)truth[0], parameter->number_count);
}

/* Every weight's share must lie in its interval; with 95% intervals some do not, so twice as far.
 */
static void check_weights(struct answers *answers, const char *memory,
                          const struct blind_cache *cache)
{
    const struct pb_parameter *parameter =
        pb_parameters_find(answers->parameters, memory, "victim_probabilities");
    struct blind_result *result;
    double sum = 0.0;

    if (strcmp(cache->policy, "weighted") != 0)
        return;
    result = next_result(answers, memory, "victim_probabilities", parameter);
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
    uint64_t walked = kind == NULL ? UINT64_MAX : walked_bits(kind);
    uint64_t masks[BLIND_MASKS_MAX], own[BLIND_MASKS_MAX];
    struct blind_cache modulo = *cache;
    bool plain = !cache->is_xor;

    modulo.is_xor = false;
    modulo.mask_count = 0;
    if (cache->is_xor && true_masks(cache, masks) == true_masks(&modulo, own)) {
        for (size_t i = 0; i < cache->mask_count; i++)
            masks[i] &= walked;
        reduce(masks, cache->mask_count);
        plain = memcmp(masks, own, cache->mask_count * sizeof(masks[0])) == 0;
    }
    check_word(answers, memory, "index_kind", cache->is_xor ? "xor" : "modulo",
               plain ? "modulo" : "xor");
    check_masks(answers, memory, cache);
}

static void check_cache(struct answers *answers, const char *memory,
                        const struct blind_cache *cache)
{
    check_exact(answers, memory, "size_bytes", (double)blind_cache_bytes(cache));
    check_exact(answers, memory, "line_bytes", (double)cache->line_bytes);
    check_exact(answers, memory, "sector_bytes", (double)cache->sector_bytes);
    check_exact(answers, memory, "fetch_bytes", (double)cache->sector_bytes);
    check_latency(answers, memory, "latency_cycles", cache->latency_cycles);
    check_exact(answers, memory, "set_count", cache->sets);
    check_exact(answers, memory, "way_counts", cache->ways);
    check_index(answers, memory, cache);
    if (strcmp(memory, "l2") == 0)
        return;
    check_word(answers, memory, "policy", cache->policy,
               cache->ways == 2 && strcmp(cache->policy, "plru") == 0 ? "lru" : cache->policy);
    check_weights(answers, memory, cache);
}

/* What was not planted. */
static void check_absent(struct answers *answers, const char *memory, const char *name)
{
    const struct pb_parameter *parameter = pb_parameters_find(answers->parameters, memory, name);
    struct blind_result *result = next_result(answers, memory, name, parameter);
    bool is_stated = parameter != NULL && parameter->kind != PB_VALUE_NONE;

    result->verdict = is_stated ? BLIND_WRONG : BLIND_EXACT;
    if (is_stated)
        snprintf(result->detail, sizeof(result->detail), "none planted, found %g; %s",
                 parameter->numbers[0].value, parameter->method);
}

/* Equal sets are told by the entry's number modulo them; unequal ones by no index that has masks.
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
    check_exact(answers, memory, "entry_count", entries);
    check_exact(answers, memory, "entry_span_bytes", (double)tlb->span_bytes);
    check_exact(answers, memory, "reach_bytes", entries * (double)tlb->span_bytes);
    check_numbers(answers, memory, "way_counts", ways, lists, 0.0, 0.0);
    check_exact(answers, memory, "set_count", (double)tlb->sets);
    check_tlb_index(answers, memory, tlb);
    check_latency(answers, memory, "penalty_cycles", tlb->penalty_cycles);
}

/* M16's P1 to P5 past L1; there are no pages for a P6. */
static void check_patterns(struct answers *answers, const struct blind_profile *profile)
{
    double hit = profile->caches[BLIND_L2].latency_cycles, miss = profile->dram_cycles;
    double first = profile->tlbs[0].penalty_cycles;
    double both = first + profile->tlbs[1].penalty_cycles;
    const double patterns[] = {hit, hit + first, hit + both, miss, miss + both, NAN};

    check_numbers(answers, "l2", "pattern_cycles", patterns, 6, 1.0, 0.02);
}

static void check_all(struct answers *answers, const struct blind_profile *profile)
{
    static const char *const memories[] = {"l1", "texture", "l2"};
    double conflicts[BLIND_CONFLICTS];

    check_exact(answers, "clock", "overhead_cycles", profile->overhead_cycles);
    for (size_t i = 0; i < BLIND_CACHES; i++)
        check_cache(answers, memories[i], &profile->caches[i]);
    check_tlb(answers, "tlb_l1", &profile->tlbs[0]);
    check_tlb(answers, "tlb_l2", &profile->tlbs[1]);
    check_absent(answers, "tlb_l3", "reach_bytes");
    check_patterns(answers, profile);
    check_latency(answers, "dram", "latency_cycles", profile->dram_cycles);
    check_exact(answers, "shared", "banks", 32);
    check_exact(answers, "shared", "bank_bytes", profile->bank_bytes);
    check_latency(answers, "shared", "latency_cycles", profile->shared_cycles);
    for (size_t i = 0; i < BLIND_CONFLICTS; i++)
        conflicts[i] = profile->conflict_cycles[i];
    check_numbers(answers, "shared", "conflict_cycles", conflicts, BLIND_CONFLICTS, 1.0, 0.02);
    check_exact(answers, "mshr", "per_warp", profile->per_warp);
    check_exact(answers, "mshr", "per_sm", profile->per_sm);
}

static size_t give_up(struct blind_result *results, const struct pb_error *err)
{
    snprintf(results[0].detail, sizeof(results[0].detail), "%s", err->message);
    return 0;
}

size_t blind_recover(const struct blind_profile *profile, const char *folder,
                     struct blind_result results_out[BLIND_RESULTS_MAX])
{
    struct pb_parameters parameters = {NULL, 0, 0};
    struct answers answers = {&parameters, results_out, 0};
    struct recordings recordings;
    struct pb_error err = PB_ERROR_INIT;
    char path[512];

    snprintf(path, sizeof(path), "%s/blind-%llu.json", folder, (unsigned long long)profile->seed);
    if (blind_write(profile, path) != 0) {
        pb_fail(&err, PB_IO, "%s: cannot be written", path);
        return give_up(results_out, &err);
    }
    if (recordings_measure(path, profile->seed, &recordings, &err) != PB_OK)
        return give_up(results_out, &err);
    if (recordings_infer(&recordings, &parameters, &err) != PB_OK) {
        recordings_clear(&recordings);
        return give_up(results_out, &err);
    }
    check_all(&answers, profile);
    recordings_clear(&recordings);
    pb_parameters_clear(&parameters);
    remove(path);
    return answers.count;
}
