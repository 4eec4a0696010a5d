/* F13's kernels on a simulated device; see study.h for the models. */
#include "device/sim/study.h"

#include <math.h>
#include <stdlib.h>

#include "device/sim/limits.h"
#include "device/sim/simulator.h"

enum {
    SETTLING_READS = 128, /* simulated, but not typical of the rest */
    TYPICAL_READS = 128,
    WORD_BYTES = 4,
    BARRIERS_MAX = 1024,
    OFFSET_MAX = 1 << 20
};

/* The reads of one kernel. */
struct reading {
    struct pb_sim_device *device;
    const struct pb_study *study;
    struct pb_sim_route route;
    uint64_t line_bytes; /* of the first cache; of a word where there is none */
    uint64_t thread_bytes, read_bytes, first_byte;
};

static double warps_of(const struct pb_study *study)
{
    return ceil((double)study->threads / PB_SIM_WARP_SIZE);
}

double pb_sim_study_cycles(const struct pb_sim_study_spec *spec, const struct pb_study *study)
{
    double further_warps = warps_of(study) - 1.0, spilled = 0.0;

    if (study->kind == PB_STUDY_SYNC)
        return PB_SIM_STUDY_ACCESSES * spec->write_cycles *
                   (1.0 + spec->sync_warp_share * further_warps) +
               study->parameter * spec->barrier_cycles;
    if (study->parameter > spec->spill_variables)
        spilled = 1.0 - (double)spec->spill_variables / study->parameter;
    return PB_SIM_STUDY_MOVES * (spec->move_cycles + spilled * spec->spilled_cycles) *
           (1.0 + spec->spill_warp_share * further_warps);
}

static enum pb_status check_spill(uint32_t variables, struct pb_error *err)
{
    static const uint32_t choices[] = {1, 4, 16, 32, 64, 128, 256, 512, 1024, 2048};

    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++)
        if (variables == choices[i])
            return PB_OK;
    return pb_fail(err, PB_INVALID,
                   "study of spills: expected 1, 4, 16, 32, 64, 128, 256, 512, 1024 or 2048 "
                   "variables, found %u",
                   variables);
}

static enum pb_status check_study(const struct pb_sim_device *device, const struct pb_study *study,
                                  struct pb_error *err)
{
    enum pb_status status = pb_sim_device_check(device, err);

    if (status != PB_OK)
        return status;
    if (study->threads == 0 || study->threads > PB_SIM_CTA_THREADS_MAX)
        return pb_fail(err, PB_INVALID, "study: expected 1 to %d threads, found %u",
                       PB_SIM_CTA_THREADS_MAX, study->threads);
    switch (study->kind) {
    case PB_STUDY_SYNC:
        if (study->parameter == 0 || study->parameter > BARRIERS_MAX)
            return pb_fail(err, PB_INVALID, "study of barriers: expected 1 to %d, found %u",
                           BARRIERS_MAX, study->parameter);
        return PB_OK;
    case PB_STUDY_COALESCE:
    case PB_STUDY_STRIDE:
    case PB_STUDY_MISALIGN:
        if (study->parameter % WORD_BYTES != 0 || study->parameter > OFFSET_MAX)
            return pb_fail(err, PB_INVALID,
                           "study of reads: expected a multiple of %d up to %d bytes, found %u",
                           WORD_BYTES, OFFSET_MAX, study->parameter);
        return PB_OK;
    case PB_STUDY_SPILL:
        return check_spill(study->parameter, err);
    }
    return pb_fail(err, PB_INVALID, "study: unknown kind %d", (int)study->kind);
}

static struct reading plan(struct pb_sim_device *device, const struct pb_study *study)
{
    const struct pb_sim_profile *profile = device->profile;
    struct pb_sim_timing timing = pb_sim_device_timing(device, 0);
    struct reading reading = {.device = device, .study = study, .line_bytes = WORD_BYTES};

    reading.thread_bytes = study->kind == PB_STUDY_COALESCE ? study->parameter : WORD_BYTES;
    reading.first_byte = study->kind == PB_STUDY_MISALIGN ? study->parameter : 0;
    reading.read_bytes = WORD_BYTES;
    if (study->kind == PB_STUDY_STRIDE)
        reading.read_bytes = study->parameter;
    if (study->kind == PB_STUDY_MISALIGN)
        reading.read_bytes = WORD_BYTES * (uint64_t)study->threads;
    for (size_t i = profile->cache_count; i-- > 0;)
        if ((profile->caches[i].paths >> PB_PATH_GLOBAL_CA & 1) != 0)
            reading.line_bytes = profile->caches[i].shape.sector_bytes;
    pb_sim_memory_launch(device->memory, 0);
    pb_sim_memory_route(device->memory, PB_PATH_GLOBAL_CA, &timing, &reading.route);
    return reading;
}

static uint64_t address_of(const struct reading *reading, uint32_t thread, uint32_t read)
{
    return PB_SIM_ALLOCATION_ADDRESS + reading->first_byte + thread * reading->thread_bytes +
           read * reading->read_bytes;
}

/* L2 and the TLBs hold, as far as they can, what the kernel is going to read. */
static void prefill(const struct reading *reading)
{
    uint64_t last = UINT64_MAX;

    for (uint32_t read = 0; read < SETTLING_READS + TYPICAL_READS; read++)
        for (uint32_t thread = 0; thread < reading->study->threads; thread++) {
            uint64_t line = address_of(reading, thread, read) & ~(reading->line_bytes - 1);

            if (line != last)
                pb_sim_route_prefill(&reading->route, pb_sim_address_of(line),
                                     &reading->device->random);
            last = line;
        }
}

/* One read of the lanes [first, last): until the slowest line is back. */
static double read_group(const struct reading *reading, uint32_t first, uint32_t last,
                         uint32_t read)
{
    const struct pb_sim_study_spec *spec = &reading->device->profile->study;
    double slowest = 0.0, queue = 0.0, turn;
    uint64_t before = UINT64_MAX;

    for (uint32_t thread = first; thread < last; thread++) {
        uint64_t address = address_of(reading, thread, read);
        uint64_t line = address & ~(reading->line_bytes - 1);
        size_t depth;
        double cycles;

        if (line == before) /* lanes are in the order of their addresses */
            continue;
        cycles = pb_sim_route_load(&reading->route, pb_sim_address_of(address),
                                   &reading->device->random, &depth);
        turn = depth >= reading->route.first_chip_wide && reading->route.first_chip_wide > 0
                   ? spec->miss_line_cycles
                   : spec->line_cycles;
        if (before != UINT64_MAX)
            queue += turn;
        slowest = fmax(slowest, cycles);
        before = line;
    }
    return slowest + queue;
}

/* One read of all threads. */
static double read_once(const struct reading *reading, uint32_t read)
{
    uint32_t threads = reading->study->threads;
    uint32_t lanes = reading->device->profile->study.group_lanes;
    double slowest = 0.0;

    for (uint32_t first = 0; first < threads; first += lanes) {
        uint32_t last = first + lanes < threads ? first + lanes : threads;

        slowest = fmax(slowest, read_group(reading, first, last, read));
    }
    return slowest + pb_sim_device_tail(reading->device);
}

static double read_all(struct pb_sim_device *device, const struct pb_study *study)
{
    const double typical_share =
        (double)(PB_SIM_STUDY_ACCESSES - SETTLING_READS) / (double)TYPICAL_READS;
    struct reading reading = plan(device, study);
    double settling = 0.0, typical = 0.0;

    prefill(&reading);
    for (uint32_t read = 0; read < SETTLING_READS; read++)
        settling += read_once(&reading, read);
    for (uint32_t read = SETTLING_READS; read < SETTLING_READS + TYPICAL_READS; read++)
        typical += read_once(&reading, read);
    return settling + typical_share * typical;
}

enum pb_status pb_sim_study(struct pb_device *base, const struct pb_study *study,
                            struct pb_study_result *result_out, struct pb_error *err)
{
    struct pb_sim_device *device = pb_sim_device_of(base);
    enum pb_status status = check_study(device, study, err);
    double cycles;

    if (status != PB_OK)
        return status;
    if (study->kind == PB_STUDY_SYNC || study->kind == PB_STUDY_SPILL)
        cycles =
            pb_sim_study_cycles(&device->profile->study, study) * pb_sim_device_slowness(device, 0);
    else
        cycles = read_all(device, study);
    result_out->cycles = pb_sim_device_stamped(device, cycles);
    result_out->ns = pb_sim_device_pass(device, (double)result_out->cycles);
    return PB_OK;
}
