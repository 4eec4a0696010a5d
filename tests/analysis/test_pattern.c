/*
 * M16's six patterns: on simulated devices whose TLBs suit the chase, or do not; and where near and
 * far lines of L2 make up every slice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/device.h"
#include "analysis/selected.h"
#include "analysis/synthetic.h"
#include "analysis/tlb_device.h"
#include "sanitized.h"

static const char tests_needed[] = "clock_overhead,clock_calibration,l2_capacity,dram_latency,"
                                   "latency_pattern,tlb_reach,tlb_remap,sm_misses";
static const uint64_t mib = (uint64_t)1 << 20;

/* Two levels of one set each over an L2 of 200 cycles and DRAM of 350. */
static void infer(uint64_t span_bytes, uint32_t first_entries, uint32_t second_entries,
                  struct pb_parameters *parameters_out)
{
    struct blind_profile profile = tlb_device();

    profile.caches[BLIND_L2].latency_cycles = 200;
    profile.dram_cycles = 350;
    profile.tlbs[0] = tlb_level(span_bytes, 20, 1, &first_entries);
    profile.tlbs[1] = tlb_level(span_bytes, 70, 1, &second_entries);
    selected_infer_profile(&profile, tests_needed, parameters_out);
}

static void assert_patterns(const struct pb_parameters *parameters, const double *patterns,
                            const char *reason)
{
    const struct pb_parameter *found = selected_find(parameters, "l2", "pattern_cycles");

    assert_numbers(parameters, "l2", "pattern_cycles", patterns, 6, 1.0);
    if (strstr(found->method, reason) == NULL)
        fail_msg("expected \"%s\" in \"%s\"", reason, found->method);
}

static void test_pattern__is_shown_by_the_chase_that_suits_the_tlbs(void **state)
{
    static const struct {
        uint64_t span_mib;
        uint32_t first_entries, second_entries;
    } tlbs[] = {{2, 16, 64}, {16, 16, 64}, {2, 8, 24}, {32, 10, 14}};
    struct pb_parameters parameters = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(tlbs) / sizeof(tlbs[0]); i++) {
        infer(tlbs[i].span_mib * mib, tlbs[i].first_entries, tlbs[i].second_entries, &parameters);
        assert_patterns(&parameters, (const double[]){200, 220, 290, 350, 440, NAN}, "P6 null");
        pb_parameters_clear(&parameters);
    }
}

/* The pages of P1 and P4 take more entries than the first level has: every load pays for it. */
static void test_pattern__of_translated_loads_is_null_where_none_are(void **state)
{
    struct pb_parameters parameters = {0};

    (void)state;
    infer(2 * mib, 4, 64, &parameters);
    assert_number(&parameters, "dram", "latency_cycles", 350, 0.5);
    assert_number(&parameters, "l2", "miss_latency_cycles", 350, 0.5);
    assert_patterns(&parameters, (const double[]){NAN, 220, 290, NAN, 440, NAN},
                    "P1 null: its loads miss the TLB");
    pb_parameters_clear(&parameters);
}

/*
 * Of random devices whose pages some or all sets of a level hold: a P2 or P3 is as expected, or
 * none.
 */
static void test_pattern__of_pages_that_their_sets_hold_is_not_stated(void **state)
{
    static const struct {
        uint64_t seed;
        size_t pattern;
        double expected;
    } cases[] = {
        {1000025, 2, 237}, /* 94 entries of 16 MiB, which 96 pages hardly overfill: 174 */
        {1000057, 2, 255}, /* the first TLB alone: 170 */
        {1000034, 2, 219}, /* half and half: a mean of 198 */
        {1000282, 1, 184}, /* 12 pages, in turn through sets of 2, 2, 4 and 2: a mean of 160 */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pb_parameters parameters = {0};
        const struct pb_parameter *found;
        struct blind_profile profile;
        double value;

        blind_draw(cases[i].seed, &profile);
        selected_infer_profile(&profile, tests_needed, &parameters);
        found = selected_find(&parameters, "l2", "pattern_cycles");
        value = found->numbers[cases[i].pattern].value;
        if (isfinite(value))
            assert_float_equal(value, cases[i].expected, 3.0);
        for (size_t k = 0; k < cases[i].pattern; k++)
            assert_true(isfinite(found->numbers[k].value));
        pb_parameters_clear(&parameters);
    }
}

/* Of TLBs with random victims pages by the dozen hit: a P2 or P3 that mixes them is none. */
static void test_pattern__of_random_victims_is_of_loads_that_all_miss(void **state)
{
    static const struct {
        uint32_t first_entries, second_sets, second_ways;
    } tlbs[] = {{23, 4, 23}, {30, 1, 240}};
    static const double expected[] = {200, 277, 351, 350, 501};

    (void)state;
    skip_if_sanitized();
    for (size_t i = 0; i < sizeof(tlbs) / sizeof(tlbs[0]); i++) {
        const uint32_t ways = tlbs[i].second_ways, each[] = {ways, ways, ways, ways};
        struct blind_profile profile = tlb_device();
        struct pb_parameters parameters = {0};
        const struct pb_parameter *found;

        profile.caches[BLIND_L2].latency_cycles = 200;
        profile.dram_cycles = 350;
        profile.jitter_cycles = 8;
        profile.tlbs[0] = tlb_level(2 * mib, 77, 1, &tlbs[i].first_entries);
        profile.tlbs[1] = tlb_level(2 * mib, 74, tlbs[i].second_sets, each);
        profile.tlbs[0].policy = profile.tlbs[1].policy = "random";
        selected_infer_profile(&profile, tests_needed, &parameters);
        found = selected_find(&parameters, "l2", "pattern_cycles");
        for (size_t k = 0; k < sizeof(expected) / sizeof(expected[0]); k++)
            if (isfinite(found->numbers[k].value))
                assert_float_equal(found->numbers[k].value, expected[k], 9.0);
        pb_parameters_clear(&parameters);
    }
}

/* Of 4 and 64 KiB; most loads near to each other miss the TLB, too. */
/* Nothing stated holds what a missing translation takes. */
static void assert_latency_or_open(const struct pb_parameters *parameters, const char *memory,
                                   const char *name)
{
    const struct pb_parameter *found = pb_parameters_find(parameters, memory, name);

    assert_non_null(found);
    if (found->kind == PB_VALUE_NONE)
        assert_open(parameters, memory, name, "miss the TLB");
    else
        assert_number(parameters, memory, name, 350.0, 1.0);
}

static void test_pattern__small_pages_do_not_move_the_latency_of_dram(void **state)
{
    static const uint64_t spans_bytes[] = {4096, 65536};
    struct pb_parameters parameters = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(spans_bytes) / sizeof(spans_bytes[0]); i++) {
        infer(spans_bytes[i], 32, 256, &parameters);
        assert_latency_or_open(&parameters, "dram", "latency_cycles");
        assert_latency_or_open(&parameters, "l2", "miss_latency_cycles");
        if (pb_parameters_find(&parameters, "l2", "pattern_cycles")->kind == PB_VALUE_NONE)
            assert_open(&parameters, "l2", "pattern_cycles", "none of 6 values");
        else
            assert_patterns(&parameters, (const double[]){200, NAN, NAN, NAN, NAN, NAN},
                            "P4 null: its loads miss the TLB");
        pb_parameters_clear(&parameters);
    }
}

static void test_pattern__is_null_where_no_chase_suits_the_tlbs(void **state)
{
    struct pb_parameters parameters = {0};

    (void)state;
    infer(64 * mib, 8, 16, &parameters); /* no pages are so far apart */
    assert_patterns(&parameters, (const double[]){200, NAN, NAN, 350, NAN, NAN},
                    "P2 null: its pages do not all miss the first TLB");
    pb_parameters_clear(&parameters);
    infer(2 * mib, 30, 36, &parameters); /* 24 pages fit in the first level, 40 in none */
    assert_patterns(&parameters, (const double[]){200, NAN, 290, 350, 440, NAN},
                    "P2 null: its pages do not fit in the second TLB");
    pb_parameters_clear(&parameters);
}

enum { LOADS = 256 };

/* One slice, `share` percent of whose loads take the lower latency. */
static void add_slice(struct pb_series *series, struct synthetic_noise *noise, const char *phase,
                      uint64_t share, uint32_t low_cycles, uint32_t high_cycles)
{
    struct pb_point point = {.count = LOADS,
                             .window = LOADS,
                             .stride_bytes = 32 * mib,
                             .overhead_cycles = noise->overhead_cycles};
    uint32_t latency[LOADS];
    uint64_t index[LOADS] = {0};

    PB_TEXT_SET(point.mode, "traced");
    PB_TEXT_SET(point.path, "global_ca"); /* whose row comes first */
    PB_TEXT_SET(point.phase, phase);
    for (size_t i = 0; i < LOADS; i++)
        latency[i] = synthetic_latency(noise, i * 37 % 100 < share ? low_cycles : high_cycles);
    assert_int_equal(pb_series_append(series, &point, latency, index, NULL), PB_OK);
}

static struct pb_estimate infer_sides(uint64_t near_share)
{
    struct synthetic_noise noise = {16, 20, 0.0, 0, near_share};
    struct device device = {0};
    struct pb_estimate found;

    add_slice(&device_record(&device, "latency_pattern")->series, &noise, "p1", near_share, 255,
              292);
    device_infer(&device);
    found = device_parameter(&device, "l1", "pattern_cycles")->numbers[0];
    device_clear(&device);
    return found;
}

/* The commonest kind would be the near side in one run and the far side in the other. */
static void test_pattern__of_two_sides_is_their_mean(void **state)
{
    struct pb_estimate more = infer_sides(55), less = infer_sides(45);

    (void)state;
    assert_true(fabs(more.value - less.value) < 6.0);
    assert_true(more.low < 260.0 && more.high > 305.0);
    assert_true(more.low <= less.value && less.value <= more.high);
}

/* An L1 whose hits take 32 cycles and its misses 280, and P1 of slices of so many hits in 100. */
static struct pb_parameter infer_hits(uint64_t first_share, uint64_t second_share)
{
    static const struct synthetic_cache l1 = {128, 32, 128, 64, 4, false, 32, 280};
    struct synthetic_noise noise = {16, 1, 0.0, 0, 1};
    struct device device = {0};
    struct pb_series *series;
    struct pb_parameter found;

    synthetic_capacity(device_record(&device, "l1_capacity"), &l1, &noise, "global_ca");
    series = &device_record(&device, "latency_pattern")->series;
    add_slice(series, &noise, "p1", first_share, 32, 280);
    add_slice(series, &noise, "p1", second_share, 32, 280);
    add_slice(series, &noise, "p4", 100, 600, 600);
    device_infer(&device);
    found = *device_parameter(&device, "l1", "pattern_cycles");
    device_clear(&device);
    return found;
}

/* Some lines may be gone before their slice begins; then another slice shows what a hit takes. */
static void test_pattern__of_hits_is_read_where_hits_prevail(void **state)
{
    struct pb_parameter found = infer_hits(62, 100);

    (void)state;
    assert_true(fabs(found.numbers[0].value - 32.0) <= 0.5);
    found = infer_hits(62, 5); /* misses prevail in the second one */
    assert_true(isnan(found.numbers[0].value));
    assert_non_null(strstr(found.method, "P1 null: it mixes hits and misses of the cache"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pattern__is_shown_by_the_chase_that_suits_the_tlbs),
        cmocka_unit_test(test_pattern__of_translated_loads_is_null_where_none_are),
        cmocka_unit_test(test_pattern__of_random_victims_is_of_loads_that_all_miss),
        cmocka_unit_test(test_pattern__of_pages_that_their_sets_hold_is_not_stated),
        cmocka_unit_test(test_pattern__small_pages_do_not_move_the_latency_of_dram),
        cmocka_unit_test(test_pattern__is_null_where_no_chase_suits_the_tlbs),
        cmocka_unit_test(test_pattern__of_two_sides_is_their_mean),
        cmocka_unit_test(test_pattern__of_hits_is_read_where_hits_prevail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
