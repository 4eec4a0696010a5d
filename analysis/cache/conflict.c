/* Laps with one line more, and the sets that they show. */
#include "analysis/cache/conflict.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/trace.h"

void pb_conflicts_clear(struct pb_conflicts *conflicts)
{
    if (conflicts == NULL)
        return;
    free(conflicts->laps);
    free(conflicts->missing);
    memset(conflicts, 0, sizeof(*conflicts));
}

/* The array in an order of its own, where other parts of sets miss than in the next such lap. */
static bool is_drawn(const struct pb_point *point)
{
    return strncmp(point->phase, "conflict_shuffled", PB_NAME_LENGTH) == 0;
}

/* The next lap with one line more, in the array's order or in one of its own; or over less of it.
 */
static const struct pb_point *next_lap(const struct pb_level *level, bool shorter, size_t *at)
{
    const char *phase = shorter ? "conflict_short" : "conflict";
    struct pb_pick pick = {level->way->path, "trace", NULL};
    const struct pb_point *point;

    while ((point = pb_point_next(level->series, &pick, at)) != NULL)
        if (strncmp(point->phase, phase, PB_NAME_LENGTH) == 0 || (!shorter && is_drawn(point)))
            return point;
    return NULL;
}

/* Room for all accesses of the laps. */
static enum pb_status reserve(const struct pb_level *level, bool shorter,
                              struct pb_conflicts *conflicts, struct pb_error *err)
{
    const struct pb_point *point;
    size_t laps = 0, accesses = 0;

    for (size_t at = 0; (point = next_lap(level, shorter, &at)) != NULL; laps++)
        accesses += pb_point_accesses(level->series, point).count;
    if (laps == 0)
        return pb_fail(err, PB_NOT_FOUND,
                       "the recording has no timed passes over one line more than fits");
    conflicts->laps = calloc(laps, sizeof(*conflicts->laps));
    conflicts->missing = calloc(accesses + 1, sizeof(*conflicts->missing));
    if (conflicts->laps == NULL || conflicts->missing == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu laps", laps);
    return PB_OK;
}

static void add_lap(const struct pb_level *level, const struct pb_point *point,
                    struct pb_conflicts *conflicts)
{
    struct pb_accesses walk = pb_point_accesses(level->series, point);
    uint64_t added = point->footprint_bytes - point->stride_bytes;
    struct pb_conflict_lap lap = {.added = point->base_address + added,
                                  .first = conflicts->missing_count,
                                  .is_drawn = is_drawn(point)};

    for (size_t i = 0; i < walk.count; i++) {
        double cycles = pb_access_cycles(&walk, i);

        /* the added line may lie in a page of its own: slow by more than the cache's miss */
        if (walk.index_bytes[i] == added)
            lap.added_missed |= cycles >= level->classes.miss.low;
        else if (pb_band_holds(level->classes.miss, cycles))
            conflicts->missing[conflicts->missing_count++] =
                point->base_address + walk.index_bytes[i];
    }
    conflicts->in_pieces |= point->window < walk.count;
    lap.count = conflicts->missing_count - lap.first;
    conflicts->quiet += lap.count == 0 && !lap.added_missed;
    conflicts->drawn += lap.count > 0 && lap.is_drawn;
    conflicts->laps[conflicts->lap_count++] = lap;
}

static int by_address(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

    return (left > right) - (left < right);
}

/* Sorted addresses of the lines that miss in nearly all laps whose added line hits. */
static size_t find_background(const struct pb_conflicts *conflicts, uint64_t *addresses)
{
    static const double nearly_all = 0.9;
    enum { LAPS_LEAST = 8 };
    size_t laps = 0, count = 0, kept = 0;

    for (size_t i = 0; i < conflicts->lap_count; i++) {
        const struct pb_conflict_lap *lap = &conflicts->laps[i];

        if (lap->added_missed)
            continue;
        laps++;
        for (size_t k = 0; k < lap->count; k++)
            addresses[count++] = conflicts->missing[lap->first + k];
    }
    if (laps < LAPS_LEAST)
        return 0;
    qsort(addresses, count, sizeof(*addresses), by_address);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && addresses[next] == addresses[i];)
            next++;
        if ((double)(next - i) >= nearly_all * (double)laps)
            addresses[kept++] = addresses[i];
    }
    return kept;
}

/* Takes the misses that laps have left together, in their order. */
static void close_gaps(struct pb_conflicts *conflicts)
{
    size_t kept = 0;

    for (size_t i = 0; i < conflicts->lap_count; i++) {
        struct pb_conflict_lap *lap = &conflicts->laps[i];

        memmove(conflicts->missing + kept, conflicts->missing + lap->first,
                lap->count * sizeof(*conflicts->missing));
        lap->first = kept;
        kept += lap->count;
    }
    conflicts->missing_count = kept;
}

/*
 * What misses whether or not the added line does is not of its set: the array itself overfills
 * another one (seen on an H200, whose hash depends on where the array lies).
 */
static enum pb_status leave_out_background(struct pb_conflicts *conflicts, struct pb_error *err)
{
    uint64_t *background = calloc(conflicts->missing_count + 1, sizeof(*background));
    size_t count;

    if (background == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu misses",
                       conflicts->missing_count);
    count = find_background(conflicts, background);
    conflicts->background = count;
    for (size_t i = 0; i < conflicts->lap_count && count > 0; i++) {
        struct pb_conflict_lap *lap = &conflicts->laps[i];
        uint64_t *missing = conflicts->missing + lap->first;
        size_t kept = 0, before = lap->count;

        for (size_t k = 0; k < before; k++)
            if (bsearch(&missing[k], background, count, sizeof(*background), by_address) == NULL)
                missing[kept++] = missing[k];
        lap->count = kept;
        conflicts->quiet += before > 0 && kept == 0 && !lap->added_missed;
    }
    close_gaps(conflicts);
    free(background);
    return PB_OK;
}

static bool is_alike(const struct pb_conflicts *conflicts, const struct pb_accesses *walk,
                     const struct pb_point *point)
{
    return walk->count == conflicts->lines + 1 && point->stride_bytes == conflicts->line_bytes &&
           point->base_address == conflicts->base && point->footprint_bytes >= point->stride_bytes;
}

enum pb_status pb_conflicts_read(const struct pb_level *level, bool shorter,
                                 struct pb_conflicts *conflicts_out, struct pb_error *err)
{
    struct pb_conflicts conflicts = {0};
    const struct pb_point *point;
    enum pb_status status = reserve(level, shorter, &conflicts, err);

    for (size_t at = 0; status == PB_OK && (point = next_lap(level, shorter, &at)) != NULL;) {
        struct pb_accesses walk = pb_point_accesses(level->series, point);

        if (conflicts.lap_count == 0) {
            conflicts.lines = walk.count > 0 ? walk.count - 1 : 0;
            conflicts.line_bytes = point->stride_bytes;
            conflicts.base = point->base_address;
        }
        if (!is_alike(&conflicts, &walk, point) || conflicts.lines == 0 || point->stride_bytes == 0)
            status = pb_fail(err, PB_NOT_FOUND, "the timed passes use different arrays");
        else
            add_lap(level, point, &conflicts);
    }
    if (status == PB_OK)
        status = leave_out_background(&conflicts, err);
    if (status != PB_OK) {
        pb_conflicts_clear(&conflicts);
        return status;
    }
    *conflicts_out = conflicts;
    return PB_OK;
}

/* Union-find over the lines of the array. */
static size_t root_of(size_t *parent, size_t i)
{
    while (parent[i] != i) {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    return i;
}

/* The lower root stays one, so that sets come in the order of their lowest lines. */
static void join(size_t *parent, size_t a, size_t b)
{
    a = root_of(parent, a);
    b = root_of(parent, b);
    if (a < b)
        parent[b] = a;
    else
        parent[a] = b;
}

static void join_laps(const struct pb_conflicts *conflicts, const bool *is_stray, size_t *parent,
                      size_t *seen)
{
    for (size_t i = 0; i < conflicts->lap_count; i++) {
        const struct pb_conflict_lap *lap = &conflicts->laps[i];
        size_t head = SIZE_MAX;

        for (size_t k = lap->first; k < lap->first + lap->count; k++) {
            size_t line =
                (size_t)((conflicts->missing[k] - conflicts->base) / conflicts->line_bytes);

            if (line >= conflicts->lines || (is_stray != NULL && is_stray[k]))
                continue;
            head = head == SIZE_MAX ? line : head;
            seen[line]++;
            join(parent, line, head);
        }
    }
}

/* Lines by set, seen[] counted over the sets' lines. size[root] and sightings[root]. */
static void measure_sets(size_t lines, const size_t *size, const size_t *sightings,
                         struct pb_partition *partition)
{
    for (size_t i = 0; i < lines; i++) {
        if (size[i] == 0)
            continue;
        if (partition->sets < PB_LIST_MAX)
            partition->size[partition->sets] = size[i];
        partition->sets++;
        partition->alone += size[i] == 1;
        if (partition->least == 0 || size[i] < partition->least)
            partition->least = size[i];
        if (size[i] > partition->largest) {
            partition->largest = size[i];
            partition->largest_sightings = sightings[i];
        }
    }
}

/* The commonest number of misses, the first lap's of several. tally[lines + 2] is zero. */
static void measure_laps(const struct pb_conflicts *conflicts, size_t *tally,
                         struct pb_partition *partition)
{
    for (size_t i = 0; i < conflicts->lap_count; i++)
        tally[conflicts->laps[i].count]++;
    for (size_t i = 0; i < conflicts->lap_count; i++) {
        size_t count = conflicts->laps[i].count;

        partition->laps += count > 0;
        if (count > 0 && tally[count] > partition->per_lap_laps) {
            partition->per_lap = count;
            partition->per_lap_laps = tally[count];
        }
    }
}

enum pb_status pb_conflicts_partition(const struct pb_conflicts *conflicts, const bool *is_stray,
                                      struct pb_partition *partition_out, struct pb_error *err)
{
    struct pb_partition partition = {0};
    size_t lines = conflicts->lines;
    size_t *parent = calloc(5 * lines + 2, sizeof(*parent)), *seen, *size, *sightings;

    if (parent == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu lines", lines);
    seen = parent + lines;
    size = seen + lines;
    sightings = size + lines;
    for (size_t i = 0; i < lines; i++)
        parent[i] = i;
    join_laps(conflicts, is_stray, parent, seen);
    for (size_t i = 0; i < lines; i++) {
        size_t root = root_of(parent, i);

        size[root] += seen[i] > 0;
        sightings[root] += seen[i];
        partition.lines += seen[i] > 0;
        partition.once += seen[i] == 1;
    }
    measure_sets(lines, size, sightings, &partition);
    measure_laps(conflicts, sightings + lines, &partition);
    free(parent);
    *partition_out = partition;
    return PB_OK;
}
