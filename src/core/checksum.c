/* The checksum of frames and spools. */
#include "core/checksum.h"

#include <zlib.h>

uint32_t pb_checksum(uint32_t sum, const void *bytes, size_t length)
{
    return (uint32_t)crc32_z(sum, bytes, length);
}
