/* What no shipped profile has: devices that a test draws up itself, and finds again. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "battery/rig.h"

#define TLB                                                                                        \
    "{\"id\": \"tlb\", \"page_bytes\": 2097152, \"entry_span_bytes\": 2097152, \"ways\": 16,"      \
    " \"policy\": {\"kind\": \"lru\"}, \"penalty_cycles\": 30}"

/* The smallest cache that lines of 32 byte, 4 sets and 2 ways make: it begins below 1 KiB. */
static void test_search__a_cache_of_256_bytes_has_an_edge(void **state)
{
    static const char *const caches =
        "{\"id\": \"l1\", \"paths\": [\"global_ca\"], \"line_bytes\": 32, \"sector_bytes\": 32,"
        " \"sets\": 4, \"ways\": 2, \"index\": {\"kind\": \"modulo\"},"
        " \"policy\": {\"kind\": \"lru\"}, \"latency_cycles\": 46},"
        "{\"id\": \"l2\", \"paths\": [\"global_ca\", \"global_cg\"], \"line_bytes\": 32,"
        " \"sector_bytes\": 32, \"sets\": 1024, \"ways\": 8, \"index\": {\"kind\": \"modulo\"},"
        " \"policy\": {\"kind\": \"lru\"}, \"latency_cycles\": 200}";
    struct pb_recording recording;
    struct pb_session session;

    (void)state;
    rig_open_custom(caches, TLB, "", &session);
    rig_run(&session, "l1_capacity", &recording);
    assert_int_equal(session.hints[PB_CACHE_L1].edge_bytes, 256);
    pb_recording_clear(&recording);
    rig_run(&session, "l1_line", &recording);
    assert_int_equal(session.hints[PB_CACHE_L1].line_bytes, 32);
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

/*
 * Its first eight lines share a set of four ways: it misses from the fifth on, and what is loaded
 * to find the line is shorter than the longest stride.
 */
static void test_search__a_set_of_neighbours_leaves_room_for_short_strides(void **state)
{
    static const char *const caches =
        "{\"id\": \"l1\", \"paths\": [\"global_ca\"], \"line_bytes\": 128, \"sector_bytes\": 128,"
        " \"sets\": 8, \"ways\": 4, \"index\": {\"kind\": \"xor\","
        " \"masks\": [\"0x400\", \"0x800\", \"0x1000\"]}, \"policy\": {\"kind\": \"lru\"},"
        " \"latency_cycles\": 90},"
        "{\"id\": \"l2\", \"paths\": [\"global_ca\", \"global_cg\"], \"line_bytes\": 32,"
        " \"sector_bytes\": 32, \"sets\": 512, \"ways\": 16, \"index\": {\"kind\": \"modulo\"},"
        " \"policy\": {\"kind\": \"lru\"}, \"latency_cycles\": 210}";
    static const char *const tests[] = {"l1_line", "l1_sets", "l1_policy", "l1_alignment",
                                        "classic_saavedra"};
    struct pb_recording recording;
    struct pb_session session;

    (void)state;
    rig_open_custom(caches, TLB, "", &session);
    for (size_t i = 0; i < COUNT(tests); i++) {
        rig_run(&session, tests[i], &recording);
        pb_recording_clear(&recording);
    }
    assert_int_equal(session.hints[PB_CACHE_L1].edge_bytes, 4 * 128);
    assert_int_equal(session.hints[PB_CACHE_L1].line_bytes, 128);
    pb_session_close(&session);
}

/*
 * A hit with a spike of 193 cycles takes as long as a miss, and one or two are in every pass: the
 * search must neither take them for the edge nor go down line by line to get away from them.
 */
static void test_search__spikes_that_look_like_misses_do_not_move_the_edge(void **state)
{
    static const char *const caches =
        "{\"id\": \"l2\", \"paths\": [\"global_ca\", \"global_cg\"], \"line_bytes\": 64,"
        " \"sector_bytes\": 64, \"sets\": 768, \"ways\": 24, \"index\": {\"kind\": \"modulo\"},"
        " \"policy\": {\"kind\": \"plru\"}, \"latency_cycles\": 302}";
    struct pb_recording recording;
    struct pb_session session;

    (void)state;
    rig_open_custom(caches, TLB,
                    ", \"noise\": {\"jitter_cycles\": 2, \"spike_probability\": 1e-4,"
                    " \"spike_cycles\": 193}",
                    &session);
    rig_run(&session, "l2_capacity", &recording);
    assert_int_equal(session.hints[PB_CACHE_L2].edge_bytes, 64 * 768 * 24);
    assert_true(recording.series.point_count < 250);
    pb_recording_clear(&recording);
    rig_run(&session, "l2_line", &recording);
    assert_int_equal(session.hints[PB_CACHE_L2].line_bytes, 64);
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

/*
 * The driver states the size of the cache behind L2, of whose hits and misses L2's are neither: the
 * reference and the first footprint of the sweep would be too large for this L2.
 */
static void test_search__a_small_l2_before_another_cache_has_its_own_edge(void **state)
{
    static const char *const sets[] = {"1024", "16384"}; /* 1 MiB: passes; 16 MiB: samples */
    static const char *const l2 =
        "{\"id\": \"l2\", \"paths\": [\"global_ca\", \"global_cg\"], \"line_bytes\": 64,"
        " \"sector_bytes\": 32, \"sets\": 256, \"ways\": 5, \"index\": {\"kind\": \"modulo\"},"
        " \"policy\": {\"kind\": \"lru\"}, \"latency_cycles\": 166, \"prefetch_bytes\": 256}";

    (void)state;
    for (size_t i = 0; i < COUNT(sets); i++) {
        struct pb_recording recording;
        struct pb_session session;
        char caches[1024];

        snprintf(caches, sizeof(caches),
                 "%s, {\"id\": \"l3\", \"paths\": [\"global_ca\", \"global_cg\"],"
                 " \"line_bytes\": 64, \"sector_bytes\": 64, \"sets\": %s, \"ways\": 16,"
                 " \"index\": {\"kind\": \"modulo\"}, \"policy\": {\"kind\": \"lru\"},"
                 " \"latency_cycles\": 348}",
                 l2, sets[i]);
        rig_open_custom(caches, TLB, "", &session);
        rig_run(&session, "l2_capacity", &recording);
        assert_int_equal(session.hints[PB_CACHE_L2].edge_bytes, 64 * 256 * 5);
        pb_recording_clear(&recording);
        pb_session_close(&session);
    }
}

/* Drawn victims: an array of which the first lines stay, or all but a few, need not be kept whole.
 */
static void test_search__a_reference_fits_behind_drawn_victims(void **state)
{
    (void)state;
    for (unsigned sets = 2048; sets <= 6144; sets += 512) {
        struct pb_recording recording;
        struct pb_session session;
        char caches[1024];

        snprintf(caches, sizeof(caches),
                 "{\"id\": \"l2\", \"paths\": [\"global_ca\", \"global_cg\"],"
                 " \"line_bytes\": 128, \"sector_bytes\": 32, \"sets\": %u, \"ways\": 2,"
                 " \"index\": {\"kind\": \"modulo\"}, \"policy\": {\"kind\": \"weighted\","
                 " \"weights\": [1, 5]}, \"latency_cycles\": 239},"
                 " {\"id\": \"l3\", \"paths\": [\"global_ca\", \"global_cg\"],"
                 " \"line_bytes\": 64, \"sector_bytes\": 64, \"sets\": 32768, \"ways\": 9,"
                 " \"index\": {\"kind\": \"modulo\"}, \"policy\": {\"kind\": \"lru\"},"
                 " \"latency_cycles\": 449}",
                 sets);
        rig_open_custom(caches, TLB, "", &session);
        rig_run(&session, "l2_capacity", &recording);
        for (size_t i = 0; i < recording.series.point_count; i++) {
            const struct pb_point *point = &recording.series.points[i];

            if (strcmp(point->phase, "reference") == 0)
                assert_true(point->footprint_bytes <= sets * 256);
        }
        pb_recording_clear(&recording);
        pb_session_close(&session);
    }
}

/* One line too many in a set of 80 to 96 that draws its victims: a miss or two a pass, anywhere. */
static void test_search__few_misses_of_a_drawing_policy_are_enough(void **state)
{
    static const char *const l2 =
        "{\"id\": \"l2\", \"paths\": [\"global_ca\", \"global_cg\", \"texture\"],"
        " \"line_bytes\": 32, \"sector_bytes\": 32, \"sets\": 1024, \"ways\": 16,"
        " \"index\": {\"kind\": \"modulo\"}, \"policy\": {\"kind\": \"lru\"}, \"latency_cycles\": "
        "200}";

    (void)state;
    for (unsigned ways = 80; ways <= 96; ways++) {
        struct pb_recording recording;
        struct pb_session session;
        char caches[1024];

        snprintf(caches, sizeof(caches),
                 "{\"id\": \"texture\", \"paths\": [\"texture\"], \"line_bytes\": 32,"
                 " \"sector_bytes\": 32, \"sets\": 4, \"ways\": %u,"
                 " \"index\": {\"kind\": \"modulo\"}, \"policy\": {\"kind\": \"random\"},"
                 " \"latency_cycles\": 100}, %s",
                 ways, l2);
        rig_open_custom(caches, TLB, "", &session);
        rig_run(&session, "texture_capacity", &recording);
        assert_int_equal(session.hints[PB_CACHE_TEXTURE].edge_bytes, 32 * 4 * ways);
        pb_recording_clear(&recording);
        pb_session_close(&session);
    }
}

/*
 * Sets of 8, 8, 7 and 8 ways: the third one overflows with the 31st line of an array that begins in
 * the first set, with the 30th of one that begins a line later, and so on round.
 */
static void test_bases__unequal_sets_move_the_edge(void **state)
{
    static const char *const caches =
        "{\"id\": \"l1\", \"paths\": [\"global_ca\"], \"line_bytes\": 128, \"sector_bytes\": 128,"
        " \"ways\": [8, 8, 7, 8], \"index\": {\"kind\": \"modulo\"},"
        " \"policy\": {\"kind\": \"lru\"}, \"latency_cycles\": 46},"
        "{\"id\": \"l2\", \"paths\": [\"global_ca\", \"global_cg\"], \"line_bytes\": 128,"
        " \"sector_bytes\": 32, \"sets\": 1024, \"ways\": 8, \"index\": {\"kind\": \"modulo\"},"
        " \"policy\": {\"kind\": \"lru\"}, \"latency_cycles\": 200}";
    static const uint64_t fits_lines[] = {30, 29, 28, 31}; /* by the first line's set */
    struct pb_recording recording;
    struct pb_session session;
    const struct pb_point *point;
    uint64_t origin;
    size_t at = 0, fitting = 0, overflowing = 0;

    (void)state;
    rig_open_custom(caches, TLB, "", &session);
    rig_run(&session, "l1_alignment", &recording);
    origin = recording.series.points[0].base_address;
    while ((point = rig_next(&recording, "shifted", NULL, &at)) != NULL) {
        uint64_t set = (point->base_address - origin) / 128 % 4;
        uint64_t lines = point->footprint_bytes / 128;
        size_t misses = rig_count(&recording, point, 199, 202);

        for (size_t i = 0; i < point->count; i++)
            assert_true(rig_index(&recording, point, i) < point->footprint_bytes);
        assert_int_equal(misses > 0, lines > fits_lines[set]);
        fitting += lines == fits_lines[set];
        overflowing += lines == fits_lines[set] + 1;
    }
    assert_true(fitting >= 8 && overflowing >= 8);
    assert_non_null(strstr(recording.message, "3584 to 3968 bytes"));
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

/*
 * A second constant cache of 16 KiB with lines of 256 byte behind one of 2 KiB with 64: its edge is
 * requested in strides of the first one's lines, and its line is its own.
 */
static void test_constant__the_second_cache_has_its_own_line(void **state)
{
    static const char *const caches =
        "{\"id\": \"c1\", \"paths\": [\"constant\"], \"line_bytes\": 64, \"sector_bytes\": 64,"
        " \"sets\": 8, \"ways\": 4, \"index\": {\"kind\": \"modulo\"},"
        " \"policy\": {\"kind\": \"lru\"}, \"latency_cycles\": 30},"
        "{\"id\": \"c15\", \"paths\": [\"constant\"], \"line_bytes\": 256, \"sector_bytes\": 256,"
        " \"sets\": 16, \"ways\": 4, \"index\": {\"kind\": \"modulo\"},"
        " \"policy\": {\"kind\": \"lru\"}, \"latency_cycles\": 97},"
        "{\"id\": \"l2\", \"paths\": [\"global_ca\", \"global_cg\", \"constant\"],"
        " \"line_bytes\": 128, \"sector_bytes\": 32, \"sets\": 1024, \"ways\": 8,"
        " \"index\": {\"kind\": \"modulo\"}, \"policy\": {\"kind\": \"lru\"}, \"latency_cycles\": "
        "200}";
    struct pb_recording recording;
    struct pb_session session;

    (void)state;
    rig_open_custom(caches, TLB, "", &session);
    rig_run(&session, "constant_line", &recording);
    pb_recording_clear(&recording);
    rig_run(&session, "constant_l15_capacity", &recording);
    pb_recording_clear(&recording);
    rig_run(&session, "constant_l15_line", &recording);
    assert_int_equal(session.hints[PB_CACHE_CONSTANT].line_bytes, 64);
    assert_int_equal(session.hints[PB_CACHE_CONSTANT_L15].edge_bytes, 16384);
    assert_int_equal(session.hints[PB_CACHE_CONSTANT_L15].line_bytes, 256);
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

/*
 * An L2 of 4.5 MiB is sampled. The sets that overflow lie side by side, far from the array's start:
 * the chase has to look for them, and there shows lines of 128 byte in sectors of 32.
 */
static void test_line__of_a_large_cache_is_looked_for_all_over(void **state)
{
    static const char *const caches =
        "{\"id\": \"l2\", \"paths\": [\"global_ca\", \"global_cg\"], \"line_bytes\": 128,"
        " \"sector_bytes\": 32, \"sets\": 2304, \"ways\": 16, \"index\": {\"kind\": \"modulo\"},"
        " \"policy\": {\"kind\": \"lru\"}, \"latency_cycles\": 200}";
    struct pb_recording recording;
    const struct pb_point *point;
    struct pb_session session;
    size_t at = 0, turns = 0;

    (void)state;
    rig_open_custom(caches, TLB, "", &session);
    rig_run(&session, "l2_line", &recording);
    assert_int_equal(session.hints[PB_CACHE_L2].line_bytes, 128);
    while ((point = rig_next(&recording, "overflow", NULL, &at)) != NULL) {
        for (size_t i = 1; i < point->count; i++) {
            bool missed = rig_cycles(&recording, point, i - 1) > 400;

            if (missed == (rig_cycles(&recording, point, i) > 400))
                continue;
            assert_int_equal(rig_index(&recording, point, i) % 128, 0);
            turns++;
        }
    }
    assert_true(turns >= 8);
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

enum { PLRU_SETS = 16, PLRU_WAYS = 8, PLRU_LINES = PLRU_SETS * PLRU_WAYS };

/* How many lines of the array ever missed in these passes; all of them must be of X's set. */
static size_t lines_seen(const struct pb_recording *recording, const char *phase)
{
    bool seen[PLRU_LINES] = {false};
    const struct pb_point *point;
    size_t at = 0, count = 0;

    while ((point = rig_next(recording, phase, NULL, &at)) != NULL) {
        uint64_t x = rig_index(recording, point, point->count - 1) / 128;

        for (size_t i = 0; i + 1 < point->count; i++) {
            uint64_t line = rig_index(recording, point, i) / 128;

            if (rig_cycles(recording, point, i) < 199)
                continue;
            assert_int_equal(line % PLRU_SETS, x % PLRU_SETS);
            assert_true(line < PLRU_LINES);
            count += !seen[line];
            seen[line] = true;
        }
    }
    return count;
}

/* In passes that are all alike a tree lets the same half of a set miss; in shuffled orders the
 * rest.
 */
static void test_sets__shuffled_orders_show_the_rest_of_a_tree(void **state)
{
    static const char *const caches =
        "{\"id\": \"l1\", \"paths\": [\"global_ca\"], \"line_bytes\": 128, \"sector_bytes\": 128,"
        " \"sets\": 16, \"ways\": 8, \"index\": {\"kind\": \"modulo\"},"
        " \"policy\": {\"kind\": \"plru\"}, \"latency_cycles\": 46},"
        "{\"id\": \"l2\", \"paths\": [\"global_ca\", \"global_cg\"], \"line_bytes\": 128,"
        " \"sector_bytes\": 32, \"sets\": 1024, \"ways\": 8, \"index\": {\"kind\": \"modulo\"},"
        " \"policy\": {\"kind\": \"lru\"}, \"latency_cycles\": 200}";
    struct pb_recording recording;
    struct pb_session session;

    (void)state;
    rig_open_custom(caches, TLB, "", &session);
    rig_run(&session, "l1_sets", &recording);
    assert_true(lines_seen(&recording, "conflict") < PLRU_LINES * 3 / 4);
    assert_true(lines_seen(&recording, "conflict_shuffled") > PLRU_LINES * 9 / 10);
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

/* The longest way from one miss to the next in a chase in order; 0: fewer than two misses. */
static uint64_t miss_distance(const struct pb_recording *recording, const struct pb_point *point,
                              double miss_cycles)
{
    uint64_t last = UINT64_MAX, longest = 0;

    for (size_t i = 0; i < point->count; i++) {
        uint64_t here = rig_index(recording, point, i);

        if (rig_cycles(recording, point, i) < miss_cycles)
            continue;
        if (last != UINT64_MAX && here - last > longest)
            longest = here - last;
        last = here;
    }
    return longest;
}

/* Lines of 128 byte filled by sectors of 32: in order, a miss fetches those and what is ahead. */
static void test_prefetch__what_runs_ahead_can_be_counted(void **state)
{
    static const uint64_t ahead_bytes[] = {0, 64, 128, 512};

    (void)state;
    for (size_t i = 0; i < COUNT(ahead_bytes); i++) {
        char caches[512];
        struct pb_recording recording;
        struct pb_session session;
        const struct pb_point *point;

        snprintf(caches, sizeof(caches),
                 "{\"id\": \"l2\", \"paths\": [\"global_ca\", \"global_cg\"],"
                 " \"line_bytes\": 128, \"sector_bytes\": 32, \"sets\": 1024, \"ways\": 16,"
                 " \"index\": {\"kind\": \"modulo\"}, \"policy\": {\"kind\": \"lru\"},"
                 " \"latency_cycles\": 200, \"prefetch_bytes\": %llu}",
                 (unsigned long long)ahead_bytes[i]);
        rig_open_custom(caches, TLB, "", &session);
        rig_run(&session, "prefetch", &recording);
        point = rig_find(&recording, "strided", "global_cg");
        assert_int_equal(point->stride_bytes, 32);
        assert_int_equal(miss_distance(&recording, point, 400), 32 + ahead_bytes[i]);
        point = rig_find(&recording, "random", "global_cg");
        assert_true(rig_count(&recording, point, 400, 600) > point->count / 8 * 7);
        pb_recording_clear(&recording);
        pb_session_close(&session);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prefetch__what_runs_ahead_can_be_counted),
        cmocka_unit_test(test_constant__the_second_cache_has_its_own_line),
        cmocka_unit_test(test_sets__shuffled_orders_show_the_rest_of_a_tree),
        cmocka_unit_test(test_line__of_a_large_cache_is_looked_for_all_over),
        cmocka_unit_test(test_bases__unequal_sets_move_the_edge),
        cmocka_unit_test(test_search__a_cache_of_256_bytes_has_an_edge),
        cmocka_unit_test(test_search__a_set_of_neighbours_leaves_room_for_short_strides),
        cmocka_unit_test(test_search__a_small_l2_before_another_cache_has_its_own_edge),
        cmocka_unit_test(test_search__a_reference_fits_behind_drawn_victims),
        cmocka_unit_test(test_search__few_misses_of_a_drawing_policy_are_enough),
        cmocka_unit_test(test_search__spikes_that_look_like_misses_do_not_move_the_edge),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
