/* Records longer than a window: what is loaded again for them, and what the simulator spares. */
#include "sim/simtest.h"

#include <stdlib.h>

#include "device/sim/simulator.h"

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

static void test_windows__pieces_of_a_record_equal_a_straight_one(void **state)
{
    (void)state;
    expect_pieces_equal("{\"kind\": \"lru\"}");
    expect_pieces_equal("{\"kind\": \"fifo\"}");
    expect_pieces_equal("{\"kind\": \"plru\"}");
}

static void test_windows__of_random_policies_are_walked_again(void **state)
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

/* L1 of 64 KiB, and L2 of 256 KiB, which a chase's last line overflows: calm until then. */
static struct pb_device *open_drawing(size_t cache)
{
    json_t *root = simtest_profile();
    struct pb_device *device;

    simtest_set(root, "caches/0/sets", "64");
    simtest_set(root, "caches/0/ways", "8");
    simtest_set(root, "caches/0/unified_with_shared", "true");
    simtest_set(root, "caches/1/sets", "256");
    simtest_set(root, cache == 0 ? "caches/0/policy" : "caches/1/policy", "{\"kind\": \"random\"}");
    device = simtest_open(root, NULL);
    json_decref(root);
    return device;
}

/*
 * A record of several windows against each of them by a chase of its own, and the time that both
 * take. Some loads miss, but only of one set.
 */
static void expect_launches_equal(struct pb_chase chase, size_t drawing, uint32_t miss_cycles)
{
    enum { WINDOWS = 5, RECORD_MAX = WINDOWS * 63 * 1024 / 12 };
    static uint32_t latency[RECORD_MAX], expected[RECORD_MAX];
    struct pb_device *whole = open_drawing(drawing), *single = open_drawing(drawing);
    size_t window = drawing == 0 ? 6144 / 12 : 63 * 1024 / 12, missed = 0;

    chase.record = WINDOWS * window;
    assert_int_equal(simtest_run(whole, &chase, latency).window, window);
    chase.record = window;
    for (size_t i = 0; i < WINDOWS; i++, chase.warm += window)
        simtest_run(single, &chase, expected + i * window);
    assert_memory_equal(latency, expected, WINDOWS * window * sizeof(*expected));
    for (size_t i = 0; i < WINDOWS * window; i++)
        missed += latency[i] >= miss_cycles;
    assert_in_range(missed, 5, WINDOWS * window / 50); /* nine lines in eight ways of one set */
    assert_float_equal(pb_sim_device_of(whole)->seconds / pb_sim_device_of(single)->seconds, 1.0,
                       1e-9);
    whole->ops->close(whole);
    single->ops->close(single);
}

/* What goes before the first draw is not loaded again; the record must not know. */
static void test_windows__under_random_policies_equal_launches_of_their_own(void **state)
{
    uint64_t *offsets = simtest_offsets(2049, 128);
    struct pb_chase chase = simtest_chase(PB_PATH_GLOBAL_CG, offsets, 2049);

    (void)state;
    chase.prefill = true;
    chase.warm = 100;
    expect_launches_equal(chase, 1, 500);
    chase.prefill = false;
    chase.warm = 2049; /* chance comes in between two warm loads */
    expect_launches_equal(chase, 1, 500);
    free(offsets);
}

/* The prefill passes L1 by, so that no line is there before the chase itself loads it. */
static void test_windows__over_l1_equal_launches_of_their_own(void **state)
{
    uint64_t *offsets = simtest_offsets(513, 128);
    struct pb_chase chase = simtest_chase(PB_PATH_GLOBAL_CA, offsets, 513);

    (void)state;
    chase.prefill = true;
    chase.warm = 530;
    expect_launches_equal(chase, 0, 200);
    free(offsets);
}

/* Lines that stay may lie in pages that do not: five of them in turn, of which four are known. */
static void test_windows__with_misses_of_a_tlb_equal_launches_of_their_own(void **state)
{
    uint64_t *offsets = simtest_offsets(2049, 128);
    struct pb_chase chase = simtest_chase(PB_PATH_GLOBAL_CG, offsets, 2049);

    (void)state;
    for (size_t i = 0; i < 2049; i++)
        offsets[i] += i % 5 * (2 << 20);
    chase.prefill = true;
    chase.warm = 100;
    expect_launches_equal(chase, 1, 500);
    free(offsets);
}

/* Another path's loads come between, to which other caches answer. */
static void test_windows__warmed_by_another_path_equal_launches_of_their_own(void **state)
{
    uint64_t *offsets = simtest_offsets(2049, 128);
    struct pb_chase chase = simtest_chase(PB_PATH_GLOBAL_CG, offsets, 2049);

    (void)state;
    chase.prefill = true;
    chase.cross = true;
    chase.warm_path = PB_PATH_GLOBAL_CA;
    chase.warm = 2049;
    expect_launches_equal(chase, 1, 500);
    free(offsets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows__pieces_of_a_record_equal_a_straight_one),
        cmocka_unit_test(test_windows__of_random_policies_are_walked_again),
        cmocka_unit_test(test_windows__under_random_policies_equal_launches_of_their_own),
        cmocka_unit_test(test_windows__over_l1_equal_launches_of_their_own),
        cmocka_unit_test(test_windows__with_misses_of_a_tlb_equal_launches_of_their_own),
        cmocka_unit_test(test_windows__warmed_by_another_path_equal_launches_of_their_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
