/* Each device against its own history; see drift.h. */
#include "analysis/verdict/drift.h"

#include <gsl/gsl_math.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/verdict/baseline.h"
#include "analysis/verdict/critical.h"
#include "analysis/verdict/population.h"

/* Changes of so few devices do not excuse one of them: two sick of four would excuse each other. */
enum { CHANGES_THAT_WIDEN = 8, MANY = 8192 };

#define PRACTICAL_SHARE   0.1
#define SMALLEST_RELATIVE 1e-6
#define ROUNDED_WARNING   1.5 /* steps: one is rounding */
#define ROUNDED_CRITICAL  2.5
#define INTERVALS_APART   2.0 /* noise is a quarter of an interval */

/* What is known of one device's history in one metric. */
struct history {
    double center, noise;
    double scale;     /* of its own readings; 0: too few */
    double low, high; /* the last but one to either side; NaN: too few */
    size_t count;
};

/* How far numbers of a group usually move, by one kind of metric source. */
struct usual {
    double scale;         /* one standard deviation */
    size_t count;         /* as uncertain as one of so many values; 0: nothing is known */
    bool widens, narrows; /* may it move a stated size? */
};

/* Distances in scales, by what is known of the scale. */
struct factors {
    double known, of_changes, of_history;
};

struct drift {
    const struct pb_features *features, *baseline;
    struct pb_scores *scores;
    struct pb_uuids uuids;
    struct pb_column changes;   /* of a group: values: differences; noise: of both readings */
    struct pb_column residuals; /* of all histories of the group, values only */
    struct history *runs;       /* beside the changes */
    double *readings;           /* of one device */
    double warning_p, critical_p;
};

/* How far apart the changes of the group's devices lie; those of a few sick ones do not count. */
static double scale_of_changes(struct drift *drift, double quantum)
{
    const struct pb_column *changes = &drift->changes;
    double *sorted = drift->residuals.sorted;
    struct pb_majority majority;

    memcpy(sorted, changes->values, changes->count * sizeof(*sorted));
    gsl_sort(sorted, 1, changes->count);
    pb_majority_fit(sorted, changes->count, quantum / sqrt(12.0), &majority);
    return majority.scale;
}

/* How far readings of the history lie apart: all of them count, since all were once healthy. */
static double scale_of_history(const double *values, size_t count, double quantum)
{
    return count < 2 ? 0.0 : fmax(gsl_stats_sd(values, 1, count), quantum / sqrt(12.0));
}

/* The readings of a device in the baseline that are of the same measurement; counts others. A MIG
 * instance of another profile, which may have had the same UUID, is another device. */
static size_t read_history(struct drift *drift, size_t device, const struct pb_repeat *repeat,
                           size_t metric, double *noise_out, size_t *unlike_out)
{
    const struct pb_feature_row *now = &drift->features->devices[device];
    size_t first, end, count = 0;

    *noise_out = 0.0;
    *unlike_out = 0;
    pb_uuids_range(&drift->uuids, now->info.uuid, &first, &end);
    for (size_t i = first; i < end; i++) {
        size_t row = drift->uuids.items[i].device;
        struct pb_reading cell = pb_features_reading(drift->baseline, row, metric);

        if (!isfinite(cell.value) ||
            strcmp(drift->baseline->devices[row].info.model, now->info.model) != 0)
            continue;
        if (!pb_repeat_compares(repeat, now, &drift->baseline->devices[row])) {
            ++*unlike_out;
            continue;
        }
        drift->readings[count++] = cell.value;
        *noise_out += cell.noise;
    }
    if (count > 0)
        *noise_out /= (double)count * sqrt((double)count);
    return count;
}

/* The median of the readings, and how far they lie from it; they join those of the group. */
static struct history sum_up(struct drift *drift, const struct pb_metric *metric, size_t count,
                             double noise)
{
    struct history history = {.noise = noise, .low = NAN, .high = NAN, .count = count};
    double spread = count > 1 ? sqrt((double)count / (double)(count - 1)) : 0.0;

    gsl_sort(drift->readings, 1, count);
    history.center = gsl_stats_median_from_sorted_data(drift->readings, 1, count);
    if (count >= PB_POPULATION_MIN) {
        history.scale = scale_of_history(drift->readings, count, metric->quantum);
        history.low = drift->readings[1];
        history.high = drift->readings[count - 2];
    }
    for (size_t i = 0; count > 1 && i < count; i++)
        drift->residuals.values[drift->residuals.count++] =
            spread * (drift->readings[i] - history.center);
    return history;
}

/* Changes of a group's devices in one metric; returns how many have a history of another kind only.
 */
static size_t collect(struct drift *drift, const struct pb_group *group, size_t metric,
                      size_t history_metric)
{
    const struct pb_metric *described = &drift->features->metrics[metric];
    struct pb_repeat repeat = pb_repeat_of(described);
    struct pb_column *changes = &drift->changes;
    size_t all_unlike = 0;

    changes->count = drift->residuals.count = 0;
    for (size_t i = 0; i < group->member_count; i++) {
        size_t device = group->members[i], count, unlike;
        struct pb_reading now = pb_features_reading(drift->features, device, metric);
        struct history history;
        double noise;

        if (!isfinite(now.value))
            continue;
        count = read_history(drift, device, &repeat, history_metric, &noise, &unlike);
        all_unlike += count == 0 && unlike > 0;
        if (count == 0)
            continue;
        history = sum_up(drift, described, count, noise);
        drift->runs[changes->count] = history;
        changes->values[changes->count] = now.value - history.center;
        changes->noise[changes->count] = hypot(now.noise, history.noise);
        changes->devices[changes->count++] = device;
    }
    return all_unlike;
}

/* How far the devices' changes lie apart: what all share is no part of it. */
static struct usual usual_of_changes(struct drift *drift, const struct pb_metric *metric)
{
    const struct pb_column *changes = &drift->changes;
    struct usual usual = {.count = changes->count,
                          .widens = changes->count >= CHANGES_THAT_WIDEN,
                          .narrows = changes->count >= PB_POPULATION_MIN};

    if (usual.narrows)
        usual.scale = scale_of_changes(drift, metric->quantum);
    return usual;
}

/* How far the earlier readings of all devices lie from their medians. */
static struct usual usual_of_history(struct drift *drift, const struct pb_metric *metric)
{
    const struct pb_column *residuals = &drift->residuals;
    struct usual usual = {0};
    size_t devices = 0;

    for (size_t i = 0; i < drift->changes.count; i++)
        devices += drift->runs[i].count > 1;
    if (residuals->count < 2)
        return usual;
    usual.count = residuals->count - devices + 1;
    usual.widens = true;
    usual.narrows = usual.count >= PB_POPULATION_MIN;
    usual.scale = scale_of_history(residuals->values, residuals->count, metric->quantum);
    return usual;
}

static double known_factor(double p, double tail)
{
    struct pb_null null;

    pb_null_set(&null, MANY, tail);
    return pb_null_sigmas(&null, p);
}

static struct factors factors_of(double p, double tail, const struct usual *changes,
                                 const struct usual *history)
{
    struct factors factors = {known_factor(p, tail), INFINITY, INFINITY};
    struct pb_null null;

    if (changes->narrows) {
        pb_null_set(&null, (double)changes->count, tail);
        factors.of_changes = pb_null_sigmas(&null, p);
    }
    if (history->narrows) {
        pb_null_set(&null, (double)history->count, tail);
        factors.of_history = pb_null_sigmas(&null, p);
    }
    return factors;
}

/* One metric of one group: what its devices are judged with. */
struct ruler {
    const struct pb_metric *metric;
    struct pb_repeat repeat;
    struct usual changes, history;
    struct factors warning;
    double critical_known; /* as warning.known */
    double least_scale;    /* rounding and a share of the practical size */
};

/* Where a device's own history, or enough others, show that numbers move further: no less than
 * that.
 */
static double least_bound(const struct ruler *ruler, const struct history *history, double known)
{
    double n = (double)history->count;
    double center_adds = sqrt(1.0 + (history->count > 1 ? M_PI_2 / n : 1.0));
    double least = 0.0;

    if (ruler->history.widens)
        least = known * center_adds * fmax(history->scale, ruler->history.scale);
    if (ruler->changes.widens)
        least = fmax(least, known * ruler->changes.scale);
    return least;
}

/* Where they prove that numbers repeat better: no more than that. The shape of a run's accesses
 * jumps with the pages that it is given, one run in many: no scale shows that. */
static double most_bound(const struct ruler *ruler, const struct history *history,
                         const struct factors *factors)
{
    double own = fmax(fmax(history->scale, ruler->history.scale), ruler->least_scale);
    double most = INFINITY;

    if (ruler->repeat.same_tests)
        return most;
    if (ruler->history.narrows)
        most = factors->of_history * M_SQRT2 * own;
    if (ruler->changes.narrows)
        most = fmin(most, factors->of_changes * fmax(ruler->changes.scale, ruler->least_scale));
    return most;
}

/* What the reading itself leaves open: chance in a count of slow accesses, the ends of intervals,
 * rounding. */
static double uncertainty(const struct ruler *ruler, double noise, double known, double steps)
{
    const struct pb_metric *metric = ruler->metric;
    double factor = metric->domain == PB_DOMAIN_FRACTION ? known : INTERVALS_APART;
    bool is_rounded = metric->domain == PB_DOMAIN_CYCLES || metric->domain == PB_DOMAIN_STATE;

    return fmax(factor * noise, is_rounded ? steps * metric->quantum : 0.0);
}

static double warning_bound(const struct ruler *ruler, const struct history *history, double noise,
                            bool upwards)
{
    double stated = pb_repeat_size(ruler->metric, ruler->repeat.warning, history->center, upwards);
    double bound = fmax(least_bound(ruler, history, ruler->warning.known),
                        fmin(stated, most_bound(ruler, history, &ruler->warning)));

    return fmax(bound, uncertainty(ruler, noise, ruler->warning.known, ROUNDED_WARNING));
}

/* However well a device has repeated, a weak drift is no reason to drain its node. */
static double critical_bound(const struct ruler *ruler, const struct history *history, double noise,
                             bool upwards)
{
    double stated = pb_repeat_size(ruler->metric, ruler->repeat.critical, history->center, upwards);
    double bound = fmax(least_bound(ruler, history, ruler->critical_known), stated);

    return fmax(bound, uncertainty(ruler, noise, ruler->critical_known, ROUNDED_CRITICAL));
}

/* Two speeds in turn make no scale; but where it has been twice before is where it may be. */
static bool has_been_there(const struct history *history, double value)
{
    return value >= history->low && value <= history->high;
}

/* Is a change one at all? Events are judged by their number, not by that. */
static bool is_drift(const struct ruler *ruler, const struct history *history, double change,
                     const struct pb_score *score)
{
    return ruler->metric->domain != PB_DOMAIN_COUNT &&
           fabs(score->drift_shift) >= ruler->metric->practical &&
           fabs(score->drift_times) >= 1.0 && !has_been_there(history, history->center + change);
}

static void judge_device(const struct drift *drift, const struct ruler *ruler, size_t at)
{
    const struct history *history = &drift->runs[at];
    size_t device = drift->changes.devices[at];
    size_t metric = (size_t)(ruler->metric - drift->features->metrics);
    struct pb_score *score = &drift->scores->cells[device * drift->scores->metric_count + metric];
    double change = drift->changes.values[at], noise = drift->changes.noise[at];
    double warning = warning_bound(ruler, history, noise, change > 0.0);
    double critical = fmax(warning, critical_bound(ruler, history, noise, change > 0.0));

    score->drift_shift = pb_metric_shift(ruler->metric, history->center + change, history->center);
    score->drift_times = pb_sigmas(change, warning);
    score->drift_sigmas = ruler->warning.known * score->drift_times;
    if (is_drift(ruler, history, change, score))
        score->drift_severity =
            fabs(change) < critical ? PB_SEVERITY_WARNING : PB_SEVERITY_CRITICAL;
}

static void score_metric(struct drift *drift, size_t group, size_t metric, size_t history_metric)
{
    struct pb_scores *scores = drift->scores;
    struct pb_norm *norm = &scores->norms[group * scores->metric_count + metric];
    struct ruler ruler = {.metric = &drift->features->metrics[metric]};
    double center;

    norm->drift_unlike = collect(drift, &scores->groups[group], metric, history_metric);
    norm->drift_pairs = drift->changes.count;
    if (norm->drift_pairs == 0)
        return;
    norm->drift_center = drift->runs[0].center;
    center = fabs(norm->drift_center);
    ruler.repeat = pb_repeat_of(ruler.metric);
    ruler.changes = usual_of_changes(drift, ruler.metric);
    ruler.history = usual_of_history(drift, ruler.metric);
    ruler.warning = factors_of(drift->warning_p, norm->tail, &ruler.changes, &ruler.history);
    ruler.critical_known = known_factor(drift->critical_p, norm->tail);
    ruler.least_scale = fmax(fmax(ruler.metric->quantum / sqrt(6.0), SMALLEST_RELATIVE * center),
                             PRACTICAL_SHARE * pb_metric_practical(ruler.metric, center));
    norm->drift_detectable =
        critical_bound(&ruler, &drift->runs[0], drift->changes.noise[0], false);
    for (size_t i = 0; i < drift->changes.count; i++)
        judge_device(drift, &ruler, i);
}

static enum pb_status reserve(struct drift *drift, struct pb_error *err)
{
    size_t most = drift->features->device_count + drift->baseline->device_count;
    enum pb_status status = pb_column_reserve(&drift->changes, most, err);

    if (status == PB_OK)
        status = pb_column_reserve(&drift->residuals, most, err);
    if (status == PB_OK)
        status = pb_uuids_make(drift->baseline, &drift->uuids, err);
    if (status != PB_OK)
        return status;
    drift->readings = malloc((most + 1) * sizeof(*drift->readings));
    drift->runs = malloc((most + 1) * sizeof(*drift->runs));
    if (drift->readings == NULL || drift->runs == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating the baseline's %zu devices",
                       drift->baseline->device_count);
    return PB_OK;
}

/* Bonferroni over all comparisons that there will be. */
static void set_rates(struct drift *drift, const struct pb_score_options *options)
{
    size_t devices = 0, metrics = 0;
    double count;

    for (size_t i = 0; i < drift->features->device_count; i++)
        devices += pb_uuids_have(&drift->uuids, drift->features->devices[i].info.uuid);
    for (size_t i = 0; i < drift->features->metric_count; i++)
        metrics += pb_baseline_metric(drift->baseline, &drift->features->metrics[i]) <
                   drift->baseline->metric_count;
    count = fmax(1.0, (double)devices * (double)metrics);
    drift->warning_p = options->warning_rate / count;
    drift->critical_p = options->critical_rate / count;
}

static void free_drift(struct drift *drift)
{
    free(drift->readings);
    free(drift->runs);
    pb_uuids_clear(&drift->uuids);
    pb_column_clear(&drift->residuals);
    pb_column_clear(&drift->changes);
}

enum pb_status pb_drift_score(const struct pb_features *features,
                              const struct pb_features *baseline,
                              const struct pb_score_options *options, struct pb_scores *scores,
                              struct pb_error *err)
{
    struct drift drift = {.features = features, .baseline = baseline, .scores = scores};
    enum pb_status status = reserve(&drift, err);

    if (status == PB_OK)
        set_rates(&drift, options);
    for (size_t metric = 0; status == PB_OK && metric < features->metric_count; metric++) {
        size_t history_metric = pb_baseline_metric(baseline, &features->metrics[metric]);

        for (size_t group = 0; group < scores->group_count; group++)
            if (history_metric < baseline->metric_count)
                score_metric(&drift, group, metric, history_metric);
    }
    free_drift(&drift);
    return status;
}
