/*
 * Floors for other health checks: per model, the limits that a healthy device passes, with the rate
 * at which one does not; see outliers.h.
 */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/verdict/critical.h"
#include "analysis/verdict/population.h"
#include "cli/outliers.h"
#include "core/json.h"

/* That one number of a healthy device lies beyond its limit, to either side. */
static const double rate_per_number = 0.001;

static const char opening[] = "{\n \"tool\": \"plumb-floors\"";

const struct pb_atomic_file_kind pb_ruling_floors_kind = {.name = "floors of plumb-outliers",
                                                          .opening = opening};

static bool has_floor(const struct pb_metric *metric)
{
    return metric->better != PB_BETTER_NEITHER &&
           (metric->domain == PB_DOMAIN_CYCLES || metric->domain == PB_DOMAIN_NS ||
            metric->domain == PB_DOMAIN_RATE);
}

static json_t *describe_limit(const struct pb_metric *metric, double center, double range)
{
    bool is_floor = metric->better == PB_BETTER_HIGHER;

    return json_pack("{s:s, s:s, s:s, s:f, s:f}", "metric", metric->name, "unit", metric->unit,
                     "limit_is", is_floor ? "at_least" : "at_most", "limit",
                     is_floor ? center - range : center + range, "center", center);
}

/* From the peers of this run and its baseline: no less than the practical size. */
static json_t *limits_of_peers(const struct pb_ruling *ruling, size_t group)
{
    const struct pb_scores *scores = &ruling->scores;
    json_t *limits = json_array();

    for (size_t m = 0; m < scores->metric_count; m++) {
        const struct pb_metric *metric = &ruling->features.metrics[m];
        const struct pb_norm *norm = &scores->norms[group * scores->metric_count + m];
        struct pb_null null;
        double range;

        if (!has_floor(metric) || norm->peers < PB_GROUP_MIN_PEERS || !isfinite(norm->center))
            continue;
        pb_null_set(&null, norm->independent_peers, norm->tail);
        range = fmax(pb_null_sigmas(&null, rate_per_number) * norm->scale + metric->quantum / 2.0,
                     pb_metric_practical(metric, norm->center));
        json_array_append_new(limits, describe_limit(metric, norm->center, range));
    }
    return limits;
}

static json_t *limits_of_reference(const struct pb_ruling *ruling,
                                   const struct pb_reference *reference)
{
    json_t *limits = json_array();

    for (size_t m = 0; m < ruling->features.metric_count; m++) {
        const struct pb_metric *metric = &ruling->features.metrics[m];
        const struct pb_reference_number *number = pb_reference_number_of(reference, metric);

        if (number != NULL && has_floor(metric))
            json_array_append_new(
                limits, describe_limit(metric, number->center,
                                       pb_reference_range(number, metric, rate_per_number)));
    }
    return limits;
}

/* Of a group with enough peers its own; else those of recorded devices; else none, and why. */
static json_t *describe_group(const struct pb_ruling *ruling, size_t g)
{
    const struct pb_group *group = &ruling->scores.groups[g];
    const char *model = ruling->features.devices[group->members[0]].info.model;
    bool is_simulated =
        pb_backend_is_simulated(ruling->features.devices[group->members[0]].info.backend);
    const struct pb_reference *reference =
        is_simulated ? NULL : pb_reference_find(&ruling->references, model);
    json_t *object = json_object(), *limits;
    const char *source = group->sufficient ? "peers" : reference != NULL ? "reference" : NULL;
    size_t devices = group->sufficient   ? group->member_count + group->baseline_count
                     : reference != NULL ? reference->devices
                                         : 0;

    json_object_set_new(object, "group", pb_json_of_text(group->name));
    json_object_set_new(object, "model", pb_json_of_text(model));
    json_object_set_new(object, "simulated", json_boolean(is_simulated));
    json_object_set_new(object, "source", source == NULL ? json_null() : json_string(source));
    json_object_set_new(object, "devices", json_integer((json_int_t)devices));
    limits = group->sufficient   ? limits_of_peers(ruling, g)
             : reference != NULL ? limits_of_reference(ruling, reference)
                                 : json_array();
    json_object_set_new(
        object, "false_alarm_rate_per_device",
        json_real(1.0 - pow(1.0 - rate_per_number, (double)json_array_size(limits))));
    if (source == NULL)
        json_object_set_new(
            object, "reason",
            json_string("fewer than 16 peers, and no reference of this model: no floor is sure"));
    json_object_set_new(object, "limits", limits);
    return object;
}

enum pb_status pb_ruling_write_floors(const struct pb_ruling *ruling, FILE *file,
                                      struct pb_error *err)
{
    json_t *root = json_object(), *groups = json_array();
    enum pb_status status = PB_OK;

    json_object_set_new(root, "tool", json_string("plumb-floors"));
    json_object_set_new(root, "schema", json_integer(1));
    json_object_set_new(root, "run_id", pb_json_of_text(ruling->run.run_id));
    json_object_set_new(root, "false_alarm_rate_per_number", json_real(rate_per_number));
    for (size_t g = 0; g < ruling->scores.group_count; g++)
        if (ruling->scores.groups[g].member_count > 0)
            json_array_append_new(groups, describe_group(ruling, g));
    json_object_set_new(root, "groups", groups);
    if (json_dumpf(root, file, JSON_INDENT(1) | JSON_REAL_PRECISION(8)) != 0 ||
        fputc('\n', file) == EOF)
        status = pb_fail(err, PB_IO, "%s: its floors cannot be written", ruling->file);
    json_decref(root);
    return status;
}
