/* SPDX-License-Identifier: BSD-3-Clause */
/* Every row of the operator table: the adjoint identity, columns, norms and correlations against
 * dense matrices from the definitions, over random sizes; refusals. */
#include "operator_rows.h"

static void check_adjoint(const drawn *d, const csrec_operator *A) {
    OWNED double *x = random_vector(d->n), *y = random_vector(d->m);
    OWNED double *Ax = random_vector(d->m), *Aty = random_vector(d->n);
    double left = 0.0, right = 0.0;
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
    if (!A->type->normal) return;
    OWNED double *z = random_vector(d->n), *twice = random_vector(d->n);
    assert_ok(A->type->normal(A, x, z));
    assert_ok(csrec_operator_adjoint(A, Ax, twice));
    for (int64_t j = 0; j < d->n; j++)
        expect_near(d, "entry of A^T A x", z[j], twice[j], (double)(d->m * d->n));
}

TEST_ON_EACH(adjoint_identity) {
    for_every_row(state, check_adjoint);
}

/* Wavelets are known by their analysis: A (analysis signal) is the sampled signal. */
static void check_analysis(const drawn *d, const csrec_operator *A) {
    OWNED double *signal = random_vector(d->n), *x = calloc((size_t)d->n, sizeof *x);
    double *y = random_vector(d->m), scale = 0.0;
    for (int64_t j = 0; j < d->n; j++)
        for (int64_t i = 0; i < d->n; i++) x[j] += d->analysis[j * d->n + i] * signal[i];
    for (int64_t j = 0; j < d->n; j++) scale += fabs(x[j]);
    assert_ok(csrec_operator_forward(A, x, y));
    for (int64_t k = 0; k < d->m; k++)
        expect_near(d, "sample of the synthesis", y[k], signal[d->index[k]], scale);
    free(y);
}

static void check_forward(const drawn *d, const csrec_operator *A) {
    if (!d->matrix) {
        check_analysis(d, A);
        return;
    }
    OWNED double *x = random_vector(d->n), *y = random_vector(d->m);
    assert_ok(csrec_operator_forward(A, x, y));
    for (int64_t k = 0; k < d->m; k++) {
        double sum = 0.0, scale = 0.0;
        for (int64_t j = 0; j < d->n; j++) {
            sum += d->matrix[k * d->n + j] * x[j];
            scale += fabs(d->matrix[k * d->n + j] * x[j]);
        }
        expect_near(d, "entry of A x", y[k], sum, scale);
    }
}

TEST_ON_EACH(forward_equals_the_definition) {
    for_every_row(state, check_forward);
}

/* Given the forward products, which the test before has checked. */
static void check_columns(const drawn *d, const csrec_operator *A) {
    OWNED double *unit = calloc((size_t)d->n, sizeof *unit), *norms = random_vector(d->n);
    OWNED double *a = random_vector(d->m), *own = random_vector(d->m), *r = random_vector(d->m);
    OWNED double *c = random_vector(d->n);
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
            expect_near(d, "norm of a column", norms[j], sqrt(square), sqrt(square));
        if (square > 1e-12)
            expect_near(d, "correlation", c[j], product / sqrt(square), size / square);
    }
}

TEST_ON_EACH(columns_norms_and_correlations) {
    for_every_row(state, check_columns);
}

/* synthesize(analyze(signal)) = signal, and y = mask synthesize(x). */
static void check_frame(const drawn *d, const csrec_operator *A) {
    if (!A->type->synthesize) return;
    OWNED double *signal = random_vector(d->entries), *again = random_vector(d->entries);
    OWNED double *x = random_vector(d->n), *y = random_vector(d->m);
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
}

TEST_ON_EACH(frames_reproduce_the_signal) {
    for_every_row(state, check_frame);
}

/* A level of a power of two: an orthonormal transform, so all columns have length 1. */
TEST(haar_wavelets_are_orthonormal) {
    csrec_shape shape = {2, {16, 8}};
    csrec_operator_spec spec = {.name = "wavelet", .shape = &shape, .kind = "haar"};
    double norms[128];
    ENDS_BY(end_operator) csrec_operator *A = operator_of(&spec);
    assert_ok(csrec_operator_column_norms(A, norms));
    for (int j = 0; j < 128; j++) assert_true(fabs(norms[j] - 1.0) < 1e-14);
}

/* Samples of any basis, and the rows' own fields. */
TEST(wrong_samples_are_refused) {
    static const char *const names[] = {"mask", "dct", "wavelet"};
    static const struct {
        int64_t m, index[3];
        csrec_status status;
        const char *words;
    } cases[] = {{3, {3, 7, 3}, CSREC_DATA, "twice"},
                 {1, {30}, CSREC_DATA, "outside"},
                 {1, {-1}, CSREC_DATA, "outside"},
                 {0, {0}, CSREC_ARGUMENT, "0 samples"},
                 {31, {0}, CSREC_ARGUMENT, "31 samples"}};
    const csrec_shape shape = {2, {6, 5}};
    csrec_operator_spec spec = {.shape = &shape, .block = 8, .step = 4, .kind = "haar"};
    for (int i = 0; i < 3; i++)
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
            spec.name = names[i];
            spec.m = cases[k].m;
            spec.index = cases[k].index;
            expect_refusal(&spec, cases[k].status, cases[k].words);
        }
}

TEST(wrong_specs_are_refused) {
    static const csrec_shape shape = {2, {6, 5}}, four = {4, {2, 2, 2, 2}}, none = {1, {0}};
    static const double nan[] = {1.0, 2.0, NAN}, fine[] = {1.0, 2.0, 3.0};
    static const int64_t offset[] = {0, 2, 3}, falls[] = {0, 3, 2}, ends[] = {1, 2, 3};
    static const int64_t rows[] = {0, 1, 1}, out[] = {0, 1, 2}, repeats[] = {1, 1, 0};
#define DCT(of, b, s)     .name = "dct", .shape = &of, .block = b, .step = s
#define WAVELET(of, k, l) .name = "wavelet", .shape = &of, .kind = k, .levels = l
#define SPARSE(rows, v, i, o)                                                                      \
    .name = "sparse", .m = rows, .n = 2, .matrix = v, .index = i, .offset = o
    static const struct {
        csrec_operator_spec spec;
        csrec_status status;
        const char *words;
    } cases[] = {{{.name = "fourier"}, CSREC_ARGUMENT, "fourier"},
                 {{.name = "mask"}, CSREC_ARGUMENT, "shape"},
                 {{.name = "mask", .shape = &none}, CSREC_ARGUMENT, "shape"},
                 {{DCT(shape, 3, 1)}, CSREC_ARGUMENT, "block = 3"},
                 {{DCT(shape, 33, 1)}, CSREC_ARGUMENT, "block = 33"},
                 {{DCT(shape, 8, 9)}, CSREC_ARGUMENT, "step = 9"},
                 {{DCT(shape, 8, 0)}, CSREC_ARGUMENT, "step = 0"},
                 {{DCT(four, 8, 1)}, CSREC_UNSUPPORTED, "axes"},
                 {{WAVELET(shape, "db4", 0)}, CSREC_ARGUMENT, "db4"},
                 {{WAVELET(shape, "cdf97", 4)}, CSREC_ARGUMENT, "to 3"}, /* 6 x 5 allows 3 */
                 {{WAVELET(four, "cdf97", 1)}, CSREC_UNSUPPORTED, "axes"},
                 {{.name = "chain"}, CSREC_ARGUMENT, "chain"},
                 {{.name = "callback", .m = 2, .n = 2}, CSREC_ARGUMENT, "needs forward"},
                 {{SPARSE(2, nan, rows, offset)}, CSREC_DATA, "column 1: an entry is not finite"},
                 {{SPARSE(2, fine, out, offset)}, CSREC_DATA, "column 1: a row is out of range"},
                 {{SPARSE(2, fine, repeats, offset)}, CSREC_DATA, "column 0: rows must ascend"},
                 {{SPARSE(2, fine, rows, falls)}, CSREC_DATA, "column 1: offset must not fall"},
                 {{SPARSE(2, fine, rows, ends)}, CSREC_ARGUMENT, "begins with 0"},
                 {{SPARSE(0, fine, rows, ends)}, CSREC_ARGUMENT, "0 x 2"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_refusal(&cases[i].spec, cases[i].status, cases[i].words);
}

/* What changes the size of other rows' operators. */
TEST(fields_of_other_rows_are_refused) {
    static const struct {
        const char *field, *rows; /* that take it */
    } fields[] = {{"complex_signal", " dense sparse callback fourier nufft "},
                  {"index", " dct wavelet mask identity blur hadamard fourier nufft sparse "},
                  {"coils", " fourier nufft "},
                  {"factor", " downsample "}};
    const char *name, *brief;
    for (int row = 0; csrec_operator_info(row, &name, &brief); row++)
        for (int f = 0; f < 4; f++) {
            ENDS_BY(drop_drawn) drawn d = draw_operator(&seed, name, "cpu");
            const char *word = check_print(" %s ", name);
            const double coils[2] = {1.0, 0.0};
            const int64_t first[1] = {0}, ones[3] = {1, 1, 1};
            d.spec.shape = &d.shape;
            if (f == 0) d.spec.complex_signal = true;
            if (f == 1) d.spec.index = first;
            if (f == 2) d.spec.coils = coils;
            if (f == 3) d.spec.factor = ones;
            if (!strstr(fields[f].rows, word))
                expect_refusal(&d.spec, CSREC_ARGUMENT, fields[f].field);
        }
}

/* Factors on the CPU are no factors of a device's product; a device that is not there is named. */
TEST(wrong_backends_are_refused) {
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
    spec.backend = NULL;
    ENDS_BY(end_operator) csrec_operator *A = operator_of(&spec);
    csrec_operator_spec chain = {.name = "chain", .first = A, .second = A, .backend = "cuda"};
    expect_refusal(&chain, CSREC_ARGUMENT, "factor");
}
