/*
 * What a confidence is worth: over drawn devices, values stated with confidence c are right at
 * least c of the time. Prints the curve; more devices by hand: `blind 1 200` prints it finer.
 *
 *   test_calibration [FIRST_SEED COUNT]
 *
 * A bin may fall short of its lower edge by chance: by two standard deviations.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/blind/recover.h"

/* Seeds that no other test looks at. */
enum { SEED_FIRST = 5001, SEED_COUNT = 16, BINS = 4 };

struct bin {
    double low, high;
    size_t stated, right;
};

static void add(struct bin *bins, const struct blind_result *result)
{
    for (size_t i = 0; i < BINS; i++) {
        if (result->verdict == BLIND_NULL || result->verdict == BLIND_BOUNDED ||
            result->verdict == BLIND_UNJUDGED || result->confidence < bins[i].low ||
            result->confidence >= bins[i].high)
            continue;
        bins[i].stated++;
        bins[i].right += result->verdict == BLIND_EXACT;
        if (blind_is_false(result))
            printf("  %s, %.2f: %s\n", result->name, result->confidence, result->detail);
    }
}

/* Falls short of the lower edge, and not by chance. */
static int is_overconfident(const struct bin *bin)
{
    double stated = (double)bin->stated, least = bin->low * stated;

    return (double)bin->right < least - 2.0 * sqrt(stated * bin->low * (1.0 - bin->low));
}

static int print(const struct bin *bins)
{
    size_t stated = 0, right = 0;
    int failures = 0;

    printf("confidence    stated   right\n");
    for (size_t i = 0; i < BINS; i++) {
        int fails = is_overconfident(&bins[i]);

        printf("%.2f to %.2f  %6zu  %6.2f%%%s\n", bins[i].low, fmin(1.0, bins[i].high),
               bins[i].stated, 100.0 * (double)bins[i].right / fmax(1.0, (double)bins[i].stated),
               fails ? "  less than stated" : "");
        failures += fails;
        stated += bins[i].low >= 0.9 ? bins[i].stated : 0;
        right += bins[i].low >= 0.9 ? bins[i].right : 0;
    }
    if (stated == 0 || 10 * right < 9 * stated) {
        printf("of %zu values stated with 0.9 or more, %zu are right\n", stated, right);
        failures++;
    }
    return failures;
}

int main(int argc, char **argv)
{
    struct bin bins[BINS] = {
        {0.5, 0.7, 0, 0}, {0.7, 0.9, 0, 0}, {0.9, 0.99, 0, 0}, {0.99, 2.0, 0, 0}};
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : SEED_FIRST;
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : SEED_COUNT;
    char folder[] = "/tmp/test-calibration-XXXXXX";

    if (mkdtemp(folder) == NULL)
        return 1;
    for (uint64_t seed = first; seed < first + count; seed++) {
        struct blind_result results[BLIND_RESULTS_MAX];
        struct blind_profile profile;
        size_t found;

        blind_draw(seed, &profile);
        found = blind_recover(&profile, folder, results);
        if (found == 0) {
            printf("seed %llu: %s\n", (unsigned long long)seed, results[0].detail);
            return 1;
        }
        for (size_t i = 0; i < found; i++)
            add(bins, &results[i]);
    }
    remove(folder);
    return print(bins) > 0;
}
