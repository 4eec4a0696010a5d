/* Turns and meetings of a node's GPUs; see company.h. */
#include "run/company.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct member {
    bool asks, is_due, is_gone;
    bool is_late; /* a meeting or a turn went on without it, and nothing was heard of it since */
    struct pb_letter ask;
    size_t ask_order;  /* who asked first */
    double since;      /* of the ask; of a meeting, its beginning */
    bool meets;        /* from GO to the next letter */
    int64_t *meetings; /* [tests]: numbers below this one are behind it */
};

struct pb_company {
    struct pb_company_rules rules;
    size_t ask_count;
    struct member *holder; /* of the turn; NULL: it is free */
    double holder_since;   /* the last one */
    double turned_seconds; /* a turn last began or ended */
    struct member members[];
};

/* No meeting of a test comes any more. */
static const int64_t all_meetings = INT64_MAX;

enum pb_status pb_company_create(const struct pb_company_rules *rules,
                                 struct pb_company **company_out, struct pb_error *err)
{
    struct pb_company *company =
        calloc(1, sizeof(*company) + rules->member_count * sizeof(company->members[0]));
    bool whole = company != NULL;

    for (size_t i = 0; i < rules->member_count && whole; i++) {
        company->members[i].meetings =
            calloc(rules->tests->count + 1, sizeof(*company->members[i].meetings));
        whole = company->members[i].meetings != NULL;
    }
    if (!whole) {
        if (company != NULL)
            company->rules = *rules;
        pb_company_free(company);
        return pb_fail(err, PB_NO_MEMORY, "no memory for the %zu ranks of a node",
                       rules->member_count);
    }
    company->rules = *rules;
    *company_out = company;
    return PB_OK;
}

void pb_company_free(struct pb_company *company)
{
    if (company == NULL)
        return;
    for (size_t i = 0; i < company->rules.member_count; i++)
        free(company->members[i].meetings);
    free(company);
}

/* Where a member stands with a test's meetings; a test that nobody lists has a place of its own. */
static int64_t *meetings_of(const struct pb_company *company, struct member *member,
                            const char *test)
{
    const struct pb_test_list *tests = company->rules.tests;
    size_t at = 0;

    while (at < tests->count && strcmp(tests->specs[at].name, test) != 0)
        at++;
    return &member->meetings[at];
}

/* ---- letters ---- */

static void end_turn(struct pb_company *company, double seconds)
{
    company->holder = NULL;
    company->turned_seconds = seconds;
}

static void leave(struct pb_company *company, struct member *member, double seconds)
{
    member->asks = member->is_due = member->meets = false;
    if (company->holder == member)
        end_turn(company, seconds);
}

void pb_company_hear(struct pb_company *company, size_t at, const struct pb_letter *letter,
                     double seconds)
{
    struct member *member = &company->members[at];

    member->is_late = false;
    switch (letter->kind) {
    case PB_LETTER_TRY:
    case PB_LETTER_TURN:
    case PB_LETTER_MEET:
        leave(company, member, seconds);
        member->asks = true;
        member->ask = *letter;
        member->ask_order = company->ask_count++;
        member->since = seconds;
        break;
    case PB_LETTER_PASS:
        *meetings_of(company, member, letter->test) = all_meetings;
        break;
    case PB_LETTER_GONE:
        member->is_gone = true;
        leave(company, member, seconds);
        break;
    default:
        leave(company, member, seconds);
    }
}

/* ---- turns ---- */

/* Nobody has it, or forfeits it. */
static bool turn_is_free(const struct pb_company *company, double seconds)
{
    return company->holder == NULL || seconds - company->holder_since > company->rules.turn_seconds;
}

/* The turn is free, and nobody is in the middle of a meeting. */
static bool may_take_turn(const struct pb_company *company, double seconds)
{
    for (size_t i = 0; i < company->rules.member_count; i++)
        if (company->members[i].meets &&
            seconds - company->members[i].since <= company->rules.turn_seconds)
            return false;
    return turn_is_free(company, seconds);
}

/* The member that waits longest for a turn, or wants to know whether there is one. */
static struct member *next_in_line(struct pb_company *company)
{
    struct member *first = NULL;

    for (size_t i = 0; i < company->rules.member_count; i++) {
        struct member *member = &company->members[i];

        if (member->asks && !member->is_due && member->ask.kind != PB_LETTER_MEET &&
            (first == NULL || member->ask_order < first->ask_order))
            first = member;
    }
    return first;
}

static void answer_with(struct member *member, int64_t count)
{
    member->is_due = true;
    member->ask.count = count;
}

static void give_turns(struct pb_company *company, double seconds)
{
    struct member *member = next_in_line(company);

    if (member != NULL && may_take_turn(company, seconds)) {
        if (company->holder != NULL)
            company->holder->is_late = true;
        company->holder = member;
        company->holder_since = company->turned_seconds = seconds;
        answer_with(member, 1);
    }
    for (size_t i = 0; i < company->rules.member_count; i++)
        if (company->members[i].asks && company->members[i].ask.kind == PB_LETTER_TRY &&
            !company->members[i].is_due)
            answer_with(&company->members[i], 0);
}

/* ---- meetings ---- */

static bool is_at(const struct member *member, const struct pb_letter *meeting)
{
    return member->asks && !member->is_due && member->ask.kind == PB_LETTER_MEET &&
           member->ask.number == meeting->number && strcmp(member->ask.test, meeting->test) == 0;
}

/* May this member still come to the meeting? */
static bool is_to_come(const struct pb_company *company, struct member *member,
                       const struct pb_letter *meeting)
{
    return !member->is_gone && !is_at(member, meeting) &&
           *meetings_of(company, member, meeting->test) <= meeting->number;
}

/* Lets all begin who are there; those who are not have had their time. */
static void open_meeting(struct pb_company *company, struct pb_letter meeting, double seconds)
{
    int64_t count = 0;

    for (size_t i = 0; i < company->rules.member_count; i++)
        count += is_at(&company->members[i], &meeting);
    for (size_t i = 0; i < company->rules.member_count; i++) {
        struct member *member = &company->members[i];
        int64_t *meetings = meetings_of(company, member, meeting.test);

        if (!is_at(member, &meeting)) {
            if (is_to_come(company, member, &meeting)) {
                *meetings = all_meetings; /* later ones do not wait again … */
                member->is_late = true; /* … nor those of other tests, as long as it is silent */
            }
            continue;
        }
        *meetings = meeting.number + 1;
        member->meets = true;
        member->since = seconds;
        answer_with(member, count);
    }
}

static void hold_meetings(struct pb_company *company, double seconds)
{
    for (size_t i = 0; i < company->rules.member_count; i++) {
        struct member *first = &company->members[i];
        bool complete = turn_is_free(company, seconds);

        if (!first->asks || first->is_due || first->ask.kind != PB_LETTER_MEET)
            continue;
        for (size_t k = 0; k < company->rules.member_count; k++)
            complete &= company->members[k].is_late ||
                        !is_to_come(company, &company->members[k], &first->ask);
        if (complete ||
            seconds - fmax(first->since, company->turned_seconds) > company->rules.meet_seconds)
            open_meeting(company, first->ask, seconds);
    }
}

/* ---- answers ---- */

bool pb_company_answer(struct pb_company *company, double seconds, size_t *member_out,
                       struct pb_letter *letter_out)
{
    give_turns(company, seconds);
    hold_meetings(company, seconds);
    for (size_t i = 0; i < company->rules.member_count; i++) {
        struct member *member = &company->members[i];

        if (!member->is_due)
            continue;
        member->is_due = member->asks = false;
        *letter_out = member->ask;
        letter_out->kind = PB_LETTER_GO;
        *member_out = i;
        return true;
    }
    return false;
}

bool pb_company_is_over(const struct pb_company *company)
{
    for (size_t i = 0; i < company->rules.member_count; i++)
        if (!company->members[i].is_gone)
            return false;
    return true;
}
