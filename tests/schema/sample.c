/* A small fleet file, and what goes into it; see sample.h. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schema/sample.h"

static char folder[] = "/tmp/plumb-schema-XXXXXX";

const char *sample_in_folder(const char *name)
{
    static char path[256];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

int sample_make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

int sample_remove_folder(void **state)
{
    char command[300];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

struct pb_device_info sample_device_info(void)
{
    struct pb_device_info info = {.slot = 2,
                                  .sm_count = 8,
                                  .memory_bytes = 1u << 30,
                                  .power_limit_w = NAN,
                                  .ecc_enabled = -1};

    PB_TEXT_SET(info.backend, "sim");
    PB_TEXT_SET(info.model, "Test GPU");
    PB_TEXT_SET(info.uuid, "GPU-1");
    return info;
}

struct pb_member sample_member(int64_t rank, const char *key, const char *status)
{
    struct pb_member row = {.rank = rank, .slot = 2, .tests_ok = 1, .seconds = 1.5};

    PB_TEXT_SET(row.host, "n1");
    PB_TEXT_SET(row.key, key);
    PB_TEXT_SET(row.uuid, "GPU-1");
    PB_TEXT_SET(row.status, status);
    return row;
}

/* Two points with three and two accesses, and a 2 x 3 matrix with a labelled axis. */
void sample_fill_recording(struct pb_recording *recording, const char *name)
{
    static const uint32_t latency[] = {100, 101, 102, 300, 301};
    static const uint64_t index[] = {0, 32, 64, 0, 128};
    static const char *const kinds[] = {"read", "write"};
    static const double sizes[] = {32, 64, 128};
    struct pb_point point = {.footprint_bytes = 96, .stride_bytes = 32, .count = 3};
    struct pb_matrix *matrix = &recording->matrix;

    memset(recording, 0, sizeof(*recording));
    PB_TEXT_SET(recording->name, name);
    PB_TEXT_SET(recording->unit, "cycle");
    recording->method_version = 3;
    recording->seconds = 0.25;
    PB_TEXT_SET(point.path, "global_ca");
    assert_int_equal(pb_series_append(&recording->series, &point, latency, index, NULL), PB_OK);
    point.count = 2;
    assert_int_equal(pb_series_append(&recording->series, &point, latency + 3, index + 3, NULL),
                     PB_OK);
    pb_axis_set_labels(&matrix->axes[0], "kind", "what is done", kinds, 2, NULL);
    pb_axis_set_values(&matrix->axes[1], "cta_size", "", "threads", sizes, 3, NULL);
    assert_int_equal(pb_matrix_allocate(matrix, "byte/s", "throughput", NULL), PB_OK);
    for (size_t i = 0; i < 5; i++)
        matrix->values[i] = (double)i; /* the last cell stays NaN */
}

void sample_add_test(struct pb_fleet *fleet, const char *key, struct pb_recording *recording)
{
    struct pb_state states[2];
    struct pb_error err = PB_ERROR_INIT;
    struct pb_image image;

    pb_state_clear(&states[0]);
    pb_state_clear(&states[1]);
    states[1].throttle_reasons = 0x40;
    assert_int_equal(pb_image_of_test(key, recording, states, 2, &image, &err), PB_OK);
    assert_int_equal(pb_fleet_add(fleet, image.bytes, image.size, &err), PB_OK);
    free(image.bytes);
}

void sample_add_device(struct pb_fleet *fleet, const char *key)
{
    struct pb_device_info info = sample_device_info();
    struct pb_image image;

    assert_int_equal(pb_image_of_device(key, &info, &image, NULL), PB_OK);
    assert_int_equal(pb_fleet_add(fleet, image.bytes, image.size, NULL), PB_OK);
    free(image.bytes);
}

void sample_add_member(struct pb_fleet *fleet, int64_t rank, const char *key, const char *status)
{
    struct pb_member row = sample_member(rank, key, status);
    struct pb_image image;

    assert_int_equal(pb_image_of_member(&row, &image, NULL), PB_OK);
    assert_int_equal(pb_fleet_add(fleet, image.bytes, image.size, NULL), PB_OK);
    free(image.bytes);
}

void sample_write_fleet(const char *path, const char *key)
{
    struct pb_run run = {.tool_version = "0", .run_id = "r", .created = "now"};
    struct pb_error err = PB_ERROR_INIT;
    struct pb_recording recording;
    struct pb_fleet *fleet;

    assert_int_equal(pb_fleet_create(path, &run, &fleet, &err), PB_OK);
    sample_add_device(fleet, key);
    sample_fill_recording(&recording, "l1_capacity");
    sample_add_test(fleet, key, &recording);
    pb_recording_clear(&recording);
    sample_add_member(fleet, 0, key, "ok");
    assert_int_equal(pb_fleet_commit(fleet, true, &err), PB_OK);
}

size_t sample_violations(const char *path)
{
    size_t count = 0;

    pb_file_validate(path, NULL, NULL, &count, NULL);
    return count;
}
