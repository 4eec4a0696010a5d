/* A session: an open device that is warmed up, on which one test after the other is run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "battery/battery.h"
#include "core/compare.h"
#include "core/time.h"

/* The store-only stamp pair; its jitter is one-sided, so the lower quartile is what it costs. */
static enum pb_status measure_overhead(struct pb_session *session, struct pb_error *err)
{
    enum { SAMPLES = 256 };
    uint32_t cycles[SAMPLES];
    enum pb_status status =
        session->device->ops->stamp(session->device, PB_STAMP_STORE, SAMPLES, cycles, err);

    if (status != PB_OK)
        return status;
    qsort(cycles, SAMPLES, sizeof(*cycles), pb_compare_uint32);
    session->overhead_cycles = cycles[SAMPLES / 4];
    return PB_OK;
}

/* Spins until two measurements of the clock agree: a GPU that was idle starts slow (facts 2.9). */
static enum pb_status wait_for_clock(struct pb_session *session, struct pb_error *err)
{
    static const double most_seconds = 2, slice_seconds = 0.02, agreement = 1e-3;
    double start = pb_time_monotonic_seconds(), last_ratio = 0;

    while (pb_time_monotonic_seconds() - start < most_seconds) {
        struct pb_clock_sample samples[2];
        double ratio;
        enum pb_status status =
            session->device->ops->clock(session->device, slice_seconds, 2, samples, err);

        if (status != PB_OK)
            return status;
        if (samples[1].ns <= samples[0].ns)
            return pb_fail(err, PB_DEVICE, "the device's timer stands still");
        ratio = (double)(samples[1].cycles - samples[0].cycles) /
                (double)(samples[1].ns - samples[0].ns);
        if (fabs(ratio - last_ratio) < agreement * ratio)
            return PB_OK;
        last_ratio = ratio;
    }
    return PB_OK; /* clock_calibration shows how it drifts */
}

enum pb_status pb_session_open(const struct pb_device_ops *ops,
                               const struct pb_device_request *request, enum pb_battery battery,
                               struct pb_session *session_out, struct pb_error *err)
{
    struct pb_session session = {
        .battery = battery, .seed = request->seed, .state_fresh_seconds = 0.005};
    enum pb_status status = ops->open(request, &session.device, err);

    if (status != PB_OK)
        return status;
    status = ops->describe(session.device, &session.info, err);
    if (status == PB_OK)
        status = wait_for_clock(&session, err);
    if (status == PB_OK)
        status = measure_overhead(&session, err);
    if (status != PB_OK) {
        ops->close(session.device);
        return status;
    }
    *session_out = session;
    return PB_OK;
}

void pb_session_close(struct pb_session *session)
{
    if (session == NULL || session->device == NULL)
        return;
    session->device->ops->close(session->device);
    session->device = NULL;
}

/* A state that cannot be read stays unknown: it must not cost the test. */
static void read_state(struct pb_session *session)
{
    pb_state_clear(&session->state);
    if (session->device->ops->read_state(session->device, &session->state, NULL) != PB_OK)
        pb_state_clear(&session->state);
    session->state.unix_seconds = pb_time_unix_seconds();
}

static void note_state(const struct pb_session *session, const char *test, const char *when,
                       struct pb_state *state_out)
{
    *state_out = session->state;
    PB_TEXT_SET(state_out->test, test);
    PB_TEXT_SET(state_out->when, when);
}

/* Reading takes milliseconds of the driver's: what was read behind the last test may still do. */
static void note_state_before(struct pb_session *session, const char *test,
                              struct pb_state *state_out)
{
    if (fabs(pb_time_unix_seconds() - session->state.unix_seconds) > session->state_fresh_seconds)
        read_state(session);
    note_state(session, test, "before", state_out);
}

static void note_state_after(struct pb_session *session, const char *test,
                             struct pb_state *state_out)
{
    read_state(session);
    note_state(session, test, "after", state_out);
}

static enum pb_outcome outcome_of(enum pb_status status)
{
    switch (status) {
    case PB_OK:
    case PB_NOT_FOUND: /* looked everywhere and said so: the record is whole */
        return PB_TEST_OK;
    case PB_UNSUPPORTED:
        return PB_TEST_UNSUPPORTED;
    case PB_LOST:
        return PB_TEST_LOST;
    default:
        return PB_TEST_FAILED;
    }
}

/* Says in words what a device would need for a test. */
static enum pb_status refuse(uint32_t missing, struct pb_error *err)
{
    static const char *const names[] = {"clocks",
                                        "global loads",
                                        "loads past L1",
                                        "read-only loads",
                                        "textures",
                                        "constants",
                                        "shared memory",
                                        "streams",
                                        "2D textures",
                                        "bursts",
                                        "atomics",
                                        "kernel studies",
                                        "host link",
                                        "peers",
                                        "memory patterns",
                                        "aliased mappings",
                                        "clusters of CTAs",
                                        "pairs of SMs",
                                        "tests of all SMs at once",
                                        "shared memory of other SMs",
                                        "asynchronous bulk copies"};

    _Static_assert(1u << (sizeof(names) / sizeof(names[0]) - 1) == PB_CAP_BULK,
                   "every capability has a name");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if ((missing >> i & 1) != 0)
            return pb_fail(err, PB_UNSUPPORTED, "this device or its backend offers no %s",
                           names[i]);
    return pb_fail(err, PB_INVALID, "expected a known capability, found 0x%x", missing);
}

static enum pb_status run_checked(struct pb_session *session, const struct pb_test *test,
                                  struct pb_recording *recording, struct pb_error *err)
{
    uint32_t missing = test->needs & ~session->info.capabilities;
    enum pb_status status;

    if (missing != 0)
        return refuse(missing, err);
    status =
        session->device->ops->begin_test(session->device, test->name, pb_test_is_large(test), err);
    return status != PB_OK ? status : test->run(session, recording, err);
}

enum pb_status pb_session_run(struct pb_session *session, const struct pb_test *test,
                              struct pb_recording *recording_out, struct pb_state states_out[2],
                              struct pb_error *err)
{
    struct pb_error cause = PB_ERROR_INIT;
    double start = pb_time_monotonic_seconds();
    enum pb_status status;

    memset(recording_out, 0, sizeof(*recording_out));
    PB_TEXT_SET(recording_out->name, test->name);
    PB_TEXT_SET(recording_out->unit, test->unit);
    PB_TEXT_SET(recording_out->method, test->method);
    recording_out->method_version = test->method_version;
    recording_out->sm_id = -1;
    recording_out->overhead_cycles = session->overhead_cycles;
    session->waited_seconds = 0;

    note_state_before(session, test->name, &states_out[0]);
    status = run_checked(session, test, recording_out, &cause);
    note_state_after(session, test->name, &states_out[1]);

    recording_out->outcome = outcome_of(status);
    if (status != PB_OK)
        PB_TEXT_SET(recording_out->message, cause.message);
    recording_out->seconds = pb_time_monotonic_seconds() - start - session->waited_seconds;
    return status == PB_LOST ? pb_fail(err, PB_LOST, "%s", cause.message) : PB_OK;
}
