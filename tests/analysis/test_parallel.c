/* What all SMs do at once: parameters of devices whose figures are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "analysis/device.h"
#include "analysis/infer.h"

enum { SHARES = 5, LINES = 1000, SIZES = 6, SMS = 4, OVERHEAD = 10 };

static double middle(const struct device *device, const char *memory, const char *name)
{
    return device_parameter(device, memory, name)->numbers[0].value;
}

/* L2 rises from 200 at 80% of the traffic, which falls short of what was wanted. */
static const double rising[SHARES][3] = {
    {200, 210, 0}, {200, 210, 20}, {200, 210, 48}, {200, 210, 80}, {300, 500, 100}};

/* Median, 95% quantile and traffic of L2 by share; DRAM stays. */
static void record_loaded(struct device *device, const double l2[SHARES][3])
{
    static const char *const memories[] = {"l2", "dram"};
    static const char *const quantities[] = {"median", "q95", "background"};
    static const double shares[SHARES] = {0, 0.25, 0.5, 0.75, 1};
    static const double dram[SHARES][3] = {
        {500, 600, 0}, {500, 600, 25}, {500, 600, 50}, {500, 600, 75}, {510, 600, 100}};
    struct pb_matrix *matrix = &device_record(device, "loaded_latency")->matrix;

    pb_axis_set_labels(&matrix->axes[0], "memory", "", memories, 2, NULL);
    pb_axis_set_values(&matrix->axes[1], "share", "", "", shares, SHARES, NULL);
    pb_axis_set_labels(&matrix->axes[2], "quantity", "", quantities, 3, NULL);
    assert_int_equal(pb_matrix_allocate(matrix, "", "", NULL), PB_OK);
    memcpy(matrix->values, l2, sizeof(dram));
    memcpy(matrix->values + SHARES * 3, dram, sizeof(dram));
}

static void test_loaded__knee_lies_where_latency_is_15_percent_up(void **state)
{
    struct device device = {0};

    (void)state;
    record_loaded(&device, rising);
    device_infer(&device);
    assert_float_equal(middle(&device, "l2", "loaded_knee_share"), 0.8 + 0.2 * 0.3, 1e-9);
    assert_float_equal(device_parameter(&device, "l2", "loaded_knee_share")->numbers[0].low, 0.8,
                       1e-9);
    assert_value(&device, "l2", "loaded_latency_cycles", 300);
    assert_none(&device, "dram", "loaded_knee_share", "no knee");
    assert_value(&device, "dram", "loaded_latency_cycles", 510);
    device_clear(&device);
}

/* Less of it was seen at 75% than at 50%: the knee lies between the two all the same. */
static void test_loaded__knee_lies_between_shares_whose_traffic_falls(void **state)
{
    static const double l2[SHARES][3] = {
        {200, 210, 0}, {200, 210, 20}, {200, 210, 85}, {240, 250, 80}, {300, 500, 100}};
    struct device device = {0};
    const struct pb_estimate *knee;

    (void)state;
    record_loaded(&device, l2);
    device_infer(&device);
    knee = device_parameter(&device, "l2", "loaded_knee_share")->numbers;
    assert_float_equal(knee->value, 0.8125, 1e-9);
    assert_float_equal(knee->low, 0.8, 1e-9);
    assert_float_equal(knee->high, 0.85, 1e-9);
    device_clear(&device);
}

/* Runs and wrong ones of each SM. */
static void record_compute(struct device *device, double runs, double wrong)
{
    static const char *const phases[] = {"steady"}, *const quantities[] = {"runs", "wrong"};
    static const double sms[SMS] = {0, 1, 2, 3};
    struct pb_matrix *matrix = &device_record(device, "compute_integrity")->matrix;

    pb_axis_set_labels(&matrix->axes[0], "phase", "", phases, 1, NULL);
    pb_axis_set_values(&matrix->axes[1], "sm", "", "", sms, SMS, NULL);
    pb_axis_set_labels(&matrix->axes[2], "quantity", "", quantities, 2, NULL);
    assert_int_equal(pb_matrix_allocate(matrix, "", "", NULL), PB_OK);
    for (size_t sm = 0; sm < SMS; sm++) {
        matrix->values[2 * sm] = runs;
        matrix->values[2 * sm + 1] = sm == 2 ? wrong : 0.0;
    }
}

static void test_compute__no_error_bounds_the_rate_by_three_over_n(void **state)
{
    struct device healthy = {0}, sick = {0};

    (void)state;
    record_compute(&healthy, 1000, 0);
    device_infer(&healthy);
    assert_value(&healthy, "compute", "wrong_runs", 0);
    assert_float_equal(middle(&healthy, "compute", "error_rate_limit"), 3.0 / 4000, 1e-12);
    device_clear(&healthy);
    record_compute(&sick, 1000, 4);
    device_infer(&sick);
    assert_value(&sick, "compute", "wrong_runs", 4);
    assert_float_equal(middle(&sick, "compute", "error_rate_limit"), 11.0 / 4000, 1e-12);
    device_clear(&sick);
}

static void test_cluster_shared__own_and_others_apart(void **state)
{
    static const double sms[SMS] = {0, 1, 2, 3};
    struct device device = {0};
    struct pb_matrix *matrix;

    (void)state;
    matrix = &device_record(&device, "cluster_shared")->matrix;
    pb_axis_set_values(&matrix->axes[0], "sm", "", "", sms, SMS, NULL);
    pb_axis_set_values(&matrix->axes[1], "other", "", "", sms, SMS, NULL);
    assert_int_equal(pb_matrix_allocate(matrix, "", "", NULL), PB_OK);
    for (size_t i = 0; i < SMS * SMS; i++)
        matrix->values[i] = i % (SMS + 1) == 0 ? 30 : i % 2 == 1 ? 200 : NAN;
    device_infer(&device);
    assert_value(&device, "cluster_shared", "own_latency_cycles", 30);
    assert_value(&device, "cluster_shared", "latency_cycles", 200);
    device_clear(&device);
}

/* A near half of 30, both of 60; lines that no half has come from DRAM. */
static void fill_whole(struct pb_recording *recording)
{
    static const double sizes[SIZES] = {15, 30, 45, 60, 75, 120};
    static double lines[LINES];
    struct pb_matrix *matrix = &recording->matrix;

    recording->overhead_cycles = OVERHEAD;
    for (size_t i = 0; i < LINES; i++)
        lines[i] = (double)i;
    pb_axis_set_values(&matrix->axes[0], "footprint", "byte", "", sizes, SIZES, NULL);
    pb_axis_set_values(&matrix->axes[1], "line", "", "", lines, LINES, NULL);
    assert_int_equal(pb_matrix_allocate(matrix, "", "", NULL), PB_OK);
    for (size_t i = 0; i < SIZES * LINES; i++) {
        double place = (double)(i % LINES) / LINES * sizes[i / LINES];
        double cycles = place < 30 ? 280 : place < 60 ? 500 : 680;

        matrix->values[i] = OVERHEAD + cycles + (double)(i % 3);
    }
}

static void test_l2_whole__near_part_far_part_and_dram(void **state)
{
    static const struct {
        const char *memory, *name;
    } declared[] = {{"dram", "latency_cycles"},  {"l2", "size_bytes"},
                    {"l2", "full_miss_bytes"},   {"l2", "latency_cycles"},
                    {"l2_near", "size_bytes"},   {"l2_near", "latency_cycles"},
                    {"l2_far", "latency_cycles"}};
    struct device device = {0};
    const struct pb_parameter *near;
    struct pb_inference row = {.memory = "l2_near", .tests = {"l2_whole"}};
    struct pb_case at = {.inference = &row,
                         .info = &device.info,
                         .recordings = device.recordings,
                         .parameters = &device.parameters};
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    fill_whole(device_record(&device, "l2_whole"));
    for (size_t i = 0; i < sizeof(declared) / sizeof(declared[0]); i++)
        assert_int_equal(pb_parameters_declare(&device.parameters, declared[i].memory,
                                               declared[i].name, "", "/tests", NULL),
                         PB_OK);
    assert_int_equal(pb_infer_l2_whole(&at, &err), PB_NOT_FOUND); /* DRAM is not known */
    pb_parameter_set_number(pb_parameters_find(&device.parameters, "dram", "latency_cycles"),
                            (struct pb_estimate){680, 680, 680}, 0.9, "known");
    assert_int_equal(pb_infer_l2_whole(&at, &err), PB_OK);
    assert_float_equal(middle(&device, "l2_near", "size_bytes"), 30, 0.1);
    assert_value(&device, "l2", "size_bytes", 60);
    assert_value(&device, "l2_near", "latency_cycles", 281);
    assert_value(&device, "l2_far", "latency_cycles", 501);

    /* what tests by all SMs state: the near half, which it never is once both are known */
    pb_parameter_set_number(pb_parameters_find(&device.parameters, "l2", "size_bytes"),
                            (struct pb_estimate){31, 25, 38}, 0.9, "by all SMs");
    pb_parameter_set_number(pb_parameters_find(&device.parameters, "l2", "full_miss_bytes"),
                            (struct pb_estimate){38, 38, 38}, 0.9, "by all SMs");
    pb_parameter_set_number(pb_parameters_find(&device.parameters, "l2", "latency_cycles"),
                            (struct pb_estimate){282, 270, 290}, 0.9, "by all SMs");
    assert_int_equal(pb_infer_l2_whole(&at, &err), PB_OK);
    near = pb_parameters_find(&device.parameters, "l2_near", "size_bytes");
    assert_float_equal(near->numbers[0].value, 30, 0.1);
    assert_float_equal(near->numbers[0].low, 25, 0);
    assert_float_equal(near->numbers[0].high, 38, 0);
    assert_value(&device, "l2", "size_bytes", 60);
    assert_int_equal(pb_parameters_find(&device.parameters, "l2", "full_miss_bytes")->kind,
                     PB_VALUE_NONE);
    assert_value(&device, "l2_near", "latency_cycles", 282);
    device_clear(&device);
}

/* Three near lines, two far ones. */
static void test_atomics__by_the_side_that_is_home(void **state)
{
    static const char *const quantities[] = {"latency", "rate"};
    static const double lines[] = {0, 1, 2, 3, 4};
    static const double cells[] = {300, 0.6, 490, 0.5, 310, 0.62, 305, 0.61, 500, 0.51};
    struct device device = {0};
    struct pb_recording *recording = device_record(&device, "atomic_sides");

    (void)state;
    recording->overhead_cycles = OVERHEAD;
    pb_axis_set_values(&recording->matrix.axes[0], "line", "byte", "", lines, 5, NULL);
    pb_axis_set_labels(&recording->matrix.axes[1], "quantity", "", quantities, 2, NULL);
    assert_int_equal(pb_matrix_allocate(&recording->matrix, "", "", NULL), PB_OK);
    for (size_t i = 0; i < 10; i++)
        recording->matrix.values[i] = cells[i];
    device_infer(&device);
    assert_value(&device, "atomic", "near_latency_cycles", 295);
    assert_value(&device, "atomic", "far_latency_cycles", 490);
    assert_float_equal(middle(&device, "atomic", "near_per_cycle"), 0.61, 1e-9);
    assert_float_equal(middle(&device, "atomic", "far_per_cycle"), 0.51, 1e-9);
    recording->matrix.values[2] = recording->matrix.values[8] = 320;
    pb_parameters_clear(&device.parameters);
    device_infer(&device);
    assert_none(&device, "atomic", "far_latency_cycles", "one side");
    device_clear(&device);
}

/* Of three SMs the third one lies on the other side: what is near for SM 0 is far for it. */
static void test_l2_sides__each_sm_s_own(void **state)
{
    static const char *const homes[] = {"near", "far"};
    static const char *const quantities[] = {"latency", "alone", "together"};
    static const double sms[] = {0, 1, 2};
    static const double cells[] = {290, 295, 480, 90, 91, 50, 36, 37, 20,
                                   485, 480, 300, 51, 52, 92, 21, 22, 38};
    struct device device = {0};
    struct pb_matrix *matrix = &device_record(&device, "l2_side_read")->matrix;

    (void)state;
    pb_axis_set_labels(&matrix->axes[0], "home", "", homes, 2, NULL);
    pb_axis_set_labels(&matrix->axes[1], "quantity", "", quantities, 3, NULL);
    pb_axis_set_values(&matrix->axes[2], "sm", "", "", sms, 3, NULL);
    assert_int_equal(pb_matrix_allocate(matrix, "", "", NULL), PB_OK);
    for (size_t i = 0; i < 18; i++)
        matrix->values[i] = cells[i];
    device_infer(&device);
    assert_value(&device, "l2_near", "read_alone_bytes_per_cycle", 91);
    assert_value(&device, "l2_far", "read_alone_bytes_per_cycle", 51);
    assert_value(&device, "l2_near", "read_bytes_per_cycle_per_sm", 37);
    assert_value(&device, "l2_far", "read_bytes_per_cycle_per_sm", 21);
    device_clear(&device);
}

/* 70 of 100 lines stay: a share of so many lines is known to a tenth. None of 100 may be one of 40.
 */
static void test_l2_persistence__shares_have_the_interval_of_their_lines(void **state)
{
    enum { SEEN = 100, KEPT = 70, ACCESSES = 3 };
    static const char *const accesses[] = {"alone", "normal", "persisting"};
    struct pb_inference row = {.memory = "l2", .tests = {"l2_persistence"}};
    struct device device = {0};
    struct pb_case at = {.inference = &row,
                         .info = &device.info,
                         .recordings = device.recordings,
                         .parameters = &device.parameters};
    struct pb_matrix *matrix = &device_record(&device, "l2_persistence")->matrix;
    const struct pb_estimate *share;
    double lines[SEEN];

    (void)state;
    for (size_t i = 0; i < SEEN; i++)
        lines[i] = (double)i;
    pb_axis_set_labels(&matrix->axes[0], "access", "", accesses, ACCESSES, NULL);
    pb_axis_set_values(&matrix->axes[1], "line", "", "", lines, SEEN, NULL);
    assert_int_equal(pb_matrix_allocate(matrix, "", "", NULL), PB_OK);
    for (size_t i = 0; i < SEEN; i++) {
        matrix->values[i] = 290;
        matrix->values[SEEN + i] = 680;
        matrix->values[2 * SEEN + i] = i < KEPT ? 290 : 680;
    }
    assert_int_equal(
        pb_parameters_declare(&device.parameters, "dram", "latency_cycles", "", "/tests", NULL),
        PB_OK);
    assert_int_equal(
        pb_parameters_declare(&device.parameters, "l2", "persisting_share", "", "/tests", NULL),
        PB_OK);
    assert_int_equal(
        pb_parameters_declare(&device.parameters, "l2", "normal_share", "", "/tests", NULL), PB_OK);
    pb_parameter_set_number(pb_parameters_find(&device.parameters, "dram", "latency_cycles"),
                            (struct pb_estimate){680, 680, 680}, 0.9, "known");
    assert_int_equal(pb_infer_l2_persistence(&at, NULL), PB_OK);
    share = &device_parameter(&device, "l2", "persisting_share")->numbers[0];
    assert_float_equal(share->value, 0.7, 1e-9);
    assert_float_equal(share->low, 0.605, 0.005);
    assert_float_equal(share->high, 0.783, 0.005);
    share = &device_parameter(&device, "l2", "normal_share")->numbers[0];
    assert_float_equal(share->low, 0.0, 0);
    assert_float_equal(share->high, 0.025, 0.005);
    device_clear(&device);
}

/* Slices of a load: some without a computation. */
static void test_sustained__errors_of_all_slices(void **state)
{
    static const char *const quantities[] = {"computed", "wrong_runs", "copied_words",
                                             "wrong_words"};
    static const double times[] = {1, 2, 3};
    static const double cells[] = {100, 0, 1000, 0, NAN, NAN, 1000, 0, 200, 4, 1000, 0};
    struct device device = {0};
    struct pb_matrix *matrix = &device_record(&device, "sustained_load")->matrix;

    (void)state;
    pb_axis_set_values(&matrix->axes[0], "time", "s", "", times, 3, NULL);
    pb_axis_set_labels(&matrix->axes[1], "quantity", "", quantities, 4, NULL);
    assert_int_equal(pb_matrix_allocate(matrix, "", "", NULL), PB_OK);
    for (size_t i = 0; i < 12; i++)
        matrix->values[i] = cells[i];
    device_infer(&device);
    assert_value(&device, "compute", "sustained_wrong_runs", 4);
    assert_float_equal(middle(&device, "compute", "sustained_error_rate_limit"),
                       (4.0 + 4.0 + 3.0) / 300.0, 1e-12);
    assert_value(&device, "dram", "sustained_wrong_words", 0);
    assert_float_equal(middle(&device, "dram", "sustained_error_rate_limit"), 3.0 / 3000.0, 1e-12);
    device_clear(&device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loaded__knee_lies_where_latency_is_15_percent_up),
        cmocka_unit_test(test_loaded__knee_lies_between_shares_whose_traffic_falls),
        cmocka_unit_test(test_compute__no_error_bounds_the_rate_by_three_over_n),
        cmocka_unit_test(test_cluster_shared__own_and_others_apart),
        cmocka_unit_test(test_l2_whole__near_part_far_part_and_dram),
        cmocka_unit_test(test_l2_sides__each_sm_s_own),
        cmocka_unit_test(test_atomics__by_the_side_that_is_home),
        cmocka_unit_test(test_l2_persistence__shares_have_the_interval_of_their_lines),
        cmocka_unit_test(test_sustained__errors_of_all_slices),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
