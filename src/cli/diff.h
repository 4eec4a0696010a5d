/*
 * What plumb-diff compares: two sides, each some devices of a fleet file with their parameters, and
 * the differences of each pair.
 */
#ifndef PB_CLI_DIFF_H
#define PB_CLI_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/identity.h"
#include "core/record.h"
#include "h5schema/rows.h"

/* What one device, or the devices of one model, have as one parameter. */
struct pb_diff_value {
    char memory[PB_NAME_LENGTH], parameter[PB_NAME_LENGTH], unit[PB_NAME_LENGTH];
    char *text;                   /* a number, a list or a word; NULL: not determined */
    double number;                /* the same where it is one number, else NaN */
    double low, high, confidence; /* of a model: the lowest, the highest, the lowest */
    char test[PB_NAME_LENGTH];    /* its evidence */
    uint64_t method_version;      /* of that test; 0: its first */
};

struct pb_diff_device {
    char key[PB_KEY_LENGTH]; /* of a model: "16 devices" */
    char uuid[PB_TEXT_LENGTH];
    char model[PB_TEXT_LENGTH];
    bool is_simulated;
    struct pb_diff_value *values; /* [count], in the order of the analysis */
    size_t count, capacity;
};

struct pb_diff_side {
    char *path;
    struct pb_diff_device *devices; /* [count], by key */
    size_t count;
    bool is_chosen; /* the command line named a device or a model: there is one */
    bool is_stored; /* the parameters are those of /analysis/parameters; else inferred now */
};

/*
 * Reads a side. `name` is a file's path, or PATH:DEVICE, where DEVICE is a device's key, its UUID,
 * or the name of a model: its devices are then folded into one, each number their median.
 * pb_diff_side_clear() it, also after an error.
 *
 * PB_INVALID: no fleet file, or no such device; PB_NO_MEMORY; errors of the inference
 */
enum pb_status pb_diff_read(const char *name, struct pb_diff_side *side_out, struct pb_error *err);
void pb_diff_side_clear(struct pb_diff_side *side);

enum pb_diff_kind {
    PB_DIFF_STRUCTURE, /* a count, a size, a list or a word is another one */
    PB_DIFF_MEASURED,  /* the intervals of a measured quantity are apart by more than the tolerance
                        */
    PB_DIFF_ONLY_A,    /* determined in A alone */
    PB_DIFF_ONLY_B,
};

struct pb_difference {
    enum pb_diff_kind kind;
    const struct pb_diff_value *a, *b; /* NULL where that side does not have the parameter */
    double change;                     /* B over A, less 1; NaN where they are not two numbers */
    double rank;                       /* |ln(B / A)|; infinite where that has no meaning */
    double tolerance;                  /* of a measured quantity, relative; else 0 */
};

struct pb_differences {
    struct pb_difference *items; /* [count] worst first: by kind, then by rank */
    size_t count, capacity;
    size_t compared; /* parameters that both sides have determined */
    size_t beyond;   /* of those, how many differ */
    size_t
        other_method; /* that both have, but by two versions of their test's method: not compared */
};

/*
 * Compares two devices. Measured quantities (cycles, ns, MHz, bytes per second, ratios) differ
 * where their intervals do not meet and the values are apart by more than `tolerance` (relative, in
 * either direction; NaN: by the run-to-run tolerance of the metric catalogue); everything else
 * where the stated intervals do not meet or the text is another one. PB_NO_MEMORY.
 */
enum pb_status pb_diff_compare(const struct pb_diff_device *a, const struct pb_diff_device *b,
                               double tolerance, struct pb_differences *differences_out,
                               struct pb_error *err);
void pb_differences_clear(struct pb_differences *differences);

/* A pair of devices, by index into the sides; SIZE_MAX: the other side does not have it. */
struct pb_diff_pair {
    size_t a, b;
};

/*
 * Pairs the devices of two sides: by UUID, then by key and model; a side's only device with the
 * other's only one, whatever they are. free(*pairs_out): pairs first, then what only A has, then
 * what only B has.
 *
 * PB_INVALID: one device against several of which none is the same
 */
enum pb_status pb_diff_pairs(const struct pb_diff_side *a, const struct pb_diff_side *b,
                             struct pb_diff_pair **pairs_out, size_t *count_out,
                             struct pb_error *err);

#endif
