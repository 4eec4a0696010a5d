/* Comma-separated values; see csv.h. */
#include "cli/csv.h"

#include <math.h>
#include <string.h>

void pb_csv_put_quoted(const char *text, FILE *file)
{
    fputc('"', file);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            fputc('"', file);
        fputc(*text, file);
    }
    fputc('"', file);
}

void pb_csv_put_text(const char *text, FILE *file)
{
    if (strpbrk(text, ",\"\n\r") != NULL)
        pb_csv_put_quoted(text, file);
    else
        fputs(text, file);
}

void pb_csv_put_number(double value, int digits, FILE *file)
{
    if (isfinite(value))
        fprintf(file, "%.*g", digits, value);
}
