/*
 * What of a level of translation may as well be otherwise, because the level before it hides that:
 * the value stays, in an interval that holds what would show as well.
 */
#include "analysis/tlb/infer_tlb.h"

/* low, high: by how much the ends of the interval move out. */
static void widen(const struct pb_case *at, const char *name, double low, double high,
                  const char *why)
{
    struct pb_parameter *answer = pb_case_answer(at, name);

    pb_parameter_doubt(answer, low * answer->numbers[0].low, high * answer->numbers[0].high, why);
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
    double span = pb_case_answer(at, "entry_span_bytes")->numbers[0].value, times;
    struct pb_parameter *masks = pb_case_answer(at, "index_masks");

    before[5] = (char)(at->inference->memory[5] - 1);
    if (pb_case_answer(at, "entry_span_bytes")->kind != PB_VALUE_NUMBER ||
        span <= (double)least_bytes ||
        !(pb_parameters_number(at->parameters, before, "entry_span_bytes") >= span))
        return;
    times = span / (double)least_bytes;
    widen(at, "entry_span_bytes", 1.0 / times, 1.0, why);
    widen(at, "reach_bytes", 1.0 / times, 1.0, why);
    widen(at, "entry_count", 1.0, times, why);
    widen(at, "set_count", 1.0, times, why);
    widen(at, "way_counts", 1.0, 1.0, why);
    if (masks->kind != PB_VALUE_NONE)
        pb_parameter_set_none(masks,
                              "walks in order ask only for the first page of every %.0f bytes: "
                              "bits below are open",
                              span);
}
