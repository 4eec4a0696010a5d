/* Naming a GPU: what fits one, what fits none, and what is said then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "device/cuda/device.h"

static const struct pb_device_entry entries[] = {
    {"GPU-1a2b3c4d-0000-0000-0000-000000000000", "00000000:3B:00.0", "NVIDIA A"},
    {"GPU-1a2b9999-0000-0000-0000-000000000000", "00000001:3B:00.0", "NVIDIA A"},
    {"GPU-77770000-0000-0000-0000-000000000000", "00000000:AF:00.0", "NVIDIA B"},
    {"MIG-55550000-0000-0000-0000-000000000000", "00000000:D8:00.0", "NVIDIA B MIG 1g.18gb"},
};

enum { COUNT = sizeof(entries) / sizeof(entries[0]) };

static void expect_match(const char *selector, size_t expected)
{
    struct pb_error err = PB_ERROR_INIT;
    size_t found = 99;

    assert_int_equal(pb_cuda_match(selector, entries, COUNT, &found, &err), PB_OK);
    assert_int_equal(found, expected);
}

static void expect_refusal(const char *selector, const char *words)
{
    struct pb_error err = PB_ERROR_INIT;
    size_t found = 99;

    assert_int_equal(pb_cuda_match(selector, entries, COUNT, &found, &err), PB_INVALID);
    assert_int_equal(found, 99);
    assert_non_null(strstr(err.message, words));
    for (size_t i = 0; i < COUNT; i++) {
        assert_non_null(strstr(err.message, entries[i].uuid));
        assert_non_null(strstr(err.message, entries[i].pci_bus_id));
    }
}

static void test_cuda_match__index(void **state)
{
    (void)state;
    expect_match("0", 0);
    expect_match("2", 2);
    expect_refusal("4", "no such GPU");
}

static void test_cuda_match__uuid_and_its_unique_start(void **state)
{
    (void)state;
    expect_match("GPU-1a2b3c4d-0000-0000-0000-000000000000", 0);
    expect_match("GPU-1a2b9", 1);
    expect_match("gpu-1A2B9", 1);
    expect_match("77770000", 2);
    expect_refusal("GPU-1a2b", "several GPUs fit");
    expect_refusal("GPU-dead", "no such GPU");
}

static void test_cuda_match__mig_instance_by_its_own_uuid(void **state)
{
    (void)state;
    expect_match("MIG-55550000-0000-0000-0000-000000000000", 3);
    expect_match("mig-5555", 3);
    expect_match("55550000", 3);
    expect_refusal("GPU-5555", "no such GPU");
}

static void test_cuda_match__pci_bus_id_in_its_three_spellings(void **state)
{
    (void)state;
    expect_match("3b:00.0", 0);
    expect_match("0000:3b:00.0", 0);
    expect_match("00000001:3B:00.0", 1);
    expect_match("0000:af:00.0", 2);
    expect_refusal("0000:b0:00.0", "no such GPU");
    expect_refusal("3b:00.1", "no such GPU");
    expect_refusal("3b:00.0 ", "no such GPU");
}

static void test_cuda_match__nonsense_is_refused(void **state)
{
    (void)state;
    expect_refusal("", "no such GPU");
    expect_refusal("-1", "no such GPU");
    expect_refusal("0x", "no such GPU");
    expect_refusal("h200", "no such GPU");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuda_match__index),
        cmocka_unit_test(test_cuda_match__uuid_and_its_unique_start),
        cmocka_unit_test(test_cuda_match__mig_instance_by_its_own_uuid),
        cmocka_unit_test(test_cuda_match__pci_bus_id_in_its_three_spellings),
        cmocka_unit_test(test_cuda_match__nonsense_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
