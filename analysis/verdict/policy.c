/* Severity and drain by cause and metric; see policy.h. */
#include "analysis/verdict/policy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/verdict/cause.h"
#include "analysis/verdict/former_names.h"

#define DRAIN 1
#define KEEP  0

/* Of findings that are no cause's; those of causes stand with them in cause_table.c. */
static const struct pb_policy_rule others[] = {
    {"failed", PB_SEVERITY_CRITICAL, DRAIN, 0.0, NAN},
    {"hung", PB_SEVERITY_CRITICAL, DRAIN, 0.0, NAN},
    {"crashed", PB_SEVERITY_CRITICAL, DRAIN, 0.0, NAN},
    {"off_the_bus", PB_SEVERITY_CRITICAL, DRAIN, 0.0, NAN},
    {"absent", PB_SEVERITY_CRITICAL, DRAIN, 0.0, NAN},
    {"duplicate", PB_SEVERITY_WARNING, KEEP, 0.0, NAN},
    {"duplicate_uuid", PB_SEVERITY_WARNING, KEEP, 0.0, NAN},
    {"incomplete", PB_SEVERITY_WARNING, KEEP, 0.0, NAN},
    {"device_missing", PB_SEVERITY_WARNING, KEEP, 0.0, NAN},
    {"node_missing", PB_SEVERITY_WARNING, KEEP, 0.0, NAN},
    {"device_moved", PB_SEVERITY_WARNING, KEEP, 0.0, NAN},
    {"devices_swapped", PB_SEVERITY_WARNING, KEEP, 0.0, NAN},
    {"device_replaced", PB_SEVERITY_WARNING, KEEP, 0.0, NAN},
    {"trend", PB_SEVERITY_WARNING, KEEP, 0.0, NAN},
    {"reference", PB_SEVERITY_WARNING, KEEP, 0.0, NAN},
    {"device_new", PB_SEVERITY_OK, KEEP, 0.0, NAN},
    {"self_baseline", PB_SEVERITY_UNKNOWN, KEEP, 0.0, NAN},
    {"two_populations", PB_SEVERITY_UNKNOWN, KEEP, 0.0, NAN},
    {"many_anomalous", PB_SEVERITY_CRITICAL, KEEP, 0.0, NAN},
    {"insufficient_peers", PB_SEVERITY_UNKNOWN, KEEP, 0.0, NAN},
    {"insufficient_sensitivity", PB_SEVERITY_UNKNOWN, KEEP, 0.0, NAN},
    {"not_judged", PB_SEVERITY_UNKNOWN, KEEP, 0.0, NAN},
    {"undetermined", PB_SEVERITY_OK, KEEP, 0.0, NAN},
    {"self_history", PB_SEVERITY_OK, KEEP, 0.0, NAN},
    {"battery_mismatch", PB_SEVERITY_OK, KEEP, 0.0, NAN},
};

/* What all that has no rule may be: as bad as it was found to be, without a drain. */
static const struct pb_policy_rule fallback = {"*", PB_SEVERITY_CRITICAL, KEEP, 0.0, NAN};

/* A cause has several rows where several kinds of evidence speak for it: the first one counts. */
static bool is_first_row(const struct pb_cause *cause)
{
    const struct pb_cause *first = pb_causes;

    while (strcmp(first->word, cause->word) != 0)
        first++;
    return first == cause;
}

static struct pb_policy_rule rule_of_cause(const struct pb_cause *cause)
{
    struct pb_policy_rule rule = {"", (int)cause->worst, cause->drain ? DRAIN : KEEP,
                                  cause->critical_from, NAN};

    PB_TEXT_SET(rule.pattern, cause->word);
    return rule;
}

bool pb_policy_default(size_t number, struct pb_policy_rule *rule_out)
{
    size_t seen = 0;

    for (const struct pb_cause *cause = pb_causes; cause->word != NULL; cause++) {
        if (!is_first_row(cause))
            continue;
        if (seen++ < number)
            continue;
        *rule_out = rule_of_cause(cause);
        return true;
    }
    if (number - seen >= sizeof(others) / sizeof(others[0]))
        return false;
    *rule_out = others[number - seen];
    return true;
}

static void take(const struct pb_policy_rule *rule, struct pb_policy_rule *into)
{
    if (rule->severity != PB_POLICY_UNSET)
        into->severity = rule->severity;
    if (rule->drain != PB_POLICY_UNSET)
        into->drain = rule->drain;
    if (!isnan(rule->critical_from))
        into->critical_from = rule->critical_from;
    if (!isnan(rule->practical))
        into->practical = rule->practical;
}

static void take_matching(const struct pb_policy_rule *rules, size_t count, const char *name,
                          struct pb_policy_rule *into)
{
    for (size_t i = 0; i < count; i++)
        if (name[0] != '\0' && pb_name_matches(rules[i].pattern, name))
            take(&rules[i], into);
}

/* The default by cause, then the site's rules by cause, then those by metric. */
static struct pb_policy_rule rule_of(const struct pb_policy *policy,
                                     const struct pb_finding *finding)
{
    struct pb_policy_rule rule = fallback, known;

    for (size_t i = 0; pb_policy_default(i, &known); i++)
        take_matching(&known, 1, finding->cause, &rule);
    if (policy == NULL)
        return rule;
    take_matching(policy->causes, policy->cause_count, finding->cause, &rule);
    take_matching(policy->metrics, policy->metric_count, finding->metric, &rule);
    return rule;
}

void pb_policy_set_practical(const struct pb_policy *policy, struct pb_features *features)
{
    for (size_t i = 0; policy != NULL && i < features->metric_count; i++) {
        struct pb_policy_rule rule = PB_POLICY_RULE_OPEN;

        take_matching(policy->metrics, policy->metric_count, features->metrics[i].name, &rule);
        if (!isnan(rule.practical))
            features->metrics[i].practical = rule.practical;
    }
}

/* ---- muted findings ---- */

static bool is_any(const char *pattern, const char *text)
{
    return pattern[0] == '\0' || pb_name_matches(pattern, text);
}

static bool mutes_members(const struct pb_policy_mute *mute, const struct pb_features *features,
                          const struct pb_finding *finding)
{
    for (size_t i = 0; i < finding->members.count; i++) {
        const struct pb_feature_row *member = &features->devices[finding->members.devices[i]];

        if (!is_any(mute->host, member->host) ||
            (!is_any(mute->device, member->key) && !is_any(mute->device, member->info.uuid)))
            return false;
    }
    return finding->members.count > 0 || (mute->host[0] == '\0' && mute->device[0] == '\0');
}

/* ISO dates sort as text; the last day still counts. */
static const struct pb_policy_mute *mute_of(const struct pb_policy *policy,
                                            const struct pb_features *features,
                                            const struct pb_finding *finding)
{
    for (size_t i = 0; policy != NULL && policy->today[0] != '\0' && i < policy->mute_count; i++) {
        const struct pb_policy_mute *mute = &policy->mutes[i];

        if (strcmp(policy->today, mute->until) <= 0 && is_any(mute->cause, finding->cause) &&
            is_any(mute->metric, finding->metric) && mutes_members(mute, features, finding))
            return mute;
    }
    return NULL;
}

/* ---- one finding ---- */

static void advise_drain(struct pb_finding *finding)
{
    char advice[PB_MESSAGE_LENGTH];

    snprintf(advice, sizeof(advice), "drain, then %.*s", (int)(sizeof(advice) - 16),
             finding->advice);
    PB_TEXT_SET(finding->advice, advice);
}

/* Most of a group, that deviates from the rest? By an event its members are wrong, however many. */
static bool is_larger_part(const struct pb_finding *finding, size_t group_size)
{
    return finding->level == PB_LEVEL_POPULATION && !finding->by_event &&
           2 * finding->members.count > group_size;
}

void pb_policy_apply(const struct pb_policy *policy, const struct pb_features *features,
                     size_t group_size, struct pb_finding *finding)
{
    struct pb_policy_rule rule = rule_of(policy, finding);
    const struct pb_policy_mute *mute = mute_of(policy, features, finding);

    if (finding->severity == PB_SEVERITY_CRITICAL && fabs(finding->shift) < rule.critical_from)
        finding->severity = PB_SEVERITY_WARNING;
    if (pb_severity_rank(finding->severity) > pb_severity_rank((enum pb_severity)rule.severity))
        finding->severity = (enum pb_severity)rule.severity;
    if (mute != NULL) {
        finding->severity = PB_SEVERITY_OK;
        PB_TEXT_SET(finding->muted_until, mute->until);
        PB_TEXT_SET(finding->mute_reason, mute->reason);
    }
    finding->drain = rule.drain == DRAIN && finding->severity == PB_SEVERITY_CRITICAL &&
                     (finding->members.count > 0 || finding->host[0] != '\0') &&
                     !is_larger_part(finding, group_size);
    if (finding->drain)
        advise_drain(finding);
}
