/* Reading fleet files; see fleet.h. */
#include "device/sim/fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json_reader.h"
#include "core/record.h"
#include "device/sim/fault.h"
#include "device/sim/profile.h"
#include "device/sim/slot.h"

enum { DEVICES_MAX = 1 << 20, ENTRIES_MAX = 1 << 16 };

/* One element of `devices`: so many equal devices in consecutive slots of a host. */
struct entry {
    char host[PB_KEY_LENGTH];
    char profile[1024];
    int64_t first_slot, count;
    int64_t host_devices; /* of all entries of the host */
    size_t first_rank;
    struct faulty_slot *faulty; /* [faulty_count] */
    size_t faulty_count;
};

struct faulty_slot {
    int64_t slot;
    char **specs; /* [spec_count] */
    size_t spec_count;
};

struct pb_fleet_plan {
    char *file;
    uint64_t seed;
    double spread_latency, spread_bandwidth;
    struct entry *entries;
    size_t entry_count;
    size_t size;
};

static void *allocate(struct pb_json_reader *reader, size_t count, size_t size)
{
    void *array = reader->status == PB_OK ? calloc(count, size) : NULL;

    if (array == NULL && reader->status == PB_OK)
        reader->status =
            pb_fail(reader->err, PB_NO_MEMORY, "out of memory allocating a fleet plan");
    return array;
}

static void read_spread(struct pb_json_reader *reader, const struct pb_json *root,
                        struct pb_fleet_plan *plan)
{
    static const char *const keys[] = {"latency", "bandwidth", NULL};
    struct pb_json at = pb_json_read_optional(reader, root, "spread");

    if (reader->status != PB_OK || at.value == NULL)
        return;
    pb_json_read_only(reader, &at, keys);
    plan->spread_latency = pb_json_read_number(reader, &at, "latency", 0, 0.5);
    plan->spread_bandwidth = pb_json_read_number(reader, &at, "bandwidth", 0, 0.5);
}

static void read_seed(struct pb_json_reader *reader, const struct pb_json *root,
                      struct pb_fleet_plan *plan)
{
    struct pb_json at = pb_json_read_optional(reader, root, "seed");

    if (reader->status == PB_OK && at.value != NULL)
        plan->seed = (uint64_t)pb_json_read_integer(reader, root, "seed", 0, INT64_MAX);
}

/* A profile that does not load is refused here, not by each of its devices. */
static void read_profile(struct pb_json_reader *reader, const struct pb_json *object,
                         const struct pb_fleet_plan *plan, struct entry *entry)
{
    struct pb_json at = pb_json_read_member(reader, object, "profile");
    struct pb_sim_profile *profile = NULL;

    pb_json_read_text(reader, object, "profile", entry->profile, sizeof(entry->profile));
    if (reader->status != PB_OK)
        return;
    for (size_t i = 0; i < plan->entry_count; i++)
        if (strcmp(plan->entries[i].profile, entry->profile) == 0)
            return;
    reader->status = pb_sim_profile_load(entry->profile, &profile, reader->err);
    if (reader->status != PB_OK) {
        pb_error_prefix(reader->err, "%s: %s", at.file, at.path);
        reader->status = PB_INVALID;
    }
    pb_sim_profile_free(profile);
}

static void read_fault(struct pb_json_reader *reader, const struct pb_json *at, char **spec_out)
{
    struct pb_sim_fault fault;
    const char *text = "";

    if (reader->status == PB_OK)
        reader->status = pb_json_text(at, &text, reader->err);
    if (reader->status != PB_OK)
        return;
    reader->status = pb_sim_fault_parse(text, &fault, reader->err);
    if (reader->status != PB_OK) {
        pb_error_prefix(reader->err, "%s: %s", at->file, at->path);
        return;
    }
    *spec_out = strdup(text);
    if (*spec_out == NULL)
        reader->status = pb_fail(reader->err, PB_NO_MEMORY, "out of memory allocating a fault");
}

static void read_slot_faults(struct pb_json_reader *reader, const struct pb_json *faults,
                             const char *key, const struct entry *entry, struct faulty_slot *faulty)
{
    struct pb_json list = pb_json_read_member(reader, faults, key), element;
    char *end = NULL;

    faulty->slot = strtoll(key, &end, 10);
    if (key[0] == '\0' || *end != '\0' || faulty->slot < entry->first_slot ||
        faulty->slot >= entry->first_slot + entry->count)
        pb_json_read_refuse(reader, &list, "a slot from %lld to %lld as key",
                            (long long)entry->first_slot,
                            (long long)(entry->first_slot + entry->count - 1));
    faulty->spec_count = pb_json_read_array(reader, faults, key, 1, 64, &list);
    faulty->specs = allocate(reader, faulty->spec_count, sizeof(*faulty->specs));
    for (size_t i = 0; i < faulty->spec_count && reader->status == PB_OK; i++) {
        element = pb_json_read_element(reader, &list, i);
        read_fault(reader, &element, &faulty->specs[i]);
    }
}

static void read_faults(struct pb_json_reader *reader, const struct pb_json *object,
                        struct entry *entry)
{
    struct pb_json at = pb_json_read_optional(reader, object, "faults");
    const char *key;
    json_t *value;

    if (reader->status != PB_OK || at.value == NULL)
        return;
    if (!json_is_object(at.value)) {
        pb_json_read_refuse(reader, &at, "an object");
        return;
    }
    entry->faulty = allocate(reader, json_object_size(at.value) + 1, sizeof(*entry->faulty));
    json_object_foreach(at.value, key, value)
    {
        if (reader->status == PB_OK)
            read_slot_faults(reader, &at, key, entry, &entry->faulty[entry->faulty_count++]);
    }
}

/* The slots of a host go on where its last entry ended; at the end, how many there are. */
static int64_t count_slots(const struct pb_fleet_plan *plan, const char *host)
{
    int64_t slot = 0;

    for (size_t i = 0; i < plan->entry_count; i++)
        if (strcmp(plan->entries[i].host, host) == 0)
            slot += plan->entries[i].count;
    return slot;
}

static void read_entry(struct pb_json_reader *reader, const struct pb_json *object,
                       struct pb_fleet_plan *plan)
{
    static const char *const keys[] = {"host", "profile", "count", "faults", NULL};
    struct entry *entry = &plan->entries[plan->entry_count];
    struct pb_json count;

    pb_json_read_only(reader, object, keys);
    pb_json_read_text(reader, object, "host", entry->host, sizeof(entry->host));
    read_profile(reader, object, plan, entry);
    entry->first_slot = count_slots(plan, entry->host);
    entry->first_rank = plan->size;
    entry->count = pb_json_read_integer(reader, object, "count", 1, DEVICES_MAX);
    count = pb_json_read_member(reader, object, "count");
    if (entry->first_slot + entry->count > PB_SIM_SLOT_MAX + 1)
        pb_json_read_refuse(reader, &count, "at most %d devices on a host", PB_SIM_SLOT_MAX + 1);
    read_faults(reader, object, entry);
    plan->size += (size_t)entry->count;
}

static void read_plan(struct pb_json_reader *reader, const struct pb_json *root,
                      struct pb_fleet_plan *plan)
{
    static const char *const keys[] = {"seed", "spread", "devices", NULL};
    struct pb_json list, element;
    size_t count;

    pb_json_read_only(reader, root, keys);
    read_seed(reader, root, plan);
    read_spread(reader, root, plan);
    count = pb_json_read_array(reader, root, "devices", 1, ENTRIES_MAX, &list);
    plan->entries = allocate(reader, count, sizeof(*plan->entries));
    for (size_t i = 0; i < count && reader->status == PB_OK; i++) {
        element = pb_json_read_element(reader, &list, i);
        read_entry(reader, &element, plan);
        plan->entry_count++; /* also when it failed: its parts are there to be freed */
    }
    for (size_t i = 0; i < plan->entry_count; i++)
        plan->entries[i].host_devices = count_slots(plan, plan->entries[i].host);
}

enum pb_status pb_fleet_plan_load(const char *file, struct pb_fleet_plan **plan_out,
                                  struct pb_error *err)
{
    struct pb_json_reader reader = {PB_OK, err};
    struct pb_fleet_plan *plan;
    struct pb_json root;
    enum pb_status status = pb_json_load(file, &root, err);

    if (status != PB_OK)
        return status;
    plan = allocate(&reader, 1, sizeof(*plan));
    if (plan != NULL) {
        plan->file = strdup(file);
        read_plan(&reader, &root, plan);
    }
    json_decref(root.value);
    if (reader.status != PB_OK) {
        pb_fleet_plan_free(plan);
        return reader.status;
    }
    *plan_out = plan;
    return PB_OK;
}

void pb_fleet_plan_free(struct pb_fleet_plan *plan)
{
    if (plan == NULL)
        return;
    for (size_t i = 0; i < plan->entry_count; i++) {
        struct entry *entry = &plan->entries[i];

        for (size_t k = 0; k < entry->faulty_count; k++) {
            for (size_t s = 0; entry->faulty[k].specs != NULL && s < entry->faulty[k].spec_count;
                 s++)
                free(entry->faulty[k].specs[s]);
            free(entry->faulty[k].specs);
        }
        free(entry->faulty);
    }
    free(plan->entries);
    free(plan->file);
    free(plan);
}

size_t pb_fleet_plan_size(const struct pb_fleet_plan *plan)
{
    return plan->size;
}

static const struct entry *entry_of(const struct pb_fleet_plan *plan, size_t rank)
{
    for (size_t i = 0; i < plan->entry_count; i++)
        if (rank - plan->entries[i].first_rank < (size_t)plan->entries[i].count)
            return &plan->entries[i];
    return NULL;
}

enum pb_status pb_fleet_plan_device(const struct pb_fleet_plan *plan, size_t rank,
                                    struct pb_fleet_device *device_out, struct pb_error *err)
{
    const struct entry *entry = entry_of(plan, rank);
    struct pb_fleet_device device = {.seed = plan->seed,
                                     .spread_latency = plan->spread_latency,
                                     .spread_bandwidth = plan->spread_bandwidth};

    if (entry == NULL)
        return pb_fail(err, PB_NOT_FOUND, "%s: $.devices: %zu devices, but none for rank %zu",
                       plan->file, plan->size, rank);
    device.host = entry->host;
    device.host_devices = entry->host_devices;
    device.slot = entry->first_slot + (int64_t)(rank - entry->first_rank);
    device.profile = entry->profile;
    for (size_t i = 0; i < entry->faulty_count; i++) {
        if (entry->faulty[i].slot != device.slot)
            continue;
        device.faults = (const char *const *)entry->faulty[i].specs;
        device.fault_count = entry->faulty[i].spec_count;
    }
    *device_out = device;
    return PB_OK;
}
