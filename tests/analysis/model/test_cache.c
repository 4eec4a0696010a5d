/* The model's cache: every policy by a sequence worked out by hand, sectors, sets, lines
 * outstanding.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/cache.h"

static struct pb_model_cache *make(const struct pb_model_shape *shape)
{
    struct pb_model_cache *cache = NULL;
    struct pb_error err = PB_ERROR_INIT;

    if (pb_model_cache_create(shape, 1, &cache, &err) != PB_OK)
        fail_msg("%s", err.message);
    return cache;
}

/* Lines "ABC…" one after the other: 'h' for each hit and '.' for each miss, as expected. */
static void check_lines(const struct pb_model_shape *shape, const char *lines, const char *expected)
{
    struct pb_model_cache *cache = make(shape);
    char found[64] = "";

    assert_int_equal(strlen(lines), strlen(expected));
    for (size_t i = 0; lines[i] != '\0'; i++)
        found[i] = pb_model_cache_touch(cache, (uint64_t)(lines[i] - 'A') * shape->line_bytes, NULL)
                       ? 'h'
                       : '.';
    assert_string_equal(found, expected);
    pb_model_cache_destroy(cache);
}

static struct pb_model_shape one_set(size_t ways, enum pb_model_policy policy)
{
    return (struct pb_model_shape){
        .line_bytes = 128, .set_count = 1, .way_count = ways, .policy = policy};
}

static void test_lru__evicts_what_was_not_used_longest(void **state)
{
    struct pb_model_shape shape = one_set(3, PB_MODEL_LRU);

    (void)state;
    /* D evicts B, not A: A was used again. */
    check_lines(&shape, "ABCADACBA", "...h.hh.h");
}

static void test_fifo__evicts_what_was_filled_first(void **state)
{
    struct pb_model_shape shape = one_set(3, PB_MODEL_FIFO);

    (void)state;
    /* D evicts A though it was used again; A evicts B, B evicts C, and C evicts D. */
    check_lines(&shape, "ABCADABCAB", "...h....hh");
}

static void test_plru__follows_the_tree(void **state)
{
    struct pb_model_shape shape = one_set(4, PB_MODEL_PLRU);

    (void)state;
    /*
     * After A B C D the root points left, there at A: E takes way 0. Root right, where C is to go:
     * F takes way 2. Root left, at B. Then A B C are missed and D still hits.
     */
    check_lines(&shape, "ABCDEFDBE", "......hhh");
    check_lines(&shape, "ABCDEFA", ".......");
    /* LRU would have evicted B by then. */
    check_lines(&shape, "ABCDEFB", "......h");
}

static void test_keep_hits__lines_that_have_hit_stay(void **state)
{
    struct pb_model_shape shape = one_set(3, PB_MODEL_KEEP_HITS);

    (void)state;
    /* A has hit; B, C, D, E pass through the other two ways. */
    check_lines(&shape, "AABCDEBCA", ".h......h");
    /* One of three ways keeps: A and B were, but C hit last. */
    check_lines(&shape, "AABBCCDEABC", ".h.h.h....h");
}

/*
 * Lines of one set of an H200's L1, four ways, in the order and with the hits that a recording of
 * its l1_policy test has: loads after which SLRU by lines, and one that gives up all others,
 * differ.
 */
static void test_keep_hits__the_last_two_hits_of_a_set_of_four_are_kept(void **state)
{
    struct pb_model_shape shape = one_set(4, PB_MODEL_KEEP_HITS);

    (void)state;
    check_lines(&shape, "DBEEADCADECABDABCBCEDBEEADCADECABDABCBCE",
                "...h.h.hhhhh..hhhhh..hhh...hhhhh..hhhhh.");
    check_lines(&shape, "DBEEEABBAACDECDCABDCDBEEEABBAACDECDCABDC",
                "...hh.hhhh...hhhh.hhhh.hh.hhhh...hhhh.hh");
    check_lines(&shape, "ABBDEACEBECBECADCDDAABBDEACEBECBECADCDDA",
                "..h..h.hhhhhhhh.hhhhh.hh.h...h..hhh.hhhh");
}

/* Line 0 is kept for its second sector, though that is missed; as an H200's L1 does. */
static void test_keep_hits__a_sector_that_is_missed_keeps_its_line(void **state)
{
    struct pb_model_shape shape = {.line_bytes = 128,
                                   .sector_bytes = 32,
                                   .set_count = 1,
                                   .way_count = 2,
                                   .policy = PB_MODEL_KEEP_HITS};
    struct pb_model_cache *cache = make(&shape);

    (void)state;
    assert_false(pb_model_cache_touch(cache, 0, NULL));
    assert_false(pb_model_cache_touch(cache, 32, NULL));
    assert_false(pb_model_cache_touch(cache, 128, NULL));
    assert_false(
        pb_model_cache_touch(cache, 256, NULL)); /* in the place of line 1, though it is newer */
    assert_true(pb_model_cache_touch(cache, 0, NULL));
    assert_false(pb_model_cache_touch(cache, 128, NULL));
    assert_true(pb_model_cache_touch(cache, 32, NULL));
    pb_model_cache_destroy(cache);
}

static void test_random__every_way_alike(void **state)
{
    struct pb_model_shape shape = one_set(4, PB_MODEL_RANDOM);
    struct pb_model_cache *cache = make(&shape);
    size_t victims[4] = {0};
    uint64_t lines[4] = {0, 1, 2, 3};

    (void)state;
    for (uint64_t line = 0; line < 4; line++)
        assert_false(pb_model_cache_touch(cache, 128 * line, NULL));
    assert_false(pb_model_cache_has_random_victim(cache));
    for (uint64_t line = 4; line < 8004; line++) {
        struct pb_model_lookup lookup;
        size_t way = 0;

        pb_model_cache_access(cache, 128 * line, 1, 0.0, &lookup);
        assert_true(lookup.has_evicted);
        while (way < 4 && lines[way] != lookup.evicted_line)
            way++;
        assert_in_range(way, 0, 3);
        lines[way] = line;
        victims[way]++;
    }
    assert_true(pb_model_cache_has_random_victim(cache));
    for (size_t way = 0; way < 4; way++) /* 2000, standard deviation 39 */
        assert_in_range(victims[way], 1800, 2200);
    pb_model_cache_destroy(cache);
}

static void test_weighted__ways_by_their_weights(void **state)
{
    static const double weights[] = {1, 3, 0, 1};
    struct pb_model_shape shape = one_set(4, PB_MODEL_WEIGHTED);
    struct pb_model_cache *cache;
    size_t kept = 0, second = 0;
    uint64_t lines[4] = {0, 1, 2, 3};

    (void)state;
    shape.way_weights = weights;
    cache = make(&shape);
    for (uint64_t line = 0; line < 4; line++)
        pb_model_cache_touch(cache, 128 * line, NULL);
    for (uint64_t line = 4; line < 8004; line++) {
        struct pb_model_lookup lookup;

        pb_model_cache_access(cache, 128 * line, 1, 0.0, &lookup);
        kept += lookup.evicted_line == lines[2];
        second += lookup.evicted_line == lines[1];
        for (size_t way = 0; way < 4; way++)
            lines[way] = lines[way] == lookup.evicted_line ? line : lines[way];
    }
    assert_int_equal(kept, 0);
    assert_in_range(second, 4560, 5040); /* 4800, standard deviation 44 */
    pb_model_cache_destroy(cache);
}

static void test_sectors__a_line_without_the_sector_misses_and_evicts_nothing(void **state)
{
    struct pb_model_shape shape = {
        .line_bytes = 128, .sector_bytes = 32, .set_count = 1, .way_count = 2};
    struct pb_model_cache *cache = make(&shape);
    struct pb_model_lookup lookup;

    (void)state;
    assert_false(pb_model_cache_touch(cache, 0, NULL));
    assert_true(pb_model_cache_touch(cache, 31, NULL));
    pb_model_cache_access(cache, 32, 0xe, 0.0, &lookup);
    assert_int_equal(lookup.missed, 0xe);
    assert_true(lookup.is_line_hit);
    assert_false(lookup.has_evicted);
    pb_model_cache_access(cache, 128, 0x3, 0.0, &lookup);
    pb_model_cache_access(cache, 255, 0x6, 0.0, &lookup);
    assert_int_equal(lookup.hit, 0x2);
    assert_int_equal(lookup.missed, 0x4);
    pb_model_cache_access(cache, 256, 0x1, 0.0, &lookup);
    assert_true(lookup.has_evicted);
    assert_int_equal(lookup.evicted_line, 0);
    assert_int_equal(pb_model_cache_peek(cache, 0, 0xf), 0);
    pb_model_cache_invalidate(cache, 130, 0x1);
    assert_int_equal(pb_model_cache_peek(cache, 128, 0xf), 0x6);
    pb_model_cache_destroy(cache);
}

static void test_sectors__of_an_access(void **state)
{
    struct pb_model_shape shape = {
        .line_bytes = 128, .sector_bytes = 32, .set_count = 1, .way_count = 2};
    struct pb_model_cache *cache = make(&shape);

    (void)state;
    assert_int_equal(pb_model_cache_sectors(cache, 0, 1), 0x1);
    assert_int_equal(pb_model_cache_sectors(cache, 28, 8), 0x3);
    assert_int_equal(pb_model_cache_sectors(cache, 256 + 96, 4), 0x8);
    assert_int_equal(pb_model_cache_sectors(cache, 128, 128), 0xf);
    assert_int_equal(pb_model_cache_sectors(cache, 96, 64), 0x8); /* the rest is the next line's */
    pb_model_cache_destroy(cache);
}

static void test_index__modulo_any_number_of_sets(void **state)
{
    struct pb_model_shape shape = {.line_bytes = 32, .set_count = 3, .way_count = 1};

    (void)state;
    /* A and D share a set, B and E. */
    check_lines(&shape, "ABCADBEB", "...h.h..");
}

static void test_index__xor_is_the_parity_of_masked_bits(void **state)
{
    struct pb_model_shape shape = {.line_bytes = 128,
                                   .set_count = 512,
                                   .way_count = 4,
                                   .index_masks = {0x30080, 0x60100, 0x40200, 0x20400, 0x70800,
                                                   0x51000, 0x52000, 0x4000, 0x48000},
                                   .index_mask_count = 9};
    struct pb_model_cache *cache = make(&shape);

    (void)state;
    for (uint64_t i = 0, address = 0; i < 1000; i++, address += 0x1234567891) {
        size_t set = 0;

        for (size_t bit = 0; bit < 9; bit++)
            set |= (size_t)__builtin_parityll(address & shape.index_masks[bit]) << bit;
        assert_int_equal(pb_model_cache_set(cache, address), set);
    }
    pb_model_cache_destroy(cache);
}

static void test_ways__sets_may_differ(void **state)
{
    static const uint32_t ways[] = {1, 3};
    struct pb_model_shape shape = {.line_bytes = 128, .set_count = 2, .way_counts = ways};

    (void)state;
    check_lines(&shape, "ACA", "...");           /* set 0: one way */
    check_lines(&shape, "BDFBDFHB", "...hhh.."); /* set 1: three */
}

static void test_wide_sets__are_searched_like_narrow_ones(void **state)
{
    enum { WAYS = 96, LINES = 130, ACCESSES = 50000 };
    struct pb_model_shape shape = one_set(WAYS, PB_MODEL_LRU);
    struct pb_model_cache *cache = make(&shape);
    uint64_t last[LINES] = {0}, random = 1;

    (void)state;
    for (uint64_t now = 1; now <= ACCESSES; now++) {
        size_t line, newer = 0;

        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        line = (size_t)(random >> 33) % LINES;
        for (size_t other = 0; other < LINES; other++) /* its stack distance */
            newer += last[other] > last[line];
        assert_int_equal(pb_model_cache_touch(cache, line * 128, NULL),
                         last[line] > 0 && newer < WAYS);
        last[line] = now;
    }
    pb_model_cache_destroy(cache);
}

static void test_capacity__sets_lose_their_oldest_lines_in_turn(void **state)
{
    struct pb_model_shape shape = {
        .line_bytes = 128, .set_count = 64, .way_count = 4, .capacity_lines = 192};
    struct pb_model_cache *cache = make(&shape);
    bool is_lost[64] = {false};

    (void)state;
    for (uint64_t line = 0; line < 192; line++)
        assert_false(pb_model_cache_touch(cache, line * 128, NULL));
    for (uint64_t line = 192; line < 256; line++) {
        struct pb_model_lookup lookup;

        pb_model_cache_access(cache, line * 128, 1, 0.0, &lookup);
        assert_true(lookup.has_evicted);
        assert_in_range(lookup.evicted_line, 0, 63);
        assert_false(is_lost[lookup.evicted_line]);
        is_lost[lookup.evicted_line] = true;
    }
    pb_model_cache_destroy(cache);
}

/* As an H200's L1 with 32 KiB set aside: 809 misses in the second pass, 512 in each later one. */
static void test_capacity__loop_too_long_loses_a_line_of_each_set(void **state)
{
    struct pb_model_shape shape = {.line_bytes = 128,
                                   .set_count = 512,
                                   .way_count = 4,
                                   .policy = PB_MODEL_KEEP_HITS,
                                   .capacity_lines = 1736};
    struct pb_model_cache *cache = make(&shape);
    size_t misses[6] = {0};

    (void)state;
    for (size_t pass = 0; pass < 6; pass++)
        for (uint64_t line = 0; line < 1856; line++)
            misses[pass] += !pb_model_cache_touch(cache, line * 128, NULL);
    assert_in_range(misses[1], 760, 880);
    for (size_t pass = 2; pass < 6; pass++)
        assert_in_range(misses[pass], 500, 524);
    pb_model_cache_destroy(cache);
}

/* Of a set of three, B goes before the older A, and A stays until nothing else is there. */
static void test_rank__first_goes_first_and_last_goes_last(void **state)
{
    struct pb_model_shape shape = one_set(3, PB_MODEL_LRU);
    struct pb_model_cache *cache = make(&shape);

    (void)state;
    for (uint64_t line = 0; line < 3; line++)
        assert_false(pb_model_cache_touch(cache, line * 128, NULL));
    pb_model_cache_rank(cache, 0, PB_MODEL_GOES_LAST);
    pb_model_cache_rank(cache, 128, PB_MODEL_GOES_FIRST);
    assert_true(pb_model_cache_touch(cache, 128, NULL)); /* used last, and goes all the same */
    assert_false(pb_model_cache_touch(cache, 3 * 128, NULL));
    assert_int_equal(pb_model_cache_peek(cache, 128, 1), 0);
    for (uint64_t line = 4; line < 20; line++)
        assert_false(pb_model_cache_touch(cache, line * 128, NULL));
    assert_true(pb_model_cache_touch(cache, 0, NULL));
    pb_model_cache_destroy(cache);
}

/* A full store makes room in the sets that have a line to go first, and in no other one. */
static void test_rank__of_a_full_store_other_sets_lose_nothing(void **state)
{
    const struct pb_model_shape shape = {
        .line_bytes = 128, .set_count = 64, .way_count = 4, .capacity_lines = 192};
    struct pb_model_cache *cache = make(&shape);

    (void)state;
    for (uint64_t line = 0; line < 128; line++)
        assert_false(pb_model_cache_touch(cache, line * 128, NULL));
    for (uint64_t line = 128; line < 1024; line++) {
        assert_false(pb_model_cache_touch(cache, line * 128, NULL));
        pb_model_cache_rank(cache, line * 128, PB_MODEL_GOES_FIRST);
    }
    for (uint64_t line = 0; line < 128; line++)
        assert_true(pb_model_cache_touch(cache, line * 128, NULL));
    pb_model_cache_destroy(cache);
}

static void test_drop__leaves_room_for_another_line(void **state)
{
    struct pb_model_shape shape = one_set(3, PB_MODEL_KEEP_HITS);
    struct pb_model_cache *cache = make(&shape);

    (void)state;
    for (uint64_t line = 0; line < 3; line++)
        assert_false(pb_model_cache_touch(cache, line * 128, NULL));
    pb_model_cache_drop(cache, 128);
    pb_model_cache_drop(cache, 128);
    assert_false(pb_model_cache_touch(cache, 3 * 128, NULL));
    assert_true(pb_model_cache_touch(cache, 0, NULL));
    assert_true(pb_model_cache_touch(cache, 2 * 128, NULL));
    assert_true(pb_model_cache_touch(cache, 3 * 128, NULL));
    pb_model_cache_destroy(cache);
}

static void test_clear__forgets_all(void **state)
{
    struct pb_model_shape shape = {.line_bytes = 128, .set_count = 4, .way_count = 32};
    struct pb_model_cache *cache = make(&shape);

    (void)state;
    for (int round = 0; round < 3; round++) {
        for (uint64_t line = 0; line < 128; line++)
            assert_false(pb_model_cache_touch(cache, line * 128, NULL));
        for (uint64_t line = 0; line < 128; line++)
            assert_true(pb_model_cache_touch(cache, line * 128, NULL));
        pb_model_cache_clear(cache);
    }
    pb_model_cache_destroy(cache);
}

static void test_in_flight__until_the_data_arrive(void **state)
{
    struct pb_model_shape shape = {
        .line_bytes = 128, .sector_bytes = 32, .set_count = 1, .way_count = 1};
    struct pb_model_cache *cache = make(&shape);
    struct pb_error err = PB_ERROR_INIT;
    struct pb_model_lookup lookup;

    (void)state;
    pb_model_cache_access(cache, 0, 0x1, 10.0, &lookup);
    assert_int_equal(lookup.missed, 0x1);
    assert_int_equal(pb_model_cache_fill(cache, lookup.slot, lookup.missed, 310.0, &err), PB_OK);
    pb_model_cache_access(cache, 0, 0x3, 20.0, &lookup);
    assert_int_equal(lookup.in_flight, 0x1);
    assert_int_equal(lookup.missed, 0x2);
    assert_true(lookup.ready_time == 310.0);
    assert_int_equal(pb_model_cache_fill(cache, lookup.slot, lookup.missed, 320.0, &err), PB_OK);
    pb_model_cache_access(cache, 0, 0x3, 310.0, &lookup);
    assert_int_equal(lookup.hit, 0x1);
    assert_int_equal(lookup.in_flight, 0x2);
    pb_model_cache_access(cache, 128, 0x1, 315.0, &lookup); /* evicted while outstanding */
    assert_true(lookup.has_evicted);
    pb_model_cache_access(cache, 0, 0x2, 316.0, &lookup);
    assert_int_equal(lookup.missed, 0x2);
    pb_model_cache_access(cache, 0, 0x2, 317.0, &lookup); /* no time was given: it is there */
    assert_int_equal(lookup.hit, 0x2);
    pb_model_cache_destroy(cache);
}

static void check_refused(const struct pb_model_shape *shape, const char *expected)
{
    struct pb_model_cache *cache = NULL;
    struct pb_error err = PB_ERROR_INIT;

    assert_int_equal(pb_model_cache_create(shape, 1, &cache, &err), PB_INVALID);
    assert_null(cache);
    if (strstr(err.message, expected) == NULL)
        fail_msg("expected \"%s\" in \"%s\"", expected, err.message);
}

static void test_shape__what_cannot_be_is_refused(void **state)
{
    struct pb_model_shape good = {.line_bytes = 128, .set_count = 4, .way_count = 4}, bad;

    (void)state;
    bad = good;
    bad.line_bytes = 96;
    check_refused(&bad, "line");
    bad = good;
    bad.sector_bytes = 2;
    check_refused(&bad, "sector");
    bad = good;
    bad.set_count = 0;
    check_refused(&bad, "sets");
    bad = good;
    bad.way_count = 0;
    check_refused(&bad, "ways");
    bad = good;
    bad.index_mask_count = 3;
    check_refused(&bad, "3 index masks");
    bad = good;
    bad.policy = PB_MODEL_WEIGHTED;
    check_refused(&bad, "weights");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lru__evicts_what_was_not_used_longest),
        cmocka_unit_test(test_fifo__evicts_what_was_filled_first),
        cmocka_unit_test(test_plru__follows_the_tree),
        cmocka_unit_test(test_keep_hits__lines_that_have_hit_stay),
        cmocka_unit_test(test_keep_hits__the_last_two_hits_of_a_set_of_four_are_kept),
        cmocka_unit_test(test_keep_hits__a_sector_that_is_missed_keeps_its_line),
        cmocka_unit_test(test_random__every_way_alike),
        cmocka_unit_test(test_weighted__ways_by_their_weights),
        cmocka_unit_test(test_sectors__a_line_without_the_sector_misses_and_evicts_nothing),
        cmocka_unit_test(test_sectors__of_an_access),
        cmocka_unit_test(test_index__modulo_any_number_of_sets),
        cmocka_unit_test(test_index__xor_is_the_parity_of_masked_bits),
        cmocka_unit_test(test_ways__sets_may_differ),
        cmocka_unit_test(test_wide_sets__are_searched_like_narrow_ones),
        cmocka_unit_test(test_capacity__sets_lose_their_oldest_lines_in_turn),
        cmocka_unit_test(test_capacity__loop_too_long_loses_a_line_of_each_set),
        cmocka_unit_test(test_rank__first_goes_first_and_last_goes_last),
        cmocka_unit_test(test_rank__of_a_full_store_other_sets_lose_nothing),
        cmocka_unit_test(test_drop__leaves_room_for_another_line),
        cmocka_unit_test(test_clear__forgets_all),
        cmocka_unit_test(test_in_flight__until_the_data_arrive),
        cmocka_unit_test(test_shape__what_cannot_be_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
