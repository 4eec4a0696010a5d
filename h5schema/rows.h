/* Rows and attribute sets of the fleet file that no other layer defines. */
#ifndef PB_H5SCHEMA_ROWS_H
#define PB_H5SCHEMA_ROWS_H

#include <stdint.h>

#include "core/record.h"

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

/* A row of /fleet: one expected rank and what became of its device. */
struct pb_member {
    int64_t rank;
    char host[PB_KEY_LENGTH];
    int64_t slot;
    char key[PB_KEY_LENGTH]; /* HOST.gpuSLOT; empty when no device was found */
    char uuid[PB_TEXT_LENGTH];
    char pci_bus_id[PB_NAME_LENGTH];
    char model[PB_TEXT_LENGTH];
    char status[PB_NAME_LENGTH]; /* pb_member_status_name */
    uint64_t tests_ok, tests_failed;
    double seconds;
    char message[PB_MESSAGE_LENGTH];
};

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

/* Attributes of the root. */
struct pb_run {
    int64_t schema_version;
    char tool_version[PB_NAME_LENGTH];
    char run_id[PB_TEXT_LENGTH];
    char created[PB_NAME_LENGTH]; /* UTC */
    char command_line[512];
    int64_t complete; /* 1: every member is ok */
};

/* A row of /analysis/parameters. */
struct pb_parameter_row {
    char device[PB_KEY_LENGTH];
    char memory[PB_NAME_LENGTH];
    char parameter[PB_NAME_LENGTH];
    char value[PB_MESSAGE_LENGTH]; /* as text: a number, a list or a word; empty: not determined */
    double number;                 /* the same where it is one number, else NaN */
    char unit[PB_NAME_LENGTH];
    double low, high, confidence;
    char method[PB_MESSAGE_LENGTH];
    char evidence[PB_MESSAGE_LENGTH]; /* a path in this file */
    char reason[PB_MESSAGE_LENGTH];   /* why there is no value */
};

/* A row of /analysis/agreement: how much of a test's accesses a device's parameters predict. */
struct pb_agreement_row {
    char device[PB_KEY_LENGTH];
    char test[PB_NAME_LENGTH];
    uint64_t accesses, agreed, contradicted, undetermined;
    char parameter[PB_TEXT_LENGTH]; /* what most of the undetermined ones lack; empty: there are
                                       none */
    uint64_t parameter_accesses;    /* how many lack just that */
    uint64_t worst_point;           /* row of the test's points: the chase that agrees least */
    uint64_t worst_accesses, worst_contradicted;
    char reasons[PB_MESSAGE_LENGTH]; /* all that they lack, with shares; empty: not known */
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

/* A row of /analysis/findings: one verdict, worst first. */
struct pb_finding_row {
    char severity[PB_NAME_LENGTH]; /* OK, WARNING, CRITICAL, UNKNOWN */
    char level[PB_NAME_LENGTH];    /* access, sm, device, slot, node, population, fleet */
    char place[PB_TEXT_LENGTH];
    char host[PB_KEY_LENGTH];   /* empty: several */
    char device[PB_KEY_LENGTH]; /* key; empty: several or none */
    char model[PB_TEXT_LENGTH];
    char cause[PB_NAME_LENGTH];
    char metric[PB_TEXT_LENGTH]; /* the one that moved most; empty: none */
    char unit[PB_NAME_LENGTH];   /* of value and expected */
    double value, expected, shift, sigmas, p;
    uint64_t metrics, peers;
    int64_t drain; /* 1: the node should take no more work */
    char summary[PB_MESSAGE_LENGTH];
    char evidence[PB_MESSAGE_LENGTH];
    char evidence_path[PB_MESSAGE_LENGTH]; /* a path in this file */
    char advice[PB_MESSAGE_LENGTH];
};

/* A row of /analysis/finding_members: one device that a finding is about. */
struct pb_finding_member {
    uint64_t finding;           /* row of /analysis/findings */
    char device[PB_KEY_LENGTH]; /* key */
};

#endif
