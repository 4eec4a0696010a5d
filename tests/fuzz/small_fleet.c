/* A small fleet file with one of everything; see small_fleet.h. */
#include "fuzz/small_fleet.h"

#include <stdio.h>
#include <stdlib.h>

#include "h5schema/file.h"

enum { ACCESSES = 40 };

static void require(enum pb_status status, const struct pb_error *err)
{
    if (status == PB_OK)
        return;
    fprintf(stderr, "small fleet: it cannot be made: %s\n", err->message);
    exit(2);
}

static void add_test(struct pb_fleet *fleet, const char *key, struct pb_recording *recording)
{
    struct pb_state states[2];
    struct pb_image image;
    struct pb_error err = PB_ERROR_INIT;

    pb_state_clear(&states[0]);
    PB_TEXT_SET(states[0].test, recording->name);
    PB_TEXT_SET(states[0].when, "before");
    states[1] = states[0];
    require(pb_image_of_test(key, recording, states, 2, &image, &err), &err);
    require(pb_fleet_add(fleet, image.bytes, image.size, &err), &err);
    free(image.bytes);
    pb_recording_clear(recording);
}

static void add_series(struct pb_fleet *fleet, const char *key)
{
    struct pb_recording recording = {.name = "l1_capacity", .unit = "cycle", .sm_id = -1};
    struct pb_point point = {.path = "global_ca", .mode = "traced", .count = ACCESSES};
    uint32_t latency[ACCESSES];
    uint64_t index[ACCESSES];
    struct pb_error err = PB_ERROR_INIT;

    for (size_t i = 0; i < ACCESSES; i++) {
        latency[i] = 30 + (uint32_t)i;
        index[i] = 8 * i;
    }
    for (size_t i = 0; i < 3; i++)
        require(pb_series_append(&recording.series, &point, latency, index, &err), &err);
    add_test(fleet, key, &recording);
}

static void add_matrix(struct pb_fleet *fleet, const char *key)
{
    static const char *const labels[] = {"load", "atomic"};
    static const double values[] = {0, 1, 2};
    struct pb_recording recording = {.name = "l2_map", .unit = "cycle", .sm_id = -1};
    struct pb_matrix *matrix = &recording.matrix;
    struct pb_error err = PB_ERROR_INIT;

    require(pb_axis_set_labels(&matrix->axes[0], "touch", "what is done", labels, 2, &err), &err);
    require(pb_axis_set_values(&matrix->axes[1], "sm", "", "which", values, 3, &err), &err);
    require(pb_matrix_allocate(matrix, "cycle", "as stamped", &err), &err);
    add_test(fleet, key, &recording);
}

static void add_device(struct pb_fleet *fleet, size_t number)
{
    struct pb_device_info info = {.backend = "sim", .model = "odd", .sm_count = 3};
    struct pb_member member = {.rank = (int64_t)number, .status = "ok", .tests_ok = 2};
    struct pb_image image;
    struct pb_error err = PB_ERROR_INIT;

    snprintf(member.host, sizeof(member.host), "n%zu", number + 1);
    snprintf(member.key, sizeof(member.key), "n%zu.gpu0", number + 1);
    snprintf(info.uuid, sizeof(info.uuid), "GPU-%zu", number);
    require(pb_image_of_device(member.key, &info, &image, &err), &err);
    require(pb_fleet_add(fleet, image.bytes, image.size, &err), &err);
    free(image.bytes);
    require(pb_image_of_member(&member, &image, &err), &err);
    require(pb_fleet_add(fleet, image.bytes, image.size, &err), &err);
    free(image.bytes);
    add_series(fleet, member.key);
    add_matrix(fleet, member.key);
}

static void add_parameters(const char *path)
{
    struct pb_parameter_row row = {.memory = "l1", .parameter = "size_bytes", .value = "16384"};
    struct pb_error err = PB_ERROR_INIT;

    PB_TEXT_SET(row.device, SMALL_FLEET_KEY);
    require(pb_file_write_parameters(path, &row, 1, &err), &err);
}

void small_fleet_write_many(const char *path, size_t devices)
{
    struct pb_run run = {.tool_version = "0", .run_id = "fuzz", .created = "2026-01-01T00:00:00Z"};
    struct pb_fleet *fleet = NULL;
    struct pb_error err = PB_ERROR_INIT;

    require(pb_fleet_create(path, &run, &fleet, &err), &err);
    for (size_t i = 0; i < devices; i++)
        add_device(fleet, i);
    require(pb_fleet_commit(fleet, devices > 0, &err), &err);
    if (devices > 0)
        add_parameters(path);
}

void small_fleet_write(const char *path, bool empty)
{
    small_fleet_write_many(path, empty ? 0 : 1);
}
