/* SPDX-License-Identifier: BSD-3-Clause */
/* csrec/method.h - methods of recovery, and the plan of a recovery. */
#ifndef CSREC_METHOD_H
#define CSREC_METHOD_H

#include "recover.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Options that a method may have. Options that the chosen method does not have are refused.
 * X(NAME, the option in words). */
#define CSREC_ACCEPTS_LIST(X)                                                                      \
    X(MODEL, "model")                                                                              \
    X(SOLVER, "solver")                                                                            \
    X(BASIS, "basis")                                                                              \
    X(SHIFTS, "shifts")                                                                            \
    X(ORDER, "order")                                                                              \
    X(COLUMNS, "columns")                                                                          \
    X(REFERENCE, "reference_pursuit")                                                              \
    X(EPSILON, "epsilon")                                                                          \
    X(ATOMS, "atoms")                                                                              \
    X(MIN_COEFFICIENT, "min_coefficient")                                                          \
    X(SIGMA, "sigma")                                                                              \
    X(STAGNATION, "stagnation")                                                                    \
    X(SECONDS, "minutes")                                                                          \
    X(START, "start")                                                                              \
    X(TIMES, "times")                                                                              \
    X(COEFFICIENTS, "coefficients")

/* Positions of the bits of csrec_method.accepts. */
typedef enum csrec_accepts {
#define CSREC_ACCEPTS_ENUM(name, text) CSREC_ACCEPTS_##name,
    CSREC_ACCEPTS_LIST(CSREC_ACCEPTS_ENUM)
#undef CSREC_ACCEPTS_ENUM
} csrec_accepts;

/* A row of the table of methods. */
typedef struct csrec_method {
    const char *name, *brief, *source; /* source: paper and section, or a page of the handbook */
    const char *model;                 /* kind of model that it needs, or NULL */
    const char *solver;  /* NULL, or the name in options.solve.solver that chooses this method */
    unsigned accepts;    /* 1 << csrec_accepts for each option */
    bool iterates;       /* its report counts iterations */
    bool predicts_error; /* it expects its own errors: csrec_uncertainty is cheap */
    const char
        *device; /* what of it a CUDA device computes, and where not all of it; NULL: nothing */
    const char *topic; /* what it is for, "pictures", as lists are ordered; NULL: another */
} csrec_method;

/* Row i of the table, false past the end; parameter i of a row, NULL past the end. */
CSREC_API bool csrec_method_info(int i, csrec_method *method);
CSREC_API const csrec_param *csrec_method_param(int method, int i);

/* What to use instead of a method that earlier versions had; NULL: they had none of that name. */
CSREC_API const char *csrec_method_instead(const char *former);

enum { CSREC_PARAMETERS_MOST = 32 };

/* The resolved options of a recovery. */
typedef struct csrec_plan {
    csrec_method method;
    csrec_recover_options options; /* all are set; solver and basis are NULL if the method has none,
                                      shifts is 0 if it has no grids */
    int n_parameters;              /* of the method, the solver and the basis, */
    csrec_setting parameter[CSREC_PARAMETERS_MOST]; /* with the values in use */
    bool by_channels;                               /* channels are recovered separately */
    const char *backend;                            /* where csrec_recover starts */
    csrec_estimate estimate;                        /* of the CPU; method NULL on a device */
} csrec_plan;

/* What a recovery is asked for. Atoms alone need no memory for the signal. */
typedef enum csrec_results {
    CSREC_RESULT_SIGNAL,
    CSREC_RESULT_SIGNAL_AND_ATOMS,
    CSREC_RESULT_ATOMS
} csrec_results;

/* Resolves the options, as csrec_recover does first. The plan points into the options, the model
 * and static tables. The method is options->method or, if that is NULL, the one that the other
 * options choose: the method of the model's kind; of a solver's name that stands for a method
 * (gaussian); frames or sparse for a basis; grids for options that only grids have; else the
 * default of the measurement's shape (csrec_recover_defaults). CSREC_ARGUMENT, CSREC_DATA,
 * CSREC_DEVICE: as csrec_recover. Thread-safe; some milliseconds, and a look at every sample for
 * each cut. */
CSREC_API csrec_status csrec_recover_plan(const csrec_measurement *measurement,
                                          const csrec_recover_options *options,
                                          csrec_results results, csrec_plan *plan,
                                          csrec_error *error);

/* The same from the options alone: CSREC_ARGUMENT if they conflict for every measurement. A model
 * that is not read yet may be left out with `model` true. */
CSREC_API csrec_status csrec_recover_options_check(const csrec_recover_options *options, bool model,
                                                   bool atoms, csrec_error *error);

#ifdef __cplusplus
}
#endif
#endif
