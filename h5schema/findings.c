/* /analysis/findings and their members: what plumb-outliers found, beside the raw data. */
#include "h5schema/extend.h"
#include "h5schema/file.h"
#include "h5schema/object.h"

static enum pb_status write_findings(hid_t analysis, void *context, struct pb_error *err)
{
    const struct pb_finding_tables *tables = context;
    enum pb_status status =
        pb_h5_write_rows(analysis, "findings", pb_schema_find("/analysis/findings"),
                         tables->findings, tables->finding_count, err);

    if (status != PB_OK)
        return status;
    return pb_h5_write_rows(analysis, "finding_members",
                            pb_schema_find("/analysis/finding_members"), tables->members,
                            tables->member_count, err);
}

enum pb_status pb_file_write_findings(const char *path, const struct pb_finding_tables *tables,
                                      struct pb_error *err)
{
    struct pb_finding_tables copy = *tables;

    return pb_file_extend(path, write_findings, NULL, &copy, err);
}
