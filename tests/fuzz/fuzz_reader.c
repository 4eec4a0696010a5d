/*
 * Fuzz target over the reader: the bytes of a fleet file, damaged, read object by object and
 * validated.
 *
 * One mutation in two goes through HDF5 and leaves a file that it can read (tamper.h); the others
 * change bytes, which mostly end at its checksums.
 */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "fuzz/tamper.h"
#include "h5schema/file.h"

enum { ACCESSES = 40, SEEDS = 2 };

static const char key[] = "n1.gpu0";

/* ---- reading ---- */

static void read_test(struct pb_reader *reader, const char *device, const char *test)
{
    struct pb_recording recording;
    struct pb_error err = PB_ERROR_INIT;
    uint64_t bytes;

    if (pb_reader_recording(reader, device, test, &recording, &err) == PB_OK)
        pb_recording_clear(&recording);
    pb_reader_stored_bytes(reader, device, test, &bytes, &err);
}

static void read_device(struct pb_reader *reader, const char *device)
{
    struct pb_key *tests = NULL;
    struct pb_state *states = NULL;
    struct pb_device_info info;
    struct pb_error err = PB_ERROR_INIT;
    size_t count = 0;

    pb_reader_device(reader, device, &info, &err);
    if (pb_reader_states(reader, device, &states, &count, &err) == PB_OK)
        free(states);
    if (pb_reader_tests(reader, device, &tests, &count, &err) != PB_OK)
        return;
    for (size_t i = 0; i < count; i++)
        read_test(reader, device, tests[i].text);
    free(tests);
}

static void read_all(struct pb_reader *reader)
{
    struct pb_member *members = NULL;
    struct pb_key *devices = NULL;
    struct pb_run run;
    struct pb_error err = PB_ERROR_INIT;
    size_t count = 0;

    pb_reader_run(reader, &run, &err);
    if (pb_reader_members(reader, &members, &count, &err) == PB_OK)
        free(members);
    if (pb_reader_devices(reader, &devices, &count, &err) != PB_OK)
        return;
    for (size_t i = 0; i < count; i++)
        read_device(reader, devices[i].text);
    free(devices);
}

/* Whatever was opened since must be closed again. */
static void require_open(ssize_t before, const char *who)
{
    ssize_t after = H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL);

    if (after == before)
        return;
    fprintf(stderr, "fuzz: %s left %zd objects open\n", who, after - before);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pb_reader *reader = NULL;
    struct pb_error err = PB_ERROR_INIT;
    int file = memfd_create("fuzz", MFD_CLOEXEC);
    ssize_t open = H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL);
    size_t complaints;
    char path[64];

    if (file < 0 || write(file, data, size) != (ssize_t)size) {
        perror("fuzz: an input cannot be written");
        exit(2);
    }
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    if (pb_reader_open(path, &reader, &err) == PB_OK) {
        read_all(reader);
        pb_reader_close(reader);
    }
    require_open(open, "the reader");
    pb_file_validate(path, NULL, NULL, &complaints, &err);
    require_open(open, "the validator");
    close(file);
    return 0;
}

/* FNV-1a: tells a file from another, no more. */
static uint64_t hash_of(const uint8_t *data, size_t size)
{
    uint64_t hash = 0xcbf29ce484222325U;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ data[i]) * 0x100000001b3U;
    return hash;
}

/*
 * HDF5 1.10 does not survive writing into a file whose bytes were changed. So only what comes from
 * itself is tampered with; a file whose bytes were changed since gives way to the seed.
 */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed)
{
    static uint64_t last_tampered;
    uint64_t state = seed;

    if (fuzz_random(&state) % 2 == 0)
        return LLVMFuzzerMutate(data, size, capacity);
    if (hash_of(data, size) != last_tampered)
        size = fuzz_seed(SEEDS - 1, data, capacity);
    size = fuzz_tamper(data, size, capacity, &state);
    last_tampered = hash_of(data, size);
    return size > 0 ? size : fuzz_seed(SEEDS - 1, data, capacity);
}

/* ---- a small fleet file with one of everything ---- */

static void require(enum pb_status status, const struct pb_error *err)
{
    if (status == PB_OK)
        return;
    fprintf(stderr, "fuzz: the seed cannot be made: %s\n", err->message);
    exit(2);
}

static void add_test(struct pb_fleet *fleet, struct pb_recording *recording)
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

static void add_series(struct pb_fleet *fleet)
{
    struct pb_recording recording = {.name = "l1_capacity", .unit = "cycle", .sm_id = -1};
    struct pb_point point = {.path = "global_ca", .mode = "trace", .count = ACCESSES};
    uint32_t latency[ACCESSES];
    uint64_t index[ACCESSES];
    struct pb_error err = PB_ERROR_INIT;

    for (size_t i = 0; i < ACCESSES; i++) {
        latency[i] = 30 + (uint32_t)i;
        index[i] = 8 * i;
    }
    for (size_t i = 0; i < 3; i++)
        require(pb_series_append(&recording.series, &point, latency, index, &err), &err);
    add_test(fleet, &recording);
}

static void add_matrix(struct pb_fleet *fleet)
{
    static const char *const labels[] = {"load", "atomic"};
    static const double values[] = {0, 1, 2};
    struct pb_recording recording = {.name = "l2_map", .unit = "cycle", .sm_id = -1};
    struct pb_matrix *matrix = &recording.matrix;
    struct pb_error err = PB_ERROR_INIT;

    require(pb_axis_set_labels(&matrix->axes[0], "touch", "what is done", labels, 2, &err), &err);
    require(pb_axis_set_values(&matrix->axes[1], "sm", "", "which", values, 3, &err), &err);
    require(pb_matrix_allocate(matrix, "cycle", "as stamped", &err), &err);
    add_test(fleet, &recording);
}

static void add_device(struct pb_fleet *fleet)
{
    struct pb_device_info info = {.backend = "sim", .model = "odd", .sm_count = 3};
    struct pb_member member = {.host = "n1", .status = "ok", .tests_ok = 2};
    struct pb_image image;
    struct pb_error err = PB_ERROR_INIT;

    PB_TEXT_SET(member.key, key);
    require(pb_image_of_device(key, &info, &image, &err), &err);
    require(pb_fleet_add(fleet, image.bytes, image.size, &err), &err);
    free(image.bytes);
    require(pb_image_of_member(&member, &image, &err), &err);
    require(pb_fleet_add(fleet, image.bytes, image.size, &err), &err);
    free(image.bytes);
    add_series(fleet);
    add_matrix(fleet);
}

static void add_parameters(const char *path)
{
    struct pb_parameter_row row = {.memory = "l1", .parameter = "size_bytes", .value = "16384"};
    struct pb_error err = PB_ERROR_INIT;

    PB_TEXT_SET(row.device, key);
    require(pb_file_write_parameters(path, &row, 1, &err), &err);
}

static void make_file(const char *path, size_t i)
{
    struct pb_run run = {.tool_version = "0", .run_id = "fuzz", .created = "2026-01-01T00:00:00Z"};
    struct pb_fleet *fleet = NULL;
    struct pb_error err = PB_ERROR_INIT;

    require(pb_fleet_create(path, &run, &fleet, &err), &err);
    if (i > 0)
        add_device(fleet);
    require(pb_fleet_commit(fleet, i > 0, &err), &err);
    if (i > 0)
        add_parameters(path);
}

static size_t read_file(const char *path, uint8_t *data, size_t capacity)
{
    FILE *file = fopen(path, "rb");
    size_t size = file == NULL ? 0 : fread(data, 1, capacity, file);

    if (file != NULL)
        fclose(file);
    return size;
}

/* Made once, as HDF5 takes its time. */
size_t fuzz_seed(size_t i, uint8_t *data, size_t capacity)
{
    static struct {
        uint8_t *bytes;
        size_t size;
    } kept[SEEDS];
    char folder[] = "/tmp/plumb-fuzz-XXXXXX", path[64];

    if (i >= SEEDS)
        return 0;
    if (kept[i].bytes == NULL) {
        if (mkdtemp(folder) == NULL)
            exit(2);
        snprintf(path, sizeof(path), "%s/fleet.h5", folder);
        make_file(path, i);
        kept[i].size = read_file(path, data, capacity);
        kept[i].bytes = malloc(kept[i].size);
        if (kept[i].bytes == NULL || kept[i].size == capacity)
            exit(2);
        memcpy(kept[i].bytes, data, kept[i].size);
        unlink(path);
        rmdir(folder);
    }
    memcpy(data, kept[i].bytes, kept[i].size);
    return kept[i].size;
}
