/*
 * Size, line, sector and latencies of caches with known truth; sizes, misses and policies that are
 * honestly null. Lines that are null: test_line.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/cache/level.h"
#include "analysis/device.h"
#include "analysis/synthetic.h"

static const struct synthetic_noise clean = {14, 0, 0.0, 0, 1};
static const struct synthetic_noise noisy = {14, 2, 1e-4, 300, 1};

/* Capacity and line of one toy cache, by either level's path. */
static void check_cache(const struct synthetic_cache *cache, const struct synthetic_noise *noise,
                        const char *memory)
{
    const char *path = strcmp(memory, "l1") == 0 ? "global_ca" : "global_cg";
    struct synthetic_noise capacity_noise = *noise, line_noise = *noise;
    struct device device = {0};
    char test[PB_NAME_LENGTH];

    synthetic_clock(device_record(&device, "clock_calibration"), 1000, 1000);
    snprintf(test, sizeof(test), "%s_capacity", memory);
    synthetic_capacity(device_record(&device, test), cache, &capacity_noise, path);
    snprintf(test, sizeof(test), "%s_line", memory);
    synthetic_line(device_record(&device, test), cache, &line_noise, path);
    device_infer(&device);
    assert_value(&device, memory, "size_bytes", (double)synthetic_capacity_bytes(cache));
    assert_value(&device, memory, "latency_cycles", cache->hit_cycles);
    assert_value(&device, memory, "latency_ns", cache->hit_cycles);
    assert_value(&device, memory, "miss_latency_cycles", cache->miss_cycles);
    assert_value(&device, memory, "line_bytes", (double)cache->line_bytes);
    assert_value(&device, memory, "fetch_bytes", (double)cache->sector_bytes);
    assert_value(&device, memory, "sector_bytes", (double)cache->sector_bytes);
    device_clear(&device);
}

static const struct synthetic_cache caches[] = {
    /* line, sector, chunk, sets, ways, random, hit, miss */
    {128, 128, 128, 32, 4, false, 96, 351}, /* plain modulo, LRU */
    {128, 128, 128, 32, 4, true, 96, 351},  /* the same, random */
    {128, 32, 128, 32, 8, false, 32, 270},  /* sectors */
    {128, 32, 128, 32, 8, true, 32, 270},   /* sectors, random */
    {32, 32, 128, 4, 96, false, 78, 198},   /* 128 bytes of 32-byte lines share a set */
    {32, 32, 32, 256, 16, true, 351, 619},  /* an L2 */
    {64, 32, 64, 48, 6, false, 40, 200},    /* sets not a power of two */
};

static void test_cache__is_exact_without_noise(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(caches) / sizeof(caches[0]); i++) {
        check_cache(&caches[i], &clean, "l1");
        check_cache(&caches[i], &clean, "l2");
    }
}

static void test_cache__is_exact_with_jitter_and_spikes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(caches) / sizeof(caches[0]); i++) {
        for (uint64_t seed = 1; seed <= 4; seed++) {
            struct synthetic_noise noise = noisy;

            noise.state = seed;
            check_cache(&caches[i], &noise, "l1");
        }
    }
}

static void test_l1__path_past_it_is_as_fast_means_not_cached(void **state)
{
    struct synthetic_noise noise = noisy;
    struct device device = {0};
    struct pb_series *series = &device_record(&device, "l1_capacity")->series;

    (void)state;
    synthetic_constant(series, &noise, "global_ca", "reference", 198, 512);
    synthetic_constant(series, &noise, "global_cg", "reference", 198, 512);
    device_infer(&device);
    assert_none(
        &device, "l1", "size_bytes",
        "not cached before L2: loads by path global_ca take 199 cycles, loads that bypass L1 199");
    assert_none(&device, "l1", "latency_cycles", "not cached before L2");
    assert_none(&device, "l1", "line_bytes", "test l1_line: not recorded");
    device_clear(&device);
}

/* Loads past a cache show L2's latency where all misses went to DRAM, unless only their way is
 * shorter. */
static void test_miss__loads_past_it_are_sooner_by_a_level_or_by_their_way(void **state)
{
    static const struct {
        const char *test, *memory, *path;
        double hit, past, miss, expected;
    } cases[] = {
        {"texture_capacity", "texture", "texture", 87, 257, 326, 326}, /* an H200 */
        {"l1_capacity", "l1", "global_ca", 32, 257, 600, 257},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct synthetic_noise noise = noisy;
        struct device device = {0};
        struct pb_series *series = &device_record(&device, cases[i].test)->series;
        double found;

        synthetic_constant(series, &noise, cases[i].path, "reference", cases[i].hit, 512);
        synthetic_constant(series, &noise, "global_cg", "reference", cases[i].past, 512);
        synthetic_constant(series, &noise, cases[i].path, "miss", cases[i].miss, 512);
        device_infer(&device);
        found = device_parameter(&device, cases[i].memory, "miss_latency_cycles")->numbers[0].value;
        assert_true(found >= cases[i].expected && found <= cases[i].expected + 3);
        device_clear(&device);
    }
}

/* A small L1 whose misses two caches of the SM answer, the nearer one those of short chases only.
 */
static void test_miss__reaches_to_what_answers_short_chases(void **state)
{
    struct synthetic_noise noise = noisy;
    struct device device = {0};
    struct pb_series *series = &device_record(&device, "l1_capacity")->series;
    const struct pb_estimate *miss;

    (void)state;
    synthetic_constant(series, &noise, "global_ca", "reference", 32, 512);
    synthetic_constant(series, &noise, "global_cg", "reference", 257, 512);
    synthetic_constant(series, &noise, "global_ca", "miss", 257, 512);
    for (size_t i = 0; i < 8; i++) {
        synthetic_constant(series, &noise, "global_ca", "bisect", i < 2 ? 70 : 140, 512);
        series->points[series->point_count - 1].footprint_bytes = 32 * 512;
        series->points[series->point_count - 1].stride_bytes = 32;
    }
    device_infer(&device);
    miss = &device_parameter(&device, "l1", "miss_latency_cycles")->numbers[0];
    assert_true(miss->low > 32 && miss->low <= 71 && miss->high >= 140);
    device_clear(&device);
}

static void test_l1__passes_that_disagree_lower_the_confidence(void **state)
{
    struct synthetic_noise noise = noisy;
    struct device device = {0};
    struct pb_series *series = &device_record(&device, "l1_capacity")->series;
    const struct pb_parameter *latency;

    (void)state;
    synthetic_constant(series, &noise, "global_ca", "reference", 33, 512);
    synthetic_pass(series, "global_ca", "reference", 1024, 32, 1000, 39000);
    synthetic_constant(series, &noise, "global_cg", "reference", 260, 512);
    device_infer(&device);
    latency = device_parameter(&device, "l1", "latency_cycles");
    assert_float_equal(latency->numbers[0].value, 33, 0);
    assert_float_equal(latency->numbers[0].high, 39, 0);
    assert_true(latency->votes < 0.55);
    assert_non_null(strstr(latency->method, "timed passes DISAGREE: 39.00"));
    assert_none(&device, "l1", "latency_ns", "depends on clock.sm_mhz");
    assert_none(&device, "l1", "miss_latency_cycles", "slower than a hit");
    device_clear(&device);
}

static void test_l1__without_a_miss_phase_the_sweep_shows_misses(void **state)
{
    struct synthetic_noise noise = noisy;
    struct device device = {0};
    struct pb_recording *recording = device_record(&device, "l1_capacity");

    (void)state;
    synthetic_capacity(recording, &caches[1], &noise, "global_ca");
    for (size_t i = 0; i < recording->series.point_count; i++)
        if (strcmp(recording->series.points[i].phase, "miss") == 0)
            PB_TEXT_SET(recording->series.points[i].phase, "other");
    device_infer(&device);
    assert_value(&device, "l1", "size_bytes", 16384);
    assert_value(&device, "l1", "miss_latency_cycles", 351);
    device_clear(&device);
}

static void test_l1__smaller_while_recording_takes_the_finer_edge(void **state)
{
    static const struct synthetic_cache less = {128, 128, 128, 32, 3, false, 96, 351};
    struct synthetic_noise noise = clean;
    struct device device = {0};
    struct pb_recording *recording = device_record(&device, "l1_capacity");
    struct pb_series *series = &recording->series;

    (void)state;
    synthetic_capacity(recording, &less, &noise, "global_ca");
    for (size_t i = 0; i < series->point_count; i++)
        series->points[i].carveout_bytes = 4096;
    for (uint64_t footprint = 4096; footprint <= 32768; footprint *= 2) /* unhindered, but coarse */
        synthetic_chase(series, &caches[0], &noise, "global_ca", "coarse", footprint, 128, 2, true);
    device_infer(&device);
    assert_value(&device, "l1", "size_bytes", 12288);
    assert_non_null(
        strstr(device_parameter(&device, "l1", "size_bytes")->method, "4096 bytes are set aside"));
    device_clear(&device);
}

/* The reference is an array of a part of L2, by the driver, which may be L3: it does not fit. */
static void test_size__a_reference_that_overflows_is_none_for_passes(void **state)
{
    const struct synthetic_cache cache = {32, 32, 32, 1024, 1, false, 227, 401};
    struct synthetic_noise noise = noisy;
    struct device device = {0};
    struct pb_series *series = &device_record(&device, "l2_capacity")->series;

    (void)state;
    synthetic_constant(series, &noise, "global_cg", "reference", 227, 512);
    synthetic_pass(series, "global_cg", "reference", 36608, 32, 4096, 4096 * 264);
    synthetic_constant(series, &noise, "global_cg", "miss", 401, 512);
    for (uint64_t footprint = 16384; footprint <= 65536; footprint += 1024)
        synthetic_chase(series, &cache, &noise, "global_cg", "fine", footprint, 32, 2, true);
    device_infer(&device);
    assert_value(&device, "l2", "size_bytes", 32768);
    device_clear(&device);
}

static void test_size__too_coarse_a_sweep_is_no_size(void **state)
{
    struct synthetic_noise noise = clean;
    struct device device = {0};
    struct pb_series *series = &device_record(&device, "l2_capacity")->series;

    (void)state;
    synthetic_constant(series, &noise, "global_cg", "reference", 96, 512);
    synthetic_constant(series, &noise, "global_cg", "miss", 351, 512);
    for (uint64_t footprint = 4096; footprint <= 32768; footprint *= 2)
        synthetic_chase(series, &caches[0], &noise, "global_cg", "coarse", footprint, 128, 2, true);
    device_infer(&device);
    assert_none(&device, "l2", "size_bytes",
                "misses begin somewhere between 16384 and 32768 bytes");
    assert_value(&device, "l2", "latency_cycles", 96);
    device_clear(&device);
}

/* A line is an eighth of it, and nothing less can be loaded. */
static void test_size__of_few_lines_is_exact(void **state)
{
    static const struct synthetic_cache tiny = {32, 32, 32, 4, 2, false, 90, 210};
    struct synthetic_noise noise = clean;
    struct device device = {0};
    struct pb_series *series = &device_record(&device, "l2_capacity")->series;

    (void)state;
    synthetic_constant(series, &noise, "global_cg", "reference", 90, 512);
    synthetic_constant(series, &noise, "global_cg", "miss", 210, 512);
    for (uint64_t footprint = 32; footprint <= 512; footprint += 32)
        synthetic_chase(series, &tiny, &noise, "global_cg", "fine", footprint, 32, 2, true);
    device_infer(&device);
    assert_value(&device, "l2", "size_bytes", 256);
    device_clear(&device);
}

static void test_size__nothing_overflows_says_up_to_where(void **state)
{
    struct synthetic_noise noise = clean;
    struct device device = {0};
    struct pb_series *series = &device_record(&device, "l2_capacity")->series;

    (void)state;
    synthetic_constant(series, &noise, "global_cg", "reference", 96, 512);
    synthetic_constant(series, &noise, "global_cg", "miss", 351, 512);
    for (uint64_t footprint = 2048; footprint <= 8192; footprint *= 2)
        synthetic_chase(series, &caches[0], &noise, "global_cg", "bisect", footprint, 128, 2,
                        false);
    device_infer(&device);
    assert_none(&device, "l2", "size_bytes", "no misses up to the largest footprint, 8192 bytes");
    device_clear(&device);
}

/* Cold chases miss as far down as there is a cache: what they cost is no miss of this level. */
static void test_level__cold_chases_either_way_are_no_steady_ones(void **state)
{
    static const char *const phases[] = {"cold", "backward"};

    (void)state;
    for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++) {
        struct synthetic_noise noise = clean;
        struct device device = {0};
        struct pb_recording *recording = device_record(&device, "l2_line");
        struct pb_inference row = {.memory = "l2"};
        struct pb_case at = {&row, &device.info, recording, &device.parameters};
        struct pb_error err = PB_ERROR_INIT;
        struct pb_cache_level level;

        synthetic_line(recording, &caches[0], &noise, "global_cg");
        synthetic_constant(&recording->series, &noise, "global_cg", phases[i], 900, 512);
        assert_int_equal(pb_level_open_classified(&at, &level, &err), PB_OK);
        assert_true(pb_band_holds(level.classes.miss, 351));
        assert_false(pb_band_holds(level.classes.miss, 900));
        pb_level_clear(&level);
        device_clear(&device);
    }
}

/* Of passes in which a set's nine lines miss, those with a spike too are the slowest. */
static void test_level__spikes_in_passes_of_few_misses_are_no_misses(void **state)
{
    static const struct synthetic_cache cache = {32, 32, 32, 32, 8, false, 26, 98};
    struct synthetic_noise noise = {20, 2, 1e-3, 425, 1};
    struct device device = {0};
    struct pb_recording *recording = device_record(&device, "l2_sets");
    struct pb_inference row = {.memory = "l2"};
    struct pb_case at = {&row, &device.info, recording, &device.parameters};
    struct pb_error err = PB_ERROR_INIT;
    struct pb_cache_level level;

    (void)state;
    synthetic_constant(&recording->series, &noise, "global_cg", "reference", 26, 512);
    synthetic_constant(&recording->series, &noise, "global_cg", "miss", 98, 512);
    for (int i = 0; i < 256; i++)
        synthetic_chase(&recording->series, &cache, &noise, "global_cg", "conflict", 8224, 32, 2,
                        false);
    assert_int_equal(pb_level_open_classified(&at, &level, &err), PB_OK);
    assert_true(pb_band_holds(level.classes.miss, 100));
    assert_false(pb_band_holds(level.classes.miss, 26 + 425));
    pb_level_clear(&level);
    device_clear(&device);
}

/* Four lines at random in a set of three ways, replaced by their last use. */
static void add_chase(struct pb_series *series, struct synthetic_noise *noise)
{
    struct pb_point point = {.footprint_bytes = 8192, .stride_bytes = 512, .count = 512};
    uint64_t index[512], order[4] = {0, 1, 2, 3}; /* by last use, the latest first */
    uint32_t latency[512];

    PB_TEXT_SET(point.path, "constant");
    PB_TEXT_SET(point.mode, "traced");
    PB_TEXT_SET(point.phase, "random");
    point.overhead_cycles = noise->overhead_cycles;
    for (size_t i = 0; i < 512; i++) {
        uint64_t line = i < 4 ? i : synthetic_random(noise, 4);
        size_t age = 0;

        while (order[age] != line)
            age++;
        latency[i] = synthetic_latency(noise, i < 4 || age == 3 ? 300 : 30);
        index[i] = line * point.stride_bytes;
        memmove(order + 1, order, age * sizeof(*order));
        order[0] = line;
    }
    assert_int_equal(pb_series_append(series, &point, latency, index, NULL), PB_OK);
}

static void record_chases(struct device *device, const struct synthetic_cache *cache)
{
    struct synthetic_noise noise = clean;
    struct pb_series *series;

    synthetic_capacity(device_record(device, "constant_capacity"), cache, &noise, "constant");
    synthetic_line(device_record(device, "constant_line"), cache, &noise, "constant");
    series = &device_record(device, "constant_policy")->series;
    synthetic_constant(series, &noise, "constant", "reference", 30, 512);
    synthetic_constant(series, &noise, "constant", "miss", 300, 512);
    for (size_t i = 0; i < 24; i++)
        add_chase(series, &noise);
}

/* As an H200's constants: a line of the kernel's own parameters holds a way of the chased set. */
static void test_policy__of_a_set_that_lost_a_way_is_not_the_caches(void **state)
{
    static const struct synthetic_cache whole = {64, 64, 64, 8, 3, false, 30, 300};
    static const struct synthetic_cache lost = {64, 64, 64, 8, 4, false, 30, 300};
    struct device device = {0};

    (void)state;
    record_chases(&device, &whole);
    device_infer(&device);
    assert_string_equal(device_parameter(&device, "constant_l1", "policy")->word, "lru");
    device_clear(&device);
    record_chases(&device, &lost);
    device_infer(&device);
    assert_value(&device, "constant_l1", "size_bytes", 2048);
    assert_none(&device, "constant_l1", "policy",
                "holds 3 lines, which does not divide the 32 lines");
    assert_none(&device, "constant_l1", "way_eviction_probabilities", "does not divide");
    device_clear(&device);
}

static void fill(struct pb_sample *sample, size_t count, double first, double step)
{
    for (size_t i = 0; i < count; i++)
        assert_int_equal(pb_sample_add(sample, first + step * (double)(i % 16), NULL), PB_OK);
}

/* A cache that answers 14 cycles later than hits takes their place; jitter leaves them. */
static void test_level__what_leaves_no_hits_joins_none(void **state)
{
    struct pb_sample jitter = {NULL, 0, 0}, cache = {NULL, 0, 0};

    (void)state;
    fill(&jitter, 400, 81.0, 0.0);
    fill(&jitter, 100, 86.0, 1.0);
    fill(&cache, 400, 99.0, 0.0);
    fill(&cache, 200, 159.0, 2.0);
    fill(&cache, 300, 332.0, 8.0);
    assert_true(pb_level_joins_hits(&jitter, 85.0, 332.0));
    assert_false(pb_level_joins_hits(&cache, 85.0, 332.0));
    pb_sample_clear(&cache);
    pb_sample_clear(&jitter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_level__what_leaves_no_hits_joins_none),
        cmocka_unit_test(test_cache__is_exact_without_noise),
        cmocka_unit_test(test_cache__is_exact_with_jitter_and_spikes),
        cmocka_unit_test(test_l1__path_past_it_is_as_fast_means_not_cached),
        cmocka_unit_test(test_miss__loads_past_it_are_sooner_by_a_level_or_by_their_way),
        cmocka_unit_test(test_miss__reaches_to_what_answers_short_chases),
        cmocka_unit_test(test_l1__passes_that_disagree_lower_the_confidence),
        cmocka_unit_test(test_l1__without_a_miss_phase_the_sweep_shows_misses),
        cmocka_unit_test(test_l1__smaller_while_recording_takes_the_finer_edge),
        cmocka_unit_test(test_size__a_reference_that_overflows_is_none_for_passes),
        cmocka_unit_test(test_size__too_coarse_a_sweep_is_no_size),
        cmocka_unit_test(test_size__of_few_lines_is_exact),
        cmocka_unit_test(test_size__nothing_overflows_says_up_to_where),
        cmocka_unit_test(test_level__cold_chases_either_way_are_no_steady_ones),
        cmocka_unit_test(test_level__spikes_in_passes_of_few_misses_are_no_misses),
        cmocka_unit_test(test_policy__of_a_set_that_lost_a_way_is_not_the_caches),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
