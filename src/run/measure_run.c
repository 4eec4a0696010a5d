/* Running the tests of an open device as frames, in agreement with the node's other devices; see
 * measure.h. */
#include <stdio.h>
#include <stdlib.h>

#include "run/measure.h"
#include "run/schedule.h"

static void describe_report(const struct pb_session *session, const char *key, const char *test,
                            struct pb_test_report *report_out)
{
    *report_out = (struct pb_test_report){.key = ""};
    PB_TEXT_SET(report_out->key, key);
    PB_TEXT_SET(report_out->uuid, session->info.uuid);
    PB_TEXT_SET(report_out->test, test);
    PB_TEXT_SET(report_out->outcome, pb_outcome_name(PB_TEST_OK));
}

/* Before the packer is there: this thread may use HDF5. */
static enum pb_status send_device(const struct pb_session *session, const char *key,
                                  size_t test_count, const struct pb_sink *sink,
                                  struct pb_error *err)
{
    struct pb_frame frame = {.type = PB_FRAME_DEVICE};
    struct pb_image image = {NULL, 0};
    struct pb_test_report report;
    char *text;
    enum pb_status status = pb_image_of_device(key, &session->info, &image, err);

    if (status != PB_OK)
        return status;
    describe_report(session, key, "", &report);
    report.test_count = (int64_t)test_count;
    snprintf(report.message, sizeof(report.message), "%s%s", session->info.model,
             session->device->ops->is_simulated ? ", simulated" : "");
    frame.message = text = pb_message_test(&report);
    frame.body = image.bytes;
    frame.body_size = image.size;
    status = text == NULL ? pb_fail(err, PB_NO_MEMORY, "out of memory allocating a message")
                          : sink->take(sink->context, &frame, err);
    free(text);
    free(image.bytes);
    return status;
}

/* What the functions below share: one run of tests on an open device. */
struct series {
    struct pb_session *session;
    const char *key;
    struct pb_packer *packer;
    const struct pb_others *others; /* NULL: there are none */
    int64_t fewest;                 /* devices at a barrier of the test at hand; 0: none yet */
};

/* Reports the step for which this device waits. */
static enum pb_status send_ready(const struct series *series, const char *test, int64_t step,
                                 struct pb_error *err)
{
    struct pb_ready ready = {.step = step};

    PB_TEXT_SET(ready.test, test);
    return pb_packer_send(series->packer, PB_FRAME_READY, pb_message_ready(&ready), err);
}

/* Waits for a step of a test. */
static enum pb_status await_step(const struct series *series, const char *test, int64_t step,
                                 int64_t *count_out, struct pb_error *err)
{
    enum pb_status status = send_ready(series, test, step, err);

    return status != PB_OK ? status
                           : series->others->await_go(series->others->context, count_out, err);
}

static enum pb_status await_barrier(void *context, const char *test, int64_t number,
                                    int64_t *count_out, struct pb_error *err)
{
    struct series *series = context;
    enum pb_status status = await_step(series, test, number, count_out, err);

    if (status == PB_OK && (series->fewest == 0 || *count_out < series->fewest))
        series->fewest = *count_out;
    return status;
}

/* In the middle of a test: until that is measured. */
static enum pb_status await_exclusive(void *context, const char *test, struct pb_error *err)
{
    int64_t count;

    return await_step(context, test, PB_STEP_EXCLUSIVE, &count, err);
}

/* How many devices of the node ran the test at the same time, or were to; 0: not such a test. */
static int64_t concurrent_devices(const struct series *series, const struct pb_test *test)
{
    if (pb_test_link_use(test) != PB_LINKS_CONCURRENT)
        return 0;
    if (series->fewest > 0 || series->others == NULL)
        return series->fewest > 0 ? series->fewest : 1;
    return series->others->concurrent_devices;
}

/* Runs one test and gives what it has recorded to the packer. */
static enum pb_status run_test(struct series *series, const struct pb_test *test,
                               enum pb_outcome *outcome_out, struct pb_error *err)
{
    struct pb_recording recording;
    struct pb_test_report report;
    struct pb_state states[2];
    enum pb_status status;

    describe_report(series->session, series->key, test->name, &report);
    if (pb_test_link_use(test) != PB_LINKS_UNUSED)
        pb_packer_rest(series->packer); /* the host is part of what is measured */
    status = pb_packer_send(series->packer, PB_FRAME_START, pb_message_test(&report), err);
    if (status != PB_OK)
        return status;
    series->fewest = 0;
    pb_session_run(series->session, test, &recording, states,
                   NULL); /* PB_LOST is an outcome, too */

    recording.concurrent_devices = concurrent_devices(series, test);
    PB_TEXT_SET(report.outcome, pb_outcome_name(recording.outcome));
    PB_TEXT_SET(report.message, recording.message);
    report.seconds = recording.seconds;
    report.concurrent_devices = recording.concurrent_devices;
    *outcome_out = recording.outcome;
    return pb_packer_put(series->packer, &report, &recording, states, err);
}

/* Can this process still use the device? A failed kernel may have spoilt it for good. */
static bool still_answers(struct pb_session *session)
{
    uint32_t cycles[4];

    return session->device->ops->stamp(session->device, PB_STAMP_EMPTY, 4, cycles, NULL) == PB_OK;
}

/* Runs a test and looks after the device. PB_LOST: it is gone; the test's frame reports that. */
static enum pb_status run_and_look(struct series *series, const struct pb_test *test,
                                   struct pb_error *err)
{
    enum pb_outcome outcome = PB_TEST_OK;
    enum pb_status status = run_test(series, test, &outcome, err);

    if (status == PB_OK && outcome == PB_TEST_LOST)
        return pb_fail(err, PB_LOST, "the device was lost in %s", test->name);
    if (status == PB_OK && outcome == PB_TEST_FAILED && !still_answers(series->session))
        return pb_fail(err, PB_DEVICE, "the device does not answer after %s", test->name);
    return status;
}

/* Has this device the host link for itself? With `waits` until it has. */
static enum pb_status find_links(const struct series *series, const struct pb_test *waits,
                                 bool *has_links_out, struct pb_error *err)
{
    const struct pb_others *others = series->others;
    enum pb_status status = PB_OK;

    *has_links_out = others == NULL;
    if (others == NULL)
        return PB_OK;
    if (waits != NULL)
        status = send_ready(series, waits->name, PB_STEP_EXCLUSIVE, err);
    return status != PB_OK
               ? status
               : others->await_links(others->context, waits != NULL, has_links_out, err);
}

static enum pb_status run_tests(struct series *series, struct pb_schedule *schedule,
                                struct pb_error *err)
{
    struct pb_schedule_step step = {PB_SCHEDULE_RUN, NULL};
    enum pb_status status = PB_OK;

    while (status == PB_OK && step.kind != PB_SCHEDULE_END) {
        bool waits = step.kind == PB_SCHEDULE_AWAIT_LINKS, has_links;

        status = find_links(series, waits ? step.test : NULL, &has_links, err);
        if (status != PB_OK)
            break;
        step = pb_schedule_next(schedule, has_links);
        if (step.kind == PB_SCHEDULE_RUN)
            status = run_and_look(series, step.test, err);
    }
    return status;
}

/* The tests of an open device, packed beside each other. */
static enum pb_status run_packed(struct series *series, const struct pb_test *const *tests,
                                 const struct pb_packer_request *request, struct pb_error *err)
{
    struct pb_schedule *schedule = NULL;
    enum pb_status status = pb_schedule_create(tests, &schedule, err), packed;

    if (status != PB_OK)
        return status;
    status = pb_packer_open(request, &series->packer, err);
    if (status == PB_OK)
        status = run_tests(series, schedule, err);
    if (status == PB_LOST) /* reported */
        status = PB_OK;
    packed =
        pb_packer_close(series->packer, status == PB_OK ? err : NULL); /* the first is reported */
    pb_schedule_free(schedule);
    return status == PB_OK ? packed : status;
}

enum pb_status pb_measure_run(struct pb_session *session, const char *key,
                              const struct pb_test *const *tests, const struct pb_sink *sink,
                              const struct pb_others *others, struct pb_error *err)
{
    const struct pb_packer_request request = {key, *sink, pb_image_of_test};
    const struct pb_frame done = {.type = PB_FRAME_DONE};
    struct series series = {session, key, NULL, others, 0};
    size_t count = 0;
    enum pb_status status;

    while (tests[count] != NULL)
        count++;
    if (others != NULL)
        session->links = (struct pb_node_links){await_barrier, await_exclusive, &series};
    status = send_device(session, key, count, sink, err);
    if (status == PB_OK)
        status = run_packed(&series, tests, &request, err);
    session->links = (struct pb_node_links){NULL, NULL, NULL};
    return status != PB_OK ? status : sink->take(sink->context, &done, err);
}
