/*
 * Partitions: a group of devices in two parts, as one or more metrics distinguish them.
 *
 * Metrics that place the devices alike show one partition, whichever of the parts is the worse one
 * in each: a slow clock lengthens ns and shortens cycles of DRAM.
 */
#ifndef PB_ANALYSIS_VERDICT_PARTITION_H
#define PB_ANALYSIS_VERDICT_PARTITION_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/verdict/features.h"
#include "analysis/verdict/score.h"

enum { PB_PART_UNKNOWN = -1, PB_PART_REST, PB_PART_WORSE };

/* Two metrics show the same parts where they place so many of the devices alike. */
#define PB_SAME_SHARE 0.8

struct pb_partition {
    signed char *parts; /* where most metrics place each member. PB_PART_WORSE: the part that is
                           worse in more of them; where that does not decide, the smaller one */
    size_t lead;        /* the split metric whose parts lie farthest apart, in scales; of those in
                           which PB_PART_WORSE is the worse one, where there are any */
    size_t metrics;     /* split metrics that show it */
};

struct pb_partitions {
    struct pb_partition *items;
    size_t count;
};

/*
 * The partitions of a group by its split metrics (pb_norm.split).
 *
 * partitions_out  for pb_partitions_clear(), whatever is returned
 *
 * PB_NO_MEMORY is the only error.
 */
enum pb_status pb_partitions_read(const struct pb_features *features,
                                  const struct pb_scores *scores, size_t group,
                                  struct pb_partitions *partitions_out, struct pb_error *err);

void pb_partitions_clear(struct pb_partitions *partitions); /* NULL is allowed */

/* Do these place nearly all devices alike, or all the other way round? */
bool pb_parts_are_same(const signed char *a, const signed char *b, size_t count);

/* Which of the parts is the healthy one cannot be decided: near halves, or the smaller part is the
 * better one. */
bool pb_partition_is_undecided(const struct pb_partition *partition, size_t count);

/* Do the parts lie apart in this metric by its practical size at least, and nearly all devices
 * nearer to their own part? boundary_out: between them. scratch: [member_count] */
bool pb_partition_is_in(const struct pb_features *features, const struct pb_group *group,
                        const struct pb_partition *partition, size_t metric, double *scratch,
                        double *boundary_out);

#endif
