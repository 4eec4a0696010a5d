/*
 * The orders in which a chase loads its slots: fixed by the columns order, footprint, stride and
 * seed of `points`, so that what a file does not hold, the loads before a record, can be
 * distinguished from it.
 */
#ifndef PB_CORE_ORDER_H
#define PB_CORE_ORDER_H

#include <stddef.h>
#include <stdint.h>

enum { PB_ORDER_PAGE_BYTES = 2 << 20 }; /* of "random_in_pages" */

/* Shuffles an order, the same on every host that has the seed (splitmix64, Fisher and Yates). */
void pb_order_shuffle(uint64_t *offsets, size_t count, uint64_t seed);

/*
 * Moves the first slot of every page to the front; returns how many there are.
 *
 * offsets[count]  rising; base_bytes is where the first page begins
 */
size_t pb_order_pages_first(uint64_t *offsets, size_t count, uint64_t base_bytes);

/*
 * Lists words of 8 bytes: the first of every stride, then the second of every one, and so on; of
 * "random_words", before they are shuffled.
 */
void pb_order_list_words(uint64_t *offsets, size_t count, size_t strides, uint64_t stride_bytes);

#endif
