/* Which launches are traced, and on how many SMs: parsed by plumb-trace and by what it injects. */
#ifndef PB_TRACE_SELECTION_H
#define PB_TRACE_SELECTION_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"

struct pb_selection {
    bool has_kernel;
    regex_t kernel;      /* if has_kernel */
    uint64_t first, end; /* launches [first, end) of those that match */
    uint32_t sm_count;   /* 0: all */
};

/*
 * kernel: an extended regular expression, found anywhere in the kernel's name, mangled or (in C++
 * programs) demangled. launches: "A:B", "A:", ":B" or "A", half open, counted from 0. sms: a number
 * above 0. NULL: all. PB_INVALID.
 */
enum pb_status pb_selection_parse(const char *kernel, const char *launches, const char *sms,
                                  struct pb_selection *selection_out, struct pb_error *err);

bool pb_selection_matches(const struct pb_selection *selection, const char *name);
bool pb_selection_has_launch(const struct pb_selection *selection, uint64_t number);

void pb_selection_clear(struct pb_selection *selection);

#endif
