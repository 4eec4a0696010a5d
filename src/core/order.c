/* Orders of chases; see order.h. */
#include "core/order.h"

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void pb_order_shuffle(uint64_t *offsets, size_t count, uint64_t seed)
{
    for (size_t i = count; i > 1; i--) {
        size_t j = (size_t)(next_random(&seed) % i);
        uint64_t kept = offsets[i - 1];

        offsets[i - 1] = offsets[j];
        offsets[j] = kept;
    }
}

size_t pb_order_pages_first(uint64_t *offsets, size_t count, uint64_t base_bytes)
{
    size_t pages = 0;

    for (size_t i = 0; i < count; i++) {
        if ((offsets[i] - base_bytes) / PB_ORDER_PAGE_BYTES >= pages) {
            uint64_t kept = offsets[pages];

            offsets[pages] = offsets[i];
            offsets[i] = kept;
            pages++;
        }
    }
    return pages;
}

void pb_order_list_words(uint64_t *offsets, size_t count, size_t strides, uint64_t stride_bytes)
{
    uint64_t word = 0;

    for (size_t first = 0; first < count; first += strides, word += 8) {
        size_t left = count - first < strides ? count - first : strides;

        for (size_t i = 0; i < left; i++)
            offsets[first + i] = i * stride_bytes + word;
    }
}
