/*
 * plumb-export: the recordings of a fleet file as comma-separated values, for those without HDF5.
 * Of parameters there is plumb-analyze --csv.
 *
 *   FOLDER/fleet.csv               the ranks and what became of their devices
 *   FOLDER/KEY/tests.csv, state.csv
 *   FOLDER/KEY/TEST.points.csv     the chases of a test
 *   FOLDER/KEY/TEST.accesses.csv   every access of them
 *   FOLDER/KEY/TEST.matrix.csv
 *
 * Each table appears whole or the old one stays.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/command_line.h"
#include "cli/export_csv.h"
#include "core/text.h"
#include "h5schema/file.h"

struct export
{
    const char *path, *device, *tests, *folder;
    struct pb_reader *reader;
    size_t device_count, test_count; /* exported so far */
};

enum { PATH_LENGTH = 4096 };

/* ---- one table ---- */

struct table {
    struct pb_atomic_file *output;
    FILE *file;
};

static enum pb_status open_table(const struct export *export, const char *key, const char *name,
                                 const char *suffix, struct table *table_out, struct pb_error *err)
{
    char path[PATH_LENGTH];
    int length = snprintf(path, sizeof(path), "%s/%s%s%s%s.csv", export->folder, key,
                          key[0] == '\0' ? "" : "/", name, suffix);
    enum pb_status status;

    if (length >= PATH_LENGTH)
        return pb_fail(err, PB_INVALID, "%s: expected a path of fewer than %d bytes",
                       export->folder, PATH_LENGTH);
    status = pb_atomic_file_open(path, &pb_export_kind, &table_out->output, err);
    if (status == PB_OK)
        table_out->file = pb_atomic_file_stream(table_out->output);
    return status;
}

static enum pb_status write_rows(const struct export *export, const char *key, const char *name,
                                 const char *suffix, const char *object, const void *rows,
                                 size_t count, struct pb_error *err)
{
    struct table table;
    enum pb_status status = open_table(export, key, name, suffix, &table, err);

    if (status != PB_OK)
        return status;
    pb_export_rows(pb_schema_find(object), rows, count, table.file);
    return pb_atomic_file_commit(table.output, err);
}

/* ---- one test ---- */

static enum pb_status export_recording(const struct export *export, const char *key,
                                       const struct pb_recording *recording, struct pb_error *err)
{
    const struct pb_series *series = &recording->series;
    enum pb_status status = PB_OK;
    struct table table;

    if (series->point_count > 0)
        status = write_rows(export, key, recording->name, ".points",
                            "/devices/<key>/tests/<test>/points", series->points,
                            series->point_count, err);
    if (status == PB_OK && series->access_count > 0) {
        status = open_table(export, key, recording->name, ".accesses", &table, err);
        if (status == PB_OK) {
            pb_export_accesses(series, table.file);
            status = pb_atomic_file_commit(table.output, err);
        }
    }
    if (status == PB_OK && recording->matrix.rank > 0 && recording->matrix.values != NULL) {
        status = open_table(export, key, recording->name, ".matrix", &table, err);
        if (status == PB_OK) {
            pb_export_matrix(&recording->matrix, table.file);
            status = pb_atomic_file_commit(table.output, err);
        }
    }
    return status;
}

/* Is the name one of "A,B,..."? NULL: all are. */
static bool is_wanted(const char *names, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = names; at != NULL;) {
        const char *comma = strchr(at, ',');

        if ((comma == NULL ? strlen(at) : (size_t)(comma - at)) == length &&
            strncmp(at, name, length) == 0)
            return true;
        at = comma == NULL ? NULL : comma + 1;
    }
    return names == NULL;
}

/* Names come from the file and become those of files. */
static enum pb_status check_name(const struct export *export, const char *name,
                                 struct pb_error *err)
{
    if (pb_text_is_host(name) && name[0] != '.')
        return PB_OK;
    return pb_fail(err, PB_INVALID, "%s: expected a name that a file can have, found \"%s\"",
                   export->path, name);
}

static enum pb_status export_tests(struct export *export, const char *key,
                                   const struct pb_key *tests, size_t count,
                                   const struct table *table, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < count && status == PB_OK; i++) {
        struct pb_recording recording = {.name = ""};

        if (!is_wanted(export->tests, tests[i].text))
            continue;
        status = check_name(export, tests[i].text, err);
        if (status == PB_OK)
            status = pb_reader_recording(export->reader, key, tests[i].text, &recording, err);
        if (status == PB_OK) {
            pb_export_test(&recording, table->file);
            status = export_recording(export, key, &recording, err);
            export->test_count++;
        }
        pb_recording_clear(&recording);
    }
    return status;
}

/* ---- devices ---- */

static enum pb_status make_folder(const char *path, struct pb_error *err)
{
    struct stat info;

    if (mkdir(path, 0777) == 0)
        return PB_OK;
    if (errno == EEXIST && stat(path, &info) == 0 && !S_ISDIR(info.st_mode))
        return pb_fail(err, PB_INVALID, "%s: expected a folder, found a file", path);
    if (errno == EEXIST)
        return PB_OK;
    return pb_fail(err, PB_IO, "%s: cannot create the folder: %s", path, strerror(errno));
}

static enum pb_status export_device(struct export *export, const char *key, struct pb_error *err)
{
    char folder[PATH_LENGTH];
    struct pb_key *tests = NULL;
    struct pb_state *states = NULL;
    size_t test_count = 0, state_count = 0;
    struct table table;
    enum pb_status status = check_name(export, key, err);

    snprintf(folder, sizeof(folder), "%s/%s", export->folder, key);
    if (status == PB_OK)
        status = make_folder(folder, err);
    if (status == PB_OK)
        status = pb_reader_tests(export->reader, key, &tests, &test_count, err);
    if (status == PB_OK)
        status = pb_reader_states(export->reader, key, &states, &state_count, err);
    if (status == PB_OK)
        status =
            write_rows(export, key, "state", "", "/devices/<key>/state", states, state_count, err);
    if (status == PB_OK) {
        status = open_table(export, key, "tests", "", &table, err);
        if (status == PB_OK) {
            pb_export_tests_begin(table.file);
            status = export_tests(export, key, tests, test_count, &table, err);
            if (status == PB_OK)
                status = pb_atomic_file_commit(table.output, err);
            else
                pb_atomic_file_abandon(table.output);
        }
    }
    export->device_count++;
    free(states);
    free(tests);
    return status;
}

static enum pb_status export_all(struct export *export, struct pb_error *err)
{
    struct pb_member *members = NULL;
    struct pb_key *keys = NULL;
    size_t member_count = 0, key_count = 0;
    enum pb_status status = pb_reader_members(export->reader, &members, &member_count, err);

    if (status == PB_OK)
        status = pb_reader_devices(export->reader, &keys, &key_count, err);
    if (status == PB_OK)
        status = make_folder(export->folder, err);
    if (status == PB_OK)
        status = write_rows(export, "", "fleet", "", "/fleet", members, member_count, err);
    for (size_t i = 0; i < key_count && status == PB_OK; i++)
        if (export->device == NULL || strcmp(export->device, keys[i].text) == 0)
            status = export_device(export, keys[i].text, err);
    if (status == PB_OK && export->device_count == 0 && export->device != NULL)
        status = pb_fail(err, PB_INVALID, "%s: no device %s among %zu", export->path,
                         export->device, key_count);
    if (status == PB_OK && export->test_count == 0 && export->tests != NULL)
        status = pb_fail(err, PB_INVALID, "%s: no device has any test of %s", export->path,
                         export->tests);
    free(keys);
    free(members);
    return status;
}

int main(int argc, char **argv)
{
    struct pb_command_line line;
    int code;

    if (pb_command_begin(PB_PROGRAM_EXPORT, argc, argv, &line, &code)) {
        struct export export = {.path = line.arguments[0],
                                .device = pb_command_line_text(&line, PB_OPTION_DEVICE),
                                .tests = pb_command_line_text(&line, PB_OPTION_TESTS),
                                .folder = pb_command_line_text(&line, PB_OPTION_OUTPUT)};
        struct pb_error err = PB_ERROR_INIT;
        enum pb_status status = pb_reader_open(export.path, &export.reader, &err);

        if (status == PB_OK)
            status = export_all(&export, &err);
        if (status != PB_OK)
            pb_command_print_error(PB_PROGRAM_EXPORT, &err);
        pb_reader_close(export.reader);
        pb_command_line_clear(&line);
        code = pb_exit_code(status);
    }
    return pb_command_end(PB_PROGRAM_EXPORT, code, PB_EXIT_FAILED);
}
