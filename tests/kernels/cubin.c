/* Finding and decoding machine code; see cubin.h. */
#include "kernels/cubin.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EM_NVIDIA = 190, INSTRUCTION_BYTES = 16 };

bool file_image_read(const char *path, struct file_image *image_out)
{
    FILE *file = fopen(path, "rb");
    unsigned char *bytes = NULL;
    long size = -1;
    bool is_read = false;

    if (file == NULL)
        return false;
    if (fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) > 0 && fseek(file, 0, SEEK_SET) == 0)
        bytes = malloc((size_t)size);
    if (bytes != NULL)
        is_read = fread(bytes, 1, (size_t)size, file) == (size_t)size;
    fclose(file);
    if (!is_read) {
        free(bytes);
        return false;
    }
    *image_out = (struct file_image){bytes, (size_t)size};
    return true;
}

void file_image_free(struct file_image *image)
{
    free(image->bytes);
    *image = (struct file_image){NULL, 0};
}

/* Where the architecture stands in the header has changed with the version of NVIDIA's ABI. */
static unsigned architecture(const Elf64_Ehdr *header)
{
    unsigned shift = header->e_ident[EI_ABIVERSION] >= 8 ? 8 : 0;

    return header->e_flags >> shift & 0xff;
}

/* How much of the file the cubin takes for sure: up to the end of its table of sections. */
static size_t known_size(const Elf64_Ehdr *header, size_t room)
{
    uint64_t table = (uint64_t)header->e_shnum * sizeof(Elf64_Shdr);

    if (header->e_shoff > room || table > room - header->e_shoff)
        return sizeof(*header);
    return header->e_shoff + table > sizeof(*header) ? (size_t)(header->e_shoff + table)
                                                     : sizeof(*header);
}

bool cubin_next(const struct file_image *image, size_t *position, struct cubin *cubin_out)
{
    Elf64_Ehdr header;

    for (size_t i = *position; i + sizeof(header) <= image->size; i++) {
        if (memcmp(image->bytes + i, ELFMAG, SELFMAG) != 0)
            continue;
        memcpy(&header, image->bytes + i, sizeof(header));
        if (header.e_machine != EM_NVIDIA || header.e_ident[EI_CLASS] != ELFCLASS64)
            continue;
        *cubin_out = (struct cubin){image->bytes + i, image->size - i, architecture(&header)};
        *position = i + known_size(&header, image->size - i);
        return true;
    }
    return false;
}

/* Section number i; false when it lies outside of the file. */
static bool section_at(const struct cubin *cubin, const Elf64_Ehdr *header, size_t i,
                       Elf64_Shdr *section_out)
{
    uint64_t at = header->e_shoff + i * sizeof(*section_out);

    if (header->e_shoff > cubin->size || at + sizeof(*section_out) > cubin->size)
        return false;
    memcpy(section_out, cubin->bytes + at, sizeof(*section_out));
    return section_out->sh_type == SHT_NOBITS ||
           (section_out->sh_offset <= cubin->size &&
            section_out->sh_size <= cubin->size - section_out->sh_offset);
}

bool cubin_kernel(const struct cubin *cubin, size_t *section, const char **name_out,
                  struct code *code_out)
{
    static const char prefix[] = ".text.";
    Elf64_Ehdr header;
    Elf64_Shdr names, here;

    memcpy(&header, cubin->bytes, sizeof(header));
    if (!section_at(cubin, &header, header.e_shstrndx, &names))
        return false;
    while (*section < header.e_shnum) {
        const char *name;

        if (!section_at(cubin, &header, (*section)++, &here) || here.sh_name >= names.sh_size)
            continue;
        name = (const char *)cubin->bytes + names.sh_offset + here.sh_name;
        if (memchr(name, '\0', names.sh_size - here.sh_name) == NULL ||
            strncmp(name, prefix, sizeof(prefix) - 1) != 0)
            continue;
        *name_out = name + sizeof(prefix) - 1;
        *code_out = (struct code){cubin->bytes + here.sh_offset, here.sh_size / INSTRUCTION_BYTES,
                                  cubin->arch};
        return true;
    }
    return false;
}

bool cubin_find(const struct cubin *cubin, const char *kernel, struct code *code_out)
{
    const char *name;
    size_t section = 0;

    while (cubin_kernel(cubin, &section, &name, code_out))
        if (strcmp(name, kernel) == 0)
            return true;
    return false;
}

static unsigned field(const uint64_t words[2], unsigned first, unsigned width)
{
    return (unsigned)(words[first / 64] >> first % 64 & ((1u << width) - 1));
}

/* Where a branch goes, in words of 4 bytes; from sm_90 on the lowest eight bits stand apart. */
static int64_t branch_of(const uint64_t words[2], unsigned arch)
{
    uint64_t high = words[0] >> 34 | (words[1] & 0x3ffff) << 30;
    int64_t offset = (int64_t)(high << 16) >> 16;

    if (arch >= 90)
        offset = offset * 256 + field(words, 16, 8);
    return offset / (INSTRUCTION_BYTES / 4);
}

struct instruction code_at(const struct code *code, size_t i)
{
    uint64_t words[2];

    memcpy(words, code->bytes + i * INSTRUCTION_BYTES, sizeof(words));
    return (struct instruction){
        .opcode = field(words, 0, 12),
        .predicate = field(words, 12, 4),
        .destination = field(words, 16, 8),
        .a = field(words, 24, 8),
        .b = field(words, 32, 8),
        .special = field(words, 72, 8),
        .is_wide = field(words, 80, 1) != 0,
        .size = field(words, 73, 3),
        .modifiers = field(words, 72, 16),
        .write_barrier = field(words, 110, 3),
        .read_barrier = field(words, 113, 3),
        .wait_mask = field(words, 116, 6),
        .second_predicate = field(words, 87, 3),
        .branch = branch_of(words, code->arch),
    };
}
