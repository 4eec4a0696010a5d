/*
 * What a measurement leaves behind: plain structures that the battery fills, h5schema/ stores and
 * reads, and the inference gets as its only input. Nothing here knows of files or devices.
 */
#ifndef PB_CORE_RECORD_H
#define PB_CORE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

enum {
    PB_NAME_LENGTH = 32,    /* test, axis, label, path, order, phase */
    PB_KEY_LENGTH = 96,     /* HOST.gpuSLOT */
    PB_TEXT_LENGTH = 128,   /* model, unit sentence, method */
    PB_MESSAGE_LENGTH = 256 /* one line for people */
};

/*
 * One chase: a row of `points`. Columns are named in the file as here, less the unit.
 *
 * A traced chase (mode "traced") owns accesses [first, first + count) of the series.
 * A timed chase (mode "timed") owns none: `timed` loads took `total_cycles` in all.
 */
struct pb_point {
    char path[PB_NAME_LENGTH];  /* global_ca, global_cg, shared, … or "none" for bare stamps */
    char order[PB_NAME_LENGTH]; /* sequential, random, warp, … */
    char mode[PB_NAME_LENGTH];  /* traced or timed */
    char phase[PB_NAME_LENGTH]; /* why the battery took this point: coarse, bisect, cold, … */
    uint64_t footprint_bytes;
    uint64_t stride_bytes;
    uint64_t first, count;   /* its accesses in latency and index */
    uint64_t warm;           /* loads before the record, in the same launch */
    uint64_t window;         /* accesses recorded without a break (R16's sliding window) */
    uint64_t timed;          /* loads of a timed chase */
    uint64_t total_cycles;   /* of the timed loads, by the SM's clock */
    double total_ns;         /* of the timed loads, by the device's global timer */
    double overhead_cycles;  /* to subtract from every latency of this point */
    uint64_t carveout_bytes; /* shared memory taken from a unified L1, as far as it is known */
    uint64_t seed;           /* of a random order */
    uint64_t base_address;   /* device address of offset 0 */
    uint64_t repeat;         /* 0, 1, … for points that differ in nothing else */
    int64_t sm_id;           /* -1: not known */
    /*
     * What went before the recorded loads. slots == 0: the point is of an earlier version, which
     * did not say, and the rest of this is not known either.
     */
    uint64_t slots;                 /* that the chase links to one cycle */
    uint64_t is_cold;               /* 1: no cache and no TLB held anything at the launch */
    uint64_t is_flushed;            /* 1: L2 was filled with other data before the launch */
    uint64_t is_prefilled;          /* 1: then every slot was read once, in order, past L1 */
    char warm_path[PB_NAME_LENGTH]; /* of the warm loads, but the first own_warm of them */
    uint64_t own_warm;              /* 0: all of them go by warm_path */
    uint64_t alias_bytes;           /* one block of this size makes up the array; 0: plain memory */
};

/* Points and all their accesses, concatenated. */
struct pb_series {
    struct pb_point *points;
    size_t point_count, point_capacity;
    uint32_t *latency_cycles; /* stamp differences as measured: overhead not subtracted */
    uint64_t *index_bytes;    /* offset of the accessed word from base_address */
    size_t access_count, access_capacity;
};

/* One axis of a matrix: `length` numbers, or as many labels (then values is NULL). */
struct pb_axis {
    char name[PB_NAME_LENGTH];
    char unit[PB_NAME_LENGTH];
    char description[PB_TEXT_LENGTH];
    size_t length;
    double *values;
    char (*labels)[PB_NAME_LENGTH];
};

enum { PB_MATRIX_RANK_MAX = 4 };

/* Row-major values over named axes. rank == 0: no matrix. */
struct pb_matrix {
    size_t rank;
    struct pb_axis axes[PB_MATRIX_RANK_MAX];
    double *values; /* NaN: not measured */
    char unit[PB_NAME_LENGTH];
    char description[PB_TEXT_LENGTH];
};

enum pb_outcome {
    PB_TEST_OK,
    PB_TEST_FAILED,      /* an error of the device or the host; message says which */
    PB_TEST_HUNG,        /* passed its deadline; the probe was killed */
    PB_TEST_CRASHED,     /* the probe died */
    PB_TEST_LOST,        /* the device was gone */
    PB_TEST_UNSUPPORTED, /* this device cannot do it; message says what is missing */
    PB_TEST_MISSING,     /* never ran: the device or the run ended before */
};

/* Everything one test records. */
struct pb_recording {
    char name[PB_NAME_LENGTH];
    enum pb_outcome outcome;
    char unit[PB_NAME_LENGTH];
    char method[PB_TEXT_LENGTH];     /* source and section, and the procedure's name */
    uint64_t method_version;         /* 1, 2, …: numbers of two versions are not compared */
    char message[PB_MESSAGE_LENGTH]; /* why it failed, or what was special */
    double seconds;                  /* wall time */
    double overhead_cycles;          /* as measured when the probe opened the device */
    int64_t sm_id;                   /* -1: several, or not known */
    int64_t concurrent_devices;      /* see struct pb_test_end */
    struct pb_series series;
    struct pb_matrix matrix;
};

/* The words of the file format: "ok", "failed", … and back; an unknown word is PB_TEST_MISSING. */
const char *pb_outcome_name(enum pb_outcome outcome);
enum pb_outcome pb_outcome_parse(const char *name);

/* How a test ended. */
struct pb_test_end {
    enum pb_outcome outcome;
    /* Of a test that all devices of a node run at the same time: how many were to run it. 0: the
       test is not of that kind, or an earlier version recorded it and did not say. */
    int64_t concurrent_devices;
};

/*
 * The one rule for two ends of the same test of the same device, used wherever results meet: does
 * `later` replace `earlier`? ok replaces all, everything replaces missing, and of the rest the
 * later counts. But with fewer concurrent devices it is a weaker test, which replaces nothing but,
 * where it is ok, a missing one; an earlier one that ran and does not say had at least two.
 */
bool pb_test_end_replaces(struct pb_test_end later, struct pb_test_end earlier);

/* Frees what the recording owns and zeroes it; NULL is allowed. */
void pb_recording_clear(struct pb_recording *recording);

/*
 * Adds a point. Its `first` is set here; its `count` accesses are copied from latency_cycles[count]
 * and index_bytes[count] (both may be NULL when count is 0). PB_NO_MEMORY leaves series unchanged.
 */
enum pb_status pb_series_append(struct pb_series *series, const struct pb_point *point,
                                const uint32_t *latency_cycles, const uint64_t *index_bytes,
                                struct pb_error *err);

/* Gives an axis numbers or labels (copied). */
enum pb_status pb_axis_set_values(struct pb_axis *axis, const char *name, const char *unit,
                                  const char *description, const double *values, size_t length,
                                  struct pb_error *err);
/* 0, 1, 2, … */
enum pb_status pb_axis_set_counted(struct pb_axis *axis, const char *name, const char *description,
                                   size_t length, struct pb_error *err);
enum pb_status pb_axis_set_labels(struct pb_axis *axis, const char *name, const char *description,
                                  const char *const *labels, size_t length, struct pb_error *err);

/* Allocates matrix->values for the axes that are set, filled with NaN. */
enum pb_status pb_matrix_allocate(struct pb_matrix *matrix, const char *unit,
                                  const char *description, struct pb_error *err);

/* Number of cells: the product of the axes' lengths; 0 for rank 0. */
size_t pb_matrix_size(const struct pb_matrix *matrix);

/* Copies text into a fixed field, cut to fit, always terminated, the rest zeroed. */
void pb_text_copy(char *field, size_t field_size, const char *text);
#define PB_TEXT_SET(field, text) pb_text_copy((field), sizeof(field), (text))

#endif
