/* Profiles, devices and chases for tests; see simtest.h. */
#include "sim/simtest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char base_profile[] =
    "{\"name\": \"Test GPU\", \"source\": \"tests\", \"compute_capability\": \"8.0\","
    " \"sm_count\": 2, \"clock_mhz\": 1000, \"memory_bytes\": 1073741824,"
    " \"clock_overhead_cycles\": 10, \"caches\": ["
    "  {\"id\": \"l1\", \"paths\": [\"global_ca\"], \"line_bytes\": 128, \"sector_bytes\": 32,"
    "   \"sets\": 4, \"ways\": 4, \"index\": {\"kind\": \"modulo\"},"
    "   \"policy\": {\"kind\": \"lru\"}, \"latency_cycles\": 30},"
    "  {\"id\": \"l2\", \"paths\": [\"global_ca\", \"global_cg\"], \"line_bytes\": 128,"
    "   \"sector_bytes\": 32, \"sets\": 16, \"ways\": 8, \"index\": {\"kind\": \"modulo\"},"
    "   \"policy\": {\"kind\": \"lru\"}, \"latency_cycles\": 200}],"
    " \"tlbs\": ["
    "  {\"id\": \"tlb_l1\", \"page_bytes\": 2097152, \"entry_span_bytes\": 2097152,"
    "   \"ways\": [4], \"policy\": {\"kind\": \"lru\"}, \"penalty_cycles\": 10},"
    "  {\"id\": \"tlb_l2\", \"page_bytes\": 2097152, \"entry_span_bytes\": 2097152,"
    "   \"ways\": [8], \"policy\": {\"kind\": \"lru\"}, \"penalty_cycles\": 50}],"
    " \"dram\": {\"latency_cycles\": 500, \"bandwidth_bytes_per_s\": 1e11,"
    "            \"theoretical_bytes_per_s\": 1.25e11},"
    " \"shared\": {\"bytes_per_sm\": 65536, \"banks\": 32, \"bank_bytes\": 4,"
    "   \"latency_cycles\": 30,"
    "   \"conflict_cycles\": {\"2\": 32, \"4\": 36, \"8\": 44, \"16\": 60, \"32\": 92},"
    "   \"peak_bytes_per_cycle\": 128},"
    " \"mshr\": {\"per_sm\": 64, \"per_warp\": 6},"
    " \"noise\": {\"jitter_cycles\": 0, \"spike_probability\": 0, \"spike_cycles\": 0}}";

json_t *simtest_profile(void)
{
    json_t *root = json_loads(base_profile, 0, NULL);

    assert_non_null(root);
    return root;
}

json_t *simtest_shipped(const char *name)
{
    char file[512];
    json_t *root;

    snprintf(file, sizeof(file), "%s/%s.json", PLUMB_PROFILES, name);
    root = json_load_file(file, 0, NULL);
    assert_non_null(root);
    simtest_set(root, "noise/jitter_cycles", "0");
    simtest_set(root, "noise/spike_probability", "0");
    return root;
}

static json_t *child_of(json_t *node, const char *key)
{
    if (json_is_array(node))
        return json_array_get(node, (size_t)strtoul(key, NULL, 10));
    return json_object_get(node, key);
}

void simtest_set(json_t *root, const char *path, const char *json)
{
    char copy[256], *key, *slash;
    json_t *node = root;
    int failed;

    assert_true(strlen(path) < sizeof(copy));
    strcpy(copy, path);
    for (key = copy; (slash = strchr(key, '/')) != NULL; key = slash + 1) {
        *slash = '\0';
        node = child_of(node, key);
        assert_non_null(node);
    }
    if (json == NULL)
        failed = json_object_del(node, key);
    else if (json_is_array(node))
        failed = json_array_set_new(node, (size_t)strtoul(key, NULL, 10),
                                    json_loads(json, JSON_DECODE_ANY, NULL));
    else
        failed = json_object_set_new(node, key, json_loads(json, JSON_DECODE_ANY, NULL));
    assert_int_equal(failed, 0);
}

struct pb_sim_profile *simtest_read(json_t *root)
{
    struct pb_json at = {root, "test.json", "$"};
    struct pb_sim_profile *profile = NULL;
    struct pb_error err = PB_ERROR_INIT;

    if (pb_sim_profile_read(&at, &profile, &err) != PB_OK)
        fail_msg("%s", err.message);
    return profile;
}

/* Devices are opened by the name of a file. */
static enum pb_status open_by_file(json_t *root, struct pb_device_request request,
                                   struct pb_device **device_out, struct pb_error *err)
{
    char file[] = "/tmp/plumb-test-XXXXXX.json";
    int fd = mkstemps(file, 5);
    enum pb_status status;

    assert_true(fd >= 0);
    assert_int_equal(json_dumpfd(root, fd, 0), 0);
    close(fd);
    request.profile = file;
    if (request.host == NULL)
        request.host = "n1";
    status = pb_device_sim.open(&request, device_out, err);
    unlink(file);
    return status;
}

struct pb_device *simtest_open(json_t *root, const struct pb_device_request *request)
{
    struct pb_device_request defaults = {.host = "n1"};
    struct pb_device *device = NULL;
    struct pb_error err = PB_ERROR_INIT;

    if (open_by_file(root, request != NULL ? *request : defaults, &device, &err) != PB_OK)
        fail_msg("%s", err.message);
    return device;
}

struct pb_device *simtest_open_faulty(json_t *root, const char *fault)
{
    struct pb_device_request request = {.host = "n1", .faults = &fault, .fault_count = 1};

    return simtest_open(root, &request);
}

enum pb_status simtest_refused(json_t *root, const char *fault, struct pb_error *err_out)
{
    struct pb_device_request request = {
        .host = "n1", .faults = &fault, .fault_count = fault != NULL};
    struct pb_device *device = NULL;
    enum pb_status status = open_by_file(root, request, &device, err_out);

    assert_null(device);
    return status;
}

uint64_t *simtest_offsets(size_t count, uint64_t stride_bytes)
{
    uint64_t *offsets = malloc(count * sizeof(*offsets));

    assert_non_null(offsets);
    for (size_t i = 0; i < count; i++)
        offsets[i] = i * stride_bytes;
    return offsets;
}

uint32_t simtest_overhead(struct pb_device *device)
{
    uint32_t cycles = 0;

    assert_int_equal(device->ops->stamp(device, PB_STAMP_STORE, 1, &cycles, NULL), PB_OK);
    return cycles;
}

struct pb_chase_trace simtest_run(struct pb_device *device, const struct pb_chase *chase,
                                  uint32_t *latency_out)
{
    uint64_t *index = malloc((chase->record + 1) * sizeof(*index));
    struct pb_chase_trace trace = {.latency_cycles = latency_out, .index_bytes = index};
    struct pb_error err = PB_ERROR_INIT;

    assert_non_null(index);
    if (device->ops->chase(device, chase, &trace, &err) != PB_OK)
        fail_msg("%s", err.message);
    free(index);
    trace.index_bytes = NULL;
    return trace;
}

struct pb_chase simtest_chase(enum pb_path path, const uint64_t *offsets, size_t count)
{
    struct pb_chase chase = {.path = path,
                             .offset_bytes = offsets,
                             .offset_count = count,
                             .carveout_bytes = -1,
                             .sm = -1};

    return chase;
}

void simtest_trace(struct pb_device *device, enum pb_path path, size_t slots, uint64_t stride_bytes,
                   uint64_t warm, uint64_t record, uint32_t *latency_out)
{
    uint64_t *offsets = simtest_offsets(slots, stride_bytes), *index;
    uint32_t overhead = simtest_overhead(device);
    struct pb_chase chase = {.path = path,
                             .offset_bytes = offsets,
                             .offset_count = slots,
                             .warm = warm,
                             .record = record,
                             .carveout_bytes = -1,
                             .sm = -1};
    struct pb_chase_trace trace = {.latency_cycles = latency_out};
    struct pb_error err = PB_ERROR_INIT;

    trace.index_bytes = index = malloc(record * sizeof(*index));
    assert_non_null(index);
    if (device->ops->chase(device, &chase, &trace, &err) != PB_OK)
        fail_msg("%s", err.message);
    for (uint64_t i = 0; i < record; i++) {
        assert_int_equal(index[i], offsets[(warm + i) % slots]);
        latency_out[i] -= overhead;
    }
    free(index);
    free(offsets);
}

double simtest_pass(struct pb_device *device, enum pb_path path, size_t slots,
                    uint64_t stride_bytes)
{
    uint64_t *offsets = simtest_offsets(slots, stride_bytes);
    struct pb_chase chase = {.path = path,
                             .offset_bytes = offsets,
                             .offset_count = slots,
                             .warm = 2 * slots,
                             .timed = slots,
                             .carveout_bytes = -1,
                             .sm = -1};
    struct pb_chase_trace trace = {0};
    struct pb_error err = PB_ERROR_INIT;

    if (device->ops->chase(device, &chase, &trace, &err) != PB_OK)
        fail_msg("%s", err.message);
    free(offsets);
    return (double)trace.total_cycles / (double)slots;
}
