/* Measuring a random device; judge.c looks at every answer. */
#include "analysis/blind/recover.h"

#include <stdio.h>
#include <stdlib.h>

#include "analysis/blind/parallel.h"
#include "analysis/inference.h"
#include "analysis/recordings.h"
#include "battery/battery.h"

static size_t give_up(struct blind_result *results, const struct pb_error *err)
{
    snprintf(results[0].detail, sizeof(results[0].detail), "%s", err->message);
    return 0;
}

static enum pb_status measure(const char *path, const struct blind_profile *profile,
                              struct recordings *recordings_out, struct pb_error *err)
{
    char texts[BLIND_FAULTS_MAX + 1][64];
    const char *faults[BLIND_FAULTS_MAX + 1];
    struct pb_device_request request = {
        .profile = path, .seed = profile->seed, .host_devices = profile->parallel.devices};

    request.faults = faults;
    blind_parallel_fault(profile, texts[0]);
    if (texts[0][0] != '\0')
        faults[request.fault_count++] = texts[0];
    for (size_t i = 0; i < profile->fault_count; i++) {
        blind_fault_text(&profile->faults[i], texts[i + 1]);
        faults[request.fault_count++] = texts[i + 1];
    }
    return recordings_measure_request(&request, recordings_out, err);
}

size_t blind_recover(const struct blind_profile *profile, const char *folder,
                     struct blind_result results_out[BLIND_RESULTS_MAX])
{
    struct pb_parameters parameters = {0};
    struct blind_profile truth;
    size_t count;
    struct recordings recordings;
    struct pb_error err = PB_ERROR_INIT;
    char path[512];

    snprintf(path, sizeof(path), "%s/blind-%llu.json", folder, (unsigned long long)profile->seed);
    if (blind_write(profile, path) != 0) {
        pb_fail(&err, PB_IO, "%s: cannot be written", path);
        return give_up(results_out, &err);
    }
    if (measure(path, profile, &recordings, &err) != PB_OK)
        return give_up(results_out, &err);
    if (recordings_infer(&recordings, &parameters, &err) != PB_OK) {
        recordings_clear(&recordings);
        return give_up(results_out, &err);
    }
    truth = *profile;
    blind_apply_faults(&truth);
    count = blind_judge(&parameters, &truth, results_out);
    recordings_clear(&recordings);
    pb_parameters_clear(&parameters);
    remove(path);
    return count;
}
