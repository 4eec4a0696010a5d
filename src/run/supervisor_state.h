/*
 * Private to the supervisor: its state, and what its files share. Each uses only those after it:
 * supervisor.c, supervisor_protocol.c, supervisor_failure.c.
 */
#ifndef PB_RUN_SUPERVISOR_STATE_H
#define PB_RUN_SUPERVISOR_STATE_H

#include "run/child.h"
#include "run/supervisor.h"

enum pb_supervisor_state {
    STATE_BOOTING,  /* until HELLO */
    STATE_READY,    /* until pb_supervisor_open() */
    STATE_OPENING,  /* until OPENED */
    STATE_OPENED,   /* until pb_supervisor_run() */
    STATE_RUNNING,  /* until DONE */
    STATE_DRAINING, /* the probe must die, but what it has measured may still come */
    STATE_ENDING,   /* the probe is dead or must be; until it is reaped */
    STATE_OVER,     /* nothing more comes from a probe */
};

/*
 * One ordered test. MEASURED: its TEST frame is still to come from the probe. OWED: its outcome is
 * settled, its TEST frame is still to be made here.
 */
struct pb_task {
    struct pb_test_spec spec;
    enum { TASK_TODO, TASK_MEASURED, TASK_OWED, TASK_DONE } state;
    bool was_dropped; /* a probe has died with it measured, but not packed */
    enum pb_outcome outcome;
    double seconds;
    char message[PB_MESSAGE_LENGTH];
};

struct pb_supervisor {
    const char *const *argv;
    double deadline_seconds;
    const char *slow_test; /* NULL: none */
    double slow_seconds;   /* that it may take beyond the deadline */

    struct pb_child child;
    struct pb_frame_reader reader;
    enum pb_supervisor_state state;
    double since; /* the present wait began */

    struct pb_probe_order open_order;
    char key[PB_KEY_LENGTH];
    struct pb_task *tasks;
    size_t task_count;
    struct pb_task *current; /* begun and not finished; NULL: between tests */
    struct pb_ready ready;   /* the step for which the probe waits; no test: none */
    bool has_links;          /* for the exclusive tests that are left */

    struct pb_hello hello;
    struct pb_opened opened;
    struct pb_failure failure;

    bool was_opened;     /* a failure from now on costs tests, not the device */
    bool device_passed;  /* its DEVICE frame has been given out */
    bool refusal_passed; /* PB_EVENT_REFUSED has been given out */
    int restarts;        /* since a test was last finished */
    enum pb_outcome end_outcome;
    char end_message[PB_MESSAGE_LENGTH]; /* empty: as the process's end says */

    char stop_reason[PB_MESSAGE_LENGTH]; /* empty: not stopped */

    void *packed; /* a frame made here, until the next step */
};

/* ---- supervisor_failure.c: what becomes of tests and devices whose probe fails ---- */

void pb_supervisor_enter(struct pb_supervisor *supervisor, enum pb_supervisor_state state);

/* Starts the probe. */
enum pb_status pb_supervisor_boot(struct pb_supervisor *supervisor, struct pb_error *err);

/* Starts another probe for the tests that are left, or gives the device up. */
void pb_supervisor_boot_again(struct pb_supervisor *supervisor);

/* Nothing more will be measured: every test without an outcome gets this one. */
void pb_supervisor_give_up(struct pb_supervisor *supervisor, enum pb_outcome outcome,
                           const char *message);

/* No device, hence no tests. */
void pb_supervisor_fail(struct pb_supervisor *supervisor, enum pb_member_status member_status,
                        enum pb_status status, const char *message);

/* Ends the probe likewise, but lets it pack what it has measured first. */
void pb_supervisor_drain(struct pb_supervisor *supervisor, enum pb_outcome outcome,
                         const char *message);

/* Is there a test whose TEST frame is to come from the probe? */
bool pb_supervisor_has_measured(const struct pb_supervisor *supervisor);

/* The probe is of no more use; an empty message: as its end will say. */
void pb_supervisor_begin_end(struct pb_supervisor *supervisor, enum pb_outcome outcome,
                             const char *message);

/* Looks after a dead or killed probe. */
void pb_supervisor_await_end(struct pb_supervisor *supervisor, double timeout_seconds);

/* Gives out the TEST frame of a test whose outcome was decided here. */
enum pb_status pb_supervisor_emit(struct pb_supervisor *supervisor, struct pb_task *task,
                                  struct pb_event *event, struct pb_error *err);

/* ---- supervisor_protocol.c: orders to the probe and frames from it ---- */

void pb_supervisor_order_open(struct pb_supervisor *supervisor);
enum pb_status pb_supervisor_order_rest(struct pb_supervisor *supervisor, struct pb_error *err);

/* Acts on a frame; PB_CORRUPT: it has no business here. */
enum pb_status pb_supervisor_handle(struct pb_supervisor *supervisor, const struct pb_frame *frame,
                                    struct pb_event *event, struct pb_error *err);

#endif
