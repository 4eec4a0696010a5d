/* Links as numbers: what was recorded of them, and what is missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "analysis/device.h"

static const char *const directions[] = {"to_device", "from_device"};
static const char *const memories[] = {"pageable", "pinned"};

/* Cells 1, 2, … 8 of direction × memory × those quantities. */
static void record_host(struct device *device, const char *test, const char *const *quantities)
{
    struct pb_matrix *matrix = &device_record(device, test)->matrix;

    pb_axis_set_labels(&matrix->axes[0], "direction", "", directions, 2, NULL);
    pb_axis_set_labels(&matrix->axes[1], "memory", "", memories, 2, NULL);
    pb_axis_set_labels(&matrix->axes[2], "quantity", "", quantities, 2, NULL);
    assert_int_equal(pb_matrix_allocate(matrix, "", "", NULL), PB_OK);
    for (size_t i = 0; i < 8; i++)
        matrix->values[i] = (double)i + 1.0;
}

static void test_link__of_the_host_by_direction(void **state)
{
    static const char *const latency[] = {"median", "least"};
    static const char *const together[] = {"throughput", "devices"};
    struct device device = {0};

    (void)state;
    record_host(&device, "host_latency", latency);
    record_host(&device, "host_link_concurrent", together);
    device.recordings[0].matrix.values[3] = 2.5; /* the least is less than the median, 3 */
    device_infer(&device);
    assert_value(&device, "host_link", "to_latency_ns", 3);
    assert_float_equal(device_parameter(&device, "host_link", "to_latency_ns")->numbers[0].low, 2.5,
                       0);
    assert_value(&device, "host_link", "from_latency_ns", 7);
    assert_value(&device, "host_link", "to_concurrent_bytes_per_s", 3);
    assert_value(&device, "host_link", "from_concurrent_bytes_per_s", 7);
    device_clear(&device);
}

static void test_link__of_peers_as_lists(void **state)
{
    static const char *const peers[] = {"a", "b", "c"}, *const quantities[] = {"bandwidth",
                                                                               "latency"};
    struct device device = {0};
    struct pb_matrix *matrix = &device_record(&device, "peer_link")->matrix;
    const struct pb_parameter *rates;

    (void)state;
    pb_axis_set_labels(&matrix->axes[0], "peer", "", peers, 3, NULL);
    pb_axis_set_labels(&matrix->axes[1], "quantity", "", quantities, 2, NULL);
    assert_int_equal(pb_matrix_allocate(matrix, "", "", NULL), PB_OK);
    for (size_t i = 0; i < 4; i++) /* the third was not reached */
        matrix->values[i] = (double)i + 1.0;
    device_infer(&device);
    rates = device_parameter(&device, "peer_link", "bytes_per_s");
    assert_int_equal(rates->number_count, 3);
    assert_float_equal(rates->numbers[1].value, 3, 0);
    assert_true(isnan(rates->numbers[2].value));
    assert_float_equal(device_parameter(&device, "peer_link", "latency_ns")->numbers[1].value, 4,
                       0);
    assert_none(&device, "peer_link", "concurrent_bytes_per_s", "not recorded");
    device_clear(&device);
}

/* Cell = 1000 peer + 100 path + 10 state + line, overhead 5: medians of lines 0, 1, 2. */
static void test_link__of_chases_in_peers(void **state)
{
    static const char *const peers[] = {"a", "b"}, *const paths[] = {"global_ca", "global_cg"};
    static const char *const states[] = {"cold", "warm", "again"};
    static const double lines[] = {0, 1, 2};
    struct device device = {0};
    struct pb_recording *recording = device_record(&device, "peer_chase");
    struct pb_matrix *matrix = &recording->matrix;

    (void)state;
    recording->overhead_cycles = 5;
    pb_axis_set_labels(&matrix->axes[0], "peer", "", peers, 2, NULL);
    pb_axis_set_labels(&matrix->axes[1], "path", "", paths, 2, NULL);
    pb_axis_set_labels(&matrix->axes[2], "state", "", states, 3, NULL);
    pb_axis_set_values(&matrix->axes[3], "line", "", "", lines, 3, NULL);
    assert_int_equal(pb_matrix_allocate(matrix, "", "", NULL), PB_OK);
    for (size_t i = 0; i < 36; i++)
        matrix->values[i] =
            (double)(1000 * (i / 18) + 100 * (i / 9 % 2) + 10 * (i / 3 % 3) + i % 3);
    for (size_t i = 18; i < 36; i++) /* the second peer was not reached by plain loads */
        matrix->values[i] = i < 27 ? NAN : matrix->values[i];
    device_infer(&device);
    assert_float_equal(
        device_parameter(&device, "peer_link", "load_latency_cycles")->numbers[1].value, 1106, 0);
    assert_float_equal(
        device_parameter(&device, "peer_link", "load_dram_latency_cycles")->numbers[0].value, 96,
        0);
    assert_float_equal(
        device_parameter(&device, "peer_link", "again_latency_cycles")->numbers[0].value, 16, 0);
    assert_true(
        isnan(device_parameter(&device, "peer_link", "plain_latency_cycles")->numbers[1].value));
    device_clear(&device);
}

static void test_link__of_copies_takes_the_fastest_engine(void **state)
{
    static const char *const peers[] = {"a", "b"}, *const ways[] = {"from_peer", "to_peer", "both"};
    static const char *const engines[] = {"copy_engine", "sms"};
    struct device device = {0};
    struct pb_matrix *matrix = &device_record(&device, "peer_copy")->matrix;

    (void)state;
    pb_axis_set_labels(&matrix->axes[0], "peer", "", peers, 2, NULL);
    pb_axis_set_labels(&matrix->axes[1], "way", "", ways, 3, NULL);
    pb_axis_set_labels(&matrix->axes[2], "engine", "", engines, 2, NULL);
    assert_int_equal(pb_matrix_allocate(matrix, "", "", NULL), PB_OK);
    for (size_t i = 0; i < 12; i++)
        matrix->values[i] = (double)(i ^ 1);
    device_infer(&device);
    assert_float_equal(device_parameter(&device, "peer_link", "to_bytes_per_s")->numbers[0].value,
                       3, 0);
    assert_float_equal(device_parameter(&device, "peer_link", "both_bytes_per_s")->numbers[1].value,
                       11, 0);
    device_clear(&device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_link__of_the_host_by_direction),
        cmocka_unit_test(test_link__of_peers_as_lists),
        cmocka_unit_test(test_link__of_chases_in_peers),
        cmocka_unit_test(test_link__of_copies_takes_the_fastest_engine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
