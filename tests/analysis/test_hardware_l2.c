/*
 * What a real L2 does and simulated ones do not: latencies that spread over slices and halves, SMs
 * that are near and far, sampled sweeps, sets that fill unevenly.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/device.h"
#include "analysis/synthetic.h"

enum { SAMPLE = 4096, STRIDE = 128, MIB = 1 << 20 };

/* A bell around the middle, `width` wide at either side. */
static uint32_t bell(struct synthetic_noise *noise, uint32_t middle, uint32_t width)
{
    uint32_t sum = 0;

    for (int i = 0; i < 8; i++)
        sum += (uint32_t)synthetic_random(noise, width + 1);
    return middle - width + sum / 4;
}

/* An L2 in two halves, like Hopper's: near 265, far 400; DRAM 680 and broad. */
static uint32_t hit(struct synthetic_noise *noise)
{
    return synthetic_random(noise, 2) == 0 ? bell(noise, 265, 30) : bell(noise, 400, 40);
}

static uint32_t miss(struct synthetic_noise *noise)
{
    return bell(noise, 680, 100);
}

/* A sampled chase in random order of which this share misses. */
static void add_chase(struct pb_series *series, struct synthetic_noise *noise, const char *phase,
                      uint64_t footprint_bytes, double share)
{
    struct pb_point point = {.footprint_bytes = footprint_bytes,
                             .stride_bytes = STRIDE,
                             .count = SAMPLE,
                             .window = SAMPLE,
                             .overhead_cycles = 16};
    uint32_t *latency = malloc(SAMPLE * sizeof(*latency));
    uint64_t *index = calloc(SAMPLE, sizeof(*index));

    PB_TEXT_SET(point.path, "global_cg");
    PB_TEXT_SET(point.order, "random");
    PB_TEXT_SET(point.mode, "traced");
    PB_TEXT_SET(point.phase, phase);
    for (size_t i = 0; i < SAMPLE; i++) {
        bool misses = (double)synthetic_random(noise, 1 << 20) < share * (1 << 20);

        latency[i] = 16 + (misses ? miss(noise) : hit(noise));
        index[i] = STRIDE * synthetic_random(noise, footprint_bytes / STRIDE);
    }
    assert_int_equal(pb_series_append(series, &point, latency, index, NULL), PB_OK);
    free(index);
    free(latency);
}

/* The share of misses of a hashed cache of 50 MiB: begins at 40, complete at 64. */
static double soft_share(double mib)
{
    return mib <= 40 ? 0.0 : 1.0 / (1.0 + exp((51.0 - mib) / 1.8));
}

static void record_l2(struct device *device, uint64_t seed)
{
    struct synthetic_noise noise = {16, 0, 0, 0, seed};
    struct pb_series *series = &device_record(device, "l2_capacity")->series;

    add_chase(series, &noise, "reference", 128 << 10, 0.0);
    add_chase(series, &noise, "miss", 16 * MIB, 1.0);
    for (uint64_t mib = 4; mib <= 88; mib += mib < 36 || mib > 68 ? 8 : 1)
        add_chase(series, &noise, mib < 36 ? "bisect" : "fine", mib * MIB, soft_share((double)mib));
}

static void test_l2__halves_and_a_soft_onset(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct device device = {0};
        const struct pb_parameter *size, *latency, *slow;

        record_l2(&device, seed);
        device_infer(&device);
        size = device_parameter(&device, "l2", "size_bytes");
        assert_int_equal(size->kind, PB_VALUE_NUMBER);
        assert_in_range((uint64_t)size->numbers[0].value, 50 * MIB, 52 * MIB);
        assert_in_range((uint64_t)size->numbers[0].low, 39 * MIB, 44 * MIB);
        assert_in_range((uint64_t)size->numbers[0].high, 56 * MIB, 66 * MIB);
        assert_non_null(strstr(size->method, "gradual onset"));

        latency = device_parameter(&device, "l2", "latency_cycles");
        assert_int_equal(latency->kind, PB_VALUE_NUMBER);
        assert_float_equal(latency->numbers[0].value, 332, 7);
        assert_float_equal(latency->numbers[0].low, 265, 5);
        assert_float_equal(latency->numbers[0].high, 400, 5);
        assert_non_null(strstr(latency->method, "2 modes"));

        slow = device_parameter(&device, "l2", "miss_latency_cycles");
        assert_float_equal(slow->numbers[0].value, 680, 8);
        device_clear(&device);
    }
}

static void test_l2__two_runs_agree(void **state)
{
    struct device first = {0}, second = {0};
    const struct pb_estimate *a, *b;

    (void)state;
    record_l2(&first, 11);
    record_l2(&second, 12);
    device_infer(&first);
    device_infer(&second);
    a = device_parameter(&first, "l2", "size_bytes")->numbers;
    b = device_parameter(&second, "l2", "size_bytes")->numbers;
    assert_true(fabs(a->value - b->value) <= 0.01 * a->value);
    a = device_parameter(&first, "l2", "miss_latency_cycles")->numbers;
    b = device_parameter(&second, "l2", "miss_latency_cycles")->numbers;
    assert_true(fabs(a->value - b->value) <= 0.01 * a->value);
    assert_true(a->low <= b->high && b->low <= a->high);
    device_clear(&second);
    device_clear(&first);
}

/* L2 passes of 132 SMs, some nearer to the slices than others; the trace's is one of them. */
static void test_l2__its_latency_is_that_of_all_sms(void **state)
{
    struct device device = {0};
    struct synthetic_noise noise = {16, 0, 0, 0, 5};
    struct pb_series *series;
    const struct pb_parameter *latency;

    (void)state;
    record_l2(&device, 3);
    series = &device_record(&device, "sm_latency")->series;
    for (int sm = 0; sm < 132; sm++)
        synthetic_pass(series, "global_cg", "l2", 65536, STRIDE, 2048,
                       2048 * (300 + synthetic_random(&noise, 61)));
    device_infer(&device);
    latency = device_parameter(&device, "l2", "latency_cycles");
    assert_float_equal(latency->numbers[0].value, 330, 6);
    assert_true(latency->numbers[0].low <= 300 && latency->numbers[0].high >= 360);
    assert_non_null(strstr(latency->method, "132 SMs"));
    assert_non_null(strstr(latency->evidence, "sm_latency"));
    device_clear(&device);
}

/* SMs that are alike say no more than a trace does, and a trace says it exactly. */
static void test_l2__sms_that_are_alike_leave_the_trace_its_word(void **state)
{
    struct device device = {0};
    struct pb_series *series;

    (void)state;
    record_l2(&device, 3);
    series = &device_record(&device, "sm_latency")->series;
    for (int sm = 0; sm < 132; sm++)
        synthetic_pass(series, "global_cg", "l2", 65536, STRIDE, 2048, 2048 * 300);
    device_infer(&device);
    assert_null(strstr(device_parameter(&device, "l2", "latency_cycles")->method, "SMs"));
    device_clear(&device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_l2__halves_and_a_soft_onset),
        cmocka_unit_test(test_l2__two_runs_agree),
        cmocka_unit_test(test_l2__its_latency_is_that_of_all_sms),
        cmocka_unit_test(test_l2__sms_that_are_alike_leave_the_trace_its_word),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
