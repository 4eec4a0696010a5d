/*
 * What a confidence is worth: over random devices, values stated with confidence c are right c of
 * the time, exactly or by an interval that holds the truth. Prints the curve.
 *
 *   test_calibration [FIRST_SEED COUNT]
 *
 * A band's share right may differ from the mean of what was stated there by one hundredth, and by
 * three standard deviations more, which come from the devices: the values of one device are right
 * and wrong together.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/blind/recover.h"

/* Seeds that no other test looks at, and that the confidences were not calibrated on. */
enum { SEED_FIRST = 6500000, SEED_COUNT = 16, BANDS = 4 };

struct band {
    double low, high;
    size_t stated, right;
    double expected; /* sum of the confidences */
    double variance; /* of the sum of stated minus right, by devices */
};

/* One device's values. */
static void add(struct band *band, const struct blind_result *results, size_t count)
{
    double excess = 0.0;

    for (size_t i = 0; i < count; i++) {
        const struct blind_result *result = &results[i];

        if (result->verdict == BLIND_NULL || result->verdict == BLIND_UNJUDGED ||
            !(result->confidence >= band->low && result->confidence < band->high) ||
            result->confidence == 0.0)
            continue;
        band->stated++;
        band->right += !blind_is_false(result);
        band->expected += result->confidence;
        excess += result->confidence - !blind_is_false(result);
        if (blind_is_false(result))
            printf("  %s, %.3f: %s\n", result->name, result->confidence, result->detail);
    }
    band->variance += excess * excess;
}

static bool is_calibrated(const struct band *band)
{
    double difference = fabs(band->expected - (double)band->right);

    return difference <= 0.01 * (double)band->stated + 3.0 * sqrt(band->variance) + 1.0;
}

static int print(const struct band *bands)
{
    int failures = 0;

    printf("confidence     stated   mean    right\n");
    for (size_t i = 0; i < BANDS; i++) {
        const struct band *band = &bands[i];
        double stated = fmax(1.0, (double)band->stated);

        printf("%.2f to %.2f  %7zu  %6.2f%%  %6.2f%%%s\n", band->low, fmin(1.0, band->high),
               band->stated, 100.0 * band->expected / stated, 100.0 * (double)band->right / stated,
               is_calibrated(band) ? "" : "  not as stated");
        failures += !is_calibrated(band);
    }
    if (bands[BANDS - 1].stated < 800) {
        printf("expected 800 values of confidence 0.99 and more\n");
        failures++;
    }
    return failures;
}

int main(int argc, char **argv)
{
    struct band bands[BANDS] = {{0.0, 0.9, 0, 0, 0, 0},
                                {0.9, 0.97, 0, 0, 0, 0},
                                {0.97, 0.99, 0, 0, 0, 0},
                                {0.99, 2.0, 0, 0, 0, 0}};
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
        for (size_t i = 0; i < BANDS; i++)
            add(&bands[i], results, found);
    }
    remove(folder);
    return print(bands) > 0;
}
