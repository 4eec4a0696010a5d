/* Private to the battery: the tests of all families, as table.c lists them. */
#ifndef PB_BATTERY_TESTS_H
#define PB_BATTERY_TESTS_H

#include "battery/battery.h"

/* clock.c */
pb_test_run pb_test_clock_overhead;
pb_test_run pb_test_clock_calibration;
/* cache.c */
pb_test_run pb_test_l1_capacity;
pb_test_run pb_test_readonly_capacity;
pb_test_run pb_test_texture_capacity;
pb_test_run pb_test_constant_capacity;
pb_test_run pb_test_constant_l15_capacity;
pb_test_run pb_test_l2_capacity;
/* line.c */
pb_test_run pb_test_l1_line;
pb_test_run pb_test_readonly_line;
pb_test_run pb_test_texture_line;
pb_test_run pb_test_constant_line;
pb_test_run pb_test_constant_l15_line;
pb_test_run pb_test_l2_line;
/* sets.c */
pb_test_run pb_test_l1_sets;
pb_test_run pb_test_readonly_sets;
pb_test_run pb_test_texture_sets;
pb_test_run pb_test_constant_sets;
pb_test_run pb_test_l2_sets;
/* policy.c */
pb_test_run pb_test_l1_policy;
pb_test_run pb_test_readonly_policy;
pb_test_run pb_test_texture_policy;
pb_test_run pb_test_constant_policy;
/* bases.c */
pb_test_run pb_test_l1_alignment;
/* carveout.c */
pb_test_run pb_test_l1_carveout;
/* sharing.c */
pb_test_run pb_test_cache_sharing;
/* classic.c */
pb_test_run pb_test_classic_saavedra;
pb_test_run pb_test_classic_wong;
/* texture.c */
pb_test_run pb_test_texture_2d;
/* dram.c */
pb_test_run pb_test_dram_latency;
/* pattern.c */
pb_test_run pb_test_latency_pattern;
/* prefetch.c */
pb_test_run pb_test_prefetch;
/* tlb.c */
pb_test_run pb_test_tlb_reach;
/* alias.c */
pb_test_run pb_test_tlb_remap;
/* shared.c */
pb_test_run pb_test_shared_latency;
pb_test_run pb_test_bank_conflict;
pb_test_run pb_test_shared_copy;
/* global.c */
pb_test_run pb_test_global_copy;
pb_test_run pb_test_global_read;
pb_test_run pb_test_global_write;
pb_test_run pb_test_global_copy16;
pb_test_run pb_test_global_read16;
pb_test_run pb_test_global_write16;
pb_test_run pb_test_large_copy16;
pb_test_run pb_test_large_read16;
pb_test_run pb_test_large_write16;
/* mshr.c */
pb_test_run pb_test_mshr;
pb_test_run pb_test_mshr_loads;
pb_test_run pb_test_mshr_warps;
pb_test_run pb_test_mshr_lanes;
/* jump.c */
pb_test_run pb_test_jump_global;
pb_test_run pb_test_jump_texture;
pb_test_run pb_test_jump_constant;
pb_test_run pb_test_jump_shared;
/* study.c */
pb_test_run pb_test_sync;
pb_test_run pb_test_spill;
pb_test_run pb_test_coalesce;
/* map.c */
pb_test_run pb_test_sm_latency;
pb_test_run pb_test_l2_map;
/* sm_caches.c */
pb_test_run pb_test_sm_caches;
/* sm_misses.c */
pb_test_run pb_test_sm_misses;
/* layout.c */
pb_test_run pb_test_sm_clusters;
pb_test_run pb_test_sm_pairs;
/* link.c */
pb_test_run pb_test_host_link;
pb_test_run pb_test_host_latency;
pb_test_run pb_test_peer_link;
/* peer.c */
pb_test_run pb_test_peer_chase;
pb_test_run pb_test_peer_copy;
/* together.c */
pb_test_run pb_test_host_link_concurrent;
pb_test_run pb_test_peer_link_concurrent;
/* sustain.c */
pb_test_run pb_test_sustained_load;
/* integrity.c */
pb_test_run pb_test_memory_integrity;
/* loaded.c */
pb_test_run pb_test_loaded_latency;
pb_test_run pb_test_l2_whole;
pb_test_run pb_test_l2_persistence;
/* work.c */
pb_test_run pb_test_read_peak;
pb_test_run pb_test_l2_read;
pb_test_run pb_test_atomic_rate;
pb_test_run pb_test_atomic_sides;
pb_test_run pb_test_bulk_copy;
/* l2_sides.c */
pb_test_run pb_test_l2_side_read;
/* cluster_shared.c */
pb_test_run pb_test_cluster_shared;
pb_test_run pb_test_cluster_shared_rate;
/* compute.c */
pb_test_run pb_test_compute_integrity;

#endif
