/* The table of figures, and how each becomes a part of the page; see figures.h. */
#include "analysis/report/figures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct pb_figure pb_figures[] = {
    {"hierarchy",
     "Overview",
     "Memory hierarchy as measured",
     PB_FROM_PARAMETERS,
     {NULL},
     "Every level that a load can meet, with what was measured of it. Below a value stands its "
     "interval where it is more than a point; the latency of a level is that of a load that it "
     "answers. What could not be determined says so; the table has the reasons.",
     pb_figure_hierarchy},
    {"ladder",
     "Overview",
     "Latency of each level",
     PB_FROM_PARAMETERS,
     {NULL},
     "The latency of a load that each level answers, with its interval, from the nearest to the "
     "farthest.",
     pb_figure_ladder},
    {"footprint",
     "Caches",
     "Latency over footprint",
     PB_FROM_TESTS,
     {"l1_capacity", "l2_capacity", "readonly_capacity", "texture_capacity", "constant_capacity",
      "constant_l15_capacity"},
     "Mean latency of a chase over arrays of growing size (M16 4.2, stage 1): it rises where the "
     "array no longer fits. The vertical line is the inferred capacity.",
     pb_figure_footprint},
    {"carveout",
     "Caches",
     "L1 and the shared-memory carve-out",
     PB_FROM_PARAMETERS,
     {NULL},
     "Bytes that L1 keeps beside each amount of shared memory: both lie in one store where the "
     "curve falls by what is set aside.",
     pb_figure_carveout},
    {"words",
     "Caches",
     "Cold pass, word by word",
     PB_FROM_TESTS,
     {"l1_line", "l2_line", "readonly_line", "texture_line", "constant_line", "constant_l15_line"},
     "Latency of each load of a first pass through an empty cache (M16 4.2, stage 2): every slow "
     "load fetches what the fast ones after it hit.",
     pb_figure_words},
    {"sets",
     "Caches",
     "Set maps",
     PB_FROM_TESTS,
     {"l1_sets", "readonly_sets", "texture_sets", "constant_sets", "l2_sets"},
     "An array that fills the cache and one line more: which lines then miss share a set with it "
     "(N14 5.1). A dot is a line that missed; lines of one set form the pattern of the index.",
     pb_figure_sets},
    {"index",
     "Caches",
     "Bits of the set index",
     PB_FROM_PARAMETERS,
     {NULL},
     "Which address bits choose the set of a line: each index bit is the parity of the bits marked "
     "1 (N14 5.1). And what follows for two loops over the same strided lines: at a miss rate of "
     "50% the second loop hits, as N14 checks it.",
     pb_figure_index},
    {"victims",
     "Caches",
     "Replacement",
     PB_FROM_TESTS,
     {"l1_policy", "readonly_policy", "texture_policy", "constant_policy"},
     "Passes over one line more than a set has ways (M16 4.5), a row each: dark is a miss. Under "
     "LRU all loads miss; where some hit, the victims follow another rule, or chance.",
     pb_figure_victims},
    {"texture_2d",
     "Caches",
     "Textures of two dimensions",
     PB_FROM_TESTS,
     {"texture_2d"},
     "Cold passes along rows and down columns of a texture: how wide and how high is what a miss "
     "brings; and whether a cache holds a strip of many rows as well as whole rows (F13 3.4.1).",
     pb_figure_texture_2d},
    {"sharing",
     "Caches",
     "Which paths share a cache",
     PB_FROM_TESTS,
     {"cache_sharing"},
     "Lines are loaded by one path and looked up by another: a fast look-up means one cache.",
     pb_figure_sharing},
    {"whole_l2",
     "Caches",
     "All of L2",
     PB_FROM_TESTS,
     {"l2_whole"},
     "One SM alone reads arrays up to twice the size of L2, then loads some of their lines: those "
     "in "
     "its own half of L2, in the other half and in DRAM form three plateaus.",
     pb_figure_whole_l2},
    {"persistence",
     "Caches",
     "What L2 keeps where it is asked to",
     PB_FROM_TESTS,
     {"l2_persistence"},
     "An SM reads an array of an eighth of L2, with and without the request to keep it; then all "
     "SMs write twice the size of L2. Lines that were kept take as long as without these writes.",
     pb_figure_persistence},
    {"tlb",
     "TLBs",
     "TLB steps",
     PB_FROM_TESTS,
     {"tlb_reach", "tlb_remap"},
     "Median latency of one load in each page over the bytes that the pages span (M16 4.4): each "
     "step is a TLB level that no longer holds all translations.",
     pb_figure_tlb},
    {"patterns",
     "TLBs",
     "Latency patterns P1 to P6",
     PB_FROM_PARAMETERS,
     {NULL},
     "M16 5.2: P1 cache and TLB hit; P2 first-level, P3 second-level TLB miss; P4 cache miss with "
     "TLB hit; P5 and P6 cache and TLB miss, without and with a switch of the page table.",
     pb_figure_patterns},
    {"accesses",
     "Latency",
     "Distribution of single accesses",
     PB_FROM_TESTS,
     {"shared_latency", "l1_capacity", "l2_capacity", "dram_latency"},
     "Share of loads that took at most so many cycles (ECDF), for loads that one level answers.",
     pb_figure_accesses},
    {"loaded",
     "Latency",
     "Latency under load",
     PB_FROM_TESTS,
     {"loaded_latency"},
     "Loads of one SM while the others read the same memory at a growing rate. At the knee the "
     "median is 15% above that without traffic.",
     pb_figure_loaded},
    {"prefetch",
     "Latency",
     "Prefetching",
     PB_FROM_TESTS,
     {"prefetch"},
     "Cold loads in order against the same at random: where order is faster, lines were "
     "prefetched.",
     pb_figure_prefetch},
    {"saavedra",
     "Latency",
     "Saavedra's graph",
     PB_FROM_TESTS,
     {"classic_saavedra"},
     "Average latency over array size and stride (Saavedra 1992, in M16 4.1): what a method "
     "without single accesses would see.",
     pb_figure_saavedra},
    {"wong",
     "Latency",
     "Wong's graph",
     PB_FROM_TESTS,
     {"classic_wong"},
     "Average latency over array size at one stride (Wong 2010, in M16 4.1).",
     pb_figure_wong},
    {"copy",
     "Throughput",
     "DRAM copy",
     PB_FROM_TESTS,
     {"global_copy", "global_copy16", "large_copy16"},
     "Throughput over CTAs and CTA size, for each number of independent accesses of a thread "
     "(ILP; M16 5.1).",
     pb_figure_throughput},
    {"read",
     "Throughput",
     "DRAM read",
     PB_FROM_TESTS,
     {"global_read", "global_read16", "large_read16"},
     "Throughput over CTAs and CTA size, for each number of independent accesses of a thread "
     "(ILP; M16 5.1).",
     pb_figure_throughput},
    {"write",
     "Throughput",
     "DRAM write",
     PB_FROM_TESTS,
     {"global_write", "global_write16", "large_write16"},
     "Throughput over CTAs and CTA size, for each number of independent accesses of a thread "
     "(ILP; M16 5.1).",
     pb_figure_throughput},
    {"shared",
     "Throughput",
     "Shared memory",
     PB_FROM_TESTS,
     {"shared_copy"},
     "Throughput of one SM over CTAs and CTA size, for each number of independent accesses "
     "(M16 6.1).",
     pb_figure_throughput},
    {"banks",
     "Throughput",
     "Bank conflicts",
     PB_FROM_TESTS,
     {"bank_conflict"},
     "Median latency of a warp's shared-memory load over the stride between its threads (M16 6.2).",
     pb_figure_banks},
    {"mshr",
     "Throughput",
     "Outstanding misses",
     PB_FROM_TESTS,
     {"mshr_loads", "mshr_warps", "mshr_lanes"},
     "Cycles until all data of independent loads have come, over the loads of a warp, the warps of "
     "an SM and the lanes of a warp (N14 5.2): a step is the limit of what may be outstanding.",
     pb_figure_mshr},
    {"atomics",
     "Throughput",
     "Atomics",
     PB_FROM_TESTS,
     {"atomic_rate"},
     "Additions of all SMs at once: all to one address, to the words of one line, each to its own "
     "address. Latencies of single atomics are in the map of SMs and L2 lines.",
     pb_figure_atomics},
    {"atomic_sides",
     "Throughput",
     "Atomics by the side of L2",
     PB_FROM_TESTS,
     {"atomic_sides"},
     "Additions of one SM to each of some lines while the others rest. Two levels are lines at "
     "home "
     "on the SM's own side of L2 and on the other one.",
     pb_figure_atomic_sides},
    {"bulk",
     "Throughput",
     "Bulk copies",
     PB_FROM_TESTS,
     {"bulk_copy"},
     "Asynchronous copies from L2 to shared memory: how long one takes, and what each SM gets with "
     "eight of them outstanding.",
     pb_figure_bulk},
    {"host_link",
     "Links",
     "Host link",
     PB_FROM_TESTS,
     {"host_link"},
     "Throughput of transfers between host and device over their size.",
     pb_figure_host_link},
    {"peers",
     "Links",
     "Peer matrix of the node",
     PB_FROM_TESTS,
     {"peer_link"},
     "Throughput between the GPUs of this node, GB/s; rows are the GPUs that measure.",
     pb_figure_peers},
    {"peer_chase",
     "Links",
     "Loads from the memory of peers",
     PB_FROM_TESTS,
     {"peer_chase"},
     "Latency of loads from each other GPU of this node: of lines that no cache has, that the "
     "peer's L2 has, and that this SM has loaded before.",
     pb_figure_peer_chase},
    {"peer_copy",
     "Links",
     "Copies from and to peers",
     PB_FROM_TESTS,
     {"peer_copy"},
     "Throughput of copies of 256 MiB from each other GPU of this node, to it, and both at once, "
     "by "
     "one copy engine, by several, and by a kernel on all SMs.",
     pb_figure_peer_copy},
    {"jumps",
     "Programming",
     "Small and large jumps",
     PB_FROM_TESTS,
     {"jump_global", "jump_texture", "jump_constant", "jump_shared"},
     "Median latency of a small jump after a large one (F13 3.4.1): a jump within a line is fast.",
     pb_figure_jumps},
    {"sync",
     "Programming",
     "Barriers",
     PB_FROM_TESTS,
     {"sync"},
     "Cycles of 1,024 writes with so many barriers among them, by threads of the CTA (F13 3.4.2).",
     pb_figure_sync},
    {"coalesce",
     "Programming",
     "Coalescing",
     PB_FROM_TESTS,
     {"coalesce"},
     "Cycles of 1,024 reads of a full CTA over the offset of threads, the stride between reads and "
     "the misalignment (F13 3.4.3).",
     pb_figure_coalesce},
    {"spill",
     "Programming",
     "Register spilling",
     PB_FROM_TESTS,
     {"spill"},
     "Cycles of a kernel over the number of live 8-byte variables, by threads of the "
     "CTA (F13 3.4.4).",
     pb_figure_spill},
    {"sustained",
     "State",
     "Sustained load",
     PB_FROM_TESTS,
     {"sustained_load"},
     "Throughput, clocks, power and temperature along a lasting copy.",
     pb_figure_sustained},
    {"states",
     "State",
     "Clock and power over the battery",
     PB_FROM_STATES,
     {NULL},
     "As the driver states them before and after each test.",
     pb_figure_states},
    {"agreement",
     "Agreement",
     "What the parameters predict of the recordings",
     PB_FROM_AGREEMENT,
     {NULL},
     "Every recorded chase replayed through the parameters above: the shares of its accesses that "
     "the predicted level answered, that another one did, and of which the parameters say nothing.",
     pb_figure_agreement},
    {"sms",
     "SMs",
     "SM map",
     PB_FROM_TESTS,
     {"sm_latency"},
     "Latency of L1 and L2 as each SM sees it. One SM above the others is slow, or far.",
     pb_figure_sms},
    {"clusters",
     "SMs",
     "Shared memory of other SMs",
     PB_FROM_TESTS,
     {"cluster_shared", "cluster_shared_rate"},
     "Latency of each SM's loads from the shared memory of the others of its clusters, which run "
     "on "
     "one GPC, and the throughput by size of the cluster.",
     pb_figure_clusters},
    {"slices",
     "SMs",
     "SM by L2 line",
     PB_FROM_TESTS,
     {"l2_map"},
     "Latency of an atomic of each SM to each line of L2; lines are ordered by what SM 0 sees. "
     "Blocks are partitions of L2 and the SMs on their sides.",
     pb_figure_slices},
    {"sm_rates",
     "SMs",
     "Read throughput of each SM",
     PB_FROM_TESTS,
     {"read_peak", "l2_read", "l2_side_read"},
     "What each SM reads from shared memory, L1 and L2 while all SMs read, by the best size of the "
     "word, and from L2 alone, of any lines and of those on the other side. An SM below the others "
     "of its device is limited.",
     pb_figure_sm_rates},
    {"sm_caches",
     "SMs",
     "Caches of each SM",
     PB_FROM_TESTS,
     {"sm_caches"},
     "Loads that L1, shared memory and the constant cache of each SM answer. The array is a little "
     "smaller than the L1 of this device: an SM whose L1 holds less stands above the others.",
     pb_figure_sm_caches},
    {"sm_misses",
     "SMs",
     "Misses of each SM",
     PB_FROM_TESTS,
     {"sm_misses"},
     "What a miss of each cache and of each TLB level costs on every SM.",
     pb_figure_sm_misses},
    {"sm_pairs",
     "SMs",
     "SM by SM",
     PB_FROM_TESTS,
     {"sm_pairs"},
     "Cycles of an SM that reads constants while another does, relative to alone: below 1 where "
     "both share a second constant cache, as the SMs of a GPC do.",
     pb_figure_sm_pairs},
    {.id = NULL},
};

/* ---- one figure ---- */

struct loaded {
    struct pb_recording recordings[PB_FIGURE_TESTS_MAX];
    size_t tests, ok;
    char reason[PB_MESSAGE_LENGTH]; /* of the first that is not ok */
};

static void note_reason(struct loaded *loaded, const char *test, const char *what, const char *why)
{
    if (loaded->reason[0] == '\0')
        snprintf(loaded->reason, sizeof(loaded->reason), "test %s: %s%s%.180s", test, what,
                 why[0] == '\0' ? "" : ": ", why);
}

static void load_tests(const struct pb_figure_case *at, struct loaded *loaded)
{
    while (loaded->tests < PB_FIGURE_TESTS_MAX && at->figure->tests[loaded->tests] != NULL) {
        const char *test = at->figure->tests[loaded->tests];
        struct pb_recording *recording = &loaded->recordings[loaded->tests++];
        struct pb_error err = PB_ERROR_INIT;
        enum pb_status status =
            at->source->recording(at->source->context, at->device, test, recording, &err);

        if (status == PB_NO_MEMORY)
            pb_page_fail(at->page);
        if (status != PB_OK) {
            *recording = (struct pb_recording){.name = ""};
            note_reason(loaded, test, status == PB_NOT_FOUND ? "not in this file" : err.message,
                        "");
        } else if (recording->outcome != PB_TEST_OK) {
            note_reason(loaded, test, pb_outcome_name(recording->outcome), recording->message);
        } else {
            loaded->ok++;
        }
    }
}

/* Where the data lies. */
static void write_paths(const struct pb_figure_case *at, const struct loaded *loaded)
{
    const char *key = at->report->devices[at->device].member->key;
    FILE *out = at->page->out;
    size_t named = 0;

    fputs("<p class=path>In the file: ", out);
    if (at->figure->place == PB_FROM_PARAMETERS)
        fputs("/analysis/parameters", out);
    else if (at->figure->place == PB_FROM_STATES)
        pb_markup_format(out, "/devices/%s/state", key);
    else if (at->figure->place == PB_FROM_AGREEMENT)
        fputs("/analysis/agreement", out);
    for (size_t i = 0; i < loaded->tests; i++)
        if (pb_figure_recording(at, i) != NULL)
            pb_markup_format(out, "%s/devices/%s/tests/%s", named++ == 0 ? "" : ", ", key,
                             at->figure->tests[i]);
    fputs("</p>\n", out);
}

/* Draws into buffers of its own, so that nothing is left of a figure that could not be drawn. */
static const char *build(struct pb_figure_case *at, const struct loaded *loaded,
                         struct pb_buffer *figure)
{
    FILE *out = at->page->out;
    struct pb_buffer drawings = {NULL, NULL, 0}, table = {NULL, NULL, 0};
    unsigned before = at->page->drawings;
    const char *reason = "out of memory";

    if (pb_buffer_open(at->page, &drawings) && pb_buffer_open(at->page, &table)) {
        at->page->out = drawings.file;
        at->page->table = table.file;
        reason = at->figure->build(at);
        if (reason == NULL && at->page->drawings == before)
            reason = "nothing of it could be measured";
    }
    at->page->out = figure->file;
    fprintf(figure->file,
            "<figure id=\"f%zu-%s\"><figcaption><h4>%s</h4><p>%s</p></figcaption>\n"
            "<div class=plots tabindex=0 role=group aria-label=\"%s\">",
            at->device, at->figure->id, at->figure->title, at->figure->text, at->figure->title);
    pb_buffer_close(at->page, &drawings, figure->file);
    fputs("</div>\n<details><summary>Data as a table</summary><div class=scroll tabindex=0 "
          "role=region aria-label=\"Data of ",
          figure->file);
    pb_markup_text(figure->file, at->figure->title);
    fputs("\">\n", figure->file);
    pb_buffer_close(at->page, &table, figure->file);
    fputs("</div></details>\n", figure->file);
    write_paths(at, loaded);
    fputs("</figure>\n", figure->file);
    at->page->out = out;
    at->page->table = NULL;
    return reason;
}

/* What is not drawn, and why: gathered while the figures are, written behind them. */
static void note_missing(struct pb_buffer *missing, const struct pb_figure *figure,
                         const char *reason)
{
    fputs("<li><b>", missing->file);
    pb_markup_text(missing->file, figure->title);
    fputs("</b>: ", missing->file);
    pb_markup_text(missing->file, reason);
    fputs("\n", missing->file);
}

/* Above the first figure of a section that is drawn stands its name. */
static void write_section(const struct pb_figure_case *at, const char **section)
{
    if (strcmp(*section, at->figure->section) != 0)
        fprintf(at->page->out, "<h3>%s</h3>\n", at->figure->section);
    *section = at->figure->section;
}

static void write_figure(struct pb_figure_case *at, const char **section, struct pb_buffer *missing)
{
    struct pb_page *page = at->page;
    struct loaded loaded = {.tests = 0};
    struct pb_buffer figure = {NULL, NULL, 0};
    const char *reason = loaded.reason;

    load_tests(at, &loaded);
    at->recordings = loaded.recordings;
    if ((loaded.tests == 0 || loaded.ok > 0) && pb_buffer_open(page, &figure)) {
        reason = build(at, &loaded, &figure);
        fflush(figure.file);
        if (reason == NULL && page->written + figure.size > page->limit)
            reason = "left out, so that the page stays small: plumb-report --device shows it";
        if (reason == NULL) {
            write_section(at, section);
            page->written += figure.size;
        }
        pb_buffer_close(page, &figure, reason == NULL ? page->out : NULL);
    }
    if (reason != NULL)
        note_missing(missing, at->figure, reason);
    for (size_t i = 0; i < loaded.tests; i++)
        pb_recording_clear(&loaded.recordings[i]);
    at->recordings = NULL;
    pb_page_forget(page);
}

void pb_figures_write(const struct pb_report *report, const struct pb_report_source *source,
                      size_t device, const struct pb_device_info *info, struct pb_page *page)
{
    struct pb_figure_case at = {
        .page = page, .report = report, .source = source, .device = device, .info = info};
    struct pb_buffer missing = {NULL, NULL, 0};
    const char *section = "";

    if (!pb_buffer_open(page, &missing))
        return;
    for (const struct pb_figure *figure = pb_figures; figure->id != NULL; figure++) {
        at.figure = figure;
        if (page->status == PB_OK)
            write_figure(&at, &section, &missing);
    }
    fflush(missing.file);
    if (missing.size > 0)
        fputs("<h3>Not drawn</h3>\n<ul class=missing>\n", page->out);
    pb_buffer_close(page, &missing, page->out);
    if (missing.size > 0)
        fputs("</ul>\n", page->out);
}
