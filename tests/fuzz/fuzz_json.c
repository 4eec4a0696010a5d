/*
 * Fuzz target over the JSON that people write: profiles of simulated devices, fleets of them,
 * policies, and caches for plumb-model. The first byte chooses the reader.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/model/hierarchy.h"
#include "cli/outliers.h"
#include "core/json.h"
#include "device/sim/fleet.h"
#include "device/sim/profile.h"
#include "fuzz/fuzz.h"
#include "fuzz/input.h"

enum { READERS = 4 };

static void read_profile(const char *path)
{
    struct pb_sim_profile *profile = NULL;
    struct pb_json root;

    if (pb_json_load(path, &root, NULL) != PB_OK)
        return;
    if (pb_sim_profile_read(&root, &profile, NULL) == PB_OK)
        pb_sim_profile_free(profile);
    json_decref(root.value);
}

static void read_fleet(const char *path)
{
    struct pb_fleet_plan *plan = NULL;
    struct pb_fleet_device device;
    size_t size;

    if (pb_fleet_plan_load(path, &plan, NULL) != PB_OK)
        return;
    size = pb_fleet_plan_size(plan);
    pb_fleet_plan_device(plan, 0, &device, NULL);
    if (pb_fleet_plan_device(plan, size - 1, &device, NULL) != PB_OK ||
        pb_fleet_plan_device(plan, size, &device, NULL) == PB_OK)
        abort();
    pb_fleet_plan_free(plan);
}

static void read_policy(const char *path)
{
    struct pb_policy policy = {0};

    pb_policy_load(path, &policy, NULL);
    pb_policy_clear(&policy);
}

static void read_hierarchy(const char *path)
{
    struct pb_model_hierarchy hierarchy;
    struct pb_json root;

    if (pb_json_load(path, &root, NULL) != PB_OK)
        return;
    if (pb_model_hierarchy_from_json(&root, NULL, &hierarchy, NULL) == PB_OK)
        pb_model_hierarchy_clear(&hierarchy);
    json_decref(root.value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const readers[READERS])(const char *) = {read_profile, read_fleet, read_policy,
                                                           read_hierarchy};
    char path[FUZZ_PATH_LENGTH];
    int file;

    if (size == 0)
        return 0;
    file = fuzz_open_memory(data + 1, size - 1, path);
    readers[data[0] % READERS](path);
    close(file);
    return 0;
}

/* The reader stays, most of the time. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed)
{
    if (size < 2 || seed % 16 == 0)
        return LLVMFuzzerMutate(data, size, capacity);
    return 1 + fuzz_mutate_text(data + 1, size - 1, capacity - 1, seed / 16);
}

size_t fuzz_seed(size_t i, uint8_t *data, size_t capacity)
{
    static const struct {
        uint8_t reader;
        const char *path;
    } seeds[] = {
        {0, PLUMB_SOURCE "/src/device/sim/profiles/gtx780.json"},
        {0, PLUMB_SOURCE "/src/device/sim/profiles/h200.json"},
        {1, PLUMB_SOURCE "/jobs/demo-fleet.json"},
        {2, PLUMB_SOURCE "/docs/policy.json"},
        {3, PLUMB_SOURCE "/src/device/sim/profiles/gtx980.json"},
        {3, PLUMB_SOURCE "/tests/data/h200-busy.json"},
    };

    if (i >= sizeof(seeds) / sizeof(seeds[0]))
        return 0;
    data[0] = seeds[i].reader;
    return 1 + fuzz_read_file(seeds[i].path, data + 1, capacity - 1);
}
