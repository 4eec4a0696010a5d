/*
 * Policy: how bad a finding is, and whether its nodes should be drained.
 *
 * The statistics say what differs and how certainly; the policy says what a site does about it. The
 * default is by cause; a site adds rules by cause and by metric, and mutes findings
 * that it knows until a date. Every finding passes pb_policy_apply() once.
 */
#ifndef PB_ANALYSIS_VERDICT_POLICY_H
#define PB_ANALYSIS_VERDICT_POLICY_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/verdict/finding.h"

/* What a rule says; what it leaves open is the default's. */
struct pb_policy_rule {
    char pattern[PB_METRIC_NAME_LENGTH]; /* cause or metric, as in a shell: `*` for anything */
    int severity;         /* the worst it may be, an enum pb_severity; PB_POLICY_UNSET: open */
    int drain;            /* 1, 0: drain when CRITICAL; PB_POLICY_UNSET: open */
    double critical_from; /* smallest relative shift that is CRITICAL, of a cause; NaN: open */
    double practical;     /* practical size, of a metric; NaN: open */
};

enum { PB_POLICY_UNSET = -1 };

#define PB_POLICY_RULE_OPEN                                                                        \
    ((struct pb_policy_rule){"", PB_POLICY_UNSET, PB_POLICY_UNSET, (double)NAN, (double)NAN})

/* A known finding: while it is muted it is listed as OK and drains nothing. Patterns as above. */
struct pb_policy_mute {
    char cause[PB_NAME_LENGTH];         /* empty: any */
    char metric[PB_METRIC_NAME_LENGTH]; /* empty: any */
    char host[PB_KEY_LENGTH];           /* of every member; empty: any */
    char device[PB_TEXT_LENGTH];        /* key or UUID of every member; empty: any */
    char until[PB_NAME_LENGTH];         /* UTC date, the last day: "2027-01-31" */
    char reason[PB_MUTE_REASON_LENGTH];
};

struct pb_policy {
    const char *file;                        /* NULL: the default alone */
    struct pb_policy_rule *causes, *metrics; /* the last that matches counts */
    size_t cause_count, metric_count;
    struct pb_policy_mute *mutes;
    size_t mute_count;
    char today[PB_NAME_LENGTH]; /* UTC date of the judgement; empty: nothing is muted */
};

/*
 * The default rule of that number, from 0: what docs/policy.json holds, in its order. False: there
 * are no more. First those of the causes, in the order of cause_table.c.
 */
bool pb_policy_default(size_t number, struct pb_policy_rule *rule_out);

/* Sets the practical sizes of the feature table's metrics, before it is scored. policy NULL: no
 * change. */
void pb_policy_set_practical(const struct pb_policy *policy, struct pb_features *features);

/*
 * Sets severity, drain, advice and muted_until of a finding that holds the severity which its
 * statistics give, its cause, metric, shift and members. policy NULL: the default.
 *
 * group_size  devices of the finding's group: a population that is more than half of it drains
 *             nothing, since nothing says that it is the sick part; 0: not known
 */
void pb_policy_apply(const struct pb_policy *policy, const struct pb_features *features,
                     size_t group_size, struct pb_finding *finding);

#endif
