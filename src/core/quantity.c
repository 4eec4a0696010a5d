/* Numbers for people; see quantity.h. */
#include "core/quantity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct scale {
    double divisor;
    const char *name; /* of one, and of several */
    const char *names;
};

/* What numbers of this unit are divided by, the largest of which is so large. */
static struct scale scale_of(const char *unit, double largest)
{
    static const struct scale bytes[] = {{1073741824.0, "GiB", "GiB"},
                                         {1048576.0, "MiB", "MiB"},
                                         {1024.0, "KiB", "KiB"},
                                         {0.0, "B", "B"}};
    static const struct scale counted[] = {{1.0, "cycle", "cycles"},
                                           {1.0, "bank", "banks"},
                                           {1.0, "word", "words"},
                                           {1.0, "error", "errors"},
                                           {1.0, "row", "rows"},
                                           {1.0, "page", "pages"},
                                           {1.0, "generation", "generations"},
                                           {1.0, "link", "links"},
                                           {1.0, "replay", "replays"},
                                           {1.0, "sample", "samples"},
                                           {1.0, "process", "processes"},
                                           {1.0, "run", "runs"},
                                           {1.0, "lane", "lanes"},
                                           {1.0, "median", "medians"},
                                           {0.01, "share", "%"},
                                           {0.01, "excess", "% above the median"}};
    size_t i = 0;

    if (strcmp(unit, "byte/s") == 0)
        return (struct scale){1e9, "GB/s", "GB/s"};
    if (strcmp(unit, "byte/cycle") == 0)
        return (struct scale){1.0, "B/cycle", "B/cycle"};
    for (size_t k = 0; k < sizeof(counted) / sizeof(counted[0]); k++)
        if (strcmp(unit, counted[k].name) == 0)
            return counted[k];
    if (strcmp(unit, "byte") != 0)
        return (struct scale){1.0, unit, unit};
    while (largest < bytes[i].divisor)
        i++;
    return bytes[i].divisor == 0.0 ? (struct scale){1.0, "B", "B"} : bytes[i];
}

bool pb_quantity_is_measured(const char *unit)
{
    static const char *const units[] = {"cycle", "ns", "MHz", "byte/s", "byte/cycle"};

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strcmp(unit, units[i]) == 0)
            return true;
    return false;
}

static void format_digits(double value, char *text, size_t size)
{
    if (value == floor(value) && fabs(value) < 1e15)
        snprintf(text, size, "%.0f", value);
    else
        snprintf(text, size, fabs(value) >= 1000.0 ? "%.0f" : "%.4g", value);
}

static void append_unit(const struct scale *scale, double value, char *text, size_t size)
{
    const char *name = value == 1.0 && scale->divisor == 1.0 ? scale->name : scale->names;
    size_t used = strlen(text);

    if (name[0] != '\0')
        snprintf(text + used, size - used, "%s%s", name[0] == '%' ? "" : " ", name);
}

void pb_quantity_format(double value, const char *unit, char *text, size_t size)
{
    struct scale scale = scale_of(unit, fabs(value));

    format_digits(value / scale.divisor, text, size);
    append_unit(&scale, value / scale.divisor, text, size);
}

void pb_quantity_format_interval(double value, double low, double high, const char *unit,
                                 char *text, size_t size)
{
    struct scale scale = scale_of(unit, value);
    char from[32], to[32];

    if (low == high && !pb_quantity_is_measured(unit)) {
        snprintf(text, size, "exact");
        return;
    }
    format_digits(low / scale.divisor, from, sizeof(from));
    format_digits(high / scale.divisor, to, sizeof(to));
    snprintf(text, size, "%s to %s", from, to);
}

/* The largest number of a list; 0: none, or it has masks. */
static double largest_of(const char *list)
{
    double largest = 0.0;

    if (strstr(list, "0x") != NULL)
        return 0.0;
    for (const char *at = list + 1; *at != '\0'; at += strcspn(at, " ") + (strchr(at, ' ') != NULL))
        largest = fmax(largest, strtod(at, NULL));
    return largest;
}

void pb_quantity_format_list(const char *list, const char *unit, char *text, size_t size)
{
    double largest = list[0] == '[' ? largest_of(list) : 0.0;
    struct scale scale = scale_of(unit, largest);
    size_t used = 0;

    snprintf(text, size, "%s", list);
    if (largest <= 0.0)
        return;
    text[used++] = '[';
    for (const char *at = list + 1; *at != '\0' && used + 40 < size;) {
        char *end;
        double value = strtod(at, &end);
        bool is_null = strncmp(at, "null", strlen("null")) == 0;
        size_t rest;

        if (is_null)
            end += strlen("null");
        rest = strcspn(end, " ") + (strchr(end, ' ') != NULL);
        if (end != at && !is_null)
            format_digits(value / scale.divisor, text + used, size - used);
        else
            snprintf(text + used, size - used, "%s", is_null ? "-" : "");
        used += strlen(text + used);
        used += (size_t)snprintf(text + used, size - used, "%.*s", (int)rest, end);
        at = end + rest;
    }
    text[used] = '\0';
    append_unit(&scale, 2.0, text, size);
}
