/*
 * What it costs to compress a recording into an image, and to copy an image into a fleet file.
 *
 *   bench_image [FOLDER]
 *
 * FOLDER holds the file for as long as it is written; without one: $TMPDIR, or /tmp. "in" counts
 * the recording's arrays, "out" the image: the same two amounts stand under both steps, so that
 * the steps can be compared. The fleet file is read back, and must hold what was put in.
 *
 * Recordings: `passes` is a cache's edge as it mostly is, a sequential chase with two latencies and
 * a cycle of jitter; `random` visits its slots in random order, and its latencies spread over 256
 * cycles, which compresses about as badly as the L2 sweep of a real GPU. The small one shows the
 * cost of an image as such.
 *
 * Limit: the file lies in the page cache; nothing waits for a disk.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/time.h"
#include "h5schema/file.h"
#include "h5schema/schema.h"

enum { POINT_ACCESSES = 8192, IMAGES_MAX = 256, PATH_LENGTH = 1024 };

#define DEVICE_KEY "bench.gpu0"

struct scene {
    const char *name;
    size_t access_count, image_count;
    bool is_random;
};

static const struct scene scenes[] = {
    {"passes, 1,000,000", 1000000, 4, false},
    {"random, 1,000,000", 1000000, 4, true},
    {"passes, 1,000", 1000, IMAGES_MAX, false},
};

/* The images of one recording under several names, and what they took. */
struct batch {
    struct pb_image images[IMAGES_MAX];
    size_t count;
    double in_bytes, out_bytes; /* of all images */
    double compress_seconds, copy_seconds;
};

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u; /* splitmix64 */

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* One chase of at most POINT_ACCESSES loads. */
static void draw_point(const struct scene *scene, size_t count, uint64_t *state, uint32_t *latency,
                       uint64_t *index)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t random = next_random(state);

        index[i] = 128 * (scene->is_random ? random % POINT_ACCESSES : i);
        latency[i] = scene->is_random ? 500 + (uint32_t)(random >> 32) % 256
                                      : (i % 16 == 0 ? 280 : 40) + (uint32_t)(random >> 63);
    }
}

static enum pb_status make_recording(const struct scene *scene, struct pb_recording *recording,
                                     struct pb_error *err)
{
    uint32_t latency[POINT_ACCESSES];
    uint64_t index[POINT_ACCESSES], state = 1;
    enum pb_status status = PB_OK;

    memset(recording, 0, sizeof(*recording));
    PB_TEXT_SET(recording->unit, "cycle");
    recording->sm_id = -1;
    for (size_t left = scene->access_count; left > 0 && status == PB_OK;) {
        size_t count = left < POINT_ACCESSES ? left : POINT_ACCESSES;
        struct pb_point point = {.footprint_bytes = 128 * count, .stride_bytes = 128, .sm_id = -1};

        PB_TEXT_SET(point.mode, "traced");
        point.count = count;
        draw_point(scene, count, &state, latency, index);
        status = pb_series_append(&recording->series, &point, latency, index, err);
        left -= count;
    }
    return status;
}

static double bytes_of(const struct pb_recording *recording)
{
    const struct pb_series *series = &recording->series;

    return (double)(series->point_count * sizeof(*series->points) +
                    series->access_count *
                        (sizeof(*series->latency_cycles) + sizeof(*series->index_bytes)));
}

static enum pb_status compress(const struct scene *scene, struct pb_recording *recording,
                               struct batch *batch, struct pb_error *err)
{
    double start = pb_time_monotonic_seconds();

    for (; batch->count < scene->image_count; batch->count++) {
        struct pb_image *image = &batch->images[batch->count];
        enum pb_status status;

        snprintf(recording->name, sizeof(recording->name), "test%zu", batch->count);
        status = pb_image_of_test(DEVICE_KEY, recording, NULL, 0, image, err);
        if (status != PB_OK)
            return status;
        batch->out_bytes += (double)image->size;
        batch->in_bytes += bytes_of(recording);
    }
    batch->compress_seconds = pb_time_monotonic_seconds() - start;
    return PB_OK;
}

static enum pb_status copy(const char *path, struct batch *batch, struct pb_error *err)
{
    struct pb_run run = {.schema_version = PB_SCHEMA_VERSION};
    struct pb_fleet *fleet;
    double start;
    enum pb_status status = pb_fleet_create(path, &run, &fleet, err);

    if (status != PB_OK)
        return status;
    start = pb_time_monotonic_seconds();
    for (size_t i = 0; i < batch->count && status == PB_OK; i++)
        status = pb_fleet_add(fleet, batch->images[i].bytes, batch->images[i].size, err);
    batch->copy_seconds = pb_time_monotonic_seconds() - start;
    if (status != PB_OK) {
        pb_fleet_abandon(fleet);
        return status;
    }
    return pb_fleet_commit(fleet, true, err);
}

/* The last test of the file is the recording. */
static enum pb_status compare(const char *path, const struct pb_recording *recording,
                              struct pb_error *err)
{
    const struct pb_series *expected = &recording->series;
    struct pb_recording found = {.sm_id = -1};
    struct pb_reader *reader = NULL;
    size_t count = expected->access_count;
    enum pb_status status = pb_reader_open(path, &reader, err);

    if (status == PB_OK)
        status = pb_reader_recording(reader, DEVICE_KEY, recording->name, &found, err);
    pb_reader_close(reader);
    if (status == PB_OK &&
        (found.series.access_count != count ||
         memcmp(found.series.latency_cycles, expected->latency_cycles, 4 * count) != 0 ||
         memcmp(found.series.index_bytes, expected->index_bytes, 8 * count) != 0))
        status = pb_fail(err, PB_CORRUPT, "%s: %s is not what was written", path, recording->name);
    pb_recording_clear(&found);
    return status;
}

static void print_batch(const struct scene *scene, const struct batch *batch)
{
    double n = (double)batch->count, in_mb = batch->in_bytes / 1e6, out_mb = batch->out_bytes / 1e6;

    printf("%-18s %9.3f %9.3f %6.1f | %9.2f %8.1f %8.1f | %9.2f %8.1f %8.1f | %6.0f\n", scene->name,
           in_mb / n, out_mb / n, in_mb / out_mb, 1e3 * batch->compress_seconds / n,
           in_mb / batch->compress_seconds, out_mb / batch->compress_seconds,
           1e3 * batch->copy_seconds / n, in_mb / batch->copy_seconds, out_mb / batch->copy_seconds,
           batch->compress_seconds / batch->copy_seconds);
}

static enum pb_status measure(const struct scene *scene, const char *path, struct pb_error *err)
{
    struct pb_recording recording;
    struct batch batch = {.count = 0};
    enum pb_status status = make_recording(scene, &recording, err);

    if (status == PB_OK)
        status = compress(scene, &recording, &batch, err);
    if (status == PB_OK)
        status = copy(path, &batch, err);
    if (status == PB_OK)
        status = compare(path, &recording, err);
    if (status == PB_OK)
        print_batch(scene, &batch);
    unlink(path);
    for (size_t i = 0; i < batch.count; i++)
        free(batch.images[i].bytes);
    pb_recording_clear(&recording);
    return status;
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : getenv("TMPDIR");
    char path[PATH_LENGTH];
    struct pb_error err = PB_ERROR_INIT;

    snprintf(path, sizeof(path), "%s/bench_image.%ld.h5", folder != NULL ? folder : "/tmp",
             (long)getpid());
    printf("%-18s %9s %9s %6s | %28s| %28s|\n", "", "", "", "", "compress, per image     ",
           "copy, per image     ");
    printf("%-18s %9s %9s %6s | %9s %8s %8s | %9s %8s %8s | %6s\n", "accesses", "in, MB", "out, MB",
           "ratio", "ms", "in MB/s", "out MB/s", "ms", "in MB/s", "out MB/s", "faster");
    for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++) {
        if (measure(&scenes[i], path, &err) == PB_OK)
            continue;
        fprintf(stderr, "bench_image: %s\n", err.message);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
