/*
 * Private to plumb-report: from a fleet file to what a report is made of. What the file lacks of
 * its analysis is made up for, as plumb-analyze and plumb-outliers would.
 */
#ifndef PB_CLI_REPORT_READ_H
#define PB_CLI_REPORT_READ_H

#include "analysis/report/report.h"
#include "cli/outliers.h"
#include "cli/source.h"
#include "h5schema/file.h"

struct pb_report_input {
    const char *path;
    struct pb_reader *reader; /* while the page is written */
    struct pb_run run;
    struct pb_fleet_list list;        /* by node and slot */
    struct pb_finding_row *rows;      /* [finding_count] */
    struct pb_finding_member *stored; /* [stored_count] as the file has them */
    size_t stored_count;
    struct pb_ruling ruling; /* where the file had no findings */
    bool is_ruled;
    bool is_inferred; /* parameters and agreement are of this run of the program */
    struct pb_agreement_row *agreement; /* [agreement_count] where they are, of the shown devices */
    size_t agreement_count;
    struct pb_report_device *devices;
    struct pb_report_finding *findings;
    double **numbers; /* [finding_count] of the metric, by device; NULL: from no parameter */
    size_t *detailed;
    struct pb_report report;
    struct pb_report_source source;
};

/* Called before devices are analysed because the file lacks something. */
typedef void pb_report_announce(const char *path, const char *lacking, size_t devices);

/*
 * Reads all that a page needs.
 *
 * device    a page of it alone; NULL: of the fleet
 * policy    judge by this file, whatever findings the fleet file has; NULL: by none
 * announce  called before devices are analysed, which takes time; NULL: not
 *
 * pb_report_input_clear() it, on failure too. PB_INVALID: no fleet file, or no such device.
 */
enum pb_status pb_report_read(const char *path, const char *device, const char *policy,
                              pb_report_announce *announce, struct pb_report_input *input_out,
                              struct pb_error *err);

void pb_report_input_clear(struct pb_report_input *input);

#endif
