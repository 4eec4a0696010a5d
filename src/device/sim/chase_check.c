/* What a chase must be to run on a simulated device, and what is said of one that cannot. */
#include <stdlib.h>

#include "device/sim/chase.h"
#include "device/sim/limits.h"

enum { SLOT_BYTES = 8, RECORD_BYTES = 12, MARKS_MAX = 1 << 22 };

/* Addresses that a driver gives out, from a device's first allocation on. */
#define VIRTUAL_BYTES (UINT64_C(1) << 46)

static const char *path_of(const struct pb_chase *chase)
{
    return pb_path_name(chase->path);
}

uint64_t pb_sim_chase_footprint(const struct pb_chase *chase)
{
    uint64_t last = 0;

    for (size_t i = 0; i < chase->offset_count; i++)
        last = chase->offset_bytes[i] > last ? chase->offset_bytes[i] : last;
    return last + SLOT_BYTES;
}

static enum pb_status check_shape(const struct pb_chase *chase, struct pb_error *err)
{
    if (chase->offset_count == 0)
        return pb_fail(err, PB_INVALID, "chase over %s: no slots", path_of(chase));
    if (chase->record == 0 && chase->timed == 0)
        return pb_fail(err, PB_INVALID, "chase over %s: nothing to record or time", path_of(chase));
    for (size_t i = 0; i < chase->offset_count; i++)
        if (chase->offset_bytes[i] % SLOT_BYTES != 0)
            return pb_fail(err, PB_INVALID,
                           "chase over %s: slot %zu: expected a multiple of %d bytes, found %llu",
                           path_of(chase), i, SLOT_BYTES,
                           (unsigned long long)chase->offset_bytes[i]);
    return PB_OK;
}

static enum pb_status check_available(const struct pb_sim_device *device,
                                      const struct pb_chase *chase, struct pb_error *err)
{
    uint64_t footprint = pb_sim_chase_footprint(chase), available;
    enum pb_status status = PB_UNSUPPORTED;

    if (chase->path == PB_PATH_SHARED) {
        available = pb_sim_limits_shared_per_cta(device->profile);
        available -= chase->record > 0 && available > RECORD_BYTES ? RECORD_BYTES : 0;
    } else if (chase->path == PB_PATH_CONSTANT) {
        available = PB_SIM_CONSTANT_BYTES;
    } else {
        available = pb_sim_limits_free_bytes(device->profile);
        footprint = chase->alias_bytes > 0 ? chase->alias_bytes : footprint;
        status = PB_NO_MEMORY;
    }
    if (footprint <= available)
        return PB_OK;
    return pb_fail(err, status, "chase over %s: %llu bytes asked for, %llu there", path_of(chase),
                   (unsigned long long)footprint, (unsigned long long)available);
}

static enum pb_status check_path(const struct pb_sim_device *device, enum pb_path path,
                                 struct pb_error *err)
{
    if (path < PB_PATH_COUNT && pb_sim_device_has_path(device, path))
        return PB_OK;
    return pb_fail(err, PB_UNSUPPORTED, "chase over %s: %s has no such path",
                   path < PB_PATH_COUNT ? pb_path_name(path) : "no path", device->profile->name);
}

/* The block that is mapped many times is whole pages of every TLB; 2 MB where there is none. */
static uint64_t page_bytes_of(const struct pb_sim_profile *profile)
{
    uint64_t page = 0;

    for (size_t i = 0; i < profile->tlb_count; i++)
        page = profile->tlbs[i].page_bytes > page ? profile->tlbs[i].page_bytes : page;
    return page > 0 ? page : 2 << 20;
}

/* The word of memory that a slot takes. */
static uint64_t word_of(const struct pb_chase *chase, size_t slot)
{
    uint64_t offset = chase->offset_bytes[slot];

    return (chase->alias_bytes > 0 ? offset % chase->alias_bytes : offset) / SLOT_BYTES;
}

static enum pb_status refuse_twice(const struct pb_chase *chase, uint64_t word,
                                   struct pb_error *err)
{
    const char *of = chase->alias_bytes > 0 ? " of the block that is mapped over and over" : "";

    return pb_fail(err, PB_INVALID, "chase over %s: two slots are byte %llu%s", path_of(chase),
                   (unsigned long long)(word * SLOT_BYTES), of);
}

/* By a bit for each word: most chases are small or dense. */
static enum pb_status check_marks(const struct pb_chase *chase, uint8_t *marks,
                                  struct pb_error *err)
{
    for (size_t i = 0; i < chase->offset_count; i++) {
        uint64_t word = word_of(chase, i);
        uint8_t bit = (uint8_t)(1u << word % 8);

        if ((marks[word / 8] & bit) != 0)
            return refuse_twice(chase, word, err);
        marks[word / 8] |= bit;
    }
    return PB_OK;
}

/* By a hash of the words, of which at most half of the places are taken. */
static enum pb_status check_hashed(const struct pb_chase *chase, uint64_t *places, unsigned bits,
                                   struct pb_error *err)
{
    for (size_t i = 0; i < chase->offset_count; i++) {
        uint64_t word = word_of(chase, i);
        uint64_t place = (word * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - bits);

        while (places[place] != 0 && places[place] != word + 1)
            place = (place + 1) & ((UINT64_C(1) << bits) - 1);
        if (places[place] != 0)
            return refuse_twice(chase, word, err);
        places[place] = word + 1; /* 0 is a free place */
    }
    return PB_OK;
}

static bool is_rising(const struct pb_chase *chase)
{
    for (size_t i = 1; i < chase->offset_count; i++)
        if (chase->offset_bytes[i] <= chase->offset_bytes[i - 1])
            return false;
    return chase->alias_bytes == 0;
}

/* Slots that fall onto one word would break the chain, as they do on hardware. */
static enum pb_status check_words(const struct pb_chase *chase, struct pb_error *err)
{
    size_t mark_bytes = (size_t)(pb_sim_chase_footprint(chase) / SLOT_BYTES / 8 + 1);
    bool is_marked = mark_bytes <= MARKS_MAX;
    enum pb_status status;
    unsigned bits = 1;
    void *scratch;

    if (is_rising(chase))
        return PB_OK;
    while (UINT64_C(1) << bits < 2 * (uint64_t)chase->offset_count)
        bits++;
    scratch = is_marked ? calloc(mark_bytes, 1) : calloc((size_t)1 << bits, sizeof(uint64_t));
    if (scratch == NULL)
        return pb_fail(err, PB_NO_MEMORY, "chase over %s: out of memory allocating %zu slots",
                       path_of(chase), chase->offset_count);
    status = is_marked ? check_marks(chase, scratch, err) : check_hashed(chase, scratch, bits, err);
    free(scratch);
    return status;
}

static enum pb_status check_alias(const struct pb_sim_device *device, const struct pb_chase *chase,
                                  struct pb_error *err)
{
    const uint32_t unmapped = 1u << PB_PATH_SHARED | 1u << PB_PATH_CONSTANT |
                              1u << PB_PATH_TEXTURE | 1u << PB_PATH_TEXTURE_2D;
    uint64_t page = page_bytes_of(device->profile);

    if ((unmapped >> chase->path & 1) != 0)
        return pb_fail(err, PB_UNSUPPORTED, "chase over %s: cannot be mapped over and over",
                       path_of(chase));
    if (chase->alias_bytes % page != 0)
        return pb_fail(err, PB_INVALID,
                       "chase over %s: expected a block of whole pages of %llu bytes, found %llu",
                       path_of(chase), (unsigned long long)page,
                       (unsigned long long)chase->alias_bytes);
    if (pb_sim_chase_footprint(chase) > VIRTUAL_BYTES)
        return pb_fail(err, PB_NO_MEMORY, "chase over %s: %llu bytes of addresses, %llu there",
                       path_of(chase), (unsigned long long)pb_sim_chase_footprint(chase),
                       (unsigned long long)VIRTUAL_BYTES);
    return PB_OK;
}

/* Only paths that see the same addresses can be crossed. */
static enum pb_status check_cross(const struct pb_sim_device *device, const struct pb_chase *chase,
                                  struct pb_error *err)
{
    const uint32_t apart = 1u << PB_PATH_SHARED | 1u << PB_PATH_CONSTANT;
    enum pb_status status = check_path(device, chase->warm_path, err);

    if (status == PB_OK && ((apart >> chase->path | apart >> chase->warm_path) & 1) != 0)
        return pb_fail(err, PB_INVALID, "chase over %s: cannot be warmed over %s", path_of(chase),
                       pb_path_name(chase->warm_path));
    return status;
}

enum pb_status pb_sim_chase_check(const struct pb_sim_device *device, const struct pb_chase *chase,
                                  struct pb_error *err)
{
    enum pb_status status = pb_sim_device_check(device, err);

    if (status == PB_OK)
        status = check_path(device, chase->path, err);
    if (status == PB_OK)
        status = check_shape(chase, err);
    if (status == PB_OK && chase->cross)
        status = check_cross(device, chase, err);
    if (status == PB_OK && chase->alias_bytes > 0)
        status = check_alias(device, chase, err);
    if (status == PB_OK)
        status = check_words(chase, err);
    if (status != PB_OK)
        return status;
    if (chase->sm >= (int64_t)device->profile->sm_count)
        return pb_fail(err, PB_INVALID, "chase over %s: expected an SM below %u, found %lld",
                       path_of(chase), device->profile->sm_count, (long long)chase->sm);
    if (chase->carveout_bytes > (int64_t)device->profile->shared.bytes_per_sm)
        return pb_fail(err, PB_UNSUPPORTED,
                       "chase over %s: a carve-out of %lld bytes, but %llu of shared memory",
                       path_of(chase), (long long)chase->carveout_bytes,
                       (unsigned long long)device->profile->shared.bytes_per_sm);
    return check_available(device, chase, err);
}
