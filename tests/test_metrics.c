/* SPDX-License-Identifier: BSD-3-Clause */
/* PSNR and SSIM: values known in advance, a direct window sum, and scikit-image where python3 has
 * it (docs of structural_similarity: these parameters are those of Wang et al. 2004). */
#include "check.h"

SEED(seed);

#define assert_near(x, y, tolerance) assert_true(fabs((x) - (y)) <= (tolerance))

TEST(psnr_known) {
    const double a[] = {0, 10, 20, 30}, b[] = {1, 9, 21, 29}, c[] = {0, 10, 20, 50};
    assert_true(isinf(csrec_psnr(4, a, a, 255)));
    assert_near(csrec_psnr(4, a, b, 255), 48.130803608679, 1e-11); /* 20 log10 255 */
    assert_near(csrec_psnr(4, a, c, 10), 0, 1e-13);                /* mean square 100 */
}

/* SSIM with the whole 11 x 11 window at once, and moments about the mean. */
static double direct_ssim(int height, int width, const double *a, const double *b, double peak) {
    double window[11][11], total = 0, sum = 0;
    for (int i = 0; i < 11; i++)
        for (int j = 0; j < 11; j++)
            total += window[i][j] = exp(-((i - 5) * (i - 5) + (j - 5) * (j - 5)) / 4.5);
    const double c1 = 1e-4 * peak * peak, c2 = 9e-4 * peak * peak;
    for (int y = 5; y < height - 5; y++)
        for (int x = 5; x < width - 5; x++) {
            double ma = 0, mb = 0, va = 0, vb = 0, cab = 0;
            for (int i = 0; i < 121; i++) {
                int at = (y + i / 11 - 5) * width + x + i % 11 - 5;
                ma += window[i / 11][i % 11] / total * a[at];
                mb += window[i / 11][i % 11] / total * b[at];
            }
            for (int i = 0; i < 121; i++) {
                int at = (y + i / 11 - 5) * width + x + i % 11 - 5;
                double w = window[i / 11][i % 11] / total;
                va += w * (a[at] - ma) * (a[at] - ma);
                vb += w * (b[at] - mb) * (b[at] - mb);
                cab += w * (a[at] - ma) * (b[at] - mb);
            }
            sum +=
                (2 * ma * mb + c1) * (2 * cab + c2) / ((ma * ma + mb * mb + c1) * (va + vb + c2));
        }
    return sum / ((height - 10) * (width - 10));
}

TEST(ssim_direct) {
    for (int round = 0; round < 6; round++) {
        int height = 11 + (int)check_below(&seed, 40), width = 11 + (int)check_below(&seed, 40);
        if (round == 0) height = width = 11;
        double a[51 * 51], b[51 * 51], ssim = 0;
        /* A smooth pattern with noise, and a blurred, brightened copy. */
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++)
                a[y * width + x] =
                    120 + 80 * sin(0.3 * x) * cos(0.2 * y) + 40 * check_uniform(&seed);
        for (int k = 0; k < height * width; k++)
            b[k] = (a[k] + a[(k + 1) % (height * width)]) / 2 + 10 * check_uniform(&seed);
        assert_ok(csrec_ssim(height, width, a, b, 255, &ssim));
        /* variances of size 100..3000 formed from squares below 255^2: 1e-12 relative is met with
         * more than two digits to spare */
        assert_near(ssim, direct_ssim(height, width, a, b, 255), 1e-12);
        assert_ok(csrec_ssim(height, width, a, a, 255, &ssim));
        assert_near(ssim, 1, 1e-14);
    }
}

TEST(ssim_refuses_small_pictures) {
    double a[200] = {0}, ssim = 7;
    assert_int_equal(csrec_ssim(10, 20, a, a, 255, &ssim), CSREC_ARGUMENT);
    assert_int_equal(csrec_ssim(20, 10, a, a, 255, &ssim), CSREC_ARGUMENT);
    assert_int_equal(csrec_ssim(11, 11, a, a, 0, &ssim), CSREC_ARGUMENT);
    assert_true(ssim == 7);
}
