/* SPDX-License-Identifier: BSD-3-Clause */
/* test_gmm_em.c - a round of expectation maximisation against direct sums; conditioning of a patch
 * on its samples, by every build, against dense formulas. */
#include "mixture.h"
#include "linear.h"
#include "simd.h"
#include "learn/whiten.h"
#include "conditional.h"
#include "method/mixture/patch.h"

SEED(seed);

TEST(posteriors_follow_the_formula) {
    const int sizes[] = {1, 2, 7, 8, 9, 16, 31, 40};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int d = sizes[s], count = 1 + (int)check_below(&seed, CSREC_WHITEN_ROWS), K = 5;
        CLEARED(csrec_mixture) m = make_mixture(&seed, K, d, 1.5);
        OWNED float *X = draw(&seed, &m, count);
        OWNED double *work =
            malloc((csrec_mixture_work(&m) + (size_t)(CSREC_WHITEN_ROWS * K)) * sizeof *work);
        double r[CSREC_WHITEN_ROWS * 5], wanted[5], sum = 0.0;
        int choice[CSREC_WHITEN_ROWS];
        double got = csrec_mixture_posteriors(&m, count, X, work, r);
        csrec_mixture_choose(&m, count, X, work, choice);
        for (int i = 0; i < count; i++) {
            sum += dense_posteriors(&m, X + i * d, wanted);
            for (int k = 0; k < K; k++) assert_true(fabs(r[i * K + k] - wanted[k]) < 1e-9);
            for (int k = 0; k < K; k++) assert_true(wanted[choice[i]] > wanted[k] - 1e-9);
        }
        assert_true(fabs(got - sum) < 1e-9 * count * d);
    }
}

TEST(every_instruction_set_whitens) {
    enum { D = 21, ROWS = CSREC_WHITEN_ROWS, ROOM = (D + 8) * ROWS };
    double W[D * D], mean[D], x[ROOM] = {0}, work[ROOM], length[3][ROWS];
    OWNED double *packed = malloc(csrec_whiten_size(D) * sizeof *packed);
    csrec_whiten_fn sets[3];
    int count = SIMD_SETS(sets, csrec_whiten_generic, csrec_whiten_avx2, csrec_whiten_avx512);
    /* Small integers: every sum is exact. */
    for (int i = 0; i < D * D; i++) W[i] = (double)check_below(&seed, 9) - 4;
    for (int i = 0; i < D; i++) mean[i] = (double)check_below(&seed, 9);
    for (int i = 0; i < D * ROWS; i++) x[i] = (double)check_below(&seed, 17);
    csrec_whiten_pack(D, W, packed);
    for (int s = 0; s < count; s++) {
        sets[s](D, packed, mean, x, work, length[s]);
        for (int k = 0; k < ROWS; k++) {
            double sum = 0.0;
            for (int i = 0; i < D; i++) {
                double out = 0.0;
                for (int j = 0; j <= i; j++) out += W[i * D + j] * (x[j * ROWS + k] - mean[j]);
                sum += out * out;
            }
            assert_true(length[s][k] == sum);
        }
    }
}

/* One round from the definition: posteriors, then weighted sums, twice over the rows. */
static void dense_round(const csrec_mixture *m, int64_t rows, const float *X, csrec_mixture *to,
                        double *log_likelihood) {
    int K = m->K, d = m->d;
    OWNED double *r = malloc((size_t)(rows * K) * sizeof *r);
    *log_likelihood = 0.0;
    for (int64_t i = 0; i < rows; i++)
        *log_likelihood += dense_posteriors(m, X + i * d, r + i * K) / (double)rows;
    for (int k = 0; k < K; k++) {
        long double N = 0.0L, mean[64] = {0}, C[64][64] = {{0}};
        for (int64_t i = 0; i < rows; i++) N += r[i * K + k];
        for (int64_t i = 0; i < rows; i++)
            for (int j = 0; j < d; j++) mean[j] += r[i * K + k] * (long double)X[i * d + j] / N;
        for (int64_t i = 0; i < rows; i++)
            for (int a = 0; a < d; a++)
                for (int b = 0; b < d; b++)
                    C[a][b] += r[i * K + k] * ((long double)X[i * d + a] - mean[a]) *
                               ((long double)X[i * d + b] - mean[b]) / N;
        to->weights[k] = (double)(N / rows);
        for (int a = 0; a < d; a++) {
            to->means[k * d + a] = (double)mean[a];
            for (int b = 0; b < d; b++) to->C[(k * d + a) * d + b] = (double)C[a][b];
        }
    }
}

/* Second moments are summed about the means `before` the round, and are good to 1e-6 of what they
 * are there: C + delta delta^T, where delta is how far the mean has moved. */
static void check_component(int k, const double *before, const csrec_mixture *m,
                            const csrec_mixture *wanted) {
    int d = m->d;
    const double *C = wanted->C + k * d * d, *mean = wanted->means + k * d;
    double about[64];
    assert_true(fabs(m->weights[k] - wanted->weights[k]) <= 1e-8);
    if (wanted->weights[k] < 1e-3) return;
    for (int a = 0; a < d; a++) {
        double size = sqrt(C[a * (d + 1)]) + 1e-9;
        assert_true(fabs(m->means[k * d + a] - mean[a]) <= 1e-6 * size);
        about[a] = hypot(size, mean[a] - before[k * d + a]);
    }
    for (int a = 0; a < d; a++)
        for (int b = 0; b < d; b++) {
            double found = m->C[(k * d + a) * d + b];
            assert_true(fabs(found - C[a * d + b]) <= 1e-6 * about[a] * about[b]);
            assert_true(found == m->C[(k * d + b) * d + a]);
        }
}

TEST(a_round_follows_the_formula) {
    const int sizes[] = {1, 5, 33};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int d = sizes[s], K = 3;
        int64_t rows = 400 + check_below(&seed, 200);
        ENDS_BY(csrec_mixture_clear)
        csrec_mixture truth = make_mixture(&seed, K, d, 1.0), m = make_mixture(&seed, K, d, 1.0),
                      wanted = {0};
        assert_ok(csrec_mixture_create(K, d, &wanted, NULL));
        OWNED float *X = draw(&seed, &truth, rows);
        csrec_em *em;
        double got, ll, *before = check_keep((size_t)(K * d) * sizeof *before);
        memcpy(before, m.means, (size_t)(K * d) * sizeof *before);
        dense_round(&m, rows, X, &wanted, &ll);
        const csrec_em_plan plan = {rows, rows, 2, NULL};
        assert_ok(csrec_em_create(&csrec_context_cpu, &m, &plan, &em, NULL));
        assert_ok(csrec_em_begin(em, NULL));
        for (int64_t i = 0; i < rows;) { /* uneven pieces, whole blocks */
            int64_t count = 32 * (1 + check_below(&seed, 4));
            if (count > rows - i) count = rows - i;
            assert_ok(csrec_em_take(em, i, count, X + i * d, NULL));
            i += count;
        }
        assert_ok(csrec_em_finish(em, &got, NULL));
        assert_true(fabs(got - ll) <= 1e-9 * fabs(ll));
        for (int k = 0; k < K; k++) check_component(k, before, &m, &wanted);
        csrec_em_destroy(em);
    }
}

/* Eigenvalues below the least are raised to it, the rest is left: known eigenvectors. */
TEST(covariances_are_raised) {
    enum { D = 6 };
    const double values[D] = {5.0, 2.0, 1.0, 0.01, 0.0, 0.0};
    double V[D][D];
    draw_orthonormal(&seed, D, D, V[0]);
    CLEARED(csrec_mixture) m = {0};
    assert_ok(csrec_mixture_create(1, D, &m, NULL));
    m.weights[0] = 1.0;
    for (int i = 0; i < D; i++)
        for (int j = 0; j < D; j++)
            for (int a = 0; a < D; a++) m.C[i * D + j] += values[a] * V[a][i] * V[a][j];
    for (int i = 0; i < D; i++)
        for (int j = 0; j < i; j++) m.C[i * D + j] = m.C[j * D + i];
    assert_ok(csrec_mixture_prepare(&m, 0.1, 1, NULL, NULL));
    for (int i = 0; i < D; i++)
        for (int j = 0; j < D; j++) {
            double wanted = 0.0;
            for (int a = 0; a < D; a++) wanted += fmax(values[a], 0.1) * V[a][i] * V[a][j];
            assert_true(fabs(m.C[i * D + j] - wanted) <= 1e-12 * 5.0);
        }
}

enum { D_MOST = 50, STRIDE_MOST = 64 };

/* Floats: 24 bits, over d steps of elimination. Errors of eps C (entries of `size` at most) meet
 * weights (C + noise I)^-1 (y - mean), of size `reach` / noise at most. */
static void check_condition(const csrec_patch_simd *simd, int d, int n, int rank, double noise) {
    static float C[D_MOST * STRIDE_MOST], V[D_MOST * STRIDE_MOST], G[STRIDE_MOST * STRIDE_MOST];
    float mean[STRIDE_MOST] = {0}, u[STRIDE_MOST], y[D_MOST], x[STRIDE_MOST], v[STRIDE_MOST];
    double exact_C[D_MOST * D_MOST], exact_mean[D_MOST], exact_y[D_MOST], wanted[D_MOST],
        w2[D_MOST];
    double size = 0.0, reach = 0.0;
    int at[D_MOST], stride = (d + 15) / 16 * 16, found = 0;
    make_covariance(&seed, d, rank, 400.0, exact_C);
    memset(C, 0, sizeof C);
    for (int i = 0; i < d; i++) {
        exact_mean[i] = mean[i] = (float)(20.0 * check_normal(&seed));
        if (found < n && check_below(&seed, d - i) < n - found) at[found++] = i;
        for (int j = 0; j < d; j++)
            exact_C[i * d + j] = C[i * stride + j] = (float)exact_C[i * d + j];
    }
    for (int i = 0; i < n; i++) exact_y[i] = y[i] = (float)(20.0 * check_normal(&seed));
    csrec_patch p = {.d = d,
                     .stride = stride,
                     .n = n,
                     .C = C,
                     .mean = mean,
                     .at = at,
                     .y = y,
                     .noise = (float)noise,
                     .V = V,
                     .rest = u,
                     .x = x,
                     .variance = v};
    for (int i = 0; i < d; i++) {
        size = fmax(size, exact_C[i * d + i]);
        reach = fmax(reach, fabs(exact_mean[i]));
    }
    for (int i = 0; i < n; i++) reach = fmax(reach, fabs(exact_y[i] - exact_mean[at[i]]));
    simd->condition(&p);
    condition_dense(d, exact_mean, exact_C, n, at, exact_y, noise, wanted, w2);
    for (int i = 0; i < d; i++) {
        assert_true(fabs(x[i] - wanted[i]) <= 2e-6 * d * reach * (1.0 + size / noise / 40.0));
        assert_true(fabs(v[i] - w2[i]) <= 2e-6 * d * size);
        assert_true(v[i] >= 0.0f);
    }
    memset(G, 0, sizeof G);
    simd->gram(n, stride, V, G);
    for (int i = 0; i < d; i++)
        for (int j = i; j < d; j++) {
            double sum = 0.0;
            for (int k = 0; k < n; k++)
                sum += (double)V[k * stride + i] * (double)V[k * stride + j];
            assert_true(fabs(G[i * stride + j] - sum) <= 1e-5 * size);
        }
}

TEST(conditioning_follows_the_formula) {
    const csrec_patch_simd *sets[3];
    int count = SIMD_SETS(sets, &csrec_patch_generic, &csrec_patch_avx2, &csrec_patch_avx512);
    for (int s = 0; s < count; s++)
        for (int k = 0; k < 30; k++) {
            int d = 1 + (int)check_below(&seed, D_MOST), n = (int)check_below(&seed, d + 1);
            if (k == 0) n = 0;
            if (k == 1) n = d;
            int rank = k % 3 ? d : 1 + (int)check_below(&seed, d); /* singular, too */
            check_condition(sets[s], d, n, rank, k % 2 ? 25.0 : 4.0);
        }
}
