/* Exact states: one link, one lane, one row is a finding, however many whole numbers round to. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/verdict/exact_states.h"
#include "verdict/fleetbuild.h"
#include "verdict/sickfleet.h"

static const struct pb_metric links = {.name = "nvml.nvlinks_up",
                                       .unit = "link",
                                       .part = PB_PART_PEER_LINK,
                                       .domain = PB_DOMAIN_SIZE,
                                       .better = PB_BETTER_HIGHER,
                                       .quantum = 1.0,
                                       .practical = 0.03};

static void set_links(struct pb_sheet *sheet, size_t subject, double count)
{
    assert_int_equal(
        pb_sheet_set(sheet, subject, &links, (struct pb_reading){count, 0.0, -1}, NULL), PB_OK);
}

static double missing_of(const struct pb_sheet *sheet, size_t subject)
{
    return pb_sheet_cell(sheet, subject, pb_sheet_find(sheet, "nvml.nvlinks_below_peers")).value;
}

static void test_peers__one_link_of_eighteen_is_critical(void **state)
{
    struct pb_sheet sheet = {0};
    struct pb_findings findings = {0};
    const struct pb_finding *finding;

    (void)state;
    make_fleet(NODES, &sheet);
    for (size_t i = 0; i < sheet.subject_count; i++)
        set_links(&sheet, i, i == SICK ? 17.0 : 18.0);
    assert_int_equal(pb_exact_states_add(&sheet, NULL, NULL), PB_OK);
    judge(&sheet, &findings);
    assert_int_equal(findings.count, 1);
    finding = fleetbuild_find(&findings, "nvlink", sick_key);
    assert_non_null(finding);
    assert_int_equal(finding->severity, PB_SEVERITY_CRITICAL);
    assert_true(finding->drain);
    pb_findings_clear(&findings);
}

/* Half of the fleet is wired with fewer links: neither half is wrong. */
static void test_peers__two_wirings_have_no_right_value(void **state)
{
    struct pb_sheet sheet = {0};

    (void)state;
    make_fleet(NODES, &sheet);
    for (size_t i = 0; i < sheet.subject_count; i++)
        set_links(&sheet, i, i % 2 == 0 ? 12.0 : 18.0);
    assert_int_equal(pb_exact_states_add(&sheet, NULL, NULL), PB_OK);
    assert_true(isnan(missing_of(&sheet, 0)));
    pb_sheet_clear(&sheet);
}

/* A device alone is compared with what it had before. */
static void test_past__counts_where_peers_are_too_few(void **state)
{
    struct pb_sheet sheet = {0}, base = {0};

    (void)state;
    make_fleet(1, &sheet);
    make_fleet(1, &base);
    sheet.subject_count = 1;
    set_links(&sheet, 0, 17.0);
    set_links(&base, 0, 18.0);
    assert_int_equal(pb_exact_states_add(&sheet, NULL, NULL), PB_OK);
    assert_true(isnan(missing_of(&sheet, 0)));
    assert_int_equal(pb_exact_states_add(&sheet, &base, NULL), PB_OK);
    assert_true(missing_of(&sheet, 0) == 1.0);
    sheet.subject_count = SLOTS;
    pb_sheet_clear(&sheet);
    pb_sheet_clear(&base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_peers__one_link_of_eighteen_is_critical),
        cmocka_unit_test(test_peers__two_wirings_have_no_right_value),
        cmocka_unit_test(test_past__counts_where_peers_are_too_few),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
