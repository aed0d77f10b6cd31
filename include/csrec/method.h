/* csrec/method.h - methods of recovery, and the plan that options come to. */
#ifndef CSREC_METHOD_H
#define CSREC_METHOD_H

#include "recover.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Options that a method may take; what is given beside a method that does not take it is refused.
 * X(NAME, the option in words). */
#define CSREC_TAKES_LIST(X)                                                                        \
    X(MODEL, "--model")                                                                            \
    X(SOLVER, "--solver")                                                                          \
    X(BASIS, "--basis")                                                                            \
    X(MEAN, "mean")                                                                                \
    X(SHIFTS, "--shifts")                                                                          \
    X(ORDER, "--order")                                                                            \
    X(COLUMNS, "--columns")                                                                        \
    X(REFERENCE, "--reference-pursuit")                                                            \
    X(EPSILON, "--epsilon")                                                                        \
    X(ATOMS, "--atoms")                                                                            \
    X(MIN_COEFFICIENT, "--min-coefficient")                                                        \
    X(SIGMA, "sigma")                                                                              \
    X(STAGNATION, "stagnation")                                                                    \
    X(START, "start")                                                                              \
    X(COEFFICIENTS, "--coefficients")

/* Positions of the bits of csrec_method.takes. */
typedef enum csrec_takes {
#define CSREC_TAKES_ENUM(name, text) CSREC_TAKES_##name,
    CSREC_TAKES_LIST(CSREC_TAKES_ENUM)
#undef CSREC_TAKES_ENUM
} csrec_takes;

/* A row of the table of methods. */
typedef struct csrec_method {
    const char *name, *brief, *source; /* source: paper and section, or a page of the handbook */
    const char *model;                 /* kind of model that it rests on, or NULL */
    const char *solver; /* NULL, or what options.solve.solver may say to choose this method */
    unsigned takes;     /* 1 << csrec_takes for each option */
    bool iterates;      /* its report counts iterations and has a residual */
} csrec_method;

/* Row i of the table, false past the end; parameter i of a row, NULL past the end. */
CSREC_API bool csrec_method_info(int i, csrec_method *method);
CSREC_API const csrec_param *csrec_method_param(int method, int i);

enum { CSREC_PARAMETERS_MOST = 32 };

/* What csrec_recover does with these options. */
typedef struct csrec_plan {
    csrec_method method;
    csrec_recover_options options; /* nothing is left open: solver and basis are NULL where the
                                      method has none, shifts is 0 where it has no grids */
    int n_parameters;              /* of the method, the solver and the basis, */
    csrec_setting parameter[CSREC_PARAMETERS_MOST]; /* with the values that count */
    bool by_channels;        /* every channel is recovered as if it were alone */
    const char *backend;     /* where csrec_recover begins */
    csrec_estimate estimate; /* of the CPU; method NULL on a device */
} csrec_plan;

/* Resolves the options once; csrec_recover begins with it. Pointers of the plan point into the
 * options, the model and tables. The method is options->method, or, where that is NULL, the one
 * that the other options ask for: that of the model's kind; of a solver's name that is a method's
 * (gaussian, gmm); frames or sparse for a basis; grids for what only grids take; else the default
 * of the measurement's shape (csrec_recover_defaults). atoms: whether coefficients are wanted.
 * CSREC_ARGUMENT, CSREC_DATA, CSREC_DEVICE: as csrec_recover. Thread-safe; some milliseconds, and a
 * look at every sample for each cut. */
CSREC_API csrec_status csrec_recover_plan(const csrec_measurement *measurement,
                                          const csrec_recover_options *options, bool atoms,
                                          csrec_plan *plan, csrec_error *error);

/* The same as far as options alone tell it: CSREC_ARGUMENT if they do not go together, whatever is
 * measured. A model that is not read yet may be left out with `model` true. */
CSREC_API csrec_status csrec_recover_options_check(const csrec_recover_options *options, bool model,
                                                   bool atoms, csrec_error *error);

#ifdef __cplusplus
}
#endif
#endif
