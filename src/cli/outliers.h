/*
 * Private to plumb-outliers: what its parts hand to each other. Reading fills a feature table, the
 * analysis judges it, and each kind of output is one function over the ruling.
 */
#ifndef PB_CLI_OUTLIERS_H
#define PB_CLI_OUTLIERS_H

#include <stdbool.h>
#include <stdio.h>

#include "analysis/verdict/evenness.h"
#include "analysis/verdict/features.h"
#include "analysis/verdict/finding.h"
#include "analysis/verdict/policy.h"
#include "analysis/verdict/reference.h"
#include "analysis/verdict/score.h"
#include "cli/atomic_file.h"
#include "cli/terminal.h"
#include "h5schema/rows.h"

/* Files of earlier runs, in the order in which they were named. */
struct pb_earlier_runs {
    char **paths;
    size_t count;
};

/*
 * Adds a file, or each *.h5 of a folder by name; pb_earlier_runs_clear() on failure too.
 *
 * PB_IO: a folder that cannot be read. PB_INVALID: one without fleet files.
 */
enum pb_status pb_earlier_runs_add(struct pb_earlier_runs *runs, const char *path,
                                   struct pb_error *err);

void pb_earlier_runs_clear(struct pb_earlier_runs *runs);

/*
 * Reads a site's policy: rules by cause and by metric, muted findings. pb_policy_clear() it, on
 * failure too; `file` must outlive it.
 *
 * PB_INVALID: a wrong key or value, by its JSON path.
 */
enum pb_status pb_policy_load(const char *file, struct pb_policy *policy_out, struct pb_error *err);

void pb_policy_clear(struct pb_policy *policy);

/*
 * Reads the references of all models, from $PLUMB_REFERENCE_DIR, where they are installed, or this
 * tree. pb_references_clear() them, on failure too. PB_INVALID: a wrong key or value, by its path.
 */
enum pb_status pb_references_load(struct pb_references *references_out, struct pb_error *err);

/* All there is to report of one fleet file. */
struct pb_ruling {
    const char *file;
    struct pb_earlier_runs runs; /* the baseline */
    struct pb_policy policy;
    struct pb_references references;
    struct pb_evenness evenness;
    struct pb_run run;
    struct pb_features features;
    struct pb_scores scores;
    struct pb_findings findings;
    enum pb_severity status; /* of the whole: its value is the exit code */
    double false_alarm_rate; /* that healthy peers have any CRITICAL finding; NaN: too few peers */
};

/*
 * Reads every device of a fleet file into a feature table, and a row for each rank without a
 * device. What plumb-analyze has kept in the file is taken from there, as long as it is by this
 * version and from the file as it is; other devices are inferred, by as many processes as there are
 * processors; each has one test of one device in memory at a time. The file stays as it is.
 * pb_features_clear() the feature table, on failure too.
 *
 * announce  called before each rank with how many have been read; NULL: not
 *
 * PB_INVALID: no fleet file of this schema, or no rank in it.
 */
enum pb_status pb_outliers_read(const char *path,
                                void (*announce)(const char *path, size_t done, size_t count),
                                struct pb_run *run_out, struct pb_features *features,
                                struct pb_error *err);

/* What a fleet is judged by, and compared with. */
struct pb_ruling_options {
    const char *policy;                               /* a site's; NULL: none */
    const struct pb_earlier_runs *baseline, *history; /* NULL: none */
    void (*announce)(const char *path, size_t done,
                     size_t count); /* as pb_outliers_read() has it */
};

/*
 * Judges a fleet file. pb_ruling_clear() the ruling, on failure too; what the options point to must
 * outlive it. Errors are those of pb_outliers_read(), pb_policy_load() and pb_references_load();
 * PB_INVALID: a baseline without any model of the fleet.
 */
enum pb_status pb_ruling_make(const char *file, const struct pb_ruling_options *options,
                              struct pb_ruling *ruling_out, struct pb_error *err);
void pb_ruling_clear(struct pb_ruling *ruling);

/* A node that should take no more work, and why: "hbm, n01.gpu1; slow_sm, SM 17 of n01.gpu2". */
struct pb_drain {
    const char *host;
    char reason[PB_MESSAGE_LENGTH]; /* the worst finding first; as many as there is room for */
};

/*
 * The nodes of the members of all findings that drain, in the findings' order, each once. Free
 * *drains_out; it points into the ruling.
 */
enum pb_status pb_ruling_drains(const struct pb_ruling *ruling, struct pb_drain **drains_out,
                                size_t *count_out, struct pb_error *err);

/* "n[01-04,07]" of these, less those whose name no host can have; free() it. */
enum pb_status pb_ruling_hostlist(const struct pb_ruling *ruling, char **text_out,
                                  struct pb_error *err);

/* How many devices of the run are simulated: such a verdict says so wherever it speaks. */
size_t pb_ruling_simulated(const struct pb_ruling *ruling);

/* Findings as rows of /analysis/findings; free() them. */
enum pb_status pb_ruling_rows(const struct pb_findings *findings, struct pb_finding_row **rows_out,
                              struct pb_error *err);

/* Stores the findings, and the devices of each, in the fleet file. */
enum pb_status pb_ruling_store(const struct pb_ruling *ruling, const char *path,
                               struct pb_error *err);

/*
 * The files that it leaves for others, one row each: an output is an option, and a file
 * outliers_NAME.c with pb_ruling_NAME_kind and pb_ruling_write_NAME. What cannot be written shows
 * in ferror(file).
 *
 * json        the verdict for programs: docs/outliers-json.md
 * hostlist    the nodes to drain, as Slurm writes them
 * prometheus  for the textfile collector of node_exporter
 * floors      limits per model that healthy devices pass, with their false-alarm rate: for other
 *             checks
 */
#define PB_RULING_OUTPUTS(OUTPUT)                                                                  \
    OUTPUT(JSON, json)                                                                             \
    OUTPUT(HOSTLIST, hostlist)                                                                     \
    OUTPUT(PROMETHEUS, prometheus)                                                                 \
    OUTPUT(FLOORS, floors)

#define OUTPUT(option, name)                                                                       \
    extern const struct pb_atomic_file_kind pb_ruling_##name##_kind;                               \
    enum pb_status pb_ruling_write_##name(const struct pb_ruling *ruling, FILE *file,              \
                                          struct pb_error *err);
PB_RULING_OUTPUTS(OUTPUT)
#undef OUTPUT

/* The table, worst first, and the scontrol lines that would drain the nodes. */
enum pb_status pb_ruling_print(const struct pb_ruling *ruling, struct pb_terminal terminal,
                               FILE *file, struct pb_error *err);

#endif
