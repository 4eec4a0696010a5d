/* A small fleet file for the tests of h5schema/, in a folder of their own. */
#ifndef PB_TESTS_SCHEMA_SAMPLE_H
#define PB_TESTS_SCHEMA_SAMPLE_H

#include "h5schema/file.h"

int sample_make_folder(void **state);
int sample_remove_folder(void **state);
const char *sample_in_folder(const char *name); /* until the next call */

struct pb_device_info sample_device_info(void);
struct pb_member sample_member(int64_t rank, const char *key, const char *status);

/* Two points with three and two accesses, and a 2 x 3 matrix with a labelled axis. */
void sample_fill_recording(struct pb_recording *recording, const char *name);

void sample_add_test(struct pb_fleet *fleet, const char *key, struct pb_recording *recording);
void sample_add_device(struct pb_fleet *fleet, const char *key);
void sample_add_member(struct pb_fleet *fleet, int64_t rank, const char *key, const char *status);

/* A whole file of one device with one test. */
void sample_write_fleet(const char *path, const char *key);

/* What the validator says against it. */
size_t sample_violations(const char *path);

#endif
