/* Votes of the evidence, and what they are worth; see confidence.h. */
#include "analysis/confidence.h"

#include <string.h>

void pb_votes_add(struct pb_votes *votes, bool agrees)
{
    pb_votes_add_many(votes, agrees ? 1 : 0, 1);
}

void pb_votes_add_many(struct pb_votes *votes, size_t agreeing, size_t seen)
{
    votes->agreeing += (double)agreeing;
    votes->seen += (double)seen;
}

void pb_votes_add_share(struct pb_votes *votes, size_t agreeing, size_t seen, size_t most)
{
    double weight = seen > most ? (double)most / (double)seen : 1.0;

    votes->agreeing += weight * (double)agreeing;
    votes->seen += weight * (double)seen;
}

void pb_votes_contradict(struct pb_votes *votes)
{
    votes->seen += votes->seen > 1.0 ? votes->seen : 1.0;
}

double pb_votes_confidence(const struct pb_votes *votes)
{
    return (votes->agreeing + 1.0) / (votes->seen + 2.0);
}

double pb_confidence_of_one(void)
{
    struct pb_votes votes = {0, 0};

    pb_votes_add(&votes, true);
    return pb_votes_confidence(&votes);
}

/* Which family a parameter is of: the first row that fits; an empty text fits all. */
static const struct {
    const char *memory; /* begins with */
    const char *name;   /* ends with */
    enum pb_value_family family;
} families[] = {
    {"tlb_l3", "penalty_cycles", PB_FAMILY_TLB_THIRD},
    {"tlb_l3", "entry_coverage_bytes", PB_FAMILY_TLB_THIRD},
    {"tlb_l3", "page_bytes", PB_FAMILY_TLB_THIRD},
    {"tlb_", "penalty_cycles", PB_FAMILY_TLB_STEP},
    {"tlb_", "entry_coverage_bytes", PB_FAMILY_TLB_STEP},
    {"tlb_", "page_bytes", PB_FAMILY_TLB_STEP},
    {"tlb_", "entry_count", PB_FAMILY_TLB},
    {"tlb_", "reach_bytes", PB_FAMILY_TLB},
    {"tlb_", "", PB_FAMILY_TLB_SETS},
    {"sm", "", PB_FAMILY_TOPOLOGY},
    {"l2", "partition_sm_counts", PB_FAMILY_TOPOLOGY},
    {"l2", "address_group_count", PB_FAMILY_TOPOLOGY},
    {"l2", "slice_count", PB_FAMILY_TOPOLOGY},
    {"l2", "size_bytes", PB_FAMILY_SAMPLED},
    {"l2", "line_bytes", PB_FAMILY_SAMPLED},
    {"l2", "set_count", PB_FAMILY_SAMPLED},
    {"l2", "way_counts", PB_FAMILY_SAMPLED},
    {"l2", "index_kind", PB_FAMILY_SAMPLED},
    {"l2", "index_masks", PB_FAMILY_SAMPLED},
    {"mshr", "", PB_FAMILY_EDGE},
    {"", "full_miss_bytes", PB_FAMILY_EDGE},
    {"", "first_miss_bytes", PB_FAMILY_EDGE},
    {"", "stride_knee_bytes", PB_FAMILY_EDGE},
    {"", "_cycles", PB_FAMILY_TIME},
    {"", "_ns", PB_FAMILY_TIME},
    {"", "_mhz", PB_FAMILY_TIME},
    {"", "_per_s", PB_FAMILY_RATE},
    {"", "_per_cycle", PB_FAMILY_RATE},
    {"", "_per_cycle_per_sm", PB_FAMILY_RATE},
    {"", "_efficiency", PB_FAMILY_RATE},
    {"", "_ratio", PB_FAMILY_RATE},
    {"", "best_config", PB_FAMILY_RATE},
    {"", "_slowdown", PB_FAMILY_RATE},
    {"", "_share", PB_FAMILY_RATE},
    {"", "_runs", PB_FAMILY_RATE},
    {"", "_words", PB_FAMILY_RATE},
    {"", "_limit", PB_FAMILY_RATE},
    {"", "", PB_FAMILY_STRUCTURE},
};

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), own = strlen(end);

    return length >= own && strcmp(text + length - own, end) == 0;
}

enum pb_value_family pb_confidence_family(const char *memory, const char *name)
{
    size_t row = 0;

    while (!begins_with(memory, families[row].memory) || !ends_with(name, families[row].name))
        row++;
    return families[row].family;
}

const char *pb_confidence_family_name(enum pb_value_family family)
{
    static const char *const names[PB_FAMILIES] = {[PB_FAMILY_TIME] = "time",
                                                   [PB_FAMILY_RATE] = "rate",
                                                   [PB_FAMILY_STRUCTURE] = "structure",
                                                   [PB_FAMILY_EDGE] = "edge",
                                                   [PB_FAMILY_TLB] = "tlb",
                                                   [PB_FAMILY_TLB_STEP] = "tlb_step",
                                                   [PB_FAMILY_TLB_THIRD] = "tlb_third",
                                                   [PB_FAMILY_TLB_SETS] = "tlb_sets",
                                                   [PB_FAMILY_TOPOLOGY] = "topology",
                                                   [PB_FAMILY_SAMPLED] = "sampled"};

    return names[family];
}

/* Bands of the share of the votes begin here. */
enum { BANDS = 8 };
static const double bands[BANDS] = {0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.98};

/*
 * The share of values that were right, by family and band. Printed by
 * tests/analysis/blind/calibrate.py from 1,406 random devices, nearly all as each was when it was
 * first seen: 9902181 to 800, 20004111 to 730, and 168 of the other kinds (docs/parameters.md).
 */
static const double right[PB_FAMILIES][BANDS] = {
    [PB_FAMILY_TIME] = {0.9990, 0.9990, 0.9990, 0.9990, 0.9990, 0.9990, 0.9990, 0.9990},
    [PB_FAMILY_RATE] = {0.9990, 0.9990, 0.9990, 0.9990, 0.9990, 0.9990, 0.9990, 0.9990},
    [PB_FAMILY_STRUCTURE] = {0.8461, 0.9976, 0.9976, 0.9976, 0.9976, 0.9987, 0.9990, 0.9990},
    [PB_FAMILY_EDGE] = {0.9990, 0.9990, 0.9990, 0.9990, 0.9990, 0.9990, 0.9990, 0.9990},
    [PB_FAMILY_TLB_STEP] = {0.9740, 0.9936, 0.9936, 0.9974, 0.9974, 0.9974, 0.9990, 0.9990},
    [PB_FAMILY_TLB_THIRD] = {0.9883, 0.9883, 0.9883, 0.9883, 0.9883, 0.9883, 0.9883, 0.9974},
    [PB_FAMILY_TLB] = {0.6241, 0.6241, 0.9511, 0.9914, 0.9914, 0.9914, 0.9914, 0.9987},
    [PB_FAMILY_TLB_SETS] = {0.4605, 0.9421, 0.9421, 0.9682, 0.9728, 0.9807, 0.9807, 0.9978},
    [PB_FAMILY_TOPOLOGY] = {0.9983, 0.9983, 0.9983, 0.9988, 0.9988, 0.9988, 0.9988, 0.9990},
    [PB_FAMILY_SAMPLED] = {0.9677, 0.9892, 0.9955, 0.9955, 0.9990, 0.9990, 0.9990, 0.9990},
};

double pb_confidence_calibrated(enum pb_value_family family, double votes)
{
    size_t band = 0;

    if (!(votes > 0.0))
        return 0.0;
    while (band + 1 < BANDS && votes >= bands[band + 1])
        band++;
    return right[family][band];
}
