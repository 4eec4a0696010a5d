/* Measuring one device; see measure.h. */
#include "run/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/sim/fleet.h"
#include "device/sim/profile.h"
#include "h5schema/file.h"

/* ---- what was selected ---- */

static bool is_simulated(const struct pb_selection *selection)
{
    return selection->profile != NULL || selection->fleet != NULL || selection->fault_count > 0;
}

/* What only simulated devices have must not be asked of silicon, nor twice. */
static enum pb_status check_simulation(const struct pb_selection *selection, const char *backend,
                                       struct pb_error *err)
{
    struct pb_error cause = PB_ERROR_INIT;
    struct pb_sim_profile *profile = NULL;
    enum pb_status status = PB_OK;

    if (strcmp(backend, pb_device_sim.name) != 0)
        return pb_fail(err, PB_INVALID,
                       "backend %s: only simulated devices have profiles, faults and fleets",
                       backend);
    if (selection->fleet != NULL &&
        (selection->profile != NULL || selection->selector != NULL || selection->fault_count > 0))
        return pb_fail(err, PB_INVALID, "%s: says itself which devices, profiles and faults",
                       selection->fleet);
    if (selection->profile != NULL)
        status = pb_sim_profile_load(selection->profile, &profile, &cause);
    pb_sim_profile_free(profile);
    if (status == PB_NOT_FOUND) /* a wrong word, not a missing device */
        status = PB_INVALID;
    return status == PB_OK ? PB_OK : pb_fail(err, status, "%s", cause.message);
}

enum pb_status pb_measure_prepare(const struct pb_selection *selection,
                                  struct pb_measure *measure_out, struct pb_error *err)
{
    struct pb_measure measure = {.selection = selection};
    const char *backend = selection->backend;
    enum pb_status status;

    if (strcmp(backend, "auto") == 0 && is_simulated(selection))
        backend = pb_device_sim.name;
    status = pb_battery_parse(selection->battery, &measure.battery, err);
    if (status == PB_OK && is_simulated(selection))
        status = check_simulation(selection, backend, err);
    if (status == PB_OK)
        status = pb_backend_find(backend, &measure.ops, err);
    if (status == PB_OK)
        status = pb_battery_select(measure.battery, selection->tests, &measure.tests, err);
    if (status == PB_OK)
        *measure_out = measure;
    return status;
}

void pb_measure_clear(struct pb_measure *measure)
{
    if (measure == NULL)
        return;
    free(measure->tests);
    pb_fleet_plan_free(measure->plan);
    memset(measure, 0, sizeof(*measure));
}

enum pb_status pb_measure_hello(const struct pb_measure *measure, struct pb_hello *hello_out,
                                struct pb_error *err)
{
    struct pb_hello hello = {.backend = ""};
    enum pb_status status = measure->ops->enumerate(&hello.devices, &hello.device_count, err);
    size_t count = 0;

    if (status != PB_OK)
        return status;
    while (measure->tests[count] != NULL)
        count++;
    hello.tests.specs = calloc(count + 1, sizeof(*hello.tests.specs));
    if (hello.tests.specs == NULL) {
        pb_hello_clear(&hello);
        return pb_fail(err, PB_NO_MEMORY, "no memory for %zu tests", count);
    }
    for (size_t i = 0; i < count; i++) {
        PB_TEXT_SET(hello.tests.specs[i].name, measure->tests[i]->name);
        PB_TEXT_SET(hello.tests.specs[i].unit, measure->tests[i]->unit);
        PB_TEXT_SET(hello.tests.specs[i].method, measure->tests[i]->method);
    }
    hello.tests.count = count;
    PB_TEXT_SET(hello.backend, measure->ops->name);
    *hello_out = hello;
    return PB_OK;
}

/* ---- opening ---- */

static enum pb_status open_request(const struct pb_measure *measure,
                                   const struct pb_device_request *request,
                                   struct pb_bench *bench_out, struct pb_opened *opened,
                                   struct pb_error *err)
{
    enum pb_status status = pb_bench_open(measure->ops, request, measure->battery, bench_out, err);

    if (status != PB_OK)
        return status;
    PB_TEXT_SET(opened->uuid, bench_out->info.uuid);
    PB_TEXT_SET(opened->pci_bus_id, bench_out->info.pci_bus_id);
    PB_TEXT_SET(opened->model, bench_out->info.model);
    opened->slot = bench_out->info.slot;
    return PB_OK;
}

/* The device of a simulated fleet that stands at this rank. */
static enum pb_status open_seat(struct pb_measure *measure, int64_t rank,
                                struct pb_bench *bench_out, struct pb_opened *opened,
                                struct pb_error *err)
{
    struct pb_device_request request = {.selector = NULL};
    struct pb_fleet_device device;
    char selector[PB_NAME_LENGTH];
    enum pb_status status = PB_OK;

    if (measure->plan == NULL)
        status = pb_fleet_plan_load(measure->selection->fleet, &measure->plan, err);
    if (status == PB_OK)
        status = pb_fleet_plan_device(measure->plan, (size_t)rank, &device, err);
    if (status != PB_OK)
        return status;
    snprintf(selector, sizeof(selector), "%lld", (long long)device.slot);
    request.selector = selector;
    request.host = device.host;
    request.profile = device.profile;
    request.faults = device.faults;
    request.fault_count = device.fault_count;
    request.seed = device.seed;
    request.spread_latency = device.spread_latency;
    request.spread_bandwidth = device.spread_bandwidth;
    PB_TEXT_SET(opened->host, device.host);
    opened->fleet_size = (int64_t)pb_fleet_plan_size(measure->plan);
    return open_request(measure, &request, bench_out, opened, err);
}

enum pb_status pb_measure_open(struct pb_measure *measure, const char *selector, int64_t rank,
                               struct pb_bench *bench_out, struct pb_opened *opened_out,
                               struct pb_error *err)
{
    const struct pb_selection *selection = measure->selection;
    const struct pb_device_request request = {
        .selector = selector == NULL || selector[0] == '\0' ? NULL : selector,
        .profile = selection->profile,
        .faults = selection->faults,
        .fault_count = selection->fault_count,
        .seed = selection->seed,
    };
    struct pb_opened opened = {.uuid = ""};
    enum pb_status status = selection->fleet != NULL
                                ? open_seat(measure, rank, bench_out, &opened, err)
                                : open_request(measure, &request, bench_out, &opened, err);

    if (status != PB_OK)
        return status;
    bench_out->sustain_seconds = selection->sustain_seconds;
    *opened_out = opened;
    return PB_OK;
}

/* ---- running ---- */

static void describe_note(const struct pb_bench *bench, const char *key, const char *test,
                          struct pb_test_note *note_out)
{
    *note_out = (struct pb_test_note){.key = ""};
    PB_TEXT_SET(note_out->key, key);
    PB_TEXT_SET(note_out->uuid, bench->info.uuid);
    PB_TEXT_SET(note_out->test, test);
    PB_TEXT_SET(note_out->outcome, pb_outcome_name(PB_TEST_OK));
}

/* Before the packer is there: this thread may use HDF5. */
static enum pb_status send_device(const struct pb_bench *bench, const char *key, size_t test_count,
                                  const struct pb_sink *sink, struct pb_error *err)
{
    struct pb_frame frame = {.type = PB_FRAME_DEVICE};
    struct pb_image image = {NULL, 0};
    struct pb_test_note note;
    char *text;
    enum pb_status status = pb_image_of_device(key, &bench->info, &image, err);

    if (status != PB_OK)
        return status;
    describe_note(bench, key, "", &note);
    note.test_count = (int64_t)test_count;
    snprintf(note.message, sizeof(note.message), "%s%s", bench->info.model,
             bench->device->ops == &pb_device_sim ? ", simulated" : "");
    frame.note = text = pb_note_test(&note);
    frame.body = image.bytes;
    frame.body_size = image.size;
    status = text == NULL ? pb_fail(err, PB_NO_MEMORY, "no memory for a note")
                          : sink->take(sink->context, &frame, err);
    free(text);
    free(image.bytes);
    return status;
}

/* What the functions below share: one run of tests on an open device. */
struct series {
    struct pb_bench *bench;
    const char *key;
    struct pb_packer *packer;
    const struct pb_others *others; /* NULL: there are none */
};

/* Asks the others, and waits for the answer. */
static enum pb_status ask(const struct series *series, const char *test, const char *what,
                          int64_t number, int64_t *count_out, struct pb_error *err)
{
    struct pb_test_note note;
    enum pb_status status;

    describe_note(series->bench, series->key, test, &note);
    PB_TEXT_SET(note.outcome, what);
    note.test_count = number;
    status = pb_packer_tell(series->packer, PB_FRAME_READY, &note, err);
    return status != PB_OK ? status
                           : series->others->answer(series->others->context, count_out, err);
}

static enum pb_status meet(void *context, const char *test, int64_t number, int64_t *count_out,
                           struct pb_error *err)
{
    return ask(context, test, "meet", number, count_out, err);
}

/* Runs one test and gives what it has recorded to the packer. */
static enum pb_status run_test(const struct series *series, const struct pb_test *test,
                               enum pb_outcome *outcome_out, struct pb_error *err)
{
    struct pb_recording recording;
    struct pb_test_note note;
    struct pb_state states[2];
    enum pb_status status;

    describe_note(series->bench, series->key, test->name, &note);
    if (pb_test_company(test) != PB_COMPANY_ANY)
        pb_packer_rest(series->packer); /* the host is part of what is measured */
    status = pb_packer_tell(series->packer, PB_FRAME_START, &note, err);
    if (status != PB_OK)
        return status;
    pb_bench_run(series->bench, test, &recording, states, NULL); /* PB_LOST is an outcome, too */

    PB_TEXT_SET(note.outcome, pb_outcome_name(recording.outcome));
    PB_TEXT_SET(note.message, recording.message);
    note.seconds = recording.seconds;
    *outcome_out = recording.outcome;
    return pb_packer_put(series->packer, &note, &recording, states, err);
}

/* Can this process still use the device? A failed kernel may have spoilt it for good. */
static bool still_answers(struct pb_bench *bench)
{
    uint32_t cycles[4];

    return bench->device->ops->stamp(bench->device, PB_STAMP_EMPTY, 4, cycles, NULL) == PB_OK;
}

/* Runs a test and looks after the device. PB_LOST: it is gone; the test's frame tells that. */
static enum pb_status run_and_look(const struct series *series, const struct pb_test *test,
                                   struct pb_error *err)
{
    enum pb_outcome outcome = PB_TEST_OK;
    enum pb_status status = run_test(series, test, &outcome, err);

    if (status == PB_OK && outcome == PB_TEST_LOST)
        return pb_fail(err, PB_LOST, "the device was lost in %s", test->name);
    if (status == PB_OK && outcome == PB_TEST_FAILED && !still_answers(series->bench))
        return pb_fail(err, PB_DEVICE, "the device does not answer after %s", test->name);
    return status;
}

/* Puts a test off while another GPU has the links; false: it may run now. */
static enum pb_status must_wait(const struct series *series, const struct pb_test *test,
                                bool is_patient, bool *must_wait_out, struct pb_error *err)
{
    int64_t count = 1;
    enum pb_status status = PB_OK;

    if (series->others != NULL && pb_test_company(test) == PB_COMPANY_ALONE)
        status = ask(series, test->name, is_patient ? "turn" : "try", 0, &count, err);
    *must_wait_out = count == 0;
    return status;
}

/* Runs what was put off, now waiting for each turn; empties the list. */
static enum pb_status catch_up(const struct series *series, const struct pb_test **put_off,
                               struct pb_error *err)
{
    enum pb_status status = PB_OK;

    for (size_t i = 0; put_off[i] != NULL && status == PB_OK; i++) {
        bool waits;

        status = must_wait(series, put_off[i], true, &waits, err);
        if (status == PB_OK)
            status = run_and_look(series, put_off[i], err);
    }
    put_off[0] = NULL;
    return status;
}

/* put_off[]: room for all tests, ends with NULL. Before all GPUs meet, each has had its turns. */
static enum pb_status run_tests(const struct series *series, const struct pb_test *const *tests,
                                const struct pb_test **put_off, struct pb_error *err)
{
    size_t put_off_count = 0;
    enum pb_status status = PB_OK;

    for (size_t i = 0; tests[i] != NULL && status == PB_OK; i++) {
        bool waits = false;

        if (pb_test_company(tests[i]) == PB_COMPANY_TOGETHER) {
            status = catch_up(series, put_off, err);
            put_off_count = 0;
        }
        if (status == PB_OK)
            status = must_wait(series, tests[i], false, &waits, err);
        if (status == PB_OK && waits) {
            put_off[put_off_count++] = tests[i];
            put_off[put_off_count] = NULL;
        } else if (status == PB_OK) {
            status = run_and_look(series, tests[i], err);
        }
    }
    return status != PB_OK ? status : catch_up(series, put_off, err);
}

/* The tests of an open device, packed beside each other. */
static enum pb_status run_packed(struct series *series, const struct pb_test *const *tests,
                                 const struct pb_packer_request *request, struct pb_error *err)
{
    const struct pb_test **put_off = NULL;
    size_t count = 0;
    enum pb_status status, packed;

    while (tests[count] != NULL)
        count++;
    put_off = calloc(count + 1, sizeof(const struct pb_test *));
    if (put_off == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for %zu tests", count);
    status = pb_packer_open(request, &series->packer, err);
    if (status == PB_OK)
        status = run_tests(series, tests, put_off, err);
    if (status == PB_LOST) /* told */
        status = PB_OK;
    packed = pb_packer_close(series->packer, status == PB_OK ? err : NULL); /* the first is told */
    free(put_off);
    return status == PB_OK ? packed : status;
}

enum pb_status pb_measure_run(struct pb_bench *bench, const char *key,
                              const struct pb_test *const *tests, const struct pb_sink *sink,
                              const struct pb_others *others, struct pb_error *err)
{
    const struct pb_packer_request request = {key, *sink, pb_image_of_test};
    const struct pb_frame done = {.type = PB_FRAME_DONE};
    struct series series = {bench, key, NULL, others};
    size_t count = 0;
    enum pb_status status;

    while (tests[count] != NULL)
        count++;
    bench->meeting = (struct pb_meeting){others != NULL ? meet : NULL, &series};
    status = send_device(bench, key, count, sink, err);
    if (status == PB_OK)
        status = run_packed(&series, tests, &request, err);
    bench->meeting = (struct pb_meeting){NULL, NULL};
    return status != PB_OK ? status : sink->take(sink->context, &done, err);
}
