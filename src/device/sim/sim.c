/*
 * The simulated backend: devices whose truth is a profile, whose noise comes from a seed, and whose
 * faults are injected. Opening, closing and the tests' beginnings; simulator.h says where the
 * measurements are.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/sim/simulator.h"
#include "device/sim/slot.h"

void pb_sim_host(const char *requested, char host_out[PB_KEY_LENGTH])
{
    char name[256] = "localhost";

    if (requested == NULL) {
        gethostname(name, sizeof(name) - 1);
        requested = name;
    }
    pb_text_copy(host_out, PB_KEY_LENGTH, requested);
}

/* The devices of a host. Their models are whatever stands there, and stay untold. */
static enum pb_status list_slots(const char *host, int64_t count,
                                 struct pb_device_entry **entries_out, struct pb_error *err)
{
    struct pb_device_entry *entries = calloc((size_t)count, sizeof(*entries));

    if (entries == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating a list of %lld devices",
                       (long long)count);
    for (int64_t slot = 0; slot < count; slot++) {
        pb_sim_slot_uuid(host, slot, entries[slot].uuid);
        pb_sim_slot_pci(slot, entries[slot].pci_bus_id);
    }
    *entries_out = entries;
    return PB_OK;
}

static enum pb_status sim_enumerate(struct pb_device_entry **entries_out, size_t *count_out,
                                    struct pb_error *err)
{
    struct pb_device_entry *entries = NULL;
    struct pb_sim_profile *profile = NULL;
    char host[PB_KEY_LENGTH];
    enum pb_status status = pb_sim_profile_load(NULL, &profile, err);

    pb_sim_host(NULL, host);
    if (status == PB_OK)
        status = list_slots(host, PB_SIM_SLOTS_LISTED, &entries, err);
    if (status == PB_OK) {
        for (int64_t slot = 0; slot < PB_SIM_SLOTS_LISTED; slot++)
            PB_TEXT_SET(entries[slot].model, profile->name);
        *entries_out = entries;
        *count_out = PB_SIM_SLOTS_LISTED;
    }
    pb_sim_profile_free(profile);
    return status;
}

/* Where among its healthy peers this device stands: normal, but never far from 1. */
static void draw_spread(struct pb_sim_device *device, const struct pb_device_request *request)
{
    struct pb_sim_random random;

    pb_sim_random_seed(&random, request->seed, device->host, device->slot, "spread");
    device->latency_factor = 1.0 + request->spread_latency * pb_sim_random_normal(&random);
    device->bandwidth_factor = 1.0 + request->spread_bandwidth * pb_sim_random_normal(&random);
    if (device->latency_factor < 0.5)
        device->latency_factor = 0.5;
    if (device->bandwidth_factor < 0.5)
        device->bandwidth_factor = 0.5;
}

static bool has_private_cache(const struct pb_sim_profile *profile)
{
    for (size_t i = 0; i < profile->cache_count; i++)
        if (!pb_sim_cache_is_chip_wide(profile, i))
            return true;
    return false;
}

/* The name of a fault of one SM; NULL: of others. */
static const char *sm_fault_name(enum pb_sim_fault_kind kind)
{
    switch ((int)kind) {
    case PB_SIM_FAULT_SM_SLOW:
        return "sm_slow";
    case PB_SIM_FAULT_SM_L1_SIZE:
        return "sm_l1_size";
    case PB_SIM_FAULT_SM_CONFLICT:
        return "sm_conflict";
    case PB_SIM_FAULT_COMPUTE_FLIP:
        return "compute_flip";
    default:
        return NULL;
    }
}

/* Faults that this profile cannot have. */
static enum pb_status check_faults(const struct pb_sim_device *device, struct pb_error *err)
{
    const struct pb_sim_profile *profile = device->profile;

    for (size_t i = 0; i < device->faults.count; i++) {
        const struct pb_sim_fault *fault = &device->faults.list[i];

        bool is_small = fault->kind == PB_SIM_FAULT_SM_L1_SIZE;

        if (sm_fault_name(fault->kind) != NULL && fault->sm >= profile->sm_count)
            return pb_fail(err, PB_INVALID,
                           "fault %s: expected an SM from 0 to %u of %s, found %lld",
                           sm_fault_name(fault->kind), profile->sm_count - 1, profile->name,
                           (long long)fault->sm);
        if (fault->kind == PB_SIM_FAULT_L2_LATENCY && profile->cache_count == 0)
            return pb_fail(err, PB_INVALID, "fault l2_latency: %s has no cache", profile->name);
        if ((fault->kind == PB_SIM_FAULT_L1_SIZE || is_small) && !has_private_cache(profile))
            return pb_fail(err, PB_INVALID, "fault %s: %s has no cache in its SMs",
                           is_small ? "sm_l1_size" : "l1_size", profile->name);
    }
    return PB_OK;
}

static enum pb_status check_request(const struct pb_device_request *request, struct pb_error *err)
{
    if (!(request->spread_latency >= 0.0 && request->spread_latency <= 0.5))
        return pb_fail(err, PB_INVALID, "spread of latency: expected 0 to 0.5, found %g",
                       request->spread_latency);
    if (!(request->spread_bandwidth >= 0.0 && request->spread_bandwidth <= 0.5))
        return pb_fail(err, PB_INVALID, "spread of bandwidth: expected 0 to 0.5, found %g",
                       request->spread_bandwidth);
    return PB_OK;
}

static void sim_close(struct pb_device *device)
{
    struct pb_sim_device *sim = pb_sim_device_of(device);

    if (sim == NULL)
        return;
    pb_sim_memory_free(sim->memory);
    pb_sim_faults_free(&sim->faults);
    pb_sim_profile_free(sim->profile);
    free(sim->node);
    free(sim);
}

static enum pb_status list_node(struct pb_sim_device *device,
                                const struct pb_device_request *request, struct pb_error *err)
{
    int64_t count = request->host_devices > 0 ? request->host_devices : PB_SIM_SLOTS_LISTED;
    enum pb_status status = list_slots(device->host, count, &device->node, err);

    device->base.node = device->node;
    device->base.node_count = (size_t)count;
    return status;
}

static enum pb_status fill_device(struct pb_sim_device *device,
                                  const struct pb_device_request *request, struct pb_error *err)
{
    enum pb_status status = check_request(request, err);

    if (status == PB_OK)
        status = pb_sim_slot_select(device->host, request->selector, &device->slot, err);
    if (status == PB_OK)
        status = pb_sim_faults_parse(request->faults, request->fault_count, &device->faults, err);
    if (status == PB_OK)
        status = pb_sim_profile_load(request->profile, &device->profile, err);
    if (status == PB_OK)
        status = check_faults(device, err);
    if (status == PB_OK)
        status = list_node(device, request, err);
    if (status != PB_OK)
        return status;
    if (pb_sim_faults_find(&device->faults, PB_SIM_FAULT_ABSENT) != NULL)
        return pb_fail(err, PB_NOT_FOUND, "no device in slot %lld of %s", (long long)device->slot,
                       device->host);
    return pb_sim_memory_create(device->profile,
                                pb_sim_faults_factor(&device->faults, PB_SIM_FAULT_L1_SIZE),
                                &device->memory, err);
}

static enum pb_status sim_open(const struct pb_device_request *request,
                               struct pb_device **device_out, struct pb_error *err)
{
    struct pb_sim_device *device = calloc(1, sizeof(*device));
    enum pb_status status;

    if (device == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating a simulated device");
    device->base.ops = &pb_device_sim;
    device->seed = request->seed;
    pb_sim_host(request->host, device->host);
    status = fill_device(device, request, err);
    if (status != PB_OK) {
        sim_close(&device->base);
        return status;
    }
    draw_spread(device, request);
    device->clock.nominal_mhz = device->profile->clock_mhz;
    device->clock.faults = &device->faults;
    pb_sim_random_seed(&device->random, device->seed, device->host, device->slot, "open");
    *device_out = &device->base;
    return PB_OK;
}

/* A test's noise depends on its name alone, not on what ran before it. */
static enum pb_status sim_begin_test(struct pb_device *base, const char *test, bool is_large,
                                     struct pb_error *err)
{
    struct pb_sim_device *device = pb_sim_device_of(base);

    (void)is_large;
    if (pb_sim_faults_strike(&device->faults, PB_SIM_FAULT_LOST, test))
        device->is_lost = true;
    if (pb_sim_faults_strike(&device->faults, PB_SIM_FAULT_CRASH, test)) {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    }
    while (pb_sim_faults_strike(&device->faults, PB_SIM_FAULT_HANG, test))
        pause();
    pb_sim_random_seed(&device->random, device->seed, device->host, device->slot, test);
    device->burst_left = 0;
    return pb_sim_device_check(device, err);
}

const struct pb_device_ops pb_device_sim = {
    .name = "sim",
    .is_simulated = true,
    .enumerate = sim_enumerate,
    .open = sim_open,
    .close = sim_close,
    .describe = pb_sim_describe,
    .read_state = pb_sim_read_state,
    .begin_test = sim_begin_test,
    .stamp = pb_sim_stamp,
    .clock = pb_sim_clock_samples,
    .chase = pb_sim_chase,
    .chases = pb_sim_chases,
    .conflicts = pb_sim_conflicts,
    .stream = pb_sim_stream,
    .burst = pb_sim_burst,
    .map = pb_sim_map,
    .study = pb_sim_study,
    .shared_stream = pb_sim_shared_stream,
    .link = pb_sim_link,
    .pattern = pb_sim_pattern,
    .cluster = pb_sim_cluster,
    .pair = pb_sim_pair,
    .loaded_chase = pb_sim_loaded_chase,
    .work = pb_sim_work,
    .compute = pb_sim_compute,
    .cluster_shared = pb_sim_cluster_shared,
};
