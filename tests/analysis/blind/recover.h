/*
 * What the inference makes of a random device: the battery on the simulator, the inference on its
 * recordings alone, every stated value against the truth.
 */
#ifndef PB_TESTS_BLIND_RECOVER_H
#define PB_TESTS_BLIND_RECOVER_H

#include "analysis/blind/profile.h"
#include "analysis/parameter.h"

enum blind_verdict {
    BLIND_EXACT,    /* the truth, or rightly nothing */
    BLIND_BOUNDED,  /* another value, in an interval that holds the truth */
    BLIND_WRONG,    /* neither */
    BLIND_SPURIOUS, /* stated of what the device does not have */
    BLIND_NULL,     /* not stated, though the device has it */
    BLIND_UNJUDGED, /* stated, and no rule knows the truth */
    BLIND_VERDICTS
};

struct blind_result {
    char name[2 * PB_NAME_LENGTH]; /* "l1.size_bytes" */
    enum blind_verdict verdict;
    double confidence;
    double votes;                   /* what the confidence was calibrated from */
    char detail[PB_MESSAGE_LENGTH]; /* what was expected and found */
};

enum { BLIND_RESULTS_MAX = 512 };

/* Wrong or spurious: what must not be. */
static inline bool blind_is_false(const struct blind_result *result)
{
    return result->verdict == BLIND_WRONG || result->verdict == BLIND_SPURIOUS;
}

/* Every parameter that has a rule or a value; returns how many results there are. */
size_t blind_judge(const struct pb_parameters *parameters, const struct blind_profile *profile,
                   struct blind_result results_out[BLIND_RESULTS_MAX]);

/*
 * Measures and infers. Returns how many results there are; 0 when the device cannot be measured,
 * with the reason in the first one's detail.
 */
size_t blind_recover(const struct blind_profile *profile, const char *folder,
                     struct blind_result results_out[BLIND_RESULTS_MAX]);

#endif
