/* One rule for two outcomes of a test, and when a test is done. */
#include <string.h>

#include "run/ledger.h"
#include "run/unit.h"

static struct pb_ledger_entry entry_of(enum pb_outcome outcome, int64_t devices)
{
    struct pb_ledger_entry entry = {.end = {outcome, devices}};

    PB_TEXT_SET(entry.key, "n.gpu0");
    PB_TEXT_SET(entry.uuid, "A");
    PB_TEXT_SET(entry.test, "t_together");
    return entry;
}

static bool replaces(enum pb_outcome later, int64_t later_devices, enum pb_outcome earlier,
                     int64_t earlier_devices)
{
    return pb_test_end_replaces((struct pb_test_end){later, later_devices},
                                (struct pb_test_end){earlier, earlier_devices});
}

static const enum pb_outcome failures[] = {PB_TEST_FAILED, PB_TEST_HUNG, PB_TEST_CRASHED,
                                           PB_TEST_LOST};
enum { FAILURES = sizeof(failures) / sizeof(failures[0]) };

static void test_outcome__replaces_as_the_rule_says(void **state)
{
    (void)state;
    for (int i = PB_TEST_OK; i <= PB_TEST_MISSING; i++) {
        assert_true(replaces(PB_TEST_OK, 0, (enum pb_outcome)i, 0));
        assert_int_equal(replaces((enum pb_outcome)i, 0, PB_TEST_OK, 0), i == PB_TEST_OK);
        assert_true(replaces((enum pb_outcome)i, 0, PB_TEST_MISSING, 0));
        assert_true(replaces((enum pb_outcome)i, 0, (enum pb_outcome)i, 0));
    }
    for (size_t i = 0; i < FAILURES; i++) {
        assert_true(replaces(PB_TEST_UNSUPPORTED, 0, failures[i], 0));
        assert_false(replaces(PB_TEST_MISSING, 0, failures[i], 0));
    }
}

/* A device that is measured alone runs another test than the whole node. */
static void test_outcome__of_fewer_devices_replaces_nothing(void **state)
{
    (void)state;
    for (int i = PB_TEST_OK; i <= PB_TEST_MISSING; i++)
        for (int later = PB_TEST_OK; later <= PB_TEST_MISSING; later++)
            assert_int_equal(replaces((enum pb_outcome)later, 1, (enum pb_outcome)i, 4),
                             later == PB_TEST_OK && i == PB_TEST_MISSING);
    assert_true(replaces(PB_TEST_OK, 4, PB_TEST_OK, 2));
    assert_true(replaces(PB_TEST_OK, 4, PB_TEST_CRASHED, 4));
}

/* The only device of a node is the whole node. */
static void test_outcome__of_a_node_with_one_device_is_settled_by_repeating_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < FAILURES; i++)
        assert_true(replaces(PB_TEST_UNSUPPORTED, 1, failures[i], 1));
}

/* Earlier versions did not say how many devices ran a concurrent test: two or more. */
static void test_outcome__of_an_earlier_version_is_not_replaced_by_a_device_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < FAILURES; i++) {
        assert_false(replaces(PB_TEST_UNSUPPORTED, 1, failures[i], 0));
        assert_true(replaces(PB_TEST_OK, 2, failures[i], 0));
    }
    assert_true(replaces(PB_TEST_UNSUPPORTED, 1, PB_TEST_MISSING, 0));
}

static void test_ledger__weaker_outcome_changes_neither_entry_nor_count(void **state)
{
    struct pb_ledger_entry crashed = entry_of(PB_TEST_CRASHED, 4),
                           unsupported = entry_of(PB_TEST_UNSUPPORTED, 1);
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
        cmocka_unit_test(test_outcome__of_fewer_devices_replaces_nothing),
        cmocka_unit_test(test_outcome__of_a_node_with_one_device_is_settled_by_repeating_it),
        cmocka_unit_test(test_outcome__of_an_earlier_version_is_not_replaced_by_a_device_alone),
        cmocka_unit_test(test_ledger__weaker_outcome_changes_neither_entry_nor_count),
        cmocka_unit_test(test_ledger__test_with_fewer_devices_than_the_node_has_is_not_done),
        cmocka_unit_test(test_ledger__what_ran_alone_is_done_whatever_the_node_has),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
