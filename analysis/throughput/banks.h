/*
 * Shared memory's banks as a model: which strides of a warp conflict, and how many ways.
 */
#ifndef PB_ANALYSIS_THROUGHPUT_BANKS_H
#define PB_ANALYSIS_THROUGHPUT_BANKS_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

enum { PB_LANES_MAX = 64, PB_BANK_SHAPES_MAX = 55 };

/* One measured stride. */
struct pb_bank_stride {
    uint64_t words;      /* of 4 bytes, from lane to lane */
    double cycles;       /* latency of the warp's load */
    double error_cycles; /* of which it may be off, at 95% */
    double least_cycles; /* of its fastest load: noise delays loads, and hurries none */
};

struct pb_bank_shape {
    uint32_t banks, bank_bytes;
};

struct pb_banks {
    struct pb_bank_shape alike[PB_BANK_SHAPES_MAX]; /* that fit as well as each other; best first */
    size_t alike_count;
    size_t explained; /* by the best: strides whose latency is that of their number of ways */
};

/*
 * How many distinct rows of one bank the lanes need at most: 1 is no conflict. Lane i reads 4 bytes
 * at i * stride_words; the words of a row of a bank are served together.
 *
 * lanes 1 … PB_LANES_MAX, banks > 0, bank_bytes > 0
 *
 * Source: M16 section 6.2 and figure 19.
 */
uint32_t pb_banks_ways(uint32_t banks, uint32_t bank_bytes, uint32_t lanes, uint64_t stride_words);

/*
 * The shape that fits best: equal ways take equal time, more ways take longer. Of several such, one
 * with a bank for every lane.
 *
 * PB_NOT_FOUND  no stride takes longer than another, no shape predicts them better than one without
 *               conflicts, or none explains nearly all of them
 */
enum pb_status pb_banks_fit(const struct pb_bank_stride *strides, size_t count, uint32_t lanes,
                            struct pb_banks *banks_out, struct pb_error *err);

#endif
