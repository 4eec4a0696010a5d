/*
 * Which rank measures which device, and what the devices are called. Pure functions over what all
 * ranks reported; rank 0 calls them.
 *
 * Limit: a rank reports at most PB_VISIBLE_MAX devices; it cannot be given those beyond.
 */
#ifndef PB_RUN_ASSIGN_H
#define PB_RUN_ASSIGN_H

#include "run/messages.h"
#include "run/selection.h"

enum {
    PB_VISIBLE_MAX = 64, /* as many MIG instances CUDA shows a process at most */
    PB_UUID_LENGTH = 64, /* or the name of one: "MIG-GPU-" and 36 characters, "/13/0" */
};

/* What a rank's probe sees. */
struct pb_visible_devices {
    char host[PB_KEY_LENGTH];
    int64_t local_rank;                  /* 0, 1, … on its node */
    enum pb_status status;               /* PB_OK: the probe said HELLO */
    enum pb_member_status member_status; /* if it did not */
    char message[PB_MESSAGE_LENGTH];
    char backend[PB_NAME_LENGTH];
    size_t device_count;
    char uuids[PB_VISIBLE_MAX][PB_UUID_LENGTH];
};

/* What a rank is to open. */
struct pb_assignment {
    enum pb_member_status member_status; /* PB_MEMBER_OK: open `selector` */
    char selector[PB_TEXT_LENGTH];
    char message[PB_MESSAGE_LENGTH]; /* else: why there is nothing to open */
};

/* What a rank has opened. */
struct pb_arrival {
    char host[PB_KEY_LENGTH];
    int64_t local_rank;
    enum pb_status status;               /* PB_OK: the device is open */
    enum pb_member_status member_status; /* if it is not */
    char message[PB_MESSAGE_LENGTH];
    struct pb_opened opened; /* if it is not: host and slot of a simulated fleet, if any */
};

/* What a rank is to do. */
struct pb_named_device {
    enum pb_member_status member_status; /* PB_MEMBER_OK: measure the device as `key` */
    char host[PB_KEY_LENGTH];
    char key[PB_KEY_LENGTH];
    int64_t slot;
    char message[PB_MESSAGE_LENGTH]; /* else: why not */
};

/*
 * Deals the devices out, by rank order.
 *
 * A selector on the command line goes to every rank. Simulated devices: the slot of the local rank,
 * or the fleet's device of that rank. A real GPU: the local rank's own choice if no rank before has
 * it, else the first free one; a rank that sees only taken devices is a duplicate, one that sees
 * none is absent.
 *
 * PB_INVALID: a probe refused its command line.
 */
enum pb_status pb_assign_devices(const struct pb_visible_devices *rank_devices, size_t rank_count,
                                 const struct pb_test_selection *selection,
                                 struct pb_assignment *assignments_out, struct pb_error *err);

/*
 * Finds devices that were opened twice and names the others HOST.gpuSLOT; where that name is taken
 * (instances of one GPU, equal host names) ".RANK" follows. A rank without its device gets the host
 * and slot that a simulated fleet has for it, else slot -1 of its own host.
 *
 * PB_INVALID: a probe refused the device's description, or the fleet has more devices than there
 * are ranks. PB_NOT_FOUND: no rank has a device.
 */
enum pb_status pb_assign_keys(const struct pb_arrival *arrivals, size_t rank_count,
                              const struct pb_test_selection *selection,
                              struct pb_named_device *devices_out, struct pb_error *err);

#endif
