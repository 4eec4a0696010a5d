/* What a test sets and sees of the NVML of known answers. */
#ifndef PB_TESTS_KERNELS_FAKE_NVML_H
#define PB_TESTS_KERNELS_FAKE_NVML_H

#define FAKE_NVML_UUID   "GPU-fa4e0000-0000-0000-0000-000000000000"
#define FAKE_NVML_BUS_ID "00000000:FA:00.0"
/* Two instances of MIG, and one that shares the first one's GPU instance. */
#define FAKE_NVML_MIG_UUID       "MIG-fa4e0000-0000-0000-0000-000000000001"
#define FAKE_NVML_MIG_UUID_TOO   "MIG-fa4e0000-0000-0000-0000-000000000002"
#define FAKE_NVML_MIG_UUID_SHARE "MIG-fa4e0000-0000-0000-0000-000000000003"

enum fake_nvml_mode {
    FAKE_NVML_HEALTHY,
    FAKE_NVML_UNSUPPORTED,
    FAKE_NVML_LOST,
    FAKE_NVML_MIG,       /* in MIG mode */
    FAKE_NVML_MIG_ALONE, /* no GPU is reported for an instance */
};

extern enum fake_nvml_mode fake_nvml_mode;
extern int fake_nvml_open;     /* initialisations not yet shut down */
extern int fake_nvml_searches; /* for a UUID */

#endif
