/* The row of a device follows from what became of its tests. */
#include <string.h>

#include "run/tally.h"
#include "run/unit.h"

static struct pb_member row_of(const enum pb_outcome *outcomes, size_t count)
{
    struct pb_tally tally = {.worst = PB_TEST_OK};
    struct pb_member member = {.rank = 0};

    for (size_t i = 0; i < count; i++)
        pb_tally_add(&tally, i == 0 ? "first" : "later", outcomes[i], "why");
    pb_tally_fill(&tally, &member);
    return member;
}

static void test_row__all_ok(void **state)
{
    const enum pb_outcome outcomes[] = {PB_TEST_OK, PB_TEST_OK};
    struct pb_member row = row_of(outcomes, 2);

    (void)state;
    assert_string_equal(row.status, "ok");
    assert_int_equal(row.tests_ok, 2);
    assert_int_equal(row.tests_failed, 0);
    assert_string_equal(row.message, "");
}

static void test_row__unsupported_is_no_failure(void **state)
{
    const enum pb_outcome outcomes[] = {PB_TEST_UNSUPPORTED, PB_TEST_OK};
    struct pb_member row = row_of(outcomes, 2);

    (void)state;
    assert_string_equal(row.status, "ok");
    assert_int_equal(row.tests_ok, 1);
    assert_int_equal(row.tests_failed, 0);
}

static void test_row__worst_thing_first(void **state)
{
    const enum pb_outcome outcomes[] = {PB_TEST_FAILED, PB_TEST_HUNG, PB_TEST_MISSING, PB_TEST_OK};
    struct pb_member row = row_of(outcomes, 4);

    (void)state;
    assert_string_equal(row.status, "hung");
    assert_int_equal(row.tests_failed, 3);
    assert_string_equal(row.message, "later hung: why (2 more not ok)");
}

static void test_row__some_failed_is_partial_and_all_failed_is_failed(void **state)
{
    const enum pb_outcome outcomes[] = {PB_TEST_FAILED, PB_TEST_OK};

    (void)state;
    assert_string_equal(row_of(outcomes, 2).status, "partial");
    assert_string_equal(row_of(outcomes, 1).status, "failed");
}

static void test_row__long_message_is_cut_not_overrun(void **state)
{
    struct pb_tally tally = {.worst = PB_TEST_OK};
    struct pb_member member = {.rank = 0};
    char text[600];

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    pb_tally_add(&tally, "a_test_with_a_name_of_31_letters", PB_TEST_CRASHED, text);
    pb_tally_add(&tally, "b", PB_TEST_FAILED, "");
    pb_tally_fill(&tally, &member);
    assert_true(strlen(member.message) < sizeof(member.message));
    assert_non_null(strstr(member.message, "(1 more not ok)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_row__all_ok),
        cmocka_unit_test(test_row__unsupported_is_no_failure),
        cmocka_unit_test(test_row__worst_thing_first),
        cmocka_unit_test(test_row__some_failed_is_partial_and_all_failed_is_failed),
        cmocka_unit_test(test_row__long_message_is_cut_not_overrun),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
