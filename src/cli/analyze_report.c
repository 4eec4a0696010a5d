/* The JSON report of plumb-analyze. */
#include "cli/analyze_report.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/atomic_file.h"
#include "core/json.h"

struct pb_analysis_report {
    struct pb_atomic_file *output;
    const char *path;
    size_t devices;
};

/* What every report begins with, and how it is known again. */
static const char opening[] = "{\"schema\": 2, \"devices\": [";
static const char closing[] = "\n]}\n";

static const struct pb_atomic_file_kind report_kind = {.name = "a report of plumb-analyze",
                                                       .opening = opening};

enum pb_status pb_report_open(const char *path, struct pb_analysis_report **report_out,
                              struct pb_error *err)
{
    struct pb_analysis_report *report = calloc(1, sizeof(*report));
    enum pb_status status;

    if (report == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating a report");
    report->path = path;
    status = pb_atomic_file_open(path, &report_kind, &report->output, err);
    if (status != PB_OK) {
        free(report);
        return status;
    }
    fputs(opening, pb_atomic_file_stream(report->output));
    *report_out = report;
    return PB_OK;
}

/* A whole number as such, anything else with the digits that mean something, NaN as null. */
static json_t *number(double value)
{
    if (!isfinite(value))
        return json_null();
    if (value == trunc(value) && fabs(value) < 9007199254740992.0)
        return json_integer((json_int_t)value);
    return json_real(value);
}

enum member { MEMBER_VALUE, MEMBER_LOW, MEMBER_HIGH };

/* One number of the parameter, or a list of that member of all its numbers. */
static json_t *numbers(const struct pb_parameter *parameter, enum member member)
{
    json_t *list = parameter->kind == PB_VALUE_LIST ? json_array() : NULL;
    json_t *one = json_null();

    for (size_t i = 0; i < parameter->number_count; i++) {
        const struct pb_estimate *e = &parameter->numbers[i];

        one = number(member == MEMBER_VALUE ? e->value : member == MEMBER_LOW ? e->low : e->high);
        if (list != NULL)
            json_array_append_new(list, one);
    }
    return list != NULL ? list : one;
}

/* ["0x80", "0x100"] */
static json_t *masks(const struct pb_parameter *parameter)
{
    json_t *list = json_array();

    for (size_t i = 0; i < parameter->number_count; i++)
        json_array_append_new(
            list, json_sprintf("0x%llx", (unsigned long long)parameter->numbers[i].value));
    return list;
}

static json_t *describe(const struct pb_parameter *parameter)
{
    json_t *object = json_object();

    if (parameter->kind == PB_VALUE_NONE) {
        json_object_set_new(object, "value", json_null());
        json_object_set_new(object, "reason", pb_json_of_text(parameter->reason));
        json_object_set_new(object, "evidence", pb_json_of_text(parameter->evidence));
        return object;
    }
    if (parameter->kind == PB_VALUE_WORD) {
        json_object_set_new(object, "value", pb_json_of_text(parameter->word));
    } else if (parameter->kind == PB_VALUE_MASKS) {
        json_object_set_new(object, "value", masks(parameter));
    } else {
        json_object_set_new(object, "value", numbers(parameter, MEMBER_VALUE));
        json_object_set_new(object, "unit", pb_json_of_text(parameter->unit));
        json_object_set_new(object, "low", numbers(parameter, MEMBER_LOW));
        json_object_set_new(object, "high", numbers(parameter, MEMBER_HIGH));
    }
    json_object_set_new(object, "confidence", json_real(parameter->confidence));
    json_object_set_new(object, "method", pb_json_of_text(parameter->method));
    json_object_set_new(object, "evidence", pb_json_of_text(parameter->evidence));
    return object;
}

/* {"accesses": …, "agreed": …, "contradicted": …, "undetermined": …, "parameter": …, "reasons":
 * {NAME: accesses, …}, "worst": {…}} */
static json_t *describe_test(const struct pb_agreement_test *test)
{
    json_t *object = json_object(), *worst = json_object(), *reasons = json_object();
    const struct pb_agreement_reason *most = &test->reasons[0];

    json_object_set_new(object, "accesses", json_integer((json_int_t)test->accesses));
    json_object_set_new(object, "agreed", json_integer((json_int_t)test->agreed));
    json_object_set_new(object, "contradicted", json_integer((json_int_t)test->contradicted));
    json_object_set_new(object, "undetermined", json_integer((json_int_t)test->undetermined));
    json_object_set_new(object, "parameter",
                        most->accesses == 0 ? json_null() : json_string(most->name));
    json_object_set_new(object, "parameter_accesses", json_integer((json_int_t)most->accesses));
    for (size_t i = 0; i < PB_AGREEMENT_REASONS && test->reasons[i].accesses > 0; i++)
        json_object_set_new(reasons, test->reasons[i].name,
                            json_integer((json_int_t)test->reasons[i].accesses));
    json_object_set_new(object, "reasons", reasons);
    json_object_set_new(worst, "point", json_integer((json_int_t)test->worst_point));
    json_object_set_new(worst, "accesses", json_integer((json_int_t)test->worst_accesses));
    json_object_set_new(worst, "contradicted", json_integer((json_int_t)test->worst_contradicted));
    json_object_set_new(object, "worst", worst);
    return object;
}

/* {TEST: {…}}: how much of each test's accesses the parameters predict */
static json_t *describe_agreement(const struct pb_agreement *agreement)
{
    json_t *tests = json_object();

    for (size_t i = 0; i < agreement->count; i++)
        json_object_set_new(tests, agreement->tests[i].test, describe_test(&agreement->tests[i]));
    return tests;
}

/* A flag that may be unknown (-1). */
static json_t *flag(int32_t value)
{
    return value < 0 ? json_null() : json_boolean(value);
}

/* What the driver states: not measured. */
static json_t *describe_properties(const struct pb_device_info *info)
{
    json_t *object = json_object();

    json_object_set_new(object, "backend", pb_json_of_text(info->backend));
    json_object_set_new(object, "uuid", pb_json_of_text(info->uuid));
    json_object_set_new(object, "pci_bus_id", pb_json_of_text(info->pci_bus_id));
    json_object_set_new(object, "driver_version", pb_json_of_text(info->driver_version));
    json_object_set_new(object, "vbios", pb_json_of_text(info->vbios));
    json_object_set_new(
        object, "compute_capability",
        json_sprintf("%u.%u", info->compute_capability / 10, info->compute_capability % 10));
    json_object_set_new(object, "sm_count", json_integer(info->sm_count));
    json_object_set_new(object, "memory_bytes", json_integer((json_int_t)info->memory_bytes));
    json_object_set_new(object, "l2_bytes", json_integer((json_int_t)info->l2_bytes));
    json_object_set_new(object, "shared_per_sm_bytes",
                        json_integer((json_int_t)info->shared_per_sm_bytes));
    json_object_set_new(object, "sm_clock_max_mhz", number(info->sm_clock_max_mhz));
    json_object_set_new(object, "memory_clock_max_mhz", number(info->memory_clock_max_mhz));
    json_object_set_new(object, "theoretical_bytes_per_s", number(info->theoretical_bytes_per_s));
    json_object_set_new(object, "ecc_enabled", flag(info->ecc_enabled));
    json_object_set_new(object, "mig_enabled", flag(info->mig_enabled));
    return object;
}

/* {"key": …, "model": …, "properties": {…}, "memories": {MEMORY: {PARAMETER: {…}}}, "agreement":
 * {TEST: {…}}} */
static json_t *describe_device(const char *key, const char *model,
                               const struct pb_device_info *info,
                               const struct pb_parameters *parameters,
                               const struct pb_agreement *agreement)
{
    json_t *device = json_object(), *memories = json_object();

    json_object_set_new(device, "key", pb_json_of_text(key));
    json_object_set_new(device, "model", pb_json_of_text(model));
    json_object_set_new(device, "properties", describe_properties(info));
    for (size_t i = 0; i < parameters->count; i++) {
        const struct pb_parameter *parameter = &parameters->items[i];
        json_t *memory = json_object_get(memories, parameter->memory);

        if (memory == NULL) {
            json_object_set_new(memories, parameter->memory, json_object());
            memory = json_object_get(memories, parameter->memory);
        }
        json_object_set_new(memory, parameter->name, describe(parameter));
    }
    json_object_set_new(device, "memories", memories);
    json_object_set_new(device, "agreement", describe_agreement(agreement));
    return device;
}

enum pb_status pb_report_add(struct pb_analysis_report *report, const char *key, const char *model,
                             const struct pb_device_info *info,
                             const struct pb_parameters *parameters,
                             const struct pb_agreement *agreement, struct pb_error *err)
{
    json_t *device = describe_device(key, model, info, parameters, agreement);
    FILE *file = pb_atomic_file_stream(report->output);
    bool failed = fputs(report->devices == 0 ? "\n" : ",\n", file) == EOF;

    failed |= json_dumpf(device, file, JSON_INDENT(1) | JSON_REAL_PRECISION(10)) != 0;
    json_decref(device);
    report->devices++;
    if (failed)
        return pb_fail(err, PB_IO, "%s: device %s cannot be written: %s", report->path, key,
                       strerror(errno));
    return PB_OK;
}

enum pb_status pb_report_commit(struct pb_analysis_report *report, struct pb_error *err)
{
    enum pb_status status;

    fputs(closing, pb_atomic_file_stream(report->output));
    status = pb_atomic_file_commit(report->output, err);
    free(report);
    return status;
}

void pb_report_abandon(struct pb_analysis_report *report)
{
    if (report == NULL)
        return;
    pb_atomic_file_abandon(report->output);
    free(report);
}
