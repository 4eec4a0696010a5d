/* One spool file on its way into a fleet file; see spool_import.h. */
#include "run/spool_import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/ledger.h"
#include "run/synthesize.h"

struct reading {
    struct pb_fleet *fleet;
    const struct pb_spool_file *file;
    struct pb_plan plan;
    bool has_plan, has_device, has_ended;
    bool is_guessed;              /* the PLAN is lost: what was planned is not known */
    struct pb_test_report member; /* once it has ended */
    struct pb_ledger ledger;      /* of the plan's device */
    double seconds;               /* of all tests */
    uint64_t damaged_count;       /* sound frames with a damaged content */
};

static enum pb_status record(struct reading *reading, const char *test, struct pb_test_end end,
                             const char *message, struct pb_error *err)
{
    const struct pb_ledger_entry entry =
        pb_ledger_entry_of(&reading->plan.member, test, end, message);

    return pb_ledger_record(&reading->ledger, &entry, err);
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
    status = pb_synthesize_device(member->key, "", &opened, reading->plan.tests.count, &bytes,
                                  &size, err);
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

        if (pb_ledger_find(&reading->ledger, plan->member.key, plan->member.uuid, spec->name) !=
            NULL)
            continue;
        status = pb_synthesize_outcome(plan->member.key, plan->member.uuid, spec, PB_TEST_MISSING,
                                       0, reason, &bytes, &size, err);
        if (status == PB_OK)
            status = add_packed(reading->fleet, bytes, size, err);
        if (status == PB_OK)
            status = record(reading, spec->name,
                            (struct pb_test_end){PB_TEST_MISSING, spec->concurrent_devices}, reason,
                            err);
    }
    return status;
}

/* Everything that follows from the plan and from what came after it. */
static enum pb_status close_plan(struct reading *reading, const char *reason, struct pb_error *err)
{
    struct pb_member row = reading->plan.member;
    static const char unknown[] = "its plan is damaged: what else was to be measured is not known";
    bool expects_row = true;
    enum pb_status status = PB_OK;

    if (!reading->has_plan)
        return PB_OK;
    if (row.key[0] == '\0' && reading->file->is_superseded) {
        expects_row = false; /* a later run says what became of this rank */
    } else if (row.key[0] == '\0') {
        PB_TEXT_SET(row.status, reading->has_ended ? reading->member.outcome
                                                   : pb_member_status_name(PB_MEMBER_FAILED));
        PB_TEXT_SET(row.message, reading->has_ended ? reading->member.message : reason);
    } else {
        if (!reading->has_device)
            status = add_bare_device(reading, err);
        if (status == PB_OK)
            status = add_missing_tests(reading, reason, err);
        if (status == PB_OK && reading->is_guessed)
            status =
                record(reading, "plan", (struct pb_test_end){PB_TEST_MISSING, 0}, unknown, err);
        pb_ledger_fill_row(&reading->ledger, &row);
        row.seconds = reading->has_ended ? reading->member.seconds : reading->seconds;
    }
    if (status == PB_OK && expects_row)
        status = pb_fleet_join_row(reading->fleet, &row, err);
    reading->ledger.count = 0;
    reading->seconds = 0;
    reading->has_plan = reading->has_device = reading->has_ended = reading->is_guessed = false;
    pb_plan_clear(&reading->plan);
    return status;
}

/* ---- reading ---- */

/* A resumed run goes on with the same device, or gives the rank another one. */
static enum pb_status begin_plan(struct reading *reading, const struct pb_frame *frame,
                                 struct pb_error *err)
{
    struct pb_plan plan;
    enum pb_status status = pb_message_read_plan(frame->message, &plan, err);

    if (status == PB_CORRUPT) {
        reading->damaged_count++;
        return PB_OK;
    }
    if (status != PB_OK)
        return status;
    if (reading->has_plan && strcmp(reading->plan.member.key, plan.member.key) != 0)
        status = close_plan(reading, "the resumed run gave this rank another device", err);
    pb_plan_clear(&reading->plan);
    reading->plan = plan;
    reading->has_plan = true;
    reading->has_ended = reading->is_guessed = false;
    return status;
}

/* A spool whose PLAN is damaged: frames say themselves which device they are of. */
static void reconstruct_plan(struct reading *reading, const struct pb_test_report *report)
{
    reading->plan = (struct pb_plan){.rank_count = 0};
    reading->plan.member.rank = reading->file->rank < 0 ? 0 : reading->file->rank;
    reading->plan.member.slot = -1;
    PB_TEXT_SET(reading->plan.member.key, report->key);
    PB_TEXT_SET(reading->plan.member.uuid, report->uuid);
    reading->has_plan = reading->is_guessed = true;
}

static enum pb_status read_result(struct reading *reading, const struct pb_frame *frame,
                                  struct pb_error *err)
{
    struct pb_error cause = PB_ERROR_INIT;
    struct pb_test_report report;
    enum pb_status status = pb_message_read_test(frame->message, &report, &cause);

    if (status == PB_OK && !reading->has_plan && frame->type != PB_FRAME_MEMBER)
        reconstruct_plan(reading, &report);
    if (status == PB_OK && frame->type == PB_FRAME_MEMBER) {
        reading->has_ended = reading->has_plan;
        reading->member = report;
        return PB_OK;
    }
    if (status == PB_OK)
        status = pb_fleet_add(reading->fleet, frame->body, frame->body_size, &cause);
    if (status == PB_CORRUPT) { /* it costs this frame alone */
        reading->damaged_count++;
        return PB_OK;
    }
    if (status != PB_OK)
        return pb_fail(err, status, "%s", cause.message);
    if (frame->type == PB_FRAME_DEVICE) {
        reading->has_device = true;
        return PB_OK;
    }
    reading->seconds += report.seconds;
    return record(reading, report.test, pb_message_end(&report), report.message, err);
}

static enum pb_status visit(void *context, const struct pb_frame *frame, const void *bytes,
                            size_t size, struct pb_error *err)
{
    struct reading *reading = context;

    (void)bytes, (void)size;
    if (frame->type == PB_FRAME_PLAN)
        return begin_plan(reading, frame, err);
    if (frame->type == PB_FRAME_DEVICE || frame->type == PB_FRAME_TEST ||
        frame->type == PB_FRAME_MEMBER)
        return read_result(reading, frame, err);
    return PB_OK;
}

enum pb_status pb_spool_import(struct pb_fleet *fleet, const struct pb_spool_file *file,
                               struct pb_spool_content *content_out, struct pb_error *err)
{
    struct reading reading = {.fleet = fleet, .file = file};
    const struct pb_spool_visitor visitor = {visit, &reading};
    struct pb_spool_content content = {.rank = -1};
    char reason[PB_MESSAGE_LENGTH];
    enum pb_status status = pb_spool_read(file, &visitor, &content.end, err);

    if (status == PB_OK && reading.has_plan) {
        PB_TEXT_SET(content.run_id, reading.plan.run.run_id);
        content.rank = reading.plan.member.rank;
        content.rank_count = reading.plan.rank_count;
        content.was_cut = !reading.has_ended;
        snprintf(reason, sizeof(reason), "the run was cut short: its spool ends at byte %llu",
                 (unsigned long long)content.end.end_bytes);
        status = close_plan(&reading, reason, err);
    }
    content.end.damaged_count += reading.damaged_count;
    pb_ledger_clear(&reading.ledger);
    pb_plan_clear(&reading.plan);
    if (status == PB_OK)
        *content_out = content;
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

/* A visitor that stops at the first PLAN. */
static enum pb_status visit_first(void *context, const struct pb_frame *frame, const void *bytes,
                                  size_t size, struct pb_error *err)
{
    struct pb_run *run = context;
    struct pb_plan plan;

    (void)bytes, (void)size;
    if (frame->type != PB_FRAME_PLAN || pb_message_read_plan(frame->message, &plan, NULL) != PB_OK)
        return PB_OK;
    *run = plan.run;
    pb_plan_clear(&plan);
    return pb_fail(err, PB_NOT_FOUND, "the first PLAN is enough");
}

enum pb_status pb_spool_run(const struct pb_spool_file *file, struct pb_run *run_out,
                            struct pb_error *err)
{
    struct pb_run run = {.run_id = ""};
    const struct pb_spool_visitor visitor = {visit_first, &run};
    struct pb_spool_end end;
    enum pb_status status = pb_spool_read(file, &visitor, &end, err);

    if (run.run_id[0] != '\0') {
        *run_out = run;
        return PB_OK;
    }
    if (status == PB_IO || status == PB_NO_MEMORY)
        return status;
    return pb_fail(err, PB_NOT_FOUND, "%s: no sound PLAN among its %llu bytes", file->path,
                   (unsigned long long)end.file_bytes);
}
