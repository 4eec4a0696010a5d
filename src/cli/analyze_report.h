/*
 * The JSON of plumb-analyze (design 3.3), written device by device so that its size is no matter.
 *
 * It grows in a temporary file. Committing gives it its name at once; until then nothing of the old
 * one is touched. "-" and what is no regular file get the whole text at the end.
 */
#ifndef PB_CLI_ANALYZE_REPORT_H
#define PB_CLI_ANALYZE_REPORT_H

#include "analysis/agreement/agreement.h"
#include "analysis/parameter.h"
#include "core/error.h"
#include "core/identity.h"

struct pb_analysis_report;

/*
 * Starts a report. PB_EXISTS: path holds something that is no such report. PB_IO: its folder cannot
 * be written.
 */
enum pb_status pb_report_open(const char *path, struct pb_analysis_report **report_out,
                              struct pb_error *err);

/* Adds a device with what its driver states, all its parameters, and how much of its accesses they
 * predict. */
enum pb_status pb_report_add(struct pb_analysis_report *report, const char *key, const char *model,
                             const struct pb_device_info *info,
                             const struct pb_parameters *parameters,
                             const struct pb_agreement *agreement, struct pb_error *err);

/* Finishes it and gives it its name. The report is gone either way. */
enum pb_status pb_report_commit(struct pb_analysis_report *report, struct pb_error *err);

/* Throws it away; NULL is allowed. */
void pb_report_abandon(struct pb_analysis_report *report);

#endif
