/* Partitions as chance would draw them, with the index and the laps' numbers of misses given. */
#include <math.h>
#include <stdlib.h>

#include "analysis/cache/conflict.h"

enum { DRAWS = 16 };

/* No more than this many standard deviations above the mean by chance. */
static const double deviations = 4.0;

/* splitmix64: the same draws everywhere. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t pb_index_set_of(const struct pb_index_fit *fit, uint64_t line_bytes, uint64_t address)
{
    uint64_t set = 0;

    if (fit->shape == PB_INDEX_MODULO)
        return address / line_bytes % fit->sets;
    for (size_t i = 0; i < fit->mask_count && i < 64; i++)
        set |= (uint64_t)__builtin_parityll(address & fit->masks[i]) << i;
    return set;
}

/* The lines of the array by their sets, and what one draw needs. */
struct lines {
    size_t *first;  /* [sets + 1] of a set's lines in member; the last one's end */
    size_t *member; /* [lines] */
    size_t *parent; /* [lines] the lines of one lap are joined */
    size_t *size;   /* [lines] of the set that a root stands for */
    bool *seen;     /* [lines] */
};

static void lines_clear(struct lines *lines)
{
    free(lines->first);
    free(lines->member);
    free(lines->parent);
    free(lines->size);
    free(lines->seen);
}

static uint64_t address_of(const struct pb_conflicts *conflicts, size_t line)
{
    return conflicts->base + line * conflicts->line_bytes;
}

/* A counting sort: first[] begins as the ends of the sets and is counted down to their starts. */
static void lines_sort(const struct pb_conflicts *conflicts, const struct pb_index_fit *fit,
                       struct lines *lines)
{
    for (size_t i = 0; i < conflicts->lines; i++)
        lines->first[pb_index_set_of(fit, conflicts->line_bytes, address_of(conflicts, i))]++;
    for (uint64_t set = 1; set <= fit->sets; set++)
        lines->first[set] += lines->first[set - 1];
    for (size_t i = conflicts->lines; i-- > 0;) {
        uint64_t set = pb_index_set_of(fit, conflicts->line_bytes, address_of(conflicts, i));

        lines->member[--lines->first[set]] = i;
    }
}

static size_t root_of(size_t *parent, size_t i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

/* Lines of a lap that keep to the index; *set_out is their set. */
static size_t count_kept(const struct pb_conflicts *conflicts, const struct pb_index_fit *fit,
                         const struct pb_conflict_lap *lap, uint64_t *set_out)
{
    uint64_t set = pb_index_set_of(fit, conflicts->line_bytes, lap->added);
    size_t kept = 0;

    for (size_t k = lap->first; k < lap->first + lap->count; k++)
        kept += pb_index_set_of(fit, conflicts->line_bytes, conflicts->missing[k]) == set;
    *set_out = set;
    return kept;
}

/* Draws as many lines of a lap's set as it had misses, and joins them. */
static void draw_lap(struct lines *lines, uint64_t set, size_t count, uint64_t *state)
{
    size_t *member = lines->member + lines->first[set];
    size_t size = lines->first[set + 1] - lines->first[set];

    for (size_t k = 0; k < count && k < size; k++) {
        size_t at = k + (size_t)(next_random(state) % (size - k)), drawn = member[at];

        member[at] = member[k];
        member[k] = drawn;
        lines->seen[drawn] = true;
        lines->parent[root_of(lines->parent, drawn)] = root_of(lines->parent, member[0]);
    }
}

static size_t draw_sets(const struct pb_conflicts *conflicts, const struct pb_index_fit *fit,
                        struct lines *lines, uint64_t *state)
{
    size_t sets = 0;

    for (size_t i = 0; i < conflicts->lines; i++) {
        lines->parent[i] = i;
        lines->size[i] = 0;
        lines->seen[i] = false;
    }
    for (size_t i = 0; i < conflicts->lap_count; i++) {
        uint64_t set;
        size_t count = count_kept(conflicts, fit, &conflicts->laps[i], &set);

        draw_lap(lines, set, count, state);
    }
    for (size_t i = 0; i < conflicts->lines; i++)
        sets += lines->seen[i] && ++lines->size[root_of(lines->parent, i)] == 2;
    return sets;
}

enum pb_status pb_conflicts_draw_sets(const struct pb_conflicts *conflicts,
                                      const struct pb_index_fit *fit, double *most_out,
                                      struct pb_error *err)
{
    struct lines lines = {calloc((size_t)fit->sets + 1, sizeof(*lines.first)),
                          calloc(conflicts->lines + 1, sizeof(*lines.member)),
                          calloc(conflicts->lines + 1, sizeof(*lines.parent)),
                          calloc(conflicts->lines + 1, sizeof(*lines.size)),
                          calloc(conflicts->lines + 1, sizeof(*lines.seen))};
    double sum = 0.0, squares = 0.0;
    uint64_t state = 1;

    if (lines.first == NULL || lines.member == NULL || lines.parent == NULL || lines.size == NULL ||
        lines.seen == NULL) {
        lines_clear(&lines);
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating the lines of %llu sets",
                       (unsigned long long)fit->sets);
    }
    lines_sort(conflicts, fit, &lines);
    for (int i = 0; i < DRAWS; i++) {
        double sets = (double)draw_sets(conflicts, fit, &lines, &state);

        sum += sets;
        squares += sets * sets;
    }
    lines_clear(&lines);
    *most_out =
        sum / DRAWS + deviations * sqrt(fmax(0.0, squares / DRAWS - sum / DRAWS * sum / DRAWS));
    return PB_OK;
}
