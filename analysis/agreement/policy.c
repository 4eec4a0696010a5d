/* Candidates for a replacement policy, replayed; see policy.h. */
#include "analysis/agreement/policy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/agreement/agreement.h"
#include "analysis/agreement/replay.h"
#include "analysis/confidence.h"
#include "analysis/constants.h"

enum {
    TESTS_MAX = 3,
    SHORT_MAX = 1024,     /* accesses of a chase that is replayed in any case */
    ACCESSES_MAX = 60000, /* of a test that are replayed for each candidate, about */
    VOTES_MAX = 100       /* the accesses of a test depend on each other */
};

static const enum pb_model_policy candidates[] = {PB_MODEL_LRU, PB_MODEL_FIFO, PB_MODEL_PLRU,
                                                  PB_MODEL_KEEP_HITS, PB_MODEL_RANDOM};
enum { CANDIDATES = sizeof(candidates) / sizeof(candidates[0]) };

/* The cache that a memory's loads meet first, and the tests whose chases overflow its sets. */
struct subject {
    const char *memory;
    enum pb_model_path path;
    const char *tests[TESTS_MAX];
};

static const struct subject subjects[] = {
    {"l1", PB_MODEL_GLOBAL_CA, {"l1_policy", "l1_sets"}},
    {"readonly", PB_MODEL_READONLY, {"readonly_policy", "readonly_sets"}},
    {"texture", PB_MODEL_TEXTURE, {"texture_policy", "texture_sets"}},
    {"l2", PB_MODEL_GLOBAL_CG, {"l2_line", "l2_capacity", "dram_latency"}},
};

/* Replays all short chases of a test, as those over the lines of one set are, and some others. */
static enum pb_status replay_some(struct pb_replay *replay, const struct pb_recording *recording,
                                  struct pb_agreement_counts *counts, struct pb_error *err)
{
    const struct pb_series *series = &recording->series;
    size_t step = series->access_count / ACCESSES_MAX + 1;
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < series->point_count && status == PB_OK; i++)
        if (i % step == 0 || series->points[i].count <= SHORT_MAX)
            status = pb_replay_point(replay, recording->name, series, i, counts, err);
    return status;
}

/* What each candidate makes of the test's chases, beside what it made of others. */
static enum pb_status score(struct pb_model_hierarchy *hierarchy, size_t cache,
                            const struct pb_replay *calibrated,
                            const struct pb_recording *recording,
                            struct pb_agreement_counts *counts, struct pb_error *err)
{
    struct pb_model_level *level = &hierarchy->caches[cache];
    enum pb_status status = PB_OK;

    for (size_t c = 0; c < CANDIDATES && status == PB_OK; c++) {
        struct pb_replay *replay = NULL;

        level->shape.policy = candidates[c];
        status = pb_replay_create(hierarchy, &replay, err);
        if (status == PB_OK)
            pb_replay_calibrate_as(replay, calibrated);
        if (status == PB_OK)
            status = replay_some(replay, recording, &counts[c], err);
        pb_replay_destroy(replay);
    }
    return status;
}

/*
 * What the accesses say against a policy, in contradictions: one that it leaves to chance, which
 * another policy may predict, costs what a guess between two outcomes does.
 */
static double cost_of(const struct pb_agreement_counts *counts)
{
    double open = (double)(counts->accesses - counts->agreed - counts->contradicted);

    return (double)counts->contradicted + open * M_LN2 / -log(PB_SPIKES_MOST);
}

static void state(struct pb_parameter *answer, const struct pb_agreement_counts *counts)
{
    struct pb_votes votes = {0, 0};
    size_t best = 0, next = CANDIDATES;
    uint64_t least, lead;
    bool is_drawn;

    for (size_t c = 1; c < CANDIDATES; c++)
        best = cost_of(&counts[c]) < cost_of(&counts[best]) ? c : best;
    for (size_t c = 0; c < CANDIDATES; c++)
        if (c != best && (next == CANDIDATES || cost_of(&counts[c]) < cost_of(&counts[next])))
            next = c;
    least = counts[best].contradicted;
    lead = (uint64_t)(cost_of(&counts[next]) - cost_of(&counts[best]));
    if (counts[best].agreed == 0 ||
        (double)least > PB_SPIKES_MOST * (double)counts[best].accesses) {
        pb_parameter_set_none(
            answer,
            "unexplained: no policy explains the recorded chases: by the best one, %s, %llu of "
            "%llu accesses are contradicted",
            pb_model_policy_name(candidates[best]), (unsigned long long)least,
            (unsigned long long)counts[best].accesses);
        return;
    }
    if (lead < PB_POLICY_LEAD_MIN || lead < PB_POLICY_LEAD_TIMES * least) {
        pb_parameter_set_none(answer,
                              "ambiguous: several policies predict the recorded chases: %s "
                              "contradicts %llu, %s %llu of %llu accesses",
                              pb_model_policy_name(candidates[best]), (unsigned long long)least,
                              pb_model_policy_name(candidates[next]),
                              (unsigned long long)counts[next].contradicted,
                              (unsigned long long)counts[best].accesses);
        return;
    }
    pb_votes_add_share(&votes, (size_t)lead, (size_t)(lead + least), VOTES_MAX);
    is_drawn = candidates[best] == PB_MODEL_RANDOM;
    pb_parameter_set_word(
        answer, pb_model_policy_name(candidates[best]),
        pb_votes_confidence(&votes) / (is_drawn ? 2.0 : 1.0),
        "replay of recorded chases: %llu of %llu accesses contradict it, %llu the next one, %s%s",
        (unsigned long long)least, (unsigned long long)counts[best].accesses,
        (unsigned long long)counts[next].contradicted, pb_model_policy_name(candidates[next]),
        is_drawn ? "; weighted predicts the same: no chase shows which way is evicted" : "");
}

/* The policy that is to be stated; NULL: it is, or it is not of a cache with known sets. */
static enum pb_status find_answer(struct pb_parameters *parameters, const char *place,
                                  const struct subject *subject, const struct pb_model_level *level,
                                  struct pb_parameter **answer_out, struct pb_error *err)
{
    struct pb_parameter *answer = pb_parameters_find(parameters, subject->memory, "policy");
    char evidence[PB_MESSAGE_LENGTH];
    enum pb_status status = PB_OK;

    *answer_out = NULL;
    if (!level->has_sets || level->has_policy)
        return PB_OK;
    if (answer == NULL) {
        snprintf(evidence, sizeof(evidence), "%s/tests/%s", place, subject->tests[0]);
        status = pb_parameters_declare(parameters, subject->memory, "policy", "", evidence, err);
        if (status == PB_OK)
            answer = pb_parameters_find(parameters, subject->memory, "policy");
    }
    if (status == PB_OK && answer->kind == PB_VALUE_NONE)
        *answer_out = answer;
    return status;
}

static enum pb_status judge(const struct subject *subject, struct pb_model_hierarchy *hierarchy,
                            const struct pb_replay *calibrated, struct pb_parameter *answer,
                            const struct pb_recordings *source, struct pb_error *err)
{
    size_t cache = hierarchy->routes[subject->path].caches[0];
    struct pb_model_level *level = &hierarchy->caches[cache];
    struct pb_agreement_counts counts[CANDIDATES] = {{.accesses = 0}};
    struct pb_model_level former = *level;
    enum pb_status status = PB_OK;

    level->has_policy = true;
    level->missing[0] = '\0';
    for (size_t t = 0; t < TESTS_MAX && subject->tests[t] != NULL && status == PB_OK; t++) {
        struct pb_recording recording;

        status = pb_agreement_load(source, subject->tests[t], &recording, err);
        if (status == PB_OK)
            status = score(hierarchy, cache, calibrated, &recording, counts, err);
    }
    *level = former;
    if (status == PB_OK && counts[0].accesses > 0)
        state(answer, counts);
    return status;
}

enum pb_status pb_policies_by_replay(struct pb_parameters *parameters, const char *place,
                                     const struct pb_recordings *source, struct pb_error *err)
{
    struct pb_model_hierarchy hierarchy;
    struct pb_replay *calibrated = NULL;
    enum pb_status status = pb_model_hierarchy_from_parameters(parameters, &hierarchy, err);

    if (status != PB_OK)
        return status == PB_NOT_FOUND ? PB_OK : status;
    for (size_t s = 0; s < sizeof(subjects) / sizeof(subjects[0]) && status == PB_OK; s++) {
        const struct pb_model_route *way = &hierarchy.routes[subjects[s].path];
        struct pb_parameter *answer = NULL;

        if (way->count == 0 || hierarchy.caches[way->caches[0]].is_chip_wide !=
                                   (subjects[s].path == PB_MODEL_GLOBAL_CG))
            continue;
        status = find_answer(parameters, place, &subjects[s], &hierarchy.caches[way->caches[0]],
                             &answer, err);
        if (status == PB_OK && answer != NULL && calibrated == NULL) {
            status = pb_replay_create(&hierarchy, &calibrated, err);
            if (status == PB_OK)
                status = pb_agreement_calibrate(calibrated, source, err);
        }
        if (status == PB_OK && answer != NULL)
            status = judge(&subjects[s], &hierarchy, calibrated, answer, source, err);
    }
    pb_replay_destroy(calibrated);
    pb_model_hierarchy_clear(&hierarchy);
    return status;
}
