/* From a fleet file to a sheet; see outliers.h. */
#include <stdlib.h>
#include <string.h>

#include "analysis/verdict/observe.h"
#include "cli/outliers.h"
#include "h5schema/file.h"

/* A fleet file that is being read. */
struct source {
    const char *path;
    void (*announce)(const char *path, size_t done, size_t count); /* NULL: nobody listens */
    struct pb_reader *reader;
    struct pb_member *members;
    size_t member_count;
    struct pb_key *keys; /* sorted */
    bool *seen;          /* has a row of /fleet */
    size_t key_count;
    struct pb_sheet *sheet;
};

/* A device's recordings, as the observer asks for them. */
struct device_source {
    struct pb_reader *reader;
    const char *key;
};

static enum pb_status load_recording(void *context, const char *test,
                                     struct pb_recording *recording_out, struct pb_error *err)
{
    const struct device_source *source = context;

    return pb_reader_recording(source->reader, source->key, test, recording_out, err);
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* The device of that key, noted as seen; NULL: there is none. */
static const struct pb_key *take_device(struct source *source, const char *key)
{
    struct pb_key wanted = {""};
    const struct pb_key *found;

    PB_TEXT_SET(wanted.text, key);
    found = bsearch(&wanted, source->keys, source->key_count, sizeof(wanted), compare_keys);
    if (found != NULL)
        source->seen[found - source->keys] = true;
    return found;
}

static enum pb_status observe_device(struct source *source, struct pb_subject *subject,
                                     struct pb_error *err)
{
    struct device_source device = {source->reader, subject->key};
    struct pb_recordings recordings = {&device, load_recording};
    struct pb_witness witness = {.subject = subject, .recordings = &recordings};
    struct pb_state *states = NULL;
    struct pb_key *tests = NULL;
    enum pb_status status = pb_reader_device(source->reader, subject->key, &subject->info, err);

    if (status == PB_OK)
        status = pb_reader_states(source->reader, subject->key, &states, &witness.state_count, err);
    if (status == PB_OK)
        status = pb_reader_tests(source->reader, subject->key, &tests, &witness.test_count, err);
    witness.states = states;
    witness.tests = (const char(*)[PB_KEY_LENGTH])tests;
    if (status == PB_OK)
        status = pb_observe(source->sheet, &witness, err);
    free(tests);
    free(states);
    return status;
}

/* A rank of /fleet, with its device if there is one. */
static enum pb_status observe_member(struct source *source, const struct pb_member *member,
                                     struct pb_error *err)
{
    struct pb_subject subject = {.rank = member->rank, .slot = member->slot};
    struct pb_witness nobody = {.subject = &subject};

    PB_TEXT_SET(subject.key, member->key);
    PB_TEXT_SET(subject.host, member->host);
    PB_TEXT_SET(subject.status, member->status);
    PB_TEXT_SET(subject.message, member->message);
    if (take_device(source, member->key) != NULL)
        return observe_device(source, &subject, err);
    PB_TEXT_SET(subject.info.model, member->model);
    PB_TEXT_SET(subject.info.uuid, member->uuid);
    PB_TEXT_SET(subject.info.pci_bus_id, member->pci_bus_id);
    return pb_observe(source->sheet, &nobody, err);
}

/* A device that no row of /fleet speaks of: its run did not end as it should. */
static enum pb_status observe_stray(struct source *source, const char *key, struct pb_error *err)
{
    struct pb_subject subject = {.rank = -1, .slot = -1, .message = "no row of /fleet has it"};
    const char *dot = strrchr(key, '.');

    PB_TEXT_SET(subject.key, key);
    PB_TEXT_SET(subject.status, pb_member_status_name(PB_MEMBER_PARTIAL));
    snprintf(subject.host, sizeof(subject.host), "%.*s",
             dot == NULL ? (int)strlen(key) : (int)(dot - key), key);
    return observe_device(source, &subject, err);
}

static enum pb_status observe_all(struct source *source, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    source->seen = calloc(source->key_count + 1, sizeof(*source->seen));
    if (source->seen == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for %zu devices", source->key_count);
    for (size_t i = 0; i < source->member_count && status == PB_OK; i++) {
        if (source->announce != NULL)
            source->announce(source->path, i, source->member_count);
        status = observe_member(source, &source->members[i], err);
    }
    for (size_t i = 0; i < source->key_count && status == PB_OK; i++)
        if (!source->seen[i])
            status = observe_stray(source, source->keys[i].text, err);
    return status;
}

enum pb_status pb_outliers_read(const char *path,
                                void (*announce)(const char *path, size_t done, size_t count),
                                struct pb_run *run_out, struct pb_sheet *sheet,
                                struct pb_error *err)
{
    struct source source = {.path = path, .announce = announce, .sheet = sheet};
    enum pb_status status = pb_reader_open(path, &source.reader, err);

    if (status != PB_OK)
        return status;
    status = pb_reader_run(source.reader, run_out, err);
    if (status == PB_OK)
        status = pb_reader_members(source.reader, &source.members, &source.member_count, err);
    if (status == PB_OK)
        status = pb_reader_devices(source.reader, &source.keys, &source.key_count, err);
    if (status == PB_OK && source.member_count + source.key_count == 0)
        status = pb_fail(err, PB_INVALID, "%s: expected devices, found an empty fleet", path);
    if (status == PB_OK) {
        status = observe_all(&source, err);
        if (status != PB_OK)
            pb_error_prefix(err, "%s", path);
    }
    free(source.seen);
    free(source.keys);
    free(source.members);
    pb_reader_close(source.reader);
    return status;
}
