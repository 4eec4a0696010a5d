/* Slots, UUIDs and PCI bus ids; see slot.h. */
#include "device/sim/slot.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "device/sim/random.h"

void pb_sim_slot_uuid(const char *host, int64_t slot, char uuid_out[PB_TEXT_LENGTH])
{
    struct pb_sim_random random;
    uint64_t high, low;

    pb_sim_random_seed(&random, 0, host, slot, "uuid");
    high = pb_sim_random_next(&random);
    low = pb_sim_random_next(&random);
    snprintf(uuid_out, PB_TEXT_LENGTH, "GPU-%08x-%04x-%04x-%04x-%012llx", (unsigned)(high >> 32),
             (unsigned)(high >> 16 & 0xffff), (unsigned)(high & 0xffff), (unsigned)(low >> 48),
             (unsigned long long)(low & 0xffffffffffff));
}

void pb_sim_slot_pci(int64_t slot, char pci_out[PB_NAME_LENGTH])
{
    snprintf(pci_out, PB_NAME_LENGTH, "%08x:%02x:00.0", (unsigned)(slot >> 8 & 0xffff),
             (unsigned)(slot & 0xff));
}

static enum pb_status select_index(const char *selector, int64_t *slot_out, struct pb_error *err)
{
    char *end = NULL;
    long slot = strtol(selector, &end, 10);

    if (*end != '\0' || slot < 0 || slot > PB_SIM_SLOT_MAX)
        return pb_fail(err, PB_INVALID, "device \"%s\": expected an index from 0 to %d", selector,
                       PB_SIM_SLOT_MAX);
    *slot_out = slot;
    return PB_OK;
}

static enum pb_status search(const char *host, const char *selector, int64_t *slot_out,
                             struct pb_error *err)
{
    char uuid[PB_TEXT_LENGTH], pci[PB_NAME_LENGTH];

    for (int64_t slot = 0; slot < PB_SIM_SLOTS_SEARCHED; slot++) {
        pb_sim_slot_uuid(host, slot, uuid);
        pb_sim_slot_pci(slot, pci);
        if (strcasecmp(selector, uuid) == 0 || strcasecmp(selector, pci) == 0) {
            *slot_out = slot;
            return PB_OK;
        }
    }
    return pb_fail(err, PB_NOT_FOUND, "device \"%s\": none of the first %d slots of %s", selector,
                   PB_SIM_SLOTS_SEARCHED, host);
}

enum pb_status pb_sim_slot_select(const char *host, const char *selector, int64_t *slot_out,
                                  struct pb_error *err)
{
    if (selector == NULL) {
        *slot_out = 0;
        return PB_OK;
    }
    if (strncasecmp(selector, "GPU-", 4) == 0 || strchr(selector, ':') != NULL)
        return search(host, selector, slot_out, err);
    if (isdigit((unsigned char)selector[0]))
        return select_index(selector, slot_out, err);
    return pb_fail(err, PB_INVALID, "device \"%s\": expected an index, a UUID or a PCI bus id",
                   selector);
}
