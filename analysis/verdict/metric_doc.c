/* Prints docs/metrics.md from the metric catalogue; a test compares it with the file in the tree.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/verdict/metric.h"

static const char *const better[] = {
    [PB_BETTER_LOWER] = "lower", [PB_BETTER_HIGHER] = "higher", [PB_BETTER_NEITHER] = "neither"};

/* Shifts of counts and states are in the metric's unit, those of fractions absolute. */
static void print_size(const struct pb_metric *metric, double size)
{
    if (metric->domain == PB_DOMAIN_COUNT || metric->domain == PB_DOMAIN_STATE)
        printf(" %g %s |", size, metric->unit);
    else if (metric->domain == PB_DOMAIN_FRACTION)
        printf(" %g |", size);
    else
        printf(" %g%% |", 100.0 * size);
}

static void print_traits(uint64_t traits)
{
    static const char *const names[] = {
#define TRAIT(name) #name,
        PB_METRIC_TRAITS(TRAIT)
#undef TRAIT
    };
    const char *separator = " ";

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if ((traits >> i & 1) == 0)
            continue;
        printf("%s", separator);
        for (const char *at = names[i]; *at != '\0'; at++)
            putchar(*at >= 'A' && *at <= 'Z' ? *at - 'A' + 'a' : *at);
        separator = ", ";
    }
    printf(" |");
}

static void print_row(const struct pb_metric_row *row)
{
    const struct pb_metric *metric = &row->metric;

    printf("| `%s` | %s | %s | %s |", metric->name, metric->unit, pb_part_name(metric->part),
           better[metric->better]);
    print_size(metric, metric->practical);
    print_size(metric, pb_repeat_of(metric).warning);
    print_traits(metric->traits);
    if (row->varies[0] == '\0' || strcmp(row->varies, "*") == 0)
        printf(" %s |\n", row->description);
    else
        printf(" %s; not by `%s` |\n", row->description, row->varies);
}

int main(void)
{
    printf("# Metrics: the numbers that devices are compared by\n\n"
           "Made from `analysis/verdict/metric_rows.h` and `src/core/state_fields.h` by "
           "`pb-metric-doc`; do not edit.\n\n"
           "A shift below the *practical* size needs no action, however certain it is. Two runs of "
           "one healthy device may lie\napart by the *run-to-run* tolerance. Both are relative "
           "where they are percentages, else absolute and in the metric's\nunit. A list has a "
           "metric for each element, with its number behind the name. *Traits* say how runs "
           "compare\n(`same_battery`: only with runs of the same tests; `only_warns`: a WARNING at "
           "most against a device's own history)\nand what the causes of "
           "[verdicts.md](verdicts.md) read from the metric.\n\n"
           "| metric | unit | component | better | practical | run-to-run | traits | what |\n"
           "|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < pb_metric_row_count; i++)
        if (pb_metric_rows[i].metric.name[0] != '\0')
            print_row(&pb_metric_rows[i]);
    return 0;
}
