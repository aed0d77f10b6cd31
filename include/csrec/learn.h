/* SPDX-License-Identifier: BSD-3-Clause */
/* csrec/learn.h - statistics of data, and models learned from them. */
#ifndef CSREC_LEARN_H
#define CSREC_LEARN_H

#include "array.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct csrec_files csrec_files; /* io.h */

/* ------------------------------------------------------------------ statistics ---------------- */

/* Mean and covariance of a data matrix X [m][n], row-major floats: m images or patches of n pixels.
 *   mean_j = 1/m sum_i X_ij           C_jk = 1/m sum_i (X_ij - mean_j) (X_ik - mean_k)
 * and with weights w [m] (finite, >= 0; NULL: all 1)
 *   mean_j = sum_i w_i X_ij / W       C_jk = sum_i w_i (X_ij - mean_j) (X_ik - mean_k) / W,
 * W = sum_i w_i > 0. Division is by m, not m - 1, as in the source documents on mean-centring and
 * covariance (D^T D / m of the centred D). Two passes: the mean in double, then products of centred
 * rows, in float by 128 rows and in double over those; large sums are never subtracted. The
 * relative error of C, against sqrt(C_jj C_kk), stays below 1e-6 for any mean. C is exactly
 * symmetric; C and the mean are the same for any number of threads and any chunks. threads 0: all
 * cores. CSREC_DATA: values that are not finite, or whose squares overflow a float. */

/* mean: [n]. */
CSREC_API csrec_status csrec_mean(int64_t m, int64_t n, const float *X, const double *weights,
                                  int threads, double *mean, csrec_error *error);

/* X_ij -= mean_j in place, one rounding each. CSREC_DATA: a result is not finite. */
CSREC_API csrec_status csrec_center(int64_t m, int64_t n, float *X, const double *mean, int threads,
                                    csrec_error *error);

/* C: [n][n]. mean: [n], or NULL: that of X. A zero mean makes C = X^T X / m of centred rows. */
CSREC_API csrec_status csrec_covariance(int64_t m, int64_t n, const float *X, const double *weights,
                                        const double *mean, int threads, double *C,
                                        csrec_error *error);

/* ------------------------------------------------------------------ statistics on a device ---- */

/* csrec_mean, csrec_center and csrec_covariance on a backend: "cpu", "cuda", or "auto" (NULL): the
 * CPU, except for covariances that are faster on a device, including its first use of 0.2 s and
 * transfers. A device multiplies numbers as two halves each (kernels/learn/covariance.cu): relative
 * errors below 1e-6, but not the CPU's bits; data that do not fit are uploaded in chunks. Means
 * differ by the order of a sum in double. CSREC_DEVICE: no usable device; CSREC_MEMORY: C does not
 * fit. Values whose squares overflow a float are not an error there. */
CSREC_API csrec_status csrec_mean_on(const char *backend, int64_t m, int64_t n, const float *X,
                                     const double *weights, int threads, double *mean,
                                     csrec_error *error);
CSREC_API csrec_status csrec_center_on(const char *backend, int64_t m, int64_t n, float *X,
                                       const double *mean, int threads, csrec_error *error);
CSREC_API csrec_status csrec_covariance_on(const char *backend, int64_t m, int64_t n,
                                           const float *X, const double *weights,
                                           const double *mean, int threads, double *C,
                                           csrec_error *error);

/* ------------------------------------------------------------------ data in pieces ------------ */

/* Mean and covariance of rows that are given in chunks: first all for the mean, then all again, in
 * the same order, for the covariance. Memory: 4 n^2 + 4 KiB n bytes. */
typedef struct csrec_statistics csrec_statistics;

CSREC_API csrec_status csrec_statistics_create(int64_t n, int threads,
                                               csrec_statistics **statistics, csrec_error *error);
CSREC_API void csrec_statistics_destroy(csrec_statistics *statistics);
CSREC_API csrec_status csrec_statistics_add_mean(csrec_statistics *statistics, int64_t m,
                                                 const float *X, const double *weights,
                                                 csrec_error *error);
/* mean: [n] or NULL. No rows can be added to the mean afterwards. */
CSREC_API csrec_status csrec_statistics_mean(csrec_statistics *statistics, double *mean,
                                             csrec_error *error);
CSREC_API csrec_status csrec_statistics_add_covariance(csrec_statistics *statistics, int64_t m,
                                                       const float *X, const double *weights,
                                                       csrec_error *error);
/* C: [n][n]. */
CSREC_API csrec_status csrec_statistics_covariance(csrec_statistics *statistics, double *C,
                                                   csrec_error *error);

/* Rows first .. first + count - 1 of a data matrix [m][n] into X. Called by one thread at a time,
 * with ascending rows; first = 0 starts again. Any status but CSREC_OK ends the work. */
typedef csrec_status (*csrec_rows_fn)(void *context, int64_t first, int64_t count, float *X,
                                      csrec_error *error);

/* A data matrix that is read in pieces. */
typedef struct csrec_data {
    int64_t m, n;
    csrec_rows_fn read;
    void *context;
} csrec_data;

/* Mean [n] and covariance [n][n] (NULL: the mean alone) of data of any size, read twice through a
 * buffer of at most 4 MiB or 8 rows, with the accuracy stated above. weights: [m] or NULL.
 * progress may be NULL; when it asks to stop, *stopped becomes true and the results are not written
 * (stopped may be NULL where progress is). */
CSREC_API csrec_status csrec_statistics_stream(const csrec_data *data, const double *weights,
                                               int threads, csrec_progress_fn progress,
                                               void *context, double *mean, double *C,
                                               bool *stopped, csrec_error *error);

/* Rows of an .npy file [m, ...] of any size and type: data->n is the product of the axes after the
 * first, `row` (may be NULL) their shape, dims 0 if there are none. The file stays open until
 * csrec_rows_close. path "-": stdin, read into memory. */
typedef struct csrec_rows csrec_rows;
CSREC_API csrec_status csrec_rows_open(const char *path, csrec_rows **rows, csrec_data *data,
                                       csrec_shape *row, csrec_error *error);
CSREC_API void csrec_rows_close(csrec_rows *rows);

/* ------------------------------------------------------------------ models -------------------- */

/* A model learned from data: named arrays of numbers, and texts that say where it comes from.
 * Kinds and their arrays, float64 unless stated otherwise:
 *   - pca: mean [n], components [k, n] (rows orthonormal, largest variance first), variances [k],
 *     noise (variance an entry beyond the components); x = mean + components^T z + e
 *     shape [D] (int64; axes of a vector without channels), channels (int64; fastest; shape x
 *     channels = n), optional scale [2] (values of black and white)
 *
 * On disk a NumPy .npz: array `kind` (text), an array for each name, and the texts `source`,
 * `settings`, `backend` (where it was computed), `version`, `note`. Other arrays in the file are
 * ignored. An object is read-only except for csrec_model_set_text, so threads may share it. */
typedef struct csrec_model csrec_model;

/* Arrays are copied and converted. CSREC_ARGUMENT: unknown kind or array; CSREC_DATA, naming the
 * array: one is missing, shapes disagree, an entry is not finite or beyond 1e100, a weight or
 * variance is negative, weights do not sum to 1, a covariance is not symmetric, black and white of
 * a scale are less than 1e-100 apart. */
CSREC_API csrec_status csrec_model_create(const char *kind, int count, const char *const *names,
                                          const csrec_array *const *arrays, csrec_model **model,
                                          csrec_error *error);
/* The same checks. path "-" is stdin / stdout. */
CSREC_API csrec_status csrec_model_read(const char *path, csrec_model **model, csrec_error *error);
CSREC_API csrec_status csrec_model_write(const char *path, const csrec_model *model,
                                         csrec_error *error);
/* Adds the file that csrec_model_write would write. */
CSREC_API csrec_status csrec_files_add_model(csrec_files *files, const char *path,
                                             const csrec_model *model, csrec_error *error);
CSREC_API void csrec_model_destroy(csrec_model *model);

CSREC_API const char *csrec_model_kind(const csrec_model *model);
/* NULL if the model has no array of that name. The model owns it. */
CSREC_API const csrec_array *csrec_model_array(const csrec_model *model, const char *name);
/* Array i; false past the end. */
CSREC_API bool csrec_model_info(const csrec_model *model, int i, const char **name,
                                const csrec_array **array);
/* A text by name, NULL if not set. Setting keeps printable ASCII, at most 1023 letters;
 * CSREC_ARGUMENT: no text has that name. */
CSREC_API const char *csrec_model_text(const csrec_model *model, const char *name);
CSREC_API csrec_status csrec_model_set_text(csrec_model *model, const char *name,
                                            const char *value);

/* ------------------------------------------------------------------ learning ------------------ */

/* How a model is learned; zero-initialised fields mean the defaults. */
typedef struct csrec_learn_options {
    csrec_shape shape;  /* of a row of the data without channels; dims 0: [n] */
    int64_t channels;   /* fastest; 0: 1. The product of shape and channels is n */
    double scale[2];    /* values of black and white; equal: not known */
    int64_t components; /* maximum number; 0: by `energy` */
    double energy;      /* share of the variance to keep, 0 to 1; 0: 0.99, or all `components` */
    int threads;        /* 0: all cores; the result does not depend on it */
    csrec_progress_fn progress; /* may be NULL; true: stop */
    void *context;
    const char *backend; /* "cpu", "cuda" or "auto" (NULL), which uses cuda if it is faster */
} csrec_learn_options;

/* Principal components of the rows of the data: the eigenvectors of the covariance with the largest
 * eigenvalues, from the covariance (m >= n) or, in memory, the Gram matrix (m < n); the smaller of
 * both is at most 32768. Components whose eigenvalue is below 1e-10 of the largest are left out. On
 * a device the covariance is that of csrec_covariance_on, and cuSOLVER, which is loaded then,
 * computes the eigenvectors: variances agree to 2e-6 of their sum. The Gram matrix is always
 * computed on the CPU. The model's text `backend` names the backend used. CSREC_DEVICE: cuda is not
 * built, has no device, or no cuSOLVER; CSREC_MEMORY: it does not fit. stopped (may be NULL where
 * progress is): true if progress asked to stop; *model is then unchanged. CSREC_DATA: all rows are
 * equal. */
CSREC_API csrec_status csrec_pca_learn(const csrec_data *data, const csrec_learn_options *options,
                                       csrec_model **model, bool *stopped, csrec_error *error);

#ifdef __cplusplus
}
#endif
#endif
