/* The parameters of all devices as comma-separated values, for those without HDF5 and JSON. */
#include "cli/analyze_rows.h"
#include "cli/atomic_file.h"
#include "cli/csv.h"

static const char header[] =
    "device,model,memory,parameter,value,unit,low,high,confidence,method,evidence,reason\n";

static const struct pb_atomic_file_kind csv_kind = {.name = "a table of plumb-analyze --csv",
                                                    .opening = header};

static void put_text(const char *text, FILE *file)
{
    pb_csv_put_text(text, file);
    fputc(',', file);
}

static void put_number(double value, FILE *file)
{
    pb_csv_put_number(value, 10, file);
    fputc(',', file);
}

static void put_row(const struct pb_parameter_row *row, const char *model, FILE *file)
{
    put_text(row->device, file);
    put_text(model, file);
    put_text(row->memory, file);
    put_text(row->parameter, file);
    put_text(row->value, file);
    put_text(row->unit, file);
    put_number(row->low, file);
    put_number(row->high, file);
    put_number(row->confidence, file);
    put_text(row->method, file);
    put_text(row->evidence, file);
    pb_csv_put_quoted(row->reason, file);
    fputc('\n', file);
}

enum pb_status pb_results_write_csv(const struct pb_results *results, const char *path,
                                    struct pb_error *err)
{
    struct pb_atomic_file *output = NULL;
    enum pb_status status = pb_atomic_file_open(path, &csv_kind, &output, err);
    size_t count = results->device_count * results->parameter_count;

    if (status != PB_OK)
        return status;
    fputs(header, pb_atomic_file_stream(output));
    for (size_t i = 0; i < count && status == PB_OK; i++) {
        struct pb_parameter_row row;

        status = pb_results_read(results, i, 1, &row, err);
        if (status == PB_OK)
            put_row(&row, results->devices[i / results->parameter_count].model,
                    pb_atomic_file_stream(output));
    }
    if (status == PB_OK)
        return pb_atomic_file_commit(output, err);
    pb_atomic_file_abandon(output);
    return status;
}
