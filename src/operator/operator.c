/* SPDX-License-Identifier: BSD-3-Clause */
/* operator.c - the table of operators and the calls that go through it. */
#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "operator/engine.h"
#include "base/names.h"
#include "base/unit.h"
#include "operator/operator.h"

/* Two blocks: that of a column's unit vector, and that of its product. */
struct csrec_spare {
    _Atomic(double *) block[2]; /* NULL: none, or a product has it */
};

enum { HEAD = 8 }; /* numbers before a block; the first is its size */

static const csrec_operator_type *const types[] = {
#define CSREC_OPERATOR_LISTED(name) &csrec_operator_##name,
    CSREC_OPERATORS(CSREC_OPERATOR_LISTED)
#undef CSREC_OPERATOR_LISTED
};

enum { TYPES = sizeof types / sizeof types[0] };

bool csrec_operator_info(int i, const char **name, const char **brief) {
    if (i < 0 || i >= TYPES) return false;
    *name = types[i]->name;
    *brief = types[i]->brief;
    return true;
}

const csrec_operator_type *csrec_operator_find(const char *name) {
    for (int i = 0; i < TYPES && name; i++)
        if (strcmp(types[i]->name, name) == 0) return types[i];
    return NULL;
}

const csrec_operator_type *csrec_operator_find_basis(const char *name) {
    const csrec_operator_type *type = csrec_operator_find(name);
    return type && (type->params || type == &csrec_operator_haar) ? type : NULL;
}

bool csrec_operator_is_basis(int number) {
    return number >= 0 && number < TYPES && csrec_operator_find_basis(types[number]->name);
}

const csrec_param *csrec_operator_param(int number, int i) {
    return number < 0 || number >= TYPES ? NULL : csrec_param_at(types[number]->params, i);
}

static bool is_complete(const csrec_atom_search *search) {
    return !search || (search->create && search->destroy && search->select && search->update &&
                       search->energy && search->result);
}

csrec_status csrec_operator_check_row(const csrec_operator_type *row, csrec_error *error) {
    const csrec_column_access *access = row->access;
    const csrec_shrink_type *shrink = row->shrink;
    const csrec_rule rules[] = {
        {csrec_is_name(row->name) && csrec_is_own(csrec_operator_find(row->name), row), "name",
         CSREC_MUST_NAME},
        {csrec_is_line(row->brief), "brief", CSREC_MUST_LINE},
        {csrec_is_params(row->params), "params", CSREC_MUST_PARAMS},
        {row->create, "create", "the function that sets m and n"},
        {row->forward, "forward", "the function of y = A x"},
        {row->adjoint, "adjoint", "the function of x = A^T y"},
        {!row->params || row->synthesize, "synthesize", "set: it has parameters, as a basis"},
        {!row->params || row->need, "need", "set: it has parameters, as a basis"},
        {is_complete(row->search), "search", "complete"},
        {is_complete(row->orthogonal), "orthogonal", "complete"},
        {!access || (access->create && access->destroy && access->bounds && access->product &&
                     access->gram && access->subtract),
         "access", "complete"},
        {!shrink || (shrink->create && shrink->destroy && shrink->step && shrink->energy &&
                     shrink->signal),
         "shrink", "complete"}};
    return csrec_rules_check("operator", row->name, CSREC_RULES(rules), error);
}

static const csrec_operator_engine *const engines[CSREC_DEVICE_KINDS] =
    CSREC_ENGINES(NULL, &csrec_operator_cuda);

static csrec_status take(csrec_operator *A, csrec_error *error) {
    const csrec_operator_engine *engine = engines[A->context.kind];
    if (A->context.kind == CSREC_DEVICE_CPU) return CSREC_OK; /* the row's own functions */
    return engine ? engine->take(A, error)
                  : csrec_device_lacks(&A->context, "products of operators", NULL, error);
}

static csrec_status unknown(const char *name, csrec_error *error) {
    csrec_names names = {.given = name};
    for (int i = 0; i < TYPES; i++) csrec_names_add(&names, types[i]->name);
    return csrec_names_unknown(&names, "operator", error);
}

/* Its vectors would have other lengths than the caller thinks. */
static csrec_status refuse_fields(const csrec_operator_type *type, const csrec_operator_spec *spec,
                                  csrec_error *error) {
    const struct {
        int field;
        bool given;
        const char *remedy;
    } fields[] = {{CSREC_TAKES_INDEX, spec->index, "index: chain it with operator mask"},
                  {CSREC_TAKES_COMPLEX, spec->complex_signal,
                   "complex_signal: take operator pairs of a real one, or complex factors"},
                  {CSREC_TAKES_COILS, spec->coils, "coils: leave them out"},
                  {CSREC_TAKES_FACTOR, spec->factor, "factor: leave it out"}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].given && !(type->takes & fields[i].field))
            return csrec_fail(error, CSREC_ARGUMENT, "operator %s: does not take %s", type->name,
                              fields[i].remedy);
    return CSREC_OK;
}

csrec_status csrec_operator_create_on(const csrec_context *context, const csrec_operator_spec *spec,
                                      csrec_operator **A, csrec_error *error) {
    const csrec_operator_type *type = csrec_operator_find(spec->name);
    if (!type) return unknown(spec->name ? spec->name : "(none)", error);
    csrec_status status = refuse_fields(type, spec, error);
    if (status) return status;
    csrec_operator *made = calloc(1, sizeof *made);
    csrec_spare *spare = calloc(1, sizeof *spare);
    if (made && spare) {
        made->type = made->row = type;
        made->context = *context;
        made->spare = spare;
        csrec_words_begin(error);
        status = type->create(made, spec, error);
        csrec_words_end(status, "operator", type->name, error);
    } else {
        status = csrec_fail(error, CSREC_MEMORY, "operator %s: out of memory", type->name);
    }
    if (!status && (made->m < 1 || made->n < 1)) {
        status = csrec_fail(error, CSREC_ARGUMENT,
                            "operator %s: create made a matrix of %lld x %lld; set m and n",
                            type->name, (long long)made->m, (long long)made->n);
        if (type->destroy) type->destroy(made);
    }
    if (status) {
        if (made) csrec_pool_clear(&made->pool);
        free(made);
        free(spare);
        return status;
    }
    if (!made->parts) made->parts = made->complex_x ? 2 : 1;
    status = take(made, error);
    return CSREC_SETTLE(status, csrec_operator_destroy(made), *A = made);
}

/* auto is the CPU: whether a product pays for its transfers depends on the solver. */
csrec_status csrec_operator_create(const csrec_operator_spec *spec, csrec_operator **A,
                                   csrec_error *error) {
    csrec_context context;
    const char *cpu = csrec_device_name(CSREC_DEVICE_CPU);
    bool automatic = csrec_device_automatic(spec->backend);
    csrec_operator *made = NULL;
    CSREC_TRY(csrec_context_create(automatic ? cpu : spec->backend, &context, error));
    csrec_status status = csrec_operator_create_on(&context, spec, &made, error);
    if (status) {
        csrec_context_destroy(&context);
        return status;
    }
    made->owned = true;
    *A = made;
    return CSREC_OK;
}

void csrec_operator_destroy(csrec_operator *A) {
    if (!A) return;
    if (A->state) engines[A->context.kind]->release(A);
    if (A->row->destroy) A->row->destroy(A);
    if (A->owned) csrec_context_destroy(&A->context);
    csrec_pool_clear(&A->pool);
    for (int i = 0; i < 2 && A->spare; i++) free(atomic_load(&A->spare->block[i]));
    free(A->spare);
    free(A);
}

void *csrec_operator_data(csrec_operator *A, size_t size) {
    return A->data = csrec_pool_zeros(&A->pool, 1, size);
}

void csrec_operator_inherit(csrec_operator *A, const csrec_operator *factor) {
    A->serial = A->serial || factor->serial;
    A->doubted = A->doubted || factor->doubted;
}

double *csrec_operator_borrow(const csrec_operator *A, int64_t n) {
    for (int i = 0; i < 2 && A->spare; i++) {
        double *block = atomic_exchange(&A->spare->block[i], NULL);
        if (block && block[0] >= (double)n) return block + HEAD;
        free(block);
    }
    double *block = malloc(((size_t)n + HEAD) * sizeof *block);
    if (block) block[0] = (double)n;
    return block ? block + HEAD : NULL;
}

void csrec_operator_give_back(const csrec_operator *A, double *block) {
    double *rest = block ? block - HEAD : NULL;
    for (int i = 0; i < 2 && rest && A->spare; i++)
        rest = atomic_exchange(&A->spare->block[i], rest);
    free(rest);
}

void csrec_operator_size(const csrec_operator *A, int64_t *m, int64_t *n) {
    *m = A->m;
    *n = A->n;
}

csrec_status csrec_operator_forward(const csrec_operator *A, const double *x, double *y) {
    return A->type->forward(A, x, y);
}

csrec_status csrec_operator_adjoint_on(const csrec_operator *A, int64_t count, const bool *chosen,
                                       const double *y, double *x) {
    if (A->type->adjoint_on && (chosen || !A->state))
        return A->type->adjoint_on(A, count, chosen, y, x);
    csrec_status status = CSREC_OK;
    for (int64_t k = 0; k < count && !status; k++)
        status = A->type->adjoint(A, y + k * A->m, x + k * A->n);
    for (int64_t i = 0; i < count * A->n && chosen && !status; i++)
        if (!chosen[i % A->n]) x[i] = 0.0;
    return status;
}

csrec_status csrec_operator_adjoint(const csrec_operator *A, const double *y, double *x) {
    return A->type->adjoint(A, y, x);
}

bool csrec_operator_explain(const csrec_operator *A, csrec_error *error) {
    return A->row->explain && A->row->explain(A, error);
}

csrec_status csrec_operator_column(const csrec_operator *A, int64_t j, double *a) {
    if (j < 0 || j >= A->n) return CSREC_ARGUMENT;
    if (A->type->column) return A->type->column(A, j, a);
    double *unit = csrec_operator_borrow(A, A->n);
    if (!unit) return CSREC_MEMORY;
    memset(unit, 0, (size_t)A->n * sizeof *unit);
    unit[j] = 1.0;
    csrec_status status = A->type->forward(A, unit, a);
    csrec_operator_give_back(A, unit);
    return status;
}

void csrec_norms_clean(int64_t n, double *norms) {
    double most = 0.0;
    for (int64_t j = 0; j < n; j++) most = fmax(most, norms[j]);
    for (int64_t j = 0; j < n; j++)
        if (norms[j] < 0x1p-44 * most) norms[j] = 0.0;
}

csrec_status csrec_operator_column_norms(const csrec_operator *A, double *norms) {
    if (A->type->column_norms) return A->type->column_norms(A, norms);
    double *a = malloc((size_t)A->m * sizeof *a);
    csrec_status status = a ? CSREC_OK : CSREC_MEMORY;
    for (int64_t j = 0; j < A->n && !status; j++) {
        status = csrec_operator_column(A, j, a);
        if (!status) norms[j] = sqrt(csrec_squares(A->m, a));
    }
    if (!status) csrec_norms_clean(A->n, norms);
    free(a);
    return status;
}

csrec_status csrec_operator_correlate(const csrec_operator *A, const double *r, double *c) {
    if (A->type->correlate) return A->type->correlate(A, r, c);
    double *norms = malloc((size_t)A->n * sizeof *norms);
    csrec_status status = norms ? csrec_operator_column_norms(A, norms) : CSREC_MEMORY;
    if (!status) status = A->type->adjoint(A, r, c);
    for (int64_t j = 0; j < A->n && !status; j++) c[j] = norms[j] > 0.0 ? c[j] / norms[j] : 0.0;
    free(norms);
    return status;
}

/* ---- measures the size of an operator, and divides it by a power of two. */

/* Columns that are shorter, as a share of the longest, have no digits beside it. */
#define SPAN 0x1p-960

/* ---- by products: half of the exponent before and half after, so that neither leaves the range */

typedef struct quotient {
    const csrec_operator *base;
    double before, after;
} quotient;

typedef csrec_status (*product_fn)(const csrec_operator *A, const double *in, double *out);

static csrec_status apply(const quotient *q, product_fn product, int64_t n, const double *in,
                          int64_t m, double *out) {
    double *scaled = malloc((size_t)n * sizeof *scaled);
    if (!scaled) return CSREC_MEMORY;
    for (int64_t i = 0; i < n; i++) scaled[i] = in[i] * q->before;
    csrec_status status = product(q->base, scaled, out);
    for (int64_t i = 0; i < m && !status; i++) out[i] *= q->after;
    free(scaled);
    return status;
}

static csrec_status quotient_forward(const csrec_operator *A, const double *x, double *y) {
    const quotient *q = A->data;
    return apply(q, q->base->type->forward, A->n, x, A->m, y);
}

static csrec_status quotient_adjoint(const csrec_operator *A, const double *y, double *x) {
    const quotient *q = A->data;
    return apply(q, q->base->type->adjoint, A->m, y, A->n, x);
}

static bool quotient_explain(const csrec_operator *A, csrec_error *error) {
    return csrec_operator_explain(((const quotient *)A->data)->base, error);
}

static const csrec_operator_type quotient_type = {.name = "quotient",
                                                  .forward = quotient_forward,
                                                  .adjoint = quotient_adjoint,
                                                  .explain = quotient_explain};

static csrec_status by_products(const csrec_operator *A, int exponent, csrec_operator **made,
                                csrec_error *error) {
    csrec_operator *o = malloc(sizeof *o);
    if (o) *o = *A;
    if (o) o->pool = (csrec_pool){0};
    quotient *q = o ? csrec_operator_data(o, sizeof *q) : NULL;
    if (!q) {
        free(o);
        return csrec_fail(error, CSREC_MEMORY, "operator %s: out of memory", A->row->name);
    }
    *q = (quotient){A, ldexp(1.0, -exponent / 2), ldexp(1.0, -(exponent - exponent / 2))};
    o->type = o->row = &quotient_type;
    o->owned = false;
    o->state = NULL;
    o->mask = NULL;
    o->spare = NULL;
    o->norm = 0.0;
    *made = o;
    return CSREC_OK;
}

/* ---- sizes */

/* The exponent of the largest of norms [n]. CSREC_UNSUPPORTED: their squares left the range. */
static csrec_status look_at(const csrec_operator *A, const double *norms, int *exponent,
                            csrec_error *error) {
    double most = 0.0, least = INFINITY;
    for (int64_t j = 0; j < A->n; j++) {
        most = fmax(most, norms[j]);
        if (norms[j] > 0.0) least = fmin(least, norms[j]);
    }
    if (!A->row->divide && !(most > 0.0 && isfinite(most))) return CSREC_UNSUPPORTED;
    most = fmin(most, DBL_MAX);
    if (most > 0.0) *exponent = ilogb(most);
    if (least >= SPAN * most) return CSREC_OK;
    return csrec_fail(error, CSREC_DATA,
                      "operator %s: columns from %.3g to %.3g long; rescale them", A->row->name,
                      least, most);
}

static csrec_status measure(const csrec_operator *A, int *exponent, csrec_error *error) {
    bool known = A->norm > 0.0 && isfinite(A->norm);
    if (known) *exponent = ilogb(A->norm);
    if (known || !A->row->column_norms) return known ? CSREC_OK : CSREC_UNSUPPORTED;
    double *norms = malloc((size_t)A->n * sizeof *norms);
    csrec_status status = norms ? csrec_operator_column_norms(A, norms) : CSREC_MEMORY;
    if (status)
        csrec_fail(error, status, "operator %s: %s", A->row->name, csrec_status_text(status));
    else
        status = look_at(A, norms, exponent, error);
    free(norms);
    return status;
}

csrec_status csrec_ordinary_create(const csrec_operator *A, csrec_operator **ordinary,
                                   csrec_error *error) {
    int exponent = 0;
    *ordinary = NULL;
    csrec_status status = A->doubted ? CSREC_UNSUPPORTED : measure(A, &exponent, error);
    if (status == CSREC_UNSUPPORTED) status = csrec_adjoint_test(A, &exponent, error);
    if (status || abs(exponent) <= 64) return status;
    status = A->row->divide ? A->row->divide(A, exponent, ordinary, error)
                            : by_products(A, exponent, ordinary, error);
    if (!status) (*ordinary)->exponent = A->exponent + exponent;
    if (!status) (*ordinary)->doubted = false;
    return status;
}
