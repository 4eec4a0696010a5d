/* Every inference against recordings with known truth, and its honest nulls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/device.h"
#include "analysis/synthetic.h"

static const struct synthetic_noise clean = {14, 0, 0.0, 0, 1};
static const struct synthetic_noise noisy = {14, 2, 1e-4, 300, 1};

/* A calibration of `mhz` that becomes `mhz_later` half way. */
static void record_clock(struct device *device, double mhz, double mhz_later)
{
    static const char *const clocks[] = {"cycles", "ns"};
    struct pb_matrix *matrix = &device_record(device, "clock_calibration")->matrix;
    double samples[64], cycles = 0;

    for (int i = 0; i < 64; i++)
        samples[i] = i;
    assert_int_equal(pb_axis_set_values(&matrix->axes[0], "sample", "", "", samples, 64, NULL),
                     PB_OK);
    assert_int_equal(pb_axis_set_labels(&matrix->axes[1], "clock", "", clocks, 2, NULL), PB_OK);
    assert_int_equal(pb_matrix_allocate(matrix, "cycle or ns", "", NULL), PB_OK);
    for (int i = 0; i < 64; i++) {
        matrix->values[2 * i] = cycles;
        matrix->values[2 * i + 1] = 1e6 * i;
        cycles += 1e3 * (i < 32 ? mhz : mhz_later);
    }
}

static void test_clock__overhead_and_rate(void **state)
{
    struct device device = {0};
    struct synthetic_noise noise = noisy;
    struct pb_recording *recording = device_record(&device, "clock_overhead");

    (void)state;
    noise.overhead_cycles = 0;
    synthetic_constant(&recording->series, &noise, "none", "empty", 14, 512);
    synthetic_constant(&recording->series, &noise, "none", "store", 20, 512);
    record_clock(&device, 950, 950);
    device_infer(&device);
    assert_value(&device, "clock", "overhead_cycles", 14);
    assert_non_null(strstr(device_parameter(&device, "clock", "overhead_cycles")->method,
                           "dependent store 20"));
    assert_value(&device, "clock", "sm_mhz", 950);
    assert_int_equal(device.analysed, 2);
    device_clear(&device);
}

static void test_clock__drift_is_no_rate(void **state)
{
    struct device device = {0};

    (void)state;
    record_clock(&device, 1980, 1500);
    device_infer(&device);
    assert_none(&device, "clock", "sm_mhz", "drifted from 1980.0 to 1500.0 MHz");
    device_clear(&device);
}

static void test_clock__small_drift_widens_and_lowers(void **state)
{
    struct device device = {0};
    const struct pb_parameter *rate;

    (void)state;
    record_clock(&device, 1980, 1970);
    device_infer(&device);
    rate = device_parameter(&device, "clock", "sm_mhz");
    assert_int_equal(rate->kind, PB_VALUE_NUMBER);
    assert_true(rate->numbers[0].low <= 1970.01 && rate->numbers[0].high >= 1979.99);
    assert_true(rate->confidence < 0.6);
    device_clear(&device);
}

/* Capacity and line of one toy cache, by either level's path. */
static void check_cache(const struct synthetic_cache *cache, const struct synthetic_noise *noise,
                        const char *memory)
{
    const char *path = strcmp(memory, "l1") == 0 ? "global_ca" : "global_cg";
    struct synthetic_noise capacity_noise = *noise, line_noise = *noise;
    struct device device = {0};
    char test[PB_NAME_LENGTH];

    record_clock(&device, 1000, 1000);
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
    assert_none(&device, "l1", "size_bytes",
                "path global_ca is not cached before L2: 199 cycles by it, 199 past L1");
    assert_none(&device, "l1", "latency_cycles", "not cached before L2");
    assert_none(&device, "l1", "line_bytes", "test l1_line was not recorded");
    device_clear(&device);
}

static void test_l1__laps_that_disagree_lower_the_confidence(void **state)
{
    struct synthetic_noise noise = noisy;
    struct device device = {0};
    struct pb_series *series = &device_record(&device, "l1_capacity")->series;
    const struct pb_parameter *latency;

    (void)state;
    synthetic_constant(series, &noise, "global_ca", "reference", 33, 512);
    synthetic_lap(series, "global_ca", "reference", 1024, 32, 1000, 39000);
    synthetic_constant(series, &noise, "global_cg", "reference", 260, 512);
    device_infer(&device);
    latency = device_parameter(&device, "l1", "latency_cycles");
    assert_float_equal(latency->numbers[0].value, 33, 0);
    assert_float_equal(latency->numbers[0].high, 39, 0);
    assert_true(latency->confidence < 0.55);
    assert_non_null(strstr(latency->method, "laps DISAGREE: 39.00"));
    assert_none(&device, "l1", "latency_ns", "clock.sm_mhz is not determined");
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
        synthetic_walk(series, &caches[0], &noise, "global_ca", "coarse", footprint, 128, 2, true);
    device_infer(&device);
    assert_value(&device, "l1", "size_bytes", 12288);
    assert_non_null(
        strstr(device_parameter(&device, "l1", "size_bytes")->method, "4096 bytes are set aside"));
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
        synthetic_walk(series, &caches[0], &noise, "global_cg", "coarse", footprint, 128, 2, true);
    device_infer(&device);
    assert_none(&device, "l2", "size_bytes", "misses begin between 16384 and 32768 bytes");
    assert_value(&device, "l2", "latency_cycles", 96);
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
        synthetic_walk(series, &caches[0], &noise, "global_cg", "bisect", footprint, 128, 2, false);
    device_infer(&device);
    assert_none(&device, "l2", "size_bytes", "no misses up to 8192 bytes");
    device_clear(&device);
}

static void test_line__all_miss_and_all_strides_overflow_is_no_line(void **state)
{
    struct synthetic_noise noise = clean;
    struct device device = {0};
    struct pb_series *series = &device_record(&device, "l2_line")->series;

    (void)state;
    synthetic_constant(series, &noise, "global_cg", "reference", 96, 512);
    synthetic_constant(series, &noise, "global_cg", "miss", 351, 512);
    for (unsigned i = 0; i < 3; i++)
        synthetic_walk(series, &caches[0], &noise, "global_cg", "stride", 20480, (uint64_t)128 << i,
                       2, false);
    device_infer(&device);
    assert_none(&device, "l2", "line_bytes", "all of 3 strides miss");
    assert_none(&device, "l2", "sector_bytes", "0 misses in 0 loads");
    device_clear(&device);
}

static void test_dram__near_loads_and_their_reasons(void **state)
{
    struct synthetic_noise noise = noisy;
    struct device device = {0};
    struct pb_series *series;

    (void)state;
    record_clock(&device, 2000, 2000);
    series = &device_record(&device, "dram_latency")->series;
    synthetic_constant(series, &noise, "global_cg", "near", 646, 8); /* TLB misses at the start */
    synthetic_constant(series, &noise, "global_cg", "near", 619, 2048);
    synthetic_constant(series, &noise, "global_cg", "far", 1225, 2048);
    device_infer(&device);
    assert_value(&device, "dram", "latency_cycles", 619);
    assert_value(&device, "dram", "latency_ns", 309.5);
    device_clear(&device);

    series = &device_record(&device, "l2_capacity")->series;
    synthetic_constant(series, &noise, "global_cg", "reference", 351, 512);
    series = &device_record(&device, "dram_latency")->series;
    synthetic_constant(series, &noise, "global_cg", "near", 351, 2048);
    device_infer(&device);
    assert_none(&device, "dram", "latency_cycles", "no more than L2 hits");
    device_clear(&device);
}

static void test_shared__trace_and_lap(void **state)
{
    struct synthetic_noise noise = noisy;
    struct device device = {0};
    struct pb_series *series = &device_record(&device, "shared_latency")->series;

    (void)state;
    synthetic_constant(series, &noise, "shared", "reference", 50, 512);
    synthetic_lap(series, "shared", "reference", 1024, 8, 8192, 8192 * 50);
    device_infer(&device);
    assert_value(&device, "shared", "latency_cycles", 50);
    assert_none(&device, "shared", "latency_ns", "clock.sm_mhz");
    device_clear(&device);
}

/* Table VIII of M16 as a device of that bank width shows it. */
static void check_conflicts(uint64_t bank_words, const uint32_t *cost)
{
    struct synthetic_noise noise = noisy;
    struct device device = {0};
    struct pb_series *series = &device_record(&device, "bank_conflict")->series;
    const struct pb_parameter *conflicts;

    device.info.warp_size = 32;
    for (uint64_t stride = 0; stride <= 64; stride++) {
        uint32_t rows[32] = {0}, ways = 1, last = UINT32_MAX, level = 0;

        for (uint32_t lane = 0; lane < 32; lane++) {
            uint32_t row = (uint32_t)(lane * stride / bank_words);

            if (row != last && ++rows[row % 32] > ways)
                ways = rows[row % 32];
            last = row;
        }
        while ((1u << level) < ways)
            level++;
        synthetic_constant(series, &noise, "shared", "word4", cost[level], 64);
        series->points[series->point_count - 1].stride_bytes = 4 * stride;
    }
    device_infer(&device);
    assert_value(&device, "shared", "banks", 32);
    assert_value(&device, "shared", "bank_bytes", 4.0 * (double)bank_words);
    conflicts = device_parameter(&device, "shared", "conflict_cycles");
    assert_int_equal(conflicts->number_count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_float_equal(conflicts->numbers[i].value, cost[i + 1], 0);
    device_clear(&device);
}

static void test_banks__table_viii_of_m16(void **state)
{
    static const uint32_t gtx560ti[] = {50, 87, 162, 311, 611, 1209};
    static const uint32_t gtx780[] = {47, 82, 96, 158, 257, 484};
    static const uint32_t gtx980[] = {28, 30, 34, 42, 58, 90};

    (void)state;
    check_conflicts(1, gtx560ti);
    check_conflicts(2, gtx780);
    check_conflicts(1, gtx980);
}

/* Copies at rate(i, j, k) over 3 × 2 × 2 launch shapes. */
static struct pb_matrix *record_copy(struct device *device)
{
    static const double counts[] = {16, 32, 64}, sizes[] = {128, 256}, ilps[] = {1, 4};
    struct pb_matrix *matrix = &device_record(device, "global_copy")->matrix;

    pb_axis_set_values(&matrix->axes[0], "cta_count", "", "", counts, 3, NULL);
    pb_axis_set_values(&matrix->axes[1], "cta_size", "", "", sizes, 2, NULL);
    pb_axis_set_values(&matrix->axes[2], "ilp", "", "", ilps, 2, NULL);
    assert_int_equal(pb_matrix_allocate(matrix, "byte/s", "", NULL), PB_OK);
    for (size_t i = 0; i < 12; i++)
        matrix->values[i] = 1e9 * (double)(50 + 5 * i);
    return matrix;
}

static void test_copy__peak_with_its_shape(void **state)
{
    struct device device = {0};
    struct pb_matrix *matrix = record_copy(&device);

    (void)state;
    matrix->values[3] = NAN;
    matrix->values[4] = INFINITY;
    matrix->values[5] = -1;
    matrix->values[10] = 109.38e9;
    device.info.theoretical_bytes_per_s = 134.4e9;
    device_infer(&device);
    assert_value(&device, "dram", "peak_bytes_per_s", 109.38e9);
    assert_non_null(strstr(device_parameter(&device, "dram", "peak_bytes_per_s")->method,
                           "81.4% of the theoretical"));
    assert_string_equal(device_parameter(&device, "dram", "best_config")->word,
                        "cta_count=64 cta_size=256 ilp=1");
    device_clear(&device);
}

static void test_copy__more_than_possible_is_no_peak(void **state)
{
    struct device device = {0};

    (void)state;
    record_copy(&device);
    device.info.theoretical_bytes_per_s = 90e9;
    device_infer(&device);
    assert_none(&device, "dram", "peak_bytes_per_s", "more than the theoretical 9e+10");
    device_clear(&device);
}

static void test_outcome__tells_why_there_is_nothing(void **state)
{
    struct device device = {0};
    struct pb_recording *recording = device_record(&device, "l2_capacity");

    (void)state;
    recording->outcome = PB_TEST_HUNG;
    PB_TEXT_SET(recording->message, "no answer after 120 s");
    device_infer(&device);
    assert_none(&device, "l2", "size_bytes", "test l2_capacity: hung: no answer after 120 s");
    assert_none(&device, "shared", "banks", "test bank_conflict was not recorded");
    assert_int_equal(device.analysed, 0);
    device_clear(&device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clock__overhead_and_rate),
        cmocka_unit_test(test_clock__drift_is_no_rate),
        cmocka_unit_test(test_clock__small_drift_widens_and_lowers),
        cmocka_unit_test(test_cache__is_exact_without_noise),
        cmocka_unit_test(test_cache__is_exact_with_jitter_and_spikes),
        cmocka_unit_test(test_l1__path_past_it_is_as_fast_means_not_cached),
        cmocka_unit_test(test_l1__laps_that_disagree_lower_the_confidence),
        cmocka_unit_test(test_l1__without_a_miss_phase_the_sweep_shows_misses),
        cmocka_unit_test(test_l1__smaller_while_recording_takes_the_finer_edge),
        cmocka_unit_test(test_size__too_coarse_a_sweep_is_no_size),
        cmocka_unit_test(test_size__nothing_overflows_says_up_to_where),
        cmocka_unit_test(test_line__all_miss_and_all_strides_overflow_is_no_line),
        cmocka_unit_test(test_dram__near_loads_and_their_reasons),
        cmocka_unit_test(test_shared__trace_and_lap),
        cmocka_unit_test(test_banks__table_viii_of_m16),
        cmocka_unit_test(test_copy__peak_with_its_shape),
        cmocka_unit_test(test_copy__more_than_possible_is_no_peak),
        cmocka_unit_test(test_outcome__tells_why_there_is_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
