/* What becomes of tests and devices whose probe hangs, dies or cannot be started again. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/time.h"
#include "run/supervisor_state.h"
#include "run/synthesize.h"

void pb_supervisor_enter(struct pb_supervisor *supervisor, enum pb_supervisor_state state)
{
    if (state == STATE_OVER)
        pb_child_close_orders(&supervisor->child); /* it may go */
    supervisor->ready = (struct pb_ready){.test = ""};
    supervisor->state = state;
    supervisor->since = pb_time_monotonic_seconds();
}

static void owe(struct pb_task *task, enum pb_outcome outcome, const char *message)
{
    task->state = TASK_OWED;
    task->outcome = outcome;
    PB_TEXT_SET(task->message, message);
}

void pb_supervisor_give_up(struct pb_supervisor *supervisor, enum pb_outcome outcome,
                           const char *message)
{
    for (size_t i = 0; i < supervisor->task_count; i++)
        if (supervisor->tasks[i].state == TASK_TODO || supervisor->tasks[i].state == TASK_MEASURED)
            owe(&supervisor->tasks[i], outcome, message);
    supervisor->current = NULL;
    pb_supervisor_enter(supervisor, STATE_OVER);
}

void pb_supervisor_fail(struct pb_supervisor *supervisor, enum pb_member_status member_status,
                        enum pb_status status, const char *message)
{
    supervisor->failure.member_status = member_status;
    supervisor->failure.status = status;
    PB_TEXT_SET(supervisor->failure.message, message);
    pb_supervisor_enter(supervisor, STATE_OVER);
}

bool pb_supervisor_has_measured(const struct pb_supervisor *supervisor)
{
    for (size_t i = 0; i < supervisor->task_count; i++)
        if (supervisor->tasks[i].state == TASK_MEASURED)
            return true;
    return false;
}

void pb_supervisor_drain(struct pb_supervisor *supervisor, enum pb_outcome outcome,
                         const char *message)
{
    if (!pb_supervisor_has_measured(supervisor)) {
        pb_supervisor_begin_end(supervisor, outcome, message);
        return;
    }
    supervisor->end_outcome = outcome;
    PB_TEXT_SET(supervisor->end_message, message);
    if (supervisor->current != NULL)
        supervisor->current->seconds = pb_time_monotonic_seconds() - supervisor->since;
    pb_supervisor_enter(supervisor, STATE_DRAINING);
}

void pb_supervisor_begin_end(struct pb_supervisor *supervisor, enum pb_outcome outcome,
                             const char *message)
{
    if (supervisor->state != STATE_DRAINING) { /* else it is known why it ends */
        supervisor->end_outcome = outcome;
        PB_TEXT_SET(supervisor->end_message, message);
    }
    if (supervisor->end_message[0] != '\0')
        pb_child_kill(&supervisor->child);
    if (supervisor->current != NULL && supervisor->state != STATE_DRAINING)
        supervisor->current->seconds = pb_time_monotonic_seconds() - supervisor->since;
    pb_supervisor_enter(supervisor, STATE_ENDING);
}

static bool has_work(const struct pb_supervisor *supervisor)
{
    for (size_t i = 0; i < supervisor->task_count; i++)
        if (supervisor->tasks[i].state == TASK_TODO)
            return true;
    return false;
}

enum pb_status pb_supervisor_boot(struct pb_supervisor *supervisor, struct pb_error *err)
{
    enum pb_status status = pb_child_start(supervisor->argv, &supervisor->child, err);

    if (status == PB_OK)
        pb_supervisor_enter(supervisor, STATE_BOOTING);
    return status;
}

void pb_supervisor_boot_again(struct pb_supervisor *supervisor)
{
    struct pb_error err = PB_ERROR_INIT;
    char message[PB_MESSAGE_LENGTH];

    pb_child_clear(&supervisor->child);
    pb_frame_reader_clear(&supervisor->reader);
    if (supervisor->stop_reason[0] != '\0') {
        pb_supervisor_give_up(supervisor, PB_TEST_MISSING, supervisor->stop_reason);
        return;
    }
    if (!has_work(supervisor)) {
        pb_supervisor_enter(supervisor, STATE_OVER);
        return;
    }
    if (++supervisor->restarts > PB_SUPERVISOR_RESTARTS) {
        snprintf(message, sizeof(message),
                 "given up: the probe was started %d times without finishing a test",
                 PB_SUPERVISOR_RESTARTS);
        pb_supervisor_give_up(supervisor, PB_TEST_MISSING, message);
    } else if (pb_supervisor_boot(supervisor, &err) != PB_OK) {
        pb_supervisor_give_up(supervisor, PB_TEST_MISSING, err.message);
    }
}

/* What was measured and never packed is measured once more, but not for ever. */
static void settle_measured(struct pb_supervisor *supervisor, const char *message)
{
    for (size_t i = 0; i < supervisor->task_count; i++) {
        struct pb_task *task = &supervisor->tasks[i];

        if (task->state != TASK_MEASURED)
            continue;
        if (task->was_dropped)
            owe(task, supervisor->end_outcome, message);
        else
            task->state = TASK_TODO;
        task->was_dropped = true;
    }
}

/* The probe is gone (or cannot be killed): says what that did, and goes on. */
static void settle_end(struct pb_supervisor *supervisor, bool reaped)
{
    char ending[96], message[PB_MESSAGE_LENGTH];

    if (supervisor->end_message[0] == '\0') {
        pb_child_ending(&supervisor->child, ending, sizeof(ending));
        snprintf(message, sizeof(message), "the probe %s", ending);
    } else {
        PB_TEXT_SET(message, supervisor->end_message);
    }
    if (!supervisor->was_opened) {
        pb_supervisor_fail(supervisor,
                           supervisor->end_outcome == PB_TEST_HUNG ? PB_MEMBER_HUNG
                                                                   : PB_MEMBER_CRASHED,
                           PB_DEVICE, message);
        return;
    }
    if (supervisor->current != NULL)
        owe(supervisor->current, supervisor->end_outcome, message);
    supervisor->current = NULL;
    settle_measured(supervisor, message);
    if (reaped) {
        pb_supervisor_boot_again(supervisor);
        return;
    }
    snprintf(message, sizeof(message), "given up: the probe, process %ld, cannot be killed",
             (long)supervisor->child.pid);
    supervisor->child.pid = 0;
    pb_supervisor_give_up(supervisor, PB_TEST_MISSING, message);
}

/* Waits for a dead or killed probe; one that closed its pipe but lives on is killed after 1 s. */
void pb_supervisor_await_end(struct pb_supervisor *supervisor, double timeout_seconds)
{
    double waited = pb_time_monotonic_seconds() - supervisor->since;

    if (pb_child_reap(&supervisor->child)) {
        settle_end(supervisor, true);
    } else if (waited > PB_SUPERVISOR_REAP_SECONDS) {
        settle_end(supervisor, false);
    } else {
        if (waited > 1)
            pb_child_kill(&supervisor->child);
        pb_time_sleep_seconds(fmin(timeout_seconds, 0.01));
    }
}

/* Gives out the frame that was just made, if it was. */
static enum pb_status give_out(struct pb_supervisor *supervisor, size_t size,
                               struct pb_event *event, struct pb_error *err)
{
    enum pb_status status = pb_frame_unpack(supervisor->packed, size, &event->frame, err);

    if (status == PB_OK)
        status = pb_message_read_test(event->frame.message, &event->report, err);
    if (status != PB_OK)
        return status;
    event->kind = PB_EVENT_FRAME;
    event->frame_bytes = supervisor->packed;
    event->frame_size = size;
    return PB_OK;
}

enum pb_status pb_supervisor_emit(struct pb_supervisor *supervisor, struct pb_task *task,
                                  struct pb_event *event, struct pb_error *err)
{
    size_t size;
    enum pb_status status;

    if (!supervisor->device_passed) { /* tests belong to a device */
        status =
            pb_synthesize_device(supervisor->key, supervisor->hello.backend, &supervisor->opened,
                                 supervisor->task_count, &supervisor->packed, &size, err);
        if (status == PB_OK)
            status = give_out(supervisor, size, event, err);
        supervisor->device_passed = status == PB_OK;
        return status;
    }
    status =
        pb_synthesize_outcome(supervisor->key, supervisor->opened.uuid, &task->spec, task->outcome,
                              task->seconds, task->message, &supervisor->packed, &size, err);
    if (status == PB_OK)
        status = give_out(supervisor, size, event, err);
    if (status != PB_OK)
        return status;
    task->state = TASK_DONE;
    return PB_OK;
}
