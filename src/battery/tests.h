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
enum pb_status pb_test_l2_line(struct pb_bench *bench, struct pb_recording *recording,
                               struct pb_error *err);
/* dram.c */
enum pb_status pb_test_dram_latency(struct pb_bench *bench, struct pb_recording *recording,
                                    struct pb_error *err);
/* shared.c */
enum pb_status pb_test_shared_latency(struct pb_bench *bench, struct pb_recording *recording,
                                      struct pb_error *err);
enum pb_status pb_test_bank_conflict(struct pb_bench *bench, struct pb_recording *recording,
                                     struct pb_error *err);
/* global.c */
enum pb_status pb_test_global_copy(struct pb_bench *bench, struct pb_recording *recording,
                                   struct pb_error *err);

#endif
