/* SPDX-License-Identifier: BSD-3-Clause */
/* csrec/recover.h - from a measurement to the whole signal. */
#ifndef CSREC_RECOVER_H
#define CSREC_RECOVER_H

#include "measurement.h"
#include "noise.h"
#include "solve.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct csrec_comm csrec_comm;     /* comm.h */
typedef struct csrec_model csrec_model;   /* learn.h */
typedef struct csrec_priors csrec_priors; /* net.h */

/* ------------------------------------------------------------------ options and reports ------- */

/* csrec_recover_options.solve.stop.epsilon if it is not set: the method's own is used. */
#define CSREC_EPSILON_UNSET (-1.0)

/* The values in which the signal is recovered, see "range and curve" below. */
typedef enum csrec_curve { CSREC_CURVE_AUTO, CSREC_CURVE_NONE, CSREC_CURVE_LOG } csrec_curve;

/* Options of csrec_recover. Start from csrec_recover_defaults, in which nothing is set;
 * csrec_recover_plan resolves what is not set. An option that the method does not have is
 * CSREC_ARGUMENT. */
typedef struct csrec_recover_options {
    const char *method; /* a name of csrec_method_info; NULL: chosen by the other options, else by
                           the measurement's shape */
    csrec_solve_options solve; /* solver NULL: the method's own; its settings may also name
                                  parameters of the method and the basis */
    const char *basis;         /* NULL, "haar", or an operator with parameters: dct, wavelet */
    csrec_order order;         /* CSREC_ORDER_UNSET: not given, Morton */
    csrec_columns columns;     /* CSREC_COLUMNS_UNSET: not given, two-sided */
    int64_t shifts; /* dyadic grids to average over; 1: the plain grid alone, which has atoms; 0:
                       not set: 64 for pictures, 1 otherwise and if atoms are requested */
    uint64_t seed;  /* seed of the random grids */
    int threads;    /* 0: all cores; the result does not depend on it */
    const char *backend;           /* "auto", "cpu", "cuda", or "cuda:0,2" for those devices, see
                                      "several devices" below */
    struct csrec_history *history; /* NULL, or records the steps, see below */
    const csrec_model *model;      /* NULL, or a learned model, see "recovery with a model" below */
    uint64_t memory;     /* bytes that it may use, see "estimates" below; 0: what is available */
    const double *times; /* NULL, or [entries] of a signal of one axis: where they are, ascending;
                            else they are at equal distances */
    double seconds;   /* time for methods that improve as long as they run; 0: the method's own */
    int64_t tile;     /* most values of a tile, see "estimates" below; 0: 2^24 */
    bool by_samples;  /* set by presets, and where no method is named: large holes of a picture
                         without noise, recovered as a whole, are filled by what errs least on
                         samples left out (docs/smooth.md); and see "range and curve" below */
    csrec_comm *comm; /* processes that share the work, see "several processes" below; NULL: one */
    const char *journal;     /* NULL, or a file that keeps finished tiles, see "going on" below */
    const char *journal_key; /* what the recovery depends on, in one line; NULL: "" */
    double range[2];         /* bounds of the result; NAN, or equal ones: not given, see below */
    csrec_curve curve;       /* CSREC_CURVE_AUTO: chosen by the samples */
    bool labels;             /* y are classes, see "label maps" below */
    const char *substitute;  /* set by presets: the method in place of one whose learned prior is
                                not installed; NULL: none (csrec_doubt_prior) */
    double interval;         /* percent, below 100: uncertainties are halves of the widths of
                                intervals, see "expected errors" below; 0: they are errors */
    csrec_priors *priors;    /* NULL, or keeps learned priors loaded for the next recovery */
    csrec_noise_law law;     /* noise that grows with the light, see "noise" below; 0: sigma */
} csrec_recover_options;

/* A stage of a recovery: csrec_progress.stage begins with its name. */
typedef struct csrec_stage {
    const char *name;
    double seconds;
} csrec_stage;

enum { CSREC_STAGES_MOST = 6 };

/* Predicted memory and time of a recovery: see csrec_recover_plan. */
typedef struct csrec_estimate {
    const char *method; /* the plan's; NULL: not estimated, as on a device */
    uint64_t bytes;     /* peak memory, with the signal, without the measurement */
    uint64_t memory;    /* limit: options->memory, or what is available */
    double seconds;     /* on this machine, with `threads` */
    int64_t tiles;      /* parts that are recovered one after another; 1: the whole at once */
    csrec_shape tile;   /* extents of the largest; not on a device */
    int threads;        /* at most options->threads: as many as fit */
    int n_stages;       /* of the seconds, in their order; 0: a single one */
    csrec_stage stage[CSREC_STAGES_MOST];
} csrec_estimate;

typedef struct csrec_recover_report {
    const char *method;    /* the method that ran */
    csrec_outcome outcome; /* of several pursuits, the last in the enumeration's order */
    int64_t pursuits;      /* pursuits run: grids x channels */
    int64_t iterations;    /* atoms picked in all of them */
    double residual;       /* ||y - A x||_2 / ||y||_2 of the signal x returned, over all channels;
                              without a signal that of the atoms, the largest of a channel */
    double unexplained;    /* largest ||r|| / ||y|| of any pursuit, before means over several and
                              before samples are put back; 0: no pursuits */
    int levels;            /* L of the (first) grid */
    const char *backend;   /* the backend that ran */
    csrec_error given_up;  /* the device's error after which "auto" used the CPU, or empty */
    double seconds_tree, seconds_pursuit, seconds_synthesis, seconds_total;
    csrec_estimate estimate;        /* of the plan */
    int n_devices;                  /* of the backend that ran; 0 on the CPU */
    int device[CSREC_DEVICES_MOST]; /* their numbers */
    int64_t tiles_resumed;          /* that an earlier recovery had left in options->journal */
    const char *remark;             /* a sentence: the result misses its measurements by more than
                                       sigma and epsilon allow (then the outcome is CSREC_UNMET),
                                       or is made in another way than was asked for; or a
                                       guide equals the samples up to scale; or NULL */
    bool bounded; /* epsilon or sigma was given, or a solver's problem has a bound (bpdn): without,
                     missing the default epsilon is CSREC_CONVERGED or CSREC_EXHAUSTED */
    const char *choice; /* a sentence: what the samples chose where the options left it open, and
                           why; NULL: nothing was to choose */
    csrec_curve curve;  /* in whose values it ran: CSREC_CURVE_NONE or _LOG */
    const char *curve_choice; /* a sentence: why, where samples span decades; else NULL */
    int64_t clamped;          /* values of the signal that were outside of the range */
    int64_t classes;          /* with options->labels: of all channels together; else 0 */
} csrec_recover_report;

/* Sets nothing: all is resolved from the measurement. The default is the preset "balanced",
 * of two axes of series, as the columns of a table or one row, method smooth of kind 4
 * (docs/smooth.md). report->choice tells of it. */
CSREC_API void csrec_recover_defaults(csrec_recover_options *options);

/* Name of preset i, NULL past the end: "fast", "balanced", "best", "max".
 * If options is not NULL, it becomes the preset: the defaults with a method and settings for the
 * measurement; measurement NULL: any picture or volume (docs/bases.md has quality and seconds of
 * each; "best" of a volume docs/gaussian.md). On one axis all are method smooth (docs/smooth.md).
 * For pictures, all but "fast" use the learned prior that is installed with the library
 * (docs/prior.md); without one (csrec_prior_installed), "balanced" is averaged frames of cosines,
 * "best" and "max" are Gaussian groups. */
CSREC_API const char *csrec_recover_preset(int i, const csrec_measurement *measurement,
                                           csrec_recover_options *options);

/* signal: [entries * channels], channels fastest, every entry of the shape; NULL if only the atoms
 * are requested, for a signal that does not fit into memory. atoms: NULL, or [channels] of real
 * samples (options->shifts must be 1 then). Interruption returns the best result so far;
 * report->outcome says so. report may be NULL. y may have any size: outside of 2^-64 to 2^64 it is
 * scaled to 1 to 2 by a power of two, with sigma, scale and all lengths among the options (at most
 * 2^300 in that unit), and the results are scaled back. Results are finite, else CSREC_DATA. For c
 * > 0 the recovery of c y, with sigma, scale and lengths times c, is c times that of y: exactly for
 * powers of two, to rounding for others, except for solvers that pick columns (mp, omp, romp,
 * cosamp, iht, htp), where rounding decides between equal columns. A model without a scale has its
 * own units. */
CSREC_API csrec_status csrec_recover(const csrec_measurement *measurement,
                                     const csrec_recover_options *options, double *signal,
                                     csrec_atoms *atoms, csrec_recover_report *report,
                                     csrec_error *error);

/* ------------------------------------------------------------------ range and curve ----------- */

/* Values outside of options->range become its nearer end; known samples (sigma 0) outside of it are
 * kept. An end that is not given is open, as an infinite one is, but with by_samples for the lower
 * one where all samples are >= 0, as of radiance, counts and concentrations: that is 0. Not so for
 * a signal with a scale, which is a picture, with atoms, and through an operator. CSREC_ARGUMENT:
 * ends in the wrong order, or complex values.
 *
 * With CSREC_CURVE_LOG the signal is recovered in u = log(1 + y / c), c the 1 % quantile of the
 * samples above 0, at least 2^-23 of the largest, and comes back as (c + y) f - c, at most twice
 * the largest sample. f is the mean of exp(e), so that the mean of the result is that of the
 * signal: e are errors in u at a quarter of the samples, which is left out of a strip of about 2^17
 * entries around the largest, cut at 3 of their robust deviations. Of CSREC_CURVE_AUTO the samples
 * choose the curve where by_samples is set, all are >= 0, the largest is above four times their
 * mean, and the product of the root mean square error and the mean of |e| / (|y| + |x| + c) at
 * samples left out is below 0.9 of what it is without the curve; not with a scale, sigma, a model,
 * atoms, more than 3 axes, fewer than 64 samples, a table, or a method that takes a solver.
 * Where by the sum of squares at the samples left out results without the curve are better from
 * some value on, entries of the logarithm's result that have it or more are those: it takes twice
 * as long. The trial costs two recoveries of such strips on the CPU, by the preset balanced (of
 * volumes fast).
 * With a curve options->history has the result alone. Slabs and tiles (csrec_slabs, csrec_tiles)
 * have no curve. CSREC_UNSUPPORTED: CSREC_CURVE_LOG of negative or complex samples, with sigma, a
 * model, atoms or an operator, or in slabs. */

/* "auto", "none", "log"; NULL: no curve. */
CSREC_API const char *csrec_curve_name(csrec_curve curve);

/* ------------------------------------------------------------------ label maps ---------------- */

/* With options->labels y are classes: integers, at most CSREC_LABELS_MOST of them in a channel. For
 * each class k the signal that is 1 in its samples and 0 in others is recovered, as options say,
 * and an entry has the class of the largest value; of equal ones (to 1e-6) the smallest class. So a
 * result has classes of the samples alone, and samples are kept. Channels are label maps of their
 * own. Without a method it is that of csrec_labels_preset "balanced". Time: of a recovery for each
 * class; memory: 16 bytes an entry and 24 a sample more than one. options->journal is ignored;
 * after an interruption classes that were not looked at are left out. CSREC_DATA: a value that is
 * no integer, too many classes. CSREC_UNSUPPORTED: an operator, complex samples, sigma, atoms, a
 * history, several processes; and functions other than csrec_recover and csrec_recover_plan:
 * csrec_uncertainty, slabs, tiles. */
enum { CSREC_LABELS_MOST = 256 };

/* csrec_recover_preset for label maps, of the same names. On one axis all are the nearest sample
 * (method smooth of kind 1). Of pictures "fast" is the biharmonic signal (smooth), the others the
 * learned prior (net); without a prior, and of volumes, all are smooth. */
CSREC_API const char *csrec_labels_preset(int i, const csrec_measurement *measurement,
                                          csrec_recover_options *options);

/* ------------------------------------------------------------------ several processes --------- */

/* With options->comm all its processes call csrec_recover with the same measurement and options.
 * They share the tiles, or the grids of method grids with shifts > 1, or with shifts = 1 its one
 * pursuit, by solver mp on the CPU, which may give atoms, too: then all pass atoms, or none.
 * Signal, atoms and report are complete on the first process; the others may pass signal NULL. The
 * bits are those of one process with these tiles; processes beyond their number have nothing to do.
 * CSREC_ARGUMENT: a method that needs the whole; atoms of several grids; on the CPU a history. */

/* ------------------------------------------------------------------ several devices ----------- */

/* Backend "cuda" stands for all usable devices, "cuda:0,2" for those two, by their numbers in
 * csrec_backend_devices. They share what several processes share, and the result has the bits that
 * one device gives; other recoveries run on the first device. "auto" uses all devices where it uses
 * one. Each device has a thread of this process and an equal share of options->threads; progress is
 * called on the calling thread alone. The failure of one device ends all, with its line, which
 * names it. With options->comm a process uses the device of the list that is its local rank's.
 * report->device lists what ran. Other functions that take a backend use one device. */

/* ------------------------------------------------------------------ going on ------------------ */

/* With options->journal each tile is kept in that file when it is recovered. A later recovery with
 * the same file, key and tiles, by any number of processes, takes what is there instead of
 * recovering it, and has the bits of an uninterrupted one. A file with another key or of other
 * tiles is begun anew; it has 8 bytes a value of the signal, and of the middle half of what tiles
 * overlap. Whoever has the result removes it. One recovery at a time may use it. Processes of
 * options->comm that do not see the first one's file keep nothing. CSREC_FILE: it cannot be made,
 * or is another kind of file. Signals that are recovered in one piece have none. */

/* Removes the file if it is one that keeps tiles. */
CSREC_API void csrec_journal_remove(const char *path);

/* ------------------------------------------------------------------ estimates ----------------- */

/* Predicted memory and time of csrec_recover on the CPU: csrec_plan.estimate. Bytes are counted
 * from the allocations. Above 64 MiB the measured peak of one thread is within 20 % of them, except
 * for several grids of a colour picture, which use 25 % less; threads that wait for a processor use
 * less, too. Seconds are counts of the work times rates of one machine, within a factor of 3 there
 * (docs/measured.md, by bench/estimate.py). For pursuits and sparse solvers the number of
 * iterations is a guess.
 *
 * The count assumes that the C library returns large blocks to the system when they are freed. The
 * GNU library raises the size from which it does so up to 32 MiB; csrecover prevents that by
 * mallopt(M_MMAP_THRESHOLD, 1 << 20) at its start.
 *
 * A signal of more than options->tile values is recovered in overlapping tiles, if its method
 * allows it: networks, thresholded blocks, Gaussian groups, of up to three axes. These
 * tiles depend on the shape and the rate of the samples alone. If they do not fit into memory,
 * smaller ones are used, which change the result a little. Memory is options->memory; 0: what the
 * machine, control groups and limits of the process leave, of which signals in one piece use at
 * most three quarters, and tiles the largest power of two below that. Set `tile` to what fits on
 * every machine, or `memory`, to get the same signal on all. Tiles do not depend on threads. Fewer
 * run if their memory does not fit. bytes > memory: csrec_recover refuses with CSREC_MEMORY, before
 * anything else. */

/* ------------------------------------------------------------------ recovery with a model ----- */

/* csrec_recover with options.model. Options that do not apply to a model are CSREC_ARGUMENT. If
 * measurement and model both have a scale, values are converted from one to the other. Samples
 * without noise (sigma 0) are kept. By the kind of the model:
 *   - pca: whole aligned signals of the model's shape and channels (else CSREC_DATA), any mask.
 *     x = mean + Phi z with (Phi_s^T Phi_s + s2 Lambda^-1) z = Phi_s^T (y - mean_s), where Phi_s
 *     are the sampled rows and Lambda the model's variances. s2 is sigma^2 + the model's noise; if
 *     sigma is 0, it maximises the likelihood of the samples, where the model's noise counts as
 *     ten more of them (Tipping and Bishop 1999). O(N k^2 + k^3). */

/* ------------------------------------------------------------------ history ------------------- */

/* The steps of a recovery, in tracks: the pursuit on a single grid, the mean over several grids,
 * the frames of each block size, the rounds of groups. All channels share a track. The last
 * track, "result", has one step: the returned signal. It is the only track on a device, and
 * for models of kind pca, whose coefficients are computed at once. Recording costs about 64
 * syntheses a pursuit if the truth is given, almost nothing otherwise. */
typedef struct csrec_history_step {
    int64_t iteration; /* of the track's unit, from 1, ascending */
    double residual;   /* ||y - A x||_2 / ||y||_2 over all channels; 0 for y = 0 */
    double psnr;       /* dB over all channels; not a number where it is not known: without the
                          truth, and of fista with debias */
} csrec_history_step;

typedef struct csrec_history csrec_history;

/* truth: NULL, or the whole signal [entries * channels] as csrec_recover delivers it; it is not
 * copied and must live until the recovery is over. peak: of the PSNR, in the same units. Free with
 * csrec_history_destroy. A second recovery into the same history replaces the first; two at once
 * must not share one. A recovery for whose history memory is short succeeds, and the history has no
 * track. CSREC_MEMORY. */
CSREC_API csrec_status csrec_history_create(const double *truth, double peak,
                                            csrec_history **history);
CSREC_API void csrec_history_destroy(csrec_history *history);

/* Track i of a recovery that has ended: its name, what one iteration is ("iteration", "grid",
 * "pass", "round"), and its steps [n], which live as long as the history: each of the first 16,
 * then some four in every doubling, and the last. false past the end. */
CSREC_API bool csrec_history_track(const csrec_history *history, int i, const char **name,
                                   const char **unit, int64_t *n, const csrec_history_step **steps);

/* Atoms that the pursuits on dyadic grids found, by level: count[k] of columns whose block spans
 * 2^k rows, k = 1 .. levels, count[0] of column 0. Returns levels, 0 where there was no such
 * pursuit or it ran on a device. */
CSREC_API int csrec_history_levels(const csrec_history *history, int64_t count[64]);

/* ------------------------------------------------------------------ expected errors ----------- */

/* How far off a recovered signal is, without the truth. signal: of csrec_recover with these
 * options, [entries * channels]. uncertainty: NULL, or [entries * channels], the expected root mean
 * square error of each value, in units of y; 0 for samples that are kept (sigma 0). expected: NULL,
 * or the root mean square over all values. Both with samples' noise left out: of the signal, not of
 * y.
 *
 * Four times, a tenth to a quarter of the samples is left out of a window of up to 2^16 entries,
 * and the window is recovered from the rest: with method net by one pass, otherwise as the options
 * say. The mean square of the errors at the samples left out, times the mean deviation that is
 * expected where there is no sample by that where samples were left out, is what is expected: by
 * the method's own variance (net, and on the CPU gaussian, pca and grids: docs/uncertainty.md), or
 * by the local variance of the recovered signal. Noisy samples are scaled apart. It takes four
 * recoveries of such windows, and one of the whole for the map. Where fewer than 16 samples can be
 * left out, expectations are not scaled; where no sample remains, and on a grid of which unknown
 * entries are as far from samples as these from each other, *expected and the map there are NAN.
 * Of entries farther than all left out they grow with the distance. Errors as of csrec_recover;
 * thread-safe; does not depend on the number of threads. */
CSREC_API csrec_status csrec_uncertainty(const csrec_measurement *measurement,
                                         const csrec_recover_options *options, const double *signal,
                                         double *uncertainty, double *expected, csrec_error *error);

/* With options->interval = P (percent) the uncertainty of a value is half of the width of an
 * interval: signal - u to signal + u has the true value, without its noise, at P % of the values
 * that are not kept, on average over draws of the samples. That is split conformal prediction: ten
 * times a tenth of the samples is left out, the error at each is divided by the one expected there,
 * and the quotient of rank ceil((n + 1) P / 100) among n times the error expected elsewhere is u.
 * Where the method tells no variance of its own, what is expected is times d^0.85 at the distance d
 * from the nearest sample (of up to 3 axes), and left-out samples count by how many unknown entries
 * have samples as dense around them as they have. The promise needs no model of errors where the
 * samples are a uniform draw without noise, and the recovery from nine tenths of them errs as the
 * one from all, but for the mean fall of squares (rate^-0.7). With noise it needs a right sigma,
 * and a model: errors are a mixture of normal ones, of variances that rise with those of the
 * method, beside the noise. INFINITY: nothing is promised, inside of holes, farther from samples
 * than all left out (of more than 5 % of the entries), on such a grid, and where n < P / (100 - P).
 */
typedef struct csrec_promise {
    double error;      /* the expected root mean square error; NAN: not known */
    double most;       /* what it is at most, with 95 % confidence; INFINITY: not known, as with
                          holes, or entries farther from samples than those left out */
    double unpromised; /* share of the values whose interval is INFINITY */
    int64_t left_out;  /* values that were left out and compared */
} csrec_promise;

/* csrec_uncertainty that tells more; promise not NULL. */
CSREC_API csrec_status csrec_uncertainty_promise(const csrec_measurement *measurement,
                                                 const csrec_recover_options *options,
                                                 const double *signal, double *uncertainty,
                                                 csrec_promise *promise, csrec_error *error);

/* The density for csrec_where_next and csrec_rays_next: [entries], the expected root mean square
 * error of all channels together, up to a factor, by one recovery; of samples with rays that of
 * what is seen of light: about its root of 2.2, above four times the mean its logarithm. Errors as
 * of csrec_recover; thread-safe. */
CSREC_API csrec_status csrec_uncertainty_density(const csrec_measurement *measurement,
                                                 const csrec_recover_options *options,
                                                 double *density, csrec_error *error);

/* ------------------------------------------------------------------ noise --------------------- */

/* With options->law samples are changed so that their noise is white, recovered, and changed back;
 * the measurement's sigma does not count. Poisson: 2 / gain sqrt(gain y + 3/8 gain^2 + base), whose
 * noise has sigma 1 (Anscombe 1948), and back by the closed form of the exact unbiased inverse
 * (Makitalo and Foi 2011, 2013). Light: log(1 + y / c), c a sixteenth of the quantile, and
 * back by the factor that keeps the sum of the samples, each at most e^3 of the result. Ranges that
 * are given clamp the result. Expected errors are those of the changed samples times the slope of
 * the way back. CSREC_UNSUPPORTED: an operator, complex samples, labels, atoms, a model, several
 * processes, curve log, samples with rays or a sigma of their own, and functions other than
 * csrec_recover, csrec_recover_plan, csrec_uncertainty(_promise) and csrec_sequence_*. */

/* ------------------------------------------------------------------ doubts -------------------- */

/* What about samples lets a recovery fail that reports success. */
typedef struct csrec_doubts {
    int64_t samples;
    bool constant; /* all samples of a channel have one value */
    int64_t grid;  /* they lie on a regular grid (lattice) of one in so many entries; 1: they do
                      not, or are fewer than 32 */
    /* Share of the entries that are farther than reach, in entries, from every sample; 0 for more
     * than 3 axes. Of random patterns with as many samples, less than one in 10^6 has any: with d
     * axes, e entries and unit ball V reach = (ln(10^6 e) e / (V n))^(1/d), at least 8. Found in
     * cells of a quarter of the reach: entries nearer than twice the reach may be missed. */
    double unreached, reach;
    double outliers; /* share of samples that csrec_outliers_find marks, if above 0.005 */
} csrec_doubts;

/* Finds them in O(n + entries / (reach / 4)^d) time. threads: 0: all cores; the result does not
 * depend on it. CSREC_MEMORY, and the errors of csrec_measurement_check. */
CSREC_API csrec_status csrec_doubts_find(const csrec_measurement *measurement, int threads,
                                         csrec_doubts *doubts, csrec_error *error);

enum { CSREC_DOUBT_SIZE = 200 };

/* Sentence i from 0 on about them; false if there are no more. */
CSREC_API bool csrec_doubts_text(const csrec_doubts *doubts, int i, char text[CSREC_DOUBT_SIZE]);

/* A sentence if a pursuit ended above its bound, or without one, with a residual above a quarter of
 * the samples: then nothing was recovered, though csrec_recover returned CSREC_OK. false: there is
 * no such doubt. */
CSREC_API bool csrec_doubt_result(const csrec_recover_report *report, char text[CSREC_DOUBT_SIZE]);

/* A sentence if the options, as given to csrec_recover, name a solver but no basis, for what was
 * measured through an operator: in which basis the signal is sparse is then a guess. */
CSREC_API bool csrec_doubt_basis(const csrec_measurement *measurement,
                                 const csrec_recover_options *options, char text[CSREC_DOUBT_SIZE]);

/* A sentence if a mask, of which these are the samples, keeps less than 2 % of the entries: it may
 * be one of what is missing. */
CSREC_API bool csrec_doubt_mask(const csrec_measurement *measurement, char text[CSREC_DOUBT_SIZE]);

/* A sentence if the preset of the options, or the default without one, would use a learned prior
 * that is not installed (net.h), so that another method takes its place, at up to 2 dB less. */
CSREC_API bool csrec_doubt_prior(const csrec_measurement *measurement,
                                 const csrec_recover_options *options, char text[CSREC_DOUBT_SIZE]);

/* ------------------------------------------------------------------ a part only --------------- */

/* Which unknown values are filled. */
typedef struct csrec_fill {
    double within;   /* those at most so many entries (Euclidean) from a known value of their
                        channel, 1 or more, for up to 3 axes longer than 1; 0: however far */
    uint8_t *at;     /* and, if not NULL, those where this is not 0: [entries], or */
    bool by_channel; /* [entries * channels] */
} csrec_fill;

/* Makes NaN of the other values of the signal [entries * channels] that are unknown in the
 * measurement, which csrec_measurement_check accepts; *left: their number. Known ones stay.
 * O(entries channels). CSREC_ARGUMENT: within; CSREC_UNSUPPORTED: samples that are complex or
 * through an operator, or more axes; CSREC_MEMORY: 4 bytes an entry. */
CSREC_API csrec_status csrec_signal_leave(const csrec_measurement *measurement,
                                          const csrec_fill *fill, double *signal, int64_t *left,
                                          csrec_error *error);

/* ------------------------------------------------------------------ quality ------------------- */

/* 10 log10(peak^2 / mean((a-b)^2)) dB over n values; infinity for equal signals, NaN
 * where a value is. */
CSREC_API double csrec_psnr(int64_t n, const double *a, const double *b, double peak);

/* Mean structural similarity (Wang et al. 2004; Gaussian window, sigma 1.5, 11 x 11, K1 = 0.01,
 * K2 = 0.03) of two pictures [height, width]; CSREC_ARGUMENT below 11 x 11. */
CSREC_API csrec_status csrec_ssim(int64_t height, int64_t width, const double *a, const double *b,
                                  double peak, double *ssim);

#ifdef __cplusplus
}
#endif
#endif
