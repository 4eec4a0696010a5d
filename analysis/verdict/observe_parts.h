/*
 * Private to the observation: what its parts share while one device is looked at.
 *
 * Every part puts numbers into the device's row through pb_extractor_put(). The first lack of
 * memory stays in `status`; from then on nothing more is put.
 */
#ifndef PB_ANALYSIS_VERDICT_OBSERVE_PARTS_H
#define PB_ANALYSIS_VERDICT_OBSERVE_PARTS_H

#include <stdbool.h>

#include "analysis/parameter.h"
#include "analysis/statistics/sample.h"
#include "analysis/verdict/observe.h"

/* Accesses of one kind, wherever they were recorded: hits of a level, or loads that miss all. */
enum pb_access_class {
    PB_CLASS_SHARED,
    PB_CLASS_L1,
    PB_CLASS_L2,
    PB_CLASS_DRAM_NEAR, /* cold lines of pages whose translation is there */
    PB_CLASS_DRAM_FAR,  /* cold lines over gigabytes */
    PB_CLASS_COUNT
};

struct pb_extractor {
    struct pb_features *features;
    size_t device;
    const struct pb_metric_source *metric_source;
    struct pb_sample accesses[PB_CLASS_COUNT]; /* over the median of their own test */
    double median_cycles[PB_CLASS_COUNT];      /* of the last test, less overhead */
    struct pb_sample shared_cycles;            /* the same of shared memory's loads, unsorted */
    struct pb_sample sm_cycles; /* by how many cycles loads that never left their SM took longer
                                   than their median, sorted: how far its time stamps repeat */
    struct pb_sample l2_cycles; /* median hit of each test */
    struct pb_sample pass_mhz;  /* the SM clock as long passes saw it, by test */
    int64_t chase_sm;           /* where the chases ran; -1: not known */
    double mismatches;          /* words found wrong, by all tests */
    double mismatch_address;    /* of one of them; NaN: not reported */
    bool checked;               /* at least one test checks what it reads */
    uint64_t *method_versions;  /* of the metric source's tests; 0: the first */
    enum pb_status status;
    struct pb_error *err;
};

/* Puts a number of the catalogue's metric "PREFIX.NAME". Not finite: it is left out. */
void pb_extractor_put(struct pb_extractor *extractor, const char *test, const char *prefix,
                      const char *name, struct pb_reading cell);

/* The same of a number that moves by larger steps than the catalogue says. */
void pb_extractor_put_coarse(struct pb_extractor *extractor, const char *test, const char *prefix,
                             const char *name, double quantum, struct pb_reading cell);

/* A cell of the whole device whose noise is not known. */
struct pb_reading pb_reading_plain(double value);

/* Order statistics of a sample: the median and half the width of its 68% interval; NaN: empty. */
double pb_extractor_median(struct pb_extractor *extractor, const struct pb_sample *sample,
                           double *noise_out);

/* observe_accesses.c: collects from one recording; then puts what all of them say together. */
void pb_observe_collect(struct pb_extractor *extractor, const struct pb_recording *recording);
void pb_observe_accesses(struct pb_extractor *extractor);

/* The standard deviation that a latency in cycles has by the stamps alone, beyond rounding. */
double pb_extractor_stamp_noise(const struct pb_extractor *extractor);

/* observe_matrices.c: peaks and shapes. */
void pb_observe_matrix(struct pb_extractor *extractor, const struct pb_recording *recording);

/* observe_sms.c: every SM against the others of its device. */
void pb_observe_sms(struct pb_extractor *extractor, const struct pb_recording *recording);

/* observe_parallel.c: what all SMs do at once. */
void pb_observe_parallel(struct pb_extractor *extractor, const struct pb_recording *recording);

/* observe_integrity.c: counts wrong words in one recording; then puts their sum. */
void pb_observe_check(struct pb_extractor *extractor, const struct pb_recording *recording);
void pb_observe_integrity(struct pb_extractor *extractor);

/* observe_parameters.c: what the inference states as one number, or as a list of them. */
void pb_observe_parameters(struct pb_extractor *extractor);

/* observe_state.c: what NVML reports, and its steps over the run. */
void pb_observe_states(struct pb_extractor *extractor);

#endif
