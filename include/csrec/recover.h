/* csrec/recover.h - from a measurement to the whole signal. */
#ifndef CSREC_RECOVER_H
#define CSREC_RECOVER_H

#include "solve.h"
#include "sampling.h"
#include "learn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ options and reports ------- */

/* Of csrec_recover_options.solve.stop.epsilon: not given, the method has its own. */
#define CSREC_EPSILON_UNSET (-1.0)

/* How csrec_recover turns a measurement into the whole signal. Start from csrec_recover_defaults,
 * which gives nothing: what is not given is resolved once, see csrec_recover_plan. What is given
 * beside a method that has no such option is CSREC_ARGUMENT. */
typedef struct csrec_recover_options {
    const char *method;        /* a name of csrec_method_info; NULL: what the other options ask for,
                                  else the default of the measurement's shape */
    csrec_solve_options solve; /* solver NULL: the method's own; its settings may also name
                                  parameters of the method and the basis */
    const char *basis;     /* NULL, "haar", or an operator with parameters: dct, wavelet, conv */
    bool mean;             /* of pictures the mean with the picture that adaptive grids give */
    csrec_order order;     /* CSREC_ORDER_UNSET: not given, Morton */
    csrec_columns columns; /* CSREC_COLUMNS_UNSET: not given, two-sided */
    int64_t shifts; /* dyadic grids to average over; 1: the plain grid alone, which has atoms; 0:
                       not given, 64 of a picture, else 1, and 1 where atoms are wanted */
    uint64_t seed;  /* draws the grids */
    int threads;    /* 0: all cores; the result does not depend on it */
    const char *backend;           /* "auto", "cpu" or "cuda" */
    struct csrec_history *history; /* NULL, or takes down how the signal came about, see below */
    const csrec_model *model;      /* NULL, or a learned model that the recovery rests on, see
                                      "recovery with a model" below */
    uint64_t memory; /* bytes that it may take, see "estimates" below; 0: what is available */
} csrec_recover_options;

/* What a recovery takes, as far as that is known before: see csrec_recover_plan. */
typedef struct csrec_estimate {
    const char *method; /* the plan's; NULL: not estimated, as on a device */
    uint64_t bytes;     /* of memory at the peak, the signal with it, the measurement without */
    uint64_t memory;    /* that it may take: options->memory, or what is available */
    double seconds;     /* on this machine, with `threads` */
    int64_t tiles;      /* parts that are recovered one after the other; 1: the whole at once */
    csrec_shape tile;   /* extents of the largest */
    int threads;        /* at most those asked for: as many as fit */
} csrec_estimate;

typedef struct csrec_recover_report {
    const char *method;    /* that ran */
    csrec_outcome outcome; /* of the pursuit that stopped last in the enumeration's order */
    int64_t pursuits;      /* pursuits run: grids x channels */
    int64_t iterations;    /* atoms picked in all of them */
    double residual;       /* largest ||r|| / ||y|| of any pursuit */
    int levels;            /* L of the (first) grid */
    const char *backend;   /* the one that ran */
    csrec_error given_up;  /* why "auto" gave up a device; empty if it did not */
    double seconds_tree, seconds_pursuit, seconds_synthesis, seconds_total;
    csrec_estimate estimate; /* made before the recovery; its tiles were recovered */
} csrec_recover_report;

/* Nothing is given: all is resolved by what is measured. The default of a picture or a volume is
 * the preset "balanced", else one plain Morton grid. */
CSREC_API void csrec_recover_defaults(csrec_recover_options *options);

/* Name of preset i for pictures and volumes, NULL past the end: "fast", "balanced", "best". Where
 * options is given, it becomes the preset: the defaults but for a method and its settings that suit
 * the measurement; measurement NULL: any (docs/bases.md has quality and seconds of each; "best" of
 * a volume docs/gaussian.md). */
CSREC_API const char *csrec_recover_preset(int i, const csrec_measurement *measurement,
                                           csrec_recover_options *options);

/* signal: [entries * channels], channels fastest, every entry of the shape; NULL where only the
 * atoms are wanted, of a signal too long to write out. atoms: NULL, or [channels]
 * (options->shifts must be 1 then). Interruption delivers the best so far and says so
 * in report->outcome. report may be NULL.
 * y of any size: beyond 2^-64 to 2^64 it is brought to 1 to 2 by a power of two, with sigma, scale
 * and all lengths among the options (none above 2^300 of that unit), and the results are brought
 * back. Delivered values are finite, else CSREC_DATA. For c > 0 the recovery of c y, with sigma,
 * scale and lengths times c, is c times that of y: to the bit for powers of two, to rounding for
 * others, unless columns are picked (mp, omp, romp, cosamp, iht, htp), where rounding chooses among
 * equals. A model that shares no scale with the measurement has units of its own. */
CSREC_API csrec_status csrec_recover(const csrec_measurement *measurement,
                                     const csrec_recover_options *options, double *signal,
                                     csrec_atoms *atoms, csrec_recover_report *report,
                                     csrec_error *error);

/* ------------------------------------------------------------------ estimates ----------------- */

/* Memory and time that csrec_recover will take, on the CPU: csrec_plan.estimate. Bytes are counted
 * from the allocations. Beyond 64 MiB the peak of one thread was within a fifth of them, but for
 * several grids of a colour picture, which took a quarter less; threads that wait for a processor
 * take less, too. Seconds are counts of the work times rates of one machine, and were within a
 * factor of 3 there (docs/measured.md, by bench/estimate.py); of pursuits and sparse solvers the
 * iterations are not known before, and they are a guess.
 *
 * The count holds where the C library gives large blocks back to the system when they are freed.
 * GNU's raises the size from which it does so, up to 32 MiB, with every block that is freed, and
 * then keeps more; csrecover calls mallopt(M_MMAP_THRESHOLD, 1 << 20) at its start against that.
 *
 * What does not fit into memory is recovered in overlapping tiles, where its method allows it:
 * adaptive grids, thresholded blocks, Gaussian groups and mixtures, of up to three axes. Memory is
 * options->memory; 0: what the machine, control groups and limits of the process have left, of
 * which whole signals take at most three quarters, and tiles the largest power of two below that.
 * Tiles depend on the memory, the shape and the samples alone, not on threads: give `memory` for
 * the same signal on every machine. What fits as a whole does not depend on it. Fewer threads run
 * where their memory does not fit.
 * bytes > memory: csrec_recover refuses with CSREC_MEMORY, before anything else. */

/* ------------------------------------------------------------------ recovery with a model ----- */

/* csrec_recover with options.model, by the kind of the model. Of the options only seed, threads,
 * progress and history count then; a basis or another solver is CSREC_ARGUMENT. Where measurement
 * and model both have a scale, values are taken from one to the other. Samples without noise (sigma
 * 0) are kept. pca   whole aligned signals of the model's shape and channels (else CSREC_DATA), any
 * mask: x = mean + Phi z with (Phi_s^T Phi_s + s2 Lambda^-1) z = Phi_s^T (y - mean_s), Phi_s the
 *         sampled rows, Lambda the model's variances, s2 the noise: sigma^2 + the model's noise, or
 *         where sigma is 0 that which maximises the likelihood of the samples, with the model's
 *         noise as ten more of them (Tipping and Bishop 1999). O(N k^2 + k^3).
 *   gmm   as solver "gmm", pictures of at least the patches' size, with the model's 1 channel (each
 *         channel by itself) or all of them: every patch is given to the component that suits the
 *         estimate best, conditioned on its samples, and averaged by posterior variance. Without a
 *         model that solver fits the mixture to the samples (Yu, Sapiro and Mallat 2012). */

/* ------------------------------------------------------------------ history ------------------- */

/* How a recovery came about, step by step, in tracks: the pursuit on a single grid, the mean over
 * several grids, the frames of each size of block, the passes over adaptive grids. All channels
 * share a track. The last track, "result", is one step: the signal as delivered. It is the only one
 * on a device, and of a model of kind pca, whose coefficients are found at once. Rounds of a
 * mixture (gmm): the residual is of the patches' mean, the PSNR of the signal after the samples
 * were put back; what the rounds start from is not taken down. Iterations with learned filters
 * (conv): of the smooth layer and what the filters add, no samples put back. Following costs about
 * 64 syntheses a pursuit where the truth is given, and nothing to speak of where it is not. */
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
 * must not share one. CSREC_MEMORY. */
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

/* ------------------------------------------------------------------ quality ------------------- */

/* 10 log10(peak^2 / mean((a-b)^2)) dB over n values; infinity for equal signals. */
CSREC_API double csrec_psnr(int64_t n, const double *a, const double *b, double peak);

/* Mean structural similarity (Wang et al. 2004; Gaussian window, sigma 1.5, 11 x 11, K1 = 0.01,
 * K2 = 0.03) of two pictures [height, width]; CSREC_ARGUMENT below 11 x 11. */
CSREC_API csrec_status csrec_ssim(int64_t height, int64_t width, const double *a, const double *b,
                                  double peak, double *ssim);

#ifdef __cplusplus
}
#endif
#endif
