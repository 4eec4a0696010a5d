/* Fleet files: who gets which device, and what is refused. */
#include "sim/simtest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/sim/fleet.h"

/* Loads a plan from text. The file's name is cut off the message. */
static enum pb_status load(const char *text, struct pb_fleet_plan **plan_out, struct pb_error *err)
{
    char file[] = "/tmp/plumb-test-XXXXXX.json";
    int fd = mkstemps(file, 5);
    enum pb_status status;
    size_t prefix = strlen(file);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    status = pb_fleet_plan_load(file, plan_out, err);
    unlink(file);
    if (status != PB_OK && strncmp(err->message, file, prefix) == 0)
        memmove(err->message, err->message + prefix, strlen(err->message + prefix) + 1);
    return status;
}

static struct pb_fleet_plan *load_good(const char *text)
{
    struct pb_fleet_plan *plan = NULL;
    struct pb_error err = PB_ERROR_INIT;

    if (load(text, &plan, &err) != PB_OK)
        fail_msg("%s", err.message);
    return plan;
}

static const char example[] =
    "{\"seed\": 7, \"spread\": {\"latency\": 0.002, \"bandwidth\": 0.004}, \"devices\": ["
    "{\"host\": \"n1\", \"profile\": \"gtx780\", \"count\": 4},"
    "{\"host\": \"n2\", \"profile\": \"gtx780\", \"count\": 4,"
    " \"faults\": {\"2\": [\"dram_bandwidth=0.9\", \"absent\"]}}]}";

static void test_fleet__devices_are_laid_on_ranks_in_order(void **state)
{
    struct pb_fleet_plan *plan = load_good(example);
    struct pb_fleet_device device;

    (void)state;
    assert_int_equal(pb_fleet_plan_size(plan), 8);
    for (size_t rank = 0; rank < 8; rank++) {
        assert_int_equal(pb_fleet_plan_device(plan, rank, &device, NULL), PB_OK);
        assert_string_equal(device.host, rank < 4 ? "n1" : "n2");
        assert_int_equal(device.slot, rank % 4);
        assert_int_equal(device.host_devices, 4);
        assert_string_equal(device.profile, "gtx780");
        assert_int_equal(device.seed, 7);
        assert_float_equal(device.spread_latency, 0.002, 0);
        assert_float_equal(device.spread_bandwidth, 0.004, 0);
        assert_int_equal(device.fault_count, rank == 6 ? 2 : 0);
    }
    assert_int_equal(pb_fleet_plan_device(plan, 6, &device, NULL), PB_OK);
    assert_string_equal(device.faults[0], "dram_bandwidth=0.9");
    assert_string_equal(device.faults[1], "absent");
    pb_fleet_plan_free(plan);
}

static void test_fleet__a_rank_beyond_the_plan_is_not_found(void **state)
{
    struct pb_fleet_plan *plan = load_good(example);
    struct pb_fleet_device device;
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    assert_int_equal(pb_fleet_plan_device(plan, 8, &device, &err), PB_NOT_FOUND);
    assert_non_null(strstr(err.message, ": $.devices: 8 devices, but none for rank 8"));
    pb_fleet_plan_free(plan);
}

static void test_fleet__a_node_may_mix_models(void **state)
{
    struct pb_fleet_plan *plan =
        load_good("{\"devices\": [{\"host\": \"n1\", \"profile\": \"gtx780\", \"count\": 2},"
                  "{\"host\": \"n1\", \"profile\": \"gtx980\", \"count\": 1,"
                  " \"faults\": {\"2\": [\"absent\"]}}]}");
    struct pb_fleet_device device;

    (void)state;
    assert_int_equal(pb_fleet_plan_device(plan, 2, &device, NULL), PB_OK);
    assert_string_equal(device.profile, "gtx980");
    assert_int_equal(device.slot, 2);
    assert_int_equal(device.host_devices, 3);
    assert_int_equal(device.fault_count, 1);
    assert_int_equal(device.seed, 0);
    assert_float_equal(device.spread_latency, 0, 0);
    pb_fleet_plan_free(plan);
}

static void test_fleet__its_devices_open(void **state)
{
    struct pb_fleet_plan *plan = load_good(example);
    struct pb_fleet_device place;
    struct pb_device_request request = {0};
    struct pb_device *device = NULL;
    struct pb_device_info info;

    (void)state;
    assert_int_equal(pb_fleet_plan_device(plan, 5, &place, NULL), PB_OK);
    request = (struct pb_device_request){.selector = "1",
                                         .host = place.host,
                                         .profile = place.profile,
                                         .faults = place.faults,
                                         .fault_count = place.fault_count,
                                         .seed = place.seed};
    assert_int_equal(pb_device_sim.open(&request, &device, NULL), PB_OK);
    assert_int_equal(device->ops->describe(device, &info, NULL), PB_OK);
    assert_string_equal(info.model, "GeForce GTX 780");
    device->ops->close(device);
    pb_fleet_plan_free(plan);
}

static void test_fleet__bad_files_are_refused_with_their_path(void **state)
{
    static const char *const cases[][2] = {
        {"[]", ": $: expected an object, found an array of 0"},
        {"{}", ": $.devices: expected this key, found nothing"},
        {"{\"devices\": []}",
         ": $.devices: expected an array of 1 to 65536 elements, found an array of 0"},
        {"{\"devices\": [{\"profile\": \"gtx780\", \"count\": 1}]}",
         ": $.devices[0].host: expected this key, found nothing"},
        {"{\"devices\": [{\"host\": \"n1\", \"count\": 1}]}",
         ": $.devices[0].profile: expected this key, found nothing"},
        {"{\"devices\": [{\"host\": \"n1\", \"profile\": \"gtx780\"}]}",
         ": $.devices[0].count: expected this key, found nothing"},
        {"{\"devices\": [{\"host\": \"n1\", \"profile\": \"gtx780\", \"count\": 0}]}",
         ": $.devices[0].count: expected an integer from 1 to 1048576, found 0"},
        {"{\"devices\": [{\"host\": \"n1\", \"profile\": \"gtx780\", \"count\": 1, \"slot\": 1}]}",
         ": $.devices[0].slot: expected no such key"},
        {"{\"sead\": 1, \"devices\": []}", ": $.sead: expected no such key; did you mean seed?"},
        {"{\"seed\": -1, \"devices\": []}",
         ": $.seed: expected an integer from 0 to 9223372036854775807, found -1"},
        {"{\"spread\": {\"latency\": 0.1}, \"devices\": []}",
         ": $.spread.bandwidth: expected this key, found nothing"},
        {"{\"spread\": {\"latency\": 2, \"bandwidth\": 0}, \"devices\": []}",
         ": $.spread.latency: expected a number from 0 to 0.5, found 2"},
        {"{\"devices\": [{\"host\": \"n1\", \"profile\": \"gtx780\", \"count\": 2,"
         " \"faults\": [\"absent\"]}]}",
         ": $.devices[0].faults: expected an object, found an array of 1"},
        {"{\"devices\": [{\"host\": \"n1\", \"profile\": \"gtx780\", \"count\": 2,"
         " \"faults\": {\"2\": [\"absent\"]}}]}",
         ": $.devices[0].faults.2: expected a slot from 0 to 1 as key, found an array of 1"},
        {"{\"devices\": [{\"host\": \"n1\", \"profile\": \"gtx780\", \"count\": 2,"
         " \"faults\": {\"0\": \"absent\"}}]}",
         ": $.devices[0].faults.0: expected an array, found \"absent\""},
        {"{\"devices\": [{\"host\": \"n1\", \"profile\": \"gtx780\", \"count\": 2,"
         " \"faults\": {\"1\": [\"absent\", \"clock=x\"]}}]}",
         ": $.devices[0].faults.1[1]: fault \"clock=x\": expected clock=F with F from 0.01 to "
         "100, found \"=x\""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct pb_fleet_plan *plan = NULL;
        struct pb_error err = PB_ERROR_INIT;

        assert_int_equal(load(cases[i][0], &plan, &err), PB_INVALID);
        assert_string_equal(err.message, cases[i][1]);
        assert_null(plan);
    }
}

static void test_fleet__a_profile_that_does_not_load_is_refused(void **state)
{
    struct pb_fleet_plan *plan = NULL;
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    assert_int_equal(
        load("{\"devices\": [{\"host\": \"n1\", \"profile\": \"gtx7800\", \"count\": 1}]}", &plan,
             &err),
        PB_INVALID);
    assert_non_null(strstr(err.message, ": $.devices[0].profile: profile \"gtx7800\": expected"));
    assert_null(plan);
}

static int point_at_profiles(void **state)
{
    (void)state;
    return setenv("PLUMB_PROFILE_DIR", PLUMB_PROFILES, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fleet__devices_are_laid_on_ranks_in_order),
        cmocka_unit_test(test_fleet__a_rank_beyond_the_plan_is_not_found),
        cmocka_unit_test(test_fleet__a_node_may_mix_models),
        cmocka_unit_test(test_fleet__its_devices_open),
        cmocka_unit_test(test_fleet__bad_files_are_refused_with_their_path),
        cmocka_unit_test(test_fleet__a_profile_that_does_not_load_is_refused),
    };

    return cmocka_run_group_tests(tests, point_at_profiles, NULL);
}
