/* /analysis/parameters: what plumb-analyze inferred, written beside the raw data. */
#include "h5schema/extend.h"
#include "h5schema/file.h"
#include "h5schema/object.h"

#include <stdlib.h>

struct parameters {
    const struct pb_parameter_row *rows;
    size_t count;
};

static enum pb_status write_parameters(hid_t analysis, void *context, struct pb_error *err)
{
    const struct parameters *parameters = context;

    return pb_h5_write_rows(analysis, "parameters", pb_schema_find("/analysis/parameters"),
                            parameters->rows, parameters->count, err);
}

enum pb_status pb_file_write_parameters(const char *path, const struct pb_parameter_row *rows,
                                        size_t count, struct pb_error *err)
{
    struct parameters parameters = {rows, count};

    return pb_file_extend(path, write_parameters, &parameters, err);
}

enum { ROWS_AT_ONCE = 256 };

static enum pb_status append_parameters(hid_t analysis, void *context, struct pb_error *err)
{
    const struct pb_parameter_source *source = context;
    const struct pb_object *object = pb_schema_find("/analysis/parameters");
    struct pb_parameter_row *rows = calloc(ROWS_AT_ONCE, sizeof(*rows));
    enum pb_status status = PB_OK;

    if (rows == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for %d rows", ROWS_AT_ONCE);
    if (H5Lexists(analysis, "parameters", H5P_DEFAULT) > 0)
        H5Ldelete(analysis, "parameters", H5P_DEFAULT);
    for (size_t count = 1, written = 0; status == PB_OK && count > 0; written += count) {
        status = source->next(source->context, rows, ROWS_AT_ONCE, &count, err);
        if (status == PB_OK && (count > 0 || written == 0)) /* a table of no rows is one too */
            status = pb_h5_append_rows(analysis, "parameters", object, rows, count, err);
    }
    free(rows);
    return status;
}

enum pb_status pb_file_write_parameters_from(const char *path,
                                             const struct pb_parameter_source *source,
                                             struct pb_error *err)
{
    struct pb_parameter_source own = *source;

    return pb_file_extend(path, append_parameters, &own, err);
}
