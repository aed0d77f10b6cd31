/* SPDX-License-Identifier: BSD-3-Clause */
/* order.c - rows of N-d positions: Morton, Hilbert and raster order.
 *
 * An axis of extent dim has b = ceil(log2 dim) bits. Morton order interleaves the bits of all
 * axes, least significant first, the last axis lowest; an axis whose bits are used up drops out.
 * So the row is a few bit fields, one for each set of axes still present: from bit `low` up,
 * `width` bits of each of m axes, spread m apart. Hilbert order first replaces the low bits of the
 * coordinates, those which all axes have, by hilbert.c; everything else is the same. */
#include "sampling/order.h"

#include "base/inline.h"
#include "base/threads.h"
#include "csrec/haar.h"

typedef struct {
    int axes, width; /* axes present, bits of each */
    int low, base;   /* their first bit in the coordinates and in the row */
    int axis[CSREC_DIMS_MAX];
    uint64_t mask[6]; /* mask[t]: groups of 2^t bits, one group in `axes`; see spread */
    int steps;        /* 2^steps >= width */
} field;

typedef struct {
    csrec_order order;
    int levels, axes, fields;     /* axes: those of extent > 1 */
    int hilbert_bits;             /* 0 if the order is not Hilbert */
    uint64_t dim[CSREC_DIMS_MAX]; /* extents > 1, in C order */
    int bits[CSREC_DIMS_MAX];
    int64_t count;
    field field[CSREC_DIMS_MAX];
} plan;

/* Bits of groups 2^t long, the first of every m groups. */
static uint64_t group_mask(int t, int m) {
    uint64_t mask = 0;
    for (int bit = 0; bit < 64; bit++)
        if ((bit >> t) % m == 0) mask |= (uint64_t)1 << bit;
    return mask;
}

/* The bits of x moved m places apart: groups of 2^t bits are split into halves and the upper half
 * is moved away, for smaller and smaller groups. */
static uint64_t spread(const field *f, uint64_t x) {
    for (int t = f->steps - 1; t >= 0; t--) x = (x | x << ((f->axes - 1) << t)) & f->mask[t];
    return x;
}

static uint64_t gather(const field *f, uint64_t x) {
    if (f->steps) x &= f->mask[0];
    for (int t = 0; t < f->steps; t++) {
        x |= x >> ((f->axes - 1) << t);
        if (t + 1 < f->steps) x &= f->mask[t + 1];
    }
    return x & (((uint64_t)1 << f->width) - 1);
}

/* The next field: every axis with more than `low` bits, up to where the next axis ends. */
static void field_init(field *f, const plan *p, int low, int base) {
    *f = (field){.low = low, .base = base, .width = 64};
    for (int a = 0; a < p->axes; a++) {
        if (p->bits[a] <= low) continue;
        f->axis[f->axes++] = a;
        if (p->bits[a] - low < f->width) f->width = p->bits[a] - low;
    }
    if (f->axes > 1) f->steps = csrec_bits_for(f->width);
    for (int t = 0; t < f->steps; t++) f->mask[t] = group_mask(t, f->axes);
}

static csrec_status plan_init(plan *p, const csrec_shape *shape, csrec_order order) {
    *p = (plan){.order = order};
    csrec_status status = csrec_shape_count(shape, &p->count);
    if (status) return status;
    if (order == CSREC_ORDER_RASTER) {
        p->levels = csrec_bits_for(p->count);
        return CSREC_OK;
    }
    for (int a = 0; a < shape->dims; a++) {
        if (shape->dim[a] == 1) continue;
        p->dim[p->axes] = (uint64_t)shape->dim[a];
        p->bits[p->axes] = csrec_bits_for(shape->dim[a]);
        p->levels += p->bits[p->axes++];
    }
    if (p->levels > 62) return CSREC_DATA;
    for (int low = 0, base = 0; base < p->levels; p->fields++) {
        field *f = &p->field[p->fields];
        field_init(f, p, low, base);
        low += f->width;
        base += f->width * f->axes;
    }
    if (order == CSREC_ORDER_HILBERT && p->fields) p->hilbert_bits = p->field[0].width;
    return CSREC_OK;
}

/* Flat position to coordinates. A shift where the extent is a power of two: a division takes
 * longer than everything else here. */
static void split(const plan *p, int n, const int64_t *index, csrec_order_axis *x) {
    uint64_t rest[CSREC_ORDER_BLOCK] = {0};
    for (int k = 0; k < n; k++) rest[k] = (uint64_t)index[k];
    for (int a = p->axes - 1; a >= 0; a--) {
        const uint64_t dim = p->dim[a];
        const int bits = p->bits[a];
        if (dim == (uint64_t)1 << bits) {
            for (int k = 0; k < CSREC_ORDER_BLOCK; k++) {
                x[a][k] = rest[k] & (dim - 1);
                rest[k] >>= bits;
            }
        } else {
            for (int k = 0; k < CSREC_ORDER_BLOCK; k++) {
                uint64_t quotient = rest[k] / dim;
                x[a][k] = rest[k] - quotient * dim;
                rest[k] = quotient;
            }
        }
    }
}

static void encode(const plan *p, int n, const int64_t *index, uint64_t *rows) {
    csrec_order_axis x[CSREC_DIMS_MAX];
    uint64_t row[CSREC_ORDER_BLOCK] = {0};
    split(p, n, index, x);
    if (p->hilbert_bits) csrec_hilbert_encode(p->axes, p->hilbert_bits, x);
    for (const field *f = p->field; f < p->field + p->fields; f++) {
        const uint64_t low = ((uint64_t)1 << f->width) - 1;
        for (int i = 0; i < f->axes; i++) {
            const uint64_t *restrict xa = x[f->axis[i]];
            const int place = f->base + f->axes - 1 - i;
            for (int k = 0; k < CSREC_ORDER_BLOCK; k++)
                row[k] |= spread(f, (xa[k] >> f->low) & low) << place;
        }
    }
    for (int k = 0; k < n; k++) rows[k] = row[k];
}

static void decode(const plan *p, int n, const uint64_t *rows, int64_t *index) {
    csrec_order_axis x[CSREC_DIMS_MAX] = {{0}};
    uint64_t row[CSREC_ORDER_BLOCK] = {0}, flat[CSREC_ORDER_BLOCK] = {0};
    uint64_t outside[CSREC_ORDER_BLOCK] = {0};
    for (int k = 0; k < n; k++) row[k] = rows[k];
    for (const field *f = p->field; f < p->field + p->fields; f++)
        for (int i = 0; i < f->axes; i++) {
            uint64_t *restrict xa = x[f->axis[i]];
            const int place = f->base + f->axes - 1 - i;
            for (int k = 0; k < CSREC_ORDER_BLOCK; k++)
                xa[k] |= gather(f, row[k] >> place) << f->low;
        }
    if (p->hilbert_bits) csrec_hilbert_decode(p->axes, p->hilbert_bits, x);
    for (int a = 0; a < p->axes; a++)
        for (int k = 0; k < CSREC_ORDER_BLOCK; k++) {
            flat[k] = flat[k] * p->dim[a] + x[a][k];
            outside[k] |= x[a][k] >= p->dim[a];
        }
    for (int k = 0; k < n; k++)
        index[k] = outside[k] || row[k] >> p->levels ? -1 : (int64_t)flat[k];
}

csrec_status csrec_rows_levels(const csrec_shape *shape, csrec_order order, int *levels) {
    plan p;
    csrec_status status = plan_init(&p, shape, order);
    if (!status) *levels = p.levels;
    return status;
}

csrec_status csrec_rows_from_index(const csrec_shape *shape, csrec_order order, int64_t n,
                                   const int64_t *index, uint64_t *rows) {
    plan p;
    csrec_status status = plan_init(&p, shape, order);
    if (status) return status;
    if (order == CSREC_ORDER_RASTER) {
        for (int64_t k = 0; k < n; k++) rows[k] = (uint64_t)index[k];
        return CSREC_OK;
    }
    const int threads = csrec_threads_for(4 * n, 0);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t k = 0; k < n; k += CSREC_ORDER_BLOCK)
        encode(&p, (int)(n - k < CSREC_ORDER_BLOCK ? n - k : CSREC_ORDER_BLOCK), index + k,
               rows + k);
    return CSREC_OK;
}

csrec_status csrec_rows_to_index(const csrec_shape *shape, csrec_order order, int64_t n,
                                 const uint64_t *rows, int64_t *index) {
    plan p;
    csrec_status status = plan_init(&p, shape, order);
    if (status) return status;
    if (order == CSREC_ORDER_RASTER) {
        for (int64_t k = 0; k < n; k++)
            index[k] = rows[k] < (uint64_t)p.count ? (int64_t)rows[k] : -1;
        return CSREC_OK;
    }
    const int threads = csrec_threads_for(4 * n, 0);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t k = 0; k < n; k += CSREC_ORDER_BLOCK)
        decode(&p, (int)(n - k < CSREC_ORDER_BLOCK ? n - k : CSREC_ORDER_BLOCK), rows + k,
               index + k);
    return CSREC_OK;
}
