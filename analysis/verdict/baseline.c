/* Earlier runs, by UUID; see baseline.h. */
#include "analysis/verdict/baseline.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/verdict/critical.h"
#include "analysis/verdict/population.h"

/* Where the scale of differences is not the group's own: as uncertain as one of so many values. */
enum { FEW_PAIRS_PEERS = 16 };

#define PRACTICAL_SHARE   0.1
#define SMALLEST_RELATIVE 1e-6

static int compare_uuids(const void *a, const void *b)
{
    const struct pb_uuid *left = a, *right = b;
    int order = strcmp(left->text, right->text);

    return order != 0 ? order : (left->subject > right->subject) - (left->subject < right->subject);
}

enum pb_status pb_uuids_make(const struct pb_sheet *sheet, struct pb_uuids *uuids_out,
                             struct pb_error *err)
{
    struct pb_uuids uuids = {malloc((sheet->subject_count + 1) * sizeof(*uuids.items)), 0};

    if (uuids.items == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for %zu UUIDs", sheet->subject_count);
    for (size_t i = 0; i < sheet->subject_count; i++)
        if (sheet->subjects[i].info.uuid[0] != '\0')
            uuids.items[uuids.count++] = (struct pb_uuid){sheet->subjects[i].info.uuid, i};
    qsort(uuids.items, uuids.count, sizeof(*uuids.items), compare_uuids);
    *uuids_out = uuids;
    return PB_OK;
}

void pb_uuids_clear(struct pb_uuids *uuids)
{
    if (uuids == NULL)
        return;
    free(uuids->items);
    *uuids = (struct pb_uuids){0};
}

/* Items before the first whose text is not less than uuid (not greater either, if `after`). */
static size_t bound(const struct pb_uuids *uuids, const char *uuid, bool after)
{
    size_t low = 0, high = uuids->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(uuids->items[middle].text, uuid);

        if (order < 0 || (after && order == 0))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void pb_uuids_range(const struct pb_uuids *uuids, const char *uuid, size_t *first_out,
                    size_t *end_out)
{
    *first_out = bound(uuids, uuid, false);
    *end_out = uuid[0] != '\0' ? bound(uuids, uuid, true) : *first_out;
}

bool pb_uuids_have(const struct pb_uuids *uuids, const char *uuid)
{
    return pb_uuids_first(uuids, uuid, SIZE_MAX) != SIZE_MAX;
}

size_t pb_uuids_first(const struct pb_uuids *uuids, const char *uuid, size_t otherwise)
{
    size_t first, end;

    pb_uuids_range(uuids, uuid, &first, &end);
    return first < end ? uuids->items[first].subject : otherwise;
}

size_t pb_uuids_last(const struct pb_uuids *uuids, const char *uuid, size_t otherwise)
{
    size_t first, end;

    pb_uuids_range(uuids, uuid, &first, &end);
    return first < end ? uuids->items[end - 1].subject : otherwise;
}

size_t pb_baseline_metric(const struct pb_sheet *baseline, const struct pb_metric *metric)
{
    size_t at = pb_sheet_find(baseline, metric->name);

    if (at < baseline->metric_count && (strcmp(baseline->metrics[at].unit, metric->unit) != 0 ||
                                        baseline->metrics[at].domain != metric->domain))
        return baseline->metric_count;
    return at;
}

/* What the drift of one metric after the other is found with. */
struct drift {
    const struct pb_sheet *sheet, *baseline;
    struct pb_scores *scores;
    struct pb_uuids past;
    struct pb_robust robust;
    struct pb_column column; /* values: differences; noise: of both readings */
    double *readings;        /* of one device */
};

/* The median of a device's readings in the baseline, and the mean of their noise. */
static struct pb_cell past_reading(struct drift *drift, const char *uuid, size_t metric)
{
    struct pb_cell past = {NAN, 0.0, -1};
    size_t first, end, count = 0;

    pb_uuids_range(&drift->past, uuid, &first, &end);
    for (size_t i = first; i < end; i++) {
        struct pb_cell cell = pb_sheet_cell(drift->baseline, drift->past.items[i].subject, metric);

        if (!isfinite(cell.value))
            continue;
        drift->readings[count++] = cell.value;
        past.noise += cell.noise;
    }
    if (count == 0)
        return past;
    gsl_sort(drift->readings, 1, count);
    past.value = pb_robust_center(drift->readings, count);
    past.noise /= (double)count;
    return past;
}

static void collect_differences(struct drift *drift, const struct pb_group *group, size_t metric,
                                size_t past_metric)
{
    struct pb_column *column = &drift->column;

    column->count = 0;
    for (size_t i = 0; i < group->member_count; i++) {
        size_t subject = group->members[i];
        struct pb_cell now = pb_sheet_cell(drift->sheet, subject, metric), past;

        if (!isfinite(now.value))
            continue;
        past = past_reading(drift, drift->sheet->subjects[subject].info.uuid, past_metric);
        if (!isfinite(past.value))
            continue;
        column->values[column->count] = now.value - past.value;
        column->noise[column->count] = hypot(now.noise, past.noise);
        column->subjects[column->count++] = subject;
    }
}

/* The usual change from run to run, in the metric's unit. */
static double usual_change(struct drift *drift, const struct pb_metric *metric, double center)
{
    struct pb_column *column = &drift->column;
    double scale = 0.0, practical = pb_metric_practical(metric, center);

    if (column->count >= PB_POPULATION_MIN) {
        memcpy(column->sorted, column->values, column->count * sizeof(*column->sorted));
        gsl_sort(column->sorted, 1, column->count);
        scale = pb_robust_scale(&drift->robust, column->sorted, column->count, metric->quantum);
    }
    scale = fmax(scale, metric->quantum / sqrt(6.0)); /* two roundings */
    return fmax(scale, fmax(PRACTICAL_SHARE * practical, SMALLEST_RELATIVE * fabs(center)));
}

/* Scores one metric of one group; returns how many devices have a past. */
static size_t score_metric(struct drift *drift, size_t group, size_t metric, size_t past_metric)
{
    struct pb_scores *scores = drift->scores;
    struct pb_norm *norm = &scores->norms[group * scores->metric_count + metric];
    struct pb_column *column = &drift->column;
    double center, scale;

    collect_differences(drift, &scores->groups[group], metric, past_metric);
    norm->drift_pairs = column->count;
    if (column->count == 0)
        return 0;
    center = norm->center; /* a device without peers is measured against what it is now */
    if (!isfinite(center))
        center = pb_sheet_cell(drift->sheet, column->subjects[0], metric).value;
    scale = usual_change(drift, &drift->sheet->metrics[metric], center);
    for (size_t i = 0; i < column->count; i++) {
        struct pb_score *score =
            &scores->cells[column->subjects[i] * scores->metric_count + metric];
        double now = pb_sheet_cell(drift->sheet, column->subjects[i], metric).value;
        double past = now - column->values[i];

        score->drift_sigmas = pb_sigmas(column->values[i], fmax(scale, column->noise[i]));
        score->drift_shift = pb_metric_shift(&drift->sheet->metrics[metric], now, past);
    }
    return column->count;
}

static enum pb_status reserve(struct drift *drift, struct pb_error *err)
{
    enum pb_status status = pb_column_reserve(&drift->column, drift->sheet->subject_count, err);

    if (status == PB_OK)
        status = pb_robust_reserve(&drift->robust, drift->sheet->subject_count, err);
    if (status == PB_OK)
        status = pb_uuids_make(drift->baseline, &drift->past, err);
    if (status != PB_OK)
        return status;
    drift->readings = malloc((drift->baseline->subject_count + 1) * sizeof(*drift->readings));
    if (drift->readings == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for the baseline's %zu devices",
                       drift->baseline->subject_count);
    return PB_OK;
}

/* Thresholds after Bonferroni over all `count` comparisons. */
static void set_thresholds(struct pb_scores *scores, const struct pb_score_options *options,
                           size_t count)
{
    for (size_t i = 0; count > 0 && i < scores->group_count * scores->metric_count; i++) {
        struct pb_norm *norm = &scores->norms[i];
        double peers =
            norm->drift_pairs >= PB_POPULATION_MIN ? (double)norm->drift_pairs : FEW_PAIRS_PEERS;
        struct pb_null null;

        if (norm->drift_pairs == 0)
            continue;
        pb_null_set(&null, peers, norm->tail);
        norm->drift_critical_sigmas = pb_null_sigmas(&null, options->critical_rate / (double)count);
        norm->drift_warning_sigmas = pb_null_sigmas(&null, options->warning_rate / (double)count);
    }
}

enum pb_status pb_drift_score(const struct pb_sheet *sheet, const struct pb_sheet *baseline,
                              const struct pb_score_options *options, struct pb_scores *scores,
                              struct pb_error *err)
{
    struct drift drift = {.sheet = sheet, .baseline = baseline, .scores = scores};
    enum pb_status status = reserve(&drift, err);
    size_t count = 0;

    for (size_t metric = 0; status == PB_OK && metric < sheet->metric_count; metric++) {
        size_t past_metric = pb_baseline_metric(baseline, &sheet->metrics[metric]);

        for (size_t group = 0; group < scores->group_count; group++)
            if (past_metric < baseline->metric_count)
                count += score_metric(&drift, group, metric, past_metric);
    }
    if (status == PB_OK)
        set_thresholds(scores, options, count);
    free(drift.readings);
    pb_uuids_clear(&drift.past);
    pb_robust_clear(&drift.robust);
    pb_column_clear(&drift.column);
    return status;
}
