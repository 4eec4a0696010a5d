/*
 * Why a parameter has no value. A reason begins with its kind, behind "test NAME: " where one test
 * is meant, so that the kind is also in a file: "too few observations: 3 lines of …".
 */
#ifndef PB_ANALYSIS_REASON_H
#define PB_ANALYSIS_REASON_H

#include <stdbool.h>

struct pb_reason_kind {
    const char *words;  /* that a reason of this kind begins with */
    const char *remedy; /* what would determine the parameter */
    bool shows_none;    /* the measurements are complete and show no such thing */
};

/* NULL: the reason names no kind. */
const struct pb_reason_kind *pb_reason_kind_of(const char *reason);

/* Does the reason say that the device has no such thing? */
bool pb_reason_is_absence(const char *reason);

#endif
