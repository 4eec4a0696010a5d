/* The table of consistency rules; see consistency.h. */
#include "analysis/consistency.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analysis/cache/geometry.h"
#include "analysis/confidence.h"
#include "analysis/constants.h"
#include "analysis/model/hierarchy.h"
#include "analysis/reason.h"

/* What a rule works on. */
struct device {
    const struct pb_device_info *info;
    struct pb_parameters *parameters;
    size_t changed;
};

static const char *const caches[] = {"l1",          "readonly",     "texture",
                                     "constant_l1", "constant_l15", "l2"};

static const char *const tlbs[] = {"tlb_l1", "tlb_l2", "tlb_l3"};

enum { CACHES = sizeof(caches) / sizeof(caches[0]), TLBS = sizeof(tlbs) / sizeof(tlbs[0]) };

/* The parameter where it has a value, else NULL. */
static struct pb_parameter *stated(const struct device *device, const char *memory,
                                   const char *name)
{
    struct pb_parameter *parameter = pb_parameters_find(device->parameters, memory, name);

    return parameter != NULL && parameter->kind != PB_VALUE_NONE ? parameter : NULL;
}

/* Its number, or NaN. */
static double number(const struct device *device, const char *memory, const char *name)
{
    return pb_parameters_number(device->parameters, memory, name);
}

static void withdraw(struct device *device, struct pb_parameter *parameter, const char *reason)
{
    if (parameter == NULL || parameter->kind == PB_VALUE_NONE)
        return;
    pb_parameter_set_none(parameter, "%s", reason);
    device->changed++;
}

static void withdraw_all(struct device *device, const char *memory, const char *reason)
{
    for (size_t i = 0; i < device->parameters->count; i++)
        if (strcmp(device->parameters->items[i].memory, memory) == 0)
            withdraw(device, &device->parameters->items[i], reason);
}

/*
 * Makes the interval of one number hold another one, too. The confidence stays: it was that of the
 * narrower interval, and is now that of the wider one.
 */
static void widen(struct device *device, struct pb_parameter *parameter, double also,
                  const char *reason)
{
    struct pb_estimate e = parameter->numbers[0];
    char method[PB_MESSAGE_LENGTH];

    if (parameter->kind != PB_VALUE_NUMBER || isnan(also) || (e.low <= also && also <= e.high))
        return;
    e.low = fmin(e.low, also);
    e.high = fmax(e.high, also);
    snprintf(method, sizeof(method), "%.160s; widened to %.10g: %s", parameter->method, also,
             reason);
    pb_parameter_set_number(parameter, e, parameter->confidence, "%s", method);
    device->changed++;
}

/*
 * What is stated of structure, of TLBs, or of where a curve changes is not so where nearly all of
 * its own evidence speaks against it. The launch shape of the best rate may be one of many as good
 * ones.
 */
static void values_with_evidence(struct device *device)
{
    for (size_t i = 0; i < device->parameters->count; i++) {
        struct pb_parameter *parameter = &device->parameters->items[i];
        enum pb_value_family family = pb_confidence_family(parameter->memory, parameter->name);
        char reason[PB_MESSAGE_LENGTH];

        if (parameter->kind == PB_VALUE_NONE || parameter->votes >= PB_VOTES_LEAST ||
            family == PB_FAMILY_TIME || family == PB_FAMILY_RATE || family == PB_FAMILY_TOPOLOGY)
            continue;
        snprintf(reason, sizeof(reason), "unexplained: nearly all evidence is against it: %.180s",
                 parameter->method);
        withdraw(device, parameter, reason);
    }
}

/*
 * A sector lies in a line, a line in a cache, and a cache holds whole lines. Of a size that is no
 * multiple of the line, the interval is widened to the multiples on both sides.
 */
static void whole_lines(struct device *device)
{
    for (size_t i = 0; i < CACHES; i++) {
        double line = number(device, caches[i], "line_bytes");
        double sector = number(device, caches[i], "sector_bytes");
        struct pb_parameter *size = stated(device, caches[i], "size_bytes");

        if (sector > line)
            withdraw(device, stated(device, caches[i], "line_bytes"),
                     "inconsistent: a line that is smaller than its sector: one of both is wrong");
        if (size == NULL || !(line > 0.0) || sector > line ||
            fmod(size->numbers[0].value, line) == 0.0)
            continue;
        widen(device, size, floor(size->numbers[0].value / line) * line,
              "no whole number of lines");
        widen(device, size, ceil(size->numbers[0].value / line) * line, "no whole number of lines");
    }
}

/* Sets by ways by line, where all sets have the same number of ways; else NaN. */
static double bytes_of_sets(const struct device *device, const char *memory)
{
    return number(device, memory, "set_count") * number(device, memory, "way_counts") *
           number(device, memory, "line_bytes");
}

/* A cache holds no more than its sets do: one line more than fits may miss in no recorded pass. */
static void no_more_than_sets(struct device *device)
{
    for (size_t i = 0; i < CACHES; i++) {
        struct pb_parameter *size = stated(device, caches[i], "size_bytes");
        double bytes = bytes_of_sets(device, caches[i]);

        if (size != NULL && bytes < size->numbers[0].value)
            widen(device, size, bytes, "sets x ways x line are another size");
    }
}

/* And no less, but where the store of the data is smaller than its tags. */
static void size_of_sets(struct device *device)
{
    for (size_t i = 0; i < CACHES; i++) {
        struct pb_parameter *size = stated(device, caches[i], "size_bytes");
        double bytes = bytes_of_sets(device, caches[i]);

        if (size != NULL && bytes > size->numbers[0].value)
            widen(device, size, bytes, "sets x ways x line are another size");
    }
}

/* Do all lines miss as soon as every set has a line too many? */
static bool evicts_all(const struct device *device, const char *memory)
{
    const struct pb_parameter *policy = stated(device, memory, "policy");

    return number(device, memory, "way_counts") == 1.0 ||
           (policy != NULL &&
            (strcmp(policy->word, "lru") == 0 || strcmp(policy->word, "fifo") == 0));
}

/*
 * States where all lines miss as the sets and the policy predict it. Where a cache behind this one
 * overflows too, the sweep's misses take ever longer, and its plateau is a bound.
 */
static void predict_full_miss(struct device *device, const char *memory, struct pb_parameter *full,
                              double expected)
{
    struct pb_estimate e = full->numbers[0];
    const struct pb_parameter *sets = stated(device, memory, "set_count");
    const struct pb_parameter *ways = stated(device, memory, "way_counts");
    const struct pb_parameter *policy = stated(device, memory, "policy");
    double confidence = fmin(sets->confidence, ways->confidence);

    if (policy != NULL)
        confidence = fmin(confidence, policy->confidence);
    if (e.value == expected)
        return;
    pb_parameter_set_number(
        full, (struct pb_estimate){expected, fmin(e.low, expected), fmax(e.high, expected)},
        confidence, "sets, ways and policy: size + sets x line; by the sweep from %.0f bytes on",
        e.value);
    device->changed++;
}

/*
 * What runs ahead of random victims hides the first misses, too: what it fetches, and the line that
 * it fetches for. Of other victims all lines miss with twice the size at the latest.
 */
static void hidden_first_misses(struct device *device)
{
    for (size_t i = 0; i < CACHES; i++) {
        struct pb_parameter *size = stated(device, caches[i], "size_bytes");
        double bytes = pb_model_prefetch_bytes(device->parameters, caches[i]);
        double full = number(device, caches[i], "full_miss_bytes");
        const struct pb_parameter *line = stated(device, caches[i], "line_bytes");
        double line_bytes = line != NULL ? line->numbers[0].high : bytes; /* whole lines ahead */

        if (size != NULL && bytes > 0.0 && isnan(number(device, caches[i], "set_count")) &&
            !(full <= 2.0 * size->numbers[0].value))
            widen(device, size, size->numbers[0].low - bytes - line_bytes,
                  "prefetched lines hide the first misses of random victims");
    }
}

/*
 * A footprint that ends within a line touches all of it. What runs ahead hides misses, which stop
 * growing before all lines miss: but there are no more sets than lines, so that with twice as many
 * every set has a line too many.
 */
static void late_full_miss(struct device *device)
{
    for (size_t i = 0; i < CACHES; i++) {
        struct pb_parameter *full = stated(device, caches[i], "full_miss_bytes");
        const struct pb_parameter *line = stated(device, caches[i], "line_bytes");
        double bytes = line == NULL ? PB_LINE_MAX : line->numbers[0].high;

        if (full == NULL)
            continue;
        widen(device, full, ceil(full->numbers[0].value / bytes) * bytes,
              "the last line may be touched in part");
        if (pb_model_prefetch_bytes(device->parameters, caches[i]) > 0.0)
            widen(device, full, 2.0 * number(device, caches[i], "size_bytes"),
                  "prefetched lines hide misses; twice the size is too much for any sets");
    }
}

/*
 * All lines miss no sooner than every set of as many ways has a line too many, and of LRU and FIFO
 * then. A
 * footprint that is said to miss long before that, or of those two long after, contradicts the
 * sets.
 */
static void full_miss_of_sets(struct device *device)
{
    static const double far_off = 0.25;

    for (size_t i = 0; i < CACHES; i++) {
        struct pb_parameter *full = stated(device, caches[i], "full_miss_bytes");
        double sets = number(device, caches[i], "set_count");
        double line = number(device, caches[i], "line_bytes");
        double expected = number(device, caches[i], "size_bytes") + sets * line;
        bool is_exact = evicts_all(device, caches[i]);

        if (full == NULL || full->kind != PB_VALUE_NUMBER || !(expected > 0.0) ||
            isnan(bytes_of_sets(device, caches[i])))
            continue;
        if (is_exact && full->numbers[0].low <= expected &&
            expected <= (1.0 + far_off) * full->numbers[0].high)
            predict_full_miss(device, caches[i], full, expected);
        else if ((is_exact || full->numbers[0].value < expected) &&
                 fabs(full->numbers[0].value - expected) > far_off * expected)
            withdraw(device, full,
                     "inconsistent: the sets and the policy say otherwise by more than a quarter");
        else
            widen(device, full, expected,
                  "before size + sets x line some set has no line too many");
    }
}

/*
 * What two tests say of one size: beside the carve-out that l1_capacity has, and where L1 is the
 * same beside all of them, the sweep of l1_carveout finds the same size, or where misses begin.
 */
static void sizes_beside_carveouts(struct device *device)
{
    static const double alike = 1.0 / 16.0; /* as coarse as a sweep is at most */
    struct pb_parameter *list = stated(device, "l1", "carveout_size_bytes");
    const struct pb_parameter *size = stated(device, "l1", "size_bytes");
    double least;

    if (size == NULL && stated(device, "l1", "latency_cycles") != NULL) /* l1_capacity was read */
        withdraw(device, list, "not determined: where misses begin is not known to be the size");
    if (list == NULL || size == NULL || size->kind != PB_VALUE_NUMBER)
        return;
    least = fmin(size->numbers[0].low, number(device, "l1", "first_miss_bytes"));
    for (size_t i = 0; i < list->number_count; i++) {
        struct pb_estimate *e = &list->numbers[i];

        if (e->value < (1.0 - alike) * least || e->value > (1.0 + alike) * size->numbers[0].high ||
            (e->low <= size->numbers[0].low && size->numbers[0].high <= e->high))
            continue;
        e->low = fmin(e->low, size->numbers[0].low);
        e->high = fmax(e->high, size->numbers[0].high);
        device->changed++;
    }
}

/*
 * A miss in one cache costs what the next one answers in, where there is one. Loads of lines that
 * no cache held cost what DRAM does, and more where the TLBs missed.
 */
static void misses_and_next_level(struct device *device)
{
    static const struct {
        const char *memory, *next;
    } levels[] = {{"l1", "l2"},          {"readonly", "l2"},
                  {"texture", "l2"},     {"constant_l1", "constant_l15"},
                  {"constant_l1", "l2"}, {"constant_l15", "l2"},
                  {"l2", "dram"}};

    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        struct pb_parameter *miss = stated(device, levels[i].memory, "miss_latency_cycles");
        const struct pb_parameter *next = stated(device, levels[i].next, "latency_cycles");
        struct pb_estimate e;
        double took;
        char was[PB_MESSAGE_LENGTH];

        if (miss == NULL || next == NULL || miss->kind != PB_VALUE_NUMBER ||
            next->kind != PB_VALUE_NUMBER ||
            miss->numbers[0].value <= (1.0 + PB_NEXT_LEVEL_ALIKE) * next->numbers[0].high)
            continue;
        took = miss->numbers[0].value;
        e = next->numbers[0];
        e.low = fmin(e.low, miss->numbers[0].low);    /* a cache before it may have answered some */
        e.high = fmax(e.high, miss->numbers[0].high); /* SMs may differ */
        snprintf(was, sizeof(was), "%.150s", miss->method);
        pb_parameter_set_number(miss, e, miss->confidence,
                                "what %s answers in; first loads took %.0f cycles: %s",
                                levels[i].next, took, was);
        device->changed++;
    }
}

/*
 * Nothing answers a miss in L1 sooner than L2. Where something does, it is a smaller L2, which the
 * array that was to fit in L2 did not fit in: what was measured is a cache behind it.
 */
static void first_behind_l1(struct device *device)
{
    static const char *const names[] = {"size_bytes",   "full_miss_bytes",     "latency_cycles",
                                        "latency_ns",   "miss_latency_cycles", "line_bytes",
                                        "sector_bytes", "fetch_bytes",         "set_count",
                                        "way_counts",   "index_kind",          "index_masks"};
    const struct pb_parameter *miss = stated(device, "l1", "miss_latency_cycles");
    const struct pb_parameter *l2 = stated(device, "l2", "latency_cycles");

    if (miss == NULL || l2 == NULL || miss->kind != PB_VALUE_NUMBER ||
        l2->kind != PB_VALUE_NUMBER ||
        miss->numbers[0].high >= (1.0 - PB_NEXT_LEVEL_ALIKE) * l2->numbers[0].value)
        return;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        withdraw(device, stated(device, "l2", names[i]),
                 "inconsistent: misses in L1 are answered sooner: a smaller cache lies before it");
}

/*
 * P1 of M16's patterns is a hit and P4 a miss, both translated: what other tests find such loads to
 * take. A pattern that takes longer paid for translations, which its name denies.
 */
static void patterns_and_latencies(struct device *device)
{
    static const struct {
        const char *memory, *same;
        size_t pattern;
    } pairs[] = {{"l1", "l1", 0}, {"l2", "l2", 0}, {"l1", "dram", 3}, {"l2", "dram", 3}};
    static const double alike = 0.03;

    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        struct pb_parameter *list = stated(device, pairs[i].memory, "pattern_cycles");
        const struct pb_parameter *same = stated(device, pairs[i].same, "latency_cycles");
        struct pb_estimate *pattern;
        size_t used;

        if (list == NULL || same == NULL || same->kind != PB_VALUE_NUMBER ||
            pairs[i].pattern >= list->number_count)
            continue;
        pattern = &list->numbers[pairs[i].pattern];
        if (!(pattern->value > (1.0 + alike) * same->numbers[0].high))
            continue;
        used = strlen(list->method);
        snprintf(list->method + used, sizeof(list->method) - used,
                 "; P%zu null: inconsistent: %.0f cycles, where %s.latency_cycles is %.0f at most",
                 pairs[i].pattern + 1, pattern->value, pairs[i].same, same->numbers[0].high);
        *pattern = PB_ESTIMATE_NONE;
        device->changed++;
    }
}

/*
 * A second constant cache holds more than the first one and answers later, before L2. Without a
 * latency of its own, nothing that was seen past the first one is a cache's.
 */
static void constant_caches(struct device *device)
{
    double first = number(device, "constant_l1", "latency_cycles");
    double second = number(device, "constant_l15", "latency_cycles");
    double size = number(device, "constant_l1", "size_bytes");

    if (isnan(second))
        withdraw_all(device, "constant_l15",
                     "no such level: no latency of a second constant cache is known");
    else if (second <= 1.1 * first)
        withdraw_all(device, "constant_l15",
                     "not observable: loads past the first constant cache take what its own hits "
                     "take");
    else if (number(device, "constant_l15", "size_bytes") <= size)
        withdraw_all(device, "constant_l15",
                     "no such level: it would hold no more than the first one");
}

/*
 * Unless it is known that the device has no second constant cache, one may answer misses in the
 * first sooner than those that were seen, and what these bring in may be its line.
 */
static void unseen_constant_cache(struct device *device)
{
    static const char *const fetched[] = {"sector_bytes", "fetch_bytes"};
    static const double least = 32.0; /* bytes that any cache is known to fetch */
    const struct pb_parameter *second =
        pb_parameters_find(device->parameters, "constant_l15", "latency_cycles");
    struct pb_parameter *miss = stated(device, "constant_l1", "miss_latency_cycles");

    if (miss == NULL || second == NULL || second->kind != PB_VALUE_NONE ||
        pb_reason_is_absence(second->reason))
        return;
    widen(device, miss, number(device, "constant_l1", "latency_cycles"),
          "a second constant cache may answer sooner");
    for (size_t i = 0; i < sizeof(fetched) / sizeof(fetched[0]); i++) {
        struct pb_parameter *bytes = stated(device, "constant_l1", fetched[i]);

        if (bytes != NULL && bytes->numbers[0].low > least)
            widen(device, bytes, least, "it may be the line of a second constant cache");
    }
}

/*
 * Throughput, load and patterns of a cache, or of a half of L2, that the measurements show not to
 * answer are those of what lies behind it. Where its latency is open for another reason, for want
 * of memory or by noise, they may be its own.
 */
static void caches_that_answer(struct device *device)
{
    static const char *const names[] = {"read_bytes_per_cycle_per_sm",
                                        "read_alone_bytes_per_cycle",
                                        "pattern_cycles",
                                        "stride_knee_bytes",
                                        "loaded_latency_cycles",
                                        "loaded_knee_share",
                                        "persisting_share"};
    static const char *const halves[] = {"l2_near", "l2_far"};

    for (size_t i = 0; i < CACHES + sizeof(halves) / sizeof(halves[0]); i++) {
        const char *cache = i < CACHES ? caches[i] : halves[i - CACHES];
        const struct pb_parameter *latency =
            pb_parameters_find(device->parameters, cache, "latency_cycles");
        const struct pb_reason_kind *kind;
        char reason[PB_MESSAGE_LENGTH];

        if (latency == NULL || latency->kind != PB_VALUE_NONE)
            continue;
        kind = pb_reason_kind_of(latency->reason);
        if (kind == NULL || !kind->shows_none)
            continue;
        snprintf(reason, sizeof(reason), "depends on latency_cycles, which is undetermined: %.160s",
                 latency->reason);
        for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
            withdraw(device, stated(device, cache, names[k]), reason);
    }
}

/* Pages that one entry maps cannot be distinguished from one page of that size. */
static void pages_of_entries(struct device *device)
{
    for (size_t i = 0; i < TLBS; i++) {
        struct pb_parameter *page = stated(device, tlbs[i], "page_bytes");
        double coverage = number(device, tlbs[i], "entry_coverage_bytes");

        if (page != NULL && coverage > 0.0)
            widen(device, page, coverage, "one entry may be one page");
    }
}

/* Of M16's patterns, those of loads that miss TLB levels as it now is open which steps are levels.
 */
static void withdraw_patterns_from(struct device *device, size_t level)
{
    enum { translated_miss = 3 }; /* P4 */

    for (size_t i = 0; i < CACHES; i++) {
        struct pb_parameter *list = stated(device, caches[i], "pattern_cycles");

        for (size_t k = level; list != NULL && k < list->number_count; k++) {
            size_t used = strlen(list->method);

            if (k == translated_miss || isnan(list->numbers[k].value))
                continue;
            snprintf(list->method + used, sizeof(list->method) - used,
                     "; P%zu null: which steps are TLB levels is undetermined", k + 1);
            list->numbers[k] = PB_ESTIMATE_NONE;
            device->changed++;
        }
    }
}

/*
 * A TLB level that reaches less far than the one before it would never answer; one of the same
 * reach does where either keeps some of too many pages. What misses the one before it, as P2 and P3
 * do the first, or P3 the second, and P5 all, then misses an unknown number of levels.
 */
static void reach_of_levels(struct device *device)
{
    for (size_t i = 1; i < TLBS; i++) {
        const struct pb_parameter *before = stated(device, tlbs[i - 1], "reach_bytes");
        const struct pb_parameter *reach = stated(device, tlbs[i], "reach_bytes");
        double penalty = number(device, tlbs[i], "penalty_cycles");
        struct pb_parameter *first = stated(device, tlbs[i - 1], "penalty_cycles");

        if (before == NULL || reach == NULL || reach->numbers[0].high >= before->numbers[0].low)
            continue;
        if (first != NULL && penalty > 0.0)
            widen(device, first, first->numbers[0].value + penalty,
                  "a level that reaches less far is behind it");
        for (size_t k = i; k < TLBS; k++)
            withdraw_all(device, tlbs[k],
                         "inconsistent: this level would reach less far than the one before it; "
                         "which steps are levels is undetermined");
        withdraw_patterns_from(device, i);
        return;
    }
}

/* Groups of SMs are parts of the chip: no more SMs than it has, and none of one SM. */
static void groups_of_sms(struct device *device)
{
    static const struct {
        const char *memory, *name;
    } lists[] = {{"l2", "partition_sm_counts"}, {"sm", "sm_group_sizes"}};

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        struct pb_parameter *list = stated(device, lists[i].memory, lists[i].name);
        double sum = 0.0, least = INFINITY;

        if (list == NULL)
            continue;
        for (size_t k = 0; k < list->number_count; k++) {
            sum += list->numbers[k].value;
            least = fmin(least, list->numbers[k].value);
        }
        if (sum > device->info->sm_count)
            withdraw(device, list, "inconsistent: the groups have more SMs than the device");
        else if (least < 2.0)
            withdraw(device, list, "inconsistent: a group of one SM is no part of the chip");
    }
}

/* The near half is a part of L2, and the far one answers after it and before DRAM. */
static void halves_of_l2(struct device *device)
{
    double near = number(device, "l2_near", "latency_cycles");
    double far = number(device, "l2_far", "latency_cycles");
    double dram = number(device, "dram", "latency_cycles");

    if (number(device, "l2_near", "size_bytes") > number(device, "l2", "size_bytes")) {
        withdraw(device, stated(device, "l2_near", "size_bytes"),
                 "inconsistent: the near half would be larger than all of L2");
        withdraw(device, stated(device, "l2", "size_bytes"),
                 "inconsistent: all of L2 would be smaller than its near half");
    }
    if (far <= near || far >= dram)
        withdraw(device, stated(device, "l2_far", "latency_cycles"),
                 "inconsistent: hits in the far half would not take longer than those in the near "
                 "one and less than DRAM");
}

/* In this order: a size is compared before its sets make more of it. */
static void (*const rules[])(struct device *) = {
    values_with_evidence,
    hidden_first_misses,
    no_more_than_sets,
    sizes_beside_carveouts,
    whole_lines,
    late_full_miss,
    full_miss_of_sets,
    size_of_sets,
    constant_caches,
    misses_and_next_level,
    unseen_constant_cache,
    first_behind_l1,
    pages_of_entries,
    reach_of_levels,
    groups_of_sms,
    halves_of_l2,
    patterns_and_latencies,
    caches_that_answer,
};

size_t pb_consistency_apply(const struct pb_device_info *info, struct pb_parameters *parameters)
{
    struct device device = {info, parameters, 0};

    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        rules[i](&device);
    return device.changed;
}
