/*
 * index_kind and index_masks of a level of translation.
 *
 * Masks are a reduced basis over address bits that the walked entries tell apart; any other basis
 * of the same space is the same index. An array lies somewhere: where it crosses a high boundary,
 * several address bits turn there together, and which of them an index takes stays open.
 *
 * Source: N14 section 5.1 for the index.
 */
#include "analysis/tlb/infer_tlb.h"

#include <stdbool.h>

#include "analysis/cache/gf2.h"

static void state_none(const struct pb_case *at, const char *reason)
{
    pb_parameter_set_none(pb_case_answer(at, "index_kind"), "%s", reason);
    pb_parameter_set_none(pb_case_answer(at, "index_masks"), "%s", reason);
}

void pb_tlb_leave_sets_open(const struct pb_case *at)
{
    static const char *const names[] = {"set_count", "index_kind", "index_masks"};
    const struct pb_parameter *ways = pb_case_answer(at, "way_counts");

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct pb_parameter *answer = pb_case_answer(at, names[i]);

        if (answer->kind == PB_VALUE_NONE && answer->reason[0] == '\0')
            pb_parameter_set_none(answer, "way_counts is undetermined: %.200s", ways->reason);
    }
}

/* The lowest bits of the entry's number, as far as bits can be told apart. */
static bool is_modulo(const struct pb_tlb_sets *sets, uint64_t span_bytes)
{
    for (size_t i = 0; i < sets->mask_count; i++)
        if ((sets->masks[i] & sets->told) != span_bytes << i)
            return false;
    return true;
}

static void state_kind(const struct pb_case *at, const char *kind, const struct pb_tlb_sets *sets,
                       double confidence)
{
    pb_parameter_set_word(pb_case_answer(at, "index_kind"), kind, confidence,
                          "parities of the address bits of the passes, %#llx",
                          (unsigned long long)sets->told);
}

void pb_tlb_state_index(const struct pb_case *at, const struct pb_tlb_sets *sets,
                        uint64_t span_bytes, double confidence)
{
    uint64_t masks = 0;

    for (size_t i = 0; i < sets->mask_count; i++)
        masks |= sets->masks[i];
    if (sets->set_count == 1) {
        state_none(at, "one set needs no index");
    } else if (sets->guessed) {
        state_none(at, "too few set conflicts were observed to resolve every bit of the index");
    } else if ((masks & ~sets->told) != 0) {
        state_none(at, "index_masks is undetermined");
        pb_parameter_set_none(pb_case_answer(at, "index_masks"),
                              "not resolved: address bits %#llx of the index change only together "
                              "with others at this run's array address",
                              (unsigned long long)(masks & ~sets->told));
        if (!is_modulo(sets, span_bytes))
            state_kind(at, "xor", sets, confidence);
    } else {
        pb_parameter_set_masks(pb_case_answer(at, "index_masks"), sets->masks, sets->mask_count,
                               confidence,
                               "reduced basis over the address bits of the passes, %#llx; any "
                               "other basis of the same space is the same index",
                               (unsigned long long)sets->told);
        state_kind(at, is_modulo(sets, span_bytes) ? "modulo" : "xor", sets, confidence);
    }
}

/* The set that an index gives an entry. */
static uint64_t place_of(const struct pb_tlb_sets *sets, uint64_t entry, bool by_modulo)
{
    uint64_t place = 0;

    if (by_modulo)
        return entry % sets->set_count;
    for (size_t i = 0; i < sets->mask_count; i++)
        place |= (uint64_t)__builtin_parityll(sets->masks[i] & entry) << i;
    return place;
}

/* Does an index give all entries of a set the same place, and those of any other set another? */
static bool explains(const struct pb_tlb_members *members, const struct pb_tlb_sets *sets,
                     bool by_modulo)
{
    size_t set_at[PB_LIST_MAX] = {0}, places = 0;

    for (size_t i = 0; i < members->count; i++) {
        uint64_t place = place_of(sets, members->first + i, by_modulo);

        if (members->sets[i] == 0)
            continue;
        places += set_at[place] == 0;
        if (set_at[place] != 0 && set_at[place] != members->sets[i])
            return false;
        set_at[place] = members->sets[i];
    }
    return places == members->set_count;
}

/* Parities that are alike within every set; false: they make another number of sets. */
static bool solve(const struct pb_tlb_members *members, struct pb_tlb_sets *sets)
{
    struct pb_gf2_span tried = {.rank = 0}, same = {.rank = 0};
    size_t first_of[PB_LIST_MAX + 1] = {0};

    for (size_t i = 0; i < members->count; i++) {
        size_t set = members->sets[i];

        if (set == 0)
            continue;
        pb_gf2_add(&tried, (members->first + i) ^ members->first);
        if (first_of[set] == 0)
            first_of[set] = i + 1;
        pb_gf2_add(&same, (members->first + i) ^ (members->first + first_of[set] - 1));
    }
    sets->set_count = members->set_count;
    if (sets->set_count != (size_t)1 << (tried.rank - same.rank))
        return false;
    sets->mask_count = pb_gf2_masks(&tried, &same, sets->masks);
    sets->told = pb_gf2_told(&tried);
    return true;
}

void pb_tlb_state_members(const struct pb_case *at, const struct pb_tlb_members *members,
                          double confidence)
{
    struct pb_tlb_sets sets = {.mask_count = 0};

    if (!members->equal) /* few pages agree with an index by chance, which gives all sets alike */
        state_none(at, "sets of unequal size: neither a modulo nor parities of address bits");
    else if (solve(members, &sets) && explains(members, &sets, false)) {
        for (size_t i = 0; i < sets.mask_count; i++)
            sets.masks[i] *= members->span_bytes;
        sets.told *= members->span_bytes;
        pb_tlb_state_index(at, &sets, members->span_bytes, confidence);
    } else if (explains(members, &sets, true)) {
        pb_parameter_set_word(pb_case_answer(at, "index_kind"), "modulo", confidence,
                              "the entry's number modulo %zu", members->set_count);
        pb_parameter_set_none(pb_case_answer(at, "index_masks"),
                              "entry's number modulo %zu: no power of two, no masks",
                              members->set_count);
    } else {
        state_none(at, "no index fits: neither a modulo nor parities of address bits agree with "
                       "the set conflicts");
    }
}
