/* SPDX-License-Identifier: BSD-3-Clause */
/* omp_pursue.cuh - Batch-OMP of one signal by a block of threads, step by step as
 * solver/omp_batch.c, all in double. */
#pragma once

#include <stdint.h>

#include "csrec/solve.h"

enum { OMP_THREADS = 128, OMP_WARPS = OMP_THREADS / 32, OMP_AT_ONCE = 4 };

/* Parameters shared by all signals of a launch; arrays in device memory. */
struct omp_problem {
    int64_t m, n, room, count;
    const double *U, *G; /* [n][m] unit columns, [n][n] */
    const double *norms; /* [n] */
    const double *y, *a; /* [count][m] of unit length or 0, [count][n] = U^T y */
    const double *scale; /* [count] ||y|| before */
    double epsilon, noise, min_coefficient, keep; /* noise: sigma sqrt(m); keep < 0: no rule */
    int32_t *outcome, *size, *iterations;         /* [count] */
    double *residual, *coefficient, *r;           /* [count], [count][room], [count][m] or NULL */
    int32_t *column;                              /* [count][room] */
};

/* A signal, in shared memory. Rows of L are an odd number of doubles apart, so that neither rows
 * nor columns fall into one bank. */
struct omp_signal {
    double *L, *inverse;   /* [room][stride], [room] 1 / L_kk */
    double *z, *x, *l;     /* [room] L^-1 a_I, x_I, scratch */
    double *r;             /* [m] */
    double *value;         /* [OMP_WARPS] of reductions */
    int64_t *place, *pick; /* [OMP_WARPS], [room] */
    uint32_t *taken;       /* a bit a column */
    int stride;
};

/* Bytes of shared memory, and the arrays in it where base is not NULL. */
static __host__ __device__ inline size_t omp_lay_out(int64_t m, int64_t n, int64_t room, char *base,
                                                     omp_signal *s) {
    s->stride = (int)(room | 1);
    double *d = (double *)base;
    s->L = d;
    s->inverse = s->L + room * s->stride;
    s->z = s->inverse + room;
    s->x = s->z + room;
    s->l = s->x + room;
    s->r = s->l + room;
    s->value = s->r + m;
    s->place = (int64_t *)(s->value + OMP_WARPS);
    s->pick = s->place + OMP_WARPS;
    s->taken = (uint32_t *)(s->pick + room);
    int64_t doubles = room * s->stride + 5 * room + m + 2 * OMP_WARPS;
    return (size_t)doubles * sizeof(double) + (size_t)((n + 31) / 32) * sizeof(uint32_t);
}

static __device__ double warp_sum(double v) {
    for (int half = 16; half > 0; half /= 2) v += __shfl_xor_sync(0xffffffffu, v, half);
    return v;
}

/* The sum over all threads, to all of them. */
static __device__ double block_sum(const omp_signal &s, double v) {
    v = warp_sum(v);
    __syncthreads();
    if (threadIdx.x % 32 == 0) s.value[threadIdx.x / 32] = v;
    __syncthreads();
    double sum = 0.0;
    for (int w = 0; w < OMP_WARPS; w++) sum += s.value[w];
    return sum;
}

/* The larger |c|, of equal ones the first column. */
static __device__ bool omp_before(double c, int64_t j, double other, int64_t at) {
    return at >= 0 && (j < 0 || fabs(other) > fabs(c) || (fabs(other) == fabs(c) && at < j));
}

/* The best of all threads' columns, to all of them. */
static __device__ int64_t best_of_block(const omp_signal &s, double *c, int64_t j) {
    for (int half = 16; half > 0; half /= 2) {
        double other = __shfl_xor_sync(0xffffffffu, *c, half);
        int64_t at = __shfl_xor_sync(0xffffffffu, j, half);
        if (!omp_before(*c, j, other, at)) continue;
        *c = other;
        j = at;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        s.value[threadIdx.x / 32] = *c;
        s.place[threadIdx.x / 32] = j;
    }
    __syncthreads();
    *c = s.value[0];
    j = s.place[0];
    for (int w = 1; w < OMP_WARPS; w++) {
        if (!omp_before(*c, j, s.value[w], s.place[w])) continue;
        *c = s.value[w];
        j = s.place[w];
    }
    return j;
}

static __device__ bool omp_taken(const omp_signal &s, int64_t j) {
    return s.taken[j / 32] >> (j % 32) & 1;
}

/* c = a - G_I x: several columns at a time, whose loads overlap. */
static __device__ int64_t best_by_gram(const omp_problem &p, const omp_signal &s, const double *a,
                                       int size, double *best) {
    int64_t found = -1;
    for (int64_t start = threadIdx.x; start < p.n; start += OMP_AT_ONCE * OMP_THREADS) {
        double c[OMP_AT_ONCE];
        int64_t last = p.n - 1;
        for (int q = 0; q < OMP_AT_ONCE; q++) c[q] = a[min(start + (int64_t)q * OMP_THREADS, last)];
#pragma unroll 2
        for (int k = 0; k < size; k++) {
            const double *row = p.G + s.pick[k] * p.n;
            for (int q = 0; q < OMP_AT_ONCE; q++)
                c[q] = fma(-s.x[k], row[min(start + (int64_t)q * OMP_THREADS, last)], c[q]);
        }
        for (int q = 0; q < OMP_AT_ONCE; q++) {
            int64_t j = start + (int64_t)q * OMP_THREADS;
            if (j > last || omp_taken(s, j) || !omp_before(*best, found, c[q], j)) continue;
            *best = c[q];
            found = j;
        }
    }
    return found;
}

/* c = U^T r, a warp a column: for small r, a - G_I x has lost too many digits. */
static __device__ int64_t best_by_residual(const omp_problem &p, const omp_signal &s,
                                           double *best) {
    int64_t found = -1;
    for (int64_t j = threadIdx.x / 32; j < p.n; j += OMP_WARPS) {
        double c = 0.0;
        for (int64_t i = threadIdx.x % 32; i < p.m; i += 32) c = fma(p.U[j * p.m + i], s.r[i], c);
        c = warp_sum(c);
        if (omp_taken(s, j) || !omp_before(*best, found, c, j)) continue;
        *best = c;
        found = j;
    }
    return found;
}

/* L v = v, by one warp, column by column: no sum waits for the one before. */
static __device__ void solve_first(const omp_signal &s, int size, double *v) {
    for (int i = 0; i < size; i++) {
        double step = v[i] * s.inverse[i];
        __syncwarp();
        if (threadIdx.x == 0) v[i] = step;
        for (int k = i + 1 + (int)threadIdx.x; k < size; k += 32)
            v[k] -= step * s.L[k * s.stride + i];
        __syncwarp();
    }
}

/* L^T v = v. */
static __device__ void solve_rest(const omp_signal &s, int size, double *v) {
    for (int i = size - 1; i >= 0; i--) {
        double step = v[i] * s.inverse[i];
        __syncwarp();
        if (threadIdx.x == 0) v[i] = step;
        for (int k = (int)threadIdx.x; k < i; k += 32) v[k] -= step * s.L[i * s.stride + k];
        __syncwarp();
    }
}

/* r = y - U_I x; returns ||r||^2. */
static __device__ double omp_residual(const omp_problem &p, const omp_signal &s, const double *y,
                                      int size) {
    double sum = 0.0;
    __syncthreads();
    for (int64_t i = threadIdx.x; i < p.m; i += OMP_THREADS) {
        double r = y[i];
        for (int k = 0; k < size; k++) r = fma(-s.x[k], p.U[s.pick[k] * p.m + i], r);
        s.r[i] = r;
        sum = fma(r, r, sum);
    }
    return block_sum(s, sum);
}

/* One warp extends L, z and x by column j, whose product with y is a. The last z, or a negative
 * number's root where the column is nearly in the span of the others: not a number. */
static __device__ double extend(const omp_problem &p, const omp_signal &s, int size, int64_t j,
                                double a) {
    for (int k = (int)threadIdx.x; k < size; k += 32) s.l[k] = p.G[s.pick[k] * p.n + j];
    __syncwarp();
    solve_first(s, size, s.l);
    double squares = 0.0, known = 0.0;
    for (int k = (int)threadIdx.x; k < size; k += 32) {
        squares += s.l[k] * s.l[k];
        known += s.l[k] * s.z[k];
        s.L[size * s.stride + k] = s.l[k];
    }
    double length = 1.0 - warp_sum(squares), product = a - warp_sum(known);
    if (!(length > 1e-6)) return sqrt(-1.0);
    double inverse = 1.0 / sqrt(length);
    if (threadIdx.x == 0) {
        s.inverse[size] = inverse;
        s.z[size] = product * inverse;
        s.pick[size] = j;
        s.taken[j / 32] |= 1u << (j % 32);
    }
    __syncwarp();
    for (int k = (int)threadIdx.x; k <= size; k += 32) s.x[k] = s.z[k];
    __syncwarp();
    solve_rest(s, size + 1, s.x);
    return product * inverse;
}

/* One step of refinement: x += (L L^T)^-1 U_I^T r; r and ||r||^2 of that x. */
static __device__ double refine(const omp_problem &p, const omp_signal &s, const double *y,
                                int size) {
    omp_residual(p, s, y, size);
    for (int k = (int)threadIdx.x / 32; k < size; k += OMP_WARPS) {
        double c = 0.0;
        const double *u = p.U + s.pick[k] * p.m;
        for (int64_t i = threadIdx.x % 32; i < p.m; i += 32) c = fma(u[i], s.r[i], c);
        c = warp_sum(c);
        if (threadIdx.x % 32 == 0) s.l[k] = c;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        solve_first(s, size, s.l);
        solve_rest(s, size, s.l);
        for (int k = (int)threadIdx.x; k < size; k += 32) s.x[k] += s.l[k];
    }
    return omp_residual(p, s, y, size);
}

/* Progress of a signal; the same in all threads. */
struct omp_progress {
    double energy; /* ||r||^2 of the signal of unit length */
    bool fine;     /* s.r is the residual */
    int size, outcome;
};

/* Adds a pick to the support; false: the signal is finished. */
static __device__ bool omp_step(const omp_problem &p, const omp_signal &s, int64_t at, double scale,
                                double goal, omp_progress *now) {
    const double *a = p.a + at * p.n;
    double c = 0.0;
    now->outcome = CSREC_CONVERGED;
    if (now->energy <= goal * goal) return false;
    now->outcome = CSREC_STEP_LIMIT;
    if (now->size >= p.room) return false;
    int64_t j = now->fine ? best_by_residual(p, s, &c) : best_by_gram(p, s, a, now->size, &c);
    j = best_of_block(s, &c, j);
    now->outcome = CSREC_SMALL;
    if (fabs(c) * scale < p.min_coefficient) return false;
    now->outcome = CSREC_EXHAUSTED;
    if (j < 0 || c == 0.0) return false;
    __syncthreads();
    if (threadIdx.x < 32) {
        double z = extend(p, s, now->size, j, a[j]);
        if (threadIdx.x == 0) s.value[0] = z;
    }
    __syncthreads();
    double z = s.value[0];
    now->outcome = -1;
    if (!(z == z)) return false;
    now->size++;
    now->energy -= z * z;
    now->fine = now->fine || now->energy < 1e-6;
    if (now->fine) now->energy = omp_residual(p, s, p.y + at * p.m, now->size);
    return true;
}

static __device__ void omp_deliver(const omp_problem &p, const omp_signal &s, int64_t at,
                                   double scale, const omp_progress &now) {
    for (int k = (int)threadIdx.x; k < now.size; k += OMP_THREADS) {
        p.column[at * p.room + k] = (int32_t)s.pick[k];
        p.coefficient[at * p.room + k] = s.x[k] * scale / p.norms[s.pick[k]];
    }
    for (int64_t i = threadIdx.x; p.r && i < p.m; i += OMP_THREADS)
        p.r[at * p.m + i] = s.r[i] * scale;
}

/* Signal `at`, from its first pick to its last. */
static __device__ void omp_pursue(const omp_problem &p, const omp_signal &s, int64_t at) {
    double scale = p.scale[at], goal = p.epsilon;
    if (scale > 0.0) goal = fmax(goal, p.noise / scale);
    omp_progress now = {scale > 0.0 ? 1.0 : 0.0, false, 0, 0};
    int iterations = 0;
    for (int64_t w = threadIdx.x; w < (p.n + 31) / 32; w += OMP_THREADS) s.taken[w] = 0;
    __syncthreads();
    for (double before = now.energy; omp_step(p, s, at, scale, goal, &now); before = now.energy) {
        iterations++;
        if (p.keep < 0.0 || now.energy <= p.keep * before) continue;
        now.outcome = now.energy <= goal * goal ? CSREC_CONVERGED : CSREC_STAGNANT;
        break;
    }
    double energy = now.outcome < 0 ? 0.0 : refine(p, s, p.y + at * p.m, now.size);
    if (now.outcome >= 0) omp_deliver(p, s, at, scale, now);
    if (threadIdx.x > 0) return;
    p.outcome[at] = now.outcome;
    p.size[at] = now.size;
    p.iterations[at] = iterations;
    p.residual[at] = scale > 0.0 ? sqrt(energy) : 0.0;
}
