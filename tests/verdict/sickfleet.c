/* A fleet made by hand, with one sick device among healthy ones; see sickfleet.h. */
#include "verdict/sickfleet.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "verdict/fleetbuild.h"

const char sick_key[] = "n03.gpu1";

/* What healthy devices of these tests have. */
static const struct normal {
    struct pb_metric metric;
    double value, spread; /* spread: relative, or absolute where the value is 0 */
} normals[] = {
    {{.name = "clock.sm_mhz",
      .unit = "MHz",
      .part = PB_PART_CLOCK,
      .domain = PB_DOMAIN_RATE,
      .better = PB_BETTER_HIGHER,
      .practical = 0.01},
     1980.0,
     1e-4},
    {{.name = "l1.latency_cycles",
      .unit = "cycle",
      .part = PB_PART_L1,
      .domain = PB_DOMAIN_CYCLES,
      .better = PB_BETTER_LOWER,
      .quantum = 1.0,
      .practical = 0.02},
     32.0,
     0.0},
    {{.name = "l1.latency_ns",
      .unit = "ns",
      .part = PB_PART_L1,
      .domain = PB_DOMAIN_NS,
      .better = PB_BETTER_LOWER,
      .practical = 0.02},
     16.16,
     1e-4},
    {{.name = "l2.latency_cycles",
      .test = "l2_capacity",
      .unit = "cycle",
      .part = PB_PART_L2,
      .domain = PB_DOMAIN_CYCLES,
      .better = PB_BETTER_LOWER,
      .practical = 0.02},
     270.0,
     2e-3},
    {{.name = "l2.latency_ns",
      .unit = "ns",
      .part = PB_PART_L2,
      .domain = PB_DOMAIN_NS,
      .better = PB_BETTER_LOWER,
      .practical = 0.02},
     136.4,
     2e-3},
    {{.name = "dram.beyond_l2_ns",
      .unit = "ns",
      .part = PB_PART_DRAM,
      .domain = PB_DOMAIN_NS,
      .better = PB_BETTER_LOWER,
      .practical = 0.03,
      .traits = PB_TRAIT(BEYOND_L2)},
     214.0,
     2e-3},
    {{.name = "global_copy.peak",
      .unit = "byte/s",
      .test = "global_copy",
      .part = PB_PART_DRAM,
      .domain = PB_DOMAIN_RATE,
      .better = PB_BETTER_HIGHER,
      .practical = 0.03,
      .traits = PB_TRAIT(PEAK)},
     3.9e12,
     4e-3},
    {{.name = "global_copy.latency_bound",
      .unit = "byte/s",
      .test = "global_copy",
      .part = PB_PART_DRAM,
      .domain = PB_DOMAIN_RATE,
      .better = PB_BETTER_HIGHER,
      .practical = 0.03,
      .traits = PB_TRAIT(LATENCY_BOUND)},
     2.6e8,
     4e-3},
    {{.name = "throttle.thermal_hardware",
      .unit = "sample",
      .part = PB_PART_THERMAL,
      .domain = PB_DOMAIN_COUNT,
      .better = PB_BETTER_LOWER,
      .quantum = 1.0},
     0.0,
     0.0},
    {{.name = "throttle.power_cap",
      .unit = "share",
      .part = PB_PART_POWER,
      .domain = PB_DOMAIN_FRACTION,
      .better = PB_BETTER_LOWER,
      .practical = 0.3},
     0.0,
     0.0},
    {{.name = "nvml.other_processes",
      .unit = "process",
      .part = PB_PART_CO_TENANTS,
      .domain = PB_DOMAIN_COUNT,
      .better = PB_BETTER_LOWER,
      .quantum = 1.0},
     0.0,
     0.0},
    {{.name = "nvml.memory_used_min",
      .unit = "byte",
      .part = PB_PART_CO_TENANTS,
      .domain = PB_DOMAIN_STATE,
      .better = PB_BETTER_LOWER,
      .practical = 4e9},
     6e8,
     0.001},
    {{.name = "l2_hits.tail_fraction_1_125x",
      .test = "l2_capacity",
      .unit = "share",
      .part = PB_PART_L2,
      .domain = PB_DOMAIN_FRACTION,
      .better = PB_BETTER_LOWER,
      .practical = 5e-4},
     0.0,
     0.0},
    {{.name = "compute.wrong_runs",
      .unit = "run",
      .part = PB_PART_INTEGRITY,
      .domain = PB_DOMAIN_COUNT,
      .better = PB_BETTER_LOWER,
      .quantum = 1.0,
      .traits = PB_TRAIT(COMPUTE)},
     0.0,
     0.0},
    {{.name = "compute.sustained_wrong_runs",
      .unit = "run",
      .part = PB_PART_INTEGRITY,
      .domain = PB_DOMAIN_COUNT,
      .better = PB_BETTER_LOWER,
      .quantum = 1.0,
      .traits = PB_TRAIT(COMPUTE)},
     0.0,
     0.0},
    {{.name = "nvml.ecc_uncorrected_delta",
      .unit = "error",
      .part = PB_PART_ECC,
      .domain = PB_DOMAIN_COUNT,
      .better = PB_BETTER_LOWER,
      .quantum = 1.0},
     0.0,
     0.0},
    {{.name = "nvml.retired_uncorrected_delta",
      .unit = "page",
      .part = PB_PART_ECC,
      .domain = PB_DOMAIN_COUNT,
      .better = PB_BETTER_LOWER,
      .quantum = 1.0},
     0.0,
     0.0},
    {{.name = "nvml.retirement_pending",
      .unit = "page",
      .part = PB_PART_ECC,
      .domain = PB_DOMAIN_COUNT,
      .better = PB_BETTER_LOWER,
      .quantum = 1.0},
     0.0,
     0.0},
    {{.name = "nvml.retired_uncorrected_before",
      .unit = "page",
      .part = PB_PART_ECC,
      .domain = PB_DOMAIN_COUNT,
      .better = PB_BETTER_LOWER,
      .quantum = 1.0},
     0.0,
     0.0},
    {{.name = "nvml.pcie_width",
      .unit = "lane",
      .part = PB_PART_HOST_LINK,
      .domain = PB_DOMAIN_SIZE,
      .better = PB_BETTER_HIGHER,
      .quantum = 1.0,
      .practical = 0.05},
     16.0,
     0.0},
    {{.name = "peer_link.median_peer",
      .test = "peer_link",
      .unit = "byte/s",
      .part = PB_PART_PEER_LINK,
      .domain = PB_DOMAIN_RATE,
      .better = PB_BETTER_HIGHER,
      .practical = 0.2},
     3.6e11,
     0.01},
    {{.name = "nvml.temperature_max",
      .unit = "degC",
      .part = PB_PART_THERMAL,
      .domain = PB_DOMAIN_STATE,
      .better = PB_BETTER_LOWER,
      .quantum = 1.0,
      .practical = 15.0},
     52.0,
     0.03},
};

static const struct normal *normal_of(const char *name)
{
    for (size_t i = 0; i < sizeof(normals) / sizeof(normals[0]); i++)
        if (strcmp(normals[i].metric.name, name) == 0)
            return &normals[i];
    fail_msg("no metric %s", name);
    return NULL;
}

void put(struct pb_features *features, size_t device, const char *name, double value)
{
    struct pb_error err = PB_ERROR_INIT;

    assert_int_equal(pb_features_set(features, device, &normal_of(name)->metric,
                                     (struct pb_reading){value, 0.0, -1}, &err),
                     PB_OK);
}

void make_fleet(int nodes, struct pb_features *features)
{
    struct pb_error err = PB_ERROR_INIT;

    for (int i = 0; i < nodes * SLOTS; i++) {
        struct pb_feature_row device = {.rank = i, .slot = i % SLOTS};
        size_t at;

        snprintf(device.host, sizeof(device.host), "n%02d", i / SLOTS + 1);
        snprintf(device.key, sizeof(device.key), "%.8s.gpu%d", device.host, i % SLOTS);
        PB_TEXT_SET(device.status, "ok");
        PB_TEXT_SET(device.info.model, "Tesla T0");
        PB_TEXT_SET(device.info.driver_version, "580.1");
        PB_TEXT_SET(device.info.vbios, "96.00");
        snprintf(device.info.uuid, sizeof(device.info.uuid), "GPU-%d", i);
        device.info.memory_bytes = (uint64_t)8 << 30;
        device.info.ecc_enabled = 1;
        assert_int_equal(pb_features_add_device(features, &device, &at, &err), PB_OK);
        for (size_t m = 0; m < sizeof(normals) / sizeof(normals[0]); m++)
            put(features, at, normals[m].metric.name,
                normals[m].value * (1.0 + normals[m].spread * sin(2.1 * i + (double)m)));
    }
}

void inject(struct pb_features *features, const struct injected *injected, size_t count)
{
    for (size_t i = 0; i < count; i++)
        put(features, SICK, injected[i].name, injected[i].value);
}

void judge(struct pb_features *features, struct pb_findings *findings)
{
    struct pb_error err = PB_ERROR_INIT;

    assert_int_equal(fleetbuild_judge(features, findings, &err), PB_OK);
    pb_features_clear(features);
}

void expect_only(const struct injected *injected, size_t count, const char *cause,
                 enum pb_severity severity)
{
    struct pb_features features = {0};
    struct pb_findings findings = {0};

    make_fleet(NODES, &features);
    inject(&features, injected, count);
    judge(&features, &findings);
    assert_int_equal(findings.count, 1);
    assert_string_equal(findings.items[0].cause, cause);
    assert_string_equal(findings.items[0].device, sick_key);
    assert_int_equal(findings.items[0].severity, severity);
    assert_int_equal(findings.items[0].metrics, count);
    pb_findings_clear(&findings);
}
