/*
 * The rule of the stamped loop, checked on machine code: between two stamps stands what is
 * measured and nothing else (M16 4.2, facts 2.1 to 2.4).
 */
#ifndef PB_TESTS_KERNELS_WINDOW_H
#define PB_TESTS_KERNELS_WINDOW_H

#include "kernels/cubin.h"

/* What must stand between the stamps. */
enum window {
    WINDOW_EMPTY,       /* nothing */
    WINDOW_STORE,       /* a shared store */
    WINDOW_GLOBAL_LOAD, /* a global load, and a shared store of what it loaded */
    WINDOW_SHARED_LOAD, /* the same with a shared load */
    WINDOW_TEXTURE,     /* the same with a texture fetch */
    WINDOW_CONSTANT,    /* the same with a load from constant memory, by register */
    WINDOW_ATOMIC,      /* the same with an atomic on global memory that returns the old value */
    WINDOW_COUNT
};

enum { REASON_LENGTH = 160 };

/*
 * True when every stamped window of the kernel is as it must be:
 * - both stamps are plain clock reads (CS2R), and each is stored as it was read;
 * - between them, no-operations aside, stands exactly what `window` says, unconditionally;
 * - the store's data register is the load's destination, and the store waits for the load's
 *   scoreboard and no other;
 * - the load and the second stamp wait for nothing: else the time of something older is measured.
 * Otherwise reason_out says what is wrong at which instruction.
 */
bool window_check(const struct code *code, enum window window, char reason_out[REASON_LENGTH]);

/* The load of the first window; false when there is none. */
bool window_load(const struct code *code, struct instruction *load_out);

#endif
