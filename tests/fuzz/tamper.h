/* Damage to a fleet file that HDF5 itself finds nothing wrong with. */
#ifndef PB_TESTS_FUZZ_TAMPER_H
#define PB_TESTS_FUZZ_TAMPER_H

#include <stddef.h>
#include <stdint.h>

/*
 * Changes one object of the HDF5 file data[size] in place, up to capacity bytes: gone, of another
 * type or shape, endless, linked in a component, …. Returns the new size; 0: it is no readable
 * file, or it has become too long.
 */
size_t fuzz_tamper(uint8_t *data, size_t size, size_t capacity, uint64_t *state);

#endif
