/* SPDX-License-Identifier: BSD-3-Clause */
/* test_gmm_patch.c - conditioning of a patch on its samples, by every build, against dense
 * formulas. */
#include "conditional.h"
#include "simd.h"

#include "method/mixture/patch.h"

SEED(seed);

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
