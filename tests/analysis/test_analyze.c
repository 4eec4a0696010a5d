/* plumb-analyze on fleet files of known truth: table, JSON, rows of the file, refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/inference.h"
#include "analysis/program.h"
#include "analysis/synthetic.h"
#include "h5schema/file.h"

static char folder[] = "/tmp/plumb-analyze-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    char command[64];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

static void add_image(struct pb_fleet *fleet, struct pb_image *image)
{
    assert_int_equal(pb_fleet_add(fleet, image->bytes, image->size, NULL), PB_OK);
    free(image->bytes);
}

static void add_device(struct pb_fleet *fleet, const char *key, const char *model)
{
    struct pb_device_info info = {.warp_size = 32, .power_limit_w = NAN, .ecc_enabled = -1};
    struct pb_image image;

    PB_TEXT_SET(info.backend, "sim");
    PB_TEXT_SET(info.model, model);
    PB_TEXT_SET(info.uuid, key);
    assert_int_equal(pb_image_of_device(key, &info, &image, NULL), PB_OK);
    add_image(fleet, &image);
}

static void add_test(struct pb_fleet *fleet, const char *key, struct pb_recording *recording)
{
    struct pb_image image;

    assert_int_equal(pb_image_of_test(key, recording, NULL, 0, &image, NULL), PB_OK);
    add_image(fleet, &image);
    pb_recording_clear(recording);
}

/* A device whose L1 has `ways` ways and whose shared memory takes `shared` cycles. */
static void add_measured(struct pb_fleet *fleet, const char *key, uint32_t ways, uint32_t shared)
{
    struct synthetic_cache cache = {128, 32, 128, 16, ways, false, 33, 260};
    struct synthetic_noise noise = {16, 1, 0, 0, 1};
    struct pb_recording recording;

    add_device(fleet, key, "Test GPU");
    synthetic_begin(&recording, "l1_capacity");
    synthetic_capacity(&recording, &cache, &noise, "global_ca");
    add_test(fleet, key, &recording);
    synthetic_begin(&recording, "l1_line");
    synthetic_line(&recording, &cache, &noise, "global_ca");
    add_test(fleet, key, &recording);
    synthetic_begin(&recording, "shared_latency");
    synthetic_constant(&recording.series, &noise, "shared", "reference", shared, 512);
    add_test(fleet, key, &recording);
}

/* n1 has four like devices but for slot 2; with_empty: n2.gpu0 was never measured. */
static const char *write_fleet(const char *name, bool with_empty)
{
    static char path[128];
    struct pb_run run = {.tool_version = "0", .run_id = "r", .created = "now"};
    struct pb_fleet *fleet;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(pb_fleet_create(path, &run, &fleet, NULL), PB_OK);
    add_measured(fleet, "n1.gpu0", 4, 29);
    add_measured(fleet, "n1.gpu1", 4, 29);
    add_measured(fleet, "n1.gpu2", 2, 31);
    add_measured(fleet, "n1.gpu3", 4, 29);
    if (with_empty)
        add_device(fleet, "n2.gpu0", "Other GPU");
    assert_int_equal(pb_fleet_commit(fleet, false, NULL), PB_OK); /* it has no rank */
    return path;
}

static void run_program(struct program_run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void run_program(struct program_run *run, const char *format, ...)
{
    char arguments[512];
    va_list args;

    va_start(args, format);
    vsnprintf(arguments, sizeof(arguments), format, args);
    va_end(args);
    assert_int_equal(program_run(arguments, folder, run), 0);
}

static json_t *parameter(const json_t *device, const char *memory, const char *name)
{
    json_t *found =
        json_object_get(json_object_get(json_object_get(device, "memories"), memory), name);

    if (found == NULL)
        fail_msg("%s.%s is not in the report", memory, name);
    return found;
}

static json_t *parse(const char *text)
{
    json_error_t error;
    json_t *report = json_loads(text, JSON_REJECT_DUPLICATES, &error);

    if (report == NULL)
        fail_msg("no JSON: line %d: %s", error.line, error.text);
    return report;
}

/* One parameter as design 3.3 has it: a value with all about it, or null with a reason. */
static void check_parameter(const json_t *p)
{
    const json_t *value = json_object_get(p, "value");

    assert_non_null(value);
    assert_true(json_string_length(json_object_get(p, "evidence")) > 0);
    if (json_is_null(value)) {
        assert_true(json_string_length(json_object_get(p, "reason")) > 0);
        return;
    }
    assert_null(json_object_get(p, "reason"));
    assert_true(json_string_length(json_object_get(p, "method")) > 0);
    assert_in_range((int)(1000 * json_number_value(json_object_get(p, "confidence"))), 1, 999);
    if (!json_is_number(value))
        return;
    assert_true(json_string_length(json_object_get(p, "unit")) > 0);
    assert_true(json_number_value(json_object_get(p, "low")) <= json_number_value(value));
    assert_true(json_number_value(json_object_get(p, "high")) >= json_number_value(value));
}

static void check_device(const json_t *device)
{
    assert_true(json_string_length(json_object_get(device, "key")) > 0);
    assert_true(json_string_length(json_object_get(device, "model")) > 0);
    for (const struct pb_inference *row = pb_inferences; row->memory != NULL; row++)
        for (size_t i = 0; i < PB_INFERENCE_ANSWERS_MAX && row->answers[i].name != NULL; i++)
            check_parameter(parameter(device, row->memory, row->answers[i].name));
}

static void test_json__is_the_contract_for_every_parameter(void **state)
{
    const char *path = write_fleet("json.h5", true);
    struct program_run run;
    json_t *report, *devices, *size;

    (void)state;
    run_program(&run, "--read-only --json - %s", path);
    assert_int_equal(run.code, 3); /* n2.gpu0 has nothing to analyse */
    report = parse(run.output);
    assert_int_equal(json_integer_value(json_object_get(report, "schema")), 2);
    devices = json_object_get(report, "devices");
    assert_int_equal(json_array_size(devices), 5);
    for (size_t i = 0; i < 5; i++)
        check_device(json_array_get(devices, i));

    size = parameter(json_array_get(devices, 2), "l1", "size_bytes");
    assert_int_equal(json_integer_value(json_object_get(size, "value")), 4096);
    assert_int_equal(json_integer_value(json_object_get(size, "low")), 4096);
    assert_int_equal(json_integer_value(json_object_get(size, "high")), 4096);
    assert_string_equal(json_string_value(json_object_get(size, "unit")), "byte");
    assert_string_equal(json_string_value(json_object_get(size, "evidence")),
                        "/devices/n1.gpu2/tests/l1_capacity");
    size = parameter(json_array_get(devices, 4), "l1", "size_bytes");
    assert_string_equal(json_string_value(json_object_get(size, "reason")),
                        "test l1_capacity: not recorded");
    json_decref(report);
}

static void test_table__folds_like_devices_and_shows_the_odd_one(void **state)
{
    const char *path = write_fleet("table.h5", false);
    struct program_run run;

    (void)state;
    run_program(&run, "--read-only %s", path);
    assert_int_equal(run.code, 0);
    assert_string_equal(run.errors, "");
    assert_non_null(strstr(run.output, "Test GPU, simulated: 4 devices, n1.gpu0 to n1.gpu3"));
    assert_non_null(strstr(run.output, "8 KiB"));
    assert_non_null(strstr(run.output, "! n1.gpu2"));
    assert_non_null(strstr(run.output, "4 KiB"));
    assert_null(strstr(run.output, "! n1.gpu1"));
    assert_non_null(strstr(run.output, "3 of 4"));
    assert_non_null(strstr(run.output, "31 cycles"));
}

/* Every list of the table, however long, is there to its last number. */
static void test_table__shows_long_lists_whole(void **state)
{
    struct program_run run;
    const char *line;

    (void)state;
    run_program(&run, "--read-only %s/h200-standard.h5", PLUMB_TEST_DATA);
    assert_int_equal(run.code, 0);
    line = strstr(run.output, "index_masks");
    assert_non_null(line);
    assert_memory_equal(line + 29, "[0x30080, 0x60100, ", 19);
    assert_non_null(strstr(line, "\n                                             0x51000, 0x52000, "
                                 "0x4000,\n"));
    assert_non_null(strstr(line, "\n                                             0x48000]\n"));
    assert_non_null(strstr(line, "164, 196, 228] KiB"));
    assert_null(strstr(run.output, " \n"));
}

/* The hierarchy in about ten lines, beside what the driver states; nothing else. */
static void test_table__summary_is_the_hierarchy_alone(void **state)
{
    struct program_run run;
    size_t lines = 0;

    (void)state;
    run_program(&run, "--read-only --summary %s/h200-standard.h5", PLUMB_TEST_DATA);
    assert_int_equal(run.code, 0);
    assert_non_null(
        strstr(run.output, "by the driver: 132 SMs, compute capability 9.0, 139.8 GiB"));
    assert_non_null(strstr(run.output, "ECC on"));
    assert_non_null(strstr(run.output, " +- L1 data         241 KiB     32 cycles"));
    assert_non_null(strstr(run.output, "60 MiB by the driver"));
    assert_non_null(strstr(run.output, "16 entries of 16 MiB"));
    assert_null(strstr(run.output, "undetermined"));
    for (const char *at = run.output; *at != '\0'; at++)
        lines += *at == '\n';
    assert_in_range(lines, 10, 16);
}

/* What has no value comes last, by name, with the reason and what would determine it. */
static void test_table__undetermined_parameters_come_last(void **state)
{
    struct program_run run;
    const char *last, *from;

    (void)state;
    run_program(&run, "--read-only %s/h200-standard.h5", PLUMB_TEST_DATA);
    from = strstr(run.output, " undetermined parameters:");
    assert_non_null(from);
    last = strstr(run.output, "host_link     from_latency_ns");
    assert_non_null(last);
    assert_true(last < from);
    assert_non_null(strstr(from, "    l1: policy\n"));
    assert_non_null(strstr(from, "to_concurrent_bytes_per_s, from_concurrent_bytes_per_s"));
    assert_non_null(strstr(from, "To determine it: measure two or more GPUs of the node"));
    assert_null(strstr(run.output, " parameters -"));
}

static void test_table__shows_what_was_asked_for(void **state)
{
    struct program_run run;

    (void)state;
    run_program(&run, "--read-only --memory tlb_l2 --evidence %s/h200-standard.h5",
                PLUMB_TEST_DATA);
    assert_int_equal(run.code, 0);
    assert_non_null(strstr(run.output, "entry_count"));
    assert_non_null(strstr(run.output, "evidence: /devices/vm.gpu0/tests/tlb_reach"));
    assert_null(strstr(run.output, "size_bytes"));
    run_program(&run, "--read-only --parameter size_bytes %s/h200-standard.h5", PLUMB_TEST_DATA);
    assert_non_null(strstr(run.output, "l1            size_bytes"));
    assert_null(strstr(run.output, "latency_cycles"));
    run_program(&run, "--read-only --memory l9 %s/h200-standard.h5", PLUMB_TEST_DATA);
    assert_int_equal(run.code, 2);
    assert_non_null(strstr(run.errors, "no parameter has --memory l9"));
}

static void test_table__all_has_a_table_of_each_device(void **state)
{
    const char *path = write_fleet("all.h5", false);
    struct program_run run;

    (void)state;
    run_program(&run, "--read-only --all %s", path);
    assert_int_equal(run.code, 0);
    assert_non_null(strstr(run.output, "Test GPU, simulated: n1.gpu3\n"));
    assert_null(strstr(run.output, "4 devices"));
}

/* A row for each parameter of each device, and nothing else on standard output. */
static void test_csv__has_a_row_for_each_parameter(void **state)
{
    struct program_run run;

    (void)state;
    run_program(&run, "--read-only --csv - %s/h200-standard.h5", PLUMB_TEST_DATA);
    assert_int_equal(run.code, 0);
    assert_memory_equal(run.output, "device,model,memory,parameter,value,unit,low,high,", 50);
    assert_non_null(strstr(run.output, "\nvm.gpu0,NVIDIA H200,l1,line_bytes,128,byte,128,128,"));
    assert_null(strstr(run.output, "hierarchy"));
}

static void test_json__has_what_the_driver_states(void **state)
{
    struct program_run run;

    (void)state;
    run_program(&run, "--read-only --json - %s/h200-standard.h5", PLUMB_TEST_DATA);
    assert_non_null(strstr(run.output, "\"properties\": {"));
    assert_non_null(strstr(run.output, "\"sm_count\": 132"));
    assert_non_null(strstr(run.output, "\"driver_version\": \"580.159.04\""));
}

/* What it says of a memory stands together: one place to look. */
static void test_table__goes_memory_by_memory(void **state)
{
    struct program_run run;
    char last[32] = "", name[32];
    size_t changes = 0;

    (void)state;
    run_program(&run, "--read-only %s/h200-standard.h5", PLUMB_TEST_DATA);
    for (const char *at = strchr(run.output, '\n'); at != NULL; at = strchr(at + 1, '\n')) {
        if (strncmp(at, "\n  ", 3) != 0 || sscanf(at + 3, "%31[a-z0-9_]", name) != 1 ||
            strcmp(name, last) == 0)
            continue; /* the rest of a list, or the same */
        strcpy(last, name);
        snprintf(name, sizeof(name), "\n  %s ", last);
        assert_ptr_equal(strstr(run.output, name), at);
        changes++;
    }
    assert_in_range(changes, 15, 20);
}

/* Prints what the validator finds, so that a failure shows it. */
static void complain(void *context, const char *line)
{
    print_error("%s: %s\n", (const char *)context, line);
}

static void check_whole(const char *path)
{
    char name[] = "violation";
    size_t violations = 0;

    assert_int_equal(pb_file_validate(path, complain, name, &violations, NULL), PB_OK);
    assert_int_equal(violations, 0);
}

static void test_file__keeps_the_parameters_and_stays_whole(void **state)
{
    const char *path = write_fleet("keep.h5", false);
    struct program_run first, second;

    (void)state;
    run_program(&first, "--json %s/keep.json %s", folder, path);
    assert_string_equal(first.errors, "");
    assert_int_equal(first.code, 0);
    check_whole(path);
    run_program(&second, "--json %s/keep.json %s", folder, path); /* again: both are replaced */
    assert_int_equal(second.code, 0);
    assert_string_equal(first.output, second.output);
    check_whole(path);
}

static void test_device__only_that_one_and_the_file_is_not_touched(void **state)
{
    const char *path = write_fleet("one.h5", false);
    struct program_run run;
    json_t *report;

    (void)state;
    assert_int_equal(chmod(path, 0444), 0);
    run_program(&run, "--device n1.gpu3 --json - %s", path);
    assert_int_equal(run.code, 0);
    report = parse(run.output);
    assert_int_equal(json_array_size(json_object_get(report, "devices")), 1);
    json_decref(report);
    run_program(&run, "--device n9.gpu9 %s", path);
    assert_int_equal(run.code, 2);
    assert_non_null(strstr(run.errors, "one.h5: no device n9.gpu9 among 4"));
    assert_string_equal(run.output, "");
}

/* One line on standard error, nothing on standard output. */
static void check_refusal(const char *arguments, int code, const char *message)
{
    struct program_run run;
    const char *end;

    assert_int_equal(program_run(arguments, folder, &run), 0);
    if (run.code != code || strstr(run.errors, message) == NULL)
        fail_msg("%s: expected %d and \"%s\", found %d and \"%s\"", arguments, code, message,
                 run.code, run.errors);
    assert_string_equal(run.output, "");
    end = strchr(run.errors, '\n');
    assert_non_null(end);
    assert_string_equal(end, "\n");
}

/* One worker, as many as devices do not divide by, and more than there are devices. */
static void test_jobs__change_neither_order_nor_results(void **state)
{
    static struct program_run one, other;
    const char *path = write_fleet("jobs.h5", true);
    static const int jobs[] = {2, 3, 64};

    (void)state;
    run_program(&one, "--read-only --json - --jobs 1 %s", path);
    assert_int_equal(one.code, 3); /* n2.gpu0 has nothing to analyse */
    assert_non_null(strstr(one.output, "n1.gpu3"));
    for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
        run_program(&other, "--read-only --json - --jobs %d %s", jobs[i], path);
        assert_int_equal(other.code, 3);
        assert_string_equal(other.output, one.output);
    }
    run_program(&other, "--jobs 0 %s", path);
    assert_int_equal(other.code, 2);
    assert_non_null(strstr(other.errors, "--jobs"));
}

static void test_refusals__name_the_file_and_leave_nothing(void **state)
{
    const char *path = write_fleet("refuse.h5", false);
    char arguments[512];
    FILE *foreign;

    (void)state;
    check_refusal("", 2, "expected FILE.h5");
    check_refusal("--nonsense x", 2, "nonsense");
    check_refusal("a b", 2, "unexpected argument \"b\"");
    snprintf(arguments, sizeof(arguments), "%s/nowhere.h5", folder);
    check_refusal(arguments, 2, "nowhere.h5");
    check_refusal("/dev/null", 2, "/dev/null");

    snprintf(arguments, sizeof(arguments), "--json %s %s", path, path);
    check_refusal(arguments, 2, "exists and is not a report of plumb-analyze");
    snprintf(arguments, sizeof(arguments), "--json %s/nowhere/x.json %s", folder, path);
    check_refusal(arguments, 1, "/nowhere/x.json: cannot be written");

    snprintf(arguments, sizeof(arguments), "%s/foreign.json", folder);
    foreign = fopen(arguments, "w");
    assert_non_null(foreign);
    fputs("{\"precious\": true}", foreign);
    fclose(foreign);
    snprintf(arguments, sizeof(arguments), "--json %s/foreign.json %s", folder, path);
    check_refusal(arguments, 2, "foreign.json exists and is not a report");
}

static void test_file__truncated_is_refused(void **state)
{
    const char *path = write_fleet("cut.h5", false);

    (void)state;
    assert_int_equal(truncate(path, 3000), 0);
    check_refusal(path, 2, "cut.h5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json__is_the_contract_for_every_parameter),
        cmocka_unit_test(test_table__folds_like_devices_and_shows_the_odd_one),
        cmocka_unit_test(test_table__shows_long_lists_whole),
        cmocka_unit_test(test_table__goes_memory_by_memory),
        cmocka_unit_test(test_table__summary_is_the_hierarchy_alone),
        cmocka_unit_test(test_table__undetermined_parameters_come_last),
        cmocka_unit_test(test_table__shows_what_was_asked_for),
        cmocka_unit_test(test_table__all_has_a_table_of_each_device),
        cmocka_unit_test(test_csv__has_a_row_for_each_parameter),
        cmocka_unit_test(test_json__has_what_the_driver_states),
        cmocka_unit_test(test_file__keeps_the_parameters_and_stays_whole),
        cmocka_unit_test(test_device__only_that_one_and_the_file_is_not_touched),
        cmocka_unit_test(test_jobs__change_neither_order_nor_results),
        cmocka_unit_test(test_refusals__name_the_file_and_leave_nothing),
        cmocka_unit_test(test_file__truncated_is_refused),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
