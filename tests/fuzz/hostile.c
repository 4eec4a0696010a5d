/* Each hostile file is one function and one row of the table below; see hostile.h. */
#include "fuzz/hostile.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/small_fleet.h"

#define DEVICE  "/devices/" SMALL_FLEET_KEY
#define TEST    DEVICE "/tests/l1_capacity"
#define MATRIX  DEVICE "/tests/l2_map"
#define LATENCY TEST "/latency"

static void require(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "hostile: %s failed\n", what);
    exit(2);
}

/* ---- links ---- */

static void put_external(hid_t file, const char *path, const char *target, const char *there)
{
    if (H5Lexists(file, path, H5P_DEFAULT) > 0)
        H5Ldelete(file, path, H5P_DEFAULT);
    require(H5Lcreate_external(target, there, file, path, H5P_DEFAULT, H5P_DEFAULT) >= 0,
            "external link");
}

static void put_soft(hid_t file, const char *path, const char *target)
{
    if (H5Lexists(file, path, H5P_DEFAULT) > 0)
        H5Ldelete(file, path, H5P_DEFAULT);
    require(H5Lcreate_soft(target, file, path, H5P_DEFAULT, H5P_DEFAULT) >= 0, "soft link");
}

static void external_analysis(hid_t file)
{
    put_external(file, "/analysis", "victim.h5", "/analysis");
}

static void external_fleet_fifo(hid_t file)
{
    put_external(file, "/fleet", "fifo", "/fleet");
}

static void external_devices_fifo(hid_t file)
{
    put_external(file, "/devices", "fifo", "/devices");
}

static void external_device_fifo(hid_t file)
{
    put_external(file, DEVICE, "fifo", "/");
}

static void external_test_fifo(hid_t file)
{
    put_external(file, TEST, "fifo", "/");
}

static void external_points(hid_t file)
{
    put_external(file, TEST "/points", "victim.h5", TEST "/points");
}

static void external_state_fifo(hid_t file)
{
    put_external(file, DEVICE "/state", "fifo", "/");
}

static void external_axis_fifo(hid_t file)
{
    put_external(file, MATRIX "/touch", "fifo", "/");
}

static void external_parameters_fifo(hid_t file)
{
    put_external(file, "/analysis/parameters", "fifo", "/");
}

static void external_findings_fifo(hid_t file)
{
    put_external(file, "/analysis/findings", "fifo", "/");
}

static void external_unknown_fifo(hid_t file)
{
    put_external(file, TEST "/more", "fifo", "/");
}

static void soft_analysis(hid_t file)
{
    put_soft(file, "/analysis", "/devices");
}

static void soft_test(hid_t file)
{
    put_soft(file, TEST, MATRIX);
}

static void soft_to_itself(hid_t file)
{
    put_soft(file, "/fleet", "/fleet");
}

static void user_link(hid_t file)
{
    static const H5L_class_t class = {.version = H5L_LINK_CLASS_T_VERS,
                                      .id = (H5L_type_t)(H5L_TYPE_UD_MIN + 40),
                                      .comment = "odd",
                                      .trav_func = (H5L_traverse_func_t)abort};

    require(H5Lregister(&class) >= 0 && H5Ldelete(file, "/fleet", H5P_DEFAULT) >= 0 &&
                H5Lcreate_ud(file, "/fleet", class.id, "x", 1, H5P_DEFAULT, H5P_DEFAULT) >= 0,
            "user-defined link");
}

static void component(hid_t file)
{
    require(H5Lcreate_hard(file, "/devices", file, TEST "/again", H5P_DEFAULT, H5P_DEFAULT) >= 0,
            "hard link");
}

static void one_test_twice(hid_t file)
{
    require(H5Lcreate_hard(file, TEST, file, DEVICE "/tests/l1_again", H5P_DEFAULT, H5P_DEFAULT) >=
                0,
            "hard link");
}

static void one_device_often(hid_t file)
{
    char path[64];

    for (int i = 0; i < 1000; i++) {
        snprintf(path, sizeof(path), "/devices/n%d.gpu0", i + 2);
        H5Lcreate_hard(file, DEVICE, file, path, H5P_DEFAULT, H5P_DEFAULT);
    }
}

static void long_name(hid_t file)
{
    char path[600] = "/devices/";

    memset(path + strlen(path), 'n', 500);
    H5Gclose(H5Gcreate2(file, path, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
}

static void deep_groups(hid_t file)
{
    hid_t at = H5Gopen2(file, TEST, H5P_DEFAULT);

    for (int i = 0; i < 5000; i++) {
        hid_t next = H5Gcreate2(at, "more", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

        H5Gclose(at);
        at = next;
    }
    H5Gclose(at);
}

/* ---- storage ---- */

static void put_attribute(hid_t file, const char *path, const char *name, hid_t type, hsize_t count,
                          const void *value)
{
    hid_t object = H5Oopen(file, path, H5P_DEFAULT);
    hid_t space = H5Screate_simple(1, &count, NULL), attribute;

    if (H5Aexists(object, name) > 0)
        H5Adelete(object, name);
    attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    require(attribute >= 0 && H5Awrite(attribute, type, value) >= 0, name);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Oclose(object);
}

/* Puts a dataset of this shape in the place of another. */
static void put_dataset(hid_t file, const char *path, hid_t type, int rank, const hsize_t *shape,
                        hid_t creation)
{
    static const hsize_t most[] = {H5S_UNLIMITED, H5S_UNLIMITED};
    bool chunked = H5Pget_layout(creation) == H5D_CHUNKED;
    hid_t space = H5Screate_simple(rank, shape, chunked ? most : NULL), dataset;

    if (H5Lexists(file, path, H5P_DEFAULT) > 0)
        H5Ldelete(file, path, H5P_DEFAULT);
    dataset = H5Dcreate2(file, path, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    require(dataset >= 0, path);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Pclose(creation);
    put_attribute(file, path, "unit", H5T_C_S1, 1, "x");
    put_attribute(file, path, "description", H5T_C_S1, 1, "x");
}

/* Contiguous for 0, else in chunks and filtered as it should be. */
static hid_t creation_of(hsize_t chunk)
{
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);

    if (chunk > 0) {
        H5Pset_chunk(creation, 1, &chunk);
        H5Pset_shuffle(creation);
        H5Pset_deflate(creation, 9);
        H5Pset_fletcher32(creation);
    }
    return creation;
}

static void put_external_storage(hid_t file, const char *target)
{
    hid_t creation = creation_of(0);
    hsize_t count = 120;

    H5Pset_external(creation, target, 0, 480);
    put_dataset(file, LATENCY, H5T_STD_U32LE, 1, &count, creation);
}

static void external_storage(hid_t file)
{
    put_external_storage(file, "victim.h5");
}

static void external_storage_fifo(hid_t file)
{
    put_external_storage(file, "fifo");
}

static void put_virtual(hid_t file, const char *path, hid_t type, hsize_t count, const char *target)
{
    hid_t creation = creation_of(0), space = H5Screate_simple(1, &count, NULL);

    H5Pset_virtual(creation, space, target, path, space);
    put_dataset(file, path, type, 1, &count, creation);
    H5Sclose(space);
}

static void virtual_latency(hid_t file)
{
    put_virtual(file, LATENCY, H5T_STD_U32LE, 120, "victim.h5");
}

static void virtual_latency_fifo(hid_t file)
{
    put_virtual(file, LATENCY, H5T_STD_U32LE, 120, "fifo");
}

/* Of a virtual dataset without end, HDF5 opens the others when it is asked for its extent. */
static void virtual_endless_fifo(hid_t file)
{
    hid_t creation = creation_of(0), space, source, dataset;
    hsize_t count = 120, most = H5S_UNLIMITED, start = 0, stride = 120;

    space = H5Screate_simple(1, &count, &most);
    source = H5Screate_simple(1, &count, &most);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, &stride, &most, &count);
    H5Pset_virtual(creation, space, "fifo", LATENCY, source);
    H5Ldelete(file, LATENCY, H5P_DEFAULT);
    dataset = H5Dcreate2(file, LATENCY, H5T_STD_U32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    if (dataset < 0) { /* HDF5 wants the source bounded or endless as the rest is */
        put_virtual(file, LATENCY, H5T_STD_U32LE, 120, "fifo");
    } else {
        H5Dclose(dataset);
    }
    H5Sclose(source);
    H5Sclose(space);
    H5Pclose(creation);
}

static void virtual_value_fifo(hid_t file)
{
    put_virtual(file, MATRIX "/value", H5T_IEEE_F64LE, 6, "fifo");
}

static void contiguous(hid_t file)
{
    hsize_t count = 120;

    put_dataset(file, LATENCY, H5T_STD_U32LE, 1, &count, creation_of(0));
}

static void missing_chunks(hid_t file)
{
    hsize_t count = 120;

    put_dataset(file, LATENCY, H5T_STD_U32LE, 1, &count, creation_of(120));
}

static void foreign_filter(hid_t file)
{
    hid_t creation = creation_of(0);
    hsize_t count = 120;

    H5Pset_chunk(creation, 1, &count);
    H5Pset_nbit(creation);
    H5Pset_deflate(creation, 9);
    H5Pset_fletcher32(creation);
    put_dataset(file, LATENCY, H5T_STD_U32LE, 1, &count, creation);
}

/* A filter that HDF5 would load from wherever HDF5_PLUGIN_PATH points. */
static void plugin_filter(hid_t file)
{
    hid_t creation = creation_of(120);
    hsize_t count = 120;

    H5Pset_filter(creation, 32004, H5Z_FLAG_OPTIONAL, 0, NULL);
    put_dataset(file, LATENCY, H5T_STD_U32LE, 1, &count, creation);
}

/* A chunk that says it went by the checksum and the shuffling. */
static void skipped_filters(hid_t file)
{
    hid_t dataset = H5Dopen2(file, LATENCY, H5P_DEFAULT);
    hid_t creation = H5Dget_create_plist(dataset);
    hsize_t offset = 0, size = 0, count = 120;
    uint32_t filters = 0;
    char bytes[4096];

    require(H5Dget_chunk_storage_size(dataset, &offset, &size) >= 0 && size < sizeof(bytes) &&
                H5Dread_chunk(dataset, H5P_DEFAULT, &offset, &filters, bytes) >= 0,
            "reading a chunk");
    H5Dclose(dataset);
    put_dataset(file, LATENCY, H5T_STD_U32LE, 1, &count, creation);
    dataset = H5Dopen2(file, LATENCY, H5P_DEFAULT);
    require(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0x5, &offset, size, bytes) >= 0, "a chunk");
    H5Dclose(dataset);
}

/* ---- sizes ---- */

static void endless_rows(hid_t file)
{
    hsize_t count = (hsize_t)1 << 60;

    put_dataset(file, LATENCY, H5T_STD_U32LE, 1, &count, creation_of(4096));
}

static void huge_chunk(hid_t file)
{
    hsize_t count = 120;

    put_dataset(file, LATENCY, H5T_STD_U32LE, 1, &count, creation_of(((hsize_t)1 << 30) - 1));
}

static void huge_element(hid_t file)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    hsize_t count = 2;

    H5Tset_size(type, (size_t)1 << 30);
    put_dataset(file, MATRIX "/touch", type, 1, &count, creation_of(1));
    H5Tclose(type);
}

/* Some hundred megabytes of zeros that compress to as many kilobytes. */
static void zeros(hid_t file)
{
    static const char *const names[] = {LATENCY, TEST "/index"};
    enum { CHUNK = 1 << 20 };
    hsize_t count = (hsize_t)1 << 24, chunk = CHUNK;
    void *bytes = calloc(CHUNK, 8);

    for (int i = 0; i < 2; i++) {
        hid_t dataset, space, memory;

        put_dataset(file, names[i], i == 0 ? H5T_STD_U32LE : H5T_STD_U64LE, 1, &count,
                    creation_of(chunk));
        dataset = H5Dopen2(file, names[i], H5P_DEFAULT);
        space = H5Dget_space(dataset);
        memory = H5Screate_simple(1, &chunk, NULL);
        for (hsize_t at = 0; at < count; at += chunk) {
            H5Sselect_hyperslab(space, H5S_SELECT_SET, &at, NULL, &chunk, NULL);
            H5Dwrite(dataset, i == 0 ? H5T_NATIVE_UINT32 : H5T_NATIVE_UINT64, memory, space,
                     H5P_DEFAULT, bytes);
        }
        H5Sclose(memory);
        H5Sclose(space);
        H5Dclose(dataset);
    }
    free(bytes);
}

static void no_unit(hid_t file)
{
    hid_t dataset = H5Dopen2(file, LATENCY, H5P_DEFAULT);

    H5Adelete(dataset, "unit");
    H5Dclose(dataset);
}

static void two_dimensions(hid_t file)
{
    hid_t old = H5Dopen2(file, TEST "/points", H5P_DEFAULT), type = H5Dget_type(old);
    hsize_t shape[2] = {3, 2}, chunk[2] = {3, 2};
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);

    H5Pset_chunk(creation, 2, chunk);
    H5Pset_shuffle(creation);
    H5Pset_deflate(creation, 4);
    H5Pset_fletcher32(creation);
    H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);
    put_dataset(file, TEST "/points", type, 2, shape, creation);
    H5Tclose(type);
    H5Dclose(old);
}

/* ---- types and attributes ---- */

static void named_type(hid_t file)
{
    hid_t type = H5Tcopy(H5T_STD_U32LE);
    hsize_t count = 120;

    require(H5Tcommit2(file, "/devices/type", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT) >= 0,
            "named type");
    put_dataset(file, LATENCY, type, 1, &count, creation_of(120));
    H5Tclose(type);
}

static void odd_number(hid_t file)
{
    hid_t type = H5Tcopy(H5T_STD_U32LE);
    hsize_t count = 120;

    H5Tset_precision(type, 7);
    H5Tset_offset(type, 11);
    put_dataset(file, LATENCY, type, 1, &count, creation_of(120));
    H5Tclose(type);
}

/* More values than the reader has room for one. */
static void many_values(hid_t file)
{
    static char values[400][128];
    hid_t type = H5Tcopy(H5T_C_S1);

    memset(values, 'x', sizeof(values));
    H5Tset_size(type, sizeof(values[0]));
    put_attribute(file, MATRIX "/value", "axes", type, 400, values);
    H5Tclose(type);
}

/* H5DSattach_scale() of 1.10 reads it into room for its own. */
static void long_class(hid_t file)
{
    static const char value[700] = "DIMENSION_SCALE";
    hid_t type = H5Tcopy(H5T_C_S1);

    H5Tset_size(type, sizeof(value));
    put_attribute(file, MATRIX "/touch", "CLASS", type, 1, value);
    put_attribute(file, MATRIX "/sm", "NAME", type, 1, value);
    H5Tclose(type);
}

static void class_of_many(hid_t file)
{
    static char value[64][700];
    hid_t type = H5Tcopy(H5T_C_S1);

    memset(value, 'x', sizeof(value));
    H5Tset_size(type, sizeof(value[0]));
    put_attribute(file, MATRIX "/touch", "CLASS", type, 64, value);
    H5Tclose(type);
}

static void endless_text(hid_t file)
{
    const char *value = "sim";
    hid_t type = H5Tcopy(H5T_C_S1);

    H5Tset_size(type, H5T_VARIABLE);
    put_attribute(file, DEVICE, "model", type, 1, &value);
    H5Tclose(type);
}

static void axis_elsewhere(hid_t file)
{
    static const char value[64] = "touch,/fleet";
    hid_t type = H5Tcopy(H5T_C_S1);

    H5Tset_cset(type, H5T_CSET_UTF8);
    H5Tset_size(type, sizeof(value));
    put_attribute(file, MATRIX "/value", "axes", type, 1, value);
    H5Tclose(type);
}

/* ---- words ---- */

/* A row of /fleet whose words steer a terminal, a shell and Slurm. */
static void words(hid_t file)
{
    static const struct {
        const char *column, *text;
    } changes[] = {{"host", "n1;$(reboot)\x1b[2J"},
                   {"message", "\x1b]0;owned\x07\nplumb-check: ok"},
                   {"status", "hung"}};
    hid_t dataset = H5Dopen2(file, "/fleet", H5P_DEFAULT);

    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        char text[256] = "";
        hid_t word = H5Tcopy(H5T_C_S1), row;

        H5Tset_size(word, sizeof(text));
        H5Tset_cset(word, H5T_CSET_UTF8);
        row = H5Tcreate(H5T_COMPOUND, sizeof(text));
        H5Tinsert(row, changes[i].column, 0, word);
        snprintf(text, sizeof(text), "%s", changes[i].text);
        require(H5Dwrite(dataset, row, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) >= 0, "words");
        H5Tclose(row);
        H5Tclose(word);
    }
    H5Dclose(dataset);
}

static void device_name(hid_t file)
{
    require(H5Lmove(file, DEVICE, file, "/devices/\x1b[31mn1`id`.gpu0", H5P_DEFAULT, H5P_DEFAULT) >=
                0,
            "name");
}

const struct hostile_file hostile_files[] = {
    {"external_analysis", external_analysis, "/analysis: expected a hard link, found an external"},
    {"external_fleet_fifo", external_fleet_fifo, "/fleet: expected a hard link, found an external"},
    {"external_devices_fifo", external_devices_fifo,
     "/devices: expected a hard link, found an ext"},
    {"external_device_fifo", external_device_fifo, DEVICE ": expected a hard link, found an ext"},
    {"external_test_fifo", external_test_fifo, TEST ": expected a hard link, found an external"},
    {"external_points", external_points, TEST "/points: expected a hard link, found an external"},
    {"external_state_fifo", external_state_fifo, DEVICE "/state: expected a hard link, found an e"},
    {"external_axis_fifo", external_axis_fifo, MATRIX "/touch: expected a hard link, found an ext"},
    {"external_parameters_fifo", external_parameters_fifo, "/analysis/parameters: expected a hard"},
    {"external_findings_fifo", external_findings_fifo, "/analysis/findings: expected a hard link"},
    {"external_unknown_fifo", external_unknown_fifo,
     TEST "/more: expected a hard link, found an e"},
    {"soft_analysis", soft_analysis, "/analysis: expected a hard link, found a soft link"},
    {"soft_test", soft_test, TEST ": expected a hard link, found a soft link"},
    {"soft_to_itself", soft_to_itself, "/fleet: expected a hard link, found a soft link"},
    {"user_link", user_link, "/fleet: expected a hard link, found a user-defined link"},
    {"circle", component, "/devices: expected an object of one name, found one of 2"},
    {"one_test_twice", one_test_twice, TEST ": expected an object of one name, found one of 2"},
    {"one_device_often", one_device_often, ": expected an object of one name, found one of 1001"},
    {"long_name", long_name, "/devices: expected names of less than"},
    {"deep_groups", deep_groups, TEST "/more: expected a dataset, which cannot be opened"},
    {"external_storage", external_storage, LATENCY ": expected data in this file, found external"},
    {"external_storage_fifo", external_storage_fifo, LATENCY ": expected data in this file, found"},
    {"virtual_latency", virtual_latency, LATENCY ": expected data of its own, found a virtual"},
    {"virtual_latency_fifo", virtual_latency_fifo, LATENCY ": expected data of its own, found a v"},
    {"virtual_endless_fifo", virtual_endless_fifo, LATENCY ": expected data of its own, found a v"},
    {"virtual_value_fifo", virtual_value_fifo, MATRIX "/value: expected data of its own, found a"},
    {"contiguous", contiguous, LATENCY ": expected chunked storage"},
    {"missing_chunks", missing_chunks, "latency: a chunk is missing"},
    {"foreign_filter", foreign_filter, LATENCY ": expected the filters shuffle, deflate and fletc"},
    {"plugin_filter", plugin_filter, LATENCY ": expected the filters shuffle, deflate and fletch"},
    {"skipped_filters", skipped_filters, "latency: a chunk went by filters"},
    {"endless_rows", endless_rows, "latency: expected data for 1152921504606846976 elements"},
    {"huge_chunk", huge_chunk, LATENCY ": expected chunks of 1 to"},
    {"huge_element", huge_element, MATRIX "/touch: expected elements of 1 to"},
    {"no_unit", no_unit, LATENCY ": expected the attributes unit and description"},
    {"zeros", zeros, "points: own 120 of 16777216 accesses"},
    {"two_dimensions", two_dimensions, "points: expected 1 dimension, found 2"},
    {"named_type", named_type, LATENCY ": expected a type of its own, found a named one"},
    {"odd_number", odd_number, LATENCY ": expected numbers, texts of fixed length or a table"},
    {"many_values", many_values, "expected the name of axis"},
    {"long_class", long_class, MATRIX "/touch: is not in the schema"},
    {"class_of_many", class_of_many, MATRIX "/touch: is not in the schema"},
    {"endless_text", endless_text, "attribute: model: expected numbers, texts of fixed length"},
    {"axis_elsewhere", axis_elsewhere, "expected the name of axis 1, found \"/fleet\""},
    {"words", words, "expected a host's name, found \"n1;$(reboot)\\x1b[2J\""},
    {"device_name", device_name, "its device \"n1.gpu0\" is not in /devices"},
};

const size_t hostile_file_count = sizeof(hostile_files) / sizeof(hostile_files[0]);

void hostile_write(const struct hostile_file *hostile, const char *path)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), file;

    small_fleet_write(path, false);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V110);
    file = H5Fopen(path, H5F_ACC_RDWR, access);
    H5Pclose(access);
    require(file >= 0, hostile->name);
    hostile->change(file);
    require(H5Fclose(file) >= 0, hostile->name);
}
