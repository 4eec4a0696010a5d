/*
 * What every injected fault of design 3.5 ought to be reported as, and who may be named for it.
 */
#ifndef PB_TESTS_VERDICT_FAULTS_H
#define PB_TESTS_VERDICT_FAULTS_H

#include "analysis/verdict/finding.h"

enum { FAULT_STRENGTHS = 2, FAULT_KINDS = 14, FAULT_CAUSES = 2 };

struct fault_kind {
    const char *name;
    const char *specs[FAULT_STRENGTHS]; /* near the practical size, and plain */
    const char *faint;                  /* at the practical size, where it may be missed */
    const char *causes[FAULT_CAUSES];   /* any of these words */
    enum pb_level level;
};

extern const struct fault_kind fault_kinds[FAULT_KINDS];

enum fault_verdict { FAULT_MISSED, FAULT_FOUND, FAULT_RIGHT };

/* FOUND: something names the device. RIGHT: with the cause and the level that it has. */
enum fault_verdict fault_verdict_of(const struct pb_findings *findings,
                                    const struct fault_kind *kind, const char *key);

/* The same of a fault that all devices of a place have: a node, or a slot of several nodes. */
enum fault_verdict fault_verdict_at(const struct pb_findings *findings,
                                    const struct fault_kind *kind, enum pb_level level,
                                    const char *place);

/* Findings that name none of the sick devices, but for what could not have been shown. */
size_t fault_blamed(const struct pb_findings *findings, const char *const *sick, size_t count);

void fault_print(const char *title, const struct pb_findings *findings);

#endif
