/* SPDX-License-Identifier: BSD-3-Clause */
/* fista_active.c - a working set W of columns for the l1 problem.
 *
 * x is the minimum if and only if with c = A^T (y - A x)
 *
 *     c_j = lambda sign(x_j) where x_j is not 0, and |c_j| <= lambda elsewhere.
 *
 * A round adds to W the columns that violate this most, solves the problem on W by its Gram matrix
 * (l1_gram.c), and checks all columns again. Bounds of |c_j| exclude nearly all of them for a
 * fraction of the cost of their products; the others are computed. So the result is the minimum
 * over all columns, and most rounds read an eighth of the matrix.
 *
 * Continuation: for a small lambda, larger ones are solved first, each the start of the next (Hale,
 * Yin and Zhang 2008). Otherwise intermediate x would have more columns than the minimum. */
#include "solver/l1.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Columns that a round may add, or as many as W has; and the least room for a Gram matrix, and the
 * most. */
enum { ADD_LEAST = 64, ROOM_LEAST = 512, ROOM_MOST = 4096 };

/* Rounds that may not halve what is missed. */
enum { IDLE_MOST = 40 };

/* Products between two reports: a tenth of a second. */
static const int64_t JOINED = INT64_C(1) << 28;

/* The tolerance of the conditions, as a share of lambda; the first lambda, as a share of the
 * largest with x not 0; the factor from one lambda to the next, and the miss below which the next
 * follows. */
#define CSREC_ACTIVE_MISS  1e-10
#define CSREC_ACTIVE_FIRST 0.02
#define CSREC_ACTIVE_NEXT  0.25
#define CSREC_ACTIVE_CLOSE 0.2

/* Entries of a matrix that is stored: 64 MiB. */
#define STORED 0x1p23

/* The rounding of the conditions that rounds aim at. */
#define CSREC_ACTIVE_ROUNDING (16.0 * DBL_EPSILON)

struct csrec_active {
    csrec_support *s;
    csrec_pool pool;
    const csrec_operator *A; /* the columns of s->A */
    const csrec_column_access *access;
    void *state;     /* of access */
    int64_t *list;   /* [room] W in the order of addition; s->chosen marks its columns */
    double lambda;   /* the target; on.lambda falls to it */
    double y_length; /* ||y|| */
    bool bounded;    /* s->g bounds |c| for s->r */
    double rounding; /* of c_j, as a share of ||a_j|| */
    double least;    /* miss that rounds for on.lambda have reached, */
    int idle;        /* and how many did not halve it */
    double rough;    /* share of the target that a minimum may miss; 0: none */
    csrec_l1_gram on;
};

void csrec_active_destroy(csrec_active *a) {
    if (!a) return;
    if (a->state) a->access->destroy(a->state);
    csrec_pool_clear(&a->pool);
    free(a);
}

static double active_product(const csrec_active *a, int64_t j, const double *r) {
    return a->access->product(a->state, j, r);
}

/* |<a_j, r>| of an entry whose first column is j; where x >= 0, <a_j, r>. */
static double product_size(const csrec_active *a, int64_t j, const double *r) {
    double square = 0.0;
    if (a->s->nonnegative) return active_product(a, j, r);
    if (a->s->A->parts == 1) return fabs(active_product(a, j, r));
    for (int64_t p = j; p < j + a->s->A->parts; p++) {
        double c = active_product(a, p, r);
        square += c * c;
    }
    return sqrt(square);
}

/* upper_j >= |<a_j, r>| for the first column of each entry; of the others it is 0. */
static void find_bounds(csrec_active *a, const double *r, double *upper) {
    const int64_t parts = a->s->A->parts;
    a->access->bounds(a->state, r, upper);
    for (int64_t j = 0; parts > 1 && j < a->s->A->n; j += parts) {
        upper[j] = csrec_entry_size(parts, upper + j) * (1.0 + 0x1p-50);
        for (int64_t p = j + 1; p < j + parts; p++) upper[p] = 0.0;
    }
}

/* max_j |<a_j, v>|; s->g becomes the bounds. */
static double largest_product(csrec_active *a, const double *v) {
    double *upper = a->s->g, most = 0.0;
    int64_t n = a->s->A->n, best = 0;
    find_bounds(a, v, upper);
    for (int64_t j = 1; j < n; j++)
        if (upper[j] > upper[best]) best = j;
    most = fmax(0.0, product_size(a, best, v));
    for (int64_t j = 0; j < n; j++)
        if (upper[j] > most && j != best) most = fmax(most, product_size(a, j, v));
    return most;
}

/* By how much each column may miss its condition: a share of lambda, and the rounding of c_j, which
 * is `share` of ||a_j|| times the sizes of all terms of r. */
static void allow(csrec_active *a, double share) {
    const csrec_support *s = a->s;
    double summed = a->y_length;
    for (int64_t k = 0; k < a->on.size; k++) summed += fabs(a->on.x[k]) * s->norms[a->list[k]];
    a->rounding = share * summed;
    for (int64_t k = 0; k < a->on.size; k++)
        a->on.allowed[k] = CSREC_ACTIVE_MISS * a->on.lambda + a->rounding * s->norms[a->list[k]];
}

/* Adds the `count` columns of s->largest to W; G is incomplete if stopped. */
static void join(csrec_active *a, int64_t count) {
    csrec_support *s = a->s;
    int64_t old = a->on.size;
    csrec_l1_gram_grow(&a->on, old + count);
    for (int64_t k = 0; k < count; k++) {
        int64_t j = s->largest[k];
        a->list[old + k] = j;
        a->on.x[old + k] = s->x[j];
        a->on.c[old + k] = active_product(a, j, s->r);
        s->chosen[j] = true;
    }
    int64_t piece = JOINED / (s->A->m * (old + count)) / 2 * 2 + 2; /* rows are computed in pairs */
    for (int64_t k = old; k < old + count && !csrec_run_stops(s->run); k += piece) {
        int64_t end = k + piece < old + count ? k + piece : old + count;
        a->access->gram(a->state, k, end, a->list, a->on.stride, a->on.G);
    }
}

static csrec_status active_start(csrec_active *a, double share) {
    csrec_support *s = a->s;
    CSREC_TRY(a->access->create(a->A, &a->state));
    a->y_length = sqrt(csrec_squares(s->A->m, s->y));
    double largest = largest_product(a, s->y);
    a->lambda = share * largest;
    int64_t room = 2 * s->A->m + ADD_LEAST;
    /* Groups that nearly depend on each other are used together, more of them than rows. */
    if (s->A->parts > 1) room = 2 * (room + ROOM_LEAST);
    if (room < ROOM_LEAST) room = ROOM_LEAST;
    if (room > s->A->n) room = s->A->n;
    if (room > ROOM_MOST) room = ROOM_MOST;
    room -= room % s->A->parts;
    CSREC_TAKE(&a->pool, a->list, room);
    csrec_status status = csrec_l1_gram_create(
        s->run, room, fmax(a->lambda, CSREC_ACTIVE_FIRST * largest), &a->pool, &a->on);
    a->on.parts = s->A->parts;
    a->on.nonnegative = s->nonnegative;
    return status;
}

csrec_status csrec_active_create(csrec_support *s, const csrec_operator *A, double lambda,
                                 csrec_active **active) {
    *active = NULL;
    if (!A->type->access) return CSREC_OK;
    csrec_active *a = calloc(1, sizeof *a);
    if (!a) return CSREC_MEMORY;
    a->s = s;
    a->A = A;
    a->least = INFINITY;
    a->access = A->type->access;
    csrec_status status = active_start(a, lambda);
    int64_t used = status ? 0 : csrec_support_largest(s, s->x, s->A->n);
    /* Without a gradient x = 0 is the minimum and lambda is 0. */
    bool here = !status && used <= a->on.room && a->lambda > 0.0;
    if (here && used > 0) {
        a->on.lambda = a->lambda; /* a start is near its end */
        join(a, used);
    }
    if (here) a->bounded = used == 0;
    if (here)
        *active = a;
    else
        csrec_active_destroy(a);
    return status;
}

/* The matrix of the columns, row by row. */
static csrec_status compute_columns(csrec_support *s, double *matrix) {
    const csrec_operator *A = s->A;
    for (int64_t j = 0; j < A->n; j++) {
        CSREC_TRY(csrec_run_stops(s->run) ? CSREC_STOPPED : csrec_operator_column(A, j, s->q));
        for (int64_t i = 0; i < A->m; i++) matrix[i * A->n + j] = s->q[i];
    }
    return CSREC_OK;
}

bool csrec_active_is_due(csrec_active_columns *columns, const csrec_support *s) {
    return ++columns->walked == s->A->n / 3 + 100 && !s->A->type->access &&
           (double)s->A->m * (double)s->A->n <= STORED;
}

csrec_status csrec_active_store(csrec_active_columns *columns, csrec_support *s, double lambda,
                                csrec_active **active) {
    const csrec_operator *A = s->A;
    double *matrix = malloc((size_t)A->m * (size_t)A->n * sizeof *matrix);
    if (!matrix) return CSREC_OK;
    csrec_status status = compute_columns(s, matrix);
    const csrec_operator_spec spec = {.name = "dense", .m = A->m, .n = A->n, .matrix = matrix};
    csrec_error error;
    if (!status) status = csrec_operator_create(&spec, &columns->stored, &error);
    free(matrix);
    if (status) return status == CSREC_MEMORY ? CSREC_OK : status;
    columns->stored->parts = A->parts;
    memset(s->chosen, 0, (size_t)A->n * sizeof *s->chosen);
    return csrec_active_create(s, columns->stored, lambda, active);
}

double csrec_active_reached(const csrec_active *a) {
    return a->on.lambda;
}

double csrec_active_lambda(const csrec_active *a) {
    return a->lambda;
}

/* Continuation leads to a smaller lambda. */
void csrec_active_aim(csrec_active *a, double lambda, double rough) {
    a->lambda = lambda;
    a->rough = rough;
    if (a->on.lambda < lambda) a->on.lambda = lambda;
    a->bounded = false;
    a->least = INFINITY;
}

/* Finds at most `most` columns outside W that violate |c_j| <= lambda, in s->largest, whole
 * entries. Checks those with the largest bounds first, the others only if none of these violates
 * it. */
static int64_t find_missing(csrec_active *a, int64_t most, double *worst) {
    csrec_support *s = a->s;
    double *upper = s->g, *bound = s->p, lambda = a->on.lambda;
    double limit = lambda * (1.0 + CSREC_ACTIVE_MISS);
    int64_t rest = 0, found = 0, parts = a->on.parts, tried = most > parts ? most / parts : 1;
    if (!a->bounded) find_bounds(a, s->r, upper);
    a->bounded = false;
    for (int64_t j = 0; j < s->A->n; j++) {
        bound[j] = !s->chosen[j] && upper[j] > limit ? upper[j] : 0.0;
        rest += bound[j] != 0.0;
    }
    while (rest > 0 && found == 0) {
        int64_t looked = csrec_support_largest(s, bound, tried);
        if (looked == 0) break;
        rest -= looked / parts;
        for (int64_t k = 0; k < looked; k += parts) {
            int64_t j = s->largest[k];
            double c = product_size(a, j, s->r);
            bound[j] = 0.0;
            *worst = fmax(*worst, c - lambda);
            bool violates = c > limit + a->rounding * s->norms[j];
            for (int64_t p = 0; p < parts && violates; p++) s->largest[found++] = j + p;
        }
    }
    return found;
}

/* x and r = y - A x from W; c is recomputed from r, without the rounding of G. */
static void settle(csrec_active *a) {
    csrec_support *s = a->s;
    memcpy(s->r, s->y, (size_t)s->A->m * sizeof *s->r);
    a->access->subtract(a->state, a->on.size, a->list, a->on.x, s->r);
    s->energy = csrec_squares(s->A->m, s->r);
    for (int64_t k = 0; k < a->on.size; k++) {
        s->x[a->list[k]] = a->on.x[k];
        a->on.c[k] = active_product(a, a->list[k], s->r);
    }
}

/* Whether x changed in 13 digits. */
static bool moved(const csrec_active *a) {
    double way = 0.0, size = 0.0;
    for (int64_t k = 0; k < a->on.size; k++) {
        double x = a->s->x[a->list[k]], d = a->on.x[k] - x;
        way += d * d;
        size += x * x;
    }
    return way > 0x1p-90 * size;
}

/* Removes columns that x does not use and soon will not, if they are most of W. */
static void prune(csrec_active *a) {
    csrec_support *s = a->s;
    int64_t used = 0, kept = 0, parts = a->on.parts;
    for (int64_t k = 0; k < a->on.size; k++) used += a->on.x[k] != 0.0;
    if (a->on.size <= 2 * used + ADD_LEAST && a->on.size < a->on.room) return;
    for (int64_t k = 0; k < a->on.size; k++) {
        int64_t j = a->list[k], entry = k / parts * parts;
        s->chosen[j] = csrec_entry_size(parts, a->on.x + entry) > 0.0 ||
                       csrec_entry_size(parts, a->on.c + entry) > 0.8 * a->on.lambda;
        if (!s->chosen[j]) continue;
        a->list[kept] = j;
        s->largest[kept++] = k;
    }
    csrec_l1_gram_keep(&a->on, kept, s->largest);
}

/* Finds columns to add, violations inside and outside W; lowers lambda if both are small. */
static int64_t look(csrec_active *a, double *within, double *without) {
    for (;;) {
        int64_t most = a->on.size > ADD_LEAST ? a->on.size : ADD_LEAST;
        int64_t left = a->on.room - a->on.size;
        allow(a, CSREC_ACTIVE_ROUNDING);
        *within = csrec_l1_gram_miss(&a->on);
        *without = 0.0;
        int64_t found = find_missing(a, most < left || left == 0 ? most : left, without);
        double close = a->on.lambda > a->lambda ? CSREC_ACTIVE_CLOSE * a->on.lambda : -1.0;
        if (fmax(*within, *without) > close || csrec_run_stops(a->s->run)) return found;
        a->on.lambda = fmax(a->lambda, CSREC_ACTIVE_NEXT * a->on.lambda);
        a->bounded = true;
        a->least = INFINITY;
    }
}

/* Whether rounds have long ceased to help. */
static bool is_idle(csrec_active *a, double miss) {
    if (miss < 0.5 * a->least) {
        a->least = miss;
        a->idle = 0;
    }
    return a->idle++ == IDLE_MOST;
}

/* Rounds help no longer. What they miss may be rounding, as of columns that nearly depend on each
 * other, of sums of m and of as many terms as W has columns; if it is not, steps have to go on. */
static csrec_round end_rounds(csrec_active *a) {
    double without = 0.0;
    if (csrec_run_stops(a->s->run)) return CSREC_ROUND_DONE;
    allow(a, (double)(a->s->A->m + a->on.size + 64) * DBL_EPSILON);
    bool holds = a->on.lambda == a->lambda && csrec_l1_gram_miss(&a->on) == 0.0 &&
                 find_missing(a, a->on.parts, &without) == 0;
    return holds ? CSREC_ROUND_DONE : CSREC_ROUND_STUCK;
}

csrec_round csrec_active_round(csrec_active *a) {
    double within, without;
    prune(a);
    int64_t found = look(a, &within, &without);
    if (found == 0 && within == 0.0) return CSREC_ROUND_DONE;
    const bool at_end = a->on.lambda == a->lambda;
    if (at_end && fmax(within, without) <= a->rough * a->lambda) return CSREC_ROUND_ROUGH;
    if (is_idle(a, fmax(within, without))) return end_rounds(a);
    if (found > a->on.room - a->on.size) return CSREC_ROUND_FULL;
    if (without >= within) join(a, found);
    if (csrec_run_stops(a->s->run)) return CSREC_ROUND_DONE;
    allow(a, CSREC_ACTIVE_ROUNDING);
    csrec_l1_gram_solve(
        &a->on,
        fmax(1e-2 * without, a->on.parts == 2 && at_end ? 0.5 * a->rough * a->lambda : 0.0));
    bool still = found == 0 && !moved(a);
    settle(a);
    return still ? end_rounds(a) : CSREC_ROUND_BETTER;
}
