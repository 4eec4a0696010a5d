/* Where results come from; see origin.h. */
#include "run/origin.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "core/time.h"

/* The arguments as one line, cut to fit. */
static void join_arguments(int argc, char *const *argv, char *line, size_t size)
{
    size_t used = 0;

    line[0] = '\0';
    for (int i = 0; i < argc && used < size; i++) {
        int length = snprintf(line + used, size - used, "%s%s", i == 0 ? "" : " ", argv[i]);

        used += length < 0 ? 0 : (size_t)length;
    }
}

void pb_run_begin(int argc, char *const *argv, struct pb_run *run_out)
{
    unsigned long long chance = 0;
    char utc[PB_UTC_LENGTH];

    memset(run_out, 0, sizeof(*run_out));
    pb_time_utc(utc);
    PB_TEXT_SET(run_out->tool_version, PLUMB_VERSION);
    PB_TEXT_SET(run_out->created, utc);
    join_arguments(argc, argv, run_out->command_line, sizeof(run_out->command_line));
    /* A name for joining what belongs together: the date makes it readable, chance unique. */
    if (getrandom(&chance, sizeof(chance), 0) != sizeof(chance))
        chance = (unsigned long long)getpid();
    snprintf(run_out->run_id, sizeof(run_out->run_id), "%s-%016llx", utc, chance);
}

void pb_host_name(char host_out[PB_KEY_LENGTH])
{
    char name[256] = "";

    if (gethostname(name, sizeof(name) - 1) != 0 || name[0] == '\0' || name[0] == '.')
        snprintf(name, sizeof(name), "host");
    name[strcspn(name, ".")] = '\0';
    pb_text_copy(host_out, PB_KEY_LENGTH, name);
}
