/* Single linkage by the minimum spanning tree (Prim), cut at its clearest gaps. */
#include "analysis/grouping.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { PROFILES_MIN = 3, STRAY_SHARE = 20, BLOCK = 16 };

/* Differences below this are rounding: a gap against nothing is no gap. */
static const double least_step = 0.25;

/* A step of the tree. */
struct step {
    double length;
    size_t from, to;
};

/* Longest first; equal ones in a fixed order. */
static int by_length(const void *a, const void *b)
{
    const struct step *left = a, *right = b;

    if (left->length != right->length)
        return left->length < right->length ? 1 : -1;
    return (left->to > right->to) - (left->to < right->to);
}

/* Mean absolute difference of two profiles, or anything above `bound` once it must exceed that. */
static double distance(const float *a, const float *b, size_t length, double bound)
{
    double sum = 0.0, most = bound * (double)length;
    size_t i = 0;

    while (i < length && sum <= most) {
        size_t end = i + BLOCK < length ? i + BLOCK : length;
        float part = 0.0F;

        for (; i < end; i++)
            part += fabsf(a[i] - b[i]);
        sum += part;
    }
    return sum / (double)length;
}

/* Everything that the search needs; one allocation each. */
struct tree {
    size_t count;
    struct step *steps; /* [count - 1] */
    double *nearest;    /* [count] distance from the tree so far; negative: in it */
    size_t *parent;     /* [count] */
    size_t *members;    /* [count] of a group */
};

static void tree_clear(struct tree *tree)
{
    free(tree->steps);
    free(tree->nearest);
    free(tree->parent);
    free(tree->members);
}

static enum pb_status tree_allocate(size_t count, struct tree *tree_out, struct pb_error *err)
{
    struct tree tree = {count, calloc(count, sizeof(*tree.steps)),
                        calloc(count, sizeof(*tree.nearest)), calloc(count, sizeof(*tree.parent)),
                        calloc(count, sizeof(*tree.members))};

    if (tree.steps == NULL || tree.nearest == NULL || tree.parent == NULL || tree.members == NULL) {
        tree_clear(&tree);
        return pb_fail(err, PB_NO_MEMORY, "no memory to group %zu profiles", count);
    }
    *tree_out = tree;
    return PB_OK;
}

/* Takes `last` into the tree; returns the profile nearest to it now. */
static size_t grow(struct tree *tree, const float *profiles, size_t length, size_t last)
{
    size_t next = tree->count;

    tree->nearest[last] = -1.0;
    for (size_t i = 0; i < tree->count; i++) {
        double to_last;

        if (tree->nearest[i] < 0.0)
            continue;
        to_last =
            distance(profiles + i * length, profiles + last * length, length, tree->nearest[i]);
        if (to_last < tree->nearest[i]) {
            tree->nearest[i] = to_last;
            tree->parent[i] = last;
        }
        if (next == tree->count || tree->nearest[i] < tree->nearest[next])
            next = i;
    }
    return next;
}

static void span(struct tree *tree, const float *profiles, size_t length)
{
    size_t next = 0;

    for (size_t i = 0; i < tree->count; i++)
        tree->nearest[i] = HUGE_VAL;
    for (size_t i = 0; i + 1 < tree->count; i++) {
        next = grow(tree, profiles, length, next);
        tree->steps[i] = (struct step){tree->nearest[next], tree->parent[next], next};
    }
    qsort(tree->steps, tree->count - 1, sizeof(*tree->steps), by_length);
}

static size_t root_of(size_t *parent, size_t i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

/* Groups without the `cuts` longest steps: parent[] and members[] by root. */
static void cut(struct tree *tree, size_t cuts)
{
    for (size_t i = 0; i < tree->count; i++) {
        tree->parent[i] = i;
        tree->members[i] = 1;
    }
    for (size_t i = cuts; i + 1 < tree->count; i++) {
        size_t from = root_of(tree->parent, tree->steps[i].from);
        size_t to = root_of(tree->parent, tree->steps[i].to);

        tree->parent[from] = to;
        tree->members[to] += tree->members[from];
    }
}

/* Groups of two or more, and strays, after that many cuts. */
static void count_groups(struct tree *tree, size_t cuts, size_t *groups_out, size_t *strays_out)
{
    *groups_out = *strays_out = 0;
    cut(tree, cuts);
    for (size_t i = 0; i < tree->count; i++) {
        if (tree->parent[i] != i)
            continue;
        *groups_out += tree->members[i] > 1;
        *strays_out += tree->members[i] == 1;
    }
}

static double gap_at(const struct tree *tree, size_t cuts)
{
    return tree->steps[cuts - 1].length / fmax(tree->steps[cuts].length, least_step);
}

/* How many cuts make the finest clear grouping (0: none does), and the clearest gap behind it. */
static size_t choose(struct tree *tree, double least_gap, struct pb_grouping *grouping)
{
    size_t chosen = 0, groups, strays;

    *grouping = (struct pb_grouping){.count = 1, .gap = 1.0, .gap_inside = 1.0};
    for (size_t cuts = 1; cuts < tree->count / 2; cuts++) {
        double gap = gap_at(tree, cuts);

        if (gap <= grouping->gap_inside && gap < least_gap)
            continue;
        count_groups(tree, cuts, &groups, &strays);
        if (groups < 2 || groups <= grouping->count || strays * STRAY_SHARE > tree->count)
            continue;
        if (gap < least_gap) {
            grouping->gap_inside = gap;
            continue;
        }
        *grouping = (struct pb_grouping){.count = groups,
                                         .strays = strays,
                                         .gap = gap,
                                         .within = tree->steps[cuts].length,
                                         .between = tree->steps[cuts - 1].length,
                                         .gap_inside = 1.0};
        chosen = cuts;
    }
    return chosen;
}

static void name_groups(struct tree *tree, size_t cuts, size_t *groups_out)
{
    size_t named = 0;

    cut(tree, cuts);
    for (size_t i = 0; i < tree->count; i++)
        groups_out[i] = tree->count;
    for (size_t i = 0; i < tree->count; i++) {
        size_t root = root_of(tree->parent, i);

        if (tree->members[root] < 2 || groups_out[i] < tree->count)
            continue;
        for (size_t j = i; j < tree->count; j++)
            if (root_of(tree->parent, j) == root)
                groups_out[j] = named;
        named++;
    }
}

enum pb_status pb_grouping_find(const float *profiles, size_t count, size_t length,
                                double least_gap, size_t *groups_out,
                                struct pb_grouping *grouping_out, struct pb_error *err)
{
    struct tree tree = {0};
    enum pb_status status;

    if (count < PROFILES_MIN || length == 0)
        return pb_fail(err, PB_NOT_FOUND, "%zu profiles of %zu values cannot be grouped", count,
                       length);
    status = tree_allocate(count, &tree, err);
    if (status != PB_OK)
        return status;
    span(&tree, profiles, length);
    name_groups(&tree, choose(&tree, least_gap, grouping_out), groups_out);
    tree_clear(&tree);
    return PB_OK;
}
