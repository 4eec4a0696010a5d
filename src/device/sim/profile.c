/*
 * Reading a profile: everything but its caches and TLBs, which are in profile_cache.c, and what may
 * be left out, which is in profile_extra.c.
 */
#include "device/sim/profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json_reader.h"

static void read_dram(struct pb_json_reader *reader, const struct pb_json *root,
                      struct pb_sim_dram_spec *dram)
{
    static const char *const keys[] = {"latency_cycles", "bandwidth_bytes_per_s",
                                       "theoretical_bytes_per_s", NULL};
    struct pb_json at = pb_json_read_member(reader, root, "dram"), bandwidth;

    pb_json_read_only(reader, &at, keys);
    dram->latency_cycles = pb_json_read_number(reader, &at, "latency_cycles", 1, 1e6);
    dram->bandwidth_bytes_per_s =
        pb_json_read_number(reader, &at, "bandwidth_bytes_per_s", 1e6, 1e15);
    dram->theoretical_bytes_per_s =
        pb_json_read_number(reader, &at, "theoretical_bytes_per_s", 1e6, 1e15);
    bandwidth = pb_json_read_member(reader, &at, "bandwidth_bytes_per_s");
    if (dram->bandwidth_bytes_per_s > dram->theoretical_bytes_per_s)
        pb_json_read_refuse(reader, &bandwidth, "no more than theoretical_bytes_per_s (%g)",
                            dram->theoretical_bytes_per_s);
}

/* At least one of the five steps; the others are interpolated (see bank.h). */
static void read_conflicts(struct pb_json_reader *reader, const struct pb_json *shared,
                           struct pb_sim_shared_spec *spec)
{
    static const char *const ways[] = {"2", "4", "8", "16", "32", NULL};
    struct pb_json at = pb_json_read_member(reader, shared, "conflict_cycles"), step;
    double low = spec->latency_cycles;
    int found = 0;

    pb_json_read_only(reader, &at, ways);
    for (int i = 0; i < PB_SIM_CONFLICT_STEPS; i++) {
        step = pb_json_read_optional(reader, &at, ways[i]);
        spec->conflict_cycles[i] = NAN;
        if (reader->status != PB_OK || step.value == NULL)
            continue;
        low = spec->conflict_cycles[i] = pb_json_read_number(reader, &at, ways[i], low, 1e6);
        found++;
    }
    if (found == 0)
        pb_json_read_refuse(reader, &at, "at least one of the keys 2, 4, 8, 16 and 32");
}

static void read_shared(struct pb_json_reader *reader, const struct pb_json *root,
                        struct pb_sim_shared_spec *shared)
{
    static const char *const keys[] = {"bytes_per_sm",
                                       "banks",
                                       "bank_bytes",
                                       "latency_cycles",
                                       "conflict_cycles",
                                       "peak_bytes_per_cycle",
                                       "achieved_bytes_per_cycle",
                                       NULL};
    struct pb_json at = pb_json_read_member(reader, root, "shared");

    pb_json_read_only(reader, &at, keys);
    shared->bytes_per_sm =
        (uint64_t)pb_json_read_integer(reader, &at, "bytes_per_sm", 1024, 1 << 24);
    shared->banks = (uint32_t)pb_json_read_power_of_two(reader, &at, "banks", 1, 1024);
    shared->bank_bytes = (uint32_t)pb_json_read_power_of_two(reader, &at, "bank_bytes", 4, 64);
    shared->latency_cycles = pb_json_read_number(reader, &at, "latency_cycles", 1, 1e6);
    read_conflicts(reader, &at, shared);
    shared->peak_bytes_per_cycle = pb_json_read_number(reader, &at, "peak_bytes_per_cycle", 1, 1e6);
    shared->achieved_bytes_per_cycle = shared->peak_bytes_per_cycle;
    pb_json_read_number_or(reader, &at, "achieved_bytes_per_cycle", 0.01,
                           shared->peak_bytes_per_cycle, &shared->achieved_bytes_per_cycle);
}

static void read_mshr(struct pb_json_reader *reader, const struct pb_json *root,
                      struct pb_sim_mshr_spec *mshr)
{
    static const char *const keys[] = {"per_sm", "per_warp", NULL};
    struct pb_json at = pb_json_read_member(reader, root, "mshr");

    pb_json_read_only(reader, &at, keys);
    mshr->per_sm = (uint32_t)pb_json_read_integer(reader, &at, "per_sm", 1, 1 << 20);
    mshr->per_warp = (uint32_t)pb_json_read_integer(reader, &at, "per_warp", 1, mshr->per_sm);
}

static void read_noise(struct pb_json_reader *reader, const struct pb_json *root,
                       struct pb_sim_noise_spec *noise)
{
    static const char *const keys[] = {"jitter_cycles", "spike_probability", "spike_cycles",
                                       "burst_loads", NULL};
    struct pb_json at = pb_json_read_member(reader, root, "noise");

    pb_json_read_only(reader, &at, keys);
    noise->jitter_cycles = (uint32_t)pb_json_read_integer(reader, &at, "jitter_cycles", 0, 100000);
    noise->spike_probability = pb_json_read_number(reader, &at, "spike_probability", 0, 1);
    noise->spike_cycles = (uint32_t)pb_json_read_integer(reader, &at, "spike_cycles", 0, 10000000);
    pb_json_read_integer_or(reader, &at, "burst_loads", 0, 1 << 20, &noise->burst_loads);
}

/* "3.5" is 35. */
static uint32_t read_capability(struct pb_json_reader *reader, const struct pb_json *root)
{
    struct pb_json at = pb_json_read_member(reader, root, "compute_capability");
    const char *text = "";
    unsigned major = 0, minor = 0;
    int used = 0;

    if (reader->status == PB_OK)
        reader->status = pb_json_text(&at, &text, reader->err);
    if (reader->status != PB_OK)
        return 0;
    if (sscanf(text, "%2u.%1u%n", &major, &minor, &used) != 2 || text[used] != '\0' || major == 0)
        pb_json_read_refuse(reader, &at, "MAJOR.MINOR such as \"3.5\"");
    return 10 * major + minor;
}

/* Where the values come from: as long as it likes, kept as far as there is room. */
static void read_source(struct pb_json_reader *reader, const struct pb_json *root, char *field,
                        size_t field_size)
{
    struct pb_json at = pb_json_read_member(reader, root, "source");
    const char *text = "";

    if (reader->status == PB_OK)
        reader->status = pb_json_text(&at, &text, reader->err);
    pb_text_copy(field, field_size, text);
}

static void read_device(struct pb_json_reader *reader, const struct pb_json *root,
                        struct pb_sim_profile *profile)
{
    pb_json_read_text(reader, root, "name", profile->name, sizeof(profile->name));
    read_source(reader, root, profile->source, sizeof(profile->source));
    profile->compute_capability = read_capability(reader, root);
    profile->sm_count = (uint32_t)pb_json_read_integer(reader, root, "sm_count", 1, 4096);
    profile->clock_mhz = pb_json_read_number(reader, root, "clock_mhz", 1, 1e5);
    profile->memory_bytes =
        (uint64_t)pb_json_read_integer(reader, root, "memory_bytes", 1 << 20, INT64_C(1) << 50);
    profile->clock_overhead_cycles =
        (uint32_t)pb_json_read_integer(reader, root, "clock_overhead_cycles", 0, 100000);
}

enum pb_status pb_sim_profile_read(const struct pb_json *root, struct pb_sim_profile **profile_out,
                                   struct pb_error *err)
{
    static const char *const keys[] = {"name",
                                       "source",
                                       "compute_capability",
                                       "sm_count",
                                       "clock_mhz",
                                       "memory_bytes",
                                       "caches",
                                       "tlbs",
                                       "dram",
                                       "shared",
                                       "mshr",
                                       "noise",
                                       "clock_overhead_cycles",
                                       "l2_sides",
                                       "layout",
                                       "study",
                                       "link",
                                       "parallel",
                                       NULL};
    struct pb_json_reader reader = {PB_OK, err};
    struct pb_sim_profile *profile = calloc(1, sizeof(*profile));

    if (profile == NULL)
        return pb_fail(err, PB_NO_MEMORY, "%s: out of memory allocating a profile", root->file);
    pb_json_read_only(&reader, root, keys);
    read_device(&reader, root, profile);
    pb_sim_profile_read_caches(&reader, root, profile);
    pb_sim_profile_read_tlbs(&reader, root, profile);
    read_dram(&reader, root, &profile->dram);
    read_shared(&reader, root, &profile->shared);
    read_mshr(&reader, root, &profile->mshr);
    read_noise(&reader, root, &profile->noise);
    pb_sim_profile_read_extras(&reader, root, profile);
    if (reader.status != PB_OK) {
        pb_sim_profile_free(profile);
        return reader.status;
    }
    *profile_out = profile;
    return PB_OK;
}

void pb_sim_profile_free(struct pb_sim_profile *profile)
{
    if (profile == NULL)
        return;
    for (size_t i = 0; i < profile->cache_count; i++) {
        free(profile->caches[i].shape.ways);
        free(profile->caches[i].shape.weights);
    }
    for (size_t i = 0; i < profile->tlb_count; i++) {
        free(profile->tlbs[i].shape.ways);
        free(profile->tlbs[i].shape.weights);
    }
    free(profile);
}
