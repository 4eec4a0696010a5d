/* What plumb-outliers leaves for people, for Prometheus, for Slurm and for programs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "cli/outliers.h"

/* Two nodes with two GPUs each: one GPU is bad, the other node is warm. */
struct scene {
    struct pb_ruling ruling;
    struct pb_feature_row devices[4];
    struct pb_finding findings[4];
    struct pb_group group; /* of the two GPUs that are in slot 1, and one in slot 0 */
    size_t members[3];
    size_t sick[2][2]; /* members of the first two findings */
    char *text;        /* of the output under test */
};

static void set_finding(struct pb_finding *finding, enum pb_severity severity, enum pb_level level,
                        const char *host, const char *device, const char *cause)
{
    *finding = (struct pb_finding){.severity = severity,
                                   .level = level,
                                   .value = NAN,
                                   .expected = NAN,
                                   .shift = -0.1,
                                   .sigmas = -25,
                                   .p = 1e-9,
                                   .peers = 3};
    PB_TEXT_SET(finding->place, device[0] == '\0' ? host : device);
    PB_TEXT_SET(finding->host, host);
    PB_TEXT_SET(finding->device, device);
    PB_TEXT_SET(finding->model, "NVIDIA \"H200\"");
    PB_TEXT_SET(finding->cause, cause);
    PB_TEXT_SET(finding->summary, "memory is 10% slower than that of 3 peers");
    PB_TEXT_SET(finding->evidence, "copy, read and write alike");
    PB_TEXT_SET(finding->advice, "drain the node and run the vendor's memory test");
}

static int set_scene(void **state)
{
    static const char *const keys[] = {"n01.gpu0", "n01.gpu1", "n02.gpu0", "n02.gpu1"};
    struct scene *scene = calloc(1, sizeof(*scene));

    if (scene == NULL)
        return -1;
    for (size_t i = 0; i < 4; i++) {
        PB_TEXT_SET(scene->devices[i].key, keys[i]);
        PB_TEXT_SET(scene->devices[i].host, i < 2 ? "n01" : "n02");
        PB_TEXT_SET(scene->devices[i].info.model, "NVIDIA \"H200\"");
        scene->devices[i].slot = (int64_t)i % 2;
    }
    for (size_t i = 0; i < 3; i++)
        scene->members[i] = i + 1;
    scene->group = (struct pb_group){.members = scene->members, .member_count = 3};
    scene->ruling.scores.groups = &scene->group;
    scene->ruling.scores.group_count = 1;
    set_finding(&scene->findings[0], PB_SEVERITY_CRITICAL, PB_LEVEL_DEVICE, "n01", "n01.gpu1",
                "hbm");
    scene->findings[0].drain = true;
    set_finding(&scene->findings[1], PB_SEVERITY_WARNING, PB_LEVEL_NODE, "n02", "", "thermal");
    scene->sick[0][0] = 1;
    scene->findings[0].members = (struct pb_members){scene->sick[0], 1};
    scene->sick[1][0] = 2;
    scene->sick[1][1] = 3;
    scene->findings[1].members = (struct pb_members){scene->sick[1], 2};
    scene->ruling.file = "fleet.h5";
    scene->ruling.features.devices = scene->devices;
    scene->ruling.features.device_count = 4;
    scene->ruling.findings = (struct pb_findings){
        .items = scene->findings, .count = 2, .judged = 4, .worst = PB_SEVERITY_CRITICAL};
    scene->ruling.status = PB_SEVERITY_CRITICAL;
    scene->ruling.false_alarm_rate = 0.01;
    PB_TEXT_SET(scene->ruling.run.created, "2026-11-20T10:09:00Z");
    *state = scene;
    return 0;
}

static int clear_scene(void **state)
{
    struct scene *scene = *state;

    free(scene->text);
    free(scene);
    return 0;
}

/* The text that one of the outputs makes of the scene. */
static const char *write_out(struct scene *scene,
                             enum pb_status (*write)(const struct pb_ruling *ruling, FILE *file,
                                                     struct pb_error *err))
{
    size_t size;
    FILE *file;

    free(scene->text);
    file = open_memstream(&scene->text, &size);
    assert_non_null(file);
    assert_int_equal(write(&scene->ruling, file, NULL), PB_OK);
    fclose(file);
    return scene->text;
}

static const char *print(struct scene *scene, size_t width, bool colours)
{
    struct pb_terminal terminal = {width, colours};
    size_t size;
    FILE *file;

    free(scene->text);
    file = open_memstream(&scene->text, &size);
    assert_non_null(file);
    assert_int_equal(pb_ruling_print(&scene->ruling, terminal, file, NULL), PB_OK);
    fclose(file);
    return scene->text;
}

static void assert_has(const char *text, const char *line)
{
    if (strstr(text, line) == NULL)
        fail_msg("expected %s in\n%s", line, text);
}

static void assert_lacks(const char *text, const char *line)
{
    if (strstr(text, line) != NULL)
        fail_msg("expected no %s in\n%s", line, text);
}

static void test_table__says_who_what_and_what_to_do(void **state)
{
    const char *text = print(*state, 200, false);

    assert_has(text, "CRITICAL  4 of 4 devices judged");
    assert_has(text, ": 1 CRITICAL, 1 WARNING. A healthy fleet");
    assert_has(text, "\nCRITICAL  n01.gpu1: hbm\n          memory is 10% slower");
    assert_has(text, "Evidence: copy, read and write alike\n");
    assert_has(text, "Action: drain the node");
    assert_has(text,
               "\nscontrol update NodeName=n01 State=DRAIN Reason=\"plumb: hbm, n01.gpu1\"\n");
    assert_lacks(text, "NodeName=n02");
    assert_lacks(text, "\033");
}

/* Who mends one fault and gives the node back must know of the other one. */
static void test_table__a_node_is_drained_for_all_its_reasons(void **state)
{
    struct scene *scene = *state;

    scene->findings[1] = scene->findings[0];
    PB_TEXT_SET(scene->findings[1].cause, "slow_sm");
    PB_TEXT_SET(scene->findings[1].place, "SM 17 of n01.gpu1");
    assert_has(print(scene, 200, false),
               "Reason=\"plumb: hbm, n01.gpu1; slow_sm, SM 17 of n01.gpu1\"\n");
}

static void test_table__has_colours_only_where_it_should(void **state)
{
    assert_has(print(*state, 100, true), "\033[1;31mCRITICAL\033[0m");
}

static void test_table__no_line_is_wider_than_the_terminal(void **state)
{
    const char *text = print(*state, 50, false);

    for (const char *line = text; *line != '\0';) {
        size_t length = strcspn(line, "\n");

        if (strncmp(line, "scontrol", 8) != 0) /* a command is never broken */
            assert_true(length <= 50);
        line += length + (line[length] != '\0');
    }
}

static void test_table__a_healthy_fleet_is_one_paragraph(void **state)
{
    struct scene *scene = *state;
    const char *text;

    scene->ruling.findings.count = 0;
    scene->ruling.status = PB_SEVERITY_OK;
    text = print(scene, 1000, false);
    assert_true(strncmp(text, "OK ", 3) == 0);
    assert_string_equal(strchr(text, '\n'), "\n");
    assert_has(text, ": no anomalies found. A healthy fleet has a false CRITICAL in 1% of runs");
}

static void test_table__what_a_shell_would_expand_is_taken_out(void **state)
{
    struct scene *scene = *state;

    PB_TEXT_SET(scene->findings[0].place, "n01\"; rm $HOME `x`");
    assert_has(print(scene, 100, false), "Reason=\"plumb: hbm, n01 ; rm  HOME  x \"\n");
}

static void test_table__nothing_steers_the_terminal_or_the_shell(void **state)
{
    struct scene *scene = *state;
    const char *text;

    PB_TEXT_SET(scene->findings[0].summary, "it is \033[2J gone");
    PB_TEXT_SET(scene->devices[1].host, "n1;reboot");
    text = print(scene, 100, false);
    assert_has(text, "it is \\x1b[2J gone");
    assert_lacks(text, "\033");
    assert_lacks(text, "NodeName=n1;");
    assert_has(text, "# no host's name, so no command: n1;reboot\n");
}

static void test_prometheus__labels_are_escaped(void **state)
{
    const char *text = write_out(*state, pb_ruling_write_prometheus);

    assert_has(text, "# TYPE plumb_finding gauge\n");
    assert_has(text,
               "plumb_finding{host=\"n01\",device=\"n01.gpu1\",model=\"NVIDIA \\\"H200\\\"\","
               "place=\"n01.gpu1\",cause=\"hbm\",level=\"device\",severity=\"CRITICAL\"} 1\n");
    assert_has(text, "\nplumb_run_timestamp_seconds 1795169340\n");
    assert_has(text, "\nplumb_devices_judged 4\n");
    assert_has(text, "\nplumb_nodes_to_drain 1\n");
}

static void test_prometheus__a_node_speaks_for_its_devices(void **state)
{
    const char *text = write_out(*state, pb_ruling_write_prometheus);

    assert_has(text, "device=\"n01.gpu0\",model=\"NVIDIA \\\"H200\\\"\"} 0\n");
    assert_has(text, "device=\"n01.gpu1\",model=\"NVIDIA \\\"H200\\\"\"} 2\n");
    assert_has(text, "device=\"n02.gpu0\",model=\"NVIDIA \\\"H200\\\"\"} 1\n");
    assert_has(text, "device=\"n02.gpu1\",model=\"NVIDIA \\\"H200\\\"\"} 1\n");
}

/* What is said of a slot has no host; it is said of that slot's devices, of that group. */
static void test_prometheus__a_slot_speaks_for_its_devices(void **state)
{
    struct scene *scene = *state;
    const char *text;

    set_finding(&scene->findings[0], PB_SEVERITY_CRITICAL, PB_LEVEL_SLOT, "", "", "pcie_link");
    PB_TEXT_SET(scene->findings[0].place, "slot 1");
    scene->findings[0].group = 1;
    scene->findings[0].slot = 1;
    scene->sick[0][1] = 3;
    scene->findings[0].members = (struct pb_members){scene->sick[0], 2};
    scene->ruling.findings.count = 1;
    text = write_out(scene, pb_ruling_write_prometheus);
    assert_has(text, "place=\"slot 1\",cause=\"pcie_link\",level=\"slot\"");
    assert_has(text, "device=\"n01.gpu0\",model=\"NVIDIA \\\"H200\\\"\"} 0\n");
    assert_has(text, "device=\"n01.gpu1\",model=\"NVIDIA \\\"H200\\\"\"} 2\n");
    assert_has(text, "device=\"n02.gpu0\",model=\"NVIDIA \\\"H200\\\"\"} 0\n");
    assert_has(text, "device=\"n02.gpu1\",model=\"NVIDIA \\\"H200\\\"\"} 2\n");
}

/* A device that could not be judged for want of peers is not OK. */
static void test_prometheus__a_group_speaks_for_its_devices(void **state)
{
    struct scene *scene = *state;
    const char *text;

    set_finding(&scene->findings[0], PB_SEVERITY_UNKNOWN, PB_LEVEL_FLEET, "", "",
                "insufficient_peers");
    scene->findings[0].group = 1;
    scene->ruling.findings.count = 1;
    text = write_out(scene, pb_ruling_write_prometheus);
    assert_has(text, "device=\"n01.gpu0\",model=\"NVIDIA \\\"H200\\\"\"} 0\n");
    assert_has(text, "device=\"n01.gpu1\",model=\"NVIDIA \\\"H200\\\"\"} 3\n");
    assert_has(text, "device=\"n02.gpu0\",model=\"NVIDIA \\\"H200\\\"\"} 3\n");
}

/* The node exporter drops a file in which a sample comes twice. */
static void test_prometheus__equal_findings_are_one_sample(void **state)
{
    static const char *const samples[] = {"plumb_finding{host=\"n01\"",
                                          "plumb_finding_device{host=\"n01\""};
    struct scene *scene = *state;
    const char *first, *text;

    scene->findings[2] = scene->findings[0];
    scene->ruling.findings.count = 3;
    text = write_out(scene, pb_ruling_write_prometheus);
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        first = strstr(text, samples[i]);
        assert_non_null(first);
        assert_null(strstr(first + 1, samples[i]));
    }
}

static void test_hostlist__has_each_node_to_drain_once(void **state)
{
    struct scene *scene = *state;

    assert_string_equal(write_out(scene, pb_ruling_write_hostlist), "n01\n");
    scene->findings[1].drain = true;
    scene->findings[2] = scene->findings[0];
    scene->ruling.findings.count = 3;
    assert_string_equal(write_out(scene, pb_ruling_write_hostlist), "n[01-02]\n");
}

/* One odd name must not keep the others from being drained. */
static void test_hostlist__what_is_no_hosts_name_is_left_out(void **state)
{
    struct scene *scene = *state;

    scene->findings[1].drain = true;
    PB_TEXT_SET(scene->devices[1].host, "n1;reboot");
    assert_string_equal(write_out(scene, pb_ruling_write_hostlist), "n02\n");
}

static void test_hostlist__nothing_to_drain_is_an_empty_file(void **state)
{
    struct scene *scene = *state;

    scene->findings[0].drain = false;
    assert_string_equal(write_out(scene, pb_ruling_write_hostlist), "");
}

/* A slot's finding drains the nodes of all of its members. */
static void test_hostlist__follows_the_members(void **state)
{
    struct scene *scene = *state;

    scene->findings[0].host[0] = '\0';
    scene->sick[0][1] = 3;
    scene->findings[0].members.count = 2;
    assert_string_equal(write_out(scene, pb_ruling_write_hostlist), "n[01-02]\n");
}

static void test_table__members_of_a_place_are_named(void **state)
{
    assert_has(print(*state, 200, false), "Devices: n02.gpu0 n02.gpu1\n");
}

/* Whoever reads any output of a simulation sees that it is one. */
static void test_outputs__say_that_devices_are_simulated(void **state)
{
    struct scene *scene = *state;

    assert_lacks(print(scene, 200, false), "simulat");
    PB_TEXT_SET(scene->devices[3].info.backend, "sim");
    assert_has(print(scene, 200, false), "4 of 4 simulated devices judged");
    assert_has(write_out(scene, pb_ruling_write_json), "\"simulated\": true");
    assert_has(write_out(scene, pb_ruling_write_prometheus),
               "plumb_status{simulated=\"true\"} 2\n");
}

static void test_prometheus__members_and_values_stand_beside_states(void **state)
{
    static const struct pb_metric clock = {
        .name = "clock.sm_mhz", .unit = "MHz", .part = PB_PART_CLOCK, .domain = PB_DOMAIN_RATE};
    struct scene *scene = *state;
    const char *text;

    assert_int_equal(pb_features_set(&scene->ruling.features, 2, &clock,
                                     (struct pb_reading){1980.0, 0.0, -1}, NULL),
                     PB_OK);
    text = write_out(scene, pb_ruling_write_prometheus);
    assert_has(text, "plumb_finding_device{host=\"n02\",device=\"n02.gpu1\",place=\"n02\","
                     "cause=\"thermal\",level=\"node\",severity=\"WARNING\"} 1\n");
    assert_has(text, "plumb_device_sm_clock_hertz{host=\"n02\",device=\"n02.gpu0\",model=\"NVIDIA "
                     "\\\"H200\\\"\"} 1980000000\n");
    free(scene->devices[2].cells);
    free(scene->ruling.features.metrics);
    scene->ruling.features.metric_count = 0;
}

static void test_json__is_what_its_document_says(void **state)
{
    const char *text = write_out(*state, pb_ruling_write_json);
    const char *severity, *cause, *host;
    json_t *root = json_loads(text, 0, NULL);
    int code, drain;

    assert_non_null(root);
    assert_true(pb_atomic_file_is_of_kind(&pb_ruling_json_kind, text, strlen(text)));
    assert_int_equal(json_unpack(root, "{s:i, s:[{s:s, s:s, s:b, s:n, s:n, s:n}, {s:s, s:n}]}",
                                 "exit_code", &code, "findings", "severity", &severity, "cause",
                                 &cause, "drain", &drain, "value", "metric", "slot", "host", &host,
                                 "device"),
                     0);
    assert_int_equal(code, 2);
    assert_true(drain);
    assert_string_equal(severity, "CRITICAL");
    assert_string_equal(cause, "hbm");
    assert_string_equal(host, "n02");
    assert_int_equal(json_array_size(json_object_get(root, "drain")), 1);
    json_decref(root);
}

static void test_kinds__know_their_own_and_refuse_others(void **state)
{
    const char *text = write_out(*state, pb_ruling_write_prometheus);

    assert_true(pb_atomic_file_is_of_kind(&pb_ruling_prometheus_kind, text, strlen(text)));
    assert_false(pb_atomic_file_is_of_kind(&pb_ruling_hostlist_kind, text, strlen(text)));
    assert_false(pb_atomic_file_is_of_kind(&pb_ruling_json_kind, text, strlen(text)));
    assert_true(pb_atomic_file_is_of_kind(&pb_ruling_hostlist_kind, "n[01-02],login\n", 15));
    assert_false(pb_atomic_file_is_of_kind(&pb_ruling_hostlist_kind, "n1\nn2\n", 6));
    assert_false(pb_atomic_file_is_of_kind(&pb_ruling_hostlist_kind, "\211HDF\r\n\032\n", 8));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_scene, clear_scene)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_table__says_who_what_and_what_to_do),
        CASE(test_table__a_node_is_drained_for_all_its_reasons),
        CASE(test_table__has_colours_only_where_it_should),
        CASE(test_table__no_line_is_wider_than_the_terminal),
        CASE(test_table__a_healthy_fleet_is_one_paragraph),
        CASE(test_table__what_a_shell_would_expand_is_taken_out),
        CASE(test_table__nothing_steers_the_terminal_or_the_shell),
        CASE(test_prometheus__labels_are_escaped),
        CASE(test_prometheus__a_node_speaks_for_its_devices),
        CASE(test_prometheus__a_slot_speaks_for_its_devices),
        CASE(test_prometheus__a_group_speaks_for_its_devices),
        CASE(test_prometheus__equal_findings_are_one_sample),
        CASE(test_hostlist__has_each_node_to_drain_once),
        CASE(test_hostlist__what_is_no_hosts_name_is_left_out),
        CASE(test_hostlist__follows_the_members),
        CASE(test_table__members_of_a_place_are_named),
        CASE(test_outputs__say_that_devices_are_simulated),
        CASE(test_prometheus__members_and_values_stand_beside_states),
        CASE(test_hostlist__nothing_to_drain_is_an_empty_file),
        CASE(test_json__is_what_its_document_says),
        CASE(test_kinds__know_their_own_and_refuse_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
