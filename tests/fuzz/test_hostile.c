/* Hostile files: the validator names what is refused, readers and writers do not go there. */
#include <malloc.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "fuzz/hostile.h"
#include "fuzz/small_fleet.h"
#include "h5schema/file.h"

static char folder[] = "/tmp/plumb-hostile-XXXXXX";

/* Hostile files name others from here. A program that waits for a FIFO ends by the alarm. */
static int enter_folder(void **state)
{
    (void)state;
    alarm(300);
    mallopt(M_PERTURB, 0x41); /* what is read before it is written shows */
    if (mkdtemp(folder) == NULL || chdir(folder) != 0 || mkfifo("fifo", 0600) != 0)
        return -1;
    small_fleet_write("victim.h5", false);
    return 0;
}

static int remove_folder(void **state)
{
    char command[64];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return chdir("/") + system(command);
}

struct search {
    const char *wanted;
    int found;
    char all[8192];
};

static void look_for(void *context, const char *line)
{
    struct search *search = context;
    size_t used = strlen(search->all);

    search->found |= strstr(line, search->wanted) != NULL;
    snprintf(search->all + used, sizeof(search->all) - used, "%s\n", line);
    for (const char *at = line; *at != '\0'; at++)
        assert_true((unsigned char)*at >= ' ');
}

static void test_hostile__validator_names_what_it_refuses(void **state)
{
    (void)state;
    for (size_t i = 0; i < hostile_file_count; i++) {
        struct search search = {.wanted = hostile_files[i].refusal};
        struct pb_error err = PB_ERROR_INIT;
        size_t complaints = 0;

        hostile_write(&hostile_files[i], "hostile.h5");
        if (pb_file_validate("hostile.h5", look_for, &search, &complaints, &err) != PB_INVALID ||
            !search.found)
            fail_msg("%s: expected \"%s\", found %s\n%s", hostile_files[i].name, search.wanted,
                     err.message, search.all);
    }
}

static void read_all(const char *path)
{
    struct pb_reader *reader = NULL;
    struct pb_key *devices = NULL, *tests = NULL;
    struct pb_finding_row *findings = NULL;
    struct pb_member *members = NULL;
    struct pb_state *states = NULL;
    size_t device_count = 0, test_count = 0, count = 0;
    struct pb_recording recording;

    if (pb_reader_open(path, &reader, NULL) != PB_OK)
        return;
    pb_reader_members(reader, &members, &count, NULL);
    pb_reader_findings(reader, &findings, &count, NULL);
    pb_reader_devices(reader, &devices, &device_count, NULL);
    for (size_t i = 0; i < device_count; i++) {
        if (pb_reader_states(reader, devices[i].text, &states, &count, NULL) == PB_OK)
            free(states);
        test_count = 0;
        pb_reader_tests(reader, devices[i].text, &tests, &test_count, NULL);
        for (size_t j = 0; j < test_count; j++)
            if (pb_reader_recording(reader, devices[i].text, tests[j].text, &recording, NULL) ==
                PB_OK)
                pb_recording_clear(&recording);
        free(tests);
        tests = NULL;
    }
    free(devices);
    free(findings);
    free(members);
    pb_reader_close(reader);
}

/* It comes to an end, which is all that is asked of it here. */
static void test_hostile__reading_all_of_it_ends(void **state)
{
    (void)state;
    for (size_t i = 0; i < hostile_file_count; i++) {
        hostile_write(&hostile_files[i], "hostile.h5");
        read_all("hostile.h5");
    }
}

static long long size_and_time(const char *path)
{
    struct stat found;

    assert_int_equal(stat(path, &found), 0);
    return (long long)found.st_size + found.st_mtim.tv_nsec + found.st_mtim.tv_sec;
}

static void test_hostile__no_result_is_written_into_another_file(void **state)
{
    const struct pb_parameter_row parameter = {.memory = "l1"};
    const struct pb_finding_row finding = {.severity = "OK"};
    const struct pb_finding_tables tables = {&finding, 1, NULL, 0};
    long long before = size_and_time("victim.h5");
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    hostile_write(&hostile_files[0], "hostile.h5"); /* external_analysis */
    assert_int_equal(pb_file_write_parameters("hostile.h5", &parameter, 1, &err), PB_CORRUPT);
    assert_non_null(strstr(err.message, "/analysis: expected a hard link, found an external link"));
    assert_int_equal(pb_file_write_findings("hostile.h5", &tables, &err), PB_CORRUPT);
    assert_int_equal(size_and_time("victim.h5"), before);
}

/* HDF5 1.10 frees what it never had where it sorts the names of such a group. */
static void test_hostile__rotten_blocks_of_large_groups_are_survived(void **state)
{
    static char bytes[1 << 20];
    size_t complaints = 0, size, blocks = 0;
    FILE *file;

    (void)state;
    small_fleet_write_many("many.h5", 24);
    file = fopen("many.h5", "r+b");
    assert_non_null(file);
    size = fread(bytes, 1, sizeof(bytes), file);
    for (size_t at = 0; at + 64 < size; at++) {
        if (memcmp(bytes + at, "FHDB", 4) != 0)
            continue;
        bytes[at + 40] ^= 0x10;
        assert_int_equal(pwrite(fileno(file), bytes, size, 0), size);
        assert_int_equal(pb_file_validate("many.h5", NULL, NULL, &complaints, NULL), PB_INVALID);
        read_all("many.h5");
        bytes[at + 40] ^= 0x10;
        blocks++;
    }
    fclose(file);
    assert_true(blocks > 2);
}

static void test_hostile__what_is_no_regular_file_is_refused(void **state)
{
    static const char *const paths[] = {"fifo", ".", "/dev/zero"};
    struct pb_reader *reader = NULL;
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        assert_int_equal(pb_reader_open(paths[i], &reader, &err), PB_INVALID);
        assert_non_null(strstr(err.message, "expected a regular file"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile__validator_names_what_it_refuses),
        cmocka_unit_test(test_hostile__reading_all_of_it_ends),
        cmocka_unit_test(test_hostile__no_result_is_written_into_another_file),
        cmocka_unit_test(test_hostile__rotten_blocks_of_large_groups_are_survived),
        cmocka_unit_test(test_hostile__what_is_no_regular_file_is_refused),
    };

    return cmocka_run_group_tests(tests, enter_folder, remove_folder);
}
