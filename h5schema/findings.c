/* /analysis/findings: what plumb-outliers found, written beside the raw data. */
#include "h5schema/extend.h"
#include "h5schema/file.h"
#include "h5schema/object.h"

struct findings {
    const struct pb_finding_row *rows;
    size_t count;
};

static enum pb_status write_findings(hid_t analysis, void *context, struct pb_error *err)
{
    const struct findings *findings = context;

    return pb_h5_write_rows(analysis, "findings", pb_schema_find("/analysis/findings"),
                            findings->rows, findings->count, err);
}

enum pb_status pb_file_write_findings(const char *path, const struct pb_finding_row *rows,
                                      size_t count, struct pb_error *err)
{
    struct findings findings = {rows, count};

    return pb_file_extend(path, write_findings, &findings, err);
}
