/* Chases over the lines of one set, read from a recording; see set_chases.h. */
#include "analysis/cache/set_chases.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/constants.h"
#include "analysis/statistics/sort.h"
#include "analysis/trace.h"

void pb_set_chases_clear(struct pb_set_chases *chases)
{
    free(chases->traces);
    free(chases->address);
    free(chases->line);
    free(chases->observed);
    *chases = (struct pb_set_chases){.count = 0};
}

static bool is_chase(const struct pb_cache_level *level, const struct pb_point *point)
{
    struct pb_pick victim = {level->way->path, "traced", "victim"};
    struct pb_pick random = {level->way->path, "traced", "random"};

    return point->stride_bytes > 0 &&
           (pb_point_matches(point, &victim) || pb_point_matches(point, &random));
}

static enum pb_status allocate(const struct pb_cache_level *level, struct pb_set_chases *chases,
                               struct pb_error *err)
{
    size_t traces = 0, accesses = 0;

    for (size_t i = 0; i < level->series->point_count; i++) {
        if (!is_chase(level, &level->series->points[i]))
            continue;
        traces++;
        accesses += pb_point_accesses(level->series, &level->series->points[i]).count;
    }
    chases->traces = calloc(traces + 1, sizeof(*chases->traces));
    chases->address = calloc(accesses + 1, sizeof(*chases->address));
    chases->line = calloc(accesses + 1, sizeof(*chases->line));
    chases->observed = calloc(accesses + 1, sizeof(*chases->observed));
    if (chases->traces == NULL || chases->address == NULL || chases->line == NULL ||
        chases->observed == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu accesses", accesses);
    return PB_OK;
}

/* Addresses of all lines, each once. */
static void number_lines(const struct pb_cache_level *level, struct pb_set_chases *chases)
{
    size_t count = 0, kept = 0;

    for (size_t i = 0; i < level->series->point_count; i++) {
        const struct pb_point *point = &level->series->points[i];
        struct pb_accesses chase = pb_point_accesses(level->series, point);

        for (size_t k = 0; is_chase(level, point) && k < chase.count; k++)
            chases->address[count++] = chase.index_bytes[k] / point->stride_bytes;
    }
    qsort(chases->address, count, sizeof(*chases->address), pb_compare_uint64);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || chases->address[i] != chases->address[kept - 1])
            chases->address[kept++] = chases->address[i];
    chases->line_count = kept;
}

static void add_chase(const struct pb_cache_level *level, const struct pb_point *point,
                      struct pb_set_chases *chases)
{
    struct pb_accesses chase = pb_point_accesses(level->series, point);
    size_t first = chases->access_count;

    for (size_t i = 0; i < chase.count; i++) {
        uint64_t address = chase.index_bytes[i] / point->stride_bytes;
        const uint64_t *found = bsearch(&address, chases->address, chases->line_count,
                                        sizeof(address), pb_compare_uint64);

        chases->line[first + i] = (uint32_t)(found - chases->address);
        chases->observed[first + i] =
            pb_classes_observe(&level->classes, pb_access_cycles(&chase, i));
    }
    chases->access_count += chase.count;
    chases->traces[chases->count++] = (struct pb_set_trace){
        chases->line + first, chases->observed + first, chase.count, (uint32_t)chases->line_count};
}

enum pb_status pb_set_chases_read(const struct pb_cache_level *level, struct pb_set_chases *chases,
                                  struct pb_error *err)
{
    *chases = (struct pb_set_chases){.count = 0};
    enum pb_status status = allocate(level, chases, err);

    if (status != PB_OK)
        return status;
    number_lines(level, chases);
    for (size_t i = 0; i < level->series->point_count; i++)
        if (is_chase(level, &level->series->points[i]))
            add_chase(level, &level->series->points[i], chases);
    return PB_OK;
}

/* How often each line missed that had been loaded before, by trace. */
static void count_again(const struct pb_set_chases *chases, uint64_t *again, bool *loaded)
{
    for (size_t i = 0; i < chases->count; i++) {
        const struct pb_set_trace *trace = &chases->traces[i];

        memset(loaded, 0, chases->line_count * sizeof(*loaded));
        for (size_t k = 0; k < trace->count; k++) {
            again[trace->line[k]] +=
                loaded[trace->line[k]] && trace->observed[k] == PB_OBSERVED_MISS;
            loaded[trace->line[k]] = true;
        }
    }
}

/* Only the accesses to lines that missed again more than `most` times, their lines numbered anew.
 */
static void keep_lines(struct pb_set_chases *chases, const uint64_t *again, uint64_t most,
                       uint32_t *number)
{
    size_t kept = 0;
    uint32_t lines = 0;

    for (size_t i = 0; i < chases->line_count; i++) {
        number[i] = lines;
        lines += again[i] > most;
    }
    for (size_t i = 0; i < chases->count; i++) {
        const struct pb_set_trace *trace = &chases->traces[i];
        size_t first = kept;

        for (size_t k = 0; k < trace->count; k++) {
            uint32_t line = trace->line[k];

            if (again[line] <= most)
                continue;
            chases->observed[kept] = trace->observed[k];
            chases->line[kept++] = number[line];
        }
        chases->traces[i] = (struct pb_set_trace){chases->line + first, chases->observed + first,
                                                  kept - first, lines};
    }
    chases->line_count = lines;
    chases->access_count = kept;
}

/*
 * How many misses a line of another set has at most: as many of its hits as look like misses by
 * chance. UINT64_MAX: no number tells lines of the set from others.
 */
static uint64_t find_foreign(const struct pb_set_chases *chases, const uint64_t *ascending,
                             size_t ways)
{
    size_t by_chance =
        1 + (size_t)(PB_SPIKES_MOST * (double)chases->access_count / (double)chases->line_count);
    size_t foreign = 0;

    if (ways > 0)
        foreign = chases->line_count > ways + 1 ? chases->line_count - ways - 1 : 0;
    while (ways == 0 && foreign < chases->line_count && ascending[foreign] <= by_chance)
        foreign++;
    if (foreign == 0 || foreign == chases->line_count || ascending[foreign - 1] > by_chance)
        return UINT64_MAX;
    if (ascending[foreign] < (ways > 0 ? 1 : PB_FEW) * (ascending[foreign - 1] + 1))
        return UINT64_MAX;
    return ascending[foreign - 1];
}

enum pb_status pb_set_chases_drop_foreign(struct pb_set_chases *chases, size_t ways,
                                          struct pb_error *err)
{
    uint64_t *again = calloc(2 * chases->line_count + 1, sizeof(*again)), *ascending, most;
    bool *loaded = calloc(chases->line_count + 1, sizeof(*loaded));
    uint32_t *number = calloc(chases->line_count + 1, sizeof(*number));
    enum pb_status status = PB_OK;

    if (again == NULL || loaded == NULL || number == NULL) {
        status =
            pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu lines", chases->line_count);
        goto out;
    }
    ascending = again + chases->line_count;
    count_again(chases, again, loaded);
    memcpy(ascending, again, chases->line_count * sizeof(*again));
    qsort(ascending, chases->line_count, sizeof(*ascending), pb_compare_uint64);
    most = find_foreign(chases, ascending, ways);
    if (chases->line_count > 0 && most != UINT64_MAX)
        keep_lines(chases, again, most, number);
out:
    free(number);
    free(loaded);
    free(again);
    return status;
}
