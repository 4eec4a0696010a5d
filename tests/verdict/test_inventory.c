/* Inventory: which devices are there, against the baseline, and numbers that many lack. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/verdict/baseline.h"
#include "verdict/fleetbuild.h"
#include "verdict/sickfleet.h"

/* This run and the one before it, of the same devices. */
struct scene {
    struct pb_features now, base;
    struct pb_scores scores;
    struct pb_findings findings;
};

static void set_scene(struct scene *scene)
{
    *scene = (struct scene){0};
    make_fleet(NODES, &scene->now);
    make_fleet(NODES, &scene->base);
    for (size_t i = 0; i < scene->now.device_count; i++) {
        scene->now.devices[i].measured_seconds = 2000.0 + (double)i;
        scene->base.devices[i].measured_seconds = 1000.0 + (double)i;
    }
}

static void judge_scene(struct scene *scene)
{
    const struct pb_score_options rates = PB_SCORE_OPTIONS_DEFAULT;
    const struct pb_judge_options options = {.baseline = &scene->base};
    struct pb_error err = PB_ERROR_INIT;

    assert_int_equal(pb_baseline_drop_copies(&scene->now, &scene->base, &err), PB_OK);
    assert_int_equal(pb_score(&scene->now, &scene->base, &rates, &scene->scores, &err), PB_OK);
    assert_int_equal(pb_judge(&scene->now, &scene->scores, &options, &scene->findings, &err),
                     PB_OK);
    fleetbuild_expect_policy(&scene->findings);
}

static void clear_scene(struct scene *scene)
{
    pb_findings_clear(&scene->findings);
    pb_scores_clear(&scene->scores);
    pb_features_clear(&scene->now);
    pb_features_clear(&scene->base);
}

static const struct pb_finding *find(const struct scene *scene, const char *cause)
{
    for (size_t i = 0; i < scene->findings.count; i++)
        if (strcmp(scene->findings.items[i].cause, cause) == 0)
            return &scene->findings.items[i];
    return NULL;
}

static void drop_row(struct pb_features *features, size_t row)
{
    bool is_dropped[NODES * SLOTS] = {false};

    is_dropped[row] = true;
    pb_features_drop(features, is_dropped);
}

static void drop_node(struct pb_features *features, const char *host)
{
    bool is_dropped[NODES * SLOTS] = {false};

    for (size_t i = 0; i < features->device_count; i++)
        is_dropped[i] = strcmp(features->devices[i].host, host) == 0;
    pb_features_drop(features, is_dropped);
}

static void test_inventory__same_devices_are_no_finding(void **state)
{
    struct scene scene;

    (void)state;
    set_scene(&scene);
    judge_scene(&scene);
    assert_int_equal(scene.findings.count, 0);
    clear_scene(&scene);
}

static void test_inventory__missing_device_is_named(void **state)
{
    struct scene scene;

    (void)state;
    set_scene(&scene);
    drop_row(&scene.now, SICK);
    judge_scene(&scene);
    assert_int_equal(scene.findings.count, 1);
    assert_string_equal(scene.findings.items[0].cause, "device_missing");
    assert_string_equal(scene.findings.items[0].place, "n03");
    assert_non_null(strstr(scene.findings.items[0].summary, sick_key));
    assert_int_equal(scene.findings.items[0].severity, PB_SEVERITY_WARNING);
    clear_scene(&scene);
}

/* A rank that saw no GPU there has a finding of its own. */
static void test_inventory__absent_rank_explains_a_missing_device(void **state)
{
    struct scene scene;

    (void)state;
    set_scene(&scene);
    scene.now.devices[SICK].info.uuid[0] = '\0';
    scene.now.devices[SICK].info.model[0] = '\0';
    scene.now.devices[SICK].key[0] = '\0';
    PB_TEXT_SET(scene.now.devices[SICK].status, "absent");
    judge_scene(&scene);
    assert_non_null(find(&scene, "absent"));
    assert_null(find(&scene, "device_missing"));
    clear_scene(&scene);
}

static void test_inventory__missing_node_is_named(void **state)
{
    struct scene scene;
    const struct pb_finding *finding;

    (void)state;
    set_scene(&scene);
    drop_node(&scene.now, "n03");
    judge_scene(&scene);
    finding = find(&scene, "node_missing");
    assert_non_null(finding);
    assert_int_equal(finding->severity, PB_SEVERITY_WARNING);
    assert_non_null(strstr(finding->summary, " n03"));
    assert_null(find(&scene, "device_missing"));
    clear_scene(&scene);
}

/* One node is measured on purpose: that the others are not there is no anomaly. */
static void test_inventory__partial_run_is_reported_and_ok(void **state)
{
    struct scene scene;

    (void)state;
    set_scene(&scene);
    for (int node = 2; node <= NODES; node++) {
        char host[8];

        snprintf(host, sizeof(host), "n%02d", node);
        drop_node(&scene.now, host);
    }
    judge_scene(&scene);
    assert_int_equal(find(&scene, "node_missing")->severity, PB_SEVERITY_OK);
    assert_int_equal(scene.findings.worst, PB_SEVERITY_OK);
    clear_scene(&scene);
}

static void swap_uuids(struct pb_features *features, size_t a, size_t b)
{
    char uuid[PB_TEXT_LENGTH];

    PB_TEXT_SET(uuid, features->devices[a].info.uuid);
    PB_TEXT_SET(features->devices[a].info.uuid, features->devices[b].info.uuid);
    PB_TEXT_SET(features->devices[b].info.uuid, uuid);
}

static void test_inventory__swap_is_one_finding_of_two(void **state)
{
    struct scene scene;

    (void)state;
    set_scene(&scene);
    swap_uuids(&scene.now, 1, SICK);
    judge_scene(&scene);
    assert_int_equal(scene.findings.count, 1);
    assert_string_equal(scene.findings.items[0].cause, "devices_swapped");
    assert_int_equal(scene.findings.items[0].members.count, 2);
    clear_scene(&scene);
}

/* A node of another name is one finding, not one for each of its devices. */
static void test_inventory__a_renamed_node_is_one_finding(void **state)
{
    struct scene scene;
    const struct pb_finding *moved = NULL;
    size_t count = 0;

    (void)state;
    set_scene(&scene);
    for (size_t i = 0; i < SLOTS; i++)
        PB_TEXT_SET(scene.base.devices[SLOTS + i].host, "old");
    judge_scene(&scene);
    for (size_t i = 0; i < scene.findings.count; i++)
        if (strcmp(scene.findings.items[i].cause, "device_moved") == 0) {
            moved = &scene.findings.items[i];
            count++;
        }
    assert_int_equal(count, 1);
    assert_int_equal(moved->level, PB_LEVEL_NODE);
    assert_string_equal(moved->place, "n02");
    assert_int_equal(moved->members.count, SLOTS);
    clear_scene(&scene);
}

static void test_inventory__moved_replaced_and_new(void **state)
{
    struct scene scene;

    (void)state;
    set_scene(&scene);
    PB_TEXT_SET(scene.now.devices[0].info.uuid, "GPU-new");
    PB_TEXT_SET(scene.now.devices[31].host, "n99");
    PB_TEXT_SET(scene.now.devices[31].key, "n99.gpu3");
    PB_TEXT_SET(scene.base.devices[20].info.uuid, "");
    judge_scene(&scene);
    assert_string_equal(find(&scene, "device_replaced")->device, "n01.gpu0");
    assert_string_equal(find(&scene, "device_moved")->device, "n99.gpu3");
    assert_int_equal(find(&scene, "device_new")->severity, PB_SEVERITY_OK);
    assert_int_equal(find(&scene, "device_new")->members.devices[0], 20);
    clear_scene(&scene);
}

/* What an older run had and a later one of the same node has not is gone, not missing. */
static void test_inventory__latest_run_of_a_node_counts(void **state)
{
    struct scene scene;
    struct pb_features older = {0};
    size_t at;

    (void)state;
    set_scene(&scene);
    make_fleet(1, &older);
    PB_TEXT_SET(older.devices[0].info.uuid, "GPU-retired");
    for (size_t i = 0; i < scene.base.device_count; i++)
        scene.base.devices[i].run = 1;
    assert_int_equal(pb_features_add_device(&scene.base, &older.devices[0], &at, NULL), PB_OK);
    scene.base.devices[at].run = 0;
    scene.base.devices[at].measured_seconds = 10.0;
    judge_scene(&scene);
    assert_int_equal(scene.findings.count, 0);
    pb_features_clear(&older);
    clear_scene(&scene);
}

static void test_uuid__twice_is_a_finding(void **state)
{
    struct scene scene;
    const struct pb_finding *finding;

    (void)state;
    set_scene(&scene);
    PB_TEXT_SET(scene.now.devices[5].info.uuid, scene.now.devices[4].info.uuid);
    judge_scene(&scene);
    finding = find(&scene, "duplicate_uuid");
    assert_non_null(finding);
    assert_int_equal(finding->members.count, 2);
    clear_scene(&scene);
}

/* Whatever the run of a copy is called, it was measured at the same time. */
static void test_baseline__is_never_the_file_itself(void **state)
{
    struct scene scene;
    const struct pb_finding *finding;

    (void)state;
    set_scene(&scene);
    for (size_t i = 0; i < scene.now.device_count; i++)
        scene.base.devices[i].measured_seconds = scene.now.devices[i].measured_seconds;
    judge_scene(&scene);
    finding = find(&scene, "self_baseline");
    assert_non_null(finding);
    assert_int_equal(finding->members.count, NODES * SLOTS);
    assert_int_equal(scene.base.device_count, 0);
    assert_int_equal(scene.findings.worst, PB_SEVERITY_UNKNOWN);
    clear_scene(&scene);
}

/* A third of the devices loses that number, which is of this test. */
static void expect_gap(const char *name, const char *test, const char *cause,
                       enum pb_severity severity)
{
    struct scene scene;
    size_t metric;
    const struct pb_finding *finding;

    set_scene(&scene);
    metric = pb_features_find(&scene.now, name);
    PB_TEXT_SET(scene.now.metrics[metric].test, test);
    PB_TEXT_SET(scene.base.metrics[metric].test, test);
    for (size_t i = 0; i < 11; i++)
        scene.now.devices[3 * i].cells[metric].value = NAN;
    judge_scene(&scene);
    finding = find(&scene, cause);
    assert_non_null(finding);
    assert_int_equal(finding->severity, severity);
    assert_int_equal(finding->members.count, 11);
    assert_int_equal(finding->members.devices[1], 3);
    assert_string_equal(finding->metric, name);
    assert_null(find(&scene, "many_anomalous")); /* a gap is no anomaly */
    clear_scene(&scene);
}

static void test_gaps__number_that_a_third_lacks_is_a_finding(void **state)
{
    (void)state;
    expect_gap("global_copy.peak", "global_copy", "incomplete", PB_SEVERITY_WARNING);
    expect_gap("l2.latency_cycles", "l2_latency", "undetermined", PB_SEVERITY_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inventory__same_devices_are_no_finding),
        cmocka_unit_test(test_inventory__missing_device_is_named),
        cmocka_unit_test(test_inventory__absent_rank_explains_a_missing_device),
        cmocka_unit_test(test_inventory__missing_node_is_named),
        cmocka_unit_test(test_inventory__partial_run_is_reported_and_ok),
        cmocka_unit_test(test_inventory__swap_is_one_finding_of_two),
        cmocka_unit_test(test_inventory__a_renamed_node_is_one_finding),
        cmocka_unit_test(test_inventory__moved_replaced_and_new),
        cmocka_unit_test(test_inventory__latest_run_of_a_node_counts),
        cmocka_unit_test(test_uuid__twice_is_a_finding),
        cmocka_unit_test(test_baseline__is_never_the_file_itself),
        cmocka_unit_test(test_gaps__number_that_a_third_lacks_is_a_finding),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
