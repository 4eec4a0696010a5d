/* Metrics that show the same two parts of a group; see partition.h. */
#include "analysis/verdict/partition.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/verdict/population.h"

/* One call of pb_partitions_read(). */
struct reading {
    const struct pb_features *features;
    const struct pb_group *group;
    const struct pb_norm *norms; /* of the group */
    signed char *parts;          /* of the metric at work; PB_PART_WORSE: above its boundary */
    int *votes;                  /* of its metrics, per member: more for PB_PART_WORSE */
    double *values;              /* scratch, per member */
};

/* Of all devices that both place: how many alike. */
static size_t count_alike(const signed char *a, const signed char *b, size_t count,
                          size_t *known_out)
{
    size_t alike = 0;

    *known_out = 0;
    for (size_t i = 0; i < count; i++)
        if (a[i] != PB_PART_UNKNOWN && b[i] != PB_PART_UNKNOWN) {
            ++*known_out;
            alike += a[i] == b[i];
        }
    return alike;
}

bool pb_parts_are_same(const signed char *a, const signed char *b, size_t count)
{
    size_t known, alike = count_alike(a, b, count, &known);

    return (double)(2 * alike > known ? alike : known - alike) >= PB_SAME_SHARE * (double)known;
}

static void turn_over(signed char *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (parts[i] != PB_PART_UNKNOWN)
            parts[i] = (signed char)(1 - parts[i]);
}

static size_t count_part(const signed char *parts, size_t count, int part)
{
    size_t held = 0;

    for (size_t i = 0; i < count; i++)
        held += parts[i] == part;
    return held;
}

static void place(const struct reading *reading, size_t metric, double boundary)
{
    for (size_t i = 0; i < reading->group->member_count; i++) {
        double value =
            pb_features_reading(reading->features, reading->group->members[i], metric).value;

        reading->parts[i] = PB_PART_UNKNOWN;
        if (isfinite(value))
            reading->parts[i] = value > boundary ? PB_PART_WORSE : PB_PART_REST;
    }
}

/* The partition that the metric at work shows; a new one when there is none. */
static enum pb_status add_metric(struct reading *reading, struct pb_partitions *partitions,
                                 struct pb_error *err)
{
    size_t count = reading->group->member_count;
    struct pb_partition *partition = partitions->items;
    struct pb_partition *end = partition + partitions->count;

    while (partition < end && !pb_parts_are_same(partition->parts, reading->parts, count))
        partition++;
    if (partition == end) {
        partition->parts = malloc(count + 1);
        if (partition->parts == NULL)
            return pb_fail(err, PB_NO_MEMORY, "out of memory for %zu devices", count);
        memcpy(partition->parts, reading->parts, count);
        partitions->count++;
    }
    partition->metrics++;
    return PB_OK;
}

static double median_of(const struct pb_features *features, const struct pb_group *group,
                        const signed char *parts, int part, size_t metric, double *values)
{
    size_t held = 0;

    for (size_t i = 0; i < group->member_count; i++) {
        double value = pb_features_reading(features, group->members[i], metric).value;

        if (parts[i] == part && isfinite(value))
            values[held++] = value;
    }
    if (held < PB_POPULATION_MIN)
        return NAN;
    gsl_sort(values, 1, held);
    return gsl_stats_median_from_sorted_data(values, 1, held);
}

bool pb_partition_is_in(const struct pb_features *features, const struct pb_group *group,
                        const struct pb_partition *partition, size_t metric, double *scratch,
                        double *boundary_out)
{
    const struct pb_metric *described = &features->metrics[metric];
    double centers[2];
    size_t known = 0, alike = 0;

    for (int part = 0; part < 2; part++)
        centers[part] = median_of(features, group, partition->parts, part, metric, scratch);
    if (!(fabs(centers[PB_PART_WORSE] - centers[PB_PART_REST]) >=
          fmax(pb_metric_practical(described, centers[PB_PART_REST]), described->quantum)))
        return false;
    *boundary_out = (centers[0] + centers[1]) / 2.0;
    for (size_t i = 0; i < group->member_count; i++) {
        double value = pb_features_reading(features, group->members[i], metric).value;

        if (partition->parts[i] == PB_PART_UNKNOWN || !isfinite(value))
            continue;
        known++;
        alike += (value > *boundary_out) == (centers[partition->parts[i]] > *boundary_out);
    }
    return (double)alike >= PB_SAME_SHARE * (double)known;
}

/* Which values of a metric are the worse ones? 1: the higher, -1: the lower, 0: neither. */
static int worse_side(const struct pb_metric *metric)
{
    if (metric->better == PB_BETTER_NEITHER)
        return 0;
    return metric->better == PB_BETTER_LOWER ? 1 : -1;
}

/* In how many metrics more is PB_PART_WORSE worse than the rest? */
static int count_worse(const struct reading *reading, const struct pb_partition *partition)
{
    size_t count = reading->group->member_count;
    int votes = 0;

    for (size_t m = 0; m < reading->features->metric_count; m++) {
        int side = worse_side(&reading->features->metrics[m]);
        size_t known, alike;
        double boundary;

        if (side == 0 || !pb_partition_is_in(reading->features, reading->group, partition, m,
                                             reading->values, &boundary))
            continue;
        place(reading, m, boundary);
        alike = count_alike(partition->parts, reading->parts, count, &known);
        votes += 2 * alike > known ? side : -side;
    }
    return votes;
}

/* Places the devices by a split metric, the same way round as the partition; false where that shows
   another one. */
static bool place_alike(struct reading *reading, const struct pb_partition *partition,
                        size_t metric, bool *is_worse_out)
{
    size_t count = reading->group->member_count, known;
    bool is_same_way;

    place(reading, metric, reading->norms[metric].split_boundary);
    if (!reading->norms[metric].split ||
        !pb_parts_are_same(partition->parts, reading->parts, count))
        return false;
    is_same_way = 2 * count_alike(partition->parts, reading->parts, count, &known) > known;
    *is_worse_out = worse_side(&reading->features->metrics[metric]) == (is_same_way ? 1 : -1);
    if (!is_same_way)
        turn_over(reading->parts, count);
    return true;
}

/* Finds the metric to report, and places each device where most of the metrics place it; of as
   many each way, where the first of them does. */
static void settle(struct reading *reading, struct pb_partition *partition)
{
    size_t count = reading->group->member_count;
    double farthest = -1.0;
    bool is_worse = false, leads_worse = false;

    memset(reading->votes, 0, count * sizeof(*reading->votes));
    for (size_t m = 0; m < reading->features->metric_count; m++) {
        const struct pb_norm *norm = &reading->norms[m];
        double apart = fabs(norm->split_other - norm->center) / norm->scale;

        if (!place_alike(reading, partition, m, &is_worse))
            continue;
        for (size_t i = 0; i < count; i++)
            if (reading->parts[i] != PB_PART_UNKNOWN)
                reading->votes[i] += reading->parts[i] == PB_PART_WORSE ? 1 : -1;
        if (is_worse < leads_worse || (is_worse == leads_worse && apart <= farthest))
            continue;
        partition->lead = m;
        farthest = apart;
        leads_worse = is_worse;
    }
    for (size_t i = 0; i < count; i++)
        if (reading->votes[i] != 0)
            partition->parts[i] = reading->votes[i] > 0 ? PB_PART_WORSE : PB_PART_REST;
}

static void orient(struct reading *reading, struct pb_partition *partition)
{
    size_t count = reading->group->member_count;
    size_t worse = count_part(partition->parts, count, PB_PART_WORSE);
    size_t rest = count_part(partition->parts, count, PB_PART_REST);
    int votes = count_worse(reading, partition);

    if (votes < 0 || (votes == 0 && worse > rest))
        turn_over(partition->parts, count);
    settle(reading, partition);
}

enum pb_status pb_partitions_read(const struct pb_features *features,
                                  const struct pb_scores *scores, size_t group,
                                  struct pb_partitions *partitions_out, struct pb_error *err)
{
    struct reading reading = {.features = features,
                              .group = &scores->groups[group],
                              .norms = &scores->norms[group * scores->metric_count],
                              .parts = malloc(scores->groups[group].member_count + 1),
                              .votes = calloc(scores->groups[group].member_count + 1, sizeof(int)),
                              .values =
                                  calloc(scores->groups[group].member_count + 1, sizeof(double))};
    enum pb_status status = PB_OK;

    *partitions_out = (struct pb_partitions){
        .items = calloc(scores->metric_count + 1, sizeof(*partitions_out->items))};
    if (reading.parts == NULL || reading.votes == NULL || reading.values == NULL ||
        partitions_out->items == NULL)
        status = pb_fail(err, PB_NO_MEMORY, "out of memory for the populations of a group");
    for (size_t m = 0; m < scores->metric_count && status == PB_OK; m++) {
        if (!reading.norms[m].split)
            continue;
        place(&reading, m, reading.norms[m].split_boundary);
        status = add_metric(&reading, partitions_out, err);
    }
    for (size_t i = 0; i < partitions_out->count && status == PB_OK; i++)
        orient(&reading, &partitions_out->items[i]);
    free(reading.parts);
    free(reading.votes);
    free(reading.values);
    return status;
}

void pb_partitions_clear(struct pb_partitions *partitions)
{
    if (partitions == NULL)
        return;
    for (size_t i = 0; i < partitions->count; i++)
        free(partitions->items[i].parts);
    free(partitions->items);
    *partitions = (struct pb_partitions){0};
}

bool pb_partition_is_undecided(const struct pb_partition *partition, size_t count)
{
    size_t worse = count_part(partition->parts, count, PB_PART_WORSE);
    size_t rest = count_part(partition->parts, count, PB_PART_REST);
    double smaller = (double)(worse < rest ? worse : rest) / (double)(worse + rest);

    return smaller >= PB_EVEN_SHARE || (worse > rest && smaller >= PB_BETTER_SHARE);
}
