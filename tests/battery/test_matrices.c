/* Throughput, misses outstanding, studies, maps, links, load and integrity against ground truth. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "battery/rig.h"

static void test_global__every_direction_reaches_the_bandwidth(void **state)
{
    static const char *const names[] = {"global_copy",   "global_read",   "global_write",
                                        "global_copy16", "global_read16", "global_write16"};

    (void)state;
    for (size_t k = 0; k < COUNT(names); k++) {
        struct pb_recording recording;
        double most = 0;

        rig_record("gtx780", names[k], &recording);
        for (size_t i = 0; i < pb_matrix_size(&recording.matrix); i++)
            most = fmax(most, recording.matrix.values[i]);
        assert_true(fabs(most / 215.92e9 - 1) < 0.01); /* M16 table VI */
        pb_recording_clear(&recording);
    }
}

static void test_global__the_fastest_copy_is_kept_for_later_tests(void **state)
{
    struct pb_recording recording;
    struct pb_session session;

    (void)state;
    rig_open("gtx780", NULL, &session);
    rig_run(&session, "global_copy", &recording);
    assert_true(session.best_copy_bytes_per_s > 0.98 * 215.92e9);
    for (size_t i = 0; i < pb_matrix_size(&recording.matrix); i++)
        assert_true(!(recording.matrix.values[i] > session.best_copy_bytes_per_s));
    assert_true(session.best_copy.cta_size * session.best_copy.ilp >= 32);
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

/* More CTAs than an SM holds are left out, not failed. */
static void test_shared_copy__rises_to_a_plateau_and_leaves_out_what_no_sm_holds(void **state)
{
    struct pb_recording recording;
    const struct pb_matrix *matrix = &recording.matrix;
    const size_t least[] = {0, 0, 0}, most[] = {1, 4, 2}, beyond[] = {5, 5, 3};
    double best = 0;

    (void)state;
    rig_record("gtx780", "shared_copy", &recording);
    assert_true(rig_value(matrix, least) > 0);
    assert_true(rig_value(matrix, most) > 10 * rig_value(matrix, least));
    for (size_t i = 0; i < pb_matrix_size(matrix); i++)
        best = fmax(best, matrix->values[i]);
    assert_true(fabs(best / 83.31 - 1) < 0.01);    /* M16 table VII at 1.006 GHz */
    assert_true(isnan(rig_value(matrix, beyond))); /* 6 CTAs of 1024 threads */
    pb_recording_clear(&recording);
}

static double burst(const struct pb_recording *recording, const char *traffic, double lanes,
                    double warps, double loads)
{
    const struct pb_axis *axes = recording->matrix.axes;
    const size_t at[] = {rig_label(&axes[0], traffic), rig_at(&axes[1], lanes),
                         rig_at(&axes[2], warps), rig_at(&axes[3], loads)};

    return rig_value(&recording->matrix, at);
}

/*
 * N14 5.2: 6 loads of a warp are outstanding, and 64 of an SM: 10 x 6, 11 x 5, 13 x 4, 17 x 3. One
 * of 10,000 accesses takes 300 cycles more: that may hide one step, hardly two.
 */
static void test_mshr__steps_of_the_paper(void **state)
{
    static const struct {
        double warps, loads;
    } last[] = {{1, 6}, {10, 6}, {11, 5}, {12, 5}, {13, 4}, {16, 4}, {17, 3}, {20, 3}};
    struct pb_recording recording;
    size_t seen = 0;
    double one;

    (void)state;
    rig_record("gtx470", "mshr", &recording);
    one = burst(&recording, "dram", 1, 1, 1);
    assert_true(burst(&recording, "l2", 1, 1, 1) < one);
    for (size_t i = 0; i < COUNT(last); i++)
        seen += burst(&recording, "dram", 1, last[i].warps, last[i].loads) < 1.6 * one &&
                burst(&recording, "dram", 1, last[i].warps, last[i].loads + 1) > 1.7 * one;
    assert_true(seen >= COUNT(last) - 1);
    pb_recording_clear(&recording);
}

/* The same, to the load, the warp and the lane: a step where one more no longer finds a register.
 */
static void test_mshr__every_number_has_its_own_burst(void **state)
{
    static const struct {
        const char *test;
        double coarse, last; /* what else is outstanding, and the last number before the step */
    } steps[] = {{"mshr_loads", 1, 6}, {"mshr_warps", 4, 16}, {"mshr_lanes", 1, 6}};

    (void)state;
    for (size_t i = 0; i < COUNT(steps); i++) {
        struct pb_recording recording;
        const struct pb_axis *axes = recording.matrix.axes;
        size_t at[4];
        double one, last, next;

        rig_record("gtx470", steps[i].test, &recording);
        at[0] = rig_label(&axes[0], "median");
        at[1] = rig_label(&axes[1], "dram");
        at[2] = rig_at(&axes[2], steps[i].coarse);
        at[3] = 0;
        one = rig_value(&recording.matrix, at);
        at[3] = rig_at(&axes[3], steps[i].last);
        last = rig_value(&recording.matrix, at);
        at[3] = rig_at(&axes[3], steps[i].last + 1);
        next = rig_value(&recording.matrix, at);
        assert_true(last < 1.6 * one);
        assert_true(next > 1.7 * one);
        at[0] = rig_label(&axes[0], "least");
        assert_true(rig_value(&recording.matrix, at) <= next);
        pb_recording_clear(&recording);
    }
}

static double study(const struct pb_recording *recording, double threads, double parameter)
{
    const struct pb_axis *axes = recording->matrix.axes;
    const size_t at[] = {rig_at(&axes[0], threads), rig_at(&axes[1], parameter)};

    return rig_value(&recording->matrix, at);
}

/* F13 3.4.2: every barrier costs, and the same for each. */
static void test_sync__barriers_cost_in_proportion(void **state)
{
    struct pb_recording recording;
    double few, many;

    (void)state;
    rig_record("c2070", "sync", &recording);
    few = study(&recording, 256, 256) - study(&recording, 256, 128);
    many = study(&recording, 256, 1024) - study(&recording, 256, 512);
    assert_true(fabs(few / (128 * 57) - 1) < 0.01); /* 57 cycles a barrier */
    assert_true(fabs(many / few - 4) < 0.1);
    pb_recording_clear(&recording);
}

/* F13 3.4.4: as long as the registers suffice the number of variables does not matter. */
static void test_spill__begins_where_the_registers_end(void **state)
{
    struct pb_recording recording;

    (void)state;
    rig_record("c2070", "spill", &recording);
    assert_true(fabs(study(&recording, 32, 16) / study(&recording, 32, 1) - 1) < 0.01);
    assert_true(study(&recording, 32, 2048) > 3 * study(&recording, 32, 16));
    pb_recording_clear(&recording);
}

static double coalesced(const struct pb_recording *recording, const char *kind, double threads,
                        double parameter)
{
    const struct pb_axis *axes = recording->matrix.axes;
    const size_t at[] = {rig_label(&axes[0], kind), rig_at(&axes[1], threads),
                         rig_at(&axes[2], parameter)};

    return rig_value(&recording->matrix, at);
}

/* F13 3.4.3: neighbours that are far apart cost more; one thread cannot be. */
static void test_coalesce__distance_costs_many_threads_only(void **state)
{
    struct pb_recording recording;

    (void)state;
    rig_record("c2070", "coalesce", &recording);
    assert_true(coalesced(&recording, "offset", 32, 1024) >
                1.5 * coalesced(&recording, "offset", 32, 4));
    assert_true(
        fabs(coalesced(&recording, "offset", 1, 1024) / coalesced(&recording, "offset", 1, 4) - 1) <
        0.05);
    assert_true(coalesced(&recording, "stride", 1, 256) > coalesced(&recording, "stride", 1, 4));
    assert_true(isnan(coalesced(&recording, "offset", 32, 0)));
    assert_true(coalesced(&recording, "misalign", 32, 0) > 0);
    pb_recording_clear(&recording);
}

static double pass_on(const struct pb_recording *recording, const char *phase, int64_t sm)
{
    const struct pb_point *point;
    size_t at = 0;

    while ((point = rig_next(recording, phase, NULL, &at)) != NULL)
        if (point->sm_id == sm)
            return (double)point->total_cycles / (double)point->timed;
    fail_msg("no pass of SM %lld", (long long)sm);
    return NAN;
}

static void test_sm_latency__a_slow_sm_stands_out(void **state)
{
    struct pb_recording recording;
    struct pb_session session;

    (void)state;
    rig_open("gtx560ti", "sm_slow=3:1.5", &session);
    rig_run(&session, "sm_latency", &recording);
    assert_int_equal(recording.series.point_count, 2 * session.info.sm_count);
    for (int64_t sm = 0; sm < session.info.sm_count; sm++) {
        double factor = sm == 3 ? 1.5 : 1;

        assert_true(fabs(pass_on(&recording, "l1", sm) - 96 * factor) < 1);
        assert_true(pass_on(&recording, "l2", sm) > 0.95 * 351 * factor);
    }
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

static void test_sm_caches__an_sm_with_a_small_l1_stands_out(void **state)
{
    struct pb_recording recording;
    struct pb_session session;

    (void)state;
    rig_open("gtx560ti", "sm_l1_size=3:0.75", &session);
    rig_run(&session, "l1_capacity", &recording);
    pb_recording_clear(&recording);
    rig_run(&session, "sm_caches", &recording);
    for (int64_t sm = 0; sm < session.info.sm_count; sm++) {
        double cycles = pass_on(&recording, "l1_fits", sm);

        assert_true(sm == 3 ? cycles > 120 : fabs(cycles - 96) < 1);
        assert_true(fabs(pass_on(&recording, "shared", sm) - pass_on(&recording, "shared", 0)) < 1);
    }
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

static void test_sm_caches__an_sm_with_a_small_constant_cache_stands_out(void **state)
{
    struct pb_recording recording;
    struct pb_session session;

    (void)state;
    rig_open("h200", "sm_l1_size=3:0.5", &session);
    rig_run(&session, "constant_capacity", &recording);
    pb_recording_clear(&recording);
    rig_run(&session, "sm_caches", &recording);
    for (int64_t sm = 1; sm < session.info.sm_count; sm++) {
        double own = pass_on(&recording, "constant_fits", sm);
        double first = pass_on(&recording, "constant_fits", 0);

        assert_true(sm == 3 ? own > 1.2 * first : fabs(own - first) < 1);
    }
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

static void test_sm_caches__an_sm_with_slow_banks_stands_out(void **state)
{
    struct pb_recording recording;
    struct pb_session session;
    size_t conflicts = 0;

    (void)state;
    rig_open("gtx560ti", "sm_conflict=5:1.5", &session);
    rig_run(&session, "sm_caches", &recording);
    for (size_t i = 0; i < recording.series.point_count; i++) {
        const struct pb_point *point = &recording.series.points[i];
        double cycles;

        if (strcmp(point->phase, "conflict") != 0)
            continue;
        cycles = recording.series.latency_cycles[point->first] - point->overhead_cycles;
        /* M16 Table VIII: 50 without conflicts, 1209 where all lanes want one bank */
        assert_true(fabs(cycles - (point->sm_id == 5 ? 50 + 1.5 * 1159 : 1209)) < 3);
        conflicts++;
    }
    assert_int_equal(conflicts, 3 * session.info.sm_count);
    assert_true(fabs(pass_on(&recording, "shared", 5) - pass_on(&recording, "shared", 0)) < 1);
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

/* On the H200 of the simulator half of the lines are on the far side of each SM, for atomics. */
static void test_l2_map__atomics_see_two_sides(void **state)
{
    struct pb_recording recording;
    const struct pb_matrix *matrix = &recording.matrix;
    size_t near_lines = 0, far_lines = 0, line_count;

    (void)state;
    rig_record("h200", "l2_map", &recording);
    line_count = matrix->axes[2].length;
    assert_int_equal(matrix->axes[1].length, 132);
    assert_int_equal(line_count, 1024);
    for (size_t i = 0; i < line_count; i++) {
        const size_t at[] = {rig_label(&matrix->axes[0], "atomic"), 0, i};
        double cycles = rig_value(matrix, at) - recording.overhead_cycles;

        near_lines += cycles < 350;
        far_lines += cycles > 370 && cycles < 600;
    }
    assert_true(near_lines > line_count / 4);
    assert_true(far_lines > line_count / 4);
    pb_recording_clear(&recording);
}

/* A link of half the lanes carries half as much: facts 4. */
static void test_host_link__a_narrow_link_shows(void **state)
{
    struct pb_recording healthy, narrow;
    struct pb_session session;
    size_t at[] = {0, 0, 0};

    (void)state;
    rig_record("gtx780", "host_link", &healthy);
    rig_open("gtx780", "pcie_width=8", &session);
    rig_run(&session, "host_link", &narrow);
    at[1] = rig_label(&healthy.matrix.axes[1], "pinned");
    at[2] = rig_at(&healthy.matrix.axes[2], 256 << 20);
    assert_true(fabs(rig_value(&narrow.matrix, at) / rig_value(&healthy.matrix, at) - 0.5) < 0.02);
    pb_recording_clear(&healthy);
    pb_recording_clear(&narrow);
    pb_session_close(&session);
}

static void test_host_link__quick_leaves_out_the_largest(void **state)
{
    struct pb_recording recording;
    struct pb_session session;

    (void)state;
    rig_open("gtx780", NULL, &session);
    session.battery = PB_QUICK;
    rig_run(&session, "host_link", &recording);
    assert_int_equal(recording.matrix.axes[2].length, 4);
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

static void test_host_latency__the_least_is_not_above_the_median(void **state)
{
    struct pb_recording recording;

    (void)state;
    rig_record("gtx780", "host_latency", &recording);
    for (size_t i = 0; i < pb_matrix_size(&recording.matrix); i += 2) {
        assert_true(recording.matrix.values[i] > 0);
        assert_true(recording.matrix.values[i + 1] <= recording.matrix.values[i]);
    }
    pb_recording_clear(&recording);
}

/* The three others of a node of four. */
static void test_peer_link__every_device_that_can_be_reached_has_values(void **state)
{
    struct pb_recording recording;
    const struct pb_matrix *matrix = &recording.matrix;
    size_t reached = 0;

    (void)state;
    rig_record("h200", "peer_link", &recording);
    for (size_t i = 0; i < matrix->axes[0].length; i++) {
        reached += matrix->values[2 * i] > 1e9 && matrix->values[2 * i + 1] > 0;
        assert_int_equal(isnan(matrix->values[2 * i]), isnan(matrix->values[2 * i + 1]));
    }
    assert_int_equal(matrix->axes[0].length, 3);
    assert_int_equal(reached, 3);
    pb_recording_clear(&recording);
}

static void test_sustain__a_throttling_device_slows_down_in_time(void **state)
{
    struct pb_recording recording;
    struct pb_session session;
    const struct pb_matrix *matrix = &recording.matrix;
    size_t rows, columns;

    (void)state;
    rig_open("gtx780", "throttle=0.5@1", &session);
    session.sustain_seconds = 3;
    rig_run(&session, "sustained_load", &recording);
    rows = matrix->axes[0].length;
    assert_true(rows >= 30); /* 10 a second */
    assert_true(matrix->axes[0].values[rows - 1] >= 3);
    columns = matrix->axes[1].length;
    assert_true(matrix->values[(rows - 1) * columns + 1] < 0.6 * matrix->values[1]); /* sm_clock */
    assert_true(matrix->values[(rows - 1) * columns + 5] > 0);                       /* reasons */
    assert_true(isnan(matrix->values[2]));                                           /* not known */
    for (size_t i = 1; i < rows; i++)
        assert_true(matrix->axes[0].values[i] - matrix->axes[0].values[i - 1] <= 0.1);
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

/* Of one sick SM, which every slice names that saw it; words are all compared. */
static void test_sustain__compares_computations_and_words(void **state)
{
    struct pb_recording recording;
    struct pb_session session;
    const struct pb_matrix *matrix = &recording.matrix;
    size_t rows, named = 0, at[2];

    (void)state;
    rig_open("h200", "compute_flip=17:0.05", &session);
    session.sustain_seconds = 0.5;
    rig_run(&session, "sustained_load", &recording);
    rows = matrix->axes[0].length;
    for (size_t row = 0; row < rows; row++) {
        at[0] = row;
        at[1] = rig_label(&matrix->axes[1], "computed");
        assert_float_equal(rig_value(matrix, at), 132 * (row % 2 == 0 ? 32 : 16), 0);
        at[1] = rig_label(&matrix->axes[1], "wrong_words");
        assert_float_equal(rig_value(matrix, at), 0, 0);
        at[1] = rig_label(&matrix->axes[1], "copied_words");
        assert_true(rig_value(matrix, at) >= 16 << 20);
        at[1] = rig_label(&matrix->axes[1], "wrong_sm");
        if (isnan(rig_value(matrix, at)))
            continue;
        assert_float_equal(rig_value(matrix, at), 17, 0);
        named++;
    }
    assert_true(named > rows / 3);
    assert_non_null(strstr(recording.message, "SM 17"));
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

static void test_memory_integrity__a_flipped_bit_is_reported(void **state)
{
    struct pb_recording recording;
    struct pb_session session;

    (void)state;
    rig_open("gtx780", NULL, &session);
    rig_run(&session, "memory_integrity", &recording);
    assert_int_equal(recording.matrix.values[0], 256 << 20);
    assert_int_equal(recording.matrix.values[1], 0);
    assert_true(isnan(recording.matrix.values[2]));
    assert_string_equal(recording.message, "");
    pb_recording_clear(&recording);
    pb_session_close(&session);

    rig_open("gtx780", "bitflip=1e-6", &session);
    rig_run(&session, "memory_integrity", &recording);
    assert_true(recording.matrix.values[1] > 0);
    assert_true(recording.matrix.values[2] > 0);
    assert_non_null(strstr(recording.message, "words differ"));
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

static void test_memory_integrity__full_takes_all_that_is_free(void **state)
{
    struct pb_recording recording;
    struct pb_session session;

    (void)state;
    rig_open("gtx780", NULL, &session);
    session.battery = PB_FULL;
    rig_run(&session, "memory_integrity", &recording);
    assert_true(recording.matrix.values[0] > 0.5 * (double)session.info.memory_free_bytes);
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_global__every_direction_reaches_the_bandwidth),
        cmocka_unit_test(test_global__the_fastest_copy_is_kept_for_later_tests),
        cmocka_unit_test(test_shared_copy__rises_to_a_plateau_and_leaves_out_what_no_sm_holds),
        cmocka_unit_test(test_mshr__steps_of_the_paper),
        cmocka_unit_test(test_mshr__every_number_has_its_own_burst),
        cmocka_unit_test(test_sync__barriers_cost_in_proportion),
        cmocka_unit_test(test_spill__begins_where_the_registers_end),
        cmocka_unit_test(test_coalesce__distance_costs_many_threads_only),
        cmocka_unit_test(test_sm_latency__a_slow_sm_stands_out),
        cmocka_unit_test(test_sm_caches__an_sm_with_a_small_l1_stands_out),
        cmocka_unit_test(test_sm_caches__an_sm_with_a_small_constant_cache_stands_out),
        cmocka_unit_test(test_sm_caches__an_sm_with_slow_banks_stands_out),
        cmocka_unit_test(test_l2_map__atomics_see_two_sides),
        cmocka_unit_test(test_host_link__a_narrow_link_shows),
        cmocka_unit_test(test_host_link__quick_leaves_out_the_largest),
        cmocka_unit_test(test_host_latency__the_least_is_not_above_the_median),
        cmocka_unit_test(test_peer_link__every_device_that_can_be_reached_has_values),
        cmocka_unit_test(test_sustain__a_throttling_device_slows_down_in_time),
        cmocka_unit_test(test_sustain__compares_computations_and_words),
        cmocka_unit_test(test_memory_integrity__a_flipped_bit_is_reported),
        cmocka_unit_test(test_memory_integrity__full_takes_all_that_is_free),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
