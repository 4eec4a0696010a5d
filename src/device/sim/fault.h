/*
 * Injected faults (design 3.5): what is wrong with a simulated device. A fault may be given several
 * times, for several SMs or tests; factors of one kind multiply, of the others the first counts.
 */
#ifndef PB_DEVICE_SIM_FAULT_H
#define PB_DEVICE_SIM_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/record.h"

enum pb_sim_fault_kind {
    PB_SIM_FAULT_CLOCK,          /* clock=F */
    PB_SIM_FAULT_DRAM_BANDWIDTH, /* dram_bandwidth=F */
    PB_SIM_FAULT_L2_BANDWIDTH,   /* l2_bandwidth=F: of all SMs at once */
    PB_SIM_FAULT_DRAM_LATENCY,   /* dram_latency=F */
    PB_SIM_FAULT_L2_LATENCY,     /* l2_latency=F: of all chip-wide caches */
    PB_SIM_FAULT_L1_SIZE,        /* l1_size=F: of all caches of an SM */
    PB_SIM_FAULT_SM_SLOW,        /* sm_slow=SM:F: loads from that SM */
    PB_SIM_FAULT_SM_L1_SIZE,     /* sm_l1_size=SM:F: of all caches of that SM */
    PB_SIM_FAULT_SM_CONFLICT,    /* sm_conflict=SM:F: what bank conflicts cost on that SM */
    PB_SIM_FAULT_TAIL,           /* tail=PROBABILITY:CYCLES: loads that leave their SM */
    PB_SIM_FAULT_THROTTLE,       /* throttle=F@SECONDS of the device's own time */
    PB_SIM_FAULT_PCIE_WIDTH,     /* pcie_width=N */
    PB_SIM_FAULT_BITFLIP,        /* bitflip=PROBABILITY of each word read */
    PB_SIM_FAULT_HANG,           /* hang@TEST */
    PB_SIM_FAULT_CRASH,          /* crash@TEST */
    PB_SIM_FAULT_LOST,           /* lost@TEST: from that test on */
    PB_SIM_FAULT_ABSENT,         /* absent */
    PB_SIM_FAULT_LOAD_KNEE,      /* load_knee=F: of the traffic beside which latency stays low */
    PB_SIM_FAULT_ATOMIC_RATE,    /* atomic_rate=F */
    PB_SIM_FAULT_DSM_LATENCY,    /* dsm_latency=F: of shared memory of other SMs */
    PB_SIM_FAULT_PEER_LATENCY,   /* peer_latency=F: of the way to the memory of other devices */
    PB_SIM_FAULT_COMPUTE_FLIP,   /* compute_flip=SM:PROBABILITY of each run on that SM */
};

struct pb_sim_fault {
    enum pb_sim_fault_kind kind;
    double value;   /* factor, probability or width */
    double cycles;  /* of a tail */
    double seconds; /* of a throttle */
    int64_t sm;     /* of a slow SM */
    char test[PB_NAME_LENGTH];
};

struct pb_sim_faults {
    struct pb_sim_fault *list;
    size_t count;
};

/*
 * Reads one specification. PB_INVALID: an unknown name, a value that is no number or out of range,
 * or something left over; err says what was expected and what was found.
 */
enum pb_status pb_sim_fault_parse(const char *spec, struct pb_sim_fault *fault_out,
                                  struct pb_error *err);

/* Reads all; pb_sim_faults_free() them. */
enum pb_status pb_sim_faults_parse(const char *const *specs, size_t count,
                                   struct pb_sim_faults *faults_out, struct pb_error *err);
void pb_sim_faults_free(struct pb_sim_faults *faults);

/* Product of the values of this kind; 1 when there is none. */
double pb_sim_faults_factor(const struct pb_sim_faults *faults, enum pb_sim_fault_kind kind);

/* The first of this kind, or NULL. */
const struct pb_sim_fault *pb_sim_faults_find(const struct pb_sim_faults *faults,
                                              enum pb_sim_fault_kind kind);

/* The chance that a word is read wrong; 0 on a healthy device. */
double pb_sim_faults_bitflip(const struct pb_sim_faults *faults);

/* True when a fault of this kind names the test. */
bool pb_sim_faults_strike(const struct pb_sim_faults *faults, enum pb_sim_fault_kind kind,
                          const char *test);

#endif
