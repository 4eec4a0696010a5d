/* Private to the report: its style feature table. */
#ifndef PB_ANALYSIS_REPORT_STYLE_H
#define PB_ANALYSIS_REPORT_STYLE_H

extern const char *const pb_report_style[]; /* pieces of one text, NULL at the end */

#endif
