/*
 * Every program and every option, one row each. The parser (command_line.h), --help, the man pages
 * and the completion of shells (option_pages.c) are made from these two tables.
 */
#ifndef PB_CLI_OPTION_TABLE_H
#define PB_CLI_OPTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pb_program {
    PB_PROGRAM_PROBE,
    PB_PROGRAM_RUN,
    PB_PROGRAM_MERGE,
    PB_PROGRAM_CHECK,
    PB_PROGRAM_ANALYZE,
    PB_PROGRAM_OUTLIERS,
    PB_PROGRAM_DIFF,
    PB_PROGRAM_EXPORT,
    PB_PROGRAM_REPORT,
    PB_PROGRAM_MODEL,
    PB_PROGRAM_TRACE,
    PB_PROGRAM_COUNT,
};

/* What a value is: checked where it is a number, and completed by shells. */
enum pb_option_type {
    PB_TYPE_SWITCH,  /* takes no value */
    PB_TYPE_TEXT,    /* checked by what uses it, as are all below but numbers */
    PB_TYPE_WORD,    /* one of `words` */
    PB_TYPE_TESTS,   /* names of tests, with commas between */
    PB_TYPE_PROFILE, /* a profile's name or file */
    PB_TYPE_INTEGER, /* from `least` to `most` */
    PB_TYPE_SECONDS, /* above 0, at most `most` */
    PB_TYPE_PERCENT, /* a real number from `least` to `most` */
    PB_TYPE_FILE,    /* a file whose name ends as `words` says */
    PB_TYPE_FOLDER,
};

/* What programs read an option by. Rows of several programs may share one. */
enum pb_option_id {
    PB_OPTION_HELP,
    PB_OPTION_VERSION,
    PB_OPTION_OUTPUT,
    PB_OPTION_BACKEND,
    PB_OPTION_DEVICE,
    PB_OPTION_PROFILE,
    PB_OPTION_SEED,
    PB_OPTION_FAULT,
    PB_OPTION_BATTERY,
    PB_OPTION_TESTS,
    PB_OPTION_SUSTAIN,
    PB_OPTION_NO_PROGRESS,
    PB_OPTION_LIST,
    PB_OPTION_SERVE,
    PB_OPTION_FLEET,
    PB_OPTION_PROBE,
    PB_OPTION_DEADLINE,
    PB_OPTION_SPOOL,
    PB_OPTION_RESUME,
    PB_OPTION_JSON,
    PB_OPTION_JOBS,
    PB_OPTION_SUMMARY,
    PB_OPTION_ALL,
    PB_OPTION_MEMORY,
    PB_OPTION_PARAMETER,
    PB_OPTION_EVIDENCE,
    PB_OPTION_CSV,
    PB_OPTION_READ_ONLY,
    PB_OPTION_BASELINE,
    PB_OPTION_FLOORS,
    PB_OPTION_HISTORY,
    PB_OPTION_HOSTLIST,
    PB_OPTION_PROMETHEUS,
    PB_OPTION_POLICY,
    PB_OPTION_TOLERANCE,
    PB_OPTION_CACHE,
    PB_OPTION_FROM,
    PB_OPTION_WITHOUT,
    PB_OPTION_COMPARE,
    PB_OPTION_KERNEL,
    PB_OPTION_LAUNCHES,
    PB_OPTION_SMS,
    PB_OPTION_PRELOAD,
};

struct pb_option {
    enum pb_option_id id;
    unsigned programs; /* PB_FOR(…) of each program that takes it */
    char letter;       /* 0: none */
    const char *name;
    const char *argument; /* of its value, for people; NULL: a switch */
    enum pb_option_type type;
    const char *words;    /* possible values, or how a file's name ends ("h5"); NULL: any */
    const char *standard; /* the value without the option, for people; NULL: none */
    const char *help;
    uint64_t least, most;
    bool is_forwarded;  /* plumb-run hands it to its probes */
    bool is_repeatable; /* all its values count, not just the last one */
    bool is_answer;     /* instead of the program's work: nothing else is needed */
    bool is_hidden;     /* one program of plumb gives it to another */
};

#define PB_FOR(program) (1U << PB_PROGRAM_##program)

extern const struct pb_option pb_options[];
extern const size_t pb_option_count;

struct pb_exit_meaning {
    int code;
    const char *meaning;
};

struct pb_variable {
    const char *name, *help;
};

enum { PB_EXIT_MEANINGS = 4, PB_VARIABLES = 3 };

struct pb_command {
    const char *name;
    const char *arguments;   /* what it must be given: "-o OUT.h5 IN..." */
    const char *summary;     /* one sentence */
    const char *description; /* paragraphs; NULL: the summary says all */
    struct pb_exit_meaning exits[PB_EXIT_MEANINGS];
    struct pb_variable variables[PB_VARIABLES]; /* of the environment */
    const char *error_prefix;                   /* of a line about an error; NULL: the name */
    int usage_code;                             /* the exit code of a wrong command line */
    size_t argument_count_min, argument_count_max;
    const char *argument_words;  /* how the files' names end, as in struct pb_option */
    bool needs_output;           /* -o must be given */
    bool arguments_are_commands; /* all that follows the first argument belongs to it */
};

extern const struct pb_command pb_commands[PB_PROGRAM_COUNT];

#endif
