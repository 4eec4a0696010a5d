/* Sigmas and p of every device of a group; see scoring.h. */
#include "analysis/verdict/scoring.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <stdint.h>

#include "analysis/verdict/critical.h"
#include "analysis/verdict/evidence.h"
#include "analysis/verdict/partition.h"

enum { DOMAINS = PB_DOMAIN_STATE + 1, ALL_DOMAINS = (1 << DOMAINS) - 1 };

/* Metrics of a domain without which all domains of the group speak for it. */
enum { EVIDENCE_LEAST = 4 };

static struct pb_score *score_at(const struct pb_scoring *scoring, size_t device, size_t metric)
{
    return &scoring->scores->cells[device * scoring->scores->metric_count + metric];
}

static size_t norm_index(const struct pb_scoring *scoring, size_t group, size_t metric)
{
    return group * scoring->scores->metric_count + metric;
}

/* Does an event show these parts to be wrong in what the metric measures? */
static bool is_wrong(const struct pb_scoring *scoring, uint32_t event_parts, size_t metric)
{
    return (event_parts >> scoring->features->metrics[metric].part & 1) != 0;
}

static void add_value(struct pb_column *column, struct pb_reading cell)
{
    if (!isfinite(cell.value))
        return;
    column->values[column->count] = cell.value;
    column->noise[column->count++] = cell.noise;
}

/* The finite values of devices that are wrong, or of those that are not. */
static void gather_those(struct pb_scoring *scoring, const struct pb_group *group, size_t metric,
                         bool wrong)
{
    struct pb_column *column = &scoring->column;
    struct pb_repeat repeat = pb_repeat_of(&scoring->features->metrics[metric]);

    for (size_t i = 0; i < group->member_count; i++)
        if (is_wrong(scoring, scoring->event_parts[group->members[i]], metric) == wrong)
            add_value(column, pb_features_reading(scoring->features, group->members[i], metric));
    if (scoring->history_metric[metric] == SIZE_MAX)
        return;
    for (size_t i = 0; i < group->baseline_count; i++)
        if (is_wrong(scoring, scoring->history_event_parts[group->baseline[i]], metric) == wrong &&
            pb_repeat_compares(&repeat, &scoring->features->devices[group->members[0]],
                               &scoring->baseline->devices[group->baseline[i]]))
            add_value(column, pb_features_reading(scoring->baseline, group->baseline[i],
                                                  scoring->history_metric[metric]));
}

/*
 * The values of one metric in one group that show what is usual: the group's own, and those of the
 * baseline that are the same measurement. Wrong ones count as long as they are too few to move the
 * majority.
 */
static enum pb_peers gather(struct pb_scoring *scoring, const struct pb_group *members,
                            size_t metric)
{
    struct pb_column *column = &scoring->column;
    size_t right;

    column->count = 0;
    gather_those(scoring, members, metric, false);
    right = column->count;
    gather_those(scoring, members, metric, true);
    if ((double)(column->count - right) < PB_EVEN_SHARE * (double)column->count)
        return PB_PEERS_ALL;
    if (right >= PB_POPULATION_MIN) {
        column->count = right;
        return PB_PEERS_RIGHT;
    }
    if (column->count - right < PB_POPULATION_MIN)
        return PB_PEERS_ALL;
    column->count = 0;
    gather_those(scoring, members, metric, true);
    return PB_PEERS_WRONG;
}

/* The value of a device in one metric; NaN where it has no peers. */
static struct pb_reading reading_at(const struct pb_scoring *scoring, size_t group, size_t device,
                                    size_t metric)
{
    const struct pb_fit *fit = &scoring->fits[norm_index(scoring, group, metric)];
    struct pb_reading reading = pb_features_reading(scoring->features, device, metric);

    if (fit->peers == PB_PEERS_WRONG && !fit->is_event &&
        !is_wrong(scoring, scoring->event_parts[device], metric))
        reading.value = NAN;
    return reading;
}

/*
 * The noise that a value would have if the device were one of the majority. A share of accesses is
 * a count of n, whose noise the observation states as that of four accesses more: as the share
 * grows, so does its noise, which must not excuse the device that has the larger share. Few peers
 * do not show how much more than counts healthy devices scatter: there its own noise remains.
 */
static double null_noise(const struct pb_metric *metric, const struct pb_fit *fit,
                         struct pb_reading cell, double center)
{
    double square = cell.noise * cell.noise, n;

    if (!pb_metric_is_tail(metric) || fit->count < PB_GROUP_MIN_PEERS || cell.noise <= 0.0 ||
        cell.value <= center)
        return cell.noise;
    n = (cell.value + sqrt(cell.value * cell.value + 16.0 * square)) / (2.0 * square);
    return sqrt(fmax(center, 0.0) * n + 4.0) / n;
}

/* Sigmas and shift of one value, and in *distance_out the sigmas less what rounding may have done.
 */
static void standardize(const struct pb_metric *metric, const struct pb_fit *fit,
                        struct pb_reading cell, struct pb_score *score, double *distance_out)
{
    const struct pb_majority *part = pb_fit_part(fit, cell.value);
    double expected = fit->is_event ? 0.0 : pb_majority_expected(part, cell.value);
    double distance = fabs(cell.value - expected);

    *distance_out = score->sigmas = score->shift = NAN;
    if (!isfinite(expected))
        return;
    score->shift = pb_metric_shift(metric, cell.value, expected);
    score->sigmas = fit->is_event ? pb_sigmas(cell.value, 1.0)
                                  : pb_majority_sigmas(part, cell.value,
                                                       null_noise(metric, fit, cell, part->center));
    *distance_out = distance > metric->quantum / 2.0
                        ? fabs(score->sigmas) * (1.0 - metric->quantum / 2.0 / distance)
                        : 0.0;
}

/* Norms, sigmas and shifts by the fit of the column that is gathered. */
static void use_fit(struct pb_scoring *scoring, size_t group, size_t metric)
{
    const struct pb_metric *described = &scoring->features->metrics[metric];
    const struct pb_group *members = &scoring->scores->groups[group];
    const struct pb_fit *fit = &scoring->fits[norm_index(scoring, group, metric)];
    struct pb_norm *norm = &scoring->scores->norms[norm_index(scoring, group, metric)];
    double distance;

    *norm = (struct pb_norm){.peers = scoring->column.count,
                             .majority = fit->majority.count,
                             .center = fit->majority.center,
                             .scale = fit->majority.scale,
                             .measured = fit->measured,
                             .peers_wrong = fit->peers == PB_PEERS_WRONG,
                             .split = fit->split,
                             .split_boundary = fit->split ? fit->boundary : NAN,
                             .split_other = fit->split ? fit->other.center : NAN,
                             .critical_sigmas = NAN,
                             .warning_sigmas = NAN,
                             .detectable = NAN,
                             .drift_center = NAN,
                             .drift_detectable = NAN};
    for (size_t i = 0; i < members->member_count; i++) {
        struct pb_reading cell = reading_at(scoring, group, members->members[i], metric);

        if (isfinite(cell.value))
            standardize(described, fit, cell, score_at(scoring, members->members[i], metric),
                        &distance);
    }
}

static void fit_metric(struct pb_scoring *scoring, size_t group, size_t metric)
{
    struct pb_fit *fit = &scoring->fits[norm_index(scoring, group, metric)];
    enum pb_peers peers = gather(scoring, &scoring->scores->groups[group], metric);

    pb_fit_column(&scoring->features->metrics[metric], &scoring->column, fit);
    fit->peers = peers;
    use_fit(scoring, group, metric);
}

/* The null distributions of a metric's populations. */
struct nulls {
    struct pb_null majority, other;
};

static void set_null(const struct pb_norm *norm, const struct pb_majority *part,
                     struct pb_null *null_out)
{
    pb_null_set(null_out, norm->independent_peers * (double)part->count / (double)norm->peers,
                norm->tail);
}

static void set_nulls(const struct pb_norm *norm, const struct pb_fit *fit, struct nulls *nulls_out)
{
    set_null(norm, &fit->majority, &nulls_out->majority);
    if (fit->split)
        set_null(norm, &fit->other, &nulls_out->other);
}

/* p of one value. */
static double probability(const struct pb_metric *metric, const struct pb_fit *fit,
                          const struct nulls *nulls, struct pb_reading cell)
{
    const struct pb_majority *part = pb_fit_part(fit, cell.value);
    const struct pb_null *null = part == &fit->other ? &nulls->other : &nulls->majority;
    struct pb_score score;
    double distance;

    if (fit->is_event)
        return cell.value > metric->practical ? 0.0 : 1.0;
    if (metric->domain == PB_DOMAIN_COUNT && cell.value < part->center)
        return 1.0;
    standardize(metric, fit, cell, &score, &distance);
    return pb_null_p(null, distance);
}

static void judge_metric(struct pb_scoring *scoring, size_t group, size_t metric,
                         const struct pb_evidence *evidence)
{
    const struct pb_metric *described = &scoring->features->metrics[metric];
    const struct pb_group *members = &scoring->scores->groups[group];
    const struct pb_fit *fit = &scoring->fits[norm_index(scoring, group, metric)];
    struct pb_norm *norm = &scoring->scores->norms[norm_index(scoring, group, metric)];
    struct nulls nulls;

    norm->tail = evidence->tail;
    norm->independent_peers = evidence->peer_share * (double)norm->peers;
    if (norm->peers == 0)
        return;
    set_nulls(norm, fit, &nulls);
    if (norm->peers >= PB_POPULATION_MIN) {
        norm->critical_sigmas = pb_null_sigmas(&nulls.majority, scoring->options->critical_rate);
        norm->warning_sigmas = pb_null_sigmas(&nulls.majority, scoring->options->warning_rate);
    }
    for (size_t i = 0; i < members->member_count; i++) {
        struct pb_reading cell = reading_at(scoring, group, members->members[i], metric);

        if (isfinite(cell.value))
            score_at(scoring, members->members[i], metric)->p =
                probability(described, fit, &nulls, cell);
    }
}

/* The p of all devices of a group, its metrics being fitted. */
static enum pb_status judge_group(struct pb_scoring *scoring, size_t group, struct pb_error *err)
{
    const struct pb_features *features = scoring->features;
    const struct pb_fit *fits = &scoring->fits[norm_index(scoring, group, 0)];
    struct pb_evidence overall;
    enum pb_status status =
        pb_evidence_read(features, scoring->scores, group, fits, ALL_DOMAINS, &overall, err);

    for (int domain = 0; domain < DOMAINS && status == PB_OK; domain++) {
        struct pb_evidence evidence;

        status =
            pb_evidence_read(features, scoring->scores, group, fits, 1u << domain, &evidence, err);
        if (evidence.metrics < EVIDENCE_LEAST)
            evidence = overall;
        evidence.tail = fmax(evidence.tail, overall.tail);
        for (size_t metric = 0; metric < features->metric_count && status == PB_OK; metric++)
            if (features->metrics[metric].domain == (enum pb_domain)domain)
                judge_metric(scoring, group, metric, &evidence);
    }
    return status;
}

enum pb_status pb_scoring_group(struct pb_scoring *scoring, size_t group, struct pb_error *err)
{
    const struct pb_group *members = &scoring->scores->groups[group];
    enum pb_status status =
        pb_column_reserve(&scoring->column, members->member_count + members->baseline_count, err);

    if (status != PB_OK)
        return status;
    for (size_t metric = 0; metric < scoring->features->metric_count; metric++)
        fit_metric(scoring, group, metric);
    return judge_group(scoring, group, err);
}

/* ---- division ---- */

/* May this metric still be divided? Events need no peers. */
static bool is_whole(const struct pb_scoring *scoring, size_t group, size_t metric)
{
    const struct pb_fit *fit = &scoring->fits[norm_index(scoring, group, metric)];

    return !fit->split && fit->count >= PB_SPLIT_MIN && isfinite(fit->majority.center) &&
           scoring->features->metrics[metric].domain != PB_DOMAIN_COUNT;
}

static bool is_peer(const struct pb_scoring *scoring, size_t group, size_t device, size_t metric)
{
    enum pb_peers peers = scoring->fits[norm_index(scoring, group, metric)].peers;

    return peers == PB_PEERS_ALL ||
           is_wrong(scoring, scoring->event_parts[device], metric) == (peers == PB_PEERS_WRONG);
}

/* The middle one of the peers that deviate to one side; NaN: none do. */
static double deviating_center(struct pb_scoring *scoring, size_t group, size_t metric, bool high)
{
    const struct pb_group *members = &scoring->scores->groups[group];
    double center = scoring->fits[norm_index(scoring, group, metric)].majority.center;
    double *values = scoring->column.sorted;
    size_t count = 0;

    for (size_t i = 0; i < members->member_count; i++) {
        double value = pb_features_reading(scoring->features, members->members[i], metric).value;

        if (is_peer(scoring, group, members->members[i], metric) &&
            score_at(scoring, members->members[i], metric)->severity != PB_SEVERITY_OK &&
            (value > center) == high)
            values[count++] = value;
    }
    if (count == 0)
        return NAN;
    gsl_sort(values, 1, count);
    return gsl_stats_median_from_sorted_data(values, 1, count);
}

/* Of the values gathered: how many lie beyond the boundary. */
static size_t count_beyond(const struct pb_column *column, double boundary, bool high)
{
    size_t count = 0;

    for (size_t i = 0; i < column->count; i++)
        count += high ? column->values[i] > boundary : column->values[i] <= boundary;
    return count;
}

/* Are there values enough on both sides? */
static bool are_parts(const struct pb_column *column, double boundary)
{
    size_t high = count_beyond(column, boundary, true);

    return high >= PB_POPULATION_MIN && column->count - high >= PB_POPULATION_MIN;
}

/* Are the deviating devices, and what lies nearer to them than to the majority, so many that they
   may be the healthy ones? */
static bool is_part(struct pb_scoring *scoring, size_t group, size_t metric, bool high,
                    double *boundary_out)
{
    const struct pb_fit *fit = &scoring->fits[norm_index(scoring, group, metric)];
    enum pb_better better = scoring->features->metrics[metric].better;
    bool is_better = better == (high ? PB_BETTER_HIGHER : PB_BETTER_LOWER);
    size_t beyond;

    *boundary_out = (fit->majority.center + deviating_center(scoring, group, metric, high)) / 2.0;
    if (isnan(*boundary_out))
        return false;
    beyond = count_beyond(&scoring->column, *boundary_out, high);
    return are_parts(&scoring->column, *boundary_out) &&
           (double)beyond >=
               (is_better ? PB_BETTER_SHARE : PB_EVEN_SHARE) * (double)scoring->column.count;
}

static void divide_at(struct pb_scoring *scoring, size_t group, size_t metric, double boundary)
{
    pb_fit_divide(&scoring->features->metrics[metric], &scoring->column, boundary,
                  &scoring->fits[norm_index(scoring, group, metric)]);
    use_fit(scoring, group, metric);
}

static bool divide_by_deviations(struct pb_scoring *scoring, size_t group)
{
    bool is_divided = false;

    for (size_t m = 0; m < scoring->features->metric_count; m++) {
        double boundary;

        if (!is_whole(scoring, group, m))
            continue;
        gather(scoring, &scoring->scores->groups[group], m);
        if (!is_part(scoring, group, m, true, &boundary) &&
            !is_part(scoring, group, m, false, &boundary))
            continue;
        divide_at(scoring, group, m, boundary);
        is_divided = true;
    }
    return is_divided;
}

static bool divide_by_partition(struct pb_scoring *scoring, size_t group,
                                const struct pb_partition *partition)
{
    const struct pb_group *members = &scoring->scores->groups[group];
    bool is_divided = false;

    if (!pb_partition_is_undecided(partition, members->member_count))
        return false;
    for (size_t m = 0; m < scoring->features->metric_count; m++) {
        double boundary;

        if (!is_whole(scoring, group, m) ||
            !pb_partition_is_in(scoring->features, members, partition, m, scoring->column.sorted,
                                &boundary))
            continue;
        gather(scoring, members, m);
        if (!are_parts(&scoring->column, boundary))
            continue;
        divide_at(scoring, group, m, boundary);
        is_divided = true;
    }
    return is_divided;
}

enum pb_status pb_scoring_divide(struct pb_scoring *scoring, size_t group, bool *divided_out,
                                 struct pb_error *err)
{
    struct pb_partitions partitions;
    bool is_divided = divide_by_deviations(scoring, group);
    enum pb_status status =
        pb_partitions_read(scoring->features, scoring->scores, group, &partitions, err);

    for (size_t i = 0; i < partitions.count && status == PB_OK; i++)
        is_divided |= divide_by_partition(scoring, group, &partitions.items[i]);
    pb_partitions_clear(&partitions);
    if (status == PB_OK && is_divided)
        status = judge_group(scoring, group, err);
    *divided_out = is_divided;
    return status;
}
