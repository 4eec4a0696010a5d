/* What the fuzz targets have found, so that it stays mended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/device.h"
#include "analysis/statistics/modes.h"

/* Where the middle between two neighbours is one of them, the walk over the modes stood still. */
static void test_found__modes_of_numbers_without_a_middle(void **state)
{
    static const double values[] = {0x1p60, 0x1p60 + 256, 1e308, INFINITY};
    struct pb_mode modes[4];

    (void)state;
    assert_in_range(pb_modes_find(values, 4, 4, modes), 1, 4);
}

/* A file's labels need not end within their field. */
static void test_found__labels_without_an_end(void **state)
{
    static const char *const names[] = {"x"};
    struct device device = {0};
    struct pb_recording *recording = device_record(&device, "global_copy");
    struct pb_matrix *matrix = &recording->matrix;
    const struct pb_parameter *config;

    (void)state;
    assert_int_equal(pb_axis_set_labels(&matrix->axes[0], "kind", "", names, 1, NULL), PB_OK);
    assert_int_equal(pb_matrix_allocate(matrix, "byte/s", "", NULL), PB_OK);
    memset(matrix->axes[0].labels[0], 'x', PB_NAME_LENGTH);
    matrix->values[0] = 1e9;
    device_infer(&device);
    config = device_parameter(&device, "dram", "best_config");
    assert_string_equal(config->word, "kind=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
    device_clear(&device);
}

/* Memory was asked for as many SMs as a damaged file said there are. */
static void test_found__more_sms_than_any_device_has(void **state)
{
    static const double launches[] = {0.0};
    struct device device = {0};
    const struct pb_parameter *count;

    (void)state;
    for (int i = 0; i < 2; i++) { /* two rows of the table take it, one after the other */
        struct pb_matrix *matrix = &device_record(&device, "sm_clusters")->matrix;

        matrix->rank = 1;
        assert_int_equal(pb_axis_set_values(&matrix->axes[0], "launch", "", "", launches, 1, NULL),
                         PB_OK);
        assert_int_equal(pb_matrix_allocate(matrix, "", "", NULL), PB_OK);
    }
    device.info.sm_count = UINT32_MAX;
    device_infer(&device);
    count = device_parameter(&device, "sm", "tpc_count");
    assert_int_equal(count->kind, PB_VALUE_NONE);
    assert_string_equal(count->reason, "a device of 4294967295 SMs");
    device_clear(&device);
}

/* Every row of an axis without end was played through for every limit. */
static void test_found__bursts_of_the_same_warps_again_and_again(void **state)
{
    enum { ROWS = 3000 };
    static const char *const traffics[] = {"l2", "dram"};
    static const double lanes[] = {1.0}, loads[] = {1.0, 2.0, 64.0};
    static double warps[ROWS];
    struct device device = {0};
    struct pb_matrix *matrix = &device_record(&device, "mshr")->matrix;
    const struct pb_parameter *limit;

    (void)state;
    for (size_t i = 0; i < ROWS; i++)
        warps[i] = 1.0;
    assert_int_equal(pb_axis_set_labels(&matrix->axes[0], "traffic", "", traffics, 2, NULL), PB_OK);
    assert_int_equal(pb_axis_set_values(&matrix->axes[1], "lanes", "", "", lanes, 1, NULL), PB_OK);
    assert_int_equal(pb_axis_set_values(&matrix->axes[2], "warps", "", "", warps, ROWS, NULL),
                     PB_OK);
    assert_int_equal(pb_axis_set_values(&matrix->axes[3], "loads", "", "", loads, 3, NULL), PB_OK);
    assert_int_equal(pb_matrix_allocate(matrix, "cycle", "", NULL), PB_OK);
    for (size_t i = 0; i < 2 * ROWS * 3; i++)
        matrix->values[i] = 300.0;
    device_infer(&device);
    limit = device_parameter(&device, "mshr", "outstanding_per_sm");
    assert_string_equal(limit->reason,
                        "not recorded: no matrix of traffic, lanes, warps and loads");
    device_clear(&device);
}

/* As many kinds as a number may have, each far from the next: neighbours are found in one walk. */
static void test_found__modes_of_numbers_that_all_differ(void **state)
{
    enum { COUNT = 1 << 20 };
    double *values = malloc(COUNT * sizeof(*values));
    struct pb_mode modes[4];

    (void)state;
    assert_non_null(values);
    for (size_t i = 0; i < COUNT; i++)
        values[i] = 4000.0 * (double)i;
    assert_int_equal(pb_modes_find(values, COUNT, 4, modes), 1);
    free(values);
}

/* All lines of a map were compared with each other, however many there were. */
static void test_found__a_map_of_more_lines_than_any_device_shows(void **state)
{
    enum { LINES = 80000 };
    static const char *const touches[] = {"atomic"};
    static const double sms[] = {0.0};
    static double lines[LINES];
    struct device device = {0};
    const struct pb_parameter *count;

    (void)state;
    for (size_t i = 0; i < LINES; i++)
        lines[i] = (double)i;
    for (int row = 0; row < 6; row++) { /* rows of the table take it, one after the other */
        struct pb_matrix *matrix = &device_record(&device, "l2_map")->matrix;

        assert_int_equal(pb_axis_set_labels(&matrix->axes[0], "touch", "", touches, 1, NULL),
                         PB_OK);
        assert_int_equal(pb_axis_set_values(&matrix->axes[1], "sm", "", "", sms, 1, NULL), PB_OK);
        assert_int_equal(pb_axis_set_values(&matrix->axes[2], "line", "", "", lines, LINES, NULL),
                         PB_OK);
        assert_int_equal(pb_matrix_allocate(matrix, "cycle", "", NULL), PB_OK);
        for (size_t i = 0; i < LINES; i++)
            matrix->values[i] = (double)(i * 7919 % 1000);
    }
    device_infer(&device);
    count = device_parameter(&device, "sm", "sm_group_sizes");
    assert_string_equal(count->reason,
                        "a map of 1 SMs and 80000 lines is larger than any device's");
    device_clear(&device);
}

/* Room was taken for every second access, as of couples: a small jump, then a large one. */
static void test_found__jumps_that_are_all_small(void **state)
{
    enum { JUMPS = 64, STRIDE = 32 };
    static uint32_t latency[JUMPS];
    static uint64_t index[JUMPS];
    const struct pb_point point = {.path = "global_ca",
                                   .mode = "traced",
                                   .phase = "jump",
                                   .stride_bytes = STRIDE,
                                   .count = JUMPS};
    struct device device = {0};

    (void)state;
    for (uint64_t i = 0; i < JUMPS; i++) {
        latency[i] = 300;
        index[i] = i * STRIDE;
    }
    assert_int_equal(pb_series_append(&device_record(&device, "jump_global")->series, &point,
                                      latency, index, NULL),
                     PB_OK);
    device_infer(&device);
    assert_int_equal(device_parameter(&device, "l1", "stride_knee_bytes")->kind, PB_VALUE_NONE);
    device_clear(&device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_found__modes_of_numbers_without_a_middle),
        cmocka_unit_test(test_found__labels_without_an_end),
        cmocka_unit_test(test_found__bursts_of_the_same_warps_again_and_again),
        cmocka_unit_test(test_found__a_map_of_more_lines_than_any_device_shows),
        cmocka_unit_test(test_found__modes_of_numbers_that_all_differ),
        cmocka_unit_test(test_found__more_sms_than_any_device_has),
        cmocka_unit_test(test_found__jumps_that_are_all_small),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
