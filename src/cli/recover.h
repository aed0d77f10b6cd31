/* recover.h - one recovery of csrecover: what is asked for, what a run holds, and its steps. */
#ifndef CSREC_CLI_RECOVER_H
#define CSREC_CLI_RECOVER_H

#include "methods.h"
#include "output.h"
#include "progress.h"
#include "quality.h"
#include "report.h"

typedef struct cli_recover_arguments {
    cli_operands inputs;
    const char *output, *mask, *coefficients, *reference, *scale, *model, *report, *plot;
    int format, method, solver, basis, quality, columns, order,
        backend; /* of names; -1: not given */
    cli_texts set;
    int64_t bits, atoms, shifts, threads, memory; /* memory: MiB */
    double epsilon, min_coefficient;
    uint64_t seed;
    bool seed_given, reference_pursuit, info, json, verbose, quiet, resume, history, no_sync;
} cli_recover_arguments;

/* The arguments, checked: the same for every input. */
typedef struct cli_request {
    const cli_tool *tool;
    cli_recover_arguments a;
    char *const *words; /* of the command line, [n_words] */
    int n_words;
    bool folder, page_folder, plot_folder;  /* --output, --report, --plot name a folder */
    const csrec_format *format;             /* NULL in a folder: what suits the signal */
    double scale[2];                        /* of --scale */
    csrec_setting settings[CLI_TEXTS_MOST]; /* of --set */
    char setting_names[CLI_TEXTS_MOST][32];
} cli_request;

/* All that the recovery of one input holds. */
typedef struct cli_job {
    const cli_request *request;
    const cli_tool *tool;           /* of the request */
    const cli_recover_arguments *a; /* of the request */
    const char *input;
    char *output, *reference, *page, *plot; /* NULL: none */
    char *command;                          /* the line that repeats this recovery */
    char *fingerprint;                      /* of what was read (cli_recover_fingerprint) */
    const csrec_format *format;
    cli_tones tones;
    csrec_measurement measurement;
    csrec_recover_options options;
    csrec_setting settings[CLI_TEXTS_MOST + CLI_PRESET_SETTINGS]; /* a preset's, then those given */
    csrec_plan plan;                                              /* what the options come to */
    cli_progress *progress;
    double *signal, *truth;
    csrec_atoms *atoms;
    csrec_model *model; /* of --model */
    csrec_recover_report report;
    csrec_history *history; /* NULL: not asked for */
    double seconds_read;
    int shared; /* inputs that went through one recovery; its report is of all of them */
    cli_quality quality;
    char failure[sizeof(csrec_error)]; /* the line that told why it failed, or empty */
} cli_job;

/* Names of the choices, NULL past the end. */
const char *cli_format_name(int i);
const char *cli_columns_name(int i);
const char *cli_order_name(int i);
const char *cli_quality_name(int i);

/* Fills the rest of a request whose tool and arguments are set. This and every function below that
 * returns int: CLI_CONTINUE, or the code to exit with after one line on stderr. */
int cli_request_check(cli_request *request);

/* Options of which some would be ignored are refused. */
int cli_request_conflicts(const cli_request *request);

/* Every input of the request. The tool's exit code. */
int cli_request_run(const cli_request *request, cli_progress *progress);

/* cli_failure that is remembered in the job. */
int cli_job_fail(cli_job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What the input, without its folder and ending, is called in a folder of outputs. */
int cli_input_name(const char *input, const char **name);

enum { CLI_FOLDERS = 3 };

/* Folders that were not there before. */
typedef struct cli_folders {
    const char *folder[CLI_FOLDERS];
    int n;
} cli_folders;

/* Makes the folders of outputs, if there are to be some. */
int cli_folders_make(const cli_request *request, cli_folders *made);
/* Removes those of them that hold nothing. */
void cli_folders_drop(const cli_folders *made);

/* Adds what a folder of --output, --report, --plot or --reference holds for each input. */
void cli_recover_add_paths(const void *arguments, cli_paths *paths);

/* What the result of an input depends on, in one line: the contents of the input, the mask, the
 * model and, under --report and --plot, the reference; all settings that change it; the version. To
 * be freed; NULL: out of memory. *known false: it cannot be told, as of stdin
 * (recover_fingerprint.c). */
char *cli_recover_fingerprint(const cli_request *request, const char *input, bool *known);

/* The truth of an input: --reference, or the file of the input's name in that folder. To be freed;
 * NULL: none, or out of memory. */
char *cli_reference_path(const cli_request *request, const char *input);

/* Whether the signal, and page, plot and atoms if they are asked for, are there, whole, and have
 * the fingerprint of this request. */
bool cli_input_is_done(const cli_request *request, const char *input);

/* Once the measurement is known: where the signal goes and what it is compared with. */
int cli_job_paths(cli_job *job);

/* Reads --model, if given (recover_model.c). */
int cli_job_model(cli_job *job);

/* The options of csrec_recover, and the plan that they come to. */
int cli_job_options(cli_job *job);

/* Reads the input, refuses what can be refused before the work, and makes room. */
int cli_job_load(cli_job *job);

/* Inputs that cli_jobs_share with the first. All fail, or none. */
int cli_jobs_recover(cli_job *const *jobs, int n);

/* Whether b, loaded, gives the same signal when it is recovered together with a, as further
 * channels: the same samples' places, and a method that treats channels by themselves. */
bool cli_jobs_share(const cli_job *a, const cli_job *b);

/* All files that are asked for, or none. */
int cli_job_write(cli_job *job);

/* What there is to say on stderr; and as members of an object. */
void cli_job_tell(const cli_job *job);
void cli_job_json(const cli_job *job, cli_json *json);
void cli_job_clear(cli_job *job);

#endif
