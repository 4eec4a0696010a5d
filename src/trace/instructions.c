/* Finding and decoding the instructions of a launch; see instructions.h. */
#include "trace/instructions.h"

#include <stdlib.h>
#include <string.h>

#include "trace/cubin.h"
#include "trace/lines.h"
#include "trace/sass.h"
#include "trace/scoreboard.h"

enum { UNRECORDED_MAX = 1024 }; /* of a function */

void pb_instructions_begin(struct pb_instruction_table *table, const struct pb_index *index,
                           struct pb_stream_reader *reader, uint32_t context)
{
    *table = (struct pb_instruction_table){
        .index = index, .reader = reader, .context = context, .cubin_module = SIZE_MAX};
}

void pb_instructions_clear(struct pb_instruction_table *table)
{
    free(table->rows);
    free(table->pcs);
    free(table->order);
    free(table->cubin);
    *table = (struct pb_instruction_table){.cubin_module = SIZE_MAX};
}

/* Makes the cubin of the index's i-th module the one at hand. */
static bool load_cubin(struct pb_instruction_table *table, size_t i)
{
    const struct pb_index_module *module = &table->index->modules[i];
    size_t head = sizeof(module->row);

    if (table->cubin_module == i)
        return true;
    free(table->cubin);
    table->cubin = NULL;
    table->cubin_module = SIZE_MAX;
    if (pb_stream_read_again(table->reader, &module->frame, NULL) != PB_OK)
        return false;
    table->cubin_size = (size_t)module->frame.size - head;
    table->cubin = malloc(table->cubin_size + 1);
    if (table->cubin == NULL)
        return false;
    memcpy(table->cubin, table->reader->bytes + head, table->cubin_size);
    table->cubin_module = i;
    return true;
}

/*
 * The function that holds a program counter, and its module, in the launch's context. Records have
 * the low 32 bits: the code of a context lies well within 4 GiB.
 */
static const struct pb_stream_function *find_function(const struct pb_instruction_table *table,
                                                      uint32_t pc, size_t *module_out)
{
    const struct pb_index *index = table->index;

    for (size_t i = 0; i < index->function_count; i++) {
        const struct pb_stream_function *function = &index->functions[i];

        if (pc - (uint32_t)function->pc >= function->bytes)
            continue;
        for (size_t m = 0; m < index->module_count; m++)
            if (index->modules[m].row.module == function->module &&
                index->modules[m].row.context == table->context) {
                *module_out = m;
                return function;
            }
    }
    return NULL;
}

/* A search among a cubin's functions: by name, then the smallest one around an offset. */
struct search {
    const char *name;
    bool is_found;
    struct pb_cubin_function found;
    uint32_t section;
    uint64_t offset;
};

static void match_name(const struct pb_cubin_function *function, void *context)
{
    struct search *search = context;

    if (!search->is_found && strcmp(function->name, search->name) == 0) {
        search->found = *function;
        search->is_found = true;
    }
}

static void match_offset(const struct pb_cubin_function *function, void *context)
{
    struct search *search = context;

    if (function->section != search->section || search->offset < function->offset ||
        search->offset - function->offset >= function->size ||
        (search->is_found && function->size >= search->found.size))
        return;
    search->found = *function;
    search->is_found = true;
}

/* Where the function waits for the answer of its instruction at an offset of the section. */
static uint64_t wait_of(const struct pb_cubin_section *code,
                        const struct pb_cubin_function *function, uint64_t offset)
{
    uint64_t left = code->size - function->offset; /* offset lies in both */

    return pb_scoreboard_wait(code->bytes + function->offset,
                              function->size < left ? function->size : left,
                              offset - function->offset);
}

/* Fills in what the cubin at hand says of the instruction at an offset of a section. */
static void describe(const struct pb_instruction_table *table, uint32_t section, uint64_t offset,
                     struct pb_memtrace_instruction *row)
{
    struct search inner = {.section = section, .offset = offset};
    struct pb_cubin_section code;
    struct pb_sass sass;

    pb_cubin_functions(table->cubin, table->cubin_size, match_offset, &inner);
    if (inner.is_found) {
        PB_TEXT_SET(row->function, inner.found.name);
        row->pc = offset - inner.found.offset;
    }
    if (pb_cubin_section(table->cubin, table->cubin_size, section, &code) && code.bytes != NULL &&
        code.size >= PB_SASS_BYTES && offset <= code.size - PB_SASS_BYTES) {
        sass = pb_sass_decode(code.bytes + offset,
                              pb_cubin_architecture(table->cubin, table->cubin_size));
        PB_TEXT_SET(row->opcode, sass.opcode);
        PB_TEXT_SET(row->operation, sass.operation);
        PB_TEXT_SET(row->memory, sass.memory);
        PB_TEXT_SET(row->cache_operator, sass.cache_operator);
        row->size = sass.size;
        row->bypasses_l1 = sass.bypasses_l1;
        if (inner.is_found)
            row->wait_pc = wait_of(&code, &inner.found, offset);
    }
    pb_lines_find(table->cubin, table->cubin_size, section, offset, row->file, sizeof(row->file),
                  &row->line);
}

static void decode(struct pb_instruction_table *table, uint32_t pc,
                   struct pb_memtrace_instruction *row)
{
    struct search search = {.is_found = false};
    const struct pb_stream_function *function;
    size_t module = 0;

    *row = (struct pb_memtrace_instruction){.pc = pc};
    function = find_function(table, pc, &module);
    if (function == NULL)
        return;
    row->module = function->module;
    row->pc = pc - (uint32_t)function->pc;
    PB_TEXT_SET(row->function, function->name);
    search.name = function->name;
    if (!load_cubin(table, module))
        return;
    pb_cubin_functions(table->cubin, table->cubin_size, match_name, &search);
    if (search.is_found)
        describe(table, search.found.section, search.found.offset + row->pc, row);
}

static bool reserve(struct pb_instruction_table *table)
{
    size_t capacity = table->capacity == 0 ? 64 : 2 * table->capacity;
    void *rows, *pcs, *order;

    if (table->count < table->capacity)
        return true;
    rows = realloc(table->rows, capacity * sizeof(*table->rows));
    if (rows != NULL)
        table->rows = rows;
    pcs = realloc(table->pcs, capacity * sizeof(*table->pcs));
    if (pcs != NULL)
        table->pcs = pcs;
    order = realloc(table->order, capacity * sizeof(*table->order));
    if (order != NULL)
        table->order = order;
    if (rows == NULL || pcs == NULL || order == NULL)
        return false;
    table->capacity = capacity;
    return true;
}

/* Where in order[] a program counter stands, or belongs. */
static size_t place_of(const struct pb_instruction_table *table, uint32_t pc)
{
    size_t low = 0, high = table->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (table->pcs[table->order[middle]] < pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool has_row(const struct pb_instruction_table *table, size_t place, uint32_t pc)
{
    return place < table->count && table->pcs[table->order[place]] == pc;
}

static enum pb_status add_row(struct pb_instruction_table *table, size_t place, uint32_t pc,
                              struct pb_error *err)
{
    if (!reserve(table))
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu instructions",
                       table->count + 1);
    memmove(table->order + place + 1, table->order + place,
            (table->count - place) * sizeof(*table->order));
    table->order[place] = table->count;
    table->pcs[table->count] = pc;
    decode(table, pc, &table->rows[table->count++]);
    return PB_OK;
}

/* Rows for what has no records in the function of a program counter: fences, textures, … */
static enum pb_status add_unrecorded(struct pb_instruction_table *table, uint32_t pc,
                                     struct pb_error *err)
{
    struct search search = {.is_found = false};
    const struct pb_stream_function *function;
    struct pb_cubin_section code;
    size_t module = 0, added = 0;
    enum pb_status status = PB_OK;

    function = find_function(table, pc, &module);
    if (function == NULL || function == table->last_function || !load_cubin(table, module))
        return PB_OK;
    table->last_function = function;
    search.name = function->name;
    pb_cubin_functions(table->cubin, table->cubin_size, match_name, &search);
    if (!search.is_found ||
        !pb_cubin_section(table->cubin, table->cubin_size, search.found.section, &code) ||
        code.bytes == NULL || search.found.offset > code.size)
        return PB_OK;
    for (uint64_t at = 0;
         status == PB_OK && added < UNRECORDED_MAX && at + PB_SASS_BYTES <= search.found.size &&
         at + PB_SASS_BYTES <= code.size - search.found.offset;
         at += PB_SASS_BYTES) {
        struct pb_sass sass =
            pb_sass_decode(code.bytes + search.found.offset + at,
                           pb_cubin_architecture(table->cubin, table->cubin_size));
        uint32_t own = (uint32_t)(function->pc + at);
        size_t place = place_of(table, own);

        if ((strcmp(sass.operation, "empty_l1") != 0 &&
             (sass.needs & ~table->reader->header.records) == 0) ||
            has_row(table, place, own))
            continue;
        status = add_row(table, place, own, err);
        added++;
    }
    return status;
}

enum pb_status pb_instructions_find(struct pb_instruction_table *table, uint32_t pc,
                                    uint32_t *row_out, struct pb_error *err)
{
    size_t place = place_of(table, pc);
    enum pb_status status = PB_OK;

    if (!has_row(table, place, pc)) {
        status = add_row(table, place, pc, err);
        if (status == PB_OK)
            status = add_unrecorded(table, pc, err);
        place = place_of(table, pc);
    }
    if (status == PB_OK)
        *row_out = (uint32_t)table->order[place];
    return status;
}

void pb_instructions_resources(struct pb_instruction_table *table, uint32_t module,
                               const char *kernel, uint32_t *registers_out,
                               int64_t *shared_bytes_out)
{
    *registers_out = 0;
    *shared_bytes_out = -1;
    for (size_t i = 0; i < table->index->module_count; i++)
        if (table->index->modules[i].row.module == module && load_cubin(table, i))
            pb_cubin_resources(table->cubin, table->cubin_size, kernel, registers_out,
                               shared_bytes_out);
}
