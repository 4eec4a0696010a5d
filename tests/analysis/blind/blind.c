/*
 * Recovers random devices by hand: blind [FIRST_SEED [COUNT [all|values]]]. Prints how often every
 * parameter was found exactly, in an interval, wrongly, though there is none, or not at all, every
 * wrong value (with "all" every missing one too), and how often values of each confidence were
 * right: exact, or in an interval that holds the truth. With "values" it prints one line for every
 * parameter instead, from which calibrate.py makes the table of confidences: seed, parameter,
 * family, verdict, share of the votes, confidence. Exit code 1 when more than 0.2% of the stated
 * values are wrong, or a device was not measured.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/blind/recover.h"
#include "analysis/confidence.h"

/* Upper edges of the bins of confidence. */
static const double edges[] = {0.2, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 1.0};

enum { CURVE = sizeof(edges) / sizeof(edges[0]) };

static const char *const headings[BLIND_VERDICTS] = {"exact",    "bounded",      "wrong",
                                                     "spurious", "undetermined", "unjudged"};

struct tally {
    char name[2 * PB_NAME_LENGTH];
    size_t of[BLIND_VERDICTS];
};

struct totals {
    struct tally parameters[BLIND_RESULTS_MAX];
    size_t parameter_count;
    size_t of[BLIND_VERDICTS];
    size_t stated[CURVE], right[CURVE]; /* by bins of confidence */
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
    size_t bin = 0;

    find(totals, result->name)->of[result->verdict]++;
    totals->of[result->verdict]++;
    if (blind_is_false(result) || (all && result->verdict == BLIND_NULL))
        printf("seed %llu: %s %s %.3f: %s\n", (unsigned long long)seed, result->name,
               headings[result->verdict], result->confidence, result->detail);
    if (result->verdict == BLIND_NULL || result->verdict == BLIND_UNJUDGED ||
        result->confidence == 0.0)
        return;
    while (bin + 1 < CURVE && result->confidence >= edges[bin])
        bin++;
    totals->stated[bin]++;
    totals->right[bin] += !blind_is_false(result);
}

static void print_values(uint64_t seed, const struct blind_result *results, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char memory[sizeof(results[i].name)];
        const char *dot = strchr(results[i].name, '.');

        snprintf(memory, sizeof(memory), "%.*s", (int)(dot - results[i].name), results[i].name);
        printf("%llu,%s,%s,%s,%.6f,%.6f\n", (unsigned long long)seed, results[i].name,
               pb_confidence_family_name(pb_confidence_family(memory, dot + 1)),
               headings[results[i].verdict], results[i].votes, results[i].confidence);
        if (blind_is_false(&results[i]))
            fprintf(stderr, "seed %llu: %s %s %.3f: %s\n", (unsigned long long)seed,
                    results[i].name, headings[results[i].verdict], results[i].confidence,
                    results[i].detail);
    }
}

static void print_row(const char *name, const size_t *of)
{
    printf("%-32s", name);
    for (size_t i = 0; i < BLIND_VERDICTS; i++)
        printf(" %12zu", of[i]);
    putchar('\n');
}

static void print(const struct totals *totals)
{
    printf("\n%-32s", "parameter");
    for (size_t i = 0; i < BLIND_VERDICTS; i++)
        printf(" %12s", headings[i]);
    putchar('\n');
    for (size_t i = 0; i < totals->parameter_count; i++)
        print_row(totals->parameters[i].name, totals->parameters[i].of);
    print_row("all", totals->of);
    printf("\nconfidence    stated   right\n");
    for (size_t i = 0; i < CURVE; i++)
        if (totals->stated[i] > 0)
            printf("%.2f to %.2f  %8zu  %6.2f%%\n", i == 0 ? 0.0 : edges[i - 1], edges[i],
                   totals->stated[i], 100.0 * (double)totals->right[i] / (double)totals->stated[i]);
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 200;
    int values = argc > 3 && strcmp(argv[3], "values") == 0;
    static struct totals totals;
    char folder[] = "/tmp/blind-XXXXXX";
    bool lacks_device = false;

    if (mkdtemp(folder) == NULL)
        return 1;
    for (uint64_t seed = first; seed < first + count; seed++) {
        struct blind_result results[BLIND_RESULTS_MAX];
        struct blind_profile profile;
        size_t found;

        blind_draw(seed, &profile);
        found = blind_recover(&profile, folder, results);
        lacks_device |= found == 0;
        if (found == 0)
            printf("seed %llu: %s\n", (unsigned long long)seed, results[0].detail);
        if (values)
            print_values(seed, results, found);
        for (size_t i = 0; i < found && !values; i++)
            add(&totals, seed, &results[i], argc > 3);
        fflush(stdout);
    }
    if (!values)
        print(&totals);
    remove(folder);
    return lacks_device ||
           (totals.of[BLIND_WRONG] + totals.of[BLIND_SPURIOUS]) * 500 > totals.of[BLIND_EXACT];
}
