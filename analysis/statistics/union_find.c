/* A union-find that counts: the root of a component is its least member. */
#include "analysis/statistics/union_find.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum pb_status pb_union_find_open(size_t members, struct pb_union_find *components_out,
                                  struct pb_error *err)
{
    struct pb_union_find components = {members, calloc(members, sizeof(*components.parent)),
                                       calloc(members, sizeof(*components.sizes)), 0};

    if (components.parent == NULL || components.sizes == NULL) {
        pb_union_find_close(&components);
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating circles of %zu", members);
    }
    pb_union_find_reset(&components);
    *components_out = components;
    return PB_OK;
}

void pb_union_find_reset(struct pb_union_find *components)
{
    for (size_t i = 0; i < components->members; i++)
        components->parent[i] = i;
    components->count = 0;
}

void pb_union_find_close(struct pb_union_find *components)
{
    if (components == NULL)
        return;
    free(components->parent);
    free(components->sizes);
    memset(components, 0, sizeof(*components));
}

size_t pb_union_find_first(const struct pb_union_find *components, size_t member)
{
    size_t i = member;

    while (components->parent[i] != i)
        i = components->parent[i] = components->parent[components->parent[i]];
    return i;
}

void pb_union_find_join(struct pb_union_find *components, size_t a, size_t b)
{
    size_t root_a = pb_union_find_first(components, a), root_b = pb_union_find_first(components, b);

    if (root_a < root_b)
        components->parent[root_b] = root_a;
    else
        components->parent[root_a] = root_b;
}

void pb_union_find_count(struct pb_union_find *components)
{
    components->count = 0;
    for (size_t i = 0; i < components->members; i++) {
        size_t size = 0;

        if (components->parent[i] != i)
            continue;
        for (size_t j = i; j < components->members; j++)
            size += pb_union_find_first(components, j) == i;
        components->sizes[components->count++] = size;
    }
}

void pb_union_find_state(const struct pb_union_find *components, double confidence,
                         struct pb_parameter *count_answer, struct pb_parameter *sizes_answer,
                         const char *method)
{
    double count = (double)components->count, first = (double)components->sizes[0];
    struct pb_estimate sizes[PB_LIST_MAX];
    bool alike = true;

    for (size_t i = 0; i < components->count; i++) {
        double size = (double)components->sizes[i];

        alike = alike && components->sizes[i] == components->sizes[0];
        if (i < PB_LIST_MAX)
            sizes[i] = (struct pb_estimate){size, size, size};
    }
    pb_parameter_set_number(count_answer, (struct pb_estimate){count, count, count}, confidence,
                            "%s", method);
    if (alike)
        pb_parameter_set_number(sizes_answer, (struct pb_estimate){first, first, first}, confidence,
                                "%s", method);
    else
        pb_parameter_set_list(sizes_answer, sizes, components->count, confidence, "%s", method);
}
