/* One probe without a supervisor; see standalone.h. */
#include "run/standalone.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/claim.h"
#include "core/time.h"
#include "run/assign.h"
#include "run/ledger.h"
#include "run/measure.h"
#include "run/origin.h"
#include "run/spool.h"
#include "run/synthesize.h"

struct alone {
    const char *path;
    const volatile sig_atomic_t *stop;
    struct pb_probe_setup measure;
    struct pb_session session;
    struct pb_claim *claim;
    struct pb_collect *collect;
    char *spool_dir;
    struct pb_spool *spool;        /* NULL: before and after measuring */
    struct pb_error spool_trouble; /* why it could not be written at first */
    struct pb_error file_trouble;  /* why the file cannot be made; the spool goes on */
    struct pb_member member;
    struct pb_ledger ledger; /* of its tests */
    size_t finished;         /* tests, in the order of measure.tests */
    size_t safe;             /* of them, in the spool */
};

static bool is_kept(enum pb_frame_type type)
{
    return type == PB_FRAME_PLAN || type == PB_FRAME_DEVICE || type == PB_FRAME_TEST ||
           type == PB_FRAME_MEMBER;
}

/* Into the spool. What it does not take waits in memory, and the file has it. */
static enum pb_status spool(struct alone *alone, const struct pb_frame *frame, struct pb_error *err)
{
    struct pb_error cause = PB_ERROR_INIT;
    void *bytes = NULL;
    size_t size = 0;
    enum pb_status status = PB_OK;

    if (!is_kept(frame->type))
        return PB_OK;
    status = pb_frame_pack(frame, &bytes, &size, &cause);
    if (status == PB_OK)
        status = pb_spool_append(alone->spool, bytes, size, true, &cause);
    free(bytes);
    if (status == PB_OK) { /* with it, all that has waited */
        alone->safe = alone->finished + (frame->type == PB_FRAME_TEST);
        return PB_OK;
    }
    if (alone->spool_trouble.status == PB_OK)
        alone->spool_trouble = cause;
    if (alone->file_trouble.status != PB_OK) /* no file takes it: measuring on is in vain */
        return pb_fail(err, status, "%s", alone->file_trouble.message);
    return PB_OK;
}

/*
 * A sink for frames: into spool and file, and counted. No test begins that its START is refused.
 * One of the two is enough to go on.
 */
static enum pb_status take(void *context, const struct pb_frame *frame, struct pb_error *err)
{
    struct alone *alone = context;
    struct pb_error cause = PB_ERROR_INIT;
    struct pb_ledger_entry entry;
    struct pb_test_report report;
    enum pb_status status;

    if (frame->type == PB_FRAME_START && *alone->stop != 0)
        return pb_fail(err, PB_NOT_FOUND, "the run was stopped by a signal");
    if (frame->type == PB_FRAME_TEST) {
        status = pb_image_check(frame->body, frame->body_size, err);
        if (status != PB_OK)
            return status;
    }
    status = spool(alone, frame, err); /* first: what the observer is notified of is safe */
    if (pb_collect_take(alone->collect, 0, frame, &cause) != PB_OK &&
        alone->file_trouble.status == PB_OK)
        alone->file_trouble = cause;
    if (status == PB_OK && alone->file_trouble.status != PB_OK && alone->safe < alone->finished)
        status = pb_fail(err, alone->file_trouble.status, "%s", alone->file_trouble.message);
    if (status != PB_OK || frame->type != PB_FRAME_TEST)
        return status;
    status = pb_message_read_test(frame->message, &report, err);
    if (status != PB_OK)
        return status;
    alone->finished++;
    entry =
        pb_ledger_entry_of(&alone->member, report.test, pb_message_end(&report), report.message);
    return pb_ledger_record(&alone->ledger, &entry, err);
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
    const struct pb_test_selection *selection = alone->measure.selection;
    struct pb_arrival arrival = {.status = PB_OK};
    struct pb_named_device named;
    enum pb_status status = pb_measure_open(&alone->measure, selection->selector, 0,
                                            &alone->session, &arrival.opened, err);

    if (status != PB_OK)
        return status;
    pb_host_name(arrival.host);
    status = pb_assign_keys(&arrival, 1, selection, &named, err);
    if (status != PB_OK)
        return status;
    alone->member.slot = named.slot;
    PB_TEXT_SET(alone->member.host, named.host);
    PB_TEXT_SET(alone->member.key, named.key);
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
        enum pb_link_use use = pb_test_link_use(test);
        struct pb_test_spec spec = {.link_use = use,
                                    .concurrent_devices = use == PB_LINKS_CONCURRENT};
        void *bytes;
        size_t size;

        PB_TEXT_SET(spec.name, test->name);
        PB_TEXT_SET(spec.unit, test->unit);
        PB_TEXT_SET(spec.method, test->method);
        status = pb_synthesize_outcome(alone->member.key, alone->member.uuid, &spec,
                                       PB_TEST_MISSING, 0, reason, &bytes, &size, err);
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
    enum pb_status status = pb_measure_run(&alone->session, alone->member.key, alone->measure.tests,
                                           &sink, NULL, &cause);

    if (status != PB_OK && status != PB_DEVICE && *alone->stop == 0)
        return pb_fail(err, status, "%s", cause.message);
    status = take_missing(alone, status == PB_OK ? "the device was lost" : cause.message, err);
    if (status != PB_OK)
        return status;
    pb_ledger_fill_row(&alone->ledger, &alone->member);
    alone->member.seconds = pb_time_monotonic_seconds() - begun;
    if (alone->member.message[0] == '\0' && alone->spool_trouble.status != PB_OK)
        snprintf(alone->member.message, sizeof(alone->member.message),
                 "measured, but not safe until the end: %.200s", alone->spool_trouble.message);
    status = pb_synthesize_member(&alone->member, &bytes, &size, err);
    return status != PB_OK ? status : take_packed(alone, bytes, size, err);
}

/* Refuses what would end badly, before the device is disturbed. */
static enum pb_status check_places(struct alone *alone, struct pb_error *err)
{
    enum pb_status status = pb_fleet_may_create(alone->path, err);

    if (status == PB_OK)
        status = pb_claim_take(alone->path, "plumb-probe", &alone->claim, err);
    if (status == PB_OK && asprintf(&alone->spool_dir, "%s.spool", alone->path) < 0) {
        alone->spool_dir = NULL;
        status = pb_fail(err, PB_NO_MEMORY, "%s: out of memory", alone->path);
    }
    if (status == PB_OK)
        status = pb_spool_refuse_left(alone->spool_dir,
                                      "plumb-merge saves it, removing it forgets it", err);
    return status;
}

/* The file and the spool, with the plan in it. */
static enum pb_status open_outputs(struct alone *alone, const struct pb_run *run,
                                   const struct pb_run_listener *observer, struct pb_error *err)
{
    struct pb_plan plan = {.run = *run, .member = alone->member, .rank_count = 1};
    struct pb_hello hello;
    struct pb_frame frame;
    void *bytes = NULL;
    size_t size;
    enum pb_status status =
        pb_collect_open(alone->path, run, alone->claim, 1, observer, &alone->collect, err);

    if (status == PB_OK)
        status = pb_spool_open(alone->spool_dir, 0, 1, &alone->spool, err);
    if (status == PB_OK)
        status = pb_measure_hello(&alone->measure, &hello, err);
    if (status != PB_OK)
        return status;
    plan.tests = hello.tests;
    status = pb_synthesize_plan(&plan, &bytes, &size, err);
    if (status == PB_OK)
        status = pb_frame_unpack(bytes, size, &frame, err);
    if (status == PB_OK)
        status = spool(alone, &frame, err);
    free(bytes);
    pb_hello_clear(&hello);
    return status;
}

/* The file in place, then the spool is superfluous. Without the file, the spool stays. */
static enum pb_status commit(struct alone *alone, enum pb_status status,
                             struct pb_summary *summary_out, struct pb_error *err)
{
    char cause[PB_ERROR_LENGTH];

    if (status == PB_OK && alone->file_trouble.status != PB_OK)
        status = pb_fail(err, alone->file_trouble.status, "%s", alone->file_trouble.message);
    if (status == PB_OK) {
        status = pb_collect_commit(alone->collect, summary_out, err);
        alone->collect = NULL;
    }
    pb_collect_abandon(alone->collect); /* with its space on the disk */
    if (alone->spool == NULL)
        return status;
    if (status != PB_OK && pb_spool_retry(alone->spool, NULL) == PB_OK)
        alone->safe = alone->finished;
    if (status == PB_OK || alone->safe == 0)
        pb_spool_remove(alone->spool_dir, 0, 1);
    if (status == PB_OK)
        return status;
    PB_TEXT_SET(cause, err->message);
    if (alone->safe == 0)
        return pb_fail(err, status, "%s: %s", alone->path, cause);
    return pb_fail(err, status, "%s: %s; plumb-merge makes the file from %s, with %zu of %zu tests",
                   alone->path, cause, alone->spool_dir, alone->safe, alone->finished);
}

enum pb_status pb_measure_standalone(const struct pb_test_selection *selection, const char *path,
                                     const struct pb_run *run, const volatile sig_atomic_t *stop,
                                     const struct pb_run_listener *observer,
                                     struct pb_summary *summary_out, struct pb_error *err)
{
    struct alone alone = {.path = path, .stop = stop};
    struct pb_error cause = PB_ERROR_INIT;
    enum pb_status status = pb_measure_prepare(selection, &alone.measure, &cause);

    if (status == PB_OK)
        status = check_places(&alone, &cause);
    if (status == PB_OK)
        status = open_device(&alone, &cause);
    if (status == PB_OK)
        status = open_outputs(&alone, run, observer, &cause);
    if (status == PB_OK)
        status = measure(&alone, &cause);
    status = commit(&alone, status, summary_out, &cause);
    if (status != PB_OK)
        pb_fail(err, status, "%s", cause.message);
    pb_spool_close(alone.spool);
    pb_claim_release(alone.claim);
    free(alone.spool_dir);
    pb_ledger_clear(&alone.ledger);
    pb_session_close(&alone.session);
    pb_measure_clear(&alone.measure);
    return status;
}
