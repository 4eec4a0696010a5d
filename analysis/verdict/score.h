/*
 * Scores: how far each number of a device lies from its peers, and how surprising that is.
 *
 * Peers are the devices of one group: same model, memory and configuration. Location and scale are
 * robust; critical values come from Monte Carlo for the number of peers there really are. A score
 * says nothing of causes.
 */
#ifndef PB_ANALYSIS_VERDICT_SCORE_H
#define PB_ANALYSIS_VERDICT_SCORE_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/verdict/features.h"

enum pb_severity { PB_SEVERITY_OK, PB_SEVERITY_WARNING, PB_SEVERITY_CRITICAL, PB_SEVERITY_UNKNOWN };

/* "OK", "WARNING", "CRITICAL", "UNKNOWN" */
const char *pb_severity_name(enum pb_severity severity);

/* The worse the higher: CRITICAL beats UNKNOWN beats WARNING beats OK. */
int pb_severity_rank(enum pb_severity severity);

/* Devices that should be alike. Without GROUP_MIN_PEERS and without a baseline it can only warn. */
enum { PB_GROUP_MIN_PEERS = 16 };

struct pb_group {
    char name[PB_MESSAGE_LENGTH]; /* model and what sets it apart from its peer groups */
    char kind[PB_MESSAGE_LENGTH]; /* model, memory and MIG mode, which its peer groups share */
    size_t *members;              /* devices */
    size_t member_count;
    size_t *baseline;      /* devices of the baseline that count as peers */
    size_t baseline_count; /* devices of the baseline that count as peers */
    bool sufficient;       /* enough peers for CRITICAL */
};

/* One metric of one group. */
struct pb_norm {
    size_t peers;    /* finite values, the baseline's included */
    size_t majority; /* of them, by which center and scale are set */
    double center, scale;
    bool measured;                          /* the scale is that of the values, and no floor */
    double critical_sigmas, warning_sigmas; /* single-device thresholds before multiplicity */
    double detectable; /* smallest shift that would have been CRITICAL or, where peers are too few
                          for that, a WARNING; in the metric's unit */
    bool peers_wrong;  /* an event shows the peers to be wrong in this metric: none were right */
    bool split;        /* two populations, of which either may be the healthy one: each is measured
                          against itself, and center and scale are those of the larger */
    double split_boundary, split_other; /* between them; the center of the other */
    double independent_peers;           /* peers by what devices of one node have in common */
    double tail;             /* one by the degrees of freedom of the healthy; 0: normal */
    size_t drift_pairs;      /* devices that have a history */
    size_t drift_unlike;     /* devices whose history is of another measurement */
    double drift_center;     /* of the first of them, what it was */
    double drift_detectable; /* smallest fall against its own history that would be CRITICAL, of the
                                first of them and in the metric's unit; NaN: no pairs */
};

/* One metric of one device. */
struct pb_score {
    double sigmas; /* (value - center) / scale, signed, the scale being the device's own noise where
                      that is greater; NaN: not scored */
    double p;      /* two-sided, for this number of peers, before multiplicity */
    double shift;  /* relative to center (absolute as pb_metric.practical says) */
    enum pb_severity severity; /* after Holm (CRITICAL), Benjamini-Hochberg (WARNING), and the
                                  practical effect size */
    double drift_shift;        /* against the same UUID in the baseline; NaN: not there */
    double drift_times;        /* the same in sizes up to which a healthy device repeats */
    double drift_sigmas;       /* in standard deviations, as if that size were known to be one of
                                  so many that a WARNING takes */
    enum pb_severity drift_severity; /* after multiplicity and the practical size */
};

struct pb_scores {
    struct pb_group *groups;
    size_t group_count;
    size_t *group_of;       /* per device; group_count: none (no device) */
    struct pb_norm *norms;  /* [group_count][metric_count] */
    struct pb_score *cells; /* [device_count][metric_count] */
    size_t device_count, metric_count;
};

struct pb_score_options {
    double critical_rate; /* probability that a healthy fleet has any CRITICAL score; 0.01: half by
                             chance, half because the null distribution is an estimate */
    double warning_rate;  /* expected share of false ones among WARNING scores; 0.05 */
};

#define PB_SCORE_OPTIONS_DEFAULT ((struct pb_score_options){0.01, 0.05})

/*
 * Scores a feature table.
 *
 * CRITICAL needs p within Holm's bound over all scores of the fleet that may become so (those with
 * PB_GROUP_MIN_PEERS peers), WARNING within Benjamini and Hochberg's over all; both need the
 * practical size. With fewer peers a shift of four practical sizes warns within Bonferroni's bound
 * at warning_rate over the numbers of that device alone: so few could never show it otherwise.
 *
 * Counts whose healthy value is 0 (none in more than half of the peers) need no peers: more than
 * the practical size is CRITICAL with p = 0, else p = 1; sigmas is the count. Where most peers have
 * events, only more than theirs counts, and the scale is at least the root of their number.
 *
 * Rounding may have added half a step to any distance; p grants it, sigmas does not. Fewer than
 * four values of a metric are not scored.
 *
 * baseline    NULL, or the feature table of earlier runs: peers by model and configuration (devices
 * whose UUID is in `feature table` do not count twice), and each device's own history by UUID
 * scores_out  for pb_scores_clear()
 *
 * PB_NO_MEMORY is the only error.
 * Source: docs/verdicts.md, with the rates that were seen.
 */
enum pb_status pb_score(const struct pb_features *features, const struct pb_features *baseline,
                        const struct pb_score_options *options, struct pb_scores *scores_out,
                        struct pb_error *err);

void pb_scores_clear(struct pb_scores *scores); /* NULL is allowed */

#endif
