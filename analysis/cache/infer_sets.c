/*
 * set_count, way_counts, index_kind and index_masks of a cache.
 *
 * The array fills the cache to its edge, so its lines are sets times ways. The finest index that
 * explains all conflicts (index_choice.h) tells the sets; what the laps show of them must agree.
 * Where no such index does, sets that were seen whole and are all alike still count: the index is
 * then left open. way_counts is a list where sets were seen whole and differ.
 *
 * Source: N14 section 5.1; M16 sections 4.2 (stage 2), 4.3 and 4.5.
 */
#include "analysis/infer.h"

#include <math.h>

#include "analysis/cache/index_choice.h"
#include "analysis/confidence.h"

/* More laps without a conflict than this: the array does not fill the cache. */
static const double quiet_share = 0.1;

/* Of laps recorded in several runs, each with victims of its own, the more stay quiet by chance. */
static const double quiet_share_in_pieces = 0.4;

/* Added lines of which an index must foretell whether they make others miss. */
static const double foretold_share = 0.97;

/* An index that fits by chance with this probability is none. */
static const double significance = 1e-3;

/* Lines seen so often, each, have been seen with all others of their sets. */
enum { OFTEN = 8 };

/* With so many pairs strays would show: a far lap's single one is then believed, unless strays are
 * so common that one of such pairs is one more often than this. */
enum { MANY_PAIRS = 100 };
static const double thin_share = 0.02;

/* Laps are no more independent pieces of evidence than this. */
enum { PIECES_MAX = 60 };

/* How much the laps agree; `known_line`: the lines' length is what the walk took it for. */
static double confidence_of(size_t pairs, size_t strays, size_t laps, bool known_line)
{
    struct pb_votes votes = {0, 0};

    pb_votes_add_share(&votes, pairs, pairs + strays, laps < PIECES_MAX ? laps : PIECES_MAX);
    if (!known_line)
        pb_votes_doubt(&votes);
    return pb_votes_confidence(&votes);
}

static void state_count(const struct pb_case *at, double sets, double ways, double confidence,
                        const char *how, size_t lines, const struct pb_partition *seen)
{
    pb_parameter_set_number(pb_case_answer(at, "set_count"), (struct pb_estimate){sets, sets, sets},
                            confidence,
                            "%s: %zu lines fit; %zu passes over one line more miss in %zu sets",
                            how, lines, seen->laps, seen->sets);
    pb_parameter_set_number(pb_case_answer(at, "way_counts"),
                            (struct pb_estimate){ways, ways, ways}, confidence,
                            "%s: %zu lines by %.0f sets; up to %zu lines of a set seen", how, lines,
                            sets, seen->largest);
}

/* Do far lines rest on pairs that may be strays? */
static bool is_thin(const struct pb_index_fit *fit)
{
    return fit->thin > 0 &&
           (fit->pairs < MANY_PAIRS ||
            (double)(fit->thin * fit->strays) > thin_share * (double)(fit->pairs + fit->strays));
}

static void state_index(const struct pb_case *at, const struct pb_index_view *view,
                        const struct pb_index_fit *fit, double confidence)
{
    struct pb_parameter *masks = pb_case_answer(at, "index_masks");
    const char *kind = fit->shape == PB_INDEX_MODULO ? "modulo" : "xor";

    state_count(
        at, (double)fit->sets, (double)view->conflicts.lines / (double)fit->sets, confidence,
        fit->shape == PB_INDEX_MODULO ? "N14 5.1, finest modulo" : "N14 5.1, solved over GF(2)",
        view->conflicts.lines, &fit->seen);
    if (fit->sets == 1) {
        pb_parameter_set_none(pb_case_answer(at, "index_kind"), "one set needs no index");
        pb_parameter_set_none(masks, "one set needs no index");
        return;
    }
    pb_parameter_set_word(
        pb_case_answer(at, "index_kind"), kind, confidence,
        "%zu of %zu pairs of lines of one set agree with it; as modulo %llu sets, as xor %llu",
        fit->pairs, fit->pairs + fit->strays, (unsigned long long)view->modulo.sets,
        (unsigned long long)view->linear.sets);
    if (fit->mask_count == 0)
        pb_parameter_set_none(masks, "line number modulo %llu: no power of two, no masks",
                              (unsigned long long)fit->sets);
    else if (fit->shape == PB_INDEX_XOR && (fit->unseen > 0 || is_thin(fit)))
        pb_parameter_set_none(
            masks,
            "%zu far lines conflicted with none, and %zu with a single other one: "
            "whether their address bits belong to the index is not certain",
            fit->unseen, fit->thin);
    else
        pb_parameter_set_masks(masks, fit->masks, fit->mask_count, confidence,
                               "reduced basis over the address bits of the chases; any other basis "
                               "of the same space is the same index");
}

/* Sets as seen, where no index explains them. */
static enum pb_status state_seen(const struct pb_case *at, const struct pb_index_view *view,
                                 bool known_line, struct pb_error *err)
{
    const struct pb_partition *seen = &view->partition;
    bool whole = seen->lines == view->conflicts.lines && seen->least > 1 &&
                 view->conflicts.missing_count >= OFTEN * seen->lines;
    double confidence = confidence_of(seen->lines, 0, seen->laps, known_line);
    struct pb_estimate ways[PB_LIST_MAX];

    pb_parameter_set_none(pb_case_answer(at, "index_kind"),
                          "no index fits: neither a modulo (%llu sets) nor parities of address "
                          "bits (%llu sets) agree with the set conflicts",
                          (unsigned long long)view->modulo.sets,
                          (unsigned long long)view->linear.sets);
    pb_parameter_set_none(pb_case_answer(at, "index_masks"),
                          "the kind of the index is undetermined");
    if (pb_index_are_whole_sets(view)) {
        double size = (double)seen->largest;

        state_count(at, (double)view->conflicts.lines / size, size, confidence,
                    whole ? "all sets seen" : "sets seen are all alike", view->conflicts.lines,
                    seen);
        return PB_OK;
    }
    if (!whole || seen->sets > PB_LIST_MAX || (seen->sets == 1 && !pb_index_could_be_one_set(view)))
        return pb_fail(err, PB_NOT_FOUND,
                       "no index fits the set conflicts, and of %zu lines %zu were observed in %zu "
                       "sets of %zu to %zu",
                       view->conflicts.lines, seen->lines, seen->sets, seen->least, seen->largest);
    for (size_t i = 0; i < seen->sets; i++)
        ways[i] = (struct pb_estimate){(double)seen->size[i], (double)seen->size[i],
                                       (double)seen->size[i]};
    state_count(at, (double)seen->sets, (double)seen->largest, confidence, "all sets seen",
                view->conflicts.lines, seen);
    pb_parameter_set_list(pb_case_answer(at, "way_counts"), ways, seen->sets, confidence,
                          "every line seen missing with others of its set; by their lowest lines");
    return PB_OK;
}

/*
 * The array leaves sets with room: it begins to overflow where the fullest sets do, and the size
 * that was stated from there is the least that it can be.
 */
static void widen_size(const struct pb_case *at, const struct pb_conflicts *conflicts, double most)
{
    struct pb_parameter *size =
        pb_parameters_find(at->parameters, at->inference->memory, "size_bytes");

    if (size == NULL || size->kind != PB_VALUE_NUMBER || !(most > size->numbers[0].high))
        return;
    pb_parameter_set_number(
        size, (struct pb_estimate){size->numbers[0].value, size->numbers[0].low, most},
        size->confidence / 2.0,
        "misses begin beyond it; but %zu of %zu lines added there cause no miss: some sets are not "
        "full",
        conflicts->quiet, conflicts->lap_count);
}

/* Where the index foretells that the next line is too many, it tells the size. */
static void restate_size(const struct pb_case *at, const struct pb_index_view *view,
                         const struct pb_conflict_fill *fill, double confidence)
{
    struct pb_parameter *size =
        pb_parameters_find(at->parameters, at->inference->memory, "size_bytes");
    double sets = (double)view->linear.sets, ways = (double)fill->ways;
    double bytes = sets * ways * (double)view->conflicts.line_bytes;

    if (size == NULL || size->kind != PB_VALUE_NUMBER || bytes < size->numbers[0].low)
        return;
    if (!fill->overflows_next)
        widen_size(at, &view->conflicts, bytes);
    else
        pb_parameter_set_number(size, (struct pb_estimate){bytes, bytes, bytes}, confidence,
                                "%.0f sets of %.0f lines; misses begin beyond %.0f bytes already, "
                                "where the first sets are full",
                                sets, ways, size->numbers[0].low);
}

static void state_uneven(const struct pb_case *at, const struct pb_index_view *view,
                         const struct pb_conflict_fill *fill)
{
    const struct pb_index_fit *fit = &view->linear;
    struct pb_votes votes = {0, 0};
    uint64_t masks[64];
    double confidence;

    pb_votes_add_share(&votes, fill->agreeing, fill->laps, PIECES_MAX);
    confidence = (1.0 - fit->chance) * pb_votes_confidence(&votes);
    state_count(at, (double)fit->sets, (double)fill->ways, confidence,
                "N14 5.1, solved over GF(2); fullest sets are full", view->conflicts.lines,
                &fit->seen);
    pb_parameter_set_word(pb_case_answer(at, "index_kind"), "xor", confidence,
                          "%zu pairs of lines of one set agree with it, and it predicts for %zu of "
                          "%zu added lines whether others miss",
                          fit->pairs, fill->agreeing, fill->laps);
    for (size_t i = 0; i < fit->mask_count; i++)
        masks[i] = fit->masks[i] & fill->near_bits;
    pb_parameter_set_masks(pb_case_answer(at, "index_masks"), masks, fit->mask_count, confidence,
                           "reduced basis over the address bits of the array; higher bits were "
                           "seen once each, and depend on where pages lie");
    if (!view->shorter)
        restate_size(at, view, fill, confidence);
    else
        widen_size(at, &view->conflicts,
                   ldexp((double)(fill->ways * view->conflicts.line_bytes), (int)fit->mask_count));
}

/* PB_NOT_FOUND: the index does not foretell which sets are full; the size is then left open. */
static enum pb_status infer_uneven(const struct pb_case *at, struct pb_index_view *view,
                                   struct pb_error *err)
{
    enum { LAPS_EACH = 4 };
    const struct pb_conflicts *conflicts = &view->conflicts;
    struct pb_conflict_fill fill = {.ways = 0};
    enum pb_status status = pb_conflicts_fit(conflicts, PB_INDEX_XOR, &view->linear, err);

    if (status == PB_OK)
        status = pb_conflicts_check_fill(conflicts, &view->linear, &fill, NULL);
    if (status == PB_NO_MEMORY)
        return pb_fail(err, status, "out of memory allocating the sets of an index");
    if (status == PB_OK && view->linear.chance <= significance && fill.full >= LAPS_EACH &&
        fill.with_room >= LAPS_EACH && view->linear.seen.largest <= fill.ways &&
        (double)fill.agreeing >= foretold_share * (double)fill.laps) {
        state_uneven(at, view, &fill);
        return PB_OK;
    }
    if (!view->shorter)
        widen_size(at, conflicts,
                   pb_parameters_number(at->parameters, at->inference->memory, "all_miss_bytes") -
                       (double)conflicts->line_bytes);
    return pb_fail(
        err, PB_NOT_FOUND,
        "%zu of %zu added lines cause no miss: the array of %zu lines does not fill all sets",
        conflicts->quiet, conflicts->lap_count, conflicts->lines);
}

/*
 * Every added line is too many for its set: the array fills all of them to the last line. Where its
 * own edge was seen within bounds only, the size is known now.
 */
static void state_full_size(const struct pb_case *at, const struct pb_conflicts *conflicts,
                            const struct pb_index_fit *fit, double confidence)
{
    struct pb_parameter *size =
        pb_parameters_find(at->parameters, at->inference->memory, "size_bytes");
    double bytes = (double)conflicts->lines * (double)conflicts->line_bytes;

    if (size == NULL || size->kind != PB_VALUE_NUMBER || conflicts->quiet > 0 ||
        conflicts->background > 0 || size->numbers[0].low == size->numbers[0].high)
        return;
    pb_parameter_set_number(size, (struct pb_estimate){bytes, bytes, bytes}, confidence,
                            "%llu sets of %llu lines, all full: each of %zu lines added to the "
                            "array makes its set miss",
                            (unsigned long long)fit->sets,
                            (unsigned long long)(conflicts->lines / fit->sets),
                            conflicts->lap_count);
}

/* One set explains whatever misses, hits that stray to misses in every other lap as well. */
static bool is_made_by_strays(const struct pb_level *level, const struct pb_conflicts *conflicts,
                              const struct pb_index_fit *fit)
{
    struct pb_tally background = pb_level_background(level);

    return fit->sets == 1 && 2.0 * (double)background.misses * (double)conflicts->lines >=
                                 (double)background.accesses;
}

static enum pb_status infer_from(const struct pb_case *at, const struct pb_level *level,
                                 struct pb_index_view *view, struct pb_error *err)
{
    double line = pb_parameters_number(at->parameters, at->inference->memory, "line_bytes");
    const struct pb_parameter *size =
        pb_parameters_find(at->parameters, at->inference->memory, "size_bytes");
    double walked = (double)view->conflicts.lines * (double)view->conflicts.line_bytes;
    const struct pb_conflicts *conflicts = &view->conflicts;
    const struct pb_index_fit *fit = NULL;
    double confidence;
    enum pb_status status;

    if (!isnan(line) && line != (double)conflicts->line_bytes)
        return pb_fail(err, PB_NOT_FOUND,
                       "the chases have a stride of %llu bytes, but lines have %.0f bytes",
                       (unsigned long long)conflicts->line_bytes, line);
    if (size != NULL && size->kind == PB_VALUE_NUMBER &&
        (walked < size->numbers[0].low || walked > size->numbers[0].high))
        return pb_fail(err, PB_NOT_FOUND, "the chases cover %.0f bytes, but %.0f bytes fit", walked,
                       size->numbers[0].value);
    if ((double)conflicts->quiet >
        (conflicts->in_pieces ? quiet_share_in_pieces : quiet_share) * (double)conflicts->lap_count)
        return infer_uneven(at, view, err);
    status = pb_conflicts_partition(conflicts, NULL, &view->partition, err);
    if (status != PB_OK)
        return status;
    if (view->partition.laps == 0)
        return pb_fail(err, PB_NOT_FOUND, "in %zu passes no line misses but the added one",
                       conflicts->lap_count);
    status = pb_conflicts_fit(conflicts, PB_INDEX_MODULO, &view->modulo, err);
    if (status == PB_OK)
        status = pb_conflicts_fit(conflicts, PB_INDEX_XOR, &view->linear, err);
    if (status != PB_OK)
        return status;
    status = pb_index_choose(view, &fit, err);
    if (status != PB_OK)
        return status;
    if (fit == NULL)
        return state_seen(at, view, !isnan(line), err);
    if (is_made_by_strays(level, conflicts, fit))
        return pb_fail(err, PB_NOT_FOUND, "too many of %zu passes have hits as slow as misses",
                       conflicts->lap_count);
    confidence =
        (1.0 - fit->chance) * confidence_of(fit->pairs, fit->strays, fit->seen.laps, !isnan(line));
    state_index(at, view, fit, confidence);
    state_full_size(at, conflicts, fit, confidence);
    return PB_OK;
}

/*
 * An array that fills the store of the data before the sets conflicts with whatever is added. Laps
 * over a little less of it leave room there: what then misses shares a full set. PB_NOT_FOUND:
 * there are none, or no index foretells them; nothing is changed then.
 */
static enum pb_status infer_shorter(const struct pb_case *at, const struct pb_level *level)
{
    double line = pb_parameters_number(at->parameters, at->inference->memory, "line_bytes");
    struct pb_index_view view = {.shorter = true};
    enum pb_status status = pb_conflicts_read(level, true, &view.conflicts, NULL);

    if (status == PB_OK && !isnan(line) && line != (double)view.conflicts.line_bytes)
        status = PB_NOT_FOUND;
    if (status == PB_OK)
        status = infer_uneven(at, &view, NULL);
    pb_conflicts_clear(&view.conflicts);
    return status;
}

enum pb_status pb_infer_sets(const struct pb_case *at, struct pb_error *err)
{
    struct pb_index_view view = {.conflicts = {0}};
    struct pb_level level;
    enum pb_status status = pb_level_open_classified(at, &level, err);

    if (status != PB_OK)
        return status;
    status = pb_conflicts_read(&level, false, &view.conflicts, err);
    if (status == PB_OK)
        status = infer_from(at, &level, &view, err);
    if (status == PB_NOT_FOUND) {
        enum pb_status shorter = infer_shorter(at, &level);

        if (shorter != PB_NOT_FOUND)
            status = shorter; /* found, or no memory */
    }
    pb_conflicts_clear(&view.conflicts);
    pb_level_clear(&level);
    return status;
}
