/* Every row of the operator table: the adjoint identity, columns, norms and correlations against
 * dense matrices from the definitions, over random sizes; refusals. */
#include "operator_rows.h"

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

TEST_ON_EACH(adjoint_identity) {
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

TEST_ON_EACH(forward_equals_the_definition) {
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

TEST_ON_EACH(columns_norms_and_correlations) {
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

TEST_ON_EACH(frames_reproduce_the_signal) {
    for_every_row(state, check_frame);
}

/* A level of a power of two: an orthonormal transform, so all columns have length 1. */
TEST(haar_wavelets_are_orthonormal) {
    csrec_shape shape = {2, {16, 8}};
    csrec_operator_spec spec = {.name = "wavelet", .shape = &shape, .kind = "haar"};
    csrec_operator *A;
    double norms[128];
    assert_ok(csrec_operator_create(&spec, &A, NULL));
    assert_ok(csrec_operator_column_norms(A, norms));
    for (int j = 0; j < 128; j++) assert_true(fabs(norms[j] - 1.0) < 1e-14);
    csrec_operator_destroy(A);
}

TEST(wrong_specs_are_refused) {
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
    expect_refusal(&(csrec_operator_spec){.name = "callback", .m = 2, .n = 2}, CSREC_ARGUMENT,
                   "needs forward");
    const double values[] = {1.0, 2.0, NAN}, fine[] = {1.0, 2.0, 3.0};
    const int64_t offset[] = {0, 2, 3}, falls[] = {0, 3, 2}, ends[] = {1, 2, 3};
    const int64_t rows[] = {0, 1, 1}, wrong[] = {0, 1, 2}, repeats[] = {1, 1, 0};
    csrec_operator_spec sparse = {
        .name = "sparse", .m = 2, .n = 2, .matrix = values, .index = rows, .offset = offset};
    expect_refusal(&sparse, CSREC_DATA, "column 1: an entry is not finite");
    sparse.matrix = fine;
    sparse.index = wrong;
    expect_refusal(&sparse, CSREC_DATA, "column 1: a row is out of range");
    sparse.index = repeats;
    expect_refusal(&sparse, CSREC_DATA, "column 0: rows must ascend");
    sparse.index = rows;
    sparse.offset = falls;
    expect_refusal(&sparse, CSREC_DATA, "column 1: offset must not fall");
    sparse.offset = ends;
    expect_refusal(&sparse, CSREC_ARGUMENT, "begins with 0");
    sparse.m = 0;
    expect_refusal(&sparse, CSREC_ARGUMENT, "0 x 2");
}

/* What changes the size of other rows' operators. */
TEST(fields_of_other_rows_are_refused) {
    static const struct {
        const char *field, *rows; /* that take it */
    } fields[] = {{"complex_signal", " dense sparse callback fourier "},
                  {"index", " dct wavelet conv mask identity blur hadamard fourier sparse "},
                  {"coils", " fourier "},
                  {"factor", " downsample "}};
    const char *name, *brief;
    for (int row = 0; csrec_operator_info(row, &name, &brief); row++)
        for (int f = 0; f < 4; f++) {
            drawn d = draw_operator(&seed, name, "cpu");
            char word[64];
            snprintf(word, sizeof word, " %s ", name);
            const double coils[2] = {1.0, 0.0};
            const int64_t first[1] = {0}, ones[3] = {1, 1, 1};
            d.spec.shape = &d.shape;
            if (f == 0) d.spec.complex_signal = true;
            if (f == 1) d.spec.index = first;
            if (f == 2) d.spec.coils = coils;
            if (f == 3) d.spec.factor = ones;
            if (!strstr(fields[f].rows, word))
                expect_refusal(&d.spec, CSREC_ARGUMENT, fields[f].field);
            drop_drawn(&d);
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
    csrec_operator *A;
    spec.backend = NULL;
    assert_ok(csrec_operator_create(&spec, &A, NULL));
    csrec_operator_spec chain = {.name = "chain", .first = A, .second = A, .backend = "cuda"};
    expect_refusal(&chain, CSREC_ARGUMENT, "factors");
    csrec_operator_destroy(A);
}
