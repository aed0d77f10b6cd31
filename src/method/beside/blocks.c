/* SPDX-License-Identifier: BSD-3-Clause */
/* blocks.c - a frame in blocks. */
#include "method/beside/blocks.h"

#include <math.h>

double csrec_blocks_around(const csrec_blocks *b, const double *values, int step, int64_t block) {
    double sum = 0.0;
    for (int64_t k = 0; k < 9; k++) {
        const int64_t y = block / b->across + k / 3 - 1, x = block % b->across + k % 3 - 1;
        if (y < 0 || x < 0 || y >= b->down || x >= b->across) continue;
        const double weight = (k / 3 == 1 ? 2.0 : 1.0) * (k % 3 == 1 ? 2.0 : 1.0) / 4.0;
        sum += weight * values[step * (y * b->across + x)];
    }
    return sum;
}

/* Where an entry lies among the middles of so many blocks: the first of two, and how far behind. */
static int64_t place(int64_t at, int64_t side, int64_t count, double *behind) {
    const double among = fmax(((double)at + 0.5) / (double)side - 0.5, 0.0);
    const int64_t first = (int64_t)among < count - 1 ? (int64_t)among : count - 1;
    *behind = fmin(among - (double)first, 1.0);
    return first;
}

double csrec_blocks_between(const csrec_blocks *b, const double *values, int64_t y, int64_t x) {
    double down, right;
    const int64_t row = place(y, b->side, b->down, &down),
                  column = place(x, b->side, b->across, &right);
    const double *above = values + row * b->across,
                 *below = above + (row < b->down - 1 ? b->across : 0);
    const int64_t next = column + (column < b->across - 1);
    const double first = (1.0 - right) * above[column] + right * above[next];
    const double second = (1.0 - right) * below[column] + right * below[next];
    return first + down * (second - first);
}
