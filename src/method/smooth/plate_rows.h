/* SPDX-License-Identifier: BSD-3-Clause */
/* plate_rows.h - rows of A u in numbers of type REAL; functions end in PLATE(name). Included once
 * in double, for conjugate gradients, and once in float, for the cycle. */

static void PLATE(add_row)(int64_t n, double factor, const REAL *restrict u, REAL *restrict to) {
    const REAL f = (REAL)factor;
    if (factor == 0.0) return;
    for (int64_t x = 0; x < n; x++) to[x] += f * u[x];
}

/* What the first two axes bring to row (z, y): own = (B_z + B_y + 2 G_z G_y) u, and
 * cross = 2 (G_z + G_y) u, to which the last axis applies G. */
static void PLATE(gather_rows)(const csrec_plate_level *l, const REAL *u, int64_t z, int64_t y,
                               REAL *own, REAL *cross) {
    const csrec_plate_axis *p = &l->axis[0], *q = &l->axis[1];
    const int64_t n = l->axis[2].n;
    memset(own, 0, (size_t)n * sizeof *own);
    memset(cross, 0, (size_t)n * sizeof *cross);
    for (int64_t dz = -2; dz <= 2; dz++)
        for (int64_t dy = -2; dy <= 2; dy++) {
            const bool near = dz >= -1 && dz <= 1 && dy >= -1 && dy <= 1;
            if (z + dz < 0 || z + dz >= p->n || y + dy < 0 || y + dy >= q->n) continue;
            if (!near && dz != 0 && dy != 0) continue;
            const REAL *row = u + ((z + dz) * q->n + y + dy) * n;
            double a = 0.0, b = 0.0;
            if (dy == 0) a += p->B[z * 5 + 2 + dz];
            if (dz == 0) a += q->B[y * 5 + 2 + dy];
            if (l->crossed && near) {
                a += 2.0 * p->G[z * 3 + 1 + dz] * q->G[y * 3 + 1 + dy];
                if (dy == 0) b += 2.0 * p->G[z * 3 + 1 + dz];
                if (dz == 0) b += 2.0 * q->G[y * 3 + 1 + dy];
            }
            PLATE(add_row)(n, a, row, own);
            PLATE(add_row)(n, b, row, cross);
        }
}

/* Entry x of the last axis's part, near its ends. */
static REAL PLATE(end_entry)(const csrec_plate_axis *s, int64_t x, const REAL *u,
                             const REAL *cross) {
    REAL sum = 0;
    for (int64_t k = -2; k <= 2; k++)
        if (x + k >= 0 && x + k < s->n) sum += (REAL)s->B[x * 5 + 2 + k] * u[x + k];
    for (int64_t k = -1; k <= 1; k++)
        if (x + k >= 0 && x + k < s->n) sum += (REAL)s->G[x * 3 + 1 + k] * cross[x + k];
    return sum;
}

/* own += B u + G cross along the last axis; its rows are the same from 2 to n - 3. */
static void PLATE(add_last)(const csrec_plate_axis *s, const REAL *restrict u,
                            const REAL *restrict cross, REAL *restrict own) {
    const int64_t n = s->n;
    for (int64_t x = 0; x < n; x++) {
        if (n > 4 && x == 2) x = n - 2;
        own[x] += PLATE(end_entry)(s, x, u, cross);
    }
    if (n < 5) return;
    const REAL b0 = (REAL)s->B[12], b1 = (REAL)s->B[13], b2 = (REAL)s->B[14];
    const REAL g0 = (REAL)s->G[7], g1 = (REAL)s->G[8];
    for (int64_t x = 2; x < n - 2; x++)
        own[x] += b0 * u[x] + b1 * (u[x - 1] + u[x + 1]) + b2 * (u[x - 2] + u[x + 2]) +
                  g0 * cross[x] + g1 * (cross[x - 1] + cross[x + 1]);
}

/* Row `row` of A u into own, also where it is fixed; cross: scratch. */
static void PLATE(product_row)(const csrec_plate_level *l, const REAL *u, int64_t row, REAL *own,
                               REAL *cross) {
    const int64_t n = l->axis[2].n, first = row * n;
    PLATE(gather_rows)(l, u, row / l->axis[1].n, row % l->axis[1].n, own, cross);
    PLATE(add_last)(&l->axis[2], u + first, cross, own);
    for (int64_t x = 0; x < n; x++) own[x] *= (REAL)l->cell;
    for (int64_t x = 0; x < n && l->weight; x++)
        own[x] += (REAL)l->weight[first + x] * u[first + x];
}

/* out = A u where not fixed, else 0. u may have values where fixed. */
static void PLATE(product)(const csrec_plate_level *l, const REAL *u, REAL *rows, REAL *out) {
    const int64_t n = l->axis[2].n, count = l->count / n;
#pragma omp parallel for num_threads(l->threads) schedule(static)
    for (int64_t row = 0; row < count; row++) {
        REAL *own = rows + omp_get_thread_num() * 2 * n;
        PLATE(product_row)(l, u, row, own, own + n);
        for (int64_t x = 0; x < n; x++) out[row * n + x] = l->fixed[row * n + x] ? 0 : own[x];
    }
}

#undef REAL
#undef PLATE
