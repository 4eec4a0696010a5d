/* A simulated L1 of each replacement policy, measured and inferred: the policy that is stated. */
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
    "clock_overhead", "clock_calibration", "l1_capacity", "l1_line",      "l1_sets",
    "l1_policy",      "l2_capacity",       "l2_line",     "dram_latency", NULL};

enum { PROFILE_MAX = 16384 };

/* The GTX 560 Ti's profile, whose L1 has 32 hashed sets of four lines, with another policy. */
static void write_profile(const char *policy, const char *path)
{
    static const char former[] = "{\"kind\": \"weighted\", \"weights\": [1, 3, 1, 1]}";
    char text[PROFILE_MAX], *begin;
    FILE *file = fopen(PLUMB_PROFILES "/gtx560ti.json", "r");

    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    begin = strstr(text, former);
    assert_non_null(begin);
    file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%.*s{\"kind\": %s}%s", (int)(begin - text), text, policy,
            begin + strlen(former));
    fclose(file);
}

/* policy: what stands behind "kind" in the profile. */
static void check(const char *policy, const char *word)
{
    char path[] = "/tmp/plumb-policy-XXXXXX";
    int descriptor = mkstemp(path);
    struct recordings *recordings = calloc(1, sizeof(*recordings));
    struct pb_recordings source = {recordings, recordings_load};
    struct pb_error err = PB_ERROR_INIT;
    struct pb_parameters parameters;
    const struct pb_parameter *found;

    assert_true(descriptor >= 0);
    close(descriptor);
    assert_non_null(recordings);
    write_profile(policy, path);
    assert_int_equal(recordings_measure_only(path, 5, needed, recordings, &err), PB_OK);
    unlink(path);
    assert_int_equal(recordings_infer(recordings, &parameters, &err), PB_OK);
    assert_int_equal(pb_policies_by_replay(&parameters, "/devices/n1.gpu0", &source, &err), PB_OK);
    found = pb_parameters_find(&parameters, "l1", "policy");
    assert_non_null(found);
    if (found->kind != PB_VALUE_WORD)
        fail_msg("%s: %s", word, found->reason);
    assert_string_equal(found->word, word);
    assert_true(found->confidence > 0.8);
    pb_parameters_clear(&parameters);
    recordings_clear(recordings);
    free(recordings);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_policies__each_is_stated_as_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
