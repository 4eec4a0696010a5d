/* A union-find that counts: the root of a circle is its least member. */
#include "analysis/circles.h"

#include <stdlib.h>
#include <string.h>

enum pb_status pb_circles_open(size_t members, struct pb_circles *circles_out, struct pb_error *err)
{
    struct pb_circles circles = {members, calloc(members, sizeof(*circles.parent)),
                                 calloc(members, sizeof(*circles.sizes)), 0};

    if (circles.parent == NULL || circles.sizes == NULL) {
        pb_circles_close(&circles);
        return pb_fail(err, PB_NO_MEMORY, "no memory for circles of %zu", members);
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

static size_t root_of(const struct pb_circles *circles, size_t i)
{
    while (circles->parent[i] != i)
        i = circles->parent[i] = circles->parent[circles->parent[i]];
    return i;
}

void pb_circles_join(struct pb_circles *circles, size_t a, size_t b)
{
    size_t root_a = root_of(circles, a), root_b = root_of(circles, b);

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
            size += root_of(circles, j) == i;
        circles->sizes[circles->count++] = size;
    }
}
