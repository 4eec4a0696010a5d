/* The metric catalogue as a table, and what follows from its rows; see metric.h. */
#include "analysis/verdict/metric.h"

#include <math.h>
#include <string.h>

/* A shift that is less than so many steps may be rounding. */
static const double practical_steps = 1.5;

/* Against its own history CRITICAL stands so many times as far out as WARNING. */
static const double critical_factor = 2.0;

#define T(name) PB_TRAIT(name)
#define ROW(name, unit, part, domain, better, quantum, practical, tolerance, traits, varies,       \
            description)                                                                           \
    {                                                                                              \
        {name,                                                                                     \
         unit,                                                                                     \
         "",                                                                                       \
         0,                                                                                        \
         PB_PART_##part,                                                                           \
         PB_DOMAIN_##domain,                                                                       \
         PB_BETTER_##better,                                                                       \
         quantum,                                                                                  \
         practical,                                                                                \
         tolerance,                                                                                \
         traits},                                                                                  \
            varies, description                                                                    \
    }
#define PB_METRIC(...) ROW(__VA_ARGS__),

/* The metrics of state_fields.h. */
#define WORDS_MIN          "lowest of the run"
#define WORDS_MAX          "highest of the run"
#define WORDS_MAX_MEAN     "highest of the run, of means that began with it"
#define WORDS_LAST         "last of the run"
#define WORDS_STEP         "increase over the run"
#define WORDS_RISE         "highest less first"
#define WORDS_FALL         "highest less lowest"
#define WORDS_FIRST        "before the run"
#define WORDS_MIN_LESS_ONE "lowest of the run, less one"
#define METRIC(name, shape, scale, unit, part, domain, better, quantum, practical, traits)         \
    ROW("nvml." name, unit, part, domain, better, quantum, practical, 0.0, traits, "",             \
        WORDS_##shape)
#define REASON(name, bit, unit, part, domain, better, quantum, practical, traits)                  \
    ROW("throttle." name, unit, part, domain, better, quantum, practical, 0.0,                     \
        (traits) | T(SAME_BATTERY) | T(THROTTLE), "", "samples with this reason")
#define NO_METRIC                                                                                  \
    {                                                                                              \
        .varies = ""                                                                               \
    }
#define PB_STATE_FIELD(type, member, column, unit, since, description, nvml, simulated, ...)       \
    __VA_ARGS__,

const struct pb_metric_row pb_metric_rows[] = {
#include "analysis/verdict/metric_rows.h"
#include "core/state_fields.h"
};

const size_t pb_metric_row_count = sizeof(pb_metric_rows) / sizeof(pb_metric_rows[0]);

/* Without ".2" behind it. */
static size_t length_of_list(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot != NULL && dot[1] != '\0' && dot[1 + strspn(dot + 1, "0123456789")] == '\0'
               ? (size_t)(dot - name)
               : strlen(name);
}

const struct pb_metric_row *pb_metric_row_find(const char *name)
{
    size_t length = length_of_list(name);

    for (size_t i = 0; i < pb_metric_row_count; i++) {
        const char *known = pb_metric_rows[i].metric.name;

        if (known[0] != '\0' && strncmp(known, name, length) == 0 && known[length] == '\0')
            return &pb_metric_rows[i];
    }
    return NULL;
}

enum pb_status pb_metric_make(const char *name, const char *test, double quantum,
                              struct pb_metric *metric_out, struct pb_error *err)
{
    const struct pb_metric_row *row = pb_metric_row_find(name);

    if (row == NULL)
        return pb_fail(err, PB_INVALID, "metric %s: expected one of the catalogue", name);
    *metric_out = row->metric;
    PB_TEXT_SET(metric_out->name, name);
    PB_TEXT_SET(metric_out->test, test);
    if (quantum > 0.0) {
        metric_out->quantum = quantum;
        metric_out->practical = fmax(metric_out->practical, practical_steps * quantum);
    }
    return PB_OK;
}

struct pb_repeat pb_repeat_of(const struct pb_metric *metric)
{
    double warning = fmax(metric->tolerance, metric->practical);
    bool only_warns = (metric->traits & PB_TRAIT(ONLY_WARNS)) != 0;

    return (struct pb_repeat){warning, only_warns ? INFINITY : critical_factor * warning,
                              (metric->traits & PB_TRAIT(SAME_BATTERY)) != 0};
}

double pb_repeat_size(const struct pb_metric *metric, double size, double history, bool upwards)
{
    if (metric->domain == PB_DOMAIN_FRACTION || metric->domain == PB_DOMAIN_COUNT ||
        metric->domain == PB_DOMAIN_STATE || isinf(size))
        return size;
    return fabs(history) * (upwards ? size : size / (1.0 + size));
}

const char *pb_part_name(enum pb_part part)
{
    static const char *const names[PB_PART_COUNT] = {
        "clock",         "sm",     "shared",  "l1",   "constant",
        "texture",       "l2",     "tlb",     "dram", "host_link",
        "peer_link",     "power",  "thermal", "ecc",  "integrity",
        "configuration", "company"};

    return (unsigned)part < PB_PART_COUNT ? names[part] : "unknown";
}

const char *pb_domain_name(enum pb_domain domain)
{
    static const char *const names[] = {"cycles",   "ns",    "rate", "size",
                                        "fraction", "count", "state"};

    return (unsigned)domain < sizeof(names) / sizeof(names[0]) ? names[domain] : "unknown";
}
