/* plumb-damage-records TRACE.h5: the first record of the first kernel gets no active lanes. */
#include <hdf5.h>

int main(int argc, char **argv)
{
    hid_t file = argc == 2 ? H5Fopen(argv[1], H5F_ACC_RDWR, H5P_DEFAULT) : -1;
    hid_t records = H5Dopen2(file, "/kernels/0/records", H5P_DEFAULT);
    hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(unsigned));
    hid_t space = H5Dget_space(records);
    hid_t one;
    hsize_t first = 0, count = 1;
    unsigned none = 0;
    herr_t result;

    H5Tinsert(type, "lane_mask", 0, H5T_NATIVE_UINT);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, NULL, &count, NULL);
    one = H5Screate_simple(1, &count, NULL);
    result = H5Dwrite(records, type, one, space, H5P_DEFAULT, &none);
    return result < 0 || H5Fclose(file) < 0;
}
