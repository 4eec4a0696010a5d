/* What to measure, as the command line says; the same for every rank. */
#ifndef PB_RUN_SELECTION_H
#define PB_RUN_SELECTION_H

#include <stddef.h>
#include <stdint.h>

/* Strings belong to the command line. NULL: not given. */
struct pb_test_selection {
    const char *backend;  /* auto, cuda or sim */
    const char *selector; /* index, UUID or PCI bus id */
    const char *profile;  /* of simulated devices */
    const char *fleet;    /* file of a simulated fleet */
    const char **faults;
    size_t fault_count;
    uint64_t seed;
    const char *battery;    /* quick, standard or full */
    const char *tests;      /* comma-separated; instead of the battery's */
    double sustain_seconds; /* of load in the test sustained_load; 0: by the battery */
};

#endif
