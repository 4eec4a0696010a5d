/* Private to the readers of text traces: their constructors, and words of a line. */
#ifndef PB_ANALYSIS_KERNEL_TEXT_TRACE_H
#define PB_ANALYSIS_KERNEL_TEXT_TRACE_H

#include "analysis/kernel/text.h"
#include "analysis/kernel/trace.h"

/* Each takes the text, which stands before its first line, also when it fails. */
enum pb_status pb_n14_open(struct pb_text *text, struct pb_trace *trace_out, struct pb_error *err);
enum pb_status pb_accelsim_open(struct pb_text *text, struct pb_trace *trace_out,
                                struct pb_error *err);

/* The next word, ended in place, or NULL; *rest moves behind it. */
char *pb_word_next(char **rest);
/* The whole of a word as a number to that base (16: with or without "0x"); NULL is none. */
bool pb_word_number(const char *word, int base, uint64_t max, uint64_t *number_out);
bool pb_word_signed(const char *word, int64_t *number_out);

/* block_count and warp_count of grid and block. False: no such launch is possible. */
bool pb_kernel_count(struct pb_kernel *kernel);

#endif
