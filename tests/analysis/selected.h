/* Some tests of the battery on a simulated device, and what the inference makes of them alone. */
#ifndef PB_TESTS_ANALYSIS_SELECTED_H
#define PB_TESTS_ANALYSIS_SELECTED_H

#include "analysis/blind/profile.h"
#include "analysis/parameter.h"

/*
 * Runs the comma-separated tests, in the battery's order. `profile`: a name or a file. Fails the
 * test on any error. pb_parameters_clear() the result.
 */
void selected_infer(const char *profile, const char *tests, struct pb_parameters *parameters_out);

/* The same of a random device. */
void selected_infer_profile(const struct blind_profile *profile, const char *tests,
                            struct pb_parameters *parameters_out);

/* The same, without phases of these names: as if they had not been measured. NULL ends them. */
void selected_infer_without(const struct blind_profile *profile, const char *tests,
                            const char *const *phases, struct pb_parameters *parameters_out);

/* The same of a shipped profile with other caches: from the text `first` up to the text `behind`.
 */
void selected_infer_replaced(const char *profile, const char *first, const char *behind,
                             const char *caches, const char *tests,
                             struct pb_parameters *parameters_out);

/* The parameter; fails the test when it has no value. */
const struct pb_parameter *selected_find(const struct pb_parameters *parameters, const char *memory,
                                         const char *name);

/* Fails the test unless the number, or the list, is this; NaN in a list stands for none. */
void assert_number(const struct pb_parameters *parameters, const char *memory, const char *name,
                   double value, double tolerance);
void assert_numbers(const struct pb_parameters *parameters, const char *memory, const char *name,
                    const double *values, size_t count, double tolerance);

/* Fails the test unless there is no value and this text in the reason. */
void assert_open(const struct pb_parameters *parameters, const char *memory, const char *name,
                 const char *reason);

#endif
