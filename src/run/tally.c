/* Counting outcomes; see tally.h. */
#include "run/tally.h"

#include <stdio.h>

/* How bad an outcome is for the device; 0: not at all. */
static int badness(enum pb_outcome outcome)
{
    static const int ranks[PB_TEST_MISSING + 1] = {
        [PB_TEST_MISSING] = 1, [PB_TEST_FAILED] = 2, [PB_TEST_CRASHED] = 3,
        [PB_TEST_HUNG] = 4,    [PB_TEST_LOST] = 5,
    };

    return ranks[outcome];
}

void pb_tally_add(struct pb_tally *tally, const char *test, enum pb_outcome outcome,
                  const char *message)
{
    tally->counts[outcome]++;
    if (badness(outcome) <= badness(tally->worst))
        return;
    tally->worst = outcome;
    PB_TEXT_SET(tally->worst_test, test);
    PB_TEXT_SET(tally->worst_message, message);
}

static enum pb_member_status status_of_tests(const struct pb_tally *tally)
{
    switch (tally->worst) {
    case PB_TEST_LOST:
        return PB_MEMBER_LOST;
    case PB_TEST_HUNG:
        return PB_MEMBER_HUNG;
    case PB_TEST_CRASHED:
        return PB_MEMBER_CRASHED;
    case PB_TEST_FAILED:
    case PB_TEST_MISSING:
        return tally->counts[PB_TEST_OK] == 0 ? PB_MEMBER_FAILED : PB_MEMBER_PARTIAL;
    default:
        return PB_MEMBER_OK;
    }
}

void pb_tally_fill(const struct pb_tally *tally, struct pb_member *member)
{
    uint64_t bad = tally->counts[PB_TEST_FAILED] + tally->counts[PB_TEST_HUNG] +
                   tally->counts[PB_TEST_CRASHED] + tally->counts[PB_TEST_LOST] +
                   tally->counts[PB_TEST_MISSING];
    char others[64] = "";

    PB_TEXT_SET(member->status, pb_member_status_name(status_of_tests(tally)));
    member->tests_ok = tally->counts[PB_TEST_OK];
    member->tests_failed = bad;
    member->message[0] = '\0';
    if (bad > 1)
        snprintf(others, sizeof(others), " (%llu more not ok)", (unsigned long long)(bad - 1));
    if (bad > 0)
        snprintf(member->message, sizeof(member->message), "%s %s: %.*s%s", tally->worst_test,
                 pb_outcome_name(tally->worst), PB_MESSAGE_LENGTH - 96, tally->worst_message,
                 others);
}

void pb_member_set(struct pb_member *member, enum pb_member_status status, const char *message)
{
    PB_TEXT_SET(member->status, pb_member_status_name(status));
    PB_TEXT_SET(member->message, message);
}

enum pb_member_status pb_member_status_of(enum pb_status status)
{
    if (status == PB_NOT_FOUND || status == PB_UNSUPPORTED)
        return PB_MEMBER_ABSENT;
    return status == PB_LOST ? PB_MEMBER_LOST : PB_MEMBER_FAILED;
}
