/* Parameters of one device: declaring, finding and stating them. */
#include "analysis/parameter.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/reserve.h"

enum pb_status pb_parameters_declare(struct pb_parameters *set, const char *memory,
                                     const char *name, const char *unit, const char *evidence,
                                     struct pb_error *err)
{
    struct pb_parameter *parameter;
    enum pb_status status = PB_RESERVE(set->items, set->count, set->capacity, "parameters", err);

    if (status != PB_OK)
        return status;
    parameter = &set->items[set->count++];
    memset(parameter, 0, sizeof(*parameter));
    PB_TEXT_SET(parameter->memory, memory);
    PB_TEXT_SET(parameter->name, name);
    PB_TEXT_SET(parameter->unit, unit);
    PB_TEXT_SET(parameter->evidence, evidence);
    return PB_OK;
}

struct pb_parameter *pb_parameters_find(const struct pb_parameters *set, const char *memory,
                                        const char *name)
{
    for (size_t i = 0; i < set->count; i++)
        if (strcmp(set->items[i].memory, memory) == 0 && strcmp(set->items[i].name, name) == 0)
            return &set->items[i];
    return NULL;
}

double pb_parameters_number(const struct pb_parameters *set, const char *memory, const char *name)
{
    const struct pb_parameter *parameter = pb_parameters_find(set, memory, name);

    if (parameter == NULL || parameter->kind != PB_VALUE_NUMBER)
        return NAN;
    return parameter->numbers[0].value;
}

void pb_parameters_clear(struct pb_parameters *set)
{
    if (set == NULL)
        return;
    free(set->items);
    pb_topology_clear(&set->topology);
    memset(set, 0, sizeof(*set));
}

void pb_topology_clear(struct pb_topology *topology)
{
    free(topology->gpcs);
    free(topology->l2_sides);
    memset(topology, 0, sizeof(*topology));
}

static bool is_stated(const struct pb_estimate *estimate)
{
    return isfinite(estimate->value) && estimate->low <= estimate->value &&
           estimate->value <= estimate->high;
}

static double clamp_confidence(double confidence)
{
    if (!(confidence > 0.0))
        return 0.0;
    return confidence < 1.0 ? confidence : 1.0;
}

static void begin(struct pb_parameter *parameter, enum pb_value_kind kind, double confidence,
                  const char *method, va_list args)
{
    parameter->kind = kind;
    parameter->votes = parameter->confidence = clamp_confidence(confidence);
    parameter->number_count = 0;
    memset(parameter->word, 0, sizeof(parameter->word));
    memset(parameter->reason, 0, sizeof(parameter->reason));
    vsnprintf(parameter->method, sizeof(parameter->method), method, args);
}

void pb_parameter_set_number(struct pb_parameter *parameter, struct pb_estimate estimate,
                             double confidence, const char *method, ...)
{
    va_list args;

    if (!isfinite(estimate.value)) {
        pb_parameter_set_none(parameter, "not observable: what was measured gives no number");
        return;
    }
    if (!is_stated(&estimate)) {
        pb_parameter_set_none(parameter, "inconsistent: %g is not within its interval, %g to %g",
                              estimate.value, estimate.low, estimate.high);
        return;
    }
    va_start(args, method);
    begin(parameter, PB_VALUE_NUMBER, confidence, method, args);
    va_end(args);
    parameter->numbers[0] = estimate;
    parameter->number_count = 1;
}

void pb_parameter_widen(struct pb_parameter *parameter, double low, double high, const char *why)
{
    char method[sizeof(parameter->method)];

    if (parameter->kind != PB_VALUE_NUMBER)
        return;
    memcpy(method, parameter->method, sizeof(method));
    pb_parameter_set_number(parameter, (struct pb_estimate){parameter->numbers[0].value, low, high},
                            parameter->confidence / 2.0, "%.160s; %s", method, why);
}

void pb_parameter_set_list(struct pb_parameter *parameter, const struct pb_estimate *estimates,
                           size_t count, double confidence, const char *method, ...)
{
    size_t stated = 0;
    va_list args;

    if (count > PB_LIST_MAX) {
        pb_parameter_set_none(parameter, "not applicable: a list of %zu values is too long", count);
        return;
    }
    for (size_t i = 0; i < count; i++)
        stated += is_stated(&estimates[i]);
    if (stated == 0) {
        pb_parameter_set_none(parameter, "not observable: none of %zu values", count);
        return;
    }
    va_start(args, method);
    begin(parameter, PB_VALUE_LIST, confidence, method, args);
    va_end(args);
    for (size_t i = 0; i < count; i++)
        parameter->numbers[i] = is_stated(&estimates[i]) ? estimates[i] : PB_ESTIMATE_NONE;
    parameter->number_count = count;
}

void pb_parameter_set_masks(struct pb_parameter *parameter, const uint64_t *masks, size_t count,
                            double confidence, const char *method, ...)
{
    va_list args;

    if (count == 0 || count > PB_LIST_MAX) {
        pb_parameter_set_none(parameter,
                              "not applicable: an index of %zu bits has no list of masks", count);
        return;
    }
    va_start(args, method);
    begin(parameter, PB_VALUE_MASKS, confidence, method, args);
    va_end(args);
    for (size_t i = 0; i < count; i++) {
        double mask = (double)masks[i];

        parameter->numbers[i] = (struct pb_estimate){mask, mask, mask};
    }
    parameter->number_count = count;
}

void pb_parameter_set_word(struct pb_parameter *parameter, const char *word, double confidence,
                           const char *method, ...)
{
    va_list args;

    va_start(args, method);
    begin(parameter, PB_VALUE_WORD, confidence, method, args);
    va_end(args);
    PB_TEXT_SET(parameter->word, word);
}

void pb_parameter_point_to(struct pb_parameter *parameter, const char *test)
{
    char *name = strrchr(parameter->evidence, '/');

    if (name != NULL)
        pb_text_copy(name + 1,
                     sizeof(parameter->evidence) - (size_t)(name + 1 - parameter->evidence), test);
}

void pb_parameter_set_none(struct pb_parameter *parameter, const char *reason, ...)
{
    va_list args;

    parameter->kind = PB_VALUE_NONE;
    parameter->number_count = 0;
    parameter->votes = parameter->confidence = 0.0;
    memset(parameter->word, 0, sizeof(parameter->word));
    memset(parameter->method, 0, sizeof(parameter->method));
    va_start(args, reason);
    vsnprintf(parameter->reason, sizeof(parameter->reason), reason, args);
    va_end(args);
}
