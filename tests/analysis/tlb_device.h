/* Random devices with given TLB levels, and whether the inference finds these. */
#ifndef PB_TESTS_ANALYSIS_TLB_DEVICE_H
#define PB_TESTS_ANALYSIS_TLB_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/blind/profile.h"
#include "analysis/parameter.h"

/* The tests of the battery that show TLBs. */
extern const char tlb_tests[];

/* A random device with an L2 that holds all lines of a chase, without noise. */
struct blind_profile tlb_device(void);

/* LRU; ways[sets]. */
struct blind_tlb tlb_level(uint64_t span_bytes, uint32_t penalty_cycles, size_t sets,
                           const uint32_t *ways);

/* Fails the test unless all of this level is found. */
void assert_tlb_level(const struct pb_parameters *parameters, const char *memory,
                      const struct blind_tlb *tlb);

/* Measures the device and expects both levels as they were given, and no more. */
void assert_tlb_levels(const struct blind_profile *profile);

#endif
