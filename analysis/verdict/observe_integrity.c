/*
 * Integrity: how many words came back other than they were written, by all tests together.
 *
 * The count is the matrix of memory_integrity and the words of the other tests' messages, which is
 * where the battery puts what a kernel's own check has found: "12 words were copied wrong …",
 * "5 words of a transfer … arrived wrong", "chase over …: address A: expected B, found C (bits D)".
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/verdict/observe_parts.h"

enum { PATTERN_MISMATCHES = 1, PATTERN_ADDRESS = 2, PATTERN_QUANTITIES = 4 };

/* Words that a message counts; 0: it speaks of something else. */
static double count_in(const char *message)
{
    char *end = NULL;
    unsigned long long count = strtoull(message, &end, 10);

    if (end != message && strncmp(end, " words", 6) == 0 &&
        (strstr(end, "wrong") != NULL || strstr(end, "differ") != NULL))
        return (double)count;
    if (strstr(message, "expected 0x") != NULL && strstr(message, "(bits 0x") != NULL)
        return 1.0; /* a chase ends at the first wrong pointer */
    return 0.0;
}

/* "address 0x…" or "at 0x…" in a message; NaN: none. */
static double address_in(const char *message)
{
    const char *at = strstr(message, "address 0x");

    at = at != NULL ? at + strlen("address ") : strstr(message, "at 0x");
    if (at == NULL)
        return NAN;
    return (double)strtoull(strstr(at, "0x"), NULL, 16);
}

void pb_observe_check(struct pb_extractor *extractor, const struct pb_recording *recording)
{
    const struct pb_matrix *matrix = &recording->matrix;
    bool is_pattern = strcmp(recording->name, "memory_integrity") == 0 && matrix->rank == 1 &&
                      matrix->axes[0].length >= PATTERN_QUANTITIES && matrix->values != NULL;
    double count = is_pattern ? matrix->values[PATTERN_MISMATCHES] : count_in(recording->message);

    if (is_pattern || recording->outcome == PB_TEST_OK)
        extractor->checked = true;
    if (!(count > 0.0))
        return;
    extractor->mismatches += count;
    if (isnan(extractor->mismatch_address))
        extractor->mismatch_address =
            is_pattern ? matrix->values[PATTERN_ADDRESS] : address_in(recording->message);
}

void pb_observe_integrity(struct pb_extractor *extractor)
{
    bool has_address = isfinite(extractor->mismatch_address) && extractor->mismatch_address < 9e18;
    struct pb_reading cell = {extractor->mismatches, 0.0,
                              has_address ? (int64_t)extractor->mismatch_address : -1};

    if (extractor->checked || extractor->mismatches > 0.0)
        pb_extractor_put(extractor, "memory_integrity", "integrity", "mismatches", cell);
}
