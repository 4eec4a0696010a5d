/*
 * What a user may call a GPU: its index, the start of its UUID, or its PCI bus id; and what an
 * environment that names MIG instances leaves to be seen.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "device/cuda/device.h"

static const char mig[] = "MIG-", gpu[] = "GPU-";

/* The number of names in a list with an instance in it; 0: there is none, or not all are UUIDs. */
static size_t count_names(const char *list)
{
    size_t count = 0, instances = 0;

    for (const char *at = list; at != NULL; count++) {
        if (!pb_uuid_is_instance(at) && strncmp(at, gpu, strlen(gpu)) != 0)
            return 0;
        instances += pb_uuid_is_instance(at);
        at = strchr(at, ',');
        if (at != NULL)
            at++;
    }
    return instances > 0 ? count : 0;
}

enum pb_status pb_cuda_named(const char *visible, struct pb_device_entry **entries_out,
                             size_t *count_out, struct pb_error *err)
{
    size_t count = count_names(visible);
    struct pb_device_entry *entries = NULL;

    if (count < 2)
        count = 0;
    else if ((entries = calloc(count, sizeof(*entries))) == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating a list of %zu devices", count);
    for (size_t i = 0; i < count; i++) {
        size_t length = strcspn(visible, ",");

        snprintf(entries[i].uuid, sizeof(entries[i].uuid), "%.*s", (int)length, visible);
        visible += length + 1;
    }
    *entries_out = entries;
    *count_out = count;
    return PB_OK;
}

enum pb_status pb_cuda_narrow(const struct pb_device_entry *entries, size_t count, size_t found,
                              char **visible_out, struct pb_error *err)
{
    size_t size = count * sizeof(entries[0].uuid), used = 0;
    char *visible = malloc(size);

    if (visible == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating the names of %zu devices",
                       count);
    for (size_t i = 0; i < count; i++) {
        const char *uuid = entries[(found + i) % count].uuid;

        if (i == 0 || (!pb_uuid_is_instance(entries[found].uuid) && !pb_uuid_is_instance(uuid)))
            used += (size_t)snprintf(visible + used, size - used, "%s%s", i == 0 ? "" : ",", uuid);
    }
    *visible_out = visible;
    return PB_OK;
}

static bool is_index(const char *selector, size_t *index_out)
{
    char *end;
    unsigned long value;

    if (!isdigit((unsigned char)selector[0]) || strlen(selector) > 4)
        return false;
    value = strtoul(selector, &end, 10);
    *index_out = value;
    return *end == '\0';
}

/* "3b:00.0", "0000:3b:00.0" and "00000000:3B:00.0" all name one bus id. */
static bool is_pci_match(const char *selector, const char *bus_id)
{
    unsigned domain = 0, bus, slot, function, have_domain, have_bus, have_slot, have_function;
    char rest;

    if (sscanf(selector, "%x:%x:%x.%x%c", &domain, &bus, &slot, &function, &rest) != 4) {
        domain = 0;
        if (sscanf(selector, "%x:%x.%x%c", &bus, &slot, &function, &rest) != 3)
            return false;
    }
    if (sscanf(bus_id, "%x:%x:%x.%x", &have_domain, &have_bus, &have_slot, &have_function) != 4)
        return false;
    return domain == have_domain && bus == have_bus && slot == have_slot &&
           function == have_function;
}

/* With or without "GPU-" or "MIG-" in front. */
static bool is_uuid_match(const char *selector, const char *uuid)
{
    bool has_kind = strncasecmp(uuid, "GPU-", 4) == 0 || strncasecmp(uuid, mig, 4) == 0;
    const char *digits = has_kind ? uuid + 4 : uuid;
    size_t length = strlen(selector);

    return length > 0 &&
           (strncasecmp(uuid, selector, length) == 0 || strncasecmp(digits, selector, length) == 0);
}

/* The number of entries that the selector fits; *found_out is the last of them. */
static size_t find_matches(const char *selector, const struct pb_device_entry *entries,
                           size_t count, size_t *found_out)
{
    size_t index, matches = 0;

    if (is_index(selector, &index)) {
        *found_out = index;
        return index < count ? 1 : 0;
    }
    for (size_t i = 0; i < count; i++) {
        if (is_pci_match(selector, entries[i].pci_bus_id) ||
            is_uuid_match(selector, entries[i].uuid)) {
            *found_out = i;
            matches++;
        }
    }
    return matches;
}

enum pb_status pb_cuda_match(const char *selector, const struct pb_device_entry *entries,
                             size_t count, size_t *found_out, struct pb_error *err)
{
    char list[PB_ERROR_LENGTH - 176] = "";
    size_t used = 0, found = 0, matches = find_matches(selector, entries, count, &found);
    bool is_hidden = matches == 0 && strncasecmp(selector, mig, strlen(mig)) == 0;

    if (matches == 1) {
        *found_out = found;
        return PB_OK;
    }
    for (size_t i = 0; i < count && used + 1 < sizeof(list); i++) {
        int length = snprintf(list + used, sizeof(list) - used, "%s%zu (%s, %s)",
                              i == 0 ? "" : ", ", i, entries[i].uuid, entries[i].pci_bus_id);
        used += length > 0 ? (size_t)length : 0;
    }
    return pb_fail(
        err, PB_INVALID, "device \"%.49s\": %s%s; there are: %s", selector,
        matches == 0 ? "no such GPU" : "several GPUs fit",
        is_hidden ? " (name it in CUDA_VISIBLE_DEVICES: CUDA shows not every instance)" : "", list);
}
