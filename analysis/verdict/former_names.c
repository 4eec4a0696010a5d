/* Former names of metrics and causes; see former_names.h. */
#include "analysis/verdict/former_names.h"

#include <fnmatch.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* How names end, and how the same ones ended before. */
static const struct {
    const char *now, *before;
} endings[] = {
    {"power_max", "power_most"},
    {"temperature_max", "temperature_most"},
    {"memory_used_min", "memory_used_least"},
    {"power_violation_ms", "slowed_by_power_ms"},
    {"thermal_violation_ms", "slowed_by_heat_ms"},
    {"_delta", "_step"},
    {"tail_fraction_1_125x", "beyond_112"},
    {"tail_fraction_1_5x", "beyond_150"},
    {"tail_fraction_3x", "beyond_300"},
    {"self_history", "own_past"},
    {"battery_mismatch", "other_tests"},
    {"sustained_load.throughput", "sustain.throughput"},
    {"sustained_load.last_over_first", "sustain.last_over_first"},
    {"memory_integrity.mismatches", "memory_pattern.mismatches"},
    {"entry_coverage_bytes", "entry_span_bytes"},
};

bool pb_name_matches(const char *pattern, const char *name)
{
    size_t length = strlen(name);

    if (fnmatch(pattern, name, 0) == 0)
        return true;
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        size_t ending = strlen(endings[i].now);
        char former[128];

        if (length < ending || strcmp(name + length - ending, endings[i].now) != 0)
            continue;
        snprintf(former, sizeof(former), "%.*s%s", (int)(length - ending), name, endings[i].before);
        return fnmatch(pattern, former, 0) == 0;
    }
    return false;
}
