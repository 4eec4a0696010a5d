/*
 * Latencies over all SMs, overridden where one SM's had to do.
 *
 * What lies behind an SM is nearer to some SMs than to others: L2 on an H200 by 30 cycles of 280,
 * the second constant cache by a third. One SM's loads tell where it lies on its chip, and chips
 * differ in the units they lack: two H200s differ by up to 7% in these latencies by the same SM,
 * and by less than 1% over all of them. Every SM tells one number, its middle half's mean; the mean
 * of all SMs is the latency (of passes, the median), and the interval reaches from the nearest SM
 * to the farthest. Blocks of the accesses (of passes: of the SMs) tell the latency too, each alone:
 * they vote for it.
 *
 *   l2                      sm_latency: passes
 *   l1, readonly, texture   sm_misses: loads that L2 serves
 *   constant_l1, _l15       likewise; what the first misses is the second's latency. Of constants
 *                           that L2 serves only those from its near side: the others have no copy
 *                           there yet, and how many they are is chance
 *   tlb_l1, tlb_l2          likewise: of two loads in a page only the first one pays; behind more
 *                           pages than the second level holds it pays for both levels
 *   l2's misses             dram_latency: they are DRAM's loads
 *
 * A recording without these chases leaves what one SM told.
 */
#include "analysis/infer.h"

#include <gsl/gsl_statistics.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "analysis/confidence.h"
#include "analysis/constants.h"
#include "analysis/statistics/latency.h"
#include "analysis/tlb/scans.h"
#include "analysis/trace.h"

enum { SMS_MIN = 8, BLOCKS = 8 };

/* What of a chase's loads is one number for its SM; of load pairs, what the first one takes more.
 */
enum measure { ALL_LOADS, NEAR_LOADS, LOAD_PAIRS };

/* One latency as every SM tells it; pb_sample_clear() its SMs. */
struct sm_latencies {
    struct pb_sample sms; /* in the order of the recording */
    double sums[BLOCKS], counts[BLOCKS];
};

/* The latency by one block; a NaN is left out. */
static void add_to_block(struct sm_latencies *latencies, size_t block, double cycles)
{
    if (!isfinite(cycles))
        return;
    latencies->sums[block] += cycles;
    latencies->counts[block]++;
}

/* Of blocks that tell the same latency; `less` of what they tell is another one's. */
static double confidence_of(const struct sm_latencies *latencies, double less, double cycles)
{
    double most = fmax(PB_SMS_ALIKE_CYCLES, PB_ALIKE_SHARE * cycles);
    struct pb_votes votes = {0, 0};

    for (size_t block = 0; block < BLOCKS; block++)
        if (latencies->counts[block] > 0.0)
            pb_votes_add(&votes, fabs(latencies->sums[block] / latencies->counts[block] - less -
                                      cycles) <= most);
    return pb_votes_confidence(&votes);
}

/* How many of the sorted loads come from the near side. */
static size_t count_near(const struct pb_sample *sorted)
{
    double most = PB_SMS_NEAR * pb_quantile(sorted->values, sorted->count, 0.25);
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
    *mean_out = count < PB_FEW
                    ? NAN
                    : gsl_stats_mean(sorted.values + count / 4, 1, count - 2 * (count / 4));
    pb_sample_clear(&sorted);
    pb_sample_clear(&cycles);
    return status;
}

/* Do the SMs, if they are enough, differ too much for one of them to be a word for all? */
static bool are_sms_different(const struct sm_latencies *latencies)
{
    double low, high;

    if (latencies->sms.count < SMS_MIN)
        return false;
    gsl_stats_minmax(&low, &high, latencies->sms.values, 1, latencies->sms.count);
    return high - low > PB_ALIKE_SHARE * low;
}

/*
 * What one access, or load pair, in `step` from the block-th on tells: its latency, or what the
 * first of a load pair takes more.
 */
static enum pb_status read_accesses(const struct pb_accesses *chase, enum measure measure,
                                    size_t block, size_t step, double *cycles_out,
                                    struct pb_error *err)
{
    size_t width = measure == LOAD_PAIRS ? 2 : 1;
    double second = 0.0;
    enum pb_status status =
        middle_mean(chase, block * width, step * width, measure == NEAR_LOADS, cycles_out, err);

    if (status == PB_OK && measure == LOAD_PAIRS)
        status = middle_mean(chase, block * width + 1, step * width, false, &second, err);
    *cycles_out -= second;
    return status;
}

/* One chase: what it tells as a whole, and each block of its accesses alone. */
static enum pb_status read_chase(const struct pb_accesses *chase, enum measure measure,
                                 struct sm_latencies *latencies, struct pb_error *err)
{
    double cycles;
    enum pb_status status = read_accesses(chase, measure, 0, 1, &cycles, err);

    if (status == PB_OK && isfinite(cycles))
        status = pb_sample_add(&latencies->sms, cycles, err);
    for (size_t block = 0; status == PB_OK && block < BLOCKS; block++) {
        status = read_accesses(chase, measure, block, BLOCKS, &cycles, err);
        if (status == PB_OK)
            add_to_block(latencies, block, cycles);
    }
    return status;
}

/* Adds what the traces of a phase tell. PB_NO_MEMORY. */
static enum pb_status read_latencies(const struct pb_series *series, const char *phase,
                                     enum measure measure, struct sm_latencies *latencies,
                                     struct pb_error *err)
{
    struct pb_pick pick = {NULL, "traced", phase};
    const struct pb_point *point;
    enum pb_status status = PB_OK;

    for (size_t at = 0; status == PB_OK && (point = pb_point_next(series, &pick, &at)) != NULL;) {
        struct pb_accesses chase = pb_point_accesses(series, point);

        status = read_chase(&chase, measure, latencies, err);
    }
    return status;
}

/* What is overridden of a memory, from which chases. */
struct overridden {
    const char *memory, *names[2]; /* the second one in ns, or NULL */
    const char *phase;
    enum measure measure;
};

/*
 * Overrides one latency of one SM as that of all, and what the SMs span. `less` is what loads take
 * more than this latency, of blocks alone.
 */
static void override(const struct pb_case *at, const struct overridden *overridden,
                     const struct sm_latencies *latencies, double less, double cycles)
{
    double ns = 1e3 / pb_parameters_number(at->parameters, "clock", "sm_mhz"), low, high;

    gsl_stats_minmax(&low, &high, latencies->sms.values, 1, latencies->sms.count);
    low = fmin(low, cycles);
    high = fmax(high, cycles);
    for (size_t i = 0; i < 2 && overridden->names[i] != NULL; i++) {
        double unit = i == 0 ? 1.0 : ns;
        struct pb_parameter *answer =
            pb_parameters_find(at->parameters, overridden->memory, overridden->names[i]);
        struct pb_estimate own;

        if (answer == NULL || answer->kind != PB_VALUE_NUMBER || isnan(unit))
            continue;
        own = answer->numbers[0];
        pb_parameter_set_number(answer,
                                (struct pb_estimate){unit * cycles, fmin(own.low, unit * low),
                                                     fmax(own.high, unit * high)},
                                confidence_of(latencies, less, cycles),
                                "%zu SMs, each %.1f to %.1f; one SM's trace: %.1f",
                                latencies->sms.count, unit * low, unit * high, own.value);
        pb_parameter_point_to(answer, at->inference->tests[0]);
    }
}

/* A latency of loads that go on behind a cache; far from what one SM told, they did not all. */
static enum pb_status override_loads(const struct pb_case *at, const struct overridden *overridden,
                                     struct pb_error *err)
{
    double own = pb_parameters_number(at->parameters, overridden->memory, overridden->names[0]),
           mean;
    struct sm_latencies latencies = {.sms = {NULL, 0, 0}};
    enum pb_status status = read_latencies(&at->recordings[0].series, overridden->phase,
                                           overridden->measure, &latencies, err);

    if (status == PB_OK && are_sms_different(&latencies)) {
        mean = gsl_stats_mean(latencies.sms.values, 1, latencies.sms.count);
        if (fabs(mean - own) <= PB_SMS_PLAUSIBLE * own)
            override(at, overridden, &latencies, 0.0, mean);
    }
    pb_sample_clear(&latencies.sms);
    return status;
}

enum pb_status pb_infer_misses_over_sms(const struct pb_case *at, struct pb_error *err)
{
    static const struct overridden all[] = {
        {"l1", {"miss_latency_cycles"}, "l1", ALL_LOADS},
        {"readonly", {"miss_latency_cycles"}, "readonly", ALL_LOADS},
        {"texture", {"miss_latency_cycles"}, "texture", ALL_LOADS},
        {"constant_l1", {"miss_latency_cycles"}, "constant_l15", NEAR_LOADS}, /* both miss */
        {"constant_l15", {"latency_cycles", "latency_ns"}, "constant_l1", ALL_LOADS},
        {"constant_l15", {"miss_latency_cycles"}, "constant_l15", NEAR_LOADS},
    };
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]) && status == PB_OK; i++)
        status = override_loads(at, &all[i], err);
    return status;
}

/* Does each page of the chases of the level's phase miss it? */
static bool all_miss(const struct pb_case *at, const char *memory)
{
    struct pb_pick pick = {NULL, "traced", memory};
    size_t next = 0;
    const struct pb_point *point = pb_point_next(&at->recordings[0].series, &pick, &next);

    return point != NULL && point->stride_bytes > 0 &&
           pb_tlb_all_miss(at->parameters, memory, (double)point->stride_bytes,
                           point->footprint_bytes / point->stride_bytes);
}

/* A penalty of the first level alone is not far from what one SM told. */
static bool is_plausible(const struct pb_case *at, double cycles)
{
    double own = pb_parameters_number(at->parameters, "tlb_l1", "penalty_cycles");

    return fabs(cycles - own) <= PB_SMS_PLAUSIBLE * own + PB_ALIKE_CYCLES;
}

/* The second level's penalty: what both cost, SM by SM, less what the first one does. */
static enum pb_status override_second(const struct pb_case *at, const struct overridden *second,
                                      const struct sm_latencies *near, struct sm_latencies *far,
                                      struct pb_error *err)
{
    double first = gsl_stats_mean(near->sms.values, 1, near->sms.count), mean;
    struct pb_latency_estimate of_sms;
    enum pb_status status;

    for (size_t i = 0; i < far->sms.count; i++)
        far->sms.values[i] -= near->sms.values[i];
    mean = gsl_stats_mean(far->sms.values, 1, far->sms.count);
    override(at, second, far, first, mean);
    status = pb_latency_estimate(&far->sms, NULL, &of_sms, err);
    if (status == PB_OK)
        pb_latency_state_modes(&of_sms, "SMs", pb_case_answer(at, "penalty_mode_cycles"));
    return status;
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
    static const struct overridden first = {"tlb_l1", {"penalty_cycles"}, "tlb_l1", LOAD_PAIRS};
    static const struct overridden second = {"tlb_l2", {"penalty_cycles"}, "tlb_l2", LOAD_PAIRS};
    const struct pb_series *series = &at->recordings[0].series;
    struct sm_latencies near = {.sms = {NULL, 0, 0}}, far = near;
    enum pb_status status = PB_OK;
    double mean;

    withdraw_bound(at);
    pb_parameter_set_none(pb_case_answer(at, "penalty_mode_cycles"),
                          "not observable: loads that surely miss this level and no cache were not "
                          "measured on several SMs");
    if (!all_miss(at, "tlb_l1"))
        return PB_OK;
    status = read_latencies(series, first.phase, first.measure, &near, err);
    if (status == PB_OK)
        status = read_latencies(series, second.phase, second.measure, &far, err);
    if (status == PB_OK && near.sms.count >= SMS_MIN) {
        bool known;

        mean = gsl_stats_mean(near.sms.values, 1, near.sms.count);
        known = is_plausible(at, mean); /* else they miss the second level, too */
        if (known)
            override(at, &first, &near, 0.0, mean);
        if (known && far.sms.count == near.sms.count && all_miss(at, "tlb_l2"))
            status = override_second(at, &second, &near, &far, err);
    }
    pb_sample_clear(&far.sms);
    pb_sample_clear(&near.sms);
    return status;
}

/*
 * One of the SMs told what is to be overridden, so it lies about where they do; where passes leave
 * it far outside, a part of their lines was not in L2: few sets hold lines so far apart.
 */
static bool are_of_l2(const struct pb_case *at, const struct pb_sample *sorted)
{
    double own = pb_parameters_number(at->parameters, "l2", "latency_cycles");

    return !(own < (1.0 - PB_EXCEPTION) * sorted->values[0] ||
             own > (1.0 + PB_EXCEPTION) * sorted->values[sorted->count - 1]);
}

/* SMs alike enough stay what one of them told. */
static void override_passes(const struct pb_case *at, struct sm_latencies *latencies,
                            const struct pb_sample *sorted)
{
    static const struct overridden overridden = {
        "l2", {"latency_cycles", "latency_ns"}, "l2", ALL_LOADS};
    double median = pb_quantile(sorted->values, sorted->count, 0.5);

    if (sorted->count != latencies->sms.count || !are_sms_different(latencies) ||
        !are_of_l2(at, sorted))
        return;
    for (size_t i = 0; i < latencies->sms.count; i++)
        add_to_block(latencies, i % BLOCKS, latencies->sms.values[i]);
    override(at, &overridden, latencies, 0.0, median);
}

enum pb_status pb_infer_l2_over_sms(const struct pb_case *at, struct pb_error *err)
{
    static const struct pb_pick timed = {"global_cg", "timed", "l2"};
    struct sm_latencies latencies = {.sms = {NULL, 0, 0}};
    struct pb_sample sorted = {NULL, 0, 0};
    enum pb_status status = pb_pass_collect(&at->recordings[0].series, &timed, &latencies.sms, err);

    if (status == PB_OK)
        status = pb_sample_sorted(&latencies.sms, &sorted, err);
    if (status == PB_OK)
        override_passes(at, &latencies, &sorted);
    pb_sample_clear(&sorted);
    pb_sample_clear(&latencies.sms);
    return status;
}

/* How many SMs the chases of DRAM ran on; the column is in no order. */
static size_t count_sms(const struct pb_series *series)
{
    static const struct pb_pick near = {NULL, "traced", "near"};
    const struct pb_point *point;
    int64_t last = -1;
    size_t count = 0;

    for (size_t at = 0; (point = pb_point_next(series, &near, &at)) != NULL;) {
        count += point->sm_id != last;
        last = point->sm_id;
    }
    return count;
}

/*
 * Does another cache answer a kind of what one SM missed in L2? Then DRAM's latency is not that of
 * a miss, and neither is the mean of both; what answers first is. But these loads may lack
 * translations, and be hits that do: only hits and DRAM bound what it takes.
 */
static bool is_cache_behind(const struct pb_parameter *misses, const struct pb_parameter *dram)
{
    return misses->numbers[0].low < (1.0 - PB_NEXT_LEVEL_ALIKE) * dram->numbers[0].low;
}

enum pb_status pb_infer_l2_misses_over_sms(const struct pb_case *at, struct pb_error *err)
{
    const struct pb_parameter *dram = pb_parameters_find(at->parameters, "dram", "latency_cycles");
    struct pb_parameter *answer = pb_parameters_find(at->parameters, "l2", "miss_latency_cycles");
    size_t sms = count_sms(&at->recordings[0].series);
    struct pb_estimate own;

    (void)err;
    if (dram == NULL || dram->kind != PB_VALUE_NUMBER || answer == NULL ||
        answer->kind != PB_VALUE_NUMBER)
        return PB_OK;
    own = answer->numbers[0];
    if (is_cache_behind(answer, dram)) {
        double hit = pb_parameters_number(at->parameters, "l2", "latency_cycles");
        struct pb_estimate first = {own.low, fmin(own.low, hit),
                                    fmax(own.high, dram->numbers[0].high)};

        pb_parameter_set_number(answer, first, answer->confidence,
                                "what answers first: loads from DRAM take %.1f cycles, and misses "
                                "of one SM %.1f to %.1f, with the translations that they lack",
                                dram->numbers[0].value, own.low, own.high);
        return PB_OK;
    }
    if (sms < SMS_MIN && own.value <= dram->numbers[0].high)
        return PB_OK; /* longer: some of its loads lacked their translation */
    pb_parameter_set_number(
        answer,
        (struct pb_estimate){dram->numbers[0].value, fmin(dram->numbers[0].low, own.low),
                             dram->numbers[0].high},
        dram->confidence, "loads from DRAM by %zu SMs; one SM's trace: %.1f", sms, own.value);
    pb_parameter_point_to(answer, at->inference->tests[0]);
    return PB_OK;
}
