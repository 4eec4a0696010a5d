/* Rows and attribute sets of the fleet file that no other layer defines. */
#ifndef PB_H5SCHEMA_ROWS_H
#define PB_H5SCHEMA_ROWS_H

#include <stdint.h>

#include "core/rows.h"

enum pb_member_status {
    PB_MEMBER_OK,
    PB_MEMBER_PARTIAL,
    PB_MEMBER_FAILED,
    PB_MEMBER_HUNG,
    PB_MEMBER_CRASHED,
    PB_MEMBER_LOST,
    PB_MEMBER_ABSENT,
    PB_MEMBER_DUPLICATE,
};

const char *pb_member_status_name(enum pb_member_status status);

/* Attributes of a test's group. */
struct pb_test_row {
    char name[PB_NAME_LENGTH];
    char status[PB_NAME_LENGTH]; /* pb_outcome_name */
    char unit[PB_NAME_LENGTH];
    char method[PB_TEXT_LENGTH];
    char message[PB_MESSAGE_LENGTH];
    double seconds;
    double overhead_cycles;
    int64_t sm_id;
    int64_t concurrent_devices;
    uint64_t method_version;
};

/* The row of /analysis/source: what the other tables of /analysis were made by, and from. */
struct pb_analysis_source {
    char version[PB_NAME_LENGTH]; /* of the analysis */
    uint64_t input_digest;        /* of the file but for /analysis; see h5schema/metrics.c */
    uint64_t metrics_digest;      /* of the rows of analysed_devices, metrics and metric_values */
};

/* A row of /analysis/analysed_devices: what the metrics of a device go with. */
struct pb_analysed_device {
    char device[PB_KEY_LENGTH];
    char missing[PB_MESSAGE_LENGTH]; /* tests that did not end well, and how */
    uint64_t outcomes;               /* how its tests ended: bit i for enum pb_outcome i */
    uint64_t battery;                /* a digest of which tests were run */
    double measured_seconds;         /* Unix time of its first state; 0: not known */
};

/* A row of /analysis/metrics: a number that devices are compared by. */
struct pb_stored_metric {
    char name[2 * PB_NAME_LENGTH];
    char test[PB_NAME_LENGTH]; /* where the evidence lies; empty: the state */
    char unit[PB_NAME_LENGTH];
    uint64_t method_version; /* of the test; 0: its first */
};

/* A row of /analysis/metric_values: one number of one device. */
struct pb_metric_value {
    uint32_t device; /* row of analysed_devices */
    uint32_t metric; /* row of metrics */
    double value, noise;
    double quantum; /* smallest step of this number where it is not the catalogue's; 0: it is */
    int64_t place;  /* SM, address, peer, … that the number belongs to; -1: the whole device */
};

/* A row of /analysis/finding_members: one device that a finding is about. */
struct pb_finding_member {
    uint64_t finding;           /* row of /analysis/findings */
    char device[PB_KEY_LENGTH]; /* key */
};

#endif
