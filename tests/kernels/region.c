/* Checking timed regions; see region.h. */
#include "kernels/region.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FAMILY = 0x1ff,
    ARITHMETIC_END = 0x100, /* below: registers alone, but for reads of the clock */
    OP_CS2R = 0x005,
    OP_CS2UR = 0x0cb,
    OP_S2R = 0x119,
    OP_S2UR = 0x1c3,
    OP_CALL_NEAR = 0x144,
    OP_BRA = 0x147,
    OP_EXIT = 0x14d,
    OP_RET = 0x150,
    OP_MEMBAR = 0x192,
    OP_ERRBAR = 0x1ab,
    OP_CCTL = 0x18f,
    OP_ATOMG = 0x1a8,
    ALWAYS_BRANCH = 0x947, /* without a uniform predicate */
};

enum { SPECIAL_CLOCK = 0x50, SPECIAL_CLOCK_HIGH = 0x51 };

/* Neither an access nor arithmetic: control of a loop, barriers of the CTA, special registers,
 * parameters of the kernel, the moment's rest of pb_await_any(). */
static const unsigned control[] = {0x118, 0x119, 0x11a, 0x11c, 0x11d, 0x141, 0x142, 0x145, 0x146,
                                   0x147, 0x148, 0x14d, 0x155, 0x15d, 0x182, 0x1ac, 0x1c2, 0x1c3};

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

static unsigned family_at(const struct code *code, size_t i)
{
    return code_at(code, i).opcode & FAMILY;
}

static bool reads_special(const struct instruction *here)
{
    unsigned family = here->opcode & FAMILY;

    return family == OP_CS2R || family == OP_CS2UR || family == OP_S2R || family == OP_S2UR;
}

static bool is_clock(const struct code *code, size_t i)
{
    struct instruction here = code_at(code, i);

    return reads_special(&here) &&
           (here.special == SPECIAL_CLOCK || here.special == SPECIAL_CLOCK_HIGH);
}

bool region_has_clock(const struct code *code)
{
    for (size_t i = 0; i < code->count; i++)
        if (is_clock(code, i))
            return true;
    return false;
}

/* What can run right after instruction i; how many of the two. */
static size_t next_of(const struct code *code, size_t i, size_t next_out[2])
{
    struct instruction here = code_at(code, i);
    unsigned family = here.opcode & FAMILY;
    bool is_always = here.predicate == ALWAYS && here.second_predicate == ALWAYS;
    size_t count = 0;

    if (family == OP_BRA || family == OP_CALL_NEAR)
        next_out[count++] = (size_t)((int64_t)i + 1 + here.branch);
    if (!(family == OP_BRA && is_always && here.opcode == ALWAYS_BRANCH) &&
        !((family == OP_EXIT || family == OP_RET) && is_always))
        next_out[count++] = i + 1;
    return count;
}

/* Marks what is reached from the clock read at `open` before another one; ends[] are those. */
static void mark_forward(const struct code *code, size_t open, bool *reached, bool *ends)
{
    size_t *stack = malloc((2 * code->count + 2) * sizeof(*stack)), depth = 0;

    memset(reached, 0, code->count * sizeof(*reached));
    memset(ends, 0, code->count * sizeof(*ends));
    if (stack == NULL)
        return;
    depth = next_of(code, open, stack);
    while (depth > 0) {
        size_t i = stack[--depth];

        if (i >= code->count || reached[i] || ends[i])
            continue;
        if (is_clock(code, i)) {
            ends[i] = true;
            continue;
        }
        reached[i] = true;
        depth += next_of(code, i, stack + depth);
    }
    free(stack);
}

/* Of what is reached, keeps in `inside` that from which `close` is reached. */
static void mark_between(const struct code *code, const bool *reached, size_t close, bool *inside)
{
    bool has_grown = true;

    memset(inside, 0, code->count * sizeof(*inside));
    while (has_grown) {
        has_grown = false;
        for (size_t i = code->count; i-- > 0;) {
            size_t next[2], count = reached[i] && !inside[i] ? next_of(code, i, next) : 0;

            for (size_t k = 0; k < count; k++)
                inside[i] |= next[k] == close || (next[k] < code->count && inside[next[k]]);
            has_grown |= count > 0 && inside[i];
        }
    }
}

static size_t count_inside(const struct code *code, const bool *inside, unsigned family)
{
    size_t count = 0;

    for (size_t i = 0; i < code->count; i++)
        count += inside[i] && family_at(code, i) == family;
    return count;
}

/* CTAs wait for each other by atomics on global memory. */
static bool is_meeting(const struct code *code, const struct region_rule *rule, const bool *inside)
{
    return count_inside(code, inside, OP_ATOMG) > 0 ||
           (rule->access != ACCESS_RED && count_inside(code, inside, ACCESS_RED) > 0);
}

static bool is_allowed(const struct region_rule *rule, unsigned family)
{
    bool found = family < ARITHMETIC_END || family == rule->access;

    for (size_t i = 0; i < sizeof(control) / sizeof(control[0]); i++)
        found |= family == control[i];
    for (size_t i = 0; i < REGION_ALLOWED_MAX; i++)
        found |= rule->allowed[i] != ACCESS_NONE && family == rule->allowed[i];
    if (rule->ends_by_fence)
        found |= family == OP_MEMBAR || family == OP_ERRBAR || family == OP_CCTL;
    return found;
}

/* The longest run of accesses none of which, nor what stands between them, waits for another. */
static size_t run_at_once(const struct code *code, const bool *inside, unsigned family)
{
    size_t run = 0, longest = 0;
    unsigned pending = 0;

    for (size_t i = 0; i < code->count; i++) {
        struct instruction here = code_at(code, i);

        if (!inside[i] || (here.wait_mask & pending) != 0 || (here.opcode & FAMILY) == OP_BRA) {
            run = 0;
            pending = 0;
        }
        if (!inside[i] || (here.opcode & FAMILY) != family)
            continue;
        longest = ++run > longest ? run : longest;
        if (here.write_barrier != NO_BARRIER)
            pending |= 1u << here.write_barrier;
    }
    return longest;
}

/* The longest run of accesses each of which is at the address that the one before has loaded, as it
 * was loaded. */
static size_t run_chained(const struct code *code, const bool *inside, unsigned family)
{
    unsigned last = ZERO_REGISTER;
    size_t run = 0, longest = 0;

    for (size_t i = 0; i < code->count; i++) {
        struct instruction here = code_at(code, i);

        if (inside[i] && (here.opcode & FAMILY) != family && here.destination == last)
            last = ZERO_REGISTER; /* it was changed, or something else is there now */
        if (!inside[i] || (here.opcode & FAMILY) != family)
            continue;
        run = last != ZERO_REGISTER && here.a == last ? run + 1 : 1;
        longest = run > longest ? run : longest;
        last = here.destination;
    }
    return longest;
}

static bool check_inside(const struct code *code, const struct region_rule *rule,
                         const bool *inside, char reason_out[REASON_LENGTH])
{
    for (size_t i = 0; i < code->count; i++) {
        struct instruction here = code_at(code, i);
        unsigned family = here.opcode & FAMILY;

        if (inside[i] && !is_allowed(rule, family))
            return refuse(reason_out, "instruction %zu: opcode 0x%03x between two clock reads", i,
                          here.opcode);
        if (inside[i] && family == rule->access && rule->size != 0 && here.size != rule->size)
            return refuse(reason_out, "instruction %zu: expected an access of size %u, found %u", i,
                          rule->size, here.size);
    }
    if (run_at_once(code, inside, rule->access) < rule->at_once)
        return refuse(reason_out, "expected %zu accesses at once, found %zu", rule->at_once,
                      run_at_once(code, inside, rule->access));
    if (run_chained(code, inside, rule->access) < rule->chained)
        return refuse(reason_out, "expected %zu dependent accesses in a row, found %zu",
                      rule->chained, run_chained(code, inside, rule->access));
    if (rule->ends_by_fence && count_inside(code, inside, OP_MEMBAR) == 0)
        return refuse(reason_out, "no fence before the second clock read");
    return true;
}

static bool check_clocks(const struct code *code, const struct region_rule *rule, size_t open,
                         size_t close, char reason_out[REASON_LENGTH])
{
    struct instruction first = code_at(code, open), second = code_at(code, close);

    if (rule->is_plain && (first.opcode & FAMILY) != OP_CS2R)
        return refuse(reason_out, "instruction %zu: opcode 0x%03x reads the clock first, not CS2R",
                      open, first.opcode);
    if (rule->is_plain && (second.opcode & FAMILY) != OP_CS2R)
        return refuse(reason_out, "instruction %zu: opcode 0x%03x reads the clock last, not CS2R",
                      close, second.opcode);
    return true;
}

/* Adds the regions that begin at `open`. */
static bool check_from(const struct code *code, const struct region_rule *rule, size_t open,
                       bool *marks, size_t *regions_inout, char reason_out[REASON_LENGTH])
{
    bool *reached = marks, *ends = marks + code->count, *inside = marks + 2 * code->count;

    mark_forward(code, open, reached, ends);
    for (size_t close = open + 1; close < code->count; close++) {
        if (!ends[close])
            continue;
        mark_between(code, reached, close, inside);
        if ((rule->access != ACCESS_NONE && count_inside(code, inside, rule->access) == 0) ||
            is_meeting(code, rule, inside))
            continue;
        if (!check_clocks(code, rule, open, close, reason_out) ||
            !check_inside(code, rule, inside, reason_out))
            return false;
        ++*regions_inout;
    }
    return true;
}

bool region_check(const struct code *code, const struct region_rule *rule,
                  char reason_out[REASON_LENGTH])
{
    bool *marks = malloc(3 * code->count * sizeof(*marks)), is_right = marks != NULL;
    size_t regions = 0;

    for (size_t open = 0; open < code->count && is_right; open++)
        if (is_clock(code, open))
            is_right = check_from(code, rule, open, marks, &regions, reason_out);
    free(marks);
    if (is_right && regions == 0)
        return refuse(reason_out, "no two clock reads with the access between them");
    return is_right;
}
