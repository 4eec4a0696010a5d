/* Specifications of faults: several at once, and every bad one is refused. */
#include "sim/simtest.h"

#include "device/sim/fault.h"

static void test_faults__of_one_kind_multiply(void **state)
{
    const char *const specs[] = {"clock=0.5", "clock=0.5", "hang@a", "hang@b"};
    struct pb_sim_faults faults = {0};

    (void)state;
    assert_int_equal(pb_sim_faults_parse(specs, 4, &faults, NULL), PB_OK);
    assert_float_equal(pb_sim_faults_factor(&faults, PB_SIM_FAULT_CLOCK), 0.25, 0);
    assert_float_equal(pb_sim_faults_factor(&faults, PB_SIM_FAULT_L2_LATENCY), 1, 0);
    assert_true(pb_sim_faults_strike(&faults, PB_SIM_FAULT_HANG, "b"));
    assert_false(pb_sim_faults_strike(&faults, PB_SIM_FAULT_HANG, "c"));
    pb_sim_faults_free(&faults);
}

static void test_fault__bad_specifications_are_refused(void **state)
{
    static const char *const cases[][2] = {
        {"clok=0.9", "fault \"clok=0.9\": no fault has this name; did you mean clock?"},
        {"nothing_alike=0.9",
         "fault \"nothing_alike=0.9\": expected one of clock, dram_bandwidth, l2_bandwidth, "
         "dram_latency, l2_latency, l1_size, sm_slow, sm_l1_size, sm_conflict, tail, throttle, "
         "pcie_width, bitflip, hang, crash, lost, absent, load_knee, atomic_rate, dsm_latency, "
         "peer_latency, compute_flip"},
        {"clock", "fault \"clock\": expected clock=F with F from 0.01 to 100, found \"\""},
        {"clock=fast", "fault \"clock=fast\": expected clock=F with F from 0.01 to 100, "
                       "found \"=fast\""},
        {"clock=0.9x", "fault \"clock=0.9x\": expected clock=F with F from 0.01 to 100, "
                       "found \"=0.9x\""},
        {"l2_latency=0", "fault \"l2_latency=0\": expected l2_latency=F with F from 0.01 to 100, "
                         "found \"=0\""},
        {"dram_latency=nan", "fault \"dram_latency=nan\": expected dram_latency=F with F from "
                             "0.01 to 100, found \"=nan\""},
        {"l1_size=2", "fault \"l1_size=2\": expected l1_size=F with F from 0.01 to 1, "
                      "found \"=2\""},
        {"sm_slow=1.1", "fault \"sm_slow=1.1\": expected sm_slow=SM:F with SM from 0 and F from "
                        "0.01 to 100, found \"=1.1\""},
        {"sm_slow=1.5:2", "fault \"sm_slow=1.5:2\": expected sm_slow=SM:F with SM from 0 and F "
                          "from 0.01 to 100, found \"=1.5:2\""},
        {"tail=2:100", "fault \"tail=2:100\": expected tail=PROBABILITY:CYCLES with PROBABILITY "
                       "from 0 to 1 and CYCLES from 0 to 1e9, found \"=2:100\""},
        {"throttle=0.5", "fault \"throttle=0.5\": expected throttle=F@SECONDS with F from 0.01 "
                         "to 1 and SECONDS from 0 to 1e6, found \"=0.5\""},
        {"pcie_width=3", "fault \"pcie_width=3\": expected pcie_width=N with N one of 1, 2, 4, "
                         "8, 16 and 32, found \"=3\""},
        {"bitflip=-1", "fault \"bitflip=-1\": expected bitflip=PROBABILITY from 0 to 1, "
                       "found \"=-1\""},
        {"hang@", "fault \"hang@\": expected hang@TEST with the name of a test, found \"@\""},
        {"hang=x", "fault \"hang=x\": expected hang@TEST with the name of a test, found \"=x\""},
        {"absent=1", "fault \"absent=1\": expected absent without a value, found \"=1\""},
        {"sm_slow=2:1.1", "fault sm_slow: expected an SM from 0 to 1 of Test GPU, found 2"},
    };
    json_t *root = simtest_profile();

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct pb_error err = PB_ERROR_INIT;

        assert_int_equal(simtest_refused(root, cases[i][0], &err), PB_INVALID);
        assert_string_equal(err.message, cases[i][1]);
    }
    json_decref(root);
}

static void test_fault_l1_size__needs_an_l1(void **state)
{
    json_t *root = simtest_profile();
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    json_array_remove(json_object_get(root, "caches"), 0);
    assert_int_equal(simtest_refused(root, "l1_size=0.5", &err), PB_INVALID);
    assert_string_equal(err.message, "fault l1_size: Test GPU has no cache in its SMs");
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faults__of_one_kind_multiply),
        cmocka_unit_test(test_fault__bad_specifications_are_refused),
        cmocka_unit_test(test_fault_l1_size__needs_an_l1),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
