/* fista_active.c - a working set W of columns for the l1 problem.
 *
 * x is the minimum if and only if with c = A^T (y - A x)
 *
 *     c_j = lambda sign(x_j) where x_j is not 0, and |c_j| <= lambda elsewhere.
 *
 * A round takes into W the columns that miss this most, solves the problem on W by its Gram matrix
 * (l1_gram.c), and looks at all columns again: bounds of |c_j| clear nearly all of them for a
 * part of the cost of their products, the others are computed. So the answer is one of all columns,
 * however W came about, and most rounds read an eighth of the matrix.
 *
 * A small lambda is come to by larger ones, each the start of the next (Hale, Yin and Zhang 2008):
 * from afar x would have more columns on its way than at its end.
 */
#include "solver/fista_active.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solver/l1_gram.h"

/* Columns a round may take, or as many as there are already; and as many as a Gram matrix may
 * have. */
enum { ADD_LEAST = 64, ROOM_MOST = 4096 };

/* Products between two reports: a tenth of a second. */
static const int64_t JOINED = INT64_C(1) << 28;

/* The share of lambda by which a condition may be missed; the first lambda as a share of the
 * largest that has an x; the next one as a share of that before, once this is missed by less than
 * so much. */
#define CSREC_ACTIVE_MISS  1e-10
#define CSREC_ACTIVE_FIRST 0.02
#define CSREC_ACTIVE_NEXT  0.25
#define CSREC_ACTIVE_CLOSE 0.2

struct csrec_active {
    csrec_support *s;
    const csrec_column_access *access;
    void *state;     /* of access */
    int64_t *list;   /* [room] W in the order of its coming; s->chosen marks it */
    double lambda;   /* wanted; on.lambda is come to it */
    double y_length; /* ||y|| */
    bool bounded;    /* s->g bounds |c| for s->r */
    csrec_l1_gram on;
};

void csrec_active_destroy(csrec_active *a) {
    if (!a) return;
    if (a->state) a->access->destroy(a->state);
    csrec_l1_gram_clear(&a->on);
    free(a->list);
    free(a);
}

static double active_product(const csrec_active *a, int64_t j, const double *r) {
    return a->access->product(a->state, j, r);
}

/* max_j |<a_j, v>|; s->g becomes the bounds. */
static double largest_product(csrec_active *a, const double *v) {
    double *upper = a->s->g, most = 0.0;
    int64_t n = a->s->A->n, best = 0;
    a->access->bounds(a->state, v, upper);
    for (int64_t j = 1; j < n; j++)
        if (upper[j] > upper[best]) best = j;
    most = fabs(active_product(a, best, v));
    for (int64_t j = 0; j < n; j++)
        if (upper[j] > most && j != best) most = fmax(most, fabs(active_product(a, j, v)));
    return most;
}

/* What rounding may do to c_j: a share of ||a_j|| times all that r was summed from. */
static void allow(csrec_active *a) {
    const csrec_support *s = a->s;
    double summed = a->y_length;
    for (int64_t k = 0; k < a->on.size; k++) summed += fabs(a->on.x[k]) * s->norms[a->list[k]];
    for (int64_t k = 0; k < a->on.size; k++)
        a->on.allowed[k] =
            CSREC_ACTIVE_MISS * a->on.lambda + 16.0 * DBL_EPSILON * summed * s->norms[a->list[k]];
}

/* The `count` columns of s->largest join W; stopped, without all of G. */
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
    int64_t piece = JOINED / (s->A->m * (old + count)) / 2 * 2 + 2; /* rows come in pairs */
    for (int64_t k = old; k < old + count && !csrec_run_stops(s->run); k += piece) {
        int64_t end = k + piece < old + count ? k + piece : old + count;
        a->access->gram(a->state, k, end, a->list, a->on.stride, a->on.G);
    }
}

static csrec_status active_start(csrec_active *a, double share) {
    csrec_support *s = a->s;
    csrec_status status = a->access->create(s->A, &a->state);
    if (status) return status;
    double squares = 0.0;
    for (int64_t i = 0; i < s->A->m; i++) squares += s->y[i] * s->y[i];
    a->y_length = sqrt(squares);
    double largest = largest_product(a, s->y);
    a->lambda = share * largest;
    int64_t room = 2 * s->A->m + ADD_LEAST;
    if (room > s->A->n) room = s->A->n;
    if (room > ROOM_MOST) room = ROOM_MOST;
    a->list = malloc((size_t)room * sizeof *a->list);
    status =
        csrec_l1_gram_create(s->run, room, fmax(a->lambda, CSREC_ACTIVE_FIRST * largest), &a->on);
    return a->list ? status : CSREC_MEMORY;
}

csrec_status csrec_active_create(csrec_support *s, double lambda, csrec_active **active) {
    *active = NULL;
    if (!s->A->type->access) return CSREC_OK;
    csrec_active *a = calloc(1, sizeof *a);
    if (!a) return CSREC_MEMORY;
    a->s = s;
    a->access = s->A->type->access;
    csrec_status status = active_start(a, lambda);
    int64_t used = status ? 0 : csrec_support_largest(s, s->x, s->A->n);
    /* Without a gradient there is nothing to do and no lambda to do it with. */
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

/* Into s->largest, the columns out of W that miss |c_j| <= lambda, at most `most`. Those with the
 * largest bounds are looked at first, the rest only where none of these misses. */
static int64_t find_missing(csrec_active *a, int64_t most, double *worst) {
    csrec_support *s = a->s;
    double *upper = s->g, *bound = s->p, lambda = a->on.lambda;
    double limit = lambda * (1.0 + CSREC_ACTIVE_MISS);
    int64_t rest = 0, found = 0;
    if (!a->bounded) a->access->bounds(a->state, s->r, upper);
    a->bounded = false;
    for (int64_t j = 0; j < s->A->n; j++) {
        bound[j] = !s->chosen[j] && upper[j] > limit ? upper[j] : 0.0;
        rest += bound[j] != 0.0;
    }
    while (rest > 0 && found == 0) {
        int64_t looked = csrec_support_largest(s, bound, most > 0 ? most : 1);
        if (looked == 0) break;
        rest -= looked;
        for (int64_t k = 0; k < looked; k++) {
            int64_t j = s->largest[k];
            double c = fabs(active_product(a, j, s->r));
            bound[j] = 0.0;
            *worst = fmax(*worst, c - lambda);
            if (c > limit) s->largest[found++] = j;
        }
    }
    return found;
}

/* x and r = y - A x of what W has come to; c anew from r, without the rounding of G's. */
static void settle(csrec_active *a) {
    csrec_support *s = a->s;
    memcpy(s->r, s->y, (size_t)s->A->m * sizeof *s->r);
    a->access->subtract(a->state, a->on.size, a->list, a->on.x, s->r);
    s->energy = 0.0;
    for (int64_t i = 0; i < s->A->m; i++) s->energy += s->r[i] * s->r[i];
    for (int64_t k = 0; k < a->on.size; k++) {
        s->x[a->list[k]] = a->on.x[k];
        a->on.c[k] = active_product(a, a->list[k], s->r);
    }
}

/* Did x move by more than the last of 13 digits? */
static bool moved(const csrec_active *a) {
    double way = 0.0, size = 0.0;
    for (int64_t k = 0; k < a->on.size; k++) {
        double x = a->s->x[a->list[k]], d = a->on.x[k] - x;
        way += d * d;
        size += x * x;
    }
    return way > 0x1p-90 * size;
}

/* Columns that x does not use, nor soon will, leave W where they are most of it. */
static void prune(csrec_active *a) {
    csrec_support *s = a->s;
    int64_t used = 0, kept = 0;
    for (int64_t k = 0; k < a->on.size; k++) used += a->on.x[k] != 0.0;
    if (a->on.size <= 2 * used + ADD_LEAST && a->on.size < a->on.room) return;
    for (int64_t k = 0; k < a->on.size; k++) {
        int64_t j = a->list[k];
        s->chosen[j] = a->on.x[k] != 0.0 || fabs(a->on.c[k]) > 0.8 * a->on.lambda;
        if (!s->chosen[j]) continue;
        a->list[kept] = j;
        s->largest[kept++] = k;
    }
    csrec_l1_gram_keep(&a->on, kept, s->largest);
}

/* Columns to add, and by how much those in W and out of it miss; lambda comes down where both
 * are small. */
static int64_t look(csrec_active *a, double *within, double *without) {
    for (;;) {
        int64_t most = a->on.size > ADD_LEAST ? a->on.size : ADD_LEAST;
        int64_t left = a->on.room - a->on.size;
        allow(a);
        *within = csrec_l1_gram_miss(&a->on);
        *without = 0.0;
        int64_t found = find_missing(a, most < left || left == 0 ? most : left, without);
        double close = a->on.lambda > a->lambda ? CSREC_ACTIVE_CLOSE * a->on.lambda : -1.0;
        if (fmax(*within, *without) > close || csrec_run_stops(a->s->run)) return found;
        a->on.lambda = fmax(a->lambda, CSREC_ACTIVE_NEXT * a->on.lambda);
        a->bounded = true;
    }
}

csrec_round csrec_active_round(csrec_active *a) {
    double within, without;
    prune(a);
    int64_t found = look(a, &within, &without);
    if (found == 0 && within == 0.0) return CSREC_ROUND_DONE;
    if (found > a->on.room - a->on.size) return CSREC_ROUND_FULL;
    if (without >= within) join(a, found);
    if (csrec_run_stops(a->s->run)) return CSREC_ROUND_DONE;
    allow(a);
    csrec_l1_gram_solve(&a->on, 1e-2 * without);
    if (found == 0 && !moved(a)) return CSREC_ROUND_DONE;
    settle(a);
    return CSREC_ROUND_BETTER;
}
