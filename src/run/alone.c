/* One probe without a supervisor; see alone.h. */
#include "run/alone.h"

#include <stdlib.h>

#include "core/time.h"
#include "run/assign.h"
#include "run/compose.h"
#include "run/measure.h"
#include "run/origin.h"
#include "run/tally.h"

struct alone {
    const char *path;
    const volatile sig_atomic_t *stop;
    struct pb_measure measure;
    struct pb_bench bench;
    struct pb_collect *collect;
    struct pb_member member;
    struct pb_tally tally;
    size_t finished; /* tests, in the order of measure.tests */
};

/* A sink for frames: into the file, and counted. No test begins that its START is refused. */
static enum pb_status take(void *context, const struct pb_frame *frame, struct pb_error *err)
{
    struct alone *alone = context;
    struct pb_test_note note;
    enum pb_status status;

    if (frame->type == PB_FRAME_START && *alone->stop != 0)
        return pb_fail(err, PB_NOT_FOUND, "the run was stopped by a signal");
    status = pb_collect_take(alone->collect, 0, frame, err);
    if (status != PB_OK)
        return pb_error_prefix(err, "%s", alone->path);
    if (frame->type != PB_FRAME_TEST)
        return PB_OK;
    status = pb_note_read_test(frame->note, &note, err);
    if (status != PB_OK)
        return status;
    pb_tally_add(&alone->tally, note.test, pb_outcome_parse(note.outcome), note.message);
    alone->finished++;
    return PB_OK;
}

/* The same for a packed frame, which is freed. */
static enum pb_status take_packed(struct alone *alone, void *bytes, size_t size,
                                  struct pb_error *err)
{
    struct pb_frame frame;
    enum pb_status status = pb_frame_unpack(bytes, size, &frame, err);

    if (status == PB_OK)
        status = take(alone, &frame, err);
    free(bytes);
    return status;
}

/* Opens the device and gives it its name. */
static enum pb_status open_device(struct alone *alone, struct pb_error *err)
{
    const struct pb_selection *selection = alone->measure.selection;
    struct pb_arrival arrival = {.status = PB_OK};
    struct pb_ticket ticket;
    enum pb_status status = pb_measure_open(&alone->measure, selection->selector, 0, &alone->bench,
                                            &arrival.opened, err);

    if (status != PB_OK)
        return status;
    pb_host_name(arrival.host);
    status = pb_assign_keys(&arrival, 1, selection, &ticket, err);
    if (status != PB_OK)
        return status;
    alone->member.slot = ticket.slot;
    PB_TEXT_SET(alone->member.host, ticket.host);
    PB_TEXT_SET(alone->member.key, ticket.key);
    PB_TEXT_SET(alone->member.uuid, arrival.opened.uuid);
    PB_TEXT_SET(alone->member.pci_bus_id, arrival.opened.pci_bus_id);
    PB_TEXT_SET(alone->member.model, arrival.opened.model);
    return PB_OK;
}

/* Tests that a lost or spoilt device, or a signal, left undone. */
static enum pb_status take_missing(struct alone *alone, const char *reason, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    while (status == PB_OK && alone->measure.tests[alone->finished] != NULL) {
        const struct pb_test *test = alone->measure.tests[alone->finished];
        struct pb_test_spec spec;
        void *bytes;
        size_t size;

        PB_TEXT_SET(spec.name, test->name);
        PB_TEXT_SET(spec.unit, test->unit);
        PB_TEXT_SET(spec.method, test->method);
        status = pb_compose_outcome(alone->member.key, alone->member.uuid, &spec, PB_TEST_MISSING,
                                    0, reason, &bytes, &size, err);
        if (status == PB_OK)
            status = take_packed(alone, bytes, size, err);
    }
    return status;
}

static enum pb_status measure(struct alone *alone, struct pb_error *err)
{
    const struct pb_sink sink = {take, alone};
    struct pb_error cause = PB_ERROR_INIT;
    double begun = pb_time_monotonic_seconds();
    void *bytes;
    size_t size;
    enum pb_status status =
        pb_measure_run(&alone->bench, alone->member.key, alone->measure.tests, &sink, NULL, &cause);

    if (status != PB_OK && status != PB_DEVICE && *alone->stop == 0)
        return pb_fail(err, status, "%s", cause.message);
    status = take_missing(alone, status == PB_OK ? "the device was lost" : cause.message, err);
    if (status != PB_OK)
        return status;
    pb_tally_fill(&alone->tally, &alone->member);
    alone->member.seconds = pb_time_monotonic_seconds() - begun;
    status = pb_compose_member(&alone->member, &bytes, &size, err);
    return status != PB_OK ? status : take_packed(alone, bytes, size, err);
}

enum pb_status pb_measure_alone(const struct pb_selection *selection, const char *path,
                                const struct pb_run *run, const volatile sig_atomic_t *stop,
                                const struct pb_observer *observer, struct pb_summary *summary_out,
                                struct pb_error *err)
{
    struct alone alone = {.path = path, .stop = stop};
    enum pb_status status = pb_measure_prepare(selection, &alone.measure, err);

    if (status == PB_OK)
        status = pb_fleet_may_create(path, err); /* before the device is disturbed */
    if (status == PB_OK)
        status = open_device(&alone, err);
    if (status == PB_OK)
        status = pb_collect_open(path, run, 1, observer, &alone.collect, err);
    if (status == PB_OK)
        status = measure(&alone, err);
    if (status == PB_OK) {
        status = pb_collect_commit(alone.collect, summary_out, err);
        alone.collect = NULL;
    }
    pb_collect_abandon(alone.collect);
    pb_bench_close(&alone.bench);
    pb_measure_clear(&alone.measure);
    return status;
}
