/* What a UUID shows; see identity.h. */
#include "core/identity.h"

#include <string.h>

bool pb_uuid_is_instance(const char *uuid)
{
    return strncmp(uuid, "MIG-", strlen("MIG-")) == 0;
}

bool pb_backend_is_simulated(const char *backend)
{
    return strcmp(backend, "sim") == 0;
}
