/* The object files of the kernels, for tests of their machine code. Failures end the test. */
#ifndef PB_TESTS_KERNELS_OBJECTS_H
#define PB_TESTS_KERNELS_OBJECTS_H

#include "kernels/cubin.h"

enum { OBJECT_MAX = 64 };

struct objects {
    struct file_image images[OBJECT_MAX];
    size_t count;
};

/* Those named in a list, one path a line. To be freed. */
void objects_read(const char *list_path, struct objects *objects_out);
void objects_free(struct objects *objects);

/* A kernel's code for one architecture; objects_have() where it may be missing. */
struct code objects_kernel(const struct objects *objects, const char *kernel, unsigned arch);
bool objects_have(const struct objects *objects, const char *kernel, unsigned arch,
                  struct code *code_out);

/* Calls visit for every architecture of this build, of which there is one at least. */
void objects_visit(const struct objects *objects,
                   void (*visit)(const struct objects *objects, unsigned arch));

#endif
