/*
 * Observation: walks a device's recordings once, then asks the inference; see observe.h.
 *
 * Limit: words and masks (policies, set indexes) are not compared, only numbers are.
 */
#include "analysis/verdict/observe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/verdict/observe_parts.h"

/* "dram_latency hung; l2_line failed; …": as many as have room, and a word before them too. */
static void note_missing(struct pb_observer *observer, const char *test, const char *how)
{
    enum { WORDS_BEFORE = 64 };
    static const char more[] = "; …";
    char *missing = observer->sheet->subjects[observer->subject].missing;
    size_t length = strlen(missing), more_length = strlen(more);
    size_t room = PB_MESSAGE_LENGTH - WORDS_BEFORE - more_length;

    if (length >= more_length && strcmp(missing + length - more_length, more) == 0)
        return;
    if (length + strlen("; ") + strlen(test) + strlen(" ") + strlen(how) < room)
        snprintf(missing + length, PB_MESSAGE_LENGTH - length, "%s%s %s", length == 0 ? "" : "; ",
                 test, how);
    else
        snprintf(missing + length, PB_MESSAGE_LENGTH - length, "%s", more);
}

/*
 * Adds a test to the digest of all; the order does not matter. (FNV-1a of its name, and of the
 * version of its method from the second on.)
 */
static void add_to_digest(struct pb_subject *subject, const char *test, uint64_t method_version)
{
    static const uint64_t prime = 0x100000001b3u;
    uint64_t hash = 0xcbf29ce484222325u;

    for (const char *at = test; *at != '\0'; at++)
        hash = (hash ^ (unsigned char)*at) * prime;
    if (method_version > 0)
        hash = (hash ^ method_version) * prime;
    subject->tests += hash;
}

static void look_at(struct pb_observer *observer, const struct pb_recording *recording)
{
    if (recording->outcome == PB_TEST_UNSUPPORTED)
        return; /* as with every device of its model; a lone one lacks numbers that others have */
    pb_observe_check(observer, recording);
    observer->sheet->subjects[observer->subject].endings |= 1u << recording->outcome;
    if (recording->outcome != PB_TEST_OK) {
        note_missing(observer, recording->name, pb_outcome_name(recording->outcome));
        return;
    }
    pb_observe_collect(observer, recording);
    pb_observe_sms(observer, recording);
    pb_observe_matrix(observer, recording);
    pb_observe_parallel(observer, recording);
}

static void look_at_tests(struct pb_observer *observer)
{
    const struct pb_witness *witness = observer->witness;

    for (size_t i = 0; i < witness->test_count && observer->status == PB_OK; i++) {
        struct pb_recording recording = {.sm_id = -1};
        struct pb_error err = PB_ERROR_INIT;
        enum pb_status status;

        status = witness->recordings->load(witness->recordings->context, witness->tests[i],
                                           &recording, &err);
        if (recording.method_version > 1)
            observer->method_versions[i] = recording.method_version;
        add_to_digest(&observer->sheet->subjects[observer->subject], witness->tests[i],
                      observer->method_versions[i]);
        if (status == PB_OK)
            look_at(observer, &recording);
        else if (status == PB_NO_MEMORY)
            observer->status = pb_fail(observer->err, status, "%s", err.message);
        else
            note_missing(observer, witness->tests[i], "cannot be read");
        pb_recording_clear(&recording);
    }
}

enum pb_status pb_observe(struct pb_sheet *sheet, const struct pb_witness *witness,
                          struct pb_error *err)
{
    struct pb_observer observer = {
        .sheet = sheet, .witness = witness, .chase_sm = -1, .mismatch_address = NAN, .err = err};

    observer.method_versions = calloc(witness->test_count + 1, sizeof(*observer.method_versions));
    if (observer.method_versions == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu tests",
                       witness->test_count);
    observer.status = pb_sheet_add_subject(sheet, witness->subject, &observer.subject, err);
    look_at_tests(&observer);
    pb_observe_accesses(&observer);
    if (witness->recordings != NULL && witness->test_count > 0)
        pb_observe_parameters(&observer);
    pb_observe_integrity(&observer);
    pb_observe_states(&observer);
    for (size_t i = 0; i < PB_CLASS_COUNT; i++)
        pb_sample_clear(&observer.accesses[i]);
    pb_sample_clear(&observer.shared_cycles);
    pb_sample_clear(&observer.sm_cycles);
    pb_sample_clear(&observer.l2_cycles);
    pb_sample_clear(&observer.lap_mhz);
    free(observer.method_versions);
    return observer.status;
}
