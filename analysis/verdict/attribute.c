/* Attribution by median polish; see attribute.h. */
#include "analysis/verdict/attribute.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_NODES = 3, LEAST_SLOT_NODES = 3, LEAST_DEVICES = 3 };

/* A device goes along with its node when it has this share of the node's own deviation. */
static const double alike_share = 0.4;

/* Nearly all: of four devices three, of eight six. */
static const double nearly_all = 0.75;

/* A group laid out as nodes by slots. */
struct layout {
    size_t nodes, slots;
    size_t *node_of, *slot_of; /* per member */
    size_t *subjects;          /* [nodes][slots]; SIZE_MAX: nobody */
    double *values, *row, *column;
    struct pb_move *moves; /* per member: what this metric says of it */
    bool *claimed;         /* per member: that is its node's, its slot's or the group's */
};

static void free_layout(struct layout *layout)
{
    free(layout->node_of);
    free(layout->slot_of);
    free(layout->subjects);
    free(layout->values);
    free(layout->row);
    free(layout->column);
    free(layout->moves);
    free(layout->claimed);
}

/* A member's node is that of the first member with its host; likewise its slot. */
static void number_members(const struct pb_sheet *sheet, const struct pb_group *group,
                           struct layout *layout)
{
    for (size_t i = 0; i < group->member_count; i++) {
        const struct pb_subject *own = &sheet->subjects[group->members[i]];
        size_t node = layout->nodes, slot = layout->slots;

        for (size_t k = i; k-- > 0 && (node == layout->nodes || slot == layout->slots);) {
            const struct pb_subject *other = &sheet->subjects[group->members[k]];

            if (node == layout->nodes && strcmp(other->host, own->host) == 0)
                node = layout->node_of[k];
            if (slot == layout->slots && other->slot == own->slot)
                slot = layout->slot_of[k];
        }
        layout->node_of[i] = node;
        layout->slot_of[i] = slot;
        layout->nodes += node == layout->nodes;
        layout->slots += slot == layout->slots;
    }
}

static enum pb_status lay_out(const struct pb_sheet *sheet, const struct pb_group *group,
                              struct layout *layout, struct pb_error *err)
{
    size_t count = group->member_count, cells;

    *layout = (struct layout){.node_of = calloc(count + 1, sizeof(*layout->node_of)),
                              .slot_of = calloc(count + 1, sizeof(*layout->slot_of)),
                              .moves = calloc(count + 1, sizeof(*layout->moves)),
                              .claimed = calloc(count + 1, sizeof(*layout->claimed))};
    if (layout->node_of == NULL || layout->slot_of == NULL || layout->moves == NULL ||
        layout->claimed == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for %zu devices of a group", count);
    number_members(sheet, group, layout);
    cells = layout->nodes * layout->slots + 1;
    layout->subjects = calloc(cells, sizeof(*layout->subjects));
    layout->values = malloc(cells * sizeof(*layout->values));
    layout->row = malloc((layout->nodes + 1) * sizeof(*layout->row));
    layout->column = malloc((layout->slots + 1) * sizeof(*layout->column));
    if (layout->subjects == NULL || layout->values == NULL || layout->row == NULL ||
        layout->column == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for %zu nodes", layout->nodes);
    for (size_t i = 0; i < cells; i++)
        layout->subjects[i] = SIZE_MAX;
    for (size_t i = 0; i < count; i++)
        layout->subjects[layout->node_of[i] * layout->slots + layout->slot_of[i]] = i;
    return PB_OK;
}

/* One metric of one group, against the peers or against the devices' own past. */
struct fit {
    const struct pb_sheet *sheet;
    const struct pb_scores *scores;
    const struct pb_group *group;
    size_t group_index;
    struct layout layout;
    struct pb_bundles *bundles;
    struct pb_error *err;
};

/* A node's row, a slot's column, or all of a group. */
struct line {
    enum pb_level level;
    size_t length, step;
    const size_t *members; /* first of them; SIZE_MAX: nobody */
    double effect;         /* sigmas, of the fit */
    size_t least;          /* devices that must deviate together */
    double share;          /* of those that are there */
};

/*
 * Do the devices of a line deviate together? So many of them in the line's direction and by a fair
 * share of its effect; at least half of those, and two, have moved by themselves and are nobody's
 * yet.
 */
static bool moves_together(const struct fit *fit, const struct line *line)
{
    size_t present = 0, alike = 0, moved = 0;

    for (size_t k = 0; k < line->length; k++) {
        size_t member = line->members[k * line->step];
        const struct pb_move *move;

        if (member == SIZE_MAX || isnan(fit->layout.moves[member].sigmas))
            continue;
        move = &fit->layout.moves[member];
        present++;
        if (move->sigmas * line->effect > 0.0 &&
            fabs(move->sigmas) >= alike_share * fabs(line->effect)) {
            alike++;
            moved += pb_move_is_one(move) && !fit->layout.claimed[member];
        }
    }
    return alike >= line->least && (double)alike >= line->share * (double)present &&
           2 * moved >= alike && moved >= 2;
}

/* Puts the device that lies nearest to the line's effect down as the line's deviation. */
static enum pb_status claim(struct fit *fit, const struct line *line)
{
    size_t first = SIZE_MAX, best = SIZE_MAX;
    double nearest = INFINITY;
    struct pb_move move;

    for (size_t k = 0; k < line->length; k++) {
        size_t member = line->members[k * line->step];
        double distance;

        if (member == SIZE_MAX)
            continue;
        if (first == SIZE_MAX)
            first = member;
        if (!pb_move_is_one(&fit->layout.moves[member]) || fit->layout.claimed[member] ||
            fit->layout.moves[member].sigmas * line->effect < 0.0)
            continue;
        fit->layout.claimed[member] = true;
        distance = fabs(fit->layout.moves[member].sigmas - line->effect);
        if (best == SIZE_MAX || distance < nearest) {
            nearest = distance;
            best = member;
        }
    }
    move = fit->layout.moves[best];
    move.place = -1;
    return pb_bundles_put(fit->bundles, line->level, fit->group_index, fit->group->members[first],
                          &move, fit->err);
}

static enum pb_status claim_nodes(struct fit *fit)
{
    const struct layout *layout = &fit->layout;
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < layout->nodes && status == PB_OK && layout->nodes >= LEAST_NODES; i++) {
        struct line line = {PB_LEVEL_NODE,
                            layout->slots,
                            1,
                            layout->subjects + i * layout->slots,
                            layout->row[i],
                            2,
                            nearly_all};

        if (moves_together(fit, &line))
            status = claim(fit, &line);
    }
    return status;
}

static enum pb_status claim_slots(struct fit *fit)
{
    const struct layout *layout = &fit->layout;
    enum pb_status status = PB_OK;

    for (size_t k = 0; k < layout->slots && status == PB_OK && layout->slots > 1; k++) {
        struct line line = {PB_LEVEL_SLOT,
                            layout->nodes,
                            layout->slots,
                            layout->subjects + k,
                            layout->column[k],
                            LEAST_SLOT_NODES,
                            0.5};

        if (moves_together(fit, &line))
            status = claim(fit, &line);
    }
    return status;
}

static double median_move(struct fit *fit)
{
    size_t count = 0;

    for (size_t i = 0; i < fit->group->member_count; i++)
        if (!isnan(fit->layout.moves[i].sigmas))
            fit->layout.values[count++] = fit->layout.moves[i].sigmas;
    gsl_sort(fit->layout.values, 1, count);
    return count > 0 ? fit->layout.values[count / 2] : 0.0;
}

/* Against the past a whole group may have moved; against each other that cannot be. */
static enum pb_status claim_group(struct fit *fit)
{
    const struct layout *layout = &fit->layout;
    struct line line = {PB_LEVEL_POPULATION,
                        layout->nodes * layout->slots,
                        1,
                        layout->subjects,
                        median_move(fit),
                        LEAST_DEVICES,
                        nearly_all};

    return moves_together(fit, &line) ? claim(fit, &line) : PB_OK;
}

/* The devices' readings of one metric; false: none of them has moved. */
static bool read_moves(struct fit *fit, size_t metric, enum pb_against against)
{
    bool any = false;

    for (size_t i = 0; i < fit->group->member_count; i++) {
        fit->layout.moves[i] = pb_move_read(fit->sheet, fit->scores, fit->group_index,
                                            fit->group->members[i], metric, against);
        any |= pb_move_is_one(&fit->layout.moves[i]);
    }
    memset(fit->layout.claimed, 0, fit->group->member_count * sizeof(*fit->layout.claimed));
    return any;
}

static enum pb_status polish(struct fit *fit)
{
    struct layout *layout = &fit->layout;

    for (size_t i = 0; i < layout->nodes * layout->slots; i++)
        layout->values[i] =
            layout->subjects[i] == SIZE_MAX ? NAN : layout->moves[layout->subjects[i]].sigmas;
    return pb_median_polish(layout->nodes, layout->slots, layout->values, layout->row,
                            layout->column, fit->err);
}

static enum pb_status attribute_metric(struct fit *fit, size_t metric, enum pb_against against)
{
    enum pb_status status = PB_OK;

    if (!read_moves(fit, metric, against))
        return PB_OK;
    if (against == PB_AGAINST_PAST)
        status = claim_group(fit);
    if (status == PB_OK)
        status = polish(fit);
    if (status == PB_OK)
        status = claim_slots(fit);
    if (status == PB_OK)
        status = claim_nodes(fit);
    for (size_t i = 0; i < fit->group->member_count && status == PB_OK; i++)
        if (!fit->layout.claimed[i] && pb_move_is_one(&fit->layout.moves[i]))
            status = pb_bundles_put(fit->bundles, PB_LEVEL_DEVICE, fit->group_index,
                                    fit->group->members[i], &fit->layout.moves[i], fit->err);
    return status;
}

static enum pb_status attribute_group(struct fit *fit, size_t group_index)
{
    enum pb_status status;

    fit->group_index = group_index;
    fit->group = &fit->scores->groups[group_index];
    status = lay_out(fit->sheet, fit->group, &fit->layout, fit->err);
    for (size_t m = 0; m < fit->scores->metric_count && status == PB_OK; m++) {
        status = attribute_metric(fit, m, PB_AGAINST_PEERS);
        if (status == PB_OK)
            status = attribute_metric(fit, m, PB_AGAINST_PAST);
    }
    free_layout(&fit->layout);
    return status;
}

/* Nodes and slots before devices: what they explain is not told again of their devices. */
static int wider_first(const void *a, const void *b)
{
    const struct pb_bundle *left = a, *right = b;

    if (left->level != right->level)
        return (int)right->level - (int)left->level;
    return (left->subject > right->subject) - (left->subject < right->subject);
}

enum pb_status pb_attribute(const struct pb_sheet *sheet, const struct pb_scores *scores,
                            struct pb_bundles *bundles_out, struct pb_error *err)
{
    struct pb_bundles bundles = {0};
    struct fit fit = {.sheet = sheet, .scores = scores, .bundles = &bundles, .err = err};
    enum pb_status status = PB_OK;

    for (size_t g = 0; g < scores->group_count && status == PB_OK; g++)
        status = attribute_group(&fit, g);
    if (status != PB_OK) {
        pb_bundles_clear(&bundles);
        return status;
    }
    if (bundles.count > 1)
        qsort(bundles.items, bundles.count, sizeof(*bundles.items), wider_first);
    *bundles_out = bundles;
    return PB_OK;
}
