/*
 * How much of its own recorded accesses a device's parameters predict: a row for each test.
 * replay.h says what agrees, contradicts and is undetermined.
 */
#ifndef PB_ANALYSIS_AGREEMENT_AGREEMENT_H
#define PB_ANALYSIS_AGREEMENT_AGREEMENT_H

#include "analysis/inference.h"
#include "analysis/parameter.h"

enum { PB_AGREEMENT_REASONS = 16 };

/* Why accesses are undetermined: a parameter, "l2.policy", or what is in no file. */
struct pb_agreement_reason {
    char name[PB_TEXT_LENGTH];
    uint64_t accesses;
};

/* One test; plain data, which processes may pass on as bytes. */
struct pb_agreement_test {
    char test[PB_NAME_LENGTH];
    uint64_t accesses, agreed, contradicted, undetermined;
    /* Of the undetermined ones, most first; accesses of 0: no more. They sum up to `undetermined`,
       but for what the last one that there is room for leaves out. */
    struct pb_agreement_reason reasons[PB_AGREEMENT_REASONS];
    uint64_t worst_point; /* row of `points`: the chase that agrees least */
    uint64_t worst_accesses, worst_contradicted;
};

struct pb_agreement {
    struct pb_agreement_test *tests;
    size_t count;
};

/*
 * Replays all tests whose chases go through caches.
 *
 * parameters  as pb_infer_device() stated them
 * source      the same recordings again; each is read once or twice, one at a time
 *
 * PB_NO_MEMORY is the only error; a device without any cache has no rows.
 */
enum pb_status pb_agreement_measure(const struct pb_parameters *parameters,
                                    const struct pb_recordings *source,
                                    struct pb_agreement *agreement_out, struct pb_error *err);
void pb_agreement_clear(struct pb_agreement *agreement); /* NULL is allowed */

/* The sum of all rows; its test is empty, its worst chase that of the test named there. */
struct pb_agreement_test pb_agreement_total(const struct pb_agreement *agreement);

struct pb_replay;

/* A recording, or an empty one where there is none to read. PB_NO_MEMORY */
enum pb_status pb_agreement_load(const struct pb_recordings *source, const char *test,
                                 struct pb_recording *recording_out, struct pb_error *err);

/* Calibrates the replay by all tests that have references. PB_NO_MEMORY */
enum pb_status pb_agreement_calibrate(struct pb_replay *replay, const struct pb_recordings *source,
                                      struct pb_error *err);

/* Adds another one's accesses and reasons; the test and its worst chase stay. */
void pb_agreement_add(struct pb_agreement_test *to, const struct pb_agreement_test *from);

/* "l2.policy 20.1%, contents before the launch 3.2%": shares of all accesses, as many as fit. */
void pb_agreement_describe_reasons(const struct pb_agreement_test *test, char *text, size_t size);

#endif
