/* SPDX-License-Identifier: BSD-3-Clause */
/* em.cu - posteriors of rows under a mixture, and the sums of rows that they weight, in double.
 *
 * A block has the posteriors of 32 rows, a lane one; its warps take turns at the components. The
 * sums over rows are in their order, or in eight strides of it: the same bits every time. Rows
 * whose posteriors are all below CSREC_EM_SHARE are passed over; neighbours in a picture often
 * share a component. */
#include <math.h>
#include <stdlib.h>

#include "kernels/device/device.h"
#include "kernels/learn/em.h"
#include "kernels/learn/gram.cuh"
#include "kernels/learn/whiten.cuh"
#include "learn/gmm.h"

enum { WARPS = 8, LANES = CSREC_WHITEN_ROWS, STRIDES = 8 };

typedef struct em_device {
    int K, d;
    int64_t piece, rows;             /* rows: that X has room for */
    float *X;                        /* [rows][d] */
    double *whiten, *offset, *means; /* of the mixture */
    double *posterior, *likelihood;  /* [K][piece]; [piece / 32] sums of logarithms */
    double *weight, *shift, *C;      /* [K], [K][d], [K][d][d] sums */
} em_device;

struct csrec_cuda_em {
    csrec_cuda_block memory;
    em_device e;
    bool all;      /* X has room for all rows */
    int64_t there; /* of them that it has, from the first */
};

/* Of rows X [count][d]. */
__global__ void __launch_bounds__(WARPS *LANES)
    find_posteriors(const __grid_constant__ em_device e, int64_t count, const float *X) {
    extern __shared__ __align__(16) double x[]; /* [d][LANES] */
    __shared__ double part[WARPS][LANES], logs[LANES];
    const int lane = (int)threadIdx.x % LANES, warp = (int)threadIdx.x / LANES;
    const int64_t own = (int64_t)blockIdx.x * LANES + lane;
    const bool here = own < count;
    for (int j = warp; j < e.d; j += WARPS)
        x[j * LANES + lane] = here ? (double)X[own * e.d + j] : 0.0;
    __syncthreads();
    double most = -INFINITY, sum = 0.0;
    for (int k = warp; k < e.K; k += WARPS) {
        const double score = csrec_whiten_score(e.d, e.whiten + k * (int64_t)csrec_whiten_size(e.d),
                                                e.means + (int64_t)k * e.d, e.offset[k], x + lane);
        if (here) e.posterior[k * e.piece + own] = score;
        most = score > most ? score : most;
    }
    part[warp][lane] = most;
    __syncthreads();
    for (int w = 0; w < WARPS; w++) most = part[w][lane] > most ? part[w][lane] : most;
    for (int k = warp; k < e.K && here; k += WARPS) {
        const double below = e.posterior[k * e.piece + own] - most;
        const double r = below < CSREC_MIXTURE_NOTHING ? 0.0 : exp(below);
        e.posterior[k * e.piece + own] = r;
        sum += r;
    }
    __syncthreads(); /* all have read part */
    part[warp][lane] = sum;
    __syncthreads();
    sum = 0.0;
    for (int w = 0; w < WARPS; w++) sum += part[w][lane];
    for (int k = warp; k < e.K && here; k += WARPS) e.posterior[k * e.piece + own] /= sum;
    if (warp == 0) logs[lane] = here ? most + log(sum) : 0.0;
    __syncthreads();
    if (threadIdx.x > 0) return;
    sum = 0.0;
    for (int i = 0; i < LANES; i++) sum += logs[i];
    e.likelihood[blockIdx.x] = sum;
}

/* weight and shift: a block a component and LANES columns, a warp every STRIDES-th row. */
__global__ void __launch_bounds__(STRIDES *LANES)
    add_shifts(const __grid_constant__ em_device e, int64_t count, const float *X) {
    __shared__ double shifts[STRIDES][LANES], weights[STRIDES];
    const int k = (int)blockIdx.y, lane = (int)threadIdx.x % LANES, own = (int)threadIdx.x / LANES;
    const int column = (int)blockIdx.x * LANES + lane;
    const double *r = e.posterior + k * e.piece;
    const double mean = column < e.d ? e.means[(int64_t)k * e.d + column] : 0.0;
    double shift = 0.0, weight = 0.0;
    for (int64_t i = own; i < count; i += STRIDES) {
        if (!(r[i] >= CSREC_EM_SHARE)) continue;
        weight += r[i];
        if (column < e.d) shift += r[i] * ((double)X[i * e.d + column] - mean);
    }
    shifts[own][lane] = shift;
    weights[own] = weight; /* the same in all lanes */
    __syncthreads();
    if (own > 0) return;
    for (int s = 1; s < STRIDES; s++) {
        shift += shifts[s][lane];
        weight += weights[s];
    }
    if (column < e.d) e.shift[(int64_t)k * e.d + column] += shift;
    if (column == 0) e.weight[k] += weight;
}

/* The rows, weighted, about the mean of a component. */
struct weighted {
    const float *X;
    const double *r, *mean;
    int d;

    __device__ bool matters(int64_t row) const { return r[row] >= CSREC_EM_SHARE; }
    __device__ double right(int64_t row, int column) const {
        return column < d ? (double)X[row * d + column] - mean[column] : 0.0;
    }
    __device__ double left(int64_t row, int column) const {
        return matters(row) ? r[row] * right(row, column) : 0.0;
    }
};

/* C, on and above the diagonal: a block a component and tile. */
__global__ void __launch_bounds__(CSREC_GRAM_THREADS)
    add_products(const __grid_constant__ em_device e, int64_t count, const float *X) {
    const int64_t k = blockIdx.y;
    int a, b;
    csrec_gram_place((int)blockIdx.x, &a, &b);
    const weighted rows = {X, e.posterior + k * e.piece, e.means + k * e.d, e.d};
    double sum[2][2] = {};
    csrec_gram_add(count, a, b, rows, sum);
    for (int u = 0; u < 2; u++)
        for (int v = 0; v < 2; v++) {
            const int i = csrec_gram_row(a, u), j = csrec_gram_column(b, v);
            if (i < e.d && j >= i && j < e.d) e.C[(k * e.d + i) * e.d + j] += sum[u][v];
        }
}

template <typename T> static void take(csrec_cuda_block *block, T **array, int64_t count) {
    *array = (T *)csrec_cuda_block_take(block, count, sizeof(T));
}

static void lay_out(csrec_cuda_em *s) {
    em_device *e = &s->e;
    csrec_cuda_block *m = &s->memory;
    const int64_t K = e->K, d = e->d;
    take(m, &e->X, e->rows * d);
    take(m, &e->whiten, K * (int64_t)csrec_whiten_size(e->d));
    take(m, &e->offset, K);
    take(m, &e->means, K * d);
    take(m, &e->posterior, K * e->piece);
    take(m, &e->likelihood, (e->piece + LANES - 1) / LANES);
    take(m, &e->weight, K);
    take(m, &e->shift, K * d);
    take(m, &e->C, K * d * d);
}

static csrec_status set_sizes(csrec_cuda_em *s, int K, int d, int64_t rows, int64_t piece,
                              csrec_error *error) {
    enum { OWN = 4096 }; /* static shared memory, about */
    csrec_cuda_size size;
    csrec_status status = csrec_cuda_measure(&size, error);
    if (status) return status;
    const int bytes = d * LANES * (int)sizeof(double);
    if (bytes + OWN > size.shared)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "CUDA: rows of %d entries, at most %d; use backend cpu", d,
                          (size.shared - OWN) / (LANES * (int)sizeof(double)));
    s->all = (double)rows * d * sizeof(float) < 0.5 * (double)size.free;
    s->e.K = K;
    s->e.d = d;
    s->e.piece = piece;
    s->e.rows = s->all ? rows : piece;
    return csrec_cuda_allow_shared((const void *)find_posteriors, "find_posteriors", NULL, error);
}

csrec_status csrec_cuda_em_create(int K, int d, int64_t rows, int64_t piece, csrec_cuda_em **em,
                                  csrec_error *error) {
    csrec_cuda_em *s = (csrec_cuda_em *)calloc(1, sizeof *s);
    if (!s) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    csrec_status status = set_sizes(s, K, d, rows, piece, error);
    if (!status)
        status = csrec_cuda_lay(&s->memory, "the rows of a mixture", error, [&] { lay_out(s); });
    return CSREC_SETTLE(status, csrec_cuda_em_destroy(s), *em = s);
}

void csrec_cuda_em_destroy(csrec_cuda_em *s) {
    if (s) csrec_cuda_block_destroy(&s->memory);
    free(s);
}

static csrec_status clear(double *sums, int64_t count, csrec_error *error) {
    return csrec_cuda_clear(sums, (size_t)count * sizeof *sums, NULL, error);
}

csrec_status csrec_cuda_em_begin(csrec_cuda_em *s, const double *whiten, const double *offset,
                                 const double *means, csrec_error *error) {
    const em_device *e = &s->e;
    const int64_t K = e->K, d = e->d;
    const size_t one = (size_t)K * sizeof(double);
    csrec_status status = csrec_cuda_copy(e->whiten, whiten, one * csrec_whiten_size(e->d), error);
    if (!status) status = csrec_cuda_copy(e->offset, offset, one, error);
    if (!status) status = csrec_cuda_copy(e->means, means, one * (size_t)d, error);
    if (!status) status = clear(e->weight, K, error);
    if (!status) status = clear(e->shift, K * d, error);
    return status ? status : clear(e->C, K * d * d, error);
}

/* Rows first .. on the device. */
static csrec_status send(csrec_cuda_em *s, int64_t first, int64_t count, const float *X,
                         float **rows, csrec_error *error) {
    const int64_t d = s->e.d;
    *rows = s->e.X + (s->all ? first * d : 0);
    if (s->all && first + count > s->e.rows)
        return csrec_fail(error, CSREC_ARGUMENT, "CUDA: more rows than there were to be");
    if (s->all && first + count <= s->there) return CSREC_OK;
    csrec_status status = csrec_cuda_copy(*rows, X, (size_t)(count * d) * sizeof *X, error);
    if (!status && s->all && first <= s->there) s->there = first + count;
    return status;
}

csrec_status csrec_cuda_em_take(csrec_cuda_em *s, int64_t first, int64_t count, const float *X,
                                double *likelihood, csrec_error *error) {
    const em_device *e = &s->e;
    const size_t bytes = (size_t)e->d * LANES * sizeof(double);
    const unsigned blocks = csrec_cuda_blocks(count, LANES), K = (unsigned)e->K;
    float *rows;
    if (count < 1) return CSREC_OK;
    csrec_status status = send(s, first, count, X, &rows, error);
    if (status) return status;
    find_posteriors<<<blocks, WARPS * LANES, bytes>>>(*e, count, rows);
    status = csrec_cuda_launched("find_posteriors", error);
    if (status) return status;
    status = CSREC_CUDA_RUN(add_shifts, dim3(csrec_cuda_blocks(e->d, LANES), K), STRIDES * LANES,
                            error, *e, count, rows);
    if (status) return status;
    status = CSREC_CUDA_RUN(add_products, dim3((unsigned)csrec_gram_tiles(e->d), K),
                            CSREC_GRAM_THREADS, error, *e, count, rows);
    if (status) return status;
    return csrec_cuda_copy(likelihood, e->likelihood, blocks * sizeof *likelihood, error);
}

csrec_status csrec_cuda_em_moments(const csrec_cuda_em *s, int k, double *weight, double *shift,
                                   double *C, csrec_error *error) {
    const em_device *e = &s->e;
    const size_t d = (size_t)e->d, at = (size_t)k * d;
    csrec_status status = csrec_cuda_copy(weight, e->weight + k, sizeof *weight, error);
    if (!status) status = csrec_cuda_copy(shift, e->shift + at, d * sizeof *shift, error);
    if (!status) status = csrec_cuda_copy(C, e->C + at * d, d * d * sizeof *C, error);
    for (size_t i = 0; i < d && !status; i++)
        for (size_t j = i; j < d; j++) C[i * d + j] = C[j * d + i] = C[i * d + j] / *weight;
    return status;
}
