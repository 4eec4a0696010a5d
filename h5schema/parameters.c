/* /analysis/parameters: what plumb-analyze inferred, written beside the raw data. */
#include "h5schema/extend.h"
#include "h5schema/file.h"
#include "h5schema/object.h"

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
