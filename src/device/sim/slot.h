/*
 * Where a simulated device stands: the names that its host and slot give it, and back.
 * Every node has as many slots as are requested.
 */
#ifndef PB_DEVICE_SIM_SLOT_H
#define PB_DEVICE_SIM_SLOT_H

#include <stdint.h>

#include "core/error.h"
#include "core/record.h"

enum {
    PB_SIM_SLOTS_LISTED = 4,    /* by enumerate() */
    PB_SIM_SLOTS_SEARCHED = 64, /* for a UUID or PCI id */
    PB_SIM_SLOT_MAX = 65535
};

/* GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx, a digest of both. */
void pb_sim_slot_uuid(const char *host, int64_t slot, char uuid_out[PB_TEXT_LENGTH]);

/* As NVML writes it: 8-digit domain, bus, device, function. */
void pb_sim_slot_pci(int64_t slot, char pci_out[PB_NAME_LENGTH]);

/*
 * The slot that an index, a UUID or a PCI bus id selects; NULL: 0.
 * PB_INVALID: none of the three. PB_NOT_FOUND: no such UUID or id among the first 64 slots.
 */
enum pb_status pb_sim_slot_select(const char *host, const char *selector, int64_t *slot_out,
                                  struct pb_error *err);

#endif
