/* Drawing, writing and judging what all SMs do at once; see parallel.h. */
#include "analysis/blind/parallel.h"

#include <math.h>

#include "analysis/blind/draw.h"

/* A number from low to high, each power of two alike. */
static double spread(uint64_t *state, double low, double high)
{
    double unit = (double)(draw(state) >> 11) * 0x1p-53;

    return low * exp(unit * log(high / low));
}

/* ---- drawing ---- */

static void draw_traffic(uint64_t *state, struct blind_parallel *parallel)
{
    parallel->knee_share = chance(state, 15) ? 1.0 : 0.01 * between(state, 30, 97);
    parallel->slope = 0.01 * between(state, 0, 25);
    parallel->saturated_factor = chance(state, 15) ? 1.0 : spread(state, 1.05, 8.0);
    parallel->sm_bytes_per_cycle = spread(state, 8.0, 256.0);
    parallel->l2_bytes_per_cycle = spread(state, 4.0, 128.0);
    parallel->shared_bytes_per_cycle = (double)ONE_OF(state, 32, 64, 128, 256);
    parallel->shared_bytes = ONE_OF(state, 49152, 65536, 102400, 233472);
}

static void draw_atomics(uint64_t *state, uint32_t sm_count, struct blind_parallel *parallel)
{
    parallel->address_per_cycle = spread(state, 0.05, 1.2);
    parallel->line_per_cycle = parallel->address_per_cycle * spread(state, 1.0, 16.0);
    parallel->spread_per_cycle = sm_count * spread(state, 0.5, 8.0);
    if (parallel->spread_per_cycle < parallel->line_per_cycle)
        parallel->spread_per_cycle = parallel->line_per_cycle;
    parallel->far_cost = chance(state, 40) ? 0.0 : 0.01 * between(state, 1, 100);
}

static void draw_clusters(uint64_t *state, uint32_t shared_cycles, struct blind_parallel *parallel)
{
    parallel->cluster_max = (uint32_t)ONE_OF(state, 0, 0, 1, 2, 4, 8, 16, 16);
    parallel->own_cycles = shared_cycles + between(state, 0, 20);
    parallel->cluster_cycles = parallel->own_cycles * spread(state, 2.0, 10.0);
    parallel->cluster_spread_cycles = chance(state, 50) ? 0.0 : shared_cycles;
    parallel->own_bytes_per_cycle = spread(state, 32.0, 128.0);
    parallel->cluster_bytes_per_cycle = spread(state, 4.0, 64.0);
}

static void draw_links(uint64_t *state, struct blind_parallel *parallel)
{
    parallel->pcie_generation = between(state, 1, 6);
    parallel->pcie_width = 1u << between(state, 0, 4);
    parallel->host_us = 0.5 * between(state, 2, 60);
    parallel->pageable_share = 0.01 * between(state, 10, 100);
    parallel->devices = (uint32_t)ONE_OF(state, 1, 1, 2, 4, 8);
    parallel->peer_bytes_per_s = spread(state, 2e9, 1e12);
    parallel->peer_us = 0.5 * between(state, 1, 40);
    parallel->peer_both_share = 0.01 * between(state, 50, 100);
    parallel->peer_load_ns = between(state, 100, 3000);
}

void blind_parallel_draw(struct blind_profile *profile)
{
    uint64_t state = profile->seed * 0x9e3779b97f4a7c15u + 18;
    struct blind_parallel *parallel = &profile->parallel;

    *parallel = (struct blind_parallel){.is_set = true, .flip_sm = -1};
    draw_traffic(&state, parallel);
    draw_atomics(&state, profile->sm_count, parallel);
    draw_clusters(&state, profile->shared_cycles, parallel);
    profile->has_clusters = profile->sides.far_cycles > 0 && parallel->cluster_max == 16;
    draw_links(&state, parallel);
    if (chance(&state, 60))
        parallel->persisting_share = 0.01 * between(&state, 20, 100);
    if (chance(&state, 60))
        parallel->bulk_cycles = between(&state, 20, 1000);
    if (profile->sides.far_cycles > 0 && chance(&state, 50))
        parallel->far_bytes = blind_cache_bytes(&profile->caches[BLIND_L2]);
    if (chance(&state, 30)) {
        parallel->flip_sm = (int)between(&state, 0, profile->sm_count - 1);
        parallel->flip_probability = spread(&state, 0.005, 0.5);
    }
}

void blind_parallel_fault(const struct blind_profile *profile, char fault_out[64])
{
    fault_out[0] = '\0';
    if (profile->parallel.is_set && profile->parallel.flip_sm >= 0)
        snprintf(fault_out, 64, "compute_flip=%d:%.17g", profile->parallel.flip_sm,
                 profile->parallel.flip_probability);
}

void blind_parallel_write(FILE *file, const struct blind_profile *profile)
{
    const struct blind_parallel *p = &profile->parallel;

    if (!p->is_set)
        return;
    fprintf(
        file,
        " \"parallel\": {\"knee_share\": %.17g, \"slope\": %.17g, \"saturated_factor\": %.17g,\n"
        "  \"l2_bytes_per_cycle\": %.17g, \"sm_bytes_per_cycle\": %.17g,\n"
        "  \"atomic_address_per_cycle\": %.17g, \"atomic_line_per_cycle\": %.17g,\n"
        "  \"atomic_spread_per_cycle\": %.17g, \"atomic_far_cost\": %.17g,\n"
        "  \"persisting_share\": %.17g, \"bulk_overhead_cycles\": %.17g,\n",
        p->knee_share, p->slope, p->saturated_factor, p->l2_bytes_per_cycle, p->sm_bytes_per_cycle,
        p->address_per_cycle, p->line_per_cycle, p->spread_per_cycle, p->far_cost,
        p->persisting_share, p->bulk_cycles);
    fprintf(file,
            "  \"own_shared_cycles\": %.17g, \"cluster_shared_cycles\": %.17g,\n"
            "  \"cluster_shared_spread_cycles\": %.17g, \"own_shared_bytes_per_cycle\": %.17g,\n"
            "  \"cluster_shared_bytes_per_cycle\": %.17g},\n",
            p->own_cycles, p->cluster_cycles, p->cluster_spread_cycles, p->own_bytes_per_cycle,
            p->cluster_bytes_per_cycle);
    fprintf(
        file,
        " \"link\": {\"pcie_generation\": %u, \"pcie_width\": %u, \"latency_us\": %.17g,\n"
        "  \"pageable_share\": %.17g, \"peer_bytes_per_s\": %.17g, \"peer_latency_us\": %.17g,\n"
        "  \"peer_both_share\": %.17g, \"peer_load_ns\": %.17g},\n",
        p->pcie_generation, p->pcie_width, p->host_us, p->pageable_share, p->peer_bytes_per_s,
        p->peer_us, p->peer_both_share, p->peer_load_ns);
}

/* ---- judging ---- */

/* The cache that loads past L1 reach last. */
static const struct blind_cache *last_cache(const struct blind_profile *profile)
{
    const struct blind_cache *fourth = &profile->caches[BLIND_FOURTH];

    return fourth->line_bytes > 0 ? fourth : &profile->caches[BLIND_L2];
}

static double at_share(const struct blind_parallel *p, double share)
{
    double flat = 1.0 + p->slope * fmin(share, p->knee_share);

    if (share <= p->knee_share || p->knee_share >= 1.0)
        return flat;
    return flat + (p->saturated_factor - 1.0) * (share - p->knee_share) / (1.0 - p->knee_share);
}

/* The share at which the latency is 15% up; NaN: at none. */
static double knee_of(const struct blind_parallel *p)
{
    const double limit = 1.15;
    double low = 0.0, high = 1.0;

    if (at_share(p, 1.0) < limit)
        return NAN;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2.0;

        if (at_share(p, middle) < limit)
            low = middle;
        else
            high = middle;
    }
    return high;
}

static void judge_traffic(struct answers *answers, const struct blind_profile *profile,
                          const char *memory, double idle_cycles)
{
    const struct blind_parallel *p = &profile->parallel;
    double knee = knee_of(p), most = at_share(p, 1.0);
    /* As near to the limit as noise and whole cycles are wide: both are right. */
    bool is_near =
        fabs(most - 1.15) * idle_cycles <= 0.02 * idle_cycles + profile->jitter_cycles + 2;

    if (profile->sm_count < 2) {
        blind_check_absent(answers, memory, "loaded_knee_share");
        blind_check_absent(answers, memory, "loaded_latency_cycles");
        return;
    }
    if (is_near)
        blind_check_either(answers, memory, "loaded_knee_share", 1.0, 0.5);
    else if (isnan(knee))
        blind_check_absent(answers, memory, "loaded_knee_share");
    else
        blind_check_numbers(answers, memory, "loaded_knee_share", &knee, 1, 0.03, 0.0);
    blind_check_latency(answers, memory, "loaded_latency_cycles", idle_cycles * most);
}

static void judge_reads(struct answers *answers, const struct blind_profile *profile)
{
    const struct blind_parallel *p = &profile->parallel;
    const char *name = "read_bytes_per_cycle_per_sm";
    double l2 = profile->sm_count > 1 ? fmin(p->sm_bytes_per_cycle, p->l2_bytes_per_cycle)
                                      : p->sm_bytes_per_cycle;

    blind_check_numbers(answers, "shared", name, &p->shared_bytes_per_cycle, 1, 0.0, 0.02);
    blind_check_numbers(answers, "l1", name, &p->shared_bytes_per_cycle, 1, 0.0, 0.02);
    blind_check_numbers(answers, "l2", name, &l2, 1, 0.0, 0.02);
}

/*
 * Where there are sides, as many loads are outstanding to the far one (Little's law); where there
 * are none, nothing of them may be stated, which is judged with their latency.
 */
static void judge_side_reads(struct answers *answers, const struct blind_profile *profile)
{
    static const char *const together = "read_bytes_per_cycle_per_sm";
    static const char *const alone = "read_alone_bytes_per_cycle";
    const struct blind_parallel *p = &profile->parallel;
    double slower = (double)profile->sides.far_cycles / profile->caches[BLIND_L2].latency_cycles;
    double least = fmin(p->sm_bytes_per_cycle, p->l2_bytes_per_cycle);
    const double known[2][2] = {{p->sm_bytes_per_cycle, least},
                                {p->sm_bytes_per_cycle / slower, least / slower}};
    static const char *const memories[2] = {"l2_near", "l2_far"};

    for (size_t i = 0; i < 2 && profile->sides.far_cycles > 0; i++) {
        blind_check_numbers(answers, memories[i], alone, &known[i][0], 1, 0.0, 0.05);
        blind_check_numbers(answers, memories[i], together, &known[i][1], 1, 0.0, 0.15);
    }
}

static void judge_atomics(struct answers *answers, const struct blind_profile *profile)
{
    const struct blind_parallel *p = &profile->parallel;
    const struct blind_sides *sides = &profile->sides;
    double near_cycles = profile->caches[BLIND_L2].latency_cycles;
    double far_cycles = sides->far_cycles;
    double tolerance = profile->jitter_cycles + 1.0 + sides->spread_cycles / 2.0;
    double far_rate = p->address_per_cycle / (1.0 + p->far_cost * (far_cycles / near_cycles - 1.0));

    blind_check_numbers(answers, "atomic", "address_per_cycle", &p->address_per_cycle, 1, 0, 0.03);
    blind_check_numbers(answers, "atomic", "line_per_cycle", &p->line_per_cycle, 1, 0, 0.03);
    blind_check_numbers(answers, "atomic", "spread_per_cycle", &p->spread_per_cycle, 1, 0, 0.03);
    if (sides->far_cycles == 0) {
        blind_check_absent(answers, "atomic", "near_latency_cycles");
        blind_check_absent(answers, "atomic", "far_latency_cycles");
        blind_check_absent(answers, "atomic", "near_per_cycle");
        blind_check_absent(answers, "atomic", "far_per_cycle");
        return;
    }
    tolerance += profile->caches[BLIND_L2].spread_cycles; /* few lines */
    blind_check_numbers(answers, "atomic", "near_latency_cycles", &near_cycles, 1, tolerance, 0.02);
    blind_check_numbers(answers, "atomic", "far_latency_cycles", &far_cycles, 1, tolerance, 0.02);
    blind_check_numbers(answers, "atomic", "near_per_cycle", &p->address_per_cycle, 1, 0, 0.04);
    blind_check_numbers(answers, "atomic", "far_per_cycle", &far_rate, 1, 0, 0.04);
}

/* Of about 1,024 lines, by chance. */
static void judge_persistence(struct answers *answers, const struct blind_profile *profile)
{
    double share = profile->parallel.persisting_share, nothing = 0.0;

    if (share > 0.0) {
        blind_check_numbers(answers, "l2", "persisting_share", &share, 1, 0.06, 0.0);
        blind_check_numbers(answers, "l2", "normal_share", &nothing, 1, 0.01, 0.0);
    } else {
        blind_check_absent(answers, "l2", "persisting_share");
        blind_check_either(answers, "l2", "normal_share", 0.0, 0.01);
    }
}

static void judge_bulk(struct answers *answers, const struct blind_profile *profile)
{
    const struct blind_parallel *p = &profile->parallel;
    const double largest = 16384, smallest = 16, depth = 8;
    double way = last_cache(profile)->latency_cycles + p->bulk_cycles;
    double copy = way + largest / p->sm_bytes_per_cycle;
    double most = profile->sm_count > 1 ? p->l2_bytes_per_cycle : p->sm_bytes_per_cycle;
    double rate = fmin(depth * largest / copy, most);

    if (!(p->bulk_cycles > 0.0)) {
        blind_check_missing(answers, "bulk_copy");
        return;
    }
    blind_check_latency(answers, "bulk_copy", "latency_cycles",
                        way + smallest / p->sm_bytes_per_cycle);
    blind_check_numbers(answers, "bulk_copy", "bytes_per_cycle_per_sm", &rate, 1, 0, 0.02);
}

static void judge_clusters(struct answers *answers, const struct blind_profile *profile)
{
    enum { SIZES = 5 };
    const struct blind_parallel *p = &profile->parallel;
    uint32_t most = p->cluster_max < profile->sm_count ? p->cluster_max : profile->sm_count;
    double rates[SIZES], middle = profile->jitter_cycles / 2.0;

    if (most == 0) {
        blind_check_missing(answers, "cluster_shared");
        return;
    }
    for (uint32_t i = 0; i < SIZES; i++)
        rates[i] = 1u << i > most ? NAN
                   : i == 0       ? p->own_bytes_per_cycle
                                  : p->cluster_bytes_per_cycle;
    blind_check_numbers(answers, "cluster_shared", "own_latency_cycles", &p->own_cycles, 1,
                        middle + 1.0, 0.02);
    if (most >= 2)
        blind_check_numbers(answers, "cluster_shared", "latency_cycles", &p->cluster_cycles, 1,
                            middle + 1.0 + p->cluster_spread_cycles / 2.0, 0.02);
    else
        blind_check_absent(answers, "cluster_shared", "latency_cycles");
    blind_check_numbers(answers, "cluster_shared", "bytes_per_cycle", rates, SIZES, 0, 0.02);
}

/* The largest transfer to the host that fits: of the sizes that the test has, and free memory. */
static double largest_transfer(const struct blind_profile *profile)
{
    static const double sizes[] = {256 << 20, 64 << 20, 1 << 20};
    size_t i = 0;

    while (i + 1 < sizeof(sizes) / sizeof(sizes[0]) &&
           sizes[i] > 0.9 * (double)profile->memory_bytes)
        i++;
    return sizes[i];
}

/* What a transfer of so many bytes gives, its latency counted. */
static double carried(double bytes, double bytes_per_s, double us)
{
    return bytes / (1e-6 * us + bytes / bytes_per_s);
}

static void judge_host(struct answers *answers, const struct blind_profile *profile)
{
    static const double lane[] = {0.0, 0.25e9, 0.5e9, 0.9846e9, 1.969e9, 3.938e9, 7.563e9};
    const struct blind_parallel *p = &profile->parallel;
    double rate = carried(largest_transfer(profile),
                          0.85 * lane[p->pcie_generation] * p->pcie_width, p->host_us);
    double ns = 1e3 * p->host_us + 4.0;

    blind_check_numbers(answers, "host_link", "peak_bytes_per_s", &rate, 1, 0, 0.03);
    blind_check_numbers(answers, "host_link", "to_latency_ns", &ns, 1, 20.0, 0.02);
    blind_check_numbers(answers, "host_link", "from_latency_ns", &ns, 1, 20.0, 0.02);
}

/* The same of every other device. */
static void check_peers(struct answers *answers, const struct blind_profile *profile,
                        const char *name, double truth, double tolerance, double relative)
{
    enum { PEERS_MAX = 7 };
    double list[PEERS_MAX];

    for (uint32_t i = 0; i + 1 < profile->parallel.devices; i++)
        list[i] = truth;
    blind_check_numbers(answers, "peer_link", name, list, profile->parallel.devices - 1, tolerance,
                        relative);
}

/* Plain loads of 256 lines that this SM has loaded before find them in its L1, if it holds so many.
 */
static double again_cycles(const struct blind_profile *profile, double way)
{
    const struct blind_cache *l1 = &profile->caches[BLIND_L1];

    return l1->line_bytes > 0 && 256 * l1->line_bytes <= blind_cache_bytes(l1) ? l1->latency_cycles
                                                                               : way;
}

static void judge_peers(struct answers *answers, const struct blind_profile *profile)
{
    const struct blind_parallel *p = &profile->parallel;
    double way = 1e-3 * p->peer_load_ns * profile->clock_mhz, jitter = profile->jitter_cycles + 1.0;
    double warm = last_cache(profile)->latency_cycles + way;

    if (p->devices < 2) {
        blind_check_missing(answers, "peer_link");
        return;
    }
    if (profile->fault_count > 0) /* other devices have none of this one's */
        return;
    check_peers(answers, profile, "bytes_per_s", carried(64 << 20, p->peer_bytes_per_s, p->peer_us),
                0, 0.03);
    check_peers(answers, profile, "latency_ns", 1e3 * p->peer_us, 5.0, 0.02);
    check_peers(answers, profile, "load_latency_cycles", warm, jitter, 0.02);
    check_peers(answers, profile, "load_dram_latency_cycles", profile->dram_cycles + way, jitter,
                0.02);
    check_peers(answers, profile, "plain_latency_cycles", warm, jitter, 0.02);
    check_peers(answers, profile, "again_latency_cycles", again_cycles(profile, warm), jitter,
                0.02);
    check_peers(answers, profile, "to_bytes_per_s",
                carried(256 << 20, p->peer_bytes_per_s, p->peer_us), 0, 0.03);
    check_peers(answers, profile, "both_bytes_per_s",
                2.0 * carried(256 << 20, p->peer_bytes_per_s, p->peer_us), 0, 0.03);
}

/* Of 1,024 runs and 128 with rests between them; two SMs that differ do not show which is wrong. */
static void judge_compute(struct answers *answers, const struct blind_profile *profile)
{
    const struct blind_parallel *p = &profile->parallel;
    const double runs = 1024 + 128, sustained = 32 + 16, lines = runs * profile->sm_count,
                 nothing = 0.0;
    double rate = p->flip_sm >= 0 ? p->flip_probability : 0.0, wrong = rate * runs;
    double limit = 3.0 / lines;

    if (profile->fault_count == 0)
        blind_check_numbers(answers, "dram", "sustained_wrong_words", &nothing, 1, 0.0, 0.0);
    if (profile->sm_count < 2) {
        blind_check_missing(answers, "compute");
        return;
    }
    blind_check_numbers(answers, "compute", "wrong_runs", &wrong, 1,
                        5.0 * sqrt(wrong * (1.0 - rate)), 0.0);
    if (rate == 0.0)
        blind_check_numbers(answers, "compute", "error_rate_limit", &limit, 1, 0.0, 1e-6);
    wrong = rate * sustained;
    blind_check_either(answers, "compute", "sustained_wrong_runs", wrong,
                       1e9 * rate + 5.0 * sqrt(wrong));
}

void blind_parallel_judge(struct answers *answers, const struct blind_profile *profile)
{
    judge_traffic(answers, profile, "l2", last_cache(profile)->latency_cycles);
    judge_traffic(answers, profile, "dram", profile->dram_cycles);
    judge_reads(answers, profile);
    judge_side_reads(answers, profile);
    judge_atomics(answers, profile);
    judge_persistence(answers, profile);
    judge_bulk(answers, profile);
    judge_clusters(answers, profile);
    judge_host(answers, profile);
    judge_peers(answers, profile);
    judge_compute(answers, profile);
}
