/* Width and colours of a terminal; see terminal.h. */
#include "cli/terminal.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDTH_DEFAULT = 100, WIDTH_LEAST = 40 };

struct pb_terminal pb_terminal_of(FILE *file)
{
    struct pb_terminal terminal = {WIDTH_DEFAULT, false};
    const char *no_colour = getenv("NO_COLOR");
    struct winsize size;

    if (!isatty(fileno(file)))
        return terminal;
    if (ioctl(fileno(file), TIOCGWINSZ, &size) == 0 && size.ws_col >= WIDTH_LEAST)
        terminal.width = size.ws_col;
    terminal.colours = no_colour == NULL || no_colour[0] == '\0';
    return terminal;
}

void pb_terminal_clear_line(FILE *file)
{
    if (isatty(fileno(file)))
        fputs("\r\033[K", file);
}
