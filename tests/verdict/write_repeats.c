/*
 * Writes runs of the same GPUs as a file of feature tables; see repeats.h.
 *
 *   write_repeats OUT.tsv RUN.h5...
 */
#include <libgen.h>
#include <stdlib.h>
#include <string.h>

#include "cli/outliers.h"
#include "verdict/repeats.h"

static int fail(const char *path, const char *message)
{
    fprintf(stderr, "write_repeats: %s: %s\n", path, message);
    return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    struct repeats repeats = {.count = 0};
    FILE *file;

    if (argc < 3 || argc > REPEATS_RUNS_MAX + 2)
        return fail("usage", "write_repeats OUT.tsv RUN.h5...");
    for (int i = 2; i < argc; i++) {
        struct repeats_run *run = &repeats.runs[repeats.count++];
        struct pb_error err = PB_ERROR_INIT;
        struct pb_run about;

        if (pb_outliers_read(argv[i], NULL, &about, &run->features, &err) != PB_OK)
            return fail(argv[i], err.message);
        PB_TEXT_SET(run->name, basename(argv[i]));
        run->name[strcspn(run->name, ".")] = '\0';
    }
    file = fopen(argv[1], "w");
    if (file == NULL)
        return fail(argv[1], "cannot be written");
    repeats_write(&repeats, file);
    repeats_clear(&repeats);
    return fclose(file) == 0 ? EXIT_SUCCESS : fail(argv[1], "cannot be written");
}
