/*
 * Fleets with many sick devices: who is named, who is drained, what level is blamed, and the exit
 * code, by the share of sick devices and by their shift.
 *
 *     bench_sick_share [-v] [FLEETS [SEED [PROFILE [FIRST COUNT]]]]
 *     bench_sick_share -s
 *
 * With FIRST and COUNT only the fleets FIRST to FIRST + COUNT - 1 (from 0) of all FLEETS are
 * judged, the same share of those of the levels too, and the counts are printed as one line. Of
 * processes that share the FLEETS, `cat OUTPUTS | bench_sick_share -s` adds the counts and prints
 * the tables.
 *
 * Random places: fleets of 16 to 64 devices, 1 to 60% of them sick, with one to three kinds of
 * faults of one strength each; from 40% on, one finding should list the sick and the others.
 * Levels: one fault of a whole node, of a slot of all nodes, of the nodes with another driver, of
 * scattered devices with another VBIOS, and of all devices against an earlier run, with up to one
 * other sick device.
 *
 * Devices are measured once by the quick battery, healthy and with each fault; fleets are put
 * together of these rows, and every time, cycle count and rate is spread anew by 0.2%. A device's
 * shift is counted in the minimum detectable shift that is stated for the number of its fleet in
 * which it lies farthest out; a sick device counts from 1.5 on. Kinds are chosen with equal
 * chances.
 *
 * Limit: simulated devices differ by a spread of latency and bandwidth and by their noise.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verdict/fleet.h"
#include "verdict/fleetbuild.h"

enum {
    POOL = 96,
    COPIES = 16, /* of a sick device, on the hosts of the first of the pool */
    KINDS = 8,
    STRENGTHS = 4,
    DEVICES_MAX = 64,
    SHARES = 6,
    SHIFTS = 4,
};

#define SPREAD       0.002
#define COUNTED_FROM 1.5
#define EVEN_SHARE   0.4

static const char *const specs[KINDS][STRENGTHS] = {
    {"clock=0.988", "clock=0.98", "clock=0.96", "clock=0.85"},
    {"dram_bandwidth=0.965", "dram_bandwidth=0.95", "dram_bandwidth=0.92", "dram_bandwidth=0.8"},
    {"dram_latency=1.03", "dram_latency=1.05", "dram_latency=1.1", "dram_latency=1.3"},
    {"l2_latency=1.025", "l2_latency=1.04", "l2_latency=1.08", "l2_latency=1.3"},
    {"l1_size=0.95", "l1_size=0.9", "l1_size=0.75", "l1_size=0.5"},
    {"tail=0.001:300", "tail=0.003:400", "tail=0.01:600", "tail=0.02:2000"},
    {"throttle=0.95@0.3", "throttle=0.9@0.3", "throttle=0.8@0.3", "throttle=0.6@0.3"},
    {"pcie_width=8", "pcie_width=8", "pcie_width=4", "pcie_width=4"},
};

struct rows {
    struct pb_features healthy[POOL];
    struct pb_features sick[KINDS][STRENGTHS][COPIES];
};

struct device {
    int kind, strength; /* kind -1: healthy */
    size_t row;
};

/* One fleet, what is true of it and what was said. */
struct trial {
    struct fleet_random random;
    size_t nodes, slots, count, sick, sick_nodes;
    struct device devices[DEVICES_MAX];
    char drivers[DEVICES_MAX][8], vbios[DEVICES_MAX][8];
    struct pb_features features, baseline;
    struct pb_scores scores;
    struct pb_findings findings;
    double shifts[DEVICES_MAX]; /* of the sick, in minimum detectable shifts */
    bool named[DEVICES_MAX];
};

/* What was counted of all fleets of one share of sick devices. */
struct tally {
    size_t fleets, drains, ok, undetermined;
    size_t to_list, listed; /* fleets of which 40% are sick from 1.5 on; listed on both sides */
    size_t counted, counted_named, healthy, healthy_named;
    size_t by_shift[SHIFTS], named_by_shift[SHIFTS];
};

enum scenario { OF_NODE, OF_SLOT, OF_DRIVER, OF_VBIOS, OF_ALL, SCENARIOS };

/* What was counted of all fleets with a fault of one level. */
struct level {
    size_t fleets, right, findings;
};

/* All that is printed: nothing but counts, so that those of several processes can be added. */
struct counts {
    struct tally tallies[SHARES];
    struct level levels[SCENARIOS];
};

enum { COUNTS = sizeof(struct counts) / sizeof(size_t) };

/* Fleets first … end - 1 of all. */
struct range {
    size_t first, end, all;
};

static bool verbose;

static void die(const char *message)
{
    fprintf(stderr, "bench_sick_share: %s\n", message);
    exit(EXIT_FAILURE);
}

static size_t below(struct fleet_random *random, size_t count)
{
    return (size_t)(fleet_uniform(random) * (double)count);
}

static void measure(const char *profile, size_t row, const char *fault, struct pb_features *row_out)
{
    struct pb_error err = PB_ERROR_INIT;
    char host[PB_KEY_LENGTH];
    struct fleetbuild_device device = {
        .profile = profile, .host = host, .faults = {fault}, .battery = PB_QUICK};

    snprintf(host, sizeof(host), "p%03zu", row);
    if (fleetbuild_measure(&device, row_out, &err) != PB_OK)
        die(err.message);
}

static void measure_all(const char *profile, struct rows *rows)
{
    for (size_t i = 0; i < POOL; i++)
        measure(profile, i, NULL, &rows->healthy[i]);
    for (size_t k = 0; k < KINDS; k++)
        for (size_t s = 0; s < STRENGTHS; s++)
            for (size_t i = 0; i < COPIES; i++)
                measure(profile, i, specs[k][s], &rows->sick[k][s][i]);
}

static void spread_anew(struct pb_features *features, size_t device, struct fleet_random *random)
{
    for (size_t m = 0; m < features->metric_count; m++) {
        const struct pb_metric *metric = &features->metrics[m];
        struct pb_reading cell = pb_features_reading(features, device, m);

        if (metric->domain > PB_DOMAIN_RATE || !isfinite(cell.value))
            continue;
        cell.value *= 1.0 + SPREAD * fleet_normal(random);
        if (metric->quantum > 0.0)
            cell.value = metric->quantum * round(cell.value / metric->quantum);
        if (pb_features_set(features, device, metric, cell, NULL) != PB_OK)
            die("a number was refused");
    }
}

static void add_device(const struct rows *rows, const struct trial *trial, size_t at,
                       struct fleet_random *random, bool healthy, struct pb_features *features)
{
    const struct device *member = &trial->devices[at];
    struct pb_error err = PB_ERROR_INIT;
    struct pb_feature_row *device;

    if (fleetbuild_add(features,
                       healthy || member->kind < 0
                           ? &rows->healthy[member->row]
                           : &rows->sick[member->kind][member->strength][member->row % COPIES],
                       &err) != PB_OK)
        die(err.message);
    device = &features->devices[at];
    snprintf(device->host, sizeof(device->host), "n%02zu", at / trial->slots + 1);
    device->slot = (int64_t)(at % trial->slots);
    snprintf(device->key, sizeof(device->key), "%.64s.gpu%lld", device->host,
             (long long)device->slot);
    snprintf(device->info.uuid, sizeof(device->info.uuid), "GPU-%zu", at);
    PB_TEXT_SET(device->info.driver_version, trial->drivers[at]);
    PB_TEXT_SET(device->info.vbios, trial->vbios[at]);
    spread_anew(features, at, random);
}

static void judge(struct trial *trial, const struct rows *rows, bool with_baseline)
{
    struct pb_score_options options = PB_SCORE_OPTIONS_DEFAULT;
    struct pb_error err = PB_ERROR_INIT;
    enum pb_status status;

    for (size_t i = 0; i < trial->count; i++)
        add_device(rows, trial, i, &trial->random, false, &trial->features);
    for (size_t i = 0; i < trial->count && with_baseline; i++)
        add_device(rows, trial, i, &trial->random, true, &trial->baseline);
    status = pb_score(&trial->features, with_baseline ? &trial->baseline : NULL, &options,
                      &trial->scores, &err);
    if (status == PB_OK)
        status = pb_judge(&trial->features, &trial->scores, NULL, &trial->findings, &err);
    if (status != PB_OK)
        die(err.message);
}

static void begin(struct trial *trial, uint64_t seed)
{
    static const size_t widths[] = {4, 8, 2};

    memset(trial, 0, sizeof(*trial));
    trial->random.state = seed * 7919 + 17;
    trial->slots = widths[below(&trial->random, 3)];
    trial->nodes = 16 / trial->slots + below(&trial->random, 48 / trial->slots + 1);
    trial->count = trial->nodes * trial->slots;
    for (size_t i = 0; i < trial->count; i++) {
        trial->devices[i] = (struct device){-1, 0, below(&trial->random, POOL)};
        PB_TEXT_SET(trial->drivers[i], "580.1");
        PB_TEXT_SET(trial->vbios[i], "96.00");
    }
}

static void end(struct trial *trial)
{
    pb_findings_clear(&trial->findings);
    pb_scores_clear(&trial->scores);
    pb_features_clear(&trial->features);
    pb_features_clear(&trial->baseline);
}

/* ---- what is true, what was said ---- */

static double healthy_center(const struct trial *trial, size_t metric)
{
    double sum = 0.0;
    size_t count = 0;

    for (size_t i = 0; i < trial->count; i++) {
        double value = pb_features_reading(&trial->features, i, metric).value;

        if (trial->devices[i].kind >= 0 || isnan(value))
            continue;
        sum += value;
        count++;
    }
    return count > 0 ? sum / (double)count : NAN;
}

/* What a job feels of a device: what the driver reports of clocks and heat is no shift. */
static bool is_felt(const struct pb_metric *metric)
{
    return metric->domain <= PB_DOMAIN_FRACTION && strncmp(metric->name, "throttle.", 9) != 0 &&
           (strncmp(metric->name, "nvml.", 5) != 0 || metric->domain == PB_DOMAIN_SIZE);
}

static void set_shifts(struct trial *trial)
{
    for (size_t m = 0; m < trial->features.metric_count; m++) {
        double center =
            is_felt(&trial->features.metrics[m]) ? healthy_center(trial, m) : (double)NAN;

        for (size_t i = 0; i < trial->count; i++) {
            const struct pb_norm *norm =
                &trial->scores.norms[trial->scores.group_of[i] * trial->features.metric_count + m];
            double shift =
                fabs(pb_features_reading(&trial->features, i, m).value - center) / norm->detectable;

            if (isfinite(shift))
                trial->shifts[i] = fmax(trial->shifts[i], shift);
        }
    }
}

static bool is_even(const struct pb_finding *finding)
{
    return strcmp(finding->cause, "two_populations") == 0;
}

/* It restates other findings. */
static bool is_sum(const struct pb_finding *finding)
{
    return strcmp(finding->cause, "many_anomalous") == 0;
}

static void set_named(struct trial *trial)
{
    for (size_t i = 0; i < trial->findings.count; i++) {
        const struct pb_finding *finding = &trial->findings.items[i];

        for (size_t k = 0; k < finding->members.count && !is_even(finding) && !is_sum(finding); k++)
            trial->named[finding->members.devices[k]] = true;
    }
}

static bool is_drained(const struct trial *trial, const char *host)
{
    for (size_t i = 0; i < trial->findings.count; i++) {
        const struct pb_finding *finding = &trial->findings.items[i];

        for (size_t k = 0; k < finding->members.count && finding->drain; k++)
            if (strcmp(trial->features.devices[finding->members.devices[k]].host, host) == 0)
                return true;
    }
    return false;
}

/* Nodes of the sick are drained, others are not; those of sick devices that do not count may be. */
static bool is_drain_right(const struct trial *trial)
{
    for (size_t node = 0; node < trial->nodes; node++) {
        size_t must = 0, may = 0, first = node * trial->slots;
        bool drained = is_drained(trial, trial->features.devices[first].host);

        for (size_t i = first; i < first + trial->slots; i++) {
            must += trial->devices[i].kind >= 0 && trial->shifts[i] >= COUNTED_FROM;
            may += trial->devices[i].kind >= 0;
        }
        if ((must > 0 && !drained) || (may == 0 && drained))
            return false;
    }
    return true;
}

/* Does a finding of two populations set the sick of one kind apart from the healthy? */
static bool is_apart(const struct trial *trial, size_t device)
{
    for (size_t i = 0; i < trial->findings.count; i++) {
        const struct pb_finding *finding = &trial->findings.items[i];
        size_t beside = 0, healthy = 0;
        bool is_there = false;

        for (int side = 0; side < 2 && is_even(finding); side++) {
            const struct pb_members *list = side == 0 ? &finding->members : &finding->counterparts;

            is_there = false;
            beside = healthy = 0;
            for (size_t k = 0; k < list->count; k++) {
                bool is_sick = trial->devices[list->devices[k]].kind >= 0;

                is_there |= list->devices[k] == device;
                beside += is_sick;
                healthy += !is_sick;
            }
            if (is_there && 20 * healthy <= beside + healthy)
                return true;
        }
    }
    return false;
}

/* Does one finding list the sick on one side, and all other devices on the other? Those that do not
   count may be on either. */
static bool are_both_listed(const struct trial *trial)
{
    for (size_t i = 0; i < trial->findings.count; i++) {
        const struct pb_finding *finding = &trial->findings.items[i];
        const struct pb_members *sides[] = {&finding->members, &finding->counterparts};

        if (finding->members.count + finding->counterparts.count != trial->count)
            continue;
        for (int side = 0; side < 2; side++) {
            size_t healthy = 0, missed = 0;

            for (size_t k = 0; k < sides[side]->count; k++)
                healthy += trial->devices[sides[side]->devices[k]].kind < 0;
            for (size_t k = 0; k < sides[1 - side]->count; k++) {
                size_t other = sides[1 - side]->devices[k];

                missed += trial->devices[other].kind >= 0 && trial->shifts[other] >= COUNTED_FROM;
            }
            if (missed == 0 && 20 * healthy <= sides[side]->count)
                return true;
        }
    }
    return false;
}

/* Are so many sick by what can be seen that the fleet falls in two parts? */
static bool has_clear_share(const struct trial *trial)
{
    size_t count = 0;

    for (size_t i = 0; i < trial->count; i++)
        count += trial->devices[i].kind >= 0 && trial->shifts[i] >= COUNTED_FROM;
    return (double)count >= EVEN_SHARE * (double)trial->count;
}

static void print_findings(const struct trial *trial, const char *title)
{
    printf("  %s: %zu nodes of %zu, sick:", title, trial->nodes, trial->slots);
    for (size_t i = 0; i < trial->count; i++)
        if (trial->devices[i].kind >= 0)
            printf(" %s=%s(%.1f)", trial->features.devices[i].key,
                   specs[trial->devices[i].kind][trial->devices[i].strength], trial->shifts[i]);
    printf("\n");
    for (size_t i = 0; i < trial->findings.count; i++) {
        const struct pb_finding *finding = &trial->findings.items[i];

        printf("    %-8s %-10s %-14.40s %-16s %-10s %2zu+%zu %s %.120s\n      ",
               pb_severity_name(finding->severity), pb_level_name(finding->level), finding->place,
               finding->cause, finding->attribute, finding->members.count,
               finding->counterparts.count, finding->drain ? "drain" : "     ", finding->summary);
        for (size_t k = 0; k < finding->members.count; k++)
            printf(" %s", trial->features.devices[finding->members.devices[k]].key);
        printf("\n");
    }
}

/* ---- random places ---- */

static void make_sick(struct trial *trial, double share)
{
    struct fleet_random *random = &trial->random;
    size_t kind_count = 1 + below(random, 3), wanted;
    struct device kinds[3];

    for (size_t k = 0; k < kind_count; k++)
        kinds[k] = (struct device){(int)below(random, KINDS), (int)below(random, STRENGTHS), 0};
    wanted = (size_t)fmax(1.0, round(share * (double)trial->count));
    while (trial->sick < wanted) {
        struct device *device = &trial->devices[below(random, trial->count)];
        const struct device *kind = &kinds[below(random, kind_count)];

        if (device->kind >= 0)
            continue;
        *device = (struct device){kind->kind, kind->strength, below(random, COPIES)};
        trial->sick++;
    }
}

static size_t shift_class(double shift)
{
    static const double limits[SHIFTS - 1] = {1.0, 1.5, 3.0};
    size_t at = 0;

    while (at < SHIFTS - 1 && shift >= limits[at])
        at++;
    return at;
}

static void count_devices(const struct trial *trial, bool even, struct tally *tally)
{
    for (size_t i = 0; i < trial->count; i++) {
        bool is_found = trial->named[i] || (even && is_apart(trial, i));

        if (trial->devices[i].kind < 0) {
            tally->healthy++;
            tally->healthy_named += trial->named[i];
            continue;
        }
        tally->by_shift[shift_class(trial->shifts[i])]++;
        tally->named_by_shift[shift_class(trial->shifts[i])] += is_found;
        tally->counted += trial->shifts[i] >= COUNTED_FROM;
        tally->counted_named += trial->shifts[i] >= COUNTED_FROM && is_found;
    }
}

static bool has_even(const struct trial *trial)
{
    for (size_t i = 0; i < trial->findings.count; i++)
        if (is_even(&trial->findings.items[i]))
            return true;
    return false;
}

static bool is_healthy_named(const struct trial *trial)
{
    for (size_t i = 0; i < trial->count; i++)
        if (trial->named[i] && trial->devices[i].kind < 0)
            return true;
    return false;
}

static const double limits[SHARES] = {0.05, 0.15, 0.25, EVEN_SHARE, 0.5, 1.0};

static void random_places(const struct rows *rows, const struct range *range, uint64_t seed,
                          struct tally *tallies)
{
    for (size_t f = range->first; f < range->end; f++) {
        static struct trial trial;
        struct tally *tally = tallies;
        bool even, right, is_clear;

        begin(&trial, seed + f);
        make_sick(&trial, 0.01 + 0.59 * fleet_uniform(&trial.random));
        judge(&trial, rows, false);
        set_shifts(&trial);
        set_named(&trial);
        while ((double)trial.sick >= limits[tally - tallies] * (double)trial.count)
            tally++;
        even = (double)trial.sick >= EVEN_SHARE * (double)trial.count;
        right = is_drain_right(&trial);
        tally->fleets++;
        tally->drains += right;
        tally->ok += trial.findings.worst == PB_SEVERITY_OK;
        tally->undetermined += has_even(&trial);
        is_clear = has_clear_share(&trial);
        tally->to_list += is_clear;
        tally->listed += is_clear && are_both_listed(&trial);
        count_devices(&trial, even, tally);
        if (verbose && ((!even && !right) || trial.findings.worst == PB_SEVERITY_OK))
            print_findings(&trial, "drain or exit");
        if (verbose && is_clear && !are_both_listed(&trial))
            print_findings(&trial, "not listed");
        if (verbose && is_healthy_named(&trial))
            print_findings(&trial, "healthy named");
        end(&trial);
    }
}

static void print_tallies(const struct tally *tallies)
{
    printf("| sick | fleets | sick from 1.5 named | healthy named | drain right | exit 0 | "
           "two populations | both listed | named below 1 | 1 to 1.5 | 1.5 to 3 | from 3 on |\n"
           "|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < SHARES; i++) {
        const struct tally *tally = &tallies[i];

        printf(
            "| below %.0f%% | %zu | %.2f%% of %zu | %zu of %zu | %.1f%% | %zu | %zu | %zu of %zu |",
            100.0 * fmin(limits[i], 0.61), tally->fleets,
            100.0 * (double)tally->counted_named / fmax(1.0, (double)tally->counted),
            tally->counted, tally->healthy_named, tally->healthy,
            100.0 * (double)tally->drains / fmax(1.0, (double)tally->fleets), tally->ok,
            tally->undetermined, tally->listed, tally->to_list);
        for (size_t k = 0; k < SHIFTS; k++)
            printf(" %.1f%% of %zu |",
                   100.0 * (double)tally->named_by_shift[k] / fmax(1.0, (double)tally->by_shift[k]),
                   tally->by_shift[k]);
        printf("\n");
    }
}

/* ---- levels ---- */

static const char *const scenario_names[SCENARIOS] = {"node", "slot", "driver", "VBIOS",
                                                      "whole fleet, history"};

/* Kinds that a node, a slot or a configuration can have: all but short L1s and tails. */
static int shared_kind(struct fleet_random *random)
{
    static const int kinds[] = {0, 1, 2, 3, 6, 7};

    return kinds[below(random, 6)];
}

static void make_level(struct trial *trial, enum scenario scenario, size_t *place_out)
{
    struct fleet_random *random = &trial->random;
    struct device sick = {shared_kind(random), 1 + (int)below(random, STRENGTHS - 1), 0};
    size_t place = below(random, scenario == OF_SLOT ? trial->slots : trial->nodes);
    size_t nodes = 2 + below(random, trial->nodes / 2 - 1);
    double share = 0.1 + 0.4 * fleet_uniform(random);
    size_t last = 0;

    *place_out = place;
    for (size_t i = 0; i < trial->count; i++) {
        size_t node = i / trial->slots;
        bool is_hit = scenario == OF_ALL || (scenario == OF_NODE && node == place) ||
                      (scenario == OF_SLOT && i % trial->slots == place) ||
                      (scenario == OF_DRIVER && node < nodes) ||
                      (scenario == OF_VBIOS && i % 3 != 1 && fleet_uniform(random) < share);

        sick.row = below(random, COPIES);
        if (scenario == OF_ALL)
            trial->devices[i].row = sick.row;
        if (!is_hit)
            continue;
        trial->devices[i] = sick;
        trial->sick++;
        trial->sick_nodes += trial->sick == 1 || node != last;
        last = node;
        if (scenario == OF_DRIVER)
            PB_TEXT_SET(trial->drivers[i], "590.2");
        if (scenario == OF_VBIOS)
            PB_TEXT_SET(trial->vbios[i], "96.66");
    }
    if (scenario != OF_ALL && fleet_uniform(random) < 0.5) {
        size_t other = below(random, trial->count);

        if (trial->devices[other].kind < 0)
            trial->devices[other] =
                (struct device){(int)below(random, KINDS), STRENGTHS - 1, below(random, COPIES)};
    }
}

static bool is_level_right(const struct trial *trial, enum scenario scenario, size_t place)
{
    char host[PB_KEY_LENGTH];

    snprintf(host, sizeof(host), "n%02zu", place + 1);
    for (size_t i = 0; i < trial->findings.count; i++) {
        const struct pb_finding *finding = &trial->findings.items[i];

        if ((scenario == OF_NODE && finding->level == PB_LEVEL_NODE &&
             strcmp(finding->host, host) == 0) ||
            (scenario == OF_SLOT && finding->level == PB_LEVEL_SLOT &&
             finding->slot == (int64_t)place) ||
            (scenario == OF_DRIVER && strcmp(finding->attribute, "driver") == 0 &&
             finding->metric[0] != '\0') ||
            (scenario == OF_VBIOS && strcmp(finding->attribute, "VBIOS") == 0 &&
             finding->metric[0] != '\0') ||
            (scenario == OF_ALL && finding->level == PB_LEVEL_POPULATION &&
             10 * finding->members.count >= 9 * trial->count))
            return true;
    }
    return false;
}

static void judge_level(const struct rows *rows, enum scenario scenario, struct trial *trial,
                        size_t place, struct level *level)
{
    bool is_right;

    judge(trial, rows, scenario == OF_ALL);
    is_right = is_level_right(trial, scenario, place);
    level->fleets++;
    level->right += is_right;
    level->findings += trial->findings.count;
    if (verbose && !is_right)
        print_findings(trial, scenario_names[scenario]);
}

/* May this fleet distinguish a fault of the level from one of its devices? */
static bool is_telling(const struct trial *trial, enum scenario scenario)
{
    if (trial->nodes < 4 || (scenario == OF_SLOT && trial->slots < 3))
        return false;
    return scenario != OF_VBIOS || (trial->sick >= 3 && trial->sick_nodes >= 2);
}

static void levels(const struct rows *rows, const struct range *range, uint64_t seed,
                   struct level *levels_out)
{
    for (int scenario = 0; scenario < SCENARIOS; scenario++)
        for (size_t f = 0, count = 0; count < range->end; f++) {
            static struct trial trial;
            size_t place = 0;

            begin(&trial, seed + 1000003 * (size_t)(scenario + 1) + f);
            if (is_telling(&trial, scenario == OF_SLOT ? OF_SLOT : OF_NODE))
                make_level(&trial, (enum scenario)scenario, &place);
            if (is_telling(&trial, (enum scenario)scenario) && count++ >= range->first)
                judge_level(rows, (enum scenario)scenario, &trial, place, &levels_out[scenario]);
            end(&trial);
        }
}

static void print_levels(const struct level *levels_of)
{
    printf("\n| level of the fault | fleets | attributed to it | findings a fleet |\n"
           "|---|---|---|---|\n");
    for (int scenario = 0; scenario < SCENARIOS; scenario++) {
        const struct level *level = &levels_of[scenario];
        double fleets = fmax(1.0, (double)level->fleets);

        printf("| %s | %zu | %.1f%% | %.2f |\n", scenario_names[scenario], level->fleets,
               100.0 * (double)level->right / fleets, (double)level->findings / fleets);
    }
}

/* ---- several processes ---- */

static void print_counts(const struct counts *counts)
{
    const size_t *numbers = (const size_t *)counts;

    printf("counts");
    for (size_t i = 0; i < COUNTS; i++)
        printf(" %zu", numbers[i]);
    printf("\n");
}

/* Adds the lines of print_counts() on the standard input. */
static void add_counts(struct counts *counts)
{
    size_t *numbers = (size_t *)counts;
    char word[16];

    while (scanf("%15s", word) == 1) {
        if (strcmp(word, "counts") != 0)
            continue;
        for (size_t i = 0; i < COUNTS; i++) {
            size_t number;

            if (scanf("%zu", &number) != 1)
                die("a line of counts is cut off");
            numbers[i] += number;
        }
    }
}

static void clear(struct rows *rows)
{
    for (size_t i = 0; i < POOL; i++)
        pb_features_clear(&rows->healthy[i]);
    for (size_t k = 0; k < KINDS; k++)
        for (size_t s = 0; s < STRENGTHS; s++)
            for (size_t i = 0; i < COPIES; i++)
                pb_features_clear(&rows->sick[k][s][i]);
}

static struct range part_of(const struct range *range, size_t all)
{
    return (struct range){range->first * all / range->all, range->end * all / range->all, all};
}

int main(int argc, char **argv)
{
    static struct rows rows;
    struct counts counts = {0};
    struct range range, of_levels;
    bool is_part;
    uint64_t seed;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc == 2 && strcmp(argv[1], "-s") == 0) {
        add_counts(&counts);
        print_tallies(counts.tallies);
        print_levels(counts.levels);
        return EXIT_SUCCESS;
    }
    verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
    argc -= verbose;
    argv += verbose;
    range.all = argc > 1 ? strtoul(argv[1], NULL, 10) : 2000;
    seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    is_part = argc > 5;
    range.first = is_part ? strtoul(argv[4], NULL, 10) : 0;
    range.end = is_part ? range.first + strtoul(argv[5], NULL, 10) : range.all;
    if (range.all == 0 || range.end > range.all)
        die("FIRST and COUNT must lie within FLEETS");
    of_levels = part_of(&range, range.all / 10 + 1);
    measure_all(argc > 3 ? argv[3] : "quadro2000", &rows);
    random_places(&rows, &range, seed, counts.tallies);
    levels(&rows, &of_levels, seed, counts.levels);
    if (is_part)
        print_counts(&counts);
    else {
        print_tallies(counts.tallies);
        print_levels(counts.levels);
    }
    clear(&rows);
    return EXIT_SUCCESS;
}
