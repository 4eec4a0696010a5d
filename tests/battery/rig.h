/*
 * What the tests of the battery share: a session on a simulated device, one test run on it, and
 * looking into what it has recorded. Everything here fails the running test when it cannot do its
 * job.
 */
#ifndef PB_TESTS_BATTERY_RIG_H
#define PB_TESTS_BATTERY_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "battery/battery.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A device of a shipped profile with one fault, or NULL; the standard battery. */
void rig_open(const char *profile, const char *fault, struct pb_session *session_out);

/*
 * A device that a test describes itself: the arrays `caches` and `tlbs` of its profile as JSON,
 * and further members, each with a comma before it, or "". Jitter of one cycle, no spikes unless
 * `more` has a member "noise" of its own.
 */
void rig_open_custom(const char *caches, const char *tlbs, const char *more,
                     struct pb_session *session_out);

/* Runs a test that must end well; pb_recording_clear() the recording. */
void rig_run(struct pb_session *session, const char *test, struct pb_recording *recording_out);

/* Both in one, for a test that needs nothing from others. */
void rig_record(const char *profile, const char *test, struct pb_recording *recording_out);

/* The next point of this phase and path (NULL: any) from *at on, which moves on; NULL: none. */
const struct pb_point *rig_next(const struct pb_recording *recording, const char *phase,
                                const char *path, size_t *at);

/* The first one; there must be one. */
const struct pb_point *rig_find(const struct pb_recording *recording, const char *phase,
                                const char *path);

/* Net of the overhead: access i of a point, and the median of them all. */
double rig_cycles(const struct pb_recording *recording, const struct pb_point *point, size_t i);
double rig_median(const struct pb_recording *recording, const struct pb_point *point);

/* How many accesses of a point take from low to high cycles. */
size_t rig_count(const struct pb_recording *recording, const struct pb_point *point, double low,
                 double high);

/* The offset of access i. */
uint64_t rig_index(const struct pb_recording *recording, const struct pb_point *point, size_t i);

/* Where an axis has this value, or this label. */
size_t rig_at(const struct pb_axis *axis, double value);
size_t rig_label(const struct pb_axis *axis, const char *label);

/* The value at places[rank]. */
double rig_value(const struct pb_matrix *matrix, const size_t *places);

#endif
