/* What no shipped profile has: devices that a test draws up itself, and finds again. */
#include <math.h>
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
    struct pb_bench bench;

    (void)state;
    rig_open_drawn(caches, TLB, "", &bench);
    rig_run(&bench, "l1_capacity", &recording);
    assert_int_equal(bench.known[PB_CACHE_L1].edge_bytes, 256);
    pb_recording_clear(&recording);
    rig_run(&bench, "l1_line", &recording);
    assert_int_equal(bench.known[PB_CACHE_L1].line_bytes, 32);
    pb_recording_clear(&recording);
    pb_bench_close(&bench);
}

/*
 * A hit with a spike of 193 cycles takes as long as a miss, and one or two are in every lap: the
 * search must neither take them for the edge nor walk down line by line to get away from them.
 */
static void test_search__spikes_that_look_like_misses_do_not_move_the_edge(void **state)
{
    static const char *const caches =
        "{\"id\": \"l2\", \"paths\": [\"global_ca\", \"global_cg\"], \"line_bytes\": 64,"
        " \"sector_bytes\": 64, \"sets\": 768, \"ways\": 24, \"index\": {\"kind\": \"modulo\"},"
        " \"policy\": {\"kind\": \"plru\"}, \"latency_cycles\": 302}";
    struct pb_recording recording;
    struct pb_bench bench;

    (void)state;
    rig_open_drawn(caches, TLB,
                   ", \"noise\": {\"jitter_cycles\": 2, \"spike_probability\": 1e-4,"
                   " \"spike_cycles\": 193}",
                   &bench);
    rig_run(&bench, "l2_capacity", &recording);
    assert_int_equal(bench.known[PB_CACHE_L2].edge_bytes, 64 * 768 * 24);
    assert_true(recording.series.point_count < 250);
    pb_recording_clear(&recording);
    pb_bench_close(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_search__a_cache_of_256_bytes_has_an_edge),
        cmocka_unit_test(test_search__spikes_that_look_like_misses_do_not_move_the_edge),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
