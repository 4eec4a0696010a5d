/* What the items of plumb-gpu-smoke share: calls of the primitives with one line of result each. */
#ifndef PB_TESTS_GPU_SMOKE_H
#define PB_TESTS_GPU_SMOKE_H

#include "device/device.h"

struct smoke {
    const struct pb_device_ops *ops;
    struct pb_device *device;
    struct pb_device_info info;
    struct pb_error err;
    unsigned failures;
    bool is_small;           /* small sizes, and no judging of times: to run under a sanitizer */
    int64_t sm_id;           /* of the last chase */
    uint64_t carveout_bytes; /* of the last chase */
};

/* True for PB_OK; else the message is printed and counted. */
bool smoke_worked(struct smoke *smoke, enum pb_status status);

/* The same, but what this device cannot do is only printed. */
bool smoke_could(struct smoke *smoke, enum pb_status status);

/* Counts and prints a failure unless `holds`. */
void smoke_require(struct smoke *smoke, bool holds, const char *what);

/* "name: min, quartiles, max" of cycles[count], which gets sorted. The median. */
uint32_t smoke_print_cycles(const char *name, uint32_t *cycles, size_t count);

/* The median of cycles[count], which gets sorted. */
uint32_t smoke_median(uint32_t *cycles, size_t count);

/* Records two passes of a strided chase after one warm pass, and prints its quartiles. The median.
 */
double smoke_trace(struct smoke *smoke, enum pb_path path, uint64_t bytes, uint64_t stride,
                   int64_t sm, bool is_warm);

/* Cycles per load over whole passes after one warm pass; NaN when it failed. */
double smoke_pass(struct smoke *smoke, enum pb_path path, uint64_t bytes, uint64_t stride,
                  int64_t carveout_bytes, int64_t sm, bool prefill);

/* Cycles per load over one pass of so many slots, after a warm one; NaN when it failed or cannot be
 * done, which is printed. Page i's slot is i cache lines further in, so that no set fills up. */
double smoke_pages(struct smoke *smoke, uint64_t pages, uint64_t page_bytes, uint64_t alias_bytes);

/* The median of 256 (small: 16) conflicting loads. */
uint32_t smoke_conflict(struct smoke *smoke, uint32_t word_bytes, uint32_t stride_words);

/* Ten passes over 256 MiB (small: one over 4 MiB), printed as GB/s. */
void smoke_stream(struct smoke *smoke, enum pb_stream_kind kind, uint32_t cta_count,
                  uint32_t cta_size, uint32_t ilp, uint32_t word_bytes);

/* ---- smoke_paths.c: texture, constant memory, crossed paths, TLBs ---- */

void smoke_textures(struct smoke *smoke);
void smoke_constants(struct smoke *smoke);
void smoke_crosses(struct smoke *smoke);
void smoke_tlbs(struct smoke *smoke);
void smoke_aliases(struct smoke *smoke);
void smoke_abreast(struct smoke *smoke);

/* ---- smoke_shape.c: what is not a chase ---- */

void smoke_bursts(struct smoke *smoke);
void smoke_maps(struct smoke *smoke);
void smoke_neighbours(struct smoke *smoke);
void smoke_studies(struct smoke *smoke);
void smoke_shared_streams(struct smoke *smoke);
void smoke_links(struct smoke *smoke);
void smoke_patterns(struct smoke *smoke);

/* ---- smoke_parallel.c: all SMs at work, and the memory of other GPUs ---- */

void smoke_works(struct smoke *smoke);
void smoke_traffic(struct smoke *smoke);
void smoke_computations(struct smoke *smoke);
void smoke_clusters_shared(struct smoke *smoke);
void smoke_peer_chases(struct smoke *smoke);

#endif
