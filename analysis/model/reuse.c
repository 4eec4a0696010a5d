/*
 * Reuse distances by the moments of last use: a bit for each, in blocks of a cache line that hold
 * their own counts, and a Fenwick tree over blocks. For a million lines all of it is below a
 * megabyte, so that only the places of lines lie beyond the nearest caches. See reuse.h.
 */
#include "analysis/model/reuse.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORD_BITS = 64,
    BLOCK_WORDS = 7,
    BLOCK_MOMENTS = WORD_BITS * BLOCK_WORDS,
    BLOCKS_MIN = 4,
    USES_MIN_BITS = 10,
    WAITING_COUNT = 16 /* uses that are fetched ahead: what one waits for memory */
};

/* A line and its last use, 1 …; 0: this place is free. */
struct use {
    uint64_t line;
    uint32_t moment;
};

/* A cache line. */
struct block {
    uint64_t words[BLOCK_WORDS]; /* bit m % 64 of word m / 64: a line was last used at m + 1 */
    uint64_t counts;             /* byte w: how many bits of word w are set */
};

struct pb_model_reuse {
    struct use *uses; /* [use_mask + 1] open addressing */
    size_t use_mask;
    unsigned use_shift;
    struct block *blocks; /* [block_count] */
    uint32_t *tree; /* [block_count + 1] Fenwick: bits of each block that is full of moments */
    uint32_t block_count;
    uint32_t now; /* the last moment; now / BLOCK_MOMENTS blocks are full of moments */
    size_t lines;
    uint64_t waiting[WAITING_COUNT]; /* a ring of lines; use number u is at u % WAITING_COUNT */
    size_t first_waiting, next_waiting;
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

/* Inline on every processor, which the compiler's own is only where an instruction is certain. */
static uint32_t count_bits(uint64_t word)
{
    word -= word >> 1 & UINT64_C(0x5555555555555555);
    word = (word & UINT64_C(0x3333333333333333)) + (word >> 2 & UINT64_C(0x3333333333333333));
    word = (word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (uint32_t)(word * UINT64_C(0x0101010101010101) >> 56);
}

static uint32_t sum_bytes(uint64_t counts)
{
    uint64_t pairs =
        (counts & UINT64_C(0x00ff00ff00ff00ff)) + (counts >> 8 & UINT64_C(0x00ff00ff00ff00ff));

    return (uint32_t)(pairs * UINT64_C(0x0001000100010001) >> 48);
}

/* Lines last used in the block that the moment is in, up to it. */
static uint32_t sum_in_block(const struct block *block, uint32_t moment)
{
    uint32_t bit = (moment - 1) % BLOCK_MOMENTS, word = bit / WORD_BITS;

    return count_bits(block->words[word] & UINT64_MAX >> (WORD_BITS - 1 - bit % WORD_BITS)) +
           sum_bytes(block->counts & ((UINT64_C(1) << 8 * word) - 1));
}

static void add_to_tree(struct pb_model_reuse *reuse, uint32_t block, uint32_t change)
{
    for (uint32_t at = block + 1; at <= reuse->block_count; at += at & -at)
        reuse->tree[at] += change;
}

/* A moment later, at which a line is used; there has to be room. */
static uint32_t add_moment(struct pb_model_reuse *reuse)
{
    uint32_t index = reuse->now / BLOCK_MOMENTS, bit = reuse->now % BLOCK_MOMENTS;
    struct block *block = &reuse->blocks[index];

    block->words[bit / WORD_BITS] |= UINT64_C(1) << bit % WORD_BITS;
    block->counts += UINT64_C(1) << 8 * (bit / WORD_BITS);
    if (++reuse->now % BLOCK_MOMENTS == 0)
        add_to_tree(reuse, index, sum_bytes(block->counts));
    return reuse->now;
}

/* No line was last used at this moment any more. */
static void remove_moment(struct pb_model_reuse *reuse, uint32_t moment)
{
    uint32_t index = (moment - 1) / BLOCK_MOMENTS, bit = (moment - 1) % BLOCK_MOMENTS;
    struct block *block = &reuse->blocks[index];

    block->words[bit / WORD_BITS] &= ~(UINT64_C(1) << bit % WORD_BITS);
    block->counts -= UINT64_C(1) << 8 * (bit / WORD_BITS);
    if (index < reuse->now / BLOCK_MOMENTS)
        add_to_tree(reuse, index, UINT32_MAX);
}

/* Lines last used up to a moment. */
static uint32_t sum_to(const struct pb_model_reuse *reuse, uint32_t moment)
{
    uint32_t at = (moment - 1) / BLOCK_MOMENTS;
    uint32_t sum = sum_in_block(&reuse->blocks[at], moment);

    for (; at > 0; at -= at & -at)
        sum += reuse->tree[at];
    return sum;
}

/* Blocks without a bit, and a tree of them; false: there is no memory. */
static bool make_blocks(size_t count, struct block **blocks_out, uint32_t **tree_out)
{
    bool fits = count < UINT32_MAX / BLOCK_MOMENTS;
    struct block *blocks = fits ? aligned_alloc(sizeof(*blocks), count * sizeof(*blocks)) : NULL;
    uint32_t *tree = calloc(count + 1, sizeof(*tree));

    if (blocks == NULL || tree == NULL) {
        free(blocks);
        free(tree);
        return false;
    }
    memset(blocks, 0, count * sizeof(*blocks));
    *blocks_out = blocks;
    *tree_out = tree;
    return true;
}

enum pb_status pb_model_reuse_create(struct pb_model_reuse **reuse_out, struct pb_error *err)
{
    struct pb_model_reuse *reuse = calloc(1, sizeof(*reuse));
    bool has_blocks = false;

    if (reuse != NULL) {
        reuse->block_count = BLOCKS_MIN;
        reuse->use_mask = ((size_t)1 << USES_MIN_BITS) - 1;
        reuse->use_shift = 64 - USES_MIN_BITS;
        reuse->uses = calloc(reuse->use_mask + 1, sizeof(*reuse->uses));
        has_blocks = make_blocks(BLOCKS_MIN, &reuse->blocks, &reuse->tree);
    }
    if (reuse == NULL || reuse->uses == NULL || !has_blocks) {
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
    free(reuse->blocks);
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

/*
 * All moments are used: those that no line was last used at are left out, and there is room. The
 * old tree becomes the number of bits before each block.
 */
static enum pb_status renumber(struct pb_model_reuse *reuse, struct pb_error *err)
{
    size_t wanted = 4 * reuse->lines / BLOCK_MOMENTS + BLOCKS_MIN;
    uint32_t *before = reuse->tree, sum = 0;
    struct block *blocks, *old = reuse->blocks;

    if (!make_blocks(wanted, &blocks, &reuse->tree))
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu moments",
                       wanted * BLOCK_MOMENTS);
    for (uint32_t i = 0; i < reuse->block_count; i++) {
        before[i] = sum;
        sum += sum_bytes(old[i].counts);
    }
    for (size_t i = 0; i <= reuse->use_mask; i++) {
        uint32_t moment = reuse->uses[i].moment;
        uint32_t index = (moment - 1) / BLOCK_MOMENTS;

        if (moment != 0)
            reuse->uses[i].moment = before[index] + sum_in_block(&old[index], moment);
    }
    free(old);
    free(before);
    reuse->blocks = blocks;
    reuse->block_count = (uint32_t)wanted;
    reuse->now = 0;
    while (reuse->now < reuse->lines)
        add_moment(reuse);
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
    if (status == PB_OK && reuse->now == reuse->block_count * BLOCK_MOMENTS)
        status = renumber(reuse, err);
    if (status != PB_OK)
        return status;
    use = find(reuse, line);
    *distance_out = PB_MODEL_COLD;
    if (use->moment == 0) {
        reuse->lines++;
    } else {
        *distance_out = reuse->lines - sum_to(reuse, use->moment);
        remove_moment(reuse, use->moment);
    }
    *use = (struct use){line, add_moment(reuse)};
    return PB_OK;
}

void pb_model_reuse_forget(struct pb_model_reuse *reuse, uint64_t line)
{
    struct use *use = find(reuse, line);
    size_t gap = (size_t)(use - reuse->uses), mask = reuse->use_mask;

    if (use->moment == 0)
        return;
    remove_moment(reuse, use->moment);
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

static enum pb_status count_first(struct pb_model_reuse *reuse,
                                  struct pb_model_histogram *histogram, struct pb_error *err)
{
    uint64_t distance, line = reuse->waiting[reuse->first_waiting++ % WAITING_COUNT];
    enum pb_status status = pb_model_reuse_access(reuse, line, &distance, err);

    if (status == PB_OK)
        pb_model_histogram_add(histogram, distance);
    return status;
}

enum pb_status pb_model_reuse_count(struct pb_model_reuse *reuse, uint64_t line,
                                    struct pb_model_histogram *histogram, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    if (reuse->next_waiting - reuse->first_waiting == WAITING_COUNT)
        status = count_first(reuse, histogram, err);
    __builtin_prefetch(&reuse->uses[home_of(reuse, line)], 1);
    reuse->waiting[reuse->next_waiting++ % WAITING_COUNT] = line;
    return status;
}

enum pb_status pb_model_reuse_count_rest(struct pb_model_reuse *reuse,
                                         struct pb_model_histogram *histogram, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    while (status == PB_OK && reuse->first_waiting < reuse->next_waiting)
        status = count_first(reuse, histogram, err);
    return status;
}
