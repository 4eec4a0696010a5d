/*
 * The links of a device, alone and while the node's other devices use theirs.
 *
 *   host_link   to_latency_ns, from_latency_ns: of 4 bytes to and from the device, pinned memory;
 *               to_concurrent_bytes_per_s, from_concurrent_bytes_per_s: throughput beside the
 *               transfers of other GPUs
 *   peer_link   bytes_per_s, latency_ns, concurrent_bytes_per_s: lists, a number for each other
 *               device, in the order of their PCI bus ids in the recording; null: not reached
 *
 *               load_latency_cycles, load_dram_latency_cycles: of loads past L1 of lines in the
 *               peer's L2 and in none; plain_latency_cycles: of plain loads of lines in its L2, and
 *               again_latency_cycles, of lines that this SM has loaded before; to_bytes_per_s,
 *               both_bytes_per_s: copies to the peer, and both ways at once together, by the
 *               fastest of copy engines and SMs
 *
 * Limit: one figure each (a median of repeats on the device) and so one piece of evidence.
 *
 * Source: facts 4, where links fail in fleets.
 */
#include "analysis/infer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/axes.h"
#include "analysis/confidence.h"
#include "analysis/statistics/sample.h"
#include "analysis/statistics/sort.h"

enum { HOST_AXES = 3 };

/* The cell of the host's matrix by labels[HOST_AXES]; NaN when one is not there. */
static double cell_of(const struct pb_matrix *matrix, const char *const *labels)
{
    size_t cell = 0;

    for (size_t i = 0; i < HOST_AXES; i++) {
        size_t place = pb_axis_label(&matrix->axes[i], labels[i]);

        if (place == matrix->axes[i].length)
            return NAN;
        cell += place * pb_axes_step(matrix, i);
    }
    return matrix->values[cell];
}

static enum pb_status check_host(const struct pb_matrix *matrix, struct pb_error *err)
{
    static const struct pb_axis_requirement requirements[] = {
        {"direction", true}, {"memory", true}, {"quantity", true}};

    return pb_axes_check(matrix, requirements, HOST_AXES, err);
}

enum pb_status pb_infer_host_latency(const struct pb_case *at, struct pb_error *err)
{
    static const char *const directions[] = {"to_device", "from_device"};
    static const char *const answers[] = {"to_latency_ns", "from_latency_ns"};
    const struct pb_matrix *matrix = &at->recordings[0].matrix;
    enum pb_status status = check_host(matrix, err);

    for (size_t i = 0; status == PB_OK && i < 2; i++) {
        const char *const median[] = {directions[i], "pinned", "median"};
        const char *const least[] = {directions[i], "pinned", "least"};
        double value = cell_of(matrix, median);

        pb_parameter_set_number(
            pb_case_answer(at, answers[i]),
            (struct pb_estimate){value, fmin(value, cell_of(matrix, least)), value},
            pb_confidence_of_one(), "transfers of 4 bytes, pinned memory: median, and the least");
    }
    return status;
}

enum pb_status pb_infer_host_together(const struct pb_case *at, struct pb_error *err)
{
    static const char *const directions[] = {"to_device", "from_device"};
    static const char *const answers[] = {"to_concurrent_bytes_per_s",
                                          "from_concurrent_bytes_per_s"};
    const struct pb_matrix *matrix = &at->recordings[0].matrix;
    enum pb_status status = check_host(matrix, err);

    for (size_t i = 0; status == PB_OK && i < 2; i++) {
        const char *const rate[] = {directions[i], "pinned", "throughput"};
        const char *const devices[] = {directions[i], "pinned", "devices"};
        double value = cell_of(matrix, rate);

        pb_parameter_set_number(pb_case_answer(at, answers[i]),
                                (struct pb_estimate){value, value, value}, pb_confidence_of_one(),
                                "transfers of 64 MiB, pinned memory, %.0f devices at once",
                                cell_of(matrix, devices));
    }
    return status;
}

/* States one quantity of every peer as a list. */
static void state_peers(struct pb_parameter *answer, const struct pb_matrix *matrix,
                        const char *quantity, const char *method)
{
    size_t place = pb_axis_label(&matrix->axes[1], quantity), peers = matrix->axes[0].length;
    struct pb_estimate values[PB_LIST_MAX];

    if (place == matrix->axes[1].length || peers > PB_LIST_MAX) {
        pb_parameter_set_none(answer, "not recorded: no %s of %zu peers", quantity, peers);
        return;
    }
    for (size_t i = 0; i < peers; i++) {
        double value = matrix->values[i * matrix->axes[1].length + place];

        values[i] = (struct pb_estimate){value, value, value};
    }
    pb_parameter_set_list(answer, values, peers, pb_confidence_of_one(), "%s", method);
}

static enum pb_status check_peers(const struct pb_matrix *matrix, struct pb_error *err)
{
    static const struct pb_axis_requirement requirements[] = {{"peer", true}, {"quantity", true}};

    return pb_axes_check(matrix, requirements, 2, err);
}

enum pb_status pb_infer_peers(const struct pb_case *at, struct pb_error *err)
{
    const struct pb_matrix *matrix = &at->recordings[0].matrix;
    enum pb_status status = check_peers(matrix, err);

    if (status != PB_OK)
        return status;
    state_peers(pb_case_answer(at, "bytes_per_s"), matrix, "bandwidth",
                "a large transfer from each other device");
    state_peers(pb_case_answer(at, "latency_ns"), matrix, "latency",
                "transfers of 4 bytes from each other device");
    return PB_OK;
}

enum pb_status pb_infer_peers_together(const struct pb_case *at, struct pb_error *err)
{
    const struct pb_matrix *matrix = &at->recordings[0].matrix;
    enum pb_status status = check_peers(matrix, err);

    if (status == PB_OK)
        state_peers(pb_case_answer(at, "concurrent_bytes_per_s"), matrix, "throughput",
                    "transfers of 64 MiB from each other device while all transfer");
    return status;
}

/* ---- chases in a peer's memory, copies of all ways ---- */

/* The median of one peer's lines, less the overhead, with the middle half. */
static enum pb_status median_of_lines(const double *cells, size_t lines, double overhead_cycles,
                                      struct pb_estimate *estimate_out, struct pb_error *err)
{
    double *sorted = malloc((lines + 1) * sizeof(*sorted));
    size_t count = 0;

    if (sorted == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu lines", lines);
    for (size_t i = 0; i < lines; i++)
        if (isfinite(cells[i]))
            sorted[count++] = cells[i] - overhead_cycles;
    pb_sort(sorted, count);
    *estimate_out = PB_ESTIMATE_NONE;
    if (count > 0)
        *estimate_out =
            (struct pb_estimate){pb_quantile(sorted, count, 0.5), pb_quantile(sorted, count, 0.25),
                                 pb_quantile(sorted, count, 0.75)};
    free(sorted);
    return PB_OK;
}

/* A list over the peers of what one path finds in one state. */
static enum pb_status state_chases(const struct pb_case *at, const char *answer, const char *path,
                                   const char *state, const char *method, struct pb_error *err)
{
    const struct pb_recording *recording = &at->recordings[0];
    const struct pb_matrix *matrix = &recording->matrix;
    size_t peers = matrix->axes[0].length, lines = matrix->axes[3].length;
    size_t row = pb_axis_label(&matrix->axes[1], path);
    size_t column = pb_axis_label(&matrix->axes[2], state);
    struct pb_estimate values[PB_LIST_MAX];
    enum pb_status status = PB_OK;

    if (row == matrix->axes[1].length || column == matrix->axes[2].length || peers > PB_LIST_MAX) {
        pb_parameter_set_none(pb_case_answer(at, answer),
                              "not recorded: no chase by %s, %s, in %zu peers", path, state, peers);
        return PB_OK;
    }
    for (size_t i = 0; i < peers && status == PB_OK; i++)
        status =
            median_of_lines(matrix->values + i * pb_axes_step(matrix, 0) +
                                row * pb_axes_step(matrix, 1) + column * pb_axes_step(matrix, 2),
                            lines, recording->overhead_cycles, &values[i], err);
    if (status == PB_OK)
        pb_parameter_set_list(pb_case_answer(at, answer), values, peers, pb_confidence_of_one(),
                              "%s: median of %zu lines of each other device", method, lines);
    return status;
}

enum pb_status pb_infer_peer_chase(const struct pb_case *at, struct pb_error *err)
{
    static const struct pb_axis_requirement requirements[] = {
        {"peer", true}, {"path", true}, {"state", true}, {"line", false}};
    static const struct {
        const char *answer, *path, *state, *method;
    } rows[] = {
        {"load_latency_cycles", "global_cg", "warm", "loads past L1, lines in the peer's L2"},
        {"load_dram_latency_cycles", "global_cg", "cold", "loads past L1, lines in no cache"},
        {"plain_latency_cycles", "global_ca", "warm", "plain loads, lines in the peer's L2"},
        {"again_latency_cycles", "global_ca", "again", "plain loads, lines loaded here before"},
    };
    enum pb_status status = pb_axes_check(&at->recordings[0].matrix, requirements, 4, err);

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && status == PB_OK; i++)
        status = state_chases(at, rows[i].answer, rows[i].path, rows[i].state, rows[i].method, err);
    return status;
}

/* The fastest engine of each peer. */
static void state_copies(struct pb_parameter *answer, const struct pb_matrix *matrix,
                         const char *way, const char *method)
{
    size_t place = pb_axis_label(&matrix->axes[1], way), peers = matrix->axes[0].length;
    size_t engines = matrix->axes[2].length;
    struct pb_estimate values[PB_LIST_MAX];

    if (place == matrix->axes[1].length || peers > PB_LIST_MAX) {
        pb_parameter_set_none(answer, "not recorded: no copies %s %zu peers", way, peers);
        return;
    }
    for (size_t i = 0; i < peers; i++) {
        const double *cells =
            matrix->values + i * pb_axes_step(matrix, 0) + place * pb_axes_step(matrix, 1);
        double best = cells[0];

        for (size_t j = 1; j < engines; j++)
            best = fmax(best, cells[j]);
        values[i] = (struct pb_estimate){best, best, best};
    }
    pb_parameter_set_list(answer, values, peers, pb_confidence_of_one(), "%s", method);
}

enum pb_status pb_infer_peer_copy(const struct pb_case *at, struct pb_error *err)
{
    static const struct pb_axis_requirement requirements[] = {
        {"peer", true}, {"way", true}, {"engine", true}};
    const struct pb_matrix *matrix = &at->recordings[0].matrix;
    enum pb_status status = pb_axes_check(matrix, requirements, 3, err);

    if (status != PB_OK)
        return status;
    state_copies(pb_case_answer(at, "to_bytes_per_s"), matrix, "to_peer",
                 "copies to each other device, by the fastest of copy engines and SMs");
    state_copies(pb_case_answer(at, "both_bytes_per_s"), matrix, "both",
                 "copies from and to each other device at once, both counted, by the fastest of "
                 "copy engines and SMs");
    return PB_OK;
}
