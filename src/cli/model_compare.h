/*
 * The model against hardware counters, kernel by kernel: plumb's, simpler caches, a stack-distance
 * probability model, and plumb's with one extension less each.
 */
#ifndef PB_CLI_MODEL_COMPARE_H
#define PB_CLI_MODEL_COMPARE_H

#include <jansson.h>
#include <stdio.h>

#include "analysis/kernel/predict.h"

struct pb_compare;

/* Reads the counters. PB_INVALID: see pb_counters_read(). */
enum pb_status pb_compare_open(const char *path, struct pb_compare **compare_out,
                               struct pb_error *err);
void pb_compare_close(struct pb_compare *compare); /* NULL is allowed */

/* The trace's current kernel, if counters of it are left: the n-th of a name with the n-th row. */
enum pb_status pb_compare_kernel(struct pb_compare *compare, const struct pb_trace *trace,
                                 const struct pb_machine *machine,
                                 const struct pb_predict_options *options,
                                 const struct pb_prediction *prediction, struct pb_error *err);

/* Prints the table (out may be NULL). PB_INVALID: no kernel of the traces has counters. */
enum pb_status pb_compare_end(const struct pb_compare *compare, FILE *out, struct pb_error *err);

/* The document's "comparison". */
json_t *pb_compare_json(const struct pb_compare *compare);

#endif
