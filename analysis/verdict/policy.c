/* Severity and drain by cause and metric; see policy.h. */
#include "analysis/verdict/policy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/verdict/former_names.h"

#define DRAIN 1
#define KEEP  0

/*
 * In the order of docs/verdicts.md. `critical_from` stands where a shift can be certain and still
 * cost little: a job that waits for its slowest SM loses what that SM loses.
 */
static const struct pb_policy_rule defaults[] = {
    {"compute_errors", PB_SEVERITY_CRITICAL, DRAIN, 0.0, NAN},
    {"integrity", PB_SEVERITY_CRITICAL, DRAIN, 0.0, NAN},
    {"co_tenant", PB_SEVERITY_CRITICAL, KEEP, 0.0, NAN},
    {"co_tenant_memory", PB_SEVERITY_WARNING, KEEP, 0.0, NAN},
    {"co_tenant_idle", PB_SEVERITY_WARNING, KEEP, 0.0, NAN},
    {"thermal", PB_SEVERITY_CRITICAL, DRAIN, 0.0, NAN},
    {"temperature", PB_SEVERITY_WARNING, KEEP, 0.0, NAN},
    {"power_cap", PB_SEVERITY_CRITICAL, DRAIN, 0.0, NAN},
    {"power_limit", PB_SEVERITY_WARNING, KEEP, 0.0, NAN},
    {"locked_clocks", PB_SEVERITY_CRITICAL, DRAIN, 0.0, NAN},
    {"clock_setting", PB_SEVERITY_WARNING, KEEP, 0.0, NAN},
    {"slow_clock", PB_SEVERITY_CRITICAL, DRAIN, 0.0, NAN},
    {"fast_clock", PB_SEVERITY_WARNING, KEEP, 0.0, NAN},
    {"slow_memory_clock", PB_SEVERITY_CRITICAL, DRAIN, 0.0, NAN},
    {"pcie_link", PB_SEVERITY_CRITICAL, DRAIN, 0.0, NAN},
    {"host_latency", PB_SEVERITY_WARNING, KEEP, 0.0, NAN},
    {"nvlink", PB_SEVERITY_CRITICAL, DRAIN, 0.0, NAN},
    {"peer_latency", PB_SEVERITY_CRITICAL, DRAIN, 0.0, NAN},
    {"hbm", PB_SEVERITY_CRITICAL, DRAIN, 0.0, NAN},
    {"earlier_memory_errors", PB_SEVERITY_WARNING, KEEP, 0.0, NAN},
    {"tail", PB_SEVERITY_CRITICAL, DRAIN, 0.0, NAN},
    {"slow_sm", PB_SEVERITY_CRITICAL, DRAIN, 0.03, NAN},
    {"hidden_slow_state", PB_SEVERITY_CRITICAL, DRAIN, 0.0, NAN},
    {"fast_l2", PB_SEVERITY_WARNING, KEEP, 0.0, NAN},
    {"l2_latency", PB_SEVERITY_CRITICAL, DRAIN, 0.0, NAN},
    {"dram_latency", PB_SEVERITY_CRITICAL, DRAIN, 0.0, NAN},
    {"load_knee", PB_SEVERITY_WARNING, KEEP, 0.0, NAN},
    {"atomic_rate", PB_SEVERITY_CRITICAL, DRAIN, 0.0, NAN},
    {"dsm_latency", PB_SEVERITY_CRITICAL, DRAIN, 0.0, NAN},
    {"ecc_off", PB_SEVERITY_WARNING, KEEP, 0.0, NAN},
    {"l1_defect", PB_SEVERITY_CRITICAL, DRAIN, 0.0, NAN},
    {"shared_memory", PB_SEVERITY_CRITICAL, DRAIN, 0.0, NAN},
    {"configuration", PB_SEVERITY_WARNING, KEEP, 0.0, NAN},
    {"unexplained", PB_SEVERITY_CRITICAL, KEEP, 0.0, NAN},
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

const struct pb_policy_rule *pb_policy_defaults(size_t *count_out)
{
    *count_out = sizeof(defaults) / sizeof(defaults[0]);
    return defaults;
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
    struct pb_policy_rule rule = fallback;

    take_matching(defaults, sizeof(defaults) / sizeof(defaults[0]), finding->cause, &rule);
    if (policy == NULL)
        return rule;
    take_matching(policy->causes, policy->cause_count, finding->cause, &rule);
    take_matching(policy->metrics, policy->metric_count, finding->metric, &rule);
    return rule;
}

void pb_policy_set_practical(const struct pb_policy *policy, struct pb_sheet *sheet)
{
    for (size_t i = 0; policy != NULL && i < sheet->metric_count; i++) {
        struct pb_policy_rule rule = PB_POLICY_RULE_OPEN;

        take_matching(policy->metrics, policy->metric_count, sheet->metrics[i].name, &rule);
        if (!isnan(rule.practical))
            sheet->metrics[i].practical = rule.practical;
    }
}

/* ---- muted findings ---- */

static bool is_any(const char *pattern, const char *text)
{
    return pattern[0] == '\0' || pb_name_matches(pattern, text);
}

static bool mutes_members(const struct pb_policy_mute *mute, const struct pb_sheet *sheet,
                          const struct pb_finding *finding)
{
    for (size_t i = 0; i < finding->members.count; i++) {
        const struct pb_subject *member = &sheet->subjects[finding->members.subjects[i]];

        if (!is_any(mute->host, member->host) ||
            (!is_any(mute->device, member->key) && !is_any(mute->device, member->info.uuid)))
            return false;
    }
    return finding->members.count > 0 || (mute->host[0] == '\0' && mute->device[0] == '\0');
}

/* ISO dates sort as text; the last day still counts. */
static const struct pb_policy_mute *mute_of(const struct pb_policy *policy,
                                            const struct pb_sheet *sheet,
                                            const struct pb_finding *finding)
{
    for (size_t i = 0; policy != NULL && policy->today[0] != '\0' && i < policy->mute_count; i++) {
        const struct pb_policy_mute *mute = &policy->mutes[i];

        if (strcmp(policy->today, mute->until) <= 0 && is_any(mute->cause, finding->cause) &&
            is_any(mute->metric, finding->metric) && mutes_members(mute, sheet, finding))
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

void pb_policy_apply(const struct pb_policy *policy, const struct pb_sheet *sheet,
                     size_t group_size, struct pb_finding *finding)
{
    struct pb_policy_rule rule = rule_of(policy, finding);
    const struct pb_policy_mute *mute = mute_of(policy, sheet, finding);

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
