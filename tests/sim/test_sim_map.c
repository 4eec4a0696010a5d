/* The map of SMs and lines: uniform without sides, and what sides, copies and slices do to it. */
#include "sim/simtest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "device/sim/sides.h"

enum { SMS = 8, LINES = 64, STRIDE = 128 };

static const char sides[] = "{\"far_latency_cycles\": 300, \"mask\": \"0x300\"}";

/* The map of every SM over LINES lines, the overhead taken off. */
static void survey(struct pb_device *device, enum pb_touch touch, uint32_t warm,
                   uint32_t latency_out[SMS][LINES])
{
    uint64_t *offsets = simtest_offsets(LINES, STRIDE);
    struct pb_map map = {
        .touch = touch, .offset_bytes = offsets, .offset_count = LINES, .warm = warm};
    uint32_t overhead = simtest_overhead(device);
    struct pb_error err = PB_ERROR_INIT;

    if (device->ops->map(device, &map, latency_out[0], &err) != PB_OK)
        fail_msg("%s", err.message);
    for (int sm = 0; sm < SMS; sm++)
        for (int line = 0; line < LINES; line++)
            latency_out[sm][line] -= overhead;
    free(offsets);
}

static struct pb_device *open_with(const char *l2_sides, const char *fault, json_t **root_out)
{
    struct pb_device_request request = {.host = "n1", .faults = &fault, .fault_count = 1};

    *root_out = simtest_profile();
    simtest_set(*root_out, "sm_count", "8");
    if (l2_sides != NULL)
        simtest_set(*root_out, "l2_sides", l2_sides);
    return simtest_open(*root_out, fault != NULL ? &request : NULL);
}

static void test_map__without_sides_every_sm_sees_the_same(void **state)
{
    uint32_t latency[SMS][LINES];
    json_t *root;
    struct pb_device *device = open_with(NULL, NULL, &root);

    (void)state;
    for (int touch = PB_TOUCH_LOAD; touch <= PB_TOUCH_ATOMIC; touch++) {
        survey(device, (enum pb_touch)touch, 1, latency);
        for (int sm = 0; sm < SMS; sm++)
            for (int line = 0; line < LINES; line++)
                assert_int_equal(latency[sm][line], 200);
    }
    survey(device, PB_TOUCH_LOAD, 0, latency);
    assert_int_equal(latency[0][1], 500); /* the first one fetches it, the others find it in L2 */
    assert_int_equal(latency[1][1], 200);
    device->ops->close(device);
    json_decref(root);
}

static void test_map__atomics_go_to_the_home_side(void **state)
{
    uint32_t latency[SMS][LINES];
    json_t *root;
    struct pb_device *device = open_with(sides, NULL, &root);

    (void)state;
    survey(device, PB_TOUCH_ATOMIC, 1, latency);
    for (int sm = 0; sm < SMS; sm++)
        for (int line = 0; line < LINES; line++) {
            /* TPCs of two SMs are dealt to the two GPCs in turn; home: parity of bits 8 and 9 */
            int side = sm / 2 % 2, byte = line * STRIDE, home = (byte >> 8 & 1) ^ (byte >> 9 & 1);

            assert_int_equal(latency[sm][line], side == home ? 200 : 300);
        }
    device->ops->close(device);
    json_decref(root);
}

static void test_map__loads_find_a_copy_on_their_own_side(void **state)
{
    uint32_t latency[SMS][LINES];
    int far = 0;
    json_t *root;
    struct pb_device *device = open_with(sides, NULL, &root);

    (void)state;
    survey(device, PB_TOUCH_LOAD, 1, latency);
    for (int sm = 0; sm < SMS; sm++)
        for (int line = 0; line < LINES; line++)
            assert_int_equal(latency[sm][line], 200);
    survey(device, PB_TOUCH_LOAD, 0, latency);
    for (int sm = 1; sm < SMS; sm++) /* the first SM of side 1 fetches the copies */
        for (int line = 0; line < LINES; line++)
            far += latency[sm][line] == 300;
    assert_int_equal(far, LINES / 2);
    for (int line = 0; line < LINES; line++)
        assert_int_equal(latency[3][line], 200);
    device->ops->close(device);
    json_decref(root);
}

static void test_map__slices_are_at_a_distance_of_their_own_from_each_gpc(void **state)
{
    uint32_t latency[SMS][LINES], low = UINT32_MAX, high = 0;
    json_t *root;
    struct pb_device *device =
        open_with("{\"far_latency_cycles\": 200, \"mask\": \"0x100\", \"gpc_sms\": [4, 4],"
                  " \"slices\": 16, \"slice_spread_cycles\": 40}",
                  NULL, &root);

    (void)state;
    survey(device, PB_TOUCH_ATOMIC, 1, latency);
    for (int line = 0; line < LINES; line++) {
        /* a fraction of a cycle is rounded up or down for each load */
        assert_true(abs((int)latency[0][line] - (int)latency[1][line]) <= 1);
        assert_true(abs((int)latency[0][line] - (int)latency[4][line]) <= 1);
        low = latency[0][line] < low ? latency[0][line] : low;
        high = latency[0][line] > high ? latency[0][line] : high;
    }
    assert_in_range(low, 180, 190);
    assert_in_range(high, 210, 221);
    assert_memory_not_equal(latency[0], latency[2], sizeof(latency[0]));
    device->ops->close(device);
    json_decref(root);
}

/* The median of a warm pass past L1 on this SM, and of one through DRAM. */
static void chase_on(struct pb_device *device, int64_t sm, uint32_t *l2_out, uint32_t *dram_out)
{
    uint64_t *offsets = simtest_offsets(8, 128), index[16];
    uint32_t cycles[16], overhead = simtest_overhead(device);
    struct pb_chase_trace trace = {.latency_cycles = cycles, .index_bytes = index};
    struct pb_chase chase = {.path = PB_PATH_GLOBAL_CG,
                             .offset_bytes = offsets,
                             .offset_count = 8,
                             .record = 16,
                             .carveout_bytes = -1,
                             .sm = sm};
    struct pb_error err = PB_ERROR_INIT;

    if (device->ops->chase(device, &chase, &trace, &err) != PB_OK)
        fail_msg("%s", err.message);
    *dram_out = cycles[4] - overhead;
    *l2_out = cycles[12] - overhead;
    free(offsets);
}

/* SMs 0, 1, 4 and 5 are of the first GPC. */
static void test_chase__gpcs_are_nearer_or_farther(void **state)
{
    json_t *root;
    struct pb_device *device =
        open_with("{\"far_latency_cycles\": 300, \"mask\": \"0x300\", \"gpc_sms\": [4, 4],"
                  " \"gpc_cycles\": [-7, 12]}",
                  NULL, &root);

    (void)state;
    for (int64_t sm = 0; sm < SMS; sm++) {
        int place = sm / 2 % 2 == 0 ? -7 : 12;
        uint32_t l2, dram;

        chase_on(device, sm, &l2, &dram);
        assert_int_equal(l2, 200 + place);
        assert_int_equal(dram, 500 + place);
    }
    device->ops->close(device);
    json_decref(root);
}

static void test_sides__gpcs_are_dealt_pairs_until_they_are_full(void **state)
{
    static const uint32_t expected[12] = {0, 0, 1, 1, 2, 2, 1, 1, 2, 2, 2, 2};
    json_t *root = simtest_profile();
    struct pb_sim_profile *profile;
    uint32_t gpc[12];

    (void)state;
    simtest_set(root, "sm_count", "12");
    simtest_set(root, "l2_sides",
                "{\"far_latency_cycles\": 300, \"mask\": \"0x300\", \"gpc_sms\": [2, 4, 6]}");
    profile = simtest_read(root);
    pb_sim_sides_deal(profile, gpc);
    assert_memory_equal(gpc, expected, sizeof(gpc));
    assert_int_equal(pb_sim_sides_of_gpc(&profile->sides, 0), 0);
    assert_int_equal(pb_sim_sides_of_gpc(&profile->sides, 1), 0);
    assert_int_equal(pb_sim_sides_of_gpc(&profile->sides, 2), 1);
    pb_sim_profile_free(profile);
    json_decref(root);
}

static void test_map__faults_show(void **state)
{
    static const struct {
        const char *fault;
        uint32_t of_sm_0, of_sm_3;
    } faults[] = {{"sm_slow=3:1.2", 200, 240},
                  {"l2_latency=1.5", 300, 300},
                  {"tail=1:50", 250, 250},
                  {"clock=0.5", 200, 200}};
    uint32_t latency[SMS][LINES];

    (void)state;
    for (size_t i = 0; i < COUNT(faults); i++) {
        json_t *root;
        struct pb_device *device = open_with(NULL, faults[i].fault, &root);

        survey(device, PB_TOUCH_ATOMIC, 1, latency);
        assert_int_equal(latency[0][7], faults[i].of_sm_0);
        assert_int_equal(latency[3][7], faults[i].of_sm_3);
        device->ops->close(device);
        json_decref(root);
    }
}

static void test_map__some_sms_in_any_order(void **state)
{
    const uint32_t sms[] = {5, 1};
    const uint64_t offsets[] = {0, 4096, 256};
    struct pb_map map = {.touch = PB_TOUCH_ATOMIC,
                         .offset_bytes = offsets,
                         .offset_count = 3,
                         .sms = sms,
                         .sm_count = 2,
                         .warm = 1};
    uint32_t latency[2][3];
    json_t *root;
    struct pb_device *device = open_with(sides, "sm_slow=5:2", &root);

    (void)state;
    assert_int_equal(device->ops->map(device, &map, latency[0], NULL), PB_OK);
    assert_int_equal(latency[0][0], 10 + 400);
    assert_int_equal(latency[0][2], 10 + 600); /* far and slow */
    assert_int_equal(latency[1][0], 10 + 200);
    assert_int_equal(latency[1][1], 10 + 200);
    device->ops->close(device);
    json_decref(root);
}

static void test_map__refuses_what_is_not_there(void **state)
{
    const uint32_t sm = 8;
    const uint64_t odd = 4, far = UINT64_C(1) << 40, good = 0;
    const struct pb_map maps[] = {
        {.offset_bytes = &good, .offset_count = 0},
        {.offset_bytes = &good, .offset_count = 1, .sms = &sm, .sm_count = 1},
        {.offset_bytes = &odd, .offset_count = 1},
        {.offset_bytes = &good, .offset_count = 1, .touch = (enum pb_touch)7},
        {.offset_bytes = &far, .offset_count = 1}};
    struct pb_error err = PB_ERROR_INIT;
    uint32_t latency[SMS];
    json_t *root;
    struct pb_device *device = open_with(NULL, NULL, &root);

    (void)state;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(device->ops->map(device, &maps[i], latency, &err), PB_INVALID);
    assert_int_equal(device->ops->map(device, &maps[4], latency, &err), PB_NO_MEMORY);
    device->ops->close(device);
    json_decref(root);
}

static void test_cluster__what_no_gpc_holds_is_unsupported(void **state)
{
    struct pb_cluster cluster = {.size = 4, .count = 2};
    struct pb_error err = PB_ERROR_INIT;
    uint32_t sms[8];
    json_t *root = simtest_profile();
    struct pb_device *device;

    (void)state;
    simtest_set(root, "sm_count", "8");
    simtest_set(root, "l2_sides",
                "{\"far_latency_cycles\": 300, \"mask\": \"0x300\", \"gpc_sms\": [3, 5]}");
    simtest_set(root, "layout", "{\"cluster_max\": 8}");
    device = simtest_open(root, NULL);
    assert_int_equal(device->ops->cluster(device, &cluster, sms, &err), PB_OK);
    for (int i = 0; i < 8; i++) /* 0, 1 and 4 are the GPC that is too small */
        assert_true(sms[i] < 8 && sms[i] != 0 && sms[i] != 1 && sms[i] != 4);
    cluster = (struct pb_cluster){.size = 6, .count = 1};
    assert_int_equal(device->ops->cluster(device, &cluster, sms, &err), PB_UNSUPPORTED);
    assert_non_null(strstr(err.message, "no GPC has 6 SMs"));
    cluster.size = 16;
    assert_int_equal(device->ops->cluster(device, &cluster, sms, &err), PB_UNSUPPORTED);
    assert_non_null(strstr(err.message, "clusters of up to 8"));
    device->ops->close(device);
    json_decref(root);
}

/* A slow SM moves its data as slowly alone as beside a healthy one, which it does not hold up. */
static void test_pair__a_slow_sm_is_slow_in_every_pair(void **state)
{
    static const uint32_t sms[][2] = {{2, 2}, {2, 5}, {5, 5}, {8, 0}};
    struct pb_pair pair = {.kind = PB_PAIR_READ, .sms = sms, .count = 3};
    struct pb_error err = PB_ERROR_INIT;
    uint32_t cycles[6];
    json_t *root;
    struct pb_device *device = open_with(NULL, "sm_slow=2:2", &root);

    (void)state;
    assert_int_equal(device->ops->pair(device, &pair, cycles, &err), PB_OK);
    assert_true(cycles[0] > cycles[4] / 10 * 19);
    assert_true(cycles[2] > cycles[3] / 10 * 19);
    assert_true(cycles[3] < cycles[4] + 8);
    pair.count = 4;
    assert_int_equal(device->ops->pair(device, &pair, cycles, &err), PB_INVALID);
    assert_non_null(strstr(err.message, "below 8, found 8"));
    pair = (struct pb_pair){.kind = PB_PAIR_KIND_COUNT, .sms = sms, .count = 1};
    assert_int_equal(device->ops->pair(device, &pair, cycles, &err), PB_INVALID);
    device->ops->close(device);
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_map__without_sides_every_sm_sees_the_same),
        cmocka_unit_test(test_map__atomics_go_to_the_home_side),
        cmocka_unit_test(test_map__loads_find_a_copy_on_their_own_side),
        cmocka_unit_test(test_map__slices_are_at_a_distance_of_their_own_from_each_gpc),
        cmocka_unit_test(test_chase__gpcs_are_nearer_or_farther),
        cmocka_unit_test(test_sides__gpcs_are_dealt_pairs_until_they_are_full),
        cmocka_unit_test(test_map__faults_show),
        cmocka_unit_test(test_map__some_sms_in_any_order),
        cmocka_unit_test(test_map__refuses_what_is_not_there),
        cmocka_unit_test(test_cluster__what_no_gpc_holds_is_unsupported),
        cmocka_unit_test(test_pair__a_slow_sm_is_slow_in_every_pair),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
