/* Checking stamped windows; see window.h. */
#include "kernels/window.h"

#include <stdarg.h>
#include <stdio.h>

/* Bits 0-8 of opcodes; bits 9-11 only give the form of operand b. Seen with nvcc 13.0. */
enum {
    FAMILY = 0x1ff,
    OP_CS2R = 0x005,
    OP_NOP = 0x118,
    OP_TLD = 0x166,
    OP_LDG = 0x181,
    OP_LDC = 0x182,
    OP_LDS = 0x184,
    OP_STS = 0x188,
    OP_ATOMG = 0x1a8,
    OP_BRA = 0x147,
};

enum { SPECIAL_CLOCK = 0x50 };

/* The load of each kind of window; 0: none. */
static const unsigned load_family[WINDOW_COUNT] = {
    [WINDOW_GLOBAL_LOAD] = OP_LDG, [WINDOW_SHARED_LOAD] = OP_LDS, [WINDOW_TEXTURE] = OP_TLD,
    [WINDOW_CONSTANT] = OP_LDC,    [WINDOW_ATOMIC] = OP_ATOMG,
};

static bool refuse(char reason_out[REASON_LENGTH], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool refuse(char reason_out[REASON_LENGTH], const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(reason_out, REASON_LENGTH, format, args);
    va_end(args);
    return false;
}

static bool is_family(const struct instruction *instruction, unsigned family)
{
    return (instruction->opcode & FAMILY) == family;
}

/* Stamps read 32 bits of the clock; whatever reads 64 measures no single access. */
static bool is_stamp(const struct instruction *instruction)
{
    return is_family(instruction, OP_CS2R) && instruction->special == SPECIAL_CLOCK &&
           !instruction->is_wide;
}

/* The first stamp at or after i; count when there is none. */
static size_t next_stamp(const struct code *code, size_t i)
{
    for (; i < code->count; i++) {
        struct instruction here = code_at(code, i);
        if (is_stamp(&here))
            break;
    }
    return i;
}

/* The next instruction after i that does something. */
static size_t next_work(const struct code *code, size_t i)
{
    for (i++; i < code->count; i++) {
        struct instruction here = code_at(code, i);
        if (!is_family(&here, OP_NOP))
            break;
    }
    return i;
}

/* Instruction i must be of this family and run unconditionally. */
static bool expect(const struct code *code, size_t i, unsigned family,
                   struct instruction *found_out, char reason_out[REASON_LENGTH])
{
    if (i >= code->count)
        return refuse(reason_out, "the code ends inside a window");
    *found_out = code_at(code, i);
    if (!is_family(found_out, family))
        return refuse(reason_out, "instruction %zu: expected family 0x%03x, found opcode 0x%03x", i,
                      family, found_out->opcode);
    if (found_out->predicate != ALWAYS)
        return refuse(reason_out, "instruction %zu (0x%03x): runs only if predicate %u holds", i,
                      found_out->opcode, found_out->predicate);
    return true;
}

/* Instruction i must wait for exactly these scoreboards. */
static bool expect_wait(const struct code *code, size_t i, unsigned wait_mask,
                        char reason_out[REASON_LENGTH])
{
    struct instruction here = code_at(code, i);

    if (here.wait_mask == wait_mask)
        return true;
    return refuse(reason_out,
                  "instruction %zu (0x%03x): waits for scoreboards 0x%02x, expected 0x%02x", i,
                  here.opcode, here.wait_mask, wait_mask);
}

/* The load at *i, and the dependent store after it; *i moves behind both. */
static bool expect_load(const struct code *code, unsigned family, size_t *i,
                        char reason_out[REASON_LENGTH])
{
    struct instruction load, store;
    size_t store_at = next_work(code, *i);

    if (!expect(code, *i, family, &load, reason_out) ||
        !expect(code, store_at, OP_STS, &store, reason_out))
        return false;
    if (store.b != load.destination)
        return refuse(reason_out, "instruction %zu: stores register %u, loaded was %u", store_at,
                      store.b, load.destination);
    if (load.write_barrier == NO_BARRIER)
        return refuse(reason_out, "instruction %zu: the load frees no scoreboard", *i);
    if (!expect_wait(code, *i, 0, reason_out) ||
        !expect_wait(code, store_at, 1u << load.write_barrier, reason_out))
        return false;
    *i = next_work(code, store_at);
    return true;
}

static bool expect_store(const struct code *code, size_t *i, char reason_out[REASON_LENGTH])
{
    struct instruction store;

    if (!expect(code, *i, OP_STS, &store, reason_out) || !expect_wait(code, *i, 0, reason_out))
        return false;
    *i = next_work(code, *i);
    return true;
}

/* What lies in the window that opens at `open`; *close_out is the second stamp. */
static bool expect_inside(const struct code *code, size_t open, enum window window,
                          size_t *close_out, char reason_out[REASON_LENGTH])
{
    size_t i = next_work(code, open);
    struct instruction stamp;
    bool is_right = true;

    if (load_family[window] != 0)
        is_right = expect_load(code, load_family[window], &i, reason_out);
    else if (window == WINDOW_STORE)
        is_right = expect_store(code, &i, reason_out);
    if (!is_right || !expect(code, i, OP_CS2R, &stamp, reason_out) ||
        !expect_wait(code, i, 0, reason_out))
        return false;
    if (!is_stamp(&stamp))
        return refuse(reason_out, "instruction %zu: reads another special register", i);
    *close_out = i;
    return true;
}

/* The pair of stamps, in neighbouring registers, is stored just ahead of the next window. */
static bool expect_pair_store(const struct code *code, size_t open, size_t close,
                              char reason_out[REASON_LENGTH])
{
    unsigned first = code_at(code, open).destination, second = code_at(code, close).destination;

    if (second != first + 1)
        return refuse(reason_out, "stamps in registers %u and %u: expected neighbours", first,
                      second);
    for (size_t i = open; i-- > 0;) {
        struct instruction here = code_at(code, i);

        if (is_family(&here, OP_STS) && here.b == first && here.size == SIZE_64)
            return true;
        if (is_family(&here, OP_BRA) || here.destination == first || here.destination == second)
            break;
    }
    return refuse(reason_out, "the stamps before instruction %zu are not stored as they were read",
                  open);
}

bool window_check(const struct code *code, enum window window, char reason_out[REASON_LENGTH])
{
    size_t windows = 0;

    for (size_t open = next_stamp(code, 0); open < code->count;) {
        size_t close = open;

        if (!expect_inside(code, open, window, &close, reason_out) ||
            !expect_pair_store(code, open, close, reason_out))
            return false;
        windows++;
        open = next_stamp(code, close + 1);
    }
    if (windows == 0)
        return refuse(reason_out, "no plain clock read (CS2R) among %zu instructions", code->count);
    return true;
}

bool window_load(const struct code *code, struct instruction *load_out)
{
    size_t i = next_work(code, next_stamp(code, 0));

    if (i >= code->count)
        return false;
    *load_out = code_at(code, i);
    for (int window = 0; window < WINDOW_COUNT; window++)
        if (load_family[window] != 0 && is_family(load_out, load_family[window]))
            return true;
    return false;
}
