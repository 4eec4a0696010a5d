/*
 * Reuse distances by the moments of last use: a bit for each, and a Fenwick tree over words of 64
 * bits, which is so small that it stays in the cache. See reuse.h.
 */
#include "analysis/model/reuse.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MOMENTS_MIN = 1024, WORD_BITS = 64 }; /* moments: whole words */

/* A line and its last use, 1 …; 0: this place is free. */
struct use {
    uint64_t line;
    uint32_t moment;
};

struct pb_model_reuse {
    struct use *uses; /* [use_mask + 1] open addressing */
    size_t use_mask;
    unsigned use_shift;
    uint64_t *words; /* [moments / 64] bit m % 64 of word m / 64: a line was last used at m + 1 */
    uint32_t *tree;  /* [moments / 64 + 1] Fenwick: how many bits of a word are set */
    uint32_t moments, now;
    size_t lines;
};

static size_t home_of(const struct pb_model_reuse *reuse, uint64_t line)
{
    return (size_t)(line * UINT64_C(0x9e3779b97f4a7c15) >> reuse->use_shift);
}

/* The place of the line, or the free one where it belongs. */
static struct use *find(const struct pb_model_reuse *reuse, uint64_t line)
{
    size_t at = home_of(reuse, line);

    while (reuse->uses[at].moment != 0 && reuse->uses[at].line != line)
        at = (at + 1) & reuse->use_mask;
    return &reuse->uses[at];
}

static void flip(struct pb_model_reuse *reuse, uint32_t moment, uint32_t change)
{
    uint32_t words = reuse->moments / WORD_BITS;

    reuse->words[(moment - 1) / WORD_BITS] ^= UINT64_C(1) << (moment - 1) % WORD_BITS;
    for (uint32_t at = (moment - 1) / WORD_BITS + 1; at <= words; at += at & -at)
        reuse->tree[at] += change;
}

/* Lines last used up to a moment. */
static uint32_t sum_to(const struct pb_model_reuse *reuse, uint32_t moment)
{
    uint64_t up_to = UINT64_MAX >> (WORD_BITS - 1 - (moment - 1) % WORD_BITS);
    uint32_t at = (moment - 1) / WORD_BITS;
    uint32_t sum = (uint32_t)__builtin_popcountll(reuse->words[at] & up_to);

    for (; at > 0; at -= at & -at)
        sum += reuse->tree[at];
    return sum;
}

enum pb_status pb_model_reuse_create(struct pb_model_reuse **reuse_out, struct pb_error *err)
{
    struct pb_model_reuse *reuse = calloc(1, sizeof(*reuse));

    if (reuse != NULL) {
        reuse->moments = MOMENTS_MIN;
        reuse->use_mask = MOMENTS_MIN - 1;
        reuse->use_shift = 64 - 10;
        reuse->uses = calloc(MOMENTS_MIN, sizeof(*reuse->uses));
        reuse->words = calloc(MOMENTS_MIN / WORD_BITS, sizeof(*reuse->words));
        reuse->tree = calloc(MOMENTS_MIN / WORD_BITS + 1, sizeof(*reuse->tree));
    }
    if (reuse == NULL || reuse->uses == NULL || reuse->words == NULL || reuse->tree == NULL) {
        pb_model_reuse_destroy(reuse);
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating reuse distances");
    }
    *reuse_out = reuse;
    return PB_OK;
}

void pb_model_reuse_destroy(struct pb_model_reuse *reuse)
{
    if (reuse == NULL)
        return;
    free(reuse->uses);
    free(reuse->words);
    free(reuse->tree);
    free(reuse);
}

/* Twice the places, so that at most half of them are ever used. */
static enum pb_status grow(struct pb_model_reuse *reuse, struct pb_error *err)
{
    size_t old = reuse->use_mask + 1;
    struct use *uses = calloc(2 * old, sizeof(*uses)), *kept = reuse->uses;

    if (uses == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu lines", 2 * old);
    reuse->uses = uses;
    reuse->use_mask = 2 * old - 1;
    reuse->use_shift--;
    for (size_t i = 0; i < old; i++)
        if (kept[i].moment != 0)
            *find(reuse, kept[i].line) = kept[i];
    free(kept);
    return PB_OK;
}

/* All moments are used: those that no line was last used at are left out, and there is room. */
static enum pb_status renumber(struct pb_model_reuse *reuse, struct pb_error *err)
{
    size_t wanted = 4 * reuse->lines > MOMENTS_MIN ? 4 * reuse->lines : MOMENTS_MIN;
    size_t words = (wanted + WORD_BITS - 1) / WORD_BITS;
    uint64_t *bits = calloc(words, sizeof(*bits));
    uint32_t *tree = calloc(words + 1, sizeof(*tree));

    if (bits == NULL || tree == NULL || words >= UINT32_MAX / WORD_BITS) {
        free(bits);
        free(tree);
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu moments", wanted);
    }
    for (size_t i = 0; i <= reuse->use_mask; i++)
        if (reuse->uses[i].moment != 0)
            reuse->uses[i].moment = sum_to(reuse, reuse->uses[i].moment);
    for (size_t i = 0; i < reuse->lines; i++)
        bits[i / WORD_BITS] |= UINT64_C(1) << i % WORD_BITS;
    for (size_t at = 1; at <= words; at++) { /* in one pass */
        size_t parent = at + (at & -at);

        tree[at] += (uint32_t)__builtin_popcountll(bits[at - 1]);
        if (parent <= words)
            tree[parent] += tree[at];
    }
    free(reuse->words);
    free(reuse->tree);
    reuse->words = bits;
    reuse->tree = tree;
    reuse->moments = (uint32_t)(words * WORD_BITS);
    reuse->now = (uint32_t)reuse->lines;
    return PB_OK;
}

uint64_t pb_model_reuse_distance(const struct pb_model_reuse *reuse, uint64_t line)
{
    const struct use *use = find(reuse, line);

    return use->moment == 0 ? PB_MODEL_COLD : reuse->lines - sum_to(reuse, use->moment);
}

enum pb_status pb_model_reuse_access(struct pb_model_reuse *reuse, uint64_t line,
                                     uint64_t *distance_out, struct pb_error *err)
{
    enum pb_status status = PB_OK;
    struct use *use;

    if (2 * (reuse->lines + 1) > reuse->use_mask + 1)
        status = grow(reuse, err);
    if (status == PB_OK && reuse->now == reuse->moments)
        status = renumber(reuse, err);
    if (status != PB_OK)
        return status;
    use = find(reuse, line);
    *distance_out = PB_MODEL_COLD;
    if (use->moment == 0) {
        reuse->lines++;
    } else {
        *distance_out = reuse->lines - sum_to(reuse, use->moment);
        flip(reuse, use->moment, UINT32_MAX);
    }
    *use = (struct use){line, ++reuse->now};
    flip(reuse, reuse->now, 1);
    return PB_OK;
}

void pb_model_reuse_forget(struct pb_model_reuse *reuse, uint64_t line)
{
    struct use *use = find(reuse, line);
    size_t gap = (size_t)(use - reuse->uses), mask = reuse->use_mask;

    if (use->moment == 0)
        return;
    flip(reuse, use->moment, UINT32_MAX);
    reuse->lines--;
    for (size_t at = (gap + 1) & mask; reuse->uses[at].moment != 0; at = (at + 1) & mask) {
        size_t home = home_of(reuse, reuse->uses[at].line);

        if (((at - home) & mask) < ((at - gap) & mask))
            continue;
        reuse->uses[gap] = reuse->uses[at];
        gap = at;
    }
    reuse->uses[gap].moment = 0;
}

size_t pb_model_reuse_lines(const struct pb_model_reuse *reuse)
{
    return reuse->lines;
}

enum { EXACT_BITS = 10, STEP_BITS = 6 }; /* of EXACT and STEPS */

size_t pb_model_histogram_class(uint64_t distance)
{
    unsigned octave;

    if (distance < PB_MODEL_HISTOGRAM_EXACT)
        return (size_t)distance;
    octave = 63 - (unsigned)__builtin_clzll(distance);
    return PB_MODEL_HISTOGRAM_EXACT + (size_t)(octave - EXACT_BITS) * PB_MODEL_HISTOGRAM_STEPS +
           (size_t)(distance >> (octave - STEP_BITS) & (PB_MODEL_HISTOGRAM_STEPS - 1));
}

uint64_t pb_model_histogram_low(size_t class_index)
{
    size_t beyond = class_index - PB_MODEL_HISTOGRAM_EXACT;
    unsigned octave = (unsigned)(beyond / PB_MODEL_HISTOGRAM_STEPS) + EXACT_BITS;

    if (class_index < PB_MODEL_HISTOGRAM_EXACT)
        return class_index;
    return (UINT64_C(1) << octave) +
           ((uint64_t)(beyond % PB_MODEL_HISTOGRAM_STEPS) << (octave - STEP_BITS));
}

void pb_model_histogram_add(struct pb_model_histogram *histogram, uint64_t distance)
{
    histogram->total++;
    if (distance == PB_MODEL_COLD)
        histogram->cold++;
    else
        histogram->counts[pb_model_histogram_class(distance)]++;
}
