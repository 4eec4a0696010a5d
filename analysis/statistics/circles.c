/* A union-find that counts: the root of a circle is its least member. */
#include "analysis/statistics/circles.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum pb_status pb_circles_open(size_t members, struct pb_circles *circles_out, struct pb_error *err)
{
    struct pb_circles circles = {members, calloc(members, sizeof(*circles.parent)),
                                 calloc(members, sizeof(*circles.sizes)), 0};

    if (circles.parent == NULL || circles.sizes == NULL) {
        pb_circles_close(&circles);
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating circles of %zu", members);
    }
    pb_circles_reset(&circles);
    *circles_out = circles;
    return PB_OK;
}

void pb_circles_reset(struct pb_circles *circles)
{
    for (size_t i = 0; i < circles->members; i++)
        circles->parent[i] = i;
    circles->count = 0;
}

void pb_circles_close(struct pb_circles *circles)
{
    if (circles == NULL)
        return;
    free(circles->parent);
    free(circles->sizes);
    memset(circles, 0, sizeof(*circles));
}

size_t pb_circles_first(const struct pb_circles *circles, size_t member)
{
    size_t i = member;

    while (circles->parent[i] != i)
        i = circles->parent[i] = circles->parent[circles->parent[i]];
    return i;
}

void pb_circles_join(struct pb_circles *circles, size_t a, size_t b)
{
    size_t root_a = pb_circles_first(circles, a), root_b = pb_circles_first(circles, b);

    if (root_a < root_b)
        circles->parent[root_b] = root_a;
    else
        circles->parent[root_a] = root_b;
}

void pb_circles_count(struct pb_circles *circles)
{
    circles->count = 0;
    for (size_t i = 0; i < circles->members; i++) {
        size_t size = 0;

        if (circles->parent[i] != i)
            continue;
        for (size_t j = i; j < circles->members; j++)
            size += pb_circles_first(circles, j) == i;
        circles->sizes[circles->count++] = size;
    }
}

void pb_circles_state(const struct pb_circles *circles, double confidence,
                      struct pb_parameter *count_answer, struct pb_parameter *sizes_answer,
                      const char *method)
{
    double count = (double)circles->count, first = (double)circles->sizes[0];
    struct pb_estimate sizes[PB_LIST_MAX];
    bool alike = true;

    for (size_t i = 0; i < circles->count; i++) {
        double size = (double)circles->sizes[i];

        alike = alike && circles->sizes[i] == circles->sizes[0];
        if (i < PB_LIST_MAX)
            sizes[i] = (struct pb_estimate){size, size, size};
    }
    pb_parameter_set_number(count_answer, (struct pb_estimate){count, count, count}, confidence,
                            "%s", method);
    if (alike)
        pb_parameter_set_number(sizes_answer, (struct pb_estimate){first, first, first}, confidence,
                                "%s", method);
    else
        pb_parameter_set_list(sizes_answer, sizes, circles->count, confidence, "%s", method);
}
