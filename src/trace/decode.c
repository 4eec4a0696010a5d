/* Decoding the device's words; see decode.h and words.h. */
#include "trace/decode.h"

#include "h5schema/memtrace.h"
#include "trace/words.h"

static uint64_t wide(const uint32_t *words)
{
    return words[0] | (uint64_t)words[1] << 32;
}

static void decode_access(const uint32_t *words, struct pb_warp_access *access)
{
    const uint32_t *rest = words + PB_WORDS_ACCESS_HEAD;
    uint32_t form = words[0] >> 8 & 0xff;

    *access = (struct pb_warp_access){.lane_mask = words[1],
                                      .sequence = words[2],
                                      .pc = words[3],
                                      .cta = words[4],
                                      .warp = words[5],
                                      .size = words[0] >> 24,
                                      .flags = words[0] >> 16 & 0xff & ~(uint32_t)PB_ACCESS_OFFSETS,
                                      .base = wide(words + 6)};
    if (form == PB_FORM_AFFINE) {
        access->stride = (int32_t)rest[0];
    } else if (form == PB_FORM_BULK) {
        access->size = rest[0];
    } else {
        access->flags |= PB_ACCESS_OFFSETS;
        access->offset_count = (size_t)__builtin_popcount(words[1]) - 1;
        for (size_t k = 0; k < access->offset_count; k++)
            access->offsets[k] =
                form == PB_FORM_NEAR ? (int32_t)rest[k] : (int64_t)wide(rest + 2 * k);
    }
}

static bool visit(const uint32_t *words, const struct pb_decode_visitor *visitor)
{
    struct pb_warp_access access;
    struct pb_cta_event event;

    if ((words[0] & 0xff) == PB_WORDS_ACCESS) {
        decode_access(words, &access);
        return visitor->access(visitor->context, &access);
    }
    event = (struct pb_cta_event){.is_end = (words[0] & 0xff) == PB_WORDS_CTA_END,
                                  .cta = words[1],
                                  .sequence = words[2],
                                  .ns = wide(words + 3)};
    return visitor->cta(visitor->context, &event);
}

size_t pb_decode(const uint32_t *words, size_t count, const struct pb_decode_visitor *visitor)
{
    size_t at = 0;

    while (at < count) {
        unsigned length = pb_words_length(words + at, (unsigned)(count - at));

        if (length == 0 || !visit(words + at, visitor))
            break;
        at += length;
    }
    return at;
}
