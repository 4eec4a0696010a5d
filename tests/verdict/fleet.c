/* Simulated healthy fleets; see fleet.h. */
#include "verdict/fleet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEVICE_FACTORS = 2, KINDS = 12 };

/* A kind of metric; metrics take one after the other. */
struct kind {
    const char *name, *unit;
    enum pb_part part;
    enum pb_domain domain;
    double center, spread, quantum; /* spread: one standard deviation, in the unit */
    int factor;                     /* which factors it follows */
};

static const struct kind kinds[KINDS] = {
    {"l1.latency_cycles", "cycle", PB_PART_L1, PB_DOMAIN_CYCLES, 33, 0.12, 1, 0},
    {"l2.latency_cycles", "cycle", PB_PART_L2, PB_DOMAIN_CYCLES, 262, 0.8, 1, 0},
    {"dram.latency_cycles", "cycle", PB_PART_DRAM, PB_DOMAIN_CYCLES, 657, 3.5, 1, 0},
    {"shared.latency_cycles", "cycle", PB_PART_SHARED, PB_DOMAIN_CYCLES, 29, 0.45, 1, 0},
    {"l2.latency_ns", "ns", PB_PART_L2, PB_DOMAIN_NS, 133, 2.6, 0, 0},
    {"dram.latency_ns", "ns", PB_PART_DRAM, PB_DOMAIN_NS, 332, 9, 0, 0},
    {"copy.peak_bytes_per_s", "byte/s", PB_PART_DRAM, PB_DOMAIN_RATE, 3.9e12, 1.6e10, 0, 1},
    {"link.peak_bytes_per_s", "byte/s", PB_PART_HOST_LINK, PB_DOMAIN_RATE, 5.5e10, 8e8, 0, 1},
    {"l2.tail_share", "1", PB_PART_L2, PB_DOMAIN_FRACTION, 0.02, 0.002, 0.0005, 1},
    {"l1.size_bytes", "byte", PB_PART_L1, PB_DOMAIN_SIZE, 221184, 0, 1024, 0},
    {"state.temperature_c", "degC", PB_PART_THERMAL, PB_DOMAIN_STATE, 41, 3, 1, 1},
    {"ecc.uncorrected", "1", PB_PART_ECC, PB_DOMAIN_COUNT, 0, 0, 1, 0},
};

static void fail(const char *message)
{
    fprintf(stderr, "fleet: %s\n", message);
    abort();
}

static uint64_t next(struct fleet_random *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15u; /* splitmix64 */

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

double fleet_uniform(struct fleet_random *random)
{
    return (double)(next(random) >> 11) * 0x1p-53;
}

double fleet_normal(struct fleet_random *random)
{
    double radius = sqrt(-2.0 * log(1.0 - fleet_uniform(random))); /* Box and Muller */

    return radius * cos(2.0 * M_PI * fleet_uniform(random));
}

double fleet_draw(struct fleet_random *random, double freedom)
{
    double value = fleet_normal(random), squares = 0.0;

    if (freedom <= 0.0)
        return value;
    for (int i = 0; i < (int)freedom; i++) {
        double other = fleet_normal(random);

        squares += other * other;
    }
    return value * sqrt((freedom - 2.0) / squares);
}

static struct pb_metric metric_of(const struct fleet_plan *plan, size_t index)
{
    const struct kind *kind = &kinds[index % KINDS];
    struct pb_metric metric = {.part = kind->part, .domain = kind->domain};

    snprintf(metric.name, sizeof(metric.name), "%s.%zu", kind->name, index / KINDS);
    snprintf(metric.unit, sizeof(metric.unit), "%s", kind->unit);
    metric.quantum = kind->quantum;
    if (kind->domain != PB_DOMAIN_COUNT && kind->domain != PB_DOMAIN_SIZE)
        metric.practical = plan->practical;
    return metric;
}

static void add_device(const struct fleet_plan *plan, size_t index, uint64_t seed,
                       struct pb_features *features)
{
    struct pb_feature_row device = {.rank = (int64_t)index};
    size_t row;

    device.slot = (int64_t)(index % plan->devices_per_node);
    snprintf(device.host, sizeof(device.host), "n%05zu", index / plan->devices_per_node);
    snprintf(device.key, sizeof(device.key), "%s.gpu%lld", device.host, (long long)device.slot);
    snprintf(device.status, sizeof(device.status), "ok");
    snprintf(device.info.model, sizeof(device.info.model), "Simulated GPU");
    snprintf(device.info.uuid, sizeof(device.info.uuid), "GPU-%016llx-%zu",
             (unsigned long long)seed, index);
    device.info.memory_bytes = (uint64_t)80 << 30;
    device.info.ecc_enabled = 1;
    if (pb_features_add_device(features, &device, &row, NULL) != PB_OK)
        fail("no memory");
}

/* One number of a device: its node's factor, its own, and what is the metric's alone. */
static double number_of(const struct fleet_plan *plan, const struct kind *kind,
                        const double *node_factors, const double *device_factors,
                        struct fleet_random *random)
{
    double own = 1.0 - plan->node_share - plan->device_share;
    double deviation = sqrt(plan->node_share) * node_factors[kind->factor] +
                       sqrt(plan->device_share) * device_factors[kind->factor] +
                       sqrt(own) * fleet_draw(random, plan->freedom);
    double value = kind->center + kind->spread * deviation;

    return kind->quantum > 0.0 ? kind->quantum * round(value / kind->quantum) : value;
}

void fleet_make(const struct fleet_plan *plan, uint64_t seed, struct pb_features *features_out)
{
    struct fleet_random random = {seed};
    double node_factors[DEVICE_FACTORS] = {0}, device_factors[DEVICE_FACTORS];

    for (size_t i = 0; i < plan->devices; i++) {
        add_device(plan, i, seed, features_out);
        for (int j = 0; j < DEVICE_FACTORS; j++) {
            if (i % plan->devices_per_node == 0)
                node_factors[j] = fleet_draw(&random, plan->freedom);
            device_factors[j] = fleet_draw(&random, plan->freedom);
        }
        for (size_t j = 0; j < plan->metrics; j++) {
            struct pb_metric metric = metric_of(plan, j);
            double value =
                number_of(plan, &kinds[j % KINDS], node_factors, device_factors, &random);

            if (pb_features_set(features_out, i, &metric, (struct pb_reading){value, 0.0, -1},
                                NULL) != PB_OK)
                fail("a number was refused");
        }
    }
}

void fleet_shift(struct pb_features *features, size_t device, size_t metric, double by)
{
    struct pb_reading cell = pb_features_reading(features, device, metric);

    cell.value += by;
    if (pb_features_set(features, device, &features->metrics[metric], cell, NULL) != PB_OK)
        fail("a number was refused");
}

size_t fleet_count(const struct pb_scores *scores, enum pb_severity least)
{
    size_t count = 0;

    for (size_t i = 0; i < scores->device_count * scores->metric_count; i++)
        count += scores->cells[i].severity >= least ? 1 : 0;
    return count;
}
