/*
 * Injected faults in a fleet of 40 simulated devices of two models on 10 nodes: each is found with
 * its level and cause, alone, beside another one, and together with another one on the same device;
 * and nobody else is named. bench_faults does the same in fleets of 64, with every pair.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "verdict/faults.h"
#include "verdict/fleetbuild.h"

enum { NODES = 10, SLOTS = 4, FIRST_NODE = 2, FIRST_SLOT = 1 };

static const char first_key[] = "n03.gpu1", second_key[] = "n03.gpu3";

/* Rows measured once for all tests. */
struct bed {
    struct pb_features healthy[NODES][SLOTS];
    struct pb_features sick[FAULT_KINDS]; /* weak ones, at the first place */
};

static void measure_by(const char *profile, int node, int slot, const char *first,
                       const char *second, struct pb_features *row)
{
    char host[PB_KEY_LENGTH];
    struct fleetbuild_device device = {.profile = profile,
                                       .host = host,
                                       .slot = slot,
                                       .faults = {first, second},
                                       .battery = PB_QUICK};
    struct pb_error err = PB_ERROR_INIT;

    snprintf(host, sizeof(host), "n%02d", node + 1);
    if (fleetbuild_measure(&device, row, &err) != PB_OK)
        fail_msg("%s", err.message);
}

static void measure(int node, int slot, const char *first, const char *second,
                    struct pb_features *row)
{
    measure_by(node < NODES / 2 ? "quadro2000" : "c2070", node, slot, first, second, row);
}

static int set_up(void **state)
{
    static struct bed bed;

    for (int node = 0; node < NODES; node++)
        for (int slot = 0; slot < SLOTS; slot++)
            measure(node, slot, NULL, NULL, &bed.healthy[node][slot]);
    for (int k = 0; k < FAULT_KINDS; k++)
        measure(FIRST_NODE, FIRST_SLOT, fault_kinds[k].specs[0], NULL, &bed.sick[k]);
    *state = &bed;
    return 0;
}

static int tear_down(void **state)
{
    struct bed *bed = *state;

    for (int node = 0; node < NODES; node++)
        for (int slot = 0; slot < SLOTS; slot++)
            pb_features_clear(&bed->healthy[node][slot]);
    for (int k = 0; k < FAULT_KINDS; k++)
        pb_features_clear(&bed->sick[k]);
    return 0;
}

/* The fleet with one or two rows exchanged: at n03.gpu1 and, on the same node, at n03.gpu3. */
static void judge(struct bed *bed, const struct pb_features *first,
                  const struct pb_features *second, struct pb_findings *findings)
{
    struct pb_features fleet = {0};
    struct pb_error err = PB_ERROR_INIT;

    for (int node = 0; node < NODES; node++) {
        for (int slot = 0; slot < SLOTS; slot++) {
            const struct pb_features *row = &bed->healthy[node][slot];

            if (node == FIRST_NODE && slot == FIRST_SLOT && first != NULL)
                row = first;
            if (node == FIRST_NODE && slot == 3 && second != NULL)
                row = second;
            assert_int_equal(fleetbuild_add(&fleet, row, &err), PB_OK);
        }
    }
    assert_int_equal(fleetbuild_judge(&fleet, findings, &err), PB_OK);
    pb_features_clear(&fleet);
}

static void expect(const struct pb_findings *findings, const struct fault_kind *kind,
                   const char *key, const char *title)
{
    if (fault_verdict_of(findings, kind, key) == FAULT_RIGHT)
        return;
    fault_print(title, findings);
    fail_msg("%s: %s is not reported as %s", title, key, kind->causes[0]);
}

static void expect_nobody_else(const struct pb_findings *findings, const char *const *sick,
                               size_t count, const char *title)
{
    if (fault_blamed(findings, sick, count) == 0)
        return;
    fault_print(title, findings);
    fail_msg("%s: somebody else is named", title);
}

static void test_faults__healthy_fleet_has_no_finding(void **state)
{
    struct pb_findings findings = {0};

    judge(*state, NULL, NULL, &findings);
    expect_nobody_else(&findings, NULL, 0, "healthy");
    assert_int_equal(findings.worst, PB_SEVERITY_OK);
    assert_int_equal(findings.judged, NODES * SLOTS);
    assert_int_equal(findings.skipped, 0);
    pb_findings_clear(&findings);
}

static void test_faults__each_alone_is_reported_with_level_and_cause(void **state)
{
    struct bed *bed = *state;
    const char *sick = first_key;

    for (int k = 0; k < FAULT_KINDS; k++) {
        struct pb_findings findings = {0};

        judge(bed, &bed->sick[k], NULL, &findings);
        expect(&findings, &fault_kinds[k], first_key, fault_kinds[k].specs[0]);
        expect_nobody_else(&findings, &sick, 1, fault_kinds[k].specs[0]);
        if (findings.worst != PB_SEVERITY_CRITICAL)
            fault_print(fault_kinds[k].specs[0], &findings);
        assert_int_equal(findings.worst, PB_SEVERITY_CRITICAL);
        pb_findings_clear(&findings);
    }
}

/* The row of one device as that of another slot of its node. */
static struct pb_features moved(const struct pb_features *row, int64_t slot, const char *key)
{
    struct pb_features copy = {0};
    struct pb_error err = PB_ERROR_INIT;

    assert_int_equal(fleetbuild_add(&copy, row, &err), PB_OK);
    copy.devices[0].slot = slot;
    if (copy.devices[0].key[0] != '\0')
        PB_TEXT_SET(copy.devices[0].key, key);
    PB_TEXT_SET(copy.devices[0].info.uuid, "GPU-second");
    return copy;
}

static void test_faults__two_devices_of_a_node_are_distinguished(void **state)
{
    struct bed *bed = *state;
    const char *sick[] = {first_key, second_key};

    for (int k = 0; k < FAULT_KINDS; k++) {
        int j = (k + 5) % FAULT_KINDS;
        struct pb_features second = moved(&bed->sick[j], 3, second_key);
        struct pb_findings findings = {0};
        char title[128];

        snprintf(title, sizeof(title), "%s and %s", fault_kinds[k].specs[0],
                 fault_kinds[j].specs[0]);
        judge(bed, &bed->sick[k], &second, &findings);
        expect(&findings, &fault_kinds[k], first_key, title);
        expect(&findings, &fault_kinds[j], second_key, title);
        expect_nobody_else(&findings, sick, 2, title);
        pb_findings_clear(&findings);
        pb_features_clear(&second);
    }
}

static void test_faults__two_faults_of_one_device_are_both_reported(void **state)
{
    static const int pairs[][2] = {{0, 1}, {0, 3}, {1, 2}, {2, 7}, {3, 6}, {4, 5}, {8, 9}, {0, 10}};
    const char *sick = first_key;

    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        const struct fault_kind *one = &fault_kinds[pairs[i][0]],
                                *other = &fault_kinds[pairs[i][1]];
        struct pb_features row = {0};
        struct pb_findings findings = {0};
        char title[128];

        snprintf(title, sizeof(title), "%s with %s", one->specs[0], other->specs[0]);
        measure(FIRST_NODE, FIRST_SLOT, one->specs[0], other->specs[0], &row);
        judge(*state, &row, NULL, &findings);
        expect(&findings, one, first_key, title);
        expect(&findings, other, first_key, title);
        expect_nobody_else(&findings, &sick, 1, title);
        pb_findings_clear(&findings);
        pb_features_clear(&row);
    }
}

/* One access in a thousand is 300 cycles late, beside healthy ones of which one in ten thousand is.
 */
static void test_faults__faint_tail_is_found(void **state)
{
    struct pb_features row = {0};
    struct pb_findings findings = {0};
    const char *sick = first_key, *faint = "tail=0.0015:300";

    measure(FIRST_NODE, FIRST_SLOT, faint, NULL, &row);
    judge(*state, &row, NULL, &findings);
    expect(&findings, &fault_kinds[6], first_key, faint);
    expect_nobody_else(&findings, &sick, 1, faint);
    pb_findings_clear(&findings);
    pb_features_clear(&row);
}

static void test_faults__slow_sm_is_named(void **state)
{
    struct bed *bed = *state;
    struct pb_findings findings = {0};

    judge(bed, &bed->sick[5], NULL, &findings);
    assert_non_null(fleetbuild_find(&findings, "slow_sm", "SM 3 of n03.gpu1"));
    pb_findings_clear(&findings);
}

/* Findings of a fleet whose n03.gpu1 has one fault or two. */
static void judge_injected(struct bed *bed, const char *first, const char *second,
                           struct pb_findings *findings)
{
    struct pb_features row = {0};

    measure(FIRST_NODE, FIRST_SLOT, first, second, &row);
    judge(bed, &row, NULL, findings);
    pb_features_clear(&row);
}

/* Loads of that SM are late on the way to DRAM too: a quarter of all, of four SMs. */
static void test_faults__slow_sm_is_reported_once(void **state)
{
    static const char *const specs[] = {"sm_slow=3:1.04", "sm_slow=3:1.1", "sm_slow=3:1.15",
                                        "sm_slow=1:1.2", "sm_slow=0:1.5"};

    for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
        struct pb_findings findings = {0};

        judge_injected(*state, specs[i], NULL, &findings);
        expect(&findings, &fault_kinds[5], first_key, specs[i]);
        if (findings.count != 1)
            fault_print(specs[i], &findings);
        assert_int_equal(findings.count, 1);
        pb_findings_clear(&findings);
    }
}

/* Of a slow SM's accesses more are late, and later, than the SM makes them. */
static void test_faults__tail_is_reported_beside_a_slow_sm(void **state)
{
    static const char *const slow[] = {"sm_slow=3:1.04", "sm_slow=1:1.2", "sm_slow=0:1.5"};
    static const char *const tails[] = {"tail=0.003:400", "tail=0.02:2000"};

    for (size_t i = 0; i < 6; i++) {
        struct pb_findings findings = {0};
        char title[128];

        snprintf(title, sizeof(title), "%s with %s", slow[i / 2], tails[i % 2]);
        judge_injected(*state, slow[i / 2], tails[i % 2], &findings);
        expect(&findings, &fault_kinds[5], first_key, title);
        expect(&findings, &fault_kinds[6], first_key, title);
        assert_int_equal(findings.count, 2);
        pb_findings_clear(&findings);
    }
}

/* What was measured on all SMs is not that one's. */
static void test_faults__late_dram_is_reported_beside_a_slow_sm(void **state)
{
    struct pb_findings findings = {0};
    const char *title = "dram_latency=1.4 with sm_slow=0:1.5";

    judge_injected(*state, "dram_latency=1.4", "sm_slow=0:1.5", &findings);
    expect(&findings, &fault_kinds[2], first_key, title);
    expect(&findings, &fault_kinds[5], first_key, title);
    pb_findings_clear(&findings);
}

/* The first place, by a profile with this key instead of its own; takes the value. */
static void measure_changed(const char *key, json_t *value, const char *fault,
                            struct pb_features *row)
{
    char path[] = "/tmp/plumb-changed-XXXXXX.json";
    int descriptor = mkstemps(path, (int)strlen(".json"));
    json_t *profile = json_load_file(PLUMB_PROFILES "/quadro2000.json", 0, NULL);

    assert_true(descriptor >= 0);
    assert_int_equal(json_object_set_new(profile, key, value), 0);
    assert_int_equal(json_dumpfd(profile, descriptor, 0), 0);
    json_decref(profile);
    close(descriptor);
    measure_by(path, FIRST_NODE, FIRST_SLOT, fault, NULL, row);
    unlink(path);
}

/* Every timed load takes up to so many cycles longer, and a share of them much longer, whatever
   memory it goes to. */
static void measure_noisy(json_int_t jitter_cycles, double spike_probability,
                          json_int_t spike_cycles, const char *fault, struct pb_features *row)
{
    measure_changed("noise",
                    json_pack("{sIsfsI}", "jitter_cycles", jitter_cycles, "spike_probability",
                              spike_probability, "spike_cycles", spike_cycles),
                    fault, row);
}

/* Where latency alone decides, three SMs move three quarters of what four do. */
static void test_faults__device_of_fewer_sms_has_no_slow_memory(void **state)
{
    struct pb_features row = {0};
    struct pb_findings findings = {0};

    measure_changed("sm_count", json_integer(3), NULL, &row);
    judge(*state, &row, NULL, &findings);
    if (fleetbuild_find(&findings, "hbm", first_key) != NULL)
        fault_print("three of four SMs", &findings);
    assert_null(fleetbuild_find(&findings, "hbm", first_key));
    pb_findings_clear(&findings);
    pb_features_clear(&row);
}

/* Shared memory's loads never leave their SM: what they show accuses no other memory. */
static void test_faults__noise_of_all_loads_accuses_no_memory(void **state)
{
    static const struct {
        json_int_t jitter_cycles, spike_cycles;
        double spike_probability;
        bool is_weak; /* too few loads of shared memory show it */
    } noises[] = {{20, 300, 1e-4, false},
                  {60, 300, 1e-4, false},
                  {1, 300, 0.1, false},
                  {8, 100, 0.02, true},
                  {2, 600, 0.05, false}};

    for (size_t i = 0; i < sizeof(noises) / sizeof(noises[0]); i++) {
        struct pb_features row = {0};
        struct pb_findings findings = {0};

        measure_noisy(noises[i].jitter_cycles, noises[i].spike_probability, noises[i].spike_cycles,
                      NULL, &row);
        judge(*state, &row, NULL, &findings);
        for (size_t k = 0; k < findings.count; k++) {
            if (strcmp(findings.items[k].cause, "timing_noise") != 0)
                fault_print("noise", &findings);
            assert_string_equal(findings.items[k].cause, "timing_noise");
            assert_int_equal(findings.items[k].severity, PB_SEVERITY_WARNING);
        }
        assert_true(findings.count == 1 || noises[i].is_weak);
        pb_findings_clear(&findings);
        pb_features_clear(&row);
    }
}

/* A tail beyond the noise is reported beside it. */
static void test_faults__tail_is_reported_beside_noise(void **state)
{
    struct pb_features row = {0};
    struct pb_findings findings = {0};
    const char *title = "noise with tail=0.2:2000";

    measure_noisy(60, 1e-3, 300, "tail=0.2:2000", &row);
    judge(*state, &row, NULL, &findings);
    expect(&findings, &fault_kinds[6], first_key, title);
    assert_non_null(fleetbuild_find(&findings, "timing_noise", first_key));
    pb_findings_clear(&findings);
    pb_features_clear(&row);
}

static void test_faults__tail_keeps_the_mean(void **state)
{
    struct bed *bed = *state;
    size_t metric = pb_features_find(&bed->sick[6], "dram.latency_cycles");
    double sick = pb_features_reading(&bed->sick[6], 0, metric).value;
    struct pb_features *peer = &bed->healthy[FIRST_NODE][FIRST_SLOT];
    double healthy =
        pb_features_reading(peer, 0, pb_features_find(peer, "dram.latency_cycles")).value;

    assert_true(sick <= healthy + 1.0 && sick >= healthy - 1.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faults__healthy_fleet_has_no_finding),
        cmocka_unit_test(test_faults__each_alone_is_reported_with_level_and_cause),
        cmocka_unit_test(test_faults__two_devices_of_a_node_are_distinguished),
        cmocka_unit_test(test_faults__two_faults_of_one_device_are_both_reported),
        cmocka_unit_test(test_faults__faint_tail_is_found),
        cmocka_unit_test(test_faults__slow_sm_is_named),
        cmocka_unit_test(test_faults__slow_sm_is_reported_once),
        cmocka_unit_test(test_faults__tail_is_reported_beside_a_slow_sm),
        cmocka_unit_test(test_faults__late_dram_is_reported_beside_a_slow_sm),
        cmocka_unit_test(test_faults__noise_of_all_loads_accuses_no_memory),
        cmocka_unit_test(test_faults__tail_is_reported_beside_noise),
        cmocka_unit_test(test_faults__device_of_fewer_sms_has_no_slow_memory),
        cmocka_unit_test(test_faults__tail_keeps_the_mean),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
