/* Opening a text trace by its content; see trace.h. */
#include "analysis/kernel/text_trace.h"

#include <string.h>

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
