/*
 * entry_count, set_count, way_counts, reach_bytes and index of a level of translation from its sets
 * (tlb_sets.h), where these foretell what every walk misses. Then all devices of a model say the
 * same, wherever their arrays begin: an array that does not begin with a whole turn through the
 * sets overflows one of them before the level is full.
 */
#include "analysis/tlb/infer_tlb.h"

#include "analysis/confidence.h"

/* Accesses weigh no more than so many pieces of evidence. */
enum { PIECES_MAX = 40 };

void pb_tlb_state_sets(const struct pb_case *at, const struct pb_tlb_sets *sets,
                       uint64_t span_bytes, uint64_t overflow_bytes)
{
    double entries = (double)sets->set_count * (double)sets->ways;
    double reach = entries * (double)span_bytes, ways = (double)sets->ways;
    double least = entries / (double)sets->finest_sets, count = (double)sets->set_count;
    struct pb_votes votes = {0, 0};

    pb_votes_add_share(&votes, sets->foretold, sets->seen, PIECES_MAX);
    pb_parameter_set_number(
        pb_case_answer(at, "entry_count"), (struct pb_estimate){entries, entries, entries},
        pb_votes_confidence(&votes),
        "%zu sets of %zu, as N14 5.1: pages that begin to miss together; they predict %zu of %zu "
        "accesses where some hit and some miss, %zu of %zu misses",
        sets->set_count, sets->ways, sets->foretold, sets->seen, sets->foretold_misses,
        sets->misses);
    pb_parameter_set_number(pb_case_answer(at, "reach_bytes"),
                            (struct pb_estimate){reach, reach, reach}, pb_votes_confidence(&votes),
                            "entries by span; the array of this run begins where a set overflows "
                            "with %llu bytes already",
                            (unsigned long long)overflow_bytes);
    if (sets->finest_sets > sets->set_count)
        pb_votes_doubt(&votes);
    pb_parameter_set_number(
        pb_case_answer(at, "set_count"),
        (struct pb_estimate){count, count, (double)sets->finest_sets}, pb_votes_confidence(&votes),
        "%zu bits of an index, by pages that begin to miss together", sets->mask_count);
    pb_parameter_set_number(
        pb_case_answer(at, "way_counts"), (struct pb_estimate){ways, least, ways},
        pb_votes_confidence(&votes),
        "%zu sets predict the misses, at this run's array address, as well as %zu would; LRU",
        sets->set_count, sets->finest_sets);
    pb_tlb_state_index(at, sets, span_bytes, pb_votes_confidence(&votes));
}

bool pb_tlb_are_equal(const double *ways, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (ways[i] != ways[0])
            return false;
    return true;
}

void pb_tlb_state_list(const struct pb_case *at, const double *ways, size_t count,
                       double confidence)
{
    struct pb_parameter *answer = pb_case_answer(at, "way_counts");
    struct pb_estimate sets = {(double)count, (double)count, (double)count};
    struct pb_estimate list[PB_LIST_MAX] = {{0.0, 0.0, 0.0}};

    for (size_t i = 0; i < count; i++)
        list[i] = (struct pb_estimate){ways[i], ways[i], ways[i]};
    pb_parameter_set_number(pb_case_answer(at, "set_count"), sets, confidence,
                            "M16 4.4: sets overflow one after the other until all entries do");
    if (pb_tlb_are_equal(ways, count))
        pb_parameter_set_number(answer, list[0], confidence,
                                "M16 4.4: %zu equal sets overflow one after the other", count);
    else
        pb_parameter_set_list(answer, list, count, confidence,
                              "M16 4.4: misses by page beyond the reach, set by set in the order "
                              "of addresses");
}
