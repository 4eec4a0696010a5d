/*
 * Hardware counters of kernels out of a CSV file: as ncu --csv writes them, with a column for each
 * metric (--page raw) or a row for each, or any table with a column "kernel" and such columns.
 */
#ifndef PB_CLI_COUNTERS_H
#define PB_CLI_COUNTERS_H

#include <stddef.h>

#include "core/error.h"

enum pb_counter {
    PB_COUNTER_LOADS,    /* smsp__inst_executed_op_global_ld.sum */
    PB_COUNTER_SECTORS,  /* l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum */
    PB_COUNTER_L1_HITS,  /* …_lookup_hit.sum */
    PB_COUNTER_L2_READS, /* lts__t_sectors_op_read.sum, or that of the unit tex alone */
    PB_COUNTER_L2_HITS,  /* …_lookup_hit.sum */
    PB_COUNTER_COUNT
};

/* One launch. NaN: the file does not have it. */
struct pb_counter_row {
    char kernel[256]; /* the function's own name, without namespace, template and parameters */
    double values[PB_COUNTER_COUNT];
};

/* PB_INVALID names file, line and what was expected. free() the rows. */
enum pb_status pb_counters_read(const char *path, struct pb_counter_row **rows_out,
                                size_t *count_out, struct pb_error *err);

/* A function's own name out of a mangled or a demangled one. */
void pb_kernel_base_name(const char *name, char *base_out, size_t size);

#endif
