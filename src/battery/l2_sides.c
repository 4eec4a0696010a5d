/*
 * Family parallel: throughput of L2 by the side that is home to what is read.
 *
 *   l2_side_read   axes home, quantity, sm. The homes are the two halves of an array: near, at home
 *                  on the side of SM 0, and far, on the other one. Quantities: latency of an
 *                  atomic of the SM there (cycles, overhead included), the median of 16 lines; byte
 *                  per cycle that the SM reads from there alone, and together with all others. Then
 *                  those of one side share what is at home there, and after that those of the
 *                  other side do
 *
 * Where the home is: an atomic is done there, and takes longer from the other side. Before each
 * reading all SMs write the array, and each line is read but once: so none has been copied to the
 * side of the SM that reads. Limits: a piece of 4 KiB has one home; where less than nine tenths of
 * them do, or latencies are not of two classes, there are no two sides to distinguish.
 */
#include <math.h>
#include <stdlib.h>

#include "battery/grid.h"
#include "battery/tests.h"
#include "core/compare.h"

enum { HOMES = 2, QUANTITIES = 3, LATENCY = 0, ALONE = 1, TOGETHER = 2 };
enum {
    LINE_BYTES = 128,
    PAGES_MAX = 16, /* of 2 MiB: what the first TLB level surely holds */
    PAGES_MIN = 2,
    ALONE_PIECES = 512,
    SAMPLE = 16 /* lines of a home that each SM adds to */
};

/* Pieces of the array by home, one list behind the other as struct pb_work takes them. */
struct pieces {
    uint64_t bytes; /* of the array */
    size_t candidate_count;
    uint32_t *numbers; /* [candidate_count] */
    size_t first[HOMES], count[HOMES];
};

/* What every SM reads of a list, and what it took. */
struct reading {
    uint32_t (*spans)[2]; /* [sm_count] */
    uint64_t *cycles;     /* [sm_count] */
    bool *is_near;        /* [sm_count] the home `near` is on its side */
};

/* Number i of the pieces but the last one of each page. */
static uint32_t candidate(size_t i)
{
    const size_t usable = PB_WORK_PIECES_PAGE - 1;

    return (uint32_t)(i / usable * PB_WORK_PIECES_PAGE + i % usable);
}

/*
 * Atomics of SM 0 to the first and the last line of every candidate: latency_out[candidate_count]
 * [2]. One slot more, behind the array, so that the memory is enough for all that comes.
 */
static enum pb_status touch_pieces(struct pb_session *session, const struct pieces *pieces,
                                   uint32_t *latency_out, struct pb_error *err)
{
    const uint32_t sm = 0;
    size_t count = 2 * pieces->candidate_count;
    uint64_t *offsets = malloc((count + 1) * sizeof(*offsets));
    struct pb_map map = {.touch = PB_TOUCH_ATOMIC,
                         .offset_bytes = offsets,
                         .offset_count = count + 1,
                         .sms = &sm,
                         .sm_count = 1,
                         .warm = 1}; /* else DRAM's latency hides the way to the home */
    enum pb_status status;

    if (offsets == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu lines", count);
    for (size_t i = 0; i < count; i++)
        offsets[i] = (uint64_t)candidate(i / 2) * PB_WORK_PIECE_BYTES +
                     i % 2 * (PB_WORK_PIECE_BYTES - LINE_BYTES);
    offsets[count] = pieces->bytes + PB_WORK_PIECES_PAGE * PB_WORK_PIECE_BYTES;
    status = session->device->ops->map(session->device, &map, latency_out, err);
    free(offsets);
    return status;
}

/* The middle between two classes of latencies; 0: there are no two. */
static uint32_t find_middle(const uint32_t *latency, size_t count, uint32_t *scratch)
{
    uint32_t low, high, inner_low, inner_high;
    size_t between = 0, above = 0;

    for (size_t i = 0; i < count; i++)
        scratch[i] = latency[i];
    qsort(scratch, count, sizeof(*scratch), pb_compare_uint32);
    low = scratch[count / 10];
    high = scratch[count - 1 - count / 10];
    inner_low = low + (high - low) * 2 / 5;
    inner_high = low + (high - low) * 3 / 5;
    for (size_t i = 0; i < count; i++) {
        between += latency[i] > inner_low && latency[i] < inner_high;
        above += latency[i] >= inner_high;
    }
    if (10 * (uint64_t)(high - low) < low || 20 * between > count || 4 * above < count ||
        4 * above > 3 * count)
        return 0;
    return (inner_low + inner_high) / 2;
}

/* Lists the pieces by home: those both of whose lines agree. */
static enum pb_status sort_pieces(const uint32_t *latency, uint32_t middle, struct pieces *pieces,
                                  struct pb_error *err)
{
    size_t placed = 0;

    for (size_t home = 0; home < HOMES; home++) {
        pieces->first[home] = placed;
        for (size_t i = 0; i < pieces->candidate_count; i++)
            if ((latency[2 * i] >= middle) == (home == 1) &&
                (latency[2 * i + 1] >= middle) == (home == 1))
                pieces->numbers[placed++] = candidate(i);
        pieces->count[home] = placed - pieces->first[home];
    }
    if (10 * placed < 9 * pieces->candidate_count)
        return pb_fail(err, PB_UNSUPPORTED,
                       "%zu of %zu pieces of 4 KiB have one home: a side holds smaller ones",
                       placed, pieces->candidate_count);
    return PB_OK;
}

static enum pb_status find_pieces(struct pb_session *session, struct pieces *pieces,
                                  struct pb_error *err)
{
    size_t count = 2 * pieces->candidate_count;
    uint32_t *latency = malloc((count + 1) * sizeof(*latency));
    uint32_t *scratch = malloc(count * sizeof(*scratch));
    uint32_t middle;
    enum pb_status status;

    if (latency == NULL || scratch == NULL)
        status = pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu lines", count);
    else
        status = touch_pieces(session, pieces, latency, err);
    if (status == PB_OK) {
        middle = find_middle(latency, count, scratch);
        status = middle == 0 ? pb_fail(err, PB_UNSUPPORTED,
                                       "atomics take as long to all lines: no two sides")
                             : sort_pieces(latency, middle, pieces, err);
    }
    free(scratch);
    free(latency);
    return status;
}

/* Where each SM's cells of a quantity begin. */
static double *cells(const struct pb_session *session, struct pb_recording *recording, size_t home,
                     size_t quantity)
{
    return recording->matrix.values + (home * QUANTITIES + quantity) * session->info.sm_count;
}

/* Atomics of every SM to some lines of both homes: which of them is its own. */
static enum pb_status take_latencies(struct pb_session *session, const struct pieces *pieces,
                                     struct reading *reading, struct pb_recording *recording,
                                     struct pb_error *err)
{
    size_t sm_count = session->info.sm_count;
    uint64_t offsets[HOMES * SAMPLE];
    uint32_t *latency = malloc(sm_count * HOMES * SAMPLE * sizeof(*latency));
    const struct pb_map map = {.touch = PB_TOUCH_ATOMIC,
                               .offset_bytes = offsets,
                               .offset_count = HOMES * SAMPLE,
                               .warm = 1};
    enum pb_status status;

    if (latency == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu SMs", sm_count);
    for (size_t home = 0; home < HOMES; home++)
        for (size_t i = 0; i < SAMPLE; i++)
            offsets[home * SAMPLE + i] =
                (uint64_t)PB_WORK_PIECE_BYTES *
                pieces->numbers[pieces->first[home] + i * pieces->count[home] / SAMPLE];
    status = session->device->ops->map(session->device, &map, latency, err);
    for (size_t sm = 0; sm < sm_count && status == PB_OK; sm++) {
        for (size_t home = 0; home < HOMES; home++) {
            uint32_t *own = latency + (sm * HOMES + home) * SAMPLE;

            qsort(own, SAMPLE, sizeof(*own), pb_compare_uint32);
            cells(session, recording, home, LATENCY)[sm] = own[SAMPLE / 2];
        }
        reading->is_near[sm] =
            cells(session, recording, 0, LATENCY)[sm] < cells(session, recording, 1, LATENCY)[sm];
    }
    free(latency);
    return status;
}

static enum pb_status read_pieces(struct pb_session *session, const struct pieces *pieces,
                                  int64_t sm, struct reading *reading, struct pb_error *err)
{
    const struct pb_work work = {.kind = PB_WORK_PIECES,
                                 .word_bytes = 16,
                                 .bytes = pieces->bytes,
                                 .repeats = 1,
                                 .sm = sm,
                                 .pieces = pieces->numbers,
                                 .piece_count = pieces->first[1] + pieces->count[1],
                                 .spans = (const uint32_t(*)[2])reading->spans};

    return session->device->ops->work(session->device, &work, reading->cycles, err);
}

static double rate_of(const struct reading *reading, size_t sm)
{
    return (double)reading->spans[sm][1] * PB_WORK_PIECE_BYTES / (double)reading->cycles[sm];
}

static enum pb_status take_alone(struct pb_session *session, const struct pieces *pieces,
                                 struct reading *reading, struct pb_recording *recording,
                                 struct pb_error *err)
{
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < HOMES * (size_t)session->info.sm_count && status == PB_OK; i++) {
        size_t home = i % HOMES, sm = i / HOMES, count = pieces->count[home];

        count = count < ALONE_PIECES ? count : ALONE_PIECES;
        reading->spans[sm][0] = (uint32_t)pieces->first[home];
        reading->spans[sm][1] = (uint32_t)(count - count % PB_WORK_PIECES_STEP);
        status = read_pieces(session, pieces, (int64_t)sm, reading, err);
        if (status == PB_OK)
            cells(session, recording, home, ALONE)[sm] = rate_of(reading, sm);
    }
    return status;
}

/* All SMs at once, each from its own side or from the other one; a piece is read by one of them. */
static enum pb_status take_together(struct pb_session *session, const struct pieces *pieces,
                                    bool from_own, struct reading *reading,
                                    struct pb_recording *recording, struct pb_error *err)
{
    size_t sm_count = session->info.sm_count, readers[HOMES] = {0}, next[HOMES] = {0};
    enum pb_status status;

    for (size_t sm = 0; sm < sm_count; sm++)
        readers[reading->is_near[sm] != from_own]++;
    for (size_t sm = 0; sm < sm_count; sm++) {
        size_t home = reading->is_near[sm] != from_own;
        size_t share = pieces->count[home] / readers[home];

        share -= share % PB_WORK_PIECES_STEP;
        if (share == 0)
            return PB_OK; /* too many SMs for the array: the cells stay empty */
        reading->spans[sm][0] = (uint32_t)(pieces->first[home] + next[home]++ * share);
        reading->spans[sm][1] = (uint32_t)share;
    }
    status = read_pieces(session, pieces, -1, reading, err);
    for (size_t sm = 0; sm < sm_count && status == PB_OK; sm++)
        cells(session, recording, reading->is_near[sm] != from_own, TOGETHER)[sm] =
            rate_of(reading, sm);
    return status;
}

static enum pb_status take_all(struct pb_session *session, struct pieces *pieces,
                               struct reading *reading, struct pb_recording *recording,
                               struct pb_error *err)
{
    static const char *const homes[HOMES] = {"near", "far"};
    static const char *const quantities[QUANTITIES] = {"latency", "alone", "together"};
    const struct pb_grid_axis axes[] = {
        PB_GRID_LABELS("home", "side of L2 that the lines are at home on, as SM 0 sees it", homes),
        PB_GRID_LABELS("quantity", "cycle, byte/cycle, byte/cycle", quantities),
        PB_GRID_SMS(session),
    };
    enum pb_status status = find_pieces(session, pieces, err);

    if (status == PB_OK)
        status = pb_grid_open(&recording->matrix, axes, 3, "by quantity",
                              "read from L2 by an SM, by where the lines are at home", err);
    if (status == PB_OK)
        status = take_latencies(session, pieces, reading, recording, err);
    if (status == PB_OK)
        status = take_alone(session, pieces, reading, recording, err);
    if (status == PB_OK)
        status = take_together(session, pieces, true, reading, recording, err);
    if (status == PB_OK)
        status = take_together(session, pieces, false, reading, recording, err);
    return status;
}

enum pb_status pb_test_l2_side_read(struct pb_session *session, struct pb_recording *recording,
                                    struct pb_error *err)
{
    const uint64_t page_bytes = (uint64_t)PB_WORK_PIECES_PAGE * PB_WORK_PIECE_BYTES;
    size_t sm_count = session->info.sm_count;
    uint64_t pages = session->info.l2_bytes / 2 / page_bytes;
    struct pieces pieces = {0};
    struct reading reading;
    enum pb_status status;

    pages = pages < PAGES_MAX ? pages : PAGES_MAX;
    if (pages < PAGES_MIN)
        return pb_fail(err, PB_UNSUPPORTED, "an L2 of %llu bytes: too small to read its sides",
                       (unsigned long long)session->info.l2_bytes);
    pieces.bytes = pages * page_bytes;
    pieces.candidate_count = pages * (PB_WORK_PIECES_PAGE - 1);
    pieces.numbers = malloc(pieces.candidate_count * sizeof(*pieces.numbers));
    reading.spans = calloc(sm_count, sizeof(*reading.spans));
    reading.cycles = calloc(sm_count, sizeof(*reading.cycles));
    reading.is_near = calloc(sm_count, sizeof(*reading.is_near));
    if (pieces.numbers == NULL || reading.spans == NULL || reading.cycles == NULL ||
        reading.is_near == NULL)
        status = pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu SMs", sm_count);
    else
        status = take_all(session, &pieces, &reading, recording, err);
    free(reading.is_near);
    free(reading.cycles);
    free(reading.spans);
    free(pieces.numbers);
    return status;
}
