/* Results of all devices as rows of /analysis/parameters, and as a table for people. */
#ifndef PB_CLI_ANALYZE_ROWS_H
#define PB_CLI_ANALYZE_ROWS_H

#include <stdio.h>

#include "analysis/agreement/agreement.h"
#include "analysis/parameter.h"
#include "core/error.h"
#include "h5schema/rows.h"

/* A device that was analysed. */
struct pb_analysed {
    char key[PB_KEY_LENGTH];
    char model[PB_TEXT_LENGTH];
    struct pb_agreement_test total; /* of its agreement; see pb_agreement_total() */
};

/*
 * Every device has the same parameters in the same order, memory by memory: row d * parameter_count
 * + p. They lie in a temporary file: 55 KB a device would be much memory for a large fleet.
 */
struct pb_results {
    struct pb_analysed *devices;
    FILE *rows; /* NULL: none yet */
    size_t device_count, parameter_count;
    FILE *agreement; /* likewise; as many rows of each device as it has replayed tests */
    size_t agreement_count;
};

/* A parameter of a device as the fleet file keeps it. */
void pb_parameter_row_of(const char *key, const struct pb_parameter *parameter,
                         struct pb_parameter_row *row_out);

/* PB_NO_MEMORY; PB_IO: no temporary file, or no room in it. */
enum pb_status pb_results_add(struct pb_results *results, const char *key, const char *model,
                              const struct pb_parameters *parameters,
                              const struct pb_agreement *agreement, struct pb_error *err);
void pb_results_clear(struct pb_results *results); /* NULL is allowed */

/* Rows [first, first + count) into rows_out. PB_IO. */
enum pb_status pb_results_read(const struct pb_results *results, size_t first, size_t count,
                               struct pb_parameter_row *rows_out, struct pb_error *err);
enum pb_status pb_results_read_agreement(const struct pb_results *results, size_t first,
                                         size_t count, struct pb_agreement_row *rows_out,
                                         struct pb_error *err);

/*
 * One table per model. Devices that agree are folded into one line, with the span of their
 * intervals and their lowest confidence; each one that differs has a line of its own below.
 *
 * PB_NO_MEMORY, PB_IO
 */
enum pb_status pb_results_print(const struct pb_results *results, FILE *file, struct pb_error *err);

#endif
