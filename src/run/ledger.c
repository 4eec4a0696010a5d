/* What is known of each test of each device; see ledger.h. */
#include "run/ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/reserve.h"
#include "h5schema/file.h"

void pb_ledger_clear(struct pb_ledger *ledger)
{
    free(ledger->items);
    *ledger = (struct pb_ledger){NULL, 0, 0};
}

struct pb_ledger_entry pb_ledger_entry_of(const struct pb_member *row, const char *test,
                                          struct pb_test_end end, const char *message)
{
    struct pb_ledger_entry entry = {.end = end};

    PB_TEXT_SET(entry.key, row->key);
    PB_TEXT_SET(entry.uuid, row->uuid);
    PB_TEXT_SET(entry.model, row->model);
    PB_TEXT_SET(entry.test, test);
    PB_TEXT_SET(entry.message, message);
    return entry;
}

enum pb_status pb_ledger_append(struct pb_ledger *ledger, const struct pb_ledger_entry *entry,
                                struct pb_error *err)
{
    enum pb_status status =
        PB_RESERVE(ledger->items, ledger->count, ledger->capacity, "outcomes", err);

    if (status == PB_OK)
        ledger->items[ledger->count++] = *entry;
    return status;
}

/* ---- asking ---- */

static bool is_of(const struct pb_ledger_entry *entry, const char *key, const char *uuid)
{
    return strcmp(entry->key, key) == 0 && strcmp(entry->uuid, uuid) == 0;
}

static struct pb_ledger_entry *find(const struct pb_ledger *ledger, const char *key,
                                    const char *uuid, const char *test)
{
    for (size_t i = 0; i < ledger->count; i++)
        if (strcmp(ledger->items[i].test, test) == 0 && is_of(&ledger->items[i], key, uuid))
            return &ledger->items[i];
    return NULL;
}

const struct pb_ledger_entry *pb_ledger_find(const struct pb_ledger *ledger, const char *key,
                                             const char *uuid, const char *test)
{
    return find(ledger, key, uuid, test);
}

bool pb_ledger_is_done(const struct pb_ledger *ledger, const char *key, const char *uuid,
                       const char *test, int64_t devices)
{
    const struct pb_ledger_entry *entry = find(ledger, key, uuid, test);

    return entry != NULL && entry->end.outcome == PB_TEST_OK &&
           (entry->end.concurrent_devices == 0 || entry->end.concurrent_devices >= devices);
}

enum pb_status pb_ledger_record(struct pb_ledger *ledger, const struct pb_ledger_entry *entry,
                                struct pb_error *err)
{
    struct pb_ledger_entry *old = find(ledger, entry->key, entry->uuid, entry->test);

    if (old == NULL)
        return pb_ledger_append(ledger, entry, err);
    if (pb_test_end_replaces(entry->end, old->end))
        *old = *entry;
    return PB_OK;
}

/* ---- the row of a device ---- */

/* How bad an outcome is for the device; 0: not at all. */
static int badness(enum pb_outcome outcome)
{
    static const int ranks[PB_TEST_MISSING + 1] = {
        [PB_TEST_MISSING] = 1, [PB_TEST_FAILED] = 2, [PB_TEST_CRASHED] = 3,
        [PB_TEST_HUNG] = 4,    [PB_TEST_LOST] = 5,
    };

    return ranks[outcome];
}

static enum pb_member_status status_of_tests(enum pb_outcome worst, uint64_t ok_count)
{
    switch (worst) {
    case PB_TEST_LOST:
        return PB_MEMBER_LOST;
    case PB_TEST_HUNG:
        return PB_MEMBER_HUNG;
    case PB_TEST_CRASHED:
        return PB_MEMBER_CRASHED;
    case PB_TEST_FAILED:
    case PB_TEST_MISSING:
        return ok_count == 0 ? PB_MEMBER_FAILED : PB_MEMBER_PARTIAL;
    default:
        return PB_MEMBER_OK;
    }
}

void pb_ledger_fill_row(const struct pb_ledger *ledger, struct pb_member *row)
{
    const struct pb_ledger_entry *worst = NULL;
    enum pb_outcome outcome = PB_TEST_OK;
    char others[64] = "";

    row->tests_ok = row->tests_failed = 0;
    row->message[0] = '\0';
    for (size_t i = 0; i < ledger->count; i++) {
        const struct pb_ledger_entry *entry = &ledger->items[i];

        if (!is_of(entry, row->key, row->uuid))
            continue;
        row->tests_ok += entry->end.outcome == PB_TEST_OK;
        row->tests_failed += badness(entry->end.outcome) > 0;
        if (badness(entry->end.outcome) > badness(outcome)) {
            worst = entry;
            outcome = entry->end.outcome;
        }
    }
    PB_TEXT_SET(row->status, pb_member_status_name(status_of_tests(outcome, row->tests_ok)));
    if (row->tests_failed > 1)
        snprintf(others, sizeof(others), " (%llu more not ok)",
                 (unsigned long long)(row->tests_failed - 1));
    if (worst != NULL)
        snprintf(row->message, sizeof(row->message), "%s %s: %.*s%s", worst->test,
                 pb_outcome_name(outcome), PB_MESSAGE_LENGTH - 96, worst->message, others);
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

/* ---- from a fleet file ---- */

static enum pb_status add_test(struct pb_ledger *ledger, struct pb_reader *reader, const char *key,
                               const struct pb_device_info *info, const char *test,
                               struct pb_error *err)
{
    struct pb_ledger_entry entry = {.test = ""};
    struct pb_recording recording;
    enum pb_status status = pb_reader_recording(reader, key, test, &recording, err);

    if (status != PB_OK)
        return status == PB_NO_MEMORY ? status : PB_OK; /* unreadable: not done */
    PB_TEXT_SET(entry.key, key);
    PB_TEXT_SET(entry.uuid, info->uuid);
    PB_TEXT_SET(entry.model, info->model);
    PB_TEXT_SET(entry.test, test);
    PB_TEXT_SET(entry.message, recording.message);
    entry.end = (struct pb_test_end){recording.outcome, recording.concurrent_devices};
    pb_recording_clear(&recording);
    return pb_ledger_append(ledger, &entry, err);
}

/* A device that cannot be read has no test that is done. */
static enum pb_status add_device(struct pb_ledger *ledger, struct pb_reader *reader,
                                 const char *key, struct pb_error *err)
{
    struct pb_device_info info;
    struct pb_key *tests = NULL;
    size_t count = 0;
    enum pb_status status = PB_OK;

    if (pb_reader_device(reader, key, &info, NULL) != PB_OK ||
        pb_reader_tests(reader, key, &tests, &count, NULL) != PB_OK)
        return PB_OK;
    for (size_t i = 0; i < count && status == PB_OK; i++)
        status = add_test(ledger, reader, key, &info, tests[i].text, err);
    free(tests);
    return status;
}

enum pb_status pb_ledger_add_fleet(struct pb_ledger *ledger, const char *path, struct pb_error *err)
{
    struct pb_reader *reader = NULL;
    struct pb_key *keys = NULL;
    size_t count = 0;
    enum pb_status status;

    if (access(path, F_OK) != 0)
        return PB_OK;
    status = pb_reader_open(path, &reader, err);
    if (status == PB_OK)
        status = pb_reader_devices(reader, &keys, &count, err);
    for (size_t i = 0; i < count && status == PB_OK; i++)
        status = add_device(ledger, reader, keys[i].text, err);
    free(keys);
    pb_reader_close(reader);
    return status;
}

/* ---- from a spool ---- */

struct spool_reading {
    struct pb_ledger *ledger;
    struct pb_member member; /* whose frames follow, as the last PLAN says */
};

static void read_member(struct spool_reading *reading, const char *message)
{
    struct pb_plan plan;

    if (pb_message_read_plan(message, &plan, NULL) != PB_OK)
        return;
    reading->member = plan.member;
    pb_plan_clear(&plan);
}

static enum pb_status visit(void *context, const struct pb_frame *frame, const void *bytes,
                            size_t size, struct pb_error *err)
{
    struct spool_reading *reading = context;
    struct pb_ledger_entry entry = {.test = ""};
    struct pb_test_report report;

    (void)bytes, (void)size;
    if (frame->type == PB_FRAME_PLAN)
        read_member(reading, frame->message);
    if (frame->type != PB_FRAME_TEST ||
        pb_message_read_test(frame->message, &report, NULL) != PB_OK)
        return PB_OK;
    PB_TEXT_SET(entry.key, report.key);
    PB_TEXT_SET(entry.uuid, report.uuid);
    if (strcmp(report.uuid, reading->member.uuid) == 0)
        PB_TEXT_SET(entry.model, reading->member.model);
    PB_TEXT_SET(entry.test, report.test);
    PB_TEXT_SET(entry.message, report.message);
    entry.end = pb_message_end(&report);
    return pb_ledger_append(reading->ledger, &entry, err);
}

enum pb_status pb_ledger_add_spool(struct pb_ledger *ledger, const struct pb_spool_file *file,
                                   struct pb_error *err)
{
    struct spool_reading reading = {.ledger = ledger};
    const struct pb_spool_visitor visitor = {visit, &reading};
    struct pb_spool_end end;

    return pb_spool_read(file, &visitor, &end, err);
}
