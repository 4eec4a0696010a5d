/* The device of plumb-model: from a document, or inferred from a fleet file. */
#ifndef PB_CLI_MODEL_DEVICE_H
#define PB_CLI_MODEL_DEVICE_H

#include <stdbool.h>

#include "analysis/kernel/machine.h"

struct pb_model_device {
    struct pb_model_hierarchy hierarchy;
    struct pb_topology topology;
    struct pb_machine machine; /* refers to both: do not copy */
    bool is_simulated;
};

/*
 * cache, from  one is NULL: the path of a document (a report of plumb-analyze, a profile), or of a
 *              fleet file
 * key          of the device; NULL: the only one, of a document the first
 *
 * PB_INVALID   the file and what is wrong with it. pb_model_device_clear() it in any case but this.
 */
enum pb_status pb_model_device_load(const char *cache, const char *from, const char *key,
                                    struct pb_model_device *device_out, struct pb_error *err);
void pb_model_device_clear(struct pb_model_device *device); /* zeroed is allowed */

#endif
