/* Caches: index kinds, unequal sets, sectors, carve-outs, emptying and prefetch. */
#include "sim/simtest.h"

#include "device/sim/cache.h"

static struct pb_sim_cache *open_cache(const struct pb_sim_shape *shape, uint64_t prefetch_bytes)
{
    struct pb_sim_cache *cache = NULL;

    struct pb_sim_prefetch prefetch = {.bytes = prefetch_bytes};

    assert_int_equal(pb_sim_cache_create(shape, prefetch, &cache, NULL), PB_OK);
    return cache;
}

static bool load(struct pb_sim_cache *cache, uint64_t address)
{
    struct pb_sim_random random = {1};

    return pb_sim_cache_access(cache, address, &random);
}

/* Misses of one sequential pass after a warm one. */
static size_t misses_of_pass(struct pb_sim_cache *cache, size_t lines, uint64_t line_bytes)
{
    size_t misses = 0;

    for (size_t pass = 0; pass < 2; pass++) {
        misses = 0;
        for (size_t i = 0; i < lines; i++)
            misses += load(cache, i * line_bytes) ? 0 : 1;
    }
    return misses;
}

static void test_index_modulo__sets_need_not_be_a_power_of_two(void **state)
{
    uint32_t ways[3] = {1, 1, 1};
    struct pb_sim_shape shape = {
        .line_bytes = 32, .sector_bytes = 32, .set_count = 3, .ways = ways};
    struct pb_sim_cache *cache = open_cache(&shape, 0);

    (void)state;
    for (uint64_t line = 0; line < 30; line++)
        assert_int_equal(pb_sim_cache_set(cache, line * 32 + 31), line % 3);
    assert_int_equal(misses_of_pass(cache, 3, 32), 0);
    assert_int_equal(misses_of_pass(cache, 4, 32), 2); /* lines 0 and 3 share set 0 */
    pb_sim_cache_free(cache);
}

static void test_index_xor__bits_are_parities_of_byte_addresses(void **state)
{
    uint32_t ways[4] = {1, 1, 1, 1};
    struct pb_sim_shape shape = {.line_bytes = 32,
                                 .sector_bytes = 32,
                                 .set_count = 4,
                                 .ways = ways,
                                 .index = PB_SIM_INDEX_XOR,
                                 .masks = {0x80 | 0x2000, UINT64_C(0x8000000000000100)},
                                 .mask_count = 2};
    struct pb_sim_cache *cache = open_cache(&shape, 0);

    (void)state;
    assert_int_equal(pb_sim_cache_set(cache, 0), 0);
    assert_int_equal(pb_sim_cache_set(cache, 0x60), 0); /* 128 bytes share a set */
    assert_int_equal(pb_sim_cache_set(cache, 0x80), 1);
    assert_int_equal(pb_sim_cache_set(cache, 0x2000), 1);
    assert_int_equal(pb_sim_cache_set(cache, 0x2080), 0);
    assert_int_equal(pb_sim_cache_set(cache, 0x2100), 3);
    assert_int_equal(pb_sim_cache_set(cache, UINT64_C(0x8000000000000000)), 2);
    pb_sim_cache_free(cache);
}

static void test_index_dealt__unequal_sets_fill_to_the_last_entry(void **state)
{
    uint32_t ways[7] = {17, 8, 8, 8, 8, 8, 8};
    struct pb_sim_shape shape = {.line_bytes = 32,
                                 .sector_bytes = 32,
                                 .set_count = 7,
                                 .ways = ways,
                                 .index = PB_SIM_INDEX_DEALT};
    struct pb_sim_cache *cache = open_cache(&shape, 0);

    (void)state;
    /* M16 4.4: 65 entries fit; then the large set overflows at once, then one small set a time */
    assert_int_equal(misses_of_pass(cache, 65, 32), 0);
    assert_int_equal(misses_of_pass(cache, 66, 32), 18);
    for (size_t extra = 1; extra <= 6; extra++)
        assert_int_equal(misses_of_pass(cache, 66 + extra, 32), 18 + 9 * extra);
    pb_sim_cache_free(cache);
}

static void test_index_dealt__equal_sets_are_modulo(void **state)
{
    uint32_t ways[4] = {3, 3, 3, 3};
    struct pb_sim_shape shape = {.line_bytes = 32,
                                 .sector_bytes = 32,
                                 .set_count = 4,
                                 .ways = ways,
                                 .index = PB_SIM_INDEX_DEALT};
    struct pb_sim_cache *cache = open_cache(&shape, 0);

    (void)state;
    for (uint64_t line = 0; line < 100; line++)
        assert_int_equal(pb_sim_cache_set(cache, line * 32), line % 4);
    pb_sim_cache_free(cache);
}

static void test_sets__unequal_ways_of_a_cache_are_kept_apart(void **state)
{
    uint32_t ways[2] = {3, 1};
    struct pb_sim_shape shape = {
        .line_bytes = 32, .sector_bytes = 32, .set_count = 2, .ways = ways};
    struct pb_sim_cache *cache = open_cache(&shape, 0);

    (void)state;
    /* even lines: 3 fit; odd lines: 1 fits */
    assert_int_equal(misses_of_pass(cache, 2, 32), 0);
    pb_sim_cache_start(cache, 1024);
    assert_int_equal(misses_of_pass(cache, 5, 32), 2); /* lines 1 and 3 fight, 0, 2, 4 stay */
    pb_sim_cache_free(cache);
}

static void test_sectors__are_filled_one_by_one_and_leave_with_their_line(void **state)
{
    uint32_t ways[1] = {2};
    struct pb_sim_shape shape = {
        .line_bytes = 128, .sector_bytes = 32, .set_count = 1, .ways = ways};
    struct pb_sim_cache *cache = open_cache(&shape, 0);

    (void)state;
    assert_false(load(cache, 0));
    assert_true(load(cache, 24));
    assert_false(load(cache, 32)); /* the line is here, the sector is not */
    assert_true(load(cache, 32));
    assert_false(load(cache, 128));
    assert_false(load(cache, 96)); /* filling a sector evicts nothing */
    assert_true(load(cache, 128));
    assert_true(load(cache, 0));
    assert_false(load(cache, 256)); /* evicts line 1 with its one sector */
    assert_true(load(cache, 96));
    assert_false(load(cache, 128));
    pb_sim_cache_free(cache);
}

static void test_start__empties_everything(void **state)
{
    uint32_t ways[2] = {2, 2};
    struct pb_sim_shape shape = {
        .line_bytes = 32, .sector_bytes = 32, .set_count = 2, .ways = ways};
    struct pb_sim_cache *cache = open_cache(&shape, 0);

    (void)state;
    for (int round = 0; round < 3; round++) {
        pb_sim_cache_start(cache, 128);
        for (uint64_t line = 0; line < 4; line++)
            assert_false(load(cache, line * 32));
        for (uint64_t line = 0; line < 4; line++)
            assert_true(load(cache, line * 32));
    }
    pb_sim_cache_free(cache);
}

static void test_start__a_smaller_share_takes_ways_of_every_set(void **state)
{
    uint32_t ways[2] = {4, 4};
    struct pb_sim_shape shape = {
        .line_bytes = 32, .sector_bytes = 32, .set_count = 2, .ways = ways};
    struct pb_sim_cache *cache = open_cache(&shape, 0);

    (void)state;
    pb_sim_cache_start(cache, 192); /* 3 of 4 ways */
    assert_int_equal(misses_of_pass(cache, 6, 32), 0);
    assert_int_equal(misses_of_pass(cache, 7, 32), 4);
    pb_sim_cache_start(cache, 191); /* no half ways */
    assert_int_equal(misses_of_pass(cache, 4, 32), 0);
    assert_int_equal(misses_of_pass(cache, 5, 32), 3);
    pb_sim_cache_start(cache, 0);
    assert_int_equal(misses_of_pass(cache, 1, 32), 1);
    pb_sim_cache_free(cache);
}

/* Until then a launch that is repeated reaches the same state, and no window needs another. */
static void test_random_victim__is_known_from_the_first_one(void **state)
{
    static const enum pb_sim_policy policies[] = {PB_SIM_POLICY_LRU, PB_SIM_POLICY_RANDOM};
    uint32_t ways[1] = {2};

    (void)state;
    for (size_t i = 0; i < COUNT(policies); i++) {
        struct pb_sim_shape shape = {.line_bytes = 32,
                                     .sector_bytes = 32,
                                     .set_count = 1,
                                     .ways = ways,
                                     .policy = policies[i]};
        struct pb_sim_cache *cache = open_cache(&shape, 0);

        for (uint64_t line = 0; line < 2; line++)
            load(cache, line * 32);
        assert_false(pb_sim_cache_has_random_victim(cache));
        load(cache, 64);
        assert_int_equal(pb_sim_cache_has_random_victim(cache),
                         policies[i] == PB_SIM_POLICY_RANDOM);
        pb_sim_cache_start(cache, 64);
        assert_false(pb_sim_cache_has_random_victim(cache));
        pb_sim_cache_free(cache);
    }
}

/* Two sets of two ways: the first lets a line go, the second has room. */
static void test_keeps__what_is_here_where_nothing_was_let_go(void **state)
{
    uint32_t ways[2] = {2, 2};
    struct pb_sim_shape shape = {
        .line_bytes = 128, .sector_bytes = 32, .set_count = 2, .ways = ways};
    struct pb_sim_cache *cache = open_cache(&shape, 0);

    (void)state;
    assert_false(pb_sim_cache_keeps(cache, 128));
    for (uint64_t line = 0; line < 4; line++)
        load(cache, line * 128);
    assert_true(pb_sim_cache_keeps(cache, 0));
    assert_true(pb_sim_cache_keeps(cache, 128));
    assert_false(pb_sim_cache_keeps(cache, 128 + 32)); /* another sector */
    assert_false(pb_sim_cache_keeps(cache, 640));      /* another line */
    load(cache, 4 * 128);
    assert_true(pb_sim_cache_holds(cache, 4 * 128));
    assert_false(pb_sim_cache_keeps(cache, 4 * 128));
    assert_true(pb_sim_cache_keeps(cache, 128));
    pb_sim_cache_start(cache, 512);
    assert_false(pb_sim_cache_keeps(cache, 128));
    load(cache, 0);
    assert_true(pb_sim_cache_keeps(cache, 0));
    pb_sim_cache_free(cache);
}

static void test_prefetch__sequential_loads_miss_once_per_stream(void **state)
{
    uint32_t ways[1] = {64};
    struct pb_sim_shape shape = {
        .line_bytes = 32, .sector_bytes = 32, .set_count = 1, .ways = ways};
    struct pb_sim_cache *cache = open_cache(&shape, 128);

    (void)state;
    /* a miss brings the next 128 bytes: four sectors after the missed one */
    assert_false(load(cache, 0));
    for (uint64_t address = 32; address <= 128; address += 32)
        assert_true(load(cache, address));
    assert_false(load(cache, 160));
    assert_true(load(cache, 192));
    pb_sim_cache_free(cache);
}

static void test_prefetch__a_jump_misses_and_backwards_is_no_stream(void **state)
{
    uint32_t ways[1] = {64};
    struct pb_sim_shape shape = {
        .line_bytes = 32, .sector_bytes = 32, .set_count = 1, .ways = ways};
    struct pb_sim_cache *cache = open_cache(&shape, 1 << 20);

    (void)state;
    assert_false(load(cache, 1 << 16));
    assert_false(load(cache, (1 << 16) - 32));
    assert_false(load(cache, (1 << 16) + 8192)); /* further than a stream reaches */
    assert_true(load(cache, (1 << 16) + 8192 + 4096));
    pb_sim_cache_free(cache);
}

/* M16 4.6: the first chase in order pays once, later passes over more than fits pay as ever. */
static void test_prefetch__of_first_chases_only(void **state)
{
    uint32_t ways[1] = {64};
    struct pb_sim_shape shape = {
        .line_bytes = 32, .sector_bytes = 32, .set_count = 1, .ways = ways};
    struct pb_sim_prefetch prefetch = {.bytes = 1344, .first_walk_only = true};
    struct pb_sim_cache *cache = NULL;

    (void)state;
    assert_int_equal(pb_sim_cache_create(&shape, prefetch, &cache, NULL), PB_OK);
    for (int round = 0; round < 2; round++) {
        pb_sim_cache_start(cache, 2048);
        for (uint64_t line = 0; line < 86; line++) /* a miss brings itself and 42 lines more */
            assert_int_equal(load(cache, line * 32), line % 43 != 0);
        for (uint64_t line = 0; line < 86; line++) /* 22 more than fit; LRU */
            assert_false(load(cache, line * 32));
    }
    pb_sim_cache_free(cache);
}

/* Each load lies between ones that were made, or runs against the stream. */
static void test_prefetch__of_first_chases_helps_neither_backwards_nor_at_random(void **state)
{
    static const uint64_t order[] = {40, 0, 20, 21, 22, 10, 11, 30, 31, 32, 33, 1, 2};
    uint32_t ways[1] = {64};
    struct pb_sim_shape shape = {
        .line_bytes = 32, .sector_bytes = 32, .set_count = 1, .ways = ways};
    struct pb_sim_prefetch prefetch = {.bytes = 1344, .first_walk_only = true};
    struct pb_sim_cache *cache = NULL;

    (void)state;
    assert_int_equal(pb_sim_cache_create(&shape, prefetch, &cache, NULL), PB_OK);
    for (uint64_t line = 60; line > 40; line--)
        assert_false(load(cache, line * 32));
    pb_sim_cache_start(cache, 2048);
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
        assert_false(load(cache, order[i] * 32));
    pb_sim_cache_free(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_index_modulo__sets_need_not_be_a_power_of_two),
        cmocka_unit_test(test_index_xor__bits_are_parities_of_byte_addresses),
        cmocka_unit_test(test_index_dealt__unequal_sets_fill_to_the_last_entry),
        cmocka_unit_test(test_index_dealt__equal_sets_are_modulo),
        cmocka_unit_test(test_sets__unequal_ways_of_a_cache_are_kept_apart),
        cmocka_unit_test(test_sectors__are_filled_one_by_one_and_leave_with_their_line),
        cmocka_unit_test(test_start__empties_everything),
        cmocka_unit_test(test_start__a_smaller_share_takes_ways_of_every_set),
        cmocka_unit_test(test_random_victim__is_known_from_the_first_one),
        cmocka_unit_test(test_keeps__what_is_here_where_nothing_was_let_go),
        cmocka_unit_test(test_prefetch__sequential_loads_miss_once_per_stream),
        cmocka_unit_test(test_prefetch__a_jump_misses_and_backwards_is_no_stream),
        cmocka_unit_test(test_prefetch__of_first_chases_only),
        cmocka_unit_test(test_prefetch__of_first_chases_helps_neither_backwards_nor_at_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
