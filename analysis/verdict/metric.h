/*
 * Metrics: the numbers that devices are compared by, and the catalogue that describes each.
 *
 * A metric is one number that a healthy device shares with its peers: a latency, a rate, a tail, an
 * entry of a sorted per-SM map, the change of a counter.
 */
#ifndef PB_ANALYSIS_VERDICT_METRIC_H
#define PB_ANALYSIS_VERDICT_METRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/record.h"

/* Which part of a device a metric is a property of. Causes are read from the parts that moved. */
enum pb_part {
    PB_PART_CLOCK,
    PB_PART_SM,
    PB_PART_SHARED,
    PB_PART_L1,
    PB_PART_CONSTANT,
    PB_PART_TEXTURE,
    PB_PART_L2,
    PB_PART_TLB,
    PB_PART_DRAM,
    PB_PART_HOST_LINK,
    PB_PART_PEER_LINK,
    PB_PART_POWER,
    PB_PART_THERMAL,
    PB_PART_ECC,
    PB_PART_INTEGRITY,
    PB_PART_CONFIGURATION,
    PB_PART_CO_TENANTS, /* other processes on the device */
    PB_PART_COUNT,
};

/* What kind of number it is: a clock fault moves ns and rates, not cycles. */
enum pb_domain {
    PB_DOMAIN_CYCLES,
    PB_DOMAIN_NS,
    PB_DOMAIN_RATE,     /* per second */
    PB_DOMAIN_SIZE,     /* bytes, sets, ways: structure */
    PB_DOMAIN_FRACTION, /* 0 … 1: tails, shares of misses */
    PB_DOMAIN_COUNT,    /* errors, events: healthy is 0 */
    PB_DOMAIN_STATE,    /* MHz, W, degC */
};

enum pb_better { PB_BETTER_LOWER, PB_BETTER_HIGHER, PB_BETTER_NEITHER };

/* How runs compare in a metric, and what causes read from it besides part, domain and direction. */
#define PB_METRIC_TRAITS(TRAIT)                                                                    \
    TRAIT(SAME_BATTERY)   /* sums up all tests of a run: only runs of the same tests compare */    \
    TRAIT(ONLY_WARNS)     /* depends on the host too: against its own history a WARNING at most */ \
    TRAIT(LATENCY_BOUND)  /* a rate that follows latency */                                        \
    TRAIT(PEAK)           /* a rate that follows bandwidth */                                      \
    TRAIT(PER_SM)         /* a total of all SMs at once, of which there may be fewer: per SM */    \
    TRAIT(QUANTILE)       /* of a distribution of accesses */                                      \
    TRAIT(QUARTILE)       /* the third quartile: the body of a distribution, not its tail */       \
    TRAIT(LATE_QUANTILE)  /* 99% and later */                                                      \
    TRAIT(TAIL_SHARE)     /* share of accesses beyond so many medians */                           \
    TRAIT(NEAR)           /* DRAM, pages whose translation is there */                             \
    TRAIT(FAR)            /* DRAM, over gigabytes */                                               \
    TRAIT(SLOWEST_SM)     /* excess of the slowest SMs */                                          \
    TRAIT(SM_L1)          /* the same, by L1 */                                                    \
    TRAIT(SM_L2)          /* the same, by L2 */                                                    \
    TRAIT(SM_CLOCK)       /* the same, by clock */                                                 \
    TRAIT(SM_MEDIAN)      /* of the median SM */                                                   \
    TRAIT(TWO_SPEEDS)     /* L2 at two speeds within one run */                                    \
    TRAIT(DRAM_LEVEL)     /* latency of DRAM itself */                                             \
    TRAIT(DRAM_NS)        /* the same in ns, the SM's part included */                             \
    TRAIT(BEYOND_L2)      /* DRAM's part of a latency alone */                                     \
    TRAIT(LOAD_KNEE)      /* rate from which on latency rises */                                   \
    TRAIT(OWN_SHARED)     /* shared memory of the SM itself */                                     \
    TRAIT(CLUSTER)        /* shared memory of other SMs */                                         \
    TRAIT(ATOMIC)         /* atomic additions */                                                   \
    TRAIT(SUSTAINED)      /* change along a sustained load */                                      \
    TRAIT(COMPUTE)        /* wrong results of a computation */                                     \
    TRAIT(MEASURED_CLOCK) /* change of the clock as kernels measure it */                          \
    TRAIT(SM_CLOCK_STATE) /* SM clock as the driver reports it */                                  \
    TRAIT(MEMORY_CLOCK_STATE)                                                                      \
    TRAIT(THROTTLE)        /* share or number of samples with a reason for low clocks */           \
    TRAIT(LOCKED_CLOCKS)   /* the reason: application clocks */                                    \
    TRAIT(POWER_VIOLATION) /* time below the power limit's clocks */                               \
    TRAIT(RECOVERED)       /* errors that cost a retry: healthy devices may have some */           \
    TRAIT(MEMORY_ERROR)    /* errors and repairs of the run */                                     \
    TRAIT(EARLIER_ERROR)   /* the same, before the run */

enum pb_metric_trait_number {
#define TRAIT(name) PB_TRAIT_NUMBER_##name,
    PB_METRIC_TRAITS(TRAIT)
#undef TRAIT
};

#define PB_TRAIT(name) (1ull << PB_TRAIT_NUMBER_##name)

enum { PB_METRIC_NAME_LENGTH = 64 };

struct pb_metric {
    char name[PB_METRIC_NAME_LENGTH]; /* "l2.latency_cycles", "global_copy.peak_bytes_per_s" */
    char unit[PB_NAME_LENGTH];
    char test[PB_NAME_LENGTH]; /* where the evidence lies; empty: `state` */
    uint64_t method_version;   /* of the test; 0: its first. Numbers of two are two metrics */
    enum pb_part part;
    enum pb_domain domain;
    enum pb_better better;
    double quantum;   /* the smallest step this number can take; 0: none */
    double practical; /* relative shift below which no operator would act; absolute for fractions,
                         counts and states, in the metric's unit */
    double tolerance; /* the same from run to run of one device; 0: `practical` */
    uint64_t traits;  /* PB_TRAIT() */
};

/* A row of the catalogue; its metric has no test yet. */
struct pb_metric_row {
    struct pb_metric metric;
    const char *varies; /* pattern of tests by which it does not repeat; empty: none */
    const char *description;
};

extern const struct pb_metric_row pb_metric_rows[];
extern const size_t pb_metric_row_count;

/* The row of a metric, or of the list that it is an element of ("….2"). NULL: none. */
const struct pb_metric_row *pb_metric_row_find(const char *name);

/*
 * The metric of that row, as a test measures it. quantum: the step of this device's numbers where
 * that is larger than the catalogue's; 0: it is not. PB_INVALID: no such row.
 */
enum pb_status pb_metric_make(const char *name, const char *test, double quantum,
                              struct pb_metric *metric_out, struct pb_error *err);

/*
 * How far a healthy device may lie from what it was itself in one earlier run. Peers show how far
 * devices lie apart; one earlier run shows nothing of the kind, so these sizes are stated.
 */
struct pb_repeat {
    double warning, critical; /* relative (the greater over the smaller, less 1); absolute for
                                 fractions, counts and states. INFINITY: never */
    bool same_tests;          /* only runs of the same tests compare */
};

struct pb_repeat pb_repeat_of(const struct pb_metric *metric);

/* Such a size in the metric's unit, from `past` upwards or downwards. */
double pb_repeat_size(const struct pb_metric *metric, double size, double history, bool upwards);

const char *pb_part_name(enum pb_part part);
const char *pb_domain_name(enum pb_domain domain);

#endif
