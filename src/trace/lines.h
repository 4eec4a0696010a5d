/*
 * Source lines of machine code, from a cubin's .debug_line (nvcc -lineinfo or -G): DWARF 2 to 4 as
 * CUDA's compilers write it, with addresses by relocation. Nothing in it is trusted.
 */
#ifndef PB_TRACE_LINES_H
#define PB_TRACE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The line of the instruction at `offset` of section number `section` of cubin[size]. file_out gets
 * "directory/name". False: the cubin does not say.
 */
bool pb_lines_find(const void *cubin, size_t size, uint32_t section, uint64_t offset,
                   char *file_out, size_t file_size, uint32_t *line_out);

#endif
