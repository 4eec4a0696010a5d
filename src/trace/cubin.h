/*
 * A cubin, the ELF file of a module's machine code: its functions, their code and resources.
 * Nothing in it is trusted; what lies outside of the bytes is not there.
 */
#ifndef PB_TRACE_CUBIN_H
#define PB_TRACE_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pb_cubin_section {
    const unsigned char *bytes; /* NULL: it has no bytes in the file */
    uint64_t size;
    uint32_t index, info, link, type;
};

struct pb_cubin_function {
    const char *name;
    uint32_t section; /* number of the section with its code */
    uint64_t offset;  /* in that section */
    uint64_t size;
};

/* Calls visit() for every function of cubin[size], in the order of the symbol table. */
void pb_cubin_functions(const void *cubin, size_t size,
                        void (*visit)(const struct pb_cubin_function *function, void *context),
                        void *context);
size_t pb_cubin_count_functions(const void *cubin, size_t size);

/* A section by name or by number; false: there is none, or it lies outside of the file. */
bool pb_cubin_find_section(const void *cubin, size_t size, const char *name,
                           struct pb_cubin_section *section_out);
bool pb_cubin_section(const void *cubin, size_t size, uint32_t index,
                      struct pb_cubin_section *section_out);
/* The first section of this type whose `info` is `info`: the relocations of a section, say. */
bool pb_cubin_section_of(const void *cubin, size_t size, uint32_t type, uint32_t info,
                         struct pb_cubin_section *section_out);

/* A symbol by number; false: there is none. */
bool pb_cubin_symbol(const void *cubin, size_t size, uint32_t number,
                     struct pb_cubin_function *symbol_out);

/* 75, 80, 90, …; 0: no cubin. */
unsigned pb_cubin_architecture(const void *cubin, size_t size);

/*
 * Registers of a thread of a kernel (0: not known), and shared bytes of a CTA as the code declares
 * them (-1: no such kernel), without those that the system takes.
 */
void pb_cubin_resources(const void *cubin, size_t size, const char *kernel, uint32_t *registers_out,
                        int64_t *shared_bytes_out);

#endif
