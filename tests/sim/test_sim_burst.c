/* Independent loads as an operation: N14's figure 9 on a device, lanes, DRAM, and what it refuses.
 */
#include "sim/simtest.h"

#include <string.h>

enum { WARPS_MAX = 32, OVERHEAD = 10 };

/* Cycles until the last warp has its data, the overhead taken off. */
static uint32_t longest(struct pb_device *device, struct pb_burst burst)
{
    uint32_t cycles[WARPS_MAX], last = 0;
    struct pb_error err = PB_ERROR_INIT;

    if (device->ops->burst(device, &burst, cycles, &err) != PB_OK)
        fail_msg("%s", err.message);
    for (uint32_t warp = 0; warp < burst.warps; warp++)
        last = cycles[warp] > last ? cycles[warp] : last;
    return last - simtest_overhead(device);
}

static struct pb_burst of(uint32_t warps, uint32_t lanes, uint32_t loads)
{
    return (struct pb_burst){.path = PB_PATH_GLOBAL_CA,
                             .warps = warps,
                             .lanes = lanes,
                             .loads = loads,
                             .stride_bytes = 128};
}

/* N14 5.2: 6 loads a warp, 64 an SM. */
static void test_burst__gtx470_shows_figure_9(void **state)
{
    static const uint32_t plateau[][2] = {{1, 6}, {10, 6}, {11, 5}, {13, 4}, {16, 4}, {17, 3}};
    json_t *root = simtest_shipped("gtx470");
    struct pb_device *device = simtest_open(root, NULL);

    (void)state;
    for (size_t i = 0; i < COUNT(plateau); i++) {
        uint32_t warps = plateau[i][0], loads = plateau[i][1];

        assert_in_range(longest(device, of(warps, 1, loads)), 351, 351 + 2 * 64);
        assert_in_range(longest(device, of(warps, 1, loads + 1)), 2 * 351, 2 * 351 + 2 * 64);
    }
    assert_in_range(longest(device, of(1, 1, 12)), 2 * 351, 2 * 351 + 2 * 6);
    assert_in_range(longest(device, of(1, 1, 13)), 3 * 351, 3 * 351 + 2 * 6);
    device->ops->close(device);
    json_decref(root);
}

static void test_burst__every_lane_with_a_line_of_its_own_takes_an_entry(void **state)
{
    json_t *root = simtest_profile();
    struct pb_device *device = simtest_open(root, NULL);
    struct pb_burst shared = of(1, 32, 1);

    (void)state;
    assert_int_equal(longest(device, of(1, 6, 1)), 200 + 5 * 2);
    assert_int_equal(longest(device, of(1, 7, 1)), 400);
    assert_int_equal(longest(device, of(1, 12, 1)), longest(device, of(1, 1, 12)));
    shared.stride_bytes = 8; /* 32 lanes within 8 sectors of 32 bytes: 8 entries */
    assert_in_range(longest(device, shared), 400, 400 + 2 * 32);
    device->ops->close(device);
    json_decref(root);
}

/* 40 loads of a warp outstanding: more than a lane could ask for with 32. */
static void test_burst__limits_beyond_32_show(void **state)
{
    json_t *root = simtest_profile();
    struct pb_device *device;

    (void)state;
    simtest_set(root, "mshr", "{\"per_sm\": 64, \"per_warp\": 40}");
    device = simtest_open(root, NULL);
    assert_int_equal(longest(device, of(1, 1, 40)), 200 + 39 * 2);
    assert_true(longest(device, of(1, 1, 41)) >= 2 * 200);
    device->ops->close(device);
    json_decref(root);
}

static void test_burst__flush_sends_the_loads_to_dram(void **state)
{
    json_t *root = simtest_profile();
    struct pb_device *device = simtest_open(root, NULL);
    struct pb_burst burst = of(1, 1, 1);

    (void)state;
    assert_int_equal(longest(device, burst), 200);
    burst.flush = true;
    assert_int_equal(longest(device, burst), 500);
    burst.flush = false;
    burst.path = PB_PATH_GLOBAL_CG;
    assert_int_equal(longest(device, burst), 200);
    device->ops->close(device);
    json_decref(root);
}

/* 16 KiB of L2 do not hold 256 lines: some of the loads come from DRAM, none from nowhere. */
static void test_burst__what_overflows_l2_comes_from_dram(void **state)
{
    json_t *root = simtest_profile();
    struct pb_device *device;

    (void)state;
    simtest_set(root, "mshr", "{\"per_sm\": 1024, \"per_warp\": 1024}");
    device = simtest_open(root, NULL);
    assert_in_range(longest(device, of(8, 1, 16)), 200, 200 + 2 * 128);
    assert_in_range(longest(device, of(16, 1, 32)), 500, 500 + 2 * 512);
    device->ops->close(device);
    json_decref(root);
}

static void test_burst__faults_show(void **state)
{
    static const struct {
        const char *fault;
        bool flush;
        uint32_t low, high;
    } faults[] = {
        {"sm_slow=0:1.5", false, 300, 300},  {"sm_slow=1:1.5", false, 200, 200},
        {"l2_latency=1.1", false, 220, 220}, {"dram_latency=1.2", true, 600, 600},
        {"tail=1:1000", false, 1200, 1200},  {"clock=0.5", true, 350, 350},
        {"throttle=0.5@0", true, 350, 350},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(faults); i++) {
        json_t *root = simtest_profile();
        struct pb_device *device = simtest_open_faulty(root, faults[i].fault);
        struct pb_burst burst = of(1, 1, 1);

        burst.flush = faults[i].flush;
        assert_in_range(longest(device, burst), faults[i].low, faults[i].high);
        device->ops->close(device);
        json_decref(root);
    }
}

static void test_burst__refuses_what_it_cannot_do(void **state)
{
    json_t *root = simtest_profile();
    struct pb_device *device = simtest_open(root, NULL);
    struct pb_burst bad[] = {of(0, 1, 1), of(33, 1, 1), of(1, 0, 1),  of(1, 33, 1),
                             of(1, 1, 0), of(1, 1, 49), of(17, 1, 33)};
    struct pb_burst burst = of(1, 1, 1);
    struct pb_error err = PB_ERROR_INIT;
    uint32_t cycles[WARPS_MAX];

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_int_equal(device->ops->burst(device, &bad[i], cycles, &err), PB_INVALID);
    burst.stride_bytes = 12;
    assert_int_equal(device->ops->burst(device, &burst, cycles, &err), PB_INVALID);
    burst = of(32, 32, 32);
    burst.stride_bytes = 1 << 20;
    assert_int_equal(device->ops->burst(device, &burst, cycles, &err), PB_NO_MEMORY);
    burst = of(1, 1, 1);
    burst.path = PB_PATH_SHARED;
    assert_int_equal(device->ops->burst(device, &burst, cycles, &err), PB_UNSUPPORTED);
    burst.path = PB_PATH_READONLY;
    assert_int_equal(device->ops->burst(device, &burst, cycles, &err), PB_UNSUPPORTED);
    assert_string_equal(err.message, "burst over readonly: Test GPU has no such path");
    device->ops->close(device);
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_burst__gtx470_shows_figure_9),
        cmocka_unit_test(test_burst__every_lane_with_a_line_of_its_own_takes_an_entry),
        cmocka_unit_test(test_burst__limits_beyond_32_show),
        cmocka_unit_test(test_burst__flush_sends_the_loads_to_dram),
        cmocka_unit_test(test_burst__what_overflows_l2_comes_from_dram),
        cmocka_unit_test(test_burst__faults_show),
        cmocka_unit_test(test_burst__refuses_what_it_cannot_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
