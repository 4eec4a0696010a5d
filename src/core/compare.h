/* Comparators for qsort() and bsearch(): numbers in ascending order. Limit: doubles without NaN. */
#ifndef PB_CORE_COMPARE_H
#define PB_CORE_COMPARE_H

int pb_compare_uint32(const void *a, const void *b);
int pb_compare_uint64(const void *a, const void *b);
int pb_compare_double(const void *a, const void *b);

#endif
