/* The chase as an operation: launches, prefill, carve-outs, and what it refuses. */
#include "sim/simtest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    struct pb_chase chase = simtest_chase(PB_PATH_GLOBAL_CA, offsets, 4);
    uint32_t latency[8];

    (void)state;
    chase.record = 8;
    chase.prefill = true;
    simtest_run(device, &chase, latency);
    for (int i = 0; i < 8; i++)
        assert_int_equal(latency[i] - 10, i < 4 ? 200 : 30);
    chase.prefill = false;
    chase.flush = true;
    simtest_run(device, &chase, latency);
    assert_int_equal(latency[1] - 10, 500);
    free(offsets);
    device->ops->close(device);
    json_decref(root);
}

static void test_chase__a_pass_costs_what_its_trace_adds_up_to(void **state)
{
    json_t *root = simtest_profile();
    struct pb_device *device = simtest_open(root, NULL);
    uint64_t *offsets = simtest_offsets(24, 128);
    struct pb_chase chase = simtest_chase(PB_PATH_GLOBAL_CA, offsets, 24);
    uint32_t latency[100];
    struct pb_chase_trace pass;
    uint64_t sum = 0;

    (void)state;
    chase.warm = 7;
    chase.record = 100;
    simtest_run(device, &chase, latency);
    for (int i = 0; i < 100; i++)
        sum += latency[i] - 10;
    chase.record = 0;
    chase.timed = 100;
    pass = simtest_run(device, &chase, NULL);
    assert_int_equal(pass.total_cycles, sum);
    assert_float_equal(pass.total_ns, (double)sum, 1e-6); /* 1000 MHz */
    assert_int_equal(pass.count, 0);
    free(offsets);
    device->ops->close(device);
    json_decref(root);
}

/* A line's way to L2 is its own, as long as the nearest one's and at most so much longer. */
static void test_chase__lines_of_l2_are_so_far_apart(void **state)
{
    json_t *root = simtest_profile();
    struct pb_device *device;
    uint64_t *offsets = simtest_offsets(64, 128);
    struct pb_chase chase = simtest_chase(PB_PATH_GLOBAL_CG, offsets, 64);
    uint32_t latency[128], least = UINT32_MAX, most = 0;
    uint64_t sum = 0;

    (void)state;
    simtest_set(root, "caches/1/line_spread_cycles", "40");
    device = simtest_open(root, NULL);
    chase.warm = 64;
    chase.record = 128;
    simtest_run(device, &chase, latency);
    for (int i = 0; i < 64; i++) {
        assert_int_equal(latency[i], latency[i + 64]);
        least = latency[i] < least ? latency[i] : least;
        most = latency[i] > most ? latency[i] : most;
        sum += latency[i] - 10;
    }
    assert_in_range(least - 10, 200, 205);
    assert_in_range(most - 10, 235, 239);
    chase.record = 0;
    chase.timed = 64;
    assert_int_equal(simtest_run(device, &chase, NULL).total_cycles, sum);
    free(offsets);
    device->ops->close(device);
    json_decref(root);
}

static void test_chase__window_is_small_where_the_cache_is_unified(void **state)
{
    json_t *root = simtest_profile();
    uint64_t offsets[1] = {0};
    struct pb_chase chase = simtest_chase(PB_PATH_GLOBAL_CA, offsets, 1);
    struct pb_device *device;
    uint32_t latency[1];

    (void)state;
    simtest_set(root, "caches/0/unified_with_shared", "true");
    device = simtest_open(root, NULL);
    chase.record = 1;
    assert_int_equal(simtest_run(device, &chase, latency).window, 6144 / 12);
    chase.path = PB_PATH_GLOBAL_CG;
    assert_int_equal(simtest_run(device, &chase, latency).window, 63 * 1024 / 12);
    device->ops->close(device);
    json_decref(root);
}

static void cross(struct pb_device *device, enum pb_path warm_path, enum pb_path path,
                  uint32_t latency_out[4])
{
    uint64_t *offsets = simtest_offsets(4, 128);
    struct pb_chase chase = simtest_chase(path, offsets, 4);

    chase.cross = true;
    chase.warm_path = warm_path;
    chase.warm = chase.record = 4;
    simtest_run(device, &chase, latency_out);
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
    struct pb_chase chase = simtest_chase(PB_PATH_GLOBAL_CA, offsets, 12);
    struct pb_device *device;
    struct pb_chase_trace pass;

    (void)state;
    simtest_set(root, "caches/0/unified_with_shared", "true");
    device = simtest_open(root, NULL);
    chase.warm = 24;
    chase.timed = 12;
    chase.carveout_bytes = 512; /* 1536 are left: 12 lines */
    pass = simtest_run(device, &chase, NULL);
    assert_int_equal(pass.total_cycles, 12 * 30);
    assert_int_equal(pass.carveout_bytes, 512);
    chase.carveout_bytes = 1024;
    assert_int_equal(simtest_run(device, &chase, NULL).total_cycles, 12 * 200);
    chase.carveout_bytes = 4096; /* nothing is left of L1 */
    assert_int_equal(simtest_run(device, &chase, NULL).total_cycles, 12 * 200);
    chase.carveout_bytes = -1;
    pass = simtest_run(device, &chase, NULL);
    assert_int_equal(pass.total_cycles, 12 * 30);
    assert_int_equal(pass.carveout_bytes, 0);
    free(offsets);
    device->ops->close(device);
    json_decref(root);
}

static void test_carveout__leaves_other_caches_alone(void **state)
{
    json_t *root = simtest_profile();
    uint64_t *offsets = simtest_offsets(16, 128);
    struct pb_chase chase = simtest_chase(PB_PATH_GLOBAL_CA, offsets, 16);
    struct pb_device *device = simtest_open(root, NULL);

    (void)state;
    chase.warm = 32;
    chase.timed = 16;
    chase.carveout_bytes = 1024;
    assert_int_equal(simtest_run(device, &chase, NULL).total_cycles, 16 * 30);
    free(offsets);
    device->ops->close(device);
    json_decref(root);
}

static void expect_refused(struct pb_device *device, const struct pb_chase *chase,
                           enum pb_status status, const char *message)
{
    struct pb_chase_trace trace = {0};
    struct pb_error err = PB_ERROR_INIT;

    assert_int_equal(device->ops->chase(device, chase, &trace, &err), status);
    assert_string_equal(err.message, message);
}

static void test_chase__refuses_what_it_cannot_do(void **state)
{
    json_t *root = simtest_profile();
    struct pb_device *device = simtest_open(root, NULL);
    uint64_t offsets[2] = {0, 12};
    struct pb_chase good = simtest_chase(PB_PATH_GLOBAL_CA, offsets, 1), bad;

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
    struct pb_chase chase = simtest_chase(PB_PATH_GLOBAL_CG, offsets, 1);

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
        cmocka_unit_test(test_chase__a_pass_costs_what_its_trace_adds_up_to),
        cmocka_unit_test(test_chase__lines_of_l2_are_so_far_apart),
        cmocka_unit_test(test_chase__window_is_small_where_the_cache_is_unified),
        cmocka_unit_test(test_cross__shows_which_paths_share_a_cache),
        cmocka_unit_test(test_carveout__shrinks_a_unified_cache),
        cmocka_unit_test(test_carveout__leaves_other_caches_alone),
        cmocka_unit_test(test_chase__refuses_what_it_cannot_do),
        cmocka_unit_test(test_chase__refuses_footprints_that_do_not_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
