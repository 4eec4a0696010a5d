/*
 * References: where the numbers of healthy devices of a model lay that were recorded before.
 *
 * They are weak peers: few devices, of other nodes and perhaps another driver. They answer "is this
 * value normal" where a group has too few peers of its own, and never give more than a WARNING.
 */
#ifndef PB_ANALYSIS_VERDICT_REFERENCE_H
#define PB_ANALYSIS_VERDICT_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/verdict/features.h"

struct pb_reference_number {
    char name[PB_METRIC_NAME_LENGTH];
    char test[PB_NAME_LENGTH];
    char unit[PB_NAME_LENGTH];
    uint64_t method_version; /* of the test; 0: its first */
    size_t devices, readings;
    double center;    /* median of the devices' medians */
    double device_sd; /* between devices; NaN: of one device */
    double run_sd;    /* between readings of a device; NaN: not known */
};

struct pb_reference {
    char model[PB_TEXT_LENGTH];
    char driver[PB_NAME_LENGTH];
    char measured[PB_NAME_LENGTH]; /* date */
    size_t devices;
    struct pb_reference_number *numbers;
    size_t count;
};

struct pb_references {
    struct pb_reference *items;
    size_t count;
};

/* The reference of a model; NULL: there is none. */
const struct pb_reference *pb_reference_find(const struct pb_references *references,
                                             const char *model);

/* Its number of a metric; NULL: none, or in another unit. */
const struct pb_reference_number *pb_reference_number_of(const struct pb_reference *reference,
                                                         const struct pb_metric *metric);

/*
 * How far from its center a healthy device may lie, in the metric's unit: a prediction interval at
 * probability p (two-sided) by Student's t with the devices' degrees of freedom, never less than
 * two practical sizes. One device does not show how devices differ: four practical sizes are
 * granted beside what its own readings differ by.
 */
double pb_reference_range(const struct pb_reference_number *number, const struct pb_metric *metric,
                          double p);

void pb_references_clear(struct pb_references *references); /* NULL is allowed */

#endif
