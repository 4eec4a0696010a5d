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
    char fault[64];
    const char *const faults[] = {fault};
    struct pb_device_request request = {
        .profile = path, .seed = profile->seed, .host_devices = profile->parallel.devices};

    blind_parallel_fault(profile, fault);
    if (fault[0] != '\0') {
        request.faults = faults;
        request.fault_count = 1;
    }
    return recordings_measure_request(&request, recordings_out, err);
}

size_t blind_recover(const struct blind_profile *profile, const char *folder,
                     struct blind_result results_out[BLIND_RESULTS_MAX])
{
    struct pb_parameters parameters = {0};
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
    count = blind_judge(&parameters, profile, results_out);
    recordings_clear(&recordings);
    pb_parameters_clear(&parameters);
    remove(path);
    return count;
}
