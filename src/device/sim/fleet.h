/*
 * A simulated fleet (design 3.5): which device each rank finds, read from one JSON file.
 *
 * Devices are laid on the ranks in the order of the file. A host that appears in several entries
 * goes on counting its slots, so that a node may mix models; `faults` is keyed by slot.
 */
#ifndef PB_DEVICE_SIM_FLEET_H
#define PB_DEVICE_SIM_FLEET_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

struct pb_fleet_plan;

/* One device; the pointers live as long as the plan. */
struct pb_fleet_device {
    const char *host;
    int64_t slot, host_devices; /* of so many on this host */
    const char *profile;
    const char *const *faults;
    size_t fault_count;
    uint64_t seed;
    double spread_latency, spread_bandwidth;
};

/*
 * Reads and checks a whole file: its keys, that every profile loads, and every fault.
 * PB_INVALID: err names the file and the path. pb_fleet_plan_free() the plan.
 */
enum pb_status pb_fleet_plan_load(const char *file, struct pb_fleet_plan **plan_out,
                                  struct pb_error *err);
void pb_fleet_plan_free(struct pb_fleet_plan *plan); /* NULL is allowed */

size_t pb_fleet_plan_size(const struct pb_fleet_plan *plan);

/* The device of a rank. PB_NOT_FOUND: the plan has no such rank. */
enum pb_status pb_fleet_plan_device(const struct pb_fleet_plan *plan, size_t rank,
                                    struct pb_fleet_device *device_out, struct pb_error *err);

#endif
