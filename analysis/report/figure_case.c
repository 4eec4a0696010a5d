/* What builders of figures read of their device; see figures.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report/figures.h"

const struct pb_parameter_row *pb_figure_parameter(const struct pb_figure_case *at,
                                                   const char *memory, const char *name)
{
    const struct pb_report_device *device = &at->report->devices[at->device];

    for (size_t i = 0; i < device->parameter_count; i++)
        if (strcmp(device->parameters[i].memory, memory) == 0 &&
            strcmp(device->parameters[i].parameter, name) == 0)
            return &device->parameters[i];
    return NULL;
}

double pb_figure_number(const struct pb_figure_case *at, const char *memory, const char *name)
{
    const struct pb_parameter_row *parameter = pb_figure_parameter(at, memory, name);

    return parameter == NULL || parameter->value[0] == '\0' ? NAN : parameter->number;
}

size_t pb_figure_list(const struct pb_figure_case *at, const char *memory, const char *name,
                      double **numbers_out)
{
    const struct pb_parameter_row *parameter = pb_figure_parameter(at, memory, name);
    double *numbers = pb_page_numbers(at->page, PB_MESSAGE_LENGTH);
    size_t count = 0;

    *numbers_out = numbers;
    if (parameter == NULL || numbers == NULL)
        return 0;
    for (const char *text = parameter->value; *text != '\0' && count < PB_MESSAGE_LENGTH;) {
        char *end;
        double number = strtod(text, &end);

        if (end != text) {
            numbers[count++] = number;
            text = end;
        } else if (strncmp(text, "null", 4) == 0) {
            numbers[count++] = NAN;
            text += 4;
        } else {
            text++;
        }
    }
    return count;
}

const char *pb_figure_memory(const char *label)
{
    static const char *const names[][2] = {{"l1", "L1"}, {"l2", "L2"}, {"dram", "DRAM"}};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(label, names[i][0]) == 0)
            return names[i][1];
    return label;
}

const struct pb_recording *pb_figure_recording(const struct pb_figure_case *at, size_t number)
{
    const struct pb_recording *recording = &at->recordings[number];

    return recording->name[0] != '\0' && recording->outcome == PB_TEST_OK ? recording : NULL;
}
