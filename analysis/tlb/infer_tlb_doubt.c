/*
 * What of a level of translation may as well be otherwise, because the level before it hides that:
 * the value stays, in an interval that holds what would show as well.
 */
#include "analysis/tlb/infer_tlb.h"

/* Where so many miss, no set holds all that come to it. */
static const double full_share = 0.9;

/* low, high: by how much the ends of the interval move out. */
static void widen(const struct pb_case *at, const char *name, double low, double high,
                  const char *why)
{
    struct pb_parameter *answer = pb_case_answer(at, name);

    pb_parameter_widen(answer, low * answer->numbers[0].low, high * answer->numbers[0].high, why);
}

/* Do nearly all entries of this walk miss? Of several pages of an entry only the first one may. */
static bool is_full(const struct pb_tlb_view *view, const struct pb_tlb_walk *walk)
{
    double pages = (double)view->span_bytes / (double)walk->stride_bytes;
    size_t misses = 0;

    for (size_t i = 0; i < walk->accesses.count; i++)
        misses += pb_tlb_misses(view->tlb, walk, i, view->level);
    return (double)misses * pages >= full_share * (double)walk->accesses.count;
}

void pb_tlb_doubt_onset(const struct pb_case *at, const struct pb_tlb_view *view, uint64_t entries)
{
    static const char why[] = "sets that fill unevenly begin to miss as early";
    const struct pb_tlb *tlb = view->tlb;
    uint64_t most = 0, full = UINT64_MAX;

    for (size_t i = 0; i < tlb->walk_count; i++) {
        const struct pb_tlb_walk *walk = &tlb->walks[i];
        uint64_t held = walk->pages * walk->stride_bytes / view->span_bytes;

        if (walk->stride_bytes > view->span_bytes || held <= entries)
            continue;
        most = held > most ? held : most;
        if (held < full && is_full(view, walk))
            full = held;
    }
    full = full == UINT64_MAX ? most : full - 1;
    if (full <= entries)
        return;
    widen(at, "entry_count", 1.0, (double)full / (double)entries, why);
    widen(at, "reach_bytes", 1.0, (double)full / (double)entries, why);
}

void pb_tlb_doubt_count(const struct pb_case *at, uint64_t entries, uint64_t asked)
{
    static const char why[] = "the level before answers for some of them";
    double least = (double)asked / (double)entries;

    if (asked == 0 || asked >= entries)
        return;
    widen(at, "entry_count", least, 1.0, why);
    widen(at, "reach_bytes", least, 1.0, why);
    widen(at, "way_counts", least, 1.0, why);
}

void pb_tlb_doubt_span(const struct pb_case *at, uint64_t least_bytes)
{
    static const char why[] = "entries that span less show the same behind the level before";
    char before[] = "tlb_l0";
    double span = pb_case_answer(at, "entry_coverage_bytes")->numbers[0].value, times;
    struct pb_parameter *masks = pb_case_answer(at, "index_masks");

    before[5] = (char)(at->inference->memory[5] - 1);
    if (pb_case_answer(at, "entry_coverage_bytes")->kind != PB_VALUE_NUMBER ||
        span <= (double)least_bytes ||
        !(pb_parameters_number(at->parameters, before, "entry_coverage_bytes") >= span))
        return;
    times = span / (double)least_bytes;
    widen(at, "entry_coverage_bytes", 1.0 / times, 1.0, why);
    widen(at, "reach_bytes", 1.0 / times, 1.0, why);
    widen(at, "entry_count", 1.0, times, why);
    widen(at, "set_count", 1.0, times, why);
    widen(at, "way_counts", 1.0, 1.0, why);
    if (masks->kind != PB_VALUE_NONE)
        pb_parameter_set_none(masks,
                              "sequential passes look up only the first page of every %.0f bytes: "
                              "lower bits are undetermined",
                              span);
}
