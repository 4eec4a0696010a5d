/* The site's policy as JSON; see outliers.h. docs/policy.json holds the default in this format. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/outliers.h"
#include "core/json.h"

enum { RULES_MAX = 4096, DATE_LENGTH = 10 };

static enum pb_status read_severity(const struct pb_json *at, int *severity_out,
                                    struct pb_error *err)
{
    const char *text;
    enum pb_status status = pb_json_text(at, &text, err);

    if (status != PB_OK)
        return status;
    for (int severity = PB_SEVERITY_OK; severity <= PB_SEVERITY_UNKNOWN; severity++)
        if (strcmp(text, pb_severity_name((enum pb_severity)severity)) == 0) {
            *severity_out = severity;
            return PB_OK;
        }
    return pb_json_refuse(at, err, "OK, WARNING, UNKNOWN or CRITICAL");
}

static enum pb_status read_drain(const struct pb_json *at, int *drain_out, struct pb_error *err)
{
    if (!json_is_boolean(at->value))
        return pb_json_refuse(at, err, "true or false");
    *drain_out = json_is_true(at->value) ? 1 : 0;
    return PB_OK;
}

/* One key of a rule; every key is optional. */
static enum pb_status read_key(const struct pb_json *object, const char *key,
                               struct pb_policy_rule *rule, struct pb_error *err)
{
    struct pb_json at;
    enum pb_status status = pb_json_member(object, key, false, &at, err);

    if (status != PB_OK || at.value == NULL)
        return status;
    if (strcmp(key, "severity") == 0)
        return read_severity(&at, &rule->severity, err);
    if (strcmp(key, "drain") == 0)
        return read_drain(&at, &rule->drain, err);
    if (strcmp(key, "critical_from") == 0)
        return pb_json_number(&at, 0.0, 1e12, &rule->critical_from, err);
    return pb_json_number(&at, 0.0, 1e12, &rule->practical, err);
}

/* An object whose keys are patterns of causes or of metrics. */
static enum pb_status read_rules(const struct pb_json *root, const char *section,
                                 const char *const *known, struct pb_policy_rule **rules_out,
                                 size_t *count_out, struct pb_error *err)
{
    struct pb_json object, rule;
    enum pb_status status = pb_json_member(root, section, false, &object, err);
    const char *pattern;
    json_t *value;

    if (status != PB_OK || object.value == NULL)
        return status;
    if (!json_is_object(object.value))
        return pb_json_refuse(&object, err, "an object");
    *rules_out = calloc(json_object_size(object.value) + 1, sizeof(**rules_out));
    if (*rules_out == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory for %zu rules",
                       json_object_size(object.value));
    json_object_foreach(object.value, pattern, value)
    {
        struct pb_policy_rule *into = &(*rules_out)[(*count_out)++];

        *into = PB_POLICY_RULE_OPEN;
        status = pb_json_member(&object, pattern, true, &rule, err);
        if (status == PB_OK && strlen(pattern) >= sizeof(into->pattern))
            status =
                pb_json_refuse(&rule, err, "a name of fewer than %zu bytes", sizeof(into->pattern));
        if (status == PB_OK)
            status = pb_json_only(&rule, known, err);
        PB_TEXT_SET(into->pattern, pattern);
        for (size_t i = 0; known[i] != NULL && status == PB_OK; i++)
            status = read_key(&rule, known[i], into, err);
        if (status != PB_OK)
            break;
    }
    return status;
}

/* ---- muted findings ---- */

static enum pb_status read_text(const struct pb_json *object, const char *key, bool required,
                                char *text_out, size_t size, struct pb_error *err)
{
    struct pb_json at;
    const char *text;
    enum pb_status status = pb_json_member(object, key, required, &at, err);

    if (status != PB_OK || at.value == NULL)
        return status;
    status = pb_json_text(&at, &text, err);
    if (status == PB_OK && (text[0] == '\0' || strlen(text) >= size))
        return pb_json_refuse(&at, err, "a text of 1 to %zu bytes", size - 1);
    if (status == PB_OK)
        snprintf(text_out, size, "%s", text);
    return status;
}

static enum pb_status check_date(const struct pb_json *object, const char *date,
                                 struct pb_error *err)
{
    struct pb_json at;
    struct tm parsed = {0};
    const char *end = strptime(date, "%Y-%m-%d", &parsed);
    enum pb_status status = pb_json_member(object, "until", true, &at, err);

    if (status == PB_OK && (end == NULL || *end != '\0' || strlen(date) != DATE_LENGTH))
        status = pb_json_refuse(&at, err, "a date like 2027-01-31");
    return status;
}

#define READ_TEXT(key, required)                                                                   \
    if (status == PB_OK)                                                                           \
    status = read_text(&at, #key, required, mute->key, sizeof(mute->key), err)

/* A mute that names nothing would silence the whole fleet. */
static enum pb_status read_mute(const struct pb_json *list, size_t i, struct pb_policy_mute *mute,
                                struct pb_error *err)
{
    static const char *const known[] = {"cause", "metric", "host", "device",
                                        "until", "reason", NULL};
    struct pb_json at;
    enum pb_status status = pb_json_element(list, i, &at, err);

    if (status == PB_OK)
        status = pb_json_only(&at, known, err);
    READ_TEXT(cause, false);
    READ_TEXT(metric, false);
    READ_TEXT(host, false);
    READ_TEXT(device, false);
    READ_TEXT(until, true);
    READ_TEXT(reason, true);
    if (status == PB_OK)
        status = check_date(&at, mute->until, err);
    if (status == PB_OK && mute->cause[0] == '\0' && mute->metric[0] == '\0' &&
        mute->host[0] == '\0' && mute->device[0] == '\0')
        status = pb_json_refuse(&at, err, "one of cause, metric, host and device");
    return status;
}

static enum pb_status read_mutes(const struct pb_json *root, struct pb_policy *policy,
                                 struct pb_error *err)
{
    struct pb_json list;
    size_t count = 0;
    enum pb_status status = pb_json_member(root, "muted", false, &list, err);

    if (status != PB_OK || list.value == NULL)
        return status;
    status = pb_json_array(&list, 0, RULES_MAX, &count, err);
    if (status != PB_OK)
        return status;
    policy->mutes = calloc(count + 1, sizeof(*policy->mutes));
    if (policy->mutes == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory for %zu muted findings", count);
    for (size_t i = 0; i < count && status == PB_OK; i++)
        status = read_mute(&list, i, &policy->mutes[policy->mute_count++], err);
    return status;
}

static enum pb_status read_all(const struct pb_json *root, struct pb_policy *policy,
                               struct pb_error *err)
{
    static const char *const sections[] = {"schema", "causes", "metrics", "muted", NULL};
    static const char *const of_causes[] = {"severity", "drain", "critical_from", NULL};
    static const char *const of_metrics[] = {"severity", "drain", "practical", NULL};
    struct pb_json schema;
    int64_t version;
    enum pb_status status = pb_json_only(root, sections, err);

    if (status == PB_OK)
        status = pb_json_member(root, "schema", true, &schema, err);
    if (status == PB_OK)
        status = pb_json_integer(&schema, 1, 1, &version, err);
    if (status == PB_OK)
        status = read_rules(root, "causes", of_causes, &policy->causes, &policy->cause_count, err);
    if (status == PB_OK)
        status =
            read_rules(root, "metrics", of_metrics, &policy->metrics, &policy->metric_count, err);
    return status == PB_OK ? read_mutes(root, policy, err) : status;
}

enum pb_status pb_policy_load(const char *file, struct pb_policy *policy_out, struct pb_error *err)
{
    time_t now = time(NULL);
    struct pb_json root;
    struct tm date;
    enum pb_status status = pb_json_load(file, &root, err);

    if (status != PB_OK)
        return status;
    policy_out->file = file;
    if (gmtime_r(&now, &date) != NULL)
        strftime(policy_out->today, sizeof(policy_out->today), "%Y-%m-%d", &date);
    status = read_all(&root, policy_out, err);
    json_decref(root.value);
    return status;
}

void pb_policy_clear(struct pb_policy *policy)
{
    free(policy->causes);
    free(policy->metrics);
    free(policy->mutes);
    *policy = (struct pb_policy){0};
}
