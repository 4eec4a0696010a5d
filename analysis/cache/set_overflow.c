/* A chase's lines by set; see set_overflow.h. */
#include "analysis/cache/set_overflow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/parities.h"

enum { LINES_MAX = 1 << 20, SETS_MAX = 1 << 20 };

enum { IS_WALKED = 1, IS_MISSING = 2 };

bool pb_sets_read(const struct pb_parameters *parameters, const char *memory,
                  struct pb_geometry *sets_out)
{
    const struct pb_parameter *kind = pb_parameters_find(parameters, memory, "index_kind");
    const struct pb_parameter *masks = pb_parameters_find(parameters, memory, "index_masks");
    double line = pb_parameters_number(parameters, memory, "line_bytes");
    double sets = pb_parameters_number(parameters, memory, "set_count");
    double ways = pb_parameters_number(parameters, memory, "way_counts");
    struct pb_geometry geometry = {.index = PB_INDEX_XOR};

    if (masks != NULL && masks->kind == PB_VALUE_MASKS) {
        sets = ldexp(1.0, (int)masks->number_count);
        for (size_t i = 0; i < masks->number_count && i < PB_GEOMETRY_MASKS_MAX; i++)
            geometry.masks[geometry.mask_count++] = (uint64_t)masks->numbers[i].value;
    } else if (kind != NULL && kind->kind == PB_VALUE_WORD && strcmp(kind->word, "modulo") == 0) {
        geometry.index = PB_INDEX_MODULO;
    } else {
        return false;
    }
    if (!(line >= 1.0 && ways >= 1.0 && sets >= 1.0 && sets <= SETS_MAX))
        return false;
    geometry.line_bytes = (uint64_t)line;
    geometry.sets = (uint64_t)sets;
    geometry.ways = (uint64_t)ways;
    *sets_out = geometry;
    return true;
}

/* Do the masks reach over all bits in which two addresses of the chase can differ? */
static bool reaches(const struct pb_geometry *sets, uint64_t first, uint64_t last)
{
    uint64_t known = sets->line_bytes - 1;

    for (size_t i = 0; i < sets->mask_count; i++)
        known |= sets->masks[i];
    for (unsigned shift = 1; shift < 64; shift *= 2)
        known |= known >> shift;
    return sets->index == PB_INDEX_MODULO || ((first ^ last) & ~known) == 0;
}

/* Marks the chase's lines, from the line of offset 0 on. */
static void mark(const struct pb_accesses *chase, uint64_t base, const struct pb_geometry *sets,
                 const struct pb_classes *classes, unsigned char *marks)
{
    for (size_t i = 0; i < chase->count; i++) {
        uint64_t address = base + chase->index_bytes[i];
        size_t line = (size_t)(address / sets->line_bytes - base / sets->line_bytes);

        marks[line] |= IS_WALKED;
        if (pb_band_holds(classes->miss, pb_access_cycles(chase, i)))
            marks[line] |= IS_MISSING;
    }
}

static uint64_t set_of(const struct pb_geometry *sets, const struct pb_parities *parities,
                       uint64_t address)
{
    return sets->index == PB_INDEX_XOR ? pb_parities_index(parities, address)
                                       : pb_geometry_set(sets, address);
}

static void compare(const struct pb_geometry *sets, uint64_t base, const unsigned char *marks,
                    size_t lines, uint64_t *filled, struct pb_set_prediction *prediction)
{
    uint64_t first = base / sets->line_bytes * sets->line_bytes;
    uint64_t only = UINT64_MAX; /* the set of the first line that missed */
    struct pb_parities parities;
    size_t missing = 0;

    pb_parities_make(sets->masks, sets->mask_count, &parities);
    for (size_t i = 0; i < lines; i++)
        if (marks[i] != 0)
            filled[set_of(sets, &parities, first + i * sets->line_bytes)]++;
    prediction->is_one_set = true;
    for (size_t i = 0; i < lines; i++) {
        uint64_t set = set_of(sets, &parities, first + i * sets->line_bytes);
        bool is_overflowing = marks[i] != 0 && filled[set] > sets->ways;
        bool is_missing = (marks[i] & IS_MISSING) != 0;

        prediction->overflowing += is_overflowing;
        prediction->both += is_overflowing && is_missing;
        only = is_missing && missing == 0 ? set : only;
        missing += is_missing;
        prediction->is_one_set &= !is_missing || set == only;
    }
    prediction->is_one_set &= missing == sets->ways && filled[only] == sets->ways;
}

enum pb_status pb_sets_predict(const struct pb_geometry *sets, const struct pb_accesses *chase,
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
    filled = calloc(sets->sets, sizeof(*filled));
    marks = calloc(lines, sizeof(*marks));
    if (filled == NULL || marks == NULL) {
        free(marks);
        free(filled);
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu lines", lines);
    }
    mark(chase, base, sets, classes, marks);
    compare(sets, base, marks, lines, filled, &prediction);
    free(marks);
    free(filled);
    *prediction_out = prediction;
    return PB_OK;
}
