/* Whether a slice of the chase shows its pattern; see pattern_fault.h. */
#include "analysis/tlb/pattern_fault.h"

#include <math.h>
#include <string.h>

#include "analysis/constants.h"

/* Slots of the chase lie in lines so far apart. */
static const double line_bytes = 128.0;

static const char lacking[] = "its loads miss the TLB";
static const char untranslated_first[] = "its pages do not all miss the first TLB";
static const char untranslated_second[] = "its pages do not all miss the second TLB";
static const char reaching_beyond[] = "its pages do not fit in the second TLB";
static const char longer_than_misses[] = "its loads take longer than misses of both TLBs cost";

/* A level of translation; NaN: not known. */
struct level {
    double entries, span_bytes;
    const struct pb_parameter *ways; /* of its sets, or of each where they are alike */
};

static struct level level_of(const struct pb_case *at, const char *memory)
{
    return (struct level){pb_parameters_number(at->parameters, memory, "entry_count"),
                          pb_parameters_number(at->parameters, memory, "entry_coverage_bytes"),
                          pb_parameters_find(at->parameters, memory, "way_counts")};
}

/*
 * Pages that come in turn overfill a set of theirs, or none of it misses: do they the sets of most?
 * Where the pages skip entries, they may be in fewer sets, and more in each.
 */
static bool overfills_sets(const struct pb_pattern_slice *slice, const struct level *level)
{
    double pages = (double)slice->accesses, overfull = 0.0, sets;

    if (level->ways == NULL || level->ways->kind == PB_VALUE_NONE ||
        slice->stride_bytes > level->span_bytes)
        return true;
    if (level->ways->kind == PB_VALUE_NUMBER)
        return pages > level->entries * (1.0 + 1.0 / level->ways->numbers[0].value) - 1.0;
    sets = (double)level->ways->number_count;
    for (size_t i = 0; i < level->ways->number_count; i++)
        overfull += pages / sets > level->ways->numbers[i].value;
    return overfull >= PB_MOST * sets;
}

/* Is every page of the slice an entry of its own, and are there more of them than the level has? */
static bool all_miss(const struct pb_pattern_slice *slice, const struct level *level)
{
    return slice->stride_bytes >= level->span_bytes && (double)slice->accesses > level->entries &&
           overfills_sets(slice, level);
}

/* Do the lines of the slice fit in the cache, as far as its size is known? */
static bool lines_fit(const struct pb_case *at, const struct pb_pattern_slice *slice)
{
    double size = pb_parameters_number(at->parameters, at->inference->memory, "size_bytes");

    return isnan(size) || (double)slice->accesses * line_bytes <= size;
}

/* Does a slice take longer than so many cycles by what misses of one TLB cost, or of both? */
static bool pays(const struct pb_case *at, const struct pb_pattern_slice *slice, double cycles)
{
    double first = pb_parameters_number(at->parameters, "tlb_l1", "penalty_cycles");
    double second = pb_parameters_number(at->parameters, "tlb_l2", "penalty_cycles");
    const double penalties[] = {first, second, first + second};

    for (size_t i = 0; i < sizeof(penalties) / sizeof(penalties[0]); i++)
        if (penalties[i] > 2.0 * PB_ALIKE_CYCLES &&
            fabs(slice->common.value - cycles - penalties[i]) <= PB_ALIKE_CYCLES)
            return true;
    return false;
}

/* What loads take elsewhere that ask for nothing new; NULL: not known. */
static const struct pb_parameter *translated_latency(const struct pb_case *at, size_t pattern)
{
    const struct pb_parameter *found =
        pattern == 0 ? pb_parameters_find(at->parameters, at->inference->memory, "latency_cycles")
                     : pb_parameters_find(at->parameters, "l2", "miss_latency_cycles");

    return found == NULL || found->kind != PB_VALUE_NUMBER ? NULL : found;
}

/*
 * Do loads that should ask for nothing new pay for translation, or may they? They do where they
 * take as much more than hits, or misses, elsewhere; and where hits of L2 are known and misses are
 * not, since those lack their translations; see infer_latency.c.
 */
static bool lacks_translations(const struct pb_case *at, const struct pb_pattern_slice *slice,
                               size_t pattern)
{
    double l2 = pb_parameters_number(at->parameters, "l2", "latency_cycles");
    double miss = pb_parameters_number(at->parameters, "l2", "miss_latency_cycles");
    const struct pb_parameter *own = translated_latency(at, pattern);

    return (isfinite(l2) && isnan(miss)) ||
           (slice->prevails && own != NULL && pays(at, slice, own->numbers[0].value));
}

/* Hits without TLB misses: P1, or else what other tests find hits to take. NaN: not known. */
struct base {
    double low, high; /* their latency lies between */
    double scatter, accesses;
};

static struct base base_of(const struct pb_case *at, const struct pb_pattern_slice *hits)
{
    const struct pb_parameter *own = translated_latency(at, 0);

    if (isfinite(hits->common.value))
        return (struct base){hits->common.value, hits->common.value, hits->scatter,
                             (double)hits->accesses};
    if (own == NULL)
        return (struct base){NAN, NAN, NAN, NAN};
    return (struct base){own->numbers[0].low, own->numbers[0].high,
                         own->numbers[0].high - own->numbers[0].low, INFINITY};
}

/* What misses of the first TLB cost, or of both. */
static struct pb_estimate cost_of_misses(const struct pb_case *at, size_t pattern)
{
    static const char *const levels[] = {"tlb_l1", "tlb_l2"};
    struct pb_estimate sum = {0.0, 0.0, 0.0};

    for (size_t i = 0; i < pattern; i++) {
        const struct pb_parameter *penalty =
            pb_parameters_find(at->parameters, levels[i], "penalty_cycles");

        if (penalty == NULL || penalty->kind != PB_VALUE_NUMBER)
            return PB_ESTIMATE_NONE;
        sum.value += penalty->numbers[0].value;
        sum.low += penalty->numbers[0].low;
        sum.high += penalty->numbers[0].high;
    }
    return sum;
}

/* Does the slice lie as much later than hits as the misses of P2 or P3 cost? */
static const char *misplaced(const struct pb_case *at, const struct pb_pattern_slice *hits,
                             const struct pb_pattern_slice *slice, size_t pattern)
{
    struct base base = base_of(at, hits);
    struct pb_estimate cost = cost_of_misses(at, pattern);
    double value = slice->common.value;
    double by_chance =
        2.0 * PB_ALIKE_CYCLES +
        PB_SIGMAS * base.scatter * sqrt(1.0 / (double)slice->accesses + 1.0 / base.accesses);

    if (isnan(base.low) || isnan(cost.value))
        return "what hits or misses of the TLBs take is not known";
    if (strcmp(at->inference->memory, "l1") == 0 && value >= base.low - by_chance &&
        value <= base.high + by_chance)
        return NULL; /* it needs no TLB */
    if (value < base.low + cost.low - by_chance)
        return pattern == 1 ? untranslated_first : untranslated_second;
    if (value > base.high + cost.high + by_chance)
        return pattern == 1 ? reaching_beyond : longer_than_misses;
    return NULL;
}

/* By what is known of the levels: may so many pages, so far apart, show P2, P3 or P5? */
static const char *unsuitable(const struct pb_case *at, const struct pb_pattern_slice *slice,
                              size_t pattern)
{
    struct level first = level_of(at, "tlb_l1"), second = level_of(at, "tlb_l2");

    if (isnan(first.entries) || isnan(first.span_bytes))
        return "the first TLB is not known";
    if (!all_miss(slice, &first))
        return untranslated_first;
    if (pattern == 1 && ((double)slice->accesses > second.entries ||
                         slice->stride_bytes > second.span_bytes)) /* sets may be left out */
        return reaching_beyond;
    if (pattern == 1)
        return NULL;
    if (isnan(second.entries) || isnan(second.span_bytes))
        return "the second TLB is not known";
    return all_miss(slice, &second) ? NULL : untranslated_second;
}

const char *pb_pattern_fault(const struct pb_case *at, const struct pb_pattern_slice *hits,
                             const struct pb_pattern_slice *slice, size_t pattern)
{
    const char *fault;

    if (slice->accesses == 0)
        return "not recorded";
    if (pattern < 3 && !lines_fit(at, slice))
        return "its lines do not fit in the cache";
    if (pattern == 0 || pattern == 3)
        return lacks_translations(at, slice, pattern) ? lacking : NULL;
    fault = unsuitable(at, slice, pattern);
    return fault != NULL || pattern > 2 ? fault : misplaced(at, hits, slice, pattern);
}

double pb_pattern_most_of_hits(const struct pb_case *at, size_t pattern)
{
    const char *memory = at->inference->memory;
    double hit = pb_parameters_number(at->parameters, memory, "latency_cycles");
    double miss = pb_parameters_number(at->parameters, memory, "miss_latency_cycles");
    double first = pb_parameters_number(at->parameters, "tlb_l1", "penalty_cycles");
    double second = pb_parameters_number(at->parameters, "tlb_l2", "penalty_cycles");
    double most = (hit + miss) / 2.0;

    if (pattern >= 1 && isfinite(first))
        most += first;
    if (pattern >= 2 && isfinite(second))
        most += second;
    return pattern <= 2 ? most : NAN;
}

const char *pb_pattern_mixture(const struct pb_case *at, const struct pb_pattern_slice *slice,
                               size_t pattern, double most)
{
    const struct pb_parameter *own = translated_latency(at, pattern);

    if (slice->low > most || (slice->prevails && slice->common.value > most))
        return "its lines miss the cache";
    if (slice->prevails)
        return NULL;
    if (slice->low < most && slice->high > most)
        return "it mixes hits and misses of the cache";
    if ((pattern == 0 || pattern == 3) && own != NULL &&
        slice->common.value > own->numbers[0].high + 2.0 * PB_ALIKE_CYCLES)
        return lacking;
    return NULL;
}
