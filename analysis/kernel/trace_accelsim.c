/*
 * Accel-Sim's .traceg, tracer versions 3 to 5: a header of "-key = value", then the blocks, each
 * with its warps one after the other:
 *   #BEGIN_TB / thread block = x,y,z / warp = n / insts = n / instructions … / #END_TB
 * An instruction:
 *   [line] PC mask dest_num [dests] opcode src_num [srcs] mem_width [mode addresses] [immediate]
 * with the line where the header says "-enable lineinfo = 1". The addresses of the active lanes are
 * a list (mode 0), a base and a stride (1), or a base and the differences of neighbours (2).
 *
 * Only accesses to global and local memory are kept. Bulk copies (UBLKCP, UTMA…) give no addresses
 * before version 6; they are counted as unmodelled.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kernel/line_map.h"
#include "analysis/kernel/text_trace.h"

enum { VERSION_MIN = 3, VERSION_MAX = 5, REGISTERS_MAX = 16, DEFAULT_BYTES = 4, BYTES_MAX = 128 };

/* Of the generic address space, shared and local memory each fill a window of this size. */
#define WINDOW_BYTES     (UINT64_C(1) << 24)
#define INSTRUCTIONS_MAX (UINT64_C(1) << 40) /* of a warp */

enum place { BETWEEN_BLOCKS, IN_BLOCK, IN_WARP, AT_END };

struct accelsim_trace {
    struct pb_kernel kernel;
    char *path;
    struct pb_text *text;
    uint64_t version, has_lines;
    uint64_t shared_window, local_window; /* 0: not known */
    bool has_grid, has_block, has_started, has_blocks;

    enum place place;
    uint64_t block;
    uint32_t warp;
    uint32_t warps_seen;            /* bit i: warp i of this block */
    uint64_t left;                  /* instructions of this warp */
    struct pb_line_map blocks_seen; /* by number */

    struct pb_instruction *instructions;
    size_t instruction_count, instruction_capacity;
    uint32_t *index; /* [index_room] 1 + instruction, hashed by program counter and opcode */
    size_t index_capacity;
};

/* ---- header ---- */

static bool parse_triple(const char *text, const char *form, uint32_t numbers[3])
{
    int end = -1;

    return text != NULL && sscanf(text, form, &numbers[0], &numbers[1], &numbers[2], &end) == 3 &&
           end >= 0 && text[end] == '\0';
}

static const char *value_of(const char *line, const char *key)
{
    size_t length = strlen(key);

    if (strncmp(line, key, length) != 0)
        return NULL;
    line += length;
    line += strspn(line, " ");
    if (*line != '=')
        return NULL;
    return line + 1 + strspn(line + 1, " ");
}

/* A number of the header; what it is not, is refused. */
static enum pb_status read_number(struct accelsim_trace *trace, const char *line, const char *value,
                                  int base, uint64_t max, uint64_t *number_out,
                                  struct pb_error *err)
{
    if (pb_word_number(value, base, max, number_out))
        return PB_OK;
    return pb_text_refuse(trace->text, line, err, "a number up to %llu behind the \"=\"",
                          (unsigned long long)max);
}

static enum pb_status read_dimensions(struct accelsim_trace *trace, const char *line,
                                      const char *value, uint32_t dimensions[3], bool *has_out,
                                      struct pb_error *err)
{
    if (!parse_triple(value, "(%10u,%10u,%10u)%n", dimensions))
        return pb_text_refuse(trace->text, line, err, "\"= (X,Y,Z)\"");
    *has_out = true;
    return PB_OK;
}

static enum pb_status read_header_line(struct accelsim_trace *trace, const char *line,
                                       struct pb_error *err)
{
    struct pb_kernel *kernel = &trace->kernel;
    const char *value;
    uint64_t number = 0;
    enum pb_status status = PB_OK;

    if ((value = value_of(line, "-kernel name")) != NULL)
        PB_TEXT_SET(kernel->name, value);
    else if ((value = value_of(line, "-grid dim")) != NULL)
        status = read_dimensions(trace, line, value, kernel->grid, &trace->has_grid, err);
    else if ((value = value_of(line, "-block dim")) != NULL)
        status = read_dimensions(trace, line, value, kernel->block, &trace->has_block, err);
    else if ((value = value_of(line, "-shmem base_addr")) != NULL)
        status = read_number(trace, line, value, 16, UINT64_MAX, &trace->shared_window, err);
    else if ((value = value_of(line, "-local mem base_addr")) != NULL)
        status = read_number(trace, line, value, 16, UINT64_MAX, &trace->local_window, err);
    else if ((value = value_of(line, "-shmem")) != NULL) {
        status = read_number(trace, line, value, 10, 1 << 20, &number, err);
        kernel->shared_bytes = (int64_t)number;
    } else if ((value = value_of(line, "-nregs")) != NULL) {
        status = read_number(trace, line, value, 10, 255, &number, err);
        kernel->registers = (uint32_t)number;
    } else if ((value = value_of(line, "-accelsim tracer version")) != NULL)
        status = read_number(trace, line, value, 10, UINT32_MAX, &trace->version, err);
    else if ((value = value_of(line, "-enable lineinfo")) != NULL)
        status = read_number(trace, line, value, 10, 1, &trace->has_lines, err);
    return status;
}

static enum pb_status check_header(struct accelsim_trace *trace, const char *line,
                                   struct pb_error *err)
{
    if (!trace->has_grid || !trace->has_block || !pb_kernel_count(&trace->kernel))
        return pb_text_refuse(trace->text, line, err,
                              "\"-grid dim\" and \"-block dim\" of a possible launch before the "
                              "first block");
    if (trace->version < VERSION_MIN || trace->version > VERSION_MAX)
        return pb_fail(err, PB_INVALID,
                       "%s:%llu: expected \"-accelsim tracer version\" %d to %d before the first "
                       "block, found %llu",
                       pb_text_path(trace->text), (unsigned long long)pb_text_number(trace->text),
                       VERSION_MIN, VERSION_MAX, (unsigned long long)trace->version);
    return PB_OK;
}

static enum pb_status read_header(struct accelsim_trace *trace, struct pb_error *err)
{
    char *line = NULL;
    enum pb_status status;

    do {
        status = pb_text_line(trace->text, &line, err);
        if (status == PB_OK && line != NULL && line[0] == '-')
            status = read_header_line(trace, line, err);
    } while (status == PB_OK && line != NULL &&
             (line[0] == '-' || line[0] == '\0' ||
              (line[0] == '#' && strncmp(line, "#BEGIN_TB", strlen("#BEGIN_TB")) != 0)));
    if (status == PB_OK)
        status = check_header(trace, line, err);
    if (status == PB_OK && (line == NULL || line[0] != '#'))
        status = pb_text_refuse(trace->text, line, err,
                                "\"#BEGIN_TB\" (a raw .trace has to be grouped by blocks first)");
    if (status == PB_OK)
        pb_text_repeat(trace->text);
    return status;
}

/* ---- instructions ---- */

static bool begins(const char *opcode, const char *start)
{
    size_t length = strlen(start);

    return strncmp(opcode, start, length) == 0 && (opcode[length] == '\0' || opcode[length] == '.');
}

/* Is this modifier among those of the opcode, which stand behind dots? */
static bool has_modifier(const char *opcode, const char *modifier)
{
    size_t length = strlen(modifier);

    for (const char *at = strchr(opcode, '.'); at != NULL; at = strchr(at + 1, '.'))
        if (strncmp(at + 1, modifier, length) == 0 &&
            (at[1 + length] == '\0' || at[1 + length] == '.'))
            return true;
    return false;
}

struct opcode_kind {
    const char *name;
    enum pb_access_kind kind;
    enum pb_access_space space;
    enum pb_access_way way;
    bool is_generic;
};

static const struct opcode_kind opcode_kinds[] = {
    {"LDG", PB_KIND_LOAD, PB_SPACE_GLOBAL, PB_WAY_REGISTERS, false},
    {"LD", PB_KIND_LOAD, PB_SPACE_GLOBAL, PB_WAY_REGISTERS, true},
    {"LDL", PB_KIND_LOAD, PB_SPACE_LOCAL, PB_WAY_REGISTERS, false},
    {"LDGSTS", PB_KIND_LOAD, PB_SPACE_GLOBAL, PB_WAY_ASYNC, false},
    {"STG", PB_KIND_STORE, PB_SPACE_GLOBAL, PB_WAY_REGISTERS, false},
    {"ST", PB_KIND_STORE, PB_SPACE_GLOBAL, PB_WAY_REGISTERS, true},
    {"STL", PB_KIND_STORE, PB_SPACE_LOCAL, PB_WAY_REGISTERS, false},
    {"ATOM", PB_KIND_ATOMIC, PB_SPACE_GLOBAL, PB_WAY_REGISTERS, true},
    {"ATOMG", PB_KIND_ATOMIC, PB_SPACE_GLOBAL, PB_WAY_REGISTERS, false},
    {"RED", PB_KIND_ATOMIC, PB_SPACE_GLOBAL, PB_WAY_REGISTERS, false},
    {"REDG", PB_KIND_ATOMIC, PB_SPACE_GLOBAL, PB_WAY_REGISTERS, false},
    {"CCTL", PB_KIND_COUNT, PB_SPACE_GLOBAL, PB_WAY_REGISTERS, false},
    {"LDS", PB_KIND_COUNT, PB_SPACE_GLOBAL, PB_WAY_REGISTERS, false},
    {"LDSM", PB_KIND_COUNT, PB_SPACE_GLOBAL, PB_WAY_REGISTERS, false},
    {"STS", PB_KIND_COUNT, PB_SPACE_GLOBAL, PB_WAY_REGISTERS, false},
    {"STSM", PB_KIND_COUNT, PB_SPACE_GLOBAL, PB_WAY_REGISTERS, false},
    {"ATOMS", PB_KIND_COUNT, PB_SPACE_GLOBAL, PB_WAY_REGISTERS, false},
    {"LDC", PB_KIND_COUNT, PB_SPACE_GLOBAL, PB_WAY_REGISTERS, false},
};

enum { OPCODE_KIND_COUNT = sizeof(opcode_kinds) / sizeof(opcode_kinds[0]) };

/* NULL: none that this model knows. PB_KIND_COUNT: one that stays on the SM. */
static const struct opcode_kind *find_opcode(const char *opcode)
{
    for (size_t i = 0; i < OPCODE_KIND_COUNT; i++)
        if (begins(opcode, opcode_kinds[i].name))
            return &opcode_kinds[i];
    return NULL;
}

/* As the modifier of the opcode has it: 64, U8, S16, 128, …; 4 bytes without one. */
static uint32_t opcode_bytes(const char *opcode)
{
    for (const char *at = strchr(opcode, '.'); at != NULL; at = strchr(at + 1, '.')) {
        const char *digits = at + 1 + (at[1] == 'U' || at[1] == 'S' ? 1 : 0);
        char *end;
        unsigned long bits;

        if (!isdigit((unsigned char)*digits))
            continue;
        bits = strtoul(digits, &end, 10);
        if ((*end == '.' || *end == '\0') && bits >= 8 && bits <= 8 * BYTES_MAX)
            return (uint32_t)bits / 8;
    }
    return DEFAULT_BYTES;
}

/* ld.cg and ld.volatile are "strong" beyond the SM; cp.async.cg has the modifier BYPASS. */
static bool is_past_l1(const char *opcode)
{
    return has_modifier(opcode, "BYPASS") ||
           (has_modifier(opcode, "STRONG") && !has_modifier(opcode, "SM"));
}

static size_t hash(uint64_t program_counter, const char *opcode)
{
    uint64_t value = program_counter * UINT64_C(0x9e3779b97f4a7c15);

    while (*opcode != '\0')
        value = (value ^ (unsigned char)*opcode++) * UINT64_C(0x100000001b3);
    return (size_t)(value >> 20);
}

static size_t find_slot(const struct accelsim_trace *trace, uint64_t program_counter,
                        const char *opcode)
{
    size_t slot = hash(program_counter, opcode) & (trace->index_capacity - 1);

    while (trace->index[slot] != 0) {
        const struct pb_instruction *known = &trace->instructions[trace->index[slot] - 1];

        if (known->program_counter == program_counter && strcmp(known->opcode, opcode) == 0)
            break;
        slot = (slot + 1) & (trace->index_capacity - 1);
    }
    return slot;
}

static enum pb_status grow_index(struct accelsim_trace *trace, struct pb_error *err)
{
    size_t capacity = trace->instruction_capacity == 0 ? 64 : 2 * trace->instruction_capacity;
    struct pb_instruction *instructions =
        realloc(trace->instructions, capacity * sizeof(*instructions));
    uint32_t *index = calloc(4 * capacity, sizeof(*index));

    if (instructions != NULL)
        trace->instructions = instructions;
    if (instructions == NULL || index == NULL) {
        free(index);
        return pb_fail(err, PB_NO_MEMORY, "out of memory for %zu instructions", capacity);
    }
    free(trace->index);
    trace->index = index;
    trace->index_capacity = 4 * capacity;
    trace->instruction_capacity = capacity;
    for (size_t i = 0; i < trace->instruction_count; i++)
        index[find_slot(trace, instructions[i].program_counter, instructions[i].opcode)] =
            (uint32_t)i + 1;
    return PB_OK;
}

static enum pb_status find_instruction(struct accelsim_trace *trace, uint64_t program_counter,
                                       uint64_t line, const char *opcode,
                                       const struct opcode_kind *kind, uint32_t *instruction_out,
                                       struct pb_error *err)
{
    char cut[PB_NAME_LENGTH];
    struct pb_instruction *instruction;
    enum pb_status status = PB_OK;
    size_t slot;

    PB_TEXT_SET(cut, opcode);
    if (trace->instruction_count == trace->instruction_capacity)
        status = grow_index(trace, err);
    if (status != PB_OK)
        return status;
    slot = find_slot(trace, program_counter, cut);
    if (trace->index[slot] == 0) {
        instruction = &trace->instructions[trace->instruction_count++];
        *instruction = (struct pb_instruction){
            .program_counter = program_counter,
            .line = (uint32_t)line,
            .kind = kind->kind,
            .space = kind->space,
            .way = kind->way,
            .bypasses_l1 = is_past_l1(opcode),
        };
        PB_TEXT_SET(instruction->opcode, cut);
        trace->index[slot] = (uint32_t)trace->instruction_count;
    }
    *instruction_out = trace->index[slot] - 1;
    return PB_OK;
}

/* ---- addresses ---- */

static const char *read_list(char **rest, size_t lanes, uint64_t *address)
{
    for (size_t i = 0; i < lanes; i++)
        if (!pb_word_number(pb_word_next(rest), 16, UINT64_MAX, &address[i]))
            return "a hexadecimal address for each active lane";
    return NULL;
}

static const char *read_stride(char **rest, size_t lanes, uint64_t *address)
{
    int64_t stride = 0;

    if (!pb_word_number(pb_word_next(rest), 16, UINT64_MAX, &address[0]) ||
        !pb_word_signed(pb_word_next(rest), &stride))
        return "a hexadecimal base and a decimal stride";
    for (size_t i = 1; i < lanes; i++)
        address[i] = address[i - 1] + (uint64_t)stride;
    return NULL;
}

static const char *read_differences(char **rest, size_t lanes, uint64_t *address)
{
    int64_t difference = 0;

    if (!pb_word_number(pb_word_next(rest), 16, UINT64_MAX, &address[0]))
        return "a hexadecimal base";
    for (size_t i = 1; i < lanes; i++) {
        if (!pb_word_signed(pb_word_next(rest), &difference))
            return "a decimal difference for each further active lane";
        address[i] = address[i - 1] + (uint64_t)difference;
    }
    return NULL;
}

/* NULL, or what was expected. */
static const char *read_addresses(char **rest, size_t lanes, uint64_t *address)
{
    uint64_t mode = 0;

    if (!pb_word_number(pb_word_next(rest), 10, 2, &mode))
        return "an address mode from 0 to 2";
    if (mode == 0)
        return read_list(rest, lanes, address);
    return mode == 1 ? read_stride(rest, lanes, address) : read_differences(rest, lanes, address);
}

static bool skip_registers(char **rest)
{
    uint64_t count = 0;

    if (!pb_word_number(pb_word_next(rest), 10, REGISTERS_MAX, &count))
        return false;
    for (uint64_t i = 0; i < count; i++)
        if (pb_word_next(rest) == NULL)
            return false;
    return true;
}

static bool in_window(uint64_t address, uint64_t window)
{
    return window != 0 && address - window < WINDOW_BYTES;
}

struct parsed {
    uint64_t line, program_counter, lane_mask, width;
    const char *opcode;
};

static const char *parse_instruction(const struct accelsim_trace *trace, char **rest,
                                     struct parsed *parsed)
{
    parsed->line = 0;
    if (trace->has_lines && !pb_word_number(pb_word_next(rest), 10, UINT32_MAX, &parsed->line))
        return "the number of a source line";
    if (!pb_word_number(pb_word_next(rest), 16, UINT64_MAX, &parsed->program_counter))
        return "an instruction, which begins with a hexadecimal program counter";
    if (!pb_word_number(pb_word_next(rest), 16, UINT32_MAX, &parsed->lane_mask))
        return "a hexadecimal lane mask behind the program counter";
    if (!skip_registers(rest))
        return "the number of destination registers, and these";
    parsed->opcode = pb_word_next(rest);
    if (parsed->opcode == NULL)
        return "an opcode";
    if (!skip_registers(rest))
        return "the number of source registers, and these";
    if (!pb_word_number(pb_word_next(rest), 10, BYTES_MAX, &parsed->width))
        return "the width of a memory access, or 0";
    return NULL;
}

/* An access that the model takes; else *is_access_out is false. */
static enum pb_status read_instruction(struct accelsim_trace *trace, char *line,
                                       struct pb_access *access, bool *is_access_out,
                                       struct pb_error *err)
{
    char copy[64] = "";
    char *rest = line;
    struct parsed parsed = {0};
    struct opcode_kind kind;
    const struct opcode_kind *known;
    const char *expected;

    snprintf(copy, sizeof(copy), "%s", line);
    *is_access_out = false;
    expected = parse_instruction(trace, &rest, &parsed);
    if (expected != NULL)
        return pb_text_refuse(trace->text, copy, err, "%s", expected);
    if (parsed.width == 0 || parsed.lane_mask == 0)
        return PB_OK;
    known = find_opcode(parsed.opcode);
    trace->kernel.unmodelled += known == NULL;
    if (known == NULL || known->kind == PB_KIND_COUNT)
        return PB_OK;
    expected =
        read_addresses(&rest, (size_t)__builtin_popcountll(parsed.lane_mask), access->address);
    if (expected != NULL)
        return pb_text_refuse(trace->text, copy, err, "%s", expected);
    kind = *known;
    if (kind.is_generic && in_window(access->address[0], trace->shared_window))
        return PB_OK;
    if (kind.is_generic && in_window(access->address[0], trace->local_window))
        kind.space = PB_SPACE_LOCAL;
    for (size_t i = 0; kind.space == PB_SPACE_LOCAL && i < PB_LANES_MAX; i++)
        access->address[i] %= WINDOW_BYTES;
    access->lane_mask = (uint32_t)parsed.lane_mask;
    access->bytes = opcode_bytes(parsed.opcode);
    *is_access_out = true;
    return find_instruction(trace, parsed.program_counter, parsed.line, parsed.opcode, &kind,
                            &access->instruction, err);
}

/* ---- blocks and warps ---- */

static enum pb_status next_line_with_text(struct accelsim_trace *trace, char **line_out,
                                          struct pb_error *err)
{
    enum pb_status status;

    do
        status = pb_text_line(trace->text, line_out, err);
    while (status == PB_OK && *line_out != NULL && (*line_out)[0] == '\0');
    return status;
}

static enum pb_status begin_block(struct accelsim_trace *trace, const char *line,
                                  struct pb_error *err)
{
    const uint32_t *grid = trace->kernel.grid;
    uint32_t at[3] = {0};
    uint64_t block, *is_seen;

    if (!parse_triple(line, "thread block = %10u,%10u,%10u%n", at) || at[0] >= grid[0] ||
        at[1] >= grid[1] || at[2] >= grid[2])
        return pb_text_refuse(trace->text, line, err,
                              "\"thread block = x,y,z\" within the grid of %u,%u,%u", grid[0],
                              grid[1], grid[2]);
    block = ((uint64_t)at[2] * grid[1] + at[1]) * grid[0] + at[0];
    is_seen = pb_line_map_at(&trace->blocks_seen, block);
    if (is_seen == NULL)
        return pb_fail(err, PB_NO_MEMORY, "%s: out of memory for %zu blocks", trace->path,
                       trace->blocks_seen.count);
    if (*is_seen != 0)
        return pb_text_refuse(trace->text, line, err, "each block once");
    *is_seen = 1;
    trace->block = block;
    trace->warps_seen = 0;
    trace->place = IN_BLOCK;
    return PB_OK;
}

/* "warp = n", then "insts = n". */
static enum pb_status begin_warp(struct accelsim_trace *trace, char *line, struct pb_error *err)
{
    const char *value = value_of(line, "warp");
    uint64_t warp = 0;
    enum pb_status status;

    if (value == NULL || !pb_word_number(value, 10, trace->kernel.warp_count - 1, &warp) ||
        (trace->warps_seen & (UINT32_C(1) << warp)) != 0)
        return pb_text_refuse(trace->text, line, err,
                              "\"warp = n\", each below %u once, or \"#END_TB\"",
                              trace->kernel.warp_count);
    trace->warp = (uint32_t)warp;
    trace->warps_seen |= UINT32_C(1) << warp;
    status = next_line_with_text(trace, &line, err);
    if (status != PB_OK)
        return status;
    value = line == NULL ? NULL : value_of(line, "insts");
    if (value == NULL || !pb_word_number(value, 10, INSTRUCTIONS_MAX, &trace->left))
        return pb_text_refuse(trace->text, line, err, "\"insts = n\"");
    trace->place = IN_WARP;
    return PB_OK;
}

static enum pb_status at_end(struct accelsim_trace *trace, struct pb_trace_event *event,
                             struct pb_error *err)
{
    if (trace->blocks_seen.count == 0)
        return pb_text_refuse(trace->text, NULL, err, "\"#BEGIN_TB\"");
    if (trace->blocks_seen.count < trace->kernel.block_count)
        snprintf(trace->kernel.message, sizeof(trace->kernel.message),
                 "%zu of %llu blocks are in the trace", trace->blocks_seen.count,
                 (unsigned long long)trace->kernel.block_count);
    trace->place = AT_END;
    event->kind = PB_EVENT_STREAM_END;
    return PB_OK;
}

/* A line outside of a warp. *is_event_out: it ends something. */
static enum pb_status read_frame(struct accelsim_trace *trace, char *line,
                                 struct pb_trace_event *event, bool *is_event_out,
                                 struct pb_error *err)
{
    enum pb_status status;

    if (trace->place == IN_BLOCK && strncmp(line, "#END_TB", strlen("#END_TB")) == 0) {
        event->kind = PB_EVENT_BLOCK_END;
        event->block = trace->block;
        *is_event_out = true;
        trace->place = BETWEEN_BLOCKS;
        return PB_OK;
    }
    if (trace->place == IN_BLOCK)
        return begin_warp(trace, line, err);
    if (strncmp(line, "#BEGIN_TB", strlen("#BEGIN_TB")) != 0)
        return pb_text_refuse(trace->text, line, err, "\"#BEGIN_TB\"");
    status = next_line_with_text(trace, &line, err);
    if (status == PB_OK && line == NULL)
        status = pb_text_refuse(trace->text, NULL, err, "\"thread block = x,y,z\"");
    return status == PB_OK ? begin_block(trace, line, err) : status;
}

static enum pb_status next_event(void *state, uint32_t stream, struct pb_trace_event *event,
                                 struct pb_error *err)
{
    struct accelsim_trace *trace = state;
    bool is_event = false;
    enum pb_status status = PB_OK;

    (void)stream;
    if (trace->place == AT_END) {
        event->kind = PB_EVENT_STREAM_END;
        return PB_OK;
    }
    while (status == PB_OK && !is_event) {
        char *line = NULL;

        event->block = trace->block;
        event->warp = trace->warp;
        if (trace->place == IN_WARP && trace->left == 0) {
            event->kind = PB_EVENT_WARP_END;
            trace->place = IN_BLOCK;
            return PB_OK;
        }
        status = pb_text_line(trace->text, &line, err);
        if (status != PB_OK || (line != NULL && line[0] == '\0'))
            continue;
        if (line == NULL && trace->place == BETWEEN_BLOCKS)
            return at_end(trace, event, err);
        if (line == NULL)
            return pb_text_refuse(trace->text, NULL, err,
                                  trace->place == IN_WARP ? "%llu more instructions of warp %u"
                                                          : "\"#END_TB\"",
                                  (unsigned long long)trace->left, trace->warp);
        if (trace->place != IN_WARP) {
            status = read_frame(trace, line, event, &is_event, err);
            continue;
        }
        event->kind = PB_EVENT_ACCESS;
        trace->left--;
        status = read_instruction(trace, line, &event->access, &is_event, err);
    }
    return status;
}

/* ---- the trace as a whole ---- */

static enum pb_status restart(void *state, struct pb_error *err)
{
    struct accelsim_trace *trace = state;
    enum pb_status status = PB_OK;

    pb_text_close(trace->text);
    trace->text = NULL;
    trace->place = BETWEEN_BLOCKS;
    pb_line_map_clear(&trace->blocks_seen);
    trace->kernel.unmodelled = 0;
    status = pb_text_open(trace->path, &trace->text, err);
    return status != PB_OK ? status : read_header(trace, err);
}

static enum pb_status next_kernel(void *state, bool *found_out, struct pb_error *err)
{
    struct accelsim_trace *trace = state;

    *found_out = !trace->has_started;
    if (trace->has_started)
        return PB_OK;
    trace->has_started = true;
    return restart(trace, err);
}

static const struct pb_kernel *get_kernel(const void *state)
{
    return &((const struct accelsim_trace *)state)->kernel;
}

static void close_trace(void *state)
{
    struct accelsim_trace *trace = state;

    pb_text_close(trace->text);
    free(trace->path);
    pb_line_map_clear(&trace->blocks_seen);
    free(trace->instructions);
    free(trace->index);
    free(trace);
}

enum pb_status pb_accelsim_open(struct pb_text *text, struct pb_trace *trace_out,
                                struct pb_error *err)
{
    static const struct pb_trace_ops ops = {
        .format = "Accel-Sim",
        .next_kernel = next_kernel,
        .restart = restart,
        .kernel = get_kernel,
        .next = next_event,
        .close = close_trace,
    };
    struct accelsim_trace *trace = calloc(1, sizeof(*trace));
    enum pb_status status = PB_OK;

    if (trace != NULL) {
        trace->text = text;
        trace->path = strdup(pb_text_path(text));
    }
    if (trace == NULL || trace->path == NULL) {
        if (trace == NULL)
            pb_text_close(text);
        else
            close_trace(trace);
        return pb_fail(err, PB_NO_MEMORY, "out of memory for a trace");
    }
    trace->kernel.shared_bytes = trace->kernel.carveout_bytes = -1;
    trace->kernel.stream_count = 1;
    trace->kernel.has_program_counters = true;
    trace->kernel.instructions = (const struct pb_instruction *const *)&trace->instructions;
    trace->kernel.instruction_count = &trace->instruction_count;
    status = read_header(trace, err);
    if (status != PB_OK) {
        close_trace(trace);
        return status;
    }
    *trace_out = (struct pb_trace){&ops, trace};
    return PB_OK;
}
