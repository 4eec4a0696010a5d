/*
 * Reading the state of a GPU through NVML, field by field as core/state_fields.h lists them: what a
 * driver does not support stays unknown.
 */
#include <dlfcn.h>
#include <math.h>
#include <string.h>

#include "device/nvml/nvml_calls.h"

/* How a field is read. */
static const struct source {
    enum pb_nvml_form form;
    const char *symbol, *older; /* older: its name in drivers before a renaming */
    double scale;               /* of NVML's unit, to the field's */
    int arguments[PB_NVML_ARGUMENTS_MAX];
} sources[PB_STATE_FIELD_COUNT] = {
#define NVML(form, symbol, older, scale, ...)                                                      \
    {                                                                                              \
        PB_NVML_##form, symbol, older, scale,                                                      \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define PB_STATE_FIELD(type, member, column, unit, since, description, nvml, ...) nvml,
#include "core/state_fields.h"
};

/* One reading: the four numbers of remapped rows come from one call, which is made once. */
struct reading {
    struct pb_nvml *nvml;
    bool has_rows;
    double rows[4];
};

void *pb_nvml_symbol(void *library, const char *name, const char *older)
{
    void *address = dlsym(library, name);

    return address == NULL && older != NULL ? dlsym(library, older) : address;
}

void pb_nvml_load_state_calls(struct pb_nvml *nvml)
{
    for (int i = 0; i < PB_STATE_FIELD_COUNT; i++)
        nvml->state_calls[i] = pb_nvml_symbol(nvml->library, sources[i].symbol, sources[i].older);
}

static double field_as_real(const struct pb_nvml_field *field)
{
    switch (field->value_type) {
    case 0:
        return field->value.real;
    case 1:
        return field->value.uint;
    case 2:
        return (double)field->value.ulong;
    case 3:
        return (double)field->value.ulonglong;
    case 4:
        return (double)field->value.slonglong;
    default:
        return field->value.sint;
    }
}

/* Every reader returns NaN where the driver gives no number. dlsym's pointers are made functions
 * by memcpy: ISO C has no cast for that. */
#define AS_FUNCTION(function, address) memcpy(&(function), &(address), sizeof(function))

static double read_unsigned(struct reading *reading, void *address, const int *arguments)
{
    int (*call)(void *, unsigned *);
    unsigned value = 0;

    (void)arguments;
    AS_FUNCTION(call, address);
    return call(reading->nvml->device, &value) == NVML_SUCCESS ? value : NAN;
}

static double read_unsigned_of(struct reading *reading, void *address, const int *arguments)
{
    int (*call)(void *, int, unsigned *);
    unsigned value = 0;

    AS_FUNCTION(call, address);
    return call(reading->nvml->device, arguments[0], &value) == NVML_SUCCESS ? value : NAN;
}

static double read_unsigned64(struct reading *reading, void *address, const int *arguments)
{
    int (*call)(void *, unsigned long long *);
    unsigned long long value = 0;

    (void)arguments;
    AS_FUNCTION(call, address);
    return call(reading->nvml->device, &value) == NVML_SUCCESS ? (double)value : NAN;
}

/* One call for all values of a field: the state is read often. */
static double read_fields(struct reading *reading, void *address, const int *arguments)
{
    struct pb_nvml_field values[PB_NVML_ARGUMENTS_MAX];
    int (*call)(void *, int, struct pb_nvml_field *);
    double sum = NAN;
    int count = 0;

    memset(values, 0, sizeof(values));
    while (count < PB_NVML_ARGUMENTS_MAX && arguments[count] != 0) {
        values[count].field = (unsigned)arguments[count];
        count++;
    }
    AS_FUNCTION(call, address);
    if (call(reading->nvml->device, count, values) != NVML_SUCCESS)
        return NAN;
    for (int i = 0; i < count; i++)
        if (values[i].status == NVML_SUCCESS)
            sum = (isnan(sum) ? 0.0 : sum) + field_as_real(&values[i]);
    return sum;
}

static double read_ecc(struct reading *reading, void *address, const int *arguments)
{
    int (*call)(void *, int, int, unsigned long long *);
    unsigned long long value = 0;

    AS_FUNCTION(call, address);
    return call(reading->nvml->device, arguments[0], NVML_ECC_AGGREGATE, &value) == NVML_SUCCESS
               ? (double)value
               : NAN;
}

static double read_remapped(struct reading *reading, void *address, const int *arguments)
{
    int (*call)(void *, unsigned *, unsigned *, unsigned *, unsigned *);
    unsigned rows[4] = {0, 0, 0, 0};

    AS_FUNCTION(call, address);
    if (!reading->has_rows) {
        int status = call(reading->nvml->device, &rows[0], &rows[1], &rows[2], &rows[3]);

        for (int i = 0; i < 4; i++)
            reading->rows[i] = status == NVML_SUCCESS ? rows[i] : NAN;
        reading->has_rows = true;
    }
    return reading->rows[arguments[0]];
}

/* Of a MIG instance, memory and processes are its own: other instances of its GPU do not count. */
static void *part_in_use(const struct pb_nvml *nvml)
{
    return nvml->is_part ? nvml->instance : nvml->device;
}

static double read_memory_used(struct reading *reading, void *address, const int *arguments)
{
    int (*call)(void *, struct pb_nvml_memory *);
    void *device = part_in_use(reading->nvml);
    struct pb_nvml_memory memory;

    (void)arguments;
    AS_FUNCTION(call, address);
    return device != NULL && call(device, &memory) == NVML_SUCCESS ? (double)memory.used_bytes
                                                                   : NAN;
}

/* What a call of a list means that had space for none: NVML answers with how many there are. */
static double list_length(int status, unsigned count)
{
    return status == NVML_SUCCESS || status == NVML_ERROR_INSUFFICIENT_SIZE ? count : NAN;
}

static double read_list_length_of(struct reading *reading, void *address, const int *arguments)
{
    int (*call)(void *, int, unsigned *, unsigned long long *);
    unsigned count = 0;
    int status;

    AS_FUNCTION(call, address);
    status = call(reading->nvml->device, arguments[0], &count, NULL);
    return list_length(status, count);
}

static double read_processes(struct reading *reading, void *address, const int *arguments)
{
    int (*call)(void *, unsigned *, void *);
    void *device = part_in_use(reading->nvml);
    unsigned count = 0;
    int status;

    (void)arguments;
    AS_FUNCTION(call, address);
    if (device == NULL)
        return NAN;
    status = call(device, &count, NULL);
    return list_length(status, count);
}

/* Links that a GPU does not have are refused; for one that is down there is an answer. */
static double read_nvlinks_up(struct reading *reading, void *address, const int *arguments)
{
    int (*call)(void *, unsigned, int *);
    double count = NAN;

    (void)arguments;
    AS_FUNCTION(call, address);
    for (unsigned link = 0; link < NVML_NVLINKS_MAX; link++) {
        int is_up = 0;

        if (call(reading->nvml->device, link, &is_up) != NVML_SUCCESS)
            break;
        count = (isnan(count) ? 0.0 : count) + (is_up != 0);
    }
    return count;
}

static double read_violation(struct reading *reading, void *address, const int *arguments)
{
    int (*call)(void *, int, struct pb_nvml_violation *);
    struct pb_nvml_violation violation;

    AS_FUNCTION(call, address);
    return call(reading->nvml->device, arguments[0], &violation) == NVML_SUCCESS
               ? (double)violation.violation_ns
               : NAN;
}

static double (*const readers[])(struct reading *reading, void *address, const int *arguments) = {
    [PB_NVML_UNSIGNED] = read_unsigned,
    [PB_NVML_UNSIGNED_OF] = read_unsigned_of,
    [PB_NVML_UNSIGNED64] = read_unsigned64,
    [PB_NVML_FIELDS] = read_fields,
    [PB_NVML_ECC] = read_ecc,
    [PB_NVML_REMAPPED] = read_remapped,
    [PB_NVML_LIST_LENGTH_OF] = read_list_length_of,
    [PB_NVML_MEMORY_USED] = read_memory_used,
    [PB_NVML_PROCESSES] = read_processes,
    [PB_NVML_NVLINKS_UP] = read_nvlinks_up,
    [PB_NVML_VIOLATION] = read_violation,
};

static bool is_lost(struct pb_nvml *nvml)
{
    int (*power)(void *, unsigned *);
    unsigned milliwatt;

    if (nvml->state_calls[PB_STATE_power_w] == NULL)
        return false;
    AS_FUNCTION(power, nvml->state_calls[PB_STATE_power_w]);
    return power(nvml->device, &milliwatt) == NVML_ERROR_GPU_IS_LOST;
}

bool pb_nvml_read_state(struct pb_nvml *nvml, struct pb_state *state)
{
    struct reading reading = {.nvml = nvml};

    if (nvml == NULL)
        return true;
    if (is_lost(nvml))
        return false;
    for (int i = 0; i < PB_STATE_FIELD_COUNT; i++)
        if (nvml->state_calls[i] != NULL)
            pb_state_set(state, (enum pb_state_field)i,
                         sources[i].scale * readers[sources[i].form](&reading, nvml->state_calls[i],
                                                                     sources[i].arguments));
    return true;
}
