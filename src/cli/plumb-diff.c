/*
 * plumb-diff: what differs between two fleet files, two devices or two models beyond tolerance,
 * worst first. It compares parameters with their intervals; which device is at fault is for
 * plumb-outliers to say.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/atomic_file.h"
#include "cli/command_line.h"
#include "cli/diff.h"
#include "core/json.h"
#include "core/quantity.h"
#include "core/text.h"

enum { EXIT_DIFFERENT = 1, EXIT_TROUBLE = 2 };

struct options {
    const char *json;
    double tolerance; /* relative; NaN: of each quantity its own */
};

/* What is compared, pair by pair. */
struct comparison {
    struct pb_diff_side a, b;
    struct pb_diff_pair *pairs;
    struct pb_differences *differences; /* [count] of each pair; empty where one is missing */
    size_t count, different, missing;
};

static enum pb_status compare(struct comparison *comparison, const struct options *options,
                              const char *const *names, struct pb_error *err)
{
    enum pb_status status = pb_diff_read(names[0], &comparison->a, err);

    if (status == PB_OK)
        status = pb_diff_read(names[1], &comparison->b, err);
    if (status == PB_OK)
        status = pb_diff_pairs(&comparison->a, &comparison->b, &comparison->pairs,
                               &comparison->count, err);
    if (status != PB_OK)
        return status;
    comparison->differences = calloc(comparison->count, sizeof(*comparison->differences));
    if (comparison->differences == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu pairs", comparison->count);
    for (size_t i = 0; i < comparison->count && status == PB_OK; i++) {
        const struct pb_diff_pair *pair = &comparison->pairs[i];

        if (pair->a == SIZE_MAX || pair->b == SIZE_MAX) {
            comparison->missing++;
            continue;
        }
        status = pb_diff_compare(&comparison->a.devices[pair->a], &comparison->b.devices[pair->b],
                                 options->tolerance, &comparison->differences[i], err);
        comparison->different += comparison->differences[i].beyond > 0;
    }
    return status;
}

static void clear(struct comparison *comparison)
{
    for (size_t i = 0; comparison->differences != NULL && i < comparison->count; i++)
        pb_differences_clear(&comparison->differences[i]);
    free(comparison->differences);
    free(comparison->pairs);
    pb_diff_side_clear(&comparison->a);
    pb_diff_side_clear(&comparison->b);
}

/* ---- for people ---- */

static void print_side(char letter, const struct pb_diff_side *side,
                       const struct pb_diff_device *device)
{
    char path[4 * PB_TEXT_LENGTH], key[PB_TEXT_LENGTH], model[PB_TEXT_LENGTH];

    PB_TEXT_ESCAPE(path, side->path);
    PB_TEXT_ESCAPE(key, device->key);
    PB_TEXT_ESCAPE(model, device->model);
    printf("%c  %s: %s, %s%s\n", letter, path, key, model,
           device->is_simulated ? ", simulated" : "");
}

enum { VALUE_WIDTH = 22 };

static const char *text_of(const struct pb_diff_value *value, char *text, size_t size)
{
    if (value == NULL || value->text == NULL)
        return "undetermined";
    if (isfinite(value->number))
        pb_quantity_format(value->number, value->unit, text, size);
    else
        pb_quantity_format_list(value->text, value->unit, text, size);
    return text;
}

static void print_difference(const struct pb_difference *difference)
{
    const struct pb_diff_value *named = difference->a != NULL ? difference->a : difference->b;
    char change[PB_NAME_LENGTH] = "", text_a[PB_MESSAGE_LENGTH], text_b[PB_MESSAGE_LENGTH];
    const char *a = text_of(difference->a, text_a, sizeof(text_a));
    const char *b = text_of(difference->b, text_b, sizeof(text_b));

    if (isfinite(difference->change))
        snprintf(change, sizeof(change), "%+.1f%%", 100.0 * difference->change);
    printf("  %-12s  %-27s  ", named->memory, named->parameter);
    if (strlen(a) > VALUE_WIDTH || strlen(b) > VALUE_WIDTH)
        printf("%s\n%*sA  %s\n%*sB  %s\n", change, 16, "", a, 16, "", b);
    else
        printf("%-*s  %-*s  %s\n", VALUE_WIDTH, a, VALUE_WIDTH, b, change);
}

static void print_pair(const struct comparison *comparison, size_t index)
{
    const struct pb_diff_pair *pair = &comparison->pairs[index];
    const struct pb_differences *differences = &comparison->differences[index];

    print_side('A', &comparison->a, &comparison->a.devices[pair->a]);
    print_side('B', &comparison->b, &comparison->b.devices[pair->b]);
    if (differences->count > 0)
        printf("  %-12s  %-27s  %-*s  %-*s  %s\n", "memory", "parameter", VALUE_WIDTH, "A",
               VALUE_WIDTH, "B", "change");
    for (size_t i = 0; i < differences->count; i++)
        print_difference(&differences->items[i]);
    printf("%zu of %zu parameters differ", differences->beyond, differences->compared);
    if (differences->count > differences->beyond)
        printf("; %zu determined on one side only", differences->count - differences->beyond);
    if (differences->other_method > 0)
        printf("; %zu not compared: their tests used another version of their method",
               differences->other_method);
    printf("\n\n");
}

static void print_missing(const struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->count; i++) {
        const struct pb_diff_pair *pair = &comparison->pairs[i];

        if (pair->b == SIZE_MAX) {
            printf("Only in A: ");
            print_side('A', &comparison->a, &comparison->a.devices[pair->a]);
        } else if (pair->a == SIZE_MAX) {
            printf("Only in B: ");
            print_side('B', &comparison->b, &comparison->b.devices[pair->b]);
        }
    }
}

/* Pairs that differ, most differences first in the file's order; then what is alone; then a sum. */
static void print(const struct comparison *comparison, const struct options *options)
{
    size_t pairs = comparison->count - comparison->missing;
    char tolerance[PB_NAME_LENGTH];

    for (size_t i = 0; i < pairs; i++)
        if (comparison->differences[i].beyond > 0 || pairs == 1)
            print_pair(comparison, i);
    print_missing(comparison);
    if (isnan(options->tolerance))
        PB_TEXT_SET(tolerance, "the run-to-run tolerance");
    else
        snprintf(tolerance, sizeof(tolerance), "%.3g%%", 100.0 * options->tolerance);
    printf(
        "%zu of %zu pairs of devices differ in structure, or in a latency, clock or rate by more "
        "than %s; ",
        comparison->different, pairs, tolerance);
    if (comparison->missing == 0)
        puts("every device has a counterpart");
    else
        printf("%zu devices have no counterpart\n", comparison->missing);
}

/* ---- for programs ---- */

static const char opening[] = "{\"schema\": 1, \"diff\": {";

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *describe_device(const struct pb_diff_side *side, size_t device)
{
    if (device == SIZE_MAX)
        return json_null();
    return json_pack("{s:o, s:o, s:o, s:o}", "file", pb_json_of_text(side->path), "key",
                     pb_json_of_text(side->devices[device].key), "uuid",
                     pb_json_of_text(side->devices[device].uuid), "model",
                     pb_json_of_text(side->devices[device].model));
}

static json_t *describe_value(const struct pb_diff_value *value)
{
    if (value == NULL || value->text == NULL)
        return json_null();
    return json_pack("{s:o, s:o, s:o, s:o}", "value",
                     isfinite(value->number) ? number(value->number) : pb_json_of_text(value->text),
                     "low", number(value->low), "high", number(value->high), "confidence",
                     number(value->confidence));
}

static json_t *describe_difference(const struct pb_difference *difference)
{
    static const char *const kinds[] = {"structure", "measured", "only_a", "only_b"};
    const struct pb_diff_value *named = difference->a != NULL ? difference->a : difference->b;

    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "kind", kinds[difference->kind],
                     "memory", pb_json_of_text(named->memory), "parameter",
                     pb_json_of_text(named->parameter), "unit", pb_json_of_text(named->unit), "a",
                     describe_value(difference->a), "b", describe_value(difference->b), "change",
                     number(difference->change), "tolerance",
                     number(difference->kind == PB_DIFF_MEASURED ? difference->tolerance : NAN));
}

static json_t *describe_pair(const struct comparison *comparison, size_t index)
{
    const struct pb_differences *differences = &comparison->differences[index];
    json_t *list = json_array();

    for (size_t i = 0; i < differences->count; i++)
        json_array_append_new(list, describe_difference(&differences->items[i]));
    return json_pack("{s:o, s:o, s:I, s:I, s:I, s:o}", "a",
                     describe_device(&comparison->a, comparison->pairs[index].a), "b",
                     describe_device(&comparison->b, comparison->pairs[index].b), "compared",
                     (json_int_t)differences->compared, "differ", (json_int_t)differences->beyond,
                     "other_method", (json_int_t)differences->other_method, "differences", list);
}

static enum pb_status write_json(const struct comparison *comparison, const struct options *options,
                                 struct pb_error *err)
{
    static const struct pb_atomic_file_kind kind = {.name = "JSON of plumb-diff",
                                                    .opening = opening};
    struct pb_atomic_file *output = NULL;
    enum pb_status status = pb_atomic_file_open(options->json, &kind, &output, err);
    FILE *file;

    if (status != PB_OK)
        return status;
    file = pb_atomic_file_stream(output);
    fprintf(file, "%s\"tolerance\": ", opening);
    fprintf(file, isnan(options->tolerance) ? "null" : "%.6g", options->tolerance);
    fputs(", \"pairs\": [", file);
    for (size_t i = 0; i < comparison->count && status == PB_OK; i++) {
        json_t *pair = describe_pair(comparison, i);

        fputs(i == 0 ? "\n" : ",\n", file);
        if (pair == NULL || json_dumpf(pair, file, JSON_INDENT(1) | JSON_REAL_PRECISION(10)) != 0)
            status = pb_fail(err, PB_IO, "%s: cannot write pair %zu", options->json, i);
        json_decref(pair);
    }
    fputs("\n]}}\n", file);
    if (status != PB_OK) {
        pb_atomic_file_abandon(output);
        return status;
    }
    return pb_atomic_file_commit(output, err);
}

static int run(const struct options *options, const char *const *names)
{
    struct comparison comparison = {.count = 0};
    struct pb_error err = PB_ERROR_INIT;
    enum pb_status status = compare(&comparison, options, names, &err);
    int code = EXIT_TROUBLE;

    if (status == PB_OK && options->json != NULL)
        status = write_json(&comparison, options, &err);
    if (status != PB_OK) {
        pb_command_print_error(PB_PROGRAM_DIFF, &err);
    } else {
        if (options->json == NULL || strcmp(options->json, "-") != 0)
            print(&comparison, options);
        code = comparison.different + comparison.missing > 0 ? EXIT_DIFFERENT : EXIT_SUCCESS;
    }
    clear(&comparison);
    return code;
}

int main(int argc, char **argv)
{
    struct pb_command_line line;
    int code;

    if (pb_command_begin(PB_PROGRAM_DIFF, argc, argv, &line, &code)) {
        const struct options options = {
            .json = pb_command_line_text(&line, PB_OPTION_JSON),
            .tolerance = pb_command_line_real(&line, PB_OPTION_TOLERANCE, NAN) / 100.0,
        };

        code = run(&options, (const char *const *)line.arguments);
        pb_command_line_clear(&line);
    }
    return pb_command_end(PB_PROGRAM_DIFF, code, EXIT_TROUBLE);
}
