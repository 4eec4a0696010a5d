/* Private to the inference: the functions that table.c lists. What they state is written there. */
#ifndef PB_ANALYSIS_INFER_H
#define PB_ANALYSIS_INFER_H

#include "analysis/inference.h"

/* infer_clock.c */
enum pb_status pb_infer_clock_overhead(const struct pb_case *at, struct pb_error *err);
enum pb_status pb_infer_clock_rate(const struct pb_case *at, struct pb_error *err);
/* infer_capacity.c: of the row's memory, any cache */
enum pb_status pb_infer_capacity(const struct pb_case *at, struct pb_error *err);
enum pb_status pb_infer_carveout(const struct pb_case *at, struct pb_error *err);
/* infer_geometry.c: likewise; tests are those of line, sets and capacity */
enum pb_status pb_infer_geometry(const struct pb_case *at, struct pb_error *err);
/* infer_policy.c: likewise */
enum pb_status pb_infer_policy(const struct pb_case *at, struct pb_error *err);
/* infer_latency.c */
enum pb_status pb_infer_dram_latency(const struct pb_case *at, struct pb_error *err);
enum pb_status pb_infer_l2_translated(const struct pb_case *at, struct pb_error *err);
/* infer_capacity.c */
enum pb_status pb_infer_l2_passes(const struct pb_case *at, struct pb_error *err);
enum pb_status pb_infer_shared_latency(const struct pb_case *at, struct pb_error *err);
/* infer_over_sms.c */
enum pb_status pb_infer_l2_over_sms(const struct pb_case *at, struct pb_error *err);
enum pb_status pb_infer_l2_misses_over_sms(const struct pb_case *at, struct pb_error *err);
enum pb_status pb_infer_misses_over_sms(const struct pb_case *at, struct pb_error *err);
enum pb_status pb_infer_translations_over_sms(const struct pb_case *at, struct pb_error *err);
/* infer_banks.c */
enum pb_status pb_infer_banks(const struct pb_case *at, struct pb_error *err);
/* infer_sides.c: of both halves of L2 */
enum pb_status pb_infer_l2_side(const struct pb_case *at, struct pb_error *err);
enum pb_status pb_infer_l2_sides(const struct pb_case *at, struct pb_error *err);
/* infer_levels.c: of all levels */
enum pb_status pb_infer_tlb_levels(const struct pb_case *at, struct pb_error *err);
/* infer_mshr.c */
enum pb_status pb_infer_mshr(const struct pb_case *at, struct pb_error *err);
/* infer_pattern.c: by the row's memory, l1 or l2 */
enum pb_status pb_infer_pattern(const struct pb_case *at, struct pb_error *err);
/* infer_sharing.c: of the row's memory, a cache of one path */
enum pb_status pb_infer_sharing(const struct pb_case *at, struct pb_error *err);
/* infer_agreement.c: of all caches of one path, once what they share is known */
enum pb_status pb_infer_agreement(const struct pb_case *at, struct pb_error *err);
/* infer_onsets.c: of l1 and what shares it */
enum pb_status pb_infer_onsets(const struct pb_case *at, struct pb_error *err);
/* infer_study.c, infer_study_coalesce.c, infer_study_jump.c: the last of the row's memory */
enum pb_status pb_infer_sync(const struct pb_case *at, struct pb_error *err);
enum pb_status pb_infer_spill(const struct pb_case *at, struct pb_error *err);
enum pb_status pb_infer_coalesce(const struct pb_case *at, struct pb_error *err);
enum pb_status pb_infer_jump(const struct pb_case *at, struct pb_error *err);
/* infer_classic.c: of the row's memory, l1 or texture */
enum pb_status pb_infer_saavedra(const struct pb_case *at, struct pb_error *err);
enum pb_status pb_infer_wong(const struct pb_case *at, struct pb_error *err);
/* infer_constant15.c */
enum pb_status pb_infer_constant15(const struct pb_case *at, struct pb_error *err);
/* infer_link.c */
enum pb_status pb_infer_host_latency(const struct pb_case *at, struct pb_error *err);
enum pb_status pb_infer_host_together(const struct pb_case *at, struct pb_error *err);
enum pb_status pb_infer_peers(const struct pb_case *at, struct pb_error *err);
enum pb_status pb_infer_peer_chase(const struct pb_case *at, struct pb_error *err);
enum pb_status pb_infer_peer_copy(const struct pb_case *at, struct pb_error *err);
enum pb_status pb_infer_peers_together(const struct pb_case *at, struct pb_error *err);
/* infer_prefetch.c: of the row's memory, l1 or l2 */
enum pb_status pb_infer_prefetch(const struct pb_case *at, struct pb_error *err);
/* infer_topology.c, infer_topology_pairs.c, infer_topology_map.c */
enum pb_status pb_infer_gpcs(const struct pb_case *at, struct pb_error *err);
enum pb_status pb_infer_tpcs(const struct pb_case *at, struct pb_error *err);
enum pb_status pb_infer_sm_groups(const struct pb_case *at, struct pb_error *err);
enum pb_status pb_infer_slices(const struct pb_case *at, struct pb_error *err);
/* infer_throughput.c: any matrix of rates */
enum pb_status pb_infer_throughput(const struct pb_case *at, struct pb_error *err);
/* parallel/infer_parallel.c: the first and the third of the row's memory, the second of all L2 */
enum pb_status pb_infer_loaded(const struct pb_case *at, struct pb_error *err);
enum pb_status pb_infer_l2_whole(const struct pb_case *at, struct pb_error *err);
enum pb_status pb_infer_read_peak(const struct pb_case *at, struct pb_error *err);
enum pb_status pb_infer_atomic_rate(const struct pb_case *at, struct pb_error *err);
enum pb_status pb_infer_bulk_copy(const struct pb_case *at, struct pb_error *err);
enum pb_status pb_infer_cluster_shared(const struct pb_case *at, struct pb_error *err);
enum pb_status pb_infer_cluster_shared_rate(const struct pb_case *at, struct pb_error *err);
enum pb_status pb_infer_atomic_sides(const struct pb_case *at, struct pb_error *err);
enum pb_status pb_infer_l2_side_read(const struct pb_case *at, struct pb_error *err);
enum pb_status pb_infer_l2_persistence(const struct pb_case *at, struct pb_error *err);
enum pb_status pb_infer_sustained(const struct pb_case *at, struct pb_error *err);
enum pb_status pb_infer_compute(const struct pb_case *at, struct pb_error *err);

#endif
