/* Lines of one set by eviction, on random caches whose index the finder does not know. */
#include <stdio.h>

#include "battery/eviction.h"
#include "battery/rig.h"

/* L1 of 64 sets of 4 ways, indexed by the parities of address bits; L2 behind it. */
static const char caches[] =
    "{\"id\": \"l1\", \"paths\": [\"global_ca\"], \"line_bytes\": 128, \"sector_bytes\": 32, "
    "\"sets\": 64, \"ways\": %d, \"index\": {\"kind\": \"xor\", \"masks\": [\"0x12080\", "
    "\"0x24100\", \"0x48200\", \"0x90400\", \"0x30800\", \"0x61000\"]}, \"policy\": {\"kind\": "
    "\"%s\"}, \"latency_cycles\": 32}, "
    "{\"id\": \"l2\", \"paths\": [\"global_ca\", \"global_cg\"], \"line_bytes\": 128, "
    "\"sector_bytes\": 32, \"sets\": 4096, \"ways\": 16, \"index\": {\"kind\": \"modulo\"}, "
    "\"policy\": {\"kind\": \"lru\"}, \"latency_cycles\": 270}";

#define TLB                                                                                        \
    "{\"id\": \"tlb\", \"page_bytes\": 2097152, \"entry_span_bytes\": 2097152, \"ways\": 16,"      \
    " \"policy\": {\"kind\": \"lru\"}, \"penalty_cycles\": 30}"

static const uint64_t masks[] = {0x12080, 0x24100, 0x48200, 0x90400, 0x30800, 0x61000};

static unsigned set_of(uint64_t address)
{
    unsigned set = 0;

    for (size_t i = 0; i < COUNT(masks); i++)
        set |= (unsigned)__builtin_parityll(address & masks[i]) << i;
    return set;
}

/* A search that knows the L1's edge and line. */
static void begin(int ways, const char *policy, struct pb_session *session,
                  struct pb_recording *recording, struct pb_search *search)
{
    struct pb_error err;
    char text[1024];

    snprintf(text, sizeof(text), caches, ways, policy);
    *recording = (struct pb_recording){.sm_id = -1};
    rig_open_custom(text, TLB, "", session);
    assert_int_equal(pb_search_from_hints(session, PB_CACHE_L1, search, recording, &err), PB_OK);
}

static void check_group(int ways, const char *policy)
{
    struct pb_recording recording;
    struct pb_eviction_group group;
    struct pb_search search;
    struct pb_session session;
    struct pb_error err;

    begin(ways, policy, &session, &recording, &search);
    assert_int_equal(pb_eviction_group_find(&session, &search, &recording, &group, &err), PB_OK);
    assert_int_equal(group.count, ways + 1);
    for (size_t i = 1; i < group.count; i++) {
        assert_int_equal(set_of(group.offset_bytes[i]), set_of(group.offset_bytes[0]));
        assert_true(group.offset_bytes[i] < group.area_bytes);
        for (size_t k = 0; k < i; k++)
            assert_true(group.offset_bytes[i] != group.offset_bytes[k]);
    }
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

static void test_eviction__finds_lines_of_one_set_of_a_hashed_cache(void **state)
{
    (void)state;
    check_group(4, "lru");
    check_group(4, "fifo");
    check_group(8, "plru");
}

static void check_no_group(const char *policy, bool is_of_one_line)
{
    struct pb_recording recording;
    struct pb_eviction_group group;
    struct pb_search search;
    struct pb_session session;
    struct pb_error err;

    begin(4, policy, &session, &recording, &search);
    if (is_of_one_line)
        search.fits_bytes = search.stride_bytes;
    assert_int_equal(pb_eviction_group_find(&session, &search, &recording, &group, &err),
                     PB_NOT_FOUND);
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

/* Chance evicts now these lines, now others: nothing is stated. */
static void test_eviction__chance_makes_no_group(void **state)
{
    (void)state;
    check_no_group("random", false);
}

/* A chase has a load more at both ends than it has lines: there is room for it. */
static void test_eviction__one_line_makes_no_group(void **state)
{
    (void)state;
    check_no_group("lru", true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_eviction__finds_lines_of_one_set_of_a_hashed_cache),
        cmocka_unit_test(test_eviction__chance_makes_no_group),
        cmocka_unit_test(test_eviction__one_line_makes_no_group),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
