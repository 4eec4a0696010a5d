/* Opening a text trace by its content; see trace.h. */
#include "analysis/kernel/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/kernel/text_trace.h"

enum { THREADS_MAX = 1024 }; /* of a block */

char *pb_word_next(char **rest)
{
    char *word = *rest + strspn(*rest, " \t");
    size_t length = strcspn(word, " \t");

    if (length == 0)
        return NULL;
    *rest = word + length;
    if (**rest != '\0')
        *(*rest)++ = '\0';
    return word;
}

bool pb_word_number(const char *word, int base, uint64_t max, uint64_t *number_out)
{
    unsigned long long number;
    char *end;

    if (word == NULL || !((word[0] >= '0' && word[0] <= '9') || (base == 16 && word[0] > '9')) ||
        word[0] == 'x')
        return false;
    errno = 0;
    number = strtoull(word, &end, base);
    if (errno != 0 || *end != '\0' || number > max)
        return false;
    *number_out = number;
    return true;
}

bool pb_word_signed(const char *word, int64_t *number_out)
{
    long long number;
    char *end;

    if (word == NULL)
        return false;
    errno = 0;
    number = strtoll(word, &end, 10);
    if (errno != 0 || *end != '\0' || end == word)
        return false;
    *number_out = number;
    return true;
}

bool pb_kernel_count(struct pb_kernel *kernel)
{
    uint64_t blocks = 1;
    uint64_t threads = 1;

    for (size_t i = 0; i < 3; i++) {
        if (kernel->grid[i] == 0 || kernel->block[i] == 0 || kernel->block[i] > THREADS_MAX ||
            __builtin_mul_overflow(blocks, kernel->grid[i], &blocks))
            return false;
        threads *= kernel->block[i];
    }
    if (threads > THREADS_MAX || blocks > UINT32_MAX)
        return false;
    kernel->block_count = blocks;
    kernel->warp_count = (uint32_t)((threads + PB_LANES_MAX - 1) / PB_LANES_MAX);
    return true;
}

enum pb_status pb_trace_check_file(const char *path, struct pb_error *err)
{
    struct stat info;

    if (stat(path, &info) != 0)
        return pb_fail(err, PB_INVALID, "%s: cannot be opened: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return pb_fail(err, PB_INVALID, "%s: expected a trace file, found a %s", path,
                       S_ISDIR(info.st_mode) ? "folder" : "device or pipe");
    return PB_OK;
}

enum pb_status pb_trace_open_text(const char *path, struct pb_trace *trace_out,
                                  struct pb_error *err)
{
    static const char expected[] = "\"blocksize: X Y Z\" (N14's traces) or \"-kernel name = …\" "
                                   "(Accel-Sim's .traceg)";
    struct pb_text *text = NULL;
    char *line = NULL;
    enum pb_status status = pb_trace_check_file(path, err);

    if (status == PB_OK)
        status = pb_text_open(path, &text, err);
    do {
        if (status == PB_OK)
            status = pb_text_line(text, &line, err);
    } while (status == PB_OK && line != NULL && line[strspn(line, " \t")] == '\0');
    if (status != PB_OK) {
        pb_text_close(text);
        return status;
    }
    if (line != NULL && strncmp(line, "blocksize:", strlen("blocksize:")) == 0) {
        pb_text_repeat(text);
        return pb_n14_open(text, trace_out, err);
    }
    if (line != NULL && line[0] == '-') {
        pb_text_repeat(text);
        return pb_accelsim_open(text, trace_out, err);
    }
    status = pb_text_refuse(text, line, err, "%s", expected);
    pb_text_close(text);
    return status;
}

void pb_trace_close(struct pb_trace *trace)
{
    if (trace->ops != NULL)
        trace->ops->close(trace->state);
    *trace = (struct pb_trace){0};
}
