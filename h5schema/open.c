/* What may be opened, and what is refused; see open.h. */
#include "h5schema/open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/former.h"
#include "core/reserve.h"
#include "h5schema/hdf5.h"

enum { PATH_LENGTH = 4 * PB_KEY_LENGTH };

/* ---- files ---- */

/*
 * Superblocks from version 2 on, and the objects of such files, carry checksums. Shared messages
 * and user blocks are ways to hide things that plumb does not use.
 */
static enum pb_status check_format(hid_t file, struct pb_error *err)
{
    hid_t creation = H5Fget_create_plist(file);
    H5F_info2_t info = {.super.version = 0};
    hsize_t before = 0;
    unsigned shared = 0;
    enum pb_status status = PB_OK;

    if (creation < 0 || H5Fget_info2(file, &info) < 0 || H5Pget_userblock(creation, &before) < 0 ||
        H5Pget_shared_mesg_nindexes(creation, &shared) < 0)
        status = pb_h5_fail(err, PB_INVALID, "its format cannot be read");
    else if (info.super.version < 2)
        status = pb_fail(err, PB_INVALID,
                         "expected the format of HDF5 1.8 or later, which has checksums, found "
                         "that of version %u; \"h5repack --low=1 IN OUT\" converts it",
                         info.super.version);
    else if (before != 0)
        status = pb_fail(err, PB_INVALID, "expected HDF5 from the first byte on, found it at %llu",
                         (unsigned long long)before);
    else if (shared != 0)
        status = pb_fail(err, PB_INVALID, "expected no shared messages, found %u indexes", shared);
    if (creation >= 0)
        H5Pclose(creation);
    return status;
}

/* Does another program hold the lock that HDF5 takes on a file? */
static bool is_in_use(const char *path, bool writable)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool in_use = file >= 0 && flock(file, (writable ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0 &&
                  errno == EWOULDBLOCK;

    if (file >= 0)
        close(file);
    return in_use;
}

enum pb_status pb_h5_open_file(const char *path, bool writable, hid_t *file_out,
                               struct pb_error *err)
{
    struct stat found;
    hid_t access, file;
    enum pb_status status;

    if (stat(path, &found) != 0)
        return pb_fail(err, PB_INVALID, "%s: cannot be opened: %s", path, strerror(errno));
    if (!S_ISREG(found.st_mode))
        return pb_fail(err, PB_INVALID, "%s: expected a regular file, found another kind", path);
    access = pb_h5_access(false);
    file = H5Fopen(path, writable ? H5F_ACC_RDWR : H5F_ACC_RDONLY, access);
    if (file >= 0)
        status = PB_OK;
    else if (is_in_use(path, writable))
        status =
            pb_fail(err, PB_INVALID,
                    "%s: in use: another program has it open; try again when it has ended", path);
    else
        status =
            pb_h5_fail(err, PB_INVALID, "%s: expected a fleet file, found no readable HDF5", path);
    H5Pclose(access); /* after the message: every call of HDF5 forgets the last error */
    if (status != PB_OK)
        return status;
    status = check_format(file, err);
    if (status != PB_OK) {
        H5Fclose(file);
        pb_error_prefix(err, "%s", path);
        return status;
    }
    *file_out = file;
    return PB_OK;
}

enum pb_status pb_h5_open_image(const void *bytes, size_t size, hid_t *file_out,
                                struct pb_error *err)
{
    hid_t access = pb_h5_access(true);
    hid_t file = H5I_INVALID_HID;
    enum pb_status status = PB_OK;

    /* HDF5 copies the bytes and only reads the copy, whatever its signature says. */
    if (size > 0 && H5Pset_file_image(access, (void *)bytes, size) >= 0)
        file = H5Fopen("image", H5F_ACC_RDONLY, access);
    if (file < 0)
        status = pb_h5_fail(err, PB_CORRUPT, "%zu bytes are no image", size);
    H5Pclose(access);
    if (status != PB_OK)
        return status;
    status = check_format(file, err);
    if (status != PB_OK) {
        H5Fclose(file);
        pb_error_prefix(err, "image");
        return status;
    }
    *file_out = file;
    return PB_OK;
}

/* ---- links ---- */

static const char *link_kind(H5L_type_t type)
{
    return type == H5L_TYPE_SOFT       ? "a soft link"
           : type == H5L_TYPE_EXTERNAL ? "an external link"
                                       : "a user-defined link";
}

/* Looks at one link of which all that lead to it are hard. PB_NOT_FOUND comes without words. */
static enum pb_status check_link(hid_t location, const char *path, struct pb_error *err)
{
    htri_t exists = H5Lexists(location, path, H5P_DEFAULT);
    H5L_info_t link;

    if (exists == 0)
        return PB_NOT_FOUND;
    if (exists < 0 || H5Lget_info(location, path, &link, H5P_DEFAULT) < 0)
        return pb_h5_fail(err, PB_CORRUPT, "%s: cannot be looked up", path);
    if (link.type != H5L_TYPE_HARD)
        return pb_fail(err, PB_CORRUPT, "%s: expected a hard link, found %s", path,
                       link_kind(link.type));
    return PB_OK;
}

/* From the first on, so that none but hard links are ever followed. */
static enum pb_status check_links(hid_t location, const char *path, struct pb_error *err)
{
    char part[PATH_LENGTH];
    size_t length = strspn(path, "/");
    enum pb_status status = PB_OK;

    if (strlen(path) >= sizeof(part))
        return pb_fail(err, PB_NOT_FOUND, "%s: is longer than any path of a fleet file", path);
    while (path[length] != '\0' && status == PB_OK) {
        length += strcspn(path + length, "/");
        snprintf(part, sizeof(part), "%.*s", (int)length, path);
        status = check_link(location, part, err);
        if (status == PB_NOT_FOUND)
            pb_fail(err, status, "%s: is not there", path);
        length += strspn(path + length, "/");
    }
    return status;
}

/* ---- types ---- */

static bool is_plain_number(hid_t type)
{
    size_t size = H5Tget_size(type);

    switch (H5Tget_class(type)) {
    case H5T_INTEGER:
        return (size == 1 || size == 2 || size == 4 || size == 8) &&
               H5Tget_precision(type) == 8 * size && H5Tget_offset(type) == 0;
    case H5T_FLOAT:
        return H5Tequal(type, H5T_IEEE_F64LE) > 0 || H5Tequal(type, H5T_IEEE_F32LE) > 0 ||
               H5Tequal(type, H5T_IEEE_F64BE) > 0 || H5Tequal(type, H5T_IEEE_F32BE) > 0;
    case H5T_STRING:
        return H5Tis_variable_str(type) == 0;
    default:
        return false;
    }
}

static bool is_plain_table(hid_t type)
{
    int count = H5Tget_nmembers(type);
    bool plain = count > 0;

    for (int i = 0; i < count && plain; i++) {
        hid_t member = H5Tget_member_type(type, (unsigned)i);

        plain = member >= 0 && is_plain_number(member);
        if (member >= 0)
            H5Tclose(member);
    }
    return plain;
}

static enum pb_status check_type(hid_t type, const char *path, struct pb_error *err)
{
    size_t size = H5Tget_size(type);

    if (H5Tcommitted(type) > 0)
        return pb_fail(err, PB_CORRUPT, "%s: expected a type of its own, found a named one", path);
    if (size == 0 || size > PB_H5_ELEMENT_BYTES_MAX)
        return pb_fail(err, PB_CORRUPT, "%s: expected elements of 1 to %d bytes, found %zu", path,
                       PB_H5_ELEMENT_BYTES_MAX, size);
    if (!(H5Tget_class(type) == H5T_COMPOUND ? is_plain_table(type) : is_plain_number(type)))
        return pb_fail(err, PB_CORRUPT,
                       "%s: expected numbers, texts of fixed length or a table of them, found "
                       "another type",
                       path);
    return PB_OK;
}

/* ---- storage ---- */

/* Each of the three once, and no other. */
static enum pb_status check_filters(hid_t creation, const char *path, struct pb_error *err)
{
    static const H5Z_filter_t wanted[] = {H5Z_FILTER_SHUFFLE, H5Z_FILTER_DEFLATE,
                                          H5Z_FILTER_FLETCHER32};
    enum { WANTED = sizeof(wanted) / sizeof(wanted[0]) };
    int count = H5Pget_nfilters(creation);
    bool all = count == WANTED;

    for (int i = 0; i < WANTED; i++) {
        unsigned flags;
        size_t values = 0;

        all = all &&
              H5Pget_filter_by_id2(creation, wanted[i], &flags, &values, NULL, 0, NULL, NULL) >= 0;
    }
    return all ? PB_OK
               : pb_fail(err, PB_CORRUPT,
                         "%s: expected the filters shuffle, deflate and fletcher32, found others",
                         path);
}

static enum pb_status check_chunk_size(hid_t creation, size_t element_bytes, const char *path,
                                       struct pb_error *err)
{
    hsize_t chunk[H5S_MAX_RANK];
    int rank = H5Pget_chunk(creation, H5S_MAX_RANK, chunk);
    double bytes = (double)element_bytes;

    for (int i = 0; i < rank; i++)
        bytes *= (double)chunk[i];
    if (rank < 1 || bytes < 1.0 || bytes > PB_H5_CHUNK_BYTES_MAX)
        return pb_fail(err, PB_CORRUPT, "%s: expected chunks of 1 to %d bytes, found %.0f", path,
                       PB_H5_CHUNK_BYTES_MAX, bytes);
    return PB_OK;
}

/* Nothing here requests the extent: of a virtual dataset, HDF5 would open the others for that. */
static enum pb_status check_storage(hid_t dataset, size_t element_bytes, const char *path,
                                    struct pb_error *err)
{
    hid_t creation = H5Dget_create_plist(dataset);
    H5D_layout_t layout = creation < 0 ? H5D_LAYOUT_ERROR : H5Pget_layout(creation);
    enum pb_status status = PB_OK;

    if (layout == H5D_VIRTUAL)
        status =
            pb_fail(err, PB_CORRUPT, "%s: expected data of its own, found a virtual dataset", path);
    else if (layout == H5D_CONTIGUOUS && H5Pget_external_count(creation) != 0)
        status = pb_fail(err, PB_CORRUPT, "%s: expected data in this file, found external storage",
                         path);
    else if (layout != H5D_CHUNKED)
        status = pb_fail(err, PB_CORRUPT, "%s: expected chunked storage", path);
    if (status == PB_OK)
        status = check_filters(creation, path, err);
    if (status == PB_OK)
        status = check_chunk_size(creation, element_bytes, path, err);
    if (creation >= 0)
        H5Pclose(creation);
    return status;
}

static enum pb_status check_dataset(hid_t dataset, const char *path, struct pb_error *err)
{
    hid_t type = H5Dget_type(dataset);
    size_t bytes = type < 0 ? 0 : H5Tget_size(type);
    enum pb_status status = type < 0
                                ? pb_h5_fail(err, PB_CORRUPT, "%s: its type cannot be read", path)
                                : check_type(type, path, err);

    if (type >= 0)
        H5Tclose(type);
    if (status == PB_OK)
        status = check_storage(dataset, bytes, path, err);
    if (status == PB_OK &&
        (H5Aexists(dataset, "unit") <= 0 || H5Aexists(dataset, "description") <= 0))
        status = pb_fail(err, PB_CORRUPT, "%s: expected the attributes unit and description", path);
    return status;
}

/* A chunk's place in the grid of chunks. */
struct grid {
    int rank;
    hsize_t shape[PB_H5_RANK_MAX], chunk[PB_H5_RANK_MAX], at[PB_H5_RANK_MAX];
};

/* Moves on to the next chunk, the last dimension first; false: that was the last one. */
static bool advance(struct grid *grid)
{
    for (int i = grid->rank; i-- > 0;) {
        grid->at[i] += grid->chunk[i];
        if (grid->at[i] < grid->shape[i])
            return true;
        grid->at[i] = 0;
    }
    return false;
}

/* Reads a chunk as it is stored, only for what HDF5 then says of its filters. */
static enum pb_status check_chunk(hid_t dataset, const struct grid *grid, const char *name,
                                  void **bytes, hsize_t *capacity, struct pb_error *err)
{
    hsize_t size = 0;
    uint32_t skipped = 0;

    if (H5Dget_chunk_storage_size(dataset, grid->at, &size) < 0 || size == 0)
        return pb_h5_fail(err, PB_CORRUPT, "%s: a chunk is missing", name);
    if (size > *capacity) {
        void *larger = size > 2 * (hsize_t)PB_H5_CHUNK_BYTES_MAX ? NULL : realloc(*bytes, size);

        if (larger == NULL)
            return pb_fail(err, PB_CORRUPT, "%s: expected a chunk, found one of %llu bytes", name,
                           (unsigned long long)size);
        *bytes = larger;
        *capacity = size;
    }
    if (H5Dread_chunk(dataset, H5P_DEFAULT, grid->at, &skipped, *bytes) < 0)
        return pb_h5_fail(err, PB_CORRUPT, "%s: a chunk cannot be read", name);
    if (skipped != 0)
        return pb_fail(err, PB_CORRUPT, "%s: a chunk went by filters (mask 0x%x)", name, skipped);
    return PB_OK;
}

static enum pb_status check_grid(hid_t dataset, struct grid *grid, const char *name,
                                 struct pb_error *err)
{
    void *bytes = NULL;
    hsize_t capacity = 0;
    enum pb_status status;

    do
        status = check_chunk(dataset, grid, name, &bytes, &capacity, err);
    while (status == PB_OK && advance(grid));
    free(bytes);
    return status;
}

/* The grid of a dataset's chunks; rank 0: it has none. */
static enum pb_status find_grid(hid_t dataset, const char *name, struct grid *grid,
                                struct pb_error *err)
{
    hid_t space = H5Dget_space(dataset), creation = H5Dget_create_plist(dataset);
    int rank = H5Sget_simple_extent_ndims(space);
    enum pb_status status = PB_OK;

    if (rank > PB_H5_RANK_MAX)
        status = pb_fail(err, PB_CORRUPT, "%s: expected at most %d dimensions, found %d", name,
                         PB_H5_RANK_MAX, rank);
    else if (rank > 0 && (H5Sget_simple_extent_dims(space, grid->shape, NULL) != rank ||
                          H5Pget_chunk(creation, PB_H5_RANK_MAX, grid->chunk) != rank))
        status = pb_h5_fail(err, PB_CORRUPT, "%s: its chunks cannot be read", name);
    grid->rank = H5Sget_simple_extent_npoints(space) > 0 ? rank : 0;
    H5Pclose(creation);
    H5Sclose(space);
    return status;
}

enum pb_status pb_h5_check_chunks(hid_t dataset, const char *name, struct pb_error *err)
{
    struct grid grid = {.rank = 0};
    enum pb_status status = find_grid(dataset, name, &grid, err);

    return status != PB_OK || grid.rank == 0 ? status : check_grid(dataset, &grid, name, err);
}

/* ---- objects ---- */

/* An object under several names makes a small file endless. */
static enum pb_status check_names(hid_t object, const char *path, struct pb_error *err)
{
    H5O_info_t info;

    if (H5Oget_info2(object, &info, H5O_INFO_BASIC) < 0)
        return pb_h5_fail(err, PB_CORRUPT, "%s: its header cannot be read", path);
    if (info.rc != 1)
        return pb_fail(err, PB_CORRUPT, "%s: expected an object of one name, found one of %u", path,
                       info.rc);
    return PB_OK;
}

static enum pb_status check_group(hid_t group, const char *path, struct pb_error *err)
{
    H5G_info_t info;

    if (H5Gget_info(group, &info) < 0)
        return pb_h5_fail(err, PB_CORRUPT, "%s: its header cannot be read", path);
    if (info.storage_type == H5G_STORAGE_TYPE_SYMBOL_TABLE)
        return pb_fail(err, PB_CORRUPT,
                       "%s: expected the format of HDF5 1.8 or later, which has checksums", path);
    return PB_OK;
}

enum pb_status pb_h5_open_group(hid_t location, const char *path, hid_t *group_out,
                                struct pb_error *err)
{
    enum pb_status status = check_links(location, path, err);
    hid_t group;

    if (status != PB_OK)
        return status;
    group = H5Gopen2(location, path, H5P_DEFAULT);
    if (group < 0)
        return pb_h5_fail(err, PB_CORRUPT, "%s: expected a group, which cannot be opened", path);
    status = check_names(group, path, err);
    if (status == PB_OK)
        status = check_group(group, path, err);
    if (status != PB_OK) {
        H5Gclose(group);
        return status;
    }
    *group_out = group;
    return PB_OK;
}

void pb_h5_test_path(hid_t location, const char *folder, const char *test, char *path_out,
                     size_t size)
{
    const char *before = pb_name_before(PB_NAME_OF_TEST, test);
    hid_t group = H5I_INVALID_HID;

    snprintf(path_out, size, "%s/%s", folder, before == NULL ? test : before);
    if (before == NULL)
        return;
    if (pb_h5_open_group(location, path_out, &group, NULL) == PB_OK)
        H5Gclose(group);
    else
        snprintf(path_out, size, "%s/%s", folder, test);
}

enum pb_status pb_h5_open_dataset(hid_t location, const char *path, hid_t *dataset_out,
                                  struct pb_error *err)
{
    enum pb_status status = check_links(location, path, err);
    hid_t dataset;

    if (status != PB_OK)
        return status;
    dataset = H5Dopen2(location, path, H5P_DEFAULT);
    if (dataset < 0)
        return pb_h5_fail(err, PB_CORRUPT, "%s: expected a dataset, which cannot be opened", path);
    status = check_names(dataset, path, err);
    if (status == PB_OK)
        status = check_dataset(dataset, path, err);
    if (status != PB_OK) {
        H5Dclose(dataset);
        return status;
    }
    *dataset_out = dataset;
    return PB_OK;
}

enum pb_status pb_h5_open_attribute(hid_t location, const char *name, hid_t *attribute_out,
                                    struct pb_error *err)
{
    htri_t exists = H5Aexists(location, name);
    hid_t attribute, type, space;
    enum pb_status status;

    if (exists == 0)
        return pb_fail(err, PB_NOT_FOUND, "attribute %s is missing", name);
    attribute = exists < 0 ? H5I_INVALID_HID : H5Aopen(location, name, H5P_DEFAULT);
    if (attribute < 0)
        return pb_h5_fail(err, PB_CORRUPT, "attribute %s cannot be opened", name);
    type = H5Aget_type(attribute);
    space = H5Aget_space(attribute);
    status = check_type(type, name, err);
    if (status != PB_OK)
        pb_error_prefix(err, "attribute");
    else if (H5Sget_simple_extent_npoints(space) != 1)
        status = pb_fail(err, PB_CORRUPT, "attribute %s: expected one value, found %lld", name,
                         (long long)H5Sget_simple_extent_npoints(space));
    H5Sclose(space);
    H5Tclose(type);
    if (status != PB_OK) {
        H5Aclose(attribute);
        return status;
    }
    *attribute_out = attribute;
    return PB_OK;
}

/* ---- names ---- */

struct name_list {
    struct pb_key *names;
    size_t count, capacity;
    bool is_long; /* the last one, of which there is the beginning */
    bool is_full; /* no memory for more */
};

static herr_t collect_name(hid_t group, const char *name, const H5L_info_t *info, void *context)
{
    struct name_list *list = context;

    (void)group;
    (void)info;
    list->is_full = PB_RESERVE(list->names, list->count, list->capacity, "names", NULL) != PB_OK;
    if (list->is_full)
        return -1;
    PB_TEXT_SET(list->names[list->count].text, name);
    list->is_long = strlen(name) >= sizeof(list->names[0].text);
    list->count++;
    return list->is_long ? -1 : 0;
}

int pb_key_compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

/*
 * Sorted here: for any order but its own, HDF5 1.10 makes a table of the names, and where a block
 * of a large group is damaged it frees the rows of that table that it never filled.
 */
enum pb_status pb_h5_list(hid_t group, const char *path, struct pb_key **names_out,
                          size_t *count_out, struct pb_error *err)
{
    struct name_list list = {.names = calloc(1, sizeof(*list.names)), .capacity = 1};
    enum pb_status status = PB_OK;
    herr_t done = 0;

    list.is_full = list.names == NULL;
    if (!list.is_full)
        done = H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, collect_name, &list);
    if (list.is_full)
        status = pb_fail(err, PB_NO_MEMORY, "%s: out of memory allocating %zu names", path,
                         list.count + 1);
    else if (list.is_long)
        status = pb_fail(err, PB_CORRUPT, "%s: expected names of less than %d bytes, found %s…",
                         path, PB_KEY_LENGTH, list.names[list.count - 1].text);
    else if (done < 0)
        status = pb_h5_fail(err, PB_CORRUPT, "%s: cannot be listed", path);
    if (status != PB_OK) {
        free(list.names);
        return status;
    }
    qsort(list.names, list.count, sizeof(*list.names), pb_key_compare);
    *names_out = list.names;
    *count_out = list.count;
    return PB_OK;
}
