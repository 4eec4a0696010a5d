/* Results of all devices as rows of /analysis/parameters. */
#ifndef PB_CLI_ANALYZE_ROWS_H
#define PB_CLI_ANALYZE_ROWS_H

#include <stdio.h>

#include "analysis/agreement/agreement.h"
#include "analysis/parameter.h"
#include "analysis/verdict/features.h"
#include "core/error.h"
#include "core/identity.h"
#include "h5schema/file.h"

/* A device that was analysed. */
struct pb_analysed {
    char key[PB_KEY_LENGTH];
    char model[PB_TEXT_LENGTH];
    struct pb_agreement_test total; /* of its agreement; see pb_agreement_total() */
    struct pb_device_info info;     /* as the driver states it; for pb_results_set_info() */
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
    struct pb_stored_metrics metrics; /* of all devices, 10 KiB each */
    size_t value_capacity;
};

/* A parameter of a device as the fleet file keeps it. */
void pb_parameter_row_of(const char *key, const struct pb_parameter *parameter,
                         struct pb_parameter_row *row_out);
void pb_agreement_row_of(const char *key, const struct pb_agreement_test *test,
                         struct pb_agreement_row *row_out);

/* PB_NO_MEMORY; PB_IO: no temporary file, or no room in it. */
enum pb_status pb_results_add(struct pb_results *results, const char *key, const char *model,
                              const struct pb_parameters *parameters,
                              const struct pb_agreement *agreement, struct pb_error *err);

/* Adds the metrics of the one device of a feature table; one without a device has none.
 * PB_NO_MEMORY. */
enum pb_status pb_results_add_metrics(struct pb_results *results,
                                      const struct pb_features *features, struct pb_error *err);
void pb_results_set_info(struct pb_results *results, const struct pb_device_info *info); /* of the
                                                                                 last one */
void pb_results_clear(struct pb_results *results); /* NULL is allowed */

/* Rows [first, first + count) into rows_out. PB_IO. */
enum pb_status pb_results_read(const struct pb_results *results, size_t first, size_t count,
                               struct pb_parameter_row *rows_out, struct pb_error *err);
enum pb_status pb_results_read_agreement(const struct pb_results *results, size_t first,
                                         size_t count, struct pb_agreement_row *rows_out,
                                         struct pb_error *err);

/*
 * Hands on the rows that a file has stored, where they are by this version of the analysis and from
 * the file as it is. PB_NOT_FOUND: there are none that hold, and err says why; else errors of
 * row().
 */
enum pb_status pb_stored_parameters(struct pb_reader *reader,
                                    enum pb_status (*row)(void *context,
                                                          const struct pb_parameter_row *row,
                                                          struct pb_error *err),
                                    void *context, struct pb_error *err);

/* Writes them as comma-separated values to a file, or to standard output for "-". */
enum pb_status pb_results_write_csv(const struct pb_results *results, const char *path,
                                    struct pb_error *err);

#endif
