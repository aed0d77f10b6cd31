/* Every row of the operator table: the adjoint identity, columns, norms and correlations against
 * dense matrices from the definitions, over random sizes; refusals. */
#include "backends.h"
#include "operators.h"
#include "operator/operator.h"

static uint64_t seed;

enum { ROUNDS = 60 };

/* Sums of up to some thousand products of numbers of order 1: far above their rounding. */
static const double TOLERANCE = 1e-11;

static double *random_vector(int64_t n) {
    double *v = malloc((size_t)n * sizeof *v);
    for (int64_t k = 0; k < n; k++) v[k] = 2.0 * check_uniform(&seed) - 1.0;
    return v;
}

static void expect_near(const drawn *d, const char *what, double found, double wanted,
                        double scale) {
    if (fabs(found - wanted) <= TOLERANCE * (1.0 + scale)) return;
    print_message("%s: %s is %.17g, not %.17g\n", d->text, what, found, wanted);
    fail();
}

/* A brief run where a checker makes every call many times as slow. */
static int rounds(void) {
    return getenv("CSREC_TEST_BRIEF") ? ROUNDS / 10 : ROUNDS;
}

/* false: the backend has no such operator. */
static bool check_one(const char *name, const char *backend,
                      void (*check)(const drawn *d, const csrec_operator *A)) {
    drawn d = draw_operator(&seed, name, backend);
    d.spec.shape = &d.shape;
    csrec_operator *A;
    csrec_error error;
    csrec_status status = csrec_operator_create(&d.spec, &A, &error);
    bool offered = status != CSREC_UNSUPPORTED;
    if (!offered) print_message("SKIPPED: %s\n", error.text);
    if (offered && status) fail_msg("%s: %s", d.text, error.text);
    if (offered) {
        int64_t m, n;
        csrec_operator_size(A, &m, &n);
        if (m != d.m || n != d.n) fail_msg("%s: is %d x %d", d.text, (int)m, (int)n);
        check(&d, A);
        csrec_operator_destroy(A);
    }
    drop_drawn(&d);
    return offered;
}

/* Calls check for random operators of every row, all on the backend that is the test's state. */
static void for_every_row(void **state, void (*check)(const drawn *d, const csrec_operator *A)) {
    const char *backend = check_backend(state), *name, *brief;
    int rows = 0;
    for (; csrec_operator_info(rows, &name, &brief); rows++) {
        assert_non_null(brief);
        for (int k = 0; k < rounds() && check_one(name, backend, check); k++) continue;
    }
    assert_true(rows >= 6);
}

static void check_adjoint(const drawn *d, const csrec_operator *A) {
    double *x = random_vector(d->n), *y = random_vector(d->m);
    double *Ax = random_vector(d->m), *Aty = random_vector(d->n), left = 0.0, right = 0.0;
    assert_ok(csrec_operator_forward(A, x, Ax));
    assert_ok(csrec_operator_adjoint(A, y, Aty));
    double scale = 0.0;
    for (int64_t k = 0; k < d->m; k++) {
        left += Ax[k] * y[k];
        scale += fabs(Ax[k] * y[k]);
    }
    for (int64_t j = 0; j < d->n; j++) {
        right += x[j] * Aty[j];
        scale += fabs(x[j] * Aty[j]);
    }
    expect_near(d, "<Ax, y> - <x, A^T y>", left, right, scale);
    free(x);
    free(y);
    free(Ax);
    free(Aty);
}

static void adjoint_identity(void **state) {
    for_every_row(state, check_adjoint);
}

/* Wavelets are known by their analysis: A (analysis signal) is the sampled signal. */
static void check_analysis(const drawn *d, const csrec_operator *A) {
    double *signal = random_vector(d->n), *x = calloc((size_t)d->n, sizeof *x);
    double *y = random_vector(d->m), scale = 0.0;
    for (int64_t j = 0; j < d->n; j++)
        for (int64_t i = 0; i < d->n; i++) x[j] += d->analysis[j * d->n + i] * signal[i];
    for (int64_t j = 0; j < d->n; j++) scale += fabs(x[j]);
    assert_ok(csrec_operator_forward(A, x, y));
    for (int64_t k = 0; k < d->m; k++)
        expect_near(d, "sample of the synthesis", y[k], signal[d->index[k]], scale);
    free(signal);
    free(x);
    free(y);
}

static void check_forward(const drawn *d, const csrec_operator *A) {
    if (!d->matrix) {
        check_analysis(d, A);
        return;
    }
    double *x = random_vector(d->n), *y = random_vector(d->m);
    assert_ok(csrec_operator_forward(A, x, y));
    for (int64_t k = 0; k < d->m; k++) {
        double sum = 0.0, scale = 0.0;
        for (int64_t j = 0; j < d->n; j++) {
            sum += d->matrix[k * d->n + j] * x[j];
            scale += fabs(d->matrix[k * d->n + j] * x[j]);
        }
        expect_near(d, "entry of A x", y[k], sum, scale);
    }
    free(x);
    free(y);
}

static void forward_equals_the_definition(void **state) {
    for_every_row(state, check_forward);
}

/* Given the forward products, which the test before has checked. */
static void check_columns(const drawn *d, const csrec_operator *A) {
    double *unit = calloc((size_t)d->n, sizeof *unit), *norms = random_vector(d->n);
    double *a = random_vector(d->m), *own = random_vector(d->m), *r = random_vector(d->m);
    double *c = random_vector(d->n);
    assert_ok(csrec_operator_column_norms(A, norms));
    assert_ok(csrec_operator_correlate(A, r, c));
    for (int64_t j = 0; j < d->n; j++) {
        double square = 0.0, product = 0.0, size = 0.0;
        unit[j] = 1.0;
        assert_ok(csrec_operator_forward(A, unit, a));
        assert_ok(csrec_operator_column(A, j, own));
        unit[j] = 0.0;
        for (int64_t k = 0; k < d->m; k++) {
            expect_near(d, "entry of a column", own[k], a[k], 1.0);
            square += a[k] * a[k];
            product += a[k] * r[k];
            size += fabs(a[k]);
        }
        /* Squares are summed: a column of rounding errors has a norm of their root. */
        if (fabs(norms[j] * norms[j] - square) > TOLERANCE * (1.0 + square))
            expect_near(d, "norm of a column", norms[j], sqrt(square), 0.0);
        if (square > 1e-12)
            expect_near(d, "correlation", c[j], product / sqrt(square), size / square);
    }
    free(unit);
    free(norms);
    free(a);
    free(own);
    free(r);
    free(c);
}

static void columns_norms_and_correlations(void **state) {
    for_every_row(state, check_columns);
}

/* synthesize(analyze(signal)) = signal, and y = mask synthesize(x). */
static void check_frame(const drawn *d, const csrec_operator *A) {
    if (!A->type->synthesize) return;
    double *signal = random_vector(d->entries), *again = random_vector(d->entries);
    double *x = random_vector(d->n), *y = random_vector(d->m);
    if (A->type->analyze) {
        assert_ok(A->type->analyze(A, signal, x));
        assert_ok(A->type->synthesize(A, x, again));
    }
    for (int64_t k = 0; k < d->entries && A->type->analyze; k++)
        expect_near(d, "entry of the signal", again[k], signal[k], 10.0);
    for (int64_t j = 0; j < d->n; j++) x[j] = check_uniform(&seed);
    assert_ok(A->type->synthesize(A, x, again));
    assert_ok(csrec_operator_forward(A, x, y));
    for (int64_t k = 0; k < d->m; k++) assert_true(y[k] == again[d->index[k]]);
    free(signal);
    free(again);
    free(x);
    free(y);
}

static void frames_reproduce_the_signal(void **state) {
    for_every_row(state, check_frame);
}

/* A level of a power of two: an orthonormal transform, so all columns have length 1. */
static void haar_wavelets_are_orthonormal(void **state) {
    (void)state;
    csrec_shape shape = {2, {16, 8}};
    csrec_operator_spec spec = {.name = "wavelet", .shape = &shape, .kind = "haar"};
    csrec_operator *A;
    double norms[128];
    assert_ok(csrec_operator_create(&spec, &A, NULL));
    assert_ok(csrec_operator_column_norms(A, norms));
    for (int j = 0; j < 128; j++) assert_true(fabs(norms[j] - 1.0) < 1e-14);
    csrec_operator_destroy(A);
}

static void wrong_specs_are_refused(void **state) {
    (void)state;
    csrec_shape shape = {2, {6, 5}}, four = {4, {2, 2, 2, 2}}, none = {1, {0}};
    int64_t twice[] = {3, 7, 3}, outside[] = {30}, below[] = {-1};
    expect_refusal(&(csrec_operator_spec){.name = "fourier"}, CSREC_ARGUMENT, "fourier");
    expect_refusal(&(csrec_operator_spec){.name = "mask"}, CSREC_ARGUMENT, "shape");
    expect_refusal(&(csrec_operator_spec){.name = "mask", .shape = &none}, CSREC_ARGUMENT, "shape");
    const char *const names[] = {"mask", "dct", "wavelet"};
    for (int i = 0; i < 3; i++) {
        csrec_operator_spec spec = {
            .name = names[i], .shape = &shape, .block = 8, .step = 4, .kind = "haar"};
        spec.m = 3;
        spec.index = twice;
        expect_refusal(&spec, CSREC_DATA, "twice");
        spec.m = 1;
        spec.index = outside;
        expect_refusal(&spec, CSREC_DATA, "outside");
        spec.index = below;
        expect_refusal(&spec, CSREC_DATA, "outside");
        spec.m = 0;
        expect_refusal(&spec, CSREC_ARGUMENT, "0 samples");
        spec.m = 31;
        expect_refusal(&spec, CSREC_ARGUMENT, "31 samples");
    }
    csrec_operator_spec dct = {.name = "dct", .shape = &shape, .block = 3, .step = 1};
    expect_refusal(&dct, CSREC_ARGUMENT, "block = 3");
    dct.block = 33;
    expect_refusal(&dct, CSREC_ARGUMENT, "block = 33");
    dct.block = 8;
    dct.step = 9;
    expect_refusal(&dct, CSREC_ARGUMENT, "step = 9");
    dct.step = 0;
    expect_refusal(&dct, CSREC_ARGUMENT, "step = 0");
    dct.step = 1;
    dct.shape = &four;
    expect_refusal(&dct, CSREC_UNSUPPORTED, "axes");
    csrec_operator_spec wavelet = {.name = "wavelet", .shape = &shape, .kind = "db4"};
    expect_refusal(&wavelet, CSREC_ARGUMENT, "db4");
    wavelet.kind = "cdf97";
    wavelet.levels = 4; /* 6 x 5 allows 3 */
    expect_refusal(&wavelet, CSREC_ARGUMENT, "to 3");
    wavelet.levels = 1;
    wavelet.shape = &four;
    expect_refusal(&wavelet, CSREC_UNSUPPORTED, "axes");
    expect_refusal(&(csrec_operator_spec){.name = "chain"}, CSREC_ARGUMENT, "chain");
}

/* ---- a device beside the CPU */

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
    double *v = random_vector(in), *a = random_vector(out), *b = random_vector(out);
    for (int64_t k = 0; k < in; k++)
        if (check_below(&seed, 3) == 0) v[k] = 0.0;
    assert_ok(call(cpu, v, a));
    for (int repeat = 0; repeat < 2; repeat++) {
        assert_ok(call(there, v, b));
        expect_equal(d, what, out, b, a);
    }
    free(v);
    free(a);
    free(b);
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

/* Beside the CPU's to rounding, twice the same bits. */
static void compare_near(const drawn *d, const char *what, operator_call call,
                         csrec_operator *const A[2], int64_t in, int64_t out, double scale) {
    double *v = random_vector(in), *a = random_vector(out), *b = random_vector(out);
    double *again = random_vector(out);
    assert_ok(call(A[0], v, a));
    assert_ok(call(A[1], v, b));
    assert_ok(call(A[1], v, again));
    expect_equal(d, what, out, again, b);
    for (int64_t k = 0; k < out; k++) expect_near(d, what, b[k], a[k], scale);
    free(v);
    free(a);
    free(b);
    free(again);
}

/* The same additions in the same order: kernels/operator/operator.h. */
static void compare_with_cpu(const drawn *d, const csrec_operator *A) {
    csrec_operator_spec spec = d->spec;
    csrec_operator *cpu;
    bool haar = A->row == &csrec_operator_haar;
    bool same = haar || A->row == &csrec_operator_mask || A->row == &csrec_operator_dct ||
                A->row == &csrec_operator_wavelet;
    if (!same) return;
    spec.backend = "cpu";
    spec.shape = &d->shape;
    assert_ok(csrec_operator_create(&spec, &cpu, NULL));
    compare_call(d, "entry of A^T y", csrec_operator_adjoint, cpu, A, d->m, d->n);
    compare_call(d, "norm", norms_of, cpu, A, 1, d->n);
    compare_call(d, "correlation", csrec_operator_correlate, cpu, A, d->m, d->n);
    if (!haar) {
        compare_call(d, "entry of A x", csrec_operator_forward, cpu, A, d->n, d->m);
        compare_call(d, "entry of the synthesis", synthesis_of, cpu, A, d->n, d->entries);
        compare_call(d, "coefficient", analysis_of, cpu, A, d->entries, d->n);
    }
    csrec_operator_destroy(cpu);
}

static void device_equals_cpu_to_the_bit(void **state) {
    for_every_row(state, compare_with_cpu);
}

/* Filters of more entries, and more of them, than a kernel takes at once (operator_conv.cu). Sums
 * of fewer than 2^15 products, in another order: 2^16 roundings of 2^-53 each are below TOLERANCE.
 */
static void long_filters(void **state) {
    const char *backend = check_backend(state);
    for (int dims = 1; dims <= 3; dims++) {
        csrec_shape shape = {dims, {0}};
        drawn d = {.spec.name = "conv", .spec.shape = &shape, .m = 1};
        int64_t kernel[3], size = 1, most[] = {1, 1, 1};
        d.spec.n_filters = 9 + check_below(&seed, 9);
        for (int a = 0; a < dims; a++) {
            const int64_t longest[] = {1500, 36, 11};
            kernel[a] = longest[dims - 1] - check_below(&seed, longest[dims - 1] / 8 + 1);
            shape.dim[a] = 3 + check_below(&seed, 60 / dims / dims);
            size *= kernel[a];
            d.m *= shape.dim[a];
            most[a] = shape.dim[a] + kernel[a] - 1;
        }
        d.spec.kernel = kernel;
        d.spec.m = d.m; /* all entries, in their order */
        d.index = malloc((size_t)d.m * sizeof *d.index);
        for (int64_t k = 0; k < d.m; k++) d.index[k] = k;
        d.spec.index = d.index;
        d.n = d.spec.n_filters * most[0] * most[1] * most[2];
        double *entries = random_vector(d.spec.n_filters * size);
        d.spec.filters = entries;
        snprintf(d.text, sizeof d.text, "conv, %d axes, %d filters of %d", dims,
                 (int)d.spec.n_filters, (int)size);
        csrec_operator *A[2];
        for (int k = 0; k < 2; k++) {
            d.spec.backend = k ? backend : "cpu";
            assert_ok(csrec_operator_create(&d.spec, &A[k], NULL));
        }
        double scale = (double)(d.spec.n_filters * size);
        compare_near(&d, "entry of A x", csrec_operator_forward, A, d.n, d.m, scale);
        compare_near(&d, "entry of A^T y", csrec_operator_adjoint, A, d.m, d.n, (double)size);
        compare_near(&d, "norm", norms_of, A, 1, d.n, (double)size);
        for (int k = 0; k < 2; k++) csrec_operator_destroy(A[k]);
        free(entries);
        free(d.index);
    }
}

/* Factors on the CPU are no factors of a device's product; a device that is not there is named. */
static void wrong_backends_are_refused(void **state) {
    (void)state;
    double matrix[4] = {1, 2, 3, 4};
    csrec_operator_spec spec = {.name = "dense", .m = 2, .n = 2, .matrix = matrix};
    spec.backend = "abacus";
    expect_refusal(&spec, CSREC_ARGUMENT, "abacus");
    csrec_context context;
    spec.backend = "cuda";
    if (csrec_context_create("cuda", &context, NULL)) {
        expect_refusal(&spec, CSREC_DEVICE, "cuda");
        return;
    }
    csrec_context_destroy(&context);
    csrec_operator *A;
    spec.backend = NULL;
    assert_ok(csrec_operator_create(&spec, &A, NULL));
    csrec_operator_spec chain = {.name = "chain", .first = A, .second = A, .backend = "cuda"};
    expect_refusal(&chain, CSREC_ARGUMENT, "factors");
    csrec_operator_destroy(A);
}

int main(void) {
    seed = check_seed();
    const struct CMUnitTest tests[] = {
        CHECK_ON("cpu", adjoint_identity),
        CHECK_ON("cpu", forward_equals_the_definition),
        CHECK_ON("cpu", columns_norms_and_correlations),
        CHECK_ON("cpu", frames_reproduce_the_signal),
        CHECK_ON("cuda", adjoint_identity),
        CHECK_ON("cuda", forward_equals_the_definition),
        CHECK_ON("cuda", columns_norms_and_correlations),
        CHECK_ON("cuda", frames_reproduce_the_signal),
        CHECK_ON("cuda", device_equals_cpu_to_the_bit),
        CHECK_ON("cuda", long_filters),
        cmocka_unit_test(wrong_backends_are_refused),
        cmocka_unit_test(haar_wavelets_are_orthonormal),
        cmocka_unit_test(wrong_specs_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
