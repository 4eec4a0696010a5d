/*
 * What the tests of simulated devices share: a small profile without noise, changed key by key, and
 * devices and chases made from it. Everything here fails the running test when it cannot do its
 * job.
 */
#ifndef PB_TESTS_SIM_SIMTEST_H
#define PB_TESTS_SIM_SIMTEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>

#include "device/device.h"
#include "device/sim/profile.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/*
 * A device of 2 SMs at 1000 MHz without noise; overhead 10:
 *   l1      global_ca             2 KiB, 4 sets x 4 ways x 128 B lines of 32 B sectors, lru, 30
 *   l2      global_ca, global_cg  16 KiB, 16 sets x 8 ways x 128 B lines of 32 B, lru, 200
 *   tlb_l1  4 x 2 MB + 10, tlb_l2 8 x 2 MB + 50; DRAM 500, 100 GB/s; shared 30, 32 banks of 4 B
 * json_decref() it.
 */
json_t *simtest_profile(void);

/* The same from a shipped profile, with its noise taken out. */
json_t *simtest_shipped(const char *name);

/* Sets or, with NULL, deletes the value at a path such as "caches/0/policy/kind"; JSON text. */
void simtest_set(json_t *root, const char *path, const char *json);

/* Reads a profile that must be good; pb_sim_profile_free() it. */
struct pb_sim_profile *simtest_read(json_t *root);

/* Opens a device with this profile; the request's own profile is ignored. NULL request: defaults.
 */
struct pb_device *simtest_open(json_t *root, const struct pb_device_request *request);

/* The same with one fault, at host "n1". */
struct pb_device *simtest_open_faulty(json_t *root, const char *fault);

/* Opens, and returns the status and message of a refusal. */
enum pb_status simtest_refused(json_t *root, const char *fault, struct pb_error *err_out);

/* Offsets 0, stride, 2 * stride, …; free() them. */
uint64_t *simtest_offsets(size_t count, uint64_t stride_bytes);

/* A chase over these slots in their order, to be filled in. */
struct pb_chase simtest_chase(enum pb_path path, const uint64_t *offsets, size_t count);

/* Runs a chase; latency_out[record], NULL where nothing is recorded. */
struct pb_chase_trace simtest_run(struct pb_device *device, const struct pb_chase *chase,
                                  uint32_t *latency_out);

/* Traces `record` loads after `warm` of a sequential chase; latency_out less the overhead. */
void simtest_trace(struct pb_device *device, enum pb_path path, size_t slots, uint64_t stride_bytes,
                   uint64_t warm, uint64_t record, uint32_t *latency_out);

/* Average cycles of one warm pass. */
double simtest_pass(struct pb_device *device, enum pb_path path, size_t slots,
                    uint64_t stride_bytes);

/* The stamp overhead of a device. */
uint32_t simtest_overhead(struct pb_device *device);

#endif
