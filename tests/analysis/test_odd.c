/*
 * No recording, however odd, crashes or hangs the inference, or makes it state what is no number.
 * Run under AddressSanitizer and UndefinedBehaviorSanitizer to mean anything.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/device.h"
#include "analysis/synthetic.h"

static const char *const series_tests[] = {"clock_overhead", "l1_capacity",  "l1_line",
                                           "l2_capacity",    "l2_line",      "dram_latency",
                                           "shared_latency", "bank_conflict"};
enum { SERIES_TESTS = sizeof(series_tests) / sizeof(series_tests[0]) };

static const char *const paths[] = {"global_ca", "global_cg", "shared", "none"};
static const char *const phases[] = {"reference", "miss",     "coarse", "bisect", "fine",  "cold",
                                     "near",      "overflow", "stride", "word4",  "empty", "far"};
enum {
    PATHS = sizeof(paths) / sizeof(paths[0]),
    PHASES = sizeof(phases) / sizeof(phases[0]),
};

/* Whatever was stated is finite, inside its interval, and explained; whatever was not has a reason.
 */
static void check_sanity(const struct device *device)
{
    for (size_t i = 0; i < device->parameters.count; i++) {
        const struct pb_parameter *p = &device->parameters.items[i];

        if (p->kind == PB_VALUE_NONE)
            assert_string_not_equal(p->reason, "");
        else
            assert_string_not_equal(p->method, "");
        assert_true(p->confidence >= 0.0 && p->confidence <= 1.0);
        for (size_t j = 0; j < p->number_count; j++) {
            const struct pb_estimate *e = &p->numbers[j];

            assert_true(p->kind == PB_VALUE_LIST || isfinite(e->value));
            assert_true(isnan(e->value) || (e->low <= e->value && e->value <= e->high));
        }
    }
}

static void infer_and_check(struct device *device)
{
    device_infer(device);
    check_sanity(device);
    device_clear(device);
}

static void test_odd__nothing_was_recorded(void **state)
{
    struct device device = {0};

    (void)state;
    infer_and_check(&device);
    for (size_t i = 0; i < SERIES_TESTS; i++)
        device_record(&device, series_tests[i]);
    device_record(&device, "clock_calibration");
    device_record(&device, "global_copy");
    device_infer(&device);
    for (size_t i = 0; i < device.parameters.count; i++)
        assert_int_equal(device.parameters.items[i].kind, PB_VALUE_NONE);
    check_sanity(&device);
    device_clear(&device);
}

/* Every phase by every path with `count` accesses of these cycles, in every test. */
static void record_everywhere(struct device *device, uint32_t cycles, size_t count)
{
    struct synthetic_noise noise = {0, 0, 0, 0, 1};

    for (size_t t = 0; t < SERIES_TESTS; t++) {
        struct pb_series *series = &device_record(device, series_tests[t])->series;

        for (size_t i = 0; i < PATHS * PHASES; i++)
            synthetic_constant(series, &noise, paths[i % PATHS], phases[i / PATHS], cycles, count);
    }
}

static void test_odd__constant_and_tiny_and_huge(void **state)
{
    static const uint32_t cycles[] = {0, 1, 300, INT32_MAX, (uint32_t)INT32_MAX + 1, UINT32_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof(cycles) / sizeof(cycles[0]); i++) {
        for (size_t count = 0; count <= 64; count = count < 2 ? count + 1 : count * 8) {
            struct device device = {0};

            record_everywhere(&device, cycles[i], count);
            infer_and_check(&device);
        }
    }
}

static void test_odd__overhead_above_the_latency_is_no_latency(void **state)
{
    struct synthetic_noise noise = {0, 0, 0, 0, 1};
    struct device device = {0};
    struct pb_series *series = &device_record(&device, "shared_latency")->series;

    (void)state;
    synthetic_constant(series, &noise, "shared", "reference", 20, 64);
    series->points[0].overhead_cycles = 50;
    device_infer(&device);
    assert_none(&device, "shared", "latency_cycles", "-30.0 cycles less overhead");
    device_clear(&device);
}

static void test_odd__points_that_own_what_is_not_there(void **state)
{
    struct device device = {0};

    (void)state;
    record_everywhere(&device, 100, 16);
    for (size_t t = 0; t < device.count; t++) {
        struct pb_series *series = &device.recordings[t].series;

        for (size_t i = 0; i < series->point_count; i++) {
            struct pb_point *point = &series->points[i];

            point->first = i % 3 == 0 ? UINT64_MAX : point->first + i;
            point->count = i % 3 == 1 ? UINT64_MAX : point->count * 50;
            point->overhead_cycles = NAN;
        }
    }
    infer_and_check(&device);
}

/* A matrix of those axes full of odd numbers. */
static void record_matrix(struct device *device, const char *test, size_t rank, size_t length,
                          double value)
{
    static const char *const clocks[] = {"cycles", "ns", "cycles", "ns"};
    struct pb_matrix *matrix = &device_record(device, test)->matrix;
    double values[4] = {1, 2, 3, 4};

    for (size_t i = 0; i < rank; i++) {
        if (i == 1)
            pb_axis_set_labels(&matrix->axes[i], "clock", "", clocks, length, NULL);
        else
            pb_axis_set_values(&matrix->axes[i], "x", "", "", values, length, NULL);
    }
    pb_matrix_allocate(matrix, "", "", NULL);
    for (size_t i = 0; i < pb_matrix_size(matrix); i++)
        matrix->values[i] = value;
}

static void test_odd__matrices(void **state)
{
    static const double values[] = {0, -1, 1e300, -1e300, NAN, INFINITY, -INFINITY, 1e-300};

    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        for (size_t rank = 1; rank <= PB_MATRIX_RANK_MAX; rank++) {
            for (size_t length = 1; length <= 4; length++) {
                struct device device = {0};

                record_matrix(&device, "clock_calibration", rank, length, values[i]);
                record_matrix(&device, "global_copy", rank, length, values[i]);
                device.info.theoretical_bytes_per_s = values[i];
                infer_and_check(&device);
            }
        }
    }
}

static uint64_t odd_number(struct synthetic_noise *noise)
{
    switch (synthetic_random(noise, 6)) {
    case 0:
        return 0;
    case 1:
        return UINT64_MAX - synthetic_random(noise, 3);
    case 2:
        return (uint64_t)1 << synthetic_random(noise, 64);
    case 3:
        return synthetic_random(noise, 10);
    default:
        return synthetic_random(noise, 1 << 20);
    }
}

/* One field of one point, or a run of accesses, becomes something else. */
static void mutate(struct pb_series *series, struct synthetic_noise *noise)
{
    struct pb_point *point = &series->points[synthetic_random(noise, series->point_count)];
    size_t first = synthetic_random(noise, series->access_count);
    size_t count = synthetic_random(noise, 64);

    switch (synthetic_random(noise, 9)) {
    case 0:
        point->footprint_bytes = odd_number(noise);
        break;
    case 1:
        point->stride_bytes = odd_number(noise);
        break;
    case 2:
        point->timed = odd_number(noise);
        break;
    case 3:
        point->total_cycles = odd_number(noise);
        break;
    case 4:
        point->count = odd_number(noise);
        break;
    case 5:
        PB_TEXT_SET(point->phase, phases[synthetic_random(noise, PHASES)]);
        break;
    case 6:
        PB_TEXT_SET(point->order, synthetic_random(noise, 2) ? "random" : "sequential");
        point->carveout_bytes = odd_number(noise);
        break;
    default:
        for (size_t i = first; i < first + count && i < series->access_count; i++) {
            series->latency_cycles[i] = (uint32_t)odd_number(noise);
            series->index_bytes[i] = odd_number(noise);
        }
    }
}

static void test_odd__true_recordings_with_broken_fields(void **state)
{
    static const struct synthetic_cache cache = {128, 32, 128, 8, 4, true, 30, 200};
    struct synthetic_noise chance = {0, 0, 0, 0, 7};

    (void)state;
    for (int round = 0; round < 200; round++) {
        struct synthetic_noise noise = {14, 2, 1e-3, 300, (uint64_t)round};
        struct device device = {0};

        synthetic_capacity(device_record(&device, "l1_capacity"), &cache, &noise, "global_ca");
        synthetic_line(device_record(&device, "l1_line"), &cache, &noise, "global_ca");
        for (uint64_t i = synthetic_random(&chance, 40); i > 0; i--)
            mutate(&device.recordings[synthetic_random(&chance, 2)].series, &chance);
        infer_and_check(&device);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_odd__nothing_was_recorded),
        cmocka_unit_test(test_odd__constant_and_tiny_and_huge),
        cmocka_unit_test(test_odd__overhead_above_the_latency_is_no_latency),
        cmocka_unit_test(test_odd__points_that_own_what_is_not_there),
        cmocka_unit_test(test_odd__matrices),
        cmocka_unit_test(test_odd__true_recordings_with_broken_fields),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
