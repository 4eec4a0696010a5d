/*
 * Fleets out of simulated devices that were measured once: every device becomes a row, and rows are
 * put together to as many fleets as a test wants.
 *
 * Devices are measured in this process, by the battery. What a supervisor would see of a kernel
 * that hangs or a probe that dies is written down as it does it: the test ends so, the device is
 * opened anew, the other tests go on.
 */
#ifndef PB_TESTS_VERDICT_FLEETBUILD_H
#define PB_TESTS_VERDICT_FLEETBUILD_H

#include "analysis/verdict/finding.h"
#include "battery/battery.h"

enum { FLEETBUILD_FAULTS_MAX = 4 };

/* One device of a fleet: where it stands and what is wrong with it. */
struct fleetbuild_device {
    const char *profile; /* a name or a file */
    const char *host;
    int64_t slot;
    const char *faults[FLEETBUILD_FAULTS_MAX]; /* design 3.5; NULL behind the last */
    enum pb_battery battery;
    const char *const *tests; /* of these alone, NULL behind the last; NULL: all of the battery */
};

/* Measures and observes a device: a feature table of one device. Spread as in design 3.5's
 * example. */
enum pb_status fleetbuild_measure(const struct fleetbuild_device *device,
                                  struct pb_features *row_out, struct pb_error *err);

/* Adds the only device of `row` to a fleet. */
enum pb_status fleetbuild_add(struct pb_features *fleet, const struct pb_features *row,
                              struct pb_error *err);

/* Scores and judges with the usual options. */
enum pb_status fleetbuild_judge(const struct pb_features *fleet, struct pb_findings *findings_out,
                                struct pb_error *err);

/* Fails the cmocka test unless every finding's cause has a row of its own in the default policy. */
void fleetbuild_expect_policy(const struct pb_findings *findings);

/* The first finding of that cause at that device or place; NULL: none. */
const struct pb_finding *fleetbuild_find(const struct pb_findings *findings, const char *cause,
                                         const char *place);

#endif
