/* Attribution by median polish; see attribute.h. */
#include "analysis/verdict/attribute.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POLISH_ROUNDS = 8, LEAST_NODES = 3, LEAST_SLOT_NODES = 3, SIGMAS_MAX = 1000000 };

/* A device goes along with its node when it has this share of the node's own deviation. */
static const double alike_share = 0.4;
/* Nearly all: of four devices three, of eight six. */
static const double nearly_all = 0.75;

void pb_bundles_clear(struct pb_bundles *bundles)
{
    if (bundles == NULL)
        return;
    for (size_t i = 0; i < bundles->count; i++)
        free(bundles->items[i].moves);
    free(bundles->items);
    *bundles = (struct pb_bundles){0};
}

static double median_in(double *values, size_t count)
{
    if (count == 0)
        return 0.0;
    gsl_sort(values, 1, count);
    return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2.0;
}

/* Takes the median off every line of a table, lines being rows or columns. */
static void sweep_lines(size_t lines, size_t length, size_t line_step, size_t step, double *values,
                        double *scratch, double *effect)
{
    for (size_t i = 0; i < lines; i++) {
        double *line = values + i * line_step, median;
        size_t count = 0;

        for (size_t k = 0; k < length; k++)
            if (!isnan(line[k * step]))
                scratch[count++] = line[k * step];
        median = median_in(scratch, count);
        for (size_t k = 0; k < length; k++)
            line[k * step] -= median;
        effect[i] += median;
    }
}

enum pb_status pb_median_polish(size_t rows, size_t columns, double *values_inout, double *row_out,
                                double *column_out, struct pb_error *err)
{
    double *scratch = malloc((rows + columns + 1) * sizeof(*scratch));

    if (scratch == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory to fit %zu nodes", rows);
    memset(row_out, 0, rows * sizeof(*row_out));
    memset(column_out, 0, columns * sizeof(*column_out));
    for (int round = 0; round < POLISH_ROUNDS; round++) {
        /* Columns first: most devices are healthy, so a slot's median is that of healthy ones. */
        sweep_lines(columns, rows, 1, columns, values_inout, scratch, column_out);
        sweep_lines(rows, columns, columns, 1, values_inout, scratch, row_out);
    }
    free(scratch);
    return PB_OK;
}

/* A group laid out as nodes by slots. */
struct layout {
    size_t nodes, slots;
    size_t *node_of, *slot_of; /* per member */
    size_t *subjects;          /* [nodes][slots]; SIZE_MAX: nobody */
    double *values, *row, *column;
    bool *claimed; /* per member: its deviation in this metric is a node's or a slot's */
};

static void free_layout(struct layout *layout)
{
    free(layout->node_of);
    free(layout->slot_of);
    free(layout->subjects);
    free(layout->values);
    free(layout->row);
    free(layout->column);
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
                              .claimed = calloc(count + 1, sizeof(*layout->claimed))};
    if (layout->node_of == NULL || layout->slot_of == NULL || layout->claimed == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for %zu devices of a group", count);
    number_members(sheet, group, layout);
    cells = layout->nodes * layout->slots + 1;
    layout->subjects = malloc(cells * sizeof(*layout->subjects));
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

static const struct pb_score *score_of(const struct pb_scores *scores, size_t subject,
                                       size_t metric)
{
    return &scores->cells[subject * scores->metric_count + metric];
}

static double clamp(double sigmas)
{
    return sigmas > SIGMAS_MAX ? SIGMAS_MAX : sigmas < -SIGMAS_MAX ? -SIGMAS_MAX : sigmas;
}

static bool has_moved(const struct pb_score *score)
{
    return score->severity == PB_SEVERITY_WARNING || score->severity == PB_SEVERITY_CRITICAL;
}

static struct pb_bundle *find_bundle(struct pb_bundles *bundles, enum pb_level level, size_t group,
                                     size_t subject)
{
    for (size_t i = bundles->count; i-- > 0;) {
        struct pb_bundle *bundle = &bundles->items[i];

        if (bundle->level == level && bundle->group == group && bundle->subject == subject)
            return bundle;
    }
    return NULL;
}

static enum pb_status add_bundle(struct pb_bundles *bundles, const struct pb_bundle *bundle,
                                 struct pb_error *err)
{
    if (bundles->count == bundles->capacity) {
        size_t capacity = bundles->capacity == 0 ? 16 : 2 * bundles->capacity;
        struct pb_bundle *grown = realloc(bundles->items, capacity * sizeof(*grown));

        if (grown == NULL)
            return pb_fail(err, PB_NO_MEMORY, "no memory for %zu places", capacity);
        bundles->items = grown;
        bundles->capacity = capacity;
    }
    bundles->items[bundles->count++] = *bundle;
    return PB_OK;
}

/* Adds a move to the bundle of that place, made when there is none. */
static enum pb_status add_move(struct pb_bundles *bundles, enum pb_level level, size_t group,
                               size_t subject, const struct pb_move *move, struct pb_error *err)
{
    struct pb_bundle *bundle = find_bundle(bundles, level, group, subject);
    struct pb_bundle fresh = {.level = level, .group = group, .subject = subject};
    enum pb_status status;

    if (bundle == NULL) {
        status = add_bundle(bundles, &fresh, err);
        if (status != PB_OK)
            return status;
        bundle = &bundles->items[bundles->count - 1];
    }
    if (bundle->count == bundle->capacity) {
        size_t capacity = bundle->capacity == 0 ? 16 : 2 * bundle->capacity;
        struct pb_move *grown = realloc(bundle->moves, capacity * sizeof(*grown));

        if (grown == NULL)
            return pb_fail(err, PB_NO_MEMORY, "no memory for %zu deviations", capacity);
        bundle->moves = grown;
        bundle->capacity = capacity;
    }
    bundle->moves[bundle->count++] = *move;
    return PB_OK;
}

static struct pb_move move_of(const struct pb_sheet *sheet, const struct pb_scores *scores,
                              size_t group, size_t subject, size_t metric)
{
    const struct pb_score *score = score_of(scores, subject, metric);
    const struct pb_norm *norm = &scores->norms[group * scores->metric_count + metric];
    struct pb_cell cell = pb_sheet_cell(sheet, subject, metric);

    return (struct pb_move){.metric = metric,
                            .value = cell.value,
                            .expected = norm->center,
                            .shift = score->shift,
                            .sigmas = score->sigmas,
                            .p = score->p,
                            .severity = score->severity,
                            .place = cell.place,
                            .peers = norm->peers > 0 ? norm->peers - 1 : 0};
}

/* One node's row or one slot's column of the layout. */
struct line {
    size_t length, step;
    const size_t *members; /* first of them; SIZE_MAX: nobody */
    double effect;         /* of the fit */
};

/*
 * Do the devices of a line deviate together? Every one of them but a few in the line's direction,
 * by a fair share of its effect; at least half of them have moved by themselves.
 */
static bool moves_together(const struct pb_scores *scores, const struct pb_group *group,
                           const struct line *line, size_t metric, size_t least, double share)
{
    size_t present = 0, alike = 0, moved = 0;

    for (size_t k = 0; k < line->length; k++) {
        size_t member = line->members[k * line->step];
        const struct pb_score *score;

        if (member == SIZE_MAX)
            continue;
        score = score_of(scores, group->members[member], metric);
        if (isnan(score->sigmas))
            continue;
        present++;
        if (score->sigmas * line->effect > 0.0 &&
            fabs(score->sigmas) >= alike_share * fabs(line->effect)) {
            alike++;
            moved += has_moved(score);
        }
    }
    return alike >= least && (double)alike >= share * (double)present && 2 * moved >= alike &&
           moved >= 2;
}

/* Puts the line's median device, in the scale of its shift, down as the line's deviation. */
static enum pb_status claim(const struct pb_sheet *sheet, const struct pb_scores *scores,
                            size_t group_index, struct layout *layout, const struct line *line,
                            enum pb_level level, size_t metric, struct pb_bundles *bundles,
                            struct pb_error *err)
{
    const struct pb_group *group = &scores->groups[group_index];
    size_t first = SIZE_MAX, best = SIZE_MAX;
    double nearest = INFINITY;
    struct pb_move move;

    for (size_t k = 0; k < line->length; k++) {
        size_t member = line->members[k * line->step];
        const struct pb_score *score;
        double distance;

        if (member == SIZE_MAX)
            continue;
        if (first == SIZE_MAX)
            first = member;
        score = score_of(scores, group->members[member], metric);
        if (!has_moved(score) || score->sigmas * line->effect < 0.0)
            continue;
        layout->claimed[member] = true;
        distance = fabs(score->sigmas - line->effect);
        if (distance < nearest || best == SIZE_MAX) {
            nearest = distance;
            best = member;
        }
    }
    move = move_of(sheet, scores, group_index, group->members[best], metric);
    move.place = -1;
    return add_move(bundles, level, group_index, group->members[first], &move, err);
}

static enum pb_status claim_nodes(const struct pb_sheet *sheet, const struct pb_scores *scores,
                                  size_t group_index, struct layout *layout, size_t metric,
                                  struct pb_bundles *bundles, struct pb_error *err)
{
    const struct pb_group *group = &scores->groups[group_index];
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < layout->nodes && status == PB_OK && layout->nodes >= LEAST_NODES; i++) {
        struct line line = {layout->slots, 1, layout->subjects + i * layout->slots, layout->row[i]};

        if (moves_together(scores, group, &line, metric, 2, nearly_all))
            status = claim(sheet, scores, group_index, layout, &line, PB_LEVEL_NODE, metric,
                           bundles, err);
    }
    return status;
}

static enum pb_status claim_slots(const struct pb_sheet *sheet, const struct pb_scores *scores,
                                  size_t group_index, struct layout *layout, size_t metric,
                                  struct pb_bundles *bundles, struct pb_error *err)
{
    const struct pb_group *group = &scores->groups[group_index];
    enum pb_status status = PB_OK;

    for (size_t k = 0; k < layout->slots && status == PB_OK && layout->slots > 1; k++) {
        struct line line = {layout->nodes, layout->slots, layout->subjects + k, layout->column[k]};

        if (moves_together(scores, group, &line, metric, LEAST_SLOT_NODES, 0.5))
            status = claim(sheet, scores, group_index, layout, &line, PB_LEVEL_SLOT, metric,
                           bundles, err);
    }
    return status;
}

static bool any_moved(const struct pb_scores *scores, const struct pb_group *group, size_t metric)
{
    for (size_t i = 0; i < group->member_count; i++)
        if (has_moved(score_of(scores, group->members[i], metric)))
            return true;
    return false;
}

static enum pb_status fit(const struct pb_scores *scores, const struct pb_group *group,
                          struct layout *layout, size_t metric, struct pb_error *err)
{
    for (size_t i = 0; i < layout->nodes * layout->slots; i++) {
        size_t member = layout->subjects[i];

        layout->values[i] = NAN; /* a count out of nothing may lie infinitely far */
        if (member != SIZE_MAX)
            layout->values[i] = clamp(score_of(scores, group->members[member], metric)->sigmas);
    }
    memset(layout->claimed, 0, group->member_count * sizeof(*layout->claimed));
    return pb_median_polish(layout->nodes, layout->slots, layout->values, layout->row,
                            layout->column, err);
}

static enum pb_status attribute_group(const struct pb_sheet *sheet, const struct pb_scores *scores,
                                      size_t group_index, struct pb_bundles *bundles,
                                      struct pb_error *err)
{
    const struct pb_group *group = &scores->groups[group_index];
    struct layout layout;
    enum pb_status status = lay_out(sheet, group, &layout, err);

    for (size_t m = 0; m < scores->metric_count && status == PB_OK; m++) {
        if (!any_moved(scores, group, m))
            continue;
        status = fit(scores, group, &layout, m, err);
        if (status == PB_OK)
            status = claim_slots(sheet, scores, group_index, &layout, m, bundles, err);
        if (status == PB_OK)
            status = claim_nodes(sheet, scores, group_index, &layout, m, bundles, err);
        for (size_t i = 0; i < group->member_count && status == PB_OK; i++) {
            struct pb_move move;

            if (layout.claimed[i] || !has_moved(score_of(scores, group->members[i], m)))
                continue;
            move = move_of(sheet, scores, group_index, group->members[i], m);
            status = add_move(bundles, PB_LEVEL_DEVICE, group_index, group->members[i], &move, err);
        }
    }
    free_layout(&layout);
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
    enum pb_status status = PB_OK;

    for (size_t g = 0; g < scores->group_count && status == PB_OK; g++)
        status = attribute_group(sheet, scores, g, &bundles, err);
    if (status != PB_OK) {
        pb_bundles_clear(&bundles);
        return status;
    }
    if (bundles.count > 1)
        qsort(bundles.items, bundles.count, sizeof(*bundles.items), wider_first);
    *bundles_out = bundles;
    return PB_OK;
}
