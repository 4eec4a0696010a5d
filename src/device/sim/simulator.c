/* What all measurements of a simulated device begin with; see simulator.h. */
#include "device/sim/simulator.h"

struct pb_sim_device *pb_sim_device_of(struct pb_device *device)
{
    return (struct pb_sim_device *)device; /* base is its first member */
}

enum pb_status pb_sim_device_check(const struct pb_sim_device *device, struct pb_error *err)
{
    if (!device->is_lost)
        return PB_OK;
    return pb_fail(err, PB_LOST, "%s gpu %lld: the device has fallen off the bus", device->host,
                   (long long)device->slot);
}

/* Loads through L1 or past it are instructions of every device; the other paths need a cache. */
bool pb_sim_device_has_path(const struct pb_sim_device *device, enum pb_path path)
{
    const struct pb_sim_profile *profile = device->profile;

    if (path == PB_PATH_GLOBAL_CA || path == PB_PATH_GLOBAL_CG || path == PB_PATH_SHARED)
        return true;
    if (path == PB_PATH_TEXTURE_2D)
        path = PB_PATH_TEXTURE;
    for (size_t i = 0; i < profile->cache_count; i++)
        if ((profile->caches[i].paths >> path & 1) != 0)
            return true;
    return false;
}
