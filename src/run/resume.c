/* Which tests are done already; see resume.h. */
#include "run/resume.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "h5schema/file.h"
#include "run/spool.h"

enum pb_status pb_done_add(struct pb_done_list *list, const struct pb_done *done,
                           struct pb_error *err)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity == 0 ? 64 : 2 * list->capacity;
        struct pb_done *larger = realloc(list->items, capacity * sizeof(*larger));

        if (larger == NULL)
            return pb_fail(err, PB_NO_MEMORY, "no memory for %zu finished tests", capacity);
        list->items = larger;
        list->capacity = capacity;
    }
    list->items[list->count++] = *done;
    return PB_OK;
}

/* ---- from a fleet file ---- */

static enum pb_status add_test(struct pb_done_list *list, struct pb_reader *reader, const char *key,
                               const struct pb_device_info *info, const char *test,
                               struct pb_error *err)
{
    struct pb_done done = {.outcome = PB_TEST_OK};
    struct pb_recording recording;
    enum pb_status status = pb_reader_recording(reader, key, test, &recording, err);

    if (status != PB_OK)
        return status;
    PB_TEXT_SET(done.key, key);
    PB_TEXT_SET(done.uuid, info->uuid);
    PB_TEXT_SET(done.model, info->model);
    PB_TEXT_SET(done.test, test);
    done.outcome = recording.outcome;
    pb_recording_clear(&recording);
    return pb_done_add(list, &done, err);
}

static enum pb_status add_device(struct pb_done_list *list, struct pb_reader *reader,
                                 const char *key, struct pb_error *err)
{
    struct pb_device_info info;
    struct pb_key *tests = NULL;
    size_t count = 0;
    enum pb_status status = pb_reader_device(reader, key, &info, err);

    if (status == PB_OK)
        status = pb_reader_tests(reader, key, &tests, &count, err);
    for (size_t i = 0; i < count && status == PB_OK; i++)
        status = add_test(list, reader, key, &info, tests[i].text, err);
    free(tests);
    return status;
}

enum pb_status pb_done_add_fleet(struct pb_done_list *list, const char *path, struct pb_error *err)
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
        status = add_device(list, reader, keys[i].text, err);
    free(keys);
    pb_reader_close(reader);
    return status;
}

/* ---- from a spool ---- */

struct spool_reading {
    struct pb_done_list *list;
    struct pb_member member; /* whose frames follow, as the last PLAN says */
};

static enum pb_status read_member(struct spool_reading *reading, const char *note,
                                  struct pb_error *err)
{
    struct pb_plan plan;
    enum pb_status status = pb_note_read_plan(note, &plan, err);

    if (status != PB_OK)
        return status;
    reading->member = plan.member;
    pb_plan_clear(&plan);
    return PB_OK;
}

static enum pb_status visit(void *context, const struct pb_frame *frame, const void *bytes,
                            size_t size, struct pb_error *err)
{
    struct spool_reading *reading = context;
    struct pb_done done = {.outcome = PB_TEST_OK};
    struct pb_test_note note;
    enum pb_status status;

    (void)bytes, (void)size;
    if (frame->type == PB_FRAME_PLAN)
        return read_member(reading, frame->note, err);
    if (frame->type != PB_FRAME_TEST)
        return PB_OK;
    status = pb_note_read_test(frame->note, &note, err);
    if (status != PB_OK)
        return status;
    PB_TEXT_SET(done.key, note.key);
    PB_TEXT_SET(done.uuid, note.uuid);
    if (strcmp(note.uuid, reading->member.uuid) == 0)
        PB_TEXT_SET(done.model, reading->member.model);
    PB_TEXT_SET(done.test, note.test);
    done.outcome = pb_outcome_parse(note.outcome);
    return pb_done_add(reading->list, &done, err);
}

enum pb_status pb_done_add_spool(struct pb_done_list *list, const char *path, struct pb_error *err)
{
    struct spool_reading reading = {.list = list};
    const struct pb_spool_visitor visitor = {visit, &reading};
    struct pb_spool_end end;
    enum pb_status status;

    if (access(path, F_OK) != 0)
        return PB_OK;
    status = pb_spool_read(path, &visitor, &end, err);
    return status == PB_INVALID && end.file_bytes == 0 ? PB_OK : status;
}

/* ---- asking ---- */

static bool is_of(const struct pb_done *done, const char *key, const char *uuid)
{
    return strcmp(done->key, key) == 0 && strcmp(done->uuid, uuid) == 0;
}

bool pb_done_has(const struct pb_done_list *list, const char *key, const char *uuid,
                 const char *test)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct pb_done *done = &list->items[i];

        if (done->outcome == PB_TEST_OK && strcmp(done->test, test) == 0 && is_of(done, key, uuid))
            return true;
    }
    return false;
}

static bool is_listed(const struct pb_test_list *tests, const char *test)
{
    for (size_t i = 0; i < tests->count; i++)
        if (strcmp(tests->specs[i].name, test) == 0)
            return true;
    return false;
}

/* Has the device this test before item i too, as when file and spool have it? */
static bool is_repeated(const struct pb_done_list *list, size_t i)
{
    const struct pb_done *done = &list->items[i];

    for (size_t j = 0; j < i; j++)
        if (strcmp(list->items[j].test, done->test) == 0 &&
            is_of(&list->items[j], done->key, done->uuid))
            return true;
    return false;
}

void pb_done_tally(const struct pb_done_list *list, const char *key, const char *uuid,
                   const struct pb_test_list *tests, struct pb_tally *tally)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct pb_done *done = &list->items[i];

        if (!is_of(done, key, uuid) || is_repeated(list, i))
            continue;
        if (pb_done_has(list, key, uuid, done->test))
            pb_tally_add(tally, done->test, PB_TEST_OK, "");
        else if (!is_listed(tests, done->test))
            pb_tally_add(tally, done->test, done->outcome, "in an earlier run");
    }
}

enum pb_status pb_done_rest(const struct pb_done_list *list, const char *key, const char *uuid,
                            const struct pb_test_list *tests, struct pb_test_list *rest_out,
                            struct pb_error *err)
{
    struct pb_test_list rest = {calloc(tests->count + 1, sizeof(*rest.specs)), 0};

    if (rest.specs == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for %zu tests", tests->count);
    for (size_t i = 0; i < tests->count; i++)
        if (!pb_done_has(list, key, uuid, tests->specs[i].name))
            rest.specs[rest.count++] = tests->specs[i];
    *rest_out = rest;
    return PB_OK;
}
