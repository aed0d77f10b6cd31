/* SPDX-License-Identifier: BSD-3-Clause */
/* method.h - the interface of a recovery method. A new one is a folder with a row, and a line in
 * CSREC_METHODS; nothing outside its folder names it. */
#pragma once

#include "csrec/learn.h"
#include "csrec/measurement.h"
#include "csrec/method.h"
#include "csrec/recover.h"
#include "solver/solver.h"

/* ---- estimates of memory and time. Each method counts its own allocations;
 * bench/estimate.py measures the rates of work. */

/* The tolerance of a pursuit on one grid, and of sparse solvers. */
#define CSREC_EPSILON_DEFAULT 1e-3

/* The task from which memory and time are estimated. */
typedef struct csrec_task {
    csrec_shape shape;
    int64_t entries, n, channels;
    double rate;      /* samples per entry of the whole signal, of which this may be a tile */
    int threads;      /* at least 1 */
    bool noisy;       /* a standard deviation of the noise is known */
    bool tones;       /* y is in tones: the scale has 255 of them */
    bool through;     /* measured through an operator; n is its rows */
    bool any;         /* operator nufft */
    double coils;     /* 1 without */
    bool atoms_alone; /* nobody asks for the signal */
    const csrec_recover_options *options;
} csrec_task;

/* bytes: the most touched at a time, including the caller's signal once written, excluding the
 * measurement. seconds: with task->threads. stage: their stages in the order in which they report;
 * none: a single one. */
typedef struct csrec_need {
    double bytes, seconds;
    int n_stages;
    csrec_stage stage[CSREC_STAGES_MOST];
} csrec_need;

static inline void csrec_need_stage(csrec_need *need, const char *name, double seconds) {
    if (need->n_stages < CSREC_STAGES_MOST)
        need->stage[need->n_stages++] = (csrec_stage){name, seconds};
}

/* The same task with other options. */
static inline csrec_task csrec_task_with(const csrec_task *task,
                                         const csrec_recover_options *options) {
    csrec_task other = *task;
    other.options = options;
    return other;
}

/* Converts seconds of one thread to seconds on the task's threads, for work in at most `lanes`
 * equal parts. */
double csrec_task_share(const csrec_task *task, double seconds, int64_t lanes);

static inline double csrec_signal_bytes(const csrec_task *task) {
    return 8.0 * (double)task->entries * (double)task->channels;
}

/* The value that the settings of the options give a parameter, else `otherwise`. */
double csrec_task_setting(const csrec_task *task, csrec_owner_kind kind, const char *name,
                          double otherwise);

/* The same for a parameter; its default if the setting is out of range, which methods refuse. */
double csrec_task_param(const csrec_task *task, const csrec_param *param);

/* Always true. */
bool csrec_task_always(const csrec_task *task);

csrec_task csrec_task_of(const csrec_measurement *measurement,
                         const csrec_recover_options *options);

struct csrec_whole;
struct csrec_film;

/* One recovery. The measurement may be a tile of the signal that `whole` describes; options are
 * resolved. */
typedef struct csrec_recovery {
    const csrec_measurement *measurement;
    const struct csrec_whole *whole;
    const csrec_recover_options *options;
    const csrec_context *context; /* the device whose engine runs */
    double unit;                  /* unit of y, in the units of models without a scale */
    double *signal;               /* [entries * channels], or NULL if only atoms are requested */
    double *variance; /* NULL, or as signal, negative: a method that can sets the squared errors
                         that it expects, in units of y */
    double *common;   /* the first rank's signal where ranks are threads of one process, else NULL:
                         each writes the cells of its tiles there */
    csrec_atoms *atoms;           /* [channels], or NULL */
    csrec_recover_report *report; /* zeroed; method, backend, estimate and times of the whole are
                                     filled by what calls run */
} csrec_recovery;

/* A row must have info.name, .brief and .source, and run; csrec_method_check_row has all rules.
 * The rest may be NULL or 0, which means what its line says. */
typedef struct csrec_method_type {
    csrec_method info;         /* device: what on_device computes, in words; NULL without it */
    const csrec_param *params; /* its own, integers, ended by an entry without a name; or NULL */
    /* Whether these options choose the method if they name no method, model or method's solver;
     * NULL: never. */
    bool (*chosen)(const csrec_recover_options *options);
    /* Whether it works with the given solver and basis, which may be NULL; NULL: with all. */
    bool (*works_with)(const char *solver, const char *basis);
    /* Whether it can recover a measurement, and that condition in words; NULL: all. */
    bool (*suits)(const csrec_measurement *measurement);
    const char *wants;
    bool through;     /* it also recovers what is measured through an operator */
    bool needs_model; /* info.model is not optional */
    /* Expected errors (csrec_uncertainty): settings that make it cheap, ended by one without a
     * name, or NULL if none do; and its mean squared error less that of the cheap recovery, as a
     * multiple of the mean squared difference of both, measured (docs/measured.md). */
    const csrec_setting *cheap_settings;
    double excess;
    /* Sets options that are not given; NULL: nothing to set. atoms: coefficients are requested. */
    void (*complete)(const csrec_measurement *measurement, bool atoms,
                     csrec_recover_options *options);
    bool by_channels; /* channels are recovered separately */
    bool uneven;      /* it takes channels with positions of their own: NaN in y elsewhere */
    /* Begins a sequence, for methods that use its frames, and guides; NULL: it does without. */
    csrec_status (*film)(const csrec_recovery *recovery, bool guides, struct csrec_film *film,
                         csrec_error *error);
    bool graded; /* it uses rays and deviations of samples; others have one sigma at a time */
    bool bounds; /* it departs from samples as far as sigma tells, if their noise is less, too */
    csrec_need (*need)(const csrec_task *task); /* NULL: much more than most need */
    /* Whether parts of the signal can be recovered separately; NULL: never. */
    bool (*parts)(const csrec_task *task);
    /* Of how many ranks of options->comm it shares its own work at most, without tiles; NULL or 1:
     * it does not. Then every rank runs it, with signal and atoms NULL on all but the first, and
     * reports what it did itself. */
    int64_t (*shares)(const csrec_recover_options *options, int64_t n, csrec_device_kind kind);
    /* Whether a CUDA device has an engine for it, and whether it is faster, including its first
     * use; NULL: never. */
    bool (*on_device)(const csrec_task *task);
    bool (*device_faster)(const csrec_task *task);
    /* Sets every entry of the signal, unless that is NULL, and the report's outcome, counts and
     * times of its own. Where a report of progress asks to stop, the best so far, with the outcome
     * CSREC_INTERRUPTED. The same bits for any number of threads. */
    csrec_status (*run)(const csrec_recovery *recovery, csrec_error *error);
} csrec_method_type;

/* Bits of csrec_method.accepts. */
#define CSREC_ACCEPTS(name) (1u << CSREC_ACCEPTS_##name)

/* The table. Of the methods that options choose and that support the task the first is used:
 * specific ones first. */
#define CSREC_METHODS(X)                                                                           \
    X(frames)                                                                                      \
    X(sparse)                                                                                      \
    X(gaussian)                                                                                    \
    X(grids)                                                                                       \
    X(pca)                                                                                         \
    X(net)                                                                                         \
    X(beside)                                                                                      \
    X(rendered)                                                                                    \
    X(smooth)                                                                                      \
    X(trial)                                                                                       \
    X(tv)                                                                                          \
    X(pnp)                                                                                         \
    CSREC_MORE_METHODS(X)

#define CSREC_METHOD_DECLARED(name) extern const csrec_method_type csrec_method_##name;
CSREC_METHODS(CSREC_METHOD_DECLARED)
#undef CSREC_METHOD_DECLARED

/* CSREC_ARGUMENT and a line that names the field, if a row lacks something. */
csrec_status csrec_method_check_row(const csrec_method_type *row, csrec_error *error);

/* Row i; NULL past the end. */
const csrec_method_type *csrec_method_at(int i);

/* The method that resolved options name. */
const csrec_method_type *csrec_method_of(const csrec_recover_options *options);

/* Resolves the method and checks that it takes all given options. measurement NULL: unknown; then
 * *method may be NULL. model: there is one, even if options->model is NULL. */
csrec_status csrec_method_resolve(const csrec_measurement *measurement,
                                  const csrec_recover_options *options, bool model, bool atoms,
                                  const csrec_method_type **method, csrec_error *error);

/* The method's run; fills the report's backend, and seconds_pursuit where the method has told no
 * times, and finds words for a failure without. */
csrec_status csrec_method_run(const csrec_method_type *method, const csrec_recovery *recovery,
                              csrec_error *error);

/* Its need, or the default. */
csrec_need csrec_method_need(const csrec_method_type *method, const csrec_task *task);

/* Whose parameters the settings of resolved options name: method, solver, basis. */
void csrec_method_owners(const csrec_recover_options *options, csrec_owner owner[3]);

/* Options for a recovery inside a recovery: the defaults, with seed, threads and progress of
 * `from`; through the outer call, which then knows of a request to stop that the inner recovery
 * needed no more. call NULL: there is none. */
csrec_recover_options csrec_options_within(const csrec_recover_options *from, csrec_call *call);

/* Resolves the options of a recovery inside a recovery, with a given method, and runs it. */
csrec_status csrec_recover_within(const csrec_recovery *recovery, csrec_recover_options *options,
                                  csrec_error *error);

/* The same; on the CPU where the recovery's device does not handle it, such as pictures smaller
 * than its blocks. */
csrec_status csrec_recover_start(const csrec_recovery *recovery, csrec_recover_options *options,
                                 csrec_error *error);

/* ---- the range from black to white: methods with constants for values of 0 to 255 work in
 * tones, so that results do not depend on the units. */

struct csrec_gaussian_axes; /* of gaussian/gaussian.h */

/* Properties of the whole signal, of which the measurement may be a part, so that parts are
 * recovered like the whole. Values have the units of the measurement. */
typedef struct csrec_whole {
    double *least, *most; /* [channels] of the samples; 0 of what is measured through an operator */
    int64_t n, entries;   /* samples, and positions for them */
    const struct csrec_gaussian_axes *axes; /* principal colours; NULL: those of the measurement */
} csrec_whole;

/* For a measurement of the whole signal. CSREC_MEMORY, as for a copy; clear it even then. */
csrec_status csrec_whole_of(const csrec_measurement *measurement, csrec_whole *whole,
                            csrec_error *error);
csrec_status csrec_whole_copy(const csrec_whole *from, int64_t channels, csrec_whole *to,
                              csrec_error *error);
void csrec_whole_clear(csrec_whole *whole);

/* Whether the samples of each channel are equal. */
bool csrec_whole_constant(const csrec_whole *whole, int64_t channels);

/* A tone, in the units of y: 1/255 of white less black, 1 where all samples of a channel are equal
 * and there is no scale. The half range is the largest of all channels.
 * middle: NULL or [channels], between each channel's least and most sample. */
double csrec_tones_unit(const csrec_measurement *measurement, const csrec_whole *whole,
                        double *middle);

/* Powers of two that make ranges of unlike channels alike, unit [channels]: value = unit * what is
 * alike. 1 where ranges are alike, and where a sigma or scale is one for all. true: some are not.
 */
bool csrec_units_of(const csrec_measurement *measurement, const csrec_whole *whole, double *unit);

typedef csrec_status (*csrec_recover_fn)(const csrec_recovery *recovery, void *context,
                                         csrec_error *error);

/* run, which is by the method, of samples in these units, less what they are far from 0; signal and
 * variance are back in those of y. Ranges of a part are those of the whole, so that all parts have
 * the same units. */
csrec_status csrec_units_run(const csrec_method_type *method, const csrec_recovery *recovery,
                             csrec_recover_fn run, void *context, csrec_error *error);

/* csrec_recover_start of the same samples in tones: `tones` tells those of a value of a channel,
 * sigma is the noise in them. So is the signal. */
csrec_status csrec_recover_in_tones(const csrec_recovery *recovery, csrec_recover_options *options,
                                    double sigma,
                                    double (*tones)(const void *job, int64_t channel, double value),
                                    const void *job, csrec_error *error);

/* Upper limit of the noise: above it, samples have no effect. Its square is finite in a float. */
#define CSREC_TONES_NOISE 1e15

/* The noise in tones of `unit`, 0: none; at most CSREC_TONES_NOISE. */
float csrec_tones_sigma(const csrec_measurement *measurement, double unit);

/* ---- shared by recoveries with a learned model. */

/* value of the model = gain * value of the measurement + offset, from black and white of both;
 * otherwise the measurement's values have `unit` in units of the model. */
typedef struct csrec_model_units {
    double gain, offset;
} csrec_model_units;

csrec_model_units csrec_model_units_of(const csrec_model *model,
                                       const csrec_measurement *measurement, double unit);

/* Puts samples without noise back into a recovered signal. */
void csrec_samples_restore(const csrec_measurement *measurement, double *signal);

/* ||y - signal at the samples|| / ||y||. */
double csrec_samples_residual(const csrec_measurement *measurement, const double *signal);

/* CSREC_DATA: samples in units of the model exceed the limit of its entries. */
csrec_status csrec_model_check_scales(const csrec_measurement *measurement,
                                      const csrec_model *model, csrec_error *error);

/* ---- converts a measurement and options to another unit of y, and results back. */

/* value = unit * converted value. Other pointers are those of the original. */
typedef struct csrec_normal {
    csrec_measurement m;
    csrec_recover_options options;
    double unit;
    double *y; /* owned, or NULL where unit is 1 */
    csrec_scaled scaled;
} csrec_normal;

/* y, sigma, scale and the lengths among the options. CSREC_MEMORY; clear it even then. */
csrec_status csrec_normal_create(const csrec_measurement *measurement,
                                 const csrec_recover_options *options, double unit,
                                 csrec_normal *normal, csrec_error *error);
void csrec_normal_clear(csrec_normal *normal);

/* Converts signal and atoms, each may be NULL, back to the units of y. CSREC_DATA: a value is not
 * finite, or not finite in a double. */
csrec_status csrec_normal_deliver(const csrec_normal *normal, double *signal, csrec_atoms *atoms,
                                  csrec_error *error);
