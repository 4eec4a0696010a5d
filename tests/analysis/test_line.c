/* Lines of caches with known truth that a recording leaves open. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "analysis/device.h"
#include "analysis/synthetic.h"

static const struct synthetic_noise clean = {14, 0, 0.0, 0, 1};

static const struct synthetic_cache cache = {128, 128, 128, 32, 4, false, 96, 351};

static void test_line__all_miss_and_all_strides_overflow_is_no_line(void **state)
{
    struct synthetic_noise noise = clean;
    struct device device = {0};
    struct pb_series *series = &device_record(&device, "l2_line")->series;

    (void)state;
    synthetic_constant(series, &noise, "global_cg", "reference", 96, 512);
    synthetic_constant(series, &noise, "global_cg", "miss", 351, 512);
    for (unsigned i = 0; i < 3; i++)
        synthetic_chase(series, &cache, &noise, "global_cg", "stride", 20480, (uint64_t)128 << i, 2,
                        false);
    device_infer(&device);
    assert_none(&device, "l2", "line_bytes", "too few observations: 0 boundaries");
    assert_none(&device, "l2", "sector_bytes", "0 misses in 0 loads");
    device_clear(&device);
}

/* A long cache of which a chase saw few places: all of them happen to be multiples of 4 lines. */
static void test_line__few_places_without_a_bound_are_no_line(void **state)
{
    struct synthetic_noise noise = clean;
    struct device device = {0};
    struct pb_series *series = &device_record(&device, "l2_line")->series;
    uint32_t latency[512];
    uint64_t index[512];
    struct pb_point point = {.path = "global_cg",
                             .mode = "traced",
                             .phase = "overflow",
                             .footprint_bytes = 20480,
                             .stride_bytes = 32,
                             .count = 512,
                             .overhead_cycles = noise.overhead_cycles};

    (void)state;
    synthetic_constant(series, &noise, "global_cg", "reference", 96, 512);
    synthetic_constant(series, &noise, "global_cg", "miss", 351, 512);
    for (uint32_t i = 0; i < 512; i++) { /* misses from 1 to 2, and from 5 to 8 KiB */
        index[i] = (uint64_t)i * 32;
        latency[i] = (i >= 32 && i < 64) || (i >= 160 && i < 256) ? 351 : 96;
        latency[i] += noise.overhead_cycles;
    }
    for (point.repeat = 0; point.repeat < 4; point.repeat++)
        assert_int_equal(pb_series_append(series, &point, latency, index, NULL), PB_OK);
    device_infer(&device);
    assert_none(&device, "l2", "line_bytes", "too few observations: 4 boundaries");
    device_clear(&device);
}

/* Passes in which all 4 sectors of 12 lines miss, and so many other loads alone. */
static void add_spiked_lines(struct pb_series *series, size_t spikes, uint64_t stride_bytes)
{
    enum { LOADS = 8192, LINES = 12 };
    static uint32_t latency[LOADS];
    static uint64_t index[LOADS];
    struct pb_point point = {.path = "global_cg",
                             .mode = "traced",
                             .phase = "overflow",
                             .footprint_bytes = 20480,
                             .stride_bytes = stride_bytes,
                             .count = LOADS,
                             .overhead_cycles = clean.overhead_cycles};

    for (point.repeat = 0; point.repeat < 4; point.repeat++) {
        for (uint32_t i = 0; i < LOADS; i++) {
            index[i] = i * stride_bytes;
            latency[i] = 96 + clean.overhead_cycles;
        }
        for (size_t k = 0; k < 4 * LINES; k++)
            latency[4 * (41 * (k / 4) + point.repeat) + k % 4] += 255;
        for (size_t k = 0; k < spikes; k++)
            latency[2563 + 101 * k + 11 * point.repeat] += 255;
        assert_int_equal(pb_series_append(series, &point, latency, index, NULL), PB_OK);
    }
}

/* A line of so many bytes, of which L2's interval says as much. */
static void assert_line(size_t spikes, uint64_t stride_bytes, double low, double high)
{
    struct synthetic_noise noise = clean;
    struct device device = {0};
    struct pb_series *series = &device_record(&device, "l2_line")->series;

    synthetic_constant(series, &noise, "global_cg", "reference", 96, 512);
    synthetic_constant(series, &noise, "global_cg", "miss", 351, 512);
    add_spiked_lines(series, spikes, stride_bytes);
    device_infer(&device);
    assert_float_equal(device_parameter(&device, "l2", "line_bytes")->numbers[0].low, low, 0);
    assert_float_equal(device_parameter(&device, "l2", "line_bytes")->numbers[0].high, high, 0);
    assert_true(device_parameter(&device, "l2", "line_bytes")->votes < 0.5);
    device_clear(&device);
}

/* Spikes as slow as a miss fall on one load each, as do misses of lines that are no longer. */
static void test_line__spikes_that_look_like_misses_leave_it_open(void **state)
{
    (void)state;
    assert_line(3, 32, 32, 128);
    assert_line(40, 32, 32, 128); /* most places are theirs */
}

/* Loads of every second line of 32 bytes show multiples of 64, whatever the line. */
static void test_line__shorter_than_all_strides_it_is_open(void **state)
{
    (void)state;
    assert_line(3, 64, 32, 256);
}

/* Passes in which both lines of 128 bytes of 40 pairs miss. */
static void test_line__that_comes_in_pairs_may_be_of_either_length(void **state)
{
    enum { LOADS = 2048, PAIR = 8 };
    static uint32_t latency[LOADS];
    static uint64_t index[LOADS];
    struct synthetic_noise noise = clean;
    struct device device = {0};
    struct pb_series *series = &device_record(&device, "l2_line")->series;
    struct pb_point point = {.path = "global_cg",
                             .mode = "traced",
                             .phase = "overflow",
                             .footprint_bytes = 65536,
                             .stride_bytes = 32,
                             .count = LOADS,
                             .overhead_cycles = clean.overhead_cycles};

    (void)state;
    synthetic_constant(series, &noise, "global_cg", "reference", 96, 512);
    synthetic_constant(series, &noise, "global_cg", "miss", 351, 512);
    for (size_t i = 0; i < LOADS; i++) {
        index[i] = 32 * i;
        latency[i] = (i / PAIR % 3 == 0 ? 351 : 96) + clean.overhead_cycles;
    }
    for (point.repeat = 0; point.repeat < 4; point.repeat++)
        assert_int_equal(pb_series_append(series, &point, latency, index, NULL), PB_OK);
    device_infer(&device);
    assert_value(&device, "l2", "line_bytes", 128.0);
    assert_float_equal(device_parameter(&device, "l2", "line_bytes")->numbers[0].high, 256, 0);
    device_clear(&device);
}

/* A pass over the first loads of sectors of 32 bytes; every 20th of those that hold misses. */
static void add_sectors(struct pb_series *series, const char *phase, bool is_backward,
                        uint32_t sectors, uint32_t words, uint32_t from, uint32_t period)
{
    enum { LOADS = 4096 };
    static uint32_t latency[LOADS];
    static uint64_t index[LOADS];
    uint32_t count = sectors * words;
    struct pb_point point = {.path = "global_cg",
                             .order = "sequential",
                             .mode = "traced",
                             .footprint_bytes = 32 * (uint64_t)sectors,
                             .stride_bytes = 32 / words,
                             .count = count,
                             .window = count,
                             .overhead_cycles = clean.overhead_cycles};

    PB_TEXT_SET(point.phase, phase);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t load = is_backward ? count - 1 - i : i, sector = load / words;
        bool is_first = is_backward ? load % words == words - 1 : load % words == 0;

        index[i] = (uint64_t)load * (32 / words);
        latency[i] = is_first && sector >= from && sector % period == 0 ? 351 : 96;
        latency[i] += clean.overhead_cycles;
    }
    assert_int_equal(pb_series_append(series, &point, latency, index, NULL), PB_OK);
}

/* Of lines too many most misses are prefetched: that these lack excludes no line. */
static void test_line__misses_that_a_prefetch_hides_exclude_no_line(void **state)
{
    struct synthetic_noise noise = clean;
    struct device device = {0};
    struct pb_series *series = &device_record(&device, "l2_line")->series;

    (void)state;
    synthetic_constant(series, &noise, "global_cg", "reference", 96, 512);
    synthetic_constant(series, &noise, "global_cg", "miss", 351, 512);
    add_sectors(series, "cold", false, 160, 4, 0, 20);
    add_sectors(series, "backward", true, 160, 4, 0, 1);
    for (uint32_t more = 20; more <= 80; more += 20)
        add_sectors(series, "overflow", false, 512 + more, 1, 520, 20);
    synthetic_capacity(device_record(&device, "l2_capacity"), &cache, &noise, "global_cg");
    device_infer(&device);
    assert_value(&device, "l2", "fetch_bytes", 32.0);
    assert_non_null(strstr(device_parameter(&device, "l2", "line_bytes")->method,
                           "exclude lines from 0 bytes on"));
    device_clear(&device);
}

/* Of a cache that was not empty most sectors are there: those that miss show their length. */
static void test_line__sectors_that_were_there_before_say_nothing(void **state)
{
    struct synthetic_noise noise = clean;
    struct device device = {0};
    struct pb_series *series = &device_record(&device, "l2_line")->series;

    (void)state;
    synthetic_constant(series, &noise, "global_cg", "reference", 96, 512);
    synthetic_constant(series, &noise, "global_cg", "miss", 351, 512);
    add_sectors(series, "cold", false, 160, 4, 120, 1);
    add_sectors(series, "backward", true, 160, 4, 120, 1);
    device_infer(&device);
    assert_value(&device, "l2", "fetch_bytes", 32.0);
    device_clear(&device);
}

/* Passes over ever more of the cache, none of them traced. */
static void record_passes(struct device *device)
{
    struct synthetic_noise noise = clean;
    struct pb_series *series = &device_record(device, "l2_capacity")->series;

    synthetic_constant(series, &noise, "global_cg", "reference", 96, 512);
    synthetic_pass(series, "global_cg", "reference", 1024, 32, 4096, (uint64_t)4096 * 96);
    synthetic_constant(series, &noise, "global_cg", "miss", 351, 512);
    for (uint64_t bytes = 1024; bytes <= 65536; bytes += bytes < 20480 ? 1024 : 8192)
        synthetic_chase(series, &cache, &noise, "global_cg", "coarse", bytes, 32, 2, true);
}

/*
 * Longer passes in which a prefetch hides all misses exclude no line, where no place shows it; and
 * where misses stop growing not yet all of them miss.
 */
static void test_line__strides_exclude_none_that_a_prefetch_hides(void **state)
{
    struct synthetic_noise noise = clean;
    struct device device = {0};
    struct pb_series *series = &device_record(&device, "l2_line")->series;

    (void)state;
    synthetic_constant(series, &noise, "global_cg", "reference", 96, 512);
    synthetic_constant(series, &noise, "global_cg", "miss", 351, 512);
    add_sectors(series, "cold", false, 160, 4, 0, 20);
    add_sectors(series, "backward", true, 160, 4, 0, 1);
    for (uint32_t more = 20; more <= 80; more += 20)
        add_sectors(series, "overflow", false, 512 + more, 1, 1024, 20);
    record_passes(&device);
    device_infer(&device);
    assert_float_equal(device_parameter(&device, "l2", "line_bytes")->numbers[0].high, 1024, 0);
    assert_true(device_parameter(&device, "l2", "full_miss_bytes")->numbers[0].high >= 32768.0);
    device_clear(&device);
}

/* Both lines of 128 bytes of a pair are of one set: loads of every second one find room. */
static void test_line__strides_say_nothing_of_shorter_ones(void **state)
{
    static const struct synthetic_cache paired = {128, 64, 256, 32, 4, false, 96, 351};
    struct synthetic_noise noise = clean;
    struct device device = {0};
    struct pb_series *series = &device_record(&device, "l2_line")->series;

    (void)state;
    synthetic_constant(series, &noise, "global_cg", "reference", 96, 512);
    synthetic_constant(series, &noise, "global_cg", "miss", 351, 512);
    for (unsigned i = 0; i < 3; i++)
        synthetic_chase(series, &paired, &noise, "global_cg", "stride", 32768, (uint64_t)64 << i, 2,
                        false);
    record_passes(&device);
    device_infer(&device);
    assert_value(&device, "l2", "line_bytes", 128.0);
    assert_float_equal(device_parameter(&device, "l2", "line_bytes")->numbers[0].low, 32, 0);
    device_clear(&device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line__all_miss_and_all_strides_overflow_is_no_line),
        cmocka_unit_test(test_line__few_places_without_a_bound_are_no_line),
        cmocka_unit_test(test_line__misses_that_a_prefetch_hides_exclude_no_line),
        cmocka_unit_test(test_line__sectors_that_were_there_before_say_nothing),
        cmocka_unit_test(test_line__shorter_than_all_strides_it_is_open),
        cmocka_unit_test(test_line__spikes_that_look_like_misses_leave_it_open),
        cmocka_unit_test(test_line__strides_exclude_none_that_a_prefetch_hides),
        cmocka_unit_test(test_line__strides_say_nothing_of_shorter_ones),
        cmocka_unit_test(test_line__that_comes_in_pairs_may_be_of_either_length),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
