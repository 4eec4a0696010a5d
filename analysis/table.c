/* The table of inferences. Later rows may use what earlier ones stated. */
#include "analysis/infer.h"

/* Two tests give the same parameters of every cache. */
#define CAPACITY_ANSWERS                                                                           \
    {                                                                                              \
        {"size_bytes", "byte"}, {"full_miss_bytes", "byte"}, {"latency_cycles", "cycle"},          \
            {"latency_ns", "ns"}, {"miss_latency_cycles", "cycle"},                                \
    }
#define LINE_ANSWERS                                                                               \
    {                                                                                              \
        {"line_bytes", "byte"}, {"sector_bytes", "byte"}, {"fetch_bytes", "byte"},                 \
    }
#define GEOMETRY_ANSWERS                                                                           \
    {                                                                                              \
        {"line_bytes", "byte"}, {"sector_bytes", "byte"}, {"fetch_bytes", "byte"},                 \
            {"set_count", ""}, {"way_counts", ""}, {"index_kind", ""}, {"index_masks", ""},        \
    }
#define POLICY_ANSWERS                                                                             \
    {                                                                                              \
        {"policy", ""}, {"way_eviction_probabilities", ""},                                        \
    }
#define TLB_ANSWERS                                                                                \
    {                                                                                              \
        {"page_bytes", "byte"}, {"entry_count", ""}, {"entry_coverage_bytes", "byte"},             \
            {"reach_bytes", "byte"}, {"set_count", ""}, {"way_counts", ""}, {"index_kind", ""},    \
            {"index_masks", ""}, {"penalty_cycles", "cycle"},                                      \
    }
#define SAAVEDRA_ANSWERS                                                                           \
    {                                                                                              \
        {"saavedra_size_bytes", "byte"}, {"saavedra_line_bytes", "byte"}, {"saavedra_ways", ""},   \
            {"saavedra_sets", ""},                                                                 \
    }
#define WONG_ANSWERS                                                                               \
    {                                                                                              \
        {"wong_size_bytes", "byte"}, {"wong_line_bytes", "byte"}, {"wong_ways", ""},               \
            {"wong_sets", ""},                                                                     \
    }
#define SHARING_ANSWERS                                                                            \
    {                                                                                              \
        {"same_cache_as", ""}, {"shares_capacity_with", ""},                                       \
    }
#define LATENCY_ANSWERS                                                                            \
    {                                                                                              \
        {"latency_cycles", "cycle"}, {"latency_ns", "ns"},                                         \
    }

const struct pb_inference pb_inferences[] = {
    {"clock", {"clock_overhead"}, {{"overhead_cycles", "cycle"}}, pb_infer_clock_overhead},
    {"clock", {"clock_calibration"}, {{"sm_mhz", "MHz"}}, pb_infer_clock_rate},
    {"l1", {"l1_capacity"}, CAPACITY_ANSWERS, pb_infer_capacity},
    {"l1", {"?l1_line", "?l1_sets", "?l1_capacity"}, GEOMETRY_ANSWERS, pb_infer_geometry},
    {"l1", {"l1_policy"}, POLICY_ANSWERS, pb_infer_policy},
    {"l1",
     {"l1_carveout"},
     {{"carveout_bytes", "byte"}, {"carveout_size_bytes", "byte"}},
     pb_infer_carveout},
    {"l2", {"l2_capacity"}, CAPACITY_ANSWERS, pb_infer_capacity},
    {"l2", {"sm_latency"}, {{NULL, NULL}}, pb_infer_l2_over_sms},
    {"l2", {"?l2_line", "?l2_sets", "?l2_capacity"}, GEOMETRY_ANSWERS, pb_infer_geometry},
    {"l2",
     {"l2_map"},
     {{"partition_sm_counts", ""}, {"crossing_cycles", "cycle"}},
     pb_infer_l2_sides},
    {"l2_near", {"l2_map"}, {{"latency_cycles", "cycle"}}, NULL},
    {"l2_far", {"l2_map"}, {{"latency_cycles", "cycle"}}, pb_infer_l2_side},
    {"readonly", {"readonly_capacity"}, CAPACITY_ANSWERS, pb_infer_capacity},
    {"readonly",
     {"?readonly_line", "?readonly_sets", "?readonly_capacity"},
     GEOMETRY_ANSWERS,
     pb_infer_geometry},
    {"readonly", {"readonly_policy"}, POLICY_ANSWERS, pb_infer_policy},
    {"texture", {"texture_capacity"}, CAPACITY_ANSWERS, pb_infer_capacity},
    {"texture",
     {"?texture_line", "?texture_sets", "?texture_capacity"},
     GEOMETRY_ANSWERS,
     pb_infer_geometry},
    {"texture", {"texture_policy"}, POLICY_ANSWERS, pb_infer_policy},
    {"constant_l1", {"constant_capacity"}, CAPACITY_ANSWERS, pb_infer_capacity},
    {"constant_l1",
     {"?constant_line", "?constant_sets", "?constant_capacity"},
     GEOMETRY_ANSWERS,
     pb_infer_geometry},
    {"constant_l1", {"constant_policy"}, POLICY_ANSWERS, pb_infer_policy},
    {"constant_l15", {"constant_l15_capacity"}, CAPACITY_ANSWERS, pb_infer_constant15},
    {"constant_l15",
     {"?constant_l15_line", "?constant_l15_sets", "?constant_l15_capacity"},
     LINE_ANSWERS,
     pb_infer_geometry},
    {"dram",
     {"dram_latency", "?prefetch"},
     {{"latency_cycles", "cycle"}, {"latency_ns", "ns"}, {"latency_mode_cycles", "cycle"}},
     pb_infer_dram_latency},
    {"l2", {"dram_latency"}, {{NULL, NULL}}, pb_infer_l2_misses_over_sms},
    {"dram",
     {"global_copy", "?global_copy16", "?large_copy16"},
     {{"peak_bytes_per_s", "byte/s"},
      {"best_config", ""},
      {"peak_efficiency", ""},
      {"littles_law_ratio", ""}},
     pb_infer_throughput},
    {"dram",
     {"global_read", "?global_read16", "?large_read16"},
     {{"read_peak_bytes_per_s", "byte/s"},
      {"read_best_config", ""},
      {"read_peak_efficiency", ""},
      {"read_littles_law_ratio", ""}},
     pb_infer_throughput},
    {"dram",
     {"global_write", "?global_write16", "?large_write16"},
     {{"write_peak_bytes_per_s", "byte/s"},
      {"write_best_config", ""},
      {"write_peak_efficiency", ""},
      {"write_littles_law_ratio", ""}},
     pb_infer_throughput},
    {"l1", {"cache_sharing"}, SHARING_ANSWERS, pb_infer_sharing},
    {"readonly", {"cache_sharing"}, SHARING_ANSWERS, pb_infer_sharing},
    {"texture", {"cache_sharing"}, SHARING_ANSWERS, pb_infer_sharing},
    {"l1", {"cache_sharing"}, {{NULL, NULL}}, pb_infer_agreement},
    {"l1",
     {"l1_alignment", "?l1_capacity", "?readonly_capacity"},
     {{"first_miss_bytes", "byte"}},
     pb_infer_onsets},
    {"tlb_l1", {"tlb_reach", "?tlb_remap"}, TLB_ANSWERS, NULL},
    {"tlb_l2", {"tlb_reach", "?tlb_remap"}, TLB_ANSWERS, NULL},
    {"tlb_l3", {"tlb_reach", "?tlb_remap"}, TLB_ANSWERS, pb_infer_tlb_levels},
    {"l2", {"l2_capacity"}, {{NULL, NULL}}, pb_infer_l2_translated},
    {"sm", {"sm_misses"}, {{NULL, NULL}}, pb_infer_misses_over_sms},
    {"tlb_l2", {"sm_misses"}, {{"penalty_mode_cycles", "cycle"}}, pb_infer_translations_over_sms},
    {"l1", {"latency_pattern"}, {{"pattern_cycles", "cycle"}}, pb_infer_pattern},
    {"l2", {"latency_pattern"}, {{"pattern_cycles", "cycle"}}, pb_infer_pattern},
    {"shared", {"shared_latency"}, LATENCY_ANSWERS, pb_infer_shared_latency},
    {"shared",
     {"bank_conflict"},
     {{"banks", "bank"}, {"bank_bytes", "byte"}, {"conflict_cycles", "cycle"}},
     pb_infer_banks},
    {"shared",
     {"shared_copy"},
     {{"peak_bytes_per_cycle_per_sm", "byte/cycle"}, {"best_config", ""}},
     pb_infer_throughput},
    {"l1", {"prefetch"}, {{"prefetch_bytes", "byte"}}, pb_infer_prefetch},
    {"l2", {"prefetch"}, {{"prefetch_bytes", "byte"}}, pb_infer_prefetch},
    {"l2", {"l2_capacity"}, {{NULL, NULL}}, pb_infer_l2_passes},
    {"l1", {"classic_saavedra"}, SAAVEDRA_ANSWERS, pb_infer_saavedra},
    {"l1", {"classic_wong"}, WONG_ANSWERS, pb_infer_wong},
    {"texture", {"classic_saavedra"}, SAAVEDRA_ANSWERS, pb_infer_saavedra},
    {"texture", {"classic_wong"}, WONG_ANSWERS, pb_infer_wong},
    {"sm", {"sync"}, {{"sync_cycles", "cycle"}, {"sync_slowdown", ""}}, pb_infer_sync},
    {"sm",
     {"coalesce"},
     {{"coalesce_bytes", "byte"},
      {"coalesce_lanes", ""},
      {"coalesce_cycles", "cycle"},
      {"coalesce_slowdown", ""},
      {"stride_slowdown", ""},
      {"misalign_slowdown", ""}},
     pb_infer_coalesce},
    {"sm", {"spill"}, {{"spill_variables", ""}, {"spill_slowdown", ""}}, pb_infer_spill},
    {"l1", {"jump_global"}, {{"stride_knee_bytes", "byte"}}, pb_infer_jump},
    {"texture", {"jump_texture"}, {{"stride_knee_bytes", "byte"}}, pb_infer_jump},
    {"constant_l1", {"jump_constant"}, {{"stride_knee_bytes", "byte"}}, pb_infer_jump},
    {"shared", {"jump_shared"}, {{"stride_knee_bytes", "byte"}}, pb_infer_jump},
    {"sm",
     {"sm_clusters", "?l2_map", "?sm_pairs"},
     {{"gpc_count", ""}, {"gpc_sm_counts", ""}},
     pb_infer_gpcs},
    {"sm", /* after GPCs, of which TPCs are parts */
     {"?sm_pairs", "?sm_clusters"},
     {{"tpc_count", ""}, {"tpc_sm_counts", ""}},
     pb_infer_tpcs},
    {"sm", {"l2_map"}, {{"sm_group_sizes", ""}}, pb_infer_sm_groups},
    {"l2", {"l2_map"}, {{"address_group_count", ""}, {"slice_count", ""}}, pb_infer_slices},
    {"mshr", {"mshr"}, {{"outstanding_per_warp", ""}, {"outstanding_per_sm", ""}}, pb_infer_mshr},
    {"host_link",
     {"host_link"},
     {{"peak_bytes_per_s", "byte/s"}, {"best_config", ""}},
     pb_infer_throughput},
    {"host_link",
     {"host_latency"},
     {{"to_latency_ns", "ns"}, {"from_latency_ns", "ns"}},
     pb_infer_host_latency},
    {"host_link",
     {"host_link_concurrent"},
     {{"to_concurrent_bytes_per_s", "byte/s"}, {"from_concurrent_bytes_per_s", "byte/s"}},
     pb_infer_host_together},
    {"peer_link", {"peer_link"}, {{"bytes_per_s", "byte/s"}, {"latency_ns", "ns"}}, pb_infer_peers},
    {"peer_link",
     {"peer_chase"},
     {{"load_latency_cycles", "cycle"},
      {"load_dram_latency_cycles", "cycle"},
      {"plain_latency_cycles", "cycle"},
      {"again_latency_cycles", "cycle"}},
     pb_infer_peer_chase},
    {"peer_link",
     {"peer_copy"},
     {{"to_bytes_per_s", "byte/s"}, {"both_bytes_per_s", "byte/s"}},
     pb_infer_peer_copy},
    {"peer_link",
     {"peer_link_concurrent"},
     {{"concurrent_bytes_per_s", "byte/s"}},
     pb_infer_peers_together},
    {"l2",
     {"loaded_latency"},
     {{"loaded_knee_share", "share"}, {"loaded_latency_cycles", "cycle"}},
     pb_infer_loaded},
    {"dram",
     {"loaded_latency"},
     {{"loaded_knee_share", "share"}, {"loaded_latency_cycles", "cycle"}},
     pb_infer_loaded},
    {"l2_near", {"l2_whole", "?l2_map"}, {{"size_bytes", "byte"}}, pb_infer_l2_whole},
    {"l2_near",
     {"l2_side_read"},
     {{"read_bytes_per_cycle_per_sm", "byte/cycle"}, {"read_alone_bytes_per_cycle", "byte/cycle"}},
     pb_infer_l2_side_read},
    {"l2_far",
     {"l2_side_read"},
     {{"read_bytes_per_cycle_per_sm", "byte/cycle"}, {"read_alone_bytes_per_cycle", "byte/cycle"}},
     pb_infer_l2_side_read},
    {"shared", {"read_peak"}, {{"read_bytes_per_cycle_per_sm", "byte/cycle"}}, pb_infer_read_peak},
    {"l1", {"read_peak"}, {{"read_bytes_per_cycle_per_sm", "byte/cycle"}}, pb_infer_read_peak},
    {"l2", {"read_peak"}, {{"read_bytes_per_cycle_per_sm", "byte/cycle"}}, pb_infer_read_peak},
    {"atomic",
     {"atomic_rate"},
     {{"address_per_cycle", "1/cycle"},
      {"line_per_cycle", "1/cycle"},
      {"spread_per_cycle", "1/cycle"}},
     pb_infer_atomic_rate},
    {"atomic",
     {"atomic_sides", "?l2_map"},
     {{"near_latency_cycles", "cycle"},
      {"far_latency_cycles", "cycle"},
      {"near_per_cycle", "1/cycle"},
      {"far_per_cycle", "1/cycle"}},
     pb_infer_atomic_sides},
    {"l2",
     {"l2_persistence"},
     {{"persisting_share", "share"}, {"normal_share", "share"}},
     pb_infer_l2_persistence},
    {"bulk_copy",
     {"bulk_copy"},
     {{"latency_cycles", "cycle"}, {"bytes_per_cycle_per_sm", "byte/cycle"}},
     pb_infer_bulk_copy},
    {"cluster_shared",
     {"cluster_shared"},
     {{"latency_cycles", "cycle"}, {"own_latency_cycles", "cycle"}},
     pb_infer_cluster_shared},
    {"cluster_shared",
     {"cluster_shared_rate"},
     {{"bytes_per_cycle", "byte/cycle"}},
     pb_infer_cluster_shared_rate},
    {"compute",
     {"compute_integrity"},
     {{"wrong_runs", "run"}, {"error_rate_limit", "1/run"}},
     pb_infer_compute},
    {"compute",
     {"sustained_load"},
     {{"sustained_wrong_runs", "run"}, {"sustained_error_rate_limit", "1/run"}},
     pb_infer_sustained},
    {"dram",
     {"sustained_load"},
     {{"sustained_wrong_words", "word"}, {"sustained_error_rate_limit", "1/word"}},
     pb_infer_sustained},
    {.memory = NULL},
};

enum pb_status pb_infer_device(const struct pb_device_info *info, const char *place,
                               const struct pb_recordings *source,
                               struct pb_parameters *parameters_out, size_t *analysed_out,
                               struct pb_error *err)
{
    return pb_infer_rows(pb_inferences, info, place, source, parameters_out, analysed_out, err);
}
