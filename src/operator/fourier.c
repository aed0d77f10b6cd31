/* fourier.c - the operator of a signal's frequencies. */
#include "operator/fourier.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/through.h"
#include "operator/mask.h"

typedef csrec_fourier fourier;

/* ------------------------------------------------------------------ creation ------------------ */

static void fourier_destroy(csrec_operator *A) {
    fourier *f = A->data;
    if (!f) return;
    csrec_fft_destroy(f->fft);
    free(f->index);
    free(f->coils);
    free(f);
}

static csrec_status fourier_check(const csrec_operator_spec *spec, int64_t *rows,
                                  csrec_error *error) {
    if (!spec->shape || csrec_shape_count(spec->shape, rows))
        return csrec_fail(error, CSREC_ARGUMENT, "operator fourier: needs a shape");
    csrec_status status =
        csrec_through_find("fourier")->rows(spec, spec->shape, "operator fourier", rows, error);
    if (status) return status;
    int64_t m = spec->index ? spec->m : *rows;
    if (m < 1 || m > *rows)
        return csrec_fail(error, CSREC_ARGUMENT, "operator fourier: %lld frequencies of %lld",
                          (long long)m, (long long)*rows);
    status = spec->index ? csrec_index_check(spec, "fourier", *rows, error) : CSREC_OK;
    if (status || csrec_fft_library()) return status;
    return csrec_fail(error, CSREC_UNSUPPORTED,
                      "operator fourier: csrec was built without FFTW or PocketFFT; build it with "
                      "-DCSREC_FFT=fftw");
}

/* sqrt(entries max_j sum_c |s_c(j)|^2): what the transform and the coils make at most. */
static double largest_gain(const fourier *f) {
    double most = f->coils ? 0.0 : 1.0;
    for (int64_t j = 0; j < f->entries && f->coils; j++) {
        double sum = 0.0;
        for (int64_t c = 0; c < f->n_coils; c++) {
            const double *s = f->coils + 2 * (c * f->entries + j);
            sum += s[0] * s[0] + s[1] * s[1];
        }
        most = fmax(most, sum);
    }
    return sqrt((double)f->entries * most);
}

static csrec_status fill(const csrec_operator_spec *spec, fourier *f) {
    f->index = malloc((size_t)f->m * sizeof *f->index);
    if (!f->index) return CSREC_MEMORY;
    for (int64_t k = 0; k < f->m; k++) f->index[k] = spec->index ? spec->index[k] : k;
    if (spec->coils) {
        size_t bytes = (size_t)(2 * f->n_coils * f->entries) * sizeof *f->coils;
        if (!(f->coils = malloc(bytes))) return CSREC_MEMORY;
        memcpy(f->coils, spec->coils, bytes);
    }
    return csrec_fft_create(spec->shape, &f->fft);
}

static csrec_status fourier_create(csrec_operator *A, const csrec_operator_spec *spec,
                                   csrec_error *error) {
    int64_t rows;
    csrec_status status = fourier_check(spec, &rows, error);
    if (status) return status;
    fourier *f = calloc(1, sizeof *f);
    if (!f) return csrec_fail(error, CSREC_MEMORY, "operator fourier: out of memory");
    A->data = f;
    *f = (fourier){.shape = *spec->shape,
                   .entries = rows,
                   .m = spec->index ? spec->m : rows,
                   .n_coils = csrec_through_coils(spec),
                   .complex_x = spec->complex_signal};
    status = fill(spec, f);
    if (status) {
        fourier_destroy(A);
        return csrec_fail(error, status, "operator fourier: %s", csrec_status_text(status));
    }
    A->m = 2 * f->m * f->n_coils;
    A->n = f->complex_x ? 2 * rows : rows;
    A->complex_x = f->complex_x;
    A->complex_y = true;
    A->norm = largest_gain(f);
    return CSREC_OK;
}

/* ------------------------------------------------------------------ products ------------------ */

/* grid = s_c x */
static void weigh(const fourier *f, int64_t c, const double *x, double *grid) {
    const double *s = f->coils ? f->coils + 2 * c * f->entries : NULL;
    for (int64_t j = 0; j < f->entries; j++) {
        double re = f->complex_x ? x[2 * j] : x[j], im = f->complex_x ? x[2 * j + 1] : 0.0;
        grid[2 * j] = s ? s[2 * j] * re - s[2 * j + 1] * im : re;
        grid[2 * j + 1] = s ? s[2 * j] * im + s[2 * j + 1] * re : im;
    }
}

/* x += conj(s_c) grid, or its real part. */
static void add_weighed(const fourier *f, int64_t c, const double *grid, double *x) {
    const double *s = f->coils ? f->coils + 2 * c * f->entries : NULL;
    for (int64_t j = 0; j < f->entries; j++) {
        double u = grid[2 * j], v = grid[2 * j + 1];
        double re = s ? s[2 * j] * u + s[2 * j + 1] * v : u;
        double im = s ? s[2 * j] * v - s[2 * j + 1] * u : v;
        if (f->complex_x) {
            x[2 * j] += re;
            x[2 * j + 1] += im;
        } else {
            x[j] += re;
        }
    }
}

static csrec_status fourier_forward(const csrec_operator *A, const double *x, double *y) {
    const fourier *f = A->data;
    double *grid = malloc(2 * (size_t)f->entries * sizeof *grid);
    csrec_status status = grid ? CSREC_OK : CSREC_MEMORY;
    for (int64_t c = 0; c < f->n_coils && !status; c++) {
        weigh(f, c, x, grid);
        status = csrec_fft_execute(f->fft, -1, grid);
        for (int64_t k = 0; k < f->m; k++)
            memcpy(y + 2 * (k * f->n_coils + c), grid + 2 * f->index[k], 2 * sizeof *y);
    }
    free(grid);
    return status;
}

static csrec_status fourier_adjoint(const csrec_operator *A, const double *y, double *x) {
    const fourier *f = A->data;
    double *grid = malloc(2 * (size_t)f->entries * sizeof *grid);
    csrec_status status = grid ? CSREC_OK : CSREC_MEMORY;
    memset(x, 0, (size_t)A->n * sizeof *x);
    for (int64_t c = 0; c < f->n_coils && !status; c++) {
        memset(grid, 0, 2 * (size_t)f->entries * sizeof *grid);
        for (int64_t k = 0; k < f->m; k++)
            memcpy(grid + 2 * f->index[k], y + 2 * (k * f->n_coils + c), 2 * sizeof *y);
        status = csrec_fft_execute(f->fft, 1, grid);
        add_weighed(f, c, grid, x);
    }
    free(grid);
    return status;
}

/* Every row has entries of length |s_c(j)|. */
static csrec_status fourier_column_norms(const csrec_operator *A, double *norms) {
    const fourier *f = A->data;
    for (int64_t j = 0; j < f->entries; j++) {
        double sum = f->coils ? 0.0 : 1.0;
        for (int64_t c = 0; c < f->n_coils && f->coils; c++) {
            const double *s = f->coils + 2 * (c * f->entries + j);
            sum += s[0] * s[0] + s[1] * s[1];
        }
        double norm = sqrt((double)f->m * sum);
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
    .create = fourier_create,
    .destroy = fourier_destroy,
    .forward = fourier_forward,
    .adjoint = fourier_adjoint,
    .column_norms = fourier_column_norms};
