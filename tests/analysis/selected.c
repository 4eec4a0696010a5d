/* Some tests of the battery on a simulated device. */
#include "analysis/selected.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/recordings.h"
#include "battery/battery.h"

static enum pb_status measure(const char *profile, const char *tests,
                              struct recordings *recordings_out, struct pb_error *err)
{
    struct pb_device_request request = {.profile = profile, .seed = 1};
    const struct pb_test **chosen = NULL;
    struct pb_session session;
    enum pb_status status = pb_battery_select(PB_STANDARD, tests, &chosen, err);

    memset(recordings_out, 0, sizeof(*recordings_out));
    if (status == PB_OK)
        status = pb_session_open(&pb_device_sim, &request, PB_STANDARD, &session, err);
    if (status != PB_OK)
        goto out;
    recordings_out->info = session.info;
    for (size_t i = 0; chosen[i] != NULL && status == PB_OK; i++) {
        struct pb_state states[2];

        status = pb_session_run(&session, chosen[i], &recordings_out->items[recordings_out->count],
                                states, err);
        recordings_out->count += status == PB_OK;
    }
    pb_session_close(&session);
out:
    free(chosen);
    return status;
}

/* No inference asks for a phase of this name. */
static void leave_out(struct recordings *recordings, const char *const *phases)
{
    for (size_t i = 0; i < recordings->count; i++) {
        struct pb_series *series = &recordings->items[i].series;

        for (size_t k = 0; k < series->point_count; k++)
            for (size_t p = 0; phases[p] != NULL; p++)
                if (strcmp(series->points[k].phase, phases[p]) == 0)
                    PB_TEXT_SET(series->points[k].phase, "left out");
    }
}

static void infer(const char *profile, const char *tests, const char *const *left_out,
                  struct pb_parameters *parameters_out)
{
    struct recordings *recordings = calloc(1, sizeof(*recordings));
    struct pb_error err = PB_ERROR_INIT;

    assert_non_null(recordings);
    if (measure(profile, tests, recordings, &err) != PB_OK)
        fail_msg("%s: %s", profile, err.message);
    leave_out(recordings, left_out);
    if (recordings_infer(recordings, parameters_out, &err) != PB_OK)
        fail_msg("%s: %s", profile, err.message);
    recordings_clear(recordings);
    free(recordings);
}

static const char *const nothing[] = {NULL};

void selected_infer(const char *profile, const char *tests, struct pb_parameters *parameters_out)
{
    infer(profile, tests, nothing, parameters_out);
}

void selected_infer_profile(const struct blind_profile *profile, const char *tests,
                            struct pb_parameters *parameters_out)
{
    selected_infer_without(profile, tests, nothing, parameters_out);
}

void selected_infer_without(const struct blind_profile *profile, const char *tests,
                            const char *const *phases, struct pb_parameters *parameters_out)
{
    char path[] = "/tmp/plumb-test-profile-XXXXXX.json";
    int file = mkstemps(path, 5);

    assert_true(file >= 0);
    close(file);
    assert_int_equal(blind_write(profile, path), 0);
    infer(path, tests, phases, parameters_out);
    remove(path);
}

static void replace(const char *profile, const char *first, const char *behind, const char *caches,
                    const char *path)
{
    char source[512], text[16384], *begin, *end;
    FILE *file;

    snprintf(source, sizeof(source), "%s/%s.json", PLUMB_PROFILES, profile);
    file = fopen(source, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    begin = strstr(text, first);
    assert_non_null(begin);
    end = strstr(begin, behind);
    assert_non_null(end);
    file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%.*s%s%s", (int)(begin - text), text, caches, end);
    fclose(file);
}

void selected_infer_replaced(const char *profile, const char *first, const char *behind,
                             const char *caches, const char *tests,
                             struct pb_parameters *parameters_out)
{
    char path[] = "/tmp/plumb-test-profile-XXXXXX.json";
    int file = mkstemps(path, 5);

    assert_true(file >= 0);
    close(file);
    replace(profile, first, behind, caches, path);
    infer(path, tests, nothing, parameters_out);
    remove(path);
}

const struct pb_parameter *selected_find(const struct pb_parameters *parameters, const char *memory,
                                         const char *name)
{
    const struct pb_parameter *parameter = pb_parameters_find(parameters, memory, name);

    if (parameter == NULL)
        fail_msg("%s.%s is not in the table", memory, name);
    if (parameter->kind == PB_VALUE_NONE)
        fail_msg("%s.%s has no value: %s", memory, name, parameter->reason);
    return parameter;
}

void assert_number(const struct pb_parameters *parameters, const char *memory, const char *name,
                   double value, double tolerance)
{
    assert_numbers(parameters, memory, name, &value, 1, tolerance);
}

void assert_numbers(const struct pb_parameters *parameters, const char *memory, const char *name,
                    const double *values, size_t count, double tolerance)
{
    const struct pb_parameter *parameter = selected_find(parameters, memory, name);

    if (parameter->number_count != count)
        fail_msg("%s.%s: expected %zu numbers, found %zu, the first %g", memory, name, count,
                 parameter->number_count, parameter->numbers[0].value);
    for (size_t i = 0; i < count; i++) {
        double found = parameter->numbers[i].value;

        if (isnan(values[i]) ? !isnan(found) : !(fabs(found - values[i]) <= tolerance))
            fail_msg("%s.%s[%zu]: expected %g, found %g by %s", memory, name, i, values[i], found,
                     parameter->method);
    }
}

void assert_open(const struct pb_parameters *parameters, const char *memory, const char *name,
                 const char *reason)
{
    const struct pb_parameter *parameter = pb_parameters_find(parameters, memory, name);

    if (parameter == NULL)
        fail_msg("%s.%s is not in the table", memory, name);
    if (parameter->kind != PB_VALUE_NONE)
        fail_msg("%s.%s: expected none, found %g by %s", memory, name, parameter->numbers[0].value,
                 parameter->method);
    if (strstr(parameter->reason, reason) == NULL)
        fail_msg("%s.%s: expected \"…%s…\", found \"%s\"", memory, name, reason, parameter->reason);
}
