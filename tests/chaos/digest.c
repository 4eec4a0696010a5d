/*
 * What a fleet file holds, in lines that two runs of the same devices have in common: each test's
 * outcome and a checksum of everything it has measured, less what clocks of the host say.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/checksum.h"
#include "h5schema/file.h"

static uint32_t add(uint32_t sum, const void *bytes, size_t size)
{
    return bytes == NULL || size == 0 ? sum : pb_checksum(sum, bytes, size);
}

static uint32_t sum_of(const struct pb_recording *recording)
{
    const struct pb_series *series = &recording->series;
    const struct pb_matrix *matrix = &recording->matrix;
    uint32_t sum = add(0, series->points, series->point_count * sizeof(*series->points));

    sum = add(sum, series->latency_cycles, series->access_count * sizeof(*series->latency_cycles));
    sum = add(sum, series->index_bytes, series->access_count * sizeof(*series->index_bytes));
    return add(sum, matrix->values, pb_matrix_size(matrix) * sizeof(*matrix->values));
}

static int print_test(struct pb_reader *reader, const char *key, const char *test)
{
    struct pb_recording recording;
    struct pb_error err = PB_ERROR_INIT;

    if (pb_reader_recording(reader, key, test, &recording, &err) != PB_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    printf("%s %s %s %08x\n", key, test, pb_outcome_name(recording.outcome), sum_of(&recording));
    pb_recording_clear(&recording);
    return 0;
}

static int print_file(struct pb_reader *reader)
{
    struct pb_key *keys = NULL, *tests = NULL;
    size_t key_count = 0, test_count = 0;
    int failed = pb_reader_devices(reader, &keys, &key_count, NULL) != PB_OK;

    for (size_t i = 0; i < key_count && failed == 0; i++) {
        failed = pb_reader_tests(reader, keys[i].text, &tests, &test_count, NULL) != PB_OK;
        for (size_t j = 0; failed == 0 && j < test_count; j++)
            failed = print_test(reader, keys[i].text, tests[j].text);
        free(tests);
        tests = NULL;
    }
    free(keys);
    return failed;
}

int main(int argc, char **argv)
{
    struct pb_error err = PB_ERROR_INIT;
    struct pb_reader *reader;
    int failed;

    if (argc != 2)
        return 2;
    if (pb_reader_open(argv[1], &reader, &err) != PB_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    failed = print_file(reader);
    pb_reader_close(reader);
    return failed;
}
