/*
 * A simulated L1 of each replacement policy, measured and inferred: the policy that is stated; and
 * one of long lines of many sectors, whose policy shows where its lines are not taken for shorter
 * ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/agreement/policy.h"
#include "analysis/recordings.h"

static const char *const needed[] = {
    "clock_overhead", "clock_calibration", "l1_capacity", "l1_line",      "l1_sets", "l1_policy",
    "l2_capacity",    "l2_line",           "l2_sets",     "dram_latency", NULL};

enum { PROFILE_MAX = 16384 };

/* The GTX 560 Ti's profile, with what stands in it of a cache's policy for another one. */
static void write_profile(const char *former, const char *policy, const char *path)
{
    char text[PROFILE_MAX], *begin;
    FILE *file = fopen(PLUMB_PROFILES "/gtx560ti.json", "r");

    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    begin = strstr(text, former);
    assert_non_null(begin);
    file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%.*s%s%s", (int)(begin - text), text, policy, begin + strlen(former));
    fclose(file);
}

/* Measures the profile and states its policies. */
static void infer(const char *former, const char *policy, struct pb_parameters *parameters_out)
{
    char path[] = "/tmp/plumb-policy-XXXXXX";
    int descriptor = mkstemp(path);
    struct recordings *recordings = calloc(1, sizeof(*recordings));
    struct pb_recordings source = {recordings, recordings_load};
    struct pb_error err = PB_ERROR_INIT;

    assert_true(descriptor >= 0);
    close(descriptor);
    assert_non_null(recordings);
    write_profile(former, policy, path);
    assert_int_equal(recordings_measure_only(path, 5, needed, recordings, &err), PB_OK);
    unlink(path);
    assert_int_equal(recordings_infer(recordings, parameters_out, &err), PB_OK);
    assert_int_equal(pb_policies_by_replay(parameters_out, "/devices/n1.gpu0", &source, &err),
                     PB_OK);
    recordings_clear(recordings);
    free(recordings);
}

/* Of the L1, which has 32 hashed sets of four lines; policy: what stands behind "kind". */
static void check(const char *policy, const char *word)
{
    char text[128];
    struct pb_parameters parameters;
    const struct pb_parameter *found;

    snprintf(text, sizeof(text), "{\"kind\": %s}", policy);
    infer("{\"kind\": \"weighted\", \"weights\": [1, 3, 1, 1]}", text, &parameters);
    found = pb_parameters_find(&parameters, "l1", "policy");
    assert_non_null(found);
    if (found->kind != PB_VALUE_WORD)
        fail_msg("%s: %s", word, found->reason);
    assert_string_equal(found->word, word);
    assert_true(found->confidence > 0.8);
    pb_parameters_clear(&parameters);
}

static void test_policies__each_is_stated_as_it_is(void **state)
{
    (void)state;
    check("\"lru\"", "lru");
    check("\"fifo\"", "fifo");
    check("\"plru\"", "plru");
    check("\"random\"", "random");
    check("\"weighted\", \"weights\": [1, 3, 1, 1]", "weighted");
    check("\"keep_hits\"", "keep_hits");
}

/* No chase shows which way L2 evicts: "random" may be weighted, and is not certain. */
static void test_policies__of_random_victims_l2_shows_no_weights(void **state)
{
    static const char former[] = "{\"kind\": \"random\"}", even[] = "{\"kind\": \"random\"}",
                      uneven[] = "{\"kind\": \"weighted\", \"weights\": [1, 2, 1, 1, 1, 1, 1, 1, "
                                 "1, 1, 1, 1, 1, 1, 1, 1]}";
    const char *both[] = {even, uneven};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct pb_parameters parameters;
        const struct pb_parameter *found;

        infer(former, both[i], &parameters);
        found = pb_parameters_find(&parameters, "l2", "policy");
        assert_non_null(found);
        assert_int_equal(found->kind, PB_VALUE_WORD);
        assert_string_equal(found->word, "random");
        assert_true(found->confidence <= 0.5);
        pb_parameters_clear(&parameters);
    }
}

/* Whole lines miss as two of half the length do: the line is open, and its index the simplest. */
static void test_policies__of_lines_of_many_sectors(void **state)
{
    static const char former[] =
        "\"line_bytes\": 128, \"sector_bytes\": 128, \"sets\": 32, \"ways\": 4,\n"
        "   \"index\": {\"kind\": \"xor\", \"masks\": [\"0x80\", \"0x100\", \"0x200\", "
        "\"0x400\", \"0x800\"]},\n"
        "   \"policy\": {\"kind\": \"weighted\", \"weights\": [1, 3, 1, 1]}";
    static const char other[] =
        "\"line_bytes\": 512, \"sector_bytes\": 16, \"sets\": 8, \"ways\": 4, "
        "\"index\": {\"kind\": \"modulo\"}, \"policy\": {\"kind\": \"lru\"}";
    struct pb_parameters parameters;
    const struct pb_parameter *line, *ways;

    (void)state;
    infer(former, other, &parameters);
    line = pb_parameters_find(&parameters, "l1", "line_bytes");
    ways = pb_parameters_find(&parameters, "l1", "way_counts");
    assert_int_equal((int)line->numbers[0].value, 512);
    assert_int_equal((int)line->numbers[0].high, 512);
    assert_int_equal((int)ways->numbers[0].value, 4);
    assert_int_equal((int)(line->numbers[0].low * ways->numbers[0].high), 512 * 4);
    assert_string_equal(pb_parameters_find(&parameters, "l1", "index_kind")->word, "modulo");
    assert_int_equal((int)pb_parameters_number(&parameters, "l1", "set_count"), 8);
    assert_string_equal(pb_parameters_find(&parameters, "l1", "policy")->word, "lru");
    pb_parameters_clear(&parameters);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_policies__each_is_stated_as_it_is),
        cmocka_unit_test(test_policies__of_random_victims_l2_shows_no_weights),
        cmocka_unit_test(test_policies__of_lines_of_many_sectors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
