/* Where misses begin in a sweep: sharp and soft knees, outliers, disturbed points, no knee at all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "analysis/cache/onset.h"

enum { POINTS_MAX = 128, LINE = 128 };

struct sweep {
    struct pb_sweep_point points[POINTS_MAX];
    size_t count;
    struct pb_sweep_model model;
};

static void begin(struct sweep *sweep)
{
    memset(sweep, 0, sizeof(*sweep));
    sweep->model = (struct pb_sweep_model){.background = {512, 512, 0},
                                           .outlier_rate = 1e-7,
                                           .pass_cycles = 96,
                                           .pass_noise_cycles = 0.2,
                                           .miss_penalty_cycles = 255};
}

/* A whole pass, traced in one run. */
static void add_trace(struct sweep *sweep, uint64_t lines, size_t misses)
{
    sweep->points[sweep->count++] =
        (struct pb_sweep_point){.footprint_bytes = lines * LINE,
                                .stride_bytes = LINE,
                                .tally = {(size_t)lines, (size_t)lines - misses, misses},
                                .coverage = 1.0,
                                .pass_cycles = NAN};
}

static void add_pass(struct sweep *sweep, uint64_t lines, double share)
{
    sweep->points[sweep->count++] = (struct pb_sweep_point){
        .footprint_bytes = lines * LINE, .stride_bytes = LINE, .pass_cycles = 96 + share * 255};
}

static enum pb_status find(struct sweep *sweep, struct pb_onset *onset, struct pb_error *err)
{
    pb_sweep_sort(sweep->points, sweep->count);
    return pb_onset_find(sweep->points, sweep->count, &sweep->model, onset, err);
}

static void test_onset__lru_knee_is_exact_and_full_is_seen(void **state)
{
    struct pb_onset onset;
    struct sweep sweep;

    (void)state;
    begin(&sweep);
    for (uint64_t lines = 120; lines <= 170; lines++) { /* 128 lines in 32 sets of 4 */
        uint64_t over = lines <= 128 ? 0 : lines - 128;

        add_trace(&sweep, lines, over >= 32 ? lines : over * 5);
    }
    assert_int_equal(find(&sweep, &onset, NULL), PB_OK);
    assert_int_equal(onset.fits_bytes, 128 * LINE);
    assert_int_equal(onset.overflow_bytes, 129 * LINE);
    assert_int_equal(onset.full_bytes, 160 * LINE);
    assert_false(onset.soft);
    assert_true(onset.posterior > 0.99);
    assert_int_equal(onset.agreeing, onset.seen);
}

/*
 * A large cache of hashed sets, as an examiner drew it: 65,536 lines fit, a few more miss 216 times
 * a pass, in every repetition. No trace of fewer lines was taken, but passes over them are as fast
 * as the reference, and outliers that were so frequent would slow these, too.
 */
static void test_onset__what_repeats_is_no_noise(void **state)
{
    static const struct {
        uint64_t lines;
        size_t misses;
    } traces[] = {{65560, 216}, {65561, 249}, {65563, 251},
                  {65567, 287}, {65575, 359}, {65591, 503}};
    struct pb_onset onset;
    struct sweep sweep;

    (void)state;
    begin(&sweep);
    sweep.model.pass_noise_cycles = 0.1;
    for (uint64_t lines = 16384; lines <= 65536; lines += 4096)
        add_pass(&sweep, lines, 0.0);
    for (size_t i = 0; i < sizeof(traces) / sizeof(traces[0]); i++)
        for (size_t repeat = 0; repeat < 7; repeat++)
            add_trace(&sweep, traces[i].lines, traces[i].misses);
    for (uint64_t lines = 73728; lines <= 131072; lines += 8192)
        add_pass(&sweep, lines, 1.0);
    assert_int_equal(find(&sweep, &onset, NULL), PB_OK);
    assert_true(onset.least_bytes <= 65536 * LINE);
    assert_true(onset.fits_bytes <= 65536 * LINE);
    assert_true(onset.most_bytes >= 65536 * LINE);
}

/*
 * An H200's L1 beside 196 KiB of shared memory: recorded in pieces its traces miss from 48,672
 * bytes on, now and then, but timed passes are as fast as the reference up to 53,888.
 */
static void test_onset__recording_in_pieces_may_disturb(void **state)
{
    static const struct {
        uint64_t bytes;
        size_t misses;
    } traces[] = {{45728, 0},   {47776, 0},   {48288, 0},   {48544, 0},  {48672, 4},
                  {48800, 12},  {49824, 100}, {51872, 124}, {52896, 76}, {53408, 68},
                  {53664, 164}, {53792, 188}, {53856, 112}, {53888, 96}};
    static const struct {
        uint64_t bytes;
        double cycles;
    } passes[] = {{16384, 32.09}, {24576, 32.06},  {32768, 32.04},  {49152, 32.03},  {53248, 32.03},
                  {53760, 32.03}, {53888, 32.03},  {53952, 32.65},  {54272, 32.64},  {55296, 45.97},
                  {57344, 53.57}, {65536, 101.47}, {98304, 268.63}, {131072, 280.38}};
    struct pb_onset onset;
    struct sweep sweep;

    (void)state;
    begin(&sweep);
    sweep.model.pass_cycles = 32.03;
    sweep.model.pass_noise_cycles = 0.1;
    for (size_t i = 0; i < sizeof(traces) / sizeof(traces[0]); i++) {
        size_t loads = (size_t)traces[i].bytes / 32;

        sweep.points[sweep.count++] =
            (struct pb_sweep_point){.footprint_bytes = traces[i].bytes,
                                    .stride_bytes = 32,
                                    .tally = {loads, loads - traces[i].misses, traces[i].misses},
                                    .coverage = 1.0,
                                    .in_pieces = true,
                                    .pass_cycles = NAN};
    }
    for (size_t i = 0; i < sizeof(passes) / sizeof(passes[0]); i++)
        sweep.points[sweep.count++] = (struct pb_sweep_point){.footprint_bytes = passes[i].bytes,
                                                              .stride_bytes = 32,
                                                              .pass_cycles = passes[i].cycles};
    assert_int_equal(find(&sweep, &onset, NULL), PB_OK);
    assert_int_equal(onset.fits_bytes, 53888);
    assert_int_equal(onset.overflow_bytes, 53952);
}

static void test_onset__a_single_miss_a_pass_is_enough(void **state)
{
    struct pb_onset onset;
    struct sweep sweep;

    (void)state;
    begin(&sweep);
    for (uint64_t lines = 16300; lines <= 16400; lines += 4) /* random policy: few misses */
        add_trace(&sweep, lines, lines <= 16384 ? 0 : 1 + (lines - 16384) / 8);
    assert_int_equal(find(&sweep, &onset, NULL), PB_OK);
    assert_int_equal(onset.fits_bytes, 16384 * LINE);
    assert_true(onset.posterior > 0.9);
}

/* Where a miss brings in 64 lines, one load in 64 misses, however much too long an array is. */
static void test_onset__few_misses_are_enough_where_each_brings_in_many_lines(void **state)
{
    struct pb_onset onset;
    struct sweep sweep;

    (void)state;
    begin(&sweep);
    for (uint64_t lines = 15000; lines <= 32000; lines += 250)
        add_trace(&sweep, lines, lines <= 16000 ? 0 : 1 + (lines - 16000) / 64);
    assert_int_equal(find(&sweep, &onset, NULL), PB_OK);
    assert_int_equal(onset.fits_bytes, 16000 * LINE);
    assert_true(onset.posterior > 0.9);
}

/* Bursts in every fifth chase, in which a tenth of the loads look like misses. */
static void test_onset__bursts_do_not_move_it(void **state)
{
    struct pb_onset onset;
    struct sweep sweep;

    (void)state;
    begin(&sweep);
    sweep.model.outlier_rate = NAN; /* counted */
    for (uint64_t lines = 1000; lines <= 1200; lines += 4) {
        add_trace(&sweep, lines, lines <= 1100 ? 0 : 4 * (lines - 1100));
        if (lines % 20 == 8) {
            sweep.points[sweep.count - 1].tally.misses += lines / 10;
            sweep.points[sweep.count - 1].noise_rate = 0.08;
        }
    }
    assert_int_equal(find(&sweep, &onset, NULL), PB_OK);
    assert_int_equal(onset.fits_bytes, 1100 * LINE);
    assert_true(onset.posterior > 0.9);
}

static void test_onset__a_disturbed_point_does_not_move_it(void **state)
{
    struct pb_onset onset;
    struct sweep sweep;

    (void)state;
    begin(&sweep);
    for (uint64_t lines = 100; lines <= 150; lines++)
        add_trace(&sweep, lines, lines <= 128 ? (lines == 104 ? 20 : 0) : 5 * (lines - 128));
    add_pass(&sweep, 110, 0.3);
    assert_int_equal(find(&sweep, &onset, NULL), PB_OK);
    assert_int_equal(onset.fits_bytes, 128 * LINE);
    assert_int_equal(onset.seen - onset.agreeing, 2);
}

static void test_onset__outliers_below_the_knee_are_no_misses(void **state)
{
    struct pb_onset onset;
    struct sweep sweep;

    (void)state;
    begin(&sweep);
    sweep.model.outlier_rate = 1e-4;
    for (uint64_t lines = 16000; lines <= 18000;
         lines += 100) /* one or two outliers in each pass */
        add_trace(&sweep, lines, lines <= 17000 ? 1 + (lines / 100 + 1) % 2 : lines - 16900);
    assert_int_equal(find(&sweep, &onset, NULL), PB_OK);
    assert_int_equal(onset.fits_bytes, 17000 * LINE);
}

/* Outliers as long as a miss leave nothing between hits and misses, but the reference has some. */
static void test_onset__outliers_of_the_reference_are_expected(void **state)
{
    static const size_t misses[] = {43, 40, 52, 36, 45, 41, 39, 50, 47, 38, 44, 35};
    struct pb_onset onset;
    struct sweep sweep;

    (void)state;
    begin(&sweep);
    sweep.model.background = (struct pb_tally){1024, 1017, 7};
    sweep.model.outlier_rate = 0.0;
    for (uint64_t lines = 64; lines <= 4096; lines *= 2)
        add_pass(&sweep, lines, 0.0);
    for (size_t i = 0; i < sizeof(misses) / sizeof(misses[0]); i++)
        add_trace(&sweep, 3600 + 40 * i, misses[i]);
    for (uint64_t more = 1; more <= 256; more *= 2)
        add_pass(&sweep, 4096 + more, 0.004 * (double)more);
    add_pass(&sweep, 8192, 1.0);
    assert_int_equal(find(&sweep, &onset, NULL), PB_OK);
    assert_int_equal(onset.fits_bytes, 4096 * LINE);
    assert_true(onset.posterior > 0.5);
}

static void test_onset__passes_alone_give_the_step(void **state)
{
    struct pb_onset onset;
    struct sweep sweep;

    (void)state;
    begin(&sweep);
    for (uint64_t lines = 64; lines <= 256; lines += 8)
        add_pass(&sweep, lines, lines <= 128 ? 0 : fmin(1.0, (double)(lines - 128) / 32.0));
    assert_int_equal(find(&sweep, &onset, NULL), PB_OK);
    assert_int_equal(onset.fits_bytes, 128 * LINE);
    assert_int_equal(onset.overflow_bytes, 136 * LINE);
    assert_int_equal(onset.full_bytes, 160 * LINE);
}

static void test_onset__hashed_sets_overflow_softly(void **state)
{
    struct pb_onset onset;
    struct sweep sweep;

    (void)state;
    begin(&sweep);
    for (uint64_t lines = 1500; lines <= 2400; lines += 20) { /* 2,048 lines, S-shaped */
        double z = ((double)lines - 1950.0) / 60.0, share = 1.0 / (1.0 + exp(-z));

        add_trace(&sweep, lines, lines < 1740 ? 0 : (size_t)((double)lines * share + 0.5));
    }
    assert_int_equal(find(&sweep, &onset, NULL), PB_OK);
    assert_int_equal(onset.fits_bytes, 1720 * LINE);
    assert_true(onset.soft);
    assert_in_range(onset.full_bytes, 2100 * LINE, 2300 * LINE);
}

/* The few traces around the edge are alike; where all misses, passes show it that were loaded
 * further.
 */
static void test_onset__alike_traces_at_the_edge_are_no_plateau(void **state)
{
    struct pb_onset onset;
    struct sweep sweep;

    (void)state;
    begin(&sweep);
    for (uint64_t lines = 120; lines <= 131; lines++)
        add_trace(&sweep, lines, lines <= 128 ? 0 : 1);
    for (uint64_t lines = 132; lines <= 200; lines += 4)
        add_pass(&sweep, lines, lines >= 160 ? 1.0 : (double)(lines - 128) / 32.0);
    assert_int_equal(find(&sweep, &onset, NULL), PB_OK);
    assert_int_equal(onset.fits_bytes, 128 * LINE);
    assert_int_equal(onset.full_bytes, 160 * LINE);
}

/* A pass that misses a little less than all longer ones do is no plateau yet. */
static void test_onset__misses_that_still_grow_bound_the_plateau(void **state)
{
    struct pb_onset onset;
    struct sweep sweep;

    (void)state;
    begin(&sweep);
    for (uint64_t lines = 240; lines <= 256; lines++)
        add_pass(&sweep, lines, 0.0);
    add_pass(&sweep, 300, 0.7);
    add_pass(&sweep, 316, 0.992);
    for (uint64_t lines = 340; lines <= 400; lines += 20)
        add_pass(&sweep, lines, 1.0);
    assert_int_equal(find(&sweep, &onset, NULL), PB_OK);
    assert_int_equal(onset.full_bytes, 316 * LINE);
    assert_int_equal(onset.full_most_bytes, 340 * LINE);
}

static void test_onset__flat_curve_is_not_found(void **state)
{
    struct pb_error err = PB_ERROR_INIT;
    struct pb_onset onset;
    struct sweep sweep;

    (void)state;
    begin(&sweep);
    assert_int_equal(find(&sweep, &onset, &err), PB_NOT_FOUND);
    assert_string_equal(err.message, "not recorded: the sweep is empty");
    for (uint64_t lines = 64; lines <= 1024; lines *= 2)
        add_trace(&sweep, lines, 0);
    assert_int_equal(find(&sweep, &onset, &err), PB_NOT_FOUND);
    assert_string_equal(err.message,
                        "sweep too small: no misses up to the largest footprint, 131072 bytes");
}

static void test_onset__only_misses_is_not_found(void **state)
{
    struct pb_error err = PB_ERROR_INIT;
    struct pb_onset onset;
    struct sweep sweep;

    (void)state;
    begin(&sweep);
    for (uint64_t lines = 64; lines <= 1024; lines *= 2)
        add_trace(&sweep, lines, lines);
    assert_int_equal(find(&sweep, &onset, &err), PB_NOT_FOUND);
    assert_string_equal(err.message,
                        "sweep too small: already the smallest footprint, 8192 bytes, has misses");
}

static void test_onset__silence_of_pieces_lowers_confidence(void **state)
{
    struct pb_onset onset;
    struct sweep sweep;
    double sure;

    (void)state;
    begin(&sweep);
    for (uint64_t lines = 120; lines <= 136; lines++)
        add_trace(&sweep, lines, lines <= 128 ? 0 : lines - 128);
    assert_int_equal(find(&sweep, &onset, NULL), PB_OK);
    sure = onset.posterior;
    for (size_t i = 0; i < sweep.count; i++)
        sweep.points[i].in_pieces = true;
    assert_int_equal(find(&sweep, &onset, NULL), PB_OK);
    assert_int_equal(onset.fits_bytes, 128 * LINE);
    assert_true(sure > 0.95);
    assert_true(onset.posterior < 0.8);
}

/* Pieces of passes at one size: as many misses as spikes make, or as few as a set shows by chance.
 */
static void test_onset__other_cuts_that_may_be_bound_the_edge(void **state)
{
    struct pb_onset onset;
    struct sweep sweep;

    (void)state;
    begin(&sweep);
    sweep.model.outlier_rate = NAN;
    for (uint64_t lines = 64; lines <= 118; lines += 2)
        add_trace(&sweep, lines, 0);
    for (uint64_t lines = 119; lines <= 121; lines++) {
        add_trace(&sweep, lines, lines == 120 ? 0 : 1);
        sweep.points[sweep.count - 1].in_pieces = true;
    }
    for (uint64_t lines = 122; lines < 140; lines += 2)
        add_trace(&sweep, lines, 8 * (lines - 120));
    assert_int_equal(find(&sweep, &onset, NULL), PB_OK);
    assert_true(onset.posterior < 0.99);
    assert_true(onset.least_bytes < onset.most_bytes);
    assert_true(onset.least_bytes <= onset.fits_bytes && onset.fits_bytes <= onset.most_bytes);
    assert_int_equal(onset.least_bytes, 118 * LINE);
    assert_int_equal(onset.most_bytes, 121 * LINE);
}

/* 4,096 loads of a pass. */
static void add_part(struct sweep *sweep, uint64_t lines, size_t misses)
{
    add_trace(sweep, lines, 0);
    sweep->points[sweep->count - 1].tally = (struct pb_tally){4096, 4096 - misses, misses};
    sweep->points[sweep->count - 1].coverage = 4096.0 / (double)lines;
}

/* One load of a hundred looks like a miss: as few more may be misses, or by chance. */
static void test_onset__outliers_beside_misses_leave_the_edge_open(void **state)
{
    static const size_t outliers[] = {41, 38, 44, 40};
    struct pb_onset onset;
    struct sweep sweep;

    (void)state;
    begin(&sweep);
    sweep.model.outlier_rate = NAN;
    sweep.model.background = (struct pb_tally){512, 507, 5};
    for (uint64_t i = 0; i < 16; i++) /* from 8,192 lines on, one set in turn misses */
        add_part(&sweep, 8064 + 16 * i, outliers[i % 4] + (i > 8 ? (i - 8) * 8 : 0));
    assert_int_equal(find(&sweep, &onset, NULL), PB_OK);
    assert_true(onset.least_bytes <= 8192 * LINE && 8192 * LINE <= onset.most_bytes);
    assert_true(onset.least_bytes < onset.most_bytes);
}

/* The first half of the pass shows no miss of those that are in the other one. */
static void test_onset__traces_of_one_part_are_no_independent_evidence(void **state)
{
    struct pb_onset onset;
    struct sweep sweep;

    (void)state;
    begin(&sweep);
    for (uint64_t lines = 8000; lines <= 8250; lines += 10)
        add_part(&sweep, lines, 0);
    add_pass(&sweep, 8192, 0.0);
    add_pass(&sweep, 8256, 0.02);
    add_pass(&sweep, 16384, 0.5);
    assert_int_equal(find(&sweep, &onset, NULL), PB_OK);
    assert_true(onset.least_bytes <= 8192 * LINE);
    assert_int_equal(onset.most_bytes, 8255 * LINE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onset__lru_knee_is_exact_and_full_is_seen),
        cmocka_unit_test(test_onset__misses_that_still_grow_bound_the_plateau),
        cmocka_unit_test(test_onset__what_repeats_is_no_noise),
        cmocka_unit_test(test_onset__recording_in_pieces_may_disturb),
        cmocka_unit_test(test_onset__a_single_miss_a_pass_is_enough),
        cmocka_unit_test(test_onset__few_misses_are_enough_where_each_brings_in_many_lines),
        cmocka_unit_test(test_onset__bursts_do_not_move_it),
        cmocka_unit_test(test_onset__a_disturbed_point_does_not_move_it),
        cmocka_unit_test(test_onset__outliers_below_the_knee_are_no_misses),
        cmocka_unit_test(test_onset__outliers_of_the_reference_are_expected),
        cmocka_unit_test(test_onset__passes_alone_give_the_step),
        cmocka_unit_test(test_onset__hashed_sets_overflow_softly),
        cmocka_unit_test(test_onset__alike_traces_at_the_edge_are_no_plateau),
        cmocka_unit_test(test_onset__flat_curve_is_not_found),
        cmocka_unit_test(test_onset__only_misses_is_not_found),
        cmocka_unit_test(test_onset__silence_of_pieces_lowers_confidence),
        cmocka_unit_test(test_onset__other_cuts_that_may_be_bound_the_edge),
        cmocka_unit_test(test_onset__outliers_beside_misses_leave_the_edge_open),
        cmocka_unit_test(test_onset__traces_of_one_part_are_no_independent_evidence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
