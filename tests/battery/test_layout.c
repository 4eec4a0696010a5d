/* Which SMs belong together, on devices whose TPCs and GPCs are known. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "battery/rig.h"

enum { SMS = 8 };

/*
 * GPCs of 3 and 5 SMs, dealt by pairs: 0, 1 | 2, 3 | 4 | 5, 6 | 7, where 0, 1 and 4 are the first
 * GPC. One SM of each GPC has no neighbour.
 */
static const uint32_t gpc[SMS] = {0, 0, 1, 1, 0, 1, 1, 1};
static const uint32_t tpc[SMS] = {0, 0, 1, 1, 2, 3, 3, 4};

static void open_uneven(struct pb_session *session_out)
{
    rig_open_custom(
        "{\"id\": \"l2\", \"paths\": [\"global_ca\", \"global_cg\"], \"line_bytes\": 128,"
        " \"sector_bytes\": 32, \"sets\": 1024, \"ways\": 16, \"index\": {\"kind\":"
        " \"modulo\"}, \"policy\": {\"kind\": \"lru\"}, \"latency_cycles\": 200}",
        "{\"id\": \"tlb\", \"page_bytes\": 2097152, \"entry_span_bytes\": 2097152,"
        " \"ways\": 16, \"policy\": {\"kind\": \"lru\"}, \"penalty_cycles\": 30}",
        ", \"l2_sides\": {\"far_latency_cycles\": 300, \"mask\": \"0x100\","
        " \"gpc_sms\": [3, 5]},"
        " \"layout\": {\"tpc_slowdown\": 1.5, \"gpc_slowdown\": 1.1,"
        " \"constant_slowdown\": 0.95,"
        " \"cluster_max\": 4}",
        session_out);
}

/* Every cluster is of one GPC, and over all launches each two SMs of a GPC that can meet have met.
 */
static void test_clusters__meet_within_a_gpc_only(void **state)
{
    bool met[SMS][SMS] = {{false}};
    struct pb_recording recording;
    const struct pb_matrix *matrix = &recording.matrix;
    struct pb_session session;
    size_t ranks;

    (void)state;
    open_uneven(&session);
    rig_run(&session, "sm_clusters", &recording);
    ranks = matrix->axes[3].length;
    for (size_t i = 0; i < pb_matrix_size(matrix); i++)
        for (size_t k = i / ranks * ranks; k < i; k++)
            if (!isnan(matrix->values[i]) && !isnan(matrix->values[k]))
                met[(size_t)matrix->values[i]][(size_t)matrix->values[k]] = true;
    for (size_t a = 0; a < SMS; a++)
        for (size_t b = 0; b < SMS; b++)
            assert_true(gpc[a] == gpc[b] || !met[a][b]);
    assert_true(met[1][0] || met[0][1]);
    assert_true(met[4][0] || met[0][4] || met[4][1] || met[1][4]);
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

/* The root of an SM among those that it met, directly or through others. */
static size_t root_of(const size_t *met, size_t sm)
{
    while (met[sm] != sm)
        sm = met[sm];
    return sm;
}

/* GPCs of an H200 have 16 or 18 SMs: clusters larger than a TPC link every one of them. */
static void test_clusters__larger_than_a_tpc_link_every_sm_to_its_gpc(void **state)
{
    struct pb_recording recording;
    const struct pb_matrix *matrix = &recording.matrix;
    struct pb_session session;
    size_t met[132], gpcs = 0, ranks, of_size;

    (void)state;
    rig_open("h200", NULL, &session);
    rig_run(&session, "sm_clusters", &recording);
    ranks = matrix->axes[3].length;
    of_size = pb_matrix_size(matrix) / matrix->axes[0].length;
    for (size_t sm = 0; sm < COUNT(met); sm++)
        met[sm] = sm;
    for (size_t i = 0; i < pb_matrix_size(matrix); i++) {
        double first = matrix->values[i / ranks * ranks], sm = matrix->values[i];

        if (!isnan(sm) && matrix->axes[0].values[i / of_size] > 2)
            met[root_of(met, (size_t)sm)] = root_of(met, (size_t)first);
    }
    for (size_t sm = 0; sm < COUNT(met); sm++)
        gpcs += met[sm] == sm;
    assert_int_equal(gpcs, 8);
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

/* Clusters of two are whole TPCs, always the same ones. */
static void test_clusters__of_two_are_always_the_same(void **state)
{
    struct pb_recording recording;
    const struct pb_matrix *matrix = &recording.matrix;
    struct pb_session session;

    (void)state;
    open_uneven(&session);
    rig_run(&session, "sm_clusters", &recording);
    assert_float_equal(matrix->axes[0].values[0], 2, 0);
    for (size_t i = 0; i < pb_matrix_size(matrix) / matrix->axes[0].length; i += 16)
        if (!isnan(matrix->values[i]))
            assert_int_equal(tpc[(size_t)matrix->values[i]], tpc[(size_t)matrix->values[i + 1]]);
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

/* Clusters of 8 CTAs do not exist here: their places stay empty, the others are filled. */
static void test_clusters__sizes_that_do_not_exist_stay_empty(void **state)
{
    struct pb_recording recording;
    const struct pb_matrix *matrix = &recording.matrix;
    struct pb_session session;

    (void)state;
    open_uneven(&session);
    rig_run(&session, "sm_clusters", &recording);
    for (size_t size = 0; size < matrix->axes[0].length; size++) {
        const size_t at[] = {size, 0, 0, 0};

        assert_int_equal(isnan(rig_value(matrix, at)), matrix->axes[0].values[size] > 4);
    }
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

static void test_pairs__share_a_tpc_or_a_gpc_or_nothing(void **state)
{
    static const char *const kinds[] = {"read", "write", "atomic", "constant", "translate"};
    struct pb_recording recording;
    const struct pb_matrix *matrix = &recording.matrix;
    struct pb_session session;

    (void)state;
    open_uneven(&session);
    rig_run(&session, "sm_pairs", &recording);
    for (size_t i = 0; i < COUNT(kinds) * SMS * SMS; i++) {
        size_t at[] = {rig_label(&matrix->axes[0], kinds[i / SMS / SMS]), i / SMS % SMS, i % SMS};
        size_t alone[] = {at[0], at[1], at[1]};
        double ratio = rig_value(matrix, at) / rig_value(matrix, alone), expected = 1.0;

        if (at[1] != at[2] && gpc[at[1]] == gpc[at[2]])
            expected = i / SMS / SMS == 3 ? 0.95 : tpc[at[1]] == tpc[at[2]] ? 1.5 : 1.1;
        assert_true(fabs(ratio - expected) < 0.01);
    }
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clusters__meet_within_a_gpc_only),
        cmocka_unit_test(test_clusters__sizes_that_do_not_exist_stay_empty),
        cmocka_unit_test(test_clusters__larger_than_a_tpc_link_every_sm_to_its_gpc),
        cmocka_unit_test(test_clusters__of_two_are_always_the_same),
        cmocka_unit_test(test_pairs__share_a_tpc_or_a_gpc_or_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
