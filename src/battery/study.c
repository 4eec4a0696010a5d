/*
 * Families sync, coalesce and spill: what the shape of a kernel costs (F13 3.4.2 to 3.4.4), with
 * F13's ranges extended to 1024 threads. One CTA; cycles from its first thread's start to its last
 * one's end.
 *
 *   sync       1024 writes; axes threads, barriers
 *   coalesce   1024 reads; axes kind, threads, parameter_bytes; the kinds are
 *                offset     neighbouring threads start that far apart, each reads on word by word
 *                stride     every read of a thread is that far on, threads adjacent
 *                misalign   all adjacent, all shifted by that much
 *   spill      4096 reads and writes; axes threads, variables (of 8 bytes, live at once)
 *
 * What a device has not the memory for stays empty, and the message says why: many variables spill
 * into local memory that must be there for every thread that it could hold.
 */
#include "battery/grid.h"
#include "battery/tests.h"

static const double parameters[] = {0, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
static const double variables[] = {1, 4, 16, 32, 64, 128, 256, 512, 1024, 2048};
static const char *const kinds[] = {"offset", "stride", "misalign"};

static enum pb_status take(struct pb_session *session, enum pb_study_kind kind, double threads,
                           double parameter, double *value_out, struct pb_error *err)
{
    struct pb_study study = {
        .kind = kind, .threads = (uint32_t)threads, .parameter = (uint32_t)parameter};
    struct pb_study_result result;
    enum pb_status status;

    if (study.threads > session->info.max_threads_per_cta)
        return PB_OK;
    status = session->device->ops->study(session->device, &study, &result, err);
    if (status == PB_OK)
        *value_out = (double)result.cycles;
    return pb_grid_forgive(status);
}

/* A study over threads and one parameter. */
static enum pb_status sweep(struct pb_session *session, enum pb_study_kind kind,
                            const struct pb_grid_axis *parameter, const char *description,
                            struct pb_recording *recording, struct pb_error *err)
{
    const struct pb_grid_axis axes[] = {
        PB_GRID_VALUES("threads", "", "threads of the one CTA", pb_grid_powers), *parameter};
    struct pb_matrix *matrix = &recording->matrix;
    struct pb_grid_shortage shortage = PB_GRID_ENOUGH;
    enum pb_status status = pb_grid_open(matrix, axes, 2, "cycle", description, err);

    for (size_t i = 0; status == PB_OK && i < pb_matrix_size(matrix); i++) {
        struct pb_error cause = PB_ERROR_INIT;
        size_t at[PB_MATRIX_RANK_MAX];

        pb_grid_place(matrix, i, at);
        status = take(session, kind, pb_grid_powers[at[0]], parameter->values[at[1]],
                      &matrix->values[i], &cause);
        status = pb_grid_forgive_shortage(&shortage, status, &cause, err);
    }
    return status != PB_OK
               ? status
               : pb_grid_report_shortage(&shortage, pb_matrix_size(matrix), recording, err);
}

enum pb_status pb_test_sync(struct pb_session *session, struct pb_recording *recording,
                            struct pb_error *err)
{
    static const struct pb_grid_axis barriers =
        PB_GRID_VALUES("barriers", "", "__syncthreads() among the writes", pb_grid_powers);

    return sweep(session, PB_STUDY_SYNC, &barriers, "1024 writes of every thread", recording, err);
}

enum pb_status pb_test_spill(struct pb_session *session, struct pb_recording *recording,
                             struct pb_error *err)
{
    static const struct pb_grid_axis live =
        PB_GRID_VALUES("variables", "", "live variables of 8 bytes", variables);

    return sweep(session, PB_STUDY_SPILL, &live, "4096 reads and writes of every thread", recording,
                 err);
}

enum pb_status pb_test_coalesce(struct pb_session *session, struct pb_recording *recording,
                                struct pb_error *err)
{
    static const enum pb_study_kind studies[] = {PB_STUDY_COALESCE, PB_STUDY_STRIDE,
                                                 PB_STUDY_MISALIGN};
    static const struct pb_grid_axis axes[] = {
        PB_GRID_LABELS("kind", "what the parameter moves apart", kinds),
        PB_GRID_VALUES("threads", "", "threads of the one CTA", pb_grid_powers),
        PB_GRID_VALUES("parameter_bytes", "byte", "offset, stride or shift", parameters),
    };
    struct pb_matrix *matrix = &recording->matrix;
    enum pb_status status =
        pb_grid_open(matrix, axes, 3, "cycle", "1024 reads of every thread", err);

    for (size_t i = 0; status == PB_OK && i < pb_matrix_size(matrix); i++) {
        size_t at[PB_MATRIX_RANK_MAX];
        bool is_shift;

        pb_grid_place(matrix, i, at);
        is_shift = studies[at[0]] == PB_STUDY_MISALIGN;
        if (parameters[at[2]] > 0 || is_shift) /* all threads at one place: nothing to coalesce */
            status = take(session, studies[at[0]], pb_grid_powers[at[1]], parameters[at[2]],
                          &matrix->values[i], err);
    }
    return status;
}
