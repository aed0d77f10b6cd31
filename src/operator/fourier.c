/* SPDX-License-Identifier: BSD-3-Clause */
/* fourier.c - the operator of a signal's frequencies. */
#include "operator/devices.h"

#include <math.h>
#include <string.h>

#include "measurement/through.h"

typedef csrec_fourier fourier;

static void fourier_destroy(csrec_operator *A) {
    csrec_fft_destroy(((fourier *)A->data)->fft);
}

static csrec_status fourier_check(const csrec_operator_spec *spec, int64_t *rows, int64_t *m,
                                  csrec_error *error) {
    csrec_status status = csrec_rows_of(spec, "fourier", rows, error);
    if (!status) status = csrec_rows_chosen(spec, "fourier", *rows, m, error);
    if (status || csrec_fft_library()) return status;
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
    const double angle = 2.0 * 3.14159265358979323846 * turns;
    f->factors[2 * k] = f->unit * (turns == 0.5 ? -1.0 : cos(angle));
    f->factors[2 * k + 1] = turns == 0.5 ? 0.0 : f->unit * sin(angle);
}

static csrec_status fill(csrec_pool *pool, const csrec_operator_spec *spec, fourier *f) {
    if (!CSREC_TAKE(pool, f->index, f->m)) return CSREC_MEMORY;
    if ((spec->centred || f->unit != 1.0) && !CSREC_TAKE(pool, f->factors, 2 * f->m))
        return CSREC_MEMORY;
    for (int64_t k = 0; k < f->m; k++) {
        f->index[k] = spec->index ? spec->index[k] : k;
        double turns = spec->centred ? csrec_uncentre(spec->shape, false, &f->index[k]) : 0.0;
        if (f->factors) set_factor(f, k, turns);
    }
    if (spec->coils) {
        const int64_t numbers = 2 * f->n_coils * f->entries;
        if (!CSREC_TAKE(pool, f->coils, numbers)) return CSREC_MEMORY;
        memcpy(f->coils, spec->coils, (size_t)numbers * sizeof *f->coils);
    }
    return csrec_fft_create(spec->shape, &f->fft);
}

static csrec_status fourier_create(csrec_operator *A, const csrec_operator_spec *spec,
                                   csrec_error *error) {
    int64_t rows, m;
    csrec_status status = fourier_check(spec, &rows, &m, error);
    if (status) return status;
    fourier *f = csrec_operator_data(A, sizeof *f);
    if (!f) return CSREC_MEMORY;
    *f = (fourier){.shape = *spec->shape,
                   .entries = rows,
                   .m = m,
                   .unit = unit_of(spec, rows),
                   .n_coils = csrec_through_coils(spec),
                   .complex_x = spec->complex_signal};
    status = fill(&A->pool, spec, f); /* the transform last, which the pool does not free */
    if (status) return status;
    A->m = 2 * f->m * f->n_coils;
    A->n = f->complex_x ? 2 * rows : rows;
    A->complex_x = f->complex_x;
    A->complex_y = true;
    A->norm = largest_gain(f);
    return CSREC_OK;
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

static csrec_status fourier_forward(const csrec_operator *A, const double *x, double *y) {
    const fourier *f = A->data;
    double *grid = csrec_operator_borrow(A, 2 * f->entries);
    csrec_status status = grid ? CSREC_OK : CSREC_MEMORY;
    for (int64_t c = 0; c < f->n_coils && !status; c++) {
        weigh(f, c, x, grid);
        status = csrec_fft_execute(f->fft, -1, grid);
        for (int64_t k = 0; k < f->m; k++)
            csrec_fourier_turn(f->factors, k, 1.0, grid + 2 * f->index[k],
                               y + 2 * (k * f->n_coils + c));
    }
    csrec_operator_give_back(A, grid);
    return status;
}

static csrec_status fourier_adjoint(const csrec_operator *A, const double *y, double *x) {
    const fourier *f = A->data;
    double *grid = csrec_operator_borrow(A, 2 * f->entries);
    csrec_status status = grid ? CSREC_OK : CSREC_MEMORY;
    memset(x, 0, (size_t)A->n * sizeof *x);
    for (int64_t c = 0; c < f->n_coils && !status; c++) {
        memset(grid, 0, 2 * (size_t)f->entries * sizeof *grid);
        for (int64_t k = 0; k < f->m; k++)
            csrec_fourier_turn(f->factors, k, -1.0, y + 2 * (k * f->n_coils + c),
                               grid + 2 * f->index[k]);
        status = csrec_fft_execute(f->fft, 1, grid);
        add_weighed(f, c, grid, x);
    }
    csrec_operator_give_back(A, grid);
    return status;
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
