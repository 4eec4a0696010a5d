/* Where frames become a fleet file; see collect.h. */
#include "run/collect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/ledger.h"
#include "run/spool_import.h"

/* How far a rank is. */
struct place {
    uint32_t begun, count;
};

struct pb_collect {
    struct pb_fleet *fleet; /* NULL: given up */
    struct pb_run_listener observer;
    struct pb_member *carried; /* rows of an earlier run */
    size_t carried_count;
    size_t rank_count;
    struct place places[];
};

enum pb_status pb_collect_open(const char *path, const struct pb_run *run,
                               const struct pb_claim *claim, size_t rank_count,
                               const struct pb_run_listener *observer,
                               struct pb_collect **collect_out, struct pb_error *err)
{
    struct pb_collect *collect =
        calloc(1, sizeof(*collect) + rank_count * sizeof(collect->places[0]));
    struct pb_fleet_listener listener;
    enum pb_status status;

    if (collect == NULL)
        return pb_fail(err, PB_NO_MEMORY, "%s: out of memory allocating %zu ranks", path,
                       rank_count);
    status = pb_fleet_create(path, run, &collect->fleet, err);
    if (status != PB_OK) {
        free(collect);
        return status;
    }
    collect->observer = *observer;
    collect->rank_count = rank_count;
    listener = (struct pb_fleet_listener){observer->message, observer->context};
    pb_fleet_guard(collect->fleet, claim);
    pb_fleet_set_checked(collect->fleet, true);
    pb_fleet_listen(collect->fleet, &listener);
    *collect_out = collect;
    return PB_OK;
}

enum pb_status pb_collect_carry_file(struct pb_collect *collect, const char *path,
                                     struct pb_error *err)
{
    enum pb_status status = pb_fleet_add_file(collect->fleet, path, err);

    pb_fleet_set_checked(collect->fleet, false);
    if (status == PB_OK)
        status = pb_fleet_members(collect->fleet, &collect->carried, &collect->carried_count, err);
    if (status == PB_OK)
        pb_fleet_forget_members(collect->fleet); /* ranks are dealt anew */
    return status;
}

/* The body of a frame into the file, unless that is given up; a failure gives it up. */
static enum pb_status add(struct pb_collect *collect, const struct pb_frame *frame,
                          struct pb_error *err)
{
    enum pb_status status;

    if (frame->body_size == 0 || collect->fleet == NULL)
        return PB_OK;
    status = pb_fleet_add(collect->fleet, frame->body, frame->body_size, err);
    if (status != PB_OK) {
        pb_fleet_abandon(collect->fleet);
        collect->fleet = NULL;
    }
    return status;
}

enum pb_status pb_collect_carry_frame(struct pb_collect *collect, const struct pb_frame *frame,
                                      struct pb_error *err)
{
    if (collect->fleet != NULL)
        pb_fleet_set_checked(collect->fleet, false);
    return add(collect, frame, err);
}

/* What an ok row still has to say: that its results were not safe for a while, say. */
static void report_remark(const struct pb_collect *collect, const struct pb_test_report *report)
{
    char line[PB_KEY_LENGTH + PB_MESSAGE_LENGTH + 8];

    if (report->message[0] == '\0' || collect->observer.message == NULL ||
        strcmp(report->outcome, pb_member_status_name(PB_MEMBER_OK)) != 0)
        return;
    snprintf(line, sizeof(line), "%s: %s", report->key, report->message);
    collect->observer.message(collect->observer.context, line);
}

static void notify(struct pb_collect *collect, enum pb_run_event_kind kind, size_t rank,
                   const struct pb_test_report *report)
{
    const struct place *place = &collect->places[rank];
    const struct pb_run_event event = {kind, rank, report, place->begun, place->count};

    collect->observer.notify(collect->observer.context, &event);
    if (kind == PB_RUN_EVENT_MEMBER)
        report_remark(collect, report);
}

enum pb_status pb_collect_take(struct pb_collect *collect, size_t rank,
                               const struct pb_frame *frame, struct pb_error *err)
{
    static const enum pb_run_event_kind kinds[PB_FRAME_TYPE_END] = {
        [PB_FRAME_DEVICE] = PB_RUN_EVENT_DEVICE,
        [PB_FRAME_START] = PB_RUN_EVENT_START,
        [PB_FRAME_TEST] = PB_RUN_EVENT_TEST,
        [PB_FRAME_MEMBER] = PB_RUN_EVENT_MEMBER,
    };
    struct place *place = &collect->places[rank];
    struct pb_test_report report;
    enum pb_status status, added;

    if (frame->type != PB_FRAME_DEVICE && frame->type != PB_FRAME_START &&
        frame->type != PB_FRAME_TEST && frame->type != PB_FRAME_MEMBER)
        return PB_OK;
    status = pb_message_read_test(frame->message, &report, err);
    if (status != PB_OK)
        return status;
    added = add(collect, frame, err);
    if (frame->type == PB_FRAME_DEVICE)
        place->count = (uint32_t)report.test_count;
    else if (frame->type == PB_FRAME_START)
        place->begun++;
    notify(collect, kinds[frame->type], rank, &report);
    return added;
}

static void summarize(const struct pb_member *members, size_t count, struct pb_summary *summary)
{
    *summary = (struct pb_summary){.member_count = count};
    for (size_t i = 0; i < count; i++) {
        if (strcmp(members[i].status, pb_member_status_name(PB_MEMBER_OK)) == 0)
            summary->ok_count++;
        summary->test_ok_count += members[i].tests_ok;
        summary->test_failed_count += members[i].tests_failed;
    }
}

/* A rank says how many tests of its device are ok; with fewer, the file has lost some. */
static enum pb_status check_promise(const struct pb_member *promised, const struct pb_member *found,
                                    struct pb_error *err)
{
    if (found->tests_ok >= promised->tests_ok)
        return PB_OK;
    return pb_fail(err, PB_IO, "%s: expected %llu finished tests, found %llu in the file",
                   promised->key, (unsigned long long)promised->tests_ok,
                   (unsigned long long)found->tests_ok);
}

/*
 * Counts a device's tests as they are in the file, whatever its row has said of them so far. Of the
 * first rank_count ranks, whose rows are of this run, the file must have what the row says.
 */
static enum pb_status recount_row(struct pb_fleet *fleet, size_t rank_count,
                                  struct pb_member *member, struct pb_error *err)
{
    bool is_promised = member->rank >= 0 && (uint64_t)member->rank < rank_count;
    struct pb_member before = *member;
    struct pb_ledger ledger = {NULL, 0, 0};
    struct pb_test_row *tests = NULL;
    size_t count = 0;
    enum pb_status status = pb_fleet_tests(fleet, member->key, &tests, &count, err);

    if (status == PB_NOT_FOUND && !is_promised) { /* its device was damaged beyond use */
        pb_member_set(member, PB_MEMBER_FAILED, "its device's record is damaged");
        member->tests_ok = member->tests_failed = 0;
        return pb_fleet_put_row(fleet, member, err);
    }
    if (status != PB_OK)
        return status;
    for (size_t i = 0; i < count && status == PB_OK; i++) {
        const struct pb_ledger_entry entry = pb_ledger_entry_of(
            member, tests[i].name,
            (struct pb_test_end){pb_outcome_parse(tests[i].status), tests[i].concurrent_devices},
            tests[i].message);

        status = pb_ledger_record(&ledger, &entry, err);
    }
    free(tests);
    if (status == PB_OK)
        pb_ledger_fill_row(&ledger, member);
    pb_ledger_clear(&ledger);
    if (status == PB_OK && is_promised)
        status = check_promise(&before, member, err);
    if (status != PB_OK)
        return status;
    if (member->message[0] == '\0' && strcmp(before.status, member->status) == 0)
        PB_TEXT_SET(member->message, before.message);
    if (strcmp(before.status, member->status) == 0 && before.tests_ok == member->tests_ok &&
        before.tests_failed == member->tests_failed && strcmp(before.message, member->message) == 0)
        return PB_OK;
    return pb_fleet_put_row(fleet, member, err);
}

static enum pb_status recount_rows(struct pb_fleet *fleet, size_t rank_count,
                                   struct pb_member *members, size_t count, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < count && status == PB_OK; i++)
        if (members[i].tests_ok + members[i].tests_failed > 0)
            status = recount_row(fleet, rank_count, &members[i], err);
    return status;
}

enum pb_status pb_fleet_finish(struct pb_fleet *fleet, size_t rank_count,
                               struct pb_summary *summary_out, struct pb_error *err)
{
    struct pb_summary summary;
    struct pb_member *members = NULL;
    size_t count = 0;
    enum pb_status status = pb_fleet_members(fleet, &members, &count, err);

    if (status == PB_OK)
        status = recount_rows(fleet, rank_count, members, count, err);
    if (status != PB_OK) {
        free(members);
        pb_fleet_abandon(fleet);
        return status;
    }
    summarize(members, count, &summary);
    free(members);
    status = pb_fleet_commit(fleet, count > 0 && summary.ok_count == count, err);
    if (status == PB_OK)
        *summary_out = summary;
    return status;
}

static bool has_row(const struct pb_member *members, size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(members[i].key, key) == 0)
            return true;
    return false;
}

/* Devices of an earlier run that no rank has now keep their rows, after all ranks. */
static enum pb_status add_carried(struct pb_collect *collect, struct pb_error *err)
{
    struct pb_member *members = NULL;
    size_t count = 0;
    int64_t rank = (int64_t)collect->rank_count;
    enum pb_status status = pb_fleet_members(collect->fleet, &members, &count, err);

    for (size_t i = 0; i < collect->carried_count && status == PB_OK; i++) {
        struct pb_member *member = &collect->carried[i];

        if (member->key[0] == '\0' || has_row(members, count, member->key))
            continue;
        member->rank = rank++;
        status = pb_fleet_put_row(collect->fleet, member, err);
    }
    free(members);
    return status;
}

enum pb_status pb_collect_commit(struct pb_collect *collect, struct pb_summary *summary_out,
                                 struct pb_error *err)
{
    enum pb_status status = PB_OK;

    if (collect->fleet == NULL)
        status = pb_fail(err, PB_IO, "the file was given up");
    if (status == PB_OK)
        status = add_carried(collect, err);
    if (status == PB_OK) {
        status = pb_fleet_finish(collect->fleet, collect->rank_count, summary_out, err);
        collect->fleet = NULL;
    }
    pb_collect_abandon(collect);
    return status;
}

void pb_collect_abandon(struct pb_collect *collect)
{
    if (collect == NULL)
        return;
    pb_fleet_abandon(collect->fleet);
    free(collect->carried);
    free(collect);
}
