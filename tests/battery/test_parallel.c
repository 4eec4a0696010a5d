/* Tests in which all SMs take part, on devices whose figures are known. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "battery/rig.h"

static double cell(const struct pb_matrix *matrix, size_t a, size_t b, size_t c)
{
    const size_t places[PB_MATRIX_RANK_MAX] = {a, b, c, 0};

    return rig_value(matrix, places);
}

static void test_loaded_latency__traffic_and_latency_rise_together(void **state)
{
    struct pb_recording recording;
    const struct pb_matrix *matrix = &recording.matrix;
    size_t last;

    (void)state;
    rig_record("h200", "loaded_latency", &recording);
    last = matrix->axes[1].length - 1;
    for (size_t memory = 0; memory < 2; memory++) {
        double idle = cell(matrix, memory, 0, 0), full = cell(matrix, memory, last, 0);

        assert_float_equal(cell(matrix, memory, 0, 2), 0, 0);
        for (size_t i = 1; i <= last; i++)
            assert_true(cell(matrix, memory, i, 2) > cell(matrix, memory, i - 1, 2));
        /* the profile: 1 + 0.12 * 0.87 + 0.6 */
        assert_float_equal(full / idle, 1.704, 0.03);
    }
    assert_float_equal(cell(matrix, 1, last, 2), 3.89e12 * 131 / 132, 1e10);
    pb_recording_clear(&recording);
}

static void test_read_peak__is_the_profile_s(void **state)
{
    struct pb_recording recording;
    const struct pb_matrix *matrix = &recording.matrix;

    (void)state;
    rig_record("h200", "read_peak", &recording);
    for (size_t word = 0; word < 3; word++) {
        assert_float_equal(cell(matrix, rig_label(&matrix->axes[0], "shared"), word, 131), 128, 1);
        assert_float_equal(cell(matrix, rig_label(&matrix->axes[0], "l2"), word, 0), 36.2, 0.5);
    }
    pb_recording_clear(&recording);
}

static void test_atomic_rate__by_pattern(void **state)
{
    static const struct {
        const char *pattern;
        double per_cycle;
    } hints[] = {{"one_address", 0.69}, {"one_line", 6.7}, {"spread", 292}};
    struct pb_recording recording;
    const struct pb_matrix *matrix = &recording.matrix;

    (void)state;
    rig_record("h200", "atomic_rate", &recording);
    for (size_t i = 0; i < COUNT(hints); i++)
        assert_float_equal(cell(matrix, rig_label(&matrix->axes[0], hints[i].pattern), 3, 0),
                           hints[i].per_cycle, 0.1 * hints[i].per_cycle);
    pb_recording_clear(&recording);
}

/* The profile: 270 cycles to the near side, 414 to the far one, each by slice. */
static void test_atomic_sides__near_and_far_lines(void **state)
{
    struct pb_recording recording;
    const struct pb_matrix *matrix = &recording.matrix;
    size_t near = 0, far = 0;

    (void)state;
    rig_record("h200", "atomic_sides", &recording);
    for (size_t line = 0; line < matrix->axes[0].length; line++) {
        double latency = cell(matrix, line, 0, 0) - 16;

        near += latency > 250 && latency < 290;
        far += latency > 394 && latency < 434;
        assert_float_equal(cell(matrix, line, 1, 0), 0.67, 0.03);
    }
    assert_int_equal(near + far, matrix->axes[0].length);
    assert_true(near > 10 && far > 10);
    pb_recording_clear(&recording);
}

/* The profile: 270 and 414 cycles, 85.8 and 36.2 byte/cycle near, by as much less from far. */
static void test_l2_side_read__by_the_side_of_each_sm(void **state)
{
    struct pb_recording recording;
    const struct pb_matrix *matrix = &recording.matrix;
    const size_t latency = 0, alone = 1, together = 2;
    size_t others = 0;

    (void)state;
    rig_record("h200", "l2_side_read", &recording);
    for (size_t sm = 0; sm < matrix->axes[2].length; sm++) {
        size_t near = cell(matrix, 0, latency, sm) > cell(matrix, 1, latency, sm);
        size_t far = 1 - near;

        others += near == 1;
        assert_float_equal(cell(matrix, near, alone, sm), 85.8, 2);
        assert_float_equal(cell(matrix, far, alone, sm), 85.8 * 270 / 414, 2);
        assert_true(cell(matrix, near, together, sm) > 33 &&
                    cell(matrix, near, together, sm) < 36.2);
        assert_float_equal(cell(matrix, far, together, sm) / cell(matrix, near, together, sm),
                           270.0 / 414, 0.03);
    }
    assert_true(others > 50 && others < 80);
    pb_recording_clear(&recording);
}

/* An L2 that is one is not taken for two. */
static void test_l2_side_read__one_side_is_not_found(void **state)
{
    struct pb_recording recording;
    struct pb_state states[2];
    struct pb_session session;

    (void)state;
    rig_open_custom(
        "{\"id\": \"l2\", \"paths\": [\"global_ca\", \"global_cg\"], \"line_bytes\": 128,"
        " \"sector_bytes\": 32, \"sets\": 4096, \"ways\": 16,"
        " \"index\": {\"kind\": \"modulo\"}, \"policy\": {\"kind\": \"lru\"},"
        " \"latency_cycles\": 200}",
        "", "", &session);
    assert_int_equal(
        pb_session_run(&session, pb_test_find("l2_side_read"), &recording, states, NULL), PB_OK);
    assert_int_equal(recording.outcome, PB_TEST_UNSUPPORTED);
    assert_non_null(strstr(recording.message, "no two sides"));
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

static double kept_share(const struct pb_matrix *matrix, const char *access)
{
    size_t row = rig_label(&matrix->axes[0], access), below = 0;

    for (size_t line = 0; line < matrix->axes[1].length; line++)
        below += cell(matrix, row, line, 0) < 400;
    return (double)below / (double)matrix->axes[1].length;
}

static void test_l2_persistence__keeps_what_was_requested(void **state)
{
    struct pb_recording recording;

    (void)state;
    rig_record("h200", "l2_persistence", &recording);
    assert_true(kept_share(&recording.matrix, "alone") > 0.99);
    assert_true(kept_share(&recording.matrix, "normal") < 0.01);
    assert_float_equal(kept_share(&recording.matrix, "persisting"), 0.7, 0.06);
    pb_recording_clear(&recording);
}

static void test_large_read__is_that_of_dram(void **state)
{
    struct pb_recording recording;

    (void)state;
    rig_record("h200", "large_read16", &recording);
    assert_float_equal(cell(&recording.matrix, 1, 0, 1), 3.89e12, 0.02e12);
    pb_recording_clear(&recording);
}

static void test_cluster_shared__covers_every_sm(void **state)
{
    struct pb_recording recording;
    const struct pb_matrix *matrix = &recording.matrix;

    (void)state;
    rig_record("h200", "cluster_shared", &recording);
    for (size_t sm = 0; sm < 132; sm++) {
        size_t others = 0;

        assert_float_equal(cell(matrix, sm, sm, 0), 26.4, 0.5);
        for (size_t other = 0; other < 132; other++) {
            double cycles = cell(matrix, sm, other, 0);

            if (other == sm || isnan(cycles))
                continue;
            assert_float_equal(cycles, 191.4, 16);
            others++;
        }
        assert_true(others >= 1);
    }
    pb_recording_clear(&recording);
}

static void test_compute_integrity__names_the_sm(void **state)
{
    struct pb_recording recording;
    struct pb_matrix *matrix = &recording.matrix;
    struct pb_session session;

    (void)state;
    rig_open("h200", "compute_flip=17:0.05", &session);
    rig_run(&session, "compute_integrity", &recording);
    for (size_t sm = 0; sm < 132; sm++) {
        bool is_wrong = cell(matrix, 0, sm, 1) > 0;

        assert_int_equal(is_wrong, sm == 17);
        if (sm != 17) {
            assert_true(cell(matrix, 0, sm, 2) == cell(matrix, 0, 0, 2));
            assert_true(cell(matrix, 0, sm, 3) == cell(matrix, 0, 0, 3));
        }
    }
    assert_non_null(strstr(recording.message, "SM 17"));
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loaded_latency__traffic_and_latency_rise_together),
        cmocka_unit_test(test_read_peak__is_the_profile_s),
        cmocka_unit_test(test_atomic_rate__by_pattern),
        cmocka_unit_test(test_l2_side_read__by_the_side_of_each_sm),
        cmocka_unit_test(test_l2_side_read__one_side_is_not_found),
        cmocka_unit_test(test_atomic_sides__near_and_far_lines),
        cmocka_unit_test(test_l2_persistence__keeps_what_was_requested),
        cmocka_unit_test(test_large_read__is_that_of_dram),
        cmocka_unit_test(test_cluster_shared__covers_every_sm),
        cmocka_unit_test(test_compute_integrity__names_the_sm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
