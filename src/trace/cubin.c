/* Reading a cubin's sections and symbols; see cubin.h. */
#include "trace/cubin.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

enum { EM_NVIDIA = 190 };

static bool read_header(const void *cubin, size_t size, Elf64_Ehdr *header_out)
{
    if (cubin == NULL || size < sizeof(*header_out))
        return false;
    memcpy(header_out, cubin, sizeof(*header_out));
    return memcmp(header_out->e_ident, ELFMAG, SELFMAG) == 0 &&
           header_out->e_ident[EI_CLASS] == ELFCLASS64 && header_out->e_machine == EM_NVIDIA;
}

/* Where the architecture stands in the header has changed with the version of NVIDIA's ABI. */
unsigned pb_cubin_architecture(const void *cubin, size_t size)
{
    Elf64_Ehdr header;

    if (!read_header(cubin, size, &header))
        return 0;
    return header.e_flags >> (header.e_ident[EI_ABIVERSION] >= 8 ? 8 : 0) & 0xff;
}

static bool read_section(const void *cubin, size_t size, const Elf64_Ehdr *header, uint32_t index,
                         Elf64_Shdr *section_out)
{
    uint64_t at = header->e_shoff + (uint64_t)index * sizeof(*section_out);

    if (index >= header->e_shnum || header->e_shoff > size || at > size ||
        size - at < sizeof(*section_out))
        return false;
    memcpy(section_out, (const char *)cubin + at, sizeof(*section_out));
    return section_out->sh_type == SHT_NOBITS ||
           (section_out->sh_offset <= size &&
            section_out->sh_size <= size - section_out->sh_offset);
}

bool pb_cubin_section(const void *cubin, size_t size, uint32_t index,
                      struct pb_cubin_section *section_out)
{
    Elf64_Ehdr header;
    Elf64_Shdr section;

    if (!read_header(cubin, size, &header) || !read_section(cubin, size, &header, index, &section))
        return false;
    *section_out = (struct pb_cubin_section){
        .bytes =
            section.sh_type == SHT_NOBITS ? NULL : (const unsigned char *)cubin + section.sh_offset,
        .size = section.sh_size,
        .index = index,
        .info = section.sh_info,
        .link = section.sh_link,
        .type = section.sh_type};
    return true;
}

/* The text at an offset of a section of strings; NULL: it does not end in there. */
static const char *text_at(const struct pb_cubin_section *strings, uint64_t at)
{
    if (strings->bytes == NULL || at >= strings->size ||
        memchr(strings->bytes + at, '\0', strings->size - at) == NULL)
        return NULL;
    return (const char *)strings->bytes + at;
}

bool pb_cubin_find_section(const void *cubin, size_t size, const char *name,
                           struct pb_cubin_section *section_out)
{
    struct pb_cubin_section strings;
    Elf64_Ehdr header;
    Elf64_Shdr section;

    if (!read_header(cubin, size, &header) ||
        !pb_cubin_section(cubin, size, header.e_shstrndx, &strings))
        return false;
    for (uint32_t i = 0; i < header.e_shnum; i++) {
        const char *found = read_section(cubin, size, &header, i, &section)
                                ? text_at(&strings, section.sh_name)
                                : NULL;

        if (found != NULL && strcmp(found, name) == 0)
            return pb_cubin_section(cubin, size, i, section_out);
    }
    return false;
}

bool pb_cubin_section_of(const void *cubin, size_t size, uint32_t type, uint32_t info,
                         struct pb_cubin_section *section_out)
{
    Elf64_Ehdr header;

    if (!read_header(cubin, size, &header))
        return false;
    for (uint32_t i = 0; i < header.e_shnum; i++)
        if (pb_cubin_section(cubin, size, i, section_out) && section_out->type == type &&
            section_out->info == info)
            return true;
    return false;
}

/* The table of symbols and the names that belong to it. */
static bool find_symbols(const void *cubin, size_t size, struct pb_cubin_section *symbols_out,
                         struct pb_cubin_section *strings_out)
{
    return pb_cubin_find_section(cubin, size, ".symtab", symbols_out) &&
           symbols_out->bytes != NULL &&
           pb_cubin_section(cubin, size, symbols_out->link, strings_out);
}

static bool read_symbol(const struct pb_cubin_section *symbols,
                        const struct pb_cubin_section *strings, uint64_t number, bool functions,
                        struct pb_cubin_function *symbol_out)
{
    Elf64_Sym symbol;
    const char *name;

    if (number >= symbols->size / sizeof(symbol))
        return false;
    memcpy(&symbol, symbols->bytes + number * sizeof(symbol), sizeof(symbol));
    if (functions && (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF))
        return false;
    name = text_at(strings, symbol.st_name);
    if (name == NULL)
        return false;
    *symbol_out =
        (struct pb_cubin_function){name, symbol.st_shndx, symbol.st_value, symbol.st_size};
    return true;
}

void pb_cubin_functions(const void *cubin, size_t size,
                        void (*visit)(const struct pb_cubin_function *function, void *context),
                        void *context)
{
    struct pb_cubin_section symbols, strings;
    struct pb_cubin_function function;

    if (!find_symbols(cubin, size, &symbols, &strings))
        return;
    for (uint64_t i = 0; i < symbols.size / sizeof(Elf64_Sym); i++)
        if (read_symbol(&symbols, &strings, i, true, &function))
            visit(&function, context);
}

static void count(const struct pb_cubin_function *function, void *context)
{
    (void)function;
    ++*(size_t *)context;
}

size_t pb_cubin_count_functions(const void *cubin, size_t size)
{
    size_t functions = 0;

    pb_cubin_functions(cubin, size, count, &functions);
    return functions;
}

bool pb_cubin_symbol(const void *cubin, size_t size, uint32_t number,
                     struct pb_cubin_function *symbol_out)
{
    struct pb_cubin_section symbols, strings;

    return find_symbols(cubin, size, &symbols, &strings) &&
           read_symbol(&symbols, &strings, number, false, symbol_out);
}

/* The registers of a kernel in .nv.info: entries of format, attribute, size and value. */
static uint32_t find_registers(const void *cubin, size_t size, const char *kernel)
{
    enum { FORMAT_SIZED = 4, REGISTER_COUNT = 0x2f, ENTRY_HEAD = 4 };
    struct pb_cubin_section info;
    struct pb_cubin_function symbol;
    uint32_t values[2];

    if (!pb_cubin_find_section(cubin, size, ".nv.info", &info) || info.bytes == NULL)
        return 0;
    for (uint64_t at = 0; at + ENTRY_HEAD <= info.size; at += ENTRY_HEAD) {
        const unsigned char *entry = info.bytes + at;
        uint64_t length =
            entry[0] == FORMAT_SIZED ? (uint64_t)entry[2] | (uint64_t)entry[3] << 8 : 0;

        if (length > info.size - at - ENTRY_HEAD)
            return 0;
        if (entry[1] == REGISTER_COUNT && length == sizeof(values)) {
            memcpy(values, entry + ENTRY_HEAD, sizeof(values));
            if (pb_cubin_symbol(cubin, size, values[0], &symbol) &&
                strcmp(symbol.name, kernel) == 0)
                return values[1];
        }
        at += length;
    }
    return 0;
}

/* Which the system takes of every CTA; from sm_90 on a kernel's section counts them, too. */
enum { SYSTEM_SHARED_BYTES = 1024 };

void pb_cubin_resources(const void *cubin, size_t size, const char *kernel, uint32_t *registers_out,
                        int64_t *shared_bytes_out)
{
    struct pb_cubin_section section;
    char name[1200];

    *registers_out = find_registers(cubin, size, kernel);
    *shared_bytes_out = -1;
    snprintf(name, sizeof(name), ".text.%s", kernel);
    if (!pb_cubin_find_section(cubin, size, name, &section))
        return;
    snprintf(name, sizeof(name), ".nv.shared.%s", kernel);
    *shared_bytes_out =
        pb_cubin_find_section(cubin, size, name, &section) ? (int64_t)section.size : 0;
    if (pb_cubin_architecture(cubin, size) >= 90 && *shared_bytes_out >= SYSTEM_SHARED_BYTES)
        *shared_bytes_out -= SYSTEM_SHARED_BYTES;
}
