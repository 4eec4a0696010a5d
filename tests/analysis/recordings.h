/*
 * Recordings of a simulated device: the tests of the battery that the inference reads, and what it
 * makes of them.
 */
#ifndef PB_TESTS_ANALYSIS_RECORDINGS_H
#define PB_TESTS_ANALYSIS_RECORDINGS_H

#include "analysis/parameter.h"
#include "core/identity.h"
#include "core/record.h"

enum { RECORDINGS_MAX = 96 };

struct pb_device_request;

struct recordings {
    struct pb_device_info info;
    struct pb_recording items[RECORDINGS_MAX];
    size_t count;
};

/* Runs every test of the standard battery that an inference reads. `profile`: a name or a file. */
enum pb_status recordings_measure(const char *profile, uint64_t seed,
                                  struct recordings *recordings_out, struct pb_error *err);
enum pb_status recordings_measure_request(const struct pb_device_request *request,
                                          struct recordings *recordings_out, struct pb_error *err);

/* The same of these tests alone, whether an inference reads them or not; NULL ends them. */
enum pb_status recordings_measure_only(const char *profile, uint64_t seed, const char *const *tests,
                                       struct recordings *recordings_out, struct pb_error *err);

/* A test's recording, as struct pb_recordings loads it. PB_NOT_FOUND: there is none. */
enum pb_status recordings_load(void *recordings, const char *test,
                               struct pb_recording *recording_out, struct pb_error *err);

enum pb_status recordings_infer(const struct recordings *recordings,
                                struct pb_parameters *parameters_out, struct pb_error *err);

void recordings_clear(struct recordings *recordings);

#endif
