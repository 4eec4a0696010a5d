/*
 * Family parallel: the same work on all SMs at once.
 *
 *   read_peak     axes memory, word, sm: byte per cycle that each SM reads from its shared memory,
 *                 its L1 and L2 while all do, by words of 4, 8 and 16 bytes
 *   l2_read       axes company, sm: byte per cycle from L2 of each SM alone, and of all together
 *   atomic_rate   axes pattern, line: additions per cycle of the whole device, all threads to one
 *                 address, to the words of one line, and each to a word of its own; by where in L2
 *                 the first word lies
 *   atomic_sides  axes line, quantity: an addition of SM 0 that waits for the one before (cycles,
 *                 overhead included), and additions per cycle of all its threads to that address
 *                 while the other SMs rest; lines of both sides of L2, distinguished by the latency
 *   bulk_copy     axes size, quantity: cycles from the start of one asynchronous copy from L2 to
 *                 shared memory to its end, less overhead, and byte per cycle of an SM while all
 *                 copy
 */
#include <math.h>
#include <stdlib.h>

#include "battery/grid.h"
#include "battery/tests.h"
#include "core/compare.h"

enum { L1_BYTES = 65536, SHARED_BYTES = 65536, L2_BYTES = 131072 };
/* Odd, and so many that the first load's latency and the last barrier do not count. */
enum { REPEATS = 129, REPEATS_L2 = 257, REPEATS_ALONE = 129 };
enum { WORDS = 3, MEMORIES = 3 };
enum { PATTERNS = 3, LINES = 16, LINE_STEP_BYTES = 69 * 4096 + 128, SIDE_LINES = 64 };
/* Of a thread on one SM; lines near each other, so that few pages need translation. */
enum { ADDS_ALONE = 20, SIDE_STEP_BYTES = 4096 + 128 };
enum { COPIES = 33, COPIES_AT_ONCE = 8, COPY_TAKES = 3, SIZES = 7 };

/* Runs the work; cycles_out[sm_count] */
static enum pb_status take(struct pb_session *session, const struct pb_work *work,
                           uint64_t *cycles_out, struct pb_error *err)
{
    return session->device->ops->work(session->device, work, cycles_out, err);
}

/* Cycles of each SM, for free(), and the matrix that they fill. */
static enum pb_status open_matrix(const struct pb_session *session, const struct pb_grid_axis *axes,
                                  size_t rank, const char *unit, const char *description,
                                  struct pb_matrix *matrix, uint64_t **cycles_out,
                                  struct pb_error *err)
{
    *cycles_out = calloc(session->info.sm_count, sizeof(**cycles_out));
    if (*cycles_out == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %u SMs",
                       session->info.sm_count);
    return pb_grid_open(matrix, axes, rank, unit, description, err);
}

/*
 * Makes the array as large as the memory holds, and the passes over it as many as make up for that.
 * False: not even the smallest fits, so that it would be read from elsewhere.
 */
static bool fit(const struct pb_session *session, struct pb_work *work)
{
    uint64_t step = pb_work_step_bytes(work), available = work->bytes, wanted = work->bytes;

    if (work->kind == PB_WORK_SHARED && session->info.shared_per_cta_bytes > 0)
        available = session->info.shared_per_cta_bytes;
    if (work->kind == PB_WORK_L1 && session->hints[PB_CACHE_L1].edge_bytes > 0)
        available = session->hints[PB_CACHE_L1].edge_bytes;
    if (available < wanted)
        work->bytes = available / step * step;
    if (work->bytes == 0)
        return false;
    work->repeats = (uint32_t)(work->repeats * wanted / work->bytes) | 1;
    return true;
}

enum pb_status pb_test_read_peak(struct pb_session *session, struct pb_recording *recording,
                                 struct pb_error *err)
{
    static const char *const memories[MEMORIES] = {"shared", "l1", "l2"};
    static const struct pb_work works[MEMORIES] = {
        {.kind = PB_WORK_SHARED, .bytes = SHARED_BYTES, .repeats = REPEATS, .sm = -1},
        {.kind = PB_WORK_L1, .bytes = L1_BYTES, .repeats = REPEATS, .sm = -1},
        {.kind = PB_WORK_L2, .bytes = L2_BYTES, .repeats = REPEATS_L2, .sm = -1}};
    static const double words[WORDS] = {4, 8, 16};
    size_t sm_count = session->info.sm_count, taken = 0;
    uint64_t *cycles = NULL;
    enum pb_status status;
    const struct pb_grid_axis axes[] = {
        PB_GRID_LABELS("memory", "what is read", memories),
        PB_GRID_VALUES("word", "byte", "of one load of a thread", words),
        PB_GRID_SMS(session),
    };

    status = open_matrix(session, axes, 3, "byte/cycle", "read by one SM while all read",
                         &recording->matrix, &cycles, err);
    for (size_t i = 0; i < MEMORIES * WORDS && status == PB_OK; i++) {
        struct pb_work work = works[i / WORDS];

        work.word_bytes = (uint32_t)words[i % WORDS];
        if (!fit(session, &work))
            continue;
        status = take(session, &work, cycles, err);
        for (size_t sm = 0; sm < sm_count && status == PB_OK; sm++)
            recording->matrix.values[i * sm_count + sm] =
                (double)work.bytes * work.repeats / (double)cycles[sm];
        taken += status == PB_OK;
        status = pb_grid_forgive(status);
    }
    free(cycles);
    return status == PB_OK && taken == 0 ? PB_UNSUPPORTED : status;
}

enum pb_status pb_test_l2_read(struct pb_session *session, struct pb_recording *recording,
                               struct pb_error *err)
{
    static const char *const company[] = {"alone", "together"};
    size_t sm_count = session->info.sm_count;
    uint64_t *cycles = NULL;
    struct pb_work work = {.kind = PB_WORK_L2, .word_bytes = 16, .bytes = L2_BYTES, .sm = -1};
    enum pb_status status;
    const struct pb_grid_axis axes[] = {
        PB_GRID_LABELS("company", "which SMs read", company),
        PB_GRID_SMS(session),
    };

    status = open_matrix(session, axes, 2, "byte/cycle", "read from L2 by an SM",
                         &recording->matrix, &cycles, err);
    work.repeats = REPEATS_ALONE;
    for (size_t sm = 0; sm < sm_count && status == PB_OK; sm++) {
        work.sm = (int64_t)sm;
        status = take(session, &work, cycles, err);
        if (status == PB_OK)
            recording->matrix.values[sm] = (double)work.bytes * work.repeats / (double)cycles[sm];
    }
    work.sm = -1;
    work.repeats = REPEATS_L2;
    if (status == PB_OK)
        status = take(session, &work, cycles, err);
    for (size_t sm = 0; sm < sm_count && status == PB_OK; sm++)
        recording->matrix.values[sm_count + sm] =
            (double)work.bytes * work.repeats / (double)cycles[sm];
    free(cycles);
    return status;
}

static uint64_t largest(const uint64_t *values, size_t count)
{
    uint64_t most = 0;

    for (size_t i = 0; i < count; i++)
        most = values[i] > most ? values[i] : most;
    return most;
}

/*
 * Additions of a thread: the faster they are, the more, so that the latency of the first one does
 * not count; and the more, the fewer SMs there are.
 */
static uint32_t count_adds(size_t pattern, size_t sm_count)
{
    static const uint32_t adds[PATTERNS] = {5, 20, 2000};
    const uint32_t sms = 64;

    return adds[pattern] * (sm_count < sms ? sms / (uint32_t)sm_count : 1);
}

enum pb_status pb_test_atomic_rate(struct pb_session *session, struct pb_recording *recording,
                                   struct pb_error *err)
{
    static const char *const patterns[PATTERNS] = {"one_address", "one_line", "spread"};
    size_t sm_count = session->info.sm_count;
    const uint32_t counts[PATTERNS] = {1, 32, (uint32_t)sm_count * PB_WORK_THREADS};
    double lines[LINES];
    uint64_t *cycles = NULL;
    enum pb_status status;
    const struct pb_grid_axis axes[] = {
        PB_GRID_LABELS("pattern", "what the threads add to", patterns),
        PB_GRID_VALUES("line", "byte", "offset of the first word", lines),
    };

    for (size_t i = 0; i < LINES; i++)
        lines[i] = (double)(i * LINE_STEP_BYTES);
    status = open_matrix(session, axes, 2, "1/cycle", "additions of all threads of all SMs",
                         &recording->matrix, &cycles, err);
    for (size_t i = 0; i < PATTERNS * LINES && status == PB_OK; i++) {
        struct pb_work work = {.kind = PB_WORK_ATOMIC,
                               .word_bytes = 4,
                               .repeats = count_adds(i / LINES, sm_count),
                               .address_count = counts[i / LINES],
                               .offset_bytes = i % LINES * LINE_STEP_BYTES,
                               .sm = -1};

        status = take(session, &work, cycles, err);
        if (status == PB_OK)
            recording->matrix.values[i] = (double)sm_count * PB_WORK_THREADS * work.repeats /
                                          (double)largest(cycles, sm_count);
    }
    free(cycles);
    return status;
}

enum pb_status pb_test_atomic_sides(struct pb_session *session, struct pb_recording *recording,
                                    struct pb_error *err)
{
    static const char *const quantities[] = {"latency", "rate"};
    const uint32_t sm = 0;
    uint64_t offsets[SIDE_LINES];
    uint32_t latency[SIDE_LINES];
    double lines[SIDE_LINES];
    uint64_t *cycles = NULL;
    const struct pb_map map = {.touch = PB_TOUCH_ATOMIC,
                               .offset_bytes = offsets,
                               .offset_count = SIDE_LINES,
                               .sms = &sm,
                               .sm_count = 1,
                               .warm = 2};
    const struct pb_grid_axis axes[] = {
        PB_GRID_VALUES("line", "byte", "offset of the word", lines),
        PB_GRID_LABELS("quantity", "cycle, 1/cycle", quantities),
    };
    enum pb_status status;

    for (size_t i = 0; i < SIDE_LINES; i++) {
        offsets[i] = i * SIDE_STEP_BYTES;
        lines[i] = (double)offsets[i];
    }
    status =
        open_matrix(session, axes, 2, "by quantity", "additions of one SM, by where the word lies",
                    &recording->matrix, &cycles, err);
    if (status == PB_OK)
        status = session->device->ops->map(session->device, &map, latency, err);
    for (size_t i = 0; i < SIDE_LINES && status == PB_OK; i++) {
        const struct pb_work work = {.kind = PB_WORK_ATOMIC,
                                     .word_bytes = 4,
                                     .repeats = ADDS_ALONE,
                                     .address_count = 1,
                                     .offset_bytes = offsets[i],
                                     .sm = sm};

        status = take(session, &work, cycles, err);
        recording->matrix.values[2 * i] = latency[i];
        if (status == PB_OK)
            recording->matrix.values[2 * i + 1] =
                (double)PB_WORK_THREADS * ADDS_ALONE / (double)cycles[sm];
    }
    free(cycles);
    return status;
}

/* Cycles of SM 0 by the fastest of several runs: what disturbs one delays it. */
static enum pb_status take_fastest(struct pb_session *session, const struct pb_work *work,
                                   uint64_t *cycles, double *fastest_out, struct pb_error *err)
{
    enum pb_status status = PB_OK;
    double fastest = INFINITY;

    for (size_t i = 0; i < COPY_TAKES && status == PB_OK; i++) {
        status = take(session, work, cycles, err);
        fastest = fmin(fastest, (double)cycles[0]);
    }
    *fastest_out = fastest;
    return status;
}

enum pb_status pb_test_bulk_copy(struct pb_session *session, struct pb_recording *recording,
                                 struct pb_error *err)
{
    static const double sizes[SIZES] = {16, 64, 256, 1024, 4096, 8192, 16384};
    static const char *const quantities[] = {"latency", "throughput"};
    static const struct pb_grid_axis axes[] = {
        PB_GRID_VALUES("size", "byte", "of one copy", sizes),
        PB_GRID_LABELS("quantity", "cycle, byte/cycle of an SM", quantities),
    };
    size_t sm_count = session->info.sm_count;
    uint64_t *cycles = NULL;
    enum pb_status status;

    status =
        open_matrix(session, axes, 2, "by quantity", "asynchronous copies from L2 to shared memory",
                    &recording->matrix, &cycles, err);
    for (size_t i = 0; i < SIZES && status == PB_OK; i++) {
        struct pb_work work = {.kind = PB_WORK_BULK,
                               .word_bytes = (uint32_t)sizes[i],
                               .bytes = PB_WORK_ARRAY_STEP,
                               .repeats = COPIES,
                               .depth = 1};
        double fastest;

        status = take_fastest(session, &work, cycles, &fastest, err);
        if (status == PB_OK)
            recording->matrix.values[2 * i] = (fastest - session->overhead_cycles) / COPIES;
        work.sm = -1;
        work.depth = COPIES_AT_ONCE;
        work.repeats = COPIES * COPIES_AT_ONCE;
        if (status == PB_OK)
            status = take(session, &work, cycles, err);
        if (status != PB_OK)
            break;
        qsort(cycles, sm_count, sizeof(*cycles), pb_compare_uint64);
        recording->matrix.values[2 * i + 1] =
            sizes[i] * work.repeats / (double)cycles[sm_count / 2];
    }
    free(cycles);
    return status;
}
