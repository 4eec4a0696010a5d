/* How long a record is; see words.h. */
#include "trace/words.h"

static unsigned int access_length(const unsigned int *words, unsigned int capacity)
{
    unsigned int form = words[0] >> 8 & 0xff, lanes;

    if (capacity < PB_WORDS_ACCESS_HEAD || words[1] == 0)
        return 0;
    lanes = (unsigned int)__builtin_popcount(words[1]);
    switch (form) {
    case PB_FORM_AFFINE:
        return PB_WORDS_ACCESS_HEAD + 1;
    case PB_FORM_BULK:
        return lanes == 1 ? PB_WORDS_ACCESS_HEAD + 1 : 0;
    case PB_FORM_NEAR:
        return PB_WORDS_ACCESS_HEAD + lanes - 1;
    case PB_FORM_FAR:
        return PB_WORDS_ACCESS_HEAD + 2 * (lanes - 1);
    default:
        return 0;
    }
}

unsigned int pb_words_length(const unsigned int *words, unsigned int capacity)
{
    unsigned int length = 0;

    if (capacity == 0)
        return 0;
    switch (words[0] & 0xff) {
    case PB_WORDS_ACCESS:
        length = access_length(words, capacity);
        break;
    case PB_WORDS_CTA_BEGIN:
    case PB_WORDS_CTA_END:
        length = words[0] >> 8 == 0 ? PB_WORDS_CTA_LENGTH : 0;
        break;
    default:
        break;
    }
    return length <= capacity ? length : 0;
}
