/* SPDX-License-Identifier: BSD-3-Clause */
/* Sensitivities of coils and their noise, against those that k-space was made with. */
#include <complex.h>

#include "check.h"

SEED(seed);

/* A head of ellipses with a phase, seen by coils around it whose squares sum to 1. */
typedef struct head {
    csrec_shape shape;
    int64_t coils, entries;
    double *x, *maps;
    csrec_operator_spec spec;
    csrec_measurement m;
} head;

static void draw_head(head *h, int64_t height, int64_t width, int64_t coils, bool centred) {
    *h = (head){.shape = {2, {height, width}}, .coils = coils, .entries = height * width};
    h->x = check_keep_zeros((size_t)h->entries, 16);
    h->maps = check_keep_zeros((size_t)(h->entries * coils), 16);
    const double turn = 6.28 * check_uniform(&seed), wave = 2.0 * check_uniform(&seed);
    for (int64_t i = 0; i < h->entries; i++) {
        const double v = (double)(i / width) / (double)height - 0.5;
        const double u = (double)(i % width) / (double)width - 0.5, r = hypot(u * 1.2, v);
        const double light =
            r > 0.4 ? 0.0 : 1.0 + 0.5 * (hypot(u, v - 0.1) < 0.1) - 0.6 * (r < 0.05);
        double sum = 0.0;
        h->x[2 * i] = light * cos(wave * v + turn);
        h->x[2 * i + 1] = light * sin(wave * v + turn);
        for (int64_t c = 0; c < coils; c++) {
            const double a = 6.2832 * (double)c / (double)coils + turn;
            const double far = pow(u - 0.6 * cos(a), 2) + pow(v - 0.6 * sin(a), 2);
            double *s = h->maps + 2 * (c * h->entries + i);
            s[0] = cos(a + u) / (0.1 + far);
            s[1] = sin(a + u) / (0.1 + far);
            sum += s[0] * s[0] + s[1] * s[1];
        }
        for (int64_t c = 0; c < 2 * coils; c++)
            h->maps[2 * (c / 2 * h->entries + i) + c % 2] /= sqrt(sum);
    }
    h->spec = (csrec_operator_spec){.name = "fourier",
                                    .complex_signal = true,
                                    .coils = h->maps,
                                    .n_coils = coils,
                                    .centred = centred,
                                    .norm = "ortho"};
}

/* Every third line and 24 in the middle; with noise of this sigma, of each part. */
static void measure_head(head *h, double sigma) {
    const int64_t height = h->shape.dim[0], width = h->shape.dim[1];
    h->m = (csrec_measurement){
        .shape = h->shape, .channels = 1, .is_complex = true, .through = &h->spec};
    h->m.index = check_keep((size_t)h->entries * 8);
    for (int64_t line = 0; line < height; line++) {
        const int64_t k =
            h->spec.centred ? line - height / 2 : (line + height / 2) % height - height / 2;
        for (int64_t x = 0; x < width && (line % 3 == 0 || (k >= -12 && k < 12)); x++)
            h->m.index[h->m.n++] = line * width + x;
    }
    h->m.y = check_keep((size_t)(h->m.n * h->coils) * 16);
    assert_ok(csrec_measurement_simulate(&h->m, h->x, h->m.y, NULL));
    for (int64_t i = 0; i < 2 * h->m.n * h->coils; i++) h->m.y[i] += sigma * check_normal(&seed);
    h->spec.coils = NULL;
    h->m.channels = h->coils;
}

/* The least |<s, found>| over the head, of unit vectors: 1 if they agree up to phase; and the most
 * that the phase turns from an entry to its neighbour. */
static double agreement(const head *h, const double *found, double *turns) {
    double least = 1.0;
    double complex before = 0.0;
    for (int64_t i = 0; i < h->entries; i++) {
        double complex sum = 0.0;
        const bool inside = h->x[2 * i] != 0.0 || h->x[2 * i + 1] != 0.0;
        for (int64_t c = 0; c < h->coils && inside; c++) {
            const double *s = h->maps + 2 * (c * h->entries + i), *t = found + (s - h->maps);
            sum += (s[0] - I * s[1]) * (t[0] + I * t[1]);
        }
        if (inside) least = fmin(least, cabs(sum));
        if (inside && before != 0.0) *turns = fmax(*turns, fabs(carg(sum / before)));
        before = inside ? sum : 0.0;
    }
    return least;
}

TEST(maps_of_a_head_are_found) {
    static const struct {
        int64_t height, width, coils;
        bool centred;
        double sigma, least;
    } cases[] = {{64, 64, 4, true, 0.0, 0.999},
                 {64, 64, 4, false, 0.0, 0.999},
                 {61, 54, 8, true, 0.0, 0.999},
                 {64, 72, 8, false, 0.01, 0.997},
                 {64, 64, 20, true, 0.02, 0.995}}; /* more coils in a window than windows */
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        head h;
        double turns = 0.0, told_sigma;
        draw_head(&h, cases[k].height, cases[k].width, cases[k].coils, cases[k].centred);
        measure_head(&h, cases[k].sigma);
        double *found = check_keep((size_t)(h.entries * h.coils) * 16);
        assert_well(csrec_coils_estimate(&h.m, NULL, found, &told_sigma, &told));
        double *dead = check_keep_zeros((size_t)(h.m.n * (h.coils + 1)), 16), again;
        for (int64_t i = 0; i < h.m.n; i++) /* a coil that measures nothing changes nothing */
            memcpy(dead + 2 * i * (h.coils + 1), h.m.y + 2 * i * h.coils, (size_t)h.coils * 16);
        csrec_measurement more = h.m;
        more.y = dead;
        more.channels++;
        assert_well(csrec_coils_estimate(&more, NULL, NULL, &again, &told));
        assert_true(fabs(again - told_sigma) <= 1e-3 * told_sigma + 1e-4);
        const double least = agreement(&h, found, &turns);
        if (!(least >= cases[k].least) || !(turns < 0.5))
            fail_msg("case %zu: agreement %g, turns %g", k, least, turns);
        assert_true(fabs(told_sigma - cases[k].sigma) <= 0.1 * cases[k].sigma + 1e-4);
        double corner = 0.0; /* far from the head nothing is seen */
        for (int64_t c = 0; c < h.coils; c++) corner += fabs(found[2 * c * h.entries]);
        assert_true(corner == 0.0);
    }
}

/* One coil, and a picture that reaches the edges: all that the kernel sees is signal, but outer
 * frequencies tell how little noise there is. */
TEST(sigma_is_no_more_than_values_allow) {
    enum { SIDE = 32, N = SIDE * SIDE };
    static const double sigmas[] = {0.0, 0.3}; /* y is up to 130 */
    for (int k = 0; k < 2; k++) {
        csrec_operator_spec spec = {.name = "fourier", .complex_signal = true, .centred = true};
        double x[2 * N], y[2 * N], told_sigma;
        int64_t index[N];
        csrec_measurement m = samples_at((csrec_shape){2, {SIDE, SIDE}}, N, 1, index, y);
        m.is_complex = true, m.through = &spec;
        for (int i = 0; i < N; i++) {
            const double u = (double)(i % SIDE) / SIDE - 0.5, v = (double)(i / SIDE) / SIDE - 0.4;
            index[i] = i;
            x[2 * i] = exp(-9.0 * (u * u + v * v));
            x[2 * i + 1] = 0.3 * (u + 0.5) * x[2 * i];
        }
        assert_ok(csrec_measurement_simulate(&m, x, y, NULL));
        for (int i = 0; i < 2 * N; i++) y[i] += sigmas[k] * check_normal(&seed);
        assert_well(csrec_coils_estimate(&m, NULL, NULL, &told_sigma, &told));
        /* the quartile of 1,024 is off by 2 %, and some of them have signal */
        if (!(told_sigma >= 0.85 * sigmas[k] && told_sigma <= 1.3 * sigmas[k] + 0.01))
            fail_msg("sigma %g, told as %g", sigmas[k], told_sigma);
    }
}

TEST(too_few_lines_and_other_operators_are_refused) {
    head h;
    double *found = check_keep(64 * 64 * 4 * 16);
    draw_head(&h, 64, 64, 4, true);
    measure_head(&h, 0.0);
    csrec_coils_options o = {.kernel = 17};
    assert_refused(csrec_coils_estimate(&h.m, &o, found, NULL, &told), CSREC_ARGUMENT, "kernel");
    int64_t n = 0; /* without the middle four lines */
    for (int64_t k = 0; k < h.m.n; k++) {
        const int64_t line = h.m.index[k] / 64;
        if (line >= 30 && line < 34) continue;
        memmove(h.m.y + 8 * n, h.m.y + 8 * k, 64);
        h.m.index[n++] = h.m.index[k];
    }
    h.m.n = n;
    assert_refused(csrec_coils_estimate(&h.m, NULL, found, NULL, &told), CSREC_DATA,
                   "axis 0 are complete");
    h.spec.coils = h.maps;
    assert_fails(csrec_coils_estimate(&h.m, NULL, found, NULL, &told), CSREC_ARGUMENT);
    h.m.through = NULL;
    assert_fails(csrec_coils_whiten(&h.m, found, &told), CSREC_ARGUMENT);
}

/* Solves M x = b by elimination; both are destroyed. */
static void eliminate(int n, double complex *M, double complex *b) {
    for (int p = 0; p < n; p++)
        for (int i = 0; i < n; i++) {
            const double complex f = M[i * n + p] / M[p * n + p];
            for (int j = 0; j < n && i != p; j++) M[i * n + j] -= f * M[p * n + j];
            if (i != p) b[i] -= f * b[p];
        }
    for (int p = 0; p < n; p++) b[p] /= M[p * n + p];
}

enum { H = 3, W = 2, N = H * W, C = 3 };

/* A[k, c, j] = s_c(j) exp(-2 pi i <k, j>), from the definition. */
static void fill(const double *maps, double complex A[N * C][N]) {
    for (int r = 0; r < N * C; r++)
        for (int j = 0; j < N; j++) {
            const int k = r / C, c = r % C;
            const double turns = (double)(k / W * (j / W)) / H + (double)(k % W * (j % W)) / W;
            const double *s = maps + 2 * (c * N + j);
            A[r][j] = (s[0] + I * s[1]) * cexp(-2.0 * 3.14159265358979323846 * I * turns);
        }
}

/* x of least sum over rows of r^H Q r, Q [C][C]. */
static void weighted(double complex A[N * C][N], const double *y, const double complex *Q,
                     double complex x[N]) {
    double complex M[N * N] = {0};
    for (int j = 0; j < N; j++) {
        x[j] = 0.0;
        for (int k = 0; k < N * C * C; k++) {
            const int row = k / C, other = row / C * C + k % C;
            const double complex left = conj(A[row][j]) * Q[row % C * C + k % C];
            x[j] += left * (y[2 * other] + I * y[2 * other + 1]);
            for (int i = 0; i < N; i++) M[j * N + i] += left * A[other][i];
        }
    }
    eliminate(N, M, x);
}

TEST(whitened_least_squares_are_those_weighted_by_the_noise) {
    double covariance[2 * C * C], *maps = kept_normals(&seed, 2 * C * N), *y = NULL;
    double complex B[C][C], S[C * C], Q[C * C] = {0}, A[N * C][N], x[N], z[N];
    int64_t index[N];
    for (int i = 0; i < C * C; i++) B[i / C][i % C] = check_normal(&seed) + I * check_normal(&seed);
    for (int i = 0; i < C * C; i++) {
        S[i] = i % (C + 1) == 0 ? 0.1 : 0.0;
        for (int k = 0; k < C; k++) S[i] += B[i / C][k] * conj(B[i % C][k]);
        covariance[2 * i] = creal(S[i]);
        covariance[2 * i + 1] = cimag(S[i]);
    }
    for (int c = 0; c < C; c++) { /* Q = S^-1, column by column */
        double complex copy[C * C], e[C] = {0};
        memcpy(copy, S, sizeof S);
        e[c] = 1.0;
        eliminate(C, copy, e);
        for (int i = 0; i < C; i++) Q[i * C + c] = e[i];
    }
    for (int k = 0; k < N; k++) index[k] = k;
    y = kept_normals(&seed, 2 * N * C);
    fill(maps, A);
    weighted(A, y, Q, x);
    csrec_operator_spec spec = {
        .name = "fourier", .complex_signal = true, .coils = maps, .n_coils = C};
    csrec_measurement m = samples_at((csrec_shape){2, {H, W}}, N, 1, index, y);
    m.is_complex = true, m.through = &spec;
    assert_well(csrec_coils_whiten(&m, covariance, &told));
    assert_true(m.sigma == sqrt(0.5));
    for (int i = 0; i < C * C; i++) Q[i] = i % (C + 1) == 0 ? 1.0 : 0.0;
    fill(maps, A); /* which are whitened */
    weighted(A, y, Q, z);
    for (int j = 0; j < N; j++) assert_true(cabs(x[j] - z[j]) <= 1e-9 * (1.0 + cabs(x[j])));
    covariance[2] += 0.1; /* no longer Hermitian */
    assert_refused(csrec_coils_whiten(&m, covariance, &told), CSREC_DATA, "3 coils");
    covariance[2] -= 0.1;
    covariance[0] = -1.0;
    assert_refused(csrec_coils_whiten(&m, covariance, &told), CSREC_DATA, "3 coils");
}
