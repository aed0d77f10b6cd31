/* SPDX-License-Identifier: BSD-3-Clause */
/* omp_batch.c - Batch-OMP (Rubinstein, Zibulevsky and Elad 2008): with unit columns U, G = U^T U
 * and a = U^T y, the correlations with the residual of the picked columns I are
 *
 *     U^T r = a - G_I x,     G_II x = a_I  by a progressive Cholesky factor L,
 *
 * so that a step costs n k instead of n m and never touches a vector of samples. a and G_I x are
 * taken in single precision; columns within its error of the best are then compared in double, so
 * the pick is that of double precision. ||r||^2 = ||y||^2 - ||L^-1 a_I||^2 loses digits as r gets
 * short: below a thousandth of y, r itself is computed and used. A signal with nearly dependent
 * columns is left to omp itself. */
#include "solver/omp.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/blas.h"
#include "base/stop.h"
#include "haar/tree.h"
#include "solver/engine.h"

enum { CHUNK = 4096, LINE = 64 };       /* signals at once; floats of combine */
enum { PIECE = 256, MULTIPLIERS = 16 }; /* columns of a product; threads with buffers for it */
enum { PANEL = 512 };                   /* rows of a product in single precision */

/* Of the matrix; shared by all signals. */
typedef struct batch {
    const csrec_many *job;
    const csrec_dense *dense;
    const csrec_dense_simd *simd;
    int64_t m, n, padded, room;
    double *U, *G;  /* [n][m] unit columns, [n][n]; G is incomplete if the job is stopped */
    float *U1, *G1; /* [padded][m], [n][padded]: rounded, zeros behind */
    float *Y1, *a1; /* [CHUNK][m], [CHUNK][padded] */
    int64_t done;   /* signals, all chunks */
    csrec_pool pool;
} batch;

/* Of one signal, owned by a thread. */
typedef struct one_signal {
    const batch *b;
    const double *y;
    const float *a1;
    double scale;         /* y = scale * what is solved for: unit length keeps floats in range */
    float *c, *w;         /* [padded], [room] */
    double *unit, *r;     /* [m] y / scale, and its residual where it is needed */
    double *exact;        /* [n] correlations where r is used */
    double *L, *Lt;       /* [room][room] by rows and by columns */
    double *inverse;      /* [room] 1 / L_kk */
    double *z, *x, *left; /* [room] L^-1 a_I, x_I, scratch */
    double *steps;        /* [room] ||r|| after each iteration */
    const float **row;    /* [room] rows of G1 */
    int64_t *close;       /* [padded] columns near the best */
    int64_t *pick, size;
    double energy; /* ||unit - U_I x||^2 */
    csrec_ticker ticker;
    int64_t steps_done; /* of all signals */
    bool fine;          /* r holds the residual */
    csrec_pool pool;
} one_signal;

/* Floats of combine, which begin at a line of the cache. */
static float *take_lines(csrec_pool *pool, int64_t count) {
    return csrec_pool_keep(pool, aligned_alloc(64, (size_t)count * sizeof(float)));
}

static csrec_status batch_allocate(batch *b) {
    CSREC_TAKE(&b->pool, b->U, b->n * b->m);
    CSREC_TAKE(&b->pool, b->G, b->n * b->n);
    CSREC_ZEROS(&b->pool, b->U1, b->padded * b->m);
    b->G1 = take_lines(&b->pool, b->n * b->padded);
    CSREC_TAKE(&b->pool, b->Y1, CHUNK * b->m);
    b->a1 = take_lines(&b->pool, CHUNK * b->padded);
    return csrec_pool_status(&b->pool);
}

/* Computes G, some columns at a time, below the diagonal; incomplete if stopped. */
static void multiply_columns(batch *b) {
    int64_t m = b->m, n = b->n;
    for (int64_t j = 0; j < n && !csrec_call_poll(b->job->call); j += PIECE) {
        int64_t some = n - j < PIECE ? n - j : PIECE;
        cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, (int)(n - j), (int)some, (int)m, 1.0,
                    b->U + j * m, (int)m, b->U + j * m, (int)m, 0.0, b->G + j * n + j, (int)n);
        for (int64_t k = j; k < j + some; k++)
            for (int64_t i = k + 1; i < n; i++) b->G[i * n + k] = b->G[k * n + i];
    }
}

static csrec_status batch_fill(batch *b) {
    int64_t m = b->m, n = b->n;
    if (!csrec_blas_begin(1)) return CSREC_MEMORY;
    for (int64_t j = 0; j < n; j++) {
        double norm = b->dense->norms[j];
        for (int64_t i = 0; i < m; i++) {
            b->U[j * m + i] = norm > 0.0 ? b->dense->columns[j * m + i] / norm : 0.0;
            b->U1[j * m + i] = (float)b->U[j * m + i];
        }
    }
    multiply_columns(b);
    csrec_blas_end(1);
    for (int64_t j = 0; j < n && !csrec_call_stopped(b->job->call); j++)
        for (int64_t i = 0; i < b->padded; i++)
            b->G1[j * b->padded + i] = i < n ? (float)b->G[j * n + i] : 0.0f;
    return CSREC_OK;
}

static csrec_status signal_allocate(const batch *b, one_signal *s) {
    *s = (one_signal){.b = b, .ticker = {.next = 1, .stride = 1}};
    csrec_pool *pool = &s->pool;
    double **of_m[] = {&s->unit, &s->r}, **of_square[] = {&s->L, &s->Lt};
    double **of_room[] = {&s->inverse, &s->z, &s->x, &s->left, &s->steps};
    for (int k = 0; k < 2; k++) CSREC_TAKE(pool, *of_m[k], b->m);
    for (int k = 0; k < 5; k++) CSREC_TAKE(pool, *of_room[k], b->room);
    for (int k = 0; k < 2; k++) CSREC_TAKE(pool, *of_square[k], b->room * b->room);
    s->c = take_lines(pool, b->padded);
    CSREC_TAKE(pool, s->w, b->room);
    CSREC_TAKE(pool, s->close, b->padded);
    CSREC_TAKE(pool, s->row, b->room);
    CSREC_TAKE(pool, s->pick, b->room);
    CSREC_TAKE(pool, s->exact, b->n);
    return csrec_pool_status(pool);
}

static bool picked(const one_signal *s, int64_t j) {
    for (int64_t k = 0; k < s->size; k++)
        if (s->pick[k] == j) return true;
    return false;
}

/* <u_j, r> in double; a_j too. */
static double correlation(const one_signal *s, int64_t j, double *a) {
    const batch *b = s->b;
    *a = b->simd->dot(b->m, b->U + j * b->m, s->unit);
    if (s->fine) return b->simd->dot(b->m, b->U + j * b->m, s->r);
    double c = *a;
    for (int64_t k = 0; k < s->size; k++) c -= s->x[k] * b->G[s->pick[k] * b->n + j];
    return c;
}

/* A bound of the rounding errors in c from single precision: products of PANEL rows, their sum, and
 * one of length k, for unit columns. */
static float float_error(const one_signal *s) {
    const int64_t m = s->b->m, length = m < PANEL ? m : PANEL + m / PANEL;
    double sum = 1.0;
    for (int64_t k = 0; k < s->size; k++) sum += fabs(s->x[k]);
    return (float)(1.01 * FLT_EPSILON * ((double)(length + 4) + ((double)s->size + 4.0) * sum));
}

/* The best column that is not picked yet (-1: none), its correlation c and its product a with y. */
static int64_t find_pick(one_signal *s, double *c, double *a) {
    const batch *b = s->b;
    int64_t best = -1, found = b->n;
    if (!s->fine) {
        for (int64_t k = 0; k < s->size; k++) s->w[k] = (float)s->x[k];
        b->simd->combine(b->padded, s->size, s->row, s->w, s->a1, s->c);
        for (int64_t k = 0; k < s->size; k++) s->c[s->pick[k]] = 0.0f;
        float least = b->simd->largest(b->padded, s->c) - 2.0f * float_error(s);
        found = b->simd->reaching(b->padded, s->c, least, s->close);
    }
    *c = 0.0;
    for (int64_t i = 0; i < found; i++) {
        int64_t j = s->fine ? i : s->close[i];
        double own;
        if (j >= b->n || picked(s, j)) continue;
        double here = correlation(s, j, &own);
        if (best >= 0 && fabs(here) <= fabs(*c)) continue;
        best = j;
        *c = here;
        *a = own;
    }
    return best;
}

/* v -= w l */
static void take(int64_t n, double w, const double *restrict l, double *restrict v) {
    for (int64_t k = 0; k < n; k++) v[k] -= w * l[k];
}

/* Solve L v = v and L^T v = v, by columns: sums do not wait for each other. */
static void solve_first(const one_signal *s, double *v) {
    int64_t room = s->b->room;
    for (int64_t i = 0; i < s->size; i++) {
        v[i] *= s->inverse[i];
        take(s->size - i - 1, v[i], s->Lt + i * room + i + 1, v + i + 1);
    }
}

static void solve_rest(const one_signal *s, double *v) {
    for (int64_t i = s->size - 1; i >= 0; i--) {
        v[i] *= s->inverse[i];
        take(i, v[i], s->L + i * s->b->room, v);
    }
}

static void compute_residual(one_signal *s) {
    const batch *b = s->b;
    memcpy(s->r, s->unit, (size_t)b->m * sizeof *s->r);
    for (int64_t k = 0; k < s->size; k++)
        b->simd->subtract(b->m, 1, b->U + s->pick[k] * b->m, b->m, s->x + k, s->r);
}

/* Adds column j to L, x and ||r||; false if it is nearly in the span of the others. */
static bool add_column(one_signal *s, int64_t j, double a) {
    const batch *b = s->b;
    int64_t k = s->size, room = b->room;
    double *l = s->L + k * room, length = 1.0;
    for (int64_t i = 0; i < k; i++) l[i] = b->G[s->pick[i] * b->n + j];
    solve_first(s, l);
    double product = a;
    for (int64_t i = 0; i < k; i++) {
        length -= l[i] * l[i];
        product -= l[i] * s->z[i];
        s->Lt[i * room + k] = l[i];
    }
    if (!(length > 1e-6)) return false;
    s->inverse[k] = 1.0 / sqrt(length);
    s->z[k] = product * s->inverse[k];
    s->row[k] = b->G1 + j * b->padded;
    s->pick[s->size++] = j;
    memcpy(s->x, s->z, (size_t)s->size * sizeof *s->x);
    solve_rest(s, s->x);
    s->energy -= s->z[k] * s->z[k];
    if (s->energy < 1e-6) s->fine = true;
    if (!s->fine) return true;
    compute_residual(s);
    s->energy = b->simd->dot(b->m, s->r, s->r);
    return true;
}

/* One step of refinement: x += (L L^T)^-1 U_I^T r. */
static void refine(one_signal *s) {
    const batch *b = s->b;
    compute_residual(s);
    for (int64_t k = 0; k < s->size; k++)
        s->left[k] = b->simd->dot(b->m, b->U + s->pick[k] * b->m, s->r);
    solve_first(s, s->left);
    solve_rest(s, s->left);
    for (int64_t k = 0; k < s->size; k++) s->x[k] += s->left[k];
    compute_residual(s);
}

static void begin(one_signal *s, int64_t at, int64_t in_chunk) {
    const batch *b = s->b;
    s->y = b->job->y + at * b->m;
    s->a1 = b->a1 + in_chunk * b->padded;
    s->scale = cblas_dnrm2((int)b->m, s->y, 1);
    for (int64_t i = 0; i < b->m; i++) s->unit[i] = s->scale > 0.0 ? s->y[i] / s->scale : 0.0;
    s->size = 0;
    s->energy = s->scale > 0.0 ? 1.0 : 0.0;
    s->fine = false;
}

/* The loop of solve.c for one signal. false: this signal is for omp itself. */
static bool pursue(one_signal *s, csrec_solve_report *report) {
    const csrec_stop *stop = &s->b->job->options->stop;
    csrec_call *call = s->b->job->call;
    double scale = s->scale, noise = stop->sigma * sqrt((double)s->b->m);
    double goal = fmax(fmax(stop->epsilon, csrec_stop_rounding(stop, s->b->m)),
                       scale > 0.0 ? noise / scale : 0.0);
    double keep = (1.0 - stop->stagnation) * (1.0 - stop->stagnation);
    for (report->iterations = 0;; report->iterations++) {
        double c = 0.0, a = 0.0, before = s->energy;
        if (csrec_ticker_due(&s->ticker, s->steps_done++)) csrec_call_poll(call);
        report->outcome = CSREC_INTERRUPTED;
        if (csrec_call_stopped(call)) break;
        report->outcome = CSREC_CONVERGED;
        if (s->energy <= goal * goal) break;
        report->outcome = CSREC_STEP_LIMIT;
        if (s->size >= s->b->room) break;
        int64_t j = find_pick(s, &c, &a);
        report->outcome = CSREC_SMALL;
        if (fabs(c) * scale < stop->min_coefficient) break;
        report->outcome = CSREC_EXHAUSTED;
        if (j < 0 || c == 0.0) break;
        if (!add_column(s, j, a)) return false;
        s->steps[report->iterations] = sqrt(s->energy);
        if (stop->stagnation > 0.0 && s->energy > keep * before) {
            report->outcome = s->energy <= goal * goal ? CSREC_CONVERGED : CSREC_STAGNANT;
            report->iterations++;
            break;
        }
    }
    refine(s);
    report->residual = scale > 0.0 ? sqrt(s->b->simd->dot(s->b->m, s->r, s->r)) : 0.0;
    report->outcome = csrec_stop_verdict(stop, s->b->m, report->residual, report->outcome);
    if (report->iterations > 0) s->steps[report->iterations - 1] = report->residual;
    return true;
}

static csrec_status batch_deliver(const one_signal *s, int64_t at) {
    const csrec_many *job = s->b->job;
    if (job->r)
        for (int64_t i = 0; i < s->b->m; i++) job->r[at * s->b->m + i] = s->r[i] * s->scale;
    if (!job->atoms) return CSREC_OK;
    memset(s->exact, 0, (size_t)s->b->n * sizeof *s->exact);
    for (int64_t k = 0; k < s->size; k++)
        s->exact[s->pick[k]] = s->x[k] * s->scale / s->b->dense->norms[s->pick[k]];
    return csrec_atoms_from_dense(s->b->n, s->exact, job->atoms + at);
}

static csrec_status solve_one(one_signal *s, int64_t at, int64_t in_chunk) {
    const csrec_many *job = s->b->job;
    const csrec_solve_options options = csrec_many_options(job, at);
    csrec_solve_report report;
    begin(s, at, in_chunk);
    if (!pursue(s, &report)) return csrec_many_solve(job, at, NULL);
    if (job->reports) job->reports[at] = report;
    for (int64_t k = 0; options.history && k < report.iterations && k < options.history_size; k++)
        options.history[k] = s->steps[k];
    return batch_deliver(s, at);
}

/* a1 = U1^T y for the chunk; y scaled to unit length first. */
static csrec_status multiply(batch *b, int64_t start, int64_t count) {
    for (int64_t k = 0; k < count; k++) {
        const double *y = b->job->y + (start + k) * b->m;
        double length = cblas_dnrm2((int)b->m, y, 1);
        for (int64_t i = 0; i < b->m; i++)
            b->Y1[k * b->m + i] = length > 0.0 ? (float)(y[i] / length) : 0.0f;
    }
    int callers = b->job->threads < MULTIPLIERS ? b->job->threads : MULTIPLIERS;
    callers = csrec_blas_begin(callers);
    if (callers == 0) return CSREC_MEMORY;
#pragma omp parallel for schedule(dynamic, 1) num_threads(callers)
    for (int64_t k = 0; k < count; k += PIECE) {
        int64_t columns = count - k < PIECE ? count - k : PIECE;
        if (csrec_call_poll(b->job->call)) continue;
        for (int64_t i = 0; i < b->m; i += PANEL)
            cblas_sgemm(CblasColMajor, CblasTrans, CblasNoTrans, (int)b->padded, (int)columns,
                        (int)(b->m - i < PANEL ? b->m - i : PANEL), 1.0f, b->U1 + i, (int)b->m,
                        b->Y1 + k * b->m + i, (int)b->m, i ? 1.0f : 0.0f, b->a1 + k * b->padded,
                        (int)b->padded);
    }
    csrec_blas_end(callers);
    return CSREC_OK;
}

static csrec_status solve_chunk(batch *b, int64_t start, int64_t count) {
    csrec_status status = csrec_call_stopped(b->job->call) ? CSREC_OK : multiply(b, start, count);
    if (status) return status;
#pragma omp parallel num_threads(b->job->threads)
    {
        one_signal s;
        csrec_status own = signal_allocate(b, &s);
#pragma omp for schedule(dynamic, 8) nowait
        for (int64_t k = 0; k < count; k++) {
            if (!own) own = solve_one(&s, start + k, k);
            int64_t done;
#pragma omp atomic capture
            done = ++b->done;
            if (csrec_ticker_due(&s.ticker, s.steps_done++)) csrec_many_stops(b->job, done);
        }
        if (own) {
#pragma omp atomic write
            status = own;
        }
        csrec_pool_clear(&s.pool);
        csrec_call_gather(b->job->call);
    }
    return status;
}

/* The Gram matrix costs n^2 m, and saves about n m - n k / 2 a step and signal. */
static bool device_faster(const csrec_many *job, int64_t room) {
    double n = (double)job->A->n, m = (double)job->A->m, k = (double)room;
    double saved = (double)job->count * k * n * (m - 0.5 * k);
    return csrec_dense_of(job->A) && job->A->n <= 8192 && k <= 0.5 * m && saved > n * n * m;
}

static csrec_status run(const csrec_many *job, int64_t room) {
    batch b = {.job = job, .m = job->A->m, .n = job->A->n, .room = room};
    b.dense = csrec_dense_of(job->A);
    b.simd = csrec_dense_simd_choose();
    b.padded = (b.n + LINE - 1) / LINE * LINE;
    csrec_status status = batch_allocate(&b);
    if (!status) status = batch_fill(&b);
    for (int64_t at = 0; at < job->count && !status; at += CHUNK) {
        int64_t count = job->count - at < CHUNK ? job->count - at : CHUNK;
        status = solve_chunk(&b, at, count);
        csrec_many_stops(job, at + count);
    }
    csrec_pool_clear(&b.pool);
    return status;
}

const csrec_solver_engine csrec_solver_cpu = {.omp = run};

/* Where the operator's products are computed; what that device leaves is the CPU's, as all of a
 * solver is but for the products. */
csrec_status csrec_omp_batch(const csrec_many *job) {
    static const csrec_solver_engine *const engines[CSREC_DEVICE_KINDS] =
        CSREC_ENGINES(&csrec_solver_cpu, &csrec_solver_cuda);
    const csrec_operator *A = job->A;
    int64_t room = job->options->stop.atoms, most = A->m < A->n ? A->m : A->n;
    if (room == 0 || room > most || job->options->start || A->complex_x ||
        !device_faster(job, room))
        return CSREC_UNSUPPORTED;
    const csrec_solver_engine *engine = engines[A->context.kind];
    csrec_status status = engine ? engine->omp(job, room) : CSREC_UNSUPPORTED;
    return status == CSREC_UNSUPPORTED && engine != &csrec_solver_cpu
               ? csrec_solver_cpu.omp(job, room)
               : status;
}
