/* SPDX-License-Identifier: BSD-3-Clause */
/* omp.c - Orthogonal Matching Pursuit: after each pick, a least squares fit on all picked columns.
 *
 * With unit columns q_1, q_2, .. that span the picked ones (omp_qr.c), r -= <q, r> q is the new
 * residual, and x follows once at the end from R x = Q^T y. After many picks x and r come by
 * products instead (omp_qr.c). An operator with an orthogonal search of its own is asked for it
 * instead; on a dense matrix omp_predict.c finds the picks. */
#include <math.h>
#include <string.h>

#include "solver/omp.h"

typedef struct omp {
    csrec_support s; /* first; unused where the operator has its own search */
    const csrec_atom_search *own;
    void *search; /* of the operator's own search */
    csrec_qr qr;
    int64_t by_products;            /* columns from which x and r come by products */
    csrec_omp_predictor *predictor; /* or NULL */
    int64_t pick;                   /* of select; -1: none */
    double c;                       /* its correlation */
    int64_t *picks;                 /* [room] columns in the order of their picks, of complex x in
                                       pairs */
    double *t;                      /* [2 room] Q^T y; then room for a result, which may be looked
                                       at before the end */
} omp;

static void omp_destroy(csrec_run *run) {
    omp *o = run->state;
    if (o && o->own) o->own->destroy(o->search);
}

static csrec_status omp_check(const csrec_run *run, csrec_error *error) {
    int64_t atoms = run->options->stop.atoms;
    int64_t parts = run->A->parts, m = run->A->m / parts, n = run->A->n / parts;
    int64_t most = m < n ? m : n;
    if (run->options->start)
        return csrec_fail(error, CSREC_UNSUPPORTED, "solver omp: starts from 0 only");
    if (atoms > most)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "atoms = %lld, but %lld samples and %lld columns fit at most %lld",
                          (long long)atoms, (long long)m, (long long)n, (long long)most);
    return CSREC_OK;
}

static csrec_status create_own(csrec_run *run, omp *o, csrec_error *error) {
    o->own = run->A->type->orthogonal;
    csrec_status status = o->own->create(run->A, run->options->reference, run->y, &o->search);
    return status ? csrec_fail(error, status, "solver omp: out of memory for %lld samples",
                               (long long)run->A->m)
                  : CSREC_OK;
}

static csrec_status omp_create(csrec_run *run, csrec_error *error) {
    CSREC_TRY(omp_check(run, error));
    omp *o = csrec_run_state(run, sizeof *o);
    if (!o) return CSREC_MEMORY;
    if (run->A->type->orthogonal) return create_own(run, o, error);
    CSREC_TRY(csrec_support_create(run, &o->s, error));
    int64_t room = run->A->m < run->A->n ? run->A->m : run->A->n;
    if (run->options->stop.atoms) room = run->options->stop.atoms * run->A->parts;
    CSREC_TAKE(&run->pool, o->picks, room);
    CSREC_TAKE(&run->pool, o->t, 2 * room);
    o->by_products = csrec_omp_products_from(run->A, room);
    int64_t columns = o->by_products + run->A->parts; /* one pick may pass it */
    csrec_status status = csrec_qr_create(run->A, o->s.norms, room, columns < room ? columns : room,
                                          &run->pool, &o->qr);
    if (!status && !csrec_run_stops(run))
        status = csrec_omp_predictor_create(run->A, &run->pool, &o->predictor);
    if (!status) return CSREC_OK;
    return csrec_fail(error, CSREC_MEMORY,
                      "solver omp: out of memory for %lld atoms; ask for fewer", (long long)room);
}

static double select_column(csrec_run *run) {
    omp *o = run->state;
    if (o->own) return o->own->select(o->search);
    o->c = 0.0;
    o->pick = -1;
    if (o->predictor) {
        o->pick = csrec_omp_predictor_select(o->predictor, &o->qr, o->s.chosen, o->s.r, &o->c,
                                             &run->fault);
        return fabs(o->c);
    }
    run->fault = csrec_support_correlate(&o->s);
    if (!run->fault)
        run->fault = csrec_lengths_pick(&o->s.lengths, o->s.chosen, o->s.c, &o->pick, &o->c);
    return o->c;
}

/* The orthonormal vector of the pick: already computed by the prediction, or computed now. */
static bool extend_basis(csrec_run *run, omp *o, int64_t column) {
    if (!o->predictor || !csrec_omp_predictor_added(o->predictor))
        return csrec_qr_add(&o->qr, column, &run->fault);
    o->qr.size++;
    return true;
}

static bool add_column(csrec_run *run, omp *o, int64_t column) {
    if (!extend_basis(run, o, column)) return false;
    if (o->predictor) csrec_omp_predictor_advance(o->predictor);
    int64_t k = o->qr.size - 1, m = run->A->m;
    csrec_qr_reduce(&o->qr, k, o->s.r);
    o->t[k] = csrec_dense_simd_choose()->dot(m, o->qr.Q + k * m, o->s.y);
    o->picks[k] = column;
    o->s.chosen[column] = true;
    o->s.size++;
    return true;
}

/* x on the picks, by R x = Q^T y; x: [2 room], the solution in its second half. */
static void solve_picks(omp *o) {
    double *x = o->t + o->qr.room;
    memcpy(x, o->t, (size_t)o->qr.size * sizeof *x);
    csrec_qr_solve(&o->qr, x);
    for (int64_t k = 0; k < o->qr.size; k++) o->s.x[o->picks[k]] = x[k];
}

static bool by_products(const omp *o) {
    return o->qr.size > o->by_products;
}

/* The columns of the pick's entry, and the fit, by products: c is <a_j, r> / ||a_j|| of this r. */
static bool add_by_products(csrec_run *run, omp *o) {
    csrec_support *s = &o->s;
    const int64_t before = o->qr.size;
    if (!by_products(o)) solve_picks(o);
    for (int64_t j = o->pick; j < o->pick + run->A->parts; j++) {
        if (!csrec_omp_products_add(s, &o->qr, o->picks, j)) {
            o->qr.size = before;
            return false;
        }
        o->picks[o->qr.size - 1] = j;
    }
    for (int64_t k = 0; k < o->qr.size; k++) {
        const int64_t j = o->picks[k];
        o->t[k] = s->c[j] * s->norms[j];
        s->chosen[j] = true;
    }
    s->size = o->qr.size;
    run->fault = csrec_omp_products_fit(s, &o->qr, o->picks, o->t);
    return !run->fault;
}

static bool omp_update(csrec_run *run) {
    omp *o = run->state;
    if (o->own) return o->own->update(o->search);
    if (run->fault || o->pick < 0 || o->c == 0.0 || csrec_run_stops(run)) return false;
    if (o->qr.size + run->A->parts > o->by_products) return add_by_products(run, o);
    for (int64_t p = 0; p < run->A->parts; p++)
        if (!add_column(run, o, o->pick + p)) return false;
    o->s.energy = csrec_dense_simd_choose()->dot(run->A->m, o->s.r, o->s.r);
    return true;
}

static double omp_energy(const csrec_run *run) {
    const omp *o = run->state;
    return o->own ? o->own->energy(o->search) : o->s.energy;
}

static csrec_status omp_result(const csrec_run *run, csrec_atoms *atoms, double *r) {
    omp *o = run->state;
    if (o->own) return o->own->result(o->search, atoms, r);
    if (!by_products(o)) solve_picks(o);
    /* Columns that nearly depend on each other give x errors that r of the steps does not have. */
    csrec_status status = CSREC_OK;
    if (run->looking || csrec_run_stops(o->s.run)) {
        /* as they are */
    } else if (by_products(o)) {
        status = csrec_omp_products_correct(&o->s, &o->qr, o->picks, o->t);
    } else {
        status = csrec_support_subtract(&o->s);
    }
    return status ? status : csrec_support_result(run, atoms, r);
}

/* R of omp_qr.c grows with the picks, a third of the samples where no limit is given, and Q until x
 * comes by products, of which a pick then takes twice as many. */
static csrec_solver_need omp_need(const csrec_solver_size *size) {
    const double per_product = 2.5e-10; /* seconds */
    double most = size->m < size->n ? size->m : size->n;
    double room = size->atoms > 0.0 ? size->atoms : most;
    double picks = size->atoms > 0.0 ? size->atoms : most / 3.0;
    double stored = fmin(picks, csrec_omp_products_number(size->m, size->n));
    double columns = 8.0 * (3.0 * size->n + size->m); /* norms, x, c and r; later g, p and q */
    if (picks > stored) columns += 8.0 * (2.0 * size->n + size->m);
    double chosen = fmin(size->n, 4096.0 * picks); /* in pages */
    return (csrec_solver_need){
        columns + chosen + 8.0 * (stored * size->m + picks * room), 4.0 * picks - 2.0 * stored,
        per_product * (4.0 * stored * stored * size->m + 2.0 * picks * picks * picks / 3.0)};
}

const csrec_solver_type csrec_solver_omp = {
    .name = "omp",
    .brief = "Orthogonal Matching Pursuit: fits all picked columns after each pick",
    .source = "Pati, Rezaiifar and Krishnaprasad 1993; Tropp and Gilbert 2007",
    .norms = true,
    .pursues = true,
    .create = omp_create,
    .need = omp_need,
    .destroy = omp_destroy,
    .select = select_column,
    .update = omp_update,
    .energy = omp_energy,
    .result = omp_result,
    .many = csrec_omp_batch};
