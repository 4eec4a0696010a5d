/* Sets, policies, sharing, carve-outs and the classic graphs on simulated devices of known truth.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "battery/rig.h"

/* Where L1's misses lie on the GTX 560 Ti (M16 table VII: 96 and 351 cycles, and 16 for L1). */
static const double fermi_hit = 97, fermi_miss_low = 356, fermi_miss_high = 376;

/* The profile's masks are 0x80 … 0x800: the set is bits 7 to 11. */
static uint64_t fermi_set(uint64_t offset)
{
    return offset >> 7 & 31;
}

static void test_line__lines_of_the_paper_are_kept_for_later_tests(void **state)
{
    static const struct {
        const char *profile, *test;
        enum pb_cache cache;
        uint64_t line_bytes;
    } caches[] = {{"gtx560ti", "l1_line", PB_CACHE_L1, 128},
                  {"gtx560ti", "texture_line", PB_CACHE_TEXTURE, 32},
                  {"gtx560ti", "l2_line", PB_CACHE_L2, 32},
                  {"gtx780", "readonly_line", PB_CACHE_READONLY, 32},
                  {"gtx980", "l1_line", PB_CACHE_L1, 32},
                  {"h200", "l1_line", PB_CACHE_L1, 128},
                  {"gtx680", "l2_line", PB_CACHE_L2, 32}, /* though 512 bytes run ahead */
                  {"h200", "constant_line", PB_CACHE_CONSTANT, 64}};

    (void)state;
    for (size_t i = 0; i < COUNT(caches); i++) {
        struct pb_recording recording;
        struct pb_session session;

        rig_open(caches[i].profile, NULL, &session);
        rig_run(&session, caches[i].test, &recording);
        assert_int_equal(session.hints[caches[i].cache].line_bytes, caches[i].line_bytes);
        pb_recording_clear(&recording);
        pb_session_close(&session);
    }
}

/* Every line that misses beside X is of X's set, and all of the set are seen over the candidates.
 */
static void test_sets__fermi_lines_miss_with_their_own_set(void **state)
{
    struct pb_recording recording;
    const struct pb_point *point;
    size_t at = 0, candidates = 0, high_bits = 0, missed = 0;

    (void)state;
    rig_record("gtx560ti", "l1_sets", &recording);
    while ((point = rig_next(&recording, "conflict", NULL, &at)) != NULL) {
        uint64_t x = point->footprint_bytes - point->stride_bytes;

        assert_int_equal(rig_index(&recording, point, point->count - 1), x);
        candidates++;
        high_bits += x >= (uint64_t)1 << 17;
        for (size_t i = 0; i < point->count; i++) {
            double cycles = rig_cycles(&recording, point, i);

            if (cycles < fermi_miss_low || cycles > fermi_miss_high)
                continue;
            missed++;
            assert_int_equal(fermi_set(rig_index(&recording, point, i)), fermi_set(x));
        }
    }
    assert_true(candidates >= 128);
    assert_int_equal(high_bits, 12); /* bits 17 to 28: up to half of what is free of 1 GiB */
    assert_true(missed >= candidates);
    pb_recording_clear(&recording);
}

/* All 96 ways and X go round in turn, so that each has left before its turn comes. */
static void test_sets__lru_set_misses_as_a_whole(void **state)
{
    struct pb_recording recording;
    const struct pb_point *point;
    size_t at = 0;

    (void)state;
    rig_record("gtx780", "texture_sets", &recording);
    while ((point = rig_next(&recording, "conflict", NULL, &at)) != NULL) {
        size_t misses = rig_count(&recording, point, 198, 199);

        assert_true(misses == 97 || misses == 96); /* one may be a spike */
    }
    pb_recording_clear(&recording);
}

static void test_sets__large_l2_is_unsupported_with_a_reason(void **state)
{
    struct pb_recording recording;
    struct pb_state states[2];
    struct pb_session session;

    (void)state;
    rig_open("h200", NULL, &session);
    assert_int_equal(pb_session_run(&session, pb_test_find("l2_sets"), &recording, states, NULL),
                     PB_OK);
    assert_int_equal(recording.outcome, PB_TEST_UNSUPPORTED);
    assert_non_null(strstr(recording.message, "too large"));
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

/* The period of L2's sets is 1024 lines of 32 byte (M16 4.6). */
static void test_sets__l2_lines_miss_a_period_apart(void **state)
{
    struct pb_recording recording;
    const struct pb_point *point;
    size_t at = 0, missed = 0;

    (void)state;
    rig_record("gtx560ti", "l2_sets", &recording);
    while ((point = rig_next(&recording, "conflict", NULL, &at)) != NULL) {
        uint64_t x = point->footprint_bytes - point->stride_bytes;

        for (size_t i = 0; i < point->count; i++) {
            double cycles = rig_cycles(&recording, point, i);

            if (cycles < 600 || cycles > 640)
                continue;
            missed++;
            assert_int_equal((rig_index(&recording, point, i) ^ x) % 32768, 0);
        }
    }
    assert_true(missed > 0);
    pb_recording_clear(&recording);
}

/* The lines that a victim chase visits. */
static size_t distinct_lines(const struct pb_recording *recording, const struct pb_point *point,
                             uint64_t lines[64])
{
    size_t count = 0;

    for (size_t i = 0; i < point->count; i++) {
        uint64_t line = rig_index(recording, point, i) / point->stride_bytes;
        size_t k = 0;

        while (k < count && lines[k] != line)
            k++;
        if (k == count && count < 64)
            lines[count++] = line;
    }
    return count;
}

/* M16 4.5: four ways, and one of them is the victim half of the time. */
static void test_policy__fermi_set_is_five_lines_that_miss_unevenly(void **state)
{
    uint64_t lines[64] = {0};
    struct pb_recording recording;
    const struct pb_point *point;
    size_t at = 0, repeats = 0;

    (void)state;
    rig_record("gtx560ti", "l1_policy", &recording);
    while ((point = rig_next(&recording, "victim", NULL, &at)) != NULL) {
        size_t misses = rig_count(&recording, point, fermi_miss_low, fermi_miss_high);

        assert_int_equal(point->warm, 0);
        assert_int_equal(distinct_lines(&recording, point, lines), 5);
        for (size_t i = 0; i < 5; i++)
            assert_int_equal(lines[i] % 32, 0); /* of set 0, as the line after the array */
        assert_true(misses > point->count / 10 && misses < point->count / 2);
        repeats++;
    }
    assert_int_equal(repeats, 16);
    pb_recording_clear(&recording);
}

/* What an H200's L1 holds moves by a line or two: then the line after the edge may still fit. */
static void test_policy__edge_that_is_a_little_low_shows_the_same_set(void **state)
{
    uint64_t lines[64] = {0};
    struct pb_recording recording;
    struct pb_session session;

    (void)state;
    for (uint64_t low = 1; low <= 3; low++) {
        rig_open("gtx560ti", NULL, &session);
        rig_run(&session, "l1_capacity", &recording);
        pb_recording_clear(&recording);
        session.hints[PB_CACHE_L1].edge_bytes -= low * 128;
        rig_run(&session, "l1_policy", &recording);
        assert_int_equal(distinct_lines(&recording, rig_find(&recording, "victim", NULL), lines),
                         5);
        for (size_t i = 0; i < 5; i++)
            assert_int_equal(lines[i] % 32, 0);
        pb_recording_clear(&recording);
        pb_session_close(&session);
    }
}

/* LRU misses always when one line too many goes round, and hits recent lines in random order. */
static void test_policy__lru_always_misses_in_passes_and_not_at_random(void **state)
{
    struct pb_recording recording;
    const struct pb_point *point;
    size_t at = 0;

    (void)state;
    rig_record("gtx980", "l1_policy", &recording);
    point = rig_find(&recording, "victim", NULL);
    assert_int_equal(rig_count(&recording, point, 0, 100), 0);
    while ((point = rig_next(&recording, "random", NULL, &at)) != NULL) {
        assert_string_equal(point->order, "given");
        assert_true(rig_count(&recording, point, 0, 100) > point->count / 2);
        assert_true(rig_count(&recording, point, 190, 230) > 193); /* first touch, and some more */
    }
    pb_recording_clear(&recording);
}

/* A tree-PLRU of 25 ways shows a line a pass: passes over words in an order of their own follow. */
static const char wide_plru[] =
    "{\"id\": \"l1\", \"paths\": [\"global_ca\"], \"line_bytes\": 128, \"sector_bytes\": 128,"
    " \"sets\": 4, \"ways\": 25, \"index\": {\"kind\": \"modulo\"}, \"policy\": {\"kind\": "
    "\"plru\"},"
    " \"latency_cycles\": 40},"
    "{\"id\": \"l2\", \"paths\": [\"global_ca\", \"global_cg\"], \"line_bytes\": 128,"
    " \"sector_bytes\": 32, \"sets\": 1024, \"ways\": 16, \"index\": {\"kind\": \"modulo\"},"
    " \"policy\": {\"kind\": \"lru\"}, \"latency_cycles\": 200}";

/* What a replay needs of the loads before the record is in the point. */
static void test_points__say_what_went_before(void **state)
{
    struct pb_session session;
    struct pb_recording recording;
    const struct pb_point *point;
    size_t words = 0, at = 0;

    (void)state;
    rig_record("gtx980", "cache_sharing", &recording);
    point = rig_find(&recording, "evict_readonly", "global_ca");
    assert_string_equal(point->warm_path, "readonly");
    assert_true(point->is_cold && point->is_prefilled && !point->is_flushed);
    assert_true(point->own_warm > 0 && point->own_warm < point->warm);
    assert_int_equal(point->slots, point->footprint_bytes / point->stride_bytes);
    pb_recording_clear(&recording);

    rig_record("gtx980", "l2_line", &recording);
    point = rig_find(&recording, "cold", "global_cg");
    assert_true(point->is_flushed && !point->is_prefilled);
    assert_string_equal(point->warm_path, "global_cg");
    pb_recording_clear(&recording);

    rig_open_custom(wide_plru, "", "", &session);
    rig_run(&session, "l1_policy", &recording);
    while ((point = rig_next(&recording, "members", NULL, &at)) != NULL) {
        if (strcmp(point->order, "random_words") != 0)
            continue;
        assert_int_equal(point->slots % (point->footprint_bytes / point->stride_bytes), 0);
        assert_int_equal(point->warm, point->slots);
        words++;
    }
    assert_true(words > 0);
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

/* M16 4.3: Kepler's read-only data and textures share a cache; Fermi's L1 and textures do not. */
static void test_sharing__pairs_of_the_paper(void **state)
{
    struct pb_recording recording;

    (void)state;
    rig_record("gtx780", "cache_sharing", &recording);
    assert_true(rig_median(&recording, rig_find(&recording, "texture", "readonly")) < 80);
    assert_true(rig_median(&recording, rig_find(&recording, "readonly", "texture")) < 80);
    assert_true(rig_median(&recording, rig_find(&recording, "none", "texture")) > 190);
    assert_non_null(strstr(recording.message, "global_ca"));
    pb_recording_clear(&recording);

    rig_record("gtx560ti", "cache_sharing", &recording);
    assert_true(rig_median(&recording, rig_find(&recording, "global_ca", "global_ca")) <=
                fermi_hit);
    assert_true(rig_median(&recording, rig_find(&recording, "texture", "global_ca")) > 340);
    assert_true(rig_median(&recording, rig_find(&recording, "global_ca", "texture")) > 340);
    pb_recording_clear(&recording);
}

/* Lines of paths with a cache of their own stay; those of one cache take each other's room. */
static void test_sharing__lines_evict_others_of_their_cache_only(void **state)
{
    struct pb_recording recording;
    const struct pb_point *apart;

    (void)state;
    rig_record("gtx560ti", "cache_sharing", &recording);
    apart = rig_find(&recording, "evict_texture", "global_ca");
    assert_true(rig_median(&recording, apart) <= fermi_hit);
    assert_true(apart->warm > 5 * apart->count && apart->count <= apart->window);
    assert_true(rig_median(&recording, rig_find(&recording, "evict_global_ca", "global_ca")) > 340);
    pb_recording_clear(&recording);

    rig_record("gtx980", "cache_sharing", &recording);
    assert_true(rig_median(&recording, rig_find(&recording, "evict_texture", "global_ca")) > 190);
    pb_recording_clear(&recording);
}

/* The simulated device's, and how many chases were requested that may run on several SMs. */
static enum pb_status (*simulated_chases)(struct pb_device *, const struct pb_chase *, size_t,
                                          struct pb_chase_trace *, struct pb_error *);
static size_t confined, confined_cold;

static enum pb_status count_confined(struct pb_device *device, const struct pb_chase *chases,
                                     size_t count, struct pb_chase_trace *traces,
                                     struct pb_error *err)
{
    for (size_t i = 0; i < count; i++) {
        confined += chases[i].is_confined;
        confined_cold += chases[i].is_confined && (chases[i].warm == 0 || chases[i].cross);
    }
    return simulated_chases(device, chases, count, traces, err);
}

/* Loads that all miss, by two SMs that share their way to L2, are answered sooner than by one. */
static void test_sharing__what_is_not_warm_stays_on_one_sm(void **state)
{
    struct pb_device_ops counting;
    struct pb_recording recording;
    struct pb_session session;

    (void)state;
    rig_open("h200", NULL, &session);
    counting = *session.device->ops;
    simulated_chases = counting.chases;
    counting.chases = count_confined;
    session.device->ops = &counting;
    confined = confined_cold = 0;
    rig_run(&session, "cache_sharing", &recording);
    assert_true(confined > 0);
    assert_int_equal(confined_cold, 0);
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

/* The simulator's blocks keep 16 byte of two rows in one sector, which is the line here. */
static void test_texture_2d__a_miss_brings_two_rows(void **state)
{
    struct pb_recording recording;
    const struct pb_point *rows, *columns;

    (void)state;
    rig_record("gtx780", "texture_2d", &recording);
    rows = rig_find(&recording, "rows", "texture_2d");
    columns = rig_find(&recording, "columns", "texture_2d");
    for (size_t i = 0; i < rows->count; i++) {
        uint64_t offset = rig_index(&recording, rows, i);
        bool is_first = offset / 1024 % 2 == 0 && offset % 16 == 0;

        if (rig_cycles(&recording, rows, i) < 290) /* else a spike */
            assert_int_equal(rig_cycles(&recording, rows, i) > 190, is_first);
    }
    assert_true(abs((int)rig_count(&recording, columns, 190, 210) - 128) <= 1);
    pb_recording_clear(&recording);
}

static void test_carveout__unified_l1_shrinks_with_every_step(void **state)
{
    struct pb_recording recording;
    uint64_t fits[10] = {0}, carveouts[10] = {0};
    const struct pb_point *point;
    size_t at = 0, steps = 0;

    (void)state;
    rig_record("h200", "l1_carveout", &recording);
    while ((point = rig_next(&recording, "confirm", "global_ca", &at)) != NULL) {
        if (point->carveout_bytes == 0)
            continue;
        if (steps == 0 || carveouts[steps - 1] != point->carveout_bytes)
            carveouts[steps++] = point->carveout_bytes;
        assert_true(steps < COUNT(fits));
        fits[steps - 1] = point->footprint_bytes;
    }
    assert_int_equal(steps, 9);
    for (size_t i = 0; i < steps; i++) /* 256 KiB in 4 sets: whole ways are lost */
        assert_int_equal(fits[i], ((262144 - carveouts[i]) / 512) * 512);
    pb_recording_clear(&recording);
}

static void test_carveout__separate_l1_says_so(void **state)
{
    struct pb_recording recording;

    (void)state;
    rig_record("gtx980", "l1_carveout", &recording);
    assert_non_null(strstr(recording.message, "not unified"));
    pb_recording_clear(&recording);
}

/* M16 4.1: at a stride of one line and far beyond the cache every load misses; within it none. */
static void test_classic__saavedra_has_both_plateaus(void **state)
{
    struct pb_recording recording;
    const struct pb_matrix *matrix = &recording.matrix;
    size_t small[2], large[2], absent[2];

    (void)state;
    rig_record("gtx780", "classic_saavedra", &recording);
    small[0] = rig_at(&matrix->axes[0], 8192), small[1] = rig_at(&matrix->axes[1], 32);
    large[0] = rig_at(&matrix->axes[0], 131072), large[1] = rig_at(&matrix->axes[1], 32);
    absent[0] = rig_at(&matrix->axes[0], 1024), absent[1] = rig_at(&matrix->axes[1], 65536);
    assert_true(fabs(rig_value(matrix, small) - 78) < 1);
    assert_true(fabs(rig_value(matrix, large) - 198) < 1);
    assert_true(isnan(rig_value(matrix, absent)));
    large[1] = rig_at(&matrix->axes[1], 8); /* four words a line: one miss in four */
    assert_true(fabs(rig_value(matrix, large) - (78 + 120 / 4.0)) < 1);
    pb_recording_clear(&recording);
}

/* M16 figure 5: the average climbs set after set, one every 128 byte, from 12 KiB on. */
static void test_classic__wong_climbs_in_four_stairs(void **state)
{
    struct pb_recording recording;
    const struct pb_point *point;
    size_t at = 0;

    (void)state;
    rig_record("gtx780", "classic_wong", &recording);
    while ((point = rig_next(&recording, "wong", NULL, &at)) != NULL) {
        double pass = (double)point->total_cycles / (double)point->timed;
        double lines = (double)point->footprint_bytes / 32, over = lines - 384;
        double sets = over <= 0 ? 0 : fmin(4, ceil(over / 4));
        /* LRU: all lines of the sets that overflow miss: 96 and those above the edge */
        double missing = sets * 96 + fmax(0, over);

        assert_true(fabs(pass - (78 + 120 * fmin(1, missing / lines))) < 0.5);
    }
    assert_true(rig_find(&recording, "wong", NULL)->footprint_bytes < 12288);
    pb_recording_clear(&recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line__lines_of_the_paper_are_kept_for_later_tests),
        cmocka_unit_test(test_sets__fermi_lines_miss_with_their_own_set),
        cmocka_unit_test(test_sets__lru_set_misses_as_a_whole),
        cmocka_unit_test(test_sets__large_l2_is_unsupported_with_a_reason),
        cmocka_unit_test(test_sets__l2_lines_miss_a_period_apart),
        cmocka_unit_test(test_policy__fermi_set_is_five_lines_that_miss_unevenly),
        cmocka_unit_test(test_policy__edge_that_is_a_little_low_shows_the_same_set),
        cmocka_unit_test(test_policy__lru_always_misses_in_passes_and_not_at_random),
        cmocka_unit_test(test_points__say_what_went_before),
        cmocka_unit_test(test_sharing__pairs_of_the_paper),
        cmocka_unit_test(test_sharing__lines_evict_others_of_their_cache_only),
        cmocka_unit_test(test_sharing__what_is_not_warm_stays_on_one_sm),
        cmocka_unit_test(test_texture_2d__a_miss_brings_two_rows),
        cmocka_unit_test(test_carveout__unified_l1_shrinks_with_every_step),
        cmocka_unit_test(test_carveout__separate_l1_says_so),
        cmocka_unit_test(test_classic__saavedra_has_both_plateaus),
        cmocka_unit_test(test_classic__wong_climbs_in_four_stairs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
