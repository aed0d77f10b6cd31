/* SPDX-License-Identifier: BSD-3-Clause */
/* method.h - the interface of a recovery method. A new one is a folder with a row, and a line in
 * CSREC_METHODS; nothing outside its folder names it. */
#ifndef CSREC_METHOD_METHOD_H
#define CSREC_METHOD_METHOD_H

#include "base/call.h"
#include "base/rows.h"
#include "csrec/method.h"
#include "device/device.h"
#include "method/need.h"

struct csrec_whole; /* of tones.h */

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
     * name, or NULL if none do; and its mean squared error less that of the cheap
     * recovery, as a multiple of the mean squared difference of both, measured (docs/measured.md).
     */
    const csrec_setting *cheap_settings;
    double excess;
    /* Sets options that are not given; NULL: nothing to set. atoms: coefficients are requested. */
    void (*complete)(const csrec_measurement *measurement, bool atoms,
                     csrec_recover_options *options);
    bool by_channels; /* channels are recovered separately */
    bool uneven;      /* it takes channels with positions of their own: NaN in y elsewhere */
    bool beside;      /* it uses guides and the frames of a sequence; others do without */
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
    X(mixture)                                                                                     \
    X(grids)                                                                                       \
    X(pca)                                                                                         \
    X(conv)                                                                                        \
    X(net)                                                                                         \
    X(beside)                                                                                      \
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

#endif
