/*
 * Private to the report: the table of figures. Adding one is a function and a row.
 *
 * A figure has a title, a text that says how to read it, one or several drawings, their data as
 * tables, and the paths of what it was drawn from. A builder that finds nothing to draw returns the
 * reason; the figure is then named at the end of the device, with it.
 */
#ifndef PB_ANALYSIS_REPORT_FIGURES_H
#define PB_ANALYSIS_REPORT_FIGURES_H

#include "analysis/report/page.h"
#include "analysis/report/plot.h"
#include "analysis/report/report.h"

enum { PB_FIGURE_TESTS_MAX = 6 };

struct pb_figure;

/* What a builder gets. */
struct pb_figure_case {
    struct pb_page *page;
    const struct pb_report *report;
    const struct pb_report_source *source;
    size_t device;
    const struct pb_device_info *info;
    const struct pb_figure *figure;
    const struct pb_recording *recordings; /* one for each of figure->tests; maybe empty */
};

/* What a figure is drawn from. */
enum pb_figure_place { PB_FROM_TESTS, PB_FROM_PARAMETERS, PB_FROM_STATES, PB_FROM_AGREEMENT };

struct pb_figure {
    const char *id, *section, *title;
    enum pb_figure_place place;
    const char *tests[PB_FIGURE_TESTS_MAX]; /* of FROM_TESTS: at least one of them is needed */
    const char *text; /* what it shows, how to read it, where the method comes from */
    const char *(*build)(const struct pb_figure_case *at); /* NULL: drawn */
};

extern const struct pb_figure pb_figures[]; /* ends with a NULL id; drawn in this order */

/* Draws a device's figures, within the page's limit. */
void pb_figures_write(const struct pb_report *report, const struct pb_report_source *source,
                      size_t device, const struct pb_device_info *info, struct pb_page *page);

/* The parameter of that name; NULL: the analysis has none. */
const struct pb_parameter_row *pb_figure_parameter(const struct pb_figure_case *at,
                                                   const char *memory, const char *name);
/* Its value, its interval; NaN where it is none. */
double pb_figure_number(const struct pb_figure_case *at, const char *memory, const char *name);
/* "[1, null, 3]" as numbers, NaN for null; in the page's scratch. Returns how many. */
size_t pb_figure_list(const struct pb_figure_case *at, const char *memory, const char *name,
                      double **numbers_out);

/* The recording of figure->tests[number] if it is ok, else NULL. */
const struct pb_recording *pb_figure_recording(const struct pb_figure_case *at, size_t number);

/* "L2" for the label "l2" of an axis. */
const char *pb_figure_memory(const char *label);

/* ---- builders ---- */

/* hierarchy.c */
const char *pb_figure_hierarchy(const struct pb_figure_case *at);
/* figures_latency.c */
const char *pb_figure_ladder(const struct pb_figure_case *at);
const char *pb_figure_footprint(const struct pb_figure_case *at);
const char *pb_figure_carveout(const struct pb_figure_case *at);
const char *pb_figure_words(const struct pb_figure_case *at);
const char *pb_figure_sets(const struct pb_figure_case *at);
const char *pb_figure_victims(const struct pb_figure_case *at);
const char *pb_figure_sharing(const struct pb_figure_case *at);
const char *pb_figure_tlb(const struct pb_figure_case *at);
const char *pb_figure_patterns(const struct pb_figure_case *at);
const char *pb_figure_prefetch(const struct pb_figure_case *at);
const char *pb_figure_accesses(const struct pb_figure_case *at);
const char *pb_figure_saavedra(const struct pb_figure_case *at);
const char *pb_figure_wong(const struct pb_figure_case *at);
/* figures_geometry.c */
const char *pb_figure_index(const struct pb_figure_case *at);
const char *pb_figure_texture_2d(const struct pb_figure_case *at);
/* figures_throughput.c */
const char *pb_figure_throughput(const struct pb_figure_case *at);
const char *pb_figure_banks(const struct pb_figure_case *at);
const char *pb_figure_mshr(const struct pb_figure_case *at);
const char *pb_figure_host_link(const struct pb_figure_case *at);
const char *pb_figure_peers(const struct pb_figure_case *at);
const char *pb_figure_sustained(const struct pb_figure_case *at);
const char *pb_figure_states(const struct pb_figure_case *at);
const char *pb_figure_agreement(const struct pb_figure_case *at);
/* figures_parallel.c */
const char *pb_figure_loaded(const struct pb_figure_case *at);
const char *pb_figure_whole_l2(const struct pb_figure_case *at);
const char *pb_figure_persistence(const struct pb_figure_case *at);
const char *pb_figure_sm_rates(const struct pb_figure_case *at);
const char *pb_figure_atomics(const struct pb_figure_case *at);
const char *pb_figure_atomic_sides(const struct pb_figure_case *at);
const char *pb_figure_bulk(const struct pb_figure_case *at);
const char *pb_figure_clusters(const struct pb_figure_case *at);
/* figures_peers.c */
const char *pb_figure_peer_chase(const struct pb_figure_case *at);
const char *pb_figure_peer_copy(const struct pb_figure_case *at);
/* figures_sm.c */
const char *pb_figure_sms(const struct pb_figure_case *at);
const char *pb_figure_sm_caches(const struct pb_figure_case *at);
const char *pb_figure_sm_misses(const struct pb_figure_case *at);
const char *pb_figure_slices(const struct pb_figure_case *at);
const char *pb_figure_sm_pairs(const struct pb_figure_case *at);
const char *pb_figure_jumps(const struct pb_figure_case *at);
const char *pb_figure_sync(const struct pb_figure_case *at);
const char *pb_figure_coalesce(const struct pb_figure_case *at);
const char *pb_figure_spill(const struct pb_figure_case *at);

#endif
