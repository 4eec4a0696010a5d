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
        assert_float_equal(cell(matrix, rig_label(&matrix->axes[0], "l2"), word, 0), 33.8, 0.5);
    }
    pb_recording_clear(&recording);
}

static void test_atomic_rate__by_pattern(void **state)
{
    static const struct {
        const char *pattern;
        double per_cycle;
    } known[] = {{"one_address", 0.69}, {"one_line", 6.7}, {"spread", 217}};
    struct pb_recording recording;
    const struct pb_matrix *matrix = &recording.matrix;

    (void)state;
    rig_record("h200", "atomic_rate", &recording);
    for (size_t i = 0; i < COUNT(known); i++)
        assert_float_equal(cell(matrix, rig_label(&matrix->axes[0], known[i].pattern), 3, 0),
                           known[i].per_cycle, 0.1 * known[i].per_cycle);
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

        assert_float_equal(cell(matrix, sm, sm, 0), 32.4, 0.5);
        for (size_t other = 0; other < 132; other++) {
            double cycles = cell(matrix, sm, other, 0);

            if (other == sm || isnan(cycles))
                continue;
            assert_float_equal(cycles, 197.4, 16);
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
    struct pb_bench bench;

    (void)state;
    rig_open("h200", "compute_flip=17:0.05", &bench);
    rig_run(&bench, "compute_integrity", &recording);
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
    pb_bench_close(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loaded_latency__traffic_and_latency_rise_together),
        cmocka_unit_test(test_read_peak__is_the_profile_s),
        cmocka_unit_test(test_atomic_rate__by_pattern),
        cmocka_unit_test(test_cluster_shared__covers_every_sm),
        cmocka_unit_test(test_compute_integrity__names_the_sm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
