/* Rows and attribute sets of the fleet file that are more than what is stored: pages show them. */
#ifndef PB_CORE_ROWS_H
#define PB_CORE_ROWS_H

#include <stdint.h>

#include "core/record.h"

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

#endif
