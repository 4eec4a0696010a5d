/* What the papers say of their devices, test by test, where no other file here asks for it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "battery/rig.h"

/* M16 4.2: 14, 16 and 6 cycles. */
static void test_clock_overhead__cycles_of_the_paper(void **state)
{
    static const struct {
        const char *profile;
        double cycles;
    } devices[] = {{"gtx560ti", 14}, {"gtx780", 16}, {"gtx980", 6}};

    (void)state;
    for (size_t i = 0; i < COUNT(devices); i++) {
        struct pb_recording recording;
        const struct pb_point *point;

        rig_record(devices[i].profile, "clock_overhead", &recording);
        point = rig_find(&recording, "empty", NULL);
        assert_true(
            fabs(rig_median(&recording, point) + point->overhead_cycles - devices[i].cycles) <= 1);
        pb_recording_clear(&recording);
    }
}

/* Both clocks of one spin: the GTX 980 runs at 1,279 MHz, or half of that. */
static void test_clock_calibration__measures_the_frequency(void **state)
{
    static const char *const faults[] = {NULL, "clock=0.5"};

    (void)state;
    for (size_t i = 0; i < COUNT(faults); i++) {
        struct pb_recording recording;
        const struct pb_matrix *matrix = &recording.matrix;
        struct pb_session session;
        size_t first[] = {0, 0}, last[] = {0, 0};
        double cycles, ns;

        rig_open("gtx980", faults[i], &session);
        rig_run(&session, "clock_calibration", &recording);
        last[0] = matrix->axes[0].length - 1;
        first[1] = last[1] = rig_label(&matrix->axes[1], "cycles");
        cycles = rig_value(matrix, last) - rig_value(matrix, first);
        first[1] = last[1] = rig_label(&matrix->axes[1], "ns");
        ns = rig_value(matrix, last) - rig_value(matrix, first);
        assert_true(fabs(1e3 * cycles / ns / (i == 0 ? 1279 : 639.5) - 1) < 1e-3);
        pb_recording_clear(&recording);
        pb_session_close(&session);
    }
}

/* M16 table V and F13: the read-only cache and textures of 12 KiB, constants of 2 KiB. */
static void test_capacity__of_the_other_paths(void **state)
{
    static const struct {
        const char *profile, *test;
        enum pb_cache cache;
        uint64_t edge_bytes;
    } caches[] = {{"gtx780", "readonly_capacity", PB_CACHE_READONLY, 12288},
                  {"gtx560ti", "texture_capacity", PB_CACHE_TEXTURE, 12288},
                  {"gtx680", "constant_capacity", PB_CACHE_CONSTANT, 2048},
                  {"gtx680", "constant_l15_capacity", PB_CACHE_CONSTANT_L15, 32768}};

    (void)state;
    for (size_t i = 0; i < COUNT(caches); i++) {
        struct pb_recording recording;
        struct pb_session session;

        rig_open(caches[i].profile, NULL, &session);
        rig_run(&session, caches[i].test, &recording);
        assert_int_equal(session.hints[caches[i].cache].edge_bytes, caches[i].edge_bytes);
        pb_recording_clear(&recording);
        pb_session_close(&session);
    }
}

/* M16 4.3: bits 7 and 8 are the set of a texture; constants of 8 sets of 64-byte lines. */
static void test_sets__of_the_other_paths(void **state)
{
    static const struct {
        const char *profile, *test;
        uint64_t unit_bytes, sets;
        double miss_cycles;
    } caches[] = {{"gtx780", "readonly_sets", 128, 4, 190},
                  {"gtx680", "constant_sets", 64, 8, 100}};

    (void)state;
    for (size_t i = 0; i < COUNT(caches); i++) {
        struct pb_recording recording;
        const struct pb_point *point;
        size_t at = 0, missed = 0;

        rig_record(caches[i].profile, caches[i].test, &recording);
        while ((point = rig_next(&recording, "conflict", NULL, &at)) != NULL) {
            uint64_t x = rig_index(&recording, point, point->count - 1);

            for (size_t k = 0; k + 1 < point->count; k++) {
                uint64_t offset = rig_index(&recording, point, k);

                if (rig_cycles(&recording, point, k) < caches[i].miss_cycles ||
                    rig_cycles(&recording, point, k) > 250) /* a spike */
                    continue;
                assert_int_equal(offset / caches[i].unit_bytes % caches[i].sets,
                                 x / caches[i].unit_bytes % caches[i].sets);
                missed++;
            }
        }
        assert_true(missed > 0);
        pb_recording_clear(&recording);
    }
}

/* M16 4.3: LRU, so that one line more than fits a set never hits in passes. */
static void test_policy__of_the_other_paths_never_hits_in_passes(void **state)
{
    static const struct {
        const char *profile, *test;
        double hit_cycles;
        size_t lines;
    } caches[] = {{"gtx780", "readonly_policy", 190, 97},
                  {"gtx560ti", "texture_policy", 230, 97},
                  {"gtx680", "constant_policy", 60, 5}};

    (void)state;
    for (size_t i = 0; i < COUNT(caches); i++) {
        struct pb_recording recording;
        const struct pb_point *victim, *random;

        rig_record(caches[i].profile, caches[i].test, &recording);
        victim = rig_find(&recording, "victim", NULL);
        random = rig_find(&recording, "random", NULL);
        assert_int_equal(rig_count(&recording, victim, 0, caches[i].hit_cycles), 0);
        assert_int_equal(rig_index(&recording, victim, caches[i].lines),
                         rig_index(&recording, victim, 0)); /* a pass is the lines of a set */
        assert_true(rig_count(&recording, random, 0, caches[i].hit_cycles) > random->count / 2);
        pb_recording_clear(&recording);
    }
}

/* M16 table VIII. */
static void test_shared__latency_and_conflicts_of_the_paper(void **state)
{
    static const struct {
        const char *profile;
        double cycles[6]; /* 1-, 2-, 4-, 8-, 16- and 32-way */
    } devices[] = {{"gtx560ti", {50, 87, 162, 311, 611, 1209}},
                   {"gtx980", {28, 30, 34, 42, 58, 90}}};

    (void)state;
    for (size_t i = 0; i < COUNT(devices); i++) {
        struct pb_recording recording;
        const struct pb_point *point;
        size_t at = 0, seen = 0;

        rig_record(devices[i].profile, "shared_latency", &recording);
        for (size_t k = 0; k < recording.series.point_count; k++) {
            point = &recording.series.points[k];
            if (point->count > 0)
                assert_true(fabs(rig_median(&recording, point) - devices[i].cycles[0]) <= 1);
            else
                assert_true(fabs((double)point->total_cycles / (double)point->timed -
                                 devices[i].cycles[0]) <= 1);
        }
        pb_recording_clear(&recording);
        rig_record(devices[i].profile, "bank_conflict", &recording);
        while ((point = rig_next(&recording, "word4", NULL, &at)) != NULL) {
            uint64_t words = point->stride_bytes / 4;

            if (words == 0 || words > 32 || (words & (words - 1)) != 0)
                continue;
            assert_true(fabs(rig_median(&recording, point) -
                             devices[i].cycles[__builtin_ctzll(words)]) <= 1);
            seen++;
        }
        assert_int_equal(seen, 6);
        pb_recording_clear(&recording);
    }
}

/* F13 figures 3 and 4: steps at 32 byte for textures, at 64 and 256 for constants. */
static void test_jump__steps_of_textures_and_constants(void **state)
{
    static const struct {
        const char *test;
        struct {
            uint64_t below_bytes;
            double cycles;
        } steps[3];
    } memories[] = {{"jump_texture", {{32, 105}, {UINT64_MAX, 300}, {UINT64_MAX, 0}}},
                    {"jump_constant", {{64, 46}, {256, 110}, {UINT64_MAX, 240}}}};

    (void)state;
    for (size_t i = 0; i < COUNT(memories); i++) {
        struct pb_recording recording;
        const struct pb_point *point;
        size_t at = 0, step = 0;

        rig_record("gtx680", memories[i].test, &recording);
        while ((point = rig_next(&recording, "jump", NULL, &at)) != NULL) {
            double least = INFINITY;

            for (size_t k = 1; k < point->count; k += 2)
                least = fmin(least, rig_cycles(&recording, point, k));
            while (point->stride_bytes >= memories[i].steps[step].below_bytes)
                step++;
            if (memories[i].steps[step].below_bytes < UINT64_MAX)
                assert_true(fabs(least - memories[i].steps[step].cycles) <= 1);
            else
                assert_true(least > memories[i].steps[step - 1].cycles + 50);
        }
        assert_true(step > 0);
        pb_recording_clear(&recording);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clock_overhead__cycles_of_the_paper),
        cmocka_unit_test(test_clock_calibration__measures_the_frequency),
        cmocka_unit_test(test_capacity__of_the_other_paths),
        cmocka_unit_test(test_sets__of_the_other_paths),
        cmocka_unit_test(test_policy__of_the_other_paths_never_hits_in_passes),
        cmocka_unit_test(test_shared__latency_and_conflicts_of_the_paper),
        cmocka_unit_test(test_jump__steps_of_textures_and_constants),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
