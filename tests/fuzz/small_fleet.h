/*
 * The file that fuzzing and the hostile files begin with: one device with an identity, states, a
 * test of chases (l1_capacity) and one of a matrix (l2_map), a row of /fleet, and a parameter.
 */
#ifndef PB_TESTS_FUZZ_SMALL_FLEET_H
#define PB_TESTS_FUZZ_SMALL_FLEET_H

#include <stdbool.h>
#include <stddef.h>

#define SMALL_FLEET_KEY "n1.gpu0"

/* Writes it, or one without devices; ends the program where that fails. */
void small_fleet_write(const char *path, bool empty);

/* The same with devices n1.gpu0, n2.gpu0, … */
void small_fleet_write_many(const char *path, size_t devices);

#endif
