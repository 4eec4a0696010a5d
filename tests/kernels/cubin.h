/*
 * Reading machine code where the compiler has put it: finds the cubins (ELF files for NVIDIA's
 * machines) inside any file, their kernels, and the fields of an instruction.
 *
 * Limit: uncompressed cubins of sm_75 and later, whose instructions are 16 bytes. There is no
 * public description of the encoding; the fields were found by compiling small kernels (facts 2.4).
 */
#ifndef PB_TESTS_KERNELS_CUBIN_H
#define PB_TESTS_KERNELS_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file in memory; owns bytes. */
struct file_image {
    unsigned char *bytes;
    size_t size;
};

bool file_image_read(const char *path, struct file_image *image_out);
void file_image_free(struct file_image *image);

/* One cubin inside a file. */
struct cubin {
    const unsigned char *bytes;
    size_t size;   /* up to the end of the file that holds it */
    unsigned arch; /* 75, 80, … */
};

/* The next cubin at or after *position, which then moves behind it. False: no more. */
bool cubin_next(const struct file_image *image, size_t *position, struct cubin *cubin_out);

/* The machine code of one kernel. */
struct code {
    const unsigned char *bytes;
    size_t count; /* instructions */
    unsigned arch;
};

/* False when the cubin has no kernel of that name. */
bool cubin_find(const struct cubin *cubin, const char *kernel, struct code *code_out);

/* The next kernel at or after section *section, which then moves behind it. False: no more. */
bool cubin_kernel(const struct cubin *cubin, size_t *section, const char **name_out,
                  struct code *code_out);

enum { NO_BARRIER = 7, ALWAYS = 7, ZERO_REGISTER = 255 };

/* How much a load or a store moves, as encoded. */
enum access_size { SIZE_32 = 4, SIZE_64 = 5, SIZE_128 = 6 };

/* What the bits of an instruction say, as far as it is known. */
struct instruction {
    unsigned opcode;      /* bits 0-11; what is left of bits 9-11 gives the form of operand b */
    unsigned predicate;   /* bits 12-15: executed when this holds */
    unsigned destination; /* bits 16-23: the register written */
    unsigned a, b;        /* bits 24-31 and 32-39: the registers read; b is what stores store */
    unsigned special; /* bits 72-79: the special register that S2R and similar instructions read */
    bool is_wide;     /* bit 80: both halves of it */
    unsigned size;    /* bits 73-75 of loads and stores: enum access_size */
    unsigned modifiers;        /* bits 72-87: of loads, also the cache operator */
    unsigned write_barrier;    /* bits 110-112: scoreboard freed when the destination is written */
    unsigned read_barrier;     /* bits 113-115: scoreboard freed when the sources have been read */
    unsigned wait_mask;        /* bits 116-121: scoreboards to wait for before issue */
    unsigned second_predicate; /* bits 87-89: of branches and exits, must hold as well */
    int64_t branch;            /* of branches: instructions from the next one to the target */
};

struct instruction code_at(const struct code *code, size_t i);

#endif
