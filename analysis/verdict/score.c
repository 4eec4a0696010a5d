/* Scoring a feature table: groups, then multiplicity over the whole fleet; see score.h. */
#include "analysis/verdict/score.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/verdict/baseline.h"
#include "analysis/verdict/critical.h"
#include "analysis/verdict/drift.h"
#include "analysis/verdict/event.h"
#include "analysis/verdict/group.h"
#include "analysis/verdict/multiplicity.h"
#include "analysis/verdict/scoring.h"
#include "core/compare.h"

/* Of the rate at which a healthy fleet may have a CRITICAL score, so much is for chance; as much is
   for the error of the null distribution, whose tails and number of independent peers are
   themselves estimated from the fleet. */
#define CHANCE_SHARE 0.5

/* Practical sizes that warn where too few peers can never show more. */
#define LARGE_PRACTICALS 4.0

static double chance_rate(const struct pb_score_options *options)
{
    return CHANCE_SHARE * options->critical_rate;
}

/* The p-values of a fleet, and which of them still mean something. */
struct family {
    double *p;
    size_t count;
    double cutoff; /* p up to here are rejected; -1: none */
};

const char *pb_severity_name(enum pb_severity severity)
{
    static const char *const names[] = {"OK", "WARNING", "CRITICAL", "UNKNOWN"};

    return (unsigned)severity < sizeof(names) / sizeof(names[0]) ? names[severity] : "UNKNOWN";
}

int pb_severity_rank(enum pb_severity severity)
{
    static const int ranks[] = {[PB_SEVERITY_OK] = 0,
                                [PB_SEVERITY_WARNING] = 1,
                                [PB_SEVERITY_UNKNOWN] = 2,
                                [PB_SEVERITY_CRITICAL] = 3};

    return ranks[severity];
}

/* May one device be CRITICAL by this metric? How few of the peers are healthy shows in p. */
static bool has_peers(const struct pb_group *group, const struct pb_fit *fit)
{
    return group->sufficient && fit->count >= PB_GROUP_MIN_PEERS;
}

/* All p-values, or those that may become CRITICAL. Events are judged one by one, not by chance. */
static void collect(const struct pb_scoring *scoring, bool critical, struct family *family)
{
    const struct pb_scores *scores = scoring->scores;

    family->count = 0;
    for (size_t i = 0; i < scores->device_count; i++) {
        size_t group = scores->group_of[i];

        for (size_t j = 0; group < scores->group_count && j < scores->metric_count; j++) {
            const struct pb_score *score = &scores->cells[i * scores->metric_count + j];
            const struct pb_fit *fit = &scoring->fits[group * scores->metric_count + j];

            if (isnan(score->p) || fit->is_event)
                continue;
            if (!critical || has_peers(&scores->groups[group], fit))
                family->p[family->count++] = score->p;
        }
    }
    qsort(family->p, family->count, sizeof(*family->p), pb_compare_double);
}

/* The p up to which each number of a device warns though its peers are too few. */
static double few_peers_cutoff(const struct pb_scoring *scoring, size_t device)
{
    const struct pb_scores *scores = scoring->scores;
    size_t scored = 0;

    for (size_t j = 0; j < scores->metric_count; j++)
        scored += isnan(scores->cells[device * scores->metric_count + j].p) ? 0 : 1;
    return scoring->options->warning_rate / (double)(scored > 0 ? scored : 1);
}

/* p up to which a number is rejected, by what may then be said of it. */
struct cutoffs {
    double critical, warning, few_peers;
};

static enum pb_severity severity_of(const struct pb_scoring *scoring, size_t device, size_t metric,
                                    const struct cutoffs *cutoffs)
{
    const struct pb_scores *scores = scoring->scores;
    const struct pb_metric *described = &scoring->features->metrics[metric];
    const struct pb_score *score = &scores->cells[device * scores->metric_count + metric];
    size_t group = scores->group_of[device];
    const struct pb_fit *fit = &scoring->fits[group * scores->metric_count + metric];
    bool enough = has_peers(&scores->groups[group], fit);

    if (isnan(score->p) || fabs(score->shift) < described->practical)
        return PB_SEVERITY_OK;
    if (fit->is_event)
        return score->p <= 0.0 ? PB_SEVERITY_CRITICAL : PB_SEVERITY_OK;
    if (enough && score->p <= cutoffs->critical)
        return PB_SEVERITY_CRITICAL;
    if (score->p <= cutoffs->warning)
        return PB_SEVERITY_WARNING;
    if (!enough && described->practical > 0.0 && score->p <= cutoffs->few_peers &&
        fabs(score->shift) >= LARGE_PRACTICALS * described->practical)
        return PB_SEVERITY_WARNING;
    return PB_SEVERITY_OK;
}

/* What a number must reach, alone among all, to be reported: how many scores that is by. */
struct odds {
    size_t critical, warning; /* scores of the fleet that may be so */
    size_t numbers;           /* that one device of the group has */
};

static double shift_at(const struct pb_metric *metric, const struct pb_norm *norm, double p,
                       double practicals)
{
    struct pb_null null;

    pb_null_set(&null, norm->independent_peers * (double)norm->majority / (double)norm->peers,
                norm->tail);
    return fmax(pb_null_sigmas(&null, p) * norm->scale + metric->quantum / 2.0,
                practicals * pb_metric_practical(metric, norm->center));
}

/* The smallest shift that would have been CRITICAL or, where the peers are too few, a WARNING. */
static double detectable(const struct pb_scoring *scoring, size_t group, size_t metric,
                         const struct odds *odds)
{
    const struct pb_score_options *options = scoring->options;
    const struct pb_metric *described = &scoring->features->metrics[metric];
    size_t i = group * scoring->scores->metric_count + metric;
    const struct pb_norm *norm = &scoring->scores->norms[i];
    double alone, large;

    if (isnan(norm->center))
        return NAN;
    if (scoring->fits[i].is_event)
        return described->practical;
    if (has_peers(&scoring->scores->groups[group], &scoring->fits[i]))
        return shift_at(described, norm, chance_rate(options) / (double)odds->critical, 1.0);
    alone = shift_at(described, norm, options->warning_rate / (double)odds->warning, 1.0);
    if (described->practical <= 0.0)
        return alone;
    large =
        shift_at(described, norm, options->warning_rate / (double)odds->numbers, LARGE_PRACTICALS);
    return fmin(alone, large);
}

static void set_detectable(const struct pb_scoring *scoring, size_t critical, size_t warning)
{
    const struct pb_scores *scores = scoring->scores;
    struct odds odds = {critical > 0 ? critical : 1, warning > 0 ? warning : 1, 0};

    for (size_t g = 0; g < scores->group_count; g++) {
        struct pb_norm *norms = &scores->norms[g * scores->metric_count];

        odds.numbers = 0;
        for (size_t j = 0; j < scores->metric_count; j++)
            odds.numbers += isnan(norms[j].center) ? 0 : 1;
        for (size_t j = 0; j < scores->metric_count; j++)
            norms[j].detectable = detectable(scoring, g, j, &odds);
    }
}

static enum pb_status judge(struct pb_scoring *scoring, struct pb_error *err)
{
    struct pb_scores *scores = scoring->scores;
    const struct pb_score_options *options = scoring->options;
    struct family family = {
        .p = malloc((scores->device_count * scores->metric_count + 1) * sizeof(*family.p))};
    struct cutoffs cutoffs;
    size_t scored;

    if (family.p == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu scores",
                       scores->device_count * scores->metric_count);
    collect(scoring, false, &family);
    cutoffs.warning = pb_benjamini_hochberg_cutoff(family.p, family.count, options->warning_rate);
    scored = family.count;
    collect(scoring, true, &family);
    cutoffs.critical = pb_holm_cutoff(family.p, family.count, chance_rate(options));
    set_detectable(scoring, family.count, scored);
    free(family.p);
    for (size_t i = 0; i < scores->device_count; i++) {
        cutoffs.few_peers = few_peers_cutoff(scoring, i);
        for (size_t j = 0; scores->group_of[i] < scores->group_count && j < scores->metric_count;
             j++)
            scores->cells[i * scores->metric_count + j].severity =
                severity_of(scoring, i, j, &cutoffs);
    }
    return PB_OK;
}

/* Memory for everything whose size the feature table gives. */
static enum pb_status reserve(struct pb_scoring *scoring, struct pb_error *err)
{
    static const struct pb_score no_score = {.sigmas = NAN,
                                             .p = NAN,
                                             .shift = NAN,
                                             .severity = PB_SEVERITY_OK,
                                             .drift_shift = NAN,
                                             .drift_times = NAN,
                                             .drift_sigmas = NAN,
                                             .drift_severity = PB_SEVERITY_OK};
    struct pb_scores *scores = scoring->scores;
    size_t cell_count = scoring->features->device_count * scoring->features->metric_count;

    scores->device_count = scoring->features->device_count;
    scores->metric_count = scoring->features->metric_count;
    scores->group_of = malloc((scores->device_count + 1) * sizeof(*scores->group_of));
    scores->cells = malloc((cell_count + 1) * sizeof(*scores->cells));
    scoring->history_metric = malloc((scores->metric_count + 1) * sizeof(*scoring->history_metric));
    if (scores->group_of == NULL || scores->cells == NULL || scoring->history_metric == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu scores", cell_count);
    for (size_t i = 0; i < cell_count; i++)
        scores->cells[i] = no_score;
    for (size_t i = 0; i < scores->metric_count; i++) {
        size_t history = SIZE_MAX;

        if (scoring->baseline != NULL)
            history = pb_baseline_metric(scoring->baseline, &scoring->features->metrics[i]);
        scoring->history_metric[i] =
            scoring->baseline != NULL && history < scoring->baseline->metric_count ? history
                                                                                   : SIZE_MAX;
    }
    return PB_OK;
}

/* Of every device of a feature table: the parts that its events show to be wrong. NULL: no memory.
 */
static uint32_t *list_event_parts(const struct pb_features *features)
{
    uint32_t *parts = malloc((features->device_count + 1) * sizeof(*parts));

    for (size_t i = 0; parts != NULL && i < features->device_count; i++)
        parts[i] = pb_event_parts(features, i);
    return parts;
}

static enum pb_status find_events(struct pb_scoring *scoring, struct pb_error *err)
{
    scoring->event_parts = list_event_parts(scoring->features);
    if (scoring->baseline != NULL)
        scoring->history_event_parts = list_event_parts(scoring->baseline);
    if (scoring->event_parts == NULL ||
        (scoring->baseline != NULL && scoring->history_event_parts == NULL))
        return pb_fail(err, PB_NO_MEMORY, "out of memory for the events of %zu devices",
                       scoring->features->device_count);
    return PB_OK;
}

static enum pb_status make_groups(struct pb_scoring *scoring, struct pb_error *err)
{
    struct pb_scores *scores = scoring->scores;
    enum pb_status status = pb_groups_make(scoring->features, scoring->baseline, &scores->groups,
                                           &scores->group_count, scores->group_of, err);
    size_t norm_count = scores->group_count * scores->metric_count;

    if (status != PB_OK)
        return status;
    scores->norms = calloc(norm_count + 1, sizeof(*scores->norms));
    scoring->fits = calloc(norm_count + 1, sizeof(*scoring->fits));
    if (scores->norms == NULL || scoring->fits == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu groups",
                       scores->group_count);
    return PB_OK;
}

/* Splits the metrics of all groups that now turn out to fall in two. Every round splits some, so
   there is a last one. */
static enum pb_status divide(struct pb_scoring *scoring, bool *divided_out, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    *divided_out = false;
    for (size_t i = 0; i < scoring->scores->group_count && status == PB_OK; i++) {
        bool is_divided;

        status = pb_scoring_divide(scoring, i, &is_divided, err);
        *divided_out |= is_divided;
    }
    return status;
}

enum pb_status pb_score(const struct pb_features *features, const struct pb_features *baseline,
                        const struct pb_score_options *options, struct pb_scores *scores_out,
                        struct pb_error *err)
{
    struct pb_scores scores = {0};
    struct pb_scoring scoring = {
        .features = features, .baseline = baseline, .options = options, .scores = &scores};
    enum pb_status status = reserve(&scoring, err);

    if (status == PB_OK)
        status = find_events(&scoring, err);
    if (status == PB_OK)
        status = make_groups(&scoring, err);
    for (size_t i = 0; i < scores.group_count && status == PB_OK; i++)
        status = pb_scoring_group(&scoring, i, err);
    for (bool is_divided = true; is_divided && status == PB_OK;) {
        status = judge(&scoring, err);
        if (status == PB_OK)
            status = divide(&scoring, &is_divided, err);
    }
    if (status == PB_OK && baseline != NULL)
        status = pb_drift_score(features, baseline, options, &scores, err);
    if (status == PB_OK)
        *scores_out = scores;
    else
        pb_scores_clear(&scores);
    free(scoring.fits);
    free(scoring.history_metric);
    free(scoring.event_parts);
    free(scoring.history_event_parts);
    pb_column_clear(&scoring.column);
    return status;
}

void pb_scores_clear(struct pb_scores *scores)
{
    if (scores == NULL)
        return;
    pb_groups_clear(scores->groups, scores->group_count);
    free(scores->group_of);
    free(scores->norms);
    free(scores->cells);
    *scores = (struct pb_scores){0};
}
