/* plumb's trace files as the cache model reads traces: h5schema's reader behind the interface. */
#ifndef PB_CLI_MODEL_TRACE_H
#define PB_CLI_MODEL_TRACE_H

#include "analysis/kernel/trace.h"

/* Any trace, recognised by its content; pb_trace_close() it. */
enum pb_status pb_model_trace_open(const char *path, struct pb_trace *trace_out,
                                   struct pb_error *err);

#endif
