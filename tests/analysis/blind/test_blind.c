/*
 * A handful of random devices: nothing stated is wrong, and five values of six are stated. Of those
 * that once went wrong or left a cache open, everything about their caches is found.
 *
 *   test_blind [PART PARTS]
 *
 * recovers one part of so many of the devices, so that all parts can run side by side.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/blind/recover.h"
#include "sanitized.h"

/* Sanitizers watch the first device of each list. */
enum { CASES_APART = SANITIZED ? 1000 : 1 };

enum { NAMES_MAX = 4 };

/* A device, and how the names of the parameters begin that are looked at. */
struct blind_case {
    uint64_t seed;
    const char *names[NAMES_MAX]; /* the rest is NULL */
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* This run takes one part of all cases; see main(). */
static size_t part = 1, parts = 1;

static bool is_left_out(size_t i)
{
    return i % CASES_APART != 0 || i / CASES_APART % parts != part - 1;
}

/* A test of its own is one part's. */
static void skip_in_other_parts(size_t test)
{
    skip_if_sanitized();
    if (test % parts != part - 1)
        skip();
}

/* Measures a device and looks at every answer; fails the test where that cannot be done. */
static size_t recover_profile(const struct blind_profile *profile,
                              struct blind_result results_out[BLIND_RESULTS_MAX])
{
    char folder[] = "/tmp/test-blind-XXXXXX";
    size_t count;

    assert_non_null(mkdtemp(folder));
    count = blind_recover(profile, folder, results_out);
    remove(folder);
    if (count == 0)
        fail_msg("seed %llu: %s", (unsigned long long)profile->seed, results_out[0].detail);
    return count;
}

static size_t recover(uint64_t seed, struct blind_result results_out[BLIND_RESULTS_MAX])
{
    struct blind_profile profile;

    blind_draw(seed, &profile);
    return recover_profile(&profile, results_out);
}

static size_t failures;

static void note_failure(uint64_t seed, const struct blind_result *result)
{
    print_error("seed %llu: %s: %s\n", (unsigned long long)seed, result->name, result->detail);
    failures++;
}

/* Before each test, which counts its own failures. */
static int forget_failures(void **state)
{
    (void)state;
    failures = 0;
    return 0;
}

static void test_blind__nothing_stated_is_wrong(void **state)
{
    size_t exact = 0, open = 0;

    (void)state;
    skip_in_other_parts(0);
    for (uint64_t seed = 2; seed <= 7; seed++) {
        struct blind_result results[BLIND_RESULTS_MAX];
        size_t count = recover(seed, results);

        for (size_t k = 0; k < count; k++) {
            if (blind_is_false(&results[k]))
                note_failure(seed, &results[k]);
            exact += results[k].verdict == BLIND_EXACT;
            open += results[k].verdict == BLIND_NULL || results[k].verdict == BLIND_BOUNDED;
        }
    }
    assert_int_equal(failures, 0);
    assert_true(6 * open <= exact + open);
}

/*
 * Where all lines miss is bounded by a sweep's steps; where misses begin stays open where a pass of
 * random victims has one or two misses, no more than spikes may cause (515 by five of nine seeds of
 * the noise); pages stay open where an entry covers several of them, which hit and miss together.
 * All else is to be found exactly.
 */
static bool is_found(const struct blind_result *result)
{
    if (strstr(result->name, ".full_miss_bytes") != NULL ||
        strstr(result->name, ".first_miss_bytes") != NULL ||
        strstr(result->name, ".page_bytes") != NULL)
        return !blind_is_false(result);
    return result->verdict == BLIND_EXACT || result->verdict == BLIND_UNJUDGED;
}

static bool is_meant(const struct blind_case *one, const struct blind_result *result)
{
    bool found = false;

    for (size_t i = 0; i < NAMES_MAX && one->names[i] != NULL; i++)
        found |= strncmp(result->name, one->names[i], strlen(one->names[i])) == 0;
    return found;
}

/* Of these parameters: is what is stated right, and is all found? */
static void run_cases(const struct blind_case *cases, size_t count, bool is_all_found)
{
    for (size_t i = 0; i < count; i++) {
        struct blind_result results[BLIND_RESULTS_MAX];
        size_t result_count = is_left_out(i) ? 0 : recover(cases[i].seed, results);

        for (size_t k = 0; k < result_count; k++)
            if (is_meant(&cases[i], &results[k]) &&
                (is_all_found ? !is_found(&results[k]) : blind_is_false(&results[k])))
                note_failure(cases[i].seed, &results[k]);
    }
    assert_int_equal(failures, 0);
}

/*
 * 407  spikes that look like misses: outliers in all ways, lines of other sets among a set's
 * 430  an uneven texture cache whose tree-PLRU shows four lines at a time
 * 441  misses and spikes in one band: the edge by its bounds, and by its sets
 * 463  an L2 smaller than the chase that is to miss L1
 * 515  a hashed L2 of random victims: passes of one or two misses
 * 533  an L2 of 64-byte lines whose misses end at multiples of 256 bytes
 * 557  a tree-PLRU of 25 ways that shows one line a pass
 * 708, 827  lines a page apart overflow sets of a small L2, whose misses take what a TLB's do
 * 839  TLB entries of eight pages, at strides that seem to say one
 */
static void test_blind__devices_that_once_went_wrong_are_found(void **state)
{
    static const struct blind_case cases[] = {
        {407, {"l1.", "l2.", "texture.", "tlb_"}}, {430, {"l1.", "l2.", "texture.", "tlb_"}},
        {441, {"l1.", "l2.", "texture.", "tlb_"}}, {463, {"l1.", "l2.", "texture.", "tlb_"}},
        {515, {"l1.", "l2.", "texture.", "tlb_"}}, {533, {"l1.", "l2.", "texture.", "tlb_"}},
        {557, {"l1.", "l2.", "texture.", "tlb_"}}, {708, {"l1.", "l2.", "texture.", "tlb_"}},
        {827, {"l1.", "l2.", "texture.", "tlb_"}}, {839, {"l1.", "l2.", "texture.", "tlb_"}},
    };

    (void)state;
    run_cases(cases, COUNT(cases), true);
}

/*
 * L2s of random victims, by a hash of many bits: of a far line one victim was seen, which had been
 * left out as an outlier (1000046, 1000162), or none.
 */
static void test_blind__masks_without_a_bit_that_few_lines_showed_are_not_stated(void **state)
{
    static const struct blind_case cases[] = {
        {1000046, {"l2.index_masks"}},
        {1000084, {"l2.index_masks"}},
        {1000162, {"l2.index_masks"}},
    };

    (void)state;
    run_cases(cases, COUNT(cases), false);
}

/*
 * Spikes of like size among the loads of P5 are no P6, be they two (1000914) or three of a thousand
 * (2000058). Loads that were to hit have missed both TLBs (2000009), or some of them one (2000007),
 * or L2 as well (2000004), and what was to miss one has missed two (2000002, 2000620). Nor are
 * loads a P6 that miss a level more than others (20000003, 20000045, whose sets of 21 and 19 ways
 * pass for 20 each), or spikes that one load of a hundred has (20000041), of which L2's first
 * misses are as many. Loads of which jitter hides the kind miss L2 all the same (20002070).
 */
static void test_blind__patterns_are_what_their_loads_pay_for(void **state)
{
    static const struct blind_case cases[] = {
        {1000914, {"l2.pattern_cycles"}},
        {2000002, {"l2.pattern_cycles", "tlb_l2."}},
        {2000004, {"l2.pattern_cycles"}},
        {2000007, {"l2.pattern_cycles"}},
        {2000009, {"l2.pattern_cycles"}},
        {2000058, {"l2.pattern_cycles"}},
        {2000620, {"l2.pattern_cycles"}},
        {20000003, {"l2.pattern_cycles"}},
        {20000041, {"l2.pattern_cycles", "l2.size_bytes"}},
        {20000045, {"l2.pattern_cycles", "tlb_l2."}},
        {20002070, {"l2.pattern_cycles"}},
    };

    (void)state;
    run_cases(cases, COUNT(cases), false);
}

/*
 * Hashed levels, whose sets fill unevenly: they miss before all entries are taken (2000015), or
 * seem too late (2000002), and only pages far apart show them (2000018, 2000069, 2000523).
 * Lines of 9,000 pages displace each other in L2 (2000138), where DRAM's latency is not known, too
 * (4910015). Spikes show two places that begin to miss early (4910051).
 */
static void test_blind__hashed_translation_is_stated_or_undetermined(void **state)
{
    static const struct blind_case cases[] = {
        {2000015, {"tlb_l2."}}, {2000018, {"tlb_l2."}}, {2000069, {"tlb_l2."}},
        {2000523, {"tlb_l2."}}, {2000138, {"tlb_l1."}}, {4910015, {"tlb_l3."}},
        {4910051, {"tlb_l1."}},
    };

    (void)state;
    run_cases(cases, COUNT(cases), false);
}

/*
 * 6200010  a first level whose misses take what L2's are said to take at least
 * 6400035  a level of which the misses take nearly what DRAM does
 * 6300142  entries of one page in two sets, which entries of two pages in one set nearly explain
 */
static void test_blind__levels_beside_those_of_caches_are_found(void **state)
{
    static const struct blind_case cases[] = {
        {6200010, {"tlb_"}},
        {6400035, {"tlb_"}},
        {6300142, {"tlb_"}},
    };

    (void)state;
    run_cases(cases, COUNT(cases), true);
}

/*
 * 9600055  LRU of 16 ways, which other victims of 11 ways nearly explain; the second level is so
 *          large that no chase misses it, and spikes are none of it
 * 9900614  one set of 192, which 13 sets of 15 explained better by few draws
 * 8900214  a tree-PLRU of five ways, which unequal sets of any entries imitated
 */
static void test_blind__levels_with_other_victims_are_found(void **state)
{
    static const struct blind_case cases[] = {
        {9600055, {"tlb_"}},
        {9900614, {"tlb_l2."}},
        {8900214, {"tlb_"}},
    };

    (void)state;
    run_cases(cases, COUNT(cases), true);
}

/*
 * L1 whose next cache answers sooner than the misses of a large array, since a third one is behind
 * (6000024). Lines that an L2 of 128 KiB does not hold are neither near nor far (6000021).
 */
static void test_blind__the_next_level_is_the_one_that_answers(void **state)
{
    static const struct blind_case cases[] = {
        {6000024, {"l1."}},
        {6000021, {"l2_"}},
    };

    (void)state;
    run_cases(cases, COUNT(cases), false);
}

/*
 * 6000001           address bits beyond memory's half, which no load has
 * 6000000           most loads over 16 MiB lack the translation of their page of 64 KiB
 * 6400009           lines that miss a small L2 in every chase, whatever its length
 * 6100066           entries of one page in two sets or of two in one, which no chase distinguishes
 * 6500018           lines of 512 pages that an L2 of one way does not keep
 * 6200001, 6200005  a prefetcher, and strides of a part of the line: few loads miss where all do
 * 6200019, 6200048  a third cache answers what L2 misses, and what L1 does
 * 6200038           16 MiB of memory, of which the battery takes what is free
 * 6200054           an L2 of 64 KiB, smaller than the array that was to fit
 * 6200060           an edge in the sweep of L2 that is the TLB's
 * 6210008           lines of 32 bytes in a sweep of every fourth one
 * 6210134           a constant cache that the cold pass did not empty: its sector is not known
 * 6400006           full_miss_bytes by every second or fourth line
 * 6400016           misses of the TLB that one set of 2,048 ways would explain
 * 6400031           a spike beside pairs of lines that miss in every other pass
 * 6400037           an L2 smaller than the arrays that were to fit; loads past L1 show its latency
 * 6400053, 6400103  constants of which the first cache answers some, and L2 the others
 * 6400064           spikes as long as misses, which lie at all multiples of the stride
 * 6300017           hits of L2 that lack their translation, where its misses were looked for
 * 6400110           random victims behind a prefetcher: an edge that a few passes do not show
 * 6300088, 6300111  outstanding loads behind stamps of much jitter
 * 6000075           passes with one line more over a part of L2, in which spikes alone miss
 * 6000152           a prefetch of 8 KiB, behind which one load in 260 misses where all lines do
 * 6100009           the plateau of a third cache
 * 6100254           a reference that is larger than L2
 * 6100289           spikes, which make most of the places where hits and misses meet
 * 6100292           lines of half the shortest stride
 * 6100378           a path that prefetches hits what another cache holds
 * 8600115           passes with one line more over a part of a small L2, and sweeps past it
 * 8700176           an array that overfills a direct-mapped L2 misses whatever is added
 * 8900081           one set that the array and what it prefetches overfill
 * 8800180           one set of all lines, of which one load in six misses
 * 8900118           outliers that are alike by chance, beside two halves of L2
 * 8900187           two halves of what is no L2
 * 9000118           a level that is inserted and taken away without end; a parity too many
 * 9000622           a hit of a first level that saves a whole set of the second
 * 9000733           loads that take longer than misses of all levels
 * 9200304           what no repeat of a chase with random victims showed
 * 9000087, 9000926  as many entries in other numbers of sets, or one less, miss alike
 * 8900128           passes that repeat better than within a part of what they take
 * 9000361, 9310094  lines that L2 has lost, which are no part of it
 * 9000476, 9200320  lines prefetched behind the added one, which hide the low bits of an index
 * 9200013, 9200200  random victims, which LRU of more ways imitates, alone and before trees
 * 8800120           a tree as far-reaching as the LRU before it
 * 9400021           pages that hit whatever the level is, in chases of many of an entry
 * 9400015           360 ways of a tree, not 362
 * 9500140, 9600107  trees that keep entries for more than twice their ways, before all miss
 * 9500138           small entries of a block that is mapped again far more often than is recorded
 * 20000023, 20000048 random victims in seven and in five sets
 * 20000039          unequal sets beside a penalty that was off by a cycle
 * 20000043          misses of L2 that were taken for those of a third level
 * 20000171          spikes as long as most of a penalty: two levels where there is one
 * 9700085           a level of one entry, which is a part of the penalty before it
 * 20000054          lines that do not displace each other, and spikes as long as misses
 * 20000235          spikes, which ended what random victims were judged by
 * 20000015          the traced half of a pass, without misses of the other half
 * 20000046          outliers that look like misses, as many as the first misses
 * 20000025          GPCs of which jitter hides that they lie apart
 * 20000016          distances of which no two are alike, and one is their median
 * 9800128, 21000004 misses with their translation, which few of the loads that were to miss had
 * 9800120           hits in a drawn order that lack their translation, taken for misses
 * 20001172          spikes as common as in the reference, which the slowest chases have most of
 * 20000245          one set of FIFO, whose lines all miss whatever is added
 * 20001119          sets that are too small explain any sweep; quantiles of many evictions
 * 21000116          outliers in the first sectors of lines
 * 9700028           a tree of 16 ways, by its ranks in the sweeps
 * 20001029          loads that lie in other entries than the first of their pages
 * 20001154          small entries whose bits belong to no set
 * 20001102, 20001086 levels behind random victims, of which draws said what those are
 * 20001125          unequal sets that differ from equal ones in three chases
 * 9900115           steps of 79 and 121 cycles found as 78 and 122
 * 20002076          a small second level behind random victims
 * 20002014          a third level whose misses nearly all miss the second one, too
 * 20002226, 20002278 spikes that take as long as levels that answer next to nothing
 * 9900310           two small levels, the second one behind random victims
 * 9900317           misses of a cache, which a few of the chases misled about
 * 9900339           levels behind one that is looked at, which may be anything
 * 9900411           structures that are as likely as one that is only as likely as the likeliest
 * 9900416           entries of 2 MiB that do what those of 16 MiB do
 * 9900678           as many entries in twice as many sets, by few draws
 * 20002535          what filled a level in the first pass alone
 * 9900470           misses of trees, which replays with random victims deviate from
 * 9900003           a fourth cache, whose misses settle the level before it
 * 9903324, 9903386  lines that a small L2 of few ways loses, where no chase repeats a block of
 * memory 20002081          spikes alone and by twos, which make most of the places of lines
 * 9900049, 20002024 hits that lack their translation in L2's sweep, before its edge
 * 9900115           the same, where L2's edge is not seen
 * 9900065           misses that a third cache answers, and in longer chases DRAM most of
 * 9900302           loads that miss more levels of TLBs in longer chases
 * 20002056          a latency that rises slowly up to the knee, in whole cycles
 * 20002604          spikes as long as misses of L2, taken for a level that is missed by chance
 * 9900816           a direct-mapped L2, of which spikes hide the first misses
 * 20002654          more lines than fit, the misses of which random victims hide
 * 20002682          spikes that take most of a penalty, the rest of which was a third level's
 * 20002701, 20002720 unequal sets of entries for which no scan has a stride of its own
 * 20002713          128 hashed sets, which all chases fill evenly or twice
 * 20002694          hits that miss the TLB, which take longer than loads of DRAM
 * 20002727          spikes on hits that miss the TLB, in a sweep that ends before L2's edge
 * 20002783          a TLB level whose step L2's sweep took for another cache's
 * 20002885          one set of 17 entries, which unequal sets of 16 and 1 imitate
 * 20002872          a line more than fits, of which random victims show no miss in the passes
 * 9900946           a third cache that answers a third of L2's misses
 * 20002844          hashed sets with random victims, of which few were found
 * 20003067          sets of 8 and 9 entries, found as one of 18
 * 21001002          passes that miss by spikes in less than surely fits
 * 21001001          sets of unequal ways, of which the first ones that overflow are no size
 * 22000008, 22000009 the same, where a third or a quarter of the sets have more ways
 * 22000272, 22000283 the same of an L2, of which one pass in pieces tells of each set
 * 9903366           trees of eight ways, which have more ranks than four in twice as many sets
 * 90000111          cold loads that miss a TLB level within the noise
 * 20004941, 9903214, 90000174 misses that lines fetched ahead hide, of trees and of single ways
 * 9903469, 40000281 the same, where no cold pass shows how far ahead lines are fetched
 * 90000179          a third cache close behind L2, on a device without TLBs
 * 22000299          unequal sets, the misses of which lines fetched ahead hide
 * 41000221          spikes as long as a miss, which the reference has as well
 * 41000198          the same, in traces that say how many misses a pass must have
 * 90000205          passes beyond the edge among those that were to fit
 * 20005265          lines fetched ahead in first walks, whose steady misses were left out
 * 50000273          a third cache, as fast as hits that lack their translation
 * 41000222          passes that the first of two constant caches answers in part
 * 41000173          an SM's limit of outstanding loads where a warp's is unexplained
 * 41000212          costs of conflicts beside noise, of which two to eight ways cost nothing
 * 9903621, 41000218 one delay in a run that is too short for it
 * 20005271          a level that nothing explains, less what a miss of L2 takes
 * 90000146, 90000151 a level of a few cycles, within the noise, that answers no load
 * 9901323           four sets of 105, which two are as likely as, found as one
 *
 * TLB sets by hash, of which another index had few loads against it: 20003379, 20003710, 22000153;
 * whose entries may be smaller: 30000265, 20003757; whose index took on bits that larger entries
 * lack: 20004045; behind random victims, where loads did other than in all replays: 20003952.
 * Unequal TLB sets, two of them one way off: 20003663. One constant cache, whose hits are not
 * known, taken for a second one: 20003640. Cache sets by a mask that hardly any pair of lines
 * breaks: 20003861, 22000177. L2's line, excluded by misses that passes lack of any line: 20003762.
 *
 * Costs of conflicts by 32 of banks that may be 64: 40000012; of which several cost as much as one:
 * 41000007. Misses by loads past a cache, which do not look it up: 40000023. A copy with the
 * overhead of its stamps: 40000047. Sets of a hash that a modulo imitates: 40000064; 24 sets in
 * turn of one way: 40000076; eight, stated by the bits of two: 9902459. Sets by an index that was
 * not found, which few sets imitate: 20003395, 20004177. A sector of which no miss came: 20004249.
 * Spikes as the answers of a next cache: 9902195.
 *
 * Parities that the refinement changed, stated as they were found: 20004562. Unequal sets of
 * entries smaller than those of the level before: 20004464; entries that may be smaller behind
 * others that may: 20004561. Sets that were given up, though draws of one differ by more: 9902632.
 * An index of sets that their own loads speak against: 20004594. A rate with the first load's
 * latency: 20004403.
 *
 * One set of random victims, where more do the same: 20004688, 20004706; 20 sets of them in turn:
 * 41000100. Unequal sets that loads contradict: 20004687, 20004703. Halves of hashed entries, told
 * apart by a bit of one of the parities: 20004708. A limit of outstanding loads from L2 that those
 * from DRAM exclude: 20004726. A few ways with random victims or a tree, which one more with LRU
 * predicts but for a few chases: 20004852, 30000358, 60000065; so does a tree where a miss costs
 * what DRAM does: 40000117. Two unequal sets as two of 23: 20004801.
 *
 * Sets that all conflicts speak for, excluded by a few of the sweeps: 9902946. Spikes that widened
 * what counts as a hit, so that misses were none: 41000129, 41000091. A second constant cache that
 * passes overflow softly, up to the largest: 60000037. A level that hides in lines which are slower
 * than any of the reference: 70000050.
 *
 * Spikes in bursts, as others' traffic makes them: loads of a burst as misses that a nearer cache
 * answers (80000004, 80000012, 80000030), traces below an edge that a burst met (80000034), places
 * of lines in one (80000025), and SMs that it kept from being like others (80000025). A few loads
 * between hits and misses (80000064), and onsets by where an array begins (80000044).
 *
 * Steps of two levels together, which no structure explains: 70000049, 70000082. Slices whose
 * differences jitter hides: 20005097.
 *
 * Sets of unequal ways where lines are fetched ahead: 40000257. Lines for which noise left the
 * right size out of what was proposed: 80000076, 80000112. A line that nothing tells from the half
 * of it, of which the battery took neither: 50000285.
 */
static void test_blind__what_is_stated_was_distinguished(void **state)
{
    static const struct blind_case cases[] = {
        {6400009, {"tlb_"}},
        {6100066, {"tlb_"}},
        {6500018, {"tlb_"}},
        {6000001, {"l2.index_masks"}},
        {6000000, {"dram.latency_cycles"}},
        {6200001, {"l2.full_miss_bytes"}},
        {6200005, {"constant_l1."}},
        {6200019, {"l2."}},
        {6200048, {"readonly."}},
        {6200054, {"l2."}},
        {6200060, {"l2."}},
        {6210008, {"l2.size_bytes"}},
        {6210134, {"constant_l1."}},
        {6200038, {""}},
        {6400006, {"l2."}},
        {6400016, {"l2.set_count"}},
        {6400031, {"texture."}},
        {6400037, {"l1.", "l2."}},
        {6400053, {"constant_l15."}},
        {6400064, {"l2."}},
        {6400103, {"constant_l15."}},
        {6300017, {"l2.miss_latency_cycles"}},
        {6400110, {"l1."}},
        {6300088, {"mshr."}},
        {6300111, {"mshr."}},
        {6000075, {"l2."}},
        {6000152, {"l2."}},
        {6100009, {"l2."}},
        {6100254, {"l2."}},
        {6100289, {"l2."}},
        {6100292, {"l2."}},
        {6100378, {"l1."}},
        {8600115, {"l2.set_count"}},
        {8700176, {"l2."}},
        {8900081, {"l1.set_count"}},
        {8800180, {"l2.set_count"}},
        {8900118, {"l2.slice_count"}},
        {8900187, {"l2_near."}},
        {9000118, {"tlb_"}},
        {9000622, {"tlb_"}},
        {9000733, {"tlb_"}},
        {9200304, {"tlb_"}},
        {9000087, {"tlb_l2."}},
        {9000926, {"tlb_l2."}},
        {8900128, {"l2.size_bytes"}},
        {9000361, {"l2."}},
        {9310094, {"l2."}},
        {9000476, {"l2."}},
        {9200320, {"l2."}},
        {9200013, {"tlb_"}},
        {9200200, {"tlb_"}},
        {8800120, {"tlb_"}},
        {9400021, {"tlb_"}},
        {9400015, {"tlb_"}},
        {9500140, {"tlb_"}},
        {9600107, {"tlb_"}},
        {9500138, {"tlb_"}},
        {20000023, {"tlb_"}},
        {20000048, {"tlb_"}},
        {20000039, {"tlb_"}},
        {20000043, {"tlb_"}},
        {20000171, {"tlb_"}},
        {9700085, {"tlb_"}},
        {20000054, {"readonly.policy"}},
        {20000235, {"l1.policy"}},
        {20000025, {"sm.sm_group_sizes"}},
        {20000015, {"l2.size_bytes"}},
        {20000046, {"l2.size_bytes"}},
        {20000016, {"l2.prefetch_bytes"}},
        {9800128, {"l2."}},
        {21000004, {"l2."}},
        {9800120, {"l2."}},
        {20001172, {"constant_l1.", "texture."}},
        {20000245, {"l1."}},
        {20001119, {"l2.", "texture."}},
        {21000116, {"l1."}},
        {9700028, {"l2."}},
        {20001029, {"tlb_"}},
        {20001154, {"tlb_"}},
        {20001102, {"tlb_"}},
        {20001086, {"tlb_"}},
        {20001125, {"tlb_"}},
        {9900115, {"tlb_", "l2."}},
        {20002014, {"tlb_"}},
        {20002076, {"tlb_"}},
        {9900310, {"tlb_"}},
        {9900317, {"tlb_"}},
        {9900339, {"tlb_"}},
        {9900411, {"tlb_"}},
        {9900416, {"tlb_"}},
        {9900678, {"tlb_"}},
        {20002535, {"tlb_l2."}},
        {9900470, {"tlb_"}},
        {9900302, {"l2."}},
        {9900003, {"tlb_"}},
        {9903324, {"tlb_"}},
        {9903386, {"tlb_"}},
        {20002226, {"tlb_"}},
        {20002278, {"tlb_"}},
        {20002081, {"l2.line_bytes"}},
        {9900049, {"l2."}},
        {20002024, {"l2."}},
        {9900065, {"l2."}},
        {20002056, {"l2.loaded_knee_share"}},
        {20002604, {"tlb_"}},
        {9900816, {"l2."}},
        {20002654, {"l1."}},
        {20002682, {"tlb_l3.", "tlb_l2.penalty_cycles"}},
        {20002701, {"tlb_"}},
        {20002720, {"tlb_"}},
        {20002713, {"tlb_"}},
        {20002694, {"l2."}},
        {20002727, {"l2."}},
        {20002783, {"tlb_", "l2."}},
        {20002885, {"tlb_l2."}},
        {20002872, {"l1."}},
        {9900946, {"l2."}},
        {20002844, {"tlb_"}},
        {20003067, {"tlb_l1."}},
        {21001002, {"l1."}},
        {22000008, {"texture.", "constant_l1."}},
        {22000009, {"l1."}},
        {22000272, {"l2."}},
        {22000283, {"l2."}},
        {9903366, {"l2."}},
        {90000111, {"dram.latency_cycles"}},
        {20004941, {"l2."}},
        {9903214, {"l2."}},
        {90000174, {"l2."}},
        {9903469, {"l2."}},
        {40000281, {"l2."}},
        {90000179, {"l2.miss_latency_cycles"}},
        {22000299, {"l1."}},
        {41000221, {"l2."}},
        {90000205, {"l2."}},
        {41000198, {"texture."}},
        {20005265, {"l2."}},
        {50000273, {"l2.miss_latency_cycles"}},
        {41000222, {"constant_l15."}},
        {41000173, {"mshr."}},
        {41000212, {"shared."}},
        {9903621, {"bulk_copy."}},
        {41000218, {"atomic."}},
        {20005271, {"tlb_l3."}},
        {90000146, {"tlb_l1."}},
        {90000151, {"tlb_l1."}},
        {9901323, {"tlb_l3."}},
        {20003379, {"tlb_l2."}},
        {20003710, {"tlb_l2."}},
        {22000153, {"tlb_l2."}},
        {20003663, {"tlb_l2."}},
        {30000265, {"tlb_l2."}},
        {20003640, {"constant_l15."}},
        {20003757, {"tlb_l2."}},
        {20004045, {"tlb_l3."}},
        {20003952, {"tlb_l2."}},
        {20003861, {"readonly.", "texture."}},
        {22000177, {"l1."}},
        {20003762, {"l2.line_bytes"}},
        {40000012, {"shared."}},
        {41000007, {"shared."}},
        {40000023, {"readonly."}},
        {40000047, {"bulk_copy."}},
        {40000064, {"tlb_l1."}},
        {40000076, {"tlb_l2."}},
        {9902459, {"tlb_l3."}},
        {20003395, {"tlb_l2."}},
        {20004177, {"tlb_l2."}},
        {20004249, {"constant_l1."}},
        {9902195, {"l2.miss_latency_cycles"}},
        {20004562, {"tlb_l3."}},
        {20004464, {"tlb_l3."}},
        {20004561, {"tlb_l3."}},
        {9902632, {"tlb_l2."}},
        {20004594, {"tlb_l2.index"}},
        {20004403, {"l2.read_bytes_per_cycle_per_sm"}},
        {20004688, {"tlb_l2."}},
        {20004706, {"tlb_l2."}},
        {41000100, {"tlb_l2."}},
        {20004687, {"tlb_l2."}},
        {20004703, {"tlb_l2."}},
        {20004708, {"tlb_l3."}},
        {20004726, {"mshr."}},
        {20004852, {"tlb_l1."}},
        {30000358, {"tlb_l1."}},
        {60000065, {"tlb_l1."}},
        {40000117, {"tlb_l1."}},
        {20004801, {"tlb_l3."}},
        {9902946, {"l2."}},
        {41000129, {"constant_l1."}},
        {41000091, {"readonly."}},
        {60000037, {"constant_l15."}},
        {70000050, {"tlb_"}},
        {21001001, {"l1.", "readonly.", "texture."}},
        {80000004, {"l1.", "l2."}},
        {80000012, {"l1.", "l2.", "texture."}},
        {80000030, {"l1.", "l2.", "texture."}},
        {80000034, {"l2."}},
        {80000025, {"l2.", "sm."}},
        {80000064, {"readonly."}},
        {80000044, {"l1."}},
        {20005097, {"l2.slice_count"}},
        {70000049, {"tlb_"}},
        {70000082, {"tlb_"}},
        {40000257, {"l1."}},
        {80000076, {"l1."}},
        {80000112, {"l2."}},
        {50000285, {"l1."}},
    };

    (void)state;
    run_cases(cases, COUNT(cases), false);
}

/* One load of a hundred takes a thousand cycles more: all lines seem to be of one set. */
static void test_blind__many_spikes_make_nothing_wrong(void **state)
{
    struct blind_result results[BLIND_RESULTS_MAX];
    struct blind_profile profile;
    struct blind_cache *l1 = &profile.caches[BLIND_L1];
    size_t count;

    (void)state;
    skip_in_other_parts(1);
    blind_draw(1, &profile);
    *l1 = (struct blind_cache){.id = "l1",
                               .paths = "[\"global_ca\"]",
                               .line_bytes = 128,
                               .sector_bytes = 128,
                               .sets = 32,
                               .ways = 4,
                               .policy = "lru",
                               .latency_cycles = 90};
    profile.jitter_cycles = 2;
    profile.spike_probability = 1e-2;
    profile.spike_cycles = 1000;
    count = recover_profile(&profile, results);
    for (size_t k = 0; k < count; k++)
        if (blind_is_false(&results[k]))
            note_failure(profile.seed, &results[k]);
    assert_int_equal(failures, 0);
}

/* Every load may take 200 cycles more: none shows a level, least of all one of a single entry. */
static void test_blind__much_jitter_shows_no_translation(void **state)
{
    struct blind_result results[BLIND_RESULTS_MAX];
    struct blind_profile profile;
    size_t count;

    (void)state;
    skip_in_other_parts(2);
    blind_draw(6500018, &profile);
    profile.jitter_cycles = 200;
    profile.spike_probability = 1e-3;
    profile.spike_cycles = 500;
    count = recover_profile(&profile, results);
    for (size_t k = 0; k < count; k++)
        if (strncmp(results[k].name, "tlb_", 4) == 0 && blind_is_false(&results[k]))
            note_failure(profile.seed, &results[k]);
    assert_int_equal(failures, 0);
}

/*
 * Lines of L2 72 cycles apart: one set of the second level is as likely in front of the first as
 * behind it.
 */
static void test_blind__lines_of_different_times_keep_levels_in_order(void **state)
{
    struct blind_result results[BLIND_RESULTS_MAX];
    struct blind_profile profile;
    size_t count;

    (void)state;
    skip_in_other_parts(0);
    blind_draw(9902025, &profile);
    profile.caches[BLIND_L2].spread_cycles = 72;
    count = recover_profile(&profile, results);
    for (size_t k = 0; k < count; k++)
        if (strncmp(results[k].name, "tlb_", 4) == 0 && blind_is_false(&results[k]))
            note_failure(profile.seed, &results[k]);
    assert_int_equal(failures, 0);
}

static bool is_of_all_sms(const struct blind_result *result)
{
    static const char *const names[] = {
        "atomic.",     "bulk_copy.",   "cluster_shared.", "compute.",   "host_link.",
        "peer_link.",  "l2_near.",     "l2_far.",         "sm.gpc_",    "shared.banks",
        "persisting_", "normal_share", "loaded_",         "read_bytes_"};
    bool found = false;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        found |= strstr(result->name, names[i]) != NULL;
    return found;
}

/*
 * 5900001, 5900034  clusters that fill groups of SMs of one GPC without a rest
 * 5900014, 5900020  lines of two latencies, by pages that a small TLB does not hold
 * 5900010           conflicts that take as little more as noise does
 * 5900016           one SM: no traffic of others, nobody to compare its computations with
 * 5900074           a third cache behind L2 is no far half of it
 * 5900003, 5900007  an SM that computes wrongly; no clusters of several CTAs
 */
static void test_blind__what_all_sms_do_at_once(void **state)
{
    static const uint64_t seeds[] = {5900001, 5900003, 5900007, 5900010, 5900014,
                                     5900016, 5900020, 5900034, 5900074};
    size_t exact = 0, open = 0;

    (void)state;
    skip_in_other_parts(3);
    for (size_t i = 0; i < COUNT(seeds); i++) {
        struct blind_result results[BLIND_RESULTS_MAX];
        size_t count = recover(seeds[i], results);

        for (size_t k = 0; k < count; k++) {
            if (!is_of_all_sms(&results[k]))
                continue;
            if (blind_is_false(&results[k]))
                note_failure(seeds[i], &results[k]);
            exact += results[k].verdict == BLIND_EXACT;
            open += results[k].verdict == BLIND_NULL || results[k].verdict == BLIND_BOUNDED;
        }
    }
    assert_int_equal(failures, 0);
    assert_true(3 * open <= exact + open);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_blind__nothing_stated_is_wrong, forget_failures),
        cmocka_unit_test_setup(test_blind__devices_that_once_went_wrong_are_found, forget_failures),
        cmocka_unit_test_setup(test_blind__masks_without_a_bit_that_few_lines_showed_are_not_stated,
                               forget_failures),
        cmocka_unit_test_setup(test_blind__patterns_are_what_their_loads_pay_for, forget_failures),
        cmocka_unit_test_setup(test_blind__hashed_translation_is_stated_or_undetermined,
                               forget_failures),
        cmocka_unit_test_setup(test_blind__levels_beside_those_of_caches_are_found,
                               forget_failures),
        cmocka_unit_test_setup(test_blind__levels_with_other_victims_are_found, forget_failures),
        cmocka_unit_test_setup(test_blind__the_next_level_is_the_one_that_answers, forget_failures),
        cmocka_unit_test_setup(test_blind__what_is_stated_was_distinguished, forget_failures),
        cmocka_unit_test_setup(test_blind__many_spikes_make_nothing_wrong, forget_failures),
        cmocka_unit_test_setup(test_blind__lines_of_different_times_keep_levels_in_order,
                               forget_failures),
        cmocka_unit_test_setup(test_blind__much_jitter_shows_no_translation, forget_failures),
        cmocka_unit_test_setup(test_blind__what_all_sms_do_at_once, forget_failures),
    };

    if (argc == 3) {
        part = strtoul(argv[1], NULL, 10);
        parts = strtoul(argv[2], NULL, 10);
    }
    if (argc != 1 && (argc != 3 || part < 1 || part > parts)) {
        fprintf(stderr, "expected no arguments, or PART PARTS with PART from 1 to PARTS\n");
        return 2;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
