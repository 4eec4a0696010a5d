/* Processes of this PID namespace; see process.h. */
#include "core/process.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

long long pb_process_born(long long pid)
{
    char path[64], text[1024];
    const char *at;
    long long born = -1;
    size_t length;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%lld/stat", pid);
    file = fopen(path, "re");
    if (file == NULL)
        return -1;
    length = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[length] = '\0';
    at = strrchr(text, ')'); /* the command's name may hold anything before */
    if (at == NULL || at[1] == '\0' || at[2] == 'Z')
        return -1; /* a zombie writes nothing any more */
    for (int field = 2; field < 22 && at != NULL; field++)
        at = strchr(at + 1, ' ');
    if (at != NULL)
        born = strtoll(at, NULL, 10);
    return born;
}
