/* Feature tables as text; see repeats.h. */
#include "verdict/repeats.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_LENGTH = 8192, WORDS_MAX = 64, METRIC_WORDS = 9, DEVICE_WORDS = 7 };

static void give_up(const char *path, const char *what)
{
    fprintf(stderr, "%s: %s\n", path, what);
    exit(EXIT_FAILURE);
}

static void must(enum pb_status status, const struct pb_error *err)
{
    if (status != PB_OK)
        give_up("repeats", err->message);
}

/* ---- writing ---- */

static void write_devices(const struct repeats_run *run, FILE *file)
{
    for (size_t i = 0; i < run->features.device_count; i++) {
        const struct pb_feature_row *device = &run->features.devices[i];

        fprintf(file, "device\t%s\t%s\t%s\t%s\t%llu\t%llu\n", run->name, device->key,
                device->info.uuid, device->info.model,
                (unsigned long long)device->info.memory_bytes, (unsigned long long)device->tests);
    }
}

static void write_cells(const struct repeats_run *run, const char *name, FILE *file)
{
    size_t metric = pb_features_find(&run->features, name);

    for (size_t i = 0; i < run->features.device_count; i++) {
        struct pb_reading cell = pb_features_reading(&run->features, i, metric);

        if (!isfinite(cell.value))
            fputs("\t-", file);
        else if (cell.noise > 0.0)
            fprintf(file, "\t%.9g~%.3g", cell.value, cell.noise);
        else
            fprintf(file, "\t%.9g", cell.value);
    }
}

static void write_metric(const struct repeats *repeats, const struct pb_metric *metric, FILE *file)
{
    fprintf(file, "%s\t%s\t%s", metric->name, metric->unit,
            metric->test[0] == '\0' ? "-" : metric->test);
    if (metric->method_version > 0)
        fprintf(file, "@%llu", (unsigned long long)metric->method_version);
    fprintf(file, "\t%s\t%s\t%d\t%g\t%g\t|", pb_part_name(metric->part),
            pb_domain_name(metric->domain), (int)metric->better, metric->quantum,
            metric->practical);
    for (size_t r = 0; r < repeats->count; r++)
        write_cells(&repeats->runs[r], metric->name, file);
    fputc('\n', file);
}

void repeats_write(const struct repeats *repeats, FILE *file)
{
    for (size_t r = 0; r < repeats->count; r++)
        write_devices(&repeats->runs[r], file);
    for (size_t r = 0; r < repeats->count; r++) {
        const struct pb_features *features = &repeats->runs[r].features;

        for (size_t m = 0; m < features->metric_count; m++) {
            bool is_new = true;

            for (size_t k = 0; k < r && is_new; k++)
                is_new = pb_features_find(&repeats->runs[k].features, features->metrics[m].name) ==
                         repeats->runs[k].features.metric_count;
            if (is_new)
                write_metric(repeats, &features->metrics[m], file);
        }
    }
}

/* ---- reading ---- */

/* Cuts a line at its tabs. */
static size_t split(char *line, char *words[WORDS_MAX])
{
    size_t count = 0;

    line[strcspn(line, "\n")] = '\0';
    while (line != NULL && count < WORDS_MAX)
        words[count++] = strsep(&line, "\t");
    return count;
}

static int number_of(const char *word, const char *(*name_of)(int number))
{
    int number = 0;

    while (strcmp(name_of(number), word) != 0 && strcmp(name_of(number), "unknown") != 0)
        number++;
    return number;
}

static const char *part_name(int number)
{
    return pb_part_name((enum pb_part)number);
}

static const char *domain_name(int number)
{
    return pb_domain_name((enum pb_domain)number);
}

static void read_device(struct repeats *repeats, char *const *words)
{
    struct pb_feature_row device = {.status = "ok"};
    struct pb_error err = PB_ERROR_INIT;
    struct repeats_run *run;
    size_t at;

    if (repeats->count == 0 || strcmp(repeats->runs[repeats->count - 1].name, words[1]) != 0)
        PB_TEXT_SET(repeats->runs[repeats->count++].name, words[1]);
    run = &repeats->runs[repeats->count - 1];
    device.rank = device.slot = (int64_t)run->features.device_count;
    PB_TEXT_SET(device.key, words[2]);
    PB_TEXT_SET(device.host, words[2]);
    device.host[strcspn(device.host, ".")] = '\0';
    PB_TEXT_SET(device.info.uuid, words[3]);
    PB_TEXT_SET(device.info.model, words[4]);
    device.info.memory_bytes = strtoull(words[5], NULL, 10);
    device.tests = strtoull(words[6], NULL, 10);
    must(pb_features_add_device(&run->features, &device, &at, &err), &err);
}

static struct pb_reading read_cell(const char *word)
{
    struct pb_reading cell = {NAN, 0.0, -1};
    char *end = NULL;

    if (strcmp(word, "-") == 0)
        return cell;
    cell.value = strtod(word, &end);
    if (*end == '~')
        cell.noise = strtod(end + 1, NULL);
    return cell;
}

static void read_metric(struct repeats *repeats, char *const *words, size_t count, const char *path)
{
    struct pb_metric metric = {.part = (enum pb_part)number_of(words[3], part_name),
                               .domain = (enum pb_domain)number_of(words[4], domain_name),
                               .better = (enum pb_better)atoi(words[5]),
                               .quantum = strtod(words[6], NULL),
                               .practical = strtod(words[7], NULL)};
    struct pb_error err = PB_ERROR_INIT;
    char *version = strchr(words[2], '@');
    size_t at = METRIC_WORDS;

    if (version != NULL) {
        *version = '\0';
        metric.method_version = strtoull(version + 1, NULL, 10);
    }
    PB_TEXT_SET(metric.name, words[0]);
    PB_TEXT_SET(metric.unit, words[1]);
    PB_TEXT_SET(metric.test, strcmp(words[2], "-") == 0 ? "" : words[2]);
    for (size_t r = 0; r < repeats->count; r++) {
        for (size_t i = 0; i < repeats->runs[r].features.device_count; i++) {
            struct pb_reading cell;

            if (at == count)
                give_up(path, "a number is missing");
            cell = read_cell(words[at++]);
            if (isfinite(cell.value))
                must(pb_features_set(&repeats->runs[r].features, i, &metric, cell, &err), &err);
        }
    }
}

void repeats_read(const char *path, struct repeats *repeats_out)
{
    FILE *file = fopen(path, "r");
    char line[LINE_MAX_LENGTH], *words[WORDS_MAX];

    if (file == NULL)
        give_up(path, "cannot be read");
    *repeats_out = (struct repeats){.count = 0};
    while (fgets(line, sizeof(line), file) != NULL) {
        size_t count = split(line, words);

        if (count == DEVICE_WORDS && strcmp(words[0], "device") == 0)
            read_device(repeats_out, words);
        else if (count > METRIC_WORDS)
            read_metric(repeats_out, words, count, path);
        else
            give_up(path, "expected a device or a number");
    }
    fclose(file);
}

void repeats_clear(struct repeats *repeats)
{
    for (size_t i = 0; i < repeats->count; i++)
        pb_features_clear(&repeats->runs[i].features);
}

void repeats_add(const struct pb_features *run, const char *alias, struct pb_features *features)
{
    struct pb_error err = PB_ERROR_INIT;

    for (size_t i = 0; i < run->device_count; i++) {
        struct pb_feature_row device = run->devices[i];
        size_t at;

        if (alias != NULL) {
            snprintf(device.info.uuid, sizeof(device.info.uuid), "%s-%zu", alias, i);
            snprintf(device.host, sizeof(device.host), "%s", alias);
            snprintf(device.key, sizeof(device.key), "%s.gpu%zu", alias, i);
        }
        must(pb_features_add_device(features, &device, &at, &err), &err);
        for (size_t m = 0; m < run->metric_count; m++) {
            struct pb_reading cell = pb_features_reading(run, i, m);

            if (isfinite(cell.value))
                must(pb_features_set(features, at, &run->metrics[m], cell, &err), &err);
        }
    }
}
