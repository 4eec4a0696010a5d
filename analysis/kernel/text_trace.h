/* Private to the readers of text traces: their constructors. */
#ifndef PB_ANALYSIS_KERNEL_TEXT_TRACE_H
#define PB_ANALYSIS_KERNEL_TEXT_TRACE_H

#include "analysis/kernel/text.h"
#include "analysis/kernel/trace.h"

/* Each takes the text, which stands before its first line, also when it fails. */
enum pb_status pb_n14_open(struct pb_text *text, struct pb_trace *trace_out, struct pb_error *err);
enum pb_status pb_accelsim_open(struct pb_text *text, struct pb_trace *trace_out,
                                struct pb_error *err);

#endif
