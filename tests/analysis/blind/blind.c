/*
 * Recovers drawn devices by hand: blind [FIRST_SEED [COUNT [all]]]. Prints how often every
 * parameter was found exactly, wrongly or not at all, every wrong value (with "all" every missing
 * one too), and how often values of each confidence were right. Exit code 1 when more than 0.2% of
 * the stated values are wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/blind/recover.h"

enum { CURVE = 10 };

struct tally {
    char name[2 * PB_NAME_LENGTH];
    size_t of[BLIND_VERDICTS];
};

struct totals {
    struct tally parameters[BLIND_RESULTS_MAX];
    size_t parameter_count;
    size_t of[BLIND_VERDICTS];
    size_t stated[CURVE], right[CURVE]; /* by tenths of confidence */
};

static struct tally *find(struct totals *totals, const char *name)
{
    for (size_t i = 0; i < totals->parameter_count; i++)
        if (strcmp(totals->parameters[i].name, name) == 0)
            return &totals->parameters[i];
    snprintf(totals->parameters[totals->parameter_count].name, 2 * PB_NAME_LENGTH, "%s", name);
    return &totals->parameters[totals->parameter_count++];
}

static void add(struct totals *totals, uint64_t seed, const struct blind_result *result, int all)
{
    size_t tenth = (size_t)(result->confidence * CURVE);

    find(totals, result->name)->of[result->verdict]++;
    totals->of[result->verdict]++;
    if (result->verdict == BLIND_WRONG || (all && result->verdict == BLIND_NULL))
        printf("seed %llu: %s %s: %s\n", (unsigned long long)seed, result->name,
               result->verdict == BLIND_WRONG ? "WRONG" : "null", result->detail);
    if (result->verdict == BLIND_NULL || result->confidence == 0.0)
        return;
    tenth = tenth < CURVE ? tenth : CURVE - 1;
    totals->stated[tenth]++;
    totals->right[tenth] += result->verdict == BLIND_EXACT;
}

static void print(const struct totals *totals)
{
    printf("\n%-32s %6s %6s %6s\n", "parameter", "exact", "wrong", "null");
    for (size_t i = 0; i < totals->parameter_count; i++)
        printf("%-32s %6zu %6zu %6zu\n", totals->parameters[i].name,
               totals->parameters[i].of[BLIND_EXACT], totals->parameters[i].of[BLIND_WRONG],
               totals->parameters[i].of[BLIND_NULL]);
    printf("%-32s %6zu %6zu %6zu\n\nconfidence    stated   right\n", "all", totals->of[BLIND_EXACT],
           totals->of[BLIND_WRONG], totals->of[BLIND_NULL]);
    for (size_t i = 0; i < CURVE; i++)
        if (totals->stated[i] > 0)
            printf("%.1f to %.1f  %8zu  %6.2f%%\n", (double)i / CURVE, (double)(i + 1) / CURVE,
                   totals->stated[i], 100.0 * (double)totals->right[i] / (double)totals->stated[i]);
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 200;
    static struct totals totals;
    char folder[] = "/tmp/blind-XXXXXX";

    if (mkdtemp(folder) == NULL)
        return 1;
    for (uint64_t seed = first; seed < first + count; seed++) {
        struct blind_result results[BLIND_RESULTS_MAX];
        struct blind_profile profile;
        size_t found;

        blind_draw(seed, &profile);
        found = blind_recover(&profile, folder, results);
        if (found == 0)
            printf("seed %llu: %s\n", (unsigned long long)seed, results[0].detail);
        for (size_t i = 0; i < found; i++)
            add(&totals, seed, &results[i], argc > 3);
        fflush(stdout);
    }
    print(&totals);
    remove(folder);
    return totals.of[BLIND_WRONG] * 500 > totals.of[BLIND_EXACT] + totals.of[BLIND_WRONG];
}
