/* csrec.h - sparse recovery of sampled signals: the only public header of libcsrec.
 *
 * Letters, used alike everywhere:
 *   M   length of the signal, padded to the 2^L rows of the Haar matrix
 *   N   number of samples (m when an operator A is m x n)
 *   y   samples, r = y - A x residual, x coefficients
 *   Psi the sampled Haar matrix, columns of unit length (Park 2015)
 *
 * Conventions
 *   - Every fallible function returns csrec_status and delivers through trailing pointers.
 *     On failure those are left untouched unless said otherwise.
 *   - A csrec_error pointer may be NULL. When given, it receives one line naming the file, the
 *     field and the remedy. It is written only on failure.
 *   - The library never prints, exits or aborts, and keeps no mutable global state: functions are
 *     thread-safe as long as two threads do not share an object that one of them changes.
 *   - threads: 0 for all cores. Any number is taken and gives the same result; of more than 4 a
 *     processor (64 where that is more) so many run, and fewer where the system starts fewer or has
 *     no memory for them. One runs in a process made by fork (not followed by exec), where OpenMP's
 *     threads do not exist, and in calls from within a parallel region. OpenBLAS is held to one
 *     thread during calls that use it; a number the program sets is put back.
 *   - All memory is host memory. Arrays are in C order (last axis fastest).
 *   - destroy and clear functions accept NULL and already cleared objects.
 */
#ifndef CSREC_H
#define CSREC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define CSREC_API
#else
#define CSREC_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ status and errors ------- */

/* X(NAME, text): the one list of status codes. */
#define CSREC_STATUS_LIST(X)                                                                       \
    X(OK, "success")                                                                               \
    X(ARGUMENT, "argument out of range")                                                           \
    X(MEMORY, "out of memory")                                                                     \
    X(FILE, "file cannot be opened, read or written")                                              \
    X(FORMAT, "file is not in the expected format")                                                \
    X(DATA, "data are not usable: not finite, repeated, out of range or inconsistent")             \
    X(UNSUPPORTED, "not supported by this build or this combination")                              \
    X(DEVICE, "the compute device failed or is missing")                                           \
    X(STOPPED, "stopped by the progress callback")

typedef enum csrec_status {
#define CSREC_STATUS_ENUM(name, text) CSREC_##name,
    CSREC_STATUS_LIST(CSREC_STATUS_ENUM)
#undef CSREC_STATUS_ENUM
} csrec_status;

typedef struct csrec_error {
    char text[512]; /* one line, no newline at its end */
} csrec_error;

/* The text of a status; never NULL. */
CSREC_API const char *csrec_status_text(csrec_status status);

/* "major.minor.patch" of the library in use. */
CSREC_API const char *csrec_version(void);

/* ------------------------------------------------------------------ arrays ------------------ */

enum { CSREC_DIMS_MAX = 8 };

/* Extents of an N-d array in C order; 1 <= dims <= CSREC_DIMS_MAX, every dim >= 1. */
typedef struct csrec_shape {
    int dims;
    int64_t dim[CSREC_DIMS_MAX];
} csrec_shape;

/* count = product of the extents. CSREC_DATA if it overflows 2^62 or an extent is < 1. */
CSREC_API csrec_status csrec_shape_count(const csrec_shape *shape, int64_t *count);

/* X(NAME, C type, NumPy code without byte order, bytes): element types. */
#define CSREC_DTYPE_LIST(X)                                                                        \
    X(BOOL, uint8_t, "b1", 1)                                                                      \
    X(U8, uint8_t, "u1", 1)                                                                        \
    X(I8, int8_t, "i1", 1)                                                                         \
    X(U16, uint16_t, "u2", 2)                                                                      \
    X(I16, int16_t, "i2", 2)                                                                       \
    X(U32, uint32_t, "u4", 4)                                                                      \
    X(I32, int32_t, "i4", 4)                                                                       \
    X(U64, uint64_t, "u8", 8)                                                                      \
    X(I64, int64_t, "i8", 8)                                                                       \
    X(F32, float, "f4", 4)                                                                         \
    X(F64, double, "f8", 8)

typedef enum csrec_dtype {
#define CSREC_DTYPE_ENUM(name, type, code, bytes) CSREC_##name,
    CSREC_DTYPE_LIST(CSREC_DTYPE_ENUM)
#undef CSREC_DTYPE_ENUM
} csrec_dtype;

/* Bytes of one element; 0 for a value that is no csrec_dtype. */
CSREC_API size_t csrec_dtype_size(csrec_dtype dtype);

/* An N-d array that owns its memory. dims = 0 is a scalar of one element (from .npy files). */
typedef struct csrec_array {
    csrec_dtype dtype;
    csrec_shape shape;
    int64_t count; /* elements */
    void *data;    /* count elements, C order, host byte order */
} csrec_array;

/* Allocates a zeroed array. CSREC_MEMORY, CSREC_DATA (shape). Free with csrec_array_clear. */
CSREC_API csrec_status csrec_array_create(csrec_dtype dtype, const csrec_shape *shape,
                                          csrec_array *array);
CSREC_API void csrec_array_clear(csrec_array *array);

/* Element i as a double (64-bit integers beyond 2^53 are rounded). 0 <= i < count. */
CSREC_API double csrec_array_value(const csrec_array *array, int64_t i);

/* Reads and writes NumPy .npy (versions 1 to 3). path "-" is stdin / stdout. Fortran order is
 * transposed while reading, big-endian data are swapped. Writing, here and below, goes to a
 * temporary name first, renamed at the end (csrec_files). */
CSREC_API csrec_status csrec_array_read(const char *path, csrec_array *array, csrec_error *error);
CSREC_API csrec_status csrec_array_write(const char *path, const csrec_array *array,
                                         csrec_error *error);

/* Reads and writes arrays of NumPy .npz archives. Writing: count in 1..64, names as the keyword
 * arguments of numpy.savez, none twice; members are deflated, large float ones stored. path "-" is
 * stdin / stdout. */
CSREC_API csrec_status csrec_npz_read(const char *path, const char *name, csrec_array *array,
                                      csrec_error *error);
CSREC_API csrec_status csrec_npz_write(const char *path, int count, const char *const *names,
                                       const csrec_array *const *arrays, csrec_error *error);

/* ------------------------------------------------------------------ pictures (PNG) ---------- */

/* A PNG as stored: samples 0 .. 2^bits - 1, never scaled. */
typedef struct csrec_image {
    csrec_array pixels; /* U8 (bits <= 8) or U16, shape [H, W, C], C = 1 gray or 3 RGB; a palette
                           is expanded to RGB with bits = 8 */
    uint8_t *alpha;     /* NULL, or [H*W]: 1 where the pixel is opaque enough to count as a sample
                           (alpha > 0), 0 where it is fully transparent */
    int bits;           /* 1, 2, 4, 8 or 16 bits a sample */
    bool palette;       /* the file had a palette */
    int64_t partial;    /* pixels whose alpha was neither 0 nor full: their colour is kept as is */
} csrec_image;

/* path "-" is stdin / stdout. Refuses a picture whose declared size exceeds half the memory that
 * the machine has free. Writing: shape [H, W] or [H, W, 1|3], U8 or U16 pixels, bits 8 or 16; alpha
 * NULL or written as an alpha channel (0 or full). */
CSREC_API csrec_status csrec_image_read(const char *path, csrec_image *image, csrec_error *error);
CSREC_API csrec_status csrec_image_write(const char *path, const csrec_image *image,
                                         csrec_error *error);
CSREC_API void csrec_image_clear(csrec_image *image);

/* A whole signal from a PNG or a NumPy .npy array, told by its first bytes; path "-" is stdin. Of an
 * array bits is 0, and pixels have its type and shape. Free with csrec_image_clear. */
CSREC_API csrec_status csrec_signal_read(const char *path, csrec_image *signal,
                                         csrec_error *error);

/* ------------------------------------------------------------------ sampling ---------------- */

typedef enum csrec_pattern {
    CSREC_PATTERN_NONE,    /* explicit positions */
    CSREC_PATTERN_UNIFORM, /* without replacement, by a keyed permutation */
    CSREC_PATTERN_POISSON, /* Poisson-disc, guaranteed minimum distance (Bridson 2007), 2-D, 3-D */
    CSREC_PATTERN_JITTER   /* one random position in each cell of a regular grid */
} csrec_pattern;

CSREC_API const char *csrec_pattern_name(csrec_pattern pattern);
/* false if the name is none of the patterns. */
CSREC_API bool csrec_pattern_parse(const char *name, csrec_pattern *pattern);

/* Positions of a sampling pattern: distinct flat C-order positions, ascending, the same on every
 * platform and for any number of threads. */
typedef struct csrec_sampling {
    int64_t n;
    int64_t *index;      /* [n], ascending */
    double min_distance; /* POISSON: guaranteed Euclidean distance in pixels, else 0 */
} csrec_sampling;

/* uniform: exactly `count` positions, O(count) memory, any shape up to 2^62 entries.
 * jitter: `count` cells that partition the flat or N-d signal; exactly `count` positions.
 * poisson: 2-D and 3-D only; exactly `count` positions, whose radius shrinks until they fit: the one
 * that holds for all is delivered as min_distance.
 * CSREC_ARGUMENT: count < 1 or > entries; CSREC_UNSUPPORTED: poisson on other dimensions. */
CSREC_API csrec_status csrec_sampling_create(const csrec_shape *shape, csrec_pattern pattern,
                                             int64_t count, uint64_t seed,
                                             csrec_sampling *sampling, csrec_error *error);
CSREC_API void csrec_sampling_clear(csrec_sampling *sampling);

/* Counter-based random numbers: the value depends on (seed, stream, counter) alone.
 * Philox-4x32-10 (Salmon et al. 2011). */
CSREC_API uint64_t csrec_random_u64(uint64_t seed, uint64_t stream, uint64_t counter);
CSREC_API double csrec_random_uniform(uint64_t seed, uint64_t stream, uint64_t counter); /* [0,1) */
CSREC_API double csrec_random_normal(uint64_t seed, uint64_t stream, uint64_t counter);

/* ------------------------------------------------------------------ measurements ------------ */

/* Samples of a signal: what a measurement file holds. */
typedef struct csrec_measurement {
    csrec_shape shape; /* axes of the signal, without channels */
    int64_t n;         /* sampled positions */
    int64_t channels;  /* C >= 1 values a position */
    int64_t *index;    /* [n] distinct flat C-order positions, any order */
    double *y;         /* [n * channels], channels fastest */
    csrec_dtype dtype; /* element type of y in the file */
    double sigma;      /* standard deviation of the noise in units of y; 0 if unknown or none */
    double scale[2];   /* values of black and white for picture output; equal: not given */
    csrec_pattern pattern; /* how positions were drawn, if that is known */
    uint64_t seed;
    int64_t count; /* positions asked of csrec_sampling_create; 0: n */
} csrec_measurement;

/* Reads .npz (or .npy containers inside, see README "Measurement files"), .png with transparent
 * pixels, .png with mask_path (a PNG or .npy whose non-zero pixels are samples), or .csv of
 * coordinates and values. mask_path may be NULL. path "-" is stdin; its format is found from its
 * first bytes. The result is checked: finite, distinct, in range, not empty. */
CSREC_API csrec_status csrec_measurement_read(const char *path, const char *mask_path,
                                              csrec_measurement *measurement, csrec_error *error);

/* Writes .npz with y, shape, index (or pattern, seed, count when `procedural` and the pattern is
 * known), sigma and scale where set; y in measurement->dtype. path "-" is stdout. */
CSREC_API csrec_status csrec_measurement_write(const char *path,
                                               const csrec_measurement *measurement,
                                               bool procedural, csrec_error *error);

/* The checks that reading makes, for measurements built in memory. `name` names the data in the
 * error text. */
CSREC_API csrec_status csrec_measurement_check(const csrec_measurement *measurement,
                                               const char *name, csrec_error *error);
CSREC_API void csrec_measurement_clear(csrec_measurement *measurement);

/* ------------------------------------------------------------------ rows -------------------- */

/* How an N-d position becomes a row of the Haar matrix. */
typedef enum csrec_order {
    CSREC_ORDER_MORTON,  /* interleaved bits (Z curve), axes of unequal length allowed */
    CSREC_ORDER_HILBERT, /* Hilbert curve over the largest cube, Morton order of such cubes */
    CSREC_ORDER_RASTER   /* flat C-order position */
} csrec_order;

CSREC_API const char *csrec_order_name(csrec_order order);
CSREC_API bool csrec_order_parse(const char *name, csrec_order *order);

/* Levels L of the Haar matrix, M = 2^L >= entries, for a shape in an order.
 * CSREC_DATA if L would exceed 62. */
CSREC_API csrec_status csrec_rows_levels(const csrec_shape *shape, csrec_order order, int *levels);

/* rows[k] = row of flat position index[k]; a bijection from the shape into 0 .. 2^L - 1.
 * index in range is the caller's duty. */
CSREC_API csrec_status csrec_rows_from_index(const csrec_shape *shape, csrec_order order, int64_t n,
                                             const int64_t *index, uint64_t *rows);

/* The inverse: index[k] = flat position of row rows[k], or -1 where the row lies in the padding. */
CSREC_API csrec_status csrec_rows_to_index(const csrec_shape *shape, csrec_order order, int64_t n,
                                           const uint64_t *rows, int64_t *index);

/* ------------------------------------------------------------------ Haar transform ---------- */

/* Which columns of Psi count. One-sided columns have samples in one half of their block only. */
typedef enum csrec_columns {
    CSREC_COLUMNS_PAPER,    /* every non-zero column (Park 2015) */
    CSREC_COLUMNS_TWO_SIDED /* columns with samples in both halves, and column 0 */
} csrec_columns;

CSREC_API const char *csrec_columns_name(csrec_columns columns);
CSREC_API bool csrec_columns_parse(const char *name, csrec_columns *columns);

typedef enum csrec_transform_method {
    CSREC_TRANSFORM_LEVELS,  /* the paper's way: L steps over the samples; every non-zero column */
    CSREC_TRANSFORM_TREE,    /* row tree: the same columns */
    CSREC_TRANSFORM_DISTINCT /* row tree: one column, the coarsest, of those equal up to sign */
} csrec_transform_method;

/* One inner product. */
typedef struct csrec_product {
    uint64_t column; /* 0, or M / 2^level + group */
    double value;    /* <r, Psi_column> = (sum of left half - sum of right half) / sqrt(count) */
    int64_t count;   /* samples in the block, # in the paper */
} csrec_product;

/* All inner products <r, Psi_i> with the non-zero columns of the sampled Haar matrix, in ascending
 * column order (Park 2015, section 2.4; shared worked example in the README).
 *   levels    L, 0 <= L <= 62, M = 2^L
 *   n         N, 1 <= N <= M
 *   rows      [n] ascending, distinct, < M
 *   r         [n] finite
 *   products  [capacity]; found receives the number of columns. If found > capacity nothing is
 *             written to products: call with capacity 0 first. At most N L + 1 columns.
 * O(N) memory beside the result; time O(N L) (LEVELS, TREE), O(N) plus the sort by column (DISTINCT).
 * CSREC_ARGUMENT, CSREC_MEMORY. */
CSREC_API csrec_status csrec_haar_transform(int levels, int64_t n, const uint64_t *rows,
                                            const double *r, csrec_transform_method method,
                                            int64_t capacity, csrec_product *products,
                                            int64_t *found);

/* ------------------------------------------------------------------ atoms and synthesis ----- */

/* A sparse solution: x_column = coefficient, each column once, ascending. */
typedef struct csrec_atoms {
    int64_t n;
    uint64_t *column;
    double *coefficient;
    int64_t *count; /* samples in the column's block: its norm before scaling is sqrt(count) */
} csrec_atoms;

CSREC_API void csrec_atoms_clear(csrec_atoms *atoms);

/* value[j] = sum_i x_i Psi_i(row[j]) for any rows (sampled or not, ascending or not), with
 * Psi_i(row) = +-1/sqrt(count_i) on column i's block, 0 elsewhere. O((atoms + n_rows) log) time. */
CSREC_API csrec_status csrec_atoms_synthesize(int levels, const csrec_atoms *atoms, int64_t n_rows,
                                              const uint64_t *rows, double *value);

/* The same for the contiguous rows first .. first + n_rows - 1: O(atoms + n_rows), no search. */
CSREC_API csrec_status csrec_atoms_synthesize_block(int levels, const csrec_atoms *atoms,
                                                    uint64_t first, int64_t n_rows, double *value);

/* ------------------------------------------------------------------ operators and solvers --- */

typedef struct csrec_operator csrec_operator;

/* What an operator is made from; fields that its type does not use are ignored. Arrays are copied;
 * operators in `first`, `second` must outlive the one made from them. */
typedef struct csrec_operator_spec {
    const char *name;      /* a name of csrec_operator_info */
    int64_t m;             /* samples (rows of A); dct, wavelet, conv, mask: entries of index */
    int levels;            /* haar: L; wavelet: levels of the decomposition, 0: as many as fit */
    const uint64_t *rows;  /* haar: [m] ascending distinct rows */
    csrec_columns columns; /* haar */
    int64_t n;             /* dense: columns */
    const double *matrix;  /* dense: [m * n] row-major, finite, columns of any length */
    const csrec_shape *shape; /* dct, wavelet, conv, mask: the signal's shape */
    const int64_t *index;  /* dct, wavelet, conv, mask: [m] sampled positions, distinct; NULL: all */
    int block, step;       /* dct: edge of a block, 4 to 32, and distance between blocks */
    const char *kind;      /* wavelet: "haar", "cdf53" or "cdf97" */
    const csrec_operator *first, *second; /* chain: A = second first, first.m == second.n */
    const double *filters; /* conv: [n_filters][kernel], finite; atoms are filters at every place
                              that meets the signal, x is [n_filters][shape + kernel - 1] */
    int64_t n_filters;
    const int64_t *kernel; /* conv: [shape->dims] extents of a filter */
    int threads;           /* conv: that a product may use; 0: one */
    /* Where forward, adjoint, norms and correlations are computed: NULL, "auto" (both cpu), "cpu",
     * "cuda". With cuda the operator's data stay on the device and vectors go there and back in
     * every call (docs/cuda.md); a chain's factors must be on cuda too. CSREC_DEVICE: no device. */
    const char *backend;
} csrec_operator_spec;

/* A is m x n. For `haar`, n is the number of distinct columns, ascending by column number. */
CSREC_API csrec_status csrec_operator_create(const csrec_operator_spec *spec, csrec_operator **A,
                                             csrec_error *error);
CSREC_API void csrec_operator_destroy(csrec_operator *A);
CSREC_API void csrec_operator_size(const csrec_operator *A, int64_t *m, int64_t *n);
CSREC_API csrec_status csrec_operator_forward(const csrec_operator *A, const double *x, double *y);
CSREC_API csrec_status csrec_operator_adjoint(const csrec_operator *A, const double *y, double *x);

/* norms[j] = ||a_j||_2, [n]. c[j] = <a_j, r> / ||a_j||, 0 for a column of zeros. a = column j, [m].
 * An operator that has no way of its own pays n forward products for the norms. */
CSREC_API csrec_status csrec_operator_column_norms(const csrec_operator *A, double *norms);
CSREC_API csrec_status csrec_operator_correlate(const csrec_operator *A, const double *r,
                                                double *c);
CSREC_API csrec_status csrec_operator_column(const csrec_operator *A, int64_t j, double *a);

/* Rows of the tables, for help texts: name and brief of entry i, false past the end. */
CSREC_API bool csrec_operator_info(int i, const char **name, const char **brief);
CSREC_API bool csrec_solver_info(int i, const char **name, const char **brief, const char **source);

/* A parameter of a solver: what --set takes. */
typedef struct csrec_param {
    const char *name;
    double value, least, most; /* default and range, ends included */
    const char *help;
} csrec_param;

/* Parameter i of solver number `solver`; NULL past the end. */
CSREC_API const csrec_param *csrec_solver_param(int solver, int i);

/* The same for an operator that csrec_recover takes as a basis. */
CSREC_API const csrec_param *csrec_operator_param(int number, int i);

typedef struct csrec_setting {
    const char *name;
    double value;
} csrec_setting;

typedef enum csrec_outcome {
    CSREC_CONVERGED,   /* residual <= epsilon ||y||, or <= sigma sqrt(m) */
    CSREC_SMALL,       /* the best coefficient is below min_coefficient */
    CSREC_ATOM_LIMIT,  /* `atoms` iterations done */
    CSREC_STALLED,     /* no step reduces the residual in the arithmetic in use */
    CSREC_INTERRUPTED  /* the progress callback asked to stop */
} csrec_outcome;

CSREC_API const char *csrec_outcome_text(csrec_outcome outcome);

typedef struct csrec_progress {
    const char *stage;  /* what is being done */
    int64_t done, total; /* iterations (or grids) done and at most to do; total 0: unknown */
    double residual;    /* ||r|| / ||y||, or a negative number where not known */
} csrec_progress;

/* Return true to stop. Called on the thread that made the call, and only during the call, at most
 * about every 10 ms of work. No lock is held meanwhile: it may call the library again, and other
 * threads' calls go on. Calls inside of it may find one thread. */
typedef bool (*csrec_progress_fn)(const csrec_progress *progress, void *context);

/* When a solver stops. Zero-initialised fields mean: no such limit. */
typedef struct csrec_stop {
    double epsilon;         /* stop at ||r||_2 <= epsilon ||y||_2; 0 <= epsilon < 1 */
    int64_t atoms;          /* at most so many iterations; 0: 4 m (of use where nothing else stops) */
    double min_coefficient; /* stop when max |<r, Psi_i>| < this, in units of y */
    double sigma;           /* noise: stop at ||r||_2 <= sigma sqrt(m) */
    double stagnation;      /* stop when an iteration shortens r by less than this share of it */
} csrec_stop;

typedef struct csrec_solve_options {
    const char *solver; /* NULL: "mp" */
    bool reference;     /* mp: a full transform, argmax and update each iteration (slow, readable)
                           instead of the eager row tree; the same picks */
    csrec_stop stop;
    const csrec_setting *settings; /* [n_settings] parameters that differ from their defaults */
    int n_settings;
    const csrec_atoms *start; /* warm start: NULL or x to start from (solvers that keep a dense x) */
    double *history; /* NULL or [history_size]: ||r|| / ||y|| after each iteration, entries past the
                        report's iterations left alone; csrec_solve_many: [count][history_size] */
    int64_t history_size;
    csrec_progress_fn progress; /* may be NULL */
    void *context;
} csrec_solve_options;

typedef struct csrec_solve_report {
    csrec_outcome outcome;
    int64_t iterations;
    double residual; /* ||r||_2 / ||y||_2; 0 for y = 0 */
} csrec_solve_report;

/* Solves A x ~= y for one y [m] (finite). Any of atoms, r ([m] residual y - A x) and report may be
 * NULL. Interruption is an outcome, not an error: the results so far are delivered.
 * atoms: mp on `haar` gives the columns' numbers in the Haar matrix and their counts, as
 * csrec_atoms_synthesize takes them; every other pair gives positions 0 to n - 1 among A's columns
 * and count 0. Coefficients belong to A's columns as they are. y of any size, as csrec_recover takes
 * it; what does not come out finite is CSREC_DATA.
 * MP: Mallat and Zhang 1993; Andrecut 2008, as method table 1 of Park 2015. */
CSREC_API csrec_status csrec_solve(const csrec_operator *A, const double *y,
                                   const csrec_solve_options *options, csrec_atoms *atoms,
                                   double *r, csrec_solve_report *report, csrec_error *error);

/* The same for `count` right-hand sides, y: [count][m], in parallel or, where the solver has a way
 * (omp on dense matrices), all at once. atoms: [count], r: [count][m], reports: [count]; each may be
 * NULL. threads 0: all cores. On failure nothing is delivered. With options->history each has its
 * own: to the bit that of csrec_solve one by one; from omp all at once the same to 1e-9, and then
 * on the CPU, as a device takes none down (docs/cuda.md). */
CSREC_API csrec_status csrec_solve_many(const csrec_operator *A, int64_t count, const double *y,
                                        const csrec_solve_options *options, int threads,
                                        csrec_atoms *atoms, double *r, csrec_solve_report *reports,
                                        csrec_error *error);

/* ------------------------------------------------------------------ recovery ---------------- */

/* How csrec_recover turns a measurement into the whole signal. Start from
 * csrec_recover_defaults. */
typedef struct csrec_recover_options {
    csrec_solve_options solve; /* its settings may also name parameters of the basis */
    const char *basis; /* NULL, "haar", or an operator with parameters: dct, wavelet */
    bool mean;         /* basis: the mean with the adaptive grids' picture, where they suit */
    csrec_order order;
    csrec_columns columns;
    int64_t shifts; /* dyadic grids to average over; 1: the plain grid alone, which has atoms;
                       0: adaptive grids, 2-D only (docs/pictures.md): the pursuit in closed form,
                       so nothing of `solve` but progress and context, order or columns may differ
                       from the defaults */
    uint64_t seed;  /* draws the grids */
    int threads;    /* 0: all cores; the result does not depend on it */
    const char *backend; /* "auto", "cpu" or "cuda" */
    struct csrec_history *history; /* NULL, or takes down how the signal came about, see below */
    const struct csrec_model *model; /* NULL, or a learned model that the recovery rests on: of it,
                                        see "recovery with a model" below */
    uint64_t memory; /* bytes that the recovery may take, see "estimates" below; 0: what is available */
} csrec_recover_options;

/* What a recovery takes, as far as that is known before: see csrec_recover_estimate. */
typedef struct csrec_estimate {
    const char *method; /* what it rests on: pca, conv, gmm, gaussian, basis, adaptive or grids;
                           NULL: not estimated, as on a device */
    uint64_t bytes;     /* of memory at the peak, the signal with it, the measurement without */
    uint64_t memory;    /* that it may take: options->memory, or what is available */
    double seconds;     /* on this machine, with `threads` */
    int64_t tiles;      /* parts that are recovered one after the other; 1: the whole at once */
    csrec_shape tile;   /* extents of the largest */
    int threads;        /* at most those asked for: as many as fit */
} csrec_estimate;

typedef struct csrec_recover_report {
    csrec_outcome outcome; /* of the pursuit that stopped last in the enumeration's order */
    int64_t pursuits;      /* pursuits run: grids x channels */
    int64_t iterations;    /* atoms picked in all of them */
    double residual;       /* largest ||r|| / ||y|| of any pursuit */
    int levels;            /* L of the (first) grid */
    const char *backend;   /* the one that ran */
    double seconds_tree, seconds_pursuit, seconds_synthesis, seconds_total;
    csrec_estimate estimate; /* made before the recovery; its tiles were recovered */
} csrec_recover_report;

/* The defaults that suit the measurement's shape: for 2-D the best picture in about half a second
 * a core at 256 x 256, shifts = 0 (docs/pictures.md), else one plain Morton grid. */
CSREC_API void csrec_recover_defaults(const csrec_measurement *measurement,
                                      csrec_recover_options *options);

/* Name of preset i for pictures and volumes, NULL past the end: "fast", "balanced", "best". Where
 * options is given, it becomes the preset: the defaults but for a solver, a basis and parameters
 * that suit each other and the measurement (docs/bases.md has quality and seconds of each; "best"
 * of a volume docs/gaussian.md). */
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

/* Line i of the listing of backends and their devices: the backend's name, and into text what the
 * device is or why it cannot be used. false past the end. */
CSREC_API bool csrec_backend_info(int i, const char **name, char *text, size_t size);

/* ------------------------------------------------------------------ statistics -------------- */

/* Mean and covariance of a data matrix X [m][n], row-major floats: m images or patches of n pixels.
 *   mean_j = 1/m sum_i X_ij           C_jk = 1/m sum_i (X_ij - mean_j) (X_ik - mean_k)
 * and with weights w [m] (finite, >= 0, of a mixture's component for instance; NULL: all 1)
 *   mean_j = sum_i w_i X_ij / W       C_jk = sum_i w_i (X_ij - mean_j) (X_ik - mean_k) / W,
 * W = sum_i w_i > 0. Division is by m, not m - 1, as in the source documents on mean-centring and
 * covariance (D^T D / m of the centred D). Two passes: the mean in double, then products of centred
 * rows, in float by 128 rows and in double over those; two large sums are never subtracted. The
 * relative error of C, against sqrt(C_jj C_kk), stays below 1e-6 for any mean. C is symmetric to
 * the bit, and like the mean the same for any number of threads and any chunks. threads 0: all
 * cores. CSREC_DATA: values that are not finite, or whose squares overflow a float. */

/* mean: [n]. */
CSREC_API csrec_status csrec_mean(int64_t m, int64_t n, const float *X, const double *weights,
                                  int threads, double *mean, csrec_error *error);

/* X_ij -= mean_j in place, one rounding each. CSREC_DATA: what comes out is not finite. */
CSREC_API csrec_status csrec_center(int64_t m, int64_t n, float *X, const double *mean,
                                    int threads, csrec_error *error);

/* C: [n][n]. mean: [n], or NULL: that of X. A zero mean makes C = X^T X / m of centred rows. */
CSREC_API csrec_status csrec_covariance(int64_t m, int64_t n, const float *X,
                                        const double *weights, const double *mean, int threads,
                                        double *C, csrec_error *error);

/* The same of rows that come in chunks: first all for the mean, then all again, in the same order,
 * for the covariance. Memory: 4 n^2 + 4 KiB n bytes. */
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
 * rows ascending; first = 0 begins anew. What it returns but CSREC_OK ends the work. */
typedef csrec_status (*csrec_rows_fn)(void *context, int64_t first, int64_t count, float *X,
                                      csrec_error *error);

/* A data matrix that is read in pieces. */
typedef struct csrec_data {
    int64_t m, n;
    csrec_rows_fn read;
    void *context;
} csrec_data;

/* Mean [n] and covariance [n][n] (NULL: the mean alone) of data of any size, read twice through a
 * buffer of at most 4 MiB or 8 rows, with the accuracy promised above. weights: [m] or NULL. progress
 * may be NULL; when it asks to stop, *stopped becomes true and the results are not written (stopped
 * may be NULL where progress is). */
CSREC_API csrec_status csrec_statistics_stream(const csrec_data *data, const double *weights,
                                               int threads, csrec_progress_fn progress,
                                               void *context, double *mean, double *C,
                                               bool *stopped, csrec_error *error);

/* Rows of an .npy file [m, ...] of any size and any numbers: data->n is the product of the axes
 * after the first, `row` (may be NULL) their shape, dims 0 where there is none. The file stays open
 * until csrec_rows_close. path "-": stdin, taken into memory. */
typedef struct csrec_rows csrec_rows;
CSREC_API csrec_status csrec_rows_open(const char *path, csrec_rows **rows, csrec_data *data,
                                       csrec_shape *row, csrec_error *error);
CSREC_API void csrec_rows_close(csrec_rows *rows);

/* ------------------------------------------------------------------ learned models ---------- */

/* A model learned from data: named arrays of numbers, and texts that tell where it comes from. Kinds
 * and their arrays (float64 but for shape and channels, which are int64):
 *   pca   mean [n], components [k, n] (rows orthonormal, largest variance first), variances [k],
 *         noise (variance an entry beyond the components), and those below; x = mean + components^T
 *         z + e
 *   gmm   weights [K] (sum 1), means [K, d], covariances [K, d, d], optional log_likelihood [rounds]
 *         (mean over the data, nats), and those below
 *   conv  filters [K, kh, kw], optional amplitudes [K] (expected size of a coefficient), objective
 *         [rounds] and scale [2]
 * pca and gmm also: shape [D] (axes of a vector without channels), channels (fastest; shape x
 * channels = n or d), optional scale [2] (values of black and white).
 * On disk a NumPy .npz: array `kind` (text), an array a name, and the texts `source`, `settings`,
 * `backend` (where it was computed), `version`, `note`. Other arrays in the file are left alone. An
 * object is read-only but for csrec_model_set_text, so threads may share it. */
typedef struct csrec_model csrec_model;

/* Arrays are copied and converted. CSREC_ARGUMENT: unknown kind or array; CSREC_DATA, naming the
 * array: one is missing, shapes disagree, an entry is not finite or beyond 1e100, a weight or variance
 * is negative, weights do not sum to 1, a covariance is not symmetric, black and white of a
 * scale are less than 1e-100 apart. */
CSREC_API csrec_status csrec_model_create(const char *kind, int count, const char *const *names,
                                          const csrec_array *const *arrays, csrec_model **model,
                                          csrec_error *error);
/* The same checks. path "-" is stdin / stdout. */
CSREC_API csrec_status csrec_model_read(const char *path, csrec_model **model, csrec_error *error);
CSREC_API csrec_status csrec_model_write(const char *path, const csrec_model *model,
                                         csrec_error *error);
CSREC_API void csrec_model_destroy(csrec_model *model);

CSREC_API const char *csrec_model_kind(const csrec_model *model);
/* NULL if the model has none of that name. Belongs to the model. */
CSREC_API const csrec_array *csrec_model_array(const csrec_model *model, const char *name);
/* Array i; false past the end. */
CSREC_API bool csrec_model_info(const csrec_model *model, int i, const char **name,
                                const csrec_array **array);
/* A text by name, NULL if not set. Setting keeps printable ASCII and at most 1023 letters;
 * CSREC_ARGUMENT: no text has that name. */
CSREC_API const char *csrec_model_text(const csrec_model *model, const char *name);
CSREC_API csrec_status csrec_model_set_text(csrec_model *model, const char *name,
                                            const char *value);

/* How a model is learned; zero-initialised fields mean the defaults. */
typedef struct csrec_learn_options {
    csrec_shape shape;  /* of a row of the data without channels; dims 0: [n] */
    int64_t channels;   /* fastest; 0: 1. The product of shape and channels is n */
    double scale[2];    /* values of black and white; equal: not known */
    int64_t components; /* pca: at most so many; 0: by `energy` */
    double energy;      /* pca: share of the variance to keep, 0 to 1; 0: 0.99, or all `components` */
    uint64_t seed;      /* of random choices */
    int threads;        /* 0: all cores; the result does not depend on it */
    csrec_progress_fn progress; /* may be NULL; true: stop */
    void *context;
    /* gmm: `components` 0 is 20 */
    const char *start; /* NULL or "kmeans": k-means++ (Arthur and Vassilvitskii 2007); "edges", 2-D:
                          edges of components - 1 directions, and cosines */
    int64_t rounds;    /* at most so many; 0: 50 */
    double tolerance;  /* stop when a round raises the log-likelihood a row by less; 0: 0.005 */
    double least;      /* least eigenvalue of a covariance; 0: 1e-4 of the mean variance an entry */
    const csrec_model *from; /* NULL, or what round_done was given: goes on from there */
    /* NULL, or called after each round with the mixture so far, its log-likelihoods among it; what it
     * returns but CSREC_OK ends the work. */
    csrec_status (*round_done)(const csrec_model *model, void *round_context, csrec_error *error);
    void *round_context;
    const char *backend; /* "cpu", "cuda" or, where it pays, "auto" (NULL); gmm: on the CPU alone */
} csrec_learn_options;

/* Principal components of the rows of the data: the eigenvectors of the covariance with the largest
 * eigenvalues, from the covariance (m >= n) or, in memory, the Gram matrix (m < n); the smaller of
 * both is at most 32768. Components whose eigenvalue is below 1e-10 of the largest are left out.
 * On a device the covariance is that of csrec_covariance_on and the eigenvectors are cuSOLVER's, a
 * library that is loaded then: variances agree to 2e-6 of their sum. The Gram matrix is always the
 * CPU's. The model's text `backend` names what was taken. CSREC_DEVICE: cuda is not built, has no
 * device, or no cuSOLVER; CSREC_MEMORY: it does not fit there.
 * stopped (may be NULL where progress is): true when progress asked to stop; *model is then left
 * alone. CSREC_DATA: no two rows differ. */
CSREC_API csrec_status csrec_pca_learn(const csrec_data *data, const csrec_learn_options *options,
                                       csrec_model **model, bool *stopped, csrec_error *error);

/* A mixture of Gaussians of the rows by expectation maximisation (Dempster, Laird and Rubin 1977):
 *   posterior r_ik = w_k N(x_i; mu_k, C_k) / sum_j w_j N(x_i; mu_j, C_j)
 *   w_k = sum_i r_ik / m, mu_k and C_k the weighted mean and covariance, eigenvalues of C_k at least
 *   `least`, which is the maximum under that bound, so the likelihood never falls.
 * A row's share of a component below 1e-10 is left out. Data that half of the free memory holds are
 * read once, others every round. The result is the same for any number of threads, and when the work
 * is taken up again with options->from, the same options and data. components and n at most 4096.
 * stopped as csrec_pca_learn. CSREC_DATA: values that are not finite, or all rows the same. */
CSREC_API csrec_status csrec_gmm_learn(const csrec_data *data, const csrec_learn_options *options,
                                       csrec_model **model, bool *stopped, csrec_error *error);

/* ------------------------------------------------------------------ estimates --------------- */

/* Memory and time that csrec_recover will take with these options, on the CPU. Bytes are counted
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
 * options->memory; 0: what the machine, control groups and limits of the process have left, of which
 * whole signals take at most three quarters, and tiles the largest power of two below that. Tiles
 * depend on the memory, the shape and the samples alone, not on threads: give `memory` for the same
 * signal on every machine. What fits as a whole does not depend on it. Fewer threads run where their
 * memory does not fit.
 *
 * CSREC_ARGUMENT, CSREC_DATA: as csrec_recover. bytes > memory: csrec_recover refuses with
 * CSREC_MEMORY, before anything else. Thread-safe; up to some milliseconds, and a look at every
 * sample for each cut. */
CSREC_API csrec_status csrec_recover_estimate(const csrec_measurement *measurement,
                                              const csrec_recover_options *options,
                                              csrec_estimate *estimate, csrec_error *error);

/* ------------------------------------------------------------------ recovery with a model --- */

/* csrec_recover with options.model, by the kind of the model. Of the options only seed, threads,
 * progress and history count then; a basis or another solver is CSREC_ARGUMENT. Where measurement and
 * model both have a scale, values are taken from one to the other. Samples without noise (sigma 0)
 * are kept.
 *   pca   whole aligned signals of the model's shape and channels (else CSREC_DATA), any mask:
 *         x = mean + Phi z with (Phi_s^T Phi_s + s2 Lambda^-1) z = Phi_s^T (y - mean_s), Phi_s the
 *         sampled rows, Lambda the model's variances, s2 the noise: sigma^2 + the model's noise, or
 *         where sigma is 0 that which maximises the likelihood of the samples, with the model's
 *         noise as ten more of them (Tipping and Bishop 1999). O(N k^2 + k^3).
 *   gmm   as solver "gmm", pictures of at least the patches' size, with the model's 1 channel (each
 *         channel by itself) or all of them: every patch is given to the component that suits the
 *         estimate best, conditioned on its samples, and averaged by posterior variance. Without a
 *         model that solver fits the mixture to the samples (Yu, Sapiro and Mallat 2012). */

/* ------------------------------------------------------------------ statistics elsewhere ---- */

/* csrec_mean, csrec_center and csrec_covariance on a backend: "cpu", "cuda", or "auto" (NULL): the
 * CPU, but for covariances that a device has sooner, its first use of 0.2 s and transfers counted.
 * On a device numbers are multiplied as two halves each (kernels/learn/covariance.cu): relative
 * errors below 1e-6 as well, but not the CPU's bits; what does not fit goes up in chunks. Means
 * differ by the order of a sum in double. CSREC_DEVICE: no usable device; CSREC_MEMORY: C does not
 * fit. Values whose squares overflow a float are no error there. */
CSREC_API csrec_status csrec_mean_on(const char *backend, int64_t m, int64_t n, const float *X,
                                     const double *weights, int threads, double *mean,
                                     csrec_error *error);
CSREC_API csrec_status csrec_center_on(const char *backend, int64_t m, int64_t n, float *X,
                                       const double *mean, int threads, csrec_error *error);
CSREC_API csrec_status csrec_covariance_on(const char *backend, int64_t m, int64_t n,
                                           const float *X, const double *weights,
                                           const double *mean, int threads, double *C,
                                           csrec_error *error);

/* ------------------------------------------------------------------ quality ----------------- */

/* 10 log10(peak^2 / mean((a-b)^2)) dB over n values; infinity for equal signals. */
CSREC_API double csrec_psnr(int64_t n, const double *a, const double *b, double peak);

/* Mean structural similarity (Wang et al. 2004; Gaussian window, sigma 1.5, 11 x 11, K1 = 0.01,
 * K2 = 0.03) of two pictures [height, width]; CSREC_ARGUMENT below 11 x 11. */
CSREC_API csrec_status csrec_ssim(int64_t height, int64_t width, const double *a, const double *b,
                                  double peak, double *ssim);

/* ------------------------------------------------------------------ history ----------------- */

/* How a recovery came about, step by step, in tracks: the pursuit on a single grid, the mean over
 * several grids, the frames of each size of block, the passes over adaptive grids. All channels
 * share a track. The last track, "result", is one step: the signal as delivered. It is the only one
 * on a device, and of a model of kind pca, whose coefficients are found at once. Rounds of a mixture
 * (gmm): the residual is of the patches' mean, the PSNR of the signal after the samples were put
 * back; what the rounds start from is not taken down. Iterations with learned filters (conv): of the
 * smooth layer and what the filters add, no samples put back. Following costs about 64 syntheses a
 * pursuit where the truth is given, and nothing to speak of where it is not. */
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
 * "pass", "round"), and its steps [n], which live as long as the history: each of the first 16, then some
 * four in every doubling, and the last. false past the end. */
CSREC_API bool csrec_history_track(const csrec_history *history, int i, const char **name,
                                   const char **unit, int64_t *n,
                                   const csrec_history_step **steps);

/* Atoms that the pursuits on dyadic grids found, by level: count[k] of columns whose block spans
 * 2^k rows, k = 1 .. levels, count[0] of column 0. Returns levels, 0 where there was no such
 * pursuit or it ran on a device. */
CSREC_API int csrec_history_levels(const csrec_history *history, int64_t count[64]);

/* ------------------------------------------------------------------ convolution ------------- */

/* A two-dimensional convolution as neural networks have it (a correlation: the kernel is not
 * turned round), NCHW, float, one group. [H, W] is size, [Kh, Kw] kernel, and so on:
 *   Ho = (H + 2 ph - dh (Kh - 1) - 1) / sh + 1, rounded down; Wo likewise
 *   Y[n][co][ho][wo] = B[co] + sum_ci sum_kh sum_kw W[co][ci][kh][kw]
 *                               X[n][ci][ho sh - ph + kh dh][wo sw - pw + kw dw],
 * X being 0 outside. Every product has the order (ci, kh, kw), kw fastest. Computed by im2col in
 * tiles, so that memory does not grow with the picture. Results depend neither on the number of
 * threads nor on the workspace; sums are float, their error about 1e-7 of the sum of magnitudes. A
 * result that is not finite is CSREC_DATA. */
typedef struct csrec_conv2d {
    int64_t batch, channels_in, channels_out; /* each >= 1 */
    int64_t size[2], kernel[2];               /* height, width; each >= 1 */
    int64_t stride[2], dilation[2];           /* >= 1, or 0: 1 */
    int64_t padding[2];                       /* >= 0 on both sides of an axis, zeros */
    int threads;                              /* 0: all cores */
    const char *backend;                      /* NULL or "auto", "cpu", "cuda" */
} csrec_conv2d;

/* out: Ho, Wo. CSREC_ARGUMENT: a number out of range, or a kernel larger than the padded input. */
CSREC_API csrec_status csrec_conv2d_output(const csrec_conv2d *conv, int64_t out[2],
                                           csrec_error *error);

/* Bytes of workspace that the passes take, of any alignment; either may be NULL. With packed
 * weights less is enough; with less than all threads need, but not less than one does, fewer run.
 */
CSREC_API csrec_status csrec_conv2d_workspace(const csrec_conv2d *conv, size_t *forward,
                                              size_t *backward, csrec_error *error);

/* Weights in the layout that the products read, for both passes: worth making where the same W
 * [channels_out][channels_in][Kh][Kw] meets several inputs. Fits any batch, size, padding of the
 * same channels, kernel, stride and dilation, on any backend, as W is kept. */
typedef struct csrec_conv2d_weights csrec_conv2d_weights;
CSREC_API csrec_status csrec_conv2d_weights_create(const csrec_conv2d *conv, const float *W,
                                                   csrec_conv2d_weights **weights,
                                                   csrec_error *error);
CSREC_API void csrec_conv2d_weights_destroy(csrec_conv2d_weights *weights);

/* Y: [batch][channels_out][Ho][Wo]. W or weights is given, the other NULL; B: [channels_out] or
 * NULL. CSREC_ARGUMENT: workspace too small, weights of another geometry. */
CSREC_API csrec_status csrec_conv2d_forward(const csrec_conv2d *conv, const float *X,
                                            const float *W, const csrec_conv2d_weights *weights,
                                            const float *B, float *Y, void *workspace,
                                            size_t workspace_bytes, csrec_error *error);

/* Gradients of L = sum(Y dY), each NULL where not wanted: dX as X, needs W or weights; dW as W,
 * needs X; dB [channels_out]. dW and dB are sums over the batch. Entries of dX that
 * no output reads become 0. */
CSREC_API csrec_status csrec_conv2d_backward(const csrec_conv2d *conv, const float *X,
                                             const float *W, const csrec_conv2d_weights *weights,
                                             const float *dY, float *dX, float *dW, float *dB,
                                             void *workspace, size_t workspace_bytes,
                                             csrec_error *error);

/* ------------------------------------------------------------------ pictures in memory ------ */

/* The bytes [n] of the PNG that csrec_image_write would write; free them with free. */
CSREC_API csrec_status csrec_image_encode(const csrec_image *image, uint8_t **bytes, size_t *n,
                                          csrec_error *error);

/* ------------------------------------------------------------------ long draws -------------- */

/* csrec_sampling_create and csrec_measurement_read under watch. Poisson-disc positions are drawn by
 * one thread, in 0.2 us to some us an entry of the whole signal, however few they are: minutes at
 * 2^28 entries. Reading draws them again where a file holds pattern, seed and count. progress may
 * be NULL; as it asks, the work stops with CSREC_STOPPED and delivers nothing. */
CSREC_API csrec_status csrec_sampling_create_watched(const csrec_shape *shape,
                                                     csrec_pattern pattern, int64_t count,
                                                     uint64_t seed, csrec_progress_fn progress,
                                                     void *context, csrec_sampling *sampling,
                                                     csrec_error *error);
CSREC_API csrec_status csrec_measurement_read_watched(const char *path, const char *mask_path,
                                                      csrec_progress_fn progress, void *context,
                                                      csrec_measurement *measurement,
                                                      csrec_error *error);

/* ------------------------------------------------------------------ filters ----------------- */

/* A gray picture to learn from, whole or sampled. */
typedef struct csrec_conv_picture {
    int64_t height, width;
    const float *values;  /* [height][width], finite where known */
    const uint8_t *known; /* [height][width], not 0: a sample; NULL: all are */
} csrec_conv_picture;

/* Zero-initialised fields mean the defaults. */
typedef struct csrec_conv_learn_options {
    int64_t filters;    /* K; 0: 64 */
    int64_t size[2];    /* kh, kw, 1 to 64; 0: 8 */
    double lambda;      /* weight of the codes, black to white being 1; 0: 0.005 */
    double base;        /* pixels over which the layer left to no filter is smooth; 0: 8, below 0:
                           the mean is that layer */
    double scale[2];    /* values of black and white; equal: the samples' range */
    int64_t iterations; /* rounds of codes and filters; 0: 40 */
    int64_t codings;    /* steps on the codes a round; 0: 5 */
    uint64_t seed;
    int threads;              /* 0: all cores; the result does not depend on it */
    const csrec_model *start; /* of kind conv: goes on from its filters; NULL: from cosines */
    csrec_progress_fn progress; /* may be NULL; true: stop, with the filters so far */
    void *context;
} csrec_conv_learn_options;

/* Filters d_k in which all pictures are sparse: with s_p picture p less its smooth layer, black to
 * white being 1, M_p its mask and x_p its codes,
 *     min sum_p 1/2 ||M_p (sum_k a_k d_k * x_pk - s_p)||^2 + lambda sum_p ||x_p||_1,  ||d_k|| = 1,
 * by proximal gradient steps on x (Beck and Teboulle 2009) and projected gradient steps on d in
 * turn. Amplitudes a_k = 1 / (1 + f), as in pictures, by the frequency f, in half waves a filter, of the
 * cosine that filter k starts from.
 * Model of kind conv; its objective never rises from round to round. Memory: 12 bytes a filter and
 * pixel of the largest picture, 8 of each other. CSREC_DATA: a sample is not finite or
 * beyond 1e15 of white less black, or none differ. stopped may be NULL. */
CSREC_API csrec_status csrec_conv_learn(int64_t count, const csrec_conv_picture *pictures,
                                        const csrec_conv_learn_options *options,
                                        csrec_model **model, bool *stopped, csrec_error *error);

/* ------------------------------------------------------------------ files that belong together */

/* Files that appear together, each whole, or not at all. Adding one writes it, flushed and
 * synchronised, beside its final name as .csrec-PID-NUMBER.tmp; csrec_files_commit then renames
 * all. Until then every file of that name is as it was, and csrec_files_destroy removes what was
 * added. A link is followed: the file it leads to is replaced, the link stays. Path "-" is stdout;
 * that, devices and pipes are written while they are added. The functions csrec_..._write are
 * these with one file. One object is of one thread at a time. */
typedef struct csrec_files csrec_files;

/* Zero-initialised fields mean the defaults. */
typedef struct csrec_files_options {
    bool no_sync; /* leaves fsync out, of files and folders: a power cut may then lose or empty what
                     was just written; a killed process may not */
    bool dated;   /* the files get `date` as the time of their last change, not now */
    int64_t date; /* seconds since 1970-01-01 UTC */
    /* One line of ASCII, at most 60000 bytes, that tells what the files were made from, or NULL. It
     * must last as long as the files. Each holds it as "csrec-fingerprint: LINE": a PNG as a tEXt
     * chunk "Comment" at its end, an .npy as a second record behind the array (numpy.load reads the
     * first), an .npz as an array `fingerprint`; bytes, and what goes to stdout, a device or a pipe,
     * stay as they are. */
    const char *fingerprint;
} csrec_files_options;

#define CSREC_FINGERPRINT "csrec-fingerprint: "

/* options NULL: the defaults. CSREC_MEMORY. */
CSREC_API csrec_status csrec_files_create(const csrec_files_options *options, csrec_files **files,
                                          csrec_error *error);

/* Each writes what csrec_array_write, csrec_npz_write, csrec_image_write, csrec_measurement_write
 * and csrec_model_write would, with their errors, or n bytes as they are. */
CSREC_API csrec_status csrec_files_add_array(csrec_files *files, const char *path,
                                             const csrec_array *array, csrec_error *error);
CSREC_API csrec_status csrec_files_add_npz(csrec_files *files, const char *path, int count,
                                           const char *const *names,
                                           const csrec_array *const *arrays, csrec_error *error);
CSREC_API csrec_status csrec_files_add_image(csrec_files *files, const char *path,
                                             const csrec_image *image, csrec_error *error);
CSREC_API csrec_status csrec_files_add_measurement(csrec_files *files, const char *path,
                                                   const csrec_measurement *measurement,
                                                   bool procedural, csrec_error *error);
CSREC_API csrec_status csrec_files_add_model(csrec_files *files, const char *path,
                                             const csrec_model *model, csrec_error *error);
CSREC_API csrec_status csrec_files_add_bytes(csrec_files *files, const char *path,
                                             const void *bytes, size_t n, csrec_error *error);

/* Renames all, in the order in which they were added, and synchronises their folders before and
 * after. CSREC_FILE: before the first rename nothing is changed; between two of them, which only a
 * folder that changes meanwhile can cause, the line names those that are replaced. The object is
 * empty afterwards in any case. */
CSREC_API csrec_status csrec_files_commit(csrec_files *files, csrec_error *error);
CSREC_API void csrec_files_destroy(csrec_files *files);

/* The fingerprint of a file of any format, found near its end; "" if it has none, or one that `room`
 * bytes cannot hold. CSREC_FILE: cannot be read. */
CSREC_API csrec_status csrec_fingerprint_read(const char *path, char *text, size_t room,
                                              csrec_error *error);

/* Size and CRC-32 (that of zlib) of the bytes of a regular file. CSREC_UNSUPPORTED: "-", a pipe, a
 * device, a folder; CSREC_FILE: cannot be read. */
CSREC_API csrec_status csrec_file_checksum(const char *path, uint64_t *bytes, uint32_t *crc,
                                           csrec_error *error);

/* Removes temporaries from the folder of the file `path` that no process holds: those of killed
 * runs. A live writer holds its own with flock. Returns how many were removed. */
CSREC_API int csrec_files_sweep(const char *path);

#ifdef __cplusplus
}
#endif
#endif
