/* Orders to the probe, and what the supervisor makes of its frames. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "battery/battery.h"
#include "core/time.h"
#include "h5schema/file.h"
#include "run/ledger.h"
#include "run/supervisor_state.h"

static struct pb_task *find_task(const struct pb_supervisor *supervisor, const char *test)
{
    for (size_t i = 0; i < supervisor->task_count; i++)
        if (strcmp(supervisor->tasks[i].spec.name, test) == 0)
            return &supervisor->tasks[i];
    return NULL;
}

bool pb_supervisor_is_left(const struct pb_supervisor *supervisor, const char *test)
{
    const struct pb_task *task = find_task(supervisor, test);

    return task != NULL && task->state == TASK_TODO;
}

/* ---- orders ---- */

static void order(struct pb_supervisor *supervisor, const struct pb_probe_order *what)
{
    char *line = pb_message_order(what);
    struct pb_error err = PB_ERROR_INIT;

    /* A probe that is gone shows at its other pipe, with more information. */
    if (line == NULL)
        pb_supervisor_begin_end(supervisor, PB_TEST_CRASHED, "out of memory allocating an order");
    else
        pb_child_order(&supervisor->child, line, &err);
    free(line);
}

void pb_supervisor_order_open(struct pb_supervisor *supervisor)
{
    pb_supervisor_enter(supervisor, STATE_OPENING);
    order(supervisor, &supervisor->open_order);
}

enum pb_status pb_supervisor_order_rest(struct pb_supervisor *supervisor, struct pb_error *err)
{
    struct pb_probe_order run = {.kind = PB_ORDER_RUN};

    run.tests.specs = calloc(supervisor->task_count + 1, sizeof(*run.tests.specs));
    if (run.tests.specs == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu tests",
                       supervisor->task_count);
    for (size_t i = 0; i < supervisor->task_count; i++)
        if (supervisor->tasks[i].state == TASK_TODO)
            run.tests.specs[run.tests.count++] = supervisor->tasks[i].spec;
    PB_TEXT_SET(run.key, supervisor->key);
    pb_supervisor_enter(supervisor, STATE_RUNNING);
    order(supervisor, &run);
    pb_probe_order_clear(&run);
    if (supervisor->has_links)
        pb_supervisor_give_links(supervisor);
    return PB_OK;
}

const struct pb_ready *pb_supervisor_waits_for(const struct pb_supervisor *supervisor)
{
    return supervisor->ready.test[0] == '\0' ? NULL : &supervisor->ready;
}

/* What the probe waited for begins: its deadline runs again. */
static void end_wait(struct pb_supervisor *supervisor)
{
    supervisor->ready = (struct pb_ready){.test = ""};
    supervisor->since = pb_time_monotonic_seconds();
}

void pb_supervisor_go(struct pb_supervisor *supervisor, int64_t count)
{
    const struct pb_probe_order go = {.kind = PB_ORDER_GO, .count = count};

    if (pb_supervisor_waits_for(supervisor) == NULL)
        return;
    end_wait(supervisor);
    order(supervisor, &go);
}

/* Is it the host link for which the probe waits, and not a step of a concurrent test? */
static bool waits_for_links(const struct pb_supervisor *supervisor)
{
    const struct pb_task *task = find_task(supervisor, supervisor->ready.test);

    return task != NULL && task->spec.link_use == PB_LINKS_EXCLUSIVE;
}

void pb_supervisor_give_links(struct pb_supervisor *supervisor)
{
    const struct pb_probe_order links = {.kind = PB_ORDER_LINKS};

    supervisor->has_links = true;
    if (supervisor->state != STATE_RUNNING)
        return; /* it gets them with the order to run */
    if (waits_for_links(supervisor))
        end_wait(supervisor);
    order(supervisor, &links);
}

/* ---- what the probe says ---- */

static enum pb_status on_hello(struct pb_supervisor *supervisor, const struct pb_frame *frame,
                               struct pb_event *event, struct pb_error *err)
{
    enum pb_status status;

    if (supervisor->was_opened) {
        pb_supervisor_order_open(supervisor);
        return PB_OK;
    }
    status = pb_message_read_hello(frame->message, &supervisor->hello, err);
    if (status == PB_OK) {
        pb_supervisor_enter(supervisor, STATE_READY);
        event->kind = PB_EVENT_HELLO;
    }
    return status;
}

static enum pb_status on_opened(struct pb_supervisor *supervisor, const struct pb_frame *frame,
                                struct pb_event *event, struct pb_error *err)
{
    char message[PB_MESSAGE_LENGTH];
    struct pb_opened opened;
    enum pb_status status = pb_message_read_opened(frame->message, &opened, err);

    if (status != PB_OK)
        return status;
    if (!supervisor->was_opened) {
        supervisor->opened = opened;
        supervisor->was_opened = true;
        pb_supervisor_enter(supervisor, STATE_OPENED);
        event->kind = PB_EVENT_OPENED;
        return PB_OK;
    }
    if (strcmp(opened.uuid, supervisor->opened.uuid) == 0)
        return pb_supervisor_order_rest(supervisor, err);
    snprintf(message, sizeof(message), "given up: %s answers in the place of %s", opened.uuid,
             supervisor->opened.uuid);
    pb_supervisor_give_up(supervisor, PB_TEST_LOST, message);
    return PB_OK;
}

static enum pb_status on_refused(struct pb_supervisor *supervisor, const struct pb_frame *frame,
                                 struct pb_error *err)
{
    char message[PB_MESSAGE_LENGTH];
    struct pb_refusal refusal;
    enum pb_status status = pb_message_read_refusal(frame->message, &refusal, err);
    bool lost;

    if (status != PB_OK)
        return status;
    if (!supervisor->was_opened) {
        pb_supervisor_fail(supervisor, pb_member_status_of((enum pb_status)refusal.status),
                           (enum pb_status)refusal.status, refusal.message);
        PB_TEXT_SET(supervisor->failure.host, refusal.host);
        supervisor->failure.slot = refusal.slot;
        return PB_OK;
    }
    lost = refusal.status == PB_LOST || refusal.status == PB_NOT_FOUND;
    snprintf(message, sizeof(message), "the device cannot be opened again: %s", refusal.message);
    pb_supervisor_give_up(supervisor, lost ? PB_TEST_LOST : PB_TEST_MISSING, message);
    return PB_OK;
}

/* A probe in the middle of its tests says that it cannot go on; another one may. */
static enum pb_status on_abort(struct pb_supervisor *supervisor, const struct pb_frame *frame,
                               struct pb_error *err)
{
    struct pb_refusal refusal;
    enum pb_status status = pb_message_read_refusal(frame->message, &refusal, err);

    if (status == PB_OK)
        pb_supervisor_begin_end(supervisor, PB_TEST_CRASHED, refusal.message);
    return status;
}

static enum pb_status on_start(struct pb_supervisor *supervisor, struct pb_event *event,
                               struct pb_error *err)
{
    struct pb_task *task = find_task(supervisor, event->report.test);

    if (task == NULL || task->state != TASK_TODO)
        return pb_fail(err, PB_CORRUPT, "started test \"%s\", which was not ordered",
                       event->report.test);
    supervisor->current = task;
    supervisor->since = pb_time_monotonic_seconds();
    event->kind = PB_EVENT_FRAME;
    return PB_OK;
}

static enum pb_status on_measured(struct pb_supervisor *supervisor, const struct pb_event *event,
                                  struct pb_error *err)
{
    if (supervisor->current == NULL ||
        strcmp(supervisor->current->spec.name, event->report.test) != 0)
        return pb_fail(err, PB_CORRUPT, "measured test \"%s\", which was not running",
                       event->report.test);
    supervisor->current->state = TASK_MEASURED;
    supervisor->current = NULL;
    supervisor->since = pb_time_monotonic_seconds();
    return PB_OK;
}

static enum pb_status on_ready(struct pb_supervisor *supervisor, const struct pb_frame *frame,
                               struct pb_error *err)
{
    struct pb_ready ready;
    enum pb_status status = pb_message_read_ready(frame->message, &ready, err);
    const struct pb_task *task = status == PB_OK ? find_task(supervisor, ready.test) : NULL;

    if (status != PB_OK)
        return status;
    if (task == NULL || task->state != TASK_TODO)
        return pb_fail(err, PB_CORRUPT, "is ready for test \"%s\", which was not ordered",
                       ready.test);
    supervisor->ready = ready;
    if (supervisor->has_links && waits_for_links(supervisor)) /* the order is in its pipe */
        end_wait(supervisor);
    return PB_OK;
}

static enum pb_status on_test(struct pb_supervisor *supervisor, struct pb_event *event,
                              struct pb_error *err)
{
    char message[PB_MESSAGE_LENGTH];
    enum pb_outcome outcome = pb_outcome_parse(event->report.outcome);
    struct pb_task *task = find_task(supervisor, event->report.test);
    struct pb_error cause = PB_ERROR_INIT;
    enum pb_status status;

    if (task == NULL || (task != supervisor->current && task->state != TASK_MEASURED))
        return pb_fail(err, PB_CORRUPT, "finished test \"%s\", which was not running",
                       event->report.test);
    status = pb_image_check(event->frame.body, event->frame.body_size, &cause);
    if (status != PB_OK)
        return pb_fail(err, PB_CORRUPT, "finished test \"%s\" with results that cannot be read: %s",
                       event->report.test, cause.message);
    if (task == supervisor->current)
        supervisor->current = NULL;
    if (supervisor->current == NULL) /* else a deadline runs that is none of this test's */
        supervisor->since = pb_time_monotonic_seconds();
    task->state = TASK_DONE;
    supervisor->restarts = 0;
    event->kind = PB_EVENT_FRAME;
    if (outcome == PB_TEST_LOST) {
        snprintf(message, sizeof(message), "the device was lost in %s", event->report.test);
        pb_supervisor_give_up(supervisor, PB_TEST_MISSING, message);
    }
    return PB_OK;
}

/* A frame while tests run. */
static enum pb_status on_result(struct pb_supervisor *supervisor, const struct pb_frame *frame,
                                struct pb_event *event, struct pb_error *err)
{
    enum pb_status status;

    if (frame->type == PB_FRAME_DONE) {
        pb_supervisor_give_up(supervisor, PB_TEST_MISSING, "the probe did not run it");
        return PB_OK;
    }
    if (frame->type == PB_FRAME_READY)
        return on_ready(supervisor, frame, err);
    status = pb_message_read_test(frame->message, &event->report, err);
    if (status != PB_OK)
        return status;
    event->frame = *frame;
    event->frame_bytes = pb_frame_reader_bytes(&supervisor->reader, &event->frame_size);
    if (frame->type == PB_FRAME_START)
        return on_start(supervisor, event, err);
    if (frame->type == PB_FRAME_MEASURED)
        return on_measured(supervisor, event, err);
    if (frame->type == PB_FRAME_TEST)
        return on_test(supervisor, event, err);
    event->kind = supervisor->device_passed ? PB_EVENT_NONE : PB_EVENT_FRAME;
    supervisor->device_passed = true;
    return PB_OK;
}

/* A frame of a probe that is to be killed: what was measured counts, the rest is too late. */
static enum pb_status on_drained_frame(struct pb_supervisor *supervisor,
                                       const struct pb_frame *frame, struct pb_event *event,
                                       struct pb_error *err)
{
    const struct pb_task *task = NULL;
    enum pb_status status = PB_OK;

    if (frame->type == PB_FRAME_TEST)
        status = pb_message_read_test(frame->message, &event->report, err);
    if (status == PB_OK && frame->type == PB_FRAME_TEST)
        task = find_task(supervisor, event->report.test);
    if (task != NULL && task->state == TASK_MEASURED)
        status = on_result(supervisor, frame, event, err);
    if (status == PB_OK && supervisor->state == STATE_DRAINING &&
        !pb_supervisor_has_measured(supervisor))
        pb_supervisor_begin_end(supervisor, supervisor->end_outcome, supervisor->end_message);
    return status;
}

/* Acts on a frame; PB_CORRUPT: it has no business here. */
enum pb_status pb_supervisor_handle(struct pb_supervisor *supervisor, const struct pb_frame *frame,
                                    struct pb_event *event, struct pb_error *err)
{
    enum pb_supervisor_state state = supervisor->state;

    if (frame->type == PB_FRAME_HELLO && state == STATE_BOOTING)
        return on_hello(supervisor, frame, event, err);
    if (frame->type == PB_FRAME_OPENED && state == STATE_OPENING)
        return on_opened(supervisor, frame, event, err);
    if (frame->type == PB_FRAME_REFUSED && (state == STATE_BOOTING || state == STATE_OPENING))
        return on_refused(supervisor, frame, err);
    if (frame->type == PB_FRAME_REFUSED && state == STATE_RUNNING)
        return on_abort(supervisor, frame, err);
    if (state == STATE_DRAINING)
        return on_drained_frame(supervisor, frame, event, err);
    if (state == STATE_RUNNING &&
        (frame->type == PB_FRAME_DEVICE || frame->type == PB_FRAME_START ||
         frame->type == PB_FRAME_MEASURED || frame->type == PB_FRAME_TEST ||
         frame->type == PB_FRAME_READY || frame->type == PB_FRAME_DONE))
        return on_result(supervisor, frame, event, err);
    return pb_fail(err, PB_CORRUPT, "sent %s out of turn", pb_frame_type_name(frame->type));
}
