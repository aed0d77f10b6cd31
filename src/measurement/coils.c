/* SPDX-License-Identifier: BSD-3-Clause */
/* coils.c - sensitivities of coils from the middle of k-space (ESPIRiT: Uecker et al. 2014).
 *
 * A window of k-space, [kernel][coils], at any place is a sum over the entries j of the signal of
 * vectors q_j(t, c) = s_c(j) exp(-2 pi i t j / n). So windows of the middle, where all is measured,
 * span what all q_j are in. With P the projection to that span,
 *
 *     M(j) = 1/T sum_{t,u} exp(2 pi i (t - u) j / n) P((t, .), (u, .)),   T entries of a kernel,
 *
 * is coils x coils with eigenvalues up to 1, and M(j) s(j) = s(j) where the signal is not 0. The
 * sums over t - u = d are taken once, so an entry costs (2 kernel - 1)^axes products. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/eigen.h"
#include "base/pool.h"
#include "base/threads.h"
#include "base/unit.h"
#include "base/unravel.h"
#include "measurement/through.h"

#define PI 3.14159265358979323846

enum { ROUNDS = 100 }; /* of power iterations; neighbours begin with the last result */

typedef struct espirit {
    const csrec_measurement *m;
    csrec_coils_options o;
    int64_t coils, entries;
    int64_t *sample;                         /* [entries], centred: its number in y, or -1 */
    int64_t from[3], size[3];                /* the box in the middle that is measured */
    csrec_shape window, places, differences; /* of the kernel, in the box, and t - u */
    int64_t T, n;                            /* entries of the kernel, and times coils */
    int64_t P;                               /* places */
    int64_t active;                          /* coils that are not 0 everywhere */
    double sigma;                            /* of each part of y; 0: not known */
    double *R;                               /* [differences][coils][coils][2] */
    double *main;                            /* [coils][2] the strongest combination of coils */
    csrec_pool pool;
} espirit;

/* to += a conj(b), of complex numbers. */
static void add_product(const double *a, const double *b, double *to) {
    to[0] += a[0] * b[0] + a[1] * b[1];
    to[1] += a[1] * b[0] - a[0] * b[1];
}

static csrec_status find_samples(espirit *e) {
    const csrec_measurement *m = e->m;
    if (!CSREC_TAKE(&e->pool, e->sample, e->entries)) return CSREC_MEMORY;
    memset(e->sample, -1, (size_t)e->entries * sizeof *e->sample);
    for (int64_t k = 0; k < m->n; k++) {
        int64_t at = m->index[k];
        if (!m->through->centred) csrec_uncentre(&m->shape, true, &at);
        e->sample[at] = k;
    }
    for (int64_t c = 0; c < e->coils; c++) {
        int64_t k = 0; /* the first that is not 0 */
        while (k < m->n && m->y[2 * (k * e->coils + c)] == 0.0) k++;
        e->active += k < m->n;
    }
    return CSREC_OK;
}

static int64_t flat_of(const csrec_shape *shape, const int64_t *from, const int64_t *place) {
    int64_t flat = 0;
    for (int a = 0; a < shape->dims; a++) flat = flat * shape->dim[a] + from[a] + place[a];
    return flat;
}

static bool is_full(const espirit *e, const int64_t *from, const int64_t *size) {
    csrec_shape box = {.dims = e->m->shape.dims};
    int64_t n, place[3];
    for (int a = 0; a < box.dims; a++) {
        box.dim[a] = size[a];
        if (from[a] < 0 || from[a] + size[a] > e->m->shape.dim[a]) return false;
    }
    csrec_shape_count(&box, &n);
    for (int64_t i = 0; i < n; i++) {
        csrec_unravel_index(&box, i, place);
        if (e->sample[flat_of(&e->m->shape, from, place)] < 0) return false;
    }
    return true;
}

/* One more line of an axis, below or above, what keeps the middle in the middle first. */
static bool grow(espirit *e, int a) {
    const int64_t below = e->m->shape.dim[a] / 2 - e->from[a], was = e->from[a];
    if (e->size[a] >= e->o.calibration) return false;
    e->size[a]++;
    for (int side = 0; side < 2; side++) {
        e->from[a] = was - ((2 * below < e->size[a]) == (side == 0));
        if (is_full(e, e->from, e->size)) return true;
    }
    e->from[a] = was;
    e->size[a]--;
    return false;
}

static csrec_status find_middle(espirit *e, csrec_error *error) {
    const csrec_shape *shape = &e->m->shape;
    bool grows = true;
    for (int a = 0; a < shape->dims; a++) e->from[a] = shape->dim[a] / 2, e->size[a] = 1;
    if (!is_full(e, e->from, e->size)) grows = false, e->size[0] = 0;
    while (grows) {
        grows = false;
        for (int a = 0; a < shape->dims; a++) grows = grow(e, a) || grows;
    }
    e->T = e->P = 1;
    e->window.dims = e->places.dims = e->differences.dims = shape->dims;
    for (int a = 0; a < shape->dims; a++) {
        const int64_t n = shape->dim[a], size = e->size[a], half = (size + 1) / 2;
        const int64_t k = e->window.dim[a] = half < e->o.kernel ? half : e->o.kernel;
        if (size < 6 && size < n)
            return csrec_fail(error, CSREC_DATA,
                              "measurement: %lld lines in the middle of axis %d are complete, and "
                              "coils are estimated from 6 or more; give maps of the coils",
                              (long long)size, a);
        e->places.dim[a] = size - k + 1;
        e->differences.dim[a] = 2 * k - 1;
        e->T *= k;
        e->P *= e->places.dim[a];
    }
    e->n = e->T * e->coils;
    return CSREC_OK;
}

/* Windows as rows of X [P][n][2], or as its columns. */
static void take_windows(const espirit *e, bool columns, double *X) {
    int64_t place[3], t[3];
    for (int64_t p = 0; p < e->P; p++) {
        csrec_unravel_index(&e->places, p, place);
        for (int64_t i = 0; i < e->T; i++) {
            csrec_unravel_index(&e->window, i, t);
            for (int a = 0; a < e->window.dims; a++) t[a] += place[a];
            const int64_t k = e->sample[flat_of(&e->m->shape, e->from, t)];
            for (int64_t c = 0; c < e->coils; c++) {
                const int64_t row = i * e->coils + c;
                memcpy(X + 2 * (columns ? row * e->P + p : p * e->n + row),
                       e->m->y + 2 * (k * e->coils + c), 2 * sizeof *X);
            }
        }
    }
}

/* X X^H of [n][length] complex numbers as a real symmetric matrix S [2 n][2 n]: a + i b is an
 * eigenvector of the one where (a, b) is one of the other, which has each twice. */
static void square(int64_t n, int64_t length, const double *X, double *S) {
#pragma omp parallel for schedule(dynamic, 8) num_threads(csrec_threads_for(n *length, 0))
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            const double *a = X + 2 * i * length, *b = X + 2 * j * length;
            double sum[2] = {0.0, 0.0};
            for (int64_t k = 0; k < 2 * length; k += 2) add_product(a + k, b + k, sum);
            S[i * 2 * n + j] = S[j * 2 * n + i] = sum[0];
            S[(n + i) * 2 * n + n + j] = S[(n + j) * 2 * n + n + i] = sum[0];
            S[(n + i) * 2 * n + j] = S[j * 2 * n + n + i] = sum[1];
            S[(n + j) * 2 * n + i] = S[i * 2 * n + n + j] = -sum[1];
        }
}

/* R += v v^H of a vector [kernel][coils], at the differences of its places. */
static void add_vector(espirit *e, const double *v) {
    int64_t t[3], u[3], none[3] = {0};
    const int64_t each = 2 * e->coils * e->coils;
    for (int64_t i = 0; i < e->T; i++)
        for (int64_t j = 0; j < e->T; j++) {
            csrec_unravel_index(&e->window, i, t);
            csrec_unravel_index(&e->window, j, u);
            for (int a = 0; a < e->window.dims; a++) t[a] += e->window.dim[a] - 1 - u[a];
            double *to = e->R + each * flat_of(&e->differences, none, t);
            for (int64_t c = 0; c < e->coils; c++)
                for (int64_t d = 0; d < e->coils; d++, to += 2)
                    add_product(v + 2 * (i * e->coils + c), v + 2 * (j * e->coils + d), to);
        }
}

/* The vector of windows that belongs to eigenvector w of [size], of windows or of places. */
static void vector_of(const espirit *e, int64_t size, const double *w, const double *X,
                      double scale, double *v) {
    const bool places = size != e->n;
    memset(v, 0, 2 * (size_t)e->n * sizeof *v);
    for (int64_t i = 0; i < e->n && !places; i++)
        v[2 * i] = scale * w[i], v[2 * i + 1] = scale * w[size + i];
    for (int64_t p = 0; p < e->P && places; p++) {
        const double conjugate[2] = {scale * w[p], scale * w[size + p]};
        for (int64_t i = 0; i < e->n; i++)
            add_product(X + 2 * (p * e->n + i), conjugate, v + 2 * i);
    }
}

/* How many of the eigenvalues, each of which is there twice, are above those of noise. Where r are
 * signal, the others sum to sigma^2 (P - r) (n - r), and noise has none above sigma^2 (sqrt P +
 * sqrt n)^2 (Marchenko and Pastur 1967); r grows until none is. Sets the sigma of a part of y,
 * unless nearly all are signal. */
static int64_t count_signal(espirit *e, int64_t size, const double *values) {
    const double P = (double)e->P, n = (double)(e->T * e->active),
                 edge = pow(sqrt(P) + sqrt(n), 2.0);
    int64_t r = 0;
    for (bool grows = true; grows && r < size;) {
        double rest = 0.0;
        for (int64_t k = r; k < size; k++) rest += fmax(values[2 * k], 0.0);
        rest /= (P - (double)r) * (n - (double)r);
        grows = values[2 * r] > rest * edge;
        while (r < size && values[2 * r] > rest * edge) r++;
        e->sigma = sqrt(rest / 2.0);
    }
    if (r > size - size / 4) e->sigma = 0.0;
    return r;
}

/* R of the eigenvectors whose eigenvalue is above the threshold and noise. */
static csrec_status find_span(espirit *e, csrec_error *error) {
    const bool columns = e->n <= e->P;
    const int64_t size = columns ? e->n : e->P, length = columns ? e->P : e->n;
    int64_t sums;
    csrec_shape_count(&e->differences, &sums);
    csrec_pool own = {0};
    double *X, *S, *V, *values, *v;
    CSREC_TAKE(&own, X, 2 * e->n * e->P);
    CSREC_ZEROS(&own, S, 4 * size * size);
    CSREC_TAKE(&own, V, 4 * size * size);
    CSREC_TAKE(&own, values, 2 * size);
    CSREC_TAKE(&own, v, 2 * e->n);
    CSREC_ZEROS(&e->pool, e->R, 2 * sums * e->coils * e->coils);
    csrec_status status = own.lacks || e->pool.lacks ? CSREC_MEMORY : CSREC_OK;
    if (!status) {
        take_windows(e, columns, X);
        square(size, length, X, S);
        status = csrec_eigen_largest((int)(2 * size), S, (int)(2 * size), values, V, error);
    }
    const int64_t signal = status ? 0 : count_signal(e, size, values);
    for (int64_t k = 0; k < 2 * signal; k++) {
        if (!(values[k] > e->o.threshold * values[0])) break;
        vector_of(e, size, V + 2 * k * size, X,
                  sqrt(0.5 / (double)e->T / (columns ? 1.0 : values[k])), v);
        add_vector(e, v);
    }
    csrec_pool_clear(&own);
    return status;
}

/* The largest eigenvalue of M [coils][coils], and its vector v by power iterations from v. */
static double strongest(int64_t coils, const double *M, double *v, double *w) {
    double length = 0.0, change = 1.0;
    for (int round = 0; round < ROUNDS && change > 1e-20; round++) {
        memset(w, 0, 2 * (size_t)coils * sizeof *w);
        for (int64_t c = 0; c < coils; c++)
            for (int64_t d = 0; d < coils; d++) { /* M is Hermitian: conj(M(d, c)) */
                add_product(v + 2 * d, M + 2 * (d * coils + c), w + 2 * c);
            }
        length = sqrt(csrec_squares(2 * coils, w));
        if (!(length > 0.0)) return 0.0;
        change = 0.0;
        for (int64_t i = 0; i < 2 * coils; i++) {
            const double next = w[i] / length;
            change += (next - v[i]) * (next - v[i]);
            v[i] = next;
        }
    }
    return length;
}

/* The strongest combination of coils over the middle, to which phases refer. */
static csrec_status find_main(espirit *e) {
    double *M, *w;
    CSREC_ZEROS(&e->pool, M, 2 * e->coils * e->coils);
    CSREC_TAKE(&e->pool, w, 2 * e->coils);
    CSREC_ZEROS(&e->pool, e->main, 2 * e->coils);
    if (e->pool.lacks) return CSREC_MEMORY;
    for (int64_t i = 0; i < e->entries; i++)
        for (int64_t c = 0; c < e->coils * e->coils && e->sample[i] >= 0; c++) {
            const double *y = e->m->y + 2 * e->sample[i] * e->coils;
            add_product(y + 2 * (c / e->coils), y + 2 * (c % e->coils), M + 2 * c);
        }
    double most = 0.0;
    for (int64_t c = 0; c < e->coils; c++) most = fmax(most, M[2 * c * (e->coils + 1)]);
    for (int64_t c = 0; c < 2 * e->coils * e->coils && most > 0.0; c++) M[c] /= most;
    for (int64_t c = 0; c < e->coils; c++) e->main[2 * c] = 1.0 / sqrt((double)e->coils);
    strongest(e->coils, M, e->main, w);
    return CSREC_OK;
}

/* to += exp(2 pi i d j / n) from, of `each` complex numbers. */
static void add_turned(double turns, int64_t each, const double *from, double *to) {
    const double back[2] = {cos(2.0 * PI * turns), -sin(2.0 * PI * turns)};
    for (int64_t i = 0; i < 2 * each; i += 2) add_product(from + i, back, to + i);
}

/* Turns of exp(2 pi i d j / n) along an axis for difference number `d`. */
static double turns_of(const espirit *e, int a, int64_t d, int64_t place) {
    const int64_t n = e->m->shape.dim[a], j = e->m->through->centred ? place - n / 2 : place;
    return (double)((d - (e->differences.dim[a] - 1) / 2) * j % n) / (double)n;
}

/* Maps of the entries of a line along the last axis. Q: [differences of it][coils][coils][2] and
 * room for M and two vectors. */
static void map_line(const espirit *e, int64_t line, double *Q, double *coils) {
    const csrec_shape *D = &e->differences;
    const int last = D->dims - 1;
    const int64_t each = e->coils * e->coils, width = e->m->shape.dim[last], own = D->dim[last];
    double *M = Q + 2 * own * each, *v = M + 2 * each, *w = v + 2 * e->coils;
    int64_t place[3], d[3], sums;
    csrec_shape_count(D, &sums);
    csrec_unravel_index(&e->m->shape, line * width, place);
    memset(Q, 0, 2 * (size_t)(own * each) * sizeof *Q);
    for (int64_t i = 0; i < sums; i++) {
        double turns = 0.0;
        csrec_unravel_index(D, i, d);
        for (int a = 0; a < last; a++) turns += turns_of(e, a, d[a], place[a]);
        add_turned(turns, each, e->R + 2 * i * each, Q + 2 * d[last] * each);
    }
    memcpy(v, e->main, 2 * (size_t)e->coils * sizeof *v);
    for (int64_t x = 0; x < width; x++) {
        memset(M, 0, 2 * (size_t)each * sizeof *M);
        for (int64_t i = 0; i < own; i++)
            add_turned(turns_of(e, last, i, x), each, Q + 2 * i * each, M);
        double turn[2] = {0.0, 0.0};
        const bool kept = strongest(e->coils, M, v, w) >= e->o.crop;
        for (int64_t c = 0; c < e->coils; c++) add_product(v + 2 * c, e->main + 2 * c, turn);
        const double size = hypot(turn[0], turn[1]);
        if (size > 0.0) turn[0] /= size, turn[1] /= size;
        for (int64_t c = 0; c < e->coils; c++) {
            double *to = coils + 2 * (c * e->entries + line * width + x);
            to[0] = to[1] = 0.0;
            if (kept) add_product(v + 2 * c, turn, to);
        }
    }
}

static csrec_status make_maps(espirit *e, double *coils) {
    const int last = e->m->shape.dims - 1;
    const int64_t lines = e->entries / e->m->shape.dim[last], each = e->coils * e->coils;
    const int64_t room = 2 * (e->differences.dim[last] + 1) * each + 4 * e->coils;
    const int threads = csrec_threads_for(e->entries * each, e->o.threads);
    double *Q;
    if (!CSREC_TAKE(&e->pool, Q, threads * room)) return CSREC_MEMORY;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int t = 0; t < threads; t++)
        for (int64_t line = t; line < lines; line += threads)
            map_line(e, line, Q + t * room, coils);
    return CSREC_OK;
}

static csrec_status check(const csrec_measurement *m, const csrec_coils_options *o,
                          csrec_error *error) {
    if (!csrec_through_kspace(m->through) || m->through->coils)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "measurement: coils are estimated of operators fourier and nufft without "
                          "coils, whose y has a channel for each");
    if (o->kernel < 1 || o->kernel > 16 || o->calibration < o->kernel || o->calibration > 64 ||
        !(o->threshold > 0.0 && o->threshold < 1.0) || !(o->crop > 0.0 && o->crop <= 1.0))
        return csrec_fail(error, CSREC_ARGUMENT,
                          "coils: kernel is 1 to 16, calibration from there to 64, threshold and "
                          "crop are above 0 and up to 1");
    return csrec_measurement_check(m, "measurement", error);
}

/* Of a trajectory: the middle is brought to the grid, and noise is told by what that leaves. */
static csrec_status estimate_any(const csrec_measurement *m, const csrec_coils_options *o,
                                 double *coils, double *sigma, csrec_error *error) {
    csrec_measurement grid;
    double noise = 0.0;
    csrec_status status = csrec_coils_grid(m, o->calibration, &grid, &noise);
    if (status)
        csrec_fail(error, status, "coils: %s",
                   status == CSREC_MEMORY ? "out of memory" : "a trajectory needs FINUFFT");
    if (!status && grid.n == 0)
        status = csrec_fail(error, CSREC_DATA, "coils: the trajectory has no point in the middle");
    if (!status && coils) status = csrec_coils_estimate(&grid, o, coils, NULL, error);
    if (!status && sigma) status = csrec_coils_limit_noise(m, noise, sigma);
    free(grid.index);
    free(grid.y);
    return status;
}

csrec_status csrec_coils_estimate(const csrec_measurement *m, const csrec_coils_options *options,
                                  double *coils, double *sigma, csrec_error *error) {
    espirit e = {.m = m, .coils = m->channels};
    if (options) e.o = *options;
    /* Sets those that are not given: windows of volumes are smaller, as all of one are as many. */
    int axes = 0;
    for (int a = 0; a < m->shape.dims; a++) axes += m->shape.dim[a] > 1;
    if (e.o.kernel == 0) e.o.kernel = axes > 2 ? 5 : 6;
    if (e.o.calibration == 0) e.o.calibration = axes > 2 ? 16 : 24;
    if (e.o.threshold == 0.0) e.o.threshold = 0.001;
    if (e.o.crop == 0.0) e.o.crop = 0.8;
    CSREC_TRY(check(m, &e.o, error));
    if (strcmp(m->through->name, "nufft") == 0) return estimate_any(m, &e.o, coils, sigma, error);
    csrec_shape_count(&m->shape, &e.entries);
    csrec_status status = find_samples(&e);
    if (!status) status = find_middle(&e, error);
    if (!status && 2 * (e.n < e.P ? e.n : e.P) > 1 << 13)
        status = csrec_fail(error, CSREC_UNSUPPORTED,
                            "coils: a kernel of %lld entries of %lld coils is too large; give a "
                            "smaller kernel, or fewer coils",
                            (long long)e.T, (long long)e.coils);
    if (!status) status = find_span(&e, error);
    if (!status && coils) status = find_main(&e);
    if (!status && coils) status = make_maps(&e, coils);
    if (!status && sigma) status = csrec_coils_limit_noise(m, e.sigma, sigma);
    csrec_pool_clear(&e.pool);
    if (status == CSREC_MEMORY) csrec_fail(error, status, "coils: out of memory");
    return status;
}
