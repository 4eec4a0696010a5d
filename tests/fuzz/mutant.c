/*
 * mutant: damaged copies of a fleet file, and what can be read of one.
 *
 *   mutant make BASE.h5 SEED NUMBER OUT.h5   the mutant of that number; prints what was done to it
 *   mutant digest FILE.h5                    a number for everything that readers get out of it
 *   mutant fleet DEVICES OUT.h5              a base of many devices, whose groups HDF5 stores
 *                                            densely
 *
 * Half of the mutants have other bytes, which bit rot and torn writes leave; the others went
 * through HDF5, which finds nothing wrong with them (tamper.h). campaign.sh runs all programs over
 * them.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/checksum.h"
#include "fuzz/fuzz.h"
#include "fuzz/small_fleet.h"
#include "fuzz/tamper.h"
#include "h5schema/file.h"

enum { CAPACITY = 1 << 24 };

/* ---- making ---- */

static size_t read_bytes(const char *path, uint8_t *data)
{
    FILE *file = fopen(path, "rb");
    size_t size = file == NULL ? 0 : fread(data, 1, CAPACITY / 2, file);

    if (size == 0 || size == CAPACITY / 2)
        exit(2);
    fclose(file);
    return size;
}

static size_t change_bytes(uint8_t *data, size_t size, uint64_t *state)
{
    size_t at = fuzz_random(state) % size, room = size - at;
    size_t length = 1 + fuzz_random(state) % (room < 64 ? room : 64);

    switch (fuzz_random(state) % 6) {
    case 0:
        printf("bit at %zu", at);
        data[at] ^= (uint8_t)(1U << fuzz_random(state) % 8);
        return size;
    case 1:
        printf("%zu bytes at random", length);
        for (size_t i = 0; i < length; i++)
            data[fuzz_random(state) % size] = (uint8_t)fuzz_random(state);
        return size;
    case 2:
        printf("%zu bytes from %zu on", length, at);
        memset(data + at, (int)fuzz_random(state), length);
        return size;
    case 3:
        printf("a page of zeros at %zu", at - at % 4096);
        memset(data + (at - at % 4096), 0, size - (at - at % 4096) < 4096 ? size % 4096 : 4096);
        return size;
    case 4:
        printf("cut at %zu", at);
        return at;
    default:
        printf("%zu bytes lost at %zu", length, at);
        memmove(data + at, data + at + length, size - at - length);
        return size - length;
    }
}

static size_t tamper(uint8_t *data, size_t size, uint64_t *state)
{
    size_t times = 1 + fuzz_random(state) % 3, changed;

    printf("tampered with, %zu times", times);
    for (; times > 0; times--) {
        changed = fuzz_tamper(data, size, CAPACITY, state);
        size = changed > 0 ? changed : size;
    }
    return size;
}

static int make(const char *base, uint64_t seed, uint64_t number, const char *path)
{
    uint64_t state = seed * 0x9e3779b97f4a7c15U + number;
    uint8_t *data = malloc(CAPACITY);
    size_t size = data == NULL ? 0 : read_bytes(base, data);
    FILE *file = fopen(path, "wb");

    fuzz_random(&state);
    if (size == 0 || file == NULL)
        return 2;
    size = number % 2 == 0 ? change_bytes(data, size, &state) : tamper(data, size, &state);
    printf("\n");
    if (fwrite(data, 1, size, file) != size || fclose(file) != 0)
        return 2;
    free(data);
    return 0;
}

/* ---- digesting ---- */

struct digest {
    uint32_t sum;
    bool failed;
};

static void add(struct digest *digest, const void *bytes, size_t size)
{
    if (size > 0)
        digest->sum = pb_checksum(digest->sum, bytes, size);
}

static bool holds(struct digest *digest, enum pb_status status, const struct pb_error *err)
{
    if (status != PB_OK) {
        printf("%s\n", err->message);
        digest->failed = true;
    }
    return status == PB_OK;
}

static void add_matrix(struct digest *digest, const struct pb_matrix *matrix)
{
    for (size_t i = 0; i < matrix->rank; i++) {
        const struct pb_axis *axis = &matrix->axes[i];

        add(digest, axis->name, strlen(axis->name));
        add(digest, axis->values, axis->values == NULL ? 0 : axis->length * sizeof(double));
        add(digest, axis->labels, axis->labels == NULL ? 0 : axis->length * PB_NAME_LENGTH);
    }
    add(digest, matrix->values, pb_matrix_size(matrix) * sizeof(double));
}

static void add_test(struct digest *digest, struct pb_reader *reader, const char *key,
                     const char *test)
{
    struct pb_recording recording = {.name = ""};
    struct pb_error err = PB_ERROR_INIT;

    if (!holds(digest, pb_reader_recording(reader, key, test, &recording, &err), &err))
        return;
    add(digest, recording.name, strlen(recording.name));
    add(digest, recording.unit, strlen(recording.unit));
    add(digest, recording.method, strlen(recording.method));
    add(digest, recording.message, strlen(recording.message));
    add(digest, &recording.outcome, sizeof(recording.outcome));
    add(digest, &recording.seconds, sizeof(recording.seconds));
    add(digest, &recording.overhead_cycles, sizeof(recording.overhead_cycles));
    add(digest, &recording.sm_id, sizeof(recording.sm_id));
    add(digest, recording.series.points,
        recording.series.point_count * sizeof(*recording.series.points));
    add(digest, recording.series.latency_cycles, recording.series.access_count * sizeof(uint32_t));
    add(digest, recording.series.index_bytes, recording.series.access_count * sizeof(uint64_t));
    add_matrix(digest, &recording.matrix);
    pb_recording_clear(&recording);
}

static void add_device(struct digest *digest, struct pb_reader *reader, const char *key)
{
    struct pb_device_info info;
    struct pb_state *states = NULL;
    struct pb_key *tests = NULL;
    struct pb_error err = PB_ERROR_INIT;
    size_t count = 0;
    enum pb_status status;

    memset(&info, 0, sizeof(info));
    if (holds(digest, pb_reader_device(reader, key, &info, &err), &err))
        add(digest, &info, sizeof(info));
    status = pb_reader_states(reader, key, &states, &count, &err);
    if (status != PB_NOT_FOUND && holds(digest, status, &err))
        add(digest, states, count * sizeof(*states));
    free(states);
    if (!holds(digest, pb_reader_tests(reader, key, &tests, &count, &err), &err))
        return;
    for (size_t i = 0; i < count; i++)
        add_test(digest, reader, key, tests[i].text);
    free(tests);
}

static void add_file(struct digest *digest, struct pb_reader *reader)
{
    struct pb_member *members = NULL;
    struct pb_finding_row *findings = NULL;
    struct pb_key *keys = NULL;
    struct pb_run run;
    struct pb_error err = PB_ERROR_INIT;
    size_t count = 0;
    enum pb_status status;

    pb_reader_run(reader, &run, &err);
    add(digest, &run, sizeof(run));
    if (holds(digest, pb_reader_members(reader, &members, &count, &err), &err))
        add(digest, members, count * sizeof(*members));
    free(members);
    status = pb_reader_findings(reader, &findings, &count, &err);
    if (status != PB_NOT_FOUND && holds(digest, status, &err))
        add(digest, findings, count * sizeof(*findings));
    free(findings);
    if (!holds(digest, pb_reader_devices(reader, &keys, &count, &err), &err))
        return;
    for (size_t i = 0; i < count; i++) {
        add(digest, keys[i].text, strlen(keys[i].text));
        add_device(digest, reader, keys[i].text);
    }
    free(keys);
}

/* 0: all of it could be read. */
static int print_digest(const char *path)
{
    struct digest digest = {.sum = 0};
    struct pb_reader *reader = NULL;
    struct pb_error err = PB_ERROR_INIT;

    if (holds(&digest, pb_reader_open(path, &reader, &err), &err)) {
        add_file(&digest, reader);
        pb_reader_close(reader);
    }
    printf("%08" PRIx32 "\n", digest.sum);
    return digest.failed;
}

int main(int argc, char **argv)
{
    if (argc == 6 && strcmp(argv[1], "make") == 0)
        return make(argv[2], strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10), argv[5]);
    if (argc == 3 && strcmp(argv[1], "digest") == 0)
        return print_digest(argv[2]);
    if (argc == 4 && strcmp(argv[1], "fleet") == 0) {
        small_fleet_write_many(argv[3], strtoul(argv[2], NULL, 10));
        return 0;
    }
    fprintf(stderr, "mutant: expected make, digest or fleet; see mutant.c\n");
    return 2;
}
