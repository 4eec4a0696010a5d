/* Peaks against what limits them: the pins of DRAM, and Little's law. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "analysis/blind/profile.h"
#include "analysis/device.h"
#include "analysis/selected.h"
#include "analysis/synthetic.h"
#include "analysis/throughput/outstanding.h"

/* 700 cycles at 1 GHz: reads take 700 ns. */
static void record_latency(struct device *device)
{
    struct synthetic_noise noise = {0, 1, 0, 0, 4};

    synthetic_clock(device_record(device, "clock_calibration"), 1000, 1000);
    synthetic_constant(&device_record(device, "dram_latency")->series, &noise, "global_cg", "near",
                       700, 256);
}

/* Copies by 2 or 4 CTAs of 32 or 64 threads, one word each; the largest shape reaches `peak`. */
static struct pb_matrix *record_copy(struct device *device, double peak)
{
    static const double counts[] = {2, 4}, sizes[] = {32, 64}, words[] = {1};
    struct pb_matrix *matrix = &device_record(device, "global_copy")->matrix;

    pb_axis_set_values(&matrix->axes[0], "cta_count", "", "", counts, 2, NULL);
    pb_axis_set_values(&matrix->axes[1], "cta_size", "", "", sizes, 2, NULL);
    pb_axis_set_values(&matrix->axes[2], "ilp", "", "", words, 1, NULL);
    assert_int_equal(pb_matrix_allocate(matrix, "byte/s", "", NULL), PB_OK);
    for (size_t i = 0; i < 4; i++)
        matrix->values[i] = peak * (i == 3 ? 1.0 : 0.5);
    return matrix;
}

/* 4 x 64 threads have 1,024 bytes on their way; at 700 ns these are 1.46e9 byte/s, read and written
 * 2.93e9. */
static void test_throughput__little_bounds_the_rate(void **state)
{
    struct device device = {0};

    (void)state;
    record_latency(&device);
    record_copy(&device, 2e9);
    device_infer(&device);
    assert_float_equal(device_parameter(&device, "dram", "littles_law_ratio")->numbers[0].value,
                       1.463, 0.01);
    assert_value(&device, "dram", "peak_bytes_per_s", 2e9);
    assert_none(&device, "dram", "peak_efficiency", "no theoretical peak");
    device_clear(&device);
}

/* Two shapes are as fast, one with half the threads: which of them leads by 0.4% is chance. */
static void test_throughput__little_is_of_the_least_shape_as_fast_as_the_best(void **state)
{
    (void)state;
    for (size_t fastest = 1; fastest <= 3; fastest += 2) {
        struct device device = {0};
        const struct pb_parameter *little;
        struct pb_matrix *matrix;

        record_latency(&device);
        matrix = record_copy(&device, 4.98e8);
        matrix->values[4 - fastest] = 4.98e8;
        matrix->values[fastest] = 5e8;
        device_infer(&device);
        little = device_parameter(&device, "dram", "littles_law_ratio");
        assert_float_equal(little->numbers[0].value, 2.93, 0.03);
        assert_float_equal(little->numbers[0].low, 2.93, 0.03);
        assert_float_equal(little->numbers[0].high, 5.86, 0.06);
        device_clear(&device);
    }
}

static void test_throughput__more_than_littles_law_allows_is_not_stated(void **state)
{
    struct device device = {0};

    (void)state;
    record_latency(&device);
    record_copy(&device, 4e9);
    device_infer(&device);
    assert_none(&device, "dram", "peak_bytes_per_s", "times the outstanding bytes");
    device_clear(&device);
}

static void test_throughput__share_of_the_pins(void **state)
{
    struct device device = {0};

    (void)state;
    device.info.theoretical_bytes_per_s = 4e9;
    record_copy(&device, 3e9);
    device_infer(&device);
    assert_float_equal(device_parameter(&device, "dram", "peak_efficiency")->numbers[0].value, 0.75,
                       1e-9);
    assert_none(&device, "dram", "littles_law_ratio", "Little's law applies to reads only");
    device_clear(&device);
}

/* The largest shape is twice as fast as the next: what the pins allow may be reached by more. */
static void test_throughput__a_rate_that_still_rises_is_a_bound(void **state)
{
    struct device device = {0};
    const struct pb_parameter *peak;

    (void)state;
    device.info.theoretical_bytes_per_s = 4e9;
    record_copy(&device, 3e9);
    device_infer(&device);
    peak = device_parameter(&device, "dram", "peak_bytes_per_s");
    assert_float_equal(peak->numbers[0].value, 3e9, 1);
    assert_float_equal(peak->numbers[0].high, 4e9, 1);
    assert_non_null(strstr(peak->method, "still rising"));
    device_clear(&device);
}

/* Of three equal shapes the first has a slow one before it; by each number a smaller one is as
 * fast. */
static void test_throughput__a_plateau_does_not_rise(void **state)
{
    struct device device = {0};
    const struct pb_parameter *peak;
    struct pb_matrix *matrix;

    (void)state;
    device.info.theoretical_bytes_per_s = 4e9;
    matrix = record_copy(&device, 3e9);
    matrix->values[1] = matrix->values[2] = 3e9;
    device_infer(&device);
    peak = device_parameter(&device, "dram", "peak_bytes_per_s");
    assert_float_equal(peak->numbers[0].high, 3e9, 1);
    assert_null(strstr(peak->method, "still rising"));
    device_clear(&device);
}

/* The largest shapes lie at no axis' end where it could not run: 2 x 64 and 4 x 32 threads. */
static void test_throughput__the_largest_shapes_that_run_may_be_a_bound(void **state)
{
    struct device device = {0};
    const struct pb_parameter *peak;
    struct pb_matrix *matrix;

    (void)state;
    device.info.theoretical_bytes_per_s = 4e9;
    matrix = record_copy(&device, 3e9);
    matrix->values[1] = matrix->values[2] = 3e9;
    matrix->values[3] = NAN;
    device_infer(&device);
    peak = device_parameter(&device, "dram", "peak_bytes_per_s");
    assert_float_equal(peak->numbers[0].high, 4e9, 1);
    assert_non_null(strstr(peak->method, "still rising"));
    device_clear(&device);
}

/* Times of bursts under limits of 20 loads of a warp and 200 of the SM, each stamped late. */
static void record_bursts(struct device *device, double late_cycles)
{
    enum { WARPS = 15, LOADS = 32 };
    static const char *const traffics[] = {"l2", "dram"};
    static const double lanes[] = {1};
    static const double warps[WARPS] = {1, 2, 4, 6, 8, 10, 11, 12, 13, 14, 16, 17, 20, 24, 32};
    static struct pb_outstanding outstanding = {
        .per_warp = 20, .per_sm = 200, .latency = 300, .issue = 1};
    struct pb_matrix *matrix = &device_record(device, "mshr")->matrix;
    double last[LOADS];

    pb_axis_set_labels(&matrix->axes[0], "traffic", "", traffics, 2, NULL);
    pb_axis_set_values(&matrix->axes[1], "lanes", "", "", lanes, 1, NULL);
    pb_axis_set_values(&matrix->axes[2], "warps", "", "", warps, WARPS, NULL);
    for (size_t i = 0; i < LOADS; i++)
        last[i] = (double)i + 1.0;
    pb_axis_set_values(&matrix->axes[3], "loads", "", "", last, LOADS, NULL);
    assert_int_equal(pb_matrix_allocate(matrix, "cycle", "", NULL), PB_OK);
    for (size_t row = 0; row < 2 * WARPS; row++) {
        pb_outstanding_simulate(&outstanding, (unsigned)warps[row % WARPS], LOADS, last);
        for (size_t i = 0; i < LOADS; i++)
            matrix->values[row * LOADS + i] = last[i] + late_cycles;
    }
}

/* Stamps that are late by 8 cycles show 205 loads to the quick search, which takes them for time on
 * the way. */
static void test_mshr__the_best_of_some_may_have_a_better_neighbour(void **state)
{
    struct device device = {0};

    (void)state;
    record_bursts(&device, 8.0);
    device_infer(&device);
    assert_value(&device, "mshr", "outstanding_per_warp", 20.0);
    assert_value(&device, "mshr", "outstanding_per_sm", 200.0);
    device_clear(&device);
}

/* While one load is outstanding so few others are issued that registers are never all taken. */
static void test_mshr__what_issuing_takes_is_no_limit(void **state)
{
    struct blind_profile profile;
    struct pb_parameters parameters = {0};

    (void)state;
    blind_draw(1, &profile);
    profile.caches[BLIND_L1].latency_cycles = 50;
    profile.caches[BLIND_TEXTURE].latency_cycles = 55;
    profile.caches[BLIND_L2].latency_cycles = 66;
    profile.dram_cycles = 75;
    profile.per_warp = 8;
    profile.per_sm = 64;
    profile.jitter_cycles = 2;
    selected_infer_profile(&profile, "clock_overhead,mshr", &parameters);
    assert_number(&parameters, "mshr", "outstanding_per_warp", 8.0, 0.0);
    assert_open(&parameters, "mshr", "outstanding_per_sm", "no limit up to");
    pb_parameters_clear(&parameters);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_throughput__little_bounds_the_rate),
        cmocka_unit_test(test_throughput__little_is_of_the_least_shape_as_fast_as_the_best),
        cmocka_unit_test(test_throughput__more_than_littles_law_allows_is_not_stated),
        cmocka_unit_test(test_throughput__share_of_the_pins),
        cmocka_unit_test(test_throughput__a_rate_that_still_rises_is_a_bound),
        cmocka_unit_test(test_throughput__a_plateau_does_not_rise),
        cmocka_unit_test(test_throughput__the_largest_shapes_that_run_may_be_a_bound),
        cmocka_unit_test(test_mshr__what_issuing_takes_is_no_limit),
        cmocka_unit_test(test_mshr__the_best_of_some_may_have_a_better_neighbour),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
