/* SPDX-License-Identifier: BSD-3-Clause */
/* recover.h - how a recovery runs: method and options, as a whole or in tiles, number of threads,
 * memory and time; presets. */
#pragma once

#include "recover/parts/parts.h"

/* A plan, and the internal data to run it. */
typedef struct csrec_layout {
    csrec_plan resolved;
    const csrec_method_type *method;
    csrec_tiling tiling;
    uint64_t available; /* to the process, whatever the options allow */
    bool parts;         /* can be recovered in tiles */
    bool through;       /* measured through an operator */
    bool bounded;       /* as in csrec_recover_report, */
    const char *choice; /* as there */
} csrec_layout;

/* Requested results: coefficients, the signal, or both. */
typedef struct csrec_wanted {
    bool signal, atoms;
    bool slabs; /* of the signal no more than a line of tiles at a time */
} csrec_wanted;

/* Resolves the options. The measurement is checked. */
csrec_status csrec_layout_resolve(const csrec_measurement *measurement,
                                  const csrec_recover_options *options, csrec_wanted wanted,
                                  csrec_layout *layout, csrec_error *error);

/* What a job of csrec_device_work begins with whose device the layout chooses, */
typedef struct csrec_layout_job {
    const csrec_measurement *measurement;
    const csrec_layout *layout;
} csrec_layout_job;

/* and its device_faster: whether "auto" should try a device. */
bool csrec_layout_faster(csrec_device_kind kind, const void *job);

/* Plans the recovery for a device: threads and tiles by its memory. CSREC_UNSUPPORTED: the method
 * has no engine there. */
csrec_status csrec_layout_make(const csrec_measurement *measurement, csrec_wanted wanted,
                               const csrec_context *context, csrec_layout *layout,
                               csrec_error *error);

/* Both, on the device of options->backend. where: NULL, or where a method that has no parts needs
 * the whole, for a message: then it has to have parts that fit into memory. */
csrec_status csrec_layout_plan(const csrec_measurement *measurement,
                               const csrec_recover_options *options, csrec_wanted wanted,
                               const char *where, csrec_layout *layout, csrec_error *error);

/* Completes the report of what ran: a default epsilon was not asked for, so missing it is what a
 * solver without a bound would have told. */
void csrec_layout_report(const csrec_layout *layout, csrec_recover_report *report);

/* CSREC_MEMORY if it does not fit. */
csrec_status csrec_layout_check(const csrec_layout *layout, csrec_error *error);

/* The default of a measurement: sets the method and its settings; the options are unchanged if none
 * suits. Returns what the samples chose, as csrec_recover_report.choice. */
const char *csrec_preset_default(const csrec_measurement *measurement,
                                 csrec_recover_options *options);

/* Whether one network should see the three channels together: a picture of three that follow one
 * another, as colours of photographs do, with noise or, if `large` counts, many entries. */
bool csrec_colours_together(const csrec_measurement *measurement, bool large);

/* That of label maps, or their preset "fast". */
void csrec_labels_default(const csrec_measurement *measurement, bool fast,
                          csrec_recover_options *options);

/* csrec_recover of options with labels; plan not NULL: csrec_recover_plan. */
csrec_status csrec_labels_recover(const csrec_measurement *measurement,
                                  const csrec_recover_options *options, csrec_wanted wanted,
                                  double *signal, csrec_recover_report *report, csrec_plan *plan,
                                  csrec_error *error);

/* CSREC_ARGUMENT and a line that names the field, if row i lacks something: a preset has a name, a
 * method that suits what the row is for, and at most four settings. CSREC_UNSUPPORTED past the end.
 */
csrec_status csrec_preset_check_row(int i, csrec_error *error);

/* csrec_recover of what is checked that also sets variance [entries * channels], the squared errors
 * that the method expects. A method that has none to tell leaves what is there. */
csrec_status csrec_recover_variance(const csrec_measurement *measurement,
                                    const csrec_recover_options *options, double *signal,
                                    double *variance, csrec_recover_report *report,
                                    csrec_error *error);

/* csrec_recover, and csrec_uncertainty_density of it, by one recovery where that gives both. made:
 * what is wanted, signal [entries * channels] or density [entries], and receives what was made,
 * which may be more. report: of the last recovery. */
enum { CSREC_MAKES_SIGNAL = 1, CSREC_MAKES_DENSITY = 2 };
csrec_status csrec_recover_expecting(const csrec_measurement *measurement,
                                     const csrec_recover_options *options, int *made,
                                     double *signal, double *density, csrec_recover_report *report,
                                     csrec_error *error);

/* csrec_recover, csrec_recover_plan and csrec_uncertainty_promise of options with a law. */
csrec_status csrec_law_recover(const csrec_measurement *measurement,
                               const csrec_recover_options *options, double *signal, bool atoms,
                               csrec_recover_report *report, csrec_error *error);
csrec_status csrec_law_plan(const csrec_measurement *measurement,
                            const csrec_recover_options *options, csrec_results results,
                            csrec_plan *plan, csrec_error *error);
csrec_status csrec_law_promise(const csrec_measurement *measurement,
                               const csrec_recover_options *options, const double *signal,
                               double *uncertainty, csrec_promise *promise, csrec_error *error);

struct csrec_sequence;
struct csrec_next_options;

/* Of a sequence, the frame that is ready is not wanted. */
void csrec_sequence_skip(struct csrec_sequence *sequence);

/* The density [entries] of csrec_sequence_next. */
csrec_status csrec_sequence_density(struct csrec_sequence *sequence,
                                    const struct csrec_next_options *options, double *density,
                                    csrec_error *error);

/* Where a method tells nothing: variance [entries * channels], that of its signal within about a
 * distance of samples, and a little of its mean; at a noisy sample that of the mean of both,
 * weighted. noise: [entries] mean square of a sample's noise; 0: none, or no sample. CSREC_MEMORY.
 */
csrec_status csrec_variance_guess(const csrec_measurement *measurement, const double *signal,
                                  const double *noise, double *variance, csrec_error *error);

/* Sums of v [entries * channels] over boxes of 2 radius + 1 entries along each axis, cut at the
 * ends, in place. line: scratch of the longest axis. */
void csrec_boxes_sum(const csrec_shape *shape, int64_t channels, int64_t radius, double *line,
                     double *v);

/* A recovery by a method that knows one sigma, of samples that have rays or deviations. */
typedef struct csrec_graded {
    const csrec_measurement *measurement; /* with all that tells of their noise, */
    const csrec_measurement *seen;        /* and what the method sees of it */
    bool steps;                           /* else one run, with the mean noise */
    bool bounds;                          /* of the method */
    double *signal;                       /* of `run`, or NULL */
    csrec_recover_report *report;
    /* Recovers samples of one sigma; left: steps behind this one, 0: it is the result. */
    csrec_status (*run)(void *context, const csrec_measurement *one, int left, csrec_error *error);
    void *context;
} csrec_graded;

/* CSREC_MEMORY, or what run returns. */
csrec_status csrec_graded_run(const csrec_graded *job, csrec_error *error);

/* Fills grid, reach and unreached of samples of one group. CSREC_MEMORY. */
csrec_status csrec_doubts_places(const csrec_measurement *part, csrec_doubts *doubts,
                                 csrec_error *error);

/* Of all samples; NAN of none. mean: those of channels, NAN is 0. */
typedef struct csrec_span {
    double least, most, mean;
} csrec_span;

csrec_span csrec_span_of(const csrec_measurement *measurement);
csrec_span csrec_span_surveyed(const csrec_survey *survey, double unit); /* unit: of the mean */
/* CSREC_DATA if samples are so large that squares of their errors may overflow. */
csrec_status csrec_span_check(csrec_span span, csrec_error *error);

/* What bounds results: what is given, else what samples allow. Complex values have no range. */
void csrec_range_resolve(const csrec_measurement *form, csrec_span span, bool atoms,
                         const double given[2], csrec_recover_options *resolved);

/* Clamps n values of a signal; returns how many. */
int64_t csrec_range_clamp(const double range[2], int64_t n, double *values);

/* Errors of the curve and the range. */
csrec_status csrec_curve_check(const csrec_measurement *measurement,
                               const csrec_recover_options *options, csrec_span span, bool atoms,
                               csrec_error *error);

/* The curve to try, of resolved options: what is given, or AUTO where samples may choose LOG. */
csrec_curve csrec_curve_possible(const csrec_measurement *measurement,
                                 const csrec_recover_options *options, csrec_span span, bool atoms);

/* Samples u = log(1 + y / floor), y = factor (floor + floor (e^u - 1)) - floor. */
typedef struct csrec_curved {
    csrec_measurement m; /* y: owned */
    double floor, factor, most;
    double above;       /* results from here on are those without the curve; INFINITY: none */
    const char *choice; /* as in csrec_recover_report */
} csrec_curved;

/* floor 0: no curve. options->curve is what is possible. Free m.y even on failure. */
csrec_status csrec_curve_choose(const csrec_measurement *measurement,
                                const csrec_recover_options *options, csrec_curved *curved,
                                csrec_error *error);

/* Signal and variance (or NULL) from the logarithm; plain: both without it, where curved->above is
 * finite. Samples that the recovery has kept become y, as it was. Once: it needs the samples. */
void csrec_curve_back(const csrec_curved *curved, const double *y, const double *plain,
                      double *signal, double *variance);
