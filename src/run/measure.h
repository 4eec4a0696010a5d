/*
 * Measuring one device: opening what was selected and turning its tests into frames.
 *
 * A probe that works alone and one that serves a supervisor differ only in where the frames go.
 */
#ifndef PB_RUN_MEASURE_H
#define PB_RUN_MEASURE_H

#include "battery/battery.h"
#include "device/sim/fleet.h"
#include "run/frame.h"
#include "run/messages.h"
#include "run/packer.h"
#include "run/selection.h"

/* The node's other devices, as known from the orders to this probe. */
struct pb_others {
    int64_t concurrent_devices; /* that run a concurrent test, this one among them */
    /* Waits for the GO to the READY frame that was just sent; *count_out: devices that begin. */
    enum pb_status (*await_go)(void *context, int64_t *count_out, struct pb_error *err);
    /* Has the LINKS order come? With `waits` it returns when it has. */
    enum pb_status (*await_links)(void *context, bool waits, bool *has_links_out,
                                  struct pb_error *err);
    void *context;
};

/* A selection that was understood. */
struct pb_probe_setup {
    const struct pb_test_selection *selection;
    const struct pb_device_ops *ops;
    enum pb_battery battery;
    const struct pb_test **tests; /* ends with NULL; owned */
    struct pb_fleet_plan *plan;   /* of a simulated fleet, once it was read; owned */
};

/*
 * Finds backend, battery and tests. "auto" with a profile or a fleet is sim. PB_INVALID:
 * an unknown name, or what only simulated devices have, requested of hardware.
 */
enum pb_status pb_measure_prepare(const struct pb_test_selection *selection,
                                  struct pb_probe_setup *measure_out, struct pb_error *err);
void pb_measure_clear(struct pb_probe_setup *measure); /* NULL is allowed */

/* What a probe says first: the devices it sees and the tests it will run. pb_hello_clear() it. */
enum pb_status pb_measure_hello(const struct pb_probe_setup *measure, struct pb_hello *hello_out,
                                struct pb_error *err);

/*
 * Opens the device: of a simulated fleet the one that stands at `rank`, else `selector` (NULL or
 * empty: the first). PB_NOT_FOUND: there is none.
 */
enum pb_status pb_measure_open(struct pb_probe_setup *measure, const char *selector, int64_t rank,
                               struct pb_session *session_out, struct pb_opened *opened_out,
                               struct pb_error *err);

/*
 * Runs tests[] (ends with NULL): a DEVICE frame, then START, MEASURED and TEST for each, then DONE.
 * With others on the node (NULL: none), a READY frame names each shared step that this device
 * waits for (arbiter.h), and tests that need the host link for themselves wait for their turn
 * (schedule.h). A test is packed while the next one
 * runs, so its TEST frame may come after the next one's START; the sink meets TEST frames in
 * another thread, and no frame while it takes one (packer.h).
 *
 * After PB_LOST, which the last TEST frame reports, the other tests are not run and there is a
 * DONE. PB_DEVICE: a failed test has left the device unusable for this process; another may go on.
 * Other errors are the sink's.
 */
enum pb_status pb_measure_run(struct pb_session *session, const char *key,
                              const struct pb_test *const *tests, const struct pb_sink *sink,
                              const struct pb_others *others, struct pb_error *err);

#endif
