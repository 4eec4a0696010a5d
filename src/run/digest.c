/* One spool file on its way into a fleet file; see digest.h. */
#include "run/digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/compose.h"
#include "run/tally.h"

/* The best that is known of one test. */
struct fate {
    char test[PB_NAME_LENGTH];
    enum pb_outcome outcome;
    char message[PB_MESSAGE_LENGTH];
};

struct reading {
    struct pb_fleet *fleet;
    struct pb_plan plan;
    bool has_plan, has_device, has_ended;
    struct pb_test_note member; /* once it has ended */
    struct fate *fates;
    size_t fate_count, fate_capacity;
    double seconds; /* of all tests */
};

/* ---- fates ---- */

static struct fate *find_fate(struct reading *reading, const char *test)
{
    for (size_t i = 0; i < reading->fate_count; i++)
        if (strcmp(reading->fates[i].test, test) == 0)
            return &reading->fates[i];
    return NULL;
}

/* Of two outcomes of a test, ok counts before any other, else the later one. */
static enum pb_status set_fate(struct reading *reading, const char *test, enum pb_outcome outcome,
                               const char *message, struct pb_error *err)
{
    struct fate *fate = find_fate(reading, test);

    if (fate != NULL && fate->outcome == PB_TEST_OK)
        return PB_OK;
    if (fate == NULL && reading->fate_count == reading->fate_capacity) {
        size_t capacity = reading->fate_capacity == 0 ? 32 : 2 * reading->fate_capacity;
        struct fate *larger = realloc(reading->fates, capacity * sizeof(*larger));

        if (larger == NULL)
            return pb_fail(err, PB_NO_MEMORY, "no memory for %zu tests", capacity);
        reading->fates = larger;
        reading->fate_capacity = capacity;
    }
    if (fate == NULL)
        fate = &reading->fates[reading->fate_count++];
    PB_TEXT_SET(fate->test, test);
    PB_TEXT_SET(fate->message, message);
    fate->outcome = outcome;
    return PB_OK;
}

/* ---- closing a plan ---- */

/* Adds the body of a frame that was made here, and frees it. */
static enum pb_status add_packed(struct pb_fleet *fleet, void *bytes, size_t size,
                                 struct pb_error *err)
{
    struct pb_frame frame;
    enum pb_status status = pb_frame_unpack(bytes, size, &frame, err);

    if (status == PB_OK)
        status = pb_fleet_add(fleet, frame.body, frame.body_size, err);
    free(bytes);
    return status;
}

/* A device that never said more than its name when it was opened. */
static enum pb_status add_bare_device(struct reading *reading, struct pb_error *err)
{
    const struct pb_member *member = &reading->plan.member;
    struct pb_opened opened = {.slot = member->slot};
    void *bytes;
    size_t size;
    enum pb_status status;

    PB_TEXT_SET(opened.uuid, member->uuid);
    PB_TEXT_SET(opened.pci_bus_id, member->pci_bus_id);
    PB_TEXT_SET(opened.model, member->model);
    status =
        pb_compose_device(member->key, "", &opened, reading->plan.tests.count, &bytes, &size, err);
    return status != PB_OK ? status : add_packed(reading->fleet, bytes, size, err);
}

static enum pb_status add_missing_tests(struct reading *reading, const char *reason,
                                        struct pb_error *err)
{
    const struct pb_plan *plan = &reading->plan;
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < plan->tests.count && status == PB_OK; i++) {
        const struct pb_test_spec *spec = &plan->tests.specs[i];
        void *bytes;
        size_t size;

        if (find_fate(reading, spec->name) != NULL)
            continue;
        status = pb_compose_outcome(plan->member.key, plan->member.uuid, spec, PB_TEST_MISSING, 0,
                                    reason, &bytes, &size, err);
        if (status == PB_OK)
            status = add_packed(reading->fleet, bytes, size, err);
        if (status == PB_OK)
            status = set_fate(reading, spec->name, PB_TEST_MISSING, reason, err);
    }
    return status;
}

/* The row of a rank that had a device. */
static void fill_row(const struct reading *reading, struct pb_member *row)
{
    struct pb_tally tally = {.worst = PB_TEST_OK};

    for (size_t i = 0; i < reading->fate_count; i++)
        pb_tally_add(&tally, reading->fates[i].test, reading->fates[i].outcome,
                     reading->fates[i].message);
    pb_tally_fill(&tally, row);
    row->seconds = reading->has_ended ? reading->member.seconds : reading->seconds;
}

/* Everything that follows from the plan and from what came after it. */
static enum pb_status close_plan(struct reading *reading, const char *reason, struct pb_error *err)
{
    struct pb_member row = reading->plan.member;
    enum pb_status status = PB_OK;

    if (!reading->has_plan)
        return PB_OK;
    if (row.key[0] == '\0') {
        PB_TEXT_SET(row.status, reading->has_ended ? reading->member.outcome
                                                   : pb_member_status_name(PB_MEMBER_FAILED));
        PB_TEXT_SET(row.message, reading->has_ended ? reading->member.message : reason);
    } else {
        if (!reading->has_device)
            status = add_bare_device(reading, err);
        if (status == PB_OK)
            status = add_missing_tests(reading, reason, err);
        fill_row(reading, &row);
    }
    if (status == PB_OK)
        status = pb_fleet_join_row(reading->fleet, &row, err);
    reading->fate_count = 0;
    reading->seconds = 0;
    reading->has_plan = reading->has_device = reading->has_ended = false;
    pb_plan_clear(&reading->plan);
    return status;
}

/* ---- reading ---- */

/* A resumed run goes on with the same device, or gives the rank another one. */
static enum pb_status begin_plan(struct reading *reading, const struct pb_frame *frame,
                                 struct pb_error *err)
{
    struct pb_plan plan;
    enum pb_status status = pb_note_read_plan(frame->note, &plan, err);

    if (status != PB_OK)
        return status;
    if (reading->has_plan && strcmp(reading->plan.member.key, plan.member.key) != 0)
        status = close_plan(reading, "the resumed run gave this rank another device", err);
    pb_plan_clear(&reading->plan);
    reading->plan = plan;
    reading->has_plan = true;
    reading->has_ended = false;
    return status;
}

static enum pb_status read_result(struct reading *reading, const struct pb_frame *frame,
                                  struct pb_error *err)
{
    struct pb_test_note note;
    enum pb_status status = pb_note_read_test(frame->note, &note, err);

    if (status != PB_OK)
        return status;
    if (frame->type == PB_FRAME_MEMBER) {
        reading->has_ended = true;
        reading->member = note;
        return PB_OK;
    }
    status = pb_fleet_add(reading->fleet, frame->body, frame->body_size, err);
    if (status != PB_OK)
        return status;
    if (frame->type == PB_FRAME_DEVICE) {
        reading->has_device = true;
        return PB_OK;
    }
    reading->seconds += note.seconds;
    return set_fate(reading, note.test, pb_outcome_parse(note.outcome), note.message, err);
}

static enum pb_status visit(void *context, const struct pb_frame *frame, const void *bytes,
                            size_t size, struct pb_error *err)
{
    struct reading *reading = context;

    (void)bytes, (void)size;
    if (frame->type == PB_FRAME_PLAN)
        return begin_plan(reading, frame, err);
    if (!reading->has_plan)
        return pb_fail(err, PB_INVALID, "expected a spool, found frame %s before any PLAN",
                       pb_frame_type_name(frame->type));
    if (frame->type == PB_FRAME_DEVICE || frame->type == PB_FRAME_TEST ||
        frame->type == PB_FRAME_MEMBER)
        return read_result(reading, frame, err);
    return PB_OK;
}

enum pb_status pb_digest_spool(struct pb_fleet *fleet, const char *path,
                               struct pb_digest *digest_out, struct pb_error *err)
{
    struct reading reading = {.fleet = fleet};
    const struct pb_spool_visitor visitor = {visit, &reading};
    struct pb_digest digest = {.rank = 0};
    char reason[PB_MESSAGE_LENGTH];
    enum pb_status status = pb_spool_read(path, &visitor, &digest.end, err);

    if (status == PB_OK && reading.has_plan) {
        PB_TEXT_SET(digest.run_id, reading.plan.run.run_id);
        digest.rank = reading.plan.member.rank;
        digest.rank_count = reading.plan.rank_count;
        digest.was_cut = !reading.has_ended;
        snprintf(reason, sizeof(reason), "the run was cut short: its spool ends at byte %llu",
                 (unsigned long long)digest.end.end_bytes);
        status = close_plan(&reading, reason, err);
    }
    free(reading.fates);
    pb_plan_clear(&reading.plan);
    if (status == PB_OK)
        *digest_out = digest;
    return status;
}

/* ---- rows and runs ---- */

enum pb_status pb_fleet_put_row(struct pb_fleet *fleet, const struct pb_member *row,
                                struct pb_error *err)
{
    struct pb_image image = {NULL, 0};
    enum pb_status status = pb_image_of_member(row, &image, err);

    if (status == PB_OK)
        status = pb_fleet_add(fleet, image.bytes, image.size, err);
    free(image.bytes);
    return status;
}

enum pb_status pb_fleet_join_row(struct pb_fleet *fleet, const struct pb_member *row,
                                 struct pb_error *err)
{
    struct pb_member member = *row, *rows;
    int64_t next = 0;
    bool is_taken = false, is_worse = false;
    size_t count;
    enum pb_status status = pb_fleet_members(fleet, &rows, &count, err);

    if (status != PB_OK)
        return status;
    for (size_t i = 0; i < count; i++) {
        next = rows[i].rank >= next ? rows[i].rank + 1 : next;
        is_taken = is_taken || rows[i].rank == row->rank;
    }
    member.rank = is_taken ? next : row->rank;
    for (size_t i = 0; i < count; i++) {
        if (row->key[0] == '\0' || strcmp(rows[i].key, row->key) != 0)
            continue;
        member.rank = rows[i].rank;
        is_worse = rows[i].tests_ok > row->tests_ok;
    }
    free(rows);
    return is_worse ? PB_OK : pb_fleet_put_row(fleet, &member, err);
}

/* A visitor that stops at the first frame, with its run when it is a PLAN. */
static enum pb_status visit_first(void *context, const struct pb_frame *frame, const void *bytes,
                                  size_t size, struct pb_error *err)
{
    struct pb_run *run = context;
    struct pb_plan plan;

    (void)bytes, (void)size;
    if (frame->type == PB_FRAME_PLAN && pb_note_read_plan(frame->note, &plan, NULL) == PB_OK) {
        *run = plan.run;
        pb_plan_clear(&plan);
    }
    return pb_fail(err, PB_NOT_FOUND, "the first frame is enough");
}

enum pb_status pb_spool_run(const char *path, struct pb_run *run_out, struct pb_error *err)
{
    struct pb_run run = {.run_id = ""};
    const struct pb_spool_visitor visitor = {visit_first, &run};
    struct pb_spool_end end;
    enum pb_status status = pb_spool_read(path, &visitor, &end, err);

    if (run.run_id[0] == '\0')
        return status == PB_IO || status == PB_INVALID
                   ? status
                   : pb_fail(err, PB_INVALID, "%s: expected a spool, found no PLAN in it", path);
    *run_out = run;
    return PB_OK;
}
