/* Groups of like devices: what sets them apart, and what does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/verdict/group.h"

enum { DEVICES_MAX = 128 };

struct rig {
    struct pb_features features, baseline;
    struct pb_group *groups;
    size_t count, group_of[DEVICES_MAX];
};

static int set_up(void **state)
{
    *state = calloc(1, sizeof(struct rig));
    assert_non_null(*state);
    return 0;
}

static int tear_down(void **state)
{
    struct rig *rig = *state;

    pb_groups_clear(rig->groups, rig->count);
    pb_features_clear(&rig->features);
    pb_features_clear(&rig->baseline);
    free(rig);
    return 0;
}

/* A device whose UUID is its number; the caller may change it afterwards. */
static struct pb_device_info *add(struct pb_features *features, const char *model, unsigned number)
{
    struct pb_feature_row device = {.rank = number};
    size_t row;

    snprintf(device.info.model, sizeof(device.info.model), "%s", model);
    snprintf(device.info.uuid, sizeof(device.info.uuid), "GPU-%u", number);
    snprintf(device.info.driver_version, sizeof(device.info.driver_version), "580");
    device.info.memory_bytes = (uint64_t)80 << 30;
    device.info.ecc_enabled = 1;
    device.info.power_limit_w = 700.0;
    assert_int_equal(pb_features_add_device(features, &device, &row, NULL), PB_OK);
    return &features->devices[row].info;
}

static void make(struct rig *rig)
{
    assert_int_equal(pb_groups_make(&rig->features, &rig->baseline, &rig->groups, &rig->count,
                                    rig->group_of, NULL),
                     PB_OK);
}

static void test_groups__model_memory_and_mig_set_apart(void **state)
{
    struct rig *rig = *state;

    add(&rig->features, "A", 0);
    add(&rig->features, "B", 1);
    add(&rig->features, "A", 2)->memory_bytes = (uint64_t)40 << 30;
    add(&rig->features, "A", 3)->mig_enabled = 1;
    add(&rig->features, "A", 4)->memory_bytes -= 100 << 20; /* what a driver keeps for itself */
    make(rig);
    assert_int_equal(rig->count, 4);
    assert_int_equal(rig->group_of[0], rig->group_of[4]);
    assert_string_equal(rig->groups[rig->group_of[0]].name, "A, 80 GiB");
    assert_string_equal(rig->groups[rig->group_of[3]].name, "A, 80 GiB, MIG");
    assert_int_equal(rig->groups[rig->group_of[0]].member_count, 2);
    assert_int_equal(rig->groups[rig->group_of[0]].members[1], 4);
    assert_false(rig->groups[rig->group_of[0]].sufficient);
}

static void test_groups__instances_of_one_profile_are_peers(void **state)
{
    struct rig *rig = *state;
    struct pb_device_info *info;

    add(&rig->features, "A", 0);
    for (unsigned i = 1; i < 4; i++) { /* just above 9.5 GiB, just below, and no NVML */
        info = add(&rig->features, "A MIG 1g.10gb", i);
        info->memory_bytes = ((uint64_t)19 << 29) + (i == 1) - (i == 2);
        info->mig_enabled = i < 3 ? 1 : -1;
    }
    info = add(&rig->features, "A MIG 3g.40gb", 4);
    info->memory_bytes = (uint64_t)40 << 30;
    info->mig_enabled = 1;
    info = add(&rig->features, "A MIG 1c.3g.40gb", 5);
    info->memory_bytes = (uint64_t)40 << 30;
    info->mig_enabled = 1;
    make(rig);
    assert_int_equal(rig->count, 4);
    assert_string_equal(rig->groups[rig->group_of[1]].name, "A MIG 1g.10gb");
    assert_int_equal(rig->group_of[1], rig->group_of[2]);
    assert_int_equal(rig->group_of[1], rig->group_of[3]);
    assert_int_equal(rig->groups[rig->group_of[1]].member_count, 3);
    assert_int_not_equal(rig->group_of[4], rig->group_of[5]);
    assert_int_not_equal(rig->group_of[0], rig->group_of[1]);
}

static void test_groups__a_lone_driver_stays_in_its_peer_group(void **state)
{
    struct rig *rig = *state;
    struct pb_usual usual;
    char text[PB_TEXT_LENGTH];

    for (unsigned i = 0; i < 20; i++)
        add(&rig->features, "A", i);
    snprintf(rig->features.devices[7].info.driver_version, PB_NAME_LENGTH, "570");
    make(rig);
    assert_int_equal(rig->count, 1);
    assert_true(rig->groups[0].sufficient);
    pb_group_usual(&rig->features, &rig->groups[0], &usual);
    assert_string_equal(usual.text[PB_ATTRIBUTE_DRIVER], "580");
    assert_int_equal(usual.count[PB_ATTRIBUTE_DRIVER], 19);
    pb_attribute_text(&rig->features.devices[7].info, PB_ATTRIBUTE_DRIVER, text);
    assert_string_equal(text, "570");
    assert_string_equal(usual.text[PB_ATTRIBUTE_VBIOS], ""); /* nobody's is known */
    assert_string_equal(usual.text[PB_ATTRIBUTE_POWER_LIMIT], "700 W");
}

static void test_groups__two_large_parts_are_set_apart_and_a_third_joins_the_larger(void **state)
{
    struct rig *rig = *state;

    for (unsigned i = 0; i < 40; i++)
        add(&rig->features, "A", i)->ecc_enabled = i < 16 ? 0 : 1;
    rig->features.devices[20].info.ecc_enabled = -1;
    make(rig);
    assert_int_equal(rig->count, 2);
    assert_int_equal(rig->groups[rig->group_of[0]].member_count, 16);
    assert_int_equal(rig->groups[rig->group_of[16]].member_count, 24);
    assert_int_equal(rig->group_of[20], rig->group_of[16]);
    assert_string_equal(rig->groups[rig->group_of[0]].name, "A, 80 GiB, ECC off");
    assert_string_equal(rig->groups[rig->group_of[16]].name, "A, 80 GiB, ECC on");
}

static void test_groups__a_large_and_a_small_part_stay_together(void **state)
{
    struct rig *rig = *state;

    for (unsigned i = 0; i < 40; i++)
        add(&rig->features, "A", i)->power_limit_w = i < 15 ? 600.0 : 700.0;
    make(rig);
    assert_int_equal(rig->count, 1);
}

static void test_groups__ranks_without_a_device_and_duplicates_are_in_none(void **state)
{
    struct rig *rig = *state;

    add(&rig->features, "A", 0);
    add(&rig->features, "", 1);
    add(&rig->features, "A", 0); /* the same device by another rank */
    make(rig);
    assert_int_equal(rig->count, 1);
    assert_int_equal(rig->groups[0].member_count, 1);
    assert_int_equal(rig->group_of[1], rig->count);
    assert_int_equal(rig->group_of[2], rig->count);
}

static void test_groups__devices_of_unknown_uuid_are_not_one(void **state)
{
    struct rig *rig = *state;

    for (unsigned i = 0; i < 3; i++)
        add(&rig->features, "A", i)->uuid[0] = '\0';
    make(rig);
    assert_int_equal(rig->groups[0].member_count, 3);
}

static void test_groups__a_baseline_brings_each_other_device_once(void **state)
{
    struct rig *rig = *state;

    add(&rig->features, "A", 0);
    for (unsigned run = 0; run < 2; run++)
        for (unsigned i = 0; i < 16; i++)
            add(&rig->baseline, "A", i);
    add(&rig->baseline, "B", 99);
    make(rig);
    assert_int_equal(rig->count, 1);
    assert_int_equal(rig->groups[0].member_count, 1);
    assert_int_equal(rig->groups[0].baseline_count, 15);
    assert_true(rig->groups[0].sufficient);
    for (size_t i = 0; i < 15; i++) /* of the later run */
        assert_int_equal(rig->groups[0].baseline[i], 17 + i);
}

static void test_groups__a_baseline_of_another_model_gives_no_peers(void **state)
{
    struct rig *rig = *state;

    add(&rig->features, "A", 0);
    for (unsigned i = 0; i < 20; i++)
        add(&rig->baseline, "B", 100 + i);
    make(rig);
    assert_int_equal(rig->count, 1);
    assert_int_equal(rig->groups[0].baseline_count, 0);
    assert_false(rig->groups[0].sufficient);
}

#define RIG(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG(test_groups__model_memory_and_mig_set_apart),
        RIG(test_groups__instances_of_one_profile_are_peers),
        RIG(test_groups__a_lone_driver_stays_in_its_peer_group),
        RIG(test_groups__two_large_parts_are_set_apart_and_a_third_joins_the_larger),
        RIG(test_groups__a_large_and_a_small_part_stay_together),
        RIG(test_groups__ranks_without_a_device_and_duplicates_are_in_none),
        RIG(test_groups__devices_of_unknown_uuid_are_not_one),
        RIG(test_groups__a_baseline_brings_each_other_device_once),
        RIG(test_groups__a_baseline_of_another_model_gives_no_peers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
