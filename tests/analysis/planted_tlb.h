/* Drawn devices with levels of translation planted in them, and whether those are found. */
#ifndef PB_TESTS_ANALYSIS_PLANTED_TLB_H
#define PB_TESTS_ANALYSIS_PLANTED_TLB_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/blind/profile.h"
#include "analysis/parameter.h"

/* The tests of the battery that tell of translation. */
extern const char planted_tests[];

/* A drawn device with an L2 that holds all lines of a chase, without noise. */
struct blind_profile planted_device(void);

/* LRU; ways[sets]. */
struct blind_tlb planted_level(uint64_t span_bytes, uint32_t penalty_cycles, size_t sets,
                               const uint32_t *ways);

/* Fails the test unless all of this level is found. */
void assert_planted_level(const struct pb_parameters *parameters, const char *memory,
                          const struct blind_tlb *tlb);

/* Measures the device and expects both levels as they were planted, and no more. */
void assert_planted(const struct blind_profile *profile);

#endif
