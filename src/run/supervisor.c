/* The state machine that watches a probe: its steps, and its caller's side; see supervisor.h. */
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/time.h"
#include "run/supervisor_state.h"

static double deadline_of(const struct pb_supervisor *supervisor)
{
    const struct pb_task *task = supervisor->current;
    bool is_slow = task != NULL && supervisor->slow_test != NULL &&
                   strcmp(task->spec.name, supervisor->slow_test) == 0;

    return supervisor->deadline_seconds + (is_slow ? supervisor->slow_seconds : 0);
}

/* Seconds that the present state may last; the caller's own turns may last for ever. */
static double timeout_of(const struct pb_supervisor *supervisor)
{
    switch (supervisor->state) {
    case STATE_BOOTING:
    case STATE_OPENING: /* a driver takes its time, whatever a test is allowed to take */
        return fmin(PB_SUPERVISOR_BOOT_SECONDS,
                    fmax(supervisor->deadline_seconds, PB_SUPERVISOR_BOOT_SECONDS_MIN));
    case STATE_RUNNING:
        return pb_supervisor_waits_for(supervisor) != NULL ? INFINITY : deadline_of(supervisor);
    case STATE_DRAINING:
        return PB_SUPERVISOR_PACK_SECONDS;
    default:
        return INFINITY;
    }
}

static void check_deadline(struct pb_supervisor *supervisor)
{
    char message[PB_MESSAGE_LENGTH];

    if (pb_time_monotonic_seconds() - supervisor->since < timeout_of(supervisor))
        return;
    if (supervisor->state == STATE_DRAINING) {
        pb_supervisor_begin_end(supervisor, supervisor->end_outcome, supervisor->end_message);
        return;
    }
    snprintf(message, sizeof(message), "passed its deadline of %g s; the probe was killed",
             timeout_of(supervisor));
    if (supervisor->current != NULL)
        pb_supervisor_drain(supervisor, PB_TEST_HUNG, message);
    else
        pb_supervisor_begin_end(supervisor, PB_TEST_HUNG, message);
}

static void await_bytes(const struct pb_supervisor *supervisor, double timeout_seconds)
{
    double left = supervisor->since + timeout_of(supervisor) - pb_time_monotonic_seconds();
    double seconds = fmax(0, fmin(timeout_seconds, left));
    struct pollfd poll_fd = {.fd = supervisor->child.frames_fd, .events = POLLIN};

    poll(&poll_fd, 1, (int)ceil(1e3 * seconds));
}

static enum pb_status listen_to_probe(struct pb_supervisor *supervisor, double timeout_seconds,
                                      struct pb_event *event, struct pb_error *err)
{
    enum pb_frame_read result = PB_READ_WAIT;
    struct pb_error cause = PB_ERROR_INIT;
    char message[PB_MESSAGE_LENGTH];
    struct pb_frame frame;
    enum pb_status status;

    await_bytes(supervisor, timeout_seconds);
    status =
        pb_frame_read(&supervisor->reader, supervisor->child.frames_fd, &frame, &result, &cause);
    if (status == PB_OK && result == PB_READ_FRAME)
        status = pb_supervisor_handle(supervisor, &frame, event, &cause);
    if (status == PB_NO_MEMORY)
        return pb_fail(err, status, "%s", cause.message);
    if (status == PB_CORRUPT && pb_child_reap(&supervisor->child)) {
        /* A frame cut short: the process's end shows more. */
        pb_supervisor_begin_end(supervisor, PB_TEST_CRASHED, "");
    } else if (status != PB_OK) {
        event->kind = PB_EVENT_NONE;
        snprintf(message, sizeof(message), "the probe talks garbage: %s", cause.message);
        pb_supervisor_begin_end(supervisor, PB_TEST_CRASHED, message);
    } else if (result == PB_READ_END) {
        pb_supervisor_begin_end(supervisor, PB_TEST_CRASHED, "");
    } else if (result == PB_READ_WAIT) {
        check_deadline(supervisor);
    }
    return PB_OK;
}

enum pb_status pb_supervisor_step(struct pb_supervisor *supervisor, double timeout_seconds,
                                  struct pb_event *event_out, struct pb_error *err)
{
    *event_out = (struct pb_event){.kind = PB_EVENT_NONE};
    free(supervisor->packed);
    supervisor->packed = NULL;

    for (size_t i = 0; i < supervisor->task_count; i++)
        if (supervisor->tasks[i].state == TASK_OWED)
            return pb_supervisor_emit(supervisor, &supervisor->tasks[i], event_out, err);
    if (supervisor->state == STATE_ENDING) {
        pb_supervisor_await_end(supervisor, timeout_seconds);
    } else if (supervisor->state != STATE_OVER) {
        return listen_to_probe(supervisor, timeout_seconds, event_out, err);
    } else if (!supervisor->was_opened && !supervisor->refusal_passed) {
        supervisor->refusal_passed = true;
        event_out->kind = PB_EVENT_REFUSED;
    } else {
        event_out->kind = PB_EVENT_OVER;
    }
    return PB_OK;
}

/* ---- the caller's side ---- */

enum pb_status pb_supervisor_create(const char *const *argv, double deadline_seconds,
                                    struct pb_supervisor **supervisor_out, struct pb_error *err)
{
    struct pb_supervisor *supervisor = calloc(1, sizeof(*supervisor));
    enum pb_status status;

    if (supervisor == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating a supervisor");
    supervisor->argv = argv;
    supervisor->deadline_seconds = deadline_seconds;
    supervisor->child = (struct pb_child){.orders_fd = -1, .frames_fd = -1};
    status = pb_supervisor_boot(supervisor, err);
    if (status != PB_OK) {
        free(supervisor);
        return status;
    }
    *supervisor_out = supervisor;
    return PB_OK;
}

void pb_supervisor_allow(struct pb_supervisor *supervisor, const char *test, double more_seconds)
{
    supervisor->slow_test = test;
    supervisor->slow_seconds = more_seconds;
}

void pb_supervisor_open(struct pb_supervisor *supervisor, const char *selector, int64_t rank)
{
    supervisor->open_order.kind = PB_ORDER_OPEN;
    PB_TEXT_SET(supervisor->open_order.selector, selector);
    supervisor->open_order.rank = rank;
    if (supervisor->state == STATE_READY)
        pb_supervisor_order_open(supervisor);
}

enum pb_status pb_supervisor_run(struct pb_supervisor *supervisor, const char *key,
                                 const struct pb_test_list *tests, struct pb_error *err)
{
    struct pb_task *tasks = calloc(tests->count + 1, sizeof(*tasks));

    if (tasks == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu tests", tests->count);
    for (size_t i = 0; i < tests->count; i++)
        tasks[i].spec = tests->specs[i];
    supervisor->tasks = tasks;
    supervisor->task_count = tests->count;
    PB_TEXT_SET(supervisor->key, key);
    if (supervisor->state == STATE_OPENED)
        return pb_supervisor_order_rest(supervisor, err);
    if (supervisor->stop_reason[0] != '\0')
        pb_supervisor_give_up(supervisor, PB_TEST_MISSING, supervisor->stop_reason);
    else if (supervisor->state == STATE_OVER) /* it died while it waited for this order */
        pb_supervisor_boot_again(supervisor);
    return PB_OK;
}

void pb_supervisor_stop(struct pb_supervisor *supervisor, const char *reason)
{
    PB_TEXT_SET(supervisor->stop_reason, reason);
    if (supervisor->state == STATE_RUNNING && pb_supervisor_has_measured(supervisor))
        pb_supervisor_drain(supervisor, PB_TEST_MISSING, reason);
    if (supervisor->state == STATE_DRAINING)
        return;
    pb_child_kill(&supervisor->child);
    if (!supervisor->was_opened && supervisor->state != STATE_OVER)
        pb_supervisor_fail(supervisor, PB_MEMBER_FAILED, PB_DEVICE, reason);
    pb_supervisor_give_up(supervisor, PB_TEST_MISSING, reason);
}

const struct pb_hello *pb_supervisor_hello(const struct pb_supervisor *supervisor)
{
    return &supervisor->hello;
}

const struct pb_opened *pb_supervisor_opened(const struct pb_supervisor *supervisor)
{
    return &supervisor->opened;
}

const struct pb_failure *pb_supervisor_failure(const struct pb_supervisor *supervisor)
{
    return &supervisor->failure;
}

void pb_supervisor_close(struct pb_supervisor *supervisor)
{
    if (supervisor == NULL)
        return;
    pb_child_clear(&supervisor->child);
    pb_frame_reader_clear(&supervisor->reader);
    pb_hello_clear(&supervisor->hello);
    free(supervisor->tasks);
    free(supervisor->packed);
    free(supervisor);
}
