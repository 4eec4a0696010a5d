/* Folding host names as Slurm does; tests/slurm asks scontrol itself whether it agrees. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/hostlist.h"

/* Names are separated by spaces, in the order in which they are given. */
static void assert_folded(const char *names, const char *expected)
{
    char copy[1024];
    const char *hosts[64];
    char *text = NULL, *rest = copy;
    size_t count = 0;

    assert_true(strlen(names) < sizeof(copy));
    strcpy(copy, names);
    for (char *name; (name = strtok_r(rest, " ", &rest)) != NULL;)
        hosts[count++] = name;
    assert_int_equal(pb_hostlist_fold(hosts, count, &text, NULL), PB_OK);
    assert_string_equal(text, expected);
    free(text);
}

static void test_hostlist_fold__no_host_is_an_empty_list(void **state)
{
    (void)state;
    assert_folded("", "");
}

static void test_hostlist_fold__one_host_has_no_brackets(void **state)
{
    (void)state;
    assert_folded("n07", "n07");
    assert_folded("login", "login");
}

static void test_hostlist_fold__neighbours_become_a_range(void **state)
{
    (void)state;
    assert_folded("n3 n1 n2 n7", "n[1-3,7]");
    assert_folded("n9 n10 n11", "n[9-11]");
}

static void test_hostlist_fold__leading_zeros_are_kept(void **state)
{
    (void)state;
    assert_folded("n01 n02 n03 n04 n07", "n[01-04,07]");
    assert_folded("n08 n09 n10 n11", "n[08-11]");
    assert_folded("n098 n099 n100 n101", "n[098-101]");
    assert_folded("n99 n100", "n[99-100]");
}

static void test_hostlist_fold__one_name_in_two_widths_is_two_hosts(void **state)
{
    (void)state;
    assert_folded("n1 n01 n2 n02", "n[1-2,01-02]");
    assert_folded("n9 n10 n010", "n[9-10,010]");
}

static void test_hostlist_fold__each_host_is_named_once(void **state)
{
    (void)state;
    assert_folded("n2 n1 n2 n1 login login", "login,n[1-2]");
}

static void test_hostlist_fold__several_prefixes(void **state)
{
    (void)state;
    assert_folded("gpu2 n1 gpu1 n2 login gpu5", "gpu[1-2,5],login,n[1-2]");
    assert_folded("r1n1 r1n2 r2n1 r10n1", "r10n1,r1n[1-2],r2n1");
    assert_folded("n n1 n2", "n,n[1-2]");
}

static void test_hostlist_fold__only_digits_at_the_end_are_counted(void **state)
{
    (void)state;
    assert_folded("n1-ib n2-ib n3-ib", "n1-ib,n2-ib,n3-ib");
    assert_folded("10 11 12", "[10-12]");
}

static void test_hostlist_fold__numbers_too_long_to_count_are_kept(void **state)
{
    (void)state;
    assert_folded("n99999999999999999998 n99999999999999999999",
                  "n99999[999999999999998-999999999999999]");
}

static void test_hostlist_fold__what_slurm_reads_otherwise_is_refused(void **state)
{
    static const char *const bad[] = {"",     "n[1-2]", "a,b",   "a b", "a\"b",
                                      "a\\b", "n1;id",  "$(id)", "-n"};
    struct pb_error err = PB_ERROR_INIT;
    char *text = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(pb_hostlist_fold(&bad[i], 1, &text, &err), PB_INVALID);
        assert_non_null(strstr(err.message, bad[i]));
        assert_null(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostlist_fold__no_host_is_an_empty_list),
        cmocka_unit_test(test_hostlist_fold__one_host_has_no_brackets),
        cmocka_unit_test(test_hostlist_fold__neighbours_become_a_range),
        cmocka_unit_test(test_hostlist_fold__leading_zeros_are_kept),
        cmocka_unit_test(test_hostlist_fold__one_name_in_two_widths_is_two_hosts),
        cmocka_unit_test(test_hostlist_fold__each_host_is_named_once),
        cmocka_unit_test(test_hostlist_fold__several_prefixes),
        cmocka_unit_test(test_hostlist_fold__only_digits_at_the_end_are_counted),
        cmocka_unit_test(test_hostlist_fold__numbers_too_long_to_count_are_kept),
        cmocka_unit_test(test_hostlist_fold__what_slurm_reads_otherwise_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
