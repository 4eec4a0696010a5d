/* Which instruction waits for a load's answer; see scoreboard.h. */
#include "trace/scoreboard.h"

#include <stdbool.h>
#include <string.h>

#include "trace/sass.h"

/* Bits 0 to 8 of the operation code. */
enum { LDGSTS = 0x1ae, LDGDEPBAR = 0x1af, DEPBAR = 0x11a, NO_SCOREBOARD = 7 };

struct instruction {
    unsigned operation;
    unsigned scoreboard; /* that it sets */
    unsigned waits;      /* mask of those it waits for */
    unsigned barrier;    /* of DEPBAR: the scoreboard, and how many may be left of it */
    unsigned left;
};

static struct instruction decode(const unsigned char *code)
{
    uint64_t words[2];

    memcpy(words, code, sizeof(words));
    return (struct instruction){
        .operation = (unsigned)(words[0] & 0x1ff),
        .scoreboard = (unsigned)(words[1] >> 46 & 7),
        .waits = (unsigned)(words[1] >> 52 & 0x3f),
        .barrier = (unsigned)(words[0] >> 44 & 7),
        .left = (unsigned)(words[0] >> 38 & 0x3f),
    };
}

/* Of a copy, the scoreboard is that of the LDGDEPBAR behind it, at *offset_inout. */
static unsigned scoreboard_of(const unsigned char *code, uint64_t bytes, uint64_t *offset_inout)
{
    struct instruction instruction = decode(code + *offset_inout);
    bool is_copy = instruction.operation == LDGSTS;

    while (is_copy && instruction.operation != LDGDEPBAR) {
        *offset_inout += PB_SASS_BYTES;
        if (*offset_inout + PB_SASS_BYTES > bytes)
            return NO_SCOREBOARD;
        instruction = decode(code + *offset_inout);
    }
    return instruction.scoreboard;
}

uint64_t pb_scoreboard_wait(const unsigned char *code, uint64_t bytes, uint64_t offset)
{
    unsigned scoreboard, groups = 0;

    if (bytes < PB_SASS_BYTES || offset > bytes - PB_SASS_BYTES)
        return 0;
    scoreboard = scoreboard_of(code, bytes, &offset);
    if (scoreboard == NO_SCOREBOARD)
        return 0;
    for (offset += PB_SASS_BYTES; offset <= bytes - PB_SASS_BYTES; offset += PB_SASS_BYTES) {
        struct instruction instruction = decode(code + offset);

        if (instruction.waits >> scoreboard & 1)
            return offset;
        if (instruction.operation == DEPBAR && instruction.barrier == scoreboard &&
            instruction.left <= groups)
            return offset;
        groups += instruction.operation == LDGDEPBAR && instruction.scoreboard == scoreboard;
    }
    return PB_SCOREBOARD_NEVER;
}
