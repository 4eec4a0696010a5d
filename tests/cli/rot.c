/* rot FILE KEY TEST: flips a byte in the middle of a stored chunk of that test. */
#include <fcntl.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The first chunk of the first dataset of the group that has one. */
static haddr_t find_chunk(hid_t group, hsize_t *size_out)
{
    haddr_t at = HADDR_UNDEF;
    char name[64];

    for (hsize_t i = 0; at == HADDR_UNDEF; i++) {
        hid_t dataset, space;
        hsize_t count = 0, offset[H5S_MAX_RANK];
        unsigned mask;

        if (H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, sizeof(name),
                               H5P_DEFAULT) < 0)
            break;
        dataset = H5Dopen2(group, name, H5P_DEFAULT);
        space = H5Dget_space(dataset);
        if (H5Dget_num_chunks(dataset, space, &count) >= 0 && count > 0)
            H5Dget_chunk_info(dataset, space, 0, offset, &mask, &at, size_out);
        H5Sclose(space);
        H5Dclose(dataset);
    }
    return at;
}

int main(int argc, char **argv)
{
    char path[256];
    unsigned char byte;
    hsize_t size = 0;
    haddr_t at;
    hid_t file, group;
    int fd;

    if (argc != 4)
        return EXIT_FAILURE;
    snprintf(path, sizeof(path), "/devices/%s/tests/%s", argv[2], argv[3]);
    file = H5Fopen(argv[1], H5F_ACC_RDONLY, H5P_DEFAULT);
    group = H5Gopen2(file, path, H5P_DEFAULT);
    at = find_chunk(group, &size);
    H5Gclose(group);
    H5Fclose(file);
    fd = open(argv[1], O_RDWR | O_CLOEXEC);
    if (at == HADDR_UNDEF || pread(fd, &byte, 1, (off_t)(at + size / 2)) != 1)
        return EXIT_FAILURE;
    byte ^= 0x10;
    return pwrite(fd, &byte, 1, (off_t)(at + size / 2)) == 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
