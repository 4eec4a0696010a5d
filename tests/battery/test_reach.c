/* TLBs, the six latency patterns, prefetching and jumps on simulated devices of known truth. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "battery/rig.h"

/* A trace over n pages of 2 MiB; `n` is in its footprint. */
static const struct pb_point *pages(const struct pb_recording *recording, const char *phase,
                                    uint64_t n)
{
    const struct pb_point *point;
    size_t at = 0;

    while ((point = rig_next(recording, phase, NULL, &at)) != NULL)
        if (point->footprint_bytes == n * point->stride_bytes)
            return point;
    fail_msg("no walk over %llu pages", (unsigned long long)n);
    return NULL;
}

/* M16 4.4: 16 entries; then 65 in sets of 17 and six times 8, which overflow one after another. */
static void test_tlb__steps_of_the_paper(void **state)
{
    static const struct {
        uint64_t pages;
        size_t l2_misses;
    } steps[] = {{16, 0}, {17, 0}, {65, 0}, {66, 18}, {67, 27}, {68, 36}, {71, 63}, {72, 72}};
    struct pb_recording recording;

    (void)state;
    rig_record("gtx780", "tlb_reach", &recording);
    assert_int_equal(rig_count(&recording, pages(&recording, "stride2", 16), 198, 199), 16);
    assert_int_equal(rig_count(&recording, pages(&recording, "stride2", 17), 204, 205), 17);
    for (size_t i = 0; i < COUNT(steps); i++) {
        const struct pb_point *point = pages(&recording, "stride2", steps[i].pages);

        assert_int_equal(point->count, steps[i].pages);
        assert_int_equal(rig_count(&recording, point, 257, 258), steps[i].l2_misses);
    }
    pb_recording_clear(&recording);
}

/* Pages of 2 MiB: at a stride of 4 MiB the same number of slots overflows, not half of it. */
static void test_tlb__reach_counts_entries_at_every_stride(void **state)
{
    struct pb_recording recording;

    (void)state;
    rig_record("gtx780", "tlb_reach", &recording);
    assert_true(rig_median(&recording, pages(&recording, "stride4", 16)) < 200);
    assert_true(rig_median(&recording, pages(&recording, "stride4", 17)) > 203);
    pb_recording_clear(&recording);
}

/* The same entries overflow where one block is mapped over and over, and far beyond memory. */
static void test_tlb__aliased_pages_miss_like_others(void **state)
{
    struct pb_recording recording;

    (void)state;
    rig_record("gtx780", "tlb_alias", &recording);
    assert_true(rig_median(&recording, pages(&recording, "stride2", 16)) < 200);
    assert_true(fabs(rig_median(&recording, pages(&recording, "stride2", 17)) - 204.5) <= 1);
    assert_true(rig_median(&recording, pages(&recording, "stride2", 72)) >= 257);
    assert_true(pages(&recording, "stride2", 4096)->footprint_bytes > (uint64_t)3 << 30);
    pb_recording_clear(&recording);
}

static void test_tlb__a_small_device_says_how_far_it_went(void **state)
{
    struct pb_recording recording;
    const struct pb_point *point;
    uint64_t most = 0;

    (void)state;
    rig_record("gtx560ti", "tlb_reach", &recording);
    for (size_t i = 0; i < recording.series.point_count; i++) {
        point = &recording.series.points[i];
        most = point->footprint_bytes > most ? point->footprint_bytes : most;
    }
    assert_int_equal(most, (uint64_t)480 << 20);
    assert_non_null(strstr(recording.message, "480 MiB of the 960 MiB"));
    pb_recording_clear(&recording);
}

/* Latencies at n pages of a stride; 0: n was not walked. */
static double pages_median(const struct pb_recording *recording, const char *phase, uint64_t n)
{
    const struct pb_point *point;
    size_t at = 0;

    while ((point = rig_next(recording, phase, NULL, &at)) != NULL)
        if (point->footprint_bytes == n * point->stride_bytes)
            return rig_median(recording, point);
    return 0;
}

/* Entries of eight pages in sets of 17 and six times 8: 65 entries, 520 pages, 1,040 MiB. */
static void test_tlb__the_first_page_too_many_is_walked_at_every_stride(void **state)
{
    static const char *const caches =
        "{\"id\": \"l2\", \"paths\": [\"global_ca\", \"global_cg\"], \"line_bytes\": 128,"
        " \"sector_bytes\": 32, \"sets\": 1024, \"ways\": 16, \"index\": {\"kind\": \"modulo\"},"
        " \"policy\": {\"kind\": \"lru\"}, \"latency_cycles\": 200}";
    static const char *const tlbs =
        "{\"id\": \"tlb\", \"page_bytes\": 2097152, \"entry_span_bytes\": 16777216,"
        " \"ways\": [17, 8, 8, 8, 8, 8, 8], \"policy\": {\"kind\": \"lru\"}, \"penalty_cycles\": "
        "80}";
    static const char *const tests[] = {"tlb_reach", "tlb_alias"};
    struct pb_bench bench;

    (void)state;
    rig_open_drawn(caches, tlbs, "", &bench);
    for (size_t i = 0; i < COUNT(tests); i++) {
        struct pb_recording recording;

        rig_run(&bench, tests[i], &recording);
        assert_true(fabs(pages_median(&recording, "stride2", 520) - 200) <= 1);
        assert_true(pages_median(&recording, "stride2", 521) > 0);
        for (uint64_t sets = 1; sets <= 7; sets++) { /* they overflow one after another */
            assert_true(pages_median(&recording, "stride2", 8 * (65 + sets)) > 0);
            assert_true(pages_median(&recording, "stride2", 8 * (65 + sets) + 1) > 0);
        }
        assert_true(fabs(pages_median(&recording, "stride32", 65) - 200) <= 1);
        assert_true(fabs(pages_median(&recording, "stride32", 72) - 280) <= 1);
        pb_recording_clear(&recording);
    }
    pb_bench_close(&bench);
}

/* Pages of 64 KiB: sixteen entries reach 1 MiB, which strides of 2 MiB cannot tell. */
static void test_tlb__small_pages_show_at_fine_strides(void **state)
{
    static const char *const caches =
        "{\"id\": \"l2\", \"paths\": [\"global_ca\", \"global_cg\"], \"line_bytes\": 128,"
        " \"sector_bytes\": 32, \"sets\": 1024, \"ways\": 16, \"index\": {\"kind\": \"modulo\"},"
        " \"policy\": {\"kind\": \"lru\"}, \"latency_cycles\": 200}";
    static const char *const tlbs =
        "{\"id\": \"tlb\", \"page_bytes\": 65536, \"entry_span_bytes\": 65536, \"ways\": 16,"
        " \"policy\": {\"kind\": \"lru\"}, \"penalty_cycles\": 80}";
    struct pb_recording recording;
    struct pb_bench bench;

    (void)state;
    rig_open_drawn(caches, tlbs, "", &bench);
    rig_run(&bench, "tlb_reach", &recording);
    assert_true(fabs(pages_median(&recording, "fine64k", 16) - 200) <= 1);
    assert_true(fabs(pages_median(&recording, "fine64k", 17) - 280) <= 1);
    assert_true(fabs(pages_median(&recording, "fine512k", 17) - 280) <= 1);
    pb_recording_clear(&recording);
    pb_bench_close(&bench);
}

/*
 * An aliased block is walked in words of the same few lines: 4,096 pages 32 MiB apart. It is mapped
 * 576 times: every 32 MiB of it have lines of their own.
 */
static void test_tlb__alias_stays_in_few_lines_however_far(void **state)
{
    const uint64_t part_bytes = (uint64_t)32 << 20, block_bytes = 8 * part_bytes;
    struct pb_recording recording;
    const struct pb_point *point;
    size_t at = 0;
    uint64_t most = 0;

    (void)state;
    rig_record("h200", "tlb_alias", &recording);
    point = rig_find(&recording, "map", NULL);
    assert_int_equal(point->footprint_bytes - point->stride_bytes, block_bytes);
    while ((point = rig_next(&recording, "stride32", NULL, &at)) != NULL) {
        most = point->footprint_bytes > most ? point->footprint_bytes : most;
        for (size_t i = 0; i < point->count; i++) {
            uint64_t index = rig_index(&recording, point, i) % block_bytes;

            assert_int_equal(index % part_bytes / (512 * 128), index / part_bytes);
        }
    }
    assert_int_equal(most, (uint64_t)144 << 30);
    assert_null(rig_next(&recording, "stride16", NULL, &(size_t){0})); /* tlb_reach goes as far */
    pb_recording_clear(&recording);
}

/* Little memory: 32 MiB of it are mapped 4,096 times, and what tlb_reach cannot walk, this does. */
static void test_tlb__alias_goes_at_all_strides_where_memory_ends(void **state)
{
    static const char *const caches =
        "{\"id\": \"l2\", \"paths\": [\"global_ca\", \"global_cg\"], \"line_bytes\": 128,"
        " \"sector_bytes\": 32, \"sets\": 1024, \"ways\": 16, \"index\": {\"kind\": \"modulo\"},"
        " \"policy\": {\"kind\": \"lru\"}, \"latency_cycles\": 200}";
    static const char *const tlbs =
        "{\"id\": \"tlb\", \"page_bytes\": 2097152, \"entry_span_bytes\": 33554432,"
        " \"ways\": [8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, "
        "8,"
        " 8, 8, 8, 8, 8], \"policy\": {\"kind\": \"lru\"}, \"penalty_cycles\": 80}";
    static const char *const phases[] = {"stride8", "stride16", "stride32", "stride64"};
    static const uint64_t fits_pages[] = {1024, 512, 256, 128}; /* of every other set, the last */
    struct pb_recording recording;
    struct pb_bench bench;
    const struct pb_point *point;

    (void)state;
    rig_open_drawn(caches, tlbs, "", &bench); /* 4 GiB; the TLB reaches over 8 */
    rig_run(&bench, "tlb_alias", &recording);
    point = rig_find(&recording, "map", NULL);
    assert_int_equal(point->footprint_bytes - point->stride_bytes, 32 << 20);
    for (size_t i = 0; i < COUNT(phases); i++) {
        assert_true(fabs(pages_median(&recording, phases[i], fits_pages[i]) - 200) <= 1);
        assert_true(pages_median(&recording, phases[i], fits_pages[i] + 1) > 0);
    }
    assert_non_null(strstr(recording.message, "beyond all free memory"));
    pb_recording_clear(&recording);
    pb_bench_close(&bench);
}

/* M16 table of P1 to P6, with L1 off. */
static void test_pattern__latencies_of_the_paper(void **state)
{
    static const struct {
        const char *profile;
        double p1, p2, p3, p4, p5, p6; /* p6 0: the device has none */
    } devices[] = {{"gtx560ti", 351, 378, 462, 619, 1225, 0},
                   {"gtx780", 198, 204, 257, 339, 702, 968},
                   {"gtx980", 214, 225, 289, 383, 2461, 2750}};

    (void)state;
    for (size_t i = 0; i < COUNT(devices); i++) {
        const double expected[] = {devices[i].p1, devices[i].p2, devices[i].p3, devices[i].p4,
                                   devices[i].p5};
        static const char *const phases[] = {"p1", "p2", "p3", "p4", "p6_p5"};
        struct pb_recording recording;
        const struct pb_point *far;

        rig_record(devices[i].profile, "latency_pattern", &recording);
        for (size_t k = 0; k < COUNT(phases); k++) {
            const struct pb_point *point = rig_find(&recording, phases[k], "global_cg");

            assert_true(fabs(rig_median(&recording, point) - expected[k]) <= 1);
        }
        far = rig_find(&recording, "p6_p5", "global_cg");
        assert_true(devices[i].p6 == 0 ||
                    rig_count(&recording, far, devices[i].p6 - 1, devices[i].p6 + 2) >= 4);
        assert_int_equal(rig_find(&recording, "p4", "global_cg")->warm, far->count);
        pb_recording_clear(&recording);
    }
}

static void test_pattern__l1_answers_before_l2_does(void **state)
{
    struct pb_recording recording;

    (void)state;
    rig_record("gtx560ti", "latency_pattern", &recording);
    assert_true(fabs(rig_median(&recording, rig_find(&recording, "p1", "global_ca")) - 96) <= 1);
    assert_true(fabs(rig_median(&recording, rig_find(&recording, "p4", "global_ca")) - 635) <= 1);
    pb_recording_clear(&recording);
}

/* The same slots in order and at random; past the eight strides, order goes on alone. */
static size_t check_pairs(const struct pb_recording *recording, const char *path, uint64_t loads,
                          double strided_cycles, double random_cycles)
{
    const struct pb_point *strided, *random;
    size_t at = 0, also = 0, pairs = 0;

    while ((random = rig_next(recording, "random", path, &at)) != NULL) {
        strided = rig_next(recording, "strided", path, &also);
        assert_non_null(strided);
        assert_int_equal(strided->stride_bytes, random->stride_bytes);
        assert_int_equal(strided->footprint_bytes, random->footprint_bytes);
        assert_int_equal(strided->count, loads);
        assert_true(fabs(rig_median(recording, strided) - strided_cycles) <= 1);
        assert_true(fabs(rig_median(recording, random) - random_cycles) <= 1);
        pairs++;
    }
    return pairs;
}

static void test_prefetch__the_same_slots_in_both_orders(void **state)
{
    static const struct {
        const char *path;
        double strided_cycles, random_cycles;
        uint64_t loads;
    } paths[] = {{"global_cg", 214, 383, 2048}, /* M16 4.6: in order, L2 has them in time */
                 {"global_ca", 216, 216, 512}}; /* L1 from L2: nothing runs ahead */
    struct pb_recording recording;

    (void)state;
    rig_record("gtx980", "prefetch", &recording);
    for (size_t i = 0; i < COUNT(paths); i++)
        assert_int_equal(check_pairs(&recording, paths[i].path, paths[i].loads,
                                     paths[i].strided_cycles, paths[i].random_cycles),
                         8);
    pb_recording_clear(&recording);
}

/* Loads of the longest strided walk that take what DRAM takes, and its footprint. */
static size_t count_ends(const char *profile, double dram_cycles, uint64_t *footprint_out)
{
    struct pb_recording recording;
    const struct pb_point *point, *longest = NULL;
    size_t at = 0, ends;

    rig_record(profile, "prefetch", &recording);
    while ((point = rig_next(&recording, "strided", "global_cg", &at)) != NULL)
        if (longest == NULL || point->footprint_bytes > longest->footprint_bytes)
            longest = point;
    assert_non_null(longest);
    ends = rig_count(&recording, longest, dram_cycles - 1, dram_cycles + 2);
    *footprint_out = longest->footprint_bytes;
    pb_recording_clear(&recording);
    return ends;
}

/* M16 4.6: two thirds of L2. 8 MiB show enough ends of a third of a MiB only. */
static void test_prefetch__is_followed_until_its_end_was_seen_often(void **state)
{
    static const struct {
        const char *profile;
        double dram_cycles;
        uint64_t ahead_bytes, stride_bytes, loads;
    } devices[] = {{"gtx560ti", 619, 349504, 4096, 2048},
                   {"gtx780", 339, 1048576, 3968, 4096},
                   {"gtx980", 383, 1398080, 3968, 4096}};

    (void)state;
    for (size_t i = 0; i < COUNT(devices); i++) {
        uint64_t stride = devices[i].stride_bytes, footprint;
        uint64_t gap = (devices[i].ahead_bytes + 32 + stride - 1) / stride * stride;
        size_t ends = count_ends(devices[i].profile, devices[i].dram_cycles, &footprint);

        assert_int_equal(footprint, devices[i].loads * stride);
        /* the first load also waits for its page, and a spike may hide one more */
        assert_true(ends + 2 >= (footprint - 1) / gap && ends <= (footprint - 1) / gap);
    }
}

/* Without prefetching, and with one of a few lines, the eight pairs are all. */
static void test_prefetch__nothing_longer_where_misses_are_seen(void **state)
{
    static const char *const profiles[] = {"gtx470", "gtx680"};

    (void)state;
    for (size_t i = 0; i < COUNT(profiles); i++) {
        struct pb_recording recording;
        size_t at = 0, walks = 0;

        rig_record(profiles[i], "prefetch", &recording);
        while (rig_next(&recording, "strided", "global_cg", &at) != NULL)
            walks++;
        assert_int_equal(walks, 8);
        pb_recording_clear(&recording);
    }
}

/* F13 3.4.1: a small jump hits L1 below its line of 128 byte, and DRAM from there on. */
static void test_jump__small_jumps_hit_within_a_line(void **state)
{
    struct pb_recording recording;
    const struct pb_point *point;
    size_t at = 0;

    (void)state;
    rig_record("gtx560ti", "jump_global", &recording);
    while ((point = rig_next(&recording, "jump", NULL, &at)) != NULL) {
        size_t hits = rig_count(&recording, point, 96, 97);

        assert_int_equal(point->count, 1024);
        assert_int_equal(rig_index(&recording, point, 1), point->stride_bytes);
        assert_true(point->stride_bytes < 128 ? hits >= 510 && hits <= 512 : hits == 0);
    }
    pb_recording_clear(&recording);
}

static void test_jump__shared_memory_does_not_care(void **state)
{
    struct pb_recording recording;
    const struct pb_point *point;
    size_t at = 0;

    (void)state;
    rig_record("gtx780", "jump_shared", &recording);
    while ((point = rig_next(&recording, "jump", NULL, &at)) != NULL)
        assert_true(fabs(rig_median(&recording, point) - 47.5) <= 0.5);
    pb_recording_clear(&recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tlb__steps_of_the_paper),
        cmocka_unit_test(test_tlb__reach_counts_entries_at_every_stride),
        cmocka_unit_test(test_tlb__aliased_pages_miss_like_others),
        cmocka_unit_test(test_tlb__a_small_device_says_how_far_it_went),
        cmocka_unit_test(test_tlb__the_first_page_too_many_is_walked_at_every_stride),
        cmocka_unit_test(test_tlb__small_pages_show_at_fine_strides),
        cmocka_unit_test(test_tlb__alias_stays_in_few_lines_however_far),
        cmocka_unit_test(test_tlb__alias_goes_at_all_strides_where_memory_ends),
        cmocka_unit_test(test_pattern__latencies_of_the_paper),
        cmocka_unit_test(test_pattern__l1_answers_before_l2_does),
        cmocka_unit_test(test_prefetch__the_same_slots_in_both_orders),
        cmocka_unit_test(test_prefetch__is_followed_until_its_end_was_seen_often),
        cmocka_unit_test(test_prefetch__nothing_longer_where_misses_are_seen),
        cmocka_unit_test(test_jump__small_jumps_hit_within_a_line),
        cmocka_unit_test(test_jump__shared_memory_does_not_care),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
