/* Measuring one device: what was selected, and opening it; see measure.h. */
#include "run/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/sim/fault.h"
#include "device/sim/fleet.h"
#include "device/sim/profile.h"
#include "h5schema/file.h"

/* ---- what was selected ---- */

/* Simulation is requested by the backend's name, by a profile or by a fleet; a fault needs one. */
static bool names_simulation(const struct pb_test_selection *selection)
{
    return selection->profile != NULL || selection->fleet != NULL;
}

/* A fault at an unknown test would never occur. */
static enum pb_status check_faults(const char *const *specs, size_t count, struct pb_error *err)
{
    for (size_t i = 0; i < count; i++) {
        struct pb_sim_fault fault;
        enum pb_status status = pb_sim_fault_parse(specs[i], &fault, err);

        if (status != PB_OK)
            return status;
        if (fault.test[0] != '\0' && pb_test_find(fault.test) == NULL) {
            pb_test_refuse(fault.test, err);
            return pb_error_prefix(err, "fault \"%s\"", specs[i]);
        }
    }
    return PB_OK;
}

/* What only simulated devices have must not be requested of hardware, nor twice. */
static enum pb_status check_simulation(const struct pb_test_selection *selection,
                                       const char *backend, struct pb_error *err)
{
    struct pb_error cause = PB_ERROR_INIT;
    struct pb_sim_profile *profile = NULL;
    enum pb_status status = PB_OK;

    if (strcmp(backend, pb_device_sim.name) != 0)
        return pb_fail(err, PB_INVALID,
                       "backend %s: only simulated devices have profiles, faults and fleets; "
                       "--backend sim requests them",
                       backend);
    if (selection->fleet != NULL &&
        (selection->profile != NULL || selection->selector != NULL || selection->fault_count > 0))
        return pb_fail(err, PB_INVALID, "%s: says itself which devices, profiles and faults",
                       selection->fleet);
    if (selection->profile != NULL)
        status = pb_sim_profile_load(selection->profile, &profile, &cause);
    pb_sim_profile_free(profile);
    if (status == PB_OK)
        status = check_faults(selection->faults, selection->fault_count, &cause);
    if (status == PB_NOT_FOUND) /* a wrong word, not a missing device */
        status = PB_INVALID;
    return status == PB_OK ? PB_OK : pb_fail(err, status, "%s", cause.message);
}

enum pb_status pb_measure_prepare(const struct pb_test_selection *selection,
                                  struct pb_probe_setup *measure_out, struct pb_error *err)
{
    struct pb_probe_setup measure = {.selection = selection};
    const char *backend = selection->backend;
    enum pb_status status;

    if (strcmp(backend, "auto") == 0 && names_simulation(selection))
        backend = pb_device_sim.name;
    status = pb_battery_parse(selection->battery, &measure.battery, err);
    if (status == PB_OK && (names_simulation(selection) || selection->fault_count > 0))
        status = check_simulation(selection, backend, err);
    if (status == PB_OK)
        status = pb_backend_find(backend, &measure.ops, err);
    if (status == PB_OK)
        status = pb_battery_select(measure.battery, selection->tests, &measure.tests, err);
    if (status == PB_OK)
        *measure_out = measure;
    return status;
}

void pb_measure_clear(struct pb_probe_setup *measure)
{
    if (measure == NULL)
        return;
    free(measure->tests);
    pb_fleet_plan_free(measure->plan);
    memset(measure, 0, sizeof(*measure));
}

enum pb_status pb_measure_hello(const struct pb_probe_setup *measure, struct pb_hello *hello_out,
                                struct pb_error *err)
{
    struct pb_hello hello = {.backend = ""};
    enum pb_status status = measure->ops->enumerate(&hello.devices, &hello.device_count, err);
    size_t count = 0;

    if (status != PB_OK)
        return status;
    while (measure->tests[count] != NULL)
        count++;
    hello.tests.specs = calloc(count + 1, sizeof(*hello.tests.specs));
    if (hello.tests.specs == NULL) {
        pb_hello_clear(&hello);
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu tests", count);
    }
    for (size_t i = 0; i < count; i++) {
        PB_TEXT_SET(hello.tests.specs[i].name, measure->tests[i]->name);
        PB_TEXT_SET(hello.tests.specs[i].unit, measure->tests[i]->unit);
        PB_TEXT_SET(hello.tests.specs[i].method, measure->tests[i]->method);
        hello.tests.specs[i].link_use = pb_test_link_use(measure->tests[i]);
        hello.tests.specs[i].concurrent_devices =
            hello.tests.specs[i].link_use == PB_LINKS_CONCURRENT;
    }
    hello.tests.count = count;
    PB_TEXT_SET(hello.backend, measure->ops->name);
    *hello_out = hello;
    return PB_OK;
}

/* ---- opening ---- */

static enum pb_status open_request(const struct pb_probe_setup *measure,
                                   const struct pb_device_request *request,
                                   struct pb_session *session_out, struct pb_opened *opened,
                                   struct pb_error *err)
{
    enum pb_status status =
        pb_session_open(measure->ops, request, measure->battery, session_out, err);

    if (status != PB_OK)
        return status;
    PB_TEXT_SET(opened->uuid, session_out->info.uuid);
    PB_TEXT_SET(opened->pci_bus_id, session_out->info.pci_bus_id);
    PB_TEXT_SET(opened->model, session_out->info.model);
    opened->slot = session_out->info.slot;
    return PB_OK;
}

/* Every rank reads all of it: what is wrong with one device is the same error everywhere. */
static enum pb_status load_plan(struct pb_probe_setup *measure, struct pb_error *err)
{
    enum pb_status status = pb_fleet_plan_load(measure->selection->fleet, &measure->plan, err);

    for (size_t rank = 0; status == PB_OK && rank < pb_fleet_plan_size(measure->plan); rank++) {
        struct pb_fleet_device device;

        status = pb_fleet_plan_device(measure->plan, rank, &device, err);
        if (status == PB_OK)
            status = check_faults(device.faults, device.fault_count, err);
        if (status != PB_OK)
            return pb_error_prefix(err, "%s: rank %zu", measure->selection->fleet, rank);
    }
    return status;
}

/* The device of a simulated fleet that stands at this rank. */
static enum pb_status open_assigned(struct pb_probe_setup *measure, int64_t rank,
                                    struct pb_session *session_out, struct pb_opened *opened,
                                    struct pb_error *err)
{
    struct pb_device_request request = {.selector = NULL};
    struct pb_fleet_device device;
    char selector[PB_NAME_LENGTH];
    enum pb_status status = PB_OK;

    if (measure->plan == NULL)
        status = load_plan(measure, err);
    if (status == PB_OK)
        status = pb_fleet_plan_device(measure->plan, (size_t)rank, &device, err);
    if (status != PB_OK)
        return status;
    snprintf(selector, sizeof(selector), "%lld", (long long)device.slot);
    request.selector = selector;
    request.host = device.host;
    request.host_devices = device.host_devices;
    request.profile = device.profile;
    request.faults = device.faults;
    request.fault_count = device.fault_count;
    request.seed = device.seed;
    request.spread_latency = device.spread_latency;
    request.spread_bandwidth = device.spread_bandwidth;
    PB_TEXT_SET(opened->host, device.host);
    opened->fleet_size = (int64_t)pb_fleet_plan_size(measure->plan);
    return open_request(measure, &request, session_out, opened, err);
}

enum pb_status pb_measure_open(struct pb_probe_setup *measure, const char *selector, int64_t rank,
                               struct pb_session *session_out, struct pb_opened *opened_out,
                               struct pb_error *err)
{
    const struct pb_test_selection *selection = measure->selection;
    const struct pb_device_request request = {
        .selector = selector == NULL || selector[0] == '\0' ? NULL : selector,
        .profile = selection->profile,
        .faults = selection->faults,
        .fault_count = selection->fault_count,
        .seed = selection->seed,
    };
    struct pb_opened opened = {.uuid = ""};
    enum pb_status status = selection->fleet != NULL
                                ? open_assigned(measure, rank, session_out, &opened, err)
                                : open_request(measure, &request, session_out, &opened, err);

    if (status != PB_OK)
        return status;
    session_out->sustain_seconds = selection->sustain_seconds;
    *opened_out = opened;
    return PB_OK;
}
