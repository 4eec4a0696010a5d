/* The hierarchy: which level answers, what TLBs add, and M16's latency patterns P1 to P6. */
#include "sim/simtest.h"

#include <stdlib.h>

#include "device/sim/memory.h"

enum { MB = 1 << 20, PAGE = 2 * MB };

/* Latencies of loads in this order, from a cold start. */
static void trace_path(struct pb_device *device, enum pb_path path, const uint64_t *offsets,
                       size_t count, uint32_t *latency_out)
{
    uint64_t *index = malloc(count * sizeof(*index));
    uint32_t overhead = simtest_overhead(device);
    struct pb_chase chase = {.path = path,
                             .offset_bytes = offsets,
                             .offset_count = count,
                             .record = count,
                             .carveout_bytes = -1,
                             .sm = -1};
    struct pb_chase_trace trace = {.latency_cycles = latency_out, .index_bytes = index};

    assert_non_null(index);
    assert_int_equal(device->ops->chase(device, &chase, &trace, NULL), PB_OK);
    for (size_t i = 0; i < count; i++)
        latency_out[i] -= overhead;
    free(index);
}

static void trace_offsets(struct pb_device *device, const uint64_t *offsets, size_t count,
                          uint32_t *latency_out)
{
    trace_path(device, PB_PATH_GLOBAL_CG, offsets, count, latency_out);
}

static void test_path__first_cache_that_holds_it_answers(void **state)
{
    json_t *root = simtest_profile();
    struct pb_device *device = simtest_open(root, NULL);
    uint32_t latency[4];

    (void)state;
    /* one line: cold through both TLBs to DRAM; its next sector too; then L1 */
    simtest_trace(device, PB_PATH_GLOBAL_CA, 2, 32, 0, 4, latency);
    assert_int_equal(latency[0], 500 + 10 + 50);
    assert_int_equal(latency[1], 500);
    assert_int_equal(latency[2], 30);
    assert_int_equal(latency[3], 30);
    simtest_trace(device, PB_PATH_GLOBAL_CG, 2, 32, 2, 2, latency);
    assert_int_equal(latency[0], 200);
    assert_int_equal(latency[1], 200);
    device->ops->close(device);
    json_decref(root);
}

static void test_path__passes_step_at_each_capacity(void **state)
{
    json_t *root = simtest_profile();
    struct pb_device *device = simtest_open(root, NULL);

    (void)state;
    assert_float_equal(simtest_pass(device, PB_PATH_GLOBAL_CA, 2048 / 32, 32), 30, 0);
    assert_float_equal(simtest_pass(device, PB_PATH_GLOBAL_CA, 4096 / 32, 32), 200, 0);
    assert_float_equal(simtest_pass(device, PB_PATH_GLOBAL_CG, 1024 / 32, 32), 200, 0);
    assert_float_equal(simtest_pass(device, PB_PATH_GLOBAL_CG, 16384 / 32, 32), 200, 0);
    assert_float_equal(simtest_pass(device, PB_PATH_GLOBAL_CG, 32768 / 32, 32), 500, 0);
    assert_float_equal(simtest_pass(device, PB_PATH_SHARED, 128, 32), 30, 0);
    device->ops->close(device);
    json_decref(root);
}

static void test_tlb__penalties_of_missed_levels_add_up(void **state)
{
    json_t *root = simtest_profile();
    struct pb_device *device;

    (void)state;
    simtest_set(root, "caches/1/sets", "4096"); /* so that all lines stay in L2 */
    device = simtest_open(root, NULL);
    assert_float_equal(simtest_pass(device, PB_PATH_GLOBAL_CG, 4, PAGE + 128), 200, 0);
    assert_float_equal(simtest_pass(device, PB_PATH_GLOBAL_CG, 5, PAGE + 128), 210, 0);
    assert_float_equal(simtest_pass(device, PB_PATH_GLOBAL_CG, 8, PAGE + 128), 210, 0);
    assert_float_equal(simtest_pass(device, PB_PATH_GLOBAL_CG, 9, PAGE + 128), 260, 0);
    device->ops->close(device);
    json_decref(root);
}

static void test_tlb__an_entry_covers_its_whole_span(void **state)
{
    json_t *root = simtest_profile();
    struct pb_device *device;

    (void)state;
    simtest_set(root, "caches/1/sets", "4096");
    simtest_set(root, "tlbs/0/entry_span_bytes", "16777216");
    device = simtest_open(root, NULL);
    assert_float_equal(simtest_pass(device, PB_PATH_GLOBAL_CG, 31, PAGE + 128), 200, 0);
    assert_float_equal(simtest_pass(device, PB_PATH_GLOBAL_CG, 10, 16 * MB + 128), 260, 0);
    device->ops->close(device);
    json_decref(root);
}

static void test_tlb__constant_memory_has_none(void **state)
{
    json_t *root = simtest_profile();
    struct pb_device *device;
    uint32_t latency[2];

    (void)state;
    simtest_set(root, "caches/0/paths", "[\"constant\"]");
    device = simtest_open(root, NULL);
    simtest_trace(device, PB_PATH_CONSTANT, 1, 32, 0, 2, latency);
    assert_int_equal(latency[0], 500);
    assert_int_equal(latency[1], 30);
    device->ops->close(device);
    json_decref(root);
}

static void test_chip_wide__caches_with_none_behind_them(void **state)
{
    json_t *root = simtest_profile();
    struct pb_sim_profile *profile = simtest_read(root);

    (void)state;
    assert_false(pb_sim_cache_is_chip_wide(profile, 0));
    assert_true(pb_sim_cache_is_chip_wide(profile, 1));
    pb_sim_profile_free(profile);
    json_decref(root);
}

/* M16 5.2, the row of the device with its L1 off; 0: the paper has no such pattern. */
static void expect_patterns(const char *profile, const uint32_t p[7])
{
    enum { PAGES = 40 };
    json_t *root = simtest_shipped(profile);
    struct pb_device *device = simtest_open(root, NULL);
    uint32_t latency[3 * PAGES];
    uint64_t offsets[3 * PAGES];

    /* every line in a set of its own; two of them in each of 40 pages, twice over */
    for (uint64_t i = 0; i < PAGES; i++) {
        offsets[2 * i] = i * PAGE + i * 128;
        offsets[2 * i + 1] = i * PAGE + i * 128 + MB;
        offsets[2 * PAGES + i] = offsets[2 * i] + 8;
    }
    trace_offsets(device, offsets, 3 * PAGES, latency);
    for (size_t i = 1; i < PAGES; i++) {
        assert_int_equal(latency[2 * i], p[5]);         /* cold page, cold line */
        assert_int_equal(latency[2 * i + 1], p[4]);     /* the page is known by now */
        assert_int_equal(latency[2 * PAGES + i], p[2]); /* L1 TLB has lost it */
    }

    /* 80 pages are too many for the second level, too */
    for (uint64_t i = 0; i < 80; i++)
        offsets[i] = i * PAGE + i * 128;
    for (uint64_t i = 0; i < 40; i++)
        offsets[80 + i] = offsets[i] + 8;
    trace_offsets(device, offsets, 120, latency);
    for (size_t i = 80; i < 120; i++)
        assert_int_equal(latency[i], p[3]);

    /* the same line again */
    offsets[0] = 0;
    offsets[1] = 8;
    trace_offsets(device, offsets, 2, latency);
    assert_int_equal(latency[1], p[1]);

    /* a cold page that is 512 MB away */
    offsets[1] = 512 * (uint64_t)MB + 128;
    trace_offsets(device, offsets, 2, latency);
    assert_int_equal(latency[1], p[6] > 0 ? p[6] : p[5]);
    device->ops->close(device);
    json_decref(root);
}

static void test_patterns__gtx560ti(void **state)
{
    (void)state;
    expect_patterns("gtx560ti", (uint32_t[7]){0, 351, 378, 462, 619, 1225, 0});
}

static void test_patterns__gtx780(void **state)
{
    (void)state;
    expect_patterns("gtx780", (uint32_t[7]){0, 198, 204, 257, 339, 702, 968});
}

static void test_patterns__gtx980(void **state)
{
    (void)state;
    expect_patterns("gtx980", (uint32_t[7]){0, 214, 225, 289, 383, 2461, 2750});
}

/*
 * M16 5.2 with L1 on: lines of so many pages as overflow the L1 TLB or the L2 TLB, but not L1, are
 * visited again. P1 to P4; miss_cycles as M16's P4 less that with L1 off.
 */
static void expect_l1_on(const char *profile, const char *miss_cycles, const uint32_t p[5])
{
    json_t *root = simtest_shipped(profile);
    struct pb_device *device;
    uint32_t latency[241];
    uint64_t offsets[241];

    simtest_set(root, "caches/0/miss_cycles", miss_cycles);
    device = simtest_open(root, NULL);
    for (uint64_t pages = 20; pages <= 80; pages += 60) {
        for (uint64_t i = 0; i < pages; i++) {
            offsets[i] = i * PAGE + i * 128;
            offsets[pages + i] = offsets[i] + 8;
            offsets[2 * pages + i] = offsets[i] + 16;
        }
        offsets[3 * pages] = offsets[3 * pages - 1] + MB; /* a new line of a known page */
        trace_path(device, PB_PATH_GLOBAL_CA, offsets, 3 * pages + 1, latency);
        for (uint64_t i = 0; i < pages; i++)
            assert_int_equal(latency[2 * pages + i], pages == 20 ? p[2] : p[3]);
        assert_int_equal(latency[3 * pages], p[4]);
    }
    offsets[0] = 0;
    offsets[1] = 8;
    trace_path(device, PB_PATH_GLOBAL_CA, offsets, 2, latency);
    assert_int_equal(latency[1], p[1]);
    device->ops->close(device);
    json_decref(root);
}

static void test_patterns__gtx560ti_with_l1_on(void **state)
{
    (void)state;
    expect_l1_on("gtx560ti", "16", (uint32_t[5]){0, 96, 384, 468, 635});
}

static void test_patterns__gtx980_with_l1_on_looks_up_no_tlb(void **state)
{
    (void)state;
    expect_l1_on("gtx980", "2", (uint32_t[5]){0, 82, 82, 82, 385});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_path__first_cache_that_holds_it_answers),
        cmocka_unit_test(test_path__passes_step_at_each_capacity),
        cmocka_unit_test(test_tlb__penalties_of_missed_levels_add_up),
        cmocka_unit_test(test_tlb__an_entry_covers_its_whole_span),
        cmocka_unit_test(test_tlb__constant_memory_has_none),
        cmocka_unit_test(test_chip_wide__caches_with_none_behind_them),
        cmocka_unit_test(test_patterns__gtx560ti),
        cmocka_unit_test(test_patterns__gtx780),
        cmocka_unit_test(test_patterns__gtx980),
        cmocka_unit_test(test_patterns__gtx560ti_with_l1_on),
        cmocka_unit_test(test_patterns__gtx980_with_l1_on_looks_up_no_tlb),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
