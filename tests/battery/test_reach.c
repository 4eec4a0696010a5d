/* How far TLBs reach, on simulated devices of known truth. */
#include <math.h>
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
    fail_msg("no chase over %llu pages", (unsigned long long)n);
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
    rig_record("gtx780", "tlb_remap", &recording);
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

/* Latencies at n pages of a stride; 0: n was not loaded. */
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
    static const char *const tests[] = {"tlb_reach", "tlb_remap"};
    struct pb_session session;

    (void)state;
    rig_open_custom(caches, tlbs, "", &session);
    for (size_t i = 0; i < COUNT(tests); i++) {
        struct pb_recording recording;

        rig_run(&session, tests[i], &recording);
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
    pb_session_close(&session);
}

/* Pages of 64 KiB: sixteen entries reach 1 MiB, which strides of 2 MiB cannot show. */
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
    struct pb_session session;

    (void)state;
    rig_open_custom(caches, tlbs, "", &session);
    rig_run(&session, "tlb_reach", &recording);
    assert_true(fabs(pages_median(&recording, "fine64k", 16) - 200) <= 1);
    assert_true(fabs(pages_median(&recording, "fine64k", 17) - 280) <= 1);
    assert_true(fabs(pages_median(&recording, "fine512k", 17) - 280) <= 1);
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

/*
 * An aliased block is loaded in words of the same few lines: 4,096 pages 32 MiB apart. It is mapped
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
    rig_record("h200", "tlb_remap", &recording);
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

/* Little memory: 32 MiB of it are mapped 4,096 times, and what tlb_reach cannot chase, this does.
 */
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
    struct pb_session session;
    const struct pb_point *point;

    (void)state;
    rig_open_custom(caches, tlbs, "", &session); /* 4 GiB; the TLB reaches over 8 */
    rig_run(&session, "tlb_remap", &recording);
    point = rig_find(&recording, "map", NULL);
    assert_int_equal(point->footprint_bytes - point->stride_bytes, 32 << 20);
    for (size_t i = 0; i < COUNT(phases); i++) {
        assert_true(fabs(pages_median(&recording, phases[i], fits_pages[i]) - 200) <= 1);
        assert_true(pages_median(&recording, phases[i], fits_pages[i] + 1) > 0);
    }
    assert_non_null(strstr(recording.message, "beyond all free memory"));
    pb_recording_clear(&recording);
    pb_session_close(&session);
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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
