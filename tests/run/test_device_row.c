/* The row of a device follows from what became of its tests. */
#include <string.h>

#include "run/ledger.h"
#include "run/unit.h"

static const char *const tests[] = {"first", "later", "third", "fourth"};

static void add(struct pb_ledger *ledger, const struct pb_member *member, const char *test,
                enum pb_outcome outcome, const char *message)
{
    const struct pb_ledger_entry entry =
        pb_ledger_entry_of(member, test, (struct pb_test_end){outcome, 0}, message);

    assert_int_equal(pb_ledger_record(ledger, &entry, NULL), PB_OK);
}

static struct pb_member row_of(const enum pb_outcome *outcomes, size_t count)
{
    struct pb_ledger ledger = {NULL, 0, 0};
    struct pb_member member = {.key = "n.gpu0", .uuid = "A"};

    for (size_t i = 0; i < count; i++)
        add(&ledger, &member, tests[i], outcomes[i], "why");
    pb_ledger_fill_row(&ledger, &member);
    pb_ledger_clear(&ledger);
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
    struct pb_ledger ledger = {NULL, 0, 0};
    struct pb_member member = {.key = "n.gpu0", .uuid = "A"};
    char text[600];

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    add(&ledger, &member, "a_test_with_a_name_of_31_letters", PB_TEST_CRASHED, text);
    add(&ledger, &member, "b", PB_TEST_FAILED, "");
    pb_ledger_fill_row(&ledger, &member);
    pb_ledger_clear(&ledger);
    assert_true(strlen(member.message) < sizeof(member.message));
    assert_non_null(strstr(member.message, "(1 more not ok)"));
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_row__all_ok),
        cmocka_unit_test(test_row__unsupported_is_no_failure),
        cmocka_unit_test(test_row__worst_thing_first),
        cmocka_unit_test(test_row__some_failed_is_partial_and_all_failed_is_failed),
        cmocka_unit_test(test_row__long_message_is_cut_not_overrun),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
