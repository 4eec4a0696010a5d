/* Turns and meetings of a node: one alone, all together, and nobody waits for ever. */
#include "run/company.h"

#include <stdio.h>
#include <string.h>

#include "run/unit.h"

enum { MEMBERS = 4, TURN_SECONDS = 10, MEET_SECONDS = 20 };

static struct pb_test_spec specs[] = {
    {"other", "", "", 0}, {"together", "", "", 0}, {"third", "", "", 0}};
static const struct pb_test_list tests = {specs, 3};

static int open_company(void **state)
{
    const struct pb_company_rules rules = {MEMBERS, &tests, TURN_SECONDS, MEET_SECONDS};

    return pb_company_create(&rules, (struct pb_company **)state, NULL) != PB_OK;
}

static int close_company(void **state)
{
    pb_company_free(*state);
    return 0;
}

static void send_of(struct pb_company *company, size_t member, enum pb_letter_kind kind,
                    const char *test, int64_t number, double seconds)
{
    struct pb_letter letter = {.kind = kind, .number = number, .serial = 7};

    PB_TEXT_SET(letter.test, test);
    pb_company_hear(company, member, &letter, seconds);
}

static void send(struct pb_company *company, size_t member, enum pb_letter_kind kind,
                 int64_t number, double seconds)
{
    send_of(company, member, kind, "together", number, seconds);
}

/* All answers of now, as "MEMBER:COUNT MEMBER:COUNT". */
static void assert_answers(struct pb_company *company, double seconds, const char *expected)
{
    char found[100] = "";
    struct pb_letter letter;
    size_t member;

    while (pb_company_answer(company, seconds, &member, &letter)) {
        size_t used = strlen(found);

        assert_int_equal(letter.kind, PB_LETTER_GO);
        assert_int_equal(letter.serial, 7);
        snprintf(found + used, sizeof(found) - used, "%s%zu:%lld", used == 0 ? "" : " ", member,
                 (long long)letter.count);
    }
    assert_string_equal(found, expected);
}

static void test_company__turns_come_one_after_the_other(void **state)
{
    send(*state, 2, PB_LETTER_TURN, 0, 0);
    send(*state, 0, PB_LETTER_TURN, 0, 1);
    assert_answers(*state, 1, "2:1");
    assert_answers(*state, 2, "");
    send(*state, 2, PB_LETTER_LEAVE, 0, 3);
    assert_answers(*state, 3, "0:1");
}

static void test_company__a_try_does_not_wait(void **state)
{
    send(*state, 1, PB_LETTER_TURN, 0, 0);
    assert_answers(*state, 0, "1:1");
    send(*state, 0, PB_LETTER_TRY, 0, 1);
    assert_answers(*state, 1, "0:0");
    send(*state, 1, PB_LETTER_LEAVE, 0, 2);
    assert_answers(*state, 2, "");
    send(*state, 0, PB_LETTER_TRY, 0, 3);
    assert_answers(*state, 3, "0:1");
}

static void test_company__a_hung_turn_is_forfeited(void **state)
{
    send(*state, 0, PB_LETTER_TURN, 0, 0);
    assert_answers(*state, 0, "0:1");
    send(*state, 1, PB_LETTER_TURN, 0, 1);
    assert_answers(*state, TURN_SECONDS, "");
    assert_answers(*state, TURN_SECONDS + 1, "1:1");
    send(*state, 0, PB_LETTER_LEAVE, 0, TURN_SECONDS + 2); /* takes nothing from another */
    send(*state, 2, PB_LETTER_TRY, 0, TURN_SECONDS + 2);
    assert_answers(*state, TURN_SECONDS + 2, "2:0");
}

static void test_company__who_is_gone_frees_its_turn(void **state)
{
    send(*state, 0, PB_LETTER_TURN, 0, 0);
    assert_answers(*state, 0, "0:1");
    send(*state, 1, PB_LETTER_TURN, 0, 1);
    send(*state, 0, PB_LETTER_GONE, 0, 2);
    assert_answers(*state, 2, "1:1");
}

static void test_company__who_left_the_line_gets_no_turn(void **state)
{
    send(*state, 0, PB_LETTER_TURN, 0, 0);
    assert_answers(*state, 0, "0:1");
    send(*state, 1, PB_LETTER_TURN, 0, 1);
    send(*state, 1, PB_LETTER_LEAVE, 0, 2);
    send(*state, 0, PB_LETTER_LEAVE, 0, 3);
    assert_answers(*state, 3, "");
}

static void test_company__a_meeting_waits_for_all(void **state)
{
    send(*state, 3, PB_LETTER_MEET, 0, 0);
    send(*state, 0, PB_LETTER_MEET, 0, 1);
    send(*state, 1, PB_LETTER_MEET, 0, 1);
    assert_answers(*state, 2, "");
    send(*state, 2, PB_LETTER_MEET, 0, 3);
    assert_answers(*state, 3, "0:4 1:4 2:4 3:4");
}

static void test_company__a_meeting_does_not_wait_for_those_who_pass(void **state)
{
    send(*state, 0, PB_LETTER_PASS, 0, 0);
    send(*state, 1, PB_LETTER_GONE, 0, 0);
    send(*state, 2, PB_LETTER_MEET, 0, 1);
    send(*state, 3, PB_LETTER_MEET, 0, 1);
    assert_answers(*state, 1, "2:2 3:2");
}

/* One hangs before the meeting: the others wait once, not again at the next number. */
static void test_company__who_is_late_is_not_awaited_again(void **state)
{
    for (size_t i = 0; i < 3; i++)
        send(*state, i, PB_LETTER_MEET, 0, 0);
    assert_answers(*state, MEET_SECONDS, "");
    assert_answers(*state, MEET_SECONDS + 1, "0:3 1:3 2:3");
    for (size_t i = 0; i < 3; i++)
        send(*state, i, PB_LETTER_MEET, 1, MEET_SECONDS + 2);
    assert_answers(*state, MEET_SECONDS + 2, "0:3 1:3 2:3");
}

/* Nor at the meetings of another test, unless it is heard of. */
static void test_company__who_is_late_is_not_awaited_elsewhere(void **state)
{
    for (size_t i = 0; i < 3; i++)
        send(*state, i, PB_LETTER_MEET, 0, 0);
    assert_answers(*state, MEET_SECONDS + 1, "0:3 1:3 2:3");
    for (size_t i = 0; i < 3; i++)
        send_of(*state, i, PB_LETTER_MEET, "other", 0, MEET_SECONDS + 2);
    assert_answers(*state, MEET_SECONDS + 2, "0:3 1:3 2:3");
    send(*state, 3, PB_LETTER_LEAVE, 0, MEET_SECONDS + 3);
    for (size_t i = 0; i < 3; i++)
        send_of(*state, i, PB_LETTER_MEET, "third", 0, MEET_SECONDS + 3);
    assert_answers(*state, MEET_SECONDS + 3, "");
    send_of(*state, 3, PB_LETTER_MEET, "third", 0, MEET_SECONDS + 4);
    assert_answers(*state, MEET_SECONDS + 4, "0:4 1:4 2:4 3:4");
}

/* Who keeps the links for too long does not come to a meeting either. */
static void test_company__who_forfeits_its_turn_is_not_awaited(void **state)
{
    send(*state, 0, PB_LETTER_TURN, 0, 0);
    assert_answers(*state, 0, "0:1");
    send(*state, 1, PB_LETTER_TURN, 0, 1);
    assert_answers(*state, TURN_SECONDS + 1, "1:1");
    for (size_t i = 1; i < 4; i++)
        send(*state, i, PB_LETTER_MEET, 0, TURN_SECONDS + 2);
    assert_answers(*state, TURN_SECONDS + 2, "1:3 2:3 3:3");
}

/* It is back: those who are past that meeting do not come to it again. */
static void test_company__who_is_late_meets_alone(void **state)
{
    for (size_t i = 0; i < 3; i++)
        send(*state, i, PB_LETTER_MEET, 0, 0);
    assert_answers(*state, MEET_SECONDS + 1, "0:3 1:3 2:3");
    send(*state, 3, PB_LETTER_MEET, 0, MEET_SECONDS + 2);
    assert_answers(*state, MEET_SECONDS + 2, "3:1");
}

/* Three hold their turns as long as they may: who was first waits for them. */
static void test_company__a_meeting_waits_for_those_in_line(void **state)
{
    send(*state, 0, PB_LETTER_MEET, 0, 0);
    for (size_t i = 1; i < 4; i++)
        send(*state, i, PB_LETTER_TURN, 0, 0);
    assert_answers(*state, 0, "1:1");
    for (size_t i = 1; i < 4; i++) {
        double seconds = TURN_SECONDS * (double)i;

        assert_answers(*state, seconds - 1, "");
        send(*state, i, PB_LETTER_LEAVE, 0, seconds);
        send(*state, i, PB_LETTER_MEET, 0, seconds);
        assert_answers(*state, seconds, i == 1 ? "2:1" : i == 2 ? "3:1" : "0:4 1:4 2:4 3:4");
    }
}

static void test_company__no_turn_in_the_middle_of_a_meeting(void **state)
{
    send(*state, 3, PB_LETTER_PASS, 0, 0);
    for (size_t i = 0; i < 3; i++)
        send(*state, i, PB_LETTER_MEET, 0, 0);
    assert_answers(*state, 0, "0:3 1:3 2:3");
    send(*state, 3, PB_LETTER_TURN, 0, 1);
    assert_answers(*state, 1, "");
    for (size_t i = 0; i < 3; i++)
        send(*state, i, PB_LETTER_LEAVE, 0, 2);
    assert_answers(*state, 2, "3:1");
}

/* After a meeting all ask for a turn: who gets it knows that the others do nothing but wait. */
static void test_company__turns_after_a_meeting_begin_when_all_are_at_rest(void **state)
{
    for (size_t i = 0; i < MEMBERS; i++)
        send(*state, i, PB_LETTER_MEET, 0, 0);
    assert_answers(*state, 0, "0:4 1:4 2:4 3:4");
    send(*state, 1, PB_LETTER_TURN, 0, 1);
    send(*state, 0, PB_LETTER_TURN, 0, 2);
    send(*state, 3, PB_LETTER_TURN, 0, 2);
    assert_answers(*state, 3, "");
    send(*state, 2, PB_LETTER_LEAVE, 0, 4);
    assert_answers(*state, 4, "1:1");
    send(*state, 1, PB_LETTER_LEAVE, 0, 5);
    assert_answers(*state, 5, "0:1");
}

/* The last one does not come to this meeting, but it has the links. */
static void test_company__no_meeting_in_the_middle_of_a_turn(void **state)
{
    send(*state, 3, PB_LETTER_PASS, 0, 0);
    send(*state, 3, PB_LETTER_TURN, 0, 0);
    assert_answers(*state, 0, "3:1");
    for (size_t i = 0; i < 3; i++)
        send(*state, i, PB_LETTER_MEET, 0, 1);
    assert_answers(*state, TURN_SECONDS, "");
    send(*state, 3, PB_LETTER_LEAVE, 0, TURN_SECONDS);
    assert_answers(*state, TURN_SECONDS, "0:3 1:3 2:3");
}

static void test_company__a_meeting_does_not_wait_for_a_forfeited_turn(void **state)
{
    send(*state, 3, PB_LETTER_PASS, 0, 0);
    send(*state, 3, PB_LETTER_TURN, 0, 0);
    assert_answers(*state, 0, "3:1");
    for (size_t i = 0; i < 3; i++)
        send(*state, i, PB_LETTER_MEET, 0, 1);
    assert_answers(*state, TURN_SECONDS + 1, "0:3 1:3 2:3");
}

static void test_company__is_over_when_all_are_gone(void **state)
{
    for (size_t i = 0; i < MEMBERS; i++) {
        assert_false(pb_company_is_over(*state));
        send(*state, i, PB_LETTER_GONE, 0, 0);
    }
    assert_true(pb_company_is_over(*state));
}

int main(void)
{
#define CASE(function) cmocka_unit_test_setup_teardown(function, open_company, close_company)
    const struct CMUnitTest cases[] = {
        CASE(test_company__turns_come_one_after_the_other),
        CASE(test_company__a_try_does_not_wait),
        CASE(test_company__a_hung_turn_is_forfeited),
        CASE(test_company__who_is_gone_frees_its_turn),
        CASE(test_company__who_left_the_line_gets_no_turn),
        CASE(test_company__a_meeting_waits_for_all),
        CASE(test_company__a_meeting_does_not_wait_for_those_who_pass),
        CASE(test_company__who_is_late_is_not_awaited_again),
        CASE(test_company__who_is_late_is_not_awaited_elsewhere),
        CASE(test_company__who_forfeits_its_turn_is_not_awaited),
        CASE(test_company__who_is_late_meets_alone),
        CASE(test_company__a_meeting_waits_for_those_in_line),
        CASE(test_company__no_turn_in_the_middle_of_a_meeting),
        CASE(test_company__turns_after_a_meeting_begin_when_all_are_at_rest),
        CASE(test_company__no_meeting_in_the_middle_of_a_turn),
        CASE(test_company__a_meeting_does_not_wait_for_a_forfeited_turn),
        CASE(test_company__is_over_when_all_are_gone),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
