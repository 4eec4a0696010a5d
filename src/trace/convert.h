/* From the streams of a traced program's processes to one trace file. */
#ifndef PB_TRACE_CONVERT_H
#define PB_TRACE_CONVERT_H

#include <stdint.h>

#include "h5schema/memtrace.h"
#include "trace/stream.h"

/* What was found in the streams, for people. */
struct pb_trace_summary {
    size_t contexts, kernels; /* kernels: launches in the trace file */
    uint64_t launches;        /* of the program, traced or not */
    uint64_t graph_launches;  /* of CUDA graphs that were not traced as a whole */
    uint64_t records;
    int64_t lost_records; /* -1: not known */
    uint64_t raw_bytes;   /* of the streams */
    bool is_complete;
    char message[PB_MESSAGE_LENGTH]; /* the first thing that is missing, or that went wrong */
    char skipped[PB_MESSAGE_LENGTH]; /* kernels that were launched and not selected: "a, b, …" */
};

/*
 * Writes the trace file `path` from streams[count]. `program` is its root, less what the writer and
 * the streams know (kernel_count, lost_records, complete, message). Streams that end before their
 * time give what they hold. A stream's disk space is given back as it is read if that stream says
 * that the disk was full.
 *
 * PB_NOT_FOUND: no launch is in the streams; there is no file, and *summary_out is filled in all
 * the same. PB_INVALID, PB_CORRUPT: a file is no stream. PB_IO: the trace file cannot be written.
 */
enum pb_status pb_trace_convert(const char *const *streams, size_t count, const char *path,
                                const struct pb_memtrace_program *program,
                                struct pb_trace_summary *summary_out, struct pb_error *err);

#endif
