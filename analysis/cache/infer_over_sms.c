/*
 * Latencies over all SMs, restated where one SM's had to do.
 *
 * What lies behind an SM is nearer to some SMs than to others: L2 on an H200 by 30 cycles of 280,
 * the second constant cache by a third. One SM's loads tell where it lies on its chip, and chips
 * differ in the units they lack: two H200s differ by up to 7% in these latencies by the same SM,
 * and by less than 1% over all of them. Every SM tells one number, its middle half's mean; the mean
 * of all SMs is the latency (of laps, the median), and the interval reaches from the nearest SM to
 * the farthest.
 *
 *   l2                      sm_latency: laps
 *   l1, readonly, texture   sm_misses: loads that L2 serves
 *   constant_l1, _l15       likewise; what the first misses is the second's latency. Of constants
 *                           that L2 serves only those from its near side: the others have no copy
 *                           there yet, and how many they are is chance
 *   tlb_l1, tlb_l2          likewise: of two loads in a page only the first one pays; behind more
 *                           pages than the second level holds it pays for both levels
 *   l2's misses             dram_latency: they are DRAM's loads
 *
 * A recording without these walks leaves what one SM told.
 */
#include "analysis/infer.h"

#include <gsl/gsl_statistics.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "analysis/confidence.h"
#include "analysis/trace.h"

/* SMs that differ by no more than this are alike; blocks of them vote, by this or so many cycles.
 */
static const double alike_share = 0.01, alike_cycles = 0.5;
enum { SMS_MIN = 8, BLOCKS = 8, ACCESSES_MIN = 4 };

/* Walks that another cache has served in part are further from what one SM told than this. */
static const double plausible_share = 0.2, plausible_cycles = 1.5;

/* Loads slower than the quickest quarter by more than this come from the far side of L2. */
static const double near_factor = 1.25;

/* What of a walk's loads is one number for its SM. */
enum measure { ALL_LOADS, NEAR_LOADS, COUPLES };

/* What is restated of a memory, from which walks. */
struct restated {
    const char *memory, *names[2]; /* the second one in ns, or NULL */
    const char *phase;
    enum measure measure;
};

/* What all SMs tell, and what each block of their accesses (of laps, of the SMs) tells alone. */
struct census {
    struct pb_sample sms;
    double sums[BLOCKS], counts[BLOCKS];
};

static void add_to_block(struct census *census, size_t block, double cycles)
{
    if (!isfinite(cycles))
        return;
    census->sums[block] += cycles;
    census->counts[block]++;
}

/* Blocks that tell the same latency; `less` of what they tell is another one's. */
static double confidence_of(const struct census *census, double less, double cycles)
{
    double most = fmax(alike_cycles, alike_share * cycles);
    struct pb_votes votes = {0, 0};

    for (size_t block = 0; block < BLOCKS; block++)
        if (census->counts[block] > 0.0)
            pb_votes_add(&votes,
                         fabs(census->sums[block] / census->counts[block] - less - cycles) <= most);
    return pb_votes_confidence(&votes);
}

/* Makes another test of the same device the evidence. */
static void point_to(struct pb_parameter *answer, const char *test)
{
    char *last = strrchr(answer->evidence, '/');

    if (last != NULL)
        snprintf(last + 1, sizeof(answer->evidence) - (size_t)(last + 1 - answer->evidence), "%s",
                 test);
}

/* Restates one latency of one SM as that of all, and what the SMs span. */
static void restate(const struct pb_case *at, const struct restated *restated, size_t i,
                    const struct pb_sample *sms, double cycles, double confidence)
{
    double unit = i == 0 ? 1.0 : 1e3 / pb_parameters_number(at->parameters, "clock", "sm_mhz");
    struct pb_parameter *answer =
        pb_parameters_find(at->parameters, restated->memory, restated->names[i]);
    double low = unit * cycles, high = low;
    struct pb_estimate own;

    if (answer == NULL || answer->kind != PB_VALUE_NUMBER || isnan(unit))
        return;
    own = answer->numbers[0];
    for (size_t sm = 0; sm < sms->count; sm++) {
        low = fmin(low, unit * sms->values[sm]);
        high = fmax(high, unit * sms->values[sm]);
    }
    pb_parameter_set_number(
        answer, (struct pb_estimate){unit * cycles, fmin(own.low, low), fmax(own.high, high)},
        confidence, "%zu SMs, each %.1f to %.1f; one SM's trace: %.1f", sms->count, low, high,
        own.value);
    point_to(answer, at->inference->tests[0]);
}

static void restate_all(const struct pb_case *at, const struct restated *restated,
                        const struct pb_sample *sms, double cycles, double confidence)
{
    for (size_t i = 0; i < 2 && restated->names[i] != NULL; i++)
        restate(at, restated, i, sms, cycles, confidence);
}

/* How many of the sorted loads come from the near side. */
static size_t count_near(const struct pb_sample *sorted)
{
    double most = near_factor * pb_quantile(sorted->values, sorted->count, 0.25);
    size_t first, end;

    pb_sorted_range(sorted->values, sorted->count, -INFINITY, most, &first, &end);
    return end;
}

/* The mean of the middle half of every `step`-th access from `first` on; NaN of too few. */
static enum pb_status middle_mean(const struct pb_accesses *accesses, size_t first, size_t step,
                                  bool near, double *mean_out, struct pb_error *err)
{
    struct pb_sample cycles = {NULL, 0, 0}, sorted = {NULL, 0, 0};
    enum pb_status status = pb_sample_reserve(&cycles, accesses->count + 1, err);
    size_t count = 0;

    for (size_t i = first; status == PB_OK && i < accesses->count; i += step)
        cycles.values[cycles.count++] = pb_access_cycles(accesses, i);
    if (status == PB_OK)
        status = pb_sample_sorted(&cycles, &sorted, err);
    if (status == PB_OK)
        count = near ? count_near(&sorted) : sorted.count;
    *mean_out = count < ACCESSES_MIN
                    ? NAN
                    : gsl_stats_mean(sorted.values + count / 4, 1, count - 2 * (count / 4));
    pb_sample_clear(&sorted);
    pb_sample_clear(&cycles);
    return status;
}

/* Do the SMs differ enough for one of them to be no word for all? */
static bool differ(const struct pb_sample *sms)
{
    double low, high;

    if (sms->count < SMS_MIN)
        return false;
    gsl_stats_minmax(&low, &high, sms->values, 1, sms->count);
    return high - low > alike_share * low;
}

/*
 * What one access, or couple, in `step` from the block-th on tells: its latency, or what the first
 * of a couple takes more.
 */
static enum pb_status read_accesses(const struct pb_accesses *walk, enum measure measure,
                                    size_t block, size_t step, double *cycles_out,
                                    struct pb_error *err)
{
    size_t width = measure == COUPLES ? 2 : 1;
    double second = 0.0;
    enum pb_status status =
        middle_mean(walk, block * width, step * width, measure == NEAR_LOADS, cycles_out, err);

    if (status == PB_OK && measure == COUPLES)
        status = middle_mean(walk, block * width + 1, step * width, false, &second, err);
    *cycles_out -= second;
    return status;
}

/* One walk: what it tells as a whole, and each block of its accesses alone. */
static enum pb_status read_walk(const struct pb_accesses *walk, enum measure measure,
                                struct census *census, struct pb_error *err)
{
    double cycles;
    enum pb_status status = read_accesses(walk, measure, 0, 1, &cycles, err);

    if (status == PB_OK && isfinite(cycles))
        status = pb_sample_add(&census->sms, cycles, err);
    for (size_t block = 0; status == PB_OK && block < BLOCKS; block++) {
        status = read_accesses(walk, measure, block, BLOCKS, &cycles, err);
        if (status == PB_OK)
            add_to_block(census, block, cycles);
    }
    return status;
}

/* One number for each SM that walked, in the order of the recording. */
static enum pb_status collect(const struct pb_series *series, const struct restated *restated,
                              struct census *census_out, struct pb_error *err)
{
    struct pb_pick pick = {NULL, "trace", restated->phase};
    const struct pb_point *point;
    enum pb_status status = PB_OK;

    for (size_t at = 0; status == PB_OK && (point = pb_point_next(series, &pick, &at)) != NULL;) {
        struct pb_accesses walk = pb_point_accesses(series, point);

        status = read_walk(&walk, restated->measure, census_out, err);
    }
    return status;
}

/* A latency of loads that go on behind a cache; far from what one SM told, they did not all. */
static enum pb_status restate_loads(const struct pb_case *at, const struct restated *restated,
                                    struct pb_error *err)
{
    double own = pb_parameters_number(at->parameters, restated->memory, restated->names[0]), mean;
    struct census census = {.sms = {NULL, 0, 0}};
    enum pb_status status = collect(&at->recordings[0].series, restated, &census, err);

    if (status == PB_OK && differ(&census.sms)) {
        mean = gsl_stats_mean(census.sms.values, 1, census.sms.count);
        if (fabs(mean - own) <= plausible_share * own)
            restate_all(at, restated, &census.sms, mean, confidence_of(&census, 0.0, mean));
    }
    pb_sample_clear(&census.sms);
    return status;
}

enum pb_status pb_infer_misses_over_sms(const struct pb_case *at, struct pb_error *err)
{
    static const struct restated all[] = {
        {"l1", {"miss_latency_cycles"}, "l1", ALL_LOADS},
        {"readonly", {"miss_latency_cycles"}, "readonly", ALL_LOADS},
        {"texture", {"miss_latency_cycles"}, "texture", ALL_LOADS},
        {"constant_l1", {"miss_latency_cycles"}, "constant_l15", NEAR_LOADS}, /* both miss */
        {"constant_l15", {"latency_cycles", "latency_ns"}, "constant_l1", ALL_LOADS},
        {"constant_l15", {"miss_latency_cycles"}, "constant_l15", NEAR_LOADS},
    };
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]) && status == PB_OK; i++)
        status = restate_loads(at, &all[i], err);
    return status;
}

/* Where the ways of a level are not known, each set is overfull with so many pages more. */
static const double usual_ways = 8.0;

/* Does each page of the walks take an entry of its own, and do they overfill every set? */
static bool all_miss(const struct pb_case *at, const char *memory, const char *phase)
{
    double entries = pb_parameters_number(at->parameters, memory, "entry_count");
    double span = pb_parameters_number(at->parameters, memory, "entry_span_bytes");
    double ways = pb_parameters_number(at->parameters, memory, "way_counts");
    struct pb_pick pick = {NULL, "trace", phase};
    size_t next = 0;
    const struct pb_point *point = pb_point_next(&at->recordings[0].series, &pick, &next);

    if (isnan(ways) || ways <= 0.0)
        ways = usual_ways;
    return point != NULL && point->stride_bytes > 0 && (double)point->stride_bytes >= span &&
           (double)(point->footprint_bytes / point->stride_bytes) >= entries * (1.0 + 1.0 / ways);
}

/* A penalty of the first level alone is not far from what one SM told. */
static bool is_plausible(const struct pb_case *at, double cycles)
{
    double own = pb_parameters_number(at->parameters, "tlb_l1", "penalty_cycles");

    return fabs(cycles - own) <= plausible_share * own + plausible_cycles;
}

/* The second level's penalty: what both cost, SM by SM, less what the first one does. */
static void restate_second(const struct pb_case *at, const struct restated *second,
                           const struct census *near, struct census *far)
{
    double first = gsl_stats_mean(near->sms.values, 1, near->sms.count), mean;

    for (size_t i = 0; i < far->sms.count; i++)
        far->sms.values[i] -= near->sms.values[i];
    mean = gsl_stats_mean(far->sms.values, 1, far->sms.count);
    restate_all(at, second, &far->sms, mean, confidence_of(far, first, mean));
}

/* A latency of DRAM that is a bound, of no confidence: all that needed one has been inferred. */
static void withdraw_bound(const struct pb_case *at)
{
    static const char *const names[] = {"latency_cycles", "latency_ns"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct pb_parameter *bound = pb_parameters_find(at->parameters, "dram", names[i]);
        char why[PB_MESSAGE_LENGTH];

        if (bound == NULL || bound->kind != PB_VALUE_NUMBER || bound->confidence > 0.0)
            continue;
        snprintf(why, sizeof(why), "%s", bound->method);
        pb_parameter_set_none(bound, "%s", why);
    }
}

enum pb_status pb_infer_translations_over_sms(const struct pb_case *at, struct pb_error *err)
{
    static const struct restated first = {"tlb_l1", {"penalty_cycles"}, "tlb_l1", COUPLES};
    static const struct restated second = {"tlb_l2", {"penalty_cycles"}, "tlb_l2", COUPLES};
    const struct pb_series *series = &at->recordings[0].series;
    struct census near = {.sms = {NULL, 0, 0}}, far = near;
    enum pb_status status = PB_OK;
    double mean;

    withdraw_bound(at);
    if (!all_miss(at, "tlb_l1", "tlb_l1"))
        return PB_OK;
    status = collect(series, &first, &near, err);
    if (status == PB_OK)
        status = collect(series, &second, &far, err);
    if (status == PB_OK && near.sms.count >= SMS_MIN) {
        bool known;

        mean = gsl_stats_mean(near.sms.values, 1, near.sms.count);
        known = is_plausible(at, mean); /* else they miss the second level, too */
        if (known)
            restate_all(at, &first, &near.sms, mean, confidence_of(&near, 0.0, mean));
        if (known && far.sms.count == near.sms.count && all_miss(at, "tlb_l2", "tlb_l2"))
            restate_second(at, &second, &near, &far);
    }
    pb_sample_clear(&far.sms);
    pb_sample_clear(&near.sms);
    return status;
}

/* SMs alike enough stay what one of them told. */
static void restate_laps(const struct pb_case *at, struct census *census,
                         const struct pb_sample *sorted)
{
    static const struct restated restated = {
        "l2", {"latency_cycles", "latency_ns"}, "l2", ALL_LOADS};
    double median = pb_quantile(sorted->values, sorted->count, 0.5);

    if (sorted->count != census->sms.count || !differ(&census->sms))
        return;
    for (size_t i = 0; i < census->sms.count; i++)
        add_to_block(census, i % BLOCKS, census->sms.values[i]);
    restate_all(at, &restated, &census->sms, median, confidence_of(census, 0.0, median));
}

enum pb_status pb_infer_l2_over_sms(const struct pb_case *at, struct pb_error *err)
{
    static const struct pb_pick timed = {"global_cg", "lap", "l2"};
    struct census census = {.sms = {NULL, 0, 0}};
    struct pb_sample sorted = {NULL, 0, 0};
    enum pb_status status = pb_lap_collect(&at->recordings[0].series, &timed, &census.sms, err);

    if (status == PB_OK)
        status = pb_sample_sorted(&census.sms, &sorted, err);
    if (status == PB_OK)
        restate_laps(at, &census, &sorted);
    pb_sample_clear(&sorted);
    pb_sample_clear(&census.sms);
    return status;
}

/* How many SMs the walks of DRAM ran on; the column is in no order. */
static size_t count_sms(const struct pb_series *series)
{
    static const struct pb_pick near = {NULL, "trace", "near"};
    const struct pb_point *point;
    int64_t last = -1;
    size_t count = 0;

    for (size_t at = 0; (point = pb_point_next(series, &near, &at)) != NULL;) {
        count += point->sm_id != last;
        last = point->sm_id;
    }
    return count;
}

enum pb_status pb_infer_l2_misses_over_sms(const struct pb_case *at, struct pb_error *err)
{
    const struct pb_parameter *dram = pb_parameters_find(at->parameters, "dram", "latency_cycles");
    struct pb_parameter *answer = pb_parameters_find(at->parameters, "l2", "miss_latency_cycles");
    size_t sms = count_sms(&at->recordings[0].series);
    double own;

    (void)err;
    if (dram == NULL || dram->kind != PB_VALUE_NUMBER || answer == NULL ||
        answer->kind != PB_VALUE_NUMBER || sms < SMS_MIN)
        return PB_OK;
    own = answer->numbers[0].value;
    pb_parameter_set_number(answer, dram->numbers[0], dram->confidence,
                            "loads from DRAM by %zu SMs; one SM's trace: %.1f", sms, own);
    point_to(answer, at->inference->tests[0]);
    return PB_OK;
}
