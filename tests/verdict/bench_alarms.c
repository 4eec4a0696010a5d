/*
 * False alarms on what real tests record: healthy fleets put together from simulated devices, each
 * measured by the quick battery and observed as a file would be.
 *
 *     bench_alarms [FLEETS [PROFILE]]
 *
 * A pool of devices is measured once. Fleets of up to half the pool are sampled without repetition;
 * greater ones with repetition, and every time, cycle count and rate is then spread anew, as
 * devices of the simulated fleet differ. All rules and practical sizes hold, attribution and causes
 * included.
 *
 * Limit: simulated devices differ by a spread of latency and of bandwidth and by their noise; what
 * else healthy hardware has is not here.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "verdict/fleet.h"
#include "verdict/fleetbuild.h"

enum { POOL = 160, DEVICES_A_NODE = 4, SIZES = 5 };

#define SPREAD 0.002

static const size_t sizes[SIZES] = {4, 8, 16, 64, 256};

static void die(const struct pb_error *err)
{
    fprintf(stderr, "bench_alarms: %s\n", err->message);
    exit(EXIT_FAILURE);
}

/* Devices of one host each, so that none has another's spread. */
static void measure_pool(const char *profile, struct pb_features *pool)
{
    struct pb_error err = PB_ERROR_INIT;

    for (size_t i = 0; i < POOL; i++) {
        char host[PB_KEY_LENGTH];
        struct fleetbuild_device device = {.profile = profile, .host = host, .battery = PB_QUICK};

        snprintf(host, sizeof(host), "p%03zu", i);
        if (fleetbuild_measure(&device, &pool[i], &err) != PB_OK)
            die(&err);
    }
}

/* Picks from the pool: the first of `order` after as many exchanges, or any when they repeat. */
static size_t pick(size_t *order, size_t at, bool repeat, struct fleet_random *random)
{
    size_t other = repeat ? 0 : at + (size_t)(fleet_uniform(random) * (double)(POOL - at)), chosen;

    if (repeat)
        return (size_t)(fleet_uniform(random) * POOL);
    chosen = order[other];
    order[other] = order[at];
    order[at] = chosen;
    return chosen;
}

static void spread_anew(struct pb_features *fleet, size_t device, struct fleet_random *random)
{
    for (size_t m = 0; m < fleet->metric_count; m++) {
        const struct pb_metric *metric = &fleet->metrics[m];
        struct pb_reading cell = pb_features_reading(fleet, device, m);

        if (metric->domain > PB_DOMAIN_RATE || !isfinite(cell.value))
            continue;
        cell.value *= 1.0 + SPREAD * fleet_normal(random);
        if (metric->quantum > 0.0)
            cell.value = metric->quantum * round(cell.value / metric->quantum);
        if (pb_features_set(fleet, device, metric, cell, NULL) != PB_OK)
            exit(EXIT_FAILURE);
    }
}

/* Where the device stands now; as far as is judged, another one than in the last fleet. */
static void settle(struct pb_feature_row *device, size_t at)
{
    snprintf(device->host, sizeof(device->host), "n%03zu", at / DEVICES_A_NODE);
    device->slot = (int64_t)(at % DEVICES_A_NODE);
    snprintf(device->key, sizeof(device->key), "%.64s.gpu%lld", device->host,
             (long long)device->slot);
    snprintf(device->info.uuid, sizeof(device->info.uuid), "GPU-%zu", at);
}

static enum pb_severity worst_of(const struct pb_features *pool, size_t devices, uint64_t seed)
{
    struct fleet_random random = {seed};
    struct pb_error err = PB_ERROR_INIT;
    struct pb_findings findings = {0};
    struct pb_features fleet = {0};
    enum pb_severity worst = PB_SEVERITY_OK;
    size_t order[POOL];
    bool repeat = 2 * devices > POOL;

    for (size_t i = 0; i < POOL; i++)
        order[i] = i;
    for (size_t i = 0; i < devices; i++) {
        if (fleetbuild_add(&fleet, &pool[pick(order, i, repeat, &random)], &err) != PB_OK)
            die(&err);
        settle(&fleet.devices[i], i);
        if (repeat)
            spread_anew(&fleet, i, &random);
    }
    if (fleetbuild_judge(&fleet, &findings, &err) != PB_OK)
        die(&err);
    for (size_t i = 0; i < findings.count; i++) /* few peers are UNKNOWN, and no alarm */
        if (findings.items[i].severity != PB_SEVERITY_UNKNOWN && findings.items[i].severity > worst)
            worst = findings.items[i].severity;
    pb_findings_clear(&findings);
    pb_features_clear(&fleet);
    return worst;
}

int main(int argc, char **argv)
{
    static struct pb_features pool[POOL];
    unsigned long fleets = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;

    setvbuf(stdout, NULL, _IOLBF, 0);
    measure_pool(argc > 2 ? argv[2] : "quadro2000", pool);
    for (size_t i = 0; i < SIZES; i++) {
        unsigned long critical = 0, any = 0;

        for (unsigned long seed = 1; seed <= fleets; seed++) {
            enum pb_severity worst = worst_of(pool, sizes[i], seed);

            critical += worst == PB_SEVERITY_CRITICAL ? 1 : 0;
            any += worst >= PB_SEVERITY_WARNING ? 1 : 0;
        }
        printf("N = %-4zu %lu fleets: %.1f%% with a CRITICAL, %.1f%% with any finding\n", sizes[i],
               fleets, 100.0 * (double)critical / (double)fleets,
               100.0 * (double)any / (double)fleets);
    }
    for (size_t i = 0; i < POOL; i++)
        pb_features_clear(&pool[i]);
    return EXIT_SUCCESS;
}
