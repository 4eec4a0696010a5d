/*
 * make_hostile: writes the hostile files into the folder in which it is started, with the victim
 * and the FIFO that they name, and one line for each: "NAME.h5<tab>what plumb-check says of it".
 *
 * Beside those of hostile.c: what is no fleet file at all, and one in the old format of HDF5.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz/hostile.h"
#include "fuzz/small_fleet.h"

static void say(const char *name, const char *refusal)
{
    printf("%s\t%s\n", name, refusal);
}

/* A copy of the small fleet file with something before it. */
static void write_behind(const char *path, size_t before)
{
    FILE *from = fopen("victim.h5", "rb"), *to = fopen(path, "wb");
    char block[4096] = "";
    size_t length;

    if (from == NULL || to == NULL)
        exit(2);
    for (size_t i = 0; i < before; i++)
        fputc('#', to);
    while ((length = fread(block, 1, sizeof(block), from)) > 0)
        fwrite(block, 1, length, to);
    fclose(from);
    fclose(to);
}

static void write_old_format(const char *path)
{
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);

    H5Gclose(H5Gcreate2(file, "devices", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Fclose(file);
}

int main(void)
{
    char path[128];

    small_fleet_write("victim.h5", false);
    if (mkfifo("fifo", 0666) != 0 && errno != EEXIST)
        return 2;
    for (size_t i = 0; i < hostile_file_count; i++) {
        snprintf(path, sizeof(path), "%s.h5", hostile_files[i].name);
        hostile_write(&hostile_files[i], path);
        say(path, hostile_files[i].refusal);
    }
    write_old_format("old_format.h5");
    say("old_format.h5", "expected the format of HDF5 1.8 or later");
    write_behind("user_block.h5", 512);
    say("user_block.h5", "user_block.h5: expected");
    say("fifo", "fifo: expected a regular file");
    say(".", ".: expected a regular file");
    say("/dev/zero", "/dev/zero: expected a regular file");
    return 0;
}
