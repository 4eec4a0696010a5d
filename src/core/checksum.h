/* The checksum of frames and spools: CRC-32 of zlib, which HDF5 brings along. */
#ifndef PB_CORE_CHECKSUM_H
#define PB_CORE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Continues a checksum over bytes[length]; start with 0. */
uint32_t pb_checksum(uint32_t sum, const void *bytes, size_t length);

#endif
