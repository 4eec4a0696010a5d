/*
 * Tree-PLRU of a set: an inner node points to the half of its ways whose last use lies back longer.
 * Node n has the children 2n and 2n + 1; the ways are the leaves, and a number of ways that is no
 * power of two leaves the last leaves out.
 */
#ifndef PB_ANALYSIS_MODEL_TREE_H
#define PB_ANALYSIS_MODEL_TREE_H

#include <stdbool.h>
#include <stdint.h>

/* The least power of two of leaves for so many ways; a tree takes twice as many bytes. */
static inline uint32_t pb_tree_leaves(uint32_t ways)
{
    return ways > 1 ? UINT32_C(1) << (32 - __builtin_clz(ways - 1)) : 1;
}

/* The way was used: every node above points to its other side. */
static inline void pb_tree_use(unsigned char *tree, uint32_t leaves, uint32_t way)
{
    for (uint32_t node = leaves + way; node > 1; node /= 2)
        tree[node / 2] = node % 2 == 0;
}

/* The way that the tree points to. */
static inline uint32_t pb_tree_victim(const unsigned char *tree, uint32_t leaves, uint32_t ways)
{
    uint32_t node = 1, first = 0;

    for (uint32_t half = leaves / 2; half > 0; half /= 2) {
        bool right = tree[node] && first + half < ways;

        node = 2 * node + right;
        first += right ? half : 0;
    }
    return first;
}

#endif
