/* Private to h5schema/: metrics beside the raw data, and what they were made from. */
#ifndef PB_H5SCHEMA_METRICS_H
#define PB_H5SCHEMA_METRICS_H

#include <hdf5.h>

#include "h5schema/file.h"

/* Takes away what there is of them: nothing is believed until pb_h5_write_analysis_source(). */
void pb_h5_drop_metrics(hid_t analysis);

enum pb_status pb_h5_write_metrics(hid_t analysis, const struct pb_stored_metrics *stored,
                                   struct pb_error *err);

/* Of the file `path`, whose /analysis is open; all else of it is written. */
enum pb_status pb_h5_write_analysis_source(hid_t analysis, const char *path,
                                           const struct pb_stored_metrics *stored,
                                           const char *version, struct pb_error *err);

#endif
