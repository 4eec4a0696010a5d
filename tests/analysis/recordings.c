/* Recordings of simulated devices for tests of the inference. */
#include "analysis/recordings.h"

#include <string.h>

#include "analysis/inference.h"
#include "battery/battery.h"

static bool is_listed(const char *test, const char *const *tests)
{
    while (*tests != NULL && strcmp(*tests, test) != 0)
        tests++;
    return *tests != NULL;
}

/* Does any inference read this test? */
static bool is_read(const char *test)
{
    for (const struct pb_inference *row = pb_inferences; row->memory != NULL; row++)
        for (size_t i = 0; i < PB_INFERENCE_TESTS_MAX && row->tests[i] != NULL; i++)
            if (strcmp(row->tests[i] + (row->tests[i][0] == '?'), test) == 0)
                return true;
    return false;
}

/* tests: NULL for those that an inference reads. */
static enum pb_status measure(const struct pb_device_request *request, const char *const *tests,
                              struct recordings *recordings_out, struct pb_error *err)
{
    struct pb_session session;
    enum pb_status status = pb_session_open(&pb_device_sim, request, PB_STANDARD, &session, err);

    memset(recordings_out, 0, sizeof(*recordings_out));
    if (status != PB_OK)
        return status;
    recordings_out->info = session.info;
    for (const struct pb_test *test = pb_tests; test->name != NULL && status == PB_OK; test++) {
        struct pb_state states[2];

        if (!(tests != NULL ? is_listed(test->name, tests) : is_read(test->name)) ||
            test->battery > PB_STANDARD || recordings_out->count == RECORDINGS_MAX)
            continue;
        status = pb_session_run(&session, test, &recordings_out->items[recordings_out->count],
                                states, err);
        recordings_out->count += status == PB_OK;
    }
    pb_session_close(&session);
    if (status != PB_OK)
        recordings_clear(recordings_out);
    return status;
}

enum pb_status recordings_measure(const char *profile, uint64_t seed,
                                  struct recordings *recordings_out, struct pb_error *err)
{
    struct pb_device_request request = {.profile = profile, .seed = seed};

    return measure(&request, NULL, recordings_out, err);
}

enum pb_status recordings_measure_request(const struct pb_device_request *request,
                                          struct recordings *recordings_out, struct pb_error *err)
{
    return measure(request, NULL, recordings_out, err);
}

enum pb_status recordings_measure_only(const char *profile, uint64_t seed, const char *const *tests,
                                       struct recordings *recordings_out, struct pb_error *err)
{
    struct pb_device_request request = {.profile = profile, .seed = seed};

    return measure(&request, tests, recordings_out, err);
}

enum pb_status recordings_load(void *recordings, const char *test,
                               struct pb_recording *recording_out, struct pb_error *err)
{
    const struct recordings *from = recordings;

    for (size_t i = 0; i < from->count; i++)
        if (strcmp(from->items[i].name, test) == 0) {
            *recording_out = from->items[i];
            return PB_OK;
        }
    return pb_fail(err, PB_NOT_FOUND, "no test %s", test);
}

enum pb_status recordings_infer(const struct recordings *recordings,
                                struct pb_parameters *parameters_out, struct pb_error *err)
{
    struct recordings *context = (struct recordings *)recordings;
    struct pb_recordings source = {context, recordings_load};
    size_t analysed;

    return pb_infer_device(&recordings->info, "/devices/n1.gpu0", &source, parameters_out,
                           &analysed, err);
}

void recordings_clear(struct recordings *recordings)
{
    for (size_t i = 0; i < recordings->count; i++)
        pb_recording_clear(&recordings->items[i]);
    recordings->count = 0;
}
