/* Fleets out of simulated devices that were measured once; see fleetbuild.h. */
#include "verdict/fleetbuild.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/recordings.h"
#include "analysis/verdict/observe.h"
#include "analysis/verdict/policy.h"
#include "core/time.h"

enum { TESTS_MAX = 96 };

static const double spread_latency = 0.002, spread_bandwidth = 0.004;

/* What was measured of one device. */
struct record {
    struct pb_feature_row device;
    struct pb_recording recordings[TESTS_MAX];
    char names[TESTS_MAX][PB_KEY_LENGTH];
    struct pb_state states[2 * TESTS_MAX];
    size_t count, state_count;
};

/* Is this the fault KIND@TEST? */
static bool strikes(const char *fault, const char *kind, const char *test)
{
    size_t length = strlen(kind);

    return strncmp(fault, kind, length) == 0 && fault[length] == '@' &&
           strcmp(fault + length + 1, test) == 0;
}

static bool is_fatal(const char *fault)
{
    return strncmp(fault, "hang@", 5) == 0 || strncmp(fault, "crash@", 6) == 0;
}

static enum pb_outcome outcome_of(const struct fleetbuild_device *device, const char *test)
{
    for (size_t i = 0; i < FLEETBUILD_FAULTS_MAX && device->faults[i] != NULL; i++) {
        if (strikes(device->faults[i], "hang", test))
            return PB_TEST_HUNG;
        if (strikes(device->faults[i], "crash", test))
            return PB_TEST_CRASHED;
    }
    return PB_TEST_OK;
}

static enum pb_status open_session(const struct fleetbuild_device *device,
                                   struct pb_session *session, struct pb_error *err)
{
    const char *faults[FLEETBUILD_FAULTS_MAX];
    char selector[16];
    struct pb_device_request request = {.selector = selector,
                                        .profile = device->profile,
                                        .host = device->host,
                                        .faults = faults,
                                        .seed = 7,
                                        .spread_latency = spread_latency,
                                        .spread_bandwidth = spread_bandwidth};

    snprintf(selector, sizeof(selector), "%lld", (long long)device->slot);
    for (size_t i = 0; i < FLEETBUILD_FAULTS_MAX && device->faults[i] != NULL; i++)
        if (!is_fatal(device->faults[i]))
            faults[request.fault_count++] = device->faults[i];
    return pb_session_open(&pb_device_sim, &request, device->battery, session, err);
}

static void note(struct record *record, const char *status, const struct pb_recording *recording)
{
    PB_TEXT_SET(record->device.status, status);
    if (record->device.message[0] == '\0')
        snprintf(record->device.message, sizeof(record->device.message), "%s %s: %s",
                 recording->name, pb_outcome_name(recording->outcome), recording->message);
}

/* The worse of two words of a row of /fleet, as the supervisor ranks them. */
static void weigh(struct record *record, const struct pb_recording *recording)
{
    static const struct {
        enum pb_outcome outcome;
        const char *status;
    } ranks[] = {{PB_TEST_LOST, "lost"},
                 {PB_TEST_HUNG, "hung"},
                 {PB_TEST_CRASHED, "crashed"},
                 {PB_TEST_FAILED, "partial"}};

    for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
        if (strcmp(record->device.status, ranks[i].status) == 0)
            return;
        if (recording->outcome == ranks[i].outcome) {
            note(record, ranks[i].status, recording);
            return;
        }
    }
}

/* A test that the probe did not survive. The next one has a fresh probe. */
static enum pb_status end_probe(const struct fleetbuild_device *device, struct pb_session *session,
                                enum pb_outcome outcome, struct pb_recording *recording,
                                struct pb_error *err)
{
    recording->outcome = outcome;
    PB_TEXT_SET(recording->message, outcome == PB_TEST_HUNG
                                        ? "passed its deadline of 60 s; the probe was killed"
                                        : "the probe died of signal 11 (Segmentation fault)");
    pb_session_close(session);
    return open_session(device, session, err);
}

static bool is_wanted(const struct fleetbuild_device *device, const struct pb_test *test)
{
    if (test->battery > device->battery)
        return false;
    for (const char *const *name = device->tests; name != NULL && *name != NULL; name++)
        if (strcmp(*name, test->name) == 0)
            return true;
    return device->tests == NULL;
}

static enum pb_status measure_tests(const struct fleetbuild_device *device,
                                    struct pb_session *session, struct record *record,
                                    struct pb_error *err)
{
    enum pb_status status = PB_OK;
    bool is_lost = false;

    for (const struct pb_test *test = pb_tests; test->name != NULL && status == PB_OK; test++) {
        struct pb_recording *recording = &record->recordings[record->count];
        enum pb_outcome outcome = outcome_of(device, test->name);

        if (!is_wanted(device, test) || record->count == TESTS_MAX)
            continue;
        PB_TEXT_SET(recording->name, test->name);
        PB_TEXT_SET(record->names[record->count++], test->name);
        if (is_lost)
            recording->outcome = PB_TEST_MISSING;
        else if (outcome != PB_TEST_OK)
            status = end_probe(device, session, outcome, recording, err);
        else {
            is_lost = pb_session_run(session, test, recording, record->states + record->state_count,
                                     err) == PB_LOST;
            record->state_count += 2;
        }
        if (recording->outcome != PB_TEST_OK && recording->outcome != PB_TEST_UNSUPPORTED)
            weigh(record, recording);
    }
    return status;
}

static enum pb_status load(void *context, const char *test, struct pb_recording *recording_out,
                           struct pb_error *err)
{
    const struct record *record = context;

    for (size_t i = 0; i < record->count; i++)
        if (strcmp(record->names[i], test) == 0) {
            *recording_out = record->recordings[i];
            return PB_OK;
        }
    return pb_fail(err, PB_NOT_FOUND, "no test %s", test);
}

static enum pb_status observe(struct record *record, struct pb_features *row_out,
                              struct pb_error *err)
{
    struct pb_recordings source = {record, load};
    struct pb_metric_source metric_source = {.device = &record->device,
                                             .states = record->states,
                                             .state_count = record->state_count,
                                             .recordings = &source,
                                             .tests = (const char(*)[PB_KEY_LENGTH])record->names,
                                             .test_count = record->count};

    return pb_observe(row_out, &metric_source, err);
}

enum pb_status fleetbuild_measure(const struct fleetbuild_device *device,
                                  struct pb_features *row_out, struct pb_error *err)
{
    struct record *record = calloc(1, sizeof(*record));
    struct pb_session session = {0};
    enum pb_status status;

    if (record == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for a device");
    PB_TEXT_SET(record->device.host, device->host);
    PB_TEXT_SET(record->device.status, "ok");
    record->device.slot = device->slot;
    status = open_session(device, &session, err);
    if (status == PB_NOT_FOUND) {
        PB_TEXT_SET(record->device.status, "absent");
        PB_TEXT_SET(record->device.message, err->message);
        status = PB_OK;
    } else if (status == PB_OK) {
        snprintf(record->device.key, sizeof(record->device.key), "%s.gpu%lld", device->host,
                 (long long)device->slot);
        record->device.info = session.info;
        status = measure_tests(device, &session, record, err);
    }
    if (status == PB_OK)
        status = observe(record, row_out, err);
    pb_session_close(&session);
    for (size_t i = 0; i < record->count; i++)
        pb_recording_clear(&record->recordings[i]);
    free(record);
    return status;
}

enum pb_status fleetbuild_add(struct pb_features *fleet, const struct pb_features *row,
                              struct pb_error *err)
{
    struct pb_feature_row device = row->devices[0];
    enum pb_status status;
    size_t at = 0;

    device.rank = (int64_t)fleet->device_count;
    status = pb_features_add_device(fleet, &device, &at, err);
    for (size_t m = 0; m < row->metric_count && status == PB_OK; m++)
        status = pb_features_set(fleet, at, &row->metrics[m], pb_features_reading(row, 0, m), err);
    return status;
}

enum pb_status fleetbuild_judge(const struct pb_features *fleet, struct pb_findings *findings_out,
                                struct pb_error *err)
{
    struct pb_score_options options = PB_SCORE_OPTIONS_DEFAULT;
    struct pb_scores scores;
    enum pb_status status = pb_score(fleet, NULL, &options, &scores, err);

    if (status != PB_OK)
        return status;
    status = pb_judge(fleet, &scores, NULL, findings_out, err);
    pb_scores_clear(&scores);
    if (status == PB_OK)
        fleetbuild_expect_policy(findings_out);
    return status;
}

void fleetbuild_expect_policy(const struct pb_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        struct pb_policy_rule rule = {.pattern = ""};
        size_t at = 0;

        while (pb_policy_default(at, &rule) && strcmp(rule.pattern, findings->items[i].cause) != 0)
            at++;
        if (!pb_policy_default(at, &rule))
            fail_msg("the policy has no row for %s", findings->items[i].cause);
    }
}

const struct pb_finding *fleetbuild_find(const struct pb_findings *findings, const char *cause,
                                         const char *place)
{
    for (size_t i = 0; i < findings->count; i++)
        if (strcmp(findings->items[i].cause, cause) == 0 &&
            (strcmp(findings->items[i].place, place) == 0 ||
             strcmp(findings->items[i].device, place) == 0))
            return &findings->items[i];
    return NULL;
}
