/*
 * Every fault of design 3.5, alone and in pairs, in fleets of 64 simulated devices of two models on
 * 16 nodes: how many are found, how many with the right level and cause, who else is blamed,
 * and how many findings a sick device has beyond one for each of its faults.
 *
 *     bench_faults [-v] [PROFILE PROFILE]
 *
 * Rows are measured once; fleets are put together from them, so that pairs cost only judging. -v
 * prints every finding of every fleet that was not judged as it should have been.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verdict/faults.h"
#include "verdict/fleetbuild.h"

enum { NODES = 16, SLOTS = 4, STRENGTHS = FAULT_STRENGTHS, KINDS = FAULT_KINDS, PLACES = 3 };

/* Where sick devices stand: one, another of the same node, one of the other model. */
static const struct place {
    int node, slot;
} places[PLACES] = {{2, 1}, {2, 2}, {11, 3}};

struct bed {
    const char *profiles[2];
    struct pb_features healthy[NODES][SLOTS];
    struct pb_features sick[PLACES][KINDS][STRENGTHS];
    struct pb_error err;
    bool verbose;
};

/* What was expected and seen of a family of fleets. */
struct tally {
    size_t faults, found, right, fleets, blamed, spare;
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
                    struct pb_features *row)
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
                measure(bed, places[p].node, places[p].slot, fault_kinds[k].specs[s], NULL,
                        &bed->sick[p][k][s]);
}

/* A sick row instead of the healthy one. */
struct guest {
    const struct pb_features *row;
    struct place place;
};

static void judge(struct bed *bed, const struct guest *guests, size_t guest_count,
                  struct pb_findings *findings_out)
{
    struct pb_features fleet = {0};

    for (int node = 0; node < NODES; node++) {
        for (int slot = 0; slot < SLOTS; slot++) {
            const struct pb_features *row = &bed->healthy[node][slot];

            for (size_t i = 0; i < guest_count; i++)
                if (guests[i].place.node == node && guests[i].place.slot == slot)
                    row = guests[i].row;
            if (fleetbuild_add(&fleet, row, &bed->err) != PB_OK)
                die(&bed->err);
        }
    }
    if (fleetbuild_judge(&fleet, findings_out, &bed->err) != PB_OK)
        die(&bed->err);
    pb_features_clear(&fleet);
}

static void name_place(struct place place, char key[PB_KEY_LENGTH])
{
    char host[PB_KEY_LENGTH];

    name_host(place.node, host);
    snprintf(key, PB_KEY_LENGTH, "%.80s.gpu%d", host, place.slot);
}

/* One fleet; the fault wanted[i] is that of guests[at[i]]. */
static void tally_fleet(struct bed *bed, const char *title, const struct guest *guests,
                        size_t guest_count, const struct fault_kind *const *wanted,
                        const size_t *at, size_t wanted_count, struct tally *tally)
{
    char keys[PLACES][PB_KEY_LENGTH];
    const char *sick[PLACES];
    struct pb_findings findings = {0};
    bool is_good;
    size_t others, spare;

    for (size_t i = 0; i < guest_count; i++) {
        name_place(guests[i].place, keys[i]);
        sick[i] = keys[i];
    }
    judge(bed, guests, guest_count, &findings);
    others = fault_blamed(&findings, sick, guest_count);
    spare = findings.count - others > wanted_count ? findings.count - others - wanted_count : 0;
    is_good = others == 0 && spare == 0;
    tally->fleets++;
    tally->blamed += others;
    tally->spare += spare;
    for (size_t i = 0; i < wanted_count; i++) {
        enum fault_verdict verdict = fault_verdict_of(&findings, wanted[i], sick[at[i]]);

        tally->faults++;
        tally->found += verdict != FAULT_MISSED;
        tally->right += verdict == FAULT_RIGHT;
        is_good &= verdict == FAULT_RIGHT;
    }
    if (bed->verbose && !is_good)
        fault_print(title, &findings);
    pb_findings_clear(&findings);
}

static void print_tally(const char *what, const struct tally *tally)
{
    printf("%-34s %4zu fleets, %4zu faults: %5.1f%% found, %5.1f%% with level and cause, "
           "%zu others named, %zu reported twice\n",
           what, tally->fleets, tally->faults,
           tally->faults > 0 ? 100.0 * (double)tally->found / (double)tally->faults : 100.0,
           tally->faults > 0 ? 100.0 * (double)tally->right / (double)tally->faults : 100.0,
           tally->blamed, tally->spare);
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
                struct guest guest = {&bed->sick[p][k][s], places[p]};
                const struct fault_kind *wanted = &fault_kinds[k];
                size_t at = 0;

                tally_fleet(bed, fault_kinds[k].specs[s], &guest, 1, &wanted, &at, 1, &tally);
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
                struct guest guests[2] = {{&bed->sick[0][k][s1], places[0]},
                                          {&bed->sick[other][j][s2], places[other]}};
                const struct fault_kind *wanted[2] = {&fault_kinds[k], &fault_kinds[j]};
                size_t at[2] = {0, 1};
                char title[128];

                snprintf(title, sizeof(title), "%s and %s", fault_kinds[k].specs[s1],
                         fault_kinds[j].specs[s2]);
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
                struct pb_features row = {0};
                struct guest guest = {&row, places[0]};
                const struct fault_kind *wanted[2] = {&fault_kinds[j], &fault_kinds[k]};
                size_t at[2] = {0, 0};
                bool is_absent = strcmp(fault_kinds[j].name, "absent") == 0;
                char title[128];

                measure(bed, places[0].node, places[0].slot, fault_kinds[k].specs[s],
                        fault_kinds[j].specs[s], &row);
                snprintf(title, sizeof(title), "%s with %s", fault_kinds[k].specs[s],
                         fault_kinds[j].specs[s]);
                tally_fleet(bed, title, &guest, 1, wanted, at, is_absent ? 1 : 2, &tally);
                pb_features_clear(&row);
            }
    print_tally("two faults of one device", &tally);
}

/* At the practical size, one by one: what is seen of it is printed, not required. */
static void faint(struct bed *bed)
{
    struct tally tally = {0};

    for (int k = 0; k < KINDS; k++) {
        struct pb_features row = {0};
        struct guest guest = {&row, places[0]};
        const struct fault_kind *wanted = &fault_kinds[k];
        size_t at = 0;

        measure(bed, places[0].node, places[0].slot, wanted->faint, NULL, &row);
        tally_fleet(bed, wanted->faint, &guest, 1, &wanted, &at, 1, &tally);
        pb_features_clear(&row);
    }
    print_tally("one faint fault", &tally);
}

/* One fault of every device of a node, or of one slot of six nodes; reported once, as what it is.
 */
static void shared_by(struct bed *bed, enum pb_level level)
{
    static const int shared[] = {0, 1, 2, 3, 6, 7, 8}; /* what a node or a slot can do to a GPU */
    struct tally tally = {0};

    for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++) {
        const struct fault_kind *kind = &fault_kinds[shared[i]];
        struct pb_features rows[6] = {{0}};
        struct guest guests[6];
        struct pb_findings findings = {0};
        size_t count = level == PB_LEVEL_NODE ? SLOTS : 6;
        const char *place = level == PB_LEVEL_NODE ? "n04" : "slot 2";
        enum fault_verdict verdict;

        for (size_t k = 0; k < count; k++) {
            guests[k].place =
                level == PB_LEVEL_NODE ? (struct place){3, (int)k} : (struct place){(int)k + 1, 2};
            guests[k].row = &rows[k];
            measure(bed, guests[k].place.node, guests[k].place.slot, kind->specs[0], NULL,
                    &rows[k]);
        }
        judge(bed, guests, count, &findings);
        verdict = fault_verdict_at(&findings, kind, level, place);
        tally.fleets++;
        tally.faults++;
        tally.found += findings.count > 0;
        tally.right += verdict == FAULT_RIGHT;
        tally.blamed += fault_blamed(&findings, &place, 1);
        if (bed->verbose && (verdict != FAULT_RIGHT || findings.count != 1))
            fault_print(kind->specs[0], &findings);
        pb_findings_clear(&findings);
        for (size_t k = 0; k < count; k++)
            pb_features_clear(&rows[k]);
    }
    print_tally(level == PB_LEVEL_NODE ? "all devices of a node" : "one slot of six nodes", &tally);
}

static void clear(struct bed *bed)
{
    for (int node = 0; node < NODES; node++)
        for (int slot = 0; slot < SLOTS; slot++)
            pb_features_clear(&bed->healthy[node][slot]);
    for (int p = 0; p < PLACES; p++)
        for (int k = 0; k < KINDS; k++)
            for (int s = 0; s < STRENGTHS; s++)
                pb_features_clear(&bed->sick[p][k][s]);
}

int main(int argc, char **argv)
{
    static struct bed bed = {.profiles = {"quadro2000", "c2070"}};
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
    faint(&bed);
    shared_by(&bed, PB_LEVEL_NODE);
    shared_by(&bed, PB_LEVEL_SLOT);
    pairs(&bed, 2, "two devices, other models");
    pairs(&bed, 1, "two devices of one node");
    doubles(&bed);
    clear(&bed);
    return 0;
}
