/* Chases whose caches see other addresses than the TLBs: blocks mapped over and over, and tiles. */
#include "sim/simtest.h"

#include <stdlib.h>
#include <string.h>

#include "device/sim/tile.h"

enum { RECORD_MAX = 64 };

static const uint64_t mib = 1 << 20;

/* A cold trace over the slots, once, the overhead taken off. */
static enum pb_status cold(struct pb_device *device, enum pb_path path, const uint64_t *offsets,
                           size_t count, uint64_t alias_bytes, uint32_t *latency_out)
{
    struct pb_chase chase = {.path = path,
                             .offset_bytes = offsets,
                             .offset_count = count,
                             .record = count,
                             .carveout_bytes = -1,
                             .sm = -1,
                             .alias_bytes = alias_bytes};
    uint64_t index[RECORD_MAX];
    struct pb_chase_trace trace = {.latency_cycles = latency_out, .index_bytes = index};
    uint32_t overhead = simtest_overhead(device);
    enum pb_status status;

    assert_true(count <= RECORD_MAX);
    status = device->ops->chase(device, &chase, &trace, NULL);
    for (size_t i = 0; status == PB_OK && i < count; i++) {
        latency_out[i] -= overhead;
        assert_int_equal(index[i], offsets[i]);
    }
    return status;
}

/* Average cycles of one warm pass. */
static double pass(struct pb_device *device, const uint64_t *offsets, size_t count,
                   uint64_t alias_bytes)
{
    struct pb_chase chase = {.path = PB_PATH_GLOBAL_CG,
                             .offset_bytes = offsets,
                             .offset_count = count,
                             .warm = 2 * count,
                             .timed = count,
                             .carveout_bytes = -1,
                             .sm = -1,
                             .alias_bytes = alias_bytes};
    struct pb_chase_trace trace = {0};

    assert_int_equal(device->ops->chase(device, &chase, &trace, NULL), PB_OK);
    return (double)trace.total_cycles / (double)count;
}

static void test_alias__lines_are_shared_and_pages_are_not(void **state)
{
    const uint64_t offsets[] = {0, 2 * mib + 8, 4 * mib + 16};
    json_t *root = simtest_profile();
    struct pb_device *device = simtest_open(root, NULL);
    uint32_t latency[3];

    (void)state;
    assert_int_equal(cold(device, PB_PATH_GLOBAL_CG, offsets, 3, 0, latency), PB_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(latency[i], 500 + 10 + 50);
    assert_int_equal(cold(device, PB_PATH_GLOBAL_CG, offsets, 3, 2 * mib, latency), PB_OK);
    assert_int_equal(latency[0], 500 + 10 + 50);
    assert_int_equal(latency[1], 200 + 10 + 50);
    assert_int_equal(latency[2], 200 + 10 + 50);
    device->ops->close(device);
    json_decref(root);
}

/* 8 GB of addresses on 1 GB of memory, and still every line in 16 KiB of L2: TLBs alone miss. */
static void test_alias__reaches_beyond_memory_with_lines_in_l2(void **state)
{
    enum { PAGES = 100 };
    json_t *root = simtest_profile();
    struct pb_device *device = simtest_open(root, NULL);
    struct pb_chase_trace trace = {0};
    uint64_t offsets[PAGES];
    struct pb_chase plain = {.path = PB_PATH_GLOBAL_CG,
                             .offset_bytes = offsets,
                             .offset_count = PAGES,
                             .timed = PAGES,
                             .carveout_bytes = -1,
                             .sm = -1};

    (void)state;
    for (uint64_t i = 0; i < PAGES; i++)
        offsets[i] = i * 80 * mib + i * 128;
    assert_float_equal(pass(device, offsets, 4, 2 * mib), 200, 0);
    assert_float_equal(pass(device, offsets, 8, 2 * mib), 210, 0);
    assert_float_equal(pass(device, offsets, PAGES, 2 * mib), 260, 0);
    assert_int_equal(device->ops->chase(device, &plain, &trace, NULL), PB_NO_MEMORY);
    device->ops->close(device);
    json_decref(root);
}

static void test_alias__refuses_what_would_break_the_chain(void **state)
{
    const uint64_t same[] = {0, 8, 2 * mib + 8}, two[] = {0, 2 * mib + 8},
                   far[] = {0, (1ull << 50) + 8};
    json_t *root = simtest_shipped("h200");
    struct pb_device *device = simtest_open(root, NULL);
    uint32_t latency[3];

    (void)state;
    assert_int_equal(cold(device, PB_PATH_GLOBAL_CA, same, 3, 2 * mib, latency), PB_INVALID);
    assert_int_equal(cold(device, PB_PATH_GLOBAL_CA, two, 2, 1 * mib, latency), PB_INVALID);
    assert_int_equal(cold(device, PB_PATH_GLOBAL_CA, two, 2, 1ull << 50, latency), PB_NO_MEMORY);
    assert_int_equal(cold(device, PB_PATH_GLOBAL_CA, far, 2, 2 * mib, latency), PB_NO_MEMORY);
    assert_int_equal(cold(device, PB_PATH_CONSTANT, two, 2, 2 * mib, latency), PB_UNSUPPORTED);
    assert_int_equal(cold(device, PB_PATH_TEXTURE, two, 2, 2 * mib, latency), PB_UNSUPPORTED);
    assert_int_equal(cold(device, PB_PATH_GLOBAL_CA, two, 2, 2 * mib, latency), PB_OK);
    device->ops->close(device);
    json_decref(root);
}

/* As on hardware: the second visit of a slot would lead on from the first one's successor. */
static void test_chase__refuses_a_slot_that_comes_twice(void **state)
{
    const uint64_t once[] = {64, 0, 8}, near_by[] = {64, 0, 64}, far_once[] = {8ull << 30, 0, 8},
                   far[] = {8ull << 30, 0, 8ull << 30};
    json_t *root = simtest_shipped("h200");
    struct pb_device *device = simtest_open(root, NULL);
    uint32_t latency[3];

    (void)state;
    assert_int_equal(cold(device, PB_PATH_GLOBAL_CA, once, 3, 0, latency), PB_OK);
    assert_int_equal(cold(device, PB_PATH_GLOBAL_CA, near_by, 3, 0, latency), PB_INVALID);
    assert_int_equal(cold(device, PB_PATH_GLOBAL_CA, far_once, 3, 0, latency), PB_OK);
    assert_int_equal(cold(device, PB_PATH_GLOBAL_CA, far, 3, 0, latency), PB_INVALID);
    device->ops->close(device);
    json_decref(root);
}

/* 8 rows of 1024 bytes are 8 KiB of memory, each byte of it once. */
static void test_tile__is_one_to_one(void **state)
{
    enum { BYTES = 8192 };
    static uint8_t taken[BYTES];

    (void)state;
    memset(taken, 0, sizeof(taken));
    for (uint64_t i = 0; i < BYTES; i++) {
        uint64_t at = pb_sim_tile_offset(i);
        uint8_t *byte = &taken[at % BYTES];

        assert_true(at < BYTES && *byte == 0);
        *byte = 1;
        assert_int_equal(pb_sim_tile_offset(i + 3 * BYTES), at + 3 * BYTES);
    }
}

/* A line of 32 bytes holds 16 bytes of two rows. */
static void test_texture_2d__lines_reach_into_the_next_row(void **state)
{
    const uint64_t square[] = {0, 8, 1024, 1032}, row[] = {0, 16};
    json_t *root = simtest_shipped("gtx780");
    struct pb_device *device;
    uint32_t latency[4];

    (void)state;
    simtest_set(root, "caches/1/prefetch_first_walk_only", NULL);
    simtest_set(root, "caches/1/prefetch_bytes", NULL); /* so that every cold line costs DRAM */
    device = simtest_open(root, NULL);
    assert_int_equal(cold(device, PB_PATH_TEXTURE_2D, square, 4, 0, latency), PB_OK);
    assert_true(latency[0] > 198);
    for (int i = 1; i < 4; i++)
        assert_int_equal(latency[i], 78);
    assert_int_equal(cold(device, PB_PATH_TEXTURE, square, 4, 0, latency), PB_OK);
    assert_int_equal(latency[1], 78);
    assert_true(latency[2] > 198);
    assert_int_equal(latency[3], 78);
    assert_int_equal(cold(device, PB_PATH_TEXTURE_2D, row, 2, 0, latency), PB_OK);
    assert_true(latency[1] > 198);
    assert_int_equal(cold(device, PB_PATH_TEXTURE, row, 2, 0, latency), PB_OK);
    assert_int_equal(latency[1], 78);
    device->ops->close(device);
    json_decref(root);
}

static void test_texture_2d__fits_the_same_cache(void **state)
{
    json_t *root = simtest_shipped("gtx780"), *none = simtest_profile();
    struct pb_device *device = simtest_open(root, NULL), *plain = simtest_open(none, NULL);
    const uint64_t offset = 0;
    uint32_t latency;

    (void)state;
    /* 12 KiB are 12 rows: the sets are even over whole blocks, so 8 rows fit and 16 do not */
    assert_float_equal(simtest_pass(device, PB_PATH_TEXTURE_2D, 8192 / 8, 8), 78, 0);
    assert_true(simtest_pass(device, PB_PATH_TEXTURE_2D, 16384 / 8, 8) > 100);
    assert_int_equal(cold(plain, PB_PATH_TEXTURE_2D, &offset, 1, 0, &latency), PB_UNSUPPORTED);
    device->ops->close(device);
    plain->ops->close(plain);
    json_decref(root);
    json_decref(none);
}

/* 2 KiB of 64-byte lines, then a second level of 256-byte lines, 64 KiB of constants in all. */
static void test_constant__has_two_levels_of_its_own(void **state)
{
    static const struct {
        const char *name;
        uint32_t l1, l15;
    } devices[] = {{"h200", 27, 106}, {"c2070", 46, 120}, {"k20", 46, 110}};
    const uint64_t lines[] = {0, 56, 64, 192, 256};

    (void)state;
    for (size_t i = 0; i < COUNT(devices); i++) {
        json_t *root = simtest_shipped(devices[i].name);
        struct pb_device *device = simtest_open(root, NULL);
        uint32_t latency[5];
        const uint64_t beyond[] = {0, 65536};

        assert_float_equal(simtest_pass(device, PB_PATH_CONSTANT, 32, 64), devices[i].l1, 0);
        assert_float_equal(simtest_pass(device, PB_PATH_CONSTANT, 64, 64), devices[i].l15, 0);
        assert_int_equal(cold(device, PB_PATH_CONSTANT, lines, 5, 0, latency), PB_OK);
        assert_true(latency[0] > devices[i].l15);
        assert_int_equal(latency[1], devices[i].l1);
        assert_int_equal(latency[2], devices[i].l15);
        assert_int_equal(latency[3], devices[i].l15);
        assert_true(latency[4] > devices[i].l15);
        assert_int_equal(cold(device, PB_PATH_CONSTANT, beyond, 2, 0, latency), PB_UNSUPPORTED);
        device->ops->close(device);
        json_decref(root);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alias__lines_are_shared_and_pages_are_not),
        cmocka_unit_test(test_alias__reaches_beyond_memory_with_lines_in_l2),
        cmocka_unit_test(test_alias__refuses_what_would_break_the_chain),
        cmocka_unit_test(test_chase__refuses_a_slot_that_comes_twice),
        cmocka_unit_test(test_tile__is_one_to_one),
        cmocka_unit_test(test_texture_2d__lines_reach_into_the_next_row),
        cmocka_unit_test(test_texture_2d__fits_the_same_cache),
        cmocka_unit_test(test_constant__has_two_levels_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
