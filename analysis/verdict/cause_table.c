/*
 * The table of causes (facts section 4); see cause.h for how it is read.
 *
 * Order: what explains most comes first. A second process or a slow clock moves nearly everything;
 * a slow SM moves whatever was measured on it, and is told before a tail, which leaves L1 alone; a
 * tail moves averages; L2 moves what lies behind it.
 */
#include "analysis/verdict/cause.h"

#define PART(name)   (1u << PB_PART_##name)
#define DOMAIN(name) (1u << PB_DOMAIN_##name)
#define ANY_PART     PB_PARTS_ALL
#define ANY_DOMAIN   PB_DOMAINS_ALL

#define CACHES (PART(L1) | PART(CONSTANT) | PART(TEXTURE))
#define OUTER  (PART(L2) | PART(TLB) | PART(DRAM))

/*
 * What a co-tenant that slows nothing entails: its memory leaves other pages to the battery, and
 * with them moves how many L2 hits are far ones (an idle and a holding one on an H200: 6% of the
 * hits).
 */
#define PASSIVE_FOLLOWS                                                                            \
    {                                                                                              \
        {PART(COMPANY), ANY_DOMAIN, PB_ANY_WAY, NULL, PB_LAW_ANY},                                 \
        {                                                                                          \
            PART(L2), DOMAIN(FRACTION), PB_ANY_WAY, NULL, PB_LAW_ANY                               \
        }                                                                                          \
    }

/*
 * What a slower SM clock entails: ns and rates, never cycles within the SM; DRAM's cycles fall.
 * DRAM has a clock of its own: its rate follows faintly, its share of the latency in ns not at all.
 * That the driver reports locked clocks is a cause of its own, so only falling ratios follow.
 */
#define CLOCK_FOLLOWS                                                                              \
    {                                                                                              \
        {PART(CLOCK), DOMAIN(RATE), PB_ANY_WAY, NULL, PB_LAW_ANY},                                 \
            {PART(CLOCK), DOMAIN(FRACTION), PB_DOWN, NULL, PB_LAW_ANY},                            \
            {ANY_PART & ~PART(DRAM), DOMAIN(NS), PB_ANY_WAY, NULL, PB_LAW_SAME},                   \
            {PART(DRAM), DOMAIN(NS), PB_ANY_WAY, "dram.latency_ns", PB_LAW_SAME},                  \
            {OUTER, DOMAIN(CYCLES), PB_DOWN, NULL, PB_LAW_SAME},                                   \
            {PART(DRAM), DOMAIN(RATE), PB_ANY_WAY, "*latency_bound", PB_LAW_SAME},                 \
            {PART(DRAM), DOMAIN(RATE), PB_ANY_WAY, NULL, PB_LAW_FAINT},                            \
            {PART(SHARED) | CACHES | PART(L2), DOMAIN(RATE), PB_ANY_WAY, NULL, PB_LAW_SAME},       \
            {PART(DRAM), DOMAIN(FRACTION), PB_ANY_WAY, "dram_far.q*", PB_LAW_SAME},                \
            {PART(SM), DOMAIN(FRACTION), PB_ANY_WAY, "sm.clock*", PB_LAW_ANY},                     \
            {PART(POWER) | PART(THERMAL), DOMAIN(STATE), PB_ANY_WAY, NULL, PB_LAW_ANY},            \
    }

/* How much slower: what the lead of such a cause, a reason or an event, does not tell. */
#define CLOCK_SIZES                                                                                \
    {                                                                                              \
        {PART(CLOCK), DOMAIN(RATE), PB_ANY_WAY, NULL, PB_LAW_ANY},                                 \
            {PART(CLOCK), DOMAIN(FRACTION), PB_DOWN, NULL, PB_LAW_ANY},                            \
    }

const struct pb_cause pb_causes[] = {
    {.word = "integrity",
     .meaning = "words came back other than they were written",
     .advice = "read the ECC counters, run the vendor's diagnostics, replace the board",
     .level = PB_LEVEL_DEVICE,
     .needs = {{PART(INTEGRITY), ANY_DOMAIN, PB_UP, NULL, PB_LAW_ANY}}},
    {.word = "co_tenant",
     .meaning = "another process is on this device; latencies or rates are worse with it",
     .advice = "find the process (nvidia-smi), end it, measure again before blaming the device",
     .level = PB_LEVEL_DEVICE,
     .needs = {{PART(COMPANY), DOMAIN(COUNT) | DOMAIN(STATE), PB_UP, NULL, PB_LAW_ANY}},
     .also = {{ANY_PART, DOMAIN(CYCLES) | DOMAIN(NS), PB_UP, NULL, PB_LAW_ANY},
              {ANY_PART & ~PART(COMPANY), DOMAIN(RATE), PB_DOWN, NULL, PB_LAW_ANY}},
     .follows = {{PART(COMPANY), ANY_DOMAIN, PB_ANY_WAY, NULL, PB_LAW_ANY},
                 {ANY_PART, DOMAIN(CYCLES) | DOMAIN(NS), PB_UP, NULL, PB_LAW_ANY},
                 {ANY_PART, DOMAIN(RATE), PB_DOWN, NULL, PB_LAW_ANY},
                 {ANY_PART, DOMAIN(FRACTION), PB_ANY_WAY, NULL, PB_LAW_ANY},
                 {CACHES | OUTER | PART(SM), DOMAIN(SIZE), PB_ANY_WAY, NULL, PB_LAW_ANY},
                 {CACHES | OUTER, DOMAIN(CYCLES), PB_ANY_WAY, NULL, PB_LAW_ANY},
                 {PART(POWER) | PART(THERMAL), DOMAIN(STATE), PB_ANY_WAY, NULL, PB_LAW_ANY}}},
    {.word = "co_tenant_memory",
     .meaning = "another process holds memory of this device; nothing is slower for it",
     .advice = "find the process (nvidia-smi); jobs have less memory here until it ends",
     .level = PB_LEVEL_DEVICE,
     .needs = {{PART(COMPANY), DOMAIN(STATE), PB_UP, NULL, PB_LAW_ANY}},
     .follows = PASSIVE_FOLLOWS},
    {.word = "co_tenant_idle",
     .meaning = "another process is on this device; nothing is slower for it",
     .advice = "find the process (nvidia-smi); it may become active later",
     .level = PB_LEVEL_DEVICE,
     .needs = {{PART(COMPANY), DOMAIN(COUNT), PB_UP, NULL, PB_LAW_ANY}},
     .follows = PASSIVE_FOLLOWS},
    {.word = "thermal",
     .meaning = "the driver reports a slowdown by heat; ns and rates suffer, cycles do not",
     .advice = "check fans, airflow and inlet temperature, clean or reseat the cooler",
     .level = PB_LEVEL_DEVICE,
     .needs = {{PART(THERMAL), DOMAIN(COUNT), PB_UP, NULL, PB_LAW_ANY}},
     .sizes = CLOCK_SIZES,
     .follows = CLOCK_FOLLOWS},
    {.word = "power_cap",
     .meaning = "the driver reports a power limit or brake while clocks or rates fall",
     .advice = "compare the enforced power limit with the default, check supply and its cables",
     .level = PB_LEVEL_DEVICE,
     .needs = {{PART(POWER), DOMAIN(COUNT), PB_UP, NULL, PB_LAW_ANY},
               {PART(POWER), DOMAIN(FRACTION), PB_UP, "throttle.*", PB_LAW_ANY},
               {PART(POWER), DOMAIN(STATE), PB_UP, "nvml.slowed*", PB_LAW_ANY}},
     .also = {{PART(CLOCK), DOMAIN(RATE) | DOMAIN(FRACTION), PB_DOWN, NULL, PB_LAW_ANY},
              {PART(DRAM), DOMAIN(RATE) | DOMAIN(FRACTION), PB_DOWN, NULL, PB_LAW_ANY}},
     .sizes = CLOCK_SIZES,
     .follows = {{PART(POWER) | PART(CLOCK) | PART(THERMAL), ANY_DOMAIN, PB_ANY_WAY, NULL,
                  PB_LAW_ANY},
                 {ANY_PART, DOMAIN(NS), PB_ANY_WAY, NULL, PB_LAW_SAME},
                 {OUTER, DOMAIN(CYCLES), PB_DOWN, NULL, PB_LAW_SAME},
                 {PART(DRAM) | PART(L2) | PART(SHARED), DOMAIN(RATE) | DOMAIN(FRACTION), PB_DOWN,
                  NULL, PB_LAW_ANY}}},
    {.word = "locked_clocks",
     .meaning = "the driver reports application clocks; ns rise with them, cycles stay",
     .advice = "reset the clocks (nvidia-smi --reset-gpu-clocks), look for who locks them",
     .level = PB_LEVEL_DEVICE,
     .needs = {{PART(CLOCK), DOMAIN(FRACTION), PB_UP, "throttle.locked_clocks", PB_LAW_ANY}},
     .also = {{PART(CLOCK), DOMAIN(RATE), PB_ANY_WAY, NULL, PB_LAW_ANY},
              {PART(CLOCK), DOMAIN(FRACTION), PB_DOWN, NULL, PB_LAW_ANY}},
     .sizes = CLOCK_SIZES,
     .follows = CLOCK_FOLLOWS},
    {.word = "slow_clock",
     .meaning = "the SM clock is low and the driver names no reason; ns rise, cycles stay",
     .advice = "compare clocks and power state with a peer, reset the device, then watch it",
     .level = PB_LEVEL_DEVICE,
     .needs = {{PART(CLOCK), DOMAIN(RATE), PB_DOWN, NULL, PB_LAW_ANY},
               {PART(CLOCK), DOMAIN(FRACTION), PB_DOWN, "nvml.sm*", PB_LAW_ANY},
               {PART(CLOCK), DOMAIN(FRACTION), PB_DOWN, "cl*", PB_LAW_ANY}},
     .sizes = CLOCK_SIZES,
     .follows = CLOCK_FOLLOWS},
    {.word = "fast_clock",
     .meaning = "the SM clock is above that of the peers",
     .advice = "compare clock offsets and application clocks with the peers",
     .level = PB_LEVEL_DEVICE,
     .needs = {{PART(CLOCK), DOMAIN(RATE), PB_UP, NULL, PB_LAW_ANY},
               {PART(CLOCK), DOMAIN(FRACTION), PB_UP, "nvml.sm*", PB_LAW_ANY}},
     .sizes = {{PART(CLOCK), DOMAIN(RATE) | DOMAIN(FRACTION), PB_UP, NULL, PB_LAW_ANY}},
     .follows = {{PART(CLOCK), ANY_DOMAIN, PB_ANY_WAY, NULL, PB_LAW_ANY},
                 {ANY_PART, DOMAIN(NS), PB_DOWN, NULL, PB_LAW_SAME},
                 {OUTER, DOMAIN(CYCLES), PB_UP, NULL, PB_LAW_SAME},
                 {ANY_PART, DOMAIN(RATE), PB_UP, NULL, PB_LAW_SAME},
                 {PART(POWER) | PART(THERMAL), DOMAIN(STATE), PB_ANY_WAY, NULL, PB_LAW_ANY}}},
    {.word = "slow_memory_clock",
     .meaning = "the memory clock is low, the SM clock is not",
     .advice = "reset the memory clocks (nvidia-smi --reset-memory-clocks)",
     .level = PB_LEVEL_DEVICE,
     .needs = {{PART(CLOCK), DOMAIN(FRACTION), PB_DOWN, "nvml.memory_clock*", PB_LAW_ANY}},
     .follows = {{PART(DRAM), ANY_DOMAIN, PB_ANY_WAY, NULL, PB_LAW_ANY},
                 {PART(POWER), DOMAIN(STATE), PB_ANY_WAY, NULL, PB_LAW_ANY}}},
    {.word = "pcie_link",
     .meaning = "the host link is short of lanes, generation or rate; the device itself is not",
     .advice = "reseat the board or riser, check the slot's lanes and the replay counter",
     .level = PB_LEVEL_DEVICE,
     .needs = {{PART(HOST_LINK), DOMAIN(SIZE), PB_DOWN, NULL, PB_LAW_ANY},
               {PART(HOST_LINK), DOMAIN(RATE), PB_DOWN, NULL, PB_LAW_ANY},
               {PART(HOST_LINK), DOMAIN(COUNT), PB_UP, NULL, PB_LAW_ANY}},
     .follows = {{PART(HOST_LINK), ANY_DOMAIN, PB_ANY_WAY, NULL, PB_LAW_ANY}}},
    {.word = "host_latency",
     .meaning = "small transfers from or to the host take longer; large ones do not",
     .advice = "check the host: NUMA binding, power saving of CPU and PCIe, load",
     .level = PB_LEVEL_DEVICE,
     .needs = {{PART(HOST_LINK), DOMAIN(NS), PB_UP, NULL, PB_LAW_ANY}},
     .follows = {{PART(HOST_LINK), ANY_DOMAIN, PB_ANY_WAY, NULL, PB_LAW_ANY}}},
    {.word = "nvlink",
     .meaning = "links to the node's other devices are down, slow or make errors",
     .advice = "look at nvidia-smi nvlink --status and the fabric manager's log",
     .level = PB_LEVEL_DEVICE,
     .needs = {{PART(PEER_LINK), DOMAIN(SIZE) | DOMAIN(RATE), PB_DOWN, NULL, PB_LAW_ANY},
               {PART(PEER_LINK), DOMAIN(COUNT) | DOMAIN(NS), PB_UP, NULL, PB_LAW_ANY}},
     .follows = {{PART(PEER_LINK), ANY_DOMAIN, PB_ANY_WAY, NULL, PB_LAW_ANY}}},
    {.word = "hbm",
     .meaning = "memory errors, remapped rows or retired pages during the run",
     .advice = "reset the device so that rows are remapped; replace it if they return",
     .level = PB_LEVEL_DEVICE,
     .needs = {{PART(ECC), DOMAIN(COUNT), PB_UP, "*_step", PB_LAW_ANY},
               {PART(ECC), DOMAIN(COUNT), PB_UP, "nvml.remap_*", PB_LAW_ANY},
               {PART(ECC), DOMAIN(COUNT), PB_UP, "nvml.retirement_*", PB_LAW_ANY}},
     .follows = {{PART(ECC), ANY_DOMAIN, PB_ANY_WAY, NULL, PB_LAW_ANY},
                 {PART(DRAM), DOMAIN(RATE), PB_DOWN, NULL, PB_LAW_ANY},
                 {PART(DRAM), DOMAIN(FRACTION), PB_UP, NULL, PB_LAW_ANY}}},
    {.word = "earlier_memory_errors",
     .meaning =
         "memory errors, remapped rows or retired pages stood in the device's counters before "
         "the run",
     .advice =
         "compare the counters with those of earlier runs; mute the finding if they are known",
     .level = PB_LEVEL_DEVICE,
     .needs = {{PART(ECC), DOMAIN(COUNT), PB_UP, "*_before", PB_LAW_ANY}},
     .follows = {{PART(ECC), DOMAIN(COUNT), PB_UP, "*_before", PB_LAW_ANY}}},
    {.word = "tail",
     .meaning = "few accesses take far longer while the median stays",
     .advice = "run the full battery, look for ECC or retries at the slow addresses",
     .level = PB_LEVEL_ACCESS,
     .needs = {{OUTER | CACHES, DOMAIN(FRACTION), PB_UP, "*.beyond*", PB_LAW_ANY},
               {OUTER | CACHES, DOMAIN(FRACTION), PB_UP, "*.q99*", PB_LAW_ANY}},
     .spares = {{PART(L2), DOMAIN(FRACTION), PB_UP, "l2_hits.q75", PB_LAW_ANY},
                {PART(DRAM), DOMAIN(FRACTION), PB_UP, "dram_near.q75", PB_LAW_ANY},
                {PART(SM), DOMAIN(FRACTION), PB_UP, "sm.l1*slowest", PB_LAW_ANY}},
     .follows = {{OUTER | CACHES, DOMAIN(FRACTION), PB_ANY_WAY, NULL, PB_LAW_ANY},
                 {PART(L2) | PART(TLB), DOMAIN(CYCLES) | DOMAIN(NS), PB_UP, "sm_median*",
                  PB_LAW_ANY},
                 {PART(SM), DOMAIN(FRACTION), PB_UP, "sm.l2*", PB_LAW_ANY}}},
    {.word = "slow_sm",
     .meaning = "one SM is slower than all others of its device, further than any peer's slowest",
     .advice = "repeat the per-SM map, replace the board if the same SM stays slow",
     .level = PB_LEVEL_SM,
     .needs = {{PART(SM), DOMAIN(FRACTION), PB_UP, "sm.*slowest", PB_LAW_ANY}},
     .follows = {{PART(SM), DOMAIN(FRACTION), PB_UP, "sm.*slowest", PB_LAW_HERE},
                 {PART(DRAM), DOMAIN(CYCLES) | DOMAIN(NS), PB_UP, "dram.*", PB_LAW_MEAN},
                 {PART(DRAM), DOMAIN(FRACTION), PB_UP, "dram_near.beyond*", PB_LAW_LATE},
                 {PART(DRAM), DOMAIN(FRACTION), PB_UP, "dram_far.beyond*", PB_LAW_SHARE},
                 {PART(DRAM), DOMAIN(FRACTION), PB_UP, "dram_*.q*", PB_LAW_SAME},
                 {ANY_PART, DOMAIN(CYCLES) | DOMAIN(NS), PB_ANY_WAY, NULL, PB_LAW_PLACE},
                 {PART(DRAM), DOMAIN(RATE), PB_DOWN, "*latency_bound", PB_LAW_SAME},
                 {PART(SHARED), DOMAIN(RATE), PB_DOWN, NULL, PB_LAW_SAME}}},
    {.word = "hidden_slow_state",
     .meaning = "L2 answers at two speeds within one run while the copy keeps its rate",
     .advice = "repeat the run, reset the device, report it with both recordings",
     .level = PB_LEVEL_DEVICE,
     .needs = {{PART(L2), DOMAIN(FRACTION), PB_UP, "l2_hits.slowest_over_fastest_test",
                PB_LAW_ANY}},
     .spares = {{PART(DRAM), DOMAIN(RATE), PB_DOWN, "*peak*", PB_LAW_ANY}},
     .follows = {{OUTER, DOMAIN(CYCLES) | DOMAIN(NS) | DOMAIN(FRACTION), PB_ANY_WAY, NULL,
                  PB_LAW_ANY}}},
    {.word = "l2_latency",
     .meaning = "L2 answers late in cycles, on every SM; clock and rates do not explain it",
     .advice = "repeat with the full battery, compare the l2_map with a peer's",
     .level = PB_LEVEL_DEVICE,
     .needs = {{PART(L2), DOMAIN(CYCLES) | DOMAIN(NS), PB_UP, NULL, PB_LAW_ANY}},
     .follows = {{PART(L2) | PART(TLB), ANY_DOMAIN, PB_ANY_WAY, NULL, PB_LAW_ANY},
                 {PART(DRAM), DOMAIN(CYCLES), PB_UP, NULL, PB_LAW_STEP},
                 {PART(DRAM), DOMAIN(NS), PB_ANY_WAY, NULL, PB_LAW_STEP},
                 {PART(DRAM), DOMAIN(NS), PB_DOWN, "dram.beyond_l2_ns", PB_LAW_ANY},
                 {PART(DRAM), DOMAIN(RATE), PB_DOWN, "*latency_bound", PB_LAW_SAME},
                 {PART(DRAM), DOMAIN(FRACTION), PB_ANY_WAY, NULL, PB_LAW_FAINT}}},
    {.word = "dram_latency",
     .meaning = "DRAM answers late beyond what L2 and the clock explain; its rate is whole",
     .advice = "compare memory timings (VBIOS), temperature and refresh with a peer",
     .level = PB_LEVEL_DEVICE,
     .needs = {{PART(DRAM), DOMAIN(CYCLES) | DOMAIN(NS), PB_UP, NULL, PB_LAW_ANY}},
     .follows = {{PART(DRAM), DOMAIN(CYCLES) | DOMAIN(NS) | DOMAIN(FRACTION), PB_ANY_WAY, NULL,
                  PB_LAW_ANY},
                 {PART(DRAM), DOMAIN(RATE), PB_DOWN, "*latency_bound", PB_LAW_ANY}}},
    {.word = "ecc_off",
     .meaning = "memory is larger or faster than the peers': ECC may be off",
     .advice = "switch ECC on (nvidia-smi -e 1) and reset the device",
     .level = PB_LEVEL_DEVICE,
     .needs = {{PART(CONFIGURATION), DOMAIN(SIZE), PB_UP, "device.memory_bytes", PB_LAW_ANY}},
     .follows = {{PART(DRAM), DOMAIN(RATE), PB_UP, NULL, PB_LAW_ANY}}},
    {.word = "hbm",
     .meaning = "memory bandwidth is short while its latency and the clock are those of the peers",
     .advice = "read remapped rows and ECC counters, run the vendor's memory diagnostics",
     .level = PB_LEVEL_DEVICE,
     .needs = {{PART(DRAM), DOMAIN(RATE), PB_DOWN, NULL, PB_LAW_ANY},
               {PART(DRAM), DOMAIN(FRACTION), PB_DOWN, "sustain*", PB_LAW_ANY}},
     .follows = {{PART(DRAM), DOMAIN(RATE) | DOMAIN(FRACTION), PB_ANY_WAY, NULL, PB_LAW_ANY}}},
    {.word = "l1_defect",
     .meaning = "caches of the SM are smaller or slower than the peers'; L2 is not",
     .advice = "repeat l1_capacity and l1_sets, replace the board",
     .level = PB_LEVEL_DEVICE,
     .needs = {{CACHES, DOMAIN(SIZE), PB_DOWN, NULL, PB_LAW_ANY},
               {CACHES, DOMAIN(CYCLES) | DOMAIN(NS), PB_UP, NULL, PB_LAW_ANY}},
     .follows = {{CACHES, ANY_DOMAIN, PB_ANY_WAY, NULL, PB_LAW_ANY}}},
    {.word = "shared_memory",
     .meaning = "shared memory is slower than the peers'; the clock is not",
     .advice = "repeat shared_latency and bank_conflict, replace the board",
     .level = PB_LEVEL_DEVICE,
     .needs = {{PART(SHARED), DOMAIN(CYCLES) | DOMAIN(NS), PB_UP, NULL, PB_LAW_ANY},
               {PART(SHARED), DOMAIN(RATE), PB_DOWN, NULL, PB_LAW_ANY}},
     .follows = {{PART(SHARED), ANY_DOMAIN, PB_ANY_WAY, NULL, PB_LAW_ANY}}},
    {.word = "temperature",
     .meaning = "hotter than the peers; nothing is slow yet",
     .advice = "check fans, airflow and inlet temperature",
     .level = PB_LEVEL_DEVICE,
     .needs = {{PART(THERMAL), DOMAIN(STATE), PB_UP, NULL, PB_LAW_ANY}},
     .follows = {{PART(THERMAL) | PART(POWER), DOMAIN(STATE), PB_ANY_WAY, NULL, PB_LAW_ANY}}},
    {.word = "power_limit",
     .meaning = "the driver reports a power limit or brake; nothing is slow yet",
     .advice = "compare the enforced power limit with the default and with the peers'",
     .level = PB_LEVEL_DEVICE,
     .needs = {{PART(POWER), ANY_DOMAIN, PB_ANY_WAY, NULL, PB_LAW_ANY}},
     .follows = {{PART(POWER) | PART(THERMAL), DOMAIN(STATE), PB_ANY_WAY, NULL, PB_LAW_ANY}}},
    {.word = "clock_setting",
     .meaning = "the driver reports application clocks; nothing is slow",
     .advice = "look for who locks the clocks (nvidia-smi --reset-gpu-clocks)",
     .level = PB_LEVEL_DEVICE,
     .needs = {{PART(CLOCK), DOMAIN(FRACTION), PB_UP, "throttle*", PB_LAW_ANY}}},
    {.word = "configuration",
     .meaning = "another amount of memory than the peers'",
     .advice = "compare MIG mode, ECC mode and VBIOS with the peers",
     .level = PB_LEVEL_DEVICE,
     .needs = {{PART(CONFIGURATION), ANY_DOMAIN, PB_ANY_WAY, NULL, PB_LAW_ANY}}},
    {.word = "unexplained",
     .meaning = "no known cause fits what moved",
     .advice = "repeat the run with the standard battery and compare the recordings with a peer's",
     .level = PB_LEVEL_DEVICE,
     .needs = {{ANY_PART, ANY_DOMAIN, PB_ANY_WAY, NULL, PB_LAW_ANY}},
     .follows = {{ANY_PART, ANY_DOMAIN, PB_ANY_WAY, NULL, PB_LAW_ANY}}},
    {.word = NULL},
};
