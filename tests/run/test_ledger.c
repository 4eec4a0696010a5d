/* One rule for two outcomes of a test, and when a test is done. */
#include <string.h>

#include "run/ledger.h"
#include "run/unit.h"

static struct pb_ledger_entry entry_of(enum pb_outcome outcome, int64_t devices)
{
    struct pb_ledger_entry entry = {.outcome = outcome, .devices = devices};

    PB_TEXT_SET(entry.key, "n.gpu0");
    PB_TEXT_SET(entry.uuid, "A");
    PB_TEXT_SET(entry.test, "t_together");
    return entry;
}

static void test_outcome__replaces_as_the_rule_says(void **state)
{
    static const enum pb_outcome failures[] = {PB_TEST_FAILED, PB_TEST_HUNG, PB_TEST_CRASHED,
                                               PB_TEST_LOST};

    (void)state;
    for (int i = PB_TEST_OK; i <= PB_TEST_MISSING; i++) {
        assert_true(pb_outcome_replaces("t", PB_TEST_OK, (enum pb_outcome)i));
        assert_int_equal(pb_outcome_replaces("t", (enum pb_outcome)i, PB_TEST_OK), i == PB_TEST_OK);
        assert_true(pb_outcome_replaces("t", (enum pb_outcome)i, PB_TEST_MISSING));
        assert_true(pb_outcome_replaces("t", (enum pb_outcome)i, (enum pb_outcome)i));
    }
    for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
        assert_false(pb_outcome_replaces("t_together", PB_TEST_UNSUPPORTED, failures[i]));
        assert_false(pb_outcome_replaces("t_concurrent", PB_TEST_UNSUPPORTED, failures[i]));
        assert_true(pb_outcome_replaces("t", PB_TEST_UNSUPPORTED, failures[i]));
        assert_true(pb_outcome_replaces("t_together", failures[i], PB_TEST_UNSUPPORTED));
        assert_false(pb_outcome_replaces("t", PB_TEST_MISSING, failures[i]));
    }
}

static void test_ledger__weaker_outcome_changes_neither_entry_nor_count(void **state)
{
    struct pb_ledger_entry crashed = entry_of(PB_TEST_CRASHED, 0),
                           unsupported = entry_of(PB_TEST_UNSUPPORTED, 0);
    struct pb_ledger ledger = {NULL, 0, 0};
    struct pb_member member = {.key = "n.gpu0", .uuid = "A"};

    (void)state;
    assert_int_equal(pb_ledger_record(&ledger, &crashed, NULL), PB_OK);
    assert_int_equal(pb_ledger_record(&ledger, &unsupported, NULL), PB_OK);
    pb_ledger_fill_row(&ledger, &member);
    assert_int_equal(ledger.count, 1);
    assert_string_equal(member.status, "crashed");
    assert_int_equal(member.tests_failed, 1);
    pb_ledger_clear(&ledger);
}

static void test_ledger__test_with_fewer_devices_than_the_node_has_is_not_done(void **state)
{
    struct pb_ledger_entry three = entry_of(PB_TEST_OK, 3);
    struct pb_ledger ledger = {NULL, 0, 0};

    (void)state;
    assert_int_equal(pb_ledger_record(&ledger, &three, NULL), PB_OK);
    assert_false(pb_ledger_is_done(&ledger, "n.gpu0", "A", "t_together", 4));
    assert_true(pb_ledger_is_done(&ledger, "n.gpu0", "A", "t_together", 3));
    assert_false(pb_ledger_is_done(&ledger, "n.gpu0", "B", "t_together", 3));
    pb_ledger_clear(&ledger);
}

static void test_ledger__what_ran_alone_is_done_whatever_the_node_has(void **state)
{
    struct pb_ledger_entry alone = entry_of(PB_TEST_OK, 0);
    struct pb_ledger ledger = {NULL, 0, 0};

    (void)state;
    assert_int_equal(pb_ledger_record(&ledger, &alone, NULL), PB_OK);
    assert_true(pb_ledger_is_done(&ledger, "n.gpu0", "A", "t_together", 8));
    pb_ledger_clear(&ledger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outcome__replaces_as_the_rule_says),
        cmocka_unit_test(test_ledger__weaker_outcome_changes_neither_entry_nor_count),
        cmocka_unit_test(test_ledger__test_with_fewer_devices_than_the_node_has_is_not_done),
        cmocka_unit_test(test_ledger__what_ran_alone_is_done_whatever_the_node_has),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
