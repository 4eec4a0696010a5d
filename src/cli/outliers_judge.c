/* From fleet files to a ruling: reading, scoring, judging; see outliers.h. */
#include <math.h>
#include <string.h>

#include "analysis/verdict/baseline.h"
#include "analysis/verdict/exact_states.h"
#include "analysis/verdict/trend.h"
#include "cli/outliers.h"

/* Does a baseline, of which these devices are, have any device of a model that the fleet has? */
static enum pb_status check_baseline(const struct pb_features *fleet,
                                     const struct pb_features *base, size_t first, const char *path,
                                     struct pb_error *err)
{
    const char *model = "none";

    for (size_t i = first; i < base->device_count; i++) {
        const char *known = base->devices[i].info.model;

        for (size_t j = 0; j < fleet->device_count; j++)
            if (known[0] != '\0' && strcmp(fleet->devices[j].info.model, known) == 0)
                return PB_OK;
        if (known[0] != '\0')
            model = known;
    }
    return pb_fail(err, PB_INVALID,
                   "%s: expected a device of a model of this fleet, as %s, found %s", path,
                   fleet->device_count > 0 ? fleet->devices[0].info.model : "none", model);
}

/* All of them into one feature table: the last row of a device counts where only one does. */
static enum pb_status read_runs(const struct pb_earlier_runs *runs,
                                const struct pb_ruling_options *options,
                                struct pb_features *features_out, struct pb_error *err)
{
    size_t count = runs == NULL ? 0 : runs->count;
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < count && status == PB_OK; i++) {
        size_t first = features_out->device_count;
        struct pb_run run;

        status = pb_outliers_read(runs->paths[i], options->announce, &run, features_out, err);
        for (size_t k = first; k < features_out->device_count; k++)
            features_out->devices[k].run = i;
    }
    return status;
}

/* Each file of a baseline must have something to say of the fleet. */
static enum pb_status check_baselines(const struct pb_earlier_runs *runs,
                                      const struct pb_features *fleet,
                                      const struct pb_features *base, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    if (runs == NULL || runs->count == 0)
        return PB_OK;
    for (size_t first = 0; first < base->device_count && status == PB_OK;) {
        size_t run = base->devices[first].run;

        status = check_baseline(fleet, base, first, runs->paths[run], err);
        while (first < base->device_count && base->devices[first].run == run)
            first++;
    }
    return status;
}

/* May anything be CRITICAL because of its peers? */
static bool has_enough_peers(const struct pb_scores *scores)
{
    for (size_t i = 0; i < scores->group_count; i++)
        if (scores->groups[i].sufficient)
            return true;
    return false;
}

/* What a fleet is compared with. */
struct earlier {
    struct pb_features base, history;
    struct pb_trends trends;
};

/* Of a history tonight's own file is no part; of a baseline it is a finding. */
static enum pb_status read_earlier(const struct pb_ruling_options *options,
                                   struct pb_features *features, struct earlier *earlier,
                                   struct pb_error *err)
{
    enum pb_status status = read_runs(options->history, options, &earlier->history, err);

    if (status == PB_OK)
        status = pb_baseline_drop_copies(features, &earlier->history, err);
    for (size_t i = 0; i < features->device_count; i++)
        features->devices[i].is_own_baseline = false;
    if (status == PB_OK)
        status = read_runs(options->baseline, options, &earlier->base, err);
    if (status == PB_OK)
        status = check_baselines(options->baseline, features, &earlier->base, err);
    if (status == PB_OK)
        status = pb_baseline_drop_copies(features, &earlier->base, err);
    return status;
}

static enum pb_status score(const struct pb_ruling_options *options, struct pb_ruling *ruling,
                            struct earlier *earlier, struct pb_error *err)
{
    const struct pb_score_options rates = PB_SCORE_OPTIONS_DEFAULT;
    const struct pb_features *base = ruling->runs.count == 0 ? NULL : &earlier->base;
    enum pb_status status = pb_exact_states_add(&ruling->features, base, err);

    pb_policy_set_practical(&ruling->policy, &ruling->features);
    if (status == PB_OK)
        status = pb_score(&ruling->features, base, &rates, &ruling->scores, err);
    if (status != PB_OK)
        return status;
    if (options->history != NULL && options->history->count > 0)
        status = pb_trends_find(&ruling->features, &earlier->history, &ruling->scores,
                                rates.critical_rate, &earlier->trends, err);
    ruling->evenness = pb_evenness_of(&ruling->features, &ruling->scores);
    ruling->false_alarm_rate = has_enough_peers(&ruling->scores) ? rates.critical_rate : NAN;
    return status;
}

enum pb_status pb_ruling_make(const char *file, const struct pb_ruling_options *options,
                              struct pb_ruling *ruling_out, struct pb_error *err)
{
    struct pb_ruling *ruling = ruling_out;
    struct earlier earlier = {0};
    const struct pb_judge_options extras = {.policy = &ruling->policy,
                                            .baseline = &earlier.base,
                                            .trends = &earlier.trends,
                                            .references = &ruling->references};
    enum pb_status status;

    *ruling = (struct pb_ruling){.file = file};
    if (options->baseline != NULL)
        ruling->runs = *options->baseline;
    status =
        options->policy == NULL ? PB_OK : pb_policy_load(options->policy, &ruling->policy, err);
    if (status == PB_OK)
        status = pb_references_load(&ruling->references, err);
    if (status == PB_OK)
        status = pb_outliers_read(file, options->announce, &ruling->run, &ruling->features, err);
    if (status == PB_OK)
        status = read_earlier(options, &ruling->features, &earlier, err);
    if (status == PB_OK)
        status = score(options, ruling, &earlier, err);
    if (status == PB_OK)
        status = pb_judge(&ruling->features, &ruling->scores, &extras, &ruling->findings, err);
    ruling->status = ruling->findings.worst;
    if (ruling->findings.judged == 0 && ruling->status != PB_SEVERITY_CRITICAL)
        ruling->status = PB_SEVERITY_UNKNOWN;
    pb_trends_clear(&earlier.trends);
    pb_features_clear(&earlier.history);
    pb_features_clear(&earlier.base);
    return status;
}

void pb_ruling_clear(struct pb_ruling *ruling)
{
    pb_findings_clear(&ruling->findings);
    pb_policy_clear(&ruling->policy);
    pb_references_clear(&ruling->references);
    pb_scores_clear(&ruling->scores);
    pb_features_clear(&ruling->features);
}
