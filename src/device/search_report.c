/* What was looked for when no GPU was found; see search_report.h. */
#include "device/search_report.h"

#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool exists(const char *root, const char *path)
{
    char full[512];

    snprintf(full, sizeof(full), "%s%s", root, path);
    return access(full, F_OK) == 0;
}

static size_t count_matches(const char *root, const char *pattern)
{
    char full[512];
    glob_t matches = {0};
    size_t count = 0;

    snprintf(full, sizeof(full), "%s%s", root, pattern);
    if (glob(full, 0, NULL, &matches) == 0)
        count = matches.gl_pathc;
    globfree(&matches);
    return count;
}

static void append(char *text, size_t size, const char *words)
{
    size_t length = strlen(text);

    if (length < size)
        snprintf(text + length, size - length, "%s%s", length == 0 ? "" : ", ", words);
}

static void append_environment(const char *name, char *text, size_t size)
{
    const char *value = getenv(name);
    char words[128];

    if (value == NULL)
        return;
    snprintf(words, sizeof(words), "%s=\"%.64s\"", name, value);
    append(text, size, words);
}

void pb_gpu_search_report(const char *root, char *text, size_t size)
{
    size_t nodes = count_matches(root, "/dev/nvidia[0-9]*");
    char words[128];

    text[0] = '\0';
    append(text, size,
           exists(root, "/proc/driver/nvidia/version")
               ? "the NVIDIA kernel driver is loaded"
               : "no NVIDIA kernel driver (/proc/driver/nvidia/version)");
    snprintf(words, sizeof(words),
             nodes == 0 ? "no device files (/dev/nvidia0 …)" : "%zu device files (/dev/nvidia0 …)",
             nodes);
    append(text, size, words);
    append_environment("CUDA_VISIBLE_DEVICES", text, size);
    append_environment("NVIDIA_VISIBLE_DEVICES", text, size);
    if (exists(root, "/.dockerenv") || exists(root, "/run/.containerenv") ||
        exists(root, "/.singularity.d"))
        append(text, size, "inside a container (start it with docker --gpus, apptainer --nv)");
    else
        append(text, size, "not inside a known container");
}
