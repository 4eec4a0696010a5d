/*
 * Observation: chases a device's recordings once, then calls the inference; see observe.h.
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
static void note_missing(struct pb_extractor *extractor, const char *test, const char *how)
{
    enum { WORDS_BEFORE = 64 };
    static const char more[] = "; …";
    char *missing = extractor->features->devices[extractor->device].missing;
    size_t length = strlen(missing), more_length = strlen(more);
    size_t limit = PB_MESSAGE_LENGTH - WORDS_BEFORE - more_length;

    if (length >= more_length && strcmp(missing + length - more_length, more) == 0)
        return;
    if (length + strlen("; ") + strlen(test) + strlen(" ") + strlen(how) < limit)
        snprintf(missing + length, PB_MESSAGE_LENGTH - length, "%s%s %s", length == 0 ? "" : "; ",
                 test, how);
    else
        snprintf(missing + length, PB_MESSAGE_LENGTH - length, "%s", more);
}

/*
 * Adds a test to the digest of all; the order does not matter. (FNV-1a of its name, and of the
 * version of its method from the second on.)
 */
static void add_to_digest(struct pb_feature_row *device, const char *test, uint64_t method_version)
{
    static const uint64_t prime = 0x100000001b3u;
    uint64_t hash = 0xcbf29ce484222325u;

    for (const char *at = test; *at != '\0'; at++)
        hash = (hash ^ (unsigned char)*at) * prime;
    if (method_version > 0)
        hash = (hash ^ method_version) * prime;
    device->tests += hash;
}

static void observe_recording(struct pb_extractor *extractor, const struct pb_recording *recording)
{
    if (recording->outcome == PB_TEST_UNSUPPORTED)
        return; /* as with every device of its model; a lone one lacks numbers that others have */
    pb_observe_check(extractor, recording);
    extractor->features->devices[extractor->device].endings |= 1u << recording->outcome;
    if (recording->outcome != PB_TEST_OK) {
        note_missing(extractor, recording->name, pb_outcome_name(recording->outcome));
        return;
    }
    pb_observe_collect(extractor, recording);
    pb_observe_sms(extractor, recording);
    pb_observe_matrix(extractor, recording);
    pb_observe_parallel(extractor, recording);
}

static void look_at_tests(struct pb_extractor *extractor)
{
    const struct pb_metric_source *metric_source = extractor->metric_source;

    for (size_t i = 0; i < metric_source->test_count && extractor->status == PB_OK; i++) {
        struct pb_recording recording = {.sm_id = -1};
        struct pb_error err = PB_ERROR_INIT;
        enum pb_status status;

        status = metric_source->recordings->load(metric_source->recordings->context,
                                                 metric_source->tests[i], &recording, &err);
        if (recording.method_version > 1)
            extractor->method_versions[i] = recording.method_version;
        add_to_digest(&extractor->features->devices[extractor->device], metric_source->tests[i],
                      extractor->method_versions[i]);
        if (status == PB_OK)
            observe_recording(extractor, &recording);
        else if (status == PB_NO_MEMORY)
            extractor->status = pb_fail(extractor->err, status, "%s", err.message);
        else
            note_missing(extractor, metric_source->tests[i], "cannot be read");
    }
}

enum pb_status pb_observe(struct pb_features *features,
                          const struct pb_metric_source *metric_source, struct pb_error *err)
{
    struct pb_extractor extractor = {.features = features,
                                     .metric_source = metric_source,
                                     .chase_sm = -1,
                                     .mismatch_address = NAN,
                                     .err = err};

    extractor.method_versions =
        calloc(metric_source->test_count + 1, sizeof(*extractor.method_versions));
    if (extractor.method_versions == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu tests",
                       metric_source->test_count);
    extractor.status =
        pb_features_add_device(features, metric_source->device, &extractor.device, err);
    look_at_tests(&extractor);
    pb_observe_accesses(&extractor);
    if (metric_source->recordings != NULL && metric_source->test_count > 0)
        pb_observe_parameters(&extractor);
    pb_observe_integrity(&extractor);
    pb_observe_states(&extractor);
    for (size_t i = 0; i < PB_CLASS_COUNT; i++)
        pb_sample_clear(&extractor.accesses[i]);
    pb_sample_clear(&extractor.shared_cycles);
    pb_sample_clear(&extractor.sm_cycles);
    pb_sample_clear(&extractor.l2_cycles);
    pb_sample_clear(&extractor.pass_mhz);
    free(extractor.method_versions);
    return extractor.status;
}
