/*
 * What a battery costs: seconds, accesses and bytes of every test in a fleet file, by device.
 *
 *   bench_battery FILE.h5
 *
 * Seconds are those that each test says of itself; what lies between the tests (states read around
 * them, images, the pipe) is the rest of the device's time. Bytes in memory are those of the
 * recording's arrays, bytes in the file those of its compressed datasets.
 *
 * "pack" is what turning the recording into an image takes on this machine, once more. A probe does
 * that beside the tests that follow; played through with the times of the file's states, the
 * packing is hidden but for what is left when the last test is over.
 *
 * Limit: it reads, and judges nothing.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/time.h"
#include "h5schema/file.h"

struct cost {
    char name[PB_NAME_LENGTH];
    double seconds, pack_seconds;
    double end_unix_seconds; /* by the state read after the test */
    uint64_t access_count, memory_bytes, file_bytes;
};

/* All tests of a device. */
struct costs {
    struct cost *tests; /* [count] */
    size_t count;
};

static uint64_t memory_of(const struct pb_recording *recording)
{
    const struct pb_series *series = &recording->series;
    const struct pb_matrix *matrix = &recording->matrix;
    uint64_t bytes = series->point_count * sizeof(*series->points);

    bytes +=
        series->access_count * (sizeof(*series->latency_cycles) + sizeof(*series->index_bytes));
    bytes += pb_matrix_size(matrix) * sizeof(*matrix->values);
    for (size_t i = 0; i < matrix->rank; i++)
        bytes += matrix->axes[i].length *
                 (matrix->axes[i].values != NULL ? sizeof(double) : PB_NAME_LENGTH);
    return bytes;
}

/* Packs a recording as its probe did. */
static enum pb_status time_packing(const char *key, const struct pb_recording *recording,
                                   double *seconds_out, struct pb_error *err)
{
    double start = pb_time_monotonic_seconds();
    struct pb_image image = {NULL, 0};
    enum pb_status status = pb_image_of_test(key, recording, NULL, 0, &image, err);

    free(image.bytes);
    if (status == PB_OK)
        *seconds_out = pb_time_monotonic_seconds() - start;
    return status;
}

static enum pb_status read_cost(struct pb_reader *reader, const char *key, const char *test,
                                struct cost *cost, struct pb_error *err)
{
    struct pb_recording recording = {.sm_id = -1};
    enum pb_status status = pb_reader_recording(reader, key, test, &recording, err);

    if (status != PB_OK)
        return status;
    PB_TEXT_SET(cost->name, test);
    cost->seconds = recording.seconds;
    cost->access_count = recording.series.access_count;
    cost->memory_bytes = memory_of(&recording);
    status = time_packing(key, &recording, &cost->pack_seconds, err);
    pb_recording_clear(&recording);
    return status != PB_OK ? status
                           : pb_reader_stored_bytes(reader, key, test, &cost->file_bytes, err);
}

/* When each test was over. */
static enum pb_status read_ends(struct pb_reader *reader, const char *key, struct costs *costs,
                                struct pb_error *err)
{
    struct pb_state *states = NULL;
    size_t count = 0;
    enum pb_status status = pb_reader_states(reader, key, &states, &count, err);

    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < costs->count; k++)
            if (strcmp(states[i].when, "after") == 0 &&
                strcmp(states[i].test, costs->tests[k].name) == 0)
                costs->tests[k].end_unix_seconds = states[i].unix_seconds;
    free(states);
    return status;
}

static int by_end(const void *a, const void *b)
{
    double left = ((const struct cost *)a)->end_unix_seconds;
    double right = ((const struct cost *)b)->end_unix_seconds;

    return (left > right) - (left < right);
}

/* Seconds of packing that are left when the last test is over; sorts the tests by their ends. */
static double packing_left(struct costs *costs)
{
    double packed = 0, last = 0;

    qsort(costs->tests, costs->count, sizeof(*costs->tests), by_end);
    for (size_t i = 0; i < costs->count; i++) {
        last = costs->tests[i].end_unix_seconds;
        packed = (packed > last ? packed : last) + costs->tests[i].pack_seconds;
    }
    return packed - last;
}

static int by_seconds(const void *a, const void *b)
{
    double left = ((const struct cost *)a)->seconds, right = ((const struct cost *)b)->seconds;

    return (left < right) - (left > right);
}

/* free() costs_out->tests. */
static enum pb_status read_costs(struct pb_reader *reader, const char *key, struct costs *costs_out,
                                 struct pb_error *err)
{
    struct pb_key *names = NULL;
    struct costs costs = {NULL, 0};
    enum pb_status status = pb_reader_tests(reader, key, &names, &costs.count, err);

    if (status != PB_OK)
        return status;
    costs.tests = calloc(costs.count + 1, sizeof(*costs.tests));
    if (costs.tests == NULL) {
        free(names);
        return pb_fail(err, PB_NO_MEMORY, "no memory for %zu tests", costs.count);
    }
    for (size_t i = 0; i < costs.count && status == PB_OK; i++)
        status = read_cost(reader, key, names[i].text, &costs.tests[i], err);
    if (status == PB_OK)
        status = read_ends(reader, key, &costs, err);
    free(names);
    if (status != PB_OK) {
        free(costs.tests);
        return status;
    }
    *costs_out = costs;
    return PB_OK;
}

static struct cost sum_of(const struct costs *costs)
{
    struct cost sum = {.name = "all tests"};

    for (size_t i = 0; i < costs->count; i++) {
        sum.seconds += costs->tests[i].seconds;
        sum.pack_seconds += costs->tests[i].pack_seconds;
        sum.access_count += costs->tests[i].access_count;
        sum.memory_bytes += costs->tests[i].memory_bytes;
        sum.file_bytes += costs->tests[i].file_bytes;
    }
    return sum;
}

static void print_row(const struct cost *cost, double whole_seconds)
{
    printf("  %-22s %9.3f %6.1f%% %9.3f %10" PRIu64 " %11" PRIu64 " %9" PRIu64, cost->name,
           cost->seconds, 100 * cost->seconds / whole_seconds, cost->pack_seconds,
           cost->access_count, cost->memory_bytes, cost->file_bytes);
    if (cost->file_bytes > 0)
        printf(" %7.1f\n", (double)cost->memory_bytes / (double)cost->file_bytes);
    else
        printf(" %7s\n", "-");
}

/* Seconds of the whole device as /fleet has them; of the tests where it has no such row. */
static double whole_seconds(const struct pb_member *members, size_t count, const char *key,
                            double test_seconds)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(members[i].key, key) == 0 && members[i].seconds > test_seconds)
            return members[i].seconds;
    return test_seconds;
}

static enum pb_status print_device(struct pb_reader *reader, const char *key,
                                   const struct pb_member *members, size_t member_count,
                                   struct pb_error *err)
{
    struct pb_device_info info;
    struct costs costs = {NULL, 0};
    struct cost sum;
    double whole, left;
    enum pb_status status = pb_reader_device(reader, key, &info, err);

    if (status == PB_OK)
        status = read_costs(reader, key, &costs, err);
    if (status != PB_OK)
        return status;
    left = packing_left(&costs);
    qsort(costs.tests, costs.count, sizeof(*costs.tests), by_seconds);
    sum = sum_of(&costs);
    whole = whole_seconds(members, member_count, key, sum.seconds);
    printf("%s: %s, %s, %zu tests\n", key, info.model, info.backend, costs.count);
    printf("  %-22s %9s %7s %9s %10s %11s %9s %7s\n", "test", "seconds", "share", "pack, s",
           "accesses", "memory, B", "file, B", "ratio");
    for (size_t i = 0; i < costs.count; i++)
        print_row(&costs.tests[i], whole);
    print_row(&sum, whole);
    printf("  %-22s %9.3f %6.1f%%\n", "beside the tests", whole - sum.seconds,
           100 * (whole - sum.seconds) / whole);
    printf("  packing: %.3f s hidden by the tests that follow, %.3f s after the last one\n\n",
           sum.pack_seconds - left, left);
    free(costs.tests);
    return PB_OK;
}

static enum pb_status print_devices(struct pb_reader *reader, struct pb_error *err)
{
    struct pb_member *members = NULL;
    struct pb_key *keys = NULL;
    size_t member_count = 0, key_count = 0;
    enum pb_status status = pb_reader_members(reader, &members, &member_count, err);

    if (status == PB_OK)
        status = pb_reader_devices(reader, &keys, &key_count, err);
    for (size_t i = 0; i < key_count && status == PB_OK; i++)
        status = print_device(reader, keys[i].text, members, member_count, err);
    free(keys);
    free(members);
    return status;
}

int main(int argc, char **argv)
{
    struct pb_error err = PB_ERROR_INIT;
    struct pb_reader *reader = NULL;
    struct stat file;
    enum pb_status status;

    if (argc != 2) {
        fprintf(stderr, "Usage: bench_battery FILE.h5\n");
        return EXIT_FAILURE;
    }
    status = pb_reader_open(argv[1], &reader, &err);
    if (status == PB_OK)
        status = print_devices(reader, &err);
    pb_reader_close(reader);
    if (status != PB_OK) {
        fprintf(stderr, "bench_battery: %s\n", err.message);
        return EXIT_FAILURE;
    }
    if (stat(argv[1], &file) == 0)
        printf("%s: %lld bytes\n", argv[1], (long long)file.st_size);
    return EXIT_SUCCESS;
}
