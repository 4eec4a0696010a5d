/* Cells of comma-separated values. */
#ifndef PB_CLI_CSV_H
#define PB_CLI_CSV_H

#include <stdio.h>

/* In quotes, those within doubled. */
void pb_csv_put_quoted(const char *text, FILE *file);
/* In quotes only where it has to be. */
void pb_csv_put_text(const char *text, FILE *file);
/* With so many digits; empty where it is not known. */
void pb_csv_put_number(double value, int digits, FILE *file);

#endif
