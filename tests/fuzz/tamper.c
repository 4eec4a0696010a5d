/*
 * Damage to a fleet file that HDF5 itself finds nothing wrong with.
 *
 * Flipped bits end at HDF5's checksums; the project's own reader sees only files that HDF5 can read
 * but that are not what the schema says. Such files are made here, through HDF5.
 */
#include "fuzz/tamper.h"

#include <hdf5.h>
#include <hdf5_hl.h>
#include <stdio.h>
#include <string.h>

#include "fuzz/fuzz.h"

enum { OBJECTS_MAX = 256, PATH_LENGTH = 256, GROWTH_BYTES = 65536, ENDLESS = 65536 };

/* HDF5 1.10 stumbles at its end over some files that were broken here while open. */
__attribute__((constructor)) static void leave_without_cleaning(void)
{
    H5dont_atexit();
}

struct object_list {
    char paths[OBJECTS_MAX][PATH_LENGTH];
    size_t count;
};

static herr_t collect(hid_t root, const char *name, const H5O_info_t *info, void *context)
{
    struct object_list *list = context;

    (void)root;
    (void)info;
    if (list->count < OBJECTS_MAX && strcmp(name, ".") != 0)
        snprintf(list->paths[list->count++], PATH_LENGTH, "%s", name);
    return 0;
}

static size_t choose(uint64_t *state, size_t end)
{
    return fuzz_random(state) % end;
}

/* A type that no column of the schema has, or has elsewhere. Close it. */
static hid_t other_type(uint64_t *state)
{
    hid_t type, base;

    switch (choose(state, 8)) {
    case 0:
        return H5Tcopy(H5T_STD_I8BE);
    case 1:
        return H5Tcopy(H5T_IEEE_F32BE);
    case 2:
        type = H5Tcopy(H5T_C_S1);
        H5Tset_size(type, choose(state, 2) == 0 ? H5T_VARIABLE : 1 + choose(state, 1000));
        return type;
    case 3:
        type = H5Tcreate(H5T_COMPOUND, 16);
        H5Tinsert(type, choose(state, 2) == 0 ? "first" : "count", 0, H5T_NATIVE_UINT64);
        H5Tinsert(type, "path", 8, H5T_NATIVE_DOUBLE);
        return type;
    case 4:
        return H5Tvlen_create(H5T_NATIVE_INT);
    case 5:
        base = H5Tcreate(H5T_OPAQUE, 1 + choose(state, 64));
        H5Tset_tag(base, "odd");
        return base;
    case 6: {
        hsize_t length = 1 + choose(state, 9);

        return H5Tarray_create2(H5T_NATIVE_DOUBLE, 1, &length);
    }
    default:
        return H5Tcopy(H5T_NATIVE_UINT64);
    }
}

static hid_t other_space(uint64_t *state)
{
    hsize_t length[3] = {choose(state, 4), 1 + choose(state, 3), 1 + choose(state, 40)};

    switch (choose(state, 4)) {
    case 0:
        return H5Screate(H5S_NULL);
    case 1:
        return H5Screate(H5S_SCALAR);
    default:
        return H5Screate_simple((int)(1 + choose(state, 3)), length, NULL);
    }
}

/* One attribute goes, or comes back as something else without a value. */
static void tamper_attribute(hid_t file, const char *path, uint64_t *state)
{
    hid_t object = H5Oopen(file, path, H5P_DEFAULT), attribute, type, space;
    char name[PATH_LENGTH] = "";
    H5O_info_t info;

    if (object < 0)
        return;
    if (H5Oget_info2(object, &info, H5O_INFO_NUM_ATTRS) >= 0 && info.num_attrs > 0)
        H5Aget_name_by_idx(object, ".", H5_INDEX_NAME, H5_ITER_INC, choose(state, info.num_attrs),
                           name, sizeof(name), H5P_DEFAULT);
    if (name[0] != '\0' && H5Adelete(object, name) >= 0 && choose(state, 3) != 0) {
        type = other_type(state);
        space = other_space(state);
        attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
        if (attribute >= 0)
            H5Aclose(attribute);
        H5Sclose(space);
        H5Tclose(type);
    }
    H5Oclose(object);
}

/* The dataset, or group, becomes a dataset of another shape. */
static void replace_object(hid_t file, const char *path, uint64_t *state)
{
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE), type = other_type(state);
    hsize_t length = choose(state, 3) == 0 ? (hsize_t)1 << choose(state, 62) : choose(state, 300);
    hsize_t most = H5S_UNLIMITED, chunk = 1 + choose(state, 100);
    hid_t space = choose(state, 3) == 0 ? other_space(state) : H5Screate_simple(1, &length, &most);
    hid_t dataset;

    if (choose(state, 4) != 0)
        H5Pset_chunk(creation, 1, &chunk);
    H5Ldelete(file, path, H5P_DEFAULT);
    dataset = H5Dcreate2(file, path, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    if (dataset >= 0)
        H5Dclose(dataset);
    H5Sclose(space);
    H5Tclose(type);
    H5Pclose(creation);
}

/*
 * Far more rows than are stored, or fewer. A dataset that is endless already is left so: to shorten
 * it, HDF5 would walk all the chunks that it does not have.
 */
static void stretch_dataset(hid_t file, const char *path, uint64_t *state)
{
    hid_t dataset = H5Dopen2(file, path, H5P_DEFAULT), space;
    hsize_t length[H5S_MAX_RANK];

    if (dataset < 0)
        return;
    space = H5Dget_space(dataset);
    for (size_t i = 0; i < H5S_MAX_RANK; i++)
        length[i] = choose(state, 2) == 0 ? choose(state, 20) : (hsize_t)1 << choose(state, 60);
    if (H5Sget_simple_extent_npoints(space) <= ENDLESS)
        H5Dset_extent(dataset, length);
    H5Sclose(space);
    H5Dclose(dataset);
}

/* Components, links to nowhere and out of the file, names without end. */
static void tamper_link(hid_t file, const struct object_list *list, const char *path,
                        uint64_t *state)
{
    const char *other = list->paths[choose(state, list->count)];
    char name[2 * PATH_LENGTH];

    switch (choose(state, 5)) {
    case 0:
        snprintf(name, sizeof(name), "%s/again", path);
        H5Lcreate_hard(file, "/devices", file, name, H5P_DEFAULT, H5P_DEFAULT);
        break;
    case 1:
        H5Ldelete(file, path, H5P_DEFAULT);
        H5Lcreate_soft(choose(state, 2) == 0 ? path : "/nowhere", file, path, H5P_DEFAULT,
                       H5P_DEFAULT);
        break;
    case 2:
        H5Ldelete(file, path, H5P_DEFAULT);
        H5Lcreate_external("nowhere.h5", "/", file, path, H5P_DEFAULT, H5P_DEFAULT);
        break;
    case 3:
        H5Ldelete(file, path, H5P_DEFAULT);
        H5Lcreate_hard(file, other, file, path, H5P_DEFAULT, H5P_DEFAULT);
        break;
    default:
        snprintf(name, sizeof(name), "%s%0*d", path, (int)choose(state, 200), 7);
        H5Lmove(file, path, file, name, H5P_DEFAULT, H5P_DEFAULT);
    }
}

static void tamper_once(hid_t file, uint64_t *state)
{
    struct object_list list = {.count = 0};
    const char *path;

    H5Ovisit(file, H5_INDEX_NAME, H5_ITER_INC, collect, &list);
    if (list.count == 0 || choose(state, 16) == 0) {
        tamper_attribute(file, "/", state);
        return;
    }
    path = list.paths[choose(state, list.count)];
    switch (choose(state, 8)) {
    case 0:
        H5Ldelete(file, path, H5P_DEFAULT);
        break;
    case 1:
    case 2:
        replace_object(file, path, state);
        break;
    case 3:
        stretch_dataset(file, path, state);
        break;
    case 4:
        tamper_link(file, &list, path, state);
        break;
    default:
        tamper_attribute(file, path, state);
    }
}

/* The driver's own bytes: H5Fget_file_image() of 1.10 spoils the superblock's checksum. */
static size_t take_bytes(hid_t file, uint8_t *data, size_t capacity)
{
    void **handle = NULL;
    ssize_t size;

    if (H5Fflush(file, H5F_SCOPE_GLOBAL) < 0 || (size = H5Fget_file_image(file, NULL, 0)) <= 0 ||
        (size_t)size > capacity || H5Fget_vfd_handle(file, H5P_DEFAULT, (void **)&handle) < 0)
        return 0;
    memcpy(data, *handle, (size_t)size);
    return (size_t)size;
}

size_t fuzz_tamper(uint8_t *data, size_t size, size_t capacity, uint64_t *state)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), file;
    size_t result = 0;

    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V110);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    H5Pset_fapl_core(access, GROWTH_BYTES, false);
    H5Pset_file_image(access, data, size);
    file = H5Fopen("input", H5F_ACC_RDWR, access);
    H5Pclose(access);
    if (file < 0)
        return 0;
    tamper_once(file, state);
    result = take_bytes(file, data, capacity);
    H5Fclose(file);
    return result;
}
