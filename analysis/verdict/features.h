/*
 * The feature table: every device of a fleet as one row of numbers, ready to be compared.
 *
 * What each number was read from, and how far two readings of one device lie apart, stay with it.
 * Nothing here knows of files.
 */
#ifndef PB_ANALYSIS_VERDICT_FEATURES_H
#define PB_ANALYSIS_VERDICT_FEATURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/verdict/metric.h"
#include "core/error.h"
#include "core/identity.h"

/* One number of one device. */
struct pb_reading {
    double value;  /* NaN: not measured */
    double noise;  /* standard deviation of value between readings of this device; 0: not known */
    int64_t place; /* SM, address, peer, … that the number belongs to; -1: the whole device */
};

/* How the feature table keeps a reading: fleets with a baseline have millions. */
struct pb_stored_reading {
    double value;
    float noise;
    int32_t place; /* below -1: the feature table's far_places[-2 - place] */
};

/* One device, or one rank without a device. */
struct pb_feature_row {
    char key[PB_KEY_LENGTH]; /* HOST.gpuSLOT; empty when no device was found */
    char host[PB_KEY_LENGTH];
    int64_t rank, slot;
    char status[PB_NAME_LENGTH]; /* of its row in /fleet */
    char message[PB_MESSAGE_LENGTH];
    char missing[PB_MESSAGE_LENGTH]; /* tests that did not end well, and how, "…" where they are
                                        more than have room; empty: none */
    uint32_t endings;                /* how its tests ended: bit i for enum pb_outcome i */
    uint64_t tests;                  /* a digest of which were run, in any order; 0: none */
    size_t run; /* which of the feature table's files it is from, in the order of reading */
    double measured_seconds;    /* Unix time of its first state; 0: not known */
    bool is_own_baseline;       /* the baseline held this very measurement, which was left out */
    struct pb_device_info info; /* zeroed when there is no device */
    struct pb_stored_reading *cells; /* one per metric of the feature table */
    size_t cell_capacity;
};

struct pb_features {
    struct pb_metric *metrics;
    size_t metric_count, metric_capacity;
    struct pb_feature_row *devices;
    size_t device_count, device_capacity;
    int64_t *far_places; /* what is too large for a cell */
    size_t far_place_count, far_place_capacity;
    size_t
        next_metric; /* where pb_features_set() looks first: devices bring their numbers in order */
    bool is_mixed;   /* it has a metric by two versions of its test's method */
};

/* Adds a device without cells; *device_out is its row. PB_NO_MEMORY leaves the feature table
 * unchanged. */
enum pb_status pb_features_add_device(struct pb_features *features,
                                      const struct pb_feature_row *device, size_t *device_out,
                                      struct pb_error *err);

/*
 * Sets one number; the metric is found by name and test, or added as it is given, with tolerance
 * and traits of the catalogue where that has it. A value that is
 * not finite is not measured. PB_INVALID: that metric is there with another unit, part or domain.
 */
enum pb_status pb_features_set(struct pb_features *features, size_t device,
                               const struct pb_metric *metric, struct pb_reading reading,
                               struct pb_error *err);

/* The same in two steps, for many numbers of one metric: which one it is, then the number. */
enum pb_status pb_features_add_metric(struct pb_features *features, const struct pb_metric *metric,
                                      size_t *index_out, struct pb_error *err);
enum pb_status pb_features_put(struct pb_features *features, size_t device, size_t metric,
                               struct pb_reading reading, struct pb_error *err);

/* The cell, or one with a NaN value when it was never set. */
struct pb_reading pb_features_reading(const struct pb_features *features, size_t device,
                                      size_t metric);

/* The metric of that name, or metric_count. */
size_t pb_features_find(const struct pb_features *features, const char *name);

/*
 * The metric of this name whose evidence lies in the same test, by the same version of its method,
 * or metric_count. What two tests say are two measurements: of a miss, say, by one SM or by all of
 * them; and so is what a test says that was changed.
 */
size_t pb_features_match(const struct pb_features *features, const struct pb_metric *metric);

/* Are they one measurement but for the version of its method? */
bool pb_metric_is_other_method(const struct pb_metric *a, const struct pb_metric *b);

/* Has the device a number of this metric of the feature table, by whatever version of the method?
 */
bool pb_features_is_measured(const struct pb_features *features, size_t device, size_t metric);

/* Takes the rows out for which is_dropped[row] holds; the others keep their order. */
void pb_features_drop(struct pb_features *features, const bool *is_dropped);

/* Frees what the feature table owns and empties it; NULL is allowed. */
void pb_features_clear(struct pb_features *features);

/* May two runs be compared in it? */
bool pb_repeat_compares(const struct pb_repeat *repeat, const struct pb_feature_row *a,
                        const struct pb_feature_row *b);

#endif
