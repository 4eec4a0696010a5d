/* Which tests are done already; see resume.h. */
#include "run/resume.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "h5schema/file.h"
#include "run/spool.h"

enum pb_status pb_done_add(struct pb_done_list *list, const char *key, const char *uuid,
                           const char *test, struct pb_error *err)
{
    struct pb_done *done;

    if (list->count == list->capacity) {
        size_t capacity = list->capacity == 0 ? 64 : 2 * list->capacity;
        struct pb_done *larger = realloc(list->items, capacity * sizeof(*larger));

        if (larger == NULL)
            return pb_fail(err, PB_NO_MEMORY, "no memory for %zu finished tests", capacity);
        list->items = larger;
        list->capacity = capacity;
    }
    done = &list->items[list->count++];
    PB_TEXT_SET(done->key, key);
    PB_TEXT_SET(done->uuid, uuid);
    PB_TEXT_SET(done->test, test);
    return PB_OK;
}

/* ---- from a fleet file ---- */

static enum pb_status add_if_ok(struct pb_done_list *list, struct pb_reader *reader,
                                const char *key, const char *uuid, const char *test,
                                struct pb_error *err)
{
    struct pb_recording recording;
    enum pb_status status = pb_reader_recording(reader, key, test, &recording, err);

    if (status != PB_OK)
        return status;
    if (recording.outcome == PB_TEST_OK)
        status = pb_done_add(list, key, uuid, test, err);
    pb_recording_clear(&recording);
    return status;
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
        status = add_if_ok(list, reader, key, info.uuid, tests[i].text, err);
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

static enum pb_status visit(void *context, const struct pb_frame *frame, const void *bytes,
                            size_t size, struct pb_error *err)
{
    struct pb_done_list *list = context;
    struct pb_test_note note;
    enum pb_status status;

    (void)bytes, (void)size;
    if (frame->type != PB_FRAME_TEST)
        return PB_OK;
    status = pb_note_read_test(frame->note, &note, err);
    if (status != PB_OK || pb_outcome_parse(note.outcome) != PB_TEST_OK)
        return status;
    return pb_done_add(list, note.key, note.uuid, note.test, err);
}

enum pb_status pb_done_add_spool(struct pb_done_list *list, const char *path, struct pb_error *err)
{
    const struct pb_spool_visitor visitor = {visit, list};
    struct pb_spool_end end;
    enum pb_status status;

    if (access(path, F_OK) != 0)
        return PB_OK;
    status = pb_spool_read(path, &visitor, &end, err);
    return status == PB_INVALID && end.file_bytes == 0 ? PB_OK : status;
}

/* ---- asking ---- */

bool pb_done_has(const struct pb_done_list *list, const char *key, const char *uuid,
                 const char *test)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct pb_done *done = &list->items[i];

        if (strcmp(done->test, test) == 0 && strcmp(done->key, key) == 0 &&
            strcmp(done->uuid, uuid) == 0)
            return true;
    }
    return false;
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
