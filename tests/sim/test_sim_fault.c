/* Every injected fault does what it says and nothing else. */
#include "sim/simtest.h"

#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What the fast tests look at: averages in cycles, and bytes per second. */
struct view {
    double l1, l2, dram, shared, copy;
    double pass_ns; /* per L1 load */
};

static double ns_of_l1(struct pb_device *device)
{
    uint64_t offsets[1] = {0};
    struct pb_chase chase = {.path = PB_PATH_GLOBAL_CA,
                             .offset_bytes = offsets,
                             .offset_count = 1,
                             .warm = 1,
                             .timed = 100,
                             .carveout_bytes = -1,
                             .sm = -1};
    struct pb_chase_trace trace = {0};

    assert_int_equal(device->ops->chase(device, &chase, &trace, NULL), PB_OK);
    return trace.total_ns / 100;
}

static double copy_of(struct pb_device *device)
{
    struct pb_stream stream = {.kind = PB_STREAM_COPY,
                               .cta_count = 256,
                               .cta_size = 1024,
                               .ilp = 8,
                               .word_bytes = 16,
                               .bytes = 1 << 20,
                               .repeats = 1};
    struct pb_stream_result result;

    assert_int_equal(device->ops->stream(device, &stream, &result, NULL), PB_OK);
    return (double)result.bytes_moved / result.seconds;
}

static struct view look(struct pb_device *device)
{
    struct view view = {.l1 = simtest_pass(device, PB_PATH_GLOBAL_CA, 16, 128),
                        .l2 = simtest_pass(device, PB_PATH_GLOBAL_CG, 64, 128),
                        .dram = simtest_pass(device, PB_PATH_GLOBAL_CG, 1024, 128),
                        .shared = simtest_pass(device, PB_PATH_SHARED, 64, 128),
                        .copy = copy_of(device),
                        .pass_ns = ns_of_l1(device)};

    return view;
}

static const struct view healthy = {30, 200, 500, 30, 1e11, 30};

static void expect_view(const char *fault, struct view expected)
{
    json_t *root = simtest_profile();
    struct pb_device *device =
        fault == NULL ? simtest_open(root, NULL) : simtest_open_faulty(root, fault);
    struct view seen = look(device);

    assert_float_equal(seen.l1, expected.l1, 0.02);
    assert_float_equal(seen.l2, expected.l2, 0.02);
    assert_float_equal(seen.dram, expected.dram, 0.02);
    assert_float_equal(seen.shared, expected.shared, 0.02);
    assert_float_equal(seen.copy, expected.copy, 1e-6 * expected.copy);
    assert_float_equal(seen.pass_ns, expected.pass_ns, 1e-3);
    device->ops->close(device);
    json_decref(root);
}

static void test_fault__none_changes_nothing(void **state)
{
    (void)state;
    expect_view(NULL, healthy);
}

static void test_fault_clock__slows_time_and_shortens_dram_in_cycles(void **state)
{
    struct view expected = healthy;

    (void)state;
    expected.dram = 200 + 300 * 0.5;
    expected.pass_ns = 60;
    expect_view("clock=0.5", expected);
}

static void test_fault_dram_bandwidth__leaves_latency_alone(void **state)
{
    struct view expected = healthy;

    (void)state;
    expected.copy = 0.9e11;
    expect_view("dram_bandwidth=0.9", expected);
}

static void test_fault_dram_latency__leaves_caches_alone(void **state)
{
    struct view expected = healthy;

    (void)state;
    expected.dram = 600;
    expect_view("dram_latency=1.2", expected);
}

static void test_fault_l2_latency__leaves_l1_alone(void **state)
{
    struct view expected = healthy;

    (void)state;
    expected.l2 = 220;
    expect_view("l2_latency=1.1", expected);
}

static void test_fault_l1_size__takes_ways_of_l1_only(void **state)
{
    json_t *root = simtest_profile();
    struct pb_device *device = simtest_open_faulty(root, "l1_size=0.5");

    (void)state;
    assert_float_equal(simtest_pass(device, PB_PATH_GLOBAL_CA, 8, 128), 30, 0);
    assert_float_equal(simtest_pass(device, PB_PATH_GLOBAL_CA, 16, 128), 200, 0);
    assert_float_equal(simtest_pass(device, PB_PATH_GLOBAL_CG, 128, 128), 200, 0);
    device->ops->close(device);
    json_decref(root);
}

/* Cycles of a warm L1 load from an SM. */
static double l1_of_sm(struct pb_device *device, int64_t sm)
{
    uint64_t offsets[1] = {0};
    struct pb_chase chase = {.path = PB_PATH_GLOBAL_CA,
                             .offset_bytes = offsets,
                             .offset_count = 1,
                             .warm = 1,
                             .timed = 100,
                             .carveout_bytes = -1,
                             .sm = sm};
    struct pb_chase_trace trace = {0};

    assert_int_equal(device->ops->chase(device, &chase, &trace, NULL), PB_OK);
    assert_int_equal(trace.sm_id, sm);
    return (double)trace.total_cycles / 100;
}

static void test_fault_sm_slow__only_that_sm(void **state)
{
    json_t *root = simtest_profile();
    struct pb_device *device = simtest_open_faulty(root, "sm_slow=1:1.5");

    (void)state;
    assert_float_equal(l1_of_sm(device, 0), 30, 0);
    assert_float_equal(l1_of_sm(device, 1), 45, 0);
    device->ops->close(device);
    json_decref(root);
}

static void test_fault_tail__strikes_loads_that_leave_their_sm(void **state)
{
    enum { LOADS = 5000 };
    json_t *root = simtest_profile();
    struct pb_device *device = simtest_open_faulty(root, "tail=0.1:2000");
    uint32_t latency[LOADS];
    int tails = 0;

    (void)state;
    simtest_trace(device, PB_PATH_GLOBAL_CG, 64, 128, 64, LOADS, latency);
    for (int i = 0; i < LOADS; i++) {
        assert_true(latency[i] == 200 || latency[i] == 2200);
        tails += latency[i] == 2200;
    }
    assert_in_range(tails, 500 - 107, 500 + 107); /* 5 standard deviations */
    simtest_trace(device, PB_PATH_GLOBAL_CA, 4, 128, 4, LOADS, latency);
    for (int i = 0; i < LOADS; i++)
        assert_int_equal(latency[i], 30);
    device->ops->close(device);
    json_decref(root);
}

static void test_fault_throttle__sets_in_after_its_time(void **state)
{
    json_t *root = simtest_profile();
    struct pb_device *device = simtest_open_faulty(root, "throttle=0.5@1");
    struct pb_clock_sample samples[5];
    struct pb_state now;

    (void)state;
    assert_int_equal(device->ops->read_state(device, &now, NULL), PB_OK);
    assert_int_equal(now.throttle_reasons, 0);
    assert_int_equal(now.violation_thermal_ns, 0);
    assert_int_equal(device->ops->clock(device, 2.0, 5, samples, NULL), PB_OK);
    assert_int_equal(samples[1].cycles - samples[0].cycles, 500000000);
    assert_int_equal(samples[2].cycles - samples[1].cycles, 500000000);
    assert_int_equal(samples[3].cycles - samples[2].cycles, 250000000);
    assert_int_equal(samples[4].cycles - samples[3].cycles, 250000000);
    assert_int_equal(device->ops->read_state(device, &now, NULL), PB_OK);
    assert_int_equal(now.throttle_reasons, 0x48);
    assert_int_equal(now.violation_thermal_ns, 1000000000);
    assert_int_equal(now.violation_power_ns, 0);
    assert_float_equal(now.sm_clock_mhz, 500, 1e-9);
    assert_float_equal(ns_of_l1(device), 60, 1e-9);
    device->ops->close(device);
    json_decref(root);
}

static void test_fault_pcie_width__shows_in_the_state(void **state)
{
    json_t *root = simtest_profile();
    struct pb_device *device = simtest_open_faulty(root, "pcie_width=4");
    struct pb_state now;

    (void)state;
    assert_int_equal(device->ops->read_state(device, &now, NULL), PB_OK);
    assert_int_equal(now.pcie_width, 4);
    assert_int_equal(now.pcie_width_max, 16);
    device->ops->close(device);
    json_decref(root);
}

static void test_fault_bitflip__is_counted_in_streams(void **state)
{
    json_t *root = simtest_profile();
    struct pb_device *device = simtest_open_faulty(root, "bitflip=0.001");
    struct pb_stream stream = {.kind = PB_STREAM_COPY,
                               .cta_count = 4,
                               .cta_size = 128,
                               .ilp = 1,
                               .word_bytes = 4,
                               .bytes = 4 << 20,
                               .repeats = 1};
    struct pb_stream_result result;

    (void)state;
    assert_int_equal(device->ops->stream(device, &stream, &result, NULL), PB_OK);
    assert_in_range(result.mismatch_count, 1049 - 162, 1049 + 162);
    device->ops->close(device);
    json_decref(root);
}

static void test_fault_bitflip__stops_a_chase_with_address_and_bits(void **state)
{
    json_t *root = simtest_profile();
    struct pb_device *device = simtest_open_faulty(root, "bitflip=1");
    uint64_t offsets[2] = {0, 128}, index[2];
    uint32_t latency[2];
    struct pb_chase chase = {.path = PB_PATH_GLOBAL_CA,
                             .offset_bytes = offsets,
                             .offset_count = 2,
                             .record = 2,
                             .carveout_bytes = -1,
                             .sm = -1};
    struct pb_chase_trace trace = {.latency_cycles = latency, .index_bytes = index};
    struct pb_error err = PB_ERROR_INIT;
    unsigned long long address, expected, found, bits;

    (void)state;
    assert_int_equal(device->ops->chase(device, &chase, &trace, &err), PB_DEVICE);
    assert_int_equal(sscanf(err.message,
                            "chase over global_ca: address %llx: expected %llx, found %llx "
                            "(bits %llx)",
                            &address, &expected, &found, &bits),
                     4);
    assert_int_equal(expected ^ found, bits);
    assert_int_equal(bits & (bits - 1), 0);
    assert_true(bits != 0);
    assert_int_equal(address ^ expected, 128); /* each slot points to the other */
    device->ops->close(device);
    json_decref(root);
}

static void test_fault_lost__from_that_test_on(void **state)
{
    json_t *root = simtest_profile();
    struct pb_device *device = simtest_open_faulty(root, "lost@l2_capacity");
    struct pb_device_info info;
    struct pb_state now;
    uint32_t cycles;
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    assert_int_equal(device->ops->begin_test(device, "l1_capacity", false, NULL), PB_OK);
    assert_int_equal(device->ops->stamp(device, PB_STAMP_EMPTY, 1, &cycles, NULL), PB_OK);
    assert_int_equal(device->ops->begin_test(device, "l2_capacity", false, &err), PB_LOST);
    assert_string_equal(err.message, "n1 gpu 0: the device has fallen off the bus");
    assert_int_equal(device->ops->begin_test(device, "l1_capacity", false, NULL), PB_LOST);
    assert_int_equal(device->ops->stamp(device, PB_STAMP_EMPTY, 1, &cycles, NULL), PB_LOST);
    assert_int_equal(device->ops->describe(device, &info, NULL), PB_LOST);
    assert_int_equal(device->ops->read_state(device, &now, NULL), PB_LOST);
    device->ops->close(device);
    json_decref(root);
}

/* Begins the test in a child process; returns the child. */
static pid_t begin_in_child(const char *fault)
{
    json_t *root = simtest_profile();
    struct pb_device *device = simtest_open_faulty(root, fault);
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        device->ops->begin_test(device, "dram_latency", false, NULL);
        _exit(0);
    }
    device->ops->close(device);
    json_decref(root);
    return child;
}

static void test_fault_crash__dies_by_a_signal_in_that_test(void **state)
{
    int result = 0;

    (void)state;
    waitpid(begin_in_child("crash@dram_latency"), &result, 0);
    assert_true(WIFSIGNALED(result));
    assert_int_equal(WTERMSIG(result), SIGSEGV);
    waitpid(begin_in_child("crash@l1_capacity"), &result, 0);
    assert_true(WIFEXITED(result));
}

static void test_fault_hang__never_returns_but_can_be_killed(void **state)
{
    const struct timespec moment = {0, 100000000};
    int result = 0;
    pid_t child;

    (void)state;
    waitpid(begin_in_child("hang@l1_capacity"), &result, 0);
    assert_true(WIFEXITED(result));
    child = begin_in_child("hang@dram_latency");
    nanosleep(&moment, NULL);
    assert_int_equal(waitpid(child, &result, WNOHANG), 0);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(WTERMSIG(result), SIGKILL);
}

static void test_fault_absent__there_is_no_device(void **state)
{
    json_t *root = simtest_profile();
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    assert_int_equal(simtest_refused(root, "absent", &err), PB_NOT_FOUND);
    assert_string_equal(err.message, "no device in slot 0 of n1");
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fault__none_changes_nothing),
        cmocka_unit_test(test_fault_clock__slows_time_and_shortens_dram_in_cycles),
        cmocka_unit_test(test_fault_dram_bandwidth__leaves_latency_alone),
        cmocka_unit_test(test_fault_dram_latency__leaves_caches_alone),
        cmocka_unit_test(test_fault_l2_latency__leaves_l1_alone),
        cmocka_unit_test(test_fault_l1_size__takes_ways_of_l1_only),
        cmocka_unit_test(test_fault_sm_slow__only_that_sm),
        cmocka_unit_test(test_fault_tail__strikes_loads_that_leave_their_sm),
        cmocka_unit_test(test_fault_throttle__sets_in_after_its_time),
        cmocka_unit_test(test_fault_pcie_width__shows_in_the_state),
        cmocka_unit_test(test_fault_bitflip__is_counted_in_streams),
        cmocka_unit_test(test_fault_bitflip__stops_a_chase_with_address_and_bits),
        cmocka_unit_test(test_fault_lost__from_that_test_on),
        cmocka_unit_test(test_fault_crash__dies_by_a_signal_in_that_test),
        cmocka_unit_test(test_fault_hang__never_returns_but_can_be_killed),
        cmocka_unit_test(test_fault_absent__there_is_no_device),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
