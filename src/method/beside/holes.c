/* SPDX-License-Identifier: BSD-3-Clause */
/* holes.c - blocks of a frame that have no samples, where far more than one is usual. */
#include <math.h>

#include "method/beside/beside.h"

static const double WIDER = 3.0;
enum { USUAL = 16, LEAST_SIDE = 8 }; /* samples in a block; pixels */

static int64_t at_least(int64_t least, int64_t n) {
    return n > least ? n : least;
}

void csrec_holes_create(int64_t height, int64_t width, csrec_holes *holes, csrec_pool *pool) {
    const int64_t most = at_least(1, height / LEAST_SIDE) * at_least(1, width / LEAST_SIDE);
    *holes = (csrec_holes){.n = 0};
    CSREC_TAKE(pool, holes->empty, most);
}

/* The last blocks are larger, so that none is small enough to be empty by chance. */
void csrec_holes_find(const csrec_measurement *m, csrec_holes *holes) {
    const int64_t height = m->shape.dim[0], width = m->shape.dim[1];
    const double each = (double)height * (double)width / (double)at_least(1, m->n);
    csrec_blocks *b = &holes->blocks;
    b->side = at_least(LEAST_SIDE, (int64_t)ceil(sqrt(USUAL * each)));
    b->down = at_least(1, height / b->side);
    b->across = at_least(1, width / b->side);
    for (int64_t k = 0; k < b->down * b->across; k++) holes->empty[k] = 1.0;
    for (int64_t i = 0; i < m->n; i++)
        holes->empty[csrec_blocks_at(b, m->index[i] / width, m->index[i] % width)] = 0.0;
    holes->n = 0;
    for (int64_t k = 0; k < b->down * b->across; k++) holes->n += holes->empty[k] > 0.0;
}

double csrec_holes_at(const csrec_holes *holes, int64_t y, int64_t x) {
    return holes->n ? fmin(WIDER * csrec_blocks_between(&holes->blocks, holes->empty, y, x), 1.0)
                    : 0.0;
}

bool csrec_holes_moved(const csrec_holes *holes, int64_t y, int64_t x) {
    const csrec_blocks *b = &holes->blocks;
    const int64_t own = csrec_blocks_at(b, y, x), row = own / b->across, column = own % b->across;
    const int64_t from =
        (row + b->down / 2) % b->down * b->across + (column + b->across / 2) % b->across;
    return holes->n > 0 && holes->empty[from] > 0.0;
}
