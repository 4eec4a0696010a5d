/* A digest of many bytes, for telling whether they changed; no protection against forgery. */
#ifndef PB_CORE_DIGEST_H
#define PB_CORE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/*
 * Continues a digest over bytes[length]. A change of one 8-byte word always changes the result, any
 * other change but for one in 2^64. The same bytes in other pieces have another digest.
 */
uint64_t pb_digest(uint64_t digest, const void *bytes, size_t length);

#endif
