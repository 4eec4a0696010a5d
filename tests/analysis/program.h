/* Running plumb-analyze from a test. */
#ifndef PB_TESTS_ANALYSIS_PROGRAM_H
#define PB_TESTS_ANALYSIS_PROGRAM_H

enum { PROGRAM_OUTPUT_MAX = 1 << 20 };

/* Output of a run, cut at the end if it is longer; its exit code. */
struct program_run {
    int code;
    char output[PROGRAM_OUTPUT_MAX];
    char errors[4096];
};

/*
 * Runs PLUMB_ANALYZE with these arguments of a shell; work is a folder for its output. Returns 0,
 * or -1 when it could not be run or died by a signal.
 */
int program_run(const char *arguments, const char *work, struct program_run *run_out);

#endif
