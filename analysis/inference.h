/*
 * The inference: one table that says which recorded tests answer which parameters, and by what.
 *
 * Adding a parameter is one function and one row. A row's parameters are declared before its
 * function runs, so that each one is in the result: with a value, or with the reason why not.
 */
#ifndef PB_ANALYSIS_INFERENCE_H
#define PB_ANALYSIS_INFERENCE_H

#include <stddef.h>

#include "analysis/parameter.h"
#include "core/identity.h"
#include "core/record.h"

enum { PB_INFERENCE_TESTS_MAX = 3, PB_INFERENCE_ANSWERS_MAX = 9 };

struct pb_inference;

/* What an inference function gets: complete recordings, and what was stated before it. */
struct pb_case {
    const struct pb_inference *inference;
    const struct pb_device_info *info;     /* identity and theoretical peaks only */
    const struct pb_recording *recordings; /* one for each of inference->tests */
    struct pb_parameters *parameters;
};

struct pb_answer {
    const char *name, *unit;
};

struct pb_inference {
    const char *memory;
    /* NULL behind the last. "?test" may be missing: then its recording is empty. */
    const char *tests[PB_INFERENCE_TESTS_MAX];
    struct pb_answer answers[PB_INFERENCE_ANSWERS_MAX]; /* NULL name behind the last */
    /*
     * States what it can through pb_case_answer(). PB_NOT_FOUND or PB_INVALID with a message: that
     * is the reason for all it left open. Any other error ends the device's inference. NULL: a
     * later row of the same tests states these as well.
     */
    enum pb_status (*infer)(const struct pb_case *at, struct pb_error *err);
};

extern const struct pb_inference pb_inferences[]; /* ends with a NULL memory; runs in this order */

/* The row's own parameter of that name; a programming error if it is not declared. */
struct pb_parameter *pb_case_answer(const struct pb_case *at, const char *name);

/* Where recordings come from; a test is requested several times. */
struct pb_recordings {
    void *context;
    /*
     * The recording of a test, which stays the source's: not to be cleared. PB_NOT_FOUND: there is
     * none. PB_NO_MEMORY ends the inference; any other error is the reason for what cannot be said.
     */
    enum pb_status (*load)(void *context, const char *test, struct pb_recording *recording_out,
                           struct pb_error *err);
};

/*
 * Everything that can be said of one device.
 *
 * place           path of the device in its file, "/devices/n1.gpu0": the start of evidence paths
 * parameters_out  for pb_parameters_clear(); all parameters of the table
 * analysed_out    how many recordings could be read
 *
 * PB_NO_MEMORY is the only error.
 */
enum pb_status pb_infer_device(const struct pb_device_info *info, const char *place,
                               const struct pb_recordings *source,
                               struct pb_parameters *parameters_out, size_t *analysed_out,
                               struct pb_error *err);

/* The same by the rows of any table that ends with a NULL memory. */
enum pb_status pb_infer_rows(const struct pb_inference *rows, const struct pb_device_info *info,
                             const char *place, const struct pb_recordings *source,
                             struct pb_parameters *parameters_out, size_t *analysed_out,
                             struct pb_error *err);

#endif
