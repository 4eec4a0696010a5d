/*
 * NVML, loaded at run time: the state of a GPU as its driver reports it.
 *
 * No NVML and a call that is not supported are no errors: the fields stay unknown. Nothing of NVML
 * is needed to build; nvml_calls.h declares the few entry points that are used.
 */
#ifndef PB_DEVICE_NVML_H
#define PB_DEVICE_NVML_H

#include <stdbool.h>

#include "core/identity.h"

struct pb_nvml;

/*
 * The GPU or MIG instance with this UUID, else the GPU at this PCI bus id; NULL: there is no NVML.
 *
 * Of a MIG instance, memory in use and processes are its own, or unknown; all else of the state and
 * the limits is that of the GPU it lies on, which has them but once.
 */
struct pb_nvml *pb_nvml_open(const char *uuid, const char *pci_bus_id);
void pb_nvml_close(struct pb_nvml *nvml); /* NULL is allowed */

/*
 * Fills what is known; nvml may be NULL. slot is NVML's index, that of nvidia-smi; of a MIG
 * instance 1000 * (index + 1) + 10 * the number of its GPU instance + that of its compute instance,
 * since several share a GPU, and some a GPU instance.
 */
void pb_nvml_describe(struct pb_nvml *nvml, struct pb_device_info *info);

/* Fills what is known of a cleared state; nvml may be NULL. False: the GPU is lost. */
bool pb_nvml_read_state(struct pb_nvml *nvml, struct pb_state *state);

#endif
