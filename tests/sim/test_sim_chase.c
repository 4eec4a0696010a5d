/* The chase as an operation: launches, windows, prefill, carve-outs, and what it refuses. */
#include "sim/simtest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Runs a chase over arrays of its own; fails the test on an error. */
static struct pb_trace run(struct pb_device *device, const struct pb_chase *chase,
                           uint32_t *latency_out)
{
    uint64_t *index = malloc((chase->record + 1) * sizeof(*index));
    struct pb_trace trace = {.latency_cycles = latency_out, .index_bytes = index};
    struct pb_error err = PB_ERROR_INIT;

    assert_non_null(index);
    if (device->ops->chase(device, chase, &trace, &err) != PB_OK)
        fail_msg("%s", err.message);
    free(index);
    trace.index_bytes = NULL;
    return trace;
}

static struct pb_chase sequential(enum pb_path path, const uint64_t *offsets, size_t count)
{
    struct pb_chase chase = {.path = path,
                             .offset_bytes = offsets,
                             .offset_count = count,
                             .carveout_bytes = -1,
                             .sm = -1};

    return chase;
}

static void test_chase__every_launch_starts_cold(void **state)
{
    json_t *root = simtest_profile();
    struct pb_device *device = simtest_open(root, NULL);
    uint32_t first[8], second[8];

    (void)state;
    simtest_trace(device, PB_PATH_GLOBAL_CA, 4, 128, 0, 8, first);
    simtest_trace(device, PB_PATH_GLOBAL_CA, 4, 128, 0, 8, second);
    assert_memory_equal(first, second, sizeof(first));
    assert_int_equal(first[0], 560);
    assert_int_equal(first[1], 500);
    assert_int_equal(first[4], 30);
    device->ops->close(device);
    json_decref(root);
}

static void test_chase__prefill_warms_l2_and_tlbs_but_not_l1(void **state)
{
    json_t *root = simtest_profile();
    struct pb_device *device = simtest_open(root, NULL);
    uint64_t *offsets = simtest_offsets(4, 128);
    struct pb_chase chase = sequential(PB_PATH_GLOBAL_CA, offsets, 4);
    uint32_t latency[8];

    (void)state;
    chase.record = 8;
    chase.prefill = true;
    run(device, &chase, latency);
    for (int i = 0; i < 8; i++)
        assert_int_equal(latency[i] - 10, i < 4 ? 200 : 30);
    chase.prefill = false;
    chase.flush = true;
    run(device, &chase, latency);
    assert_int_equal(latency[1] - 10, 500);
    free(offsets);
    device->ops->close(device);
    json_decref(root);
}

static void test_chase__a_lap_costs_what_its_trace_adds_up_to(void **state)
{
    json_t *root = simtest_profile();
    struct pb_device *device = simtest_open(root, NULL);
    uint64_t *offsets = simtest_offsets(24, 128);
    struct pb_chase chase = sequential(PB_PATH_GLOBAL_CA, offsets, 24);
    uint32_t latency[100];
    struct pb_trace lap;
    uint64_t sum = 0;

    (void)state;
    chase.warm = 7;
    chase.record = 100;
    run(device, &chase, latency);
    for (int i = 0; i < 100; i++)
        sum += latency[i] - 10;
    chase.record = 0;
    chase.timed = 100;
    lap = run(device, &chase, NULL);
    assert_int_equal(lap.total_cycles, sum);
    assert_float_equal(lap.total_ns, (double)sum, 1e-6); /* 1000 MHz */
    assert_int_equal(lap.count, 0);
    free(offsets);
    device->ops->close(device);
    json_decref(root);
}

/* A record over several windows against one that fits a single window. */
static void expect_pieces_equal(const char *policy)
{
    enum { RECORD = 1500 };
    json_t *root = simtest_profile();
    struct pb_device *straight, *pieces;
    uint32_t one[RECORD], many[RECORD];

    simtest_set(root, "caches/0/policy", policy);
    straight = simtest_open(root, NULL);
    simtest_set(root, "caches/0/unified_with_shared", "true");
    pieces = simtest_open(root, NULL);
    simtest_trace(straight, PB_PATH_GLOBAL_CA, 19, 128, 30, RECORD, one);
    simtest_trace(pieces, PB_PATH_GLOBAL_CA, 19, 128, 30, RECORD, many);
    assert_memory_equal(one, many, sizeof(one));
    straight->ops->close(straight);
    pieces->ops->close(pieces);
    json_decref(root);
}

static void test_chase__pieces_of_a_record_equal_a_straight_one(void **state)
{
    (void)state;
    expect_pieces_equal("{\"kind\": \"lru\"}");
    expect_pieces_equal("{\"kind\": \"fifo\"}");
    expect_pieces_equal("{\"kind\": \"plru\"}");
}

static void test_chase__window_is_small_where_the_cache_is_unified(void **state)
{
    json_t *root = simtest_profile();
    uint64_t offsets[1] = {0};
    struct pb_chase chase = sequential(PB_PATH_GLOBAL_CA, offsets, 1);
    struct pb_device *device;
    uint32_t latency[1];

    (void)state;
    simtest_set(root, "caches/0/unified_with_shared", "true");
    device = simtest_open(root, NULL);
    chase.record = 1;
    assert_int_equal(run(device, &chase, latency).window, 6144 / 12);
    chase.path = PB_PATH_GLOBAL_CG;
    assert_int_equal(run(device, &chase, latency).window, 63 * 1024 / 12);
    device->ops->close(device);
    json_decref(root);
}

static void test_chase__random_policies_are_walked_again_for_each_window(void **state)
{
    json_t *root = simtest_profile();
    uint32_t latency[2000];
    struct pb_device *device;
    size_t cold = 0;

    (void)state;
    /* the record stays in steady state: no window starts with cold misses of its own */
    simtest_set(root, "caches/0/policy", "{\"kind\": \"random\"}");
    simtest_set(root, "caches/0/unified_with_shared", "true");
    device = simtest_open(root, NULL);
    simtest_trace(device, PB_PATH_GLOBAL_CA, 17, 128, 170, 2000, latency);
    for (size_t i = 0; i < 2000; i++) {
        assert_true(latency[i] == 30 || latency[i] == 200);
        cold += latency[i] == 200;
    }
    assert_in_range(cold, 50, 1000); /* one set of five lines in four ways misses now and then */
    device->ops->close(device);
    json_decref(root);
}

/* An L2 of 256 KiB that draws lots, overflown by its last line: calm until the prefill's end. */
static struct pb_device *open_calm(json_t *root)
{
    simtest_set(root, "caches/1/sets", "256");
    simtest_set(root, "caches/1/policy", "{\"kind\": \"random\"}");
    return simtest_open(root, NULL);
}

/* A record of several windows, and each of them by a chase of its own. */
static void expect_launches_equal(bool prefill, uint64_t warm)
{
    enum { SLOTS = 2049, WINDOW = 63 * 1024 / 12, WINDOWS = 5, RECORD = WINDOWS * WINDOW };
    json_t *root = simtest_profile();
    struct pb_device *whole = open_calm(root), *single = open_calm(root);
    uint64_t *offsets = simtest_offsets(SLOTS, 128);
    struct pb_chase chase = sequential(PB_PATH_GLOBAL_CG, offsets, SLOTS);
    uint32_t *expected = calloc(RECORD, sizeof(*expected));
    uint32_t *latency = calloc(RECORD, sizeof(*latency));
    size_t missed = 0;

    chase.prefill = prefill;
    chase.warm = warm;
    chase.record = RECORD;
    assert_int_equal(run(whole, &chase, latency).window, WINDOW);
    chase.record = WINDOW;
    for (size_t i = 0; i < WINDOWS; i++, chase.warm += WINDOW)
        run(single, &chase, expected + i * WINDOW);
    assert_memory_equal(latency, expected, RECORD * sizeof(*expected));
    for (size_t i = 0; i < RECORD; i++)
        missed += latency[i] >= 500;
    assert_in_range(missed, 5, RECORD / 100); /* nine lines in eight ways of one set */
    free(latency);
    free(expected);
    free(offsets);
    whole->ops->close(whole);
    single->ops->close(single);
    json_decref(root);
}

/* What goes before the first draw is not walked again; the record must not know. */
static void test_chase__windows_under_random_policies_equal_launches_of_their_own(void **state)
{
    (void)state;
    expect_launches_equal(true, 100);
    expect_launches_equal(false, 2049); /* chance comes in between two warm loads */
}

/* Latencies of one lap by `path` after one by `warm_path`, four lines. */
static void cross(struct pb_device *device, enum pb_path warm_path, enum pb_path path,
                  uint32_t latency_out[4])
{
    uint64_t *offsets = simtest_offsets(4, 128);
    struct pb_chase chase = sequential(path, offsets, 4);

    chase.cross = true;
    chase.warm_path = warm_path;
    chase.warm = chase.record = 4;
    run(device, &chase, latency_out);
    for (int i = 0; i < 4; i++)
        latency_out[i] -= 10;
    free(offsets);
}

static void test_cross__shows_which_paths_share_a_cache(void **state)
{
    json_t *root = simtest_profile();
    struct pb_device *device;
    uint32_t latency[4];

    (void)state;
    simtest_set(root, "caches/0/paths", "[\"global_ca\", \"texture\"]");
    simtest_set(root, "caches/1/paths", "[\"global_ca\", \"global_cg\", \"texture\"]");
    device = simtest_open(root, NULL);
    cross(device, PB_PATH_TEXTURE, PB_PATH_GLOBAL_CA, latency);
    for (int i = 0; i < 4; i++)
        assert_int_equal(latency[i], 30);
    cross(device, PB_PATH_GLOBAL_CG, PB_PATH_GLOBAL_CA, latency); /* fills L2 only */
    for (int i = 0; i < 4; i++)
        assert_int_equal(latency[i], 200);
    device->ops->close(device);
    json_decref(root);
}

static void test_carveout__shrinks_a_unified_cache(void **state)
{
    json_t *root = simtest_profile();
    uint64_t *offsets = simtest_offsets(12, 128);
    struct pb_chase chase = sequential(PB_PATH_GLOBAL_CA, offsets, 12);
    struct pb_device *device;
    struct pb_trace lap;

    (void)state;
    simtest_set(root, "caches/0/unified_with_shared", "true");
    device = simtest_open(root, NULL);
    chase.warm = 24;
    chase.timed = 12;
    chase.carveout_bytes = 512; /* 1536 are left: 12 lines */
    lap = run(device, &chase, NULL);
    assert_int_equal(lap.total_cycles, 12 * 30);
    assert_int_equal(lap.carveout_bytes, 512);
    chase.carveout_bytes = 1024;
    assert_int_equal(run(device, &chase, NULL).total_cycles, 12 * 200);
    chase.carveout_bytes = 4096; /* nothing is left of L1 */
    assert_int_equal(run(device, &chase, NULL).total_cycles, 12 * 200);
    chase.carveout_bytes = -1;
    lap = run(device, &chase, NULL);
    assert_int_equal(lap.total_cycles, 12 * 30);
    assert_int_equal(lap.carveout_bytes, 0);
    free(offsets);
    device->ops->close(device);
    json_decref(root);
}

static void test_carveout__leaves_other_caches_alone(void **state)
{
    json_t *root = simtest_profile();
    uint64_t *offsets = simtest_offsets(16, 128);
    struct pb_chase chase = sequential(PB_PATH_GLOBAL_CA, offsets, 16);
    struct pb_device *device = simtest_open(root, NULL);

    (void)state;
    chase.warm = 32;
    chase.timed = 16;
    chase.carveout_bytes = 1024;
    assert_int_equal(run(device, &chase, NULL).total_cycles, 16 * 30);
    free(offsets);
    device->ops->close(device);
    json_decref(root);
}

static void expect_refused(struct pb_device *device, const struct pb_chase *chase,
                           enum pb_status status, const char *message)
{
    struct pb_trace trace = {0};
    struct pb_error err = PB_ERROR_INIT;

    assert_int_equal(device->ops->chase(device, chase, &trace, &err), status);
    assert_string_equal(err.message, message);
}

static void test_chase__refuses_what_it_cannot_do(void **state)
{
    json_t *root = simtest_profile();
    struct pb_device *device = simtest_open(root, NULL);
    uint64_t offsets[2] = {0, 12};
    struct pb_chase good = sequential(PB_PATH_GLOBAL_CA, offsets, 1), bad;

    (void)state;
    good.record = 1;
    bad = good;
    bad.offset_count = 0;
    expect_refused(device, &bad, PB_INVALID, "chase over global_ca: no slots");
    bad = good;
    bad.record = 0;
    expect_refused(device, &bad, PB_INVALID, "chase over global_ca: nothing to record or time");
    bad = good;
    bad.offset_count = 2;
    expect_refused(device, &bad, PB_INVALID,
                   "chase over global_ca: slot 1: expected a multiple of 8 bytes, found 12");
    bad = good;
    bad.path = PB_PATH_TEXTURE;
    expect_refused(device, &bad, PB_UNSUPPORTED, "chase over texture: Test GPU has no such path");
    bad = good;
    bad.path = PB_PATH_TEXTURE_2D;
    expect_refused(device, &bad, PB_UNSUPPORTED,
                   "chase over texture_2d: Test GPU has no such path");
    bad = good;
    bad.cross = true;
    bad.warm_path = PB_PATH_SHARED;
    expect_refused(device, &bad, PB_INVALID, "chase over global_ca: cannot be warmed over shared");
    bad = good;
    bad.sm = 2;
    expect_refused(device, &bad, PB_INVALID,
                   "chase over global_ca: expected an SM below 2, found 2");
    bad = good;
    bad.carveout_bytes = 65537;
    expect_refused(device, &bad, PB_UNSUPPORTED,
                   "chase over global_ca: a carve-out of 65537 bytes, but 65536 of shared memory");
    device->ops->close(device);
    json_decref(root);
}

static void test_chase__refuses_footprints_that_do_not_fit(void **state)
{
    json_t *root = simtest_profile();
    struct pb_device *device = simtest_open(root, NULL);
    uint64_t offsets[1] = {(uint64_t)1 << 30};
    struct pb_chase chase = sequential(PB_PATH_GLOBAL_CG, offsets, 1);

    (void)state;
    chase.record = 1;
    expect_refused(device, &chase, PB_NO_MEMORY,
                   "chase over global_cg: 1073741832 bytes asked for, 1006632960 there");
    chase.path = PB_PATH_SHARED;
    offsets[0] = 63 * 1024 - 16;
    expect_refused(device, &chase, PB_UNSUPPORTED,
                   "chase over shared: 64504 bytes asked for, 64500 there");
    device->ops->close(device);
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chase__every_launch_starts_cold),
        cmocka_unit_test(test_chase__prefill_warms_l2_and_tlbs_but_not_l1),
        cmocka_unit_test(test_chase__a_lap_costs_what_its_trace_adds_up_to),
        cmocka_unit_test(test_chase__pieces_of_a_record_equal_a_straight_one),
        cmocka_unit_test(test_chase__window_is_small_where_the_cache_is_unified),
        cmocka_unit_test(test_chase__random_policies_are_walked_again_for_each_window),
        cmocka_unit_test(test_chase__windows_under_random_policies_equal_launches_of_their_own),
        cmocka_unit_test(test_cross__shows_which_paths_share_a_cache),
        cmocka_unit_test(test_carveout__shrinks_a_unified_cache),
        cmocka_unit_test(test_carveout__leaves_other_caches_alone),
        cmocka_unit_test(test_chase__refuses_what_it_cannot_do),
        cmocka_unit_test(test_chase__refuses_footprints_that_do_not_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
