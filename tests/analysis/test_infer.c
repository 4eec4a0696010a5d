/* Clock, DRAM, shared memory, copies: inferences with known truth, and their honest nulls. */
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
#include "analysis/throughput/banks.h"

static const struct synthetic_noise noisy = {14, 2, 1e-4, 300, 1};

static void test_clock__overhead_and_rate(void **state)
{
    struct device device = {0};
    struct synthetic_noise noise = noisy;
    struct pb_recording *recording = device_record(&device, "clock_overhead");

    (void)state;
    noise.overhead_cycles = 0;
    synthetic_constant(&recording->series, &noise, "none", "empty", 14, 512);
    synthetic_constant(&recording->series, &noise, "none", "store", 20, 512);
    synthetic_clock(device_record(&device, "clock_calibration"), 950, 950);
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
    synthetic_clock(device_record(&device, "clock_calibration"), 1980, 1500);
    device_infer(&device);
    assert_none(&device, "clock", "sm_mhz", "drifted from 1980.0 to 1500.0 MHz");
    device_clear(&device);
}

static void test_clock__small_drift_widens_and_lowers(void **state)
{
    struct device device = {0};
    const struct pb_parameter *rate;

    (void)state;
    synthetic_clock(device_record(&device, "clock_calibration"), 1980, 1970);
    device_infer(&device);
    rate = device_parameter(&device, "clock", "sm_mhz");
    assert_int_equal(rate->kind, PB_VALUE_NUMBER);
    assert_true(rate->numbers[0].low <= 1970.01 && rate->numbers[0].high >= 1979.99);
    assert_true(rate->votes < 0.6);
    device_clear(&device);
}

static void test_dram__near_loads_and_their_reasons(void **state)
{
    struct synthetic_noise noise = noisy;
    struct device device = {0};
    struct pb_series *series;

    (void)state;
    synthetic_clock(device_record(&device, "clock_calibration"), 2000, 2000);
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
    synthetic_constant(series, &noise, "global_cg", "miss", 619, 512);
    series = &device_record(&device, "dram_latency")->series;
    synthetic_constant(series, &noise, "global_cg", "near", 351, 2048);
    device_infer(&device);
    assert_none(&device, "dram", "latency_cycles", "no more than L2 hits");
    device_clear(&device);
}

static void test_shared__trace_and_pass(void **state)
{
    struct synthetic_noise noise = noisy;
    struct device device = {0};
    struct pb_series *series = &device_record(&device, "shared_latency")->series;

    (void)state;
    synthetic_constant(series, &noise, "shared", "reference", 50, 512);
    synthetic_pass(series, "shared", "reference", 1024, 8, 8192, 8192 * 50);
    device_infer(&device);
    assert_value(&device, "shared", "latency_cycles", 50);
    assert_none(&device, "shared", "latency_ns", "clock.sm_mhz");
    device_clear(&device);
}

/* 32 banks of that width, where conflicts of `levels` doublings show. */
static void check_banks(uint64_t bank_words, const uint32_t *cost, size_t levels)
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
    for (size_t i = 0; i < levels; i++)
        assert_float_equal(conflicts->numbers[i].value, cost[i + 1], 0);
    for (size_t i = levels; i < 5; i++)
        assert_true(isnan(conflicts->numbers[i].value));
    device_clear(&device);
}

/* Table VIII of M16 as a device of that bank width shows it. */
static void check_conflicts(uint64_t bank_words, const uint32_t *cost)
{
    check_banks(bank_words, cost, 5);
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

static void test_banks__may_be_wider_than_any_word(void **state)
{
    static const uint32_t cost[] = {23, 25, 29, 37, 53, 85};

    (void)state;
    check_banks(8, cost, 3);
    check_banks(16, cost, 2);
}

/*
 * 128 banks of 8 bytes, whose conflicts of 16 and 32 ways no stride up to 64 words shows: shapes of
 * 32 banks explain as much, by which some strides have so many.
 */
static void test_banks__costs_that_one_of_the_shapes_lacks_are_open(void **state)
{
    static const double cost[] = {19, 19, 22, 22, 50, 51};
    struct synthetic_noise noise = noisy;
    struct device device = {0};
    struct pb_series *series = &device_record(&device, "bank_conflict")->series;
    const struct pb_parameter *conflicts;

    (void)state;
    device.info.warp_size = 32;
    for (uint64_t stride = 0; stride <= 64; stride++) {
        uint32_t ways = pb_banks_ways(128, 8, 32, stride), level = 0;

        while ((1u << level) < ways)
            level++;
        synthetic_constant(series, &noise, "shared", "word4", (uint32_t)cost[level], 64);
        series->points[series->point_count - 1].stride_bytes = 4 * stride;
    }
    device_infer(&device);
    conflicts = device_parameter(&device, "shared", "conflict_cycles");
    for (size_t i = 0; i < conflicts->number_count; i++)
        assert_true(isnan(conflicts->numbers[i].value) ||
                    (conflicts->numbers[i].low <= cost[i + 1] &&
                     conflicts->numbers[i].high >= cost[i + 1]));
    device_clear(&device);
}

/* Strides that take what they like: most of them keep to some shape by chance, but not nearly all.
 */
static void test_banks__shape_that_explains_little_is_none(void **state)
{
    struct synthetic_noise noise = noisy;
    struct device device = {0};
    struct pb_series *series = &device_record(&device, "bank_conflict")->series;

    (void)state;
    device.info.warp_size = 32;
    for (uint32_t stride = 0; stride <= 64; stride++) {
        synthetic_constant(series, &noise, "shared", "word4", 23 + 10 * (stride / 3 % 3), 64);
        series->points[series->point_count - 1].stride_bytes = 4 * stride;
    }
    device_infer(&device);
    assert_none(&device, "shared", "banks", "explains");
    device_clear(&device);
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

static void test_outcome__states_why_there_is_nothing(void **state)
{
    struct device device = {0};
    struct pb_recording *recording = device_record(&device, "l2_capacity");

    (void)state;
    recording->outcome = PB_TEST_HUNG;
    PB_TEXT_SET(recording->message, "no answer after 120 s");
    device_infer(&device);
    assert_none(&device, "l2", "size_bytes", "test l2_capacity: hung: no answer after 120 s");
    assert_none(&device, "shared", "banks", "test bank_conflict: not recorded");
    assert_int_equal(device.analysed, 0);
    device_clear(&device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clock__overhead_and_rate),
        cmocka_unit_test(test_clock__drift_is_no_rate),
        cmocka_unit_test(test_clock__small_drift_widens_and_lowers),
        cmocka_unit_test(test_dram__near_loads_and_their_reasons),
        cmocka_unit_test(test_shared__trace_and_pass),
        cmocka_unit_test(test_banks__table_viii_of_m16),
        cmocka_unit_test(test_banks__may_be_wider_than_any_word),
        cmocka_unit_test(test_banks__costs_that_one_of_the_shapes_lacks_are_open),
        cmocka_unit_test(test_banks__shape_that_explains_little_is_none),
        cmocka_unit_test(test_copy__peak_with_its_shape),
        cmocka_unit_test(test_copy__more_than_possible_is_no_peak),
        cmocka_unit_test(test_outcome__states_why_there_is_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
