/* What the readers of all formats share; see trace.h. */
#include "analysis/kernel/trace.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { THREADS_MAX = 1024 }; /* of a block */

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

void pb_trace_close(struct pb_trace *trace)
{
    if (trace->ops != NULL)
        trace->ops->close(trace->state);
    *trace = (struct pb_trace){0};
}
