/* Reading a GPU's state through an NVML of known answers, one that answers nothing, and none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <math.h>
#include <string.h>

#include "device/nvml/nvml.h"
#include "fake_nvml.h"

/* The library's variables, looked up where it was loaded. */
static enum fake_nvml_mode *mode;
static int *open_count, *search_count;

static int load_fake(void **state)
{
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);

    (void)state;
    if (library == NULL)
        return -1;
    mode = dlsym(library, "fake_nvml_mode");
    open_count = dlsym(library, "fake_nvml_open");
    search_count = dlsym(library, "fake_nvml_searches");
    return mode == NULL || open_count == NULL || search_count == NULL ? -1 : 0;
}

static struct pb_nvml *open_in_mode(enum fake_nvml_mode wanted)
{
    struct pb_nvml *nvml = pb_nvml_open(FAKE_NVML_UUID, "00000000:00:00.0");

    assert_non_null(nvml);
    *mode = wanted;
    return nvml;
}

static void test_nvml_read_state__every_field_comes_from_its_call(void **state)
{
    struct pb_nvml *nvml = open_in_mode(FAKE_NVML_HEALTHY);
    struct pb_state now;

    (void)state;
    pb_state_clear(&now);
    assert_true(pb_nvml_read_state(nvml, &now));
    assert_true(now.sm_clock_mhz == 1980 && now.memory_clock_mhz == 3201);
    assert_true(fabs(now.power_w - 123.456) < 1e-9);
    assert_true(now.temperature_c == 41 && now.memory_temperature_c == 57);
    assert_int_equal(now.throttle_reasons, 0x24);
    assert_int_equal(now.ecc_corrected, 107);
    assert_int_equal(now.ecc_uncorrected, 102);
    assert_int_equal(now.remapped_corrected, 3);
    assert_int_equal(now.remapped_uncorrected, 2);
    assert_int_equal(now.remap_pending, 1);
    assert_int_equal(now.remap_failed, 0);
    assert_int_equal(now.retired_corrected, 2);
    assert_int_equal(now.retired_uncorrected, 0);
    assert_int_equal(now.retirement_pending, 1);
    assert_int_equal(now.pcie_generation, 4);
    assert_int_equal(now.pcie_generation_max, 5);
    assert_int_equal(now.pcie_width, 8);
    assert_int_equal(now.pcie_width_max, 16);
    assert_int_equal(now.memory_used_bytes, 400);
    assert_int_equal(now.processes, 2);
    assert_int_equal(now.nvlinks_up, 5);
    assert_int_equal(now.nvlink_errors, 1230);
    assert_int_equal(now.violation_power_ns, 5000000000);
    assert_int_equal(now.violation_thermal_ns, 7);
    pb_nvml_close(nvml);
}

static void test_nvml_read_state__a_missing_entry_point_leaves_its_field_unknown(void **state)
{
    struct pb_nvml *nvml = open_in_mode(FAKE_NVML_HEALTHY);
    struct pb_state now;

    (void)state;
    pb_state_clear(&now);
    assert_true(pb_nvml_read_state(nvml, &now));
    assert_int_equal(now.pcie_replays, -1);
    pb_nvml_close(nvml);
}

static void test_nvml_read_state__what_is_not_supported_stays_unknown(void **state)
{
    struct pb_nvml *nvml = open_in_mode(FAKE_NVML_UNSUPPORTED);
    struct pb_state now, unknown;

    (void)state;
    pb_state_clear(&now);
    pb_state_clear(&unknown);
    assert_true(pb_nvml_read_state(nvml, &now));
    assert_memory_equal(&now, &unknown, sizeof(now));
    pb_nvml_close(nvml);
}

static void test_nvml_read_state__a_lost_gpu_is_reported(void **state)
{
    struct pb_nvml *nvml = open_in_mode(FAKE_NVML_LOST);
    struct pb_state now;

    (void)state;
    pb_state_clear(&now);
    assert_false(pb_nvml_read_state(nvml, &now));
    pb_nvml_close(nvml);
}

static void test_nvml_read_state__no_nvml_is_no_error(void **state)
{
    struct pb_state now, unknown;

    (void)state;
    pb_state_clear(&now);
    pb_state_clear(&unknown);
    assert_true(pb_nvml_read_state(NULL, &now));
    assert_memory_equal(&now, &unknown, sizeof(now));
}

static void test_nvml_describe__identity_and_limits(void **state)
{
    struct pb_nvml *nvml = open_in_mode(FAKE_NVML_HEALTHY);
    struct pb_device_info info = {.slot = -1, .ecc_enabled = -1, .mig_enabled = -1};

    (void)state;
    pb_nvml_describe(nvml, &info);
    assert_string_equal(info.vbios, "96.00.01");
    assert_string_equal(info.serial, "1652923000123");
    assert_string_equal(info.board_part, "699-2G520-0200-000");
    assert_string_equal(info.driver_version, "580.1");
    assert_int_equal(info.slot, 5);
    assert_int_equal(info.ecc_enabled, 1);
    assert_int_equal(info.mig_enabled, 0);
    assert_true(info.power_limit_w == 650 && info.power_limit_default_w == 700);
    pb_nvml_close(nvml);
}

static void test_nvml_mig__reads_use_of_the_instance_and_the_rest_of_its_gpu(void **state)
{
    struct pb_nvml *nvml;
    struct pb_state now;

    (void)state;
    *mode = FAKE_NVML_MIG;
    nvml = pb_nvml_open(FAKE_NVML_MIG_UUID, "00000000:00:00.0");
    assert_non_null(nvml);
    pb_state_clear(&now);
    assert_true(pb_nvml_read_state(nvml, &now));
    assert_int_equal(now.memory_used_bytes, 10);
    assert_int_equal(now.processes, 1);
    assert_true(now.sm_clock_mhz == 1980 && now.temperature_c == 41);
    assert_true(fabs(now.power_w - 123.456) < 1e-9);
    assert_int_equal(now.ecc_corrected, 107);
    assert_int_equal(now.pcie_width, 8);
    assert_int_equal(now.nvlinks_up, 5);
    pb_nvml_close(nvml);
}

static void describe_instance(const char *uuid, struct pb_device_info *info)
{
    struct pb_nvml *nvml;

    *info = (struct pb_device_info){.slot = -1, .ecc_enabled = -1, .mig_enabled = -1};
    info->power_limit_w = info->power_limit_default_w = NAN;
    nvml = pb_nvml_open(uuid, "00000000:00:00.0");
    assert_non_null(nvml);
    pb_nvml_describe(nvml, info);
    pb_nvml_close(nvml);
}

static void test_nvml_mig__instances_of_one_gpu_have_slots_of_their_own(void **state)
{
    struct pb_device_info one, other, share;

    (void)state;
    *mode = FAKE_NVML_MIG;
    describe_instance(FAKE_NVML_MIG_UUID, &one);
    describe_instance(FAKE_NVML_MIG_UUID_TOO, &other);
    describe_instance(FAKE_NVML_MIG_UUID_SHARE, &share);
    assert_int_equal(one.slot, 6030);
    assert_int_equal(other.slot, 6050);
    assert_int_equal(share.slot, 6031);
    assert_int_equal(one.mig_enabled, 1);
    assert_int_equal(one.ecc_enabled, 1);
    assert_string_equal(one.vbios, "96.00.01");
    assert_true(one.power_limit_w == 650);
}

static void test_nvml_mig__without_its_gpu_the_rest_is_unknown(void **state)
{
    struct pb_device_info info;
    struct pb_nvml *nvml;
    struct pb_state now;

    (void)state;
    *mode = FAKE_NVML_MIG_ALONE;
    describe_instance(FAKE_NVML_MIG_UUID, &info);
    assert_int_equal(info.mig_enabled, 1);
    assert_int_equal(info.slot, -1);
    assert_true(isnan(info.power_limit_w));
    nvml = pb_nvml_open(FAKE_NVML_MIG_UUID, "00000000:00:00.0");
    pb_state_clear(&now);
    assert_true(pb_nvml_read_state(nvml, &now));
    assert_int_equal(now.memory_used_bytes, 10);
    assert_true(isnan(now.sm_clock_mhz));
    assert_int_equal(now.ecc_corrected, -1);
    pb_nvml_close(nvml);
    nvml = pb_nvml_open(FAKE_NVML_MIG_UUID, FAKE_NVML_BUS_ID); /* found by the bus instead */
    assert_true(pb_nvml_read_state(nvml, &now));
    assert_true(now.sm_clock_mhz == 1980);
    assert_int_equal(now.memory_used_bytes, 10);
    pb_nvml_close(nvml);
}

/* An instance that NVML does not know: its GPU's memory and processes are not its own. */
static void test_nvml_mig__what_others_on_its_gpu_use_is_not_reported(void **state)
{
    struct pb_device_info info = {.slot = -1, .mig_enabled = -1};
    struct pb_nvml *nvml;
    struct pb_state now;

    (void)state;
    *mode = FAKE_NVML_MIG;
    nvml = pb_nvml_open("MIG-00000000-0000-0000-0000-000000000000", FAKE_NVML_BUS_ID);
    assert_non_null(nvml);
    pb_nvml_describe(nvml, &info);
    assert_int_equal(info.mig_enabled, 1);
    assert_int_equal(info.slot, -1);
    assert_true(info.power_limit_w == 650);
    pb_state_clear(&now);
    assert_true(pb_nvml_read_state(nvml, &now));
    assert_true(now.sm_clock_mhz == 1980);
    assert_int_equal(now.memory_used_bytes, -1);
    assert_int_equal(now.processes, -1);
    pb_nvml_close(nvml);
}

/* Looking for a UUID starts every GPU of a node; an instance has no place of its own. */
static void test_nvml_open__searches_only_for_what_is_not_at_its_place(void **state)
{
    static const struct {
        const char *uuid, *bus_id;
        int searches;
    } cases[] = {
        {FAKE_NVML_UUID, FAKE_NVML_BUS_ID, 0},
        {FAKE_NVML_UUID, "00000000:00:00.0", 1},
        {FAKE_NVML_MIG_UUID, FAKE_NVML_BUS_ID, 1},
    };

    (void)state;
    *mode = FAKE_NVML_HEALTHY;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int before = *search_count;
        struct pb_nvml *nvml = pb_nvml_open(cases[i].uuid, cases[i].bus_id);

        assert_non_null(nvml);
        assert_int_equal(*search_count - before, cases[i].searches);
        pb_nvml_close(nvml);
    }
}

static void test_nvml_open__finds_by_bus_id_when_the_uuid_is_unknown(void **state)
{
    struct pb_nvml *nvml = pb_nvml_open("MIG-0", FAKE_NVML_BUS_ID);

    (void)state;
    assert_non_null(nvml);
    pb_nvml_close(nvml);
}

static void test_nvml_open__an_unknown_gpu_leaves_nothing_open(void **state)
{
    (void)state;
    assert_null(pb_nvml_open("GPU-0", "00000000:00:00.0"));
    assert_int_equal(*open_count, 0);
    pb_nvml_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nvml_read_state__every_field_comes_from_its_call),
        cmocka_unit_test(test_nvml_read_state__a_missing_entry_point_leaves_its_field_unknown),
        cmocka_unit_test(test_nvml_read_state__what_is_not_supported_stays_unknown),
        cmocka_unit_test(test_nvml_read_state__a_lost_gpu_is_reported),
        cmocka_unit_test(test_nvml_read_state__no_nvml_is_no_error),
        cmocka_unit_test(test_nvml_describe__identity_and_limits),
        cmocka_unit_test(test_nvml_mig__reads_use_of_the_instance_and_the_rest_of_its_gpu),
        cmocka_unit_test(test_nvml_mig__instances_of_one_gpu_have_slots_of_their_own),
        cmocka_unit_test(test_nvml_mig__without_its_gpu_the_rest_is_unknown),
        cmocka_unit_test(test_nvml_mig__what_others_on_its_gpu_use_is_not_reported),
        cmocka_unit_test(test_nvml_open__searches_only_for_what_is_not_at_its_place),
        cmocka_unit_test(test_nvml_open__finds_by_bus_id_when_the_uuid_is_unknown),
        cmocka_unit_test(test_nvml_open__an_unknown_gpu_leaves_nothing_open),
    };

    return cmocka_run_group_tests(tests, load_fake, NULL);
}
