/* SPDX-License-Identifier: BSD-3-Clause */
/* frequencies.c - centred frequencies: where numpy.fft.fftn has them, and whether y shows such. */
#include <math.h>
#include <stdlib.h>

#include "base/unit.h"
#include "base/unravel.h"
#include "measurement/through.h"

/* c k modulo n for c = n / 2 and k < n, without the product: 2 c is -1 modulo an odd n. */
static int64_t turn(int64_t n, int64_t k) {
    if (n % 2 == 0) return k % 2 ? n / 2 : 0;
    return k % 2 ? n / 2 - k / 2 : (n - k / 2) % n;
}

/* Frequency q of a centred axis is k = q - c of fftn, and the sum is over the distance to c:
 * sum_j x_j exp(-2 pi i (j - c) k / n) = exp(2 pi i c k / n) fftn(x)_k. */
double csrec_uncentre(const csrec_shape *shape, bool back, int64_t *index) {
    int64_t place[CSREC_DIMS_MAX], flat = 0;
    double turns = 0.0;
    csrec_unravel_index(shape, *index, place);
    for (int a = 0; a < shape->dims; a++) {
        const int64_t n = shape->dim[a], c = n / 2, k = back ? place[a] : (place[a] + n - c) % n;
        turns += (double)turn(n, k) / (double)n;
        flat = flat * n + (back ? (k + c) % n : k);
    }
    *index = flat;
    return turns - floor(turns);
}

/* Of the energy of y and of its positions, those in a box around the middle or position 0. */
typedef struct focus {
    double energy, positions; /* shares */
    double n;                 /* positions in all */
} focus;

/* Without an operator the first of three axes may be coils or slices: all of it is near. */
static bool is_near(const csrec_shape *shape, bool entries, int64_t index, bool middle) {
    int64_t place[CSREC_DIMS_MAX];
    bool near = true;
    csrec_unravel_index(shape, index, place);
    for (int a = entries && shape->dims == 3; a < shape->dims; a++) {
        const int64_t n = shape->dim[a], away = llabs(place[a] - (middle ? n / 2 : 0));
        near = near && (away < n - away ? away : n - away) <= (n + 16) / 32;
    }
    return near;
}

static focus focus_on(const csrec_measurement *m, bool middle) {
    const int64_t each = csrec_measurement_values(m) / m->n;
    double all = 0.0;
    focus f = {.n = (double)m->n};
    for (int64_t k = 0; k < m->n; k++) {
        const double energy = csrec_squares(each, m->y + k * each);
        const bool near = is_near(&m->shape, !m->through, m->index[k], middle);
        all += energy;
        f.energy += near ? energy : 0.0;
        f.positions += near ? 1.0 / f.n : 0.0;
    }
    f.energy = all > 0.0 ? f.energy / all : 0.0;
    return f;
}

/* Four times its share, and so much more that of white noise it is less than once in 10^9 boxes. */
static bool is_bright(const focus *f) {
    return f->energy > 4.0 * f->positions + 20.0 / f->n;
}

/* Likewise where both boxes have positions enough, of their mean energies. */
static bool is_brighter(const focus *f, const focus *than) {
    return fmin(f->positions, than->positions) * f->n >= 16.0 &&
           f->energy * than->positions > 8.0 * than->energy * f->positions;
}

static int axes_of(const csrec_shape *shape) {
    int axes = 0;
    for (int a = 0; a < shape->dims; a++) axes += shape->dim[a] > 1;
    return axes;
}

void csrec_doubt_centred(const csrec_measurement *m, bool *centred, csrec_error *remark) {
    const csrec_through_type *type = m->through ? csrec_through_find(m->through->name) : NULL;
    *centred = false;
    remark->text[0] = '\0';
    if (m->n < 1 || !m->is_complex ||
        (m->through && (m->through->trajectory || !(type && type->complex_y))))
        return;
    const focus middle = focus_on(m, true), zero = focus_on(m, false);
    const double least = m->through ? 0.5 : 0.25; /* entries are told alone, and stay as they are */
    const bool is_middle = middle.energy >= least && is_bright(&middle);
    if (!m->through && (is_middle || (zero.energy >= least && is_bright(&zero)))) {
        csrec_fail(remark, CSREC_OK, CSREC_REMARK_ENTRIES);
        return;
    }
    *centred = m->through && is_middle && axes_of(&m->shape) > 1;
    const bool may =
        middle.energy > zero.energy && (is_bright(&middle) || is_brighter(&middle, &zero));
    if (*centred)
        csrec_fail(
            remark, CSREC_OK,
            "%.0f %% of the energy is around the middle of the frequencies, so they are taken as "
            "centred (fftshift); give centred, true or false, and norm, to be sure.",
            100.0 * middle.energy);
    else if (m->through && may)
        csrec_fail(
            remark, CSREC_OK,
            "More energy is around the middle of the frequencies than around 0, as of centred "
            "ones (fftshift); they are taken as not centred; give centred, true or false.");
}
