/* Reading the kernels' object files; see objects.h. PLUMB_ARCHITECTURES is set by CMake. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/objects.h"

void objects_read(const char *list_path, struct objects *objects_out)
{
    FILE *list = fopen(list_path, "r");
    char path[4096];

    assert_non_null(list);
    objects_out->count = 0;
    while (fgets(path, sizeof(path), list) != NULL) {
        path[strcspn(path, "\n")] = '\0';
        if (path[0] == '\0')
            continue;
        assert_true(objects_out->count < OBJECT_MAX);
        if (!file_image_read(path, &objects_out->images[objects_out->count]))
            fail_msg("cannot read %s", path);
        objects_out->count++;
    }
    fclose(list);
}

void objects_free(struct objects *objects)
{
    for (size_t i = 0; i < objects->count; i++)
        file_image_free(&objects->images[i]);
    objects->count = 0;
}

bool objects_have(const struct objects *objects, const char *kernel, unsigned arch,
                  struct code *code_out)
{
    for (size_t i = 0; i < objects->count; i++) {
        size_t position = 0;
        struct cubin cubin;

        while (cubin_next(&objects->images[i], &position, &cubin))
            if (cubin.arch == arch && cubin_find(&cubin, kernel, code_out))
                return true;
    }
    return false;
}

struct code objects_kernel(const struct objects *objects, const char *kernel, unsigned arch)
{
    struct code code = {NULL, 0, arch};

    if (!objects_have(objects, kernel, arch, &code))
        fail_msg("no machine code of %s for sm_%u in %zu objects", kernel, arch, objects->count);
    return code;
}

void objects_visit(const struct objects *objects,
                   void (*visit)(const struct objects *objects, unsigned arch))
{
    const char *rest = PLUMB_ARCHITECTURES;
    char *end;
    size_t seen = 0;

    for (; *rest != '\0'; rest = *end == ',' ? end + 1 : end) {
        unsigned arch = (unsigned)strtoul(rest, &end, 10);
        assert_ptr_not_equal(end, rest);
        visit(objects, arch);
        seen++;
    }
    assert_true(seen > 0);
}
