/* Which SMs belong together: known layouts of simulated devices found again, odd ones refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "analysis/device.h"
#include "analysis/selected.h"
#include "analysis/synthetic.h"

/* ---- simulated devices ---- */

/* Every SM has its place: as many in each GPC as are stated, and each GPC on one side of L2. */
static void check_places(const struct pb_parameters *parameters)
{
    const struct pb_topology *topology = &parameters->topology;
    const struct pb_parameter *gpcs = selected_find(parameters, "sm", "gpc_sm_counts");
    const struct pb_parameter *sides = selected_find(parameters, "l2", "partition_sm_counts");
    double in_gpc[PB_LIST_MAX] = {0}, on_side[2] = {0};
    int side_of[PB_LIST_MAX];

    memset(side_of, 0xff, sizeof(side_of));
    assert_int_equal(topology->sm_count, 132);
    assert_non_null(topology->gpcs);
    assert_non_null(topology->l2_sides);
    for (size_t sm = 0; sm < 132; sm++) {
        int side = topology->l2_sides[sm], gpc = topology->gpcs[sm];

        in_gpc[gpc]++;
        on_side[side]++;
        assert_true(side_of[gpc] < 0 || side_of[gpc] == side);
        side_of[gpc] = side;
    }
    for (size_t i = 0; i < gpcs->number_count; i++)
        assert_float_equal(in_gpc[i], gpcs->numbers[i].value, 0);
    for (size_t i = 0; i < 2; i++)
        assert_float_equal(on_side[i], sides->numbers[i].value, 0);
}

/* The H200 of the profiles has GPCs of 16 and 18 SMs, TPCs of 2, 96 slices. */
static void test_topology__layout_of_an_h200_is_found(void **state)
{
    struct pb_parameters parameters;
    const struct pb_parameter *gpcs;
    double sms = 0, large = 0;

    (void)state;
    selected_infer("h200", "sm_clusters,sm_pairs,l2_map", &parameters);
    assert_non_null(strstr(selected_find(&parameters, "sm", "gpc_count")->method, "all of 132"));
    assert_number(&parameters, "sm", "tpc_count", 66, 0);
    assert_number(&parameters, "sm", "tpc_sm_counts", 2, 0);
    assert_number(&parameters, "sm", "gpc_count", 8, 0);
    gpcs = selected_find(&parameters, "sm", "gpc_sm_counts");
    assert_int_equal(gpcs->number_count, 8);
    for (size_t i = 0; i < 8; i++) {
        sms += gpcs->numbers[i].value;
        large += gpcs->numbers[i].value == 18;
    }
    assert_float_equal(sms, 132, 0);
    assert_float_equal(large, 2, 0);
    assert_int_equal(selected_find(&parameters, "sm", "sm_group_sizes")->number_count, 8);
    check_places(&parameters);
    pb_parameters_clear(&parameters);
}

static void test_topology__a_device_without_clusters_says_so(void **state)
{
    struct pb_parameters parameters;

    (void)state;
    selected_infer("gtx780", "sm_clusters,l2_map", &parameters);
    assert_open(&parameters, "sm", "gpc_count", "unsupported");
    assert_open(&parameters, "sm", "tpc_count", "neither sm_pairs nor");
    pb_parameters_clear(&parameters);
}

/* GPCs of three, two and two SMs: only the first one has room for a cluster that joins two TPCs. */
static void test_topology__most_sms_must_share_clusters(void **state)
{
    struct pb_parameters parameters;
    struct blind_profile device;

    (void)state;
    blind_draw(1000335, &device);
    device.sm_count = 7;
    device.has_clusters = true;
    device.tpc_sms = 2;
    device.tpc_slowdown = 1.0;
    device.gpc_slowdown = 1.2;
    device.sides = (struct blind_sides){.far_cycles = device.caches[BLIND_L2].latency_cycles + 190,
                                        .mask = 0xb3000,
                                        .slices = 4,
                                        .spread_cycles = 24,
                                        .gpc_sms = {3, 2, 2},
                                        .gpc_count = 3,
                                        .gpc_cycles = {0, -3, 2}};
    selected_infer_profile(&device, "clock_overhead,l2_capacity,sm_clusters,sm_pairs,l2_map",
                           &parameters);
    assert_open(&parameters, "sm", "gpc_count", "4 did not");
    pb_parameters_clear(&parameters);
}

/* L2 may have lost lines of the map, which would be groups of their own: no miss is known. */
static void test_topology__slices_depend_on_what_a_miss_takes(void **state)
{
    static const char *const tests[] = {"clock_overhead,l2_map",
                                        "clock_overhead,l2_capacity,l2_map"};

    (void)state;
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        struct pb_parameters parameters;
        struct blind_profile device;

        blind_draw(1000335, &device);
        device.sm_count = 32;
        device.sides =
            (struct blind_sides){.far_cycles = device.caches[BLIND_L2].latency_cycles + 60,
                                 .mask = 0xb3000,
                                 .slices = 4,
                                 .spread_cycles = 24,
                                 .gpc_sms = {8, 8, 8, 8},
                                 .gpc_count = 4};
        selected_infer_profile(&device, tests[i], &parameters);
        if (i == 0)
            assert_open(&parameters, "l2", "slice_count", "miss_latency_cycles");
        else
            assert_number(&parameters, "l2", "slice_count", 8, 0);
        pb_parameters_clear(&parameters);
    }
}

/* ---- recordings ---- */

enum { SMS = 12, LINES = 64 };

/* Pairs of SMs that share a way out in groups of `size`; pair 0-1 is free of it when `broken`. */
static void record_pairs(struct device *device, size_t size, double slow, bool broken)
{
    static const char *const kinds[] = {"read"};
    struct synthetic_noise noise = {0, 20, 0, 0, 3};
    struct pb_matrix *matrix = &device_record(device, "sm_pairs")->matrix;
    double sms[SMS];

    for (size_t i = 0; i < SMS; i++)
        sms[i] = (double)i;
    pb_axis_set_labels(&matrix->axes[0], "kind", "", kinds, 1, NULL);
    pb_axis_set_values(&matrix->axes[1], "sm", "", "", sms, SMS, NULL);
    pb_axis_set_values(&matrix->axes[2], "other", "", "", sms, SMS, NULL);
    assert_int_equal(pb_matrix_allocate(matrix, "cycle", "", NULL), PB_OK);
    for (size_t a = 0; a < SMS; a++)
        for (size_t b = 0; b < SMS; b++) {
            bool shares = a != b && a / size == b / size && !(broken && a + b == 1);

            matrix->values[a * SMS + b] =
                synthetic_latency(&noise, 0) + 10000.0 * (shares ? slow : 1.0);
        }
    matrix->values[5] = 90000;             /* a spike of one of the two */
    matrix->values[6 * SMS + 6] = 30000.0; /* of one alone */
}

static void test_tpcs__are_closed_circles(void **state)
{
    struct device device = {0};

    (void)state;
    record_pairs(&device, 3, 1.4, false);
    device_infer(&device);
    assert_value(&device, "sm", "tpc_count", 4);
    assert_value(&device, "sm", "tpc_sm_counts", 3);
    device_clear(&device);
    record_pairs(&device, 3, 1.4, true);
    device_infer(&device);
    assert_none(&device, "sm", "tpc_count", "no pairs of SMs");
    device_clear(&device);
}

/* GPCs that slow their SMs down, too: TPCs of an even number are of one, the others of another. */
static void slow_gpcs(struct device *device, size_t tpc_sms, double slow)
{
    double *values = device->recordings[device->count - 1].matrix.values;

    for (size_t a = 0; a < SMS; a++)
        for (size_t b = 0; b < SMS; b++)
            if (a / tpc_sms != b / tpc_sms && a / tpc_sms % 2 == b / tpc_sms % 2)
                values[a * SMS + b] *= slow;
}

/* SMs of a GPC are slow together, those of a TPC more so, or no more: TPCs show then, or are open.
 */
static void test_tpcs__are_not_gpcs(void **state)
{
    struct device device = {0};

    (void)state;
    record_pairs(&device, 2, 2.0, false);
    slow_gpcs(&device, 2, 1.2);
    device_infer(&device);
    assert_value(&device, "sm", "tpc_count", 6);
    assert_value(&device, "sm", "tpc_sm_counts", 2);
    device_clear(&device);
    record_pairs(&device, 2, 1.5, false);
    slow_gpcs(&device, 2, 1.5);
    device_infer(&device);
    assert_none(&device, "sm", "tpc_count", "no neighbours by number");
    device_clear(&device);
}

/* TPCs of SMs 0 … 4 and 5 … 9; SMs 10 and 11 do not slow each other down. */
static void test_tpcs__may_be_a_single_sm(void **state)
{
    struct device device = {0};
    double *values;

    (void)state;
    record_pairs(&device, 5, 1.4, false);
    values = device.recordings[0].matrix.values;
    values[10 * SMS + 11] = values[10 * SMS + 10];
    device_infer(&device);
    assert_value(&device, "sm", "tpc_count", 4);
    assert_float_equal(device_parameter(&device, "sm", "tpc_sm_counts")->numbers[3].value, 1, 0);
    device_clear(&device);
}

static void test_tpcs__noise_alone_makes_none(void **state)
{
    struct device device = {0};

    (void)state;
    record_pairs(&device, 2, 1.0, false);
    device_infer(&device);
    assert_none(&device, "sm", "tpc_count", "no pairs of SMs");
    device_clear(&device);
}

/*
 * Clusters of two: SM 2i and its neighbour, by launch; the last launch pairs otherwise unless
 * `always`. Those of four and six show two GPCs, to which `dealt` SMs at a time go in turn.
 */
static void record_partners(struct device *device, bool always, size_t dealt)
{
    enum { LAUNCHES = 3, CLUSTERS = SMS / 2, RANKS = 6 };
    static const double numbers[] = {0, 1, 2, 3, 4, 5};
    static const char *const names[] = {"size", "launch", "cluster", "rank"};
    static const double sizes[] = {2, 4, 6};
    const size_t lengths[] = {3, LAUNCHES, CLUSTERS, RANKS};
    struct pb_matrix *matrix = &device_record(device, "sm_clusters")->matrix;
    double *values;

    for (size_t i = 0; i < 4; i++)
        pb_axis_set_values(&matrix->axes[i], names[i], "", "", i == 0 ? sizes : numbers, lengths[i],
                           NULL);
    assert_int_equal(pb_matrix_allocate(matrix, "", "", NULL), PB_OK);
    values = matrix->values;
    for (size_t launch = 0; launch < LAUNCHES; launch++)
        for (size_t sm = 0; sm < SMS; sm++) {
            size_t gpc = sm / dealt % 2, at = sm / dealt / 2 * dealt + sm % dealt;
            size_t pair = (sm + (!always && launch == 2)) % SMS;

            values[(launch * CLUSTERS + pair / 2) * RANKS + pair % 2] = (double)sm;
            if (at < 4)
                values[((LAUNCHES + launch) * CLUSTERS + gpc) * RANKS + at] = (double)sm;
            values[((2 * LAUNCHES + launch) * CLUSTERS + gpc) * RANKS + at] = (double)sm;
        }
    device->info.sm_count = SMS;
}

static void test_tpcs__constant_partners_make_them(void **state)
{
    struct device device = {0};

    (void)state;
    record_partners(&device, true, 2);
    record_pairs(&device, 2, 1.0, false);
    device_infer(&device);
    assert_value(&device, "sm", "tpc_count", 6);
    assert_value(&device, "sm", "tpc_sm_counts", 2);
    assert_true(device_parameter(&device, "sm", "tpc_count")->votes <= 0.7);
    assert_non_null(strstr(device_parameter(&device, "sm", "tpc_count")->evidence, "sm_clusters"));
    device_clear(&device);
}

/* Of four SMs that follow each other in a GPC, two may be a TPC, or all. */
static void test_tpcs__partners_that_may_be_of_a_larger_one_make_none(void **state)
{
    struct device device = {0};

    (void)state;
    record_partners(&device, true, 4);
    record_pairs(&device, 2, 1.0, false);
    device_infer(&device);
    assert_none(&device, "sm", "tpc_count", "no pairs of SMs");
    device_clear(&device);
    record_partners(&device, true, 4);
    record_pairs(&device, 4, 1.4, false);
    device_infer(&device);
    assert_value(&device, "sm", "tpc_count", 3);
    assert_value(&device, "sm", "tpc_sm_counts", 4);
    device_clear(&device);
}

static void test_tpcs__changing_partners_make_none(void **state)
{
    struct device device = {0};

    (void)state;
    record_partners(&device, false, 2);
    record_pairs(&device, 2, 1.0, false);
    device_infer(&device);
    assert_none(&device, "sm", "tpc_count", "no pairs of SMs");
    device_clear(&device);
}

static void test_tpcs__pairs_that_agree_with_partners_are_sure(void **state)
{
    struct device device = {0};

    (void)state;
    record_partners(&device, true, 2);
    record_pairs(&device, 2, 1.4, false);
    device_infer(&device);
    assert_value(&device, "sm", "tpc_count", 6);
    assert_true(device_parameter(&device, "sm", "tpc_count")->confidence > 0.7);
    device_clear(&device);
}

/* Components of three part partners; components of four hold two pairs of them each. */
static void test_tpcs__pairs_that_contradict_partners_leave_them_open(void **state)
{
    struct device device = {0};

    (void)state;
    for (size_t size = 3; size <= 4; size++) {
        record_partners(&device, true, 2);
        record_pairs(&device, size, 1.4, false);
        device_infer(&device);
        assert_none(&device, "sm", "tpc_count", "share clusters of two with");
        device_clear(&device);
    }
}

/* Clusters of two: neighbours in the ring of their GPC (SMs 0 … 6, and 7 … 11), by launch. */
static void record_clusters(struct device *device, size_t launches)
{
    static const double numbers[] = {0, 1, 2, 3, 4, 5, 6, 7};
    static const size_t first[] = {0, 7}, size[] = {7, 5};
    struct pb_matrix *matrix = &device_record(device, "sm_clusters")->matrix;
    static const char *const names[] = {"size", "launch", "cluster", "rank"};
    const size_t lengths[] = {1, launches, 6, 2};

    for (size_t i = 0; i < 4; i++)
        pb_axis_set_values(&matrix->axes[i], names[i], "", "", numbers, lengths[i], NULL);
    assert_int_equal(pb_matrix_allocate(matrix, "", "", NULL), PB_OK);
    for (size_t launch = 0; launch < launches; launch++)
        for (size_t cluster = 0; cluster < 6; cluster++) {
            double *sms = matrix->values + (launch * 6 + cluster) * 2;
            size_t gpc = cluster < 3 ? 0 : 1, at = 2 * (cluster % 3) + launch;

            sms[0] = (double)(first[gpc] + at % size[gpc]);
            sms[1] = (double)(first[gpc] + (at + 1) % size[gpc]);
        }
    device->info.sm_count = SMS;
}

static void test_gpcs__join_over_the_launches(void **state)
{
    struct device device = {0};

    (void)state;
    record_clusters(&device, 8);
    device_infer(&device);
    assert_value(&device, "sm", "gpc_count", 2);
    assert_float_equal(device_parameter(&device, "sm", "gpc_sm_counts")->numbers[0].value, 7, 0);
    assert_float_equal(device_parameter(&device, "sm", "gpc_sm_counts")->numbers[1].value, 5, 0);
    device_clear(&device);
}

static void test_gpcs__an_sm_that_never_ran_leaves_them_open(void **state)
{
    struct device device = {0};

    (void)state;
    record_clusters(&device, 1);
    device_infer(&device);
    assert_none(&device, "sm", "gpc_count", "11 of 12 SMs ran in clusters");
    device_clear(&device);
}

/* An empty map of these touches, of all lines from so many SMs. */
static struct pb_matrix *open_map(struct device *device, const char *const *touches, size_t count,
                                  size_t sms)
{
    struct pb_matrix *matrix = &device_record(device, "l2_map")->matrix;
    double numbers[LINES];

    for (size_t i = 0; i < LINES; i++)
        numbers[i] = (double)i;
    pb_axis_set_labels(&matrix->axes[0], "touch", "", touches, count, NULL);
    pb_axis_set_values(&matrix->axes[1], "sm", "", "", numbers, sms, NULL);
    pb_axis_set_values(&matrix->axes[2], "line", "", "", numbers, LINES, NULL);
    assert_int_equal(pb_matrix_allocate(matrix, "cycle", "", NULL), PB_OK);
    return matrix;
}

/* Atomics: SMs 6 … 9 are near to the odd lines, the others to the even ones. For every reader. */
static void record_map(struct device *device)
{
    static const char *const touches[] = {"atomic"};
    struct synthetic_noise noise = {0, 3, 0, 0, 8};
    struct pb_matrix *matrix = open_map(device, touches, 1, SMS);

    for (size_t i = 0; i < SMS * LINES; i++) {
        size_t sm = i / LINES, second = sm >= 6 && sm < 10;

        matrix->values[i] = synthetic_latency(&noise, i % 2 == second ? 300 : 320);
    }
}

/* Loads and atomics of a device without sides or slices, as spikes and a small L2 leave them. */
static void record_plain_map(struct device *device, size_t sms, size_t every, uint32_t extra)
{
    static const char *const touches[] = {"load", "atomic"};
    struct synthetic_noise noise = {0, 3, 0, 0, 8};
    struct pb_matrix *matrix = open_map(device, touches, 2, sms);
    uint32_t chance = 1;

    for (size_t i = 0; i < 2 * sms * LINES; i++) {
        chance = chance * 1664525 + 1013904223;
        matrix->values[i] =
            synthetic_latency(&noise, (chance >> 16) % every == 0 ? 300 + extra : 300);
    }
    device->info.sm_count = (uint32_t)sms;
}

static void assert_no_parts(const struct device *device)
{
    assert_int_equal(device_parameter(device, "l2", "partition_sm_counts")->kind, PB_VALUE_NONE);
    assert_int_equal(device_parameter(device, "l2", "address_group_count")->kind, PB_VALUE_NONE);
    assert_int_equal(device_parameter(device, "l2", "slice_count")->kind, PB_VALUE_NONE);
    assert_int_equal(device_parameter(device, "sm", "sm_group_sizes")->kind, PB_VALUE_NONE);
    assert_int_equal(device_parameter(device, "l2_near", "latency_cycles")->kind, PB_VALUE_NONE);
    assert_int_equal(device_parameter(device, "l2_far", "latency_cycles")->kind, PB_VALUE_NONE);
}

/* Spikes in one load of 101, of a size that seemed to part lines and SMs; SMs from 2 to 12. */
static void test_map__spikes_make_no_sides_and_no_slices(void **state)
{
    (void)state;
    for (size_t sms = 2; sms <= SMS; sms += 5) {
        struct device device = {0};

        record_plain_map(&device, sms, 101, 400);
        device_infer(&device);
        assert_no_parts(&device);
        device_clear(&device);
    }
}

/* An L2 that loses a third of the map's lines: near and far, it seemed. */
static void test_map__lines_that_l2_loses_make_no_sides(void **state)
{
    struct device device = {0};

    (void)state;
    record_plain_map(&device, SMS, 3, 350);
    device_infer(&device);
    assert_no_parts(&device);
    device_clear(&device);
}

/*
 * Loads and atomics from SMs that lie differently far from all of L2, which has two sides 120
 * cycles apart (0: one side): SMs 6 … 9 are near to the odd lines.
 */
static void record_distant_map(struct device *device, uint32_t across)
{
    static const char *const touches[] = {"load", "atomic"};
    static const uint32_t places[] = {260, 180, 310, 220};
    struct synthetic_noise noise = {0, 3, 0, 0, 8};
    struct pb_matrix *matrix = open_map(device, touches, 2, SMS);

    for (size_t i = 0; i < 2 * SMS * LINES; i++) {
        size_t sm = i / LINES % SMS, second = sm >= 6 && sm < 10;
        bool is_far = i / LINES >= SMS && i % 2 != second;

        matrix->values[i] = synthetic_latency(&noise, places[sm % 4] + (is_far ? across : 0));
    }
    device->info.sm_count = SMS;
}

static void test_map__sides_of_sms_at_different_distances(void **state)
{
    struct device device = {0};
    const struct pb_parameter *counts, *crossing, *far;

    (void)state;
    record_distant_map(&device, 120);
    device_infer(&device);
    counts = device_parameter(&device, "l2", "partition_sm_counts");
    crossing = device_parameter(&device, "l2", "crossing_cycles");
    far = device_parameter(&device, "l2_far", "latency_cycles");
    assert_int_equal(counts->number_count, 2);
    assert_float_equal(counts->numbers[0].value, 8, 0);
    assert_float_equal(counts->numbers[1].value, 4, 0);
    assert_float_equal(crossing->numbers[0].value, 120, 1.5);
    assert_int_not_equal(far->kind, PB_VALUE_NONE);
    device_clear(&device);
}

static void test_map__distances_of_sms_alone_make_no_sides(void **state)
{
    struct device device = {0};

    (void)state;
    record_distant_map(&device, 0);
    device_infer(&device);
    assert_no_parts(&device);
    device_clear(&device);
}

/* Two sides; two lines take 21 cycles more from all SMs, as if the TLB had lost them. */
static void test_map__lines_that_the_tlb_loses_make_no_groups(void **state)
{
    static const char *const touches[] = {"atomic"};
    struct synthetic_noise noise = {0, 3, 0, 0, 8};
    struct device device = {0};
    struct pb_matrix *matrix = open_map(&device, touches, 1, SMS);

    (void)state;
    for (size_t i = 0; i < SMS * LINES; i++) {
        size_t sm = i / LINES, line = i % LINES;
        bool is_far = (line % 5 < 2) == (sm >= 6 && sm < 10);
        uint32_t lost = line % 40 == 0 ? 21 : 0;

        matrix->values[i] = synthetic_latency(&noise, (is_far ? 440 : 300) + lost);
    }
    device.info.sm_count = SMS;
    device_infer(&device);
    assert_float_equal(device_parameter(&device, "l2", "address_group_count")->numbers[0].value, 2,
                       0);
    device_clear(&device);
}

/*
 * Clusters of two everywhere, of four among SMs 0 … 5 and 6 … 9: SMs 10 and 11 met nobody else. By
 * the map they resemble the first ones.
 */
static void record_unpaired(struct device *device, bool with_map)
{
    static const double sizes[] = {2, 4}, places[] = {0, 1, 2, 3, 4, 5};
    static const double fours[2][2] = {{0, 6}, {2, 6}};
    struct pb_matrix *matrix = &device_record(device, "sm_clusters")->matrix;

    pb_axis_set_values(&matrix->axes[0], "size", "", "", sizes, 2, NULL);
    pb_axis_set_values(&matrix->axes[1], "launch", "", "", places, 2, NULL);
    pb_axis_set_values(&matrix->axes[2], "cluster", "", "", places, 6, NULL);
    pb_axis_set_values(&matrix->axes[3], "rank", "", "", places, 4, NULL);
    assert_int_equal(pb_matrix_allocate(matrix, "", "", NULL), PB_OK);
    for (size_t launch = 0; launch < 2; launch++) {
        for (size_t i = 0; i < SMS; i++)
            matrix->values[launch * 24 + i / 2 * 4 + i % 2] = (double)i;
        for (size_t i = 0; i < 8; i++)
            matrix->values[48 + launch * 24 + i] = fours[launch][i / 4] + (double)(i % 4);
    }
    device->info.sm_count = SMS;
    if (with_map)
        record_map(device);
}

static void test_gpcs__unpaired_tpcs_join_whom_they_resemble(void **state)
{
    struct device device = {0};

    (void)state;
    record_unpaired(&device, true);
    device_infer(&device);
    assert_value(&device, "sm", "gpc_count", 2);
    assert_float_equal(device_parameter(&device, "sm", "gpc_sm_counts")->numbers[0].value, 8, 0);
    assert_float_equal(device_parameter(&device, "sm", "gpc_sm_counts")->numbers[1].value, 4, 0);
    device_clear(&device);
}

/*
 * SMs of a GPC (0 … 5, 10, 11 | 6 … 9) read constants 1% faster while others read; noise is 0.5%.
 * Returns what constants take, [SMS][SMS].
 */
static double *record_concurrent_reads(struct device *device, double faster)
{
    static const char *const kinds[] = {"write", "constant"};
    struct synthetic_noise noise = {0, 50, 0, 0, 3};
    struct pb_matrix *matrix = &device_record(device, "sm_pairs")->matrix;
    double sms[SMS];

    for (size_t i = 0; i < SMS; i++)
        sms[i] = (double)i;
    pb_axis_set_labels(&matrix->axes[0], "kind", "", kinds, 2, NULL);
    pb_axis_set_values(&matrix->axes[1], "sm", "", "", sms, SMS, NULL);
    pb_axis_set_values(&matrix->axes[2], "other", "", "", sms, SMS, NULL);
    assert_int_equal(pb_matrix_allocate(matrix, "cycle", "", NULL), PB_OK);
    for (size_t i = 0; i < (size_t)2 * SMS * SMS; i++) {
        size_t a = i / SMS % SMS, b = i % SMS;
        bool shares = i >= (size_t)SMS * SMS && a != b && (a >= 6 && a < 10) == (b >= 6 && b < 10);

        matrix->values[i] = synthetic_latency(&noise, 0) + 10000.0 * (shares ? faster : 1.0);
    }
    return matrix->values + (size_t)SMS * SMS;
}

static void test_gpcs__unpaired_tpcs_join_whose_constants_they_share(void **state)
{
    struct device device = {0};

    (void)state;
    record_unpaired(&device, false);
    record_concurrent_reads(&device, 0.99);
    device_infer(&device);
    assert_value(&device, "sm", "gpc_count", 2);
    assert_float_equal(device_parameter(&device, "sm", "gpc_sm_counts")->numbers[0].value, 8, 0);
    assert_non_null(strstr(device_parameter(&device, "sm", "gpc_count")->method, "constant loads"));
    device_clear(&device);
}

/* By itself SM 11 resembles 6 … 9 a little more; SM 10, of the same clusters, does the first ones.
 */
static void test_gpcs__sms_of_shared_clusters_are_assigned_together(void **state)
{
    struct device device = {0};
    double *values;

    (void)state;
    record_unpaired(&device, false);
    values = record_concurrent_reads(&device, 0.99);
    for (size_t i = 0; i < 10; i++)
        values[11 * SMS + i] = values[i * SMS + 11] = 10000.0 * (i < 6 ? 1.0 : 0.993);
    device_infer(&device);
    assert_value(&device, "sm", "gpc_count", 2);
    assert_float_equal(device_parameter(&device, "sm", "gpc_sm_counts")->numbers[0].value, 8, 0);
    assert_float_equal(device_parameter(&device, "sm", "gpc_sm_counts")->numbers[1].value, 4, 0);
    device_clear(&device);
}

/* With every second SM they read constants as with SMs of their own GPC, whichever it is. */
static void test_gpcs__unpaired_tpcs_that_resemble_two_leave_them_open(void **state)
{
    struct device device = {0};
    double *values;

    (void)state;
    record_unpaired(&device, false);
    values = record_concurrent_reads(&device, 0.99);
    for (size_t sm = 10; sm < 12; sm++)
        for (size_t i = 0; i < 10; i++)
            values[sm * SMS + i] = values[i * SMS + sm] = 10000.0 * (i % 2 ? 1.0 : 0.99);
    device_infer(&device);
    assert_none(&device, "sm", "gpc_count", "resembles two GPCs about as much");
    device_clear(&device);
}

/*
 * How long SMs 6 to 11 take alone was measured 1% too long: all of their rows are faster by that,
 * as of two SMs in one of twelve results of H200s, which counted to another GPC.
 */
static void test_gpcs__sms_that_were_slow_alone_are_assigned(void **state)
{
    struct device device = {0};
    double *values;

    (void)state;
    record_unpaired(&device, false);
    values = record_concurrent_reads(&device, 0.99);
    for (size_t sm = 6; sm < SMS; sm++)
        values[sm * SMS + sm] *= 1.01;
    device_infer(&device);
    assert_value(&device, "sm", "gpc_count", 2);
    assert_float_equal(device_parameter(&device, "sm", "gpc_sm_counts")->numbers[0].value, 8, 0);
    device_clear(&device);
}

static void test_gpcs__concurrent_reads_that_change_nothing_are_no_evidence(void **state)
{
    struct device device = {0};

    (void)state;
    record_unpaired(&device, false);
    record_concurrent_reads(&device, 1.0);
    device_infer(&device);
    assert_none(&device, "sm", "gpc_count", "no latency map assigns them");
    device_clear(&device);
}

static void test_gpcs__unpaired_tpcs_without_a_map_leave_them_open(void **state)
{
    struct device device = {0};

    (void)state;
    record_unpaired(&device, false);
    device_infer(&device);
    assert_none(&device, "sm", "gpc_count", "no latency map assigns them");
    device_clear(&device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_topology__layout_of_an_h200_is_found),
        cmocka_unit_test(test_topology__a_device_without_clusters_says_so),
        cmocka_unit_test(test_topology__most_sms_must_share_clusters),
        cmocka_unit_test(test_topology__slices_depend_on_what_a_miss_takes),
        cmocka_unit_test(test_tpcs__are_closed_circles),
        cmocka_unit_test(test_tpcs__are_not_gpcs),
        cmocka_unit_test(test_tpcs__may_be_a_single_sm),
        cmocka_unit_test(test_tpcs__noise_alone_makes_none),
        cmocka_unit_test(test_tpcs__constant_partners_make_them),
        cmocka_unit_test(test_tpcs__partners_that_may_be_of_a_larger_one_make_none),
        cmocka_unit_test(test_tpcs__changing_partners_make_none),
        cmocka_unit_test(test_tpcs__pairs_that_agree_with_partners_are_sure),
        cmocka_unit_test(test_tpcs__pairs_that_contradict_partners_leave_them_open),
        cmocka_unit_test(test_map__spikes_make_no_sides_and_no_slices),
        cmocka_unit_test(test_map__lines_that_l2_loses_make_no_sides),
        cmocka_unit_test(test_map__sides_of_sms_at_different_distances),
        cmocka_unit_test(test_map__distances_of_sms_alone_make_no_sides),
        cmocka_unit_test(test_map__lines_that_the_tlb_loses_make_no_groups),
        cmocka_unit_test(test_gpcs__join_over_the_launches),
        cmocka_unit_test(test_gpcs__unpaired_tpcs_join_whom_they_resemble),
        cmocka_unit_test(test_gpcs__unpaired_tpcs_join_whose_constants_they_share),
        cmocka_unit_test(test_gpcs__sms_of_shared_clusters_are_assigned_together),
        cmocka_unit_test(test_gpcs__unpaired_tpcs_that_resemble_two_leave_them_open),
        cmocka_unit_test(test_gpcs__sms_that_were_slow_alone_are_assigned),
        cmocka_unit_test(test_gpcs__concurrent_reads_that_change_nothing_are_no_evidence),
        cmocka_unit_test(test_gpcs__unpaired_tpcs_without_a_map_leave_them_open),
        cmocka_unit_test(test_gpcs__an_sm_that_never_ran_leaves_them_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
