/* Which of the indexes that keep all pairs is the cache's own, if any; see index_choice.h. */
#include "analysis/cache/index_choice.h"

/* Of two indexes, that with more strays than this among its pairs gives way. */
static const double stray_share = 0.03;

/* An index that fits by chance with this probability is none. */
static const double significance = 1e-3;

/* Laps with one number of misses: the policy is not random. */
static const double steady_share = 0.5;

/* Lines seen so often, each, have been seen with all others of their sets. */
enum { OFTEN = 8 };

/*
 * Sets that tell for all others; a set so small that few of its lines tell for it; and one larger
 * than any that is known to be built, most of which must have missed at once.
 */
enum { SETS_MIN = 4, FEW_WAYS = 64, MOST_WAYS = 128 };

/* So many laps in orders of their own show all parts of sets; a set may still seem this many. */
enum { DRAWN = 8, MOST_PARTS = 4 };

/*
 * Are the lines that were seen too few to a set for sets of so many? They lie in no more sets than
 * there are, or in few parts of each where a tree-PLRU went through many orders; but victims drawn
 * by chance, of which a lap shows few, take many laps to tell that they share a set.
 */
static enum pb_status is_in_too_many(const struct pb_conflicts *conflicts,
                                     const struct pb_index_fit *fit, bool *too_many_out,
                                     struct pb_error *err)
{
    const struct pb_partition *seen = &fit->seen;
    size_t parts = conflicts->drawn >= DRAWN ? MOST_PARTS * fit->sets : fit->sets;
    double most;
    enum pb_status status;

    *too_many_out = false;
    if (seen->sets - seen->alone <= parts ||
        (conflicts->drawn < DRAWN && fit->pairs < OFTEN * seen->lines))
        return PB_OK;
    status = pb_conflicts_draw_sets(conflicts, fit, &most, err);
    *too_many_out = (double)(seen->sets - seen->alone) > most;
    return status;
}

/*
 * Of a large set much must be seen, unless drawn orders showed it from all sides. Of a small one a
 * tree-PLRU may show two lines only.
 */
static bool could_have(const struct pb_index_fit *fit, size_t drawn, size_t ways)
{
    if (fit->seen.largest > ways)
        return false;
    if (ways > MOST_WAYS)
        return 2 * fit->seen.per_lap > ways;
    return ways <= FEW_WAYS || drawn >= DRAWN || 4 * fit->seen.largest > ways;
}

/* Laps whose added line lies an odd, and an even number of half indexes behind the array's start.
 */
static void count_halves(const struct pb_conflicts *conflicts, uint64_t sets, size_t *odd_out,
                         size_t *even_out)
{
    *odd_out = *even_out = 0;
    for (size_t i = 0; i < conflicts->lap_count; i++) {
        const struct pb_conflict_lap *lap = &conflicts->laps[i];
        uint64_t line = (lap->added - conflicts->base) / conflicts->line_bytes;

        if (lap->count == 0)
            continue;
        if (line / (sets / 2) % 2 != 0)
            ++*odd_out;
        else
            ++*even_out;
    }
}

/*
 * A policy that lets the same part of a set miss in every lap, as a tree-PLRU may, shows regular
 * places only, every second one or every fourth: the sets then seem twice as many. But not by added
 * lines that lie an odd as well as an even number of the smaller indexes away; nor where so many
 * lines were added next to each other; nor where the number of sets is odd; nor in many orders,
 * each of which shows other places.
 */
static bool is_seen_as_fine(const struct pb_index_view *view, const struct pb_index_fit *fit)
{
    enum { LAPS_EACH = 2 };
    const struct pb_partition *seen = &fit->seen;
    const struct pb_conflicts *conflicts = &view->conflicts;
    uint64_t ways = conflicts->lines / fit->sets, end = conflicts->lines + fit->sets;
    size_t neighbours = 0, odd, even;

    if ((double)seen->per_lap_laps < steady_share * (double)seen->laps || seen->per_lap >= ways ||
        conflicts->drawn >= DRAWN)
        return true;
    for (size_t i = 0; i < conflicts->lap_count; i++)
        neighbours += (conflicts->laps[i].added - conflicts->base) / conflicts->line_bytes < end;
    if (neighbours >= fit->sets || fit->shape == PB_INDEX_XOR)
        return neighbours >= fit->sets;
    if (fit->sets % 2 != 0)
        return true;
    count_halves(conflicts, fit->sets, &odd, &even);
    return odd >= LAPS_EACH && even >= LAPS_EACH;
}

/*
 * Any pairs of lines at all keep to one set. It takes more to believe in it: so few lines that a
 * cache compares them all at once, or laps in which most of them miss.
 */
bool pb_index_could_be_one_set(const struct pb_index_view *view)
{
    enum { COMPARED_AT_ONCE = 128 };

    return view->conflicts.lines <= COMPARED_AT_ONCE ||
           2 * view->partition.per_lap >= view->conflicts.lines;
}

static bool fits(const struct pb_index_view *view, const struct pb_index_fit *fit)
{
    if (fit->sets == 1 && (!pb_index_could_be_one_set(view) || view->modulo.sets > 1))
        return false;
    return fit->sets > 0 && is_seen_as_fine(view, fit) && fit->chance <= significance &&
           view->conflicts.lines % fit->sets == 0 &&
           could_have(fit, view->conflicts.drawn, (size_t)(view->conflicts.lines / fit->sets));
}

static enum pb_status is_index(const struct pb_index_view *view, const struct pb_index_fit *fit,
                               bool *is_out, struct pb_error *err)
{
    bool too_many = false;
    enum pb_status status = PB_OK;

    *is_out = fits(view, fit);
    if (*is_out)
        status = is_in_too_many(&view->conflicts, fit, &too_many, err);
    *is_out = *is_out && !too_many;
    return status;
}

/* Strays, and those that keep to an index by chance: the more the fewer sets it has. */
static double all_strays(const struct pb_index_fit *fit)
{
    return (double)fit->strays / (1.0 - 1.0 / (double)fit->sets);
}

/* Has the other one so many strays that half of them must be none? */
static bool is_clearer(const struct pb_index_fit *fit, const struct pb_index_fit *other)
{
    return fit->sets > 1 && other->sets > 1 &&
           (double)other->strays > stray_share * (double)(other->pairs + other->strays) &&
           2.0 * all_strays(fit) < all_strays(other);
}

enum pb_status pb_index_choose(const struct pb_index_view *view,
                               const struct pb_index_fit **fit_out, struct pb_error *err)
{
    const struct pb_index_fit *modulo = &view->modulo, *linear = &view->linear;
    bool by_modulo = false, by_xor = false, as_fine = linear->sets == modulo->sets;
    enum pb_status status = is_index(view, modulo, &by_modulo, err);

    if (status == PB_OK)
        status = is_index(view, linear, &by_xor, err);
    if (status != PB_OK)
        return status;
    if (as_fine ? linear->strays < modulo->strays : is_clearer(linear, modulo))
        *fit_out = by_xor ? linear : NULL; /* the better one, or neither */
    else if (!as_fine && is_clearer(modulo, linear))
        *fit_out = by_modulo ? modulo : NULL;
    else if (by_modulo && by_xor)
        *fit_out = linear->sets > modulo->sets ? linear : modulo;
    else
        *fit_out = by_modulo ? modulo : by_xor ? linear : NULL;
    return PB_OK;
}

/*
 * Seen sets of one size are whole sets only if there are about as many different ones as laps, or
 * as the lines would make: any index spreads lines that follow each other. And a policy may hide
 * the same part of every set: they must be most of the cache.
 */
bool pb_index_are_whole_sets(const struct pb_index_view *view)
{
    const struct pb_partition *seen = &view->partition;
    size_t sets = seen->largest > 0 ? view->conflicts.lines / seen->largest : 0;

    if (seen->sets == 1 && !pb_index_could_be_one_set(view))
        return false;
    if (2 * seen->lines < view->conflicts.lines)
        return false;
    return seen->largest > 0 && seen->least == seen->largest && seen->sets >= SETS_MIN &&
           view->conflicts.lines % seen->largest == 0 &&
           2 * seen->sets >= (sets < seen->laps ? sets : seen->laps);
}
