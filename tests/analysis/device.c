/* A device made of recordings. */
#include "analysis/device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "analysis/recordings.h"
#include "analysis/synthetic.h"

struct pb_recording *device_record(struct device *device, const char *test)
{
    struct pb_recording *recording = &device->recordings[device->count++];

    assert_true(device->count <= DEVICE_RECORDINGS_MAX);
    synthetic_begin(recording, test);
    return recording;
}

static enum pb_status load(void *context, const char *test, struct pb_recording *recording_out,
                           struct pb_error *err)
{
    struct device *device = context;

    for (size_t i = 0; i < device->count; i++)
        if (strcmp(device->recordings[i].name, test) == 0) {
            *recording_out = device->recordings[i];
            return PB_OK;
        }
    return pb_fail(err, PB_NOT_FOUND, "no test %s", test);
}

void device_infer(struct device *device)
{
    struct pb_recordings source = {device, load};
    struct pb_error err = PB_ERROR_INIT;

    assert_int_equal(pb_infer_device(&device->info, "/devices/n1.gpu0", &source,
                                     &device->parameters, &device->analysed, &err),
                     PB_OK);
}

void device_clear(struct device *device)
{
    for (size_t i = 0; i < device->count; i++)
        pb_recording_clear(&device->recordings[i]);
    pb_parameters_clear(&device->parameters);
    memset(device, 0, sizeof(*device));
}

const struct pb_parameter *device_parameter(const struct device *device, const char *memory,
                                            const char *name)
{
    const struct pb_parameter *parameter = pb_parameters_find(&device->parameters, memory, name);

    if (parameter == NULL)
        fail_msg("%s.%s is not in the table", memory, name);
    return parameter;
}

void assert_value(const struct device *device, const char *memory, const char *name, double value)
{
    const struct pb_parameter *parameter = device_parameter(device, memory, name);
    const struct pb_estimate *e = &parameter->numbers[0];

    if (parameter->kind != PB_VALUE_NUMBER)
        fail_msg("%s.%s: expected %g, found none: %s", memory, name, value, parameter->reason);
    if (e->value != value || e->low > value || e->high < value)
        fail_msg("%s.%s: expected %g, found %g in [%g, %g]", memory, name, value, e->value, e->low,
                 e->high);
    assert_true(parameter->confidence > 0.0 && parameter->confidence < 1.0);
    assert_string_not_equal(parameter->method, "");
    assert_string_not_equal(parameter->evidence, "");
}

void assert_none(const struct device *device, const char *memory, const char *name,
                 const char *reason)
{
    const struct pb_parameter *parameter = device_parameter(device, memory, name);

    if (parameter->kind != PB_VALUE_NONE)
        fail_msg("%s.%s: expected none, found a value by: %s", memory, name, parameter->method);
    if (strstr(parameter->reason, reason) == NULL)
        fail_msg("%s.%s: expected \"…%s…\", found \"%s\"", memory, name, reason, parameter->reason);
}
