/* Median polish of a table with holes; see attribute.h. */
#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/verdict/attribute.h"

enum { POLISH_ROUNDS = 8 };

static double median_in(double *values, size_t count)
{
    if (count == 0)
        return 0.0;
    gsl_sort(values, 1, count);
    return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2.0;
}

/* Takes the median off every line of a table, lines being rows or columns. */
static void sweep_lines(size_t lines, size_t length, size_t line_step, size_t step, double *values,
                        double *scratch, double *effect)
{
    for (size_t i = 0; i < lines; i++) {
        double *line = values + i * line_step, median;
        size_t count = 0;

        for (size_t k = 0; k < length; k++)
            if (!isnan(line[k * step]))
                scratch[count++] = line[k * step];
        median = median_in(scratch, count);
        for (size_t k = 0; k < length; k++)
            line[k * step] -= median;
        effect[i] += median;
    }
}

enum pb_status pb_median_polish(size_t rows, size_t columns, double *values_inout, double *row_out,
                                double *column_out, struct pb_error *err)
{
    double *scratch = malloc((rows + columns + 1) * sizeof(*scratch));

    if (scratch == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory to fit %zu nodes", rows);
    memset(row_out, 0, rows * sizeof(*row_out));
    memset(column_out, 0, columns * sizeof(*column_out));
    for (int round = 0; round < POLISH_ROUNDS; round++) {
        /* Columns first: most devices are healthy, so a slot's median is that of healthy ones. */
        sweep_lines(columns, rows, 1, columns, values_inout, scratch, column_out);
        sweep_lines(rows, columns, columns, 1, values_inout, scratch, row_out);
    }
    free(scratch);
    return PB_OK;
}
