/*
 * Exact reuse distances: how many different lines were used since a line was used last (Mattson's
 * stack distance; N14 2.2). A fully associative LRU cache of n lines hits where the distance is
 * below n.
 *
 * An access costs O(log n) for n different lines, and memory is in proportion to them, 32 to 70
 * bytes each beyond a few hundred: moments of last use are bits that are counted in blocks and by a
 * Fenwick tree over blocks, and renumbered whenever they run out.
 */
#ifndef PB_ANALYSIS_MODEL_REUSE_H
#define PB_ANALYSIS_MODEL_REUSE_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

#define PB_MODEL_COLD UINT64_MAX /* the distance of a line's first use */

struct pb_model_reuse;

enum pb_status pb_model_reuse_create(struct pb_model_reuse **reuse_out, struct pb_error *err);
void pb_model_reuse_destroy(struct pb_model_reuse *reuse); /* NULL is allowed */

/* Uses a line; its distance, or PB_MODEL_COLD. PB_NO_MEMORY leaves all as it was. */
enum pb_status pb_model_reuse_access(struct pb_model_reuse *reuse, uint64_t line,
                                     uint64_t *distance_out, struct pb_error *err);

/* The distance that using the line now would have, without using it. */
uint64_t pb_model_reuse_distance(const struct pb_model_reuse *reuse, uint64_t line);

/* The line leaves the stack, as one that was invalidated does: its next use is a first one. */
void pb_model_reuse_forget(struct pb_model_reuse *reuse, uint64_t line);

/* Different lines in the stack. */
size_t pb_model_reuse_lines(const struct pb_model_reuse *reuse);

/*
 * How often each distance occurred: exactly up to a bound, beyond it by octaves of which each has
 * PB_MODEL_HISTOGRAM_STEPS classes.
 */
enum {
    PB_MODEL_HISTOGRAM_EXACT = 1024,
    PB_MODEL_HISTOGRAM_STEPS = 64,
    PB_MODEL_HISTOGRAM_SIZE = 4480
};

struct pb_model_histogram {
    uint64_t counts[PB_MODEL_HISTOGRAM_SIZE];
    uint64_t cold, total;
};

void pb_model_histogram_add(struct pb_model_histogram *histogram, uint64_t distance);

/*
 * Uses a line and counts its distance. It waits for some later uses meanwhile, so that the memory's
 * latency is hidden; before any other call for these lines, pb_model_reuse_count_rest() counts what
 * still waits. PB_NO_MEMORY loses the use.
 */
enum pb_status pb_model_reuse_count(struct pb_model_reuse *reuse, uint64_t line,
                                    struct pb_model_histogram *histogram, struct pb_error *err);
enum pb_status pb_model_reuse_count_rest(struct pb_model_reuse *reuse,
                                         struct pb_model_histogram *histogram,
                                         struct pb_error *err);

/* The class of a distance, and the least distance of a class. */
size_t pb_model_histogram_class(uint64_t distance);
uint64_t pb_model_histogram_low(size_t class_index);

#endif
