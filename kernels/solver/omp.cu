/* SPDX-License-Identifier: BSD-3-Clause */
/* omp.cu - Batch-OMP on the device: unit columns, Gram matrix, products, then one thread block per
 * signal. */
#include "kernels/solver/omp.h"

#include <math.h>
#include <stdlib.h>

#include "base/stop.h"
#include "kernels/solver/omp_pursue.cuh"
#include "kernels/operator/operator.cuh"

enum { THREADS = CSREC_CUDA_THREADS, TILE = 64, DEPTH = 16, EACH = 4 };

/* U_j = a_j / ||a_j||; 0 for a column of zeros. */
static __global__ void normalise(int64_t m, int64_t n, const double *columns, const double *norms,
                                 double *U) {
    int64_t at = csrec_cuda_thread();
    if (at >= m * n) return;
    double norm = norms[at / m];
    U[at] = norm > 0.0 ? columns[at] / norm : 0.0;
}

/* A block a signal: scale = ||y||, y /= scale. Entries are divided by the largest before squaring,
 * which could overflow or underflow. */
static __global__ void scale_signals(int64_t m, double *y, double *scale) {
    __shared__ double part[OMP_THREADS];
    double *own = y + (int64_t)blockIdx.x * m, most = 0.0, sum = 0.0;
    for (int64_t i = threadIdx.x; i < m; i += OMP_THREADS) most = fmax(most, fabs(own[i]));
    part[threadIdx.x] = most;
    for (int half = OMP_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half)
            part[threadIdx.x] = fmax(part[threadIdx.x], part[threadIdx.x + half]);
    }
    __syncthreads();
    most = part[0];
    __syncthreads();
    for (int64_t i = threadIdx.x; i < m && most > 0.0; i += OMP_THREADS) {
        own[i] /= most;
        sum = fma(own[i], own[i], sum);
    }
    part[threadIdx.x] = sum;
    for (int half = OMP_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    __syncthreads();
    double length = sqrt(part[0]);
    for (int64_t i = threadIdx.x; i < m && most > 0.0; i += OMP_THREADS) own[i] /= length;
    if (threadIdx.x == 0) scale[blockIdx.x] = most * length;
}

/* A tile of rows first .. first + TILE - 1 at depth k .., transposed; 0 past the ends. */
static __device__ void load_tile(int64_t rows, int64_t m, const double *a, int64_t first, int64_t k,
                                 double tile[DEPTH][TILE + 1]) {
    for (int t = threadIdx.x; t < TILE * DEPTH; t += THREADS) {
        int row = t / DEPTH, depth = t % DEPTH;
        bool inside = first + row < rows && k + depth < m;
        tile[depth][row] = inside ? a[(first + row) * m + k + depth] : 0.0;
    }
}

/* c[i][j] = sum_k a[i][k] b[j][k]: a block a tile of TILE x TILE, a thread EACH x EACH of it. */
static __global__ void multiply(int64_t rows, int64_t n, int64_t m, const double *a,
                                const double *b, double *c) {
    __shared__ double left[DEPTH][TILE + 1], right[DEPTH][TILE + 1];
    int64_t tiles = (n + TILE - 1) / TILE;
    int64_t first = blockIdx.x / tiles * TILE, start = blockIdx.x % tiles * TILE;
    int i0 = threadIdx.x / (TILE / EACH), j0 = threadIdx.x % (TILE / EACH);
    double sum[EACH][EACH] = {};
    for (int64_t k = 0; k < m; k += DEPTH) {
        load_tile(rows, m, a, first, k, left);
        load_tile(n, m, b, start, k, right);
        __syncthreads();
        for (int d = 0; d < DEPTH; d++)
            for (int i = 0; i < EACH; i++)
                for (int j = 0; j < EACH; j++)
                    sum[i][j] = fma(left[d][i0 + i * (TILE / EACH)],
                                    right[d][j0 + j * (TILE / EACH)], sum[i][j]);
        __syncthreads();
    }
    for (int i = 0; i < EACH; i++)
        for (int j = 0; j < EACH; j++) {
            int64_t row = first + i0 + i * (TILE / EACH), column = start + j0 + j * (TILE / EACH);
            if (row < rows && column < n) c[row * n + column] = sum[i][j];
        }
}

static __global__ void __launch_bounds__(OMP_THREADS) pursue(omp_problem p) {
    extern __shared__ double omp_shared[];
    omp_signal s;
    omp_lay_out(p.m, p.n, p.room, (char *)omp_shared, &s);
    omp_pursue(p, s, blockIdx.x);
}

/* ---- the plan */

struct csrec_cuda_omp_plan {
    int64_t m, n, room, most; /* most: signals at once */
    bool with_r;
    omp_problem p;
    double *U, *G, *y, *a, *scale; /* of p, to write */
    size_t shared;
    csrec_cuda_block block;
    csrec_cuda_pipe pipe;
};

static double *take(csrec_cuda_block *block, int64_t count) {
    return (double *)csrec_cuda_block_take(block, count, sizeof(double));
}

static int32_t *take_integers(csrec_cuda_block *block, int64_t count) {
    return (int32_t *)csrec_cuda_block_take(block, count, sizeof(int32_t));
}

static void lay_out(csrec_cuda_omp_plan *plan) {
    csrec_cuda_block *block = &plan->block;
    int64_t m = plan->m, n = plan->n, most = plan->most;
    plan->U = take(block, n * m);
    plan->G = take(block, n * n);
    plan->y = take(block, most * m);
    plan->a = take(block, most * n);
    plan->scale = take(block, most);
    plan->p.residual = take(block, most);
    plan->p.coefficient = take(block, most * plan->room);
    plan->p.column = take_integers(block, most * plan->room);
    plan->p.outcome = take_integers(block, most);
    plan->p.size = take_integers(block, most);
    plan->p.iterations = take_integers(block, most);
    plan->p.r = plan->with_r ? take(block, most * m) : NULL;
}

void csrec_cuda_omp_destroy(csrec_cuda_omp_plan *plan) {
    if (!plan) return;
    csrec_cuda_pipe_destroy(&plan->pipe);
    csrec_cuda_block_destroy(&plan->block);
    free(plan);
}

static unsigned tiles_of(int64_t rows, int64_t n) {
    return csrec_cuda_blocks(rows, TILE) * csrec_cuda_blocks(n, TILE);
}

static csrec_status fill_plan(csrec_cuda_omp_plan *plan, csrec_cuda_operator *op,
                              csrec_error *error) {
    int64_t m = plan->m, n = plan->n;
    CSREC_TRY(CSREC_CUDA_EACH(normalise, m * n, THREADS, error, m, n,
                              csrec_cuda_operator_columns(op), op->norms, plan->U));
    csrec_status status = CSREC_CUDA_RUN(multiply, tiles_of(n, n), THREADS, error, n, n, m, plan->U,
                                         plan->U, plan->G);
    plan->p.m = m;
    plan->p.n = n;
    plan->p.room = plan->room;
    plan->p.U = plan->U;
    plan->p.G = plan->G;
    plan->p.norms = op->norms;
    plan->p.y = plan->y;
    plan->p.a = plan->a;
    plan->p.scale = plan->scale;
    return status;
}

/* The most signals whose arrays leave an eighth of the free memory; at least one. */
static int64_t fitting(const csrec_cuda_omp_plan *plan, int64_t wanted, size_t free) {
    double fixed = 8.0 * (double)plan->n * (double)(plan->m + plan->n);
    double each = 8.0 * (double)(2 * plan->m + plan->n + 2 * plan->room + 8);
    double room = (0.875 * (double)free - fixed) / each;
    return room < 1.0 ? 1 : room < (double)wanted ? (int64_t)room : wanted;
}

static csrec_status make_plan(csrec_cuda_operator *op, const csrec_omp_part *job, bool with_r,
                              csrec_cuda_omp_plan **made, csrec_error *error) {
    csrec_cuda_size size;
    omp_signal unused;
    CSREC_TRY(csrec_cuda_measure(&size, error));
    size_t shared = omp_lay_out(op->m, op->n, job->room, NULL, &unused);
    if (shared > (size_t)size.shared) return CSREC_UNSUPPORTED;
    csrec_cuda_omp_plan *plan = (csrec_cuda_omp_plan *)calloc(1, sizeof *plan);
    if (!plan) return csrec_fail(error, CSREC_MEMORY, "Batch-OMP: out of memory");
    plan->m = op->m;
    plan->n = op->n;
    plan->room = job->room;
    plan->with_r = with_r;
    plan->shared = shared;
    plan->most = fitting(plan, job->count, size.free);
    csrec_status status = csrec_cuda_lay(&plan->block, "Batch-OMP", error, [&] { lay_out(plan); });
    if (!status) {
        csrec_cuda_pipe_open((size_t)(plan->most * plan->m) * sizeof(double), &plan->pipe);
        status = fill_plan(plan, op, error);
    }
    if (!status)
        status = csrec_cuda_allow_shared((const void *)pursue, "shared memory", NULL, error);
    return CSREC_SETTLE(status, csrec_cuda_omp_destroy(plan), *made = plan);
}

static bool fits(const csrec_cuda_omp_plan *plan, const csrec_omp_part *job, bool with_r) {
    return plan && plan->room == job->room && (plan->with_r || !with_r) && plan->most >= job->count;
}

/* ---- a part of the signals */

static csrec_status queue_part(csrec_cuda_omp_plan *plan, int64_t count, csrec_error *error) {
    int64_t m = plan->m, n = plan->n;
    CSREC_TRY(CSREC_CUDA_RUN(scale_signals, (unsigned)count, OMP_THREADS, error, m, plan->y,
                             plan->scale));
    CSREC_TRY(CSREC_CUDA_RUN(multiply, tiles_of(count, n), THREADS, error, count, n, m, plan->y,
                             plan->U, plan->a));
    plan->p.count = count;
    pursue<<<(unsigned)count, OMP_THREADS, plan->shared>>>(plan->p);
    return csrec_cuda_launched("pursue", error);
}

static csrec_status receive_part(csrec_cuda_omp_plan *plan, int64_t at, int64_t count,
                                 const csrec_omp_result *result, csrec_error *error) {
    const omp_problem *p = &plan->p;
    const int64_t room = p->room;
    const struct {
        void *to;
        const void *from;
        int64_t bytes;
    } parts[] = {{result->outcome + at, p->outcome, 4 * count},
                 {result->size + at, p->size, 4 * count},
                 {result->iterations + at, p->iterations, 4 * count},
                 {result->residual + at, p->residual, 8 * count},
                 {result->column + at * room, p->column, 4 * count * room},
                 {result->coefficient + at * room, p->coefficient, 8 * count * room},
                 {result->r ? result->r + at * p->m : NULL, p->r, 8 * count * p->m}};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        if (parts[k].to)
            CSREC_TRY(csrec_cuda_pipe_receive(&plan->pipe, parts[k].to, parts[k].from,
                                              (size_t)parts[k].bytes, error));
    return CSREC_OK;
}

csrec_status csrec_cuda_omp_run(csrec_cuda_operator *op, csrec_cuda_omp_plan **kept,
                                const csrec_omp_part *job, const csrec_omp_result *result,
                                csrec_error *error) {
    CSREC_TRY(csrec_cuda_check(cudaSetDevice(op->device), "the device", error));
    if (!fits(*kept, job, result->r != NULL)) {
        csrec_cuda_omp_destroy(*kept);
        *kept = NULL;
        CSREC_TRY(make_plan(op, job, result->r != NULL, kept, error));
    }
    csrec_cuda_omp_plan *plan = *kept;
    double keep = (1.0 - job->stop->stagnation) * (1.0 - job->stop->stagnation);
    plan->p.epsilon = fmax(job->stop->epsilon, csrec_stop_rounding(job->stop, plan->m));
    plan->p.noise = job->stop->sigma * sqrt((double)plan->m);
    plan->p.min_coefficient = job->stop->min_coefficient;
    plan->p.keep = job->stop->stagnation > 0.0 ? keep : -1.0;
    for (int64_t at = 0; at < job->count; at += plan->most) {
        int64_t count = job->count - at < plan->most ? job->count - at : plan->most;
        CSREC_TRY(csrec_cuda_pipe_send(&plan->pipe, plan->y, job->y + at * plan->m,
                                       (size_t)(count * plan->m) * sizeof(double), error));
        CSREC_TRY(queue_part(plan, count, error));
        CSREC_TRY(receive_part(plan, at, count, result, error));
    }
    return CSREC_OK;
}
