/* The site's policy as JSON; see outliers.h. docs/policy.json holds the default in this format. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/outliers.h"
#include "core/json_reader.h"

enum { RULES_MAX = 4096, DATE_LENGTH = 10 };

/* A rule of a cause or of a metric; every key is optional. */
static void read_rule(struct pb_json_reader *reader, const struct pb_json *rule,
                      struct pb_policy_rule *into)
{
    static const char *const words[] = {"OK", "WARNING", "UNKNOWN", "CRITICAL", NULL};
    static const enum pb_severity severities[] = {PB_SEVERITY_OK, PB_SEVERITY_WARNING,
                                                  PB_SEVERITY_UNKNOWN, PB_SEVERITY_CRITICAL};
    struct pb_json drain = pb_json_read_optional(reader, rule, "drain");

    if (pb_json_read_optional(reader, rule, "severity").value != NULL)
        into->severity = (int)severities[pb_json_read_word(reader, rule, "severity", words)];
    if (drain.value != NULL && !json_is_boolean(drain.value))
        pb_json_read_refuse(reader, &drain, "true or false");
    if (drain.value != NULL)
        into->drain = json_is_true(drain.value) ? 1 : 0;
    pb_json_read_number_or(reader, rule, "critical_from", 0.0, 1e12, &into->critical_from);
    pb_json_read_number_or(reader, rule, "practical", 0.0, 1e12, &into->practical);
}

/* An object whose keys are patterns of causes or of metrics. */
static void read_rules(struct pb_json_reader *reader, const struct pb_json *root,
                       const char *section, const char *const *known,
                       struct pb_policy_rule **rules_out, size_t *count_out)
{
    struct pb_json object = pb_json_read_optional(reader, root, section);
    const char *pattern;
    json_t *value;

    if (object.value == NULL)
        return;
    if (!json_is_object(object.value)) {
        pb_json_read_refuse(reader, &object, "an object");
        return;
    }
    *rules_out = calloc(json_object_size(object.value) + 1, sizeof(**rules_out));
    if (*rules_out == NULL) {
        reader->status = pb_fail(reader->err, PB_NO_MEMORY, "out of memory for %zu rules",
                                 json_object_size(object.value));
        return;
    }
    json_object_foreach(object.value, pattern, value)
    {
        struct pb_policy_rule *into = &(*rules_out)[(*count_out)++];
        struct pb_json rule = pb_json_read_member(reader, &object, pattern);

        *into = PB_POLICY_RULE_OPEN;
        if (strlen(pattern) >= sizeof(into->pattern))
            pb_json_read_refuse(reader, &rule, "a name of fewer than %zu bytes",
                                sizeof(into->pattern));
        PB_TEXT_SET(into->pattern, pattern);
        pb_json_read_only(reader, &rule, known);
        read_rule(reader, &rule, into);
    }
}

/* ---- muted findings ---- */

static void check_date(struct pb_json_reader *reader, const struct pb_json *object,
                       const char *date)
{
    struct pb_json at = pb_json_read_member(reader, object, "until");
    struct tm parsed = {0};
    const char *end = strptime(date, "%Y-%m-%d", &parsed);

    if (end == NULL || *end != '\0' || strlen(date) != DATE_LENGTH)
        pb_json_read_refuse(reader, &at, "a date like 2027-01-31");
}

#define READ_OPTIONAL(key)                                                                         \
    if (pb_json_read_optional(reader, &at, #key).value != NULL)                                    \
    pb_json_read_text(reader, &at, #key, mute->key, sizeof(mute->key))

/* A mute that names nothing would silence the whole fleet. */
static void read_mute(struct pb_json_reader *reader, const struct pb_json *list, size_t i,
                      struct pb_policy_mute *mute)
{
    static const char *const known[] = {"cause", "metric", "host", "device",
                                        "until", "reason", NULL};
    struct pb_json at = pb_json_read_element(reader, list, i);

    pb_json_read_only(reader, &at, known);
    READ_OPTIONAL(cause);
    READ_OPTIONAL(metric);
    READ_OPTIONAL(host);
    READ_OPTIONAL(device);
    pb_json_read_text(reader, &at, "until", mute->until, sizeof(mute->until));
    pb_json_read_text(reader, &at, "reason", mute->reason, sizeof(mute->reason));
    check_date(reader, &at, mute->until);
    if (mute->cause[0] == '\0' && mute->metric[0] == '\0' && mute->host[0] == '\0' &&
        mute->device[0] == '\0')
        pb_json_read_refuse(reader, &at, "one of cause, metric, host and device");
}

static void read_mutes(struct pb_json_reader *reader, const struct pb_json *root,
                       struct pb_policy *policy)
{
    struct pb_json list;
    size_t count;

    if (pb_json_read_optional(reader, root, "muted").value == NULL)
        return;
    count = pb_json_read_array(reader, root, "muted", 0, RULES_MAX, &list);
    policy->mutes = calloc(count + 1, sizeof(*policy->mutes));
    if (policy->mutes == NULL)
        reader->status =
            pb_fail(reader->err, PB_NO_MEMORY, "out of memory for %zu muted findings", count);
    for (size_t i = 0; i < count && reader->status == PB_OK; i++)
        read_mute(reader, &list, i, &policy->mutes[policy->mute_count++]);
}

static void read_all(struct pb_json_reader *reader, const struct pb_json *root,
                     struct pb_policy *policy)
{
    static const char *const sections[] = {"schema", "causes", "metrics", "muted", NULL};
    static const char *const of_causes[] = {"severity", "drain", "critical_from", NULL};
    static const char *const of_metrics[] = {"severity", "drain", "practical", NULL};

    pb_json_read_only(reader, root, sections);
    pb_json_read_integer(reader, root, "schema", 1, 1);
    read_rules(reader, root, "causes", of_causes, &policy->causes, &policy->cause_count);
    read_rules(reader, root, "metrics", of_metrics, &policy->metrics, &policy->metric_count);
    read_mutes(reader, root, policy);
}

enum pb_status pb_policy_load(const char *file, struct pb_policy *policy_out, struct pb_error *err)
{
    struct pb_json_reader reader = {PB_OK, err};
    time_t now = time(NULL);
    struct pb_json root;
    struct tm date;
    enum pb_status status = pb_json_load(file, &root, err);

    if (status != PB_OK)
        return status;
    policy_out->file = file;
    if (gmtime_r(&now, &date) != NULL)
        strftime(policy_out->today, sizeof(policy_out->today), "%Y-%m-%d", &date);
    read_all(&reader, &root, policy_out);
    json_decref(root.value);
    return reader.status;
}

void pb_policy_clear(struct pb_policy *policy)
{
    free(policy->causes);
    free(policy->metrics);
    free(policy->mutes);
    *policy = (struct pb_policy){0};
}
