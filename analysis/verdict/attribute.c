/* The penalised likelihood of units, and the greedy search; see attribute.h. */
#include "analysis/verdict/attribute.h"
#include "core/reserve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    NODES_MIN = 3,        /* with fewer nothing distinguishes a node from its devices */
    NODE_DEVICES_MIN = 2, /* affected ones, likewise below */
    SLOT_DEVICES_MIN = 3,
    ATTRIBUTE_DEVICES_MIN = 3,
    WHOLE_DEVICES_MIN = 3,
    LOOSE_DEVICES_MIN = 4,
};

#define NODE_SHARE      0.75 /* of its devices, likewise below */
#define SLOT_SHARE      0.5
#define ATTRIBUTE_SHARE 0.75
#define WHOLE_SHARE     0.75
#define LOOSE_SHARE     0.15
#define UNIT_PENALTY                                                                               \
    2.0 /* natural logarithm of the odds against any one unit, but for their number */
#define SEPARATING 0.9

/* ---- who belongs to what ---- */

static bool has_same(const struct pb_layout *layout, size_t dimension, size_t a, size_t b)
{
    const struct pb_feature_row *one = &layout->features->devices[layout->group->members[a]];
    const struct pb_feature_row *other = &layout->features->devices[layout->group->members[b]];
    char texts[2][PB_TEXT_LENGTH];

    if (dimension == PB_DIMENSION_NODE)
        return strcmp(one->host, other->host) == 0;
    if (dimension == PB_DIMENSION_SLOT)
        return one->slot == other->slot;
    pb_attribute_text(&one->info, (enum pb_attribute)dimension, texts[0]);
    pb_attribute_text(&other->info, (enum pb_attribute)dimension, texts[1]);
    return strcmp(texts[0], texts[1]) == 0;
}

static bool is_known(const struct pb_layout *layout, size_t dimension, size_t member)
{
    const struct pb_feature_row *device =
        &layout->features->devices[layout->group->members[member]];
    char text[PB_TEXT_LENGTH];

    if (dimension >= PB_ATTRIBUTE_COUNT)
        return true;
    pb_attribute_text(&device->info, (enum pb_attribute)dimension, text);
    return text[0] != '\0';
}

/* Numbers the units of a dimension in the order of their first members. */
static void number_units(struct pb_layout *layout, size_t dimension, size_t *firsts)
{
    size_t count = layout->group->member_count, *labels = layout->labels + dimension * count;
    size_t units = 0;

    for (size_t i = 0; i < count; i++) {
        size_t unit = units; /* the latest first: devices of a host stand beside each other */

        labels[i] = SIZE_MAX;
        if (!is_known(layout, dimension, i))
            continue;
        while (unit > 0 && !has_same(layout, dimension, i, firsts[unit - 1]))
            unit--;
        if (unit == 0)
            firsts[units++] = i;
        labels[i] = unit == 0 ? units - 1 : unit - 1;
    }
    layout->sizes[dimension] = units;
}

enum pb_status pb_layout_make(const struct pb_features *features, const struct pb_group *group,
                              struct pb_layout *layout_out, struct pb_error *err)
{
    size_t count = group->member_count;
    struct pb_layout layout = {.features = features,
                               .group = group,
                               .labels = calloc(PB_DIMENSIONS * count + 1, sizeof(size_t)),
                               .sizes = calloc(PB_DIMENSIONS, sizeof(size_t))};
    size_t *firsts = calloc(count + 1, sizeof(*firsts));

    if (layout.labels == NULL || layout.sizes == NULL || firsts == NULL) {
        free(firsts);
        pb_layout_clear(&layout);
        return pb_fail(err, PB_NO_MEMORY, "out of memory for the places of %zu devices", count);
    }
    for (size_t dimension = 0; dimension < PB_DIMENSIONS; dimension++)
        number_units(&layout, dimension, firsts);
    free(firsts);
    *layout_out = layout;
    return PB_OK;
}

void pb_layout_clear(struct pb_layout *layout)
{
    if (layout == NULL)
        return;
    free(layout->labels);
    free(layout->sizes);
    *layout = (struct pb_layout){0};
}

/* ---- the search ---- */

/* One call of pb_attribute(). */
struct search {
    const struct pb_layout *layout;
    bool *open;         /* per member: not part of a unit yet */
    bool *affected;     /* and affected */
    size_t *held, *hit; /* per unit of a dimension: its open devices, and the affected of them */
    size_t *hosts;      /* the first host of each unit, and SIZE_MAX - 1 when there are more */
    size_t open_count, affected_count;
    size_t candidates; /* units that are compared */
    struct pb_units *units;
    struct pb_error *err;
};

struct candidate {
    size_t dimension, unit;
    double gain;
};

static size_t label_of(const struct search *search, size_t dimension, size_t member)
{
    return search->layout->labels[dimension * search->layout->group->member_count + member];
}

static void count_units(struct search *search, size_t dimension)
{
    size_t units = search->layout->sizes[dimension];

    memset(search->held, 0, units * sizeof(*search->held));
    memset(search->hit, 0, units * sizeof(*search->hit));
    for (size_t i = 0; i < units; i++)
        search->hosts[i] = SIZE_MAX;
    for (size_t i = 0; i < search->layout->group->member_count; i++) {
        size_t unit = label_of(search, dimension, i), host;

        if (unit == SIZE_MAX || !search->open[i])
            continue;
        host = label_of(search, PB_DIMENSION_NODE, i);
        search->held[unit]++;
        search->hit[unit] += search->affected[i];
        search->hosts[unit] =
            search->hosts[unit] == SIZE_MAX || search->hosts[unit] == host ? host : SIZE_MAX - 1;
    }
}

/* Does the unit hold the documented share? */
static bool is_eligible(const struct search *search, size_t dimension, size_t unit)
{
    size_t held = search->held[unit], hit = search->hit[unit];
    const size_t *sizes = search->layout->sizes;

    switch (dimension) {
    case PB_DIMENSION_NODE:
        return sizes[PB_DIMENSION_NODE] >= NODES_MIN && hit >= NODE_DEVICES_MIN &&
               (double)hit >= NODE_SHARE * (double)held;
    case PB_DIMENSION_SLOT:
        return sizes[PB_DIMENSION_SLOT] > 1 && hit >= SLOT_DEVICES_MIN &&
               (double)hit >= SLOT_SHARE * (double)held;
    default:
        return sizes[dimension] > 1 && hit >= ATTRIBUTE_DEVICES_MIN &&
               search->hosts[unit] == SIZE_MAX - 1 && (double)hit >= ATTRIBUTE_SHARE * (double)held;
    }
}

static double gain_of(const struct search *search, size_t unit)
{
    double held = (double)search->held[unit], hit = (double)search->hit[unit];
    double inside = (hit + 0.5) / (held + 1.0);
    double outside =
        ((double)search->affected_count - hit + 0.5) / ((double)search->open_count - held + 1.0);

    if (inside <= outside)
        return -INFINITY;
    return hit * log(inside / outside) + (held - hit) * log((1.0 - inside) / (1.0 - outside)) -
           log((double)search->candidates) - UNIT_PENALTY;
}

/* The unit that gains most; of equal ones an attribute, which is the nearest to a cause. */
static struct candidate best_of(struct search *search)
{
    struct candidate best = {.gain = 0.0, .dimension = PB_DIMENSIONS};

    for (size_t dimension = 0; dimension < PB_DIMENSIONS; dimension++) {
        if (dimension == PB_ATTRIBUTE_SM_COUNT)
            continue; /* floor-sweeping */
        count_units(search, dimension);
        for (size_t unit = 0; unit < search->layout->sizes[dimension]; unit++) {
            double gain = is_eligible(search, dimension, unit) ? gain_of(search, unit) : 0.0;

            if (gain > best.gain)
                best = (struct candidate){dimension, unit, gain};
        }
    }
    return best;
}

static enum pb_status add_unit(struct search *search, const struct pb_unit *unit)
{
    struct pb_units *units = search->units;
    size_t *members;
    enum pb_status status =
        PB_RESERVE(units->items, units->count, units->capacity, "units", search->err);

    if (status != PB_OK)
        return status;
    members = calloc(search->affected_count + 1, sizeof(*members));
    if (members == NULL)
        return pb_fail(search->err, PB_NO_MEMORY, "out of memory for %zu units", units->count + 1);
    units->items[units->count] = *unit;
    units->items[units->count++].members = members;
    return PB_OK;
}

/* Moves a member from the open ones into the last unit. */
static void take(struct search *search, size_t member)
{
    struct pb_unit *unit = &search->units->items[search->units->count - 1];

    if (search->affected[member]) {
        unit->first = unit->count == 0 ? member : unit->first;
        unit->members[unit->count++] = member;
        search->affected_count--;
    }
    search->open[member] = search->affected[member] = false;
    search->open_count--;
    unit->held++;
}

static enum pb_status take_unit(struct search *search, const struct candidate *best)
{
    struct pb_unit unit = {.level = best->dimension == PB_DIMENSION_NODE   ? PB_LEVEL_NODE
                                    : best->dimension == PB_DIMENSION_SLOT ? PB_LEVEL_SLOT
                                                                           : PB_LEVEL_POPULATION,
                           .attribute = best->dimension < PB_ATTRIBUTE_COUNT
                                            ? (enum pb_attribute)best->dimension
                                            : PB_ATTRIBUTE_COUNT};
    enum pb_status status = add_unit(search, &unit);

    for (size_t i = 0; i < search->layout->group->member_count && status == PB_OK; i++)
        if (search->open[i] && label_of(search, best->dimension, i) == best->unit)
            take(search, i);
    return status;
}

/* What no unit explains: one population, or each by itself. */
static enum pb_status take_rest(struct search *search, bool together)
{
    struct pb_unit unit = {.level = together ? PB_LEVEL_POPULATION : PB_LEVEL_DEVICE,
                           .attribute = PB_ATTRIBUTE_COUNT};
    size_t member_count = search->layout->group->member_count;
    enum pb_status status = together ? add_unit(search, &unit) : PB_OK;

    for (size_t i = 0; i < member_count && status == PB_OK; i++) {
        if (!search->affected[i])
            continue;
        if (!together)
            status = add_unit(search, &unit);
        if (status == PB_OK)
            take(search, i);
    }
    if (together && status == PB_OK)
        search->units->items[search->units->count - 1].held = member_count;
    return status;
}

static enum pb_status explain(struct search *search, bool whole, bool loose)
{
    double count = (double)search->layout->group->member_count;
    enum pb_status status = PB_OK;

    if (whole && search->affected_count >= WHOLE_DEVICES_MIN &&
        (double)search->affected_count >= WHOLE_SHARE * count)
        return take_rest(search, true);
    while (status == PB_OK && search->affected_count > 0) {
        struct candidate best = best_of(search);

        if (best.dimension == PB_DIMENSIONS)
            break;
        status = take_unit(search, &best);
    }
    if (status == PB_OK)
        status = take_rest(search, loose && search->affected_count >= LOOSE_DEVICES_MIN &&
                                       (double)search->affected_count >= LOOSE_SHARE * count);
    return status;
}

static void start(struct search *search, const bool *affected)
{
    size_t count = search->layout->group->member_count;

    for (size_t i = 0; i < count; i++) {
        search->open[i] = true;
        search->affected[i] = affected[i];
        search->affected_count += affected[i];
    }
    search->open_count = count;
    search->candidates = 1;
    for (size_t dimension = 0; dimension < PB_DIMENSIONS; dimension++)
        if (search->layout->sizes[dimension] > 1)
            search->candidates += search->layout->sizes[dimension];
}

enum pb_status pb_attribute(const struct pb_layout *layout, const bool *affected, bool whole,
                            bool loose, struct pb_units *units_out, struct pb_error *err)
{
    size_t count = layout->group->member_count;
    struct pb_units units = {0};
    struct search search = {.layout = layout,
                            .open = calloc(count + 1, sizeof(bool)),
                            .affected = calloc(count + 1, sizeof(bool)),
                            .held = calloc(count + 1, sizeof(size_t)),
                            .hit = calloc(count + 1, sizeof(size_t)),
                            .hosts = calloc(count + 1, sizeof(size_t)),
                            .units = &units,
                            .err = err};
    enum pb_status status = PB_OK;

    if (search.open == NULL || search.affected == NULL || search.held == NULL ||
        search.hit == NULL || search.hosts == NULL) {
        status = pb_fail(err, PB_NO_MEMORY, "out of memory to attribute %zu devices", count);
    } else {
        start(&search, affected);
        status = explain(&search, whole, loose);
    }
    free(search.open);
    free(search.affected);
    free(search.held);
    free(search.hit);
    free(search.hosts);
    if (status == PB_OK)
        *units_out = units;
    else
        pb_units_clear(&units);
    return status;
}

void pb_units_clear(struct pb_units *units)
{
    if (units == NULL)
        return;
    for (size_t i = 0; i < units->count; i++)
        free(units->items[i].members);
    free(units->items);
    *units = (struct pb_units){0};
}

/* Does this value of the attribute distinguish the inside from the outside? */
static bool separates(const struct pb_layout *layout, const signed char *inside,
                      enum pb_attribute attribute, size_t first)
{
    size_t count = layout->group->member_count;
    const size_t *labels = layout->labels + (size_t)attribute * count;
    size_t seen[2] = {0, 0}, having[2] = {0, 0};

    for (size_t i = 0; i < count; i++) {
        if (inside[i] < 0 || labels[i] == SIZE_MAX)
            continue;
        seen[inside[i]]++;
        having[inside[i]] += labels[i] == labels[first];
    }
    return seen[0] > 0 && (double)having[1] >= SEPARATING * (double)seen[1] &&
           (double)having[0] <= (1.0 - SEPARATING) * (double)seen[0];
}

enum pb_attribute pb_attribute_separating(const struct pb_layout *layout, const signed char *inside,
                                          size_t *first_out)
{
    size_t count = layout->group->member_count;

    for (size_t attribute = 0; attribute < PB_ATTRIBUTE_COUNT; attribute++) {
        size_t tried = 0; /* two values at most can have nine tenths, whoever comes first */

        for (size_t i = 0; i < count && tried < count; i++) {
            if (inside[i] != 1 || layout->labels[attribute * count + i] == SIZE_MAX)
                continue;
            if (separates(layout, inside, (enum pb_attribute)attribute, i)) {
                *first_out = i;
                return (enum pb_attribute)attribute;
            }
            if (++tried > count / 10 + 1)
                break;
        }
    }
    return PB_ATTRIBUTE_COUNT;
}
