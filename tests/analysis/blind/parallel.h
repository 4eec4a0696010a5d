/*
 * What all SMs of a random device do at once, its links, and what it computes: at random, written
 * for the simulator, judged. Every part may be missing.
 */
#ifndef PB_TESTS_BLIND_PARALLEL_H
#define PB_TESTS_BLIND_PARALLEL_H

#include <stdint.h>
#include <stdio.h>

#include "analysis/blind/recover.h"

/* Draws profile->parallel from a state of its own, so that the rest of the device stays as it is.
 */
void blind_parallel_draw(struct blind_profile *profile);

/* The sections of the profile, each followed by a comma. */
void blind_parallel_write(FILE *file, const struct blind_profile *profile);

/* The fault that was chosen, "" where there is none. */
void blind_parallel_fault(const struct blind_profile *profile, char fault_out[64]);

/* The answers so far, and the checks; see judge.c. */
struct answers;
void blind_check_numbers(struct answers *answers, const char *memory, const char *name,
                         const double *truth, size_t count, double tolerance, double relative);
void blind_check_latency(struct answers *answers, const char *memory, const char *name,
                         double truth);
void blind_check_absent(struct answers *answers, const char *memory, const char *name);
void blind_check_missing(struct answers *answers, const char *memory);
/* May be stated or not: exact where it is the truth, to that tolerance, rightly nothing where not.
 */
void blind_check_either(struct answers *answers, const char *memory, const char *name, double truth,
                        double tolerance);

void blind_parallel_judge(struct answers *answers, const struct blind_profile *profile);

#endif
