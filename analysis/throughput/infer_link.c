/*
 * The links of a device, alone and while the node's other devices use theirs.
 *
 *   host_link   to_latency_ns, from_latency_ns: of 4 bytes to and from the device, pinned memory;
 *               to_together_bytes_per_s, from_together_bytes_per_s: throughput in company
 *   peer_link   bytes_per_s, latency_ns, together_bytes_per_s: lists, a number for each other
 *               device, in the order of their PCI bus ids in the recording; null: not reached
 *
 * Limit: one figure each (a median of repeats on the device) and so one piece of evidence.
 *
 * Source: facts 4, where links fail in fleets.
 */
#include "analysis/infer.h"

#include <math.h>
#include <string.h>

#include "analysis/axes.h"
#include "analysis/confidence.h"

/* A figure that was measured once: nothing has contradicted it, nor confirmed it. */
static double confidence_of_one(void)
{
    struct pb_votes votes = {0, 0};

    pb_votes_add(&votes, true);
    return pb_votes_confidence(&votes);
}

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
    static const struct pb_axis_wish wishes[] = {
        {"direction", true}, {"memory", true}, {"quantity", true}};

    return pb_axes_check(matrix, wishes, HOST_AXES, err);
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
            confidence_of_one(), "transfers of 4 bytes, pinned memory: median, and the least");
    }
    return status;
}

enum pb_status pb_infer_host_together(const struct pb_case *at, struct pb_error *err)
{
    static const char *const directions[] = {"to_device", "from_device"};
    static const char *const answers[] = {"to_together_bytes_per_s", "from_together_bytes_per_s"};
    const struct pb_matrix *matrix = &at->recordings[0].matrix;
    enum pb_status status = check_host(matrix, err);

    for (size_t i = 0; status == PB_OK && i < 2; i++) {
        const char *const rate[] = {directions[i], "pinned", "throughput"};
        const char *const devices[] = {directions[i], "pinned", "devices"};
        double value = cell_of(matrix, rate);

        pb_parameter_set_number(pb_case_answer(at, answers[i]),
                                (struct pb_estimate){value, value, value}, confidence_of_one(),
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
        pb_parameter_set_none(answer, "no %s of %zu peers to list", quantity, peers);
        return;
    }
    for (size_t i = 0; i < peers; i++) {
        double value = matrix->values[i * matrix->axes[1].length + place];

        values[i] = (struct pb_estimate){value, value, value};
    }
    pb_parameter_set_list(answer, values, peers, confidence_of_one(), "%s", method);
}

static enum pb_status check_peers(const struct pb_matrix *matrix, struct pb_error *err)
{
    static const struct pb_axis_wish wishes[] = {{"peer", true}, {"quantity", true}};

    return pb_axes_check(matrix, wishes, 2, err);
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
        state_peers(pb_case_answer(at, "together_bytes_per_s"), matrix, "throughput",
                    "transfers of 64 MiB from each other device while all transfer");
    return status;
}
