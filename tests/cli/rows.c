/*
 * rows FILE: what a fleet file says, one line each, for shell scripts to look for.
 *
 *   rank 1 n1.gpu1 hung 4 1 MESSAGE        a row of /fleet: tests ok, tests failed
 *   test n1.gpu1 l1_capacity hung MESSAGE
 *   axis n1.gpu1 sustained_load time 25 1.02      an axis of numbers: how many, and the last
 *   axis n1.gpu1 peer_link peer 3 ID       and one of labels
 *   complete 0
 *   findings 1
 *   finding CRITICAL device n1.gpu1: hung
 */
#include <stdio.h>
#include <stdlib.h>

#include "h5schema/file.h"

static enum pb_status print_members(struct pb_reader *reader, struct pb_error *err)
{
    struct pb_member *rows;
    size_t count;
    enum pb_status status = pb_reader_members(reader, &rows, &count, err);

    if (status != PB_OK)
        return status;
    for (size_t i = 0; i < count; i++)
        printf("rank %lld %s %s %llu %llu %s\n", (long long)rows[i].rank,
               rows[i].key[0] == '\0' ? "-" : rows[i].key, rows[i].status,
               (unsigned long long)rows[i].tests_ok, (unsigned long long)rows[i].tests_failed,
               rows[i].message);
    free(rows);
    return PB_OK;
}

static void print_axes(const char *key, const struct pb_recording *recording)
{
    for (size_t i = 0; i < recording->matrix.rank; i++) {
        const struct pb_axis *axis = &recording->matrix.axes[i];

        if (axis->values != NULL && axis->length > 0)
            printf("axis %s %s %s %zu %g\n", key, recording->name, axis->name, axis->length,
                   axis->values[axis->length - 1]);
        else if (axis->labels != NULL && axis->length > 0)
            printf("axis %s %s %s %zu %s\n", key, recording->name, axis->name, axis->length,
                   axis->labels[axis->length - 1]);
    }
}

static enum pb_status print_tests(struct pb_reader *reader, const char *key, struct pb_error *err)
{
    struct pb_key *names;
    size_t count;
    enum pb_status status = pb_reader_tests(reader, key, &names, &count, err);

    for (size_t i = 0; i < count && status == PB_OK; i++) {
        struct pb_recording recording;

        status = pb_reader_recording(reader, key, names[i].text, &recording, err);
        if (status != PB_OK)
            break;
        printf("test %s %s %s %s\n", key, names[i].text, pb_outcome_name(recording.outcome),
               recording.message);
        print_axes(key, &recording);
        pb_recording_clear(&recording);
    }
    if (status == PB_OK)
        free(names);
    return status;
}

static void print_findings(struct pb_reader *reader)
{
    struct pb_finding_row *rows = NULL;
    size_t count = 0;

    if (pb_reader_findings(reader, &rows, &count, NULL) != PB_OK)
        return; /* nobody has looked for any */
    printf("findings %zu\n", count);
    for (size_t i = 0; i < count; i++)
        printf("finding %s %s %s: %s\n", rows[i].severity, rows[i].level, rows[i].place,
               rows[i].cause);
    free(rows);
}

static enum pb_status print_file(const char *path, struct pb_error *err)
{
    struct pb_reader *reader;
    struct pb_key *keys = NULL;
    struct pb_run run;
    size_t count = 0;
    enum pb_status status = pb_reader_open(path, &reader, err);

    if (status != PB_OK)
        return status;
    status = print_members(reader, err);
    if (status == PB_OK)
        status = pb_reader_devices(reader, &keys, &count, err);
    for (size_t i = 0; i < count && status == PB_OK; i++)
        status = print_tests(reader, keys[i].text, err);
    if (status == PB_OK)
        status = pb_reader_run(reader, &run, err);
    if (status == PB_OK)
        printf("complete %lld\n", (long long)run.complete);
    if (status == PB_OK)
        print_findings(reader);
    free(keys);
    pb_reader_close(reader);
    return status;
}

int main(int argc, char **argv)
{
    struct pb_error err = PB_ERROR_INIT;

    if (argc != 2)
        return 2;
    if (print_file(argv[1], &err) == PB_OK)
        return 0;
    fprintf(stderr, "rows: %s\n", err.message);
    return 1;
}
