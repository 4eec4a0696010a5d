/* See many_devices.h. */
#include "many_devices.h"

#include <fcntl.h>
#include <hdf5.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/version.h"
#include "core/time.h"
#include "h5schema/schema.h"

static void stop(const char *what, const struct pb_error *err)
{
    fprintf(stderr, "%s: %s\n", what, err->message);
    exit(EXIT_FAILURE);
}

static const char *key_of(size_t device)
{
    static char key[PB_KEY_LENGTH];

    snprintf(key, sizeof(key), "copy%04zu.gpu%zu", device / 8, device % 8);
    return key;
}

/* ---- the files ---- */

static void add_member(struct pb_fleet *fleet, size_t device)
{
    struct pb_member member = {
        .rank = (int64_t)device, .slot = (int64_t)(device % 8), .status = "ok"};
    struct pb_error err = PB_ERROR_INIT;
    struct pb_image image;

    PB_TEXT_SET(member.key, key_of(device));
    snprintf(member.host, sizeof(member.host), "copy%04zu", device / 8);
    if (pb_image_of_member(&member, &image, &err) != PB_OK ||
        pb_fleet_add(fleet, image.bytes, image.size, &err) != PB_OK)
        stop("row of /fleet", &err);
    free(image.bytes);
}

static void set_uuid(hid_t file, const char *device, size_t number)
{
    hid_t attribute = H5Aopen_by_name(file, device, "uuid", H5P_DEFAULT, H5P_DEFAULT);
    hid_t type = H5Aget_type(attribute);
    char uuid[PB_TEXT_LENGTH] = "";

    snprintf(uuid, H5Tget_size(type), "GPU-%08zu-copy", number);
    H5Awrite(attribute, type, uuid);
    H5Tclose(type);
    H5Aclose(attribute);
}

static void write_devices(const char *path, const struct many_devices *many)
{
    struct pb_run run = {
        .schema_version = PB_SCHEMA_VERSION, .created = "2026-01-01T00:00:00Z", .run_id = "bench"};
    struct pb_error err = PB_ERROR_INIT;
    struct pb_fleet *fleet = NULL;
    hid_t source, file, links = H5Pcreate(H5P_LINK_CREATE);

    unlink(path);
    if (pb_fleet_create(path, &run, &fleet, &err) != PB_OK)
        stop(path, &err);
    for (size_t i = 0; i < many->count; i++)
        add_member(fleet, i);
    if (pb_fleet_commit(fleet, true, &err) != PB_OK)
        stop(path, &err);
    source = H5Fopen(many->from, H5F_ACC_RDONLY, H5P_DEFAULT);
    file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    H5Pset_create_intermediate_group(links, 1);
    for (size_t i = 0; i < many->count; i++) {
        char old[2 * PB_KEY_LENGTH], new[2 * PB_KEY_LENGTH];

        snprintf(old, sizeof(old), "/devices/%s",
                 many->stored.devices[i % many->stored.device_count].device);
        snprintf(new, sizeof(new), "/devices/%s", key_of(i));
        if (H5Ocopy(source, old, file, new, H5P_DEFAULT, links) < 0)
            stop(new, &err);
        set_uuid(file, new, i);
    }
    H5Pclose(links);
    H5Fclose(source);
    H5Fclose(file);
}

/* ---- what plumb-analyze would have stored ---- */

/* Rows of the devices that are copied, handed on once for each copy. */
struct copied_rows {
    const struct many_devices *many;
    size_t device, row; /* the next */
};

static enum pb_status next_parameters(void *context, struct pb_parameter_row *rows, size_t room,
                                      size_t *count_out, struct pb_error *err)
{
    struct copied_rows *at = context;
    const struct many_devices *many = at->many;
    size_t count = 0;

    (void)err;
    while (count < room && at->device < many->count) {
        const char *from = many->stored.devices[at->device % many->stored.device_count].device;

        for (; at->row < many->row_count && count < room; at->row++)
            if (strcmp(many->rows[at->row].device, from) == 0) {
                rows[count] = many->rows[at->row];
                memset(rows[count].device, 0, sizeof(rows[count].device));
                PB_TEXT_SET(rows[count].device, key_of(at->device));
                count++;
            }
        if (at->row == many->row_count) {
            at->row = 0;
            at->device++;
        }
    }
    *count_out = count;
    return PB_OK;
}

static double random_share(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 33) / 2147483648.0 - 0.5;
}

/* Parameters and metrics of all devices, as if they had been inferred. */
static void write_analysis(const char *path, const struct many_devices *many, uint64_t seed)
{
    const struct pb_stored_metrics *stored = &many->stored;
    struct pb_stored_metrics own = {.metrics = stored->metrics,
                                    .device_count = many->count,
                                    .metric_count = stored->metric_count};
    struct copied_rows rows = {many, 0, 0};
    const struct pb_parameter_source source = {&rows, next_parameters, NULL, &own,
                                               pb_analysis_version()};
    struct pb_error err = PB_ERROR_INIT;

    own.devices = calloc(many->count, sizeof(*own.devices));
    own.values = calloc(many->count * stored->metric_count, sizeof(*own.values));
    if (own.devices == NULL || own.values == NULL)
        abort();
    for (size_t i = 0; i < many->count; i++) {
        size_t from = i % stored->device_count;

        own.devices[i] = stored->devices[from];
        memset(own.devices[i].device, 0, sizeof(own.devices[i].device));
        PB_TEXT_SET(own.devices[i].device, key_of(i));
        own.devices[i].measured_seconds = 1.7e9 + (double)seed;
        for (size_t k = 0; k < stored->value_count; k++) {
            if (stored->values[k].device != from)
                continue;
            own.values[own.value_count] = stored->values[k];
            own.values[own.value_count].device = (uint32_t)i;
            if (strstr(stored->metrics[stored->values[k].metric].unit, "s") != NULL)
                own.values[own.value_count].value *= 1.0 + 0.002 * random_share(&seed);
            own.value_count++;
        }
    }
    if (pb_file_write_parameters_from(path, &source, &err) != PB_OK)
        stop(path, &err);
    free(own.devices);
    free(own.values);
}

/* ---- interface ---- */

static enum pb_status keep_row(void *context, const struct pb_parameter_row *row,
                               struct pb_error *err)
{
    struct many_devices *many = context;

    (void)err;
    if ((many->row_count & (many->row_count - 1)) == 0) /* 0, 1, 2, 4, … */
        many->rows = realloc(many->rows, (2 * many->row_count + 1) * sizeof(*many->rows));
    if (many->rows == NULL)
        abort();
    many->rows[many->row_count++] = *row;
    return PB_OK;
}

void many_devices_read(const char *from, size_t count, struct many_devices *many_out)
{
    struct pb_reader *reader = NULL;
    struct pb_error err = PB_ERROR_INIT;

    *many_out = (struct many_devices){.from = from, .count = count};
    if (pb_reader_open(from, &reader, &err) != PB_OK ||
        pb_reader_metrics(reader, pb_analysis_version(), &many_out->stored, &err) != PB_OK ||
        pb_reader_parameters(reader, keep_row, many_out, &err) != PB_OK)
        stop(from, &err);
    pb_reader_close(reader);
}

void many_devices_take_metrics(struct many_devices *many, const char *from)
{
    struct many_devices other;

    many_devices_read(from, many->count, &other);
    for (size_t i = 0; i < other.row_count; i++)
        PB_TEXT_SET(other.rows[i].device, many->stored.devices[0].device);
    PB_TEXT_SET(other.stored.devices[0].device, many->stored.devices[0].device);
    other.stored.device_count = 1;
    other.from = many->from;
    many_devices_clear(many);
    *many = other;
}

void many_devices_write(const struct many_devices *many, const char *path)
{
    write_devices(path, many);
    write_analysis(path, many, 1);
}

void many_devices_write_again(const struct many_devices *many, const char *path, uint64_t seed)
{
    write_analysis(path, many, seed);
}

void many_devices_clear(struct many_devices *many)
{
    pb_stored_metrics_clear(&many->stored);
    free(many->rows);
}

void many_devices_time(const char *program, const char *const *arguments)
{
    double begin = pb_time_monotonic_seconds();
    pid_t process = fork();
    struct rusage usage;
    int how;

    if (process == 0) {
        cpu_set_t one;

        CPU_ZERO(&one);
        CPU_SET(sched_getcpu(), &one);
        sched_setaffinity(0, sizeof(one), &one);
        dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
        execv(program, (char *const *)arguments);
        _exit(127);
    }
    wait4(process, &how, 0, &usage);
    printf("exit %d: %.1f s on the wall, %.1f s user, %.1f s system, peak %.1f MB\n",
           WEXITSTATUS(how), pb_time_monotonic_seconds() - begin,
           (double)usage.ru_utime.tv_sec + 1e-6 * (double)usage.ru_utime.tv_usec,
           (double)usage.ru_stime.tv_sec + 1e-6 * (double)usage.ru_stime.tv_usec,
           (double)usage.ru_maxrss * 1024e-6);
}
