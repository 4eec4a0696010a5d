/*
 * Why a kernel misses, and what would change that: one prediction with everything counted, others
 * to compare it with. No advice is given that the model was not run for, or that does not follow
 * from counts of its own.
 */
#ifndef PB_ANALYSIS_KERNEL_EXPLAIN_H
#define PB_ANALYSIS_KERNEL_EXPLAIN_H

#include "analysis/kernel/predict.h"

enum pb_advice_kind {
    PB_ADVICE_COALESCE, /* lanes next to each other take addresses next to each other */
    PB_ADVICE_PITCH,    /* rows of another length spread over more sets */
    PB_ADVICE_CARVEOUT, /* less shared memory set aside */
    PB_ADVICE_BLOCKS,   /* fewer blocks at a time */
    PB_ADVICE_TILE,     /* less data between two uses */
    PB_ADVICE_COUNT
};

enum { PB_ADVICE_MAX = 8, PB_SEED_COUNT = 3 };

#define PB_NO_ROW SIZE_MAX

struct pb_advice {
    enum pb_advice_kind kind;
    size_t instruction, allocation; /* that it is about; PB_NO_ROW: none in particular */
    char text[PB_MESSAGE_LENGTH];
    /* Sectors that L1 has to fetch, of all reads: now, and then. */
    uint64_t misses, misses_then;
};

struct pb_interval {
    double value, low, high;
};

struct pb_explanation {
    struct pb_prediction prediction;
    size_t seed_count;                   /* runs behind the intervals */
    struct pb_interval l1_hits, l2_hits; /* rates of the counted loads, and of all reads */
    /* Misses that fewer registers for outstanding ones cost; below 0: that they save (N14 6.1). */
    int64_t mshr_misses;
    bool has_mshr;                          /* a limit is known */
    struct pb_advice advice[PB_ADVICE_MAX]; /* what saves most first */
    size_t advice_count;
};

/* Runs the trace's current kernel several times. pb_explanation_clear() it. */
enum pb_status pb_explain(const struct pb_trace *trace, const struct pb_machine *machine,
                          const struct pb_predict_options *options,
                          struct pb_explanation *explanation_out, struct pb_error *err);
void pb_explanation_clear(struct pb_explanation *explanation); /* NULL is allowed */

/* "coalesce", "pitch", … */
const char *pb_advice_name(enum pb_advice_kind kind);

#endif
