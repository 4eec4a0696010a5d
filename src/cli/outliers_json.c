/* The verdict as JSON, schema 2: docs/outliers-json.md describes every key. See outliers.h. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/outliers.h"
#include "core/json.h"
#include "core/time.h"

/* A report is known again by how it begins: keys come in the order in which they are set. */
static const char opening[] = "{\n \"tool\": \"plumb-outliers\"";

const struct pb_atomic_file_kind pb_ruling_json_kind = {.name = "a report of plumb-outliers",
                                                        .opening = opening};

static void set_text(json_t *object, const char *key, const char *text)
{
    json_object_set_new(object, key, pb_json_of_text(text));
}

/* NULL where there is nothing to say. */
static void set_text_or_null(json_t *object, const char *key, const char *text)
{
    if (text == NULL || text[0] == '\0')
        json_object_set_new(object, key, json_null());
    else
        set_text(object, key, text);
}

static void set_number(json_t *object, const char *key, double value)
{
    json_object_set_new(object, key, isfinite(value) ? json_real(value) : json_null());
}

static void set_count(json_t *object, const char *key, uint64_t value)
{
    json_object_set_new(object, key, json_integer((json_int_t)value));
}

/* The devices of a finding, by what distinguishes them in an inventory. */
static json_t *describe_members(const struct pb_ruling *ruling, const struct pb_members *members)
{
    json_t *list = json_array();

    for (size_t i = 0; i < members->count; i++) {
        const struct pb_feature_row *device = &ruling->features.devices[members->devices[i]];
        json_t *member = json_object();

        set_text_or_null(member, "device", device->key);
        set_text_or_null(member, "host", device->host);
        json_object_set_new(member, "slot",
                            device->slot >= 0 ? json_integer(device->slot) : json_null());
        set_text_or_null(member, "uuid", device->info.uuid);
        json_array_append_new(list, member);
    }
    return list;
}

static json_t *describe_mute(const struct pb_finding *finding)
{
    json_t *object;

    if (finding->muted_until[0] == '\0')
        return json_null();
    object = json_object();
    set_text(object, "until", finding->muted_until);
    set_text_or_null(object, "reason", finding->mute_reason);
    return object;
}

static json_t *describe_finding(const struct pb_ruling *ruling, const struct pb_finding *finding)
{
    json_t *object = json_object();

    set_text(object, "severity", pb_severity_name(finding->severity));
    set_text(object, "level", pb_level_name(finding->level));
    set_text(object, "place", finding->place);
    set_text_or_null(object, "host", finding->host);
    set_text_or_null(object, "device", finding->device);
    set_text_or_null(object, "model", finding->model);
    json_object_set_new(object, "slot",
                        finding->level == PB_LEVEL_SLOT ? json_integer(finding->slot)
                                                        : json_null());
    set_text(object, "cause", finding->cause);
    set_text_or_null(object, "metric", finding->metric);
    set_text_or_null(object, "unit", finding->unit);
    set_number(object, "value", finding->value);
    set_number(object, "expected", finding->expected);
    set_number(object, "shift", finding->shift);
    set_number(object, "sigmas", finding->sigmas);
    set_number(object, "p", finding->p);
    set_count(object, "metrics", finding->metrics);
    set_count(object, "peers", finding->peers);
    json_object_set_new(object, "members", describe_members(ruling, &finding->members));
    json_object_set_new(object, "counterparts", describe_members(ruling, &finding->counterparts));
    set_text_or_null(object, "attribute", finding->attribute);
    set_text_or_null(object, "attribute_value", finding->attribute_value);
    json_object_set_new(object, "muted", describe_mute(finding));
    json_object_set_new(object, "drain", json_boolean(finding->drain));
    set_text(object, "summary", finding->summary);
    set_text(object, "evidence", finding->evidence);
    set_text_or_null(object, "evidence_path", finding->evidence_path);
    set_text(object, "advice", finding->advice);
    return object;
}

static json_t *describe_norm(const struct pb_metric *metric, const struct pb_norm *norm)
{
    json_t *object = json_object();

    set_text(object, "name", metric->name);
    set_text(object, "unit", metric->unit);
    set_text(object, "part", pb_part_name(metric->part));
    set_count(object, "peers", norm->peers);
    set_number(object, "center", norm->center);
    set_number(object, "scale", norm->scale);
    set_number(object, "critical_sigmas", norm->critical_sigmas);
    set_number(object, "warning_sigmas", norm->warning_sigmas);
    set_number(object, "detectable", norm->detectable);
    if (norm->split)
        json_object_set_new(object, "split",
                            json_pack("[f, f]", fmin(norm->center, norm->split_other),
                                      fmax(norm->center, norm->split_other)));
    return object;
}

static json_t *describe_group(const struct pb_ruling *ruling, size_t g)
{
    const struct pb_scores *scores = &ruling->scores;
    const struct pb_group *group = &scores->groups[g];
    json_t *object = json_object(), *devices = json_array(), *metrics = json_array();

    set_text(object, "name", group->name);
    for (size_t i = 0; i < group->member_count; i++)
        json_array_append_new(devices,
                              pb_json_of_text(ruling->features.devices[group->members[i]].key));
    json_object_set_new(object, "devices", devices);
    set_count(object, "baseline_devices", group->baseline_count);
    json_object_set_new(object, "sufficient", json_boolean(group->sufficient));
    for (size_t m = 0; m < scores->metric_count; m++) {
        const struct pb_norm *norm = &scores->norms[g * scores->metric_count + m];

        if (norm->peers > 0)
            json_array_append_new(metrics, describe_norm(&ruling->features.metrics[m], norm));
    }
    json_object_set_new(object, "metrics", metrics);
    return object;
}

static enum pb_status describe_drains(const struct pb_ruling *ruling, json_t *object,
                                      struct pb_error *err)
{
    struct pb_drain *drains;
    size_t count;
    json_t *nodes;
    enum pb_status status = pb_ruling_drains(ruling, &drains, &count, err);

    if (status != PB_OK)
        return status;
    nodes = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(nodes, pb_json_of_text(drains[i].host));
    json_object_set_new(object, "drain", nodes);
    free(drains);
    return PB_OK;
}

static json_t *describe_evenness(const struct pb_ruling *ruling)
{
    const struct pb_evenness *evenness = &ruling->evenness;
    json_t *object;

    if (!(evenness->value > 0.0)) /* also where it is NaN */
        return json_null();
    object = json_object();
    set_number(object, "value", evenness->value);
    set_text(object, "device", ruling->features.devices[evenness->device].key);
    set_text(object, "metric", ruling->features.metrics[evenness->metric].name);
    return object;
}

static json_t *describe_run(const struct pb_ruling *ruling)
{
    json_t *object = json_object(), *baselines = json_array();

    set_text(object, "file", ruling->file);
    set_text(object, "run_id", ruling->run.run_id);
    set_text(object, "created", ruling->run.created);
    json_object_set_new(object, "complete", json_boolean(ruling->run.complete != 0));
    json_object_set_new(object, "simulated", json_boolean(pb_ruling_simulated(ruling) > 0));
    set_text_or_null(object, "policy", ruling->policy.file);
    set_text_or_null(object, "baseline", ruling->runs.count > 0 ? ruling->runs.paths[0] : NULL);
    for (size_t i = 0; i < ruling->runs.count; i++)
        json_array_append_new(baselines, pb_json_of_text(ruling->runs.paths[i]));
    json_object_set_new(object, "baselines", baselines);
    return object;
}

enum pb_status pb_ruling_write_json(const struct pb_ruling *ruling, FILE *file,
                                    struct pb_error *err)
{
    json_t *root = json_object(), *groups = json_array(), *findings = json_array();
    char now[PB_UTC_LENGTH];
    enum pb_status status;

    pb_time_utc(now);
    set_text(root, "tool", "plumb-outliers");
    set_count(root, "schema", 2);
    set_text(root, "version", PLUMB_VERSION);
    set_text(root, "judged_at", now);
    json_object_set_new(root, "run", describe_run(ruling));
    set_text(root, "status", pb_severity_name(ruling->status));
    set_count(root, "exit_code", ruling->status);
    set_number(root, "false_alarm_rate", ruling->false_alarm_rate);
    json_object_set_new(root, "evenness", describe_evenness(ruling));
    set_count(root, "devices_judged", ruling->findings.judged);
    set_count(root, "devices_skipped", ruling->findings.skipped);
    status = describe_drains(ruling, root, err);
    for (size_t i = 0; i < ruling->findings.count; i++)
        json_array_append_new(findings, describe_finding(ruling, &ruling->findings.items[i]));
    json_object_set_new(root, "findings", findings);
    for (size_t i = 0; i < ruling->scores.group_count; i++)
        json_array_append_new(groups, describe_group(ruling, i));
    json_object_set_new(root, "groups", groups);
    if (status == PB_OK && (json_dumpf(root, file, JSON_INDENT(1) | JSON_REAL_PRECISION(10)) != 0 ||
                            fputc('\n', file) == EOF))
        status = pb_fail(err, PB_IO, "%s: its JSON cannot be written", ruling->file);
    json_decref(root);
    return status;
}
