/* SPDX-License-Identifier: BSD-3-Clause */
/* test_cuda_operators.c - every row of the operator table on a device beside the CPU: the same
 * bits where the additions have the same order. */
#include "operator_rows.h"

static void expect_equal(const drawn *d, const char *what, int64_t n, const double *found,
                         const double *wanted) {
    for (int64_t k = 0; k < n; k++)
        if (found[k] != wanted[k])
            fail_msg("%s: %s %d is %.17g, not %.17g", d->text, what, (int)k, found[k], wanted[k]);
}

typedef csrec_status (*operator_call)(const csrec_operator *A, const double *in, double *out);

static void compare_call(const drawn *d, const char *what, operator_call call,
                         const csrec_operator *cpu, const csrec_operator *there, int64_t in,
                         int64_t out) {
    OWNED double *v = random_vector(in), *a = random_vector(out), *b = random_vector(out);
    for (int64_t k = 0; k < in; k++)
        if (check_below(&seed, 3) == 0) v[k] = 0.0;
    assert_ok(call(cpu, v, a));
    for (int repeat = 0; repeat < 2; repeat++) {
        assert_ok(call(there, v, b));
        expect_equal(d, what, out, b, a);
    }
}

static csrec_status norms_of(const csrec_operator *A, const double *in, double *norms) {
    (void)in;
    return csrec_operator_column_norms(A, norms);
}

static csrec_status synthesis_of(const csrec_operator *A, const double *x, double *signal) {
    return A->type->synthesize(A, x, signal);
}

static csrec_status analysis_of(const csrec_operator *A, const double *signal, double *x) {
    return A->type->analyze(A, signal, x);
}

/* The same additions in the same order: kernels/operator/operator.h. */
static void compare_with_cpu(const drawn *d, const csrec_operator *A) {
    csrec_operator_spec spec = d->spec;
    ENDS_BY(end_operator) csrec_operator *cpu = NULL;
    bool haar = A->row == &csrec_operator_haar;
    bool same = haar || A->row == &csrec_operator_mask || A->row == &csrec_operator_dct ||
                A->row == &csrec_operator_wavelet || A->row == &csrec_operator_hadamard;
    if (!same) return;
    spec.backend = "cpu";
    spec.shape = &d->shape;
    assert_ok(csrec_operator_create(&spec, &cpu, NULL));
    compare_call(d, "entry of A^T y", csrec_operator_adjoint, cpu, A, d->m, d->n);
    compare_call(d, "norm", norms_of, cpu, A, 1, d->n);
    compare_call(d, "correlation", csrec_operator_correlate, cpu, A, d->m, d->n);
    if (!haar) compare_call(d, "entry of A x", csrec_operator_forward, cpu, A, d->n, d->m);
    if (A->row->synthesize) {
        compare_call(d, "entry of the synthesis", synthesis_of, cpu, A, d->n, d->entries);
        compare_call(d, "coefficient", analysis_of, cpu, A, d->entries, d->n);
    }
}

TEST_ON("cuda", device_equals_cpu_to_the_bit) {
    for_every_row(state, compare_with_cpu);
}

static void create_both(csrec_operator_spec *spec, const char *backend, csrec_operator *A[2]) {
    for (int k = 0; k < 2; k++) {
        spec->backend = k ? backend : "cpu";
        assert_ok(csrec_operator_create(spec, &A[k], NULL));
    }
}

/* Hadamard's transform beyond a block and a strip of the kernels: every power of two. */
TEST_ON("cuda", long_transforms) {
    const char *backend = check_backend(state);
    for (int bits = 10; bits <= 20; bits++) {
        csrec_shape shape = {1, {INT64_C(1) << bits}};
        drawn d = {.spec.name = "hadamard", .spec.shape = &shape, .n = shape.dim[0]};
        OWNED int64_t *index = draw_some(&seed, d.n, &d.m);
        d.spec.index = index;
        d.spec.m = d.m;
        d.spec.scrambled = check_below(&seed, 2);
        snprintf(d.text, sizeof d.text, "hadamard of 2^%d", bits);
        csrec_operator *A[2];
        create_both(&d.spec, backend, A);
        compare_call(&d, "entry of A x", csrec_operator_forward, A[0], A[1], d.n, d.m);
        compare_call(&d, "entry of A^T y", csrec_operator_adjoint, A[0], A[1], d.m, d.n);
        for (int k = 0; k < 2; k++) csrec_operator_destroy(A[k]);
    }
}
