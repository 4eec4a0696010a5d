/* Parities by which pages miss together; see spectrum.h. */
#include "analysis/tlb/spectrum.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/cache/gf2.h"
#include "analysis/constants.h"
#include "analysis/room.h"

enum { BITS_MAX = 14 }; /* of entry numbers that are told apart */

/* An entry that a chase looks up in the level. */
struct lookup {
    uint32_t set;    /* of the index that is known, */
    uint32_t in_set; /* and its number there: the free bits */
    bool is_missed;
};

struct spectrum {
    const struct pb_tlb_structure *index; /* that is known */
    /* Bits of entry numbers that are free: a parity of others is the same as one of these, by the
     * parities of the index. */
    unsigned bits[BITS_MAX];
    size_t bit_count, size; /* so many, and 2 to this power */
    double *power;          /* [size] by mask: of what misses above chance, in all sets */
    double *missed, *came;  /* [size] by number in a set, then their transforms by mask */
    size_t sets;            /* that were added; */
    size_t varied;          /* bits in which entries of any of these differ */
    struct lookup *lookups; /* [places] of a chase, */
    size_t count;           /* so many */
    struct pb_room room;    /* of all arrays */
};

/* Walsh-Hadamard transform in place: by mask, entries of even parity less those of odd. */
static void transform(double *values, size_t size)
{
    for (size_t half = 1; half < size; half *= 2)
        for (size_t first = 0; first < size; first += 2 * half)
            for (size_t i = first; i < first + half; i++) {
                double even = values[i], odd = values[i + half];

                values[i] = even + odd;
                values[i + half] = even - odd;
            }
}

/* The free bits: those in which entries of a scan differ, but one of each parity of the index. */
static void find_bits(struct spectrum *spectrum, const struct pb_tlb_scans *scans)
{
    uint64_t bits = pb_tlb_touched_bits(scans, spectrum->index->coverage_bytes);

    for (size_t i = 0; i < spectrum->index->mask_count; i++)
        bits &= ~(spectrum->index->masks[i] & -spectrum->index->masks[i]);
    for (; bits != 0 && spectrum->bit_count < BITS_MAX; bits &= bits - 1)
        spectrum->bits[spectrum->bit_count++] = (unsigned)__builtin_ctzll(bits);
    spectrum->size = (size_t)1 << spectrum->bit_count;
}

static uint32_t free_bits(const struct spectrum *spectrum, uint64_t entry)
{
    uint32_t bits = 0;

    for (size_t i = 0; i < spectrum->bit_count; i++)
        bits |= (uint32_t)(entry >> spectrum->bits[i] & 1) << i;
    return bits;
}

static uint64_t mask_of(const struct spectrum *spectrum, size_t bits)
{
    uint64_t mask = 0;

    for (size_t i = 0; i < spectrum->bit_count; i++)
        mask |= (uint64_t)(bits >> i & 1) << spectrum->bits[i];
    return mask;
}

static int by_set(const void *a, const void *b)
{
    const struct lookup *left = a, *right = b;

    return (left->set > right->set) - (left->set < right->set);
}

/* Those of a chase, by sets; `least` cycles above a line's come to the level, from `miss` on they
 * miss it. */
static void list_lookups(struct spectrum *spectrum, const struct pb_tlb_evidence *evidence,
                         const struct pb_tlb_scan *scan, size_t w, double least, double miss)
{
    uint64_t last = UINT64_MAX;

    spectrum->count = 0;
    for (size_t place = 0; place < scan->place_count && place < scan->pages[w]; place++) {
        double excess = *pb_tlb_cycles(scan, place, w) - evidence->base_cycles;
        uint64_t entry = pb_tlb_entry(scan, place, spectrum->index->coverage_bytes);
        bool is_new = entry != last; /* of several pages of an entry the first one can miss */

        last = entry;
        if (is_new && excess >= least)
            spectrum->lookups[spectrum->count++] =
                (struct lookup){(uint32_t)pb_tlb_set_of(spectrum->index, entry),
                                free_bits(spectrum, entry), excess >= miss};
    }
    qsort(spectrum->lookups, spectrum->count, sizeof(*spectrum->lookups), by_set);
}

/* Adds a set of a chase, where it misses some of its entries and no more than half. */
static void add_set(struct spectrum *spectrum, const struct lookup *lookups, size_t count)
{
    double missed = 0.0, came = (double)count;

    for (size_t i = 0; i < count; i++)
        missed += lookups[i].is_missed;
    if (missed < 2.0 || 2.0 * missed > came)
        return;
    memset(spectrum->missed, 0, spectrum->size * sizeof(*spectrum->missed));
    memset(spectrum->came, 0, spectrum->size * sizeof(*spectrum->came));
    for (size_t i = 0; i < count; i++) {
        spectrum->came[lookups[i].in_set] += 1.0;
        spectrum->missed[lookups[i].in_set] += lookups[i].is_missed;
        spectrum->varied |= lookups[i].in_set ^ lookups[0].in_set;
    }
    transform(spectrum->missed, spectrum->size);
    transform(spectrum->came, spectrum->size);
    for (size_t mask = 1; mask < spectrum->size; mask++) {
        double pairs = (spectrum->came[mask] * spectrum->came[mask] - came) / (came * (came - 1.0));
        double by_chance = missed + missed * (missed - 1.0) * pairs;

        spectrum->power[mask] +=
            (spectrum->missed[mask] * spectrum->missed[mask] - by_chance) / missed;
    }
    spectrum->sets++;
}

static void add_chase(struct spectrum *spectrum)
{
    size_t first = 0;

    for (size_t i = 1; i <= spectrum->count; i++) {
        if (i < spectrum->count && spectrum->lookups[i].set == spectrum->lookups[first].set)
            continue;
        add_set(spectrum, spectrum->lookups + first, i - first);
        first = i;
    }
}

/* The surest parities that may not be chance, none the sum of others. */
static void list_sure(const struct spectrum *spectrum, struct pb_tlb_parities *parities)
{
    double least = PB_SIGMAS * sqrt(2.0 * (double)spectrum->sets);
    struct pb_gf2_span chosen = {.rank = 0};
    size_t best = 1;

    while (best != 0 && parities->sure_count < PB_TLB_PROPOSED_MAX) {
        double most = least;

        best = 0;
        for (size_t mask = 1; mask < spectrum->size; mask++) {
            if ((mask & ~spectrum->varied) != 0 || spectrum->power[mask] <= most ||
                pb_gf2_holds(&chosen, mask))
                continue;
            best = mask;
            most = spectrum->power[mask];
        }
        if (pb_gf2_add(&chosen, best))
            parities->sure[parities->sure_count++] = mask_of(spectrum, best);
    }
}

/* Those of the fewest bits. */
static void list_simple(const struct spectrum *spectrum, struct pb_tlb_parities *parities)
{
    for (int bits = 1; bits <= (int)spectrum->bit_count; bits++)
        for (size_t mask = 1; mask < spectrum->size && parities->simple_count < PB_TLB_SIMPLE_MAX;
             mask++)
            if ((mask & ~spectrum->varied) == 0 && __builtin_popcountll(mask) == bits)
                parities->simple[parities->simple_count++] = mask_of(spectrum, mask);
}

enum pb_status pb_tlb_propose_parities(const struct pb_tlb_evidence *evidence,
                                       const struct pb_tlb_level *levels, size_t at,
                                       struct pb_tlb_parities *parities_out, struct pb_error *err)
{
    const struct pb_tlb_scans *scans = evidence->scans;
    struct spectrum spectrum = {.index = &levels[at].structure};
    double before = 0.0, least;
    size_t places = 0;
    enum pb_status status;

    parities_out->sure_count = parities_out->simple_count = 0;
    if (!evidence->is_uniform)
        return PB_OK;
    for (size_t i = 0; i < at; i++)
        before += levels[i].penalty_cycles;
    least = at == 0 ? -INFINITY : before - levels[at - 1].penalty_cycles / 2.0;
    for (size_t s = 0; s < scans->count; s++)
        places = scans->items[s].place_count > places ? scans->items[s].place_count : places;
    find_bits(&spectrum, scans);
    PB_ROOM_ARRAY(&spectrum.room, spectrum.power, spectrum.size);
    PB_ROOM_ARRAY(&spectrum.room, spectrum.missed, spectrum.size);
    PB_ROOM_ARRAY(&spectrum.room, spectrum.came, spectrum.size);
    PB_ROOM_ARRAY(&spectrum.room, spectrum.lookups, places + 1);
    status = pb_room_status(&spectrum.room, err);
    for (size_t s = 0; s < scans->count && status == PB_OK; s++) {
        for (size_t w = 0; w < scans->items[s].chase_count; w++) {
            list_lookups(&spectrum, evidence, &scans->items[s], w, least,
                         before + levels[at].penalty_cycles / 2.0);
            add_chase(&spectrum);
        }
    }
    if (status == PB_OK) {
        list_sure(&spectrum, parities_out);
        list_simple(&spectrum, parities_out);
    }
    pb_room_clear(&spectrum.room);
    return status;
}
