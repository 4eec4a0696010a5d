/* /analysis/parameters and /analysis/agreement: what plumb-analyze found, beside the raw data. */
#include "h5schema/extend.h"
#include "h5schema/file.h"
#include "h5schema/fleet.h"
#include "h5schema/metrics.h"
#include "h5schema/object.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS_AT_ONCE = 256 };

/* Takes a table away where there is one. */
static void drop(hid_t analysis, const char *name)
{
    if (H5Lexists(analysis, name, H5P_DEFAULT) > 0)
        H5Ldelete(analysis, name, H5P_DEFAULT);
}

static enum pb_status append_parameters(hid_t analysis, const struct pb_parameter_source *source,
                                        struct pb_error *err)
{
    const struct pb_object *object = pb_schema_find("/analysis/parameters");
    struct pb_parameter_row *rows = calloc(ROWS_AT_ONCE, sizeof(*rows));
    enum pb_status status = PB_OK;

    if (rows == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %d rows", ROWS_AT_ONCE);
    for (size_t count = 1, written = 0; status == PB_OK && count > 0; written += count) {
        status = source->next(source->context, rows, ROWS_AT_ONCE, &count, err);
        if (status == PB_OK && (count > 0 || written == 0)) /* a table of no rows is one too */
            status = pb_h5_append_rows(analysis, "parameters", object, rows, count, err);
    }
    free(rows);
    return status;
}

static enum pb_status append_agreement(hid_t analysis, const struct pb_parameter_source *source,
                                       struct pb_error *err)
{
    const struct pb_object *object = pb_schema_find("/analysis/agreement");
    struct pb_agreement_row *rows = calloc(ROWS_AT_ONCE, sizeof(*rows));
    enum pb_status status = PB_OK;

    if (rows == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %d rows", ROWS_AT_ONCE);
    for (size_t count = 1, written = 0; status == PB_OK && count > 0; written += count) {
        status = source->next_agreement(source->context, rows, ROWS_AT_ONCE, &count, err);
        if (status == PB_OK && (count > 0 || written == 0))
            status = pb_h5_append_rows(analysis, "agreement", object, rows, count, err);
    }
    free(rows);
    return status;
}

/* Parameters replace what was replayed by others. */
static enum pb_status replace(hid_t analysis, void *context, struct pb_error *err)
{
    const struct pb_parameter_source *source = context;
    enum pb_status status;

    pb_h5_drop_metrics(analysis);
    drop(analysis, "parameters");
    drop(analysis, "agreement");
    status = append_parameters(analysis, source, err);
    if (status == PB_OK && source->next_agreement != NULL)
        status = append_agreement(analysis, source, err);
    if (status == PB_OK && source->metrics != NULL)
        status = pb_h5_write_metrics(analysis, source->metrics, err);
    return status;
}

/* What the tables were made from can be read when they are written. */
static enum pb_status add_source(hid_t analysis, const char *copy, void *context,
                                 struct pb_error *err)
{
    const struct pb_parameter_source *source = context;

    return source->metrics == NULL
               ? PB_OK
               : pb_h5_write_analysis_source(analysis, copy, source->metrics, source->version, err);
}

enum pb_status pb_file_write_parameters_from(const char *path,
                                             const struct pb_parameter_source *source,
                                             struct pb_error *err)
{
    struct pb_parameter_source own = *source;

    return pb_file_extend(path, replace, add_source, &own, err);
}

/* Rows that are there already, handed on a piece at a time. */
struct rows {
    const struct pb_parameter_row *rows;
    size_t count;
};

static enum pb_status next_of_rows(void *context, struct pb_parameter_row *rows, size_t capacity,
                                   size_t *count_out, struct pb_error *err)
{
    struct rows *left = context;
    size_t count = left->count < capacity ? left->count : capacity;

    (void)err;
    for (size_t i = 0; i < count; i++)
        rows[i] = left->rows[i];
    left->rows += count;
    left->count -= count;
    *count_out = count;
    return PB_OK;
}

enum pb_status pb_file_write_parameters(const char *path, const struct pb_parameter_row *rows,
                                        size_t count, struct pb_error *err)
{
    struct rows left = {rows, count};
    struct pb_parameter_source source = {&left, next_of_rows, NULL, NULL, NULL};

    return pb_file_write_parameters_from(path, &source, err);
}

struct visit {
    enum pb_status (*row)(void *context, const struct pb_parameter_row *row, struct pb_error *err);
    void *context;
};

static enum pb_status visit_rows(void *context, const void *rows, size_t count,
                                 struct pb_error *err)
{
    const struct visit *visit = context;
    const struct pb_parameter_row *parameters = rows;
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < count && status == PB_OK; i++)
        status = visit->row(visit->context, &parameters[i], err);
    return status;
}

enum pb_status pb_reader_parameters(struct pb_reader *reader,
                                    enum pb_status (*row)(void *context,
                                                          const struct pb_parameter_row *row,
                                                          struct pb_error *err),
                                    void *context, struct pb_error *err)
{
    static const char path[] = "/analysis/parameters";
    const struct pb_object *object = pb_schema_find(path);
    struct visit visit = {row, context};
    hid_t dataset = H5I_INVALID_HID;
    size_t count;
    enum pb_status status =
        pb_h5_open_rows(pb_reader_file(reader), path, object, &dataset, &count, err);

    if (status == PB_OK) {
        status = pb_h5_visit_rows(dataset, path, object, visit_rows, &visit, err);
        H5Dclose(dataset);
    }
    if (status != PB_OK)
        pb_error_prefix(err, "%s", pb_reader_path(reader));
    return status;
}

enum pb_status pb_reader_agreement(struct pb_reader *reader, const char *key,
                                   struct pb_agreement_row **rows_out, size_t *count_out,
                                   struct pb_error *err)
{
    static const char path[] = "/analysis/agreement";
    struct pb_agreement_row *agreement;
    void *rows = NULL;
    size_t count = 0, kept = 0;
    enum pb_status status =
        pb_h5_read_rows(pb_reader_file(reader), path, pb_schema_find(path), &rows, &count, err);

    if (status != PB_OK) {
        pb_error_prefix(err, "%s", pb_reader_path(reader));
        return status;
    }
    agreement = rows;
    for (size_t i = 0; i < count; i++)
        if (strcmp(agreement[i].device, key) == 0)
            agreement[kept++] = agreement[i];
    *rows_out = agreement;
    *count_out = kept;
    return PB_OK;
}
