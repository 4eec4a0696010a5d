/* Messages: every structure survives the way to JSON and back, and nothing else is believed. */
#include <stdlib.h>
#include <string.h>

#include "run/messages.h"
#include "run/unit.h"

static void test_hello__keeps_devices_and_tests(void **state)
{
    struct pb_device_entry devices[2] = {{.uuid = "GPU-a", .model = "A"}, {.uuid = "GPU-b"}};
    struct pb_test_spec specs[1] = {{"l1_capacity", "cycle", "M16 4.2", 0, 0}};
    const struct pb_hello hello = {"sim", devices, 2, {specs, 1}};
    char *message = pb_message_hello(&hello);
    struct pb_hello back;

    (void)state;
    assert_int_equal(pb_message_read_hello(message, &back, NULL), PB_OK);
    assert_string_equal(back.backend, "sim");
    assert_int_equal(back.device_count, 2);
    assert_string_equal(back.devices[1].uuid, "GPU-b");
    assert_int_equal(back.tests.count, 1);
    assert_string_equal(back.tests.specs[0].method, "M16 4.2");
    pb_hello_clear(&back);
    free(message);
}

static void test_plan__keeps_rank_and_run(void **state)
{
    struct pb_test_spec specs[2] = {{"a", "", "", 0, 0}, {"b", "", "", 0, 0}};
    struct pb_plan plan = {.rank_count = 4, .tests = {specs, 2}}, back;
    char *message;

    (void)state;
    plan.member.rank = 3;
    PB_TEXT_SET(plan.member.key, "n1.gpu3");
    PB_TEXT_SET(plan.run.run_id, "run-1");
    message = pb_message_plan(&plan);
    assert_int_equal(pb_message_read_plan(message, &back, NULL), PB_OK);
    assert_int_equal(back.member.rank, 3);
    assert_string_equal(back.member.key, "n1.gpu3");
    assert_string_equal(back.run.run_id, "run-1");
    assert_int_equal(back.tests.count, 2);
    pb_plan_clear(&back);
    free(message);
}

static void test_plan__rank_beyond_the_ranks_is_refused(void **state)
{
    struct pb_plan plan = {.rank_count = 3}, back;
    char *message;

    (void)state;
    plan.member.rank = 3;
    message = pb_message_plan(&plan);
    assert_int_equal(pb_message_read_plan(message, &back, NULL), PB_CORRUPT);
    free(message);
}

static void test_message__text_that_is_no_utf8_costs_only_those_bytes(void **state)
{
    struct pb_test_report test = {.seconds = 1.5}, back;
    char *message;

    (void)state;
    PB_TEXT_SET(test.message, "bad \xff\xfe byte");
    message = pb_message_test(&test);
    assert_non_null(message);
    assert_int_equal(pb_message_read_test(message, &back, NULL), PB_OK);
    assert_string_equal(back.message, "bad ?? byte");
    assert_true(back.seconds == 1.5);
    free(message);
}

static void test_message__missing_and_wrong_members_are_named(void **state)
{
    struct pb_error err = PB_ERROR_INIT;
    struct pb_refusal refusal;
    struct pb_probe_order order;

    (void)state;
    assert_int_equal(pb_message_read_refusal("{\"status\":1}", &refusal, &err), PB_CORRUPT);
    assert_string_equal(err.message, "REFUSED: \"message\" is missing");
    assert_int_equal(pb_message_read_refusal("{\"status\":\"x\",\"message\":\"\"}", &refusal, &err),
                     PB_CORRUPT);
    assert_string_equal(err.message, "REFUSED: \"status\" is of the wrong type");
    assert_int_equal(pb_message_read_refusal("{\"status\":0,\"message\":\"\"}", &refusal, &err),
                     PB_CORRUPT);
    assert_int_equal(pb_message_read_order(NULL, &order, &err), PB_CORRUPT);
    assert_int_equal(pb_message_read_order("run l1", &order, &err), PB_CORRUPT);
}

static void test_order__keeps_its_tests(void **state)
{
    struct pb_test_spec specs[1] = {{"bank_conflict", "cycle", "", 0, 0}};
    struct pb_probe_order order = {.kind = PB_ORDER_RUN, .tests = {specs, 1}}, back;
    char *line;

    (void)state;
    PB_TEXT_SET(order.key, "n1.gpu0");
    line = pb_message_order(&order);
    assert_null(strchr(line, '\n')); /* an order is one line */
    assert_int_equal(pb_message_read_order(line, &back, NULL), PB_OK);
    assert_int_equal(back.kind, PB_ORDER_RUN);
    assert_string_equal(back.tests.specs[0].name, "bank_conflict");
    pb_probe_order_clear(&back);
    free(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hello__keeps_devices_and_tests),
        cmocka_unit_test(test_plan__keeps_rank_and_run),
        cmocka_unit_test(test_plan__rank_beyond_the_ranks_is_refused),
        cmocka_unit_test(test_message__text_that_is_no_utf8_costs_only_those_bytes),
        cmocka_unit_test(test_message__missing_and_wrong_members_are_named),
        cmocka_unit_test(test_order__keeps_its_tests),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
