/* Measuring a drawn device; judge.c looks at every answer. */
#include "analysis/blind/recover.h"

#include <stdio.h>
#include <stdlib.h>

#include "analysis/inference.h"
#include "analysis/recordings.h"
#include "battery/battery.h"

static size_t give_up(struct blind_result *results, const struct pb_error *err)
{
    snprintf(results[0].detail, sizeof(results[0].detail), "%s", err->message);
    return 0;
}

size_t blind_recover(const struct blind_profile *profile, const char *folder,
                     struct blind_result results_out[BLIND_RESULTS_MAX])
{
    struct pb_parameters parameters = {NULL, 0, 0};
    size_t count;
    struct recordings recordings;
    struct pb_error err = PB_ERROR_INIT;
    char path[512];

    snprintf(path, sizeof(path), "%s/blind-%llu.json", folder, (unsigned long long)profile->seed);
    if (blind_write(profile, path) != 0) {
        pb_fail(&err, PB_IO, "%s: cannot be written", path);
        return give_up(results_out, &err);
    }
    if (recordings_measure(path, profile->seed, &recordings, &err) != PB_OK)
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
