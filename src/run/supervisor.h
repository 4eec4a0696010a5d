/*
 * The supervisor of one probe: starts it, gives it orders, watches it, and replaces it.
 *
 * A probe may hang, die or talk garbage at any moment; that costs the test it was in and never the
 * run. The supervisor kills it, records what happened to that test, starts another probe for the
 * rest, and gives the device up when that does not help. Nothing here waits for a process.
 *
 * A probe packs a test while it measures the next one. What it has measured is waited for before it
 * is killed, and measured once more where it died with it.
 *
 *     create -> HELLO -> open() -> OPENED -> run() -> FRAME ... FRAME -> OVER
 *                  \________________\______ REFUSED -> OVER
 *
 * Limit: one device, one probe at a time. It knows nothing of MPI, files or terminals.
 */
#ifndef PB_RUN_SUPERVISOR_H
#define PB_RUN_SUPERVISOR_H

#include <stdbool.h>

#include "run/frame.h"
#include "run/messages.h"

enum {
    /* To start, and to open a device: the deadline of a test, within these bounds. */
    PB_SUPERVISOR_BOOT_SECONDS_MIN = 20,
    PB_SUPERVISOR_BOOT_SECONDS = 120,
    PB_SUPERVISOR_REAP_SECONDS = 10, /* for a killed process to be gone */
    PB_SUPERVISOR_RESTARTS = 3,      /* in a row without a test finished in between */
    PB_SUPERVISOR_PACK_SECONDS =
        10, /* for what a probe has measured that is to be killed to be packed */
};

struct pb_supervisor;

enum pb_supervisor_event_kind {
    PB_EVENT_NONE,    /* nothing new within the timeout */
    PB_EVENT_HELLO,   /* the probe is ready: call pb_supervisor_open() */
    PB_EVENT_OPENED,  /* the device is open: call pb_supervisor_run() */
    PB_EVENT_REFUSED, /* no device was opened: see pb_supervisor_failure() */
    PB_EVENT_FRAME,   /* a DEVICE, START or TEST frame to keep and pass on */
    PB_EVENT_OVER,    /* every ordered test has had its TEST frame */
};

struct pb_event {
    enum pb_supervisor_event_kind kind;
    struct pb_frame frame;   /* of PB_EVENT_FRAME; all valid until the next call */
    const void *frame_bytes; /* the same, packed */
    size_t frame_size;
    struct pb_test_report report; /* the frame's */
};

/* Why no device was opened. */
struct pb_failure {
    enum pb_member_status member_status;
    enum pb_status status;
    char message[PB_ERROR_LENGTH];
    char host[PB_KEY_LENGTH]; /* where a simulated fleet has it … */
    int64_t slot;             /* … and in which slot; empty: on this node, who knows where */
};

/*
 * Starts the probe argv[0] with its arguments (ends with NULL; must outlive the supervisor).
 * deadline_seconds: for each test. PB_INVALID: there is no such program.
 */
enum pb_status pb_supervisor_create(const char *const *argv, double deadline_seconds,
                                    struct pb_supervisor **supervisor_out, struct pb_error *err);

/* Gives that test, by its name, which must outlive the supervisor, more time than the others. */
void pb_supervisor_allow(struct pb_supervisor *supervisor, const char *test, double more_seconds);

/* Orders, each once and after its event. What happens to the probe shows in the next step. */
void pb_supervisor_open(struct pb_supervisor *supervisor, const char *selector, int64_t rank);
enum pb_status pb_supervisor_run(struct pb_supervisor *supervisor, const char *key,
                                 const struct pb_test_list *tests, struct pb_error *err);

/* The step for which the probe waits, and no deadline runs; NULL: for none. */
const struct pb_ready *pb_supervisor_waits_for(const struct pb_supervisor *supervisor);

/* Is this test still to be measured, or being measured now? */
bool pb_supervisor_is_left(const struct pb_supervisor *supervisor, const char *test);

/* That step begins: `count` devices take it, 0: they were there before. Else without meaning. */
void pb_supervisor_go(struct pb_supervisor *supervisor, int64_t count);

/* The host link is this device's, for its exclusive tests; of the next probe too, if this dies. */
void pb_supervisor_give_links(struct pb_supervisor *supervisor);

/*
 * Does what is due and waits for at most timeout_seconds for something to happen.
 * PB_NO_MEMORY, PB_IO: this process is in trouble, not the probe.
 */
enum pb_status pb_supervisor_step(struct pb_supervisor *supervisor, double timeout_seconds,
                                  struct pb_event *event_out, struct pb_error *err);

/*
 * Abandons the test at hand and the rest; the next steps say so for each. What is measured already
 * still comes, if it comes within PB_SUPERVISOR_PACK_SECONDS.
 */
void pb_supervisor_stop(struct pb_supervisor *supervisor, const char *reason);

/* As far as it is known by now; owned by the supervisor. */
const struct pb_hello *pb_supervisor_hello(const struct pb_supervisor *supervisor);
const struct pb_opened *pb_supervisor_opened(const struct pb_supervisor *supervisor);
const struct pb_failure *pb_supervisor_failure(const struct pb_supervisor *supervisor);

/* Ends the probe whatever it does; NULL is allowed. */
void pb_supervisor_close(struct pb_supervisor *supervisor);

#endif
