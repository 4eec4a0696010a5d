/*
 * F13's four results as numbers: its own devices, simulated, must give its own figures; curves of
 * known shape, plain and odd, must give theirs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "analysis/device.h"
#include "analysis/selected.h"
#include "analysis/statistics/plateau.h"
#include "analysis/synthetic.h"

enum { QUADRO2000, C2070, GTX680, K20, DEVICES };

static struct pb_parameters devices[DEVICES];

static int measure_devices(void **state)
{
    static const char *const profiles[DEVICES] = {"quadro2000", "c2070", "gtx680", "k20"};

    (void)state;
    for (int i = 0; i < DEVICES; i++)
        selected_infer(profiles[i],
                       "sync,coalesce,spill,jump_global,jump_texture,jump_constant,jump_shared",
                       &devices[i]);
    return 0;
}

static int forget_devices(void **state)
{
    (void)state;
    for (int i = 0; i < DEVICES; i++)
        pb_parameters_clear(&devices[i]);
    return 0;
}

/* ---- F13's devices ---- */

/* "increases latency by 163%, 178%, 223% and 281%" */
static void test_f13_section_3_4_2__a_barrier_after_every_write(void **state)
{
    static const double slowdowns[DEVICES] = {2.63, 2.78, 3.23, 3.81};
    static const double cycles[DEVICES] = {68.5, 57, 42.4, 45.13};

    (void)state;
    for (int i = 0; i < DEVICES; i++) {
        assert_number(&devices[i], "sm", "sync_slowdown", slowdowns[i], 0.02);
        assert_float_equal(selected_find(&devices[i], "sm", "sync_cycles")->numbers[0].value,
                           cycles[i], 0.5);
    }
}

/* "plateaus for 32 threads in 3.x systems", "for 16 threads in both 2.x systems" */
static void test_f13_section_3_4_3__plateaus_at_16_and_32_threads(void **state)
{
    static const double lanes[DEVICES] = {16, 16, 32, 32}, cycles[DEVICES] = {16, 18, 37.8, 16.8};
    static const double window[DEVICES] = {64, 64, 32, 32};

    (void)state;
    for (int i = 0; i < DEVICES; i++) {
        assert_number(&devices[i], "sm", "coalesce_lanes", lanes[i], 0);
        assert_number(&devices[i], "sm", "coalesce_cycles", cycles[i], 0.03 * cycles[i]);
        assert_number(&devices[i], "sm", "coalesce_bytes", window[i], 0);
    }
}

/* "when the number of variables crossed 64"; the K20: 512; "a slowdown of about 1140%" */
static void test_f13_section_3_4_4__spills_beyond_64_variables(void **state)
{
    static const double variables[DEVICES] = {64, 64, 64, 512};

    (void)state;
    for (int i = 0; i < DEVICES; i++) {
        assert_number(&devices[i], "sm", "spill_variables", variables[i], 0);
        assert_number(&devices[i], "sm", "spill_slowdown", 12.4, 0.2);
    }
}

static const struct pb_estimate *lines_of(int device, const char *memory)
{
    return selected_find(&devices[device], memory, "stride_knee_bytes")->numbers;
}

/* Constant lines of 64 and 256 bytes, texture lines of 32, 64 in the L1 of 2.x alone. */
static void test_f13_section_3_4_1__lines_by_memory(void **state)
{

    (void)state;
    for (int i = 0; i < DEVICES; i++) {
        assert_float_equal(lines_of(i, "constant_l1")[0].value, 64, 0);
        assert_float_equal(lines_of(i, "constant_l1")[1].value, 256, 0);
        assert_float_equal(lines_of(i, "texture")[0].value, 32, 0);
        assert_open(&devices[i], "shared", "stride_knee_bytes", "bytes all take");
    }
    assert_number(&devices[QUADRO2000], "l1", "stride_knee_bytes", 64, 0);
    assert_number(&devices[C2070], "l1", "stride_knee_bytes", 64, 0);
    assert_number(&devices[GTX680], "l1", "stride_knee_bytes", 1024, 0); /* none up to 512 */
}

/* ---- curves of known shape ---- */

static void test_plateau__finds_the_knee_and_the_slope(void **state)
{
    static const double x[] = {1, 2, 4, 8, 16, 32, 64};
    double y[] = {102, 104, 108, 116, 132, 131, 133};
    struct pb_plateau plateau;

    (void)state;
    assert_int_equal(pb_plateau_fit(x, y, 7, 0.1, &plateau, NULL), PB_OK);
    assert_float_equal(plateau.knee.value, 16, 0);
    assert_float_equal(plateau.slope.value, 2, 0.1);
    assert_true(plateau.slope.low < 2 && plateau.slope.high > 2);
}

/* A cache that overflows behind the plateau is another matter. */
static void test_plateau__what_comes_behind_is_left_alone(void **state)
{
    static const double x[] = {1, 2, 4, 8, 16, 32, 64}, y[] = {102, 104, 108, 116, 116, 117, 400};
    struct pb_plateau plateau;

    (void)state;
    assert_int_equal(pb_plateau_fit(x, y, 7, 0.1, &plateau, NULL), PB_OK);
    assert_float_equal(plateau.knee.value, 8, 0);
    assert_int_equal(plateau.points, 6);
}

static void test_plateau__a_rise_without_an_end_is_not_found(void **state)
{
    static const double x[] = {1, 2, 4, 8, 16, 32, 64};
    struct pb_plateau plateau;
    double y[7];

    (void)state;
    for (size_t i = 0; i < 7; i++)
        y[i] = 100 + x[i];
    assert_int_equal(pb_plateau_fit(x, y, 7, 0.1, &plateau, NULL), PB_NOT_FOUND);
}

static void test_plateau__a_flat_line_is_not_found(void **state)
{
    static const double x[] = {1, 2, 4, 8, 16, 32, 64}, y[] = {100, 101, 100, 99, 101, 100, 100};
    struct pb_plateau plateau;

    (void)state;
    assert_int_equal(pb_plateau_fit(x, y, 7, 0.1, &plateau, NULL), PB_NOT_FOUND);
}

/* A study of `rows` × `columns`, the cells by that function of both places' numbers. */
static void record_study(struct device *device, const char *test, const char *parameter,
                         double (*cycles)(double threads, double parameter))
{
    static const double numbers[] = {1, 4, 16, 64, 256, 1024};
    struct pb_matrix *matrix = &device_record(device, test)->matrix;

    pb_axis_set_values(&matrix->axes[0], "threads", "", "", numbers, 6, NULL);
    pb_axis_set_values(&matrix->axes[1], parameter, "", "", numbers, 6, NULL);
    assert_int_equal(pb_matrix_allocate(matrix, "cycle", "", NULL), PB_OK);
    for (size_t i = 0; i < 36; i++)
        matrix->values[i] = cycles(numbers[i / 6], numbers[i % 6]);
}

static double free_barriers(double threads, double barriers)
{
    (void)barriers;
    return 40000 + threads;
}

static double spills_nowhere(double threads, double variables)
{
    return 20000 + threads + variables;
}

/* One variable alone is no study: its moves are optimised away. */
static double spills_beyond_16(double threads, double variables)
{
    if (variables < 2)
        return 1800;
    return variables > 16 ? 100000 : 25000 + threads;
}

static void test_study__costs_that_are_not_there_are_not_stated(void **state)
{
    struct device device = {0};

    (void)state;
    record_study(&device, "sync", "barriers", free_barriers);
    record_study(&device, "spill", "variables", spills_nowhere);
    device_infer(&device);
    assert_none(&device, "sm", "sync_cycles", "no number of threads slows down");
    assert_none(&device, "sm", "spill_variables", "no step in the cost of moves");
    assert_none(&device, "sm", "coalesce_bytes", "not recorded");
    device_clear(&device);
}

static void test_spill__one_variable_alone_does_not_count(void **state)
{
    struct device device = {0};

    (void)state;
    record_study(&device, "spill", "variables", spills_beyond_16);
    device_infer(&device);
    assert_value(&device, "sm", "spill_variables", 16);
    assert_float_equal(device_parameter(&device, "sm", "spill_variables")->numbers[0].high, 63, 0);
    assert_float_equal(device_parameter(&device, "sm", "spill_slowdown")->numbers[0].value, 4,
                       0.01);
    device_clear(&device);
}

static void test_study__axes_of_another_test_are_refused(void **state)
{
    struct device device = {0};

    (void)state;
    record_study(&device, "sync", "variables", spills_beyond_16);
    device_infer(&device);
    assert_none(&device, "sm", "sync_cycles", "axis 1 is not barriers");
    device_clear(&device);
}

/* Load pairs whose small jumps take 30 cycles below `line` bytes, else as long as the large ones.
 */
static void record_jumps(struct device *device, const char *test, uint64_t line,
                         struct synthetic_noise noise)
{
    struct pb_recording *recording = device_record(device, test);

    for (uint64_t bytes = 8; bytes <= 1024; bytes *= 2) {
        struct pb_point point = {
            .mode = "traced", .phase = "jump", .stride_bytes = bytes, .count = 64};
        uint32_t latency[64];
        uint64_t index[64];

        for (size_t i = 0; i < 64; i++) {
            latency[i] = synthetic_latency(&noise, i % 2 == 1 && bytes < line ? 30 : 600);
            index[i] = i / 2 * 4096 + (i % 2) * bytes;
        }
        assert_int_equal(pb_series_append(&recording->series, &point, latency, index, NULL), PB_OK);
    }
}

static void test_jump__noise_hides_no_line(void **state)
{
    struct device device = {0};

    (void)state;
    record_jumps(&device, "jump_global", 128, (struct synthetic_noise){14, 3, 1e-2, 300, 11});
    record_jumps(&device, "jump_constant", 32, (struct synthetic_noise){14, 3, 0.2, 3000, 11});
    record_jumps(&device, "jump_texture", 8, (struct synthetic_noise){14, 3, 1e-2, 300, 11});
    device_infer(&device);
    assert_float_equal(device_parameter(&device, "l1", "stride_knee_bytes")->numbers[0].value, 128,
                       0);
    assert_int_equal(device_parameter(&device, "l1", "stride_knee_bytes")->number_count, 1);
    assert_float_equal(
        device_parameter(&device, "constant_l1", "stride_knee_bytes")->numbers[0].value, 32, 0);
    assert_int_equal(device_parameter(&device, "constant_l1", "stride_knee_bytes")->number_count,
                     1);
    assert_none(&device, "texture", "stride_knee_bytes", "bytes all take");
    device_clear(&device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f13_section_3_4_2__a_barrier_after_every_write),
        cmocka_unit_test(test_f13_section_3_4_3__plateaus_at_16_and_32_threads),
        cmocka_unit_test(test_f13_section_3_4_4__spills_beyond_64_variables),
        cmocka_unit_test(test_f13_section_3_4_1__lines_by_memory),
        cmocka_unit_test(test_plateau__finds_the_knee_and_the_slope),
        cmocka_unit_test(test_plateau__what_comes_behind_is_left_alone),
        cmocka_unit_test(test_plateau__a_rise_without_an_end_is_not_found),
        cmocka_unit_test(test_plateau__a_flat_line_is_not_found),
        cmocka_unit_test(test_study__costs_that_are_not_there_are_not_stated),
        cmocka_unit_test(test_spill__one_variable_alone_does_not_count),
        cmocka_unit_test(test_study__axes_of_another_test_are_refused),
        cmocka_unit_test(test_jump__noise_hides_no_line),
    };

    return cmocka_run_group_tests(tests, measure_devices, forget_devices);
}
