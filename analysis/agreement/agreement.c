/* The replay of a device's tests; see agreement.h. */
#include "analysis/agreement/agreement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/agreement/replay.h"

/* Tests whose reference chases show how latencies spread; they are read first. */
static const char *const references[] = {"l2_capacity", "l2_line", "dram_latency", "tlb_reach",
                                         "tlb_remap"};

/* Tests of chases through the hierarchy, in the battery's order. */
static const char *const tests[] = {
    "l1_capacity",
    "l1_line",
    "l1_sets",
    "l1_policy",
    "l1_alignment",
    "l1_carveout",
    "l2_capacity",
    "l2_line",
    "l2_sets",
    "readonly_capacity",
    "readonly_line",
    "readonly_sets",
    "readonly_policy",
    "texture_capacity",
    "texture_line",
    "texture_sets",
    "texture_policy",
    "texture_2d",
    "constant_capacity",
    "constant_line",
    "constant_sets",
    "constant_policy",
    "constant_l15_capacity",
    "constant_l15_line",
    "cache_sharing",
    "classic_saavedra",
    "classic_wong",
    "dram_latency",
    "latency_pattern",
    "tlb_reach",
    "tlb_remap",
    "prefetch",
    "jump_global",
    "jump_texture",
    "jump_constant",
    "sm_latency",
    "sm_misses",
};

enum { TESTS = sizeof(tests) / sizeof(tests[0]) };

enum pb_status pb_agreement_load(const struct pb_recordings *source, const char *test,
                                 struct pb_recording *recording_out, struct pb_error *err)
{
    enum pb_status status;

    memset(recording_out, 0, sizeof(*recording_out));
    status = source->load(source->context, test, recording_out, err);
    if (status == PB_OK || status == PB_NO_MEMORY)
        return status;
    memset(recording_out, 0, sizeof(*recording_out));
    return PB_OK;
}

enum pb_status pb_agreement_calibrate(struct pb_replay *replay, const struct pb_recordings *source,
                                      struct pb_error *err)
{
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < sizeof(references) / sizeof(references[0]) && status == PB_OK; i++) {
        struct pb_recording recording;

        status = pb_agreement_load(source, references[i], &recording, err);
        if (status == PB_OK)
            status = pb_replay_calibrate(replay, &recording.series, err);
    }
    return status;
}

static void add(struct pb_agreement_counts *to, const struct pb_agreement_counts *from)
{
    to->accesses += from->accesses;
    to->agreed += from->agreed;
    to->contradicted += from->contradicted;
    to->undetermined += from->undetermined;
    for (size_t i = 0; i < PB_REASONS_MAX; i++)
        to->by_reason[i] += from->by_reason[i];
}

/* Whether a chase agrees less than the row's worst one so far. */
static bool is_worse(const struct pb_agreement_test *row, const struct pb_agreement_counts *own)
{
    return (double)own->contradicted * (double)row->worst_accesses >
           (double)row->worst_contradicted * (double)own->accesses;
}

static void add_reason(struct pb_agreement_test *to, const char *name, uint64_t accesses)
{
    size_t at = 0;

    while (at + 1 < PB_AGREEMENT_REASONS && to->reasons[at].accesses > 0 &&
           strcmp(to->reasons[at].name, name) != 0)
        at++;
    if (to->reasons[at].accesses == 0)
        PB_TEXT_SET(to->reasons[at].name, name);
    else if (strcmp(to->reasons[at].name, name) != 0)
        PB_TEXT_SET(to->reasons[at].name, "other reasons");
    to->reasons[at].accesses += accesses;
    for (; at > 0 && to->reasons[at].accesses > to->reasons[at - 1].accesses; at--) {
        struct pb_agreement_reason more = to->reasons[at];

        to->reasons[at] = to->reasons[at - 1];
        to->reasons[at - 1] = more;
    }
}

static enum pb_status replay_test(struct pb_replay *replay, const char *test,
                                  const struct pb_series *series, struct pb_agreement_test *row_out,
                                  struct pb_error *err)
{
    struct pb_agreement_counts sum = {.accesses = 0};
    struct pb_agreement_test row = {.accesses = 0};

    PB_TEXT_SET(row.test, test);
    for (size_t i = 0; i < series->point_count; i++) {
        struct pb_agreement_counts own = {.accesses = 0};
        enum pb_status status = pb_replay_point(replay, test, series, i, &own, err);

        if (status != PB_OK)
            return status;
        if (own.accesses > 0 && (row.worst_accesses == 0 || is_worse(&row, &own))) {
            row.worst_point = i;
            row.worst_accesses = own.accesses;
            row.worst_contradicted = own.contradicted;
        }
        add(&sum, &own);
    }
    for (size_t i = 1; i < PB_REASONS_MAX; i++)
        if (sum.by_reason[i] > 0)
            add_reason(&row, pb_replay_reason(replay, i), sum.by_reason[i]);
    row.accesses = sum.accesses;
    row.agreed = sum.agreed;
    row.contradicted = sum.contradicted;
    row.undetermined = sum.undetermined;
    *row_out = row;
    return PB_OK;
}

static enum pb_status replay_all(struct pb_replay *replay, const struct pb_recordings *source,
                                 struct pb_agreement *agreement, struct pb_error *err)
{
    enum pb_status status = pb_agreement_calibrate(replay, source, err);

    for (size_t i = 0; i < TESTS && status == PB_OK; i++) {
        struct pb_agreement_test *row = &agreement->tests[agreement->count];
        struct pb_recording recording;

        status = pb_agreement_load(source, tests[i], &recording, err);
        if (status == PB_OK)
            status = replay_test(replay, tests[i], &recording.series, row, err);
        agreement->count += status == PB_OK && row->accesses > 0;
    }
    return status;
}

enum pb_status pb_agreement_measure(const struct pb_parameters *parameters,
                                    const struct pb_recordings *source,
                                    struct pb_agreement *agreement_out, struct pb_error *err)
{
    struct pb_agreement agreement = {NULL, 0};
    struct pb_model_hierarchy hierarchy;
    struct pb_replay *replay = NULL;
    enum pb_status status = pb_model_hierarchy_from_parameters(parameters, &hierarchy, err);

    *agreement_out = agreement;
    if (status != PB_OK)
        return status == PB_NOT_FOUND ? PB_OK : status;
    agreement.tests = calloc(TESTS, sizeof(*agreement.tests));
    if (agreement.tests == NULL)
        status = pb_fail(err, PB_NO_MEMORY, "out of memory allocating %d rows", TESTS);
    if (status == PB_OK)
        status = pb_replay_create(&hierarchy, &replay, err);
    if (status == PB_OK)
        status = replay_all(replay, source, &agreement, err);
    pb_replay_destroy(replay);
    pb_model_hierarchy_clear(&hierarchy);
    if (status != PB_OK)
        pb_agreement_clear(&agreement);
    *agreement_out = agreement;
    return status;
}

void pb_agreement_clear(struct pb_agreement *agreement)
{
    if (agreement == NULL)
        return;
    free(agreement->tests);
    *agreement = (struct pb_agreement){NULL, 0};
}

void pb_agreement_add(struct pb_agreement_test *to, const struct pb_agreement_test *from)
{
    to->accesses += from->accesses;
    to->agreed += from->agreed;
    to->contradicted += from->contradicted;
    to->undetermined += from->undetermined;
    for (size_t i = 0; i < PB_AGREEMENT_REASONS && from->reasons[i].accesses > 0; i++)
        add_reason(to, from->reasons[i].name, from->reasons[i].accesses);
}

void pb_agreement_describe_reasons(const struct pb_agreement_test *test, char *text, size_t size)
{
    size_t length = 0;

    text[0] = '\0';
    for (size_t i = 0; i < PB_AGREEMENT_REASONS && test->reasons[i].accesses > 0; i++) {
        char part[PB_TEXT_LENGTH + 32];
        size_t more = (size_t)snprintf(
            part, sizeof(part), "%s%s %.3g%%", i > 0 ? ", " : "", test->reasons[i].name,
            100.0 * (double)test->reasons[i].accesses / (double)test->accesses);

        if (length + more >= size)
            return;
        memcpy(text + length, part, more + 1);
        length += more;
    }
}

struct pb_agreement_test pb_agreement_total(const struct pb_agreement *agreement)
{
    struct pb_agreement_test total = {.accesses = 0};
    double worst = -1.0;

    for (size_t i = 0; i < agreement->count; i++) {
        const struct pb_agreement_test *row = &agreement->tests[i];
        double share = (double)row->contradicted / (double)row->accesses;

        pb_agreement_add(&total, row);
        if (share > worst) {
            worst = share;
            PB_TEXT_SET(total.test, row->test);
            total.worst_point = row->worst_point;
            total.worst_accesses = row->worst_accesses;
            total.worst_contradicted = row->worst_contradicted;
        }
    }
    return total;
}
