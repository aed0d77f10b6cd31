/* SPDX-License-Identifier: BSD-3-Clause */
/* test_gmm_em.c - a round of expectation maximisation against direct sums. */
#include "mixture.h"
#include "simd.h"

#include "learn/whiten.h"

SEED(seed);

TEST(posteriors_follow_the_formula) {
    const int sizes[] = {1, 2, 7, 8, 9, 16, 31, 40};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int d = sizes[s], count = 1 + (int)check_below(&seed, CSREC_WHITEN_ROWS), K = 5;
        csrec_mixture m = make_mixture(&seed, K, d, 1.5);
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
        csrec_mixture_clear(&m);
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
    double *r = malloc((size_t)(rows * K) * sizeof *r);
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
    free(r);
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
        csrec_mixture truth = make_mixture(&seed, K, d, 1.0), m = make_mixture(&seed, K, d, 1.0),
                      wanted;
        assert_ok(csrec_mixture_create(K, d, &wanted, NULL));
        OWNED float *X = draw(&seed, &truth, rows);
        csrec_em *em;
        double got, ll, *before = malloc((size_t)(K * d) * sizeof *before);
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
        free(before);
        csrec_mixture_clear(&truth);
        csrec_mixture_clear(&m);
        csrec_mixture_clear(&wanted);
    }
}

/* Eigenvalues below the least are raised to it, the rest is left: known eigenvectors. */
TEST(covariances_are_raised) {
    enum { D = 6 };
    const double values[D] = {5.0, 2.0, 1.0, 0.01, 0.0, 0.0};
    double V[D][D];
    for (int a = 0; a < D; a++) {
        double sum = 0.0;
        for (int i = 0; i < D; i++) V[a][i] = check_normal(&seed);
        for (int b = 0; b < a; b++) {
            double dot = 0.0;
            for (int i = 0; i < D; i++) dot += V[a][i] * V[b][i];
            for (int i = 0; i < D; i++) V[a][i] -= dot * V[b][i];
        }
        for (int i = 0; i < D; i++) sum += V[a][i] * V[a][i];
        for (int i = 0; i < D; i++) V[a][i] /= sqrt(sum);
    }
    csrec_mixture m;
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
    csrec_mixture_clear(&m);
}
