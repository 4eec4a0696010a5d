/* blank FILE VERSION: a fleet file of that schema version in which nothing was measured. */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>

#include "h5schema/file.h"

/* The writer knows its own version only; a later one can but be claimed. */
static int claim(const char *path, int version)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t attribute = H5Aopen(file, "schema_version", H5P_DEFAULT);
    int bad = H5Awrite(attribute, H5T_NATIVE_INT, &version) < 0;

    H5Aclose(attribute);
    return bad || H5Fclose(file) < 0;
}

int main(int argc, char **argv)
{
    struct pb_run run = {.created = "2026-01-01T00:00:00Z"};
    struct pb_error err = PB_ERROR_INIT;
    struct pb_fleet *fleet;
    enum pb_status status;

    if (argc != 3)
        return EXIT_FAILURE;
    status = pb_fleet_create(argv[1], &run, &fleet, &err);
    if (status == PB_OK)
        status = pb_fleet_commit(fleet, false, &err);
    if (status == PB_OK)
        return claim(argv[1], atoi(argv[2])) ? EXIT_FAILURE : EXIT_SUCCESS;
    fprintf(stderr, "blank: %s\n", err.message);
    return EXIT_FAILURE;
}
