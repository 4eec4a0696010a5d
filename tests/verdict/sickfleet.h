/*
 * A fleet made by hand: like devices of known numbers, one of them sick. For tests of what is said
 * of known deviations; every failure fails the cmocka test that called.
 */
#ifndef PB_TESTS_VERDICT_SICKFLEET_H
#define PB_TESTS_VERDICT_SICKFLEET_H

#include "analysis/verdict/finding.h"

enum { NODES = 8, SLOTS = 4, SICK = 9 };

extern const char sick_key[];

/* One number of the sick device, instead of the healthy one. */
struct injected {
    const char *name;
    double value;
};

void put(struct pb_features *features, size_t device, const char *name, double value);

/* A healthy fleet without a row for what NVML cannot report. */
void make_fleet(int nodes, struct pb_features *features);

/* Gives the device SICK these numbers. */
void inject(struct pb_features *features, const struct injected *injected, size_t count);

/* Scores and judges; the feature table is gone afterwards. */
void judge(struct pb_features *features, struct pb_findings *findings);

/* One sick device among healthy ones, reported as one cause and nothing else. */
void expect_only(const struct injected *injected, size_t count, const char *cause,
                 enum pb_severity severity);

#define EXPECT_ONLY(cause, severity, ...)                                                          \
    do {                                                                                           \
        static const struct injected injected[] = {__VA_ARGS__};                                   \
        expect_only(injected, sizeof(injected) / sizeof(injected[0]), cause, severity);            \
    } while (0)

#endif
