/*
 * A finding's evidence, drawn: the metric of the devices that deviate among their peers, the
 * distribution of their accesses, their SMs, and their clock and power over the battery.
 *
 * The metric is read by the same code that judged it (verdict/observe.h), from the test that the
 * finding names; of many peers some are read, evenly chosen, and the text says how many.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report/curve.h"
#include "analysis/report/fleet.h"
#include "analysis/report/plot.h"
#include "analysis/verdict/observe.h"

enum {
    MEMBERS_MAX = 6, /* devices that deviate: drawn of each finding */
    PEERS_MAX = 24,  /* their peers */
    CURVES_MAX = 4   /* peers of whom a curve is drawn */
};

struct evidence {
    const struct pb_report *report;
    const struct pb_report_source *source;
    const struct pb_report_finding *finding;
    struct pb_page *page;
    char test[PB_NAME_LENGTH]; /* empty: the state */
    size_t members[MEMBERS_MAX], peers[PEERS_MAX];
    size_t member_count, peer_count, all_peers;
};

/* ---- the metric, by device ---- */

/* Gives out the one recording once; then there is none, so that nothing is inferred from it. */
struct single {
    const struct evidence *evidence;
    size_t device;
    bool is_given;
    struct pb_recording recording;
};

static enum pb_status give_once(void *context, const char *test, struct pb_recording *recording_out,
                                struct pb_error *err)
{
    struct single *single = context;
    const struct evidence *evidence = single->evidence;
    enum pb_status status;

    if (single->is_given || strcmp(test, evidence->test) != 0)
        return pb_fail(err, PB_NOT_FOUND, "not needed");
    single->is_given = true;
    status = evidence->source->recording(evidence->source->context, single->device, test,
                                         &single->recording, err);
    if (status == PB_OK)
        *recording_out = single->recording;
    return status;
}

static double observe_metric(const struct evidence *evidence, size_t device)
{
    struct pb_features features = {0};
    struct pb_feature_row row = {.key = "device"};
    struct single single = {evidence, device, false, {.outcome = PB_TEST_MISSING}};
    struct pb_recordings recordings = {&single, give_once};
    struct pb_metric_source metric_source = {.device = &row, .recordings = &recordings};
    struct pb_state *states = NULL;
    struct pb_error err = PB_ERROR_INIT;
    char tests[1][PB_KEY_LENGTH];
    double value = NAN;

    PB_TEXT_SET(tests[0], evidence->test);
    if (evidence->test[0] != '\0') {
        metric_source.tests = (const char(*)[PB_KEY_LENGTH])tests;
        metric_source.test_count = 1;
    } else if (evidence->source->states(evidence->source->context, device, &states,
                                        &metric_source.state_count, &err) == PB_OK) {
        metric_source.states = states;
    }
    if (pb_observe(&features, &metric_source, &err) == PB_OK)
        value = pb_features_reading(&features, 0,
                                    pb_features_find(&features, evidence->finding->row->metric))
                    .value;
    pb_features_clear(&features);
    pb_recording_clear(&single.recording);
    free(states);
    return value;
}

static double metric_of(const struct evidence *evidence, size_t device)
{
    if (evidence->finding->numbers != NULL)
        return evidence->finding->numbers[device];
    return observe_metric(evidence, device);
}

/* ---- who is drawn ---- */

static bool is_member(const struct pb_report_finding *finding, size_t device)
{
    for (size_t i = 0; i < finding->member_count; i++)
        if (finding->members[i] == device)
            return true;
    return false;
}

static bool is_peer(const struct evidence *evidence, size_t device)
{
    const struct pb_report_device *devices = evidence->report->devices;

    return devices[device].is_recorded && !is_member(evidence->finding, device) &&
           strcmp(devices[device].member->model, devices[evidence->members[0]].member->model) == 0;
}

static bool choose_devices(struct evidence *evidence)
{
    const struct pb_report_finding *finding = evidence->finding;
    size_t every, seen = 0;

    for (size_t i = 0; i < finding->member_count && evidence->member_count < MEMBERS_MAX; i++)
        if (evidence->report->devices[finding->members[i]].is_recorded)
            evidence->members[evidence->member_count++] = finding->members[i];
    if (evidence->member_count == 0)
        return false;
    for (size_t i = 0; i < evidence->report->device_count; i++)
        evidence->all_peers += is_peer(evidence, i);
    every =
        evidence->all_peers <= PEERS_MAX ? 1 : (evidence->all_peers + PEERS_MAX - 1) / PEERS_MAX;
    for (size_t i = 0; i < evidence->report->device_count; i++)
        if (is_peer(evidence, i) && seen++ % every == 0)
            evidence->peers[evidence->peer_count++] = i;
    return true;
}

/* "/devices/n1.gpu0/tests/host_link": the test; "…/state": none. */
static void read_path(struct evidence *evidence)
{
    const char *tests = strstr(evidence->finding->row->evidence_path, "/tests/");

    if (tests != NULL)
        PB_TEXT_SET(evidence->test, tests + strlen("/tests/"));
}

/* ---- drawings ---- */

static void draw_among_peers(const struct evidence *evidence)
{
    const struct pb_report_finding *finding = evidence->finding;
    const char *names[MEMBERS_MAX + 1];
    double x[MEMBERS_MAX], y[MEMBERS_MAX], peers[PEERS_MAX], rows[PEERS_MAX];
    struct pb_plot_series series[] = {
        {"", PB_MARK_DOTS, false, evidence->member_count, x, y, NULL, NULL},
        {"", PB_MARK_DOTS, true, evidence->peer_count, peers, rows, NULL, NULL}};
    struct pb_plot plot = {.title = "Among its peers",
                           .x = {.label = finding->row->metric, .unit = finding->row->unit},
                           .y = {.label = "", .unit = "", .names = names},
                           .series = series,
                           .series_count = 2,
                           .reference = finding->row->expected,
                           .reference_label = isfinite(finding->row->expected) ? "expected" : NULL,
                           .is_wide = true};

    for (size_t i = 0; i < evidence->member_count; i++) {
        names[i] = evidence->report->devices[evidence->members[i]].member->key;
        x[i] = metric_of(evidence, evidence->members[i]);
        y[i] = (double)i;
    }
    names[evidence->member_count] = "peers";
    for (size_t i = 0; i < evidence->peer_count; i++) {
        peers[i] = metric_of(evidence, evidence->peers[i]);
        rows[i] = (double)evidence->member_count;
    }
    plot.y.name_count = evidence->member_count + 1;
    plot.description = pb_page_text(evidence->page,
                                    "%s of %zu deviating device%s and %zu of %zu "
                                    "peers of the same model.",
                                    finding->row->metric, evidence->member_count,
                                    evidence->member_count == 1 ? "" : "s", evidence->peer_count,
                                    evidence->all_peers);
    pb_plot_write(evidence->page, &plot);
}

/* The phase whose accesses the metric is about, or the first that has enough. */
static const char *phase_of(const struct evidence *evidence, const struct pb_series *series)
{
    static const char *const phases[] = {"far", "near", "reference", "miss"};

    for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++) {
        struct pb_pick pick = {NULL, NULL, phases[i]};
        const struct pb_point *point;
        size_t at = 0;

        if (strncmp(evidence->finding->row->metric, "dram_near", 9) == 0 && i == 0)
            continue;
        while ((point = pb_point_next(series, &pick, &at)) != NULL)
            if (point->count >= 100)
                return phases[i];
    }
    return NULL;
}

/* Quantiles of a device's accesses. */
static bool read_ecdf(const struct evidence *evidence, size_t device, bool is_background,
                      struct pb_plot_series *series_out)
{
    enum { QUANTILES = 40 };
    struct pb_page *page = evidence->page;
    struct pb_recording recording = {.name = ""};
    struct pb_error err = PB_ERROR_INIT;
    struct pb_curve all = {NULL, NULL, 0, false};
    double *x = pb_page_numbers(page, QUANTILES + 2), *y = pb_page_numbers(page, QUANTILES + 2);
    const char *phase;

    if (evidence->source->recording(evidence->source->context, device, evidence->test, &recording,
                                    &err) != PB_OK)
        return false;
    phase = phase_of(evidence, &recording.series);
    if (phase != NULL)
        all = pb_curve_accesses(page, &recording.series, NULL, phase);
    for (size_t q = 0; x != NULL && y != NULL && all.count > 0 && q <= QUANTILES + 1; q++) {
        double share = q <= QUANTILES - 1 ? (double)q / QUANTILES : q == QUANTILES ? 0.995 : 1.0;

        x[q] = all.x[(size_t)(share * (double)(all.count - 1))];
        y[q] = share;
    }
    pb_recording_clear(&recording);
    *series_out = (struct pb_plot_series){
        .name = is_background ? NULL : evidence->report->devices[device].member->key,
        .mark = PB_MARK_STEP,
        .is_background = is_background,
        .count = QUANTILES + 2,
        .x = x,
        .y = y};
    return all.count > 0 && x != NULL && y != NULL;
}

static void draw_accesses(const struct evidence *evidence)
{
    struct pb_plot_series series[1 + CURVES_MAX];
    struct pb_plot plot = {.title = "Its accesses",
                           .description = "Share of the accesses of the test that took at most so "
                                          "many cycles; grey are peers.",
                           .x = {.label = "Latency", .unit = "cycle", .logarithmic = true},
                           .y = {.label = "Share of accesses", .unit = "", .from_zero = true},
                           .series = series,
                           .reference = NAN,
                           .labels_along = true};

    if (evidence->test[0] == '\0' ||
        !read_ecdf(evidence, evidence->members[0], false, &series[plot.series_count]))
        return;
    plot.series_count++;
    for (size_t i = 0; i < evidence->peer_count && i < CURVES_MAX; i++)
        plot.series_count +=
            read_ecdf(evidence, evidence->peers[i], true, &series[plot.series_count]);
    pb_plot_write(evidence->page, &plot);
}

/* Passes on every SM. */
static bool read_sms(const struct evidence *evidence, size_t device, bool is_background,
                     struct pb_plot_series *series_out)
{
    struct pb_recording recording = {.name = ""};
    struct pb_error err = PB_ERROR_INIT;
    struct pb_pick pick = {NULL, NULL, "l1"};
    const struct pb_point *point;
    size_t count = 0, at = 0;
    double *x, *y;

    if (evidence->source->recording(evidence->source->context, device, evidence->test, &recording,
                                    &err) != PB_OK)
        return false;
    x = pb_page_numbers(evidence->page, recording.series.point_count);
    y = pb_page_numbers(evidence->page, recording.series.point_count);
    while (x != NULL && y != NULL &&
           (point = pb_point_next(&recording.series, &pick, &at)) != NULL) {
        x[count] = (double)point->sm_id;
        y[count++] = pb_point_mean(&recording.series, point);
    }
    pb_recording_clear(&recording);
    *series_out = (struct pb_plot_series){
        .name = is_background ? NULL : evidence->report->devices[device].member->key,
        .mark = PB_MARK_DOTS,
        .is_background = is_background,
        .count = count,
        .x = x,
        .y = y};
    return count > 0;
}

static void draw_sms(const struct evidence *evidence)
{
    struct pb_plot_series series[1 + CURVES_MAX];
    struct pb_plot plot = {.title = "Its SMs",
                           .description = "Latency of an L1 hit on each SM; grey are peers.",
                           .x = {.label = "SM", .unit = ""},
                           .y = {.label = "Latency", .unit = "cycle"},
                           .series = series,
                           .reference = NAN};

    if (strcmp(evidence->test, "sm_latency") != 0 ||
        !read_sms(evidence, evidence->members[0], false, &series[plot.series_count]))
        return;
    plot.series_count++;
    for (size_t i = 0; i < evidence->peer_count && i < CURVES_MAX; i++)
        plot.series_count +=
            read_sms(evidence, evidence->peers[i], true, &series[plot.series_count]);
    pb_plot_write(evidence->page, &plot);
}

/* What the driver said of clock and power over the battery. */
static bool read_states(const struct evidence *evidence, size_t device, bool is_power,
                        bool is_background, struct pb_plot_series *series_out)
{
    struct pb_state *states = NULL;
    struct pb_error err = PB_ERROR_INIT;
    size_t count = 0;
    double *x, *y;

    if (evidence->source->states(evidence->source->context, device, &states, &count, &err) != PB_OK)
        return false;
    x = pb_page_numbers(evidence->page, count);
    y = pb_page_numbers(evidence->page, count);
    for (size_t i = 0; x != NULL && y != NULL && i < count; i++) {
        x[i] = states[i].unix_seconds - states[0].unix_seconds;
        y[i] = is_power ? states[i].power_w : states[i].sm_clock_mhz;
    }
    free(states);
    if (x == NULL || y == NULL || count == 0)
        return false;
    *series_out = (struct pb_plot_series){
        .name = is_background ? NULL : evidence->report->devices[device].member->key,
        .mark = PB_MARK_STEP,
        .is_background = is_background,
        .count = pb_curve_thin(x, y, count),
        .x = x,
        .y = y};
    return true;
}

static void draw_states(const struct evidence *evidence, bool is_power)
{
    struct pb_plot_series series[2];
    struct pb_plot plot = {.title = is_power ? "Its power" : "Its SM clock",
                           .description = "Over the seconds of the battery; grey is a peer.",
                           .x = {.label = "Time", .unit = "s"},
                           .y = {.label = is_power ? "Power" : "SM clock",
                                 .unit = is_power ? "W" : "MHz",
                                 .from_zero = is_power},
                           .series = series,
                           .reference = NAN};

    if (!read_states(evidence, evidence->members[0], is_power, false, &series[0]))
        return;
    plot.series_count = 1;
    if (evidence->peer_count > 0)
        plot.series_count += read_states(evidence, evidence->peers[evidence->peer_count / 2],
                                         is_power, true, &series[1]);
    pb_plot_write(evidence->page, &plot);
}

void pb_evidence_write(const struct pb_report *report, const struct pb_report_source *source,
                       const struct pb_report_finding *finding, struct pb_page *page)
{
    struct evidence evidence = {
        .report = report, .source = source, .finding = finding, .page = page};
    struct pb_buffer table;
    unsigned before = page->drawings;

    read_path(&evidence);
    if (!choose_devices(&evidence) || !pb_buffer_open(page, &table))
        return;
    page->table = table.file;
    fputs("<div class=plots tabindex=0 role=group aria-label=\"Evidence of this finding\">",
          page->out);
    if (finding->row->metric[0] != '\0')
        draw_among_peers(&evidence);
    draw_sms(&evidence);
    draw_accesses(&evidence);
    draw_states(&evidence, false);
    draw_states(&evidence, true);
    fputs("</div>\n", page->out);
    page->table = NULL;
    if (page->drawings > before)
        fputs("<details><summary>Data as a table</summary><div class=scroll tabindex=0 role=region "
              "aria-label=\"Data of this finding\">\n",
              page->out);
    pb_buffer_close(page, &table, page->drawings > before ? page->out : NULL);
    if (page->drawings > before)
        fputs("</div></details>\n", page->out);
    pb_page_forget(page);
}
