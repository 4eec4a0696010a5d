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
#include "fuzz/library.h"
#include "fuzz/small_fleet.h"
#include "fuzz/tamper.h"
#include "h5schema/file.h"

enum { SEEDS = 2 };

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

    fuzz_keep_library_memory();
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

/* FNV-1a: distinguishes a file from another, no more. */
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

/* ---- seeds ---- */

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
        small_fleet_write(path, i == 0);
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
