/* Which rank gets which device, and what it is called. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/assign.h"
#include "run/unit.h"

static const struct pb_test_selection nothing_selected = {.backend = "auto"};

/* A rank on hardware that sees the devices named by the messages of `uuids`. */
static struct pb_visible_devices see(const char *host, int64_t local_rank, const char *uuids)
{
    struct pb_visible_devices visible = {.local_rank = local_rank, .backend = "cuda"};

    PB_TEXT_SET(visible.host, host);
    visible.device_count = strlen(uuids);
    for (size_t i = 0; i < visible.device_count; i++)
        visible.uuids[i][0] = uuids[i];
    return visible;
}

static void test_assign__each_rank_takes_its_own(void **state)
{
    const struct pb_visible_devices rank_devices[] = {see("n", 0, "ab"), see("n", 1, "ab")};
    struct pb_assignment assignments[2];

    (void)state;
    assert_int_equal(pb_assign_devices(rank_devices, 2, &nothing_selected, assignments, NULL),
                     PB_OK);
    assert_string_equal(assignments[0].selector, "a");
    assert_string_equal(assignments[1].selector, "b");
}

/* As under a launcher that shows every rank one GPU: the local rank says nothing. */
static void test_assign__one_visible_device_each(void **state)
{
    const struct pb_visible_devices rank_devices[] = {see("n", 0, "a"), see("n", 1, "b"),
                                                      see("n", 2, "c")};
    struct pb_assignment assignments[3];

    (void)state;
    assert_int_equal(pb_assign_devices(rank_devices, 3, &nothing_selected, assignments, NULL),
                     PB_OK);
    assert_string_equal(assignments[1].selector, "b");
    assert_string_equal(assignments[2].selector, "c");
}

static void test_assign__first_free_one_when_the_own_is_taken(void **state)
{
    const struct pb_visible_devices rank_devices[] = {see("n", 0, "b"), see("n", 1, "abc"),
                                                      see("n", 2, "ba"), see("n", 2, "abc")};
    struct pb_assignment assignments[4];

    (void)state;
    assert_int_equal(pb_assign_devices(rank_devices, 4, &nothing_selected, assignments, NULL),
                     PB_OK);
    assert_string_equal(assignments[0].selector, "b");
    assert_string_equal(assignments[1].selector, "a");
    assert_int_equal(assignments[2].member_status, PB_MEMBER_DUPLICATE);
    assert_string_equal(assignments[3].selector, "c"); /* its own is also the last of its list */
}

static void test_assign__surplus_is_duplicate_and_blind_is_absent(void **state)
{
    const struct pb_visible_devices rank_devices[] = {see("n", 0, "a"), see("n", 1, "a"),
                                                      see("m", 0, "")};
    struct pb_assignment assignments[3];

    (void)state;
    assert_int_equal(pb_assign_devices(rank_devices, 3, &nothing_selected, assignments, NULL),
                     PB_OK);
    assert_int_equal(assignments[0].member_status, PB_MEMBER_OK);
    assert_int_equal(assignments[1].member_status, PB_MEMBER_DUPLICATE);
    assert_int_equal(assignments[2].member_status, PB_MEMBER_ABSENT);
}

/* By the longest name that there is. */
static void name_instance(size_t i, char name_out[PB_TEXT_LENGTH])
{
    snprintf(name_out, PB_TEXT_LENGTH, "MIG-GPU-01234567-0123-0123-0123-%012zx/%zu/0", i / 7,
             7 + i % 7);
}

/* What a node full of MIG instances may have: no rank is left without one. */
static void test_assign__many_instances_of_a_node(void **state)
{
    struct pb_visible_devices *rank_devices = calloc(PB_VISIBLE_MAX, sizeof(*rank_devices));
    struct pb_assignment *assignments = calloc(PB_VISIBLE_MAX, sizeof(*assignments));
    char name[PB_TEXT_LENGTH];

    (void)state;
    assert_true(PB_VISIBLE_MAX >= 8 * 7);
    assert_true(rank_devices != NULL && assignments != NULL);
    for (size_t i = 0; i < PB_VISIBLE_MAX; i++) {
        rank_devices[i] = see("n", (int64_t)i, "");
        rank_devices[i].device_count = PB_VISIBLE_MAX;
        for (size_t j = 0; j < PB_VISIBLE_MAX; j++) {
            name_instance(j, name);
            PB_TEXT_SET(rank_devices[i].uuids[j], name);
        }
    }
    assert_int_equal(
        pb_assign_devices(rank_devices, PB_VISIBLE_MAX, &nothing_selected, assignments, NULL),
        PB_OK);
    for (size_t i = 0; i < PB_VISIBLE_MAX; i++) {
        name_instance(i, name);
        assert_int_equal(assignments[i].member_status, PB_MEMBER_OK);
        assert_string_equal(assignments[i].selector, name);
    }
    free(assignments);
    free(rank_devices);
}

/* Ranks that all see the one instance that CUDA shows them. */
static void test_assign__surplus_ranks_of_one_instance_get_the_reason(void **state)
{
    struct pb_visible_devices rank_devices[] = {see("n", 0, "a"), see("n", 1, "a")};
    struct pb_assignment assignments[2];

    (void)state;
    PB_TEXT_SET(rank_devices[0].uuids[0], "MIG-a");
    PB_TEXT_SET(rank_devices[1].uuids[0], "MIG-a");
    assert_int_equal(pb_assign_devices(rank_devices, 2, &nothing_selected, assignments, NULL),
                     PB_OK);
    assert_int_equal(assignments[1].member_status, PB_MEMBER_DUPLICATE);
    assert_non_null(strstr(assignments[1].message, "CUDA_VISIBLE_DEVICES"));
}

/* Where one node sees no GPU, its rank has none; the others are measured. */
static void test_assign__rank_without_gpu_is_absent(void **state)
{
    struct pb_visible_devices rank_devices[] = {see("n", 0, "a"), see("m", 0, "")};
    struct pb_assignment assignments[2];

    (void)state;
    rank_devices[1].status = PB_NOT_FOUND;
    rank_devices[1].member_status = PB_MEMBER_ABSENT;
    PB_TEXT_SET(rank_devices[1].message, "no GPU found");
    assert_int_equal(pb_assign_devices(rank_devices, 2, &nothing_selected, assignments, NULL),
                     PB_OK);
    assert_int_equal(assignments[0].member_status, PB_MEMBER_OK);
    assert_int_equal(assignments[1].member_status, PB_MEMBER_ABSENT);
    assert_string_equal(assignments[1].message, "no GPU found");
}

static void test_assign__simulated_slot_is_the_local_rank(void **state)
{
    struct pb_visible_devices rank_devices[] = {see("n", 0, "st"), see("n", 5, "st")};
    struct pb_assignment assignments[2];

    (void)state;
    PB_TEXT_SET(rank_devices[0].backend, "sim");
    PB_TEXT_SET(rank_devices[1].backend, "sim");
    assert_int_equal(pb_assign_devices(rank_devices, 2, &nothing_selected, assignments, NULL),
                     PB_OK);
    assert_string_equal(assignments[1].selector, "5");
}

static void test_assign__refused_command_line_names_the_rank(void **state)
{
    struct pb_visible_devices rank_devices[] = {see("n", 0, "a"), see("m", 0, "b")};
    struct pb_error err = PB_ERROR_INIT;
    struct pb_assignment assignments[2];

    (void)state;
    rank_devices[1].status = PB_INVALID;
    PB_TEXT_SET(rank_devices[1].message, "battery \"x\"");
    assert_int_equal(pb_assign_devices(rank_devices, 2, &nothing_selected, assignments, &err),
                     PB_INVALID);
    assert_string_equal(err.message, "rank 1 on m: battery \"x\"");
}

static struct pb_arrival arrive(const char *host, int64_t slot, const char *uuid)
{
    struct pb_arrival arrival = {.status = PB_OK, .local_rank = 9};

    PB_TEXT_SET(arrival.host, host);
    PB_TEXT_SET(arrival.opened.uuid, uuid);
    arrival.opened.slot = slot;
    return arrival;
}

static void test_keys__are_host_and_slot(void **state)
{
    const struct pb_arrival arrivals[] = {arrive("n1", 3, "a"), arrive("n2", -1, "b")};
    struct pb_named_device named[2];

    (void)state;
    assert_int_equal(pb_assign_keys(arrivals, 2, &nothing_selected, named, NULL), PB_OK);
    assert_string_equal(named[0].key, "n1.gpu3");
    assert_string_equal(named[1].key, "n2.gpu9"); /* the slot is not known: the local rank */
}

static void test_keys__same_device_twice_is_a_duplicate(void **state)
{
    const struct pb_arrival arrivals[] = {arrive("n1", 0, "a"), arrive("n1", 0, "a")};
    struct pb_named_device named[2];

    (void)state;
    assert_int_equal(pb_assign_keys(arrivals, 2, &nothing_selected, named, NULL), PB_OK);
    assert_int_equal(named[0].member_status, PB_MEMBER_OK);
    assert_int_equal(named[1].member_status, PB_MEMBER_DUPLICATE);
    assert_string_equal(named[1].key, "");
    assert_string_equal(named[1].message, "a is measured by rank 0");
}

static void test_keys__two_devices_of_one_name_stay_apart(void **state)
{
    const struct pb_arrival arrivals[] = {arrive("n1", 0, "MIG-a"), arrive("n1", 0, "MIG-b")};
    struct pb_named_device named[2];

    (void)state;
    assert_int_equal(pb_assign_keys(arrivals, 2, &nothing_selected, named, NULL), PB_OK);
    assert_string_equal(named[0].key, "n1.gpu0");
    assert_string_equal(named[1].key, "n1.gpu0.1");
}

static void test_keys__absent_device_of_a_fleet_keeps_its_place(void **state)
{
    struct pb_arrival arrivals[] = {arrive("here", 0, "a"), arrive("here", 0, ""),
                                    arrive("here", 0, "")};
    struct pb_named_device named[3];

    (void)state;
    arrivals[1].status = arrivals[2].status = PB_NOT_FOUND;
    arrivals[1].member_status = arrivals[2].member_status = PB_MEMBER_ABSENT;
    PB_TEXT_SET(arrivals[1].opened.host, "n07");
    arrivals[1].opened.slot = 3;
    assert_int_equal(pb_assign_keys(arrivals, 3, &nothing_selected, named, NULL), PB_OK);
    assert_int_equal(named[1].member_status, PB_MEMBER_ABSENT);
    assert_string_equal(named[1].host, "n07");
    assert_int_equal(named[1].slot, 3);
    assert_string_equal(named[1].key, "");
    assert_string_equal(named[2].host, "here"); /* no fleet has more */
    assert_int_equal(named[2].slot, -1);
}

static void test_keys__fleet_with_more_devices_than_ranks_is_refused(void **state)
{
    const struct pb_test_selection selection = {.backend = "sim", .fleet = "f.json"};
    struct pb_arrival arrivals[] = {arrive("n1", 0, "a")};
    struct pb_error err = PB_ERROR_INIT;
    struct pb_named_device named[1];

    (void)state;
    arrivals[0].opened.fleet_size = 2;
    assert_int_equal(pb_assign_keys(arrivals, 1, &selection, named, &err), PB_INVALID);
    assert_string_equal(err.message, "f.json: lists 2 devices, but there are 1 ranks");
}

static void test_keys__what_is_no_host_name_is_refused_before_anything_is_measured(void **state)
{
    static const char *const names[] = {"n2;id", "n2$(id)", "`id`", "-n2", "n 2", "n\n2"};
    struct pb_error err = PB_ERROR_INIT;
    struct pb_named_device named[2];

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct pb_arrival arrivals[] = {arrive("n1", 0, "a"), arrive(names[i], 0, "b")};

        assert_int_equal(pb_assign_keys(arrivals, 2, &nothing_selected, named, &err), PB_INVALID);
        assert_non_null(strstr(err.message, "rank 1: expected a host's name, found "));
        arrivals[1] = arrive("n2", 0, "b");
        PB_TEXT_SET(arrivals[1].opened.host, names[i]); /* of a simulated fleet */
        assert_int_equal(pb_assign_keys(arrivals, 2, &nothing_selected, named, &err), PB_INVALID);
    }
}

static void test_keys__no_device_at_all_is_not_found(void **state)
{
    struct pb_arrival arrivals[] = {arrive("n1", 0, ""), arrive("n1", 1, "")};
    struct pb_error err = PB_ERROR_INIT;
    struct pb_named_device named[2];

    (void)state;
    arrivals[0].status = arrivals[1].status = PB_NOT_FOUND;
    PB_TEXT_SET(arrivals[0].message, "no driver");
    assert_int_equal(pb_assign_keys(arrivals, 2, &nothing_selected, named, &err), PB_NOT_FOUND);
    assert_string_equal(err.message, "nothing to measure: no driver");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_assign__each_rank_takes_its_own),
        cmocka_unit_test(test_assign__one_visible_device_each),
        cmocka_unit_test(test_assign__first_free_one_when_the_own_is_taken),
        cmocka_unit_test(test_assign__surplus_is_duplicate_and_blind_is_absent),
        cmocka_unit_test(test_assign__many_instances_of_a_node),
        cmocka_unit_test(test_assign__surplus_ranks_of_one_instance_get_the_reason),
        cmocka_unit_test(test_assign__rank_without_gpu_is_absent),
        cmocka_unit_test(test_assign__simulated_slot_is_the_local_rank),
        cmocka_unit_test(test_assign__refused_command_line_names_the_rank),
        cmocka_unit_test(test_keys__are_host_and_slot),
        cmocka_unit_test(test_keys__same_device_twice_is_a_duplicate),
        cmocka_unit_test(test_keys__two_devices_of_one_name_stay_apart),
        cmocka_unit_test(test_keys__absent_device_of_a_fleet_keeps_its_place),
        cmocka_unit_test(test_keys__fleet_with_more_devices_than_ranks_is_refused),
        cmocka_unit_test(test_keys__what_is_no_host_name_is_refused_before_anything_is_measured),
        cmocka_unit_test(test_keys__no_device_at_all_is_not_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
