/*
 * One cache, one answer: paths that share a cache (same_cache_as) were measured one by one. Their
 * sizes become one interval, which holds what each path saw; what they state of sets and policy
 * stands where they agree, is taken away from both where they do not, and holds for both where one
 * of them alone could show it.
 */
#include "analysis/infer.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *const paths[] = {"l1", "readonly", "texture"};
enum { PATHS = sizeof(paths) / sizeof(paths[0]) };

/* Does `memory` say that it shares its cache with `other`? Its word is a list of memories. */
static bool says(const struct pb_parameters *parameters, const char *memory, const char *other)
{
    const struct pb_parameter *word = pb_parameters_find(parameters, memory, "same_cache_as");
    const char *found = word != NULL && word->kind == PB_VALUE_WORD ? word->word : "";
    size_t length = strlen(other);

    while ((found = strstr(found, other)) != NULL) {
        if (found[length] == ' ' || found[length] == '\0')
            return true;
        found += length;
    }
    return false;
}

/* Both states of one parameter; false where one of them is open. */
static bool find_both(const struct pb_parameters *parameters, const char *name, const char *a,
                      const char *b, struct pb_parameter *both_out[2])
{
    both_out[0] = pb_parameters_find(parameters, a, name);
    both_out[1] = pb_parameters_find(parameters, b, name);
    return both_out[0] != NULL && both_out[1] != NULL && both_out[0]->kind != PB_VALUE_NONE &&
           both_out[1]->kind != PB_VALUE_NONE;
}

/* The least that either saw misses beyond; both intervals. An array's start may cost some lines. */
static void join_sizes(const struct pb_parameters *parameters, const char *a, const char *b)
{
    struct pb_parameter *both[2];
    struct pb_estimate size;
    double values[2], confidence;

    if (!find_both(parameters, "size_bytes", a, b, both))
        return;
    values[0] = both[0]->numbers[0].value;
    values[1] = both[1]->numbers[0].value;
    if (values[0] == values[1])
        return;
    size = (struct pb_estimate){fmin(values[0], values[1]),
                                fmin(both[0]->numbers[0].low, both[1]->numbers[0].low),
                                fmax(both[0]->numbers[0].high, both[1]->numbers[0].high)};
    confidence = fmin(both[0]->confidence, both[1]->confidence);
    for (size_t i = 0; i < 2; i++)
        pb_parameter_set_number(both[i], size, confidence,
                                "one cache by two paths: %.0f bytes fit by %s, %.0f by %s",
                                values[0], a, values[1], b);
}

static bool are_equal(const struct pb_parameter *a, const struct pb_parameter *b)
{
    if (a->kind != b->kind || a->number_count != b->number_count || strcmp(a->word, b->word) != 0)
        return false;
    for (size_t i = 0; i < a->number_count; i++)
        if (a->numbers[i].value != b->numbers[i].value)
            return false;
    return true;
}

/* What one path showed of the cache, stated for the other one too; the evidence is the former's. */
static void adopt(struct pb_parameter *to, const struct pb_parameter *from, double sharing)
{
    struct pb_parameter own = *to;

    *to = *from;
    PB_TEXT_SET(to->memory, own.memory);
    to->confidence *= sharing;
    snprintf(to->method, sizeof(to->method), "shared with %s: %.200s", from->memory, from->method);
}

/* How sure it is that both paths go through one cache. */
static double sharing_of(const struct pb_parameters *parameters, const char *a, const char *b)
{
    return fmin(pb_parameters_find(parameters, a, "same_cache_as")->confidence,
                pb_parameters_find(parameters, b, "same_cache_as")->confidence);
}

/* Where only one path states the first of `names`, all of them hold for the other one as well. */
static void share_out(const struct pb_parameters *parameters, const char *a, const char *b,
                      const char *const *names)
{
    double sharing = sharing_of(parameters, a, b);
    struct pb_parameter *both[2];

    if (find_both(parameters, names[0], a, b, both) || both[0] == NULL || both[1] == NULL ||
        both[0]->kind == both[1]->kind)
        return;
    for (bool stated = both[1]->kind != PB_VALUE_NONE; *names != NULL; names++) {
        find_both(parameters, *names, a, b, both);
        if (both[0] != NULL && both[1] != NULL)
            adopt(both[!stated], both[stated], sharing);
    }
}

/* Takes all `names` from both paths where the first one of them differs. */
static void keep_equal(const struct pb_parameters *parameters, const char *a, const char *b,
                       const char *const *names)
{
    struct pb_parameter *both[2];

    if (!find_both(parameters, names[0], a, b, both) || are_equal(both[0], both[1]))
        return;
    for (; *names != NULL; names++) {
        find_both(parameters, *names, a, b, both);
        for (size_t i = 0; i < 2; i++)
            if (both[i] != NULL)
                pb_parameter_set_none(
                    both[i], "inconsistent: %s and %s share one cache, but differ in it", a, b);
    }
}

enum pb_status pb_infer_agreement(const struct pb_case *at, struct pb_error *err)
{
    static const char *const sets[] = {"set_count", "way_counts", "index_kind", "index_masks",
                                       NULL};
    static const char *const policy[] = {"policy", "way_eviction_probabilities", NULL};
    const struct pb_parameters *parameters = at->parameters;

    (void)err;
    for (size_t a = 0; a < PATHS; a++)
        for (size_t b = a + 1; b < PATHS; b++) {
            if (!says(parameters, paths[a], paths[b]) || !says(parameters, paths[b], paths[a]))
                continue;
            join_sizes(parameters, paths[a], paths[b]);
            keep_equal(parameters, paths[a], paths[b], sets);
            keep_equal(parameters, paths[a], paths[b], policy);
            share_out(parameters, paths[a], paths[b], sets);
            share_out(parameters, paths[a], paths[b], policy);
        }
    return PB_OK;
}
