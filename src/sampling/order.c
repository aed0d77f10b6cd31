/* SPDX-License-Identifier: BSD-3-Clause */
/* order.c - rows of N-d positions: Morton, Hilbert and raster order.
 *
 * An axis of extent dim has b = ceil(log2 dim) bits. Morton order interleaves the bits of all
 * axes, least significant first, the last axis lowest; an axis whose bits are used up drops out.
 * So the row is a few bit fields, one for each set of axes still present: from bit `low` up,
 * `width` bits of each of m axes, spread m apart. Hilbert order first replaces the low bits of the
 * coordinates, those which all axes have, by Hilbert's curve below; everything else is the same. */
#include "sampling/sampling.h"
#include "base/error.h"
#include "base/random.h"
#include "base/threads.h"

/* Positions handled together: one array an axis, so that every loop over a block vectorises. */
enum { BLOCK = 128 };
typedef uint64_t block_axis[BLOCK];

/* ---- Hilbert curves in any number of dimensions.
 *
 * J. Skilling, "Programming the Hilbert curve", AIP Conference Proceedings 707 (2004): within a
 * cube every orthant is visited in Gray-code order, and holds a copy of the curve whose axes are
 * exchanged and inverted so that its ends meet the neighbouring orthants. From the coarsest bit
 * down, an axis whose bit is 1 inverts the finer bits of axis 0, one whose bit is 0 exchanges its
 * finer bits with those of axis 0. What remains is undoing the Gray code of the orthants.
 *
 * Branches would be random, so both cases are formed and selected by masks; the inner loops run
 * over the positions of a block. */

/* One axis at one bit: inverts axis 0 below that bit, or exchanges it with the axis. Its own
 * inverse, since the deciding bit itself is not changed. */
static void turn(int bit, uint64_t *restrict x0, uint64_t *restrict xi) {
    const uint64_t below = ((uint64_t)1 << bit) - 1;
    for (int k = 0; k < BLOCK; k++) {
        uint64_t set = 0 - ((xi[k] >> bit) & 1);
        uint64_t exchange = (x0[k] ^ xi[k]) & below & ~set;
        x0[k] ^= exchange | (below & set);
        xi[k] ^= exchange;
    }
}

static void turn_first(int bit, uint64_t *x0) {
    const uint64_t below = ((uint64_t)1 << bit) - 1;
    for (int k = 0; k < BLOCK; k++) x0[k] ^= below & (0 - ((x0[k] >> bit) & 1));
}

/* Bit j of the result is the parity of the bits above j. */
static uint64_t parity_above(uint64_t bits) {
    bits ^= bits >> 1;
    bits ^= bits >> 2;
    bits ^= bits >> 4;
    bits ^= bits >> 8;
    bits ^= bits >> 16;
    bits ^= bits >> 32;
    return bits >> 1;
}

/* Turns the low `bits` bits of the coordinates of `axes` axes, in place, into those whose
 * interleaved bits (first axis most significant) are the position along the Hilbert curve through
 * the cube of side 2^bits. Higher bits stay. */
static void hilbert_encode(int axes, int bits, block_axis *x) {
    const uint64_t low = ((uint64_t)1 << bits) - 1;
    for (int bit = bits - 1; bit > 0; bit--) {
        turn_first(bit, x[0]);
        for (int a = 1; a < axes; a++) turn(bit, x[0], x[a]);
    }
    for (int a = 1; a < axes; a++)
        for (int k = 0; k < BLOCK; k++) x[a][k] ^= x[a - 1][k] & low;
    uint64_t carry[BLOCK];
    for (int k = 0; k < BLOCK; k++) carry[k] = parity_above(x[axes - 1][k] & low);
    for (int a = 0; a < axes; a++)
        for (int k = 0; k < BLOCK; k++) x[a][k] ^= carry[k];
}

/* The inverse. */
static void hilbert_decode(int axes, int bits, block_axis *x) {
    const uint64_t low = ((uint64_t)1 << bits) - 1;
    /* With t the carry and c the parity chain, the last axis holds c ^ t, and t = (c ^ t) >> 1. */
    uint64_t carry[BLOCK];
    for (int k = 0; k < BLOCK; k++) carry[k] = (x[axes - 1][k] & low) >> 1;
    for (int a = axes - 1; a > 0; a--)
        for (int k = 0; k < BLOCK; k++) x[a][k] ^= x[a - 1][k] & low;
    for (int k = 0; k < BLOCK; k++) x[0][k] ^= carry[k];
    for (int bit = 1; bit < bits; bit++) {
        for (int a = axes - 1; a > 0; a--) turn(bit, x[0], x[a]);
        turn_first(bit, x[0]);
    }
}
#include "csrec/haar.h"

/* ---- keyed permutation of any size: a Feistel network with cycle walking.
 *
 * (left, right) -> (right, left xor F(right)) is invertible for any F, so the rounds permute the
 * 2^(2 half) values of their domain (Luby and Rackoff 1988). Stepping on until a value is below
 * `entries` follows a cycle of that permutation, hence ends and permutes 0 .. entries - 1 (Black
 * and Rogaway 2002). The domain is less than 4 times `entries`: fewer than 4 steps on average. */

void csrec_permutation_init(csrec_permutation *permutation, uint64_t entries, uint64_t seed) {
    int half = 1;
    while (UINT64_C(1) << (2 * half) < entries) half++;
    permutation->entries = entries;
    permutation->half = half;
    for (int i = 0; i < CSREC_PERMUTATION_ROUNDS; i++)
        permutation->key[i] = csrec_random_u64(seed, CSREC_STREAM_PERMUTATION, (uint64_t)i);
}

/* F: the top `half` bits of a multiplicative hash. Two odd multipliers with a fold between them
 * carry every bit of the input into the top bits. */
static uint64_t hash(uint64_t value, uint64_t key, int half) {
    uint64_t z = (value ^ key) * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 32)) * UINT64_C(0xD6E8FEB86659FD93);
    return z >> (64 - half);
}

static uint64_t feistel(const csrec_permutation *permutation, uint64_t i) {
    int half = permutation->half;
    uint64_t left = i >> half, right = i & ((UINT64_C(1) << half) - 1);
    for (int round = 0; round < CSREC_PERMUTATION_ROUNDS; round++) {
        uint64_t next = left ^ hash(right, permutation->key[round], half);
        left = right;
        right = next;
    }
    return left << half | right;
}

uint64_t csrec_permutation_at(const csrec_permutation *permutation, uint64_t i) {
    do i = feistel(permutation, i);
    while (i >= permutation->entries);
    return i;
}

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
    CSREC_TRY(csrec_shape_count(shape, &p->count));
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
static void split(const plan *p, int n, const int64_t *index, block_axis *x) {
    uint64_t rest[BLOCK] = {0};
    for (int k = 0; k < n; k++) rest[k] = (uint64_t)index[k];
    for (int a = p->axes - 1; a >= 0; a--) {
        const uint64_t dim = p->dim[a];
        const int bits = p->bits[a];
        if (dim == (uint64_t)1 << bits) {
            for (int k = 0; k < BLOCK; k++) {
                x[a][k] = rest[k] & (dim - 1);
                rest[k] >>= bits;
            }
        } else {
            for (int k = 0; k < BLOCK; k++) {
                uint64_t quotient = rest[k] / dim;
                x[a][k] = rest[k] - quotient * dim;
                rest[k] = quotient;
            }
        }
    }
}

static void encode(const plan *p, int n, const int64_t *index, uint64_t *rows) {
    block_axis x[CSREC_DIMS_MAX];
    uint64_t row[BLOCK] = {0};
    split(p, n, index, x);
    if (p->hilbert_bits) hilbert_encode(p->axes, p->hilbert_bits, x);
    for (const field *f = p->field; f < p->field + p->fields; f++) {
        const uint64_t low = ((uint64_t)1 << f->width) - 1;
        for (int i = 0; i < f->axes; i++) {
            const uint64_t *restrict xa = x[f->axis[i]];
            const int place = f->base + f->axes - 1 - i;
            for (int k = 0; k < BLOCK; k++) row[k] |= spread(f, (xa[k] >> f->low) & low) << place;
        }
    }
    for (int k = 0; k < n; k++) rows[k] = row[k];
}

static void decode(const plan *p, int n, const uint64_t *rows, int64_t *index) {
    block_axis x[CSREC_DIMS_MAX] = {{0}};
    uint64_t row[BLOCK] = {0}, flat[BLOCK] = {0};
    uint64_t outside[BLOCK] = {0};
    for (int k = 0; k < n; k++) row[k] = rows[k];
    for (const field *f = p->field; f < p->field + p->fields; f++)
        for (int i = 0; i < f->axes; i++) {
            uint64_t *restrict xa = x[f->axis[i]];
            const int place = f->base + f->axes - 1 - i;
            for (int k = 0; k < BLOCK; k++) xa[k] |= gather(f, row[k] >> place) << f->low;
        }
    if (p->hilbert_bits) hilbert_decode(p->axes, p->hilbert_bits, x);
    for (int a = 0; a < p->axes; a++)
        for (int k = 0; k < BLOCK; k++) {
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
    CSREC_TRY(plan_init(&p, shape, order));
    if (order == CSREC_ORDER_RASTER) {
        for (int64_t k = 0; k < n; k++) rows[k] = (uint64_t)index[k];
        return CSREC_OK;
    }
    const int threads = csrec_threads_for(4 * n, 0);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t k = 0; k < n; k += BLOCK)
        encode(&p, (int)(n - k < BLOCK ? n - k : BLOCK), index + k, rows + k);
    return CSREC_OK;
}

csrec_status csrec_rows_to_index(const csrec_shape *shape, csrec_order order, int64_t n,
                                 const uint64_t *rows, int64_t *index) {
    plan p;
    CSREC_TRY(plan_init(&p, shape, order));
    if (order == CSREC_ORDER_RASTER) {
        for (int64_t k = 0; k < n; k++)
            index[k] = rows[k] < (uint64_t)p.count ? (int64_t)rows[k] : -1;
        return CSREC_OK;
    }
    const int threads = csrec_threads_for(4 * n, 0);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t k = 0; k < n; k += BLOCK)
        decode(&p, (int)(n - k < BLOCK ? n - k : BLOCK), rows + k, index + k);
    return CSREC_OK;
}
