/*
 * Family integrity: does every SM compute the same?
 *
 *   compute_integrity   axes phase, sm, quantity: runs of the same products of random matrices on
 *                       every SM, under full power (phase steady) and with load and rest in turn,
 *                       all SMs together (alternating). Of each SM the runs, how many of them came
 *                       out other than on most SMs, and the checksum over all its runs, in two
 *                       halves of 32 bits
 *
 * The operands are the same on every device and in every run of the battery: checksums of devices
 * of one model are equal.
 *
 * No error in n runs of an SM: its errors are rarer than 3/n, at 95%.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "battery/compute.h"
#include "battery/grid.h"
#include "battery/tests.h"

enum { PHASES = 2, QUANTITIES = 4, RUNS = 1024, RUNS_FULL = 16384, RESTED_SHARE = 8 };
static const uint64_t operand_seed = UINT64_C(0x706c756d62626f62);

struct pb_compute pb_compute_runs(uint32_t runs, bool is_rested)
{
    return (struct pb_compute){.seed = operand_seed,
                               .runs = runs,
                               .steps = PB_COMPUTE_STEPS,
                               .rest_us = is_rested ? PB_COMPUTE_REST_US : 0};
}

/* What most SMs came to: Boyer and Moore's vote. */
static uint64_t majority(const uint64_t *checksums, size_t count)
{
    uint64_t kept = 0;
    size_t votes = 0;

    for (size_t i = 0; i < count; i++) {
        if (votes == 0)
            kept = checksums[i];
        if (checksums[i] == kept)
            votes++;
        else
            votes--;
    }
    return kept;
}

/* Adds a run up, SM by SM; returns how many SMs differed. */
static uint64_t add_run(const uint64_t *row, size_t sm_count, struct pb_compute_sm *sms)
{
    uint64_t right = majority(row, sm_count), wrong = 0;

    for (size_t sm = 0; sm < sm_count; sm++) {
        sms[sm].wrong += row[sm] != right;
        sms[sm].checksum = sms[sm].checksum * UINT64_C(0x9e3779b97f4a7c15) + row[sm];
        wrong += row[sm] != right;
    }
    return wrong;
}

enum pb_status pb_compute_compare(struct pb_session *session, const struct pb_compute *compute,
                                  struct pb_compute_sm *sms_out, uint64_t *wrong_out,
                                  struct pb_error *err)
{
    size_t sm_count = session->info.sm_count;
    uint64_t *checksums = malloc(compute->runs * sm_count * sizeof(*checksums));
    enum pb_status status;

    if (checksums == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %u runs", compute->runs);
    status = session->device->ops->compute(session->device, compute, checksums, err);
    *wrong_out = 0;
    for (size_t sm = 0; sm < sm_count; sm++)
        sms_out[sm] = (struct pb_compute_sm){0, 0};
    for (uint32_t run = 0; run < compute->runs && status == PB_OK; run++)
        *wrong_out += add_run(checksums + run * sm_count, sm_count, sms_out);
    free(checksums);
    return status;
}

/* One phase; values[sm_count][QUANTITIES] */
static enum pb_status take_phase(struct pb_session *session, uint32_t runs, bool is_rested,
                                 double *values, uint64_t *wrong_out, struct pb_error *err)
{
    struct pb_compute compute = pb_compute_runs(runs, is_rested);
    size_t sm_count = session->info.sm_count;
    struct pb_compute_sm *sms = malloc(sm_count * sizeof(*sms));
    enum pb_status status;

    if (sms == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu SMs", sm_count);
    status = pb_compute_compare(session, &compute, sms, wrong_out, err);
    for (size_t sm = 0; sm < sm_count && status == PB_OK; sm++) {
        double *quantities = values + sm * QUANTITIES;

        quantities[0] = runs;
        quantities[1] = (double)sms[sm].wrong;
        quantities[2] = (double)(sms[sm].checksum >> 32);
        quantities[3] = (double)(sms[sm].checksum & 0xffffffffu);
    }
    free(sms);
    return status;
}

/* Names the SM that was wrong most often. */
static void report_wrong(const struct pb_matrix *matrix, size_t sm_count, uint64_t wrong,
                         struct pb_recording *recording)
{
    size_t worst = 0;
    double most = 0.0;

    for (size_t phase = 0; phase < PHASES; phase++)
        for (size_t sm = 0; sm < sm_count; sm++) {
            double here = matrix->values[(phase * sm_count + sm) * QUANTITIES + 1];

            if (here > most) {
                most = here;
                worst = sm;
            }
        }
    snprintf(recording->message, sizeof(recording->message),
             "%" PRIu64 " runs differ from those of most SMs, most of them on SM %zu", wrong,
             worst);
}

enum pb_status pb_test_compute_integrity(struct pb_session *session, struct pb_recording *recording,
                                         struct pb_error *err)
{
    static const char *const phases[PHASES] = {"steady", "alternating"};
    static const char *const quantities[QUANTITIES] = {"runs", "wrong", "checksum_high",
                                                       "checksum_low"};
    size_t sm_count = session->info.sm_count;
    uint32_t runs = session->battery == PB_FULL ? RUNS_FULL : RUNS;
    uint64_t wrong = 0;
    const struct pb_grid_axis axes[] = {
        PB_GRID_LABELS("phase", "how the load goes", phases),
        PB_GRID_SMS(session),
        PB_GRID_LABELS("quantity", "runs, runs, halves of a checksum", quantities),
    };
    enum pb_status status = pb_grid_open(&recording->matrix, axes, 3, "by quantity",
                                         "the same computation on every SM", err);

    for (size_t i = 0; i < PHASES && status == PB_OK; i++) {
        uint64_t here = 0;

        status = take_phase(session, i == 0 ? runs : runs / RESTED_SHARE, i > 0,
                            recording->matrix.values + i * sm_count * QUANTITIES, &here, err);
        wrong += here;
    }
    if (wrong > 0)
        report_wrong(&recording->matrix, sm_count, wrong, recording);
    return status;
}
