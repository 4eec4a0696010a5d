/* Naming a GPU: what fits one, what fits none, and what is said then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
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

/* CUDA shows a process only some of a node's instances. */
static void test_cuda_match__hidden_instance_is_reported_with_its_remedy(void **state)
{
    (void)state;
    expect_refusal("MIG-12340000-0000-0000-0000-000000000000", "CUDA_VISIBLE_DEVICES");
    expect_refusal("mig-1234", "CUDA_VISIBLE_DEVICES");
}

/* From R570 on a process may see several; their place is the same. */
static void test_cuda_match__instances_of_one_gpu_share_its_bus_id(void **state)
{
    static const struct pb_device_entry two[] = {
        {"MIG-55550000-0000-0000-0000-000000000000", "00000000:D8:00.0", "NVIDIA B MIG 1g.18gb"},
        {"MIG-66660000-0000-0000-0000-000000000000", "00000000:D8:00.0", "NVIDIA B MIG 1g.18gb"}};
    struct pb_error err = PB_ERROR_INIT;
    size_t found = 99;

    (void)state;
    assert_int_equal(pb_cuda_match("d8:00.0", two, 2, &found, &err), PB_INVALID);
    assert_non_null(strstr(err.message, "several GPUs fit"));
    assert_int_equal(pb_cuda_match("MIG-6666", two, 2, &found, &err), PB_OK);
    assert_int_equal(found, 1);
}

static size_t count_listed(const char *visible)
{
    struct pb_device_entry *listed = NULL;
    size_t count = 99;

    assert_int_equal(pb_cuda_named(visible, &listed, &count, NULL), PB_OK);
    free(listed);
    return count;
}

static void test_cuda_named__are_those_of_a_list_with_instances(void **state)
{
    static const char list[] = "MIG-55550000-0000-0000-0000-000000000000,"
                               "MIG-GPU-1a2b3c4d-0000-0000-0000-000000000000/13/0,MIG-6666";
    struct pb_device_entry *listed = NULL;
    size_t count = 0, found = 99;

    (void)state;
    assert_int_equal(pb_cuda_named(list, &listed, &count, NULL), PB_OK);
    assert_int_equal(count, 3);
    assert_string_equal(listed[0].uuid, entries[3].uuid);
    assert_string_equal(listed[1].uuid, "MIG-GPU-1a2b3c4d-0000-0000-0000-000000000000/13/0");
    assert_string_equal(listed[2].uuid, "MIG-6666");
    assert_string_equal(listed[2].pci_bus_id, "");
    assert_int_equal(pb_cuda_match(listed[1].uuid, listed, count, &found, NULL), PB_OK);
    assert_int_equal(found, 1);
    free(listed);
}

/* Then CUDA reports what there is. */
static void test_cuda_named__are_none_where_cuda_shows_all(void **state)
{
    (void)state;
    assert_int_equal(count_listed(NULL), 0);
    assert_int_equal(count_listed(""), 0);
    assert_int_equal(count_listed("0,1"), 0);
    assert_int_equal(count_listed("GPU-1a2b3c4d,GPU-1a2b9999"), 0);
    assert_int_equal(count_listed("MIG-5555"), 0);
    assert_int_equal(count_listed("0,MIG-5555,MIG-6666"), 0);
    assert_int_equal(count_listed("MIG-5555,,GPU-1a2b3c4d"), 0);
    assert_int_equal(count_listed("MIG-5555,MIG-6666"), 2);
    assert_int_equal(count_listed("GPU-1a2b3c4d,MIG-5555"), 2);
}

static void expect_narrowed(size_t found, const char *expected)
{
    struct pb_device_entry *listed = NULL;
    char *visible = NULL;
    size_t count = 0;

    assert_int_equal(
        pb_cuda_named("GPU-1a2b,MIG-5555,MIG-6666,GPU-7777,GPU-8888", &listed, &count, NULL),
        PB_OK);
    assert_int_equal(count, 5);
    assert_int_equal(pb_cuda_narrow(listed, count, found, &visible, NULL), PB_OK);
    assert_string_equal(visible, expected);
    free(visible);
    free(listed);
}

/* Before R570 CUDA shows a process one instance, and then no whole GPU; these have peers. */
static void test_cuda_named__each_of_divided_and_whole_gpus_can_be_opened(void **state)
{
    (void)state;
    expect_narrowed(0, "GPU-1a2b,GPU-7777,GPU-8888");
    expect_narrowed(1, "MIG-5555");
    expect_narrowed(2, "MIG-6666");
    expect_narrowed(3, "GPU-7777,GPU-8888,GPU-1a2b");
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
        cmocka_unit_test(test_cuda_match__hidden_instance_is_reported_with_its_remedy),
        cmocka_unit_test(test_cuda_match__instances_of_one_gpu_share_its_bus_id),
        cmocka_unit_test(test_cuda_named__are_those_of_a_list_with_instances),
        cmocka_unit_test(test_cuda_named__are_none_where_cuda_shows_all),
        cmocka_unit_test(test_cuda_named__each_of_divided_and_whole_gpus_can_be_opened),
        cmocka_unit_test(test_cuda_match__pci_bus_id_in_its_three_spellings),
        cmocka_unit_test(test_cuda_match__nonsense_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
