/* wavelet_lifting.c - predict and update along a line: Haar, CDF 5/3, CDF 9/7. */
#include <stdbool.h>
#include <string.h>

#include "operator/wavelet.h"

#define CDF97_GAIN 1.230174104914001 /* of s on a constant line, before the scaling */
#define SQRT2      1.4142135623730951

static const csrec_lifting liftings[] = {
    {"haar", 2, {-1.0, 0.0}, {0.0, 0.5}, SQRT2},
    {"cdf53", 2, {-0.5, 0.25}, {-0.5, 0.25}, SQRT2},
    {"cdf97",
     4,
     {-1.586134342059924, -0.052980118572961, 0.882911075530934, 0.443506852043971},
     {-1.586134342059924, -0.052980118572961, 0.882911075530934, 0.443506852043971},
     SQRT2 / CDF97_GAIN},
};

const csrec_lifting *csrec_lifting_find(const char *kind) {
    for (size_t i = 0; i < sizeof liftings / sizeof *liftings; i++)
        if (kind && strcmp(liftings[i].kind, kind) == 0) return &liftings[i];
    return NULL;
}

/* d += sign (left s_i + right s_i+1); beyond the end s_i stands for s_i+1. */
static void predict(double left, double right, int64_t ns, int64_t nd, const double *s, double *d) {
    for (int64_t i = 0; i < nd; i++) d[i] += left * s[i] + right * s[i + 1 < ns ? i + 1 : i];
}

static void update(double left, double right, int64_t ns, int64_t nd, double *s, const double *d) {
    for (int64_t i = 0; i < ns; i++) {
        s[i] += left * d[i > 0 ? i - 1 : 0];
        if (i < nd || csrec_lifting_mirrors(left)) s[i] += right * d[i < nd ? i : nd - 1];
    }
}

/* Transposes of predict and update: gather instead of scatter. */
static void predict_transposed(double left, double right, int64_t ns, int64_t nd, double *s,
                               const double *d) {
    for (int64_t i = 0; i < nd; i++) {
        s[i] += left * d[i];
        s[i + 1 < ns ? i + 1 : i] += right * d[i];
    }
}

static void update_transposed(double left, double right, int64_t ns, int64_t nd, const double *s,
                              double *d) {
    for (int64_t i = 0; i < ns; i++) {
        d[i > 0 ? i - 1 : 0] += left * s[i];
        if (i < nd || csrec_lifting_mirrors(left)) d[i < nd ? i : nd - 1] += right * s[i];
    }
}

static void split(int64_t n, const double *v, double *s, double *d) {
    for (int64_t i = 0; 2 * i < n; i++) s[i] = v[2 * i];
    for (int64_t i = 0; 2 * i + 1 < n; i++) d[i] = v[2 * i + 1];
}

static void rescale(double factor, int64_t ns, int64_t nd, double *s, double *d) {
    for (int64_t i = 0; i < ns; i++) s[i] *= factor;
    for (int64_t i = 0; i < nd; i++) d[i] /= factor;
}

void csrec_lifting_analyze(const csrec_lifting *lifting, int64_t n, const double *v, double *out) {
    int64_t ns = (n + 1) / 2, nd = n / 2;
    double *s = out, *d = out + ns;
    split(n, v, s, d);
    for (int k = 0; k < lifting->steps; k++) {
        if (k % 2 == 0)
            predict(lifting->left[k], lifting->right[k], ns, nd, s, d);
        else
            update(lifting->left[k], lifting->right[k], ns, nd, s, d);
    }
    rescale(lifting->scale, ns, nd, s, d);
}

void csrec_lifting_synthesize(const csrec_lifting *lifting, int64_t n, double *in, double *v) {
    int64_t ns = (n + 1) / 2, nd = n / 2;
    double *s = in, *d = in + ns;
    rescale(1.0 / lifting->scale, ns, nd, s, d);
    for (int k = lifting->steps - 1; k >= 0; k--) {
        if (k % 2 == 0)
            predict(-lifting->left[k], -lifting->right[k], ns, nd, s, d);
        else
            update(-lifting->left[k], -lifting->right[k], ns, nd, s, d);
    }
    for (int64_t i = 0; i < ns; i++) v[2 * i] = s[i];
    for (int64_t i = 0; i < nd; i++) v[2 * i + 1] = d[i];
}

void csrec_lifting_transpose(const csrec_lifting *lifting, int64_t n, const double *v,
                             double *out) {
    int64_t ns = (n + 1) / 2, nd = n / 2;
    double *s = out, *d = out + ns;
    split(n, v, s, d);
    for (int k = 0; k < lifting->steps; k++) {
        if (k % 2 == 0)
            predict_transposed(-lifting->left[k], -lifting->right[k], ns, nd, s, d);
        else
            update_transposed(-lifting->left[k], -lifting->right[k], ns, nd, s, d);
    }
    rescale(1.0 / lifting->scale, ns, nd, s, d);
}
