/*
 * Recorded devices: plumb-analyze on every tests/data/NAME.h5 against NAME.json beside it.
 *
 * NAME.json holds, by device ("*": every device of the file) and by "MEMORY.PARAMETER":
 *   a number or a word            exactly this value
 *   a list                        as long, and each element as one of these
 *   null                          no value, but a reason
 *   {"value": V, "tolerance": T}  within T of V
 *   {"low": L, "high": H}         from L to H
 * A recording without expectations fails, and so do expectations without a recording. Whatever has
 * no value must have a reason of its own. Without any of either there is nothing to test, and the
 * test says so (77).
 */
#include <dirent.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/program.h"
#include "analysis/reason.h"

enum { SKIPPED = 77 };

static char folder[] = "/tmp/plumb-recorded-XXXXXX";

static bool meets(const json_t *value, const json_t *expected);

static bool meets_list(const json_t *values, const json_t *expected)
{
    bool is_met = json_is_array(values) && json_array_size(values) == json_array_size(expected);

    for (size_t i = 0; is_met && i < json_array_size(expected); i++)
        is_met = meets(json_array_get(values, i), json_array_get(expected, i));
    return is_met;
}

static bool meets(const json_t *value, const json_t *expected)
{
    const json_t *middle = json_object_get(expected, "value");
    double number = json_number_value(value);

    if (json_is_array(expected))
        return meets_list(value, expected);
    if (!json_is_object(expected))
        return json_is_number(expected)
                   ? json_is_number(value) && number == json_number_value(expected)
                   : json_equal(value, expected);
    if (!json_is_number(value))
        return false;
    if (middle != NULL)
        return fabs(number - json_number_value(middle)) <=
               json_number_value(json_object_get(expected, "tolerance"));
    return number >= json_number_value(json_object_get(expected, "low")) &&
           number <= json_number_value(json_object_get(expected, "high"));
}

/* The value of "l1.size_bytes" of a device; NULL: there is no such parameter. */
static const json_t *find_value(const json_t *device, const char *name)
{
    const char *dot = strchr(name, '.');
    char memory[64];

    if (dot == NULL)
        return NULL;
    snprintf(memory, sizeof(memory), "%.*s", (int)(dot - name), name);
    return json_object_get(
        json_object_get(json_object_get(json_object_get(device, "memories"), memory), dot + 1),
        "value");
}

/* Returns how many expectations of one device are not met. */
static int check_device(const char *file, const json_t *device, json_t *expectations)
{
    const char *name;
    json_t *expected;
    int failures = 0;

    json_object_foreach(expectations, name, expected)
    {
        const json_t *value = find_value(device, name);
        char *want, *found;

        if (value != NULL && meets(value, expected))
            continue;
        want = json_dumps(expected, JSON_ENCODE_ANY);
        found = value == NULL ? NULL : json_dumps(value, JSON_ENCODE_ANY);
        printf("%s: %s: %s: expected %s, found %s\n", file,
               json_string_value(json_object_get(device, "key")), name, want,
               found == NULL ? "no such parameter" : found);
        free(want);
        free(found);
        failures++;
    }
    return failures;
}

/* Returns how many parameters have neither a value nor a reason of a known kind. */
static int check_reasons(const char *file, const json_t *device)
{
    const char *memory, *name;
    json_t *parameters, *parameter;
    int failures = 0;

    json_object_foreach(json_object_get(device, "memories"), memory, parameters)
    {
        json_object_foreach(parameters, name, parameter)
        {
            const char *reason = json_string_value(json_object_get(parameter, "reason"));

            if (!json_is_null(json_object_get(parameter, "value")) ||
                (reason != NULL && pb_reason_kind_of(reason) != NULL))
                continue;
            printf("%s: %s.%s: no value, and no reason of a known kind but \"%s\"\n", file, memory,
                   name, reason == NULL ? "" : reason);
            failures++;
        }
    }
    return failures;
}

/* Devices of the report against the expectations of their key, or of "*". */
static int check_report(const char *file, const json_t *report, const json_t *expectations)
{
    const json_t *device, *devices = json_object_get(report, "devices");
    int failures = 0, checked = 0;
    size_t i;

    json_array_foreach(devices, i, device)
    {
        json_t *own =
            json_object_get(expectations, json_string_value(json_object_get(device, "key")));
        json_t *all = json_object_get(expectations, "*");

        checked += (int)(json_object_size(own) + json_object_size(all));
        failures += check_device(file, device, own) + check_device(file, device, all) +
                    check_reasons(file, device);
    }
    if (checked == 0) {
        printf("%s: nothing is expected of any of its %zu devices\n", file,
               json_array_size(devices));
        failures++;
    }
    printf("%s: %d of %d expectations met\n", file, checked - failures, checked);
    return failures;
}

static int check_file(const char *name)
{
    static struct program_run run;
    char path[512], arguments[600];
    json_t *expectations, *report = NULL;
    json_error_t error;
    int failures = 1;

    snprintf(path, sizeof(path), "%s/%s.json", PLUMB_TEST_DATA, name);
    expectations = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (expectations == NULL) {
        printf("%s:%d: %s\n", path, error.line, error.text);
        return 1;
    }
    snprintf(arguments, sizeof(arguments), "--read-only --json %s/report.json %s/%s.h5", folder,
             PLUMB_TEST_DATA, name);
    snprintf(path, sizeof(path), "%s/report.json", folder);
    if (program_run(arguments, folder, &run) != 0 || run.code != 0)
        printf("%s.h5: plumb-analyze ended with %d: %s\n", name, run.code, run.errors);
    else if ((report = json_load_file(path, 0, &error)) == NULL)
        printf("%s.h5: no report: %s\n", name, error.text);
    else
        failures = check_report(name, report, expectations);
    json_decref(report);
    json_decref(expectations);
    return failures;
}

/* Both NAME.h5 and NAME.json must be there; the pair is checked once, under its .h5. */
static int check_entry(const char *entry, int *checked)
{
    size_t length = strlen(entry);
    char name[256], path[600];

    if (length > 3 && length < sizeof(name) && strcmp(entry + length - 3, ".h5") == 0) {
        snprintf(name, sizeof(name), "%.*s", (int)(length - 3), entry);
        ++*checked;
        return check_file(name);
    }
    if (length > 5 && length < sizeof(name) && strcmp(entry + length - 5, ".json") == 0) {
        snprintf(path, sizeof(path), "%s/%.*s.h5", PLUMB_TEST_DATA, (int)(length - 5), entry);
        ++*checked;
        if (access(path, R_OK) != 0) {
            printf("%s: expectations without a recording: %s\n", entry, path);
            return 1;
        }
    }
    return 0;
}

int main(void)
{
    DIR *data = opendir(PLUMB_TEST_DATA);
    const struct dirent *entry;
    int failures = 0, checked = 0;
    char command[64];

    if (mkdtemp(folder) == NULL)
        return 1;
    while (data != NULL && (entry = readdir(data)) != NULL)
        failures += check_entry(entry->d_name, &checked);
    if (data != NULL)
        closedir(data);
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    if (system(command) != 0)
        failures++;
    if (checked == 0) {
        printf("no recorded files in %s\n", PLUMB_TEST_DATA);
        return SKIPPED;
    }
    return failures > 0;
}
