/*
 * Findings: what the owner of a cluster reads. Who is out of true, in what, by how much, probably
 * why, and what to do.
 */
#ifndef PB_ANALYSIS_VERDICT_FINDING_H
#define PB_ANALYSIS_VERDICT_FINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/verdict/features.h"
#include "analysis/verdict/score.h"

/* How far a deviation reaches, from one access to a whole population. */
enum pb_level {
    PB_LEVEL_ACCESS, /* a tail or an address range of one device */
    PB_LEVEL_SM,
    PB_LEVEL_DEVICE,
    PB_LEVEL_SLOT, /* the same slot on several nodes */
    PB_LEVEL_NODE,
    PB_LEVEL_POPULATION, /* a group falls in two */
    PB_LEVEL_FLEET,      /* the run itself: too few peers, ranks missing */
};

const char *pb_level_name(enum pb_level level); /* "access", "sm", … */

/* Devices: rows of the feature table, ascending, each once. */
struct pb_members {
    size_t *devices;
    size_t count;
};

struct pb_policy;
struct pb_references;
struct pb_trends;

/* What a fleet is judged by besides its scores; zeroed: the default policy alone. */
struct pb_judge_options {
    const struct pb_policy *policy;         /* severity and drain by cause; NULL: the default */
    const struct pb_features *baseline;     /* for the inventory; NULL: none */
    const struct pb_references *references; /* weak peers by model (reference.h); NULL: none */
    const struct pb_trends *trends;         /* over a history (trend.h); NULL: none */
};

enum { PB_MUTE_REASON_LENGTH = 128 };

struct pb_finding {
    enum pb_severity severity; /* UNKNOWN: could not be judged, and says why */
    enum pb_level level;
    char place[PB_TEXT_LENGTH]; /* "n03.gpu2", "n03", "slot 2", "SM 17 of n03.gpu2", a group */
    char host[PB_KEY_LENGTH];   /* empty: several */
    char device[PB_KEY_LENGTH]; /* key; empty: several or none */
    char model[PB_TEXT_LENGTH];
    size_t group;                       /* all of it, or its devices of one slot; from 1, 0: none */
    int64_t slot;                       /* of level SLOT */
    char cause[PB_NAME_LENGTH];         /* a word of docs/verdicts.md, or "unexplained" */
    char metric[PB_METRIC_NAME_LENGTH]; /* the one that moved most; empty: none */
    char unit[PB_NAME_LENGTH];
    double value, expected;  /* of that metric; NaN: none */
    double shift, sigmas, p; /* of that metric; p after multiplicity */
    uint64_t metrics;        /* how many moved */
    uint64_t peers;
    struct pb_members members;      /* every device that deviates, whatever the level; empty: the
                                       run itself, or a group that could not be judged */
    struct pb_members counterparts; /* of two populations of which either may be the healthy one:
                                       the other; else empty */
    char attribute[PB_NAME_LENGTH]; /* what the members have in common and the others have not:
                                       "driver", "VBIOS", …; empty: nothing known */
    char attribute_value[PB_TEXT_LENGTH];
    bool by_event; /* an event shows the members to be wrong: it takes no peers */
    bool drain;    /* the members' nodes should take no more work */
    char muted_until[PB_NAME_LENGTH]; /* a date of the site's policy; empty: not muted */
    char mute_reason[PB_MUTE_REASON_LENGTH];
    char summary[PB_MESSAGE_LENGTH];       /* one sentence: what, by how much, against whom */
    char evidence[PB_MESSAGE_LENGTH];      /* what speaks for the cause */
    char evidence_path[PB_MESSAGE_LENGTH]; /* a path in the fleet file */
    char advice[PB_MESSAGE_LENGTH];        /* what to do */
};

/* A finding without numbers and place yet. */
struct pb_finding pb_finding_blank(enum pb_severity severity, enum pb_level level);

/* Its place is that device; its members are set by pb_verdict_add(). */
void pb_finding_place(const struct pb_feature_row *device, struct pb_finding *finding);

/* Is it said of this device: by itself, by its node, by its slot of a group, or by all of one? */
bool pb_finding_concerns(const struct pb_finding *finding, const struct pb_features *features,
                         const struct pb_scores *scores, size_t device);

struct pb_findings {
    struct pb_finding *items; /* worst first */
    size_t count, capacity;
    size_t judged, skipped; /* devices that were scored, and that could not be */
    enum pb_severity worst; /* UNKNOWN beats OK, WARNING; CRITICAL beats all */
};

/*
 * Turns scores into findings: attributes each deviation to access, SM, device, slot, node or
 * population by an additive fit, names its cause with the evidence that speaks for it, and adds
 * what needs no score (missing, hung, crashed, lost and duplicate devices; integrity; NVML).
 *
 * options       NULL: zeroed
 * findings_out  for pb_findings_clear(); sorted, worst first
 *
 * PB_NO_MEMORY is the only error.
 */
enum pb_status pb_judge(const struct pb_features *features, const struct pb_scores *scores,
                        const struct pb_judge_options *options, struct pb_findings *findings_out,
                        struct pb_error *err);

void pb_findings_clear(struct pb_findings *findings); /* NULL is allowed */

#endif
