/* SPDX-License-Identifier: BSD-3-Clause */
/* recover.h - one recovery of csrecover: the request, the state of a run, and its steps. */
#pragma once

#include "tools/common/fingerprint.h"
#include "tools/common/guide.h"
#include "tools/common/output.h"
#include "tools/common/progress.h"
#include "tools/common/ranks.h"

typedef struct cli_recover_arguments {
    cli_operands inputs;
    const char *output, *mask, *coefficients, *reference, *scale, *model, *report, *plot,
        *uncertainty, *sigma, *fill, *coils, *noise, *trajectory, *grid, *coordinates, *values,
        *devices, *range;
    int format, method, solver, basis, quality, columns, order, backend, dtype, colormap,
        curve; /* of names; -1: not given */
    cli_texts set, guides;
    int64_t bits, atoms, shifts, threads, memory, tile; /* memory: MiB */
    int64_t time_axis, slice;
    double follow, epsilon, min_coefficient, minutes, within, interval;
    uint64_t seed;
    double unknown;
    bool seed_given, unknown_given, channels_last, channels_first, volume, reference_pursuit, info,
        json, verbose, quiet, resume, history, no_sync, merge, robust, cell_means, labels, no_guide,
        sequence, slice_given, slices, time_axis_given, follow_given;
} cli_recover_arguments;

/* Settings that a preset has, at most. */
enum { CLI_PRESET_SETTINGS = 4 };

/* The checked arguments, the same for every input. */
typedef struct cli_request {
    const cli_tool *tool, *all; /* all: speaks for all ranks, tool for one */
    cli_recover_arguments a;
    csrec_comm *comm;     /* ranks that share the inputs; NULL: one process, or */
    csrec_comm *tiles;    /* they share the tiles of one input */
    csrec_priors *priors; /* all inputs' */
    char *const *words;   /* of the command line, [n_words] */
    int n_words;
    bool folder, page_folder, plot_folder, map_folder; /* --output, --report, --plot, --uncertainty
                                                          name a folder */
    bool frames;                                       /* --sequence of files, not of one array */
    bool listed;                /* the inputs are texts of their own, from a folder */
    const csrec_format *format; /* NULL in a folder: what suits the signal */
    double scale[2];            /* of --scale */
    char backend[256];          /* "cuda:0,2" of --devices, or a thread's "cuda:2"; else empty */
    int device[CSREC_DEVICES_MOST], n_devices; /* of --devices */
    csrec_shape grid;                          /* of --grid */
    double range[2];                           /* of --range; NAN: not given */
    double sigma;                              /* of --sigma; NAN: auto, */
    csrec_noise_law law;                       /* or this, where what is NAN is to be found */
    csrec_setting settings[CLI_TEXTS_MOST];    /* of --set */
    char setting_names[CLI_TEXTS_MOST][32];
} cli_request;

enum { CLI_OUTPUTS = 5 }; /* of an input: signal, coefficients, page, plot, map */

/* Step 1, reading: the samples, and what is known about them. */
typedef struct cli_samples {
    csrec_measurement measurement;
    csrec_placement placement; /* of samples at real coordinates */
    csrec_facts facts;         /* of the input that was read last */
    int64_t contradictions[2]; /* of --merge, as csrec_measurement_merge */
    int64_t dropped;           /* outliers, by --robust */
    csrec_noise_law law;       /* of --sigma, found */
    csrec_doubts doubts;
    csrec_fill fill;  /* of --within and --fill; its mask is freed with the job */
    char lacking[96]; /* numbers of the columns of a table that have no value */
    cli_tones tones;
    int64_t slice; /* of --slices: the one that is read */
    int time;      /* of one array that is recovered as a sequence: 1 + its axis of time; 0: none */
    double seconds;
} cli_samples;

/* Step 2, naming: the files of an input, locked against other runs. NULL: none. */
typedef struct cli_targets {
    char *output, *reference, *page, *plot, *map; /* map: of the uncertainty */
    char *journal;                                /* keeps finished tiles, beside the output */
    const csrec_format *format;                   /* of the output */
    csrec_file_lock *locks[CLI_OUTPUTS];
    char *command;                 /* the command that repeats this recovery */
    char *fingerprint;             /* fingerprint of the inputs (cli_recover_fingerprint), */
    bool known;                    /* and of all their contents */
    char prior[CLI_CONTENTS_ROOM]; /* of cli_prior_find, if the recovery may use it; else "" */
} cli_targets;

/* Step 3, planning. */
typedef struct cli_setup {
    csrec_recover_options options;
    csrec_setting settings[CLI_TEXTS_MOST + CLI_PRESET_SETTINGS]; /* a preset's, then those given */
    csrec_plan plan;                                              /* the resolved options */
    csrec_model *model;                                           /* of --model */
} cli_setup;

/* Of a signal that is recovered in slabs, while it is written. */
typedef struct cli_large {
    bool on, must; /* must: it does not fit into memory; else ranks share it */
    bool placed;   /* its samples have positions */
    csrec_slab_file *samples;
    csrec_slabs *slabs;
} cli_large;

typedef struct cli_quality {
    double psnr; /* dB, of the values of all channels together; infinity if equal */
    double ssim; /* mean over channels; NaN if it is not defined: not 2-D, or below 11 x 11 */
    double peak;
    double wrong; /* share of the values that differ, which tells of classes */
    double
        units; /* the unit of the truth in those of the signal, if it is evidently another; or 0 */
} cli_quality;

/* The simplest other recovery, which a page shows beside the real one. */
typedef struct cli_simple {
    double *signal; /* NULL: there is none */
    cli_quality quality;
    double expected, seconds; /* as those of the result */
} cli_simple;

/* Step 4, recovering: the signal, and what is known about it. */
typedef struct cli_result {
    double *signal, *truth, *uncertainty; /* uncertainty: with a map or page */
    double *pairs; /* NULL, or the complex signal, of which `signal` has the magnitudes */
    csrec_atoms *atoms;
    csrec_recover_report report;
    int64_t left; /* values that --within and --fill leave unknown */
    int shared;   /* inputs that went through one recovery; its report is of all of them */
    csrec_history *history;            /* NULL: not requested */
    double expected, seconds_expected; /* root mean square error; NAN: not known */
    double most;       /* what that is at most, with 95 % confidence; NAN: not known */
    double unpromised; /* share of the values whose interval is infinite */
    cli_quality quality;
    cli_simple simple;
    csrec_status lost_status; /* why something about the signal is not known, but the signal is */
    csrec_error lost;
} cli_result;

/* Step 5, writing: which files stand; any: even if the job fails. */
typedef struct cli_written {
    bool atoms, page, plot, map, any;
} cli_written;

/* The recovery of one input. */
typedef struct cli_job {
    const cli_request *request;
    const cli_tool *tool;           /* of the request */
    const cli_recover_arguments *a; /* of the request */
    const char *input;
    int number;           /* of the input */
    csrec_noise_law *law; /* of --sigma; of frames as the first has it */
    cli_progress *progress;
    cli_samples in;
    cli_targets out;
    cli_setup setup;
    cli_large large;
    cli_result result;
    cli_written written;
    char failure[sizeof(csrec_error)]; /* the error message, or empty */
} cli_job;

/* Entries of the signal, whose shape was checked when it was read; its values, of complex ones the
 * magnitudes. */
static inline int64_t cli_entries(const csrec_measurement *measurement) {
    int64_t entries = 0;
    csrec_shape_count(&measurement->shape, &entries);
    return entries;
}
static inline int64_t cli_signal_values(const csrec_measurement *measurement) {
    return cli_entries(measurement) * measurement->channels;
}

/* The smallest and largest of n >= 1 values. */
void cli_range_of(int64_t n, const double *values, double *low, double *high);

/* Of what is written with CSREC_USE_LOSSY. */
#define CLI_LOSSY "%s is compressed: values change, known ones too; a .png keeps them"

/* Whether the measurement has real entries of the signal, about which samples tell something. */
/* A frame of which nothing is measured. */
bool cli_job_is_empty(const cli_job *job);
/* An option that needs the whole signal, or all samples, at a time; NULL: none. */
const char *cli_job_obstacle(const cli_job *job);
/* The error as "INPUT: slice K: what is wrong", of the slice that is read. */
csrec_status cli_slice_fail(const cli_job *job, csrec_status status, csrec_error *error);
/* Of the stack of --slices; else 1. */
static inline int64_t cli_job_slices(const cli_job *job) {
    return job->a->slices ? job->in.facts.slices : 1;
}
static inline bool cli_job_has_points(const cli_job *job) {
    return !job->in.measurement.through && !job->in.measurement.is_complex;
}

/* Whether the signal is needed: atoms alone need no memory for it. */
bool cli_job_wants_signal(const cli_job *job);
/* The smallest and largest of the samples; of the signal, of what is measured otherwise. */
void cli_job_range(const cli_job *job, double *low, double *high);

/* Names of the choices, NULL past the end. */
const char *cli_format_name(int i);
const char *cli_columns_name(int i);
const char *cli_order_name(int i);
const char *cli_curve_name(int i);
const char *cli_quality_name(int i);

/* The number of recoveries: of the inputs, or 1 if they are merged. */
int cli_recoveries(const cli_recover_arguments *a);

/* Fills the rest of a request whose tool and arguments are set. This and every function below that
 * returns int: CLI_CONTINUE, or the exit code after a message on stderr. */
int cli_request_check(cli_request *request);
/* If there are several ranks, shares the inputs among them. */
int cli_request_share(cli_request *request, const cli_ranks *ranks);
/* Refuses combinations in which options would be ignored. */
int cli_request_conflicts(const cli_request *request);

/* Checks --devices. */
int cli_devices_check(cli_request *request);
/* The backend and the devices that ran, "cuda:0,2". */
const char *cli_devices_text(const csrec_recover_report *report, char *text, size_t size);
/* cli_request_run, with several inputs on several devices if there are. */
int cli_devices_run(cli_request *request, cli_progress *progress);

/* Recovers every input of the request; returns the tool's exit code. */
int cli_request_run(const cli_request *request, cli_progress *progress);

/* cli_failure that also stores the message in the job. Of ranks that share it the first prints the
 * first failure, its own or that of another, and all end. */
int cli_job_fail(cli_job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The name of the input, without folder and ending, in a folder of outputs. */
int cli_input_name(const char *input, const char **name);

enum { CLI_FOLDERS = 4 };

/* Folders that did not exist before. */
typedef struct cli_folders {
    const char *folder[CLI_FOLDERS];
    int n;
} cli_folders;

/* Creates the folders of outputs, if any. */
int cli_folders_make(const cli_request *request, cli_folders *made);
/* Removes those of them that are empty. */
void cli_folders_drop(const cli_folders *made);

/* Adds the paths in folders of --output, --report, --plot or --reference for each input. */
void cli_recover_add_paths(const void *arguments, cli_paths *paths);

/* One line with all that the result of an input depends on, but for the prior: the contents of the
 * input, the mask, the model and, with --report and --plot, the reference; all settings that change
 * the result; the version. Free it; NULL: out of memory. *known is false if contents are unknown,
 * as of stdin (paths.c). */
char *cli_recover_fingerprint(const cli_request *request, const char *input, bool *known);

/* The line (NULL: NULL), with what cli_prior_find told as its last entry; "": without one. The
 * line given is freed, or is the result. NULL: out of memory. */
char *cli_fingerprint_add_prior(char *line, const char *prior);

/* What must be alike on all ranks, as such a line: settings, names of files, and what tells that
 * they are the same; the version, the prior that may be used. */
char *cli_recover_card(const cli_request *request, const char *prior);

/* What the learned prior is that is installed; "": no recovery of a picture by this request would
 * use it. */
csrec_status cli_prior_find(const cli_request *request, char text[CLI_CONTENTS_ROOM],
                            csrec_error *error);

/* Whether the signal, and page, plot and atoms if requested, exist, are complete, and have the
 * fingerprint of this request. */
bool cli_input_is_done(const cli_request *request, const char *input);

/* Checks its options, and makes a list of the files of a folder. */
int cli_sequence_check(cli_request *request);
/* Frees the inputs. */
void cli_sequence_forget(cli_request *request);

/* The measurement with time first, of a frame as the only one, which shares what it can with the
 * job's. Of one array whether it can be a sequence, its recovery, and the expected errors of it. */
csrec_status cli_stack_check(cli_job *job, csrec_error *error);
csrec_status cli_stack_make(const cli_job *job, csrec_measurement *stack, csrec_error *error);
void cli_stack_drop(const cli_job *job, csrec_measurement *stack);
csrec_status cli_stack_recover(cli_job *job, csrec_recover_report *report, csrec_error *error);
csrec_status cli_stack_expect(cli_job *job, const csrec_recover_options *options,
                              csrec_promise *promise, csrec_error *error);
static inline bool cli_job_is_stack(const cli_job *job) {
    return job->in.time > 0;
}
/* An .npz may say it of itself. */
static inline bool cli_job_is_sequence(const cli_job *job) {
    return job->a->sequence || cli_job_is_stack(job) || job->in.measurement.sequence;
}

/* Whether only a part is filled; reads which. And makes NaN of the rest. */
bool cli_job_leaves(const cli_job *job);
int cli_job_read_fill(cli_job *job);
csrec_status cli_job_leave(cli_job *job, csrec_error *error);
/* Reads the measurement, and with --merge those of all inputs. */
csrec_status cli_job_read(cli_job *job, csrec_error *error);
/* Tells what the file says beside its samples, and how those at real coordinates became cells. */
void cli_job_tell_reading(const cli_job *job);
void cli_placement_json(const csrec_placement *placement, cli_json *json);

/* The warning that merged inputs contradict each other; false if they do not. */
bool cli_samples_contradict(const cli_samples *samples, char text[CSREC_DOUBT_SIZE]);

/* If the input does not fit into memory and all that is asked for can be made in slabs, sets
 * job->large.on and the measurement, without samples (share.c). */
int cli_job_find_large(cli_job *job);
/* Reads all samples once, and plans. */
int cli_job_begin_large(cli_job *job);
/* Recovers it and writes the output. files: NULL on all but the first of several ranks. */
csrec_status cli_job_write_large(cli_job *job, csrec_files *files, csrec_error *error);
/* The options by which the measurement is read. */
csrec_read_options cli_job_read_options(cli_job *job);
/* After the measurement is read: finds the output path of the signal and its reference, and locks
 * the outputs against other runs. */
int cli_job_paths(cli_job *job);

/* --sigma and --robust, or hints at them: the check of the command line; the work once the
 * measurement is read. */
int cli_sigma_check(cli_request *request);
int cli_job_noise(cli_job *job);

/* What a reader of a result should know (facts.c). */
typedef struct cli_sentences {
    char text[12][CSREC_DOUBT_SIZE];
    int n, grave; /* the first `grave` are told to who wants quiet, too */
} cli_sentences;

/* Finds doubts about the samples that are used, and prints them as warnings. */
int cli_job_doubt(cli_job *job);

/* Values of entries of the signal that are not known. nowhere: NULL, or receives the number of
 * channels without a known one. */
int64_t cli_unknown_values(const csrec_measurement *measurement, int64_t *nowhere);

/* Prints warnings about the result. */
void cli_job_warn(const cli_job *job);
/* All that lets the result be worthless; and what else is worth a remark. */
cli_sentences cli_job_warnings(const cli_job *job);
cli_sentences cli_job_remarks(const cli_job *job);

/* Where the measurement's sigma is from: "file", "option", "estimate"; NULL: there is none. */
const char *cli_sigma_source(const cli_job *job);

/* Sets the options of csrec_recover and makes the plan. */
int cli_job_options(cli_job *job);
/* Reads the input, checks all that can be checked before the work, and allocates memory. */
int cli_job_load(cli_job *job);

/* Recovers inputs that cli_jobs_share with the first. All fail or none. */
int cli_jobs_recover(cli_job *const *jobs, int n);

/* What is known of a signal that was recovered, or why it was not. */
int cli_job_take(cli_job *job, csrec_status status, const csrec_recover_report *report,
                 csrec_error *error);

/* After the recovery: what error is to be expected, if that is asked for or cheap; its PSNR; and
 * writes the map. */
void cli_job_expect(cli_job *job);
/* A csrec_progress_fn: stops when the user does. */
bool cli_is_interrupted(const csrec_progress *now, void *context);
/* For a page: interpolation of the same samples, with its errors (compare.c). */
void cli_job_compare(cli_job *job);
/* Room for the expected errors, if they are shown. */
void cli_job_want_errors(cli_job *job);
/* They are not known, and who asked for them is told why. */
void cli_job_lose_errors(cli_job *job, csrec_status status, const csrec_error *error);
/* The PSNR of an expected error; NAN: it is not known, or 0. */
double cli_job_psnr_of(const cli_job *job, double error);
csrec_status cli_job_map(void *job, csrec_files *files, csrec_error *error);

/* Whether the loaded b gives the same signal if it is recovered together with a, as further
 * channels: the same sampled positions, and a method that treats channels separately. */
bool cli_jobs_share(const cli_job *a, const cli_job *b);

/* The recovery goes on without something about its signal; the first reason is kept, and the job
 * fails with it once the signal is written. */
void cli_result_lose(cli_result *result, csrec_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* cli_signal_refusal; a .csv of samples is written as one, whatever the shape. */
const char *cli_job_refusal(const cli_job *job, const csrec_format *format, const cli_tones *tones);
/* The value that stands for unknown ones, of the options or the file; NaN: none. */
double cli_job_unknown(const cli_job *job);
/* Whether there is one, and no known value is it. */
bool cli_job_avoids(const cli_job *job);
/* Black, white and bits of a picture of the signal. */
cli_tones cli_job_tones(const cli_job *job);
/* Writes the requested files, as cli_products_write; job->written.any if any is written. */
int cli_job_write(cli_job *job);
/* Reports on stderr; and as members of a JSON object. */
void cli_job_tell(const cli_job *job);
void cli_job_json(const cli_job *job, cli_json *json);
void cli_job_clear(cli_job *job);

/* Every method, solver and basis, one line each with their parameters below. */
void cli_methods_list(FILE *out);

/* Name i of a method; of what --solver takes; of a basis for csrec_recover. NULL past the end. */
const char *cli_method_name(int i);
const char *cli_solver_name(int i);
const char *cli_basis_name(int i);

/* Key i of --set: every parameter of a method, solver or basis once; NULL past the end. */
const char *cli_setting_key(int i);

/* key=value texts as settings [texts->n]; names stay in `names`, [CLI_TEXTS_MOST][32].
 * CLI_CONTINUE, or CLI_USAGE after one line. */
int cli_settings_read(const cli_tool *tool, const cli_texts *texts, char names[][32],
                      csrec_setting *settings);

/* What the process takes where the recovery, of samples in memory, takes so much: itself, the
 * samples, the signal as it is written; reading, expected errors and writing. */
csrec_estimate cli_process_estimate(const csrec_measurement *m, const csrec_estimate *recovery);

/* Describes a measurement on stdout. threads: of the estimates. false: a write to stdout failed. */
bool cli_describe(const char *path, const csrec_measurement *measurement, int64_t threads);
/* The same as members of an object. */
void cli_describe_json(const csrec_measurement *measurement, int64_t threads, cli_json *json);

/* NumPy's name of type i of csrec_dtype; NULL past the end. */
const char *cli_dtype_name(int i);

/* Reads the truth, a PNG or .npy with the measurement's shape and channels, into values [entries *
 * channels], which the caller frees. Black and white of a PNG become the measurement's scale. */
csrec_status cli_truth_read(const char *path, const csrec_measurement *measurement,
                            bool channels_first, const cli_tones *tones, double **values,
                            csrec_error *error);

/* The span of the scale, else of the truth's n values. */
double cli_peak_of(const cli_tones *tones, int64_t n, const double *truth);

/* peak: the span of the scale, else of the truth's values. leaves: of the signal's values that are
 * not NaN, and no SSIM. */
csrec_status cli_quality_of(const csrec_measurement *measurement, const cli_tones *tones,
                            const double *truth, const double *signal, bool leaves,
                            cli_quality *quality);
