/*
 * Every fault of design 3.5, alone and in pairs, in fleets of 64 simulated devices of two models on
 * 16 nodes: how many are found, how many with the right level and cause, and who else is blamed.
 *
 *     bench_faults [-v] [PROFILE PROFILE]
 *
 * Rows are measured once; fleets are put together from them, so that pairs cost only judging. -v
 * prints every finding of every fleet that was not judged as it should have been.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verdict/fleetbuild.h"

enum { NODES = 16, SLOTS = 4, STRENGTHS = 2, KINDS = 14, PLACES = 3 };

/* A fault weak and strong, and what ought to be said of it. */
static const struct kind {
    const char *name, *specs[STRENGTHS];
    const char *causes[3];
    enum pb_level level;
} kinds[KINDS] = {
    {"clock", {"clock=0.96", "clock=0.8"}, {"locked_clocks", "slow_clock"}, PB_LEVEL_DEVICE},
    {"dram_bandwidth", {"dram_bandwidth=0.95", "dram_bandwidth=0.8"}, {"hbm"}, PB_LEVEL_DEVICE},
    {"dram_latency", {"dram_latency=1.05", "dram_latency=1.4"}, {"dram_latency"}, PB_LEVEL_DEVICE},
    {"l2_latency", {"l2_latency=1.04", "l2_latency=1.3"}, {"l2_latency"}, PB_LEVEL_DEVICE},
    {"l1_size", {"l1_size=0.9", "l1_size=0.5"}, {"l1_defect"}, PB_LEVEL_DEVICE},
    {"sm_slow", {"sm_slow=3:1.04", "sm_slow=0:1.5"}, {"slow_sm"}, PB_LEVEL_SM},
    {"tail", {"tail=0.003:400", "tail=0.02:2000"}, {"tail"}, PB_LEVEL_ACCESS},
    {"throttle", {"throttle=0.9@0.3", "throttle=0.6@0.3"}, {"thermal"}, PB_LEVEL_DEVICE},
    {"pcie_width", {"pcie_width=8", "pcie_width=4"}, {"pcie_link"}, PB_LEVEL_DEVICE},
    {"bitflip", {"bitflip=1e-8", "bitflip=1e-6"}, {"integrity"}, PB_LEVEL_DEVICE},
    {"hang", {"hang@shared_latency", "hang@dram_latency"}, {"hung"}, PB_LEVEL_DEVICE},
    {"crash", {"crash@bank_conflict", "crash@l2_line"}, {"crashed"}, PB_LEVEL_DEVICE},
    {"lost", {"lost@memory_pattern", "lost@host_link"}, {"off_the_bus"}, PB_LEVEL_DEVICE},
    {"absent", {"absent", "absent"}, {"absent"}, PB_LEVEL_DEVICE},
};

/* Where sick devices stand: one, another of the same node, one of the other model. */
static const struct place {
    int node, slot;
} places[PLACES] = {{2, 1}, {2, 2}, {11, 3}};

struct bed {
    const char *profiles[2];
    struct pb_sheet healthy[NODES][SLOTS];
    struct pb_sheet sick[PLACES][KINDS][STRENGTHS];
    struct pb_error err;
    bool verbose;
};

/* What was expected and seen of a family of fleets. */
struct tally {
    size_t faults, found, right, fleets, blamed;
};

static void die(const struct pb_error *err)
{
    fprintf(stderr, "bench_faults: %s\n", err->message);
    exit(1);
}

static void name_host(int node, char host[PB_KEY_LENGTH])
{
    snprintf(host, PB_KEY_LENGTH, "n%02d", node + 1);
}

static void measure(struct bed *bed, int node, int slot, const char *first, const char *second,
                    struct pb_sheet *row)
{
    char host[PB_KEY_LENGTH];
    struct fleetbuild_device device = {.profile = bed->profiles[node >= NODES / 2],
                                       .host = host,
                                       .slot = slot,
                                       .faults = {first, second},
                                       .battery = PB_QUICK};

    name_host(node, host);
    if (fleetbuild_measure(&device, row, &bed->err) != PB_OK)
        die(&bed->err);
}

static void measure_all(struct bed *bed)
{
    for (int node = 0; node < NODES; node++)
        for (int slot = 0; slot < SLOTS; slot++)
            measure(bed, node, slot, NULL, NULL, &bed->healthy[node][slot]);
    for (int p = 0; p < PLACES; p++)
        for (int k = 0; k < KINDS; k++)
            for (int s = 0; s < STRENGTHS; s++)
                measure(bed, places[p].node, places[p].slot, kinds[k].specs[s], NULL,
                        &bed->sick[p][k][s]);
}

/* A sick row at a place; NULL row: the place is healthy. */
struct guest {
    const struct pb_sheet *row;
    int place;
};

static void judge(struct bed *bed, const struct guest *guests, size_t guest_count,
                  struct pb_findings *findings_out)
{
    struct pb_sheet fleet = {0};

    for (int node = 0; node < NODES; node++) {
        for (int slot = 0; slot < SLOTS; slot++) {
            const struct pb_sheet *row = &bed->healthy[node][slot];

            for (size_t i = 0; i < guest_count; i++)
                if (places[guests[i].place].node == node && places[guests[i].place].slot == slot)
                    row = guests[i].row;
            if (fleetbuild_add(&fleet, row, &bed->err) != PB_OK)
                die(&bed->err);
        }
    }
    if (fleetbuild_judge(&fleet, findings_out, &bed->err) != PB_OK)
        die(&bed->err);
    pb_sheet_clear(&fleet);
}

static void name_place(int place, char key[PB_KEY_LENGTH])
{
    char host[PB_KEY_LENGTH];

    name_host(places[place].node, host);
    snprintf(key, PB_KEY_LENGTH, "%.80s.gpu%d", host, places[place].slot);
}

/* Does a finding name this device (or a part of it)? */
static bool names(const struct pb_finding *finding, const char *key)
{
    return strcmp(finding->device, key) == 0 || strcmp(finding->place, key) == 0;
}

/* 0: nothing names the device; 1: something does; 2: with cause and level. */
static int verdict_of(const struct pb_findings *findings, const struct kind *kind, const char *key)
{
    int best = 0;

    for (size_t i = 0; i < findings->count; i++) {
        const struct pb_finding *finding = &findings->items[i];

        if (!names(finding, key))
            continue;
        best = best < 1 ? 1 : best;
        for (size_t c = 0; c < 3 && kind->causes[c] != NULL; c++)
            if (strcmp(finding->cause, kind->causes[c]) == 0 && finding->level == kind->level)
                best = 2;
    }
    return best;
}

/* Findings of anybody that is not sick. */
static size_t blamed(const struct pb_findings *findings, const struct guest *guests,
                     size_t guest_count)
{
    size_t count = 0;

    for (size_t i = 0; i < findings->count; i++) {
        bool is_sick = false;

        for (size_t g = 0; g < guest_count; g++) {
            char key[PB_KEY_LENGTH];

            name_place(guests[g].place, key);
            is_sick |= names(&findings->items[i], key);
        }
        count += !is_sick;
    }
    return count;
}

static void print_findings(const char *title, const struct pb_findings *findings)
{
    printf("  %s\n", title);
    for (size_t i = 0; i < findings->count; i++) {
        const struct pb_finding *finding = &findings->items[i];

        printf("    %-8s %-10s %-18s %-16s %3zu  %s\n", pb_severity_name(finding->severity),
               pb_level_name(finding->level), finding->place, finding->cause,
               (size_t)finding->metrics, finding->evidence);
    }
}

/* One fleet; wanted[i] is at guests[at[i]]. */
static void tally_fleet(struct bed *bed, const char *title, const struct guest *guests,
                        size_t guest_count, const struct kind *const *wanted, const size_t *at,
                        size_t wanted_count, struct tally *tally)
{
    struct pb_findings findings = {0};
    bool is_good;
    size_t others;

    judge(bed, guests, guest_count, &findings);
    others = blamed(&findings, guests, guest_count);
    is_good = others == 0;
    tally->fleets++;
    tally->blamed += others;
    for (size_t i = 0; i < wanted_count; i++) {
        char key[PB_KEY_LENGTH];
        int verdict;

        name_place(guests[at[i]].place, key);
        verdict = verdict_of(&findings, wanted[i], key);
        tally->faults++;
        tally->found += verdict > 0;
        tally->right += verdict == 2;
        is_good &= verdict == 2;
    }
    if (bed->verbose && !is_good)
        print_findings(title, &findings);
    pb_findings_clear(&findings);
}

static void print_tally(const char *what, const struct tally *tally)
{
    printf("%-34s %4zu fleets, %4zu faults: %5.1f%% found, %5.1f%% with level and cause, "
           "%zu others blamed\n",
           what, tally->fleets, tally->faults,
           tally->faults > 0 ? 100.0 * (double)tally->found / (double)tally->faults : 100.0,
           tally->faults > 0 ? 100.0 * (double)tally->right / (double)tally->faults : 100.0,
           tally->blamed);
}

static void alone(struct bed *bed)
{
    struct tally tally = {0};

    tally_fleet(bed, "healthy", NULL, 0, NULL, NULL, 0, &tally);
    print_tally("healthy", &tally);
    tally = (struct tally){0};
    for (int k = 0; k < KINDS; k++)
        for (int s = 0; s < STRENGTHS; s++)
            for (int p = 0; p < PLACES; p++) {
                struct guest guest = {&bed->sick[p][k][s], p};
                const struct kind *wanted = &kinds[k];
                size_t at = 0;

                tally_fleet(bed, kinds[k].specs[s], &guest, 1, &wanted, &at, 1, &tally);
            }
    print_tally("one fault", &tally);
}

/* Two devices: of different models, or on one node. */
static void pairs(struct bed *bed, int other, const char *what)
{
    struct tally tally = {0};

    for (int k = 0; k < KINDS; k++)
        for (int j = k + 1; j < KINDS; j++)
            for (int s = 0; s < STRENGTHS * STRENGTHS; s++) {
                int s1 = s % STRENGTHS, s2 = s / STRENGTHS;
                struct guest guests[2] = {{&bed->sick[0][k][s1], 0},
                                          {&bed->sick[other][j][s2], other}};
                const struct kind *wanted[2] = {&kinds[k], &kinds[j]};
                size_t at[2] = {0, 1};
                char title[128];

                snprintf(title, sizeof(title), "%s and %s", kinds[k].specs[s1], kinds[j].specs[s2]);
                tally_fleet(bed, title, guests, 2, wanted, at, 2, &tally);
            }
    print_tally(what, &tally);
}

/* Two faults of one device. What is absent shows nothing else. */
static void doubles(struct bed *bed)
{
    struct tally tally = {0};

    for (int k = 0; k < KINDS; k++)
        for (int j = k + 1; j < KINDS; j++)
            for (int s = 0; s < STRENGTHS; s++) {
                struct pb_sheet row = {0};
                struct guest guest = {&row, 0};
                const struct kind *wanted[2] = {&kinds[j], &kinds[k]};
                size_t at[2] = {0, 0};
                bool is_absent = strcmp(kinds[j].name, "absent") == 0;
                char title[128];

                measure(bed, places[0].node, places[0].slot, kinds[k].specs[s], kinds[j].specs[s],
                        &row);
                snprintf(title, sizeof(title), "%s with %s", kinds[k].specs[s], kinds[j].specs[s]);
                tally_fleet(bed, title, &guest, 1, wanted, at, is_absent ? 1 : 2, &tally);
                pb_sheet_clear(&row);
            }
    print_tally("two faults of one device", &tally);
}

static void clear(struct bed *bed)
{
    for (int node = 0; node < NODES; node++)
        for (int slot = 0; slot < SLOTS; slot++)
            pb_sheet_clear(&bed->healthy[node][slot]);
    for (int p = 0; p < PLACES; p++)
        for (int k = 0; k < KINDS; k++)
            for (int s = 0; s < STRENGTHS; s++)
                pb_sheet_clear(&bed->sick[p][k][s]);
}

int main(int argc, char **argv)
{
    static struct bed bed = {.profiles = {"c2070", "gtx560ti"}};
    int at = 1;

    if (at < argc && strcmp(argv[at], "-v") == 0) {
        bed.verbose = true;
        at++;
    }
    if (argc - at == 2) {
        bed.profiles[0] = argv[at];
        bed.profiles[1] = argv[at + 1];
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    measure_all(&bed);
    alone(&bed);
    pairs(&bed, 2, "two devices, other models");
    pairs(&bed, 1, "two devices of one node");
    doubles(&bed);
    clear(&bed);
    return 0;
}
