/*
 * Causes: what a device's deviations have in common, by one table (facts section 4).
 *
 * A row names a cause, what must have moved for it (and which way), what must not have, and what
 * follows from it. Rows are tried in order; the first one that fits takes its own and what follows,
 * and the search goes on with the rest: so a device with two faults has two findings, and none has
 * one for each metric. What nothing takes is unexplained.
 *
 * Private to pb_judge().
 */
#ifndef PB_ANALYSIS_VERDICT_CAUSE_H
#define PB_ANALYSIS_VERDICT_CAUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/verdict/attribute.h"
#include "analysis/verdict/deviation.h"

enum {
    PB_CAUSE_NEEDS_MAX = 5,
    PB_CAUSE_SPARES_MAX = 3,
    PB_CAUSE_SIZES_MAX = 2,
    PB_CAUSE_FOLLOWS_MAX = 12,
};

enum pb_direction { PB_ANY_WAY, PB_UP, PB_DOWN };

/* How far a consequence may go, by the size of the cause. */
enum pb_bound {
    PB_BOUND_ANY,   /* any size */
    PB_BOUND_SAME,  /* as far as the cause itself, relatively */
    PB_BOUND_FAINT, /* a quarter as far */
    PB_BOUND_STEP,  /* as far in the metric's own unit: cycles of L2 within those of DRAM */
    PB_BOUND_PLACE, /* as far as the cause, and at its place */
    PB_BOUND_HERE,  /* any way, and at its place */
    PB_BOUND_MEAN,  /* as far as its SMs move a mean over all */
    PB_BOUND_SHARE, /* a share of accesses: no larger than that of its SMs */
    PB_BOUND_LATE,  /* so, and the mark is no further than the cause itself */
};

#define PB_PARTS_ALL   UINT32_MAX
#define PB_DOMAINS_ALL UINT32_MAX

/* Which metrics. */
struct pb_sign {
    uint32_t parts, domains; /* bit masks of enum pb_part, enum pb_domain; 0: end of a list */
    enum pb_direction direction;
    uint64_t traits;     /* PB_TRAIT(), all of which the metric has; 0: any */
    enum pb_bound bound; /* of what follows */
};

struct pb_cause {
    const char *word;
    const char *meaning; /* what speaks for it: begins the evidence */
    const char *advice;
    enum pb_level level;
    enum pb_severity worst; /* that its findings may be, unless the site's policy says otherwise */
    bool drain;             /* the nodes of a CRITICAL one */
    double critical_from;   /* smallest relative shift that is CRITICAL: a job that waits for its
                               slowest SM loses what that SM loses */
    struct pb_sign needs[PB_CAUSE_NEEDS_MAX];     /* one of them at least has moved */
    struct pb_sign also[PB_CAUSE_NEEDS_MAX];      /* and one of these, if there are any */
    struct pb_sign spares[PB_CAUSE_SPARES_MAX];   /* none of them has moved */
    struct pb_sign sizes[PB_CAUSE_SIZES_MAX];     /* how big it is, besides those above */
    struct pb_sign follows[PB_CAUSE_FOLLOWS_MAX]; /* taken along */
};

extern const struct pb_cause pb_causes[]; /* in order of trial; ends with a NULL word */

/* What a cause's consequences are measured by. */
struct pb_extent {
    double relative;
    double step[PB_DOMAIN_STATE + 1]; /* by domain, in the metric's unit */
    double share;                     /* of all accesses: those of the SMs that moved */
    int64_t place;
};

/* What a cause took of a deviations. */
struct pb_diagnosis {
    const struct pb_cause *cause;
    struct pb_extent extent;
    unsigned number; /* from 1: what pb_deviation.taken_by says of them */
    size_t lead;     /* the deviation of `needs` that is farthest out */
    size_t metrics;  /* that were taken */
    enum pb_severity severity;
    bool by_event; /* one of `needs` is an event, which takes no peers */
};

/*
 * Takes the next cause from the deviations and marks them as explained. False: none is left.
 * The last row of the table takes anything.
 */
bool pb_cause_next(const struct pb_features *features, struct pb_deviations *deviations,
                   unsigned number, struct pb_diagnosis *diagnosis_out);

/* Is it to the worse, or neither better nor worse? */
bool pb_deviation_is_worse(const struct pb_metric *metric, const struct pb_deviation *deviation);

/* Does the cause need this deviation besides the one that leads it? */
bool pb_cause_expects(const struct pb_cause *cause, const struct pb_metric *metric,
                      const struct pb_deviation *deviation);

/*
 * Words a diagnosis as a finding of a unit: place, summary, evidence, advice. The deviations are
 * those of the unit's device that stands for it. The evidence lists what else the diagnosis took,
 * first what the cause needs, then by distance, as far as there is room.
 */
void pb_cause_word(const struct pb_features *features, const struct pb_scores *scores,
                   const struct pb_deviations *deviations, const struct pb_diagnosis *diagnosis,
                   const struct pb_unit *unit, struct pb_finding *finding_out);

#endif
