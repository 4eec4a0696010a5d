/*
 * The report: one HTML page about a fleet and its devices, self-contained and readable without
 * script. Plain structures in, a page out; nothing here knows of files of the fleet.
 *
 * A page has the verdict, a map of nodes and GPUs, the findings with their evidence drawn, a table
 * of all devices, and for a representative of each model (or the one device that was requested) the
 * drawn memory hierarchy and the figures of figures.c.
 */
#ifndef PB_ANALYSIS_REPORT_REPORT_H
#define PB_ANALYSIS_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/verdict/score.h"
#include "core/error.h"
#include "core/identity.h"
#include "core/rows.h"

/* The columns of the table of all devices. */
enum {
    PB_REPORT_SM_MHZ,
    PB_REPORT_L1_LATENCY,
    PB_REPORT_L2_LATENCY,
    PB_REPORT_DRAM_LATENCY,
    PB_REPORT_DRAM_PEAK,
    PB_REPORT_LINK_PEAK,
    PB_REPORT_COLUMNS
};

/* Which parameter a column shows. */
struct pb_report_column {
    const char *memory, *parameter, *unit, *label;
};
extern const struct pb_report_column pb_report_columns[PB_REPORT_COLUMNS];

/* A rank and its device. */
struct pb_report_device {
    const struct pb_member *member;
    bool is_recorded;                    /* the file has a group of it */
    double columns[PB_REPORT_COLUMNS];   /* NaN: undetermined */
    struct pb_parameter_row *parameters; /* of those that are shown in detail */
    size_t parameter_count;
};

struct pb_report_finding {
    const struct pb_finding_row *row;
    enum pb_severity severity;
    const size_t *members; /* [member_count] devices that deviate */
    size_t member_count;
    /* The metric as each device has it, where the parameters state it; NULL: from the recordings.
     */
    const double *numbers;
};

struct pb_report {
    const char *file; /* its name, without folders */
    const struct pb_run *run;
    const struct pb_report_device *devices; /* by node and slot */
    size_t device_count;
    const struct pb_report_finding *findings; /* worst first */
    size_t finding_count;
    bool is_judged; /* else `unjudged` says why there are no findings */
    const char *unjudged;
    const size_t *detailed; /* [detailed_count] devices shown in detail */
    size_t detailed_count;
    bool is_one_device; /* a page of it alone */
};

/* Where the page gets what was recorded; device is an index into report->devices. */
struct pb_report_source {
    void *context;
    enum pb_status (*recording)(void *context, size_t device, const char *test,
                                struct pb_recording *recording_out, struct pb_error *err);
    enum pb_status (*info)(void *context, size_t device, struct pb_device_info *info_out,
                           struct pb_error *err);
    /* free() the rows */
    enum pb_status (*states)(void *context, size_t device, struct pb_state **states_out,
                             size_t *count_out, struct pb_error *err);
    /* free() the rows. PB_NOT_FOUND: the file has none. */
    enum pb_status (*agreement)(void *context, size_t device, struct pb_agreement_row **rows_out,
                                size_t *count_out, struct pb_error *err);
};

/* Findings whose evidence is drawn; further ones are text. */
enum { PB_REPORT_FINDINGS_DRAWN = 12 };

/* What every report begins with, and how it is known again. */
extern const char pb_report_opening[];

/*
 * Writes the page. What cannot be read or drawn is named with its reason, in the place where it
 * would have been. PB_NO_MEMORY is the only error; whether all was written shows in ferror(file).
 */
enum pb_status pb_report_write(const struct pb_report *report,
                               const struct pb_report_source *source, FILE *file,
                               struct pb_error *err);

/* Of a fleet of so many devices: how many of them a page shows in detail at most. */
size_t pb_report_details_max(size_t device_count);

/* The worst finding of each device and of all; worst_out has a place for each device. */
enum pb_severity pb_report_judge(const struct pb_report *report, enum pb_severity *worst_out);

#endif
