/* The line program of DWARF, run up to the instruction that is looked for; see lines.h. */
#include "trace/lines.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "trace/cubin.h"

enum { OPCODE_COPY = 1, ADVANCE_PC, ADVANCE_LINE, SET_FILE, SET_COLUMN, NEGATE_STATEMENT };
enum { BASIC_BLOCK = 7, CONST_ADD_PC, FIXED_ADVANCE_PC };
enum { END_SEQUENCE = 1, SET_ADDRESS };

/* Bytes that are read one after the other; `bad` once there were too few. */
struct input {
    const unsigned char *bytes;
    uint64_t at, end;
    bool bad;
};

static uint64_t take_number(struct input *input, unsigned size)
{
    uint64_t value = 0;

    if (input->end - input->at < size) {
        input->bad = true;
        input->at = input->end;
        return 0;
    }
    memcpy(&value, input->bytes + input->at, size);
    input->at += size;
    return value;
}

static uint64_t take_leb(struct input *input, bool is_signed)
{
    uint64_t value = 0, byte;
    unsigned shift = 0;

    do {
        byte = take_number(input, 1);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        shift += 7;
    } while ((byte & 0x80) != 0);
    if (is_signed && shift < 64 && (byte & 0x40) != 0)
        value |= ~UINT64_C(0) << shift;
    return value;
}

static const char *take_text(struct input *input)
{
    const char *text = (const char *)input->bytes + input->at;
    const void *end = input->at < input->end
                          ? memchr(input->bytes + input->at, '\0', input->end - input->at)
                          : NULL;

    if (end == NULL) {
        input->bad = true;
        input->at = input->end;
        return "";
    }
    input->at += strlen(text) + 1;
    return text;
}

/* One unit of .debug_line. */
struct unit {
    struct input program;
    uint64_t directories, files; /* where their tables begin */
    uint64_t minimum_length, opcode_base, line_range;
    int64_t line_base;
    const unsigned char *argument_counts; /* [opcode_base - 1] */
};

/* What the search knows besides the unit. */
struct search {
    const void *cubin;
    size_t size;
    struct pb_cubin_section lines, relocations;
    uint32_t section;
    uint64_t offset;
};

static bool take_unit(struct input *section, struct unit *unit_out)
{
    struct input *in = &unit_out->program;
    uint64_t length = take_number(section, 4), header_length, version;

    *in = *section;
    if (section->bad || length > section->end - section->at)
        return false;
    in->end = in->at + length;
    section->at = in->end;
    version = take_number(in, 2);
    header_length = take_number(in, 4);
    if (in->bad || version < 2 || version > 4 || header_length > in->end - in->at)
        return false;
    header_length += in->at;
    unit_out->minimum_length = take_number(in, 1);
    if (version == 4)
        take_number(in, 1); /* operations per instruction: 1 */
    take_number(in, 1);
    unit_out->line_base = (int64_t)(take_number(in, 1) ^ 0x80) - 0x80; /* a signed byte */
    unit_out->line_range = take_number(in, 1);
    unit_out->opcode_base = take_number(in, 1);
    unit_out->argument_counts = in->bytes + in->at;
    if (in->bad || unit_out->line_range == 0 || unit_out->opcode_base == 0 ||
        unit_out->opcode_base - 1 > in->end - in->at)
        return false;
    unit_out->directories = in->at + unit_out->opcode_base - 1;
    in->at = header_length;
    return true;
}

/* The name of file `number` (from 1) with its directory. */
static void name_file(const struct unit *unit, uint64_t number, char *file_out, size_t size)
{
    struct input in = unit->program;
    const char *directory = "", *name = "";
    uint64_t files, index = 0;

    in.at = unit->directories;
    while (!in.bad && take_text(&in)[0] != '\0')
        ;
    files = in.at;
    for (uint64_t i = 0; i < number && !in.bad; i++) {
        name = take_text(&in);
        if (name[0] == '\0')
            break;
        index = take_leb(&in, false);
        take_leb(&in, false);
        take_leb(&in, false);
    }
    in.at = unit->directories;
    for (uint64_t i = 0; i < index && in.at < files; i++)
        directory = take_text(&in);
    snprintf(file_out, size, "%s%s%s", directory, directory[0] == '\0' ? "" : "/", name);
}

/*
 * Where the address at `place` of .debug_line points to: its value counts from a symbol, whose
 * relocation is found by that place. False: to another section.
 */
static bool relocate(const struct search *search, uint64_t place, uint64_t *address_inout)
{
    size_t entry = search->relocations.type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
    struct pb_cubin_function symbol;
    Elf64_Rela relocation = {.r_offset = 0};

    for (uint64_t at = 0; at + entry <= search->relocations.size; at += entry) {
        memcpy(&relocation, search->relocations.bytes + at, entry);
        if (relocation.r_offset != place)
            continue;
        if (!pb_cubin_symbol(search->cubin, search->size, (uint32_t)ELF64_R_SYM(relocation.r_info),
                             &symbol) ||
            symbol.section != search->section)
            return false;
        *address_inout += symbol.offset;
        if (search->relocations.type == SHT_RELA)
            *address_inout += (uint64_t)relocation.r_addend;
        return true;
    }
    return false;
}

struct state {
    uint64_t address, file, line;
    bool is_here; /* the sequence belongs to the section that is looked for */
    bool has_row; /* a row lies before the address now */
    uint64_t row_address, row_file, row_line;
};

static void begin_sequence(struct state *state)
{
    *state = (struct state){.file = 1, .line = 1};
}

/* A row of the table ends the one before it. True: that one holds the instruction. */
static bool end_row(struct state *state, uint64_t offset)
{
    if (state->is_here && state->has_row && state->row_address <= offset && offset < state->address)
        return true;
    state->has_row = true;
    state->row_address = state->address;
    state->row_file = state->file;
    state->row_line = state->line;
    return false;
}

static void advance(const struct unit *unit, struct state *state, uint64_t operations)
{
    state->address += operations * unit->minimum_length;
}

/* True: found. *ended_out: the sequence is over. */
static bool run_extended(const struct search *search, struct unit *unit, struct state *state)
{
    struct input *in = &unit->program;
    uint64_t length = take_leb(in, false), next, place;
    unsigned opcode;

    if (in->bad || length == 0 || length > in->end - in->at) {
        in->bad = in->bad || length > in->end - in->at;
        return false;
    }
    next = in->at + length;
    opcode = (unsigned)take_number(in, 1);
    if (opcode == END_SEQUENCE) {
        if (end_row(state, search->offset))
            return true;
        begin_sequence(state);
    } else if (opcode == SET_ADDRESS && length == 1 + sizeof(uint64_t)) {
        place = in->at;
        state->address = take_number(in, sizeof(uint64_t));
        state->is_here = relocate(search, place, &state->address);
        state->has_row = false;
    }
    in->at = next;
    return false;
}

static bool run_standard(const struct search *search, struct unit *unit, struct state *state,
                         unsigned opcode)
{
    struct input *in = &unit->program;

    switch (opcode) {
    case OPCODE_COPY:
        return end_row(state, search->offset);
    case ADVANCE_PC:
        advance(unit, state, take_leb(in, false));
        break;
    case ADVANCE_LINE:
        state->line += take_leb(in, true);
        break;
    case SET_FILE:
        state->file = take_leb(in, false);
        break;
    case CONST_ADD_PC:
        advance(unit, state, (255 - unit->opcode_base) / unit->line_range);
        break;
    case FIXED_ADVANCE_PC:
        state->address += take_number(in, 2);
        break;
    default:
        for (unsigned i = 0; i < unit->argument_counts[opcode - 1]; i++)
            take_leb(in, false);
        break;
    }
    return false;
}

static bool run(const struct search *search, struct unit *unit, struct state *state)
{
    struct input *in = &unit->program;

    begin_sequence(state);
    while (!in->bad && in->at < in->end) {
        unsigned opcode = (unsigned)take_number(in, 1);

        if (opcode == 0) {
            if (run_extended(search, unit, state))
                return true;
        } else if (opcode < unit->opcode_base) {
            if (run_standard(search, unit, state, opcode))
                return true;
        } else {
            uint64_t adjusted = opcode - unit->opcode_base;

            advance(unit, state, adjusted / unit->line_range);
            state->line += (uint64_t)(unit->line_base + (int64_t)(adjusted % unit->line_range));
            if (end_row(state, search->offset))
                return true;
        }
    }
    return false;
}

bool pb_lines_find(const void *cubin, size_t size, uint32_t section, uint64_t offset,
                   char *file_out, size_t file_size, uint32_t *line_out)
{
    struct search search = {.cubin = cubin, .size = size, .section = section, .offset = offset};
    struct input lines;
    struct unit unit;
    struct state state;

    if (!pb_cubin_find_section(cubin, size, ".debug_line", &search.lines) ||
        search.lines.bytes == NULL ||
        (!pb_cubin_section_of(cubin, size, SHT_RELA, search.lines.index, &search.relocations) &&
         !pb_cubin_section_of(cubin, size, SHT_REL, search.lines.index, &search.relocations)) ||
        search.relocations.bytes == NULL)
        return false;
    lines = (struct input){.bytes = search.lines.bytes, .end = search.lines.size};
    while (lines.at < lines.end && take_unit(&lines, &unit)) {
        if (!run(&search, &unit, &state))
            continue;
        name_file(&unit, state.row_file, file_out, file_size);
        *line_out = (uint32_t)state.row_line;
        return true;
    }
    return false;
}
