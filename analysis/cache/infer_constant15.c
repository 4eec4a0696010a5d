/*
 * Parameters of constant_l15, the cache behind the first constant cache.
 *
 * It is asked as every cache is, by chases whose every load misses the first one. Where all that
 * constant memory can hold fits in it, its size has no upper end: the parameter is then open, and
 * its reason tells how much fits.
 *
 * Limit: constant memory is 64 KiB, so no larger size can ever show.
 *
 * Source: M16 4.2 for the chases; facts 1 and 2.8 on the second constant cache.
 */
#include "analysis/infer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/cache/onset.h"
#include "analysis/constants.h"
#include "analysis/trace.h"

/* The largest array that was loaded, in bytes. */
static uint64_t largest_chase(const struct pb_series *series)
{
    static const struct pb_pick chases[] = {{"constant", NULL, "coarse"},
                                            {"constant", NULL, "bisect"}};
    const struct pb_point *point;
    uint64_t largest = 0;

    for (size_t i = 0; i < sizeof(chases) / sizeof(chases[0]); i++)
        for (size_t at = 0; (point = pb_point_next(series, &chases[i], &at)) != NULL;)
            if (point->footprint_bytes > largest)
                largest = point->footprint_bytes;
    return largest;
}

/* Takes back what was stated of the row's memory, for this reason. */
static void retract(const struct pb_case *at, const char *reason)
{
    const struct pb_answer *answers = at->inference->answers;

    for (size_t i = 0; i < PB_INFERENCE_ANSWERS_MAX && answers[i].name != NULL; i++)
        pb_parameter_set_none(pb_case_answer(at, answers[i].name), "%s", reason);
}

/* What L2 answers in, at least: by its own chases, or by what misses L1. NaN: not known. */
static double find_l2_cycles(const struct pb_parameters *parameters)
{
    static const char *const sources[][2] = {{"l2", "latency_cycles"},
                                             {"l1", "miss_latency_cycles"}};
    double least = NAN;

    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        const struct pb_parameter *source =
            pb_parameters_find(parameters, sources[i][0], sources[i][1]);

        if (source != NULL && source->kind == PB_VALUE_NUMBER)
            least = fmin(least, source->numbers[0].low);
    }
    return least;
}

/*
 * Loads that are no faster than L2's hits come from there, whatever others the first cache answers.
 * PB_NOT_FOUND: they do, or its latency or the first cache's is not known, so that they may, or may
 * be that one's hits.
 */
static enum pb_status check_apart(const struct pb_case *at, struct pb_error *err)
{
    const struct pb_parameter *own = pb_case_answer(at, "latency_cycles");
    const struct pb_parameter *first =
        pb_parameters_find(at->parameters, "constant_l1", "latency_cycles");
    double l2 = find_l2_cycles(at->parameters);

    if (own->kind == PB_VALUE_NUMBER && first != NULL && first->kind != PB_VALUE_NUMBER)
        return pb_fail(err, PB_NOT_FOUND,
                       "depends on the latency of constant_l1, which is undetermined: loads that "
                       "are to miss it take %.0f cycles, as its hits may",
                       own->numbers[0].high);
    if (own->kind != PB_VALUE_NUMBER || own->numbers[0].high <= (1.0 - PB_NEXT_LEVEL_ALIKE) * l2)
        return PB_OK;
    if (isnan(l2))
        return pb_fail(err, PB_NOT_FOUND,
                       "depends on the latency of l2, which is undetermined: loads that miss the "
                       "first constant cache take %.0f cycles, as L2's may",
                       own->numbers[0].high);
    return pb_fail(
        err, PB_NOT_FOUND,
        "not applicable: no second constant cache: loads that miss the first one take %.0f cycles, "
        "those from L2 %.0f",
        own->numbers[0].high, l2);
}

/* What is no second cache's latency is what misses of the first one may take as well. */
static void include_in_misses(const struct pb_case *at)
{
    const struct pb_parameter *own = pb_case_answer(at, "latency_cycles");
    struct pb_parameter *misses =
        pb_parameters_find(at->parameters, "constant_l1", "miss_latency_cycles");

    if (own->kind == PB_VALUE_NUMBER && misses != NULL && misses->kind == PB_VALUE_NUMBER)
        pb_parameter_widen(misses, fmin(misses->numbers[0].low, own->numbers[0].low),
                           fmax(misses->numbers[0].high, own->numbers[0].high),
                           "as loads took that were looked at for a second cache");
}

/* Does no chase miss, up to the largest that was recorded? */
static bool do_all_fit(const struct pb_parameter *size, uint64_t largest)
{
    char reason[PB_TEXT_LENGTH];

    snprintf(reason, sizeof(reason), PB_ONSET_ALL_FIT, (unsigned long long)largest);
    return size->kind == PB_VALUE_NONE && strcmp(size->reason, reason) == 0;
}

enum pb_status pb_infer_constant15(const struct pb_case *at, struct pb_error *err)
{
    uint64_t largest = largest_chase(&at->recordings[0].series);
    struct pb_error apart = PB_ERROR_INIT;
    struct pb_parameter *size;
    enum pb_status status = pb_infer_capacity(at, err);

    if (status == PB_NO_MEMORY)
        return status;
    if (check_apart(at, &apart) != PB_OK) {
        include_in_misses(at);
        retract(at, apart.message);
        return PB_OK;
    }
    size = pb_case_answer(at, "size_bytes");
    if (do_all_fit(size, largest) &&
        pb_case_answer(at, "latency_cycles")->kind == PB_VALUE_NUMBER && largest > 0 &&
        largest >= at->info->constant_bytes) {
        pb_parameter_set_none(size,
                              "not observable: all %llu bytes of constant memory fit, so that it "
                              "holds at least as many",
                              (unsigned long long)largest);
        pb_parameter_set_none(
            pb_case_answer(at, "full_miss_bytes"),
            "not observable: all %llu bytes of constant memory fit, so that nothing misses",
            (unsigned long long)largest);
    }
    return status;
}
