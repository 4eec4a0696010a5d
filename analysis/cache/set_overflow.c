/* A chase's lines by set; see set_overflow.h. */
#include "analysis/cache/set_overflow.h"

#include <stdlib.h>

enum { LINES_MAX = 1 << 20 };

enum { IS_WALKED = 1, IS_MISSING = 2 };

enum pb_status pb_sets_read(const struct pb_parameters *parameters, const char *memory,
                            struct pb_sets *sets_out, struct pb_error *err)
{
    const struct pb_parameter *masks = pb_parameters_find(parameters, memory, "index_masks");
    double line = pb_parameters_number(parameters, memory, "line_bytes");
    double ways = pb_parameters_number(parameters, memory, "way_counts");
    struct pb_sets sets = {.bits = 0};

    if (masks == NULL || masks->kind != PB_VALUE_MASKS || !(line >= 1.0) || !(ways >= 1.0) ||
        masks->number_count > PB_SETS_BITS_MAX)
        return pb_fail(err, PB_NOT_FOUND, "the sets of %s are not known", memory);
    for (; sets.bits < masks->number_count; sets.bits++)
        sets.masks[sets.bits] = (uint64_t)masks->numbers[sets.bits].value;
    sets.line_bytes = (uint64_t)line;
    sets.ways = (uint64_t)ways;
    *sets_out = sets;
    return PB_OK;
}

static size_t set_of(const struct pb_sets *sets, uint64_t address)
{
    size_t set = 0;

    for (size_t i = 0; i < sets->bits; i++)
        set |= (size_t)__builtin_parityll(address & sets->masks[i]) << i;
    return set;
}

/* Do the masks reach over all bits in which two addresses of the chase can differ? */
static bool reaches(const struct pb_sets *sets, uint64_t first, uint64_t last)
{
    uint64_t known = sets->line_bytes - 1;

    for (size_t i = 0; i < sets->bits; i++)
        known |= sets->masks[i];
    for (unsigned shift = 1; shift < 64; shift *= 2)
        known |= known >> shift;
    return ((first ^ last) & ~known) == 0;
}

/* Marks the chase's lines, from the line of offset 0 on. */
static void mark(const struct pb_accesses *chase, uint64_t base, const struct pb_sets *sets,
                 const struct pb_classes *classes, unsigned char *marks,
                 struct pb_set_prediction *prediction)
{
    for (size_t i = 0; i < chase->count; i++) {
        uint64_t address = base + chase->index_bytes[i];
        size_t line = (size_t)(address / sets->line_bytes - base / sets->line_bytes);

        marks[line] |= IS_WALKED;
        if (!pb_band_holds(classes->miss, pb_access_cycles(chase, i)))
            continue;
        marks[line] |= IS_MISSING;
        prediction->misses++;
    }
}

static void compare(const struct pb_sets *sets, uint64_t base, const unsigned char *marks,
                    size_t lines, uint64_t *filled, struct pb_set_prediction *prediction)
{
    uint64_t first = base / sets->line_bytes * sets->line_bytes;
    size_t set = SIZE_MAX; /* of the first line that missed */

    for (size_t i = 0; i < lines; i++)
        if (marks[i] != 0)
            filled[set_of(sets, first + i * sets->line_bytes)]++;
    prediction->is_one_set = true;
    for (size_t i = 0; i < lines; i++) {
        bool is_overflowing =
            marks[i] != 0 && filled[set_of(sets, first + i * sets->line_bytes)] > sets->ways;
        bool is_missing = (marks[i] & IS_MISSING) != 0;

        prediction->overflowing += is_overflowing;
        prediction->missing += is_missing;
        prediction->both += is_overflowing && is_missing;
        if (is_missing && set == SIZE_MAX)
            set = set_of(sets, first + i * sets->line_bytes);
        prediction->is_one_set &= !is_missing || set_of(sets, first + i * sets->line_bytes) == set;
    }
    prediction->is_one_set &= prediction->missing == sets->ways && filled[set] == sets->ways;
}

enum pb_status pb_sets_predict(const struct pb_sets *sets, const struct pb_accesses *chase,
                               uint64_t base, const struct pb_classes *classes,
                               struct pb_set_prediction *prediction_out, struct pb_error *err)
{
    struct pb_set_prediction prediction = {0};
    uint64_t last = 0, *filled;
    unsigned char *marks;
    size_t lines;

    for (size_t i = 0; i < chase->count; i++)
        last = chase->index_bytes[i] > last ? chase->index_bytes[i] : last;
    lines = (size_t)((base + last) / sets->line_bytes - base / sets->line_bytes) + 1;
    if (lines > LINES_MAX || !reaches(sets, base, base + last))
        return pb_fail(err, PB_NOT_FOUND, "the index is not known for passes over %zu lines",
                       lines);
    filled = calloc((size_t)1 << sets->bits, sizeof(*filled));
    marks = calloc(lines, sizeof(*marks));
    if (filled == NULL || marks == NULL) {
        free(marks);
        free(filled);
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu lines", lines);
    }
    mark(chase, base, sets, classes, marks, &prediction);
    compare(sets, base, marks, lines, filled, &prediction);
    free(marks);
    free(filled);
    *prediction_out = prediction;
    return PB_OK;
}
