/* From the words of a chunk to accesses and CTAs. Nothing in a chunk is trusted. */
#ifndef PB_TRACE_DECODE_H
#define PB_TRACE_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pb_warp_access {
    uint32_t lane_mask, sequence;    /* low 32 bits */
    uint32_t pc;                     /* low 32 bits of the program counter */
    uint32_t cta, warp, size, flags; /* enum pb_memtrace_flag */
    uint64_t base;
    int64_t stride;
    int64_t offsets[31]; /* of the active lanes after the first, if PB_ACCESS_OFFSETS */
    size_t offset_count;
};

struct pb_cta_event {
    bool is_end; /* of one of its warps */
    uint32_t cta, sequence;
    uint64_t ns;
};

struct pb_decode_visitor {
    void *context;
    /* False ends the chunk. */
    bool (*access)(void *context, const struct pb_warp_access *access);
    bool (*cta)(void *context, const struct pb_cta_event *event);
};

/* Visits the records of words[count] in order. Returns the words that were taken: less than count
 * where a record is not whole or not sound, or a visitor has ended it. */
size_t pb_decode(const uint32_t *words, size_t count, const struct pb_decode_visitor *visitor);

#endif
