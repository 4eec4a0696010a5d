/*
 * How numbers are printed for people, everywhere: counts in full; measured quantities by four
 * significant digits; bytes in B, KiB, MiB or GiB; rates in GB/s (10^9).
 */
#ifndef PB_CORE_QUANTITY_H
#define PB_CORE_QUANTITY_H

#include <stdbool.h>
#include <stddef.h>

/* Cycles, times, clocks and rates: two measurements of one thing differ a little. */
bool pb_quantity_is_measured(const char *unit);

/* "241 KiB", "3902 GB/s", "32 cycles", "512". */
void pb_quantity_format(double value, const char *unit, char *text, size_t size);

/* "229248 to 246784" in the unit that `value` is printed in; "exact" where nothing else fits. */
void pb_quantity_format_interval(double value, double low, double high, const char *unit,
                                 char *text, size_t size);

/* A list as the fleet file has it, "[8192, 16384]": "[8, 16] KiB". Words and masks stay. */
void pb_quantity_format_list(const char *list, const char *unit, char *text, size_t size);

#endif
