/* Single linkage by the minimum spanning tree (Prim), cut at its clearest gaps. */
#include "analysis/statistics/grouping.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { PROFILES_MIN = 3, OUTLIER_SHARE = 20, BLOCK = 16, ABREAST = 4 };

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

/*
 * Mean absolute differences of some profiles from another one, or anything above `bounds` once they
 * all must exceed those. Several side by side: each is a sum that waits for itself.
 */
static void distances(const float *const *a, const float *b, size_t length, const double *bounds,
                      double *means_out)
{
    double sums[ABREAST] = {0.0};
    bool wanted = true;
    size_t i = 0;

    while (i < length && wanted) {
        size_t end = i + BLOCK < length ? i + BLOCK : length;
        float parts[ABREAST] = {0.0F};

        for (; i < end; i++)
            for (size_t k = 0; k < ABREAST; k++)
                parts[k] += fabsf(a[k][i] - b[i]);
        wanted = false;
        for (size_t k = 0; k < ABREAST; k++) {
            sums[k] += parts[k];
            wanted |= sums[k] <= bounds[k] * (double)length;
        }
    }
    for (size_t k = 0; k < ABREAST; k++)
        means_out[k] = sums[k] / (double)length;
}

/* Everything that the search needs; one allocation each. */
struct tree {
    size_t count;
    struct step *steps; /* [count - 1] */
    double *nearest;    /* [count] distance from the tree so far */
    size_t *parent;     /* [count] */
    size_t *members;    /* [count] of a group */
    size_t *others;     /* [other_count] not in the tree yet, ascending */
    size_t other_count;
};

static void tree_clear(struct tree *tree)
{
    free(tree->steps);
    free(tree->nearest);
    free(tree->parent);
    free(tree->members);
    free(tree->others);
}

static enum pb_status tree_allocate(size_t count, struct tree *tree_out, struct pb_error *err)
{
    struct tree tree = {count,
                        calloc(count, sizeof(*tree.steps)),
                        calloc(count, sizeof(*tree.nearest)),
                        calloc(count, sizeof(*tree.parent)),
                        calloc(count, sizeof(*tree.members)),
                        calloc(count, sizeof(*tree.others)),
                        0};

    if (tree.steps == NULL || tree.nearest == NULL || tree.parent == NULL || tree.members == NULL ||
        tree.others == NULL) {
        tree_clear(&tree);
        return pb_fail(err, PB_NO_MEMORY, "out of memory grouping %zu profiles", count);
    }
    *tree_out = tree;
    return PB_OK;
}

/* How far the next few of the others are from `last`, which came into the tree last. */
static void compare(struct tree *tree, const float *profiles, size_t length, size_t last,
                    size_t first)
{
    size_t count = tree->other_count - first < ABREAST ? tree->other_count - first : ABREAST;
    const float *a[ABREAST];
    double bounds[ABREAST], to_last[ABREAST];

    for (size_t k = 0; k < ABREAST; k++) { /* the last one again where there are fewer */
        size_t other = tree->others[first + (k < count ? k : count - 1)];

        a[k] = profiles + other * length;
        bounds[k] = tree->nearest[other];
    }
    distances(a, profiles + last * length, length, bounds, to_last);
    for (size_t k = 0; k < count; k++) {
        size_t other = tree->others[first + k];

        if (to_last[k] < tree->nearest[other]) {
            tree->nearest[other] = to_last[k];
            tree->parent[other] = last;
        }
    }
}

/* Takes others[at] from the profiles that are not in the tree, and measures the rest by it. */
static size_t grow(struct tree *tree, const float *profiles, size_t length, size_t at)
{
    size_t last = tree->others[at], next = 0;

    tree->other_count--;
    for (size_t i = at; i < tree->other_count; i++)
        tree->others[i] = tree->others[i + 1];
    for (size_t i = 0; i < tree->other_count; i += ABREAST)
        compare(tree, profiles, length, last, i);
    for (size_t i = 1; i < tree->other_count; i++)
        if (tree->nearest[tree->others[i]] < tree->nearest[tree->others[next]])
            next = i;
    return next;
}

static void span(struct tree *tree, const float *profiles, size_t length)
{
    size_t next = 0;

    for (size_t i = 0; i < tree->count; i++) {
        tree->nearest[i] = HUGE_VAL;
        tree->others[i] = i;
    }
    tree->other_count = tree->count;
    for (size_t i = 0; i + 1 < tree->count; i++) {
        size_t other;

        next = grow(tree, profiles, length, next);
        other = tree->others[next];
        tree->steps[i] = (struct step){tree->nearest[other], tree->parent[other], other};
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

/* Groups of two or more, and outliers, after that many cuts. */
static void count_groups(struct tree *tree, size_t cuts, size_t *groups_out, size_t *outliers_out)
{
    *groups_out = *outliers_out = 0;
    cut(tree, cuts);
    for (size_t i = 0; i < tree->count; i++) {
        if (tree->parent[i] != i)
            continue;
        *groups_out += tree->members[i] > 1;
        *outliers_out += tree->members[i] == 1;
    }
}

static double gap_at(const struct tree *tree, size_t cuts)
{
    return tree->steps[cuts - 1].length / fmax(tree->steps[cuts].length, least_step);
}

/* How many cuts make the finest clear grouping (0: none does), and the clearest gap behind it. */
static size_t choose(struct tree *tree, double least_gap, struct pb_grouping *grouping)
{
    size_t chosen = 0, groups, outliers;

    *grouping = (struct pb_grouping){.count = 1, .gap = 1.0, .gap_inside = 1.0};
    for (size_t cuts = 1; cuts < tree->count / 2; cuts++) {
        double gap = gap_at(tree, cuts);

        if (gap <= grouping->gap_inside && gap < least_gap)
            continue;
        count_groups(tree, cuts, &groups, &outliers);
        if (groups < 2 || groups <= grouping->count || outliers * OUTLIER_SHARE > tree->count)
            continue;
        if (gap < least_gap) {
            grouping->gap_inside = gap;
            continue;
        }
        *grouping = (struct pb_grouping){.count = groups,
                                         .outliers = outliers,
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
