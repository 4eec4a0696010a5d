/*
 * The metric catalogue: every number that devices are compared by, one row each. To add a metric is
 * to add a row here, and the line that extracts it. From the rows come the kind of each value, its
 * practical size and run-to-run tolerance, what the causes read from it, and the table of
 * docs/metrics.md. Metrics of the device's state stand in core/state_fields.h, in the same columns.
 *
 * This file has no include guard: whoever includes it defines PB_METRIC first, and the file
 * undefines it.
 *
 * PB_METRIC(name, unit, component, domain, better, quantum, practical, tolerance, traits, varies,
 *           description)
 *   name         as findings and policies name it; a list adds the number of its element, ".2"
 *   quantum      the smallest step that the number can take; 0: none
 *   practical    shift below which no action follows: relative, but absolute for fractions, counts
 *                and states, in the metric's unit
 *   tolerance    how far two runs of one healthy device may lie apart, in the same terms; 0: by the
 *                practical size. The figures stand half as far out again, at least, as two runs
 *                ever lay apart; docs/verdict-statistics.md has what was seen.
 *   traits       T(name) of metric.h, or 0: how runs compare in it, what the causes read from it
 *   varies       pattern of tests by which the analysis states a parameter of this name that does
 *                not repeat from run to run, or is extracted otherwise: it is not compared
 *
 * What the analysis states and no row here has does not repeat from run to run (where on a plateau
 * a peak lies, how MSHRs bend a curve), or differs legitimately (disabled SMs).
 */

/* Structure has steps: its practical size is small only against halves and doubles. A larger cache
   than the peers' is no defect. */
#define SIZE_METRIC(name, component, traits, description)                                          \
    PB_METRIC(name, "byte", component, SIZE, NEITHER, 32.0, 0.04, 0.0, traits, "", description)
#define CAPACITY_METRIC(name, component, description)                                              \
    PB_METRIC(name, "byte", component, SIZE, HIGHER, 32.0, 0.04, 0.0, 0, "", description)
#define COUNT_METRIC(name, unit, component, description)                                           \
    PB_METRIC(name, unit, component, SIZE, NEITHER, 1.0, 0.04, 0.0, 0, "", description)
#define CYCLES_METRIC(name, component, tolerance, traits, varies, description)                     \
    PB_METRIC(name, "cycle", component, CYCLES, LOWER, 1.0, 0.02, tolerance, traits, varies,       \
              description)
#define NS_METRIC(name, component, practical, traits, description)                                 \
    PB_METRIC(name, "ns", component, NS, LOWER, 0.0, practical, 0.0, traits, "", description)
#define RATE_METRIC(name, unit, component, practical, tolerance, traits, description)              \
    PB_METRIC(name, unit, component, RATE, HIGHER, 0.0, practical, tolerance, traits, "",          \
              description)

/* What a miss costs is a property of the level behind. */
#define CACHE_METRICS(memory, component, behind, varies)                                           \
    CAPACITY_METRIC(memory ".size_bytes", component, "capacity")                                   \
    SIZE_METRIC(memory ".line_bytes", component, 0, "length of a line")                            \
    SIZE_METRIC(memory ".sector_bytes", component, 0, "length of a sector")                        \
    SIZE_METRIC(memory ".fetch_bytes", component, 0, "what one miss brings")                       \
    COUNT_METRIC(memory ".set_count", "", component, "sets")                                       \
    CYCLES_METRIC(memory ".latency_cycles", component, 0.0, 0, varies, "latency of a hit")         \
    NS_METRIC(memory ".latency_ns", component, 0.02, 0, "latency of a hit")                        \
    CYCLES_METRIC(memory ".miss_latency_cycles", behind, 0.03, 0, "", "latency of a miss")

#define TLB_METRICS(memory, tolerance, varies)                                                     \
    SIZE_METRIC(memory ".page_bytes", TLB, 0, "length of a page")                                  \
    COUNT_METRIC(memory ".entry_count", "", TLB, "entries")                                        \
    SIZE_METRIC(memory ".entry_coverage_bytes", TLB, 0, "memory that an entry covers")             \
    SIZE_METRIC(memory ".reach_bytes", TLB, 0, "memory that all entries cover")                    \
    COUNT_METRIC(memory ".set_count", "", TLB, "sets")                                             \
    CYCLES_METRIC(memory ".penalty_cycles", TLB, tolerance, 0, varies, "what a miss adds")

/* Accesses of one kind, pooled over all tests, each as a multiple of its own test's median. The
   extractor raises quantum and practical size where a cycle is a larger share of the median. */
#define SHAPE_METRIC(name, component, practical, traits, description)                              \
    PB_METRIC(name, "median", component, FRACTION, LOWER, 0.0, practical, 0.0,                     \
              T(SAME_BATTERY) | T(QUANTILE) | (traits), "", description)
#define TAIL_METRIC(name, component, tolerance, traits, description)                               \
    PB_METRIC(name, "share", component, FRACTION, LOWER, 0.0, 5e-4, tolerance,                     \
              T(SAME_BATTERY) | T(TAIL_SHARE) | (traits), "", description)
#define ACCESS_METRICS(accesses, component, traits, tail_1_125, tail_1_5, tail_3)                  \
    SHAPE_METRIC(accesses ".q01", component, 0.10, traits, "1% quantile over the median")          \
    SHAPE_METRIC(accesses ".q10", component, 0.10, traits, "10% quantile over the median")         \
    SHAPE_METRIC(accesses ".q25", component, 0.10, traits, "25% quantile over the median")         \
    SHAPE_METRIC(accesses ".q75", component, 0.10, T(QUARTILE) | (traits),                         \
                 "75% quantile over the median")                                                   \
    SHAPE_METRIC(accesses ".q90", component, 0.10, traits, "90% quantile over the median")         \
    SHAPE_METRIC(accesses ".q99", component, 0.15, T(LATE_QUANTILE) | (traits),                    \
                 "99% quantile over the median")                                                   \
    SHAPE_METRIC(accesses ".q999", component, 0.25, T(LATE_QUANTILE) | (traits),                   \
                 "99.9% quantile over the median")                                                 \
    TAIL_METRIC(accesses ".tail_fraction_1_125x", component, tail_1_125, traits,                   \
                "share of accesses beyond 1.125 medians")                                          \
    TAIL_METRIC(accesses ".tail_fraction_1_5x", component, tail_1_5, traits,                       \
                "share of accesses beyond 1.5 medians")                                            \
    TAIL_METRIC(accesses ".tail_fraction_3x", component, tail_3, traits,                           \
                "share of accesses beyond 3 medians")

/* Sorted per-SM maps compare where disabled SMs make every device's map another one. */
#define SM_METRIC(name, practical, tolerance, traits, description)                                 \
    PB_METRIC("sm." name, "excess", SM, FRACTION, LOWER, 0.0, practical, tolerance,                \
              T(SLOWEST_SM) | (traits), "", description)
#define SM_RANK_METRICS(what, practical, tolerance, traits, description)                           \
    SM_METRIC(what "_slowest", practical, tolerance, traits,                                       \
              "slowest SM over the device's median SM: " description)                              \
    SM_METRIC(what "_second_slowest", practical, tolerance, traits,                                \
              "second slowest SM likewise: " description)                                          \
    SM_METRIC(what "_third_slowest", practical, tolerance, traits,                                 \
              "third slowest SM likewise: " description)

/* One CTA of the smallest size on each SM is bound by latency alone. */
#define THROUGHPUT_METRICS(test)                                                                   \
    RATE_METRIC(test ".peak", "byte/s", DRAM, 0.03, 0.0, T(PEAK), "best launch shape")             \
    RATE_METRIC(test ".latency_bound", "byte/s", DRAM, 0.03, 0.05, T(LATENCY_BOUND) | T(PER_SM),   \
                "one small CTA per SM, rate per SM")

#define DRIFT_METRIC(name, component, tolerance_traits, description)                               \
    PB_METRIC(name, "ratio", component, FRACTION, HIGHER, 0.0, 0.02, 0.0, tolerance_traits, "",    \
              description)

/* ---- parameters of which at least 60% of the votes agree ---- */

CYCLES_METRIC("clock.overhead_cycles", CLOCK, 0.0, 0, "", "between two time stamps")
RATE_METRIC("clock.sm_mhz", "MHz", CLOCK, 0.01, 0.0125, 0, "SM clock; healthy ones step by 15 MHz")

CACHE_METRICS("l1", L1, L2, "")
CAPACITY_METRIC("l1.carveout_size_bytes", L1, "capacity beside each amount of shared memory")
SIZE_METRIC("l1.prefetch_bytes", L1, 0, "what is fetched ahead")
RATE_METRIC("l1.read_bytes_per_cycle_per_sm", "byte/cycle", L1, 0.03, 0.0, 0, "all SMs at once")

CACHE_METRICS("l2", L2, DRAM, "l2_whole") /* of one SM's lines, 478 to 527 cycles */
SIZE_METRIC("l2.prefetch_bytes", L2, 0, "what is fetched ahead")
RATE_METRIC("l2.read_bytes_per_cycle_per_sm", "byte/cycle", L2, 0.03, 0.0, 0, "all SMs at once")
CYCLES_METRIC("l2.crossing_cycles", L2, 0.0, 0, "", "from one partition of L2 to the other")
PB_METRIC("l2.loaded_knee_share", "share", L2, FRACTION, HIGHER, 0.0, 0.12, 0.0, T(LOAD_KNEE), "",
          "share of the peak rate from which on latency rises")
CAPACITY_METRIC("l2_near.size_bytes", L2, "capacity of the near partition")
CYCLES_METRIC("l2_near.latency_cycles", L2, 0.0, 0, "l2_whole", "hit in the near partition")
CYCLES_METRIC("l2_far.latency_cycles", L2, 0.0, 0, "l2_whole", "hit in the far partition")
/* Runs of one H200 lay 2.7 and 7% apart where all SMs read, 1.3 and 1.6% where one does. */
RATE_METRIC("l2_near.read_bytes_per_cycle_per_sm", "byte/cycle", L2, 0.05, 0.0, 0,
            "near partition, all SMs at once")
RATE_METRIC("l2_near.read_alone_bytes_per_cycle", "byte/cycle", L2, 0.03, 0.0, 0,
            "near partition, one SM alone")
RATE_METRIC("l2_far.read_bytes_per_cycle_per_sm", "byte/cycle", L2, 0.08, 0.11, 0,
            "far partition, all SMs at once")
RATE_METRIC("l2_far.read_alone_bytes_per_cycle", "byte/cycle", L2, 0.03, 0.0, 0,
            "far partition, one SM alone")

CACHE_METRICS("readonly", L1, L2, "")
CACHE_METRICS("texture", TEXTURE, L2, "")
CACHE_METRICS("constant_l1", CONSTANT, L2, "")
CACHE_METRICS("constant_l15", CONSTANT, L2, "")

CYCLES_METRIC("dram.latency_cycles", DRAM, 0.0, T(DRAM_LEVEL), "", "latency of a load from DRAM")
NS_METRIC("dram.latency_ns", DRAM, 0.02, T(DRAM_LEVEL) | T(DRAM_NS), "latency of a load from DRAM")
/* DRAM has its own clock: this stays when the SM's clock changes. */
NS_METRIC("dram.beyond_l2_ns", DRAM, 0.03, T(DRAM_LEVEL) | T(BEYOND_L2), "DRAM's latency less L2's")
RATE_METRIC("dram.peak_bytes_per_s", "byte/s", DRAM, 0.03, 0.0, T(PEAK), "copy")
RATE_METRIC("dram.read_peak_bytes_per_s", "byte/s", DRAM, 0.03, 0.0, T(PEAK), "read")
RATE_METRIC("dram.write_peak_bytes_per_s", "byte/s", DRAM, 0.03, 0.0, T(PEAK), "write")
/* Three runs of one healthy H100: 0.82, 0.69 and 0.83. */
PB_METRIC("dram.loaded_knee_share", "share", DRAM, FRACTION, HIGHER, 0.0, 0.10, 0.21, T(LOAD_KNEE),
          "", "share of the peak rate from which on latency rises")

TLB_METRICS("tlb_l1", 0.2, "")      /* a difference of two latencies */
TLB_METRICS("tlb_l2", 0.0, "tlb_*") /* by one SM 94 or 152 cycles, by its side of L2 */

CYCLES_METRIC("shared.latency_cycles", SHARED, 0.0, T(OWN_SHARED), "", "latency of shared memory")
NS_METRIC("shared.latency_ns", SHARED, 0.02, 0, "latency of shared memory")
COUNT_METRIC("shared.banks", "bank", SHARED, "banks")
SIZE_METRIC("shared.bank_bytes", SHARED, 0, "width of a bank")
CYCLES_METRIC("shared.conflict_cycles", SHARED, 0.0, 0, "", "bank conflicts of 2, 4, ... ways")
RATE_METRIC("shared.peak_bytes_per_cycle_per_sm", "byte/cycle", SHARED, 0.03, 0.0, 0, "copy")
RATE_METRIC("shared.read_bytes_per_cycle_per_sm", "byte/cycle", SHARED, 0.03, 0.0, 0,
            "all SMs at once")
CYCLES_METRIC("cluster_shared.latency_cycles", SHARED, 0.0, T(CLUSTER), "",
              "shared memory of other SMs of a cluster")

RATE_METRIC("atomic.address_per_cycle", "1/cycle", L2, 0.05, 0.0, T(ATOMIC),
            "additions to one word")
RATE_METRIC("atomic.line_per_cycle", "1/cycle", L2, 0.05, 0.0, T(ATOMIC), "additions to one line")
RATE_METRIC("atomic.spread_per_cycle", "1/cycle", L2, 0.05, 0.0, T(ATOMIC) | T(PER_SM),
            "additions to many lines, per SM")
CYCLES_METRIC("bulk_copy.latency_cycles", L2, 0.0, 0, "", "asynchronous bulk copy")
RATE_METRIC("host_link.peak_bytes_per_s", "byte/s", HOST_LINK, 0.03, 0.0, 0,
            "host link, best of all")

/* ---- matrices ---- */

THROUGHPUT_METRICS("global_copy")
THROUGHPUT_METRICS("global_read")
THROUGHPUT_METRICS("global_write")
THROUGHPUT_METRICS("global_copy16")
THROUGHPUT_METRICS("global_read16")
THROUGHPUT_METRICS("global_write16")

/* Pageable copies and small transfers depend on the host as well: half or double, a sixth or six
   times. From pageable memory one of four busy H200s moved 6.7 GB/s in one run, 15.1 in another. */
RATE_METRIC("host_link.to_device_pageable", "byte/s", HOST_LINK, 0.35, 5.0, T(ONLY_WARNS), "")
RATE_METRIC("host_link.to_device_pinned", "byte/s", HOST_LINK, 0.06, 0.0, 0, "")
RATE_METRIC("host_link.from_device_pageable", "byte/s", HOST_LINK, 0.35, 5.0, T(ONLY_WARNS), "")
RATE_METRIC("host_link.from_device_pinned", "byte/s", HOST_LINK, 0.06, 0.0, 0, "")
PB_METRIC("host_latency.to_device_pinned", "ns", HOST_LINK, NS, LOWER, 0.0, 0.15, 1.0,
          T(ONLY_WARNS), "", "least of the repeats")
PB_METRIC("host_latency.from_device_pinned", "ns", HOST_LINK, NS, LOWER, 0.0, 0.15, 1.0,
          T(ONLY_WARNS), "", "least of the repeats")

/* All devices of a node measure at the same time: a peer may be at half its rate by chance. */
RATE_METRIC("peer_link.median_peer", "byte/s", PEER_LINK, 0.20, 0.0, 0, "")
RATE_METRIC("peer_link.worst_peer", "byte/s", PEER_LINK, 0.55, 0.0, 0, "")
NS_METRIC("peer_link.median_latency", PEER_LINK, 0.50, 0, "")
PB_METRIC("peer_chase.warm", "cycle", PEER_LINK, CYCLES, LOWER, 4.0, 0.05, 0.0, 0, "",
          "loads of a peer's memory, lines in its L2")
PB_METRIC("peer_chase.cold", "cycle", PEER_LINK, CYCLES, LOWER, 4.0, 0.05, 0.0, 0, "",
          "loads of a peer's memory, lines in its DRAM")
RATE_METRIC("peer_copy.from_peer", "byte/s", PEER_LINK, 0.20, 0.0, 0, "best of the median peer")
RATE_METRIC("peer_copy.to_peer", "byte/s", PEER_LINK, 0.20, 0.0, 0, "best of the median peer")
RATE_METRIC("peer_copy.both", "byte/s", PEER_LINK, 0.20, 0.0, 0, "best of the median peer")

RATE_METRIC("sustained_load.throughput", "byte/s", DRAM, 0.03, 0.0, 0,
            "median of the sustained load")
PB_METRIC("sustained_load.last_over_first", "ratio", DRAM, FRACTION, HIGHER, 0.0, 0.03, 0.0,
          T(SUSTAINED), "", "throughput of the last quarter over that of the first")
DRIFT_METRIC("clock_calibration.second_over_first", CLOCK, T(MEASURED_CLOCK),
             "SM clock of the second half over that of the first")
DRIFT_METRIC("clock.lowest_over_highest", CLOCK, T(SAME_BATTERY) | T(MEASURED_CLOCK),
             "SM clock by test: the lowest over the highest")

PB_METRIC("sync.median", "cycle", SM, CYCLES, LOWER, 0.0, 0.04, 0.0, 0, "", "barriers")
PB_METRIC("spill.median", "cycle", L1, CYCLES, LOWER, 0.0, 0.04, 0.0, 0, "", "register spilling")
PB_METRIC("coalesce.median", "cycle", L2, CYCLES, LOWER, 0.0, 0.04, 0.0, 0, "", "coalescing")

/* ---- every SM against the others of its device ---- */

SM_RANK_METRICS("l1", 0.02, 0.0, T(SM_L1), "L1 hits")
SM_RANK_METRICS("l2", 0.02, 0.03, T(SM_L2), "L2 hits")
SM_RANK_METRICS("clock", 0.03, 0.0, T(SM_CLOCK), "period of its clock")
SM_RANK_METRICS("l1_fits", 0.02, 0.0, T(SM_L1), "an L1 that is nearly full")
SM_RANK_METRICS("shared", 0.02, 0.0, 0, "shared memory")
SM_RANK_METRICS("conflict", 0.02, 0.0, 0, "bank conflicts of all lanes")
SM_RANK_METRICS("constant", 0.02, 0.0, 0, "constants")
SM_RANK_METRICS("constant_fits", 0.02, 0.0, 0, "a first constant cache that is nearly full")
SM_RANK_METRICS("shared_read", 0.03, 0.0, 0, "rate of shared memory, all SMs at once")
SM_RANK_METRICS("l1_read", 0.03, 0.0, T(SM_L1), "rate of L1, all SMs at once")

PB_METRIC("sm_median.l1_cycles", "cycle", L1, CYCLES, LOWER, 0.0, 0.02, 0.0, T(SM_MEDIAN), "",
          "L1 hit on the median SM")
PB_METRIC("sm_median.l1_ns", "ns", L1, NS, LOWER, 0.0, 0.02, 0.0, T(SM_MEDIAN), "",
          "L1 hit on the median SM")
PB_METRIC("sm_median.l2_cycles", "cycle", L2, CYCLES, LOWER, 0.0, 0.02, 0.0, T(SM_MEDIAN), "",
          "L2 hit on the median SM")
PB_METRIC("sm_median.l2_ns", "ns", L2, NS, LOWER, 0.0, 0.02, 0.0, T(SM_MEDIAN), "",
          "L2 hit on the median SM")
PB_METRIC("sm_map.l1_spread", "share", L1, FRACTION, NEITHER, 0.0, 0.02, 0.0, 0, "",
          "L1 latency, from quarter to quarter of the SMs")
PB_METRIC("sm_map.l2_spread", "share", L2, FRACTION, NEITHER, 0.0, 0.02, 0.0, 0, "",
          "L2 latency, from quarter to quarter of the SMs")
PB_METRIC("sm_map.measured_share", "share", CO_TENANTS, FRACTION, HIGHER, 0.0, 0.02, 0.0, 0, "",
          "SMs that could be reached")

/* ---- whole distributions of accesses ---- */

ACCESS_METRICS("shared_hits", SHARED, 0, 0.0, 0.0, 0.0)
ACCESS_METRICS("l1_hits", L1, 0, 0.0, 0.0, 0.0)
/* Which pages a run is given decides which slices and banks answer. */
ACCESS_METRICS("l2_hits", L2, 0, 0.05, 0.0, 0.0)
ACCESS_METRICS("dram_near", DRAM, T(NEAR), 0.015, 0.01, 0.001)
ACCESS_METRICS("dram_far", DRAM, T(FAR), 0.015, 0.01, 0.001)
PB_METRIC("l2_hits.slowest_over_fastest_test", "ratio", L2, FRACTION, LOWER, 0.0, 0.05, 0.15,
          T(SAME_BATTERY) | T(TWO_SPEEDS), "", "median L2 hit of the slowest test over the fastest")

/* ---- integrity and identity ---- */

PB_METRIC("integrity.mismatches", "word", INTEGRITY, COUNT, LOWER, 1.0, 0.0, 0.0, 0, "",
          "wrong words, by all tests that check what they read")
PB_METRIC("compute.wrong_runs", "run", INTEGRITY, COUNT, LOWER, 1.0, 0.0, 0.0, T(COMPUTE), "*",
          "runs of one computation with another result; from the recording, with the SM")
PB_METRIC("compute.sustained_wrong_runs", "run", INTEGRITY, COUNT, LOWER, 1.0, 0.0, 0.0, T(COMPUTE),
          "*", "the same under a lasting load; from the recording, with the SM")
PB_METRIC("device.memory_bytes", "byte", CONFIGURATION, SIZE, NEITHER, 0.0, 0.01, 0.0, 0, "",
          "global memory")

/* ---- state of two fields, or against a limit ---- */

PB_METRIC("nvml.sm_clock_most_over_max", "ratio", CLOCK, FRACTION, HIGHER, 0.0, 0.02, 0.0,
          T(SAME_BATTERY) | T(SM_CLOCK_STATE), "", "highest SM clock over the device's maximum")
PB_METRIC("nvml.sm_clock_last_over_max", "ratio", CLOCK, FRACTION, HIGHER, 0.0, 0.02, 0.0,
          T(SAME_BATTERY) | T(SM_CLOCK_STATE), "", "last SM clock over the device's maximum")
PB_METRIC("nvml.memory_clock_over_max", "ratio", CLOCK, FRACTION, HIGHER, 0.0, 0.02, 0.0,
          T(MEMORY_CLOCK_STATE), "", "highest memory clock over the device's maximum")
PB_METRIC("nvml.pcie_width_missing", "lane", HOST_LINK, COUNT, LOWER, 1.0, 0.0, 0.0, 0, "",
          "lanes below what device and slot could have")
PB_METRIC("nvml.pcie_generation_missing", "generation", HOST_LINK, COUNT, LOWER, 1.0, 0.0, 0.0, 0,
          "", "generations below what device and slot could have")
PB_METRIC("nvml.pcie_width_below_peers", "lane", HOST_LINK, COUNT, LOWER, 1.0, 0.0, 0.0, 0, "",
          "lanes below nine tenths of the model's devices")
PB_METRIC("nvml.pcie_generation_below_peers", "generation", HOST_LINK, COUNT, LOWER, 1.0, 0.0, 0.0,
          0, "", "generations below nine tenths of the model's devices")
PB_METRIC("nvml.nvlinks_below_peers", "link", PEER_LINK, COUNT, LOWER, 1.0, 0.0, 0.0, 0, "",
          "NVLinks below nine tenths of the model's devices")

#undef SIZE_METRIC
#undef CAPACITY_METRIC
#undef COUNT_METRIC
#undef CYCLES_METRIC
#undef NS_METRIC
#undef RATE_METRIC
#undef CACHE_METRICS
#undef TLB_METRICS
#undef SHAPE_METRIC
#undef TAIL_METRIC
#undef ACCESS_METRICS
#undef SM_METRIC
#undef SM_RANK_METRICS
#undef THROUGHPUT_METRICS
#undef DRIFT_METRIC
#undef PB_METRIC
