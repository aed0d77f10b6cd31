/* SPDX-License-Identifier: BSD-3-Clause */
/* fourier.c - the operators of a signal's frequencies: on the grid, and any. */
#include "operator/devices.h"

#include <math.h>
#include <string.h>

#include "base/threads.h"
#include "base/unravel.h"
#include "measurement/through.h"

#define TURN 6.28318530717958647692

typedef csrec_fourier fourier;

static void fourier_destroy(csrec_operator *A) {
    csrec_fft_destroy(((fourier *)A->data)->fft);
    csrec_nufft_destroy(((fourier *)A->data)->nufft);
}

static csrec_status fourier_check(const csrec_operator_spec *spec, const char *name, int64_t *m,
                                  csrec_error *error) {
    int64_t rows;
    csrec_status status = csrec_rows_of(spec, name, &rows, error);
    if (!status) status = csrec_rows_chosen(spec, name, rows, m, error);
    if (status || strcmp(name, "nufft") == 0 || csrec_fft_library()) return status;
    return csrec_fail(error, CSREC_UNSUPPORTED,
                      "operator fourier: csrec was built without FFTW or PocketFFT; build it with "
                      "-DCSREC_FFT=fftw");
}

/* unit sqrt(entries max_j sum_c |s_c(j)|^2): what the transform and the coils make at most. */
static double largest_gain(const fourier *f) {
    double most = 0.0;
    for (int64_t j = 0; j < (f->coils ? f->entries : 1); j++)
        most = fmax(most, csrec_fourier_square(f->coils, f->entries, f->n_coils, j));
    return f->unit * sqrt((double)f->entries * most);
}

static double unit_of(const csrec_operator_spec *spec, int64_t entries) {
    if (!spec->norm || strcmp(spec->norm, "backward") == 0) return 1.0;
    return strcmp(spec->norm, "ortho") == 0 ? 1.0 / sqrt((double)entries) : 1.0 / (double)entries;
}

/* Halves of a turn are exact: the signs of even extents. */
static void set_factor(fourier *f, int64_t k, double turns) {
    const double angle = TURN * turns;
    f->factors[2 * k] = f->unit * (turns == 0.5 ? -1.0 : cos(angle));
    f->factors[2 * k + 1] = turns == 0.5 ? 0.0 : f->unit * sin(angle);
}

static csrec_status fill_grid(csrec_pool *pool, const csrec_operator_spec *spec, fourier *f) {
    if (!CSREC_TAKE(pool, f->index, f->m)) return CSREC_MEMORY;
    if ((spec->centred || f->unit != 1.0) && !CSREC_TAKE(pool, f->factors, 2 * f->m))
        return CSREC_MEMORY;
    for (int64_t k = 0; k < f->m; k++) {
        f->index[k] = spec->index ? spec->index[k] : k;
        double turns = spec->centred ? csrec_uncentre(spec->shape, false, &f->index[k]) : 0.0;
        if (f->factors) set_factor(f, k, turns);
    }
    return csrec_fft_create(spec->shape, &f->fft);
}

/* ---- A^T A where frequencies are any (Wajer and Pruessmann 2001; Fessler et al. 2005):
 *
 *     sum_c conj(s_c) T s_c x,   T_jl = t(j - l),   t(d) = unit^2 sum_i exp(2 pi i k_i d / n)
 *
 * T is a part of a circulant of twice the extents. Its transforms fall into those of x with half a
 * step of frequency more along some axes, of 2^axes `parts`: each needs two of the signal's own
 * size, where the product and its adjoint need interpolation. */

/* to_j = from_j exp(-sign pi i sum j_a / n_a) of the axes of a part; `add`: to_j += that. */
static void turn_part(const fourier *f, int part, double sign, bool add, const double *from,
                      double *to) {
    const int last = f->shape.dims - 1;
    const int64_t width = f->shape.dim[last];
    const bool along = part >> last & 1;
    for (int64_t line = 0; line < f->entries / width; line++) {
        int64_t place[CSREC_DIMS_MAX];
        double turns = 0.0;
        csrec_unravel_index(&f->shape, line * width, place);
        for (int a = 0; a < last; a++)
            if (part >> a & 1) turns += 0.5 * (double)place[a] / (double)f->shape.dim[a];
        const double re = cos(TURN * turns), im = -sign * sin(TURN * turns);
        for (int64_t x = 0; x < width; x++) {
            const double *h = f->half + 2 * x, v = along ? sign * h[1] : 0.0;
            const double u = along ? h[0] : 1.0, c = re * u - im * v, s = re * v + im * u;
            const double *w = from + 2 * (line * width + x);
            double *g = to + 2 * (line * width + x);
            g[0] = (add ? g[0] : 0.0) + (c * w[0] - s * w[1]);
            g[1] = (add ? g[1] : 0.0) + (s * w[0] + c * w[1]);
        }
    }
}

/* kernel: the spectrum of t in parts, from t [2 extents] of pairs, whose first entries along each
 * axis, of d = -n, are no difference's. */
static void cut_kernel(fourier *f, const csrec_shape *twice, const double *spectrum) {
    const double scale = f->unit * f->unit / (double)(f->entries << f->shape.dims);
    for (int part = 0; part < 1 << f->shape.dims; part++)
        for (int64_t j = 0; j < f->entries; j++) {
            int64_t place[CSREC_DIMS_MAX], at = 0;
            int odd = 0;
            csrec_unravel_index(&f->shape, j, place);
            for (int a = 0; a < f->shape.dims; a++) {
                odd += part >> a & 1;
                at = at * twice->dim[a] + 2 * place[a] + (part >> a & 1);
            }
            f->kernel[part * f->entries + j] = (odd % 2 ? -scale : scale) * spectrum[2 * at];
        }
}

/* Without an FFT there is none. */
static csrec_status make_kernel(csrec_pool *pool, fourier *f) {
    const int dims = f->shape.dims;
    const int64_t size = f->entries << dims, width = f->shape.dim[dims - 1];
    csrec_shape twice = f->shape;
    csrec_pool own = {0};
    csrec_nufft *nufft = NULL;
    csrec_fft *fft = NULL;
    double *t, *ones, *k;
    for (int a = 0; a < dims; a++) twice.dim[a] *= 2;
    csrec_status status = csrec_fft_create(&f->shape, &f->fft);
    if (!status) status = csrec_fft_create(&twice, &fft);
    if (status) return status == CSREC_UNSUPPORTED ? CSREC_OK : status;
    CSREC_TAKE(&own, t, 2 * size);
    CSREC_ZEROS(&own, ones, 2 * f->m);
    CSREC_TAKE(&own, k, f->m * dims);
    CSREC_TAKE(pool, f->kernel, size);
    CSREC_TAKE(pool, f->half, 2 * width);
    if (own.lacks || pool->lacks) status = CSREC_MEMORY;
    for (int64_t i = 0; i < f->m && !status; i++) ones[2 * i] = 1.0;
    for (int64_t i = 0; i < f->m * dims && !status; i++) k[i] = 2.0 * f->k[i];
    if (!status) status = csrec_nufft_create(&twice, f->m, k, CSREC_NUFFT_PRECISION, &nufft);
    if (!status) status = csrec_nufft_execute(nufft, true, t, ones);
    for (int64_t j = 0; j < size && !status; j++) {
        int64_t place[CSREC_DIMS_MAX];
        csrec_unravel_index(&twice, j, place);
        for (int a = 0; a < dims; a++)
            if (place[a] == 0) t[2 * j] = t[2 * j + 1] = 0.0;
    }
    if (!status) status = csrec_fft_execute(fft, -1, t);
    if (!status) cut_kernel(f, &twice, t);
    for (int64_t x = 0; x < width && !status; x++) {
        f->half[2 * x] = cos(0.5 * TURN * (double)x / (double)width);
        f->half[2 * x + 1] = -sin(0.5 * TURN * (double)x / (double)width);
    }
    csrec_fft_destroy(fft);
    csrec_nufft_destroy(nufft);
    csrec_pool_clear(&own);
    return status;
}

/* The chosen rows of the trajectory. */
static csrec_status fill_any(csrec_pool *pool, const csrec_operator_spec *spec, fourier *f) {
    const int dims = spec->shape->dims;
    if (!CSREC_TAKE(pool, f->k, f->m * dims)) return CSREC_MEMORY;
    for (int64_t i = 0; i < f->m; i++)
        memcpy(f->k + i * dims, spec->trajectory + (spec->index ? spec->index[i] : i) * dims,
               (size_t)dims * sizeof *f->k);
    CSREC_TRY(csrec_nufft_create(spec->shape, f->m, f->k, CSREC_NUFFT_PRECISION, &f->nufft));
    return make_kernel(pool, f);
}

static csrec_status create(csrec_operator *A, const csrec_operator_spec *spec, const char *name,
                           csrec_error *error) {
    int64_t m;
    CSREC_TRY(fourier_check(spec, name, &m, error));
    fourier *f = csrec_operator_data(A, sizeof *f);
    if (!f) return CSREC_MEMORY;
    *f = (fourier){.shape = *spec->shape,
                   .m = m,
                   .n_coils = csrec_through_coils(spec),
                   .complex_x = spec->complex_signal};
    csrec_shape_count(spec->shape, &f->entries);
    f->unit = unit_of(spec, f->entries);
    if (spec->coils) {
        const int64_t numbers = 2 * f->n_coils * f->entries;
        if (!CSREC_TAKE(&A->pool, f->coils, numbers)) return CSREC_MEMORY;
        memcpy(f->coils, spec->coils, (size_t)numbers * sizeof *f->coils);
    }
    A->m = 2 * f->m * f->n_coils;
    A->n = f->complex_x ? 2 * f->entries : f->entries;
    A->complex_x = f->complex_x;
    A->complex_y = true;
    return CSREC_OK;
}

/* The transform last, which the pool does not free. */
static csrec_status fourier_create(csrec_operator *A, const csrec_operator_spec *spec,
                                   csrec_error *error) {
    CSREC_TRY(create(A, spec, "fourier", error));
    A->norm = largest_gain(A->data);
    return fill_grid(&A->pool, spec, A->data);
}

static csrec_status nufft_create(csrec_operator *A, const csrec_operator_spec *spec,
                                 csrec_error *error) {
    csrec_status status = create(A, spec, "nufft", error);
    if (!status) status = fill_any(&A->pool, spec, A->data);
    if (status && A->data) fourier_destroy(A);
    if (status != CSREC_UNSUPPORTED) return status;
    return csrec_fail(error, status,
                      "operator nufft: csrec was built without FINUFFT, of 2.5 or "
                      "later; install it and build with -DCSREC_FINUFFT=ON");
}

static const double *coil(const fourier *f, int64_t c) {
    return f->coils ? f->coils + 2 * c * f->entries : NULL;
}

/* grid = s_c x */
static void weigh(const fourier *f, int64_t c, const double *x, double *grid) {
    const double *s = coil(f, c);
    for (int64_t j = 0; j < f->entries; j++) csrec_fourier_weigh(s, f->complex_x, j, x, grid);
}

/* x += conj(s_c) grid, or its real part. */
static void add_weighed(const fourier *f, int64_t c, const double *grid, double *x) {
    const double *s = coil(f, c);
    for (int64_t j = 0; j < f->entries; j++) csrec_fourier_collect(s, f->complex_x, j, grid, x);
}

/* Coils are transformed side by side, each by one thread: the same bits on any number of them. */
enum { LANES = 16 };

static int lanes_of(const fourier *f) {
    const int threads = csrec_threads_for(f->n_coils * f->entries, 0);
    const int most = threads < LANES ? threads : LANES;
    return f->n_coils < most ? (int)f->n_coils : most;
}

/* Of a grid, and of the values of any frequencies. */
static int64_t lane_size(const fourier *f) {
    return 2 * (f->entries + (f->nufft ? f->m : 0));
}

static csrec_status forward_coil(const fourier *f, int64_t c, const double *x, double *grid,
                                 double *y) {
    double *values = grid + 2 * f->entries;
    weigh(f, c, x, grid);
    csrec_status status = f->nufft ? csrec_nufft_execute(f->nufft, false, grid, values)
                                   : csrec_fft_execute(f->fft, -1, grid);
    for (int64_t k = 0; k < f->m; k++) {
        double *to = y + 2 * (k * f->n_coils + c);
        if (f->nufft)
            for (int p = 0; p < 2; p++) to[p] = f->unit * values[2 * k + p];
        else
            csrec_fourier_turn(f->factors, k, 1.0, grid + 2 * f->index[k], to);
    }
    return status;
}

static csrec_status adjoint_coil(const fourier *f, int64_t c, const double *y, double *grid) {
    double *values = grid + 2 * f->entries;
    if (!f->nufft) memset(grid, 0, 2 * (size_t)f->entries * sizeof *grid);
    for (int64_t k = 0; k < f->m; k++) {
        const double *from = y + 2 * (k * f->n_coils + c);
        if (f->nufft)
            for (int p = 0; p < 2; p++) values[2 * k + p] = f->unit * from[p];
        else
            csrec_fourier_turn(f->factors, k, -1.0, from, grid + 2 * f->index[k]);
    }
    return f->nufft ? csrec_nufft_execute(f->nufft, true, grid, values)
                    : csrec_fft_execute(f->fft, 1, grid);
}

static csrec_status fourier_forward(const csrec_operator *A, const double *x, double *y) {
    const fourier *f = A->data;
    const int lanes = lanes_of(f);
    double *room = csrec_operator_borrow(A, lanes * lane_size(f));
    bool failed = !room;
    if (failed) return CSREC_MEMORY;
#pragma omp parallel for schedule(static) num_threads(lanes) reduction(|| : failed)
    for (int t = 0; t < lanes; t++)
        for (int64_t c = t; c < f->n_coils && !failed; c += lanes)
            failed = forward_coil(f, c, x, room + t * lane_size(f), y);
    csrec_operator_give_back(A, room);
    return failed ? CSREC_MEMORY : CSREC_OK;
}

/* Sums are in the order of the coils. */
static csrec_status fourier_adjoint(const csrec_operator *A, const double *y, double *x) {
    const fourier *f = A->data;
    const int lanes = lanes_of(f);
    double *room = csrec_operator_borrow(A, lanes * lane_size(f));
    bool failed = !room;
    if (failed) return CSREC_MEMORY;
    memset(x, 0, (size_t)A->n * sizeof *x);
    for (int64_t c = 0; c < f->n_coils && !failed; c += lanes) {
        const int some = f->n_coils - c < lanes ? (int)(f->n_coils - c) : lanes;
#pragma omp parallel for schedule(static) num_threads(some) reduction(|| : failed)
        for (int t = 0; t < some; t++) failed = adjoint_coil(f, c + t, y, room + t * lane_size(f));
        for (int t = 0; t < some; t++) add_weighed(f, c + t, room + t * lane_size(f), x);
    }
    csrec_operator_give_back(A, room);
    return failed ? CSREC_MEMORY : CSREC_OK;
}

/* sum = T s_c x, the last of three grids in `room`. */
static csrec_status square_coil(const fourier *f, int64_t c, const double *x, double *room) {
    double *grid = room + 2 * f->entries, *sum = grid + 2 * f->entries;
    weigh(f, c, x, room);
    for (int part = 0; part < 1 << f->shape.dims; part++) {
        const double *kernel = f->kernel + part * f->entries;
        turn_part(f, part, 1.0, false, room, grid);
        CSREC_TRY(csrec_fft_execute(f->fft, -1, grid));
        for (int64_t j = 0; j < 2 * f->entries; j++) grid[j] *= kernel[j / 2];
        CSREC_TRY(csrec_fft_execute(f->fft, 1, grid));
        turn_part(f, part, -1.0, part > 0, grid, sum);
    }
    return CSREC_OK;
}

static csrec_status nufft_normal(const csrec_operator *A, const double *x, double *z) {
    const fourier *f = A->data;
    const int lanes = lanes_of(f);
    const int64_t each = 6 * f->entries;
    double *room = csrec_operator_borrow(A, f->kernel ? lanes * each : A->m);
    bool failed = !room;
    if (failed) return CSREC_MEMORY;
    if (!f->kernel) {
        failed = fourier_forward(A, x, room) || fourier_adjoint(A, room, z);
        csrec_operator_give_back(A, room);
        return failed ? CSREC_MEMORY : CSREC_OK;
    }
    memset(z, 0, (size_t)A->n * sizeof *z);
    for (int64_t c = 0; c < f->n_coils && !failed; c += lanes) {
        const int some = f->n_coils - c < lanes ? (int)(f->n_coils - c) : lanes;
#pragma omp parallel for schedule(static) num_threads(some) reduction(|| : failed)
        for (int t = 0; t < some; t++) failed = square_coil(f, c + t, x, room + t * each);
        for (int t = 0; t < some; t++) add_weighed(f, c + t, room + t * each + 4 * f->entries, z);
    }
    csrec_operator_give_back(A, room);
    return failed ? CSREC_MEMORY : CSREC_OK;
}

/* Every row has entries of length unit |s_c(j)|. */
static csrec_status fourier_column_norms(const csrec_operator *A, double *norms) {
    const fourier *f = A->data;
    for (int64_t j = 0; j < f->entries; j++) {
        double norm = f->unit * sqrt((double)f->m *
                                     csrec_fourier_square(f->coils, f->entries, f->n_coils, j));
        if (f->complex_x)
            norms[2 * j] = norms[2 * j + 1] = norm;
        else
            norms[j] = norm;
    }
    return CSREC_OK;
}

const csrec_operator_type csrec_operator_fourier = {
    .name = "fourier",
    .brief = "frequencies of a real or complex signal, by one or several coils",
    .takes = CSREC_TAKES_INDEX | CSREC_TAKES_COMPLEX | CSREC_TAKES_COILS,
    .create = fourier_create,
    .destroy = fourier_destroy,
    .forward = fourier_forward,
    .adjoint = fourier_adjoint,
    .column_norms = fourier_column_norms};

const csrec_operator_type csrec_operator_nufft = {
    .name = "nufft",
    .brief = "any frequencies of a real or complex signal, by one or several coils",
    .takes = CSREC_TAKES_INDEX | CSREC_TAKES_COMPLEX | CSREC_TAKES_COILS,
    .create = nufft_create,
    .destroy = fourier_destroy,
    .forward = fourier_forward,
    .adjoint = fourier_adjoint,
    .normal = nufft_normal,
    .column_norms = fourier_column_norms};
