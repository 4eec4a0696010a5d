/* The battery on simulated devices: which tests are picked, where the search ends, what is filed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "battery/battery.h"
#include "battery/chase.h"

static void test_select__names_keep_the_order_of_the_table(void **state)
{
    const struct pb_test **tests;

    (void)state;
    assert_int_equal(pb_battery_select(PB_QUICK, "dram_latency,l1_capacity", &tests, NULL), PB_OK);
    assert_string_equal(tests[0]->name, "l1_capacity");
    assert_string_equal(tests[1]->name, "dram_latency");
    assert_null(tests[2]);
    free(tests);
}

static void test_select__unknown_and_empty_names_are_refused(void **state)
{
    const struct pb_test **tests = NULL;
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    assert_int_equal(pb_battery_select(PB_QUICK, "l1_capacity,nonsense", &tests, &err), PB_INVALID);
    assert_non_null(strstr(err.message, "nonsense"));
    assert_int_equal(pb_battery_select(PB_QUICK, "", &tests, &err), PB_INVALID);
    assert_int_equal(pb_battery_select(PB_QUICK, "l1_capacity,", &tests, &err), PB_INVALID);
    assert_null(tests);
}

static void test_select__each_battery_holds_the_ones_before(void **state)
{
    const struct pb_test **tests;
    size_t last = 0;

    (void)state;
    for (int battery = PB_QUICK; battery <= PB_FULL; battery++) {
        size_t count = 0;

        assert_int_equal(pb_battery_select((enum pb_battery)battery, NULL, &tests, NULL), PB_OK);
        while (tests[count] != NULL)
            count++;
        assert_true(count >= last && count > 0);
        last = count;
        free(tests);
    }
}

static void open_session(const char *profile, const char *fault, struct pb_session *session_out)
{
    const char *const faults[] = {fault};
    struct pb_device_request request = {.profile = profile,
                                        .faults = faults,
                                        .fault_count = fault != NULL,
                                        .host = "n1",
                                        .seed = 5};
    struct pb_error err = PB_ERROR_INIT;

    if (pb_session_open(&pb_device_sim, &request, PB_QUICK, session_out, &err) != PB_OK)
        fail_msg("%s", err.message);
}

static void run(struct pb_session *session, const char *name, struct pb_recording *recording_out)
{
    struct pb_state states[2];

    assert_int_equal(pb_session_run(session, pb_test_find(name), recording_out, states, NULL),
                     PB_OK);
}

/* M16 tables III and V: where misses begin, to the byte. */
static void test_search__edges_of_the_paper_are_found(void **state)
{
    static const struct {
        const char *profile;
        uint64_t l1_bytes, l2_bytes;
    } devices[] = {{"gtx560ti", 16384, 524288}, {"gtx780", 0, 1572864}, {"gtx980", 24576, 2097152}};

    (void)state;
    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        struct pb_recording recording;
        struct pb_session session;

        open_session(devices[i].profile, NULL, &session);
        run(&session, "l1_capacity", &recording);
        pb_recording_clear(&recording);
        run(&session, "l2_capacity", &recording);
        pb_recording_clear(&recording);
        assert_int_equal(session.hints[PB_CACHE_L1].edge_bytes, devices[i].l1_bytes);
        assert_int_equal(session.hints[PB_CACHE_L2].edge_bytes, devices[i].l2_bytes);
        pb_session_close(&session);
    }
}

static void test_session__l1_that_global_loads_skip_is_unsupported_with_a_reason(void **state)
{
    struct pb_recording recording;
    struct pb_session session;

    (void)state;
    open_session("gtx780", NULL, &session);
    run(&session, "l1_line", &recording);
    assert_int_equal(recording.outcome, PB_TEST_UNSUPPORTED);
    assert_non_null(strstr(recording.message, "not cached before L2"));
    assert_true(recording.series.access_count > 0); /* the evidence is kept */
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

static void test_session__same_seed_same_record(void **state)
{
    struct pb_recording first, second;
    struct pb_session session;

    (void)state;
    open_session("gtx560ti", NULL, &session);
    run(&session, "dram_latency", &first);
    pb_session_close(&session);
    open_session("gtx560ti", NULL, &session);
    run(&session, "dram_latency", &second);
    pb_session_close(&session);
    assert_int_equal(first.series.access_count, second.series.access_count);
    assert_memory_equal(first.series.latency_cycles, second.series.latency_cycles,
                        first.series.access_count * sizeof(*first.series.latency_cycles));
    pb_recording_clear(&first);
    pb_recording_clear(&second);
}

static void test_session__points_name_their_orders_and_own_their_accesses(void **state)
{
    struct pb_recording recording;
    struct pb_session session;

    (void)state;
    open_session("gtx560ti", NULL, &session);
    run(&session, "dram_latency", &recording);
    for (size_t i = 0; i < recording.series.point_count; i++) {
        const struct pb_point *point = &recording.series.points[i];
        const uint64_t *index = recording.series.index_bytes + point->first;

        assert_string_equal(point->mode, "traced");
        for (size_t k = 0; k < point->count; k++) {
            assert_true(index[k] < point->footprint_bytes);
            assert_int_equal(index[k] % point->stride_bytes, 0);
        }
    }
    assert_string_equal(recording.series.points[0].order, "random");
    assert_string_equal(recording.series.points[1].order, "random_in_pages");
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

static void test_session__lost_device_says_so(void **state)
{
    struct pb_recording recording;
    struct pb_state states[2];
    struct pb_error err = PB_ERROR_INIT;
    struct pb_session session;

    (void)state;
    open_session("gtx560ti", "lost@l1_line", &session);
    assert_int_equal(pb_session_run(&session, pb_test_find("l1_line"), &recording, states, &err),
                     PB_LOST);
    assert_int_equal(recording.outcome, PB_TEST_LOST);
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

static int by_value(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

    return (left > right) - (left < right);
}

/* Few loads and many; random ones over much memory have latencies of several kinds, and spikes. */
static void test_chase__results_are_ranks_of_what_is_filed(void **state)
{
    static const uint64_t loads[] = {1, 2, 3, 19, 20, 21, 40, 1000, 4096};
    struct pb_recording recording = {.name = "x"};
    struct pb_session session;

    (void)state;
    open_session("h200", NULL, &session);
    for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
        const struct pb_chase_spec spec = {.path = PB_PATH_GLOBAL_CA,
                                           .order = PB_ORDER_RANDOM,
                                           .phase = "x",
                                           .footprint_bytes = 1 << 30,
                                           .stride_bytes = 1 << 17,
                                           .record = loads[i],
                                           .seed = i};
        struct pb_chase_result found;
        uint32_t *filed;
        size_t n = loads[i];

        assert_int_equal(pb_chase_take(&session, &spec, &recording, &found, NULL), PB_OK);
        assert_int_equal(found.count, n);
        filed = recording.series.latency_cycles + found.first;
        qsort(filed, n, sizeof(*filed), by_value);
        assert_true(found.low_cycles == filed[n / 20] - session.overhead_cycles);
        assert_true(found.median_cycles == filed[n / 2] - session.overhead_cycles);
        assert_true(found.high_cycles == filed[n - 1 - n / 20] - session.overhead_cycles);
    }
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

/* Who counts the readings of a device's state. */
static int reading_count;

static enum pb_status read_state_and_count(struct pb_device *device, struct pb_state *state_out,
                                           struct pb_error *err)
{
    reading_count++;
    return pb_device_sim.read_state(device, state_out, err);
}

/* Readings by two tests, one right behind the other or as long after it as needs a new one. */
static int readings_of_two(double fresh_seconds)
{
    struct pb_device_ops counting = pb_device_sim;
    struct pb_recording recordings[2];
    struct pb_state states[4];
    struct pb_session session;

    counting.read_state = read_state_and_count;
    reading_count = 0;
    open_session("gtx780", NULL, &session);
    session.device->ops = &counting;
    session.state_fresh_seconds = fresh_seconds;
    for (int i = 0; i < 2; i++)
        assert_int_equal(pb_session_run(&session,
                                        pb_test_find(i == 0 ? "shared_latency" : "clock_overhead"),
                                        &recordings[i], &states[2 * i], NULL),
                         PB_OK);
    assert_string_equal(states[1].test, "shared_latency");
    assert_string_equal(states[1].when, "after");
    assert_string_equal(states[2].test, "clock_overhead");
    assert_string_equal(states[2].when, "before");
    assert_true(states[0].sm_clock_mhz > 0 && states[2].sm_clock_mhz == states[1].sm_clock_mhz);
    assert_true(states[0].unix_seconds <= states[1].unix_seconds &&
                states[2].unix_seconds >= states[1].unix_seconds);
    pb_recording_clear(&recordings[0]);
    pb_recording_clear(&recordings[1]);
    pb_session_close(&session);
    return reading_count;
}

static void test_session__state_is_read_once_between_tests(void **state)
{
    (void)state;
    assert_int_equal(readings_of_two(3600), 3);
    assert_int_equal(readings_of_two(-1), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_select__names_keep_the_order_of_the_table),
        cmocka_unit_test(test_select__unknown_and_empty_names_are_refused),
        cmocka_unit_test(test_select__each_battery_holds_the_ones_before),
        cmocka_unit_test(test_search__edges_of_the_paper_are_found),
        cmocka_unit_test(test_session__l1_that_global_loads_skip_is_unsupported_with_a_reason),
        cmocka_unit_test(test_session__same_seed_same_record),
        cmocka_unit_test(test_session__points_name_their_orders_and_own_their_accesses),
        cmocka_unit_test(test_session__lost_device_says_so),
        cmocka_unit_test(test_session__state_is_read_once_between_tests),
        cmocka_unit_test(test_chase__results_are_ranks_of_what_is_filed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
