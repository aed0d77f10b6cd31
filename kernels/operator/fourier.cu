/* SPDX-License-Identifier: BSD-3-Clause */
/* fourier.cu - a signal's frequencies (operator/devices.h) on the device, on the grid and any, by
 * cuFFT, which is loaded when the first such operator is made: csrec needs it for nothing else. */
#include <cufft.h>
#include <dlfcn.h>
#include <stdio.h>

#include "kernels/operator/nufft.h"
#include "kernels/operator/operator.cuh"

enum { THREADS = CSREC_CUDA_THREADS };

/* The calls of cuFFT that are used. */
typedef struct cufft_calls {
    void *library;
    cufftResult (*plan)(cufftHandle *plan, int rank, int *n, int *inembed, int istride, int idist,
                        int *onembed, int ostride, int odist, cufftType type, int batch);
    cufftResult (*execute)(cufftHandle plan, cufftDoubleComplex *in, cufftDoubleComplex *out,
                           int direction);
    cufftResult (*destroy)(cufftHandle plan);
} cufft_calls;

typedef struct fourier_operator {
    csrec_cuda_operator op;
    const csrec_fourier *from; /* while it is made */
    csrec_shape shape;
    int64_t entries, m, n_coils; /* m: frequencies */
    bool complex_x;
    bool planned;
    cufftHandle plan;
    cufft_calls calls;
    int64_t *index; /* [m], or NULL */
    double unit;
    double *factors; /* [m] pairs, or NULL */
    double *coils;   /* [n_coils][entries] pairs, or NULL */
    double *grid;    /* [entries] pairs */
    bool has_coils;
    bool any;               /* frequencies, and of these: */
    csrec_cuda_nufft *sums; /* or NULL: FORWARD and ADJOINT are the CPU's */
    double *values;         /* [m] pairs */
    double *kernel;         /* [2^dims][entries] */
    double *sum;            /* [entries] pairs */
} fourier_operator;

/* grid = s x */
static __global__ void weigh(int64_t n, const double *s, bool pairs, const double *x,
                             double *grid) {
    int64_t j = csrec_cuda_thread();
    if (j < n) csrec_fourier_weigh(s, pairs, j, x, grid);
}

/* x += conj(s) grid, or its real part. */
static __global__ void add_weighed(int64_t n, const double *s, bool pairs, const double *grid,
                                   double *x) {
    int64_t j = csrec_cuda_thread();
    if (j < n) csrec_fourier_collect(s, pairs, j, grid, x);
}

static __global__ void get(int64_t m, int64_t coils, int64_t c, const int64_t *index,
                           const double *factors, const double *grid, double *y) {
    int64_t k = csrec_cuda_thread();
    if (k < m) csrec_fourier_turn(factors, k, 1.0, grid + 2 * index[k], y + 2 * (k * coils + c));
}

static __global__ void put(int64_t m, int64_t coils, int64_t c, const int64_t *index,
                           const double *factors, const double *y, double *grid) {
    int64_t k = csrec_cuda_thread();
    if (k < m) csrec_fourier_turn(factors, k, -1.0, y + 2 * (k * coils + c), grid + 2 * index[k]);
}

/* Pairs: to = unit from, with a stride each. */
static __global__ void move(int64_t m, double unit, int64_t apart, const double *from,
                            int64_t to_apart, double *to) {
    int64_t k = csrec_cuda_thread();
    if (k >= m) return;
    to[2 * k * to_apart] = unit * from[2 * k * apart];
    to[2 * k * to_apart + 1] = unit * from[2 * k * apart + 1];
}

/* to_j = grid_j exp(-sign pi i sum j_a / n_a) of the axes of a part (operator/fourier.c), or is
 * increased by it. */
static __global__ void turn_part(int64_t n, csrec_shape shape, int part, double sign, bool add,
                                 const double *grid, double *to) {
    int64_t j = csrec_cuda_thread(), rest = j;
    double turns = 0.0, re, im;
    if (j >= n) return;
    for (int a = shape.dims - 1; a >= 0; rest /= shape.dim[a--])
        if (part >> a & 1) turns += (double)(rest % shape.dim[a]) / (double)shape.dim[a];
    sincospi(-sign * turns, &im, &re);
    const double u = re * grid[2 * j] - im * grid[2 * j + 1];
    const double v = re * grid[2 * j + 1] + im * grid[2 * j];
    to[2 * j] = add ? to[2 * j] + u : u;
    to[2 * j + 1] = add ? to[2 * j + 1] + v : v;
}

static __global__ void scale(int64_t n, const double *kernel, double *grid) {
    int64_t j = csrec_cuda_thread();
    if (j < n) grid[j] *= kernel[j / 2];
}

static __global__ void measure(int64_t n, int64_t m, int64_t n_coils, const double *coils,
                               double unit, bool pairs, double *norms) {
    int64_t j = csrec_cuda_thread();
    if (j >= n) return;
    double norm = unit * sqrt((double)m * csrec_fourier_square(coils, n, n_coils, j));
    if (pairs)
        norms[2 * j] = norms[2 * j + 1] = norm;
    else
        norms[j] = norm;
}

static const double *coil(const fourier_operator *own, int64_t c) {
    return own->has_coils ? own->coils + 2 * c * own->entries : NULL;
}

static csrec_status transform(fourier_operator *own, int direction, csrec_error *error) {
    cufftDoubleComplex *grid = (cufftDoubleComplex *)own->grid;
    cufftResult result = own->calls.execute(own->plan, grid, grid, direction);
    return result == CUFFT_SUCCESS
               ? CSREC_OK
               : csrec_fail(error, CSREC_DEVICE, "cuFFT: error %d", (int)result);
}

static csrec_status forward(fourier_operator *own, const double *x, double *y, csrec_error *error) {
    csrec_status status = CSREC_OK;
    for (int64_t c = 0; c < own->n_coils && !status; c++) {
        const double *s = coil(own, c);
        status = CSREC_CUDA_EACH(weigh, own->entries, THREADS, error, own->entries, s,
                                 own->complex_x, x, own->grid);
        if (!status && own->any)
            status = csrec_cuda_nufft_execute(own->sums, false, own->grid, own->values, error);
        else if (!status)
            status = transform(own, CUFFT_FORWARD, error);
        if (status) break;
        if (own->any)
            status = CSREC_CUDA_EACH(move, own->m, THREADS, error, own->m, own->unit, 1,
                                     own->values, own->n_coils, y + 2 * c);
        else
            status = CSREC_CUDA_EACH(get, own->m, THREADS, error, own->m, own->n_coils, c,
                                     own->index, own->factors, own->grid, y);
    }
    return status;
}

/* grid from the values of a coil. */
static csrec_status adjoint_coil(fourier_operator *own, int64_t c, const double *y,
                                 csrec_error *error) {
    if (own->any) {
        csrec_status status = CSREC_CUDA_EACH(move, own->m, THREADS, error, own->m, own->unit,
                                              own->n_coils, y + 2 * c, 1, own->values);
        if (status) return status;
        return csrec_cuda_nufft_execute(own->sums, true, own->grid, own->values, error);
    }
    CSREC_TRY(
        csrec_cuda_clear(own->grid, 2 * (size_t)own->entries * sizeof *own->grid, NULL, error));
    CSREC_TRY(CSREC_CUDA_EACH(put, own->m, THREADS, error, own->m, own->n_coils, c, own->index,
                              own->factors, y, own->grid));
    return transform(own, CUFFT_INVERSE, error);
}

static csrec_status adjoint(fourier_operator *own, const double *y, double *x, csrec_error *error) {
    CSREC_TRY(csrec_cuda_clear(x, (size_t)own->op.n * sizeof *x, NULL, error));
    for (int64_t c = 0; c < own->n_coils; c++) {
        CSREC_TRY(adjoint_coil(own, c, y, error));
        CSREC_TRY(CSREC_CUDA_EACH(add_weighed, own->entries, THREADS, error, own->entries,
                                  coil(own, c), own->complex_x, own->grid, x));
    }
    return CSREC_OK;
}

/* sum += the part of T s_c x. */
static csrec_status square_part(fourier_operator *own, int64_t c, int part, const double *x,
                                csrec_error *error) {
    const int64_t n = own->entries;
    CSREC_TRY(
        CSREC_CUDA_EACH(weigh, n, THREADS, error, n, coil(own, c), own->complex_x, x, own->grid));
    CSREC_TRY(CSREC_CUDA_EACH(turn_part, n, THREADS, error, n, own->shape, part, 1.0, false,
                              own->grid, own->grid));
    CSREC_TRY(transform(own, CUFFT_FORWARD, error));
    CSREC_TRY(
        CSREC_CUDA_EACH(scale, 2 * n, THREADS, error, 2 * n, own->kernel + part * n, own->grid));
    CSREC_TRY(transform(own, CUFFT_INVERSE, error));
    return CSREC_CUDA_EACH(turn_part, n, THREADS, error, n, own->shape, part, -1.0, true, own->grid,
                           own->sum);
}

/* z = sum_c conj(s_c) T s_c x, as on the CPU. */
static csrec_status square(fourier_operator *own, const double *x, double *z, csrec_error *error) {
    CSREC_TRY(csrec_cuda_clear(z, (size_t)own->op.n * sizeof *z, NULL, error));
    for (int64_t c = 0; c < own->n_coils; c++) {
        CSREC_TRY(
            csrec_cuda_clear(own->sum, 2 * (size_t)own->entries * sizeof *own->sum, NULL, error));
        for (int part = 0; part < 1 << own->shape.dims; part++)
            CSREC_TRY(square_part(own, c, part, x, error));
        CSREC_TRY(CSREC_CUDA_EACH(add_weighed, own->entries, THREADS, error, own->entries,
                                  coil(own, c), own->complex_x, own->sum, z));
    }
    return CSREC_OK;
}

static csrec_status queue(csrec_cuda_operator *op, csrec_cuda_product product, double *in,
                          double *out, csrec_error *error) {
    fourier_operator *own = (fourier_operator *)op;
    const bool single = !own->any || own->sums;
    if (product == CSREC_CUDA_FORWARD && single) return forward(own, in, out, error);
    if (product == CSREC_CUDA_ADJOINT && single) return adjoint(own, in, out, error);
    if (product == CSREC_CUDA_NORMAL && own->any) return square(own, in, out, error);
    if (product != CSREC_CUDA_NORMS) return CSREC_UNSUPPORTED;
    return CSREC_CUDA_EACH(measure, own->entries, THREADS, error, own->entries, own->m,
                           own->n_coils, coil(own, 0), own->unit, own->complex_x, out);
}

static csrec_status load(cufft_calls *calls, csrec_error *error) {
    char name[32];
    snprintf(name, sizeof name, "libcufft.so.%d", CUFFT_VERSION / 1000);
    calls->library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (calls->library) {
        *(void **)&calls->plan = dlsym(calls->library, "cufftPlanMany");
        *(void **)&calls->execute = dlsym(calls->library, "cufftExecZ2Z");
        *(void **)&calls->destroy = dlsym(calls->library, "cufftDestroy");
    }
    if (calls->library && calls->plan && calls->execute && calls->destroy) return CSREC_OK;
    return csrec_fail(
        error, CSREC_UNSUPPORTED,
        "operators fourier and nufft: %s of the CUDA toolkit is not found; install it or use "
        "backend cpu",
        name);
}

static csrec_status plan(fourier_operator *own, csrec_error *error) {
    int n[CSREC_DIMS_MAX];
    CSREC_TRY(load(&own->calls, error));
    for (int a = 0; a < own->shape.dims; a++) n[a] = (int)own->shape.dim[a];
    cufftResult result =
        own->calls.plan(&own->plan, own->shape.dims, n, NULL, 1, 0, NULL, 1, 0, CUFFT_Z2Z, 1);
    own->planned = result == CUFFT_SUCCESS;
    return own->planned
               ? CSREC_OK
               : csrec_fail(error, result == CUFFT_ALLOC_FAILED ? CSREC_MEMORY : CSREC_DEVICE,
                            "operator fourier: cuFFT makes no plan (error %d)", (int)result);
}

static void destroy(csrec_cuda_operator *op) {
    fourier_operator *own = (fourier_operator *)op;
    csrec_cuda_nufft_destroy(own->sums);
    if (own->planned) own->calls.destroy(own->plan);
    if (own->calls.library) dlclose(own->calls.library);
}

static void lay_out(csrec_cuda_operator *op, csrec_cuda_block *block) {
    fourier_operator *own = (fourier_operator *)op;
    csrec_cuda_take(block, 2 * own->entries, &own->grid);
    if (own->any) {
        csrec_cuda_operator_take(op, block, own->entries << own->shape.dims, &own->kernel,
                                 own->from->kernel);
        csrec_cuda_take(block, 2 * own->m, &own->values);
        csrec_cuda_take(block, 2 * own->entries, &own->sum);
    } else {
        csrec_cuda_operator_take(op, block, own->m, &own->index, own->from->index);
    }
    if (own->from->factors)
        csrec_cuda_operator_take(op, block, 2 * own->m, &own->factors, own->from->factors);
    if (own->has_coils)
        csrec_cuda_operator_take(op, block, 2 * own->n_coils * own->entries, &own->coils,
                                 own->from->coils);
}

csrec_status csrec_cuda_operator_fourier(const csrec_fourier *f, csrec_cuda_operator **made,
                                         csrec_error *error) {
    if (f->nufft && !f->kernel)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "operator nufft: csrec was built without FFTW or PocketFFT, by which a "
                          "device has it; use backend cpu");
    fourier_operator own = {};
    own.from = f;
    own.shape = f->shape;
    own.any = f->nufft != NULL;
    own.entries = f->entries;
    own.m = f->m;
    own.unit = f->unit;
    own.n_coils = f->n_coils;
    own.complex_x = f->complex_x;
    own.has_coils = f->coils != NULL;
    own.op = csrec_cuda_operator_of(2 * f->m * f->n_coils,
                                    f->complex_x ? 2 * f->entries : f->entries, lay_out, queue);
    own.op.destroy = destroy;
    CSREC_TRY(csrec_cuda_operator_open(&own.op, sizeof own, "operator fourier", made, error));
    fourier_operator *kept = (fourier_operator *)*made;
    csrec_status status = plan(kept, error);
    if (!status && own.any && CSREC_CUDA_NUFFT)
        status = csrec_cuda_nufft_create(&f->shape, f->m, f->k, CSREC_NUFFT_PRECISION, &kept->sums,
                                         error);
    if (status) {
        csrec_cuda_operator_destroy(*made);
        *made = NULL;
    }
    return status;
}
