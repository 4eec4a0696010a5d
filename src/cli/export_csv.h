/*
 * Private to plumb-export: tables, accesses and matrices as comma-separated values (RFC 4180, lines
 * end with a line feed). The first line names the columns, with units as "latency [cycle]".
 */
#ifndef PB_CLI_EXPORT_CSV_H
#define PB_CLI_EXPORT_CSV_H

#include <stdio.h>

#include "cli/atomic_file.h"
#include "core/record.h"
#include "h5schema/schema.h"

extern const struct pb_atomic_file_kind pb_export_kind;

/* Rows of a table, a column for each field of the schema. */
void pb_export_rows(const struct pb_object *object, const void *rows, size_t count, FILE *file);

/* Each access of each traced chase: the row of its chase, where and how long, stamps' cost taken
 * off. */
void pb_export_accesses(const struct pb_series *series, FILE *file);

/* A row for each cell that was measured: its place on each axis, and the value. */
void pb_export_matrix(const struct pb_matrix *matrix, FILE *file);

/* How each test ended, a row each. */
void pb_export_tests_begin(FILE *file);
void pb_export_test(const struct pb_recording *recording, FILE *file);

#endif
