/* Private to the battery: the tests of all families, as table.c lists them. */
#ifndef PB_BATTERY_TESTS_H
#define PB_BATTERY_TESTS_H

#include "battery/battery.h"

/* clock.c */
enum pb_status pb_test_clock_overhead(struct pb_bench *bench, struct pb_recording *recording,
                                      struct pb_error *err);
enum pb_status pb_test_clock_calibration(struct pb_bench *bench, struct pb_recording *recording,
                                         struct pb_error *err);
/* cache.c */
enum pb_status pb_test_l1_capacity(struct pb_bench *bench, struct pb_recording *recording,
                                   struct pb_error *err);
enum pb_status pb_test_readonly_capacity(struct pb_bench *bench, struct pb_recording *recording,
                                         struct pb_error *err);
enum pb_status pb_test_texture_capacity(struct pb_bench *bench, struct pb_recording *recording,
                                        struct pb_error *err);
enum pb_status pb_test_constant_capacity(struct pb_bench *bench, struct pb_recording *recording,
                                         struct pb_error *err);
enum pb_status pb_test_constant_l15_capacity(struct pb_bench *bench, struct pb_recording *recording,
                                             struct pb_error *err);
enum pb_status pb_test_l2_capacity(struct pb_bench *bench, struct pb_recording *recording,
                                   struct pb_error *err);
/* line.c */
enum pb_status pb_test_l1_line(struct pb_bench *bench, struct pb_recording *recording,
                               struct pb_error *err);
enum pb_status pb_test_readonly_line(struct pb_bench *bench, struct pb_recording *recording,
                                     struct pb_error *err);
enum pb_status pb_test_texture_line(struct pb_bench *bench, struct pb_recording *recording,
                                    struct pb_error *err);
enum pb_status pb_test_constant_line(struct pb_bench *bench, struct pb_recording *recording,
                                     struct pb_error *err);
enum pb_status pb_test_constant_l15_line(struct pb_bench *bench, struct pb_recording *recording,
                                         struct pb_error *err);
enum pb_status pb_test_l2_line(struct pb_bench *bench, struct pb_recording *recording,
                               struct pb_error *err);
/* sets.c */
enum pb_status pb_test_l1_sets(struct pb_bench *bench, struct pb_recording *recording,
                               struct pb_error *err);
enum pb_status pb_test_readonly_sets(struct pb_bench *bench, struct pb_recording *recording,
                                     struct pb_error *err);
enum pb_status pb_test_texture_sets(struct pb_bench *bench, struct pb_recording *recording,
                                    struct pb_error *err);
enum pb_status pb_test_constant_sets(struct pb_bench *bench, struct pb_recording *recording,
                                     struct pb_error *err);
enum pb_status pb_test_l2_sets(struct pb_bench *bench, struct pb_recording *recording,
                               struct pb_error *err);
/* policy.c */
enum pb_status pb_test_l1_policy(struct pb_bench *bench, struct pb_recording *recording,
                                 struct pb_error *err);
enum pb_status pb_test_readonly_policy(struct pb_bench *bench, struct pb_recording *recording,
                                       struct pb_error *err);
enum pb_status pb_test_texture_policy(struct pb_bench *bench, struct pb_recording *recording,
                                      struct pb_error *err);
enum pb_status pb_test_constant_policy(struct pb_bench *bench, struct pb_recording *recording,
                                       struct pb_error *err);
/* bases.c */
enum pb_status pb_test_l1_bases(struct pb_bench *bench, struct pb_recording *recording,
                                struct pb_error *err);
/* carveout.c */
enum pb_status pb_test_l1_carveout(struct pb_bench *bench, struct pb_recording *recording,
                                   struct pb_error *err);
/* sharing.c */
enum pb_status pb_test_cache_sharing(struct pb_bench *bench, struct pb_recording *recording,
                                     struct pb_error *err);
/* classic.c */
enum pb_status pb_test_classic_saavedra(struct pb_bench *bench, struct pb_recording *recording,
                                        struct pb_error *err);
enum pb_status pb_test_classic_wong(struct pb_bench *bench, struct pb_recording *recording,
                                    struct pb_error *err);
/* texture.c */
enum pb_status pb_test_texture_2d(struct pb_bench *bench, struct pb_recording *recording,
                                  struct pb_error *err);
/* dram.c */
enum pb_status pb_test_dram_latency(struct pb_bench *bench, struct pb_recording *recording,
                                    struct pb_error *err);
/* pattern.c */
enum pb_status pb_test_latency_pattern(struct pb_bench *bench, struct pb_recording *recording,
                                       struct pb_error *err);
/* prefetch.c */
enum pb_status pb_test_prefetch(struct pb_bench *bench, struct pb_recording *recording,
                                struct pb_error *err);
/* tlb.c */
enum pb_status pb_test_tlb_reach(struct pb_bench *bench, struct pb_recording *recording,
                                 struct pb_error *err);
/* alias.c */
enum pb_status pb_test_tlb_alias(struct pb_bench *bench, struct pb_recording *recording,
                                 struct pb_error *err);
/* shared.c */
enum pb_status pb_test_shared_latency(struct pb_bench *bench, struct pb_recording *recording,
                                      struct pb_error *err);
enum pb_status pb_test_bank_conflict(struct pb_bench *bench, struct pb_recording *recording,
                                     struct pb_error *err);
enum pb_status pb_test_shared_copy(struct pb_bench *bench, struct pb_recording *recording,
                                   struct pb_error *err);
/* global.c */
enum pb_status pb_test_global_copy(struct pb_bench *bench, struct pb_recording *recording,
                                   struct pb_error *err);
enum pb_status pb_test_global_read(struct pb_bench *bench, struct pb_recording *recording,
                                   struct pb_error *err);
enum pb_status pb_test_global_write(struct pb_bench *bench, struct pb_recording *recording,
                                    struct pb_error *err);
enum pb_status pb_test_global_copy16(struct pb_bench *bench, struct pb_recording *recording,
                                     struct pb_error *err);
enum pb_status pb_test_global_read16(struct pb_bench *bench, struct pb_recording *recording,
                                     struct pb_error *err);
enum pb_status pb_test_global_write16(struct pb_bench *bench, struct pb_recording *recording,
                                      struct pb_error *err);
/* mshr.c */
enum pb_status pb_test_mshr(struct pb_bench *bench, struct pb_recording *recording,
                            struct pb_error *err);
enum pb_status pb_test_mshr_loads(struct pb_bench *bench, struct pb_recording *recording,
                                  struct pb_error *err);
enum pb_status pb_test_mshr_warps(struct pb_bench *bench, struct pb_recording *recording,
                                  struct pb_error *err);
enum pb_status pb_test_mshr_lanes(struct pb_bench *bench, struct pb_recording *recording,
                                  struct pb_error *err);
/* jump.c */
enum pb_status pb_test_jump_global(struct pb_bench *bench, struct pb_recording *recording,
                                   struct pb_error *err);
enum pb_status pb_test_jump_texture(struct pb_bench *bench, struct pb_recording *recording,
                                    struct pb_error *err);
enum pb_status pb_test_jump_constant(struct pb_bench *bench, struct pb_recording *recording,
                                     struct pb_error *err);
enum pb_status pb_test_jump_shared(struct pb_bench *bench, struct pb_recording *recording,
                                   struct pb_error *err);
/* study.c */
enum pb_status pb_test_sync(struct pb_bench *bench, struct pb_recording *recording,
                            struct pb_error *err);
enum pb_status pb_test_spill(struct pb_bench *bench, struct pb_recording *recording,
                             struct pb_error *err);
enum pb_status pb_test_coalesce(struct pb_bench *bench, struct pb_recording *recording,
                                struct pb_error *err);
/* map.c */
enum pb_status pb_test_sm_latency(struct pb_bench *bench, struct pb_recording *recording,
                                  struct pb_error *err);
enum pb_status pb_test_l2_map(struct pb_bench *bench, struct pb_recording *recording,
                              struct pb_error *err);
/* sm_misses.c */
enum pb_status pb_test_sm_misses(struct pb_bench *bench, struct pb_recording *recording,
                                 struct pb_error *err);
/* layout.c */
enum pb_status pb_test_sm_clusters(struct pb_bench *bench, struct pb_recording *recording,
                                   struct pb_error *err);
enum pb_status pb_test_sm_pairs(struct pb_bench *bench, struct pb_recording *recording,
                                struct pb_error *err);
/* link.c */
enum pb_status pb_test_host_link(struct pb_bench *bench, struct pb_recording *recording,
                                 struct pb_error *err);
enum pb_status pb_test_host_latency(struct pb_bench *bench, struct pb_recording *recording,
                                    struct pb_error *err);
enum pb_status pb_test_peer_link(struct pb_bench *bench, struct pb_recording *recording,
                                 struct pb_error *err);
/* together.c */
enum pb_status pb_test_host_link_together(struct pb_bench *bench, struct pb_recording *recording,
                                          struct pb_error *err);
enum pb_status pb_test_peer_link_together(struct pb_bench *bench, struct pb_recording *recording,
                                          struct pb_error *err);
/* sustain.c */
enum pb_status pb_test_sustain(struct pb_bench *bench, struct pb_recording *recording,
                               struct pb_error *err);
/* integrity.c */
enum pb_status pb_test_memory_pattern(struct pb_bench *bench, struct pb_recording *recording,
                                      struct pb_error *err);

#endif
