/*
 * A device made of recordings: gives them to the inference one by one and keeps what it states.
 */
#ifndef PB_TESTS_ANALYSIS_DEVICE_H
#define PB_TESTS_ANALYSIS_DEVICE_H

#include "analysis/inference.h"

enum { DEVICE_RECORDINGS_MAX = 16 };

struct device {
    struct pb_device_info info;
    struct pb_recording recordings[DEVICE_RECORDINGS_MAX];
    size_t count;
    struct pb_parameters parameters;
    size_t analysed;
};

/* A new recording of that test, ok and empty. */
struct pb_recording *device_record(struct device *device, const char *test);

/* Infers from all recordings. Fails the test on any error. */
void device_infer(struct device *device);

void device_clear(struct device *device);

/* Fails the test unless the parameter has exactly this value, inside its interval. */
void assert_value(const struct device *device, const char *memory, const char *name, double value);

/* Fails the test unless the parameter has no value and this text in its reason. */
void assert_none(const struct device *device, const char *memory, const char *name,
                 const char *reason);

const struct pb_parameter *device_parameter(const struct device *device, const char *memory,
                                            const char *name);

#endif
