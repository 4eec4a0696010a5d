/*
 * The rule of timed regions, checked on machine code: whatever can run between two reads of the
 * clock is the access under test, what reads its operands and ends its loop, or a wait for it.
 *
 * The check follows the branches, so that it does not matter where the compiler has put a loop.
 */
#ifndef PB_TESTS_KERNELS_REGION_H
#define PB_TESTS_KERNELS_REGION_H

#include "kernels/window.h"

/* Bits 0-8 of the opcodes of accesses. Seen with nvcc 13.0. */
enum access {
    ACCESS_NONE = 0,
    ACCESS_LD = 0x180, /* generic address */
    ACCESS_LDG = 0x181,
    ACCESS_LDC = 0x182,
    ACCESS_LDL = 0x183,
    ACCESS_LDS = 0x184,
    ACCESS_STG = 0x186,
    ACCESS_STL = 0x187,
    ACCESS_STS = 0x188,
    ACCESS_RED = 0x18e,
    ACCESS_REDG = 0x1a6,  /* the same from sm_90 on, by a register of addresses */
    ACCESS_SYNCS = 0x1a7, /* barriers in shared memory that count bytes */
    ACCESS_BULK = 0x1ba,
    ACCESS_TEXTURE = 0x166,
    /* No accesses, but to be allowed one by one: */
    ACCESS_CALL = 0x143,
    ACCESS_CALL_NEAR = 0x144, /* also where a branch would not reach */
    ACCESS_CALL_ADDRESS = 0x14e,
};

enum { REGION_ALLOWED_MAX = 3 };

struct region_rule {
    const char *kernel;
    enum access access; /* under test; ACCESS_NONE: registers alone */
    unsigned size;      /* enum access_size of all of them; 0: any */
    size_t at_once;     /* so many in a row, none of which waits for another; or 0 */
    size_t chained;     /* so many in a row, each at the address that the one before loaded; or 0 */
    bool is_plain;      /* both clock reads are plain ones (CS2R): short regions need that */
    enum access allowed[REGION_ALLOWED_MAX]; /* beside it */
    bool ends_by_fence;                      /* what was written has arrived */
};

/*
 * True when the kernel has a region that begins and ends with a read of the clock and holds the
 * access, and every such region keeps the rule. Regions with atomics on global memory that are not
 * under test are those in which CTAs wait for each other, and are left out.
 */
bool region_check(const struct code *code, const struct region_rule *rule,
                  char reason_out[REASON_LENGTH]);

/* Does the kernel read the clock at all? */
bool region_has_clock(const struct code *code);

#endif
