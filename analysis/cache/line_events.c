/* Places of events in the walks over a cache's lines; see line_events.h. */
#include "analysis/cache/line_events.h"

#include <stdlib.h>

#include "analysis/trace.h"

/* Fewer events of one walk say nothing alone. */
enum { WALK_EVENTS = 8 };

/* Addresses of events in walks; `tried` says how many accesses were looked at. */
struct events {
    uint64_t *address;
    size_t count, tried;
};

/* What an access looks like. */
enum sight { SIGHT_HIT, SIGHT_MISS, SIGHT_NEITHER };

static enum sight look(const struct pb_level *level, const struct pb_accesses *walk, size_t i)
{
    double cycles = pb_access_cycles(walk, i);

    if (pb_band_holds(level->classes.miss, cycles))
        return SIGHT_MISS;
    return pb_band_holds(level->classes.hit, cycles) ? SIGHT_HIT : SIGHT_NEITHER;
}

/* Room for every access of the phase. */
static enum pb_status reserve_events(const struct pb_level *level, const struct pb_pick *pick,
                                     struct events *events, struct pb_error *err)
{
    const struct pb_point *point;
    size_t total = 0;

    for (size_t at = 0; (point = pb_point_next(level->series, pick, &at)) != NULL;)
        total += pb_point_accesses(level->series, point).count;
    events->address = malloc((total + 1) * sizeof(*events->address));
    if (events->address == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu addresses", total);
    return PB_OK;
}

/* Cold walks: where misses lie. The first access of a walk misses wherever it is. */
static void add_misses(const struct pb_level *level, const struct pb_point *point,
                       struct events *events)
{
    struct pb_accesses walk = pb_point_accesses(level->series, point);

    for (size_t i = 1; i < walk.count; i++)
        if (look(level, &walk, i) == SIGHT_MISS)
            events->address[events->count++] = point->base_address + walk.index_bytes[i];
    events->tried += walk.count;
}

/* The walk back misses at the last word of what it fetches: one step further on is its end. */
static void add_misses_back(const struct pb_level *level, const struct pb_point *point,
                            struct events *events)
{
    size_t before = events->count;

    add_misses(level, point, events);
    for (size_t i = before; i < events->count; i++)
        events->address[i] += point->stride_bytes;
}

/* One miss between two hits: a line that is no more than a step, or a spike. */
static bool is_alone(const struct pb_level *level, const struct pb_accesses *walk, size_t i)
{
    return i > 0 && i + 1 < walk->count && look(level, walk, i) == SIGHT_MISS &&
           look(level, walk, i - 1) == SIGHT_HIT && look(level, walk, i + 1) == SIGHT_HIT;
}

/*
 * Steady walks in order of address: where hits and misses meet. An access that looks like neither
 * takes the next one's place with it, and so does the step back to the walk's start.
 */
static void add_meetings(const struct pb_level *level, const struct pb_point *point,
                         bool leaves_alone_out, struct events *events)
{
    struct pb_accesses walk = pb_point_accesses(level->series, point);

    for (size_t i = 1; i < walk.count; i++) {
        enum sight before = look(level, &walk, i - 1), here = look(level, &walk, i);

        if (before == SIGHT_NEITHER || here == SIGHT_NEITHER || before == here ||
            walk.index_bytes[i] < walk.index_bytes[i - 1])
            continue;
        if (leaves_alone_out && (is_alone(level, &walk, i) || is_alone(level, &walk, i - 1)))
            continue;
        events->address[events->count++] = point->base_address + walk.index_bytes[i];
    }
    events->tried += walk.count;
}

static void add_turns(const struct pb_level *level, const struct pb_point *point,
                      struct events *events)
{
    add_meetings(level, point, false, events);
}

static void add_turns_of_runs(const struct pb_level *level, const struct pb_point *point,
                              struct events *events)
{
    add_meetings(level, point, true, events);
}

bool pb_line_alone_are_spikes(const struct pb_level *level, const char *phase, double most_bytes)
{
    struct pb_pick pick = {level->way->path, "trace", phase};
    struct pb_tally background = pb_level_background(level), alone = {0, 0, 0};
    const struct pb_point *point;

    for (size_t at = 0; (point = pb_point_next(level->series, &pick, &at)) != NULL;) {
        struct pb_accesses walk = pb_point_accesses(level->series, point);

        if ((double)point->footprint_bytes > most_bytes)
            continue;
        for (size_t i = 0; i < walk.count; i++)
            alone.misses += is_alone(level, &walk, i);
        alone.accesses += walk.count;
    }
    alone.hits = alone.accesses - alone.misses;
    return alone.misses > 0 && pb_tally_surprise(&alone, &background) > PB_LINE_SIGNIFICANCE;
}

static void (*const adders[])(const struct pb_level *, const struct pb_point *, struct events *) = {
    [PB_LINE_MISSES] = add_misses,
    [PB_LINE_MISSES_BACK] = add_misses_back,
    [PB_LINE_TURNS] = add_turns,
    [PB_LINE_TURNS_OF_RUNS] = add_turns_of_runs,
};

enum pb_status pb_line_unit(const struct pb_level *level, const char *phase,
                            enum pb_line_events kind, double most_bytes,
                            struct pb_alignment *alignment_out, size_t *tried_out,
                            struct pb_error *err)
{
    struct pb_pick pick = {level->way->path, "trace", phase};
    struct events events = {NULL, 0, 0};
    const struct pb_point *point;
    uint64_t finest = 0, repeated;
    enum pb_status status = reserve_events(level, &pick, &events, err);

    if (status != PB_OK)
        return status;
    for (size_t at = 0; (point = pb_point_next(level->series, &pick, &at)) != NULL;) {
        size_t before = events.count;
        struct pb_alignment own;

        if ((double)point->footprint_bytes > most_bytes)
            continue;
        adders[kind](level, point, &events);
        own = pb_alignment_find(events.address + before, events.count - before);
        if (own.seen >= WALK_EVENTS && own.bytes > 0 &&
            4 * (own.seen - own.at_double) >= own.seen && (finest == 0 || own.bytes < finest))
            finest = own.bytes;
    }
    *alignment_out = pb_alignment_find(events.address, events.count);
    repeated = pb_alignment_of_repeated(events.address, events.count, alignment_out->bytes);
    finest = finest == 0 || repeated < finest ? repeated : finest;
    if (finest > 0 && finest < alignment_out->bytes)
        *alignment_out = pb_alignment_at(events.address, events.count, finest);
    alignment_out->places = pb_alignment_places(events.address, events.count);
    *tried_out = events.tried;
    free(events.address);
    return PB_OK;
}
