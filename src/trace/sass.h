/*
 * What a memory instruction of NVIDIA's machine code does: 16-byte instructions, sm_75 and later.
 *
 * There is no public description of the encoding. The fields were found by compiling loads and
 * stores with every cache operator of PTX for sm_75 to sm_120 (tests/trace/operators.cu, which
 * checks them for the compiler at hand).
 */
#ifndef PB_TRACE_SASS_H
#define PB_TRACE_SASS_H

#include <stdbool.h>
#include <stdint.h>

enum { PB_SASS_BYTES = 16 };

struct pb_sass {
    const char *opcode;         /* "LDG"; "" when it is no memory instruction that is known */
    const char *operation;      /* load, store, atomic, reduction, prefetch, async_copy, bulk_copy,
                                   bulk_store, bulk_reduction, tensor_copy, texture, surface,
                                   constant, empty_l1 */
    const char *memory;         /* global, local, generic or constant */
    const char *cache_operator; /* ca, cg, cs, lu, cv, nc, …; "" where it has none */
    uint32_t size;              /* bytes of a lane; 0: not fixed, or not known */
    bool bypasses_l1;           /* a load that L1 does not answer */
    uint32_t needs; /* PB_RECORDS_…, of which the tracer has to have one for it to have
                       a record; 0: it has one in any case, or is no access */
};

/* Decodes one instruction for an architecture (75, 80, 90, …). The texts are constants. */
struct pb_sass pb_sass_decode(const unsigned char instruction[PB_SASS_BYTES],
                              unsigned architecture);

#endif
