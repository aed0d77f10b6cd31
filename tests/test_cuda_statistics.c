/* SPDX-License-Identifier: BSD-3-Clause */
/* test_cuda_statistics.c - mean and covariance of rows that come to the device in chunks, against
 * direct sums in long double; what is the same on every backend is in test_statistics.c. */
#include "device.h"
#include "statistics.h"
#include "kernels/learn/statistics.h"

static void fill(csrec_cuda_statistics *s, const data *d, const float *X, const double *weights,
                 int64_t chunk, bool second) {
    for (int64_t i = 0; i < d->m; i += chunk) {
        int64_t count = d->m - i < chunk ? d->m - i : chunk;
        const double *w = d->weights ? weights + i : NULL;
        assert_ok((second ? csrec_cuda_statistics_add_covariance
                          : csrec_cuda_statistics_add_mean)(s, count, X + i * d->n, w, NULL));
    }
}

/* As rows that do not fit the device would come. */
TEST_THERE(chunks_add_up, false) {
    for (int k = 0; k < 12; k++) {
        data d = draw(1 + check_below(&seed, 3000), 1 + check_below(&seed, 140), 1e4, k % 2);
        int64_t chunk = 4 * (1 + check_below(&seed, 400));
        double *mean = check_keep((size_t)d.n * sizeof *mean), weight = 0.0, *device_C;
        OWNED double *C = malloc((size_t)(d.n * d.n) * sizeof *C);
        ENDS_BY(csrec_cuda_block_destroy) csrec_cuda_block block = {0};
        float *X = NULL;
        double *weights = NULL;
        for (int pass = 0; pass < 2; pass++) {
            X = csrec_cuda_block_take(&block, d.m * d.n, sizeof *X);
            weights = csrec_cuda_block_take(&block, d.m, sizeof *weights);
            if (!pass) assert_ok(csrec_cuda_block_create(&block, "rows", NULL));
        }
        assert_ok(csrec_cuda_copy(X, d.X, (size_t)(d.m * d.n) * sizeof *X, NULL));
        if (d.weights)
            assert_ok(csrec_cuda_copy(weights, d.weights, (size_t)d.m * sizeof *weights, NULL));
        for (int64_t i = 0; i < d.m; i++) weight += d.weights ? d.weights[i] : 1.0;
        solve_directly(&d);
        csrec_cuda_statistics *s;
        assert_ok(csrec_cuda_statistics_create(d.n, chunk, true, &s, NULL));
        for (int repeat = 0; repeat < 2; repeat++) {
            assert_ok(csrec_cuda_statistics_reset(s, NULL));
            fill(s, &d, X, weights, chunk, false);
            assert_ok(csrec_cuda_statistics_mean(s, weight, NULL));
            fill(s, &d, X, weights, chunk, true);
            assert_ok(csrec_cuda_statistics_get_mean(s, mean, NULL));
            assert_ok(csrec_cuda_statistics_covariance(s, weight, &device_C, NULL));
            assert_ok(csrec_cuda_copy(C, device_C, (size_t)(d.n * d.n) * sizeof *C, NULL));
            check_close(&d, mean, C);
        }
        csrec_cuda_statistics_destroy(s);
    }
}
