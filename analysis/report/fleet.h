/* Private to the report: what a page says of the fleet as a whole. */
#ifndef PB_ANALYSIS_REPORT_FLEET_H
#define PB_ANALYSIS_REPORT_FLEET_H

#include "analysis/report/page.h"
#include "analysis/report/report.h"

extern const char *const pb_report_severity_symbols[]; /* besides the colour */

/* The verdict in two lines. worst[device_count], all: pb_report_judge(). */
void pb_fleet_write_verdict(const struct pb_report *report, const enum pb_severity *worst,
                            enum pb_severity all, struct pb_page *page);

/* Nodes × GPUs as a map. */
void pb_fleet_write_map(const struct pb_report *report, const enum pb_severity *worst,
                        struct pb_page *page);

/* What to type to drain the nodes that a finding would drain. */
void pb_fleet_write_drains(const struct pb_report *report, struct pb_page *page);

/* All devices as rows. */
void pb_fleet_write_table(const struct pb_report *report, const enum pb_severity *worst,
                          struct pb_page *page);

/* evidence.c: a finding's drawings; none where nothing can be drawn. */
void pb_evidence_write(const struct pb_report *report, const struct pb_report_source *source,
                       const struct pb_report_finding *finding, struct pb_page *page);

#endif
