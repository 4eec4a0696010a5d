/* The terminal that a stream ends on: its width, and whether it may be coloured. */
#ifndef PB_CLI_TERMINAL_H
#define PB_CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct pb_terminal {
    size_t width; /* columns */
    bool colours;
};

/* 100 columns and no colours where it is no terminal; no colours where NO_COLOR is set, either. */
struct pb_terminal pb_terminal_of(FILE *file);

/* Takes away what a progress display has left in the last line; nothing where it is no terminal. */
void pb_terminal_clear_line(FILE *file);

#endif
